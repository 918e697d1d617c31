"""Measured times at which a prediction can be anchored, and why others cannot be used."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from simcodesign.comparison.measured.at_point import of_what_runs
from simcodesign.core.errors import InputError
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.machine import Machine
from simcodesign.describe.measured.times import MeasuredTimes
from simcodesign.describe.measured_tables.rows import NODES_USED
from simcodesign.describe.resources import PREFIX
from simcodesign.describe.scenario import Scenario

#: The largest factor between a measured size and the predicted one.
NEARBY = 8.0
_SAME = 1e-9
#: The machine with changes in its file.
MachineWith = Callable[[Mapping[str, object]], Machine]


@dataclass(frozen=True)
class MeasuredRow:
    """A measured time on fewer ``ranks``.

    It is of ``scenario``, with sizes ``at``, which differ by these ``factors`` from the sizes of the prediction.
    ``changes``: of the machine's file. ``phase``: the only one, empty for all that run.
    """

    ranks: float
    measured_s: float
    scenario: Scenario
    at: Mapping[str, float | str]
    changes: Mapping[str, object]
    factors: Mapping[str, float]
    phase: str = ""

    @property
    def distance(self) -> float:
        """From the prediction: the sum of the logarithms of factors."""
        return sum(map(math.log, self.factors.values()))

    @property
    def key(self) -> object:
        """Equal for rows whose predictions are."""
        parameters = tuple(sorted((name, str(value)) for name, value in self.scenario.parameters.items()))
        return self.phase, parameters, tuple(sorted((name, str(value)) for name, value in self.changes.items()))


@dataclass(frozen=True)
class _UnusableError(Exception):
    reason: str


@dataclass(frozen=True)
class _Read:
    """A measured row where it was measured: seconds (0 without a total), its scenario, and the nodes it uses."""

    measured_s: float
    scenario: Scenario
    nodes: float


#: Rows that were read, or why they cannot be, by what decides that: many predictions share them.
RowsRead = dict[object, "_Read | _UnusableError"]


@dataclass(frozen=True)
class _Target:
    """The design point that is predicted, with what all rows are compared with, and the rows read so far."""

    scenario: Scenario
    machine_with: MachineWith
    read: RowsRead

    @cached_property
    def point(self) -> DesignPoint:
        return self.scenario.bind()

    @cached_property
    def known(self) -> Mapping[str, object]:
        return {**self.point.machine.varying(), **self.point.values}

    @cached_property
    def nodes(self) -> float:
        return float(self.point.machine.placement.nodes_used(self.point.ranks))


def rows_nearby(
    several: Sequence[MeasuredTimes], scenario: Scenario, machine_with: MachineWith, read: RowsRead
) -> tuple[list[MeasuredRow], str]:
    """Return the measured times that can anchor a prediction of a single design point.

    Also return in words why others cannot: they are of another machine or other choices, of as many ranks or more, of
    sizes more than a factor of 8 away, or of a single node where the prediction is of several, which is another regime.
    ``read``: rows read for other design points of the same workload and machine, which are not read again.
    """
    target = _Target(scenario, machine_with, read)
    rows, reasons = [], Counter[str]()
    for one in several:
        try:
            row = _row(one, target)
            for name, factor in row.factors.items():
                if factor > NEARBY * (1 + _SAME):
                    raise _UnusableError(f"with {name} more than a factor of {NEARBY:g} away")
            rows.append(row)
        except _UnusableError as unusable:
            reasons[unusable.reason] += 1
    words = "; ".join(f"{count:,} {reason}" for reason, count in reasons.most_common())
    return rows, words


def rows_of_phases(
    several: Sequence[MeasuredTimes], scenario: Scenario, machine_with: MachineWith, read: RowsRead
) -> Iterator[MeasuredRow]:
    """Yield the measured times of every phase by itself, of any size, on fewer ranks than a single design point has.

    ``read``: as for ``rows_nearby``.
    """
    targets: dict[str, _Target] = {}
    whole = _Target(scenario, machine_with, read)
    for one in several:
        for phase, value in one.phases.items():
            target = targets.setdefault(phase, _Target(replace(scenario, phases=[phase]), machine_with, read))
            vars(target).setdefault("point", whole.point)  # of the same machine and values
            alone = replace(one, total=None, phases={phase: value}, components={}, parts={})
            try:
                yield _row(alone, target, phase, id(one))
            except _UnusableError:
                continue


def _row(one: MeasuredTimes, target: _Target, phase: str = "", given: int | None = None) -> MeasuredRow:
    """Return the row of a measured time.

    Raises _UnusableError with the reason. ``given``: the identity of what was given, of which ``one`` is a phase.
    """
    point = target.point
    if one.machine not in ("", point.machine.name):
        raise _UnusableError(f"of the machine {one.machine}")
    ranks = one.at.get("P")
    if not isinstance(ranks, float | int):
        raise _UnusableError("without a number of ranks (column P)")
    if ranks >= point.ranks:
        raise _UnusableError(f"of {point.ranks:,} ranks or more")
    sizes, changes = _sizes_and_changes(one, target)
    factors = {name: _factor(name, value, point) for name, value in sizes.items()}
    there = target.scenario.at({"P": ranks, **sizes})
    values = sorted((name, str(value)) for name, value in there.parameters.items())
    key = (id(one) if given is None else given), phase, *values
    if key not in target.read:
        target.read[key] = _read(one, there, changes, target.machine_with)
    read = target.read[key]
    if isinstance(read, _UnusableError):
        raise read
    if read.nodes == 1 and target.nodes > 1:
        raise _UnusableError("on a single node, which is another regime")
    if not read.measured_s:
        raise _UnusableError("without a measured total above 0")
    return MeasuredRow(float(ranks), read.measured_s, read.scenario, sizes, changes, factors, phase)


def _read(
    one: MeasuredTimes, there: Scenario, changes: Mapping[str, object], machine_with: MachineWith
) -> _Read | _UnusableError:
    """Read a measured row at its own design point; or the reason why that cannot be."""
    if changes:
        there = there.on(machine_with(changes))
    try:
        training = there.bind()
    except InputError as error:
        return _UnusableError(f"of values that the machine or workload refuses ({error})")
    used = float(training.machine.placement.nodes_used(training.ranks))
    if float(one.at.get(NODES_USED, used)) != used:
        return _UnusableError(f"on another number of nodes than the machine has for P = {training.ranks:,}")
    here = of_what_runs(one, training, whole_program=there.phases is None)
    return _Read(0.0 if here is None else here.total_s or 0.0, there, used)


def _sizes_and_changes(one: MeasuredTimes, target: _Target) -> tuple[dict[str, float | str], dict[str, object]]:
    """Values of parameters of the workload, and of keys of the machine file that differ."""
    known = target.known
    sizes: dict[str, float | str] = {}
    changes: dict[str, object] = {}
    for name, value in one.at.items():
        if name in ("P", NODES_USED):
            continue
        if name in target.point.workload.parameters:
            sizes[name] = value
        elif name in known:
            if not math.isclose(float(known[name]), float(value), rel_tol=_SAME):  # type: ignore[arg-type] # numbers
                raise _UnusableError(f"of another {name}")
        elif name.startswith(PREFIX):
            raise _UnusableError(f"of another {name}")
        else:
            changes[name] = value
    return sizes, changes


def _factor(name: str, value: float | str, point: DesignPoint) -> float:
    """Factor by which a parameter differs between the measurement and the prediction: 1 or more."""
    here, parameter = point.values[name], point.workload.parameters[name]
    if isinstance(value, str) or parameter.choices:
        if value != here:
            raise _UnusableError(f"of another {name}")
        return 1.0
    a, b = float(value), float(here)
    if a == b:
        return 1.0
    return max(a / b, b / a) if a > 0 and b > 0 else math.inf
