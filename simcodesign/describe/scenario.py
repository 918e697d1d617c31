"""A scenario: a workload on a machine, with what is set of both. Every verb takes one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypedDict

from simcodesign.core.errors import InputError
from simcodesign.describe.design_point import DesignPoint, bind
from simcodesign.describe.machine import Machine
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_machine, load_workload

#: An object, a shipped name or the path of a file.
WorkloadSource = Workload | str | Path
MachineSource = Machine | str | Path


class ScenarioKeywords(TypedDict, total=False):
    """Keywords of every verb, in addition to workload, machine and parameters."""

    preset: str | None
    phases: Collection[str] | None


class RunKeywords(TypedDict, total=False):
    """How a simulation runs; see ``simulate``."""

    effects: str | Collection[str]
    seed: int
    engine: str


class SimulationKeywords(ScenarioKeywords, RunKeywords, total=False):
    """Keywords of every verb that simulates, in addition to workload, machine and parameters."""


@dataclass(frozen=True)
class Scenario:
    """A ``workload`` on a ``machine``.

    ``parameters``: values of workload parameters, ``P``, machine constants by path (``network.startup``, SI units) and
    parameters of the machine (``machine.NAME``); numbers or arrays that broadcast, or the name of a choice.
    ``preset``: a named set of values of the workload. ``phases``: only these of its program.

    ``Scenario.of`` makes one of names or files; ``bind`` gives every name its value, and checks them.

    >>> import simcodesign as sc
    >>> scenario = sc.Scenario.of("jacobi", "torus-cluster", {"P": 4})
    >>> scenario.at({"P": 16}).parameters["P"], scenario.on("crossbar-16").machine.name
    (16, 'crossbar-16')
    """

    workload: Workload
    machine: Machine
    parameters: Mapping[str, object] = field(default_factory=dict)
    preset: str | None = None
    phases: Collection[str] | None = None

    @classmethod
    def of(
        cls,
        workload: WorkloadSource | Scenario,
        machine: MachineSource | None = None,
        parameters: Mapping[str, object] | None = None,
        *,
        preset: str | None = None,
        phases: Collection[str] | None = None,
    ) -> Scenario:
        """Return the scenario of workload and machine, which are read if they are names or paths of files.

        A complete scenario is returned as it is. ``parameters``, ``preset`` and ``phases`` are as in the class.

        Raises InputError for files that cannot be read, and for a machine that is missing or that comes twice.
        """
        if isinstance(workload, Scenario):
            if machine is not None or parameters or preset is not None or phases is not None:
                what = "a scenario has its machine, parameters, preset and phases"
                raise InputError(what, workload.workload.place, allowed="a scenario alone")
            return workload
        if machine is None:
            raise InputError("a machine is missing", allowed="an object, a shipped name, or the path of a file")
        return cls(workload_of(workload), machine_of(machine), parameters or {}, preset, phases)

    def bind(self) -> DesignPoint:
        """Every name with its value. Raises InputError as ``describe.design_point.bind`` does."""
        return bind(self.workload, self.machine, self.parameters, preset=self.preset, phases=self.phases)

    def on(self, machine: MachineSource) -> Scenario:
        """Return the scenario on another machine."""
        return replace(self, machine=machine_of(machine))

    def at(self, parameters: Mapping[str, object]) -> Scenario:
        """Return the scenario with other values of these parameters."""
        return replace(self, parameters={**self.parameters, **parameters})


class OfScenario:
    """Base of objects with a ``scenario``."""

    scenario: Scenario

    @property
    def workload(self) -> Workload:
        """Workload of the scenario."""
        return self.scenario.workload

    @property
    def machine(self) -> Machine:
        """Machine of the scenario."""
        return self.scenario.machine


def workload_of(source: WorkloadSource) -> Workload:
    """Return the workload, read if it is a name or the path of a file. Raises InputError as ``load_workload`` does."""
    return source if isinstance(source, Workload) else load_workload(source)


def machine_of(source: MachineSource) -> Machine:
    """Return the machine, read if it is a name or the path of a file. Raises InputError as ``load_machine`` does."""
    return source if isinstance(source, Machine) else load_machine(source)
