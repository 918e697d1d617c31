"""Options of ``simulate``, and the arguments of commands that take several jobs instead of one workload."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Annotated

from simcodesign.cli.completion import names_of
from simcodesign.cli.dataclass_commands import Argument, Option
from simcodesign.cli.options.shared import (
    AnswerOptions,
    ReplicationOptions,
    ScenarioOptions,
    SimulationOptions,
    Why,
    needs,
)
from simcodesign.cli.sections import Heading
from simcodesign.cli.simulation_files import FILES, OF_ONE_RUN
from simcodesign.cli.written_files import RequestedFiles
from simcodesign.core.errors import InputError, Place

MoreJobs = Annotated[
    list[str],
    Argument(
        metavar="[WORKLOAD@FIRST:END|MACHINE]...",
        help="Several jobs on one machine: W1@0:512 W2@512:1024 MACHINE. Each WORKLOAD has the ranks FIRST to END - 1 "
        "of the machine; W@0:512:2 every second of them, W@0:512+2ms starts at 2 ms.",
        complete=names_of("machines", "workloads"),
    ),
]


@dataclass(frozen=True, kw_only=True)
class JobsOptions:
    """A workload on a machine, or several jobs on it."""

    scenario: ScenarioOptions
    more: MoreJobs = field(default_factory=list)

    @property
    def has_jobs(self) -> bool:
        """Whether jobs are given, not one workload. InputError for workloads without places."""
        from simcodesign.describe.variants import JOB_FORM, is_job

        names = self.job_names
        if not any(map(is_job, names)):
            if setting := next((one for one in self.more if "=" in one), ""):
                what = "neither a job nor a machine"
                raise InputError(what, value=setting, allowed=f"--set {setting}, to set a value")
            if self.more:
                if parted := next((one for one in self.scenario.settings if "=" not in one), ""):
                    allowed = f"NAME=VALUE in one word, for example {parted}={self.machine_name}"
                    raise InputError("not a setting", Place("--set"), value=parted, allowed=allowed)
                what = "several workloads on one machine need the ranks of each"
                raise InputError(what, value=" ".join(names), allowed=JOB_FORM)
            return False
        if is_job(self.machine_name):
            raise InputError("no machine is given", value=self.machine_name, allowed="jobs, and a machine after them")
        if wrong := [name for name in names if not is_job(name)]:
            raise InputError("the ranks of this job are missing", value=wrong[0], allowed=JOB_FORM)
        return True

    @property
    def job_names(self) -> list[str]:
        """All but the machine."""
        return [self.scenario.workload, *([self.scenario.machine, *self.more][:-1])]

    @property
    def machine_name(self) -> str:
        """The machine, which comes last."""
        return [self.scenario.machine, *self.more][-1]


@dataclass(frozen=True, kw_only=True)
class StreamReplicationOptions(ReplicationOptions):
    """Replications of simulations, which may be runs of arrivals."""

    precision_of: Annotated[
        str | None,
        Option(
            heading=Heading.REPEATED,
            metavar="NAME",
            help="Result to which --precision applies: energy_j, components_s.disk, ...",
        ),
    ] = None
    warm_up: Annotated[
        str | None,
        Option(
            heading=Heading.REPEATED,
            metavar="N",
            help="Leave the first N requests of every run of arrivals out of response times, because queues are still "
            "short (default: mser5, as many requests as the method MSER-5 finds).",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class SimulateOptions:
    """Options of `simulate`: how, how often, and the outputs."""

    jobs: JobsOptions
    simulation: SimulationOptions
    stations: Annotated[
        int,
        Option(
            heading=Heading.SHOWN,
            metavar="N",
            min=0,
            help="Show the N busiest stations: links, disks and other resources with a queue.",
        ),
    ] = 5
    output: AnswerOptions
    since: Annotated[
        str | None,
        Option(
            "--from",
            heading=Heading.SHOWN,
            metavar="TIME",
            help="Start of the time window that --write events and gantt show, such as '2 ms' (default: the start).",
        ),
    ] = None
    until: Annotated[
        str | None,
        Option(
            "--to",
            heading=Heading.SHOWN,
            metavar="TIME",
            help="End of the time window that --write events and gantt show (default: the end). The whole run is "
            "simulated, and the table describes all of it.",
        ),
    ] = None
    why: Why = False
    replication: StreamReplicationOptions

    @property
    def scenario(self) -> ScenarioOptions:
        """The workload on the machine, if no jobs are given."""
        return self.jobs.scenario

    def requested_files(self) -> RequestedFiles:
        """Return the files to write. InputError for those that could not be written, before any work is done."""
        files = FILES.requested(self.output.write)
        for option, given in (("--from", self.since), ("--to", self.until)):
            if given is not None and "events" not in files and "gantt" not in files:
                raise needs(option, "--write events:FILE or --write gantt:FILE")
        _ = self.window_s
        if self.replication.replicates:
            allowed = "with a single run: --seed repeats one of the replications alone"
            files.refuse(OF_ONE_RUN, "shows one run", allowed)
        if files.prints and self.why:
            raise InputError("the list of events is printed alone", Place("--why"), allowed="events.txt for a file")
        return files

    @property
    def window_s(self) -> tuple[float, float]:
        """From when to when events are listed and drawn."""
        from simcodesign.core.units import parse_quantity

        texts = (("--from", self.since, 0.0), ("--to", self.until, inf))
        low, high = (
            other if text is None else parse_quantity(text, "time", Place(name)) for name, text, other in texts
        )
        if high < low:
            raise InputError("before --from", Place("--to"), value=self.until, allowed=f"{low:g} s or later")
        return low, high
