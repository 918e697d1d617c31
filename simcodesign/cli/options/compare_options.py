"""Options of ``compare``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from simcodesign.cli.completion import names_of
from simcodesign.cli.dataclass_commands import Argument, Option
from simcodesign.cli.options.shared import (
    AnchorFiles,
    AnswerOptions,
    AspenOptions,
    Formulas,
    ReplicationOptions,
    ScenarioOptions,
    Simulate,
    SimulationOptions,
    SizeName,
    Vary,
    VerdictOptions,
    Why,
)
from simcodesign.cli.sections import Heading


@dataclass(frozen=True, kw_only=True)
class RequirementOptions:
    """Whether requirements are compared instead of times, and for which problem."""

    requirements: Annotated[
        bool,
        Option(
            heading=Heading.SHOWN,
            help="Compare what processes require if their problems fill the memory, instead of times. For a machine "
            "and its variants by factors ('M with nodes=x2'), print the ratio of each requirement; of different "
            "machines, the largest problem on each, and the shortest time of the same problem on all. With --simulate "
            "also the times on smaller machines, of at most -P ranks.",
        ),
    ] = False
    size: SizeName = None
    benchmark: Annotated[
        float | None,
        Option(
            heading=Heading.SHOWN,
            metavar="N",
            help="With --requirements: size of the overall problem whose time is compared (default: the largest "
            "that fits all machines).",
        ),
    ] = None
    simulate: Simulate = False


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """Options of `compare`: how readings are made, how often, and their outputs."""

    scenario: ScenarioOptions
    more: Annotated[
        list[str],
        Argument(
            metavar="[MACHINE|WORKLOAD]...",
            help="More machines, and more workloads: the command compares every workload on every machine. 'NAME "
            "with KEY=VALUE' is a variant of a machine; 'NAME with nodes=x2' has twice as many nodes.",
            complete=names_of("machines", "workloads"),
        ),
    ] = field(default_factory=list)
    aspen: AspenOptions
    vary: Vary = field(default_factory=list)
    simulation: SimulationOptions
    formula: Formulas = field(default_factory=list)
    verdict: VerdictOptions
    anchor: AnchorFiles = field(default_factory=list)
    why: Why = False
    output: AnswerOptions
    replication: ReplicationOptions
    requirements: RequirementOptions = field(default_factory=RequirementOptions)
