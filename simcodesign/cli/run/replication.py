"""Replications of a simulation or a comparison, run and printed."""

from __future__ import annotations

from click.exceptions import Exit

from simcodesign.cli.options.compare_options import CompareOptions
from simcodesign.cli.options.shared import SIMULATION_LEVEL, ReplicationOptions, needs, usable_cpus
from simcodesign.cli.options.simulate_options import SimulateOptions
from simcodesign.cli.run.scenario import load_scenario, parsed_level, parsed_share, run_keywords
from simcodesign.cli.written_files import RequestedFiles
from simcodesign.core.errors import InputError
from simcodesign.report.common.progress import ProgressBar
from simcodesign.report.replication.comparison import replicated_comparison_tables
from simcodesign.report.replication.plot import replications_plot
from simcodesign.report.replication.tables import replication_tables
from simcodesign.studies.replication.comparison import replicate_comparison
from simcodesign.studies.replication.replicate import RepetitionKeywords, WarmUpKeywords, replicate

PRECISION_NOT_REACHED = 1
_SINGLE = "without --replications and --precision"


def run_replications(options: SimulateOptions, files: RequestedFiles) -> None:
    """Replicate one scenario, and print it. Exit status 1 without the precision."""
    scenario = load_scenario(options.scenario)
    run, warm_up = run_keywords(options.simulation, scenario.machine), _warm_up(options.replication.warm_up)
    repetition = repetition_of(options.replication, options.replication.precision_of)
    with ProgressBar("replications", counted=True) as on_progress:
        shown = replicate(scenario, **run, **repetition, **warm_up, on_progress=on_progress)
    files.show(shown, lambda: replication_tables(shown, options.stations), options.output.as_json)
    for path in files.paths("plot"):
        replications_plot(shown, path)
    if not shown.stopping.reached:
        raise Exit(PRECISION_NOT_REACHED)


def run_compared_replications(options: CompareOptions, files: RequestedFiles) -> float:
    """Replicate a comparison and print it; the error of the forecast. Exit status 1 without the precision."""
    scenario = load_scenario(options.scenario)
    files.refuse(["plot", "trace"], "shows one run", "with a single run")
    if options.formula:
        raise InputError("--formula needs a single simulation", value=options.formula[0], allowed=_SINGLE)
    for option, value in (("--measured", options.verdict.measured), ("--tolerance-of", options.verdict.tolerance_of)):
        if value:
            raise InputError(f"{option} needs a single simulation", value=value[0], allowed=_SINGLE)
    run, repetition = run_keywords(options.simulation, scenario.machine), repetition_of(options.replication)
    with ProgressBar("replications", counted=True) as on_progress:
        comparison = replicate_comparison(scenario, **run, **repetition, on_progress=on_progress)
    files.show(comparison, lambda: replicated_comparison_tables(comparison), options.output.as_json)
    if not comparison.stopping.reached:
        raise Exit(PRECISION_NOT_REACHED)
    return float(comparison.error.mean)


def repetition_of(options: ReplicationOptions, precision_of: str | None = None) -> RepetitionKeywords:
    """As ``replicate`` takes them, whose defaults hold for what is missing.

    InputError for what belongs to a precision that is not given.
    """
    if options.precision is None:
        for option, value in (("--precision-of", precision_of), ("--at-most", options.at_most)):
            if value is not None:
                raise needs(option, "--precision")
    keywords: RepetitionKeywords = {
        "replications": options.replications,
        "precision_of": precision_of,
        "jobs": options.jobs or usable_cpus(),
    }
    if options.at_most is not None:
        keywords["at_most"] = options.at_most
    if options.precision is not None:
        keywords["precision"] = parsed_share(options.precision, "--precision")
    if options.level is not None:
        keywords["level"] = parsed_level(options.level, SIMULATION_LEVEL)
    return keywords


def _warm_up(text: str | None) -> WarmUpKeywords:
    return {} if text is None else {"warm_up": int(text) if text.isdecimal() else text}
