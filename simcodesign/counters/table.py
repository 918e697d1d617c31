"""Tables of hardware counters: one row per run, kernel and rank (or mean over the ranks), and what follows from a row.

Counts and times are those **of one process**: of the rank where ``rank`` is given, otherwise the mean over the ranks. A
run is identified by processes, size, problem class, frequency and repetition. Columns are arrays of float64, with NaN
where a counter was not recorded.

Source: Ding et al., APMT, tables 1 and 2, equations 3 to 5. There T_comp divides by P because the counters are summed
over the processes; here they are not, so it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.units import LEAST, MOST, NOT_NEGATIVE_RANGE
from simcodesign.fitting.measurements import FloatArray

#: Kernel names with a meaning of their own: the whole application, and its initialization and finalization.
APPLICATION, OTHERS = "(application)", "(others)"

#: Columns that describe a run, by unit.
RUN_COLUMNS = {"processes": "", "size": "problem-specific", "frequency_hz": "Hz", "repetition": ""}
#: Values counted or timed on one process, by unit and meaning; values in s are times, the rest are counts.
COUNTERS = {
    "time_s": ("s", "wall-clock time, waits in communication included"),
    "instructions": ("", "instructions retired"),
    "cycles": ("cycles", "core cycles of computation, memory stalls included, waits in communication not"),
    "l1_hits": ("", "loads and stores served by the first-level cache"),
    "l2_hits": ("", "served by the second level"),
    "llc_hits": ("", "served by the last-level cache"),
    "memory_accesses": ("", "served by main memory: misses of the last-level cache"),
    "loads_stores": ("", "all loads and stores"),
    "stall_cycles": ("cycles", "core cycles in which nothing but memory was waited for"),
    "p2p_wait_s": ("s", "time in point-to-point communication"),
    "collective_wait_s": ("s", "time in collective communication"),
    "messages": ("", "point-to-point messages sent"),
    "message_bytes": ("B", "bytes sent point to point"),
    "collectives": ("", "collective operations"),
    "collective_bytes": ("B", "bytes handed to collective operations"),
}
RANK, KERNEL, CLASS = "rank", "kernel", "problem_class"
NUMBERS = (*RUN_COLUMNS, RANK, *COUNTERS)
COLUMNS = (KERNEL, CLASS, *NUMBERS)
_WAITS = ("p2p_wait_s", "collective_wait_s")


@dataclass(frozen=True)
class Latencies:
    """Times of one access: of the caches in core cycles, because they share the core's clock, of memory in seconds.

    The defaults are typical of server processors; a measured machine has its own. InputError below 0.
    """

    l1_cycles: float = 4.0
    l2_cycles: float = 12.0
    llc_cycles: float = 40.0
    memory_s: float = 80e-9

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not (np.isfinite(value) and value >= 0):
                raise InputError(
                    f"the latency {name} is out of range", value=value, allowed="a finite number of 0 or above"
                )


LATENCIES = Latencies()


@dataclass(frozen=True, eq=False)
class CounterTable:
    """Rows of counters. ``kernels`` and ``classes``: names, one a row; ``values``: (rows, columns of ``NUMBERS``).

    ``places``: the position of each row, for messages; may be empty. ``notes``: remarks of the reader. Raises
    InputError for a shape that does not fit, no row, a kernel without a name, a number of processes below 1 or not
    whole, any other number that is negative or beyond ``LEAST`` and ``MOST`` of ``core.units``, and two rows of one
    run, kernel and rank.
    """

    kernels: tuple[str, ...]
    classes: tuple[str, ...]
    values: FloatArray
    places: tuple[Place, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", tuple(self.kernels))
        object.__setattr__(self, "classes", tuple(self.classes))
        values = np.array(self.values, dtype=np.float64)
        values.flags.writeable = False
        object.__setattr__(self, "values", values)
        rows = len(self.kernels)
        if values.shape != (rows, len(NUMBERS)) or len(self.classes) != rows or len(self.places) not in (0, rows):
            raise InputError(
                "the rows of counters have a wrong shape", value=values.shape, allowed=f"({rows}, {len(NUMBERS)})"
            )
        if not rows:
            raise InputError("the table of counters has no rows")
        self._check_numbers()
        self._check_names()

    def __len__(self) -> int:
        return len(self.kernels)

    def column(self, name: str) -> FloatArray:
        """Return a column of numbers, (rows,). Raises InputError for an unknown name."""
        if name not in NUMBERS:
            raise InputError("no such counter", value=name, allowed=nearest(name, NUMBERS))
        return self.values[:, NUMBERS.index(name)]

    def rows(self, mask: object) -> CounterTable:
        """Return the rows chosen by a mask or by numbers. Raises InputError if none is left."""
        chosen = np.arange(len(self))[np.asarray(mask)]
        places = tuple(self.places[row] for row in chosen) if self.places else ()
        kernels, classes = (tuple(of[row] for row in chosen) for of in (self.kernels, self.classes))
        return CounterTable(kernels, classes, self.values[chosen], places, self.notes)

    def of(self, kernel: str) -> CounterTable:
        """Return the rows of a kernel. Raises InputError for an unknown name."""
        if kernel not in self.kernels:
            raise InputError("no such kernel", value=kernel, allowed=nearest(kernel, set(self.kernels)))
        return self.rows([name == kernel for name in self.kernels])

    def place(self, row: int) -> Place:
        """Return the position of a row, or its description if that is unknown."""
        return self.places[row] if self.places else Place(path=f"row {row + 1}, kernel {self.kernels[row]}")

    def frame(self) -> pd.DataFrame:
        """Return the table as a data frame, in the order of ``COLUMNS``."""
        frame = pd.DataFrame(self.values, columns=list(NUMBERS))
        frame.insert(0, KERNEL, list(self.kernels))
        frame.insert(1, CLASS, list(self.classes))
        return frame

    # Values derived from the counters of a row, (rows,).

    @property
    def cpi(self) -> FloatArray:
        """Cycles per instruction."""
        return _ratio(self.column("cycles"), self.column("instructions"))

    @property
    def compute_cpi(self) -> FloatArray:
        """CPI without memory stalls, as T_comp takes it: ``CPI refers to the computation cycles only``."""
        stalls = np.nan_to_num(self.column("stall_cycles"))
        return _ratio(np.maximum(self.column("cycles") - stalls, 0.0), self.column("instructions"))

    @property
    def compute_s(self) -> FloatArray:
        """T_comp + BF_mem T_mem: the cycles of a process over its frequency."""
        return _ratio(self.column("cycles"), self.column("frequency_hz"))

    @property
    def stall_s(self) -> FloatArray:
        """T_stall: memory stalls, 0 if they were not counted."""
        return _ratio(np.nan_to_num(self.column("stall_cycles")), self.column("frequency_hz"))

    @property
    def communication_s(self) -> FloatArray:
        """T_p2p + T_coll; what was not recorded counts as none."""
        return np.asarray(sum(np.nan_to_num(self.column(name)) for name in _WAITS))

    @property
    def accesses(self) -> FloatArray:
        """All memory accesses: loads and stores if they were counted, otherwise the sum over the levels."""
        levels = sum(self.column(name) for name in ("l1_hits", "l2_hits", "llc_hits", "memory_accesses"))
        counted = self.column("loads_stores")
        return np.asarray(np.where(np.isnan(counted), levels, counted))

    @property
    def miss_fraction(self) -> FloatArray:
        """E = N_LLCmiss / N_totalmem (section 4.2); 0 if nothing was accessed, NaN if it was not counted."""
        misses, accesses = self.column("memory_accesses"), self.accesses
        return np.asarray(np.where((misses == 0) & (accesses == 0), 0.0, _ratio(misses, accesses)))

    def memory_s(self, latencies: Latencies) -> FloatArray:
        """T_mem = T_L1 + T_L2 + T_LLC + T_mm, each the hits times the latency (table 2); no access overlaps another."""
        cycles = (
            self.column("l1_hits") * latencies.l1_cycles
            + self.column("l2_hits") * latencies.l2_cycles
            + self.column("llc_hits") * latencies.llc_cycles
        )
        return _ratio(cycles, self.column("frequency_hz")) + self.column("memory_accesses") * latencies.memory_s

    def memory_cpi(self, latencies: Latencies) -> FloatArray:
        """T_mem in cycles per instruction: the only unit in which equation 5 adds it to a CPI."""
        return _ratio(self.memory_s(latencies) * self.column("frequency_hz"), self.column("instructions"))

    def blocking_factor(self, latencies: Latencies) -> FloatArray:
        """BF_mem = T_stall / T_mem (equation 3); NaN where a counter is missing."""
        stall_s = _ratio(self.column("stall_cycles"), self.column("frequency_hz"))
        return _ratio(stall_s, self.memory_s(latencies))

    def _check_numbers(self) -> None:
        there = ~np.isnan(self.values) & (self.values != 0)
        bad = there & ~((self.values >= LEAST) & (self.values <= MOST))
        if bad.any():
            row, column = (int(index[0]) for index in np.nonzero(bad))
            value = float(self.values[row, column])
            raise InputError(
                f"{NUMBERS[column]} is out of range", self.place(row), value=value, allowed=NOT_NEGATIVE_RANGE
            )
        processes = self.column("processes")
        wrong = ~(processes >= 1) | (processes != np.floor(processes))
        if wrong.any():
            row = int(np.argmax(wrong))
            value = float(processes[row])
            raise InputError("processes is not a whole number", self.place(row), value=value, allowed="1 or above")
        for name in ("size", "frequency_hz"):
            if (self.column(name) == 0).any():
                row = int(np.argmax(self.column(name) == 0))
                raise InputError(f"{name} is 0", self.place(row), value=0.0, allowed="numbers above 0")

    def _check_names(self) -> None:
        first_rows: dict[tuple[object, ...], int] = {}
        keys = zip(self.kernels, run_keys(self), self.column(RANK).tolist(), strict=True)
        for row, (kernel, run, rank) in enumerate(keys):
            if not kernel.strip():
                raise InputError("a kernel has no name", self.place(row))
            key = (kernel, run, None if np.isnan(rank) else rank)
            if key in first_rows:
                what = f"kernel {kernel!r} has two rows in one run; the other is at {self.place(first_rows[key])}"
                raise InputError(what, self.place(row), allowed="different rank or repetition")
            first_rows[key] = row


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Above over below, NaN where below is 0 or missing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(below > 0, above / below, np.nan))


def run_keys(table: CounterTable) -> list[tuple[object, ...]]:
    """Return the identity of each row's run: processes, size, class, frequency and repetition (None: missing)."""
    numbers = zip(*(table.column(name).tolist() for name in RUN_COLUMNS), strict=True)
    return [
        (label, *(None if np.isnan(number) else number for number in row))
        for label, row in zip(table.classes, numbers, strict=True)
    ]


def counter_table(
    rows: Sequence[Mapping[str, object]], places: Sequence[Place] = (), notes: Sequence[str] = ()
) -> CounterTable:
    """Return a table from rows by name of column; what a row lacks is NaN, or an empty class.

    Raises InputError for unknown names and as ``CounterTable``.
    """
    values = np.full((len(rows), len(NUMBERS)), np.nan)
    for index, row in enumerate(rows):
        for name, value in row.items():
            if name not in COLUMNS:
                raise InputError("no such counter", _at(places, index), value=name, allowed=nearest(name, COLUMNS))
            if name in NUMBERS:
                values[index, NUMBERS.index(name)] = float(value)  # type: ignore[arg-type]
    kernels = tuple(str(row.get(KERNEL, "")) for row in rows)
    return CounterTable(kernels, tuple(str(row.get(CLASS, "")) for row in rows), values, tuple(places), tuple(notes))


def _at(places: Sequence[Place], index: int) -> Place | None:
    return places[index] if places else None


def joined(tables: Sequence[CounterTable]) -> CounterTable:
    """Return the rows of several tables. Raises InputError for none, and for rows of one run, kernel and rank."""
    if not tables:
        raise InputError("no table of counters is given", allowed="at least one")
    places = tuple(table.place(row) for table in tables for row in range(len(table)))
    return CounterTable(
        tuple(name for table in tables for name in table.kernels),
        tuple(name for table in tables for name in table.classes),
        np.concatenate([table.values for table in tables]),
        places,
        tuple(dict.fromkeys(note for table in tables for note in table.notes)),
    )


def means(table: CounterTable) -> CounterTable:
    """One row per run and kernel: the mean over its ranks, then over repetitions; missing values are left out.

    A kernel that does not run on some of the ranks that a run lists counts as 0 there.
    """
    runs, ranks = run_keys(table), table.column(RANK)
    listed: dict[tuple[object, ...], set[float]] = {}
    for run, rank in zip(runs, ranks.tolist(), strict=True):
        if not np.isnan(rank):
            listed.setdefault(run, set()).add(rank)

    def over_ranks(rows: list[int]) -> FloatArray:
        block = table.values[rows]
        counts = (~np.isnan(block)).sum(0)
        if not np.isnan(ranks[rows]).any():
            counts = np.where(counts > 0, np.maximum(counts, len(listed[runs[rows[0]]])), 0)
        return _quotient(np.nansum(block, axis=0), counts)

    single = _grouped(table, list(zip(table.kernels, runs, strict=True)), over_ranks, (RANK,))
    keys = [(kernel, run[:-1]) for kernel, run in zip(single.kernels, run_keys(single), strict=True)]

    def over_repetitions(rows: list[int]) -> FloatArray:
        block = single.values[rows]
        return _quotient(np.nansum(block, axis=0), (~np.isnan(block)).sum(0))

    return _grouped(single, keys, over_repetitions, (RANK, "repetition"))


def summed(table: CounterTable, name_of: Callable[[str], str]) -> CounterTable:
    """Rows of one run and rank whose kernels get the same name, added up; what all of them lack stays NaN."""
    names = tuple(map(name_of, table.kernels))
    ranks = [None if np.isnan(rank) else rank for rank in table.column(RANK).tolist()]

    def total(rows: list[int]) -> FloatArray:
        block = table.values[rows]
        return np.asarray(np.where(np.isnan(block).all(0), np.nan, np.nansum(block, axis=0)))

    return _grouped(table, list(zip(names, run_keys(table), ranks, strict=True)), total, (), names)


def _grouped(
    table: CounterTable,
    keys: Sequence[object],
    fold: Callable[[list[int]], FloatArray],
    cleared: Sequence[str],
    names: Sequence[str] = (),
) -> CounterTable:
    """One row for each key, counters folded, the rest as in its first row; the columns ``cleared`` are NaN."""
    groups: dict[object, list[int]] = {}
    for row, key in enumerate(keys):
        groups.setdefault(key, []).append(row)
    counters = slice(NUMBERS.index(RANK) + 1, None)
    first = [rows[0] for rows in groups.values()]
    values = table.values[first].copy()
    for index, rows in enumerate(groups.values()):
        values[index, counters] = fold(rows)[counters]
    values[:, [NUMBERS.index(name) for name in cleared]] = np.nan
    places = tuple(table.places[row] for row in first) if table.places else ()
    kernels = names or table.kernels
    return CounterTable(
        tuple(kernels[row] for row in first), tuple(table.classes[row] for row in first), values, places
    )


def _quotient(total: FloatArray, counts: object) -> FloatArray:
    """Total over count, NaN if nothing was counted."""
    counted = np.asarray(counts, dtype=np.float64)
    return np.asarray(np.where(counted > 0, total / np.maximum(counted, 1.0), np.nan))
