"""The command ``compare``."""

from __future__ import annotations

import time
from dataclasses import fields
from pathlib import Path
from typing import Any

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import command
from simcodesign.cli.options.compare_options import CompareOptions
from simcodesign.cli.options.shared import (
    option_of,
)
from simcodesign.cli.sections import Section
from simcodesign.cli.written_files import PLOT_SUFFIXES, TABLE, Output, Outputs, RequestedFiles
from simcodesign.core.errors import InputError


def _trace(comparison: Any, path: Path) -> None:
    from simcodesign.report.timelines.write import write_timeline

    write_timeline(comparison.simulation, path)


FILES = Outputs(
    Output("plot", PLOT_SUFFIXES, "a plot of both readings; with --vary, lines over its values"),
    Output(
        "trace", (".json", ".json.gz"), "what ranks and stations did in the simulation, for ui.perfetto.dev", _trace
    ),
    TABLE,
)


@command(app, "compare", section=Section.MODEL, outputs=FILES)
def run(options: CompareOptions) -> None:
    """Compare the forecast with the simulation, and show how much of the gap each effect explains.

    For example: compare burst mesh-256 -P 16. With several machines or workloads (WORKLOAD MACHINE MACHINE ...), the
    command prints one table for all of them. For Aspen models (APP.aspen MACHINE.aspen), it prints the closed form, the
    simulation, and what the effects conflicts, maps and chance add.
    """
    from simcodesign.cli.run.verdict import check_tolerance, tolerance_of
    from simcodesign.cli.run.why import check_why

    files = FILES.requested(options.output.write)
    if options.requirements.requirements:
        from simcodesign.cli.run.requirements import run_requirements

        run_requirements(options, files)
        return
    for one in fields(options.requirements):
        if getattr(options.requirements, one.name):
            raise InputError(f"{option_of(one.name)} needs --requirements")
    limit = tolerance_of(options.verdict, bool(options.formula))
    if options.anchor and (options.more or options.vary or options.replication.replicates):
        raise InputError(
            "--anchor needs one workload on one machine, once", allowed="sweep --anchor for several points"
        )
    scenario, usable = options.scenario, ("settings", "effects", "engine", "seed", "tolerance", "as_json")
    if options.aspen.apply_to(scenario.workload, scenario.machine, *options.more, other_options=usable):
        from simcodesign.cli.run.aspen import compare_models

        error = compare_models(scenario, options.aspen, options.simulation, options.output.as_json)
        errors = {"the forecast": error}
    elif options.more or options.vary:
        from simcodesign.cli.run.several import run_several

        errors = run_several(options, files)
    elif options.replication.replicates:
        check_why(options.why)
        from simcodesign.cli.run.replication import run_compared_replications

        errors = {"the forecast": run_compared_replications(options, files)}
    else:
        options.replication.check_unused()
        errors = _run_once(options, files)
    check_tolerance(errors, limit)


def _run_once(options: CompareOptions, files: RequestedFiles) -> dict[str, float]:
    """Compare with one simulation, and print it; the errors that count."""
    from simcodesign.cli.run.scenario import load_scenario, repeated_keywords, run_keywords
    from simcodesign.cli.run.verdict import judged_errors, measured_tables
    from simcodesign.cli.run.why import what_helps, why_tables, with_why
    from simcodesign.comparison.compare import compare
    from simcodesign.report.common.progress import ProgressBar
    from simcodesign.report.results.comparison_tables import comparison_tables
    from simcodesign.report.results.plots import comparison_bars

    scenario = load_scenario(options.scenario)
    began_s = time.perf_counter()
    with ProgressBar("simulating", note="preparing") as on_progress:
        comparison = compare(
            scenario,
            **run_keywords(options.simulation, scenario.machine),
            formulas=options.formula,
            measured=measured_tables(options.verdict),
            timeline="trace" in files,
            on_progress=on_progress,
        )
    if options.anchor:
        from simcodesign.cli.run.anchors import anchors_of
        from simcodesign.engine.experiment import Experiment
        from simcodesign.studies.anchored.comparisons import with_anchors

        experiment = Experiment.of(scenario, **repeated_keywords(options.simulation))
        comparison = with_anchors(comparison, experiment, anchors_of(options.anchor, options.scenario, scenario))
    helps = None
    if options.why:
        each_s = (time.perf_counter() - began_s) / len(comparison.rungs)
        helps = what_helps(scenario, options.simulation, comparison.simulation, each_s)
    files.show(
        comparison,
        lambda: [*comparison_tables(comparison), *why_tables(helps)],
        options.output.as_json,
        lambda: with_why(comparison, helps),
    )
    for path in files.paths("plot"):
        comparison_bars(comparison, path)
    return judged_errors(comparison, options.verdict)
