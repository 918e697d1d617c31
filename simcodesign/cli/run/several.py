"""Several machines or workloads compared in one answer, run and printed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf

from click.exceptions import Exit

from simcodesign.cli.options.compare_options import CompareOptions
from simcodesign.cli.run.replication import PRECISION_NOT_REACHED, repetition_of
from simcodesign.cli.run.scenario import kind_of, parsed_settings, run_keywords, scenario_of
from simcodesign.cli.run.verdict import judged_errors, measured_tables
from simcodesign.cli.written_files import RequestedFiles
from simcodesign.core.errors import InputError, Place
from simcodesign.describe.scenario import Scenario
from simcodesign.describe.yaml.files import load_workload
from simcodesign.engine.experiment import Experiment
from simcodesign.report.candidates.names import label
from simcodesign.report.candidates.plot import several_plot
from simcodesign.report.candidates.tables import several_tables
from simcodesign.report.common.progress import ProgressBar
from simcodesign.report.common.terminal import complain
from simcodesign.studies.candidates.several import SeveralComparisons, compare_experiments, variants_over
from simcodesign.studies.sweep.design.grid import CHANGE, PARAMETER, Known, SweepAxis, parse_axis
from simcodesign.studies.sweep.machine_source import source_of
from simcodesign.studies.sweep.sweep import lookup_in

_VARY = Place("--vary")


def run_several(options: CompareOptions, files: RequestedFiles) -> dict[str, float]:
    """Compare every workload on every machine, and print it; the errors that count."""
    files.refuse(["trace"], "needs a single comparison", "with one machine")
    built = _built(options)
    scenarios = _scenarios(options, [*built.values()])
    varied = [text for text in options.vary if text not in built]
    axis = _axis(varied, scenarios[0], options.scenario.all_settings) if varied else None
    if axis is not None and axis.note:
        complain(f"note: {axis.note}")
    keywords = run_keywords(options.simulation)
    experiments = [Experiment.of(scenario, **keywords) for scenario in scenarios]
    repetition = repetition_of(options.replication)
    with ProgressBar("simulating", note="preparing") as on_progress:
        several = compare_experiments(
            experiments,
            ("", ()) if axis is None else (axis.known.path, [float(value) for value in axis.given]),
            formulas=options.formula,
            measured=measured_tables(options.verdict),
            **repetition,
            on_progress=on_progress,
        )
    if axis is not None and axis.known.inverse:
        several = _over_bandwidth(several, axis.name)
    files.show(several, lambda: several_tables(several, options.why), options.output.as_json)
    for path in files.paths("plot"):
        several_plot(several, path, options.why)
    if not all(one.replicated is None or one.replicated.stopping.reached for one in several.comparisons):
        raise Exit(PRECISION_NOT_REACHED)
    return _errors(several, options)


def _built(options: CompareOptions) -> dict[str, SweepAxis]:
    """Return what ``--vary`` names of the file of a machine that is no number of a forecast, by its text."""
    workloads, machines = named(options)
    if not any(text.partition("=")[0].strip() not in ("P", "seed") for text in options.vary):
        return {}
    find = lookup_in(load_workload(workloads[0]), source_of(machines[0]))
    axes = {text: parse_axis(text, find) for text in options.vary}
    return {text: axis for text, axis in axes.items() if axis.known.kind == CHANGE}


def _scenarios(options: CompareOptions, built: Sequence[SweepAxis]) -> list[Scenario]:
    """Every workload on every machine that is named, workload by workload, and with each value of what is ``built``.

    InputError where no machine is, and for what is set as well.
    """
    given = options.scenario
    workloads, machines = named(options)
    for axis in built:
        if axis.name in parsed_settings(given.all_settings):
            raise InputError("set and varied", _VARY, value=axis.name, allowed="--set or --vary, not both")
        machines = variants_over(
            machines, axis.name, [value if isinstance(value, str) else f"{value:.15g}" for value in axis.given]
        )
    return [
        scenario_of(workload, machine, given.all_settings, given.preset, given.phases, machine == machines[0])
        for workload in workloads
        for machine in machines
    ]


def named(options: CompareOptions) -> tuple[list[str], list[str]]:
    """Return the named workloads and machines. InputError without a machine."""
    given = options.scenario
    kinds = [(name, kind_of(name)) for name in (given.machine, *options.more)] if options.more else []
    workloads = [given.workload, *(name for name, kind in kinds if kind == "workload")]
    machines = [name for name, kind in kinds if kind == "machine"] if kinds else [given.machine]
    if not machines:
        raise InputError(
            "no machine is given", value=" ".join(workloads), allowed="workloads, and at least one machine"
        )
    return workloads, machines


def _axis(texts: Sequence[str], scenario: Scenario, settings: Iterable[str]) -> SweepAxis:
    """Return the axis of ``--vary``, of a number that a forecast takes.

    InputError for anything else, and for what is set.
    """
    find = lookup_in(scenario.workload, source_of(scenario.machine))

    def lookup(name: str) -> Known:
        known = find(name)
        if known.kind != PARAMETER or known.choices:
            allowed = "P, a parameter or a constant that is a number; or sweep, for anything else"
            raise InputError("cannot vary in a comparison", _VARY, value=name, allowed=allowed)
        return known

    if len(texts) > 1:
        raise InputError("candidates are compared over one name", _VARY, value=texts[1], allowed="one; or sweep")
    axis = parse_axis(texts[0], lookup)
    for name in {axis.name, axis.known.path} & parsed_settings(settings).keys():
        raise InputError("set and varied", _VARY, value=name, allowed="--set (for P: -P) or --vary, not both")
    return axis


def _over_bandwidth(several: SeveralComparisons, name: str) -> SeveralComparisons:
    """Return the comparisons over a bandwidth instead of the time per byte that it is the inverse of."""
    times_s = [one.at[several.axis] for one in several.comparisons]
    values = [1 / time_s if time_s else inf for time_s in times_s]
    candidates = [replace(one, at={name: value}) for one, value in zip(several.comparisons, values, strict=True)]
    return replace(several, comparisons=tuple(candidates), axis=name)


def _errors(several: SeveralComparisons, options: CompareOptions) -> dict[str, float]:
    """Return the errors that count, of every candidate."""
    errors = {}
    for one in several.comparisons:
        where = ", ".join([label(one, several), *(f"{name} = {value:g}" for name, value in one.at.items())])
        for what, error in judged_errors(one.comparison, options.verdict).items():
            errors[f"{what} ({where})"] = one.error if what == "the forecast" else error
    return errors
