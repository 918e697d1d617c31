"""The tally of counters: work of every rank in every phase, independent of time, counted while a program is lowered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.simulation_parts import RANK_COUNTERS
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.evaluated.served_accesses import ServedAccesses
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.generate.plan import Accounts
from simcodesign.generate.segment import Segment

Floats = NDArray[np.float64]
#: Bytes of the extra fields of an operation: ``collective`` and ``clock_hz``.
BYTES_PER_OPERATION = 9


@dataclass(frozen=True)
class Tally:
    """Counters by name, (ranks, phases), made when the first of their kind is noted."""

    ranks: int
    phases: int
    several_clocks: bool
    counts: dict[str, Floats] = field(default_factory=dict)
    clocks_hz: dict[int, set[float]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The extra fields that operations need."""
        return ("collective", "clock_hz") if self.several_clocks else ("collective",)

    @property
    def bytes(self) -> float:
        """Memory that the counters take at most."""
        return 2.0 * 8 * len(RANK_COUNTERS) * self.ranks * self.phases

    def note(self, name: str, phase: int, amount: FloatOrArray) -> None:
        """Add an amount: of every rank, or one for all."""
        if name not in self.counts:
            self.counts[name] = np.zeros((self.ranks, self.phases))
        self.counts[name][:, phase] += amount

    def at_work(self, phase: int, processor: Processor) -> None:
        """Note that the processor of this clock computes or looks things up in this phase."""
        self.clocks_hz.setdefault(phase, set()).add(clock_of(processor))

    def served(self, phase: int, accesses: ServedAccesses, times: FloatOrArray) -> None:
        """Note a memory demand, made ``times`` times."""
        *caches, memory = accesses.served.shares
        for name, share in zip(level_counters(len(caches)), caches, strict=True):
            self.note(name, phase, accesses.accesses * share * times)
        self.note("memory_accesses", phase, accesses.accesses * memory * times)
        self.note("loads_stores", phase, accesses.accesses * times)

    def marked(self, segment: Segment, collective: bool, processor: Processor) -> Segment:
        """Return the segment of one demand with its extra fields, in place."""
        segment.fields["collective"][:] = collective
        if self.several_clocks:
            segment.fields["clock_hz"][:] = clock_of(processor)
        return segment

    def accounts(self, segment: Segment, machine: Machine, shares: Floats | None) -> Accounts:
        """Return what the Plan of this segment holds.

        ``shares``: of every rank in the work, if there is imbalance.
        """
        counts = dict(self.counts)
        if shares is not None and "instructions" in counts:
            counts["instructions"] = counts["instructions"] * shares[:, None]
        clock = clock_of(machine.processor)
        frequency = [_only(self.clocks_hz.get(phase, {clock})) for phase in range(self.phases)]
        fields = segment.fields
        return Accounts(counts, clock, np.array(frequency), fields.get("clock_hz"), fields.get("collective"))


def level_counters(caches: int) -> list[str]:
    """Return the counters of a number of caches: the first, those between, and the last of two or more."""
    return [*["l1_hits"][:caches], *["l2_hits"] * (caches - 2), *["llc_hits"][: caches - 1]]


def clock_of(processor: Processor) -> float:
    """Return the clock, NaN without one."""
    return float("nan") if processor.clock_hz is None else float(np.max(processor.clock_hz))


def retired(unit: str, demand: FloatOrArray, duration_s: FloatOrArray, processor: Processor) -> FloatOrArray:
    """Instructions of a computation: as it states them, otherwise as many as the processor retires in its time."""
    if unit == "instructions":
        return demand
    return duration_s * clock_of(processor) / processor.cycles_per_instruction


def _only(values: Iterable[float]) -> float:
    """Return the value if there is only one."""
    several = list(values)
    return several[0] if len(several) == 1 else float("nan")
