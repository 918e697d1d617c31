"""Several jobs on one machine, forecast or simulated, and printed."""

from __future__ import annotations

from simcodesign.analytic.jobs.forecast_jobs import forecast_jobs
from simcodesign.cli.options.simulate_options import JobsOptions, SimulateOptions
from simcodesign.cli.run.scenario import parsed_settings, run_keywords, scenario_of
from simcodesign.cli.simulation_files import OF_WORKLOAD, WITH_STATIONS, SimulatedRun, is_recorded
from simcodesign.cli.written_files import RequestedFiles
from simcodesign.core.errors import InputError
from simcodesign.describe.jobs.job import Job
from simcodesign.describe.machine import Machine
from simcodesign.engine.jobs.simulate_jobs import simulate_jobs
from simcodesign.report.common.progress import ProgressBar
from simcodesign.report.jobs.tables import jobs_tables
from simcodesign.report.results.plots import activity_profile


def run_forecast_of_jobs(options: JobsOptions, files: RequestedFiles, as_json: bool) -> None:
    """Forecast the jobs, and print it."""
    files.refuse(["plot"], "shows one workload", "one workload, or --json of several jobs")
    answer = forecast_jobs(*_jobs(options))
    files.show(answer, lambda: jobs_tables(answer), as_json)


def run_jobs(options: SimulateOptions, files: RequestedFiles) -> None:
    """Simulate the jobs together and each alone, and print it."""
    if options.replication.replicates or options.why:
        option = "--why" if options.why else "--replications or --precision"
        raise InputError(f"{option} is for one workload", allowed="several jobs without it; --seed for other draws")
    options.replication.check_unused()
    files.refuse(OF_WORKLOAD, "shows one workload", "plot, gantt, events, trace or table of several jobs")
    jobs, machine = _jobs(options.jobs)
    keywords = run_keywords(options.simulation, machine)
    if keywords["engine"] == "auto" and any(word in files for word in WITH_STATIONS):
        keywords["engine"] = "simpy"  # which records the services of stations
    with ProgressBar("simulating", note="preparing") as on_progress:
        answer = simulate_jobs(jobs, machine, **keywords, timeline=is_recorded(files), on_progress=on_progress)
    run = SimulatedRun(
        result=answer.together, experiment=None, window_s=options.window_s, as_json=options.output.as_json
    )
    files.show(run, lambda: jobs_tables(answer, options.stations), options.output.as_json, lambda: answer)
    for path in files.paths("plot"):
        assert answer.together is not None
        activity_profile(answer.together, path)


def _jobs(options: JobsOptions) -> tuple[list[Job], Machine]:
    """Return the jobs, each with the settings that are parameters of its workload, and the machine with all others."""
    given = options.scenario
    for option, value in (("--preset", given.preset), ("--phase", given.phases), ("-P", given.ranks)):
        if value:
            instead = "places are counted in ranks" if option == "-P" else "'WORKLOAD with KEY=VALUE@0:512'"
            raise InputError(f"{option} is for one workload", value=value, allowed=f"jobs without it: {instead}")
    parsed = [Job.parse(name) for name in options.job_names]
    texts = {name: f"{name}={value}" for name, value in parsed_settings(given.settings).items()}
    known = [scenario_of(str(job.workload), options.machine_name, []).workload.parameters for job in parsed]
    of_some = {name for name in texts if any(name in own for own in known)}
    jobs, machine = [], None
    for job, own in zip(parsed, known, strict=True):
        settings = [text for name, text in texts.items() if name in own or name not in of_some]
        scenario = scenario_of(str(job.workload), options.machine_name, settings)
        values = {name: value for name, value in scenario.parameters.items() if name in own}
        jobs.append(Job(scenario.workload, job.places, values, None, job.start_s))
        machine = machine or scenario.machine
    assert machine is not None
    return jobs, machine
