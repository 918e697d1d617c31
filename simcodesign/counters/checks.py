"""Check that counters are plausible.

Units of clocks and times, counts summed over processes, waits, and ranks and kernels that some runs lack.

Impossible values are errors; unlikely ones are notes that name run and numbers, for a reader to judge.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.counters.table import APPLICATION, OTHERS, RANK, CounterTable, means, run_keys
from simcodesign.fitting.measurements import FloatArray

Mask = NDArray[np.bool_]
#: Times from cycles and from a clock on the wall that differ by more than this fraction are not of one unit.
_OFF = 0.2
#: Kernels below this fraction of the time of a run are not worth a note.
_SMALL = 0.05
#: Instructions of two runs for one piece of work differ by less than this factor.
_ALIKE = 1.3
#: Clocks in Hz that processors have.
_CLOCKS = (1e8, 1e10)
_ROUNDING = 1e-9
#: Runs, ranks or kernels that one note lists.
_LISTED = 4


def check_counters(table: CounterTable) -> None:
    """Raise InputError with the place of a row for stall cycles above all cycles."""
    stalls, cycles = table.column("stall_cycles"), table.column("cycles")
    over = stalls > (1 + _ROUNDING) * cycles  # false for what is not known
    if over.any():
        row = int(np.argmax(over))
        what = (
            f"kernel {table.kernels[row]!r} has more stall_cycles than cycles on P = {table.column('processes')[row]:g}"
        )
        raise InputError(what, table.place(row), value=float(stalls[row]), allowed=f"up to its cycles, {cycles[row]:g}")


def plausibility_notes(table: CounterTable) -> list[str]:
    """Describe in words what is unlikely about counters."""
    runs = means(table)
    notes = [*_times(runs), *_waits(runs), *_sums(runs), *_ranks(table)]
    return notes + list(kernel_notes(runs, near_only=True))


def in_words(names: Sequence[str], most: int = _LISTED) -> str:
    """Return ``a, b and 2 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


# --- Times ------------------------------------------------------------------------------------------------------


def _where(runs: CounterTable, row: int) -> str:
    """``P = 8 (b.csv:2)``."""
    place = runs.places[row] if runs.places else None
    line = "" if place is None or place.line is None else f":{place.line}"
    where = f" ({Path(place.file).name}{line})" if place and place.file else ""
    return f"P = {runs.column('processes')[row]:g}{where}"


def _others_s(runs: CounterTable) -> FloatArray:
    """Time of ``OTHERS`` in the run of each row: disks, which no cycle counter sees, may be in it and in a kernel."""
    keys = run_keys(runs)
    others_s = {key: runs.column("time_s")[row] for row, key in enumerate(keys) if runs.kernels[row] == OTHERS}
    return np.array([np.nan_to_num(others_s.get(key, 0.0)) for key in keys], dtype=np.float64)


def _large(runs: CounterTable, seconds: FloatArray) -> Mask:
    """Whether a row takes a fraction of the time of its run that is worth a word."""
    keys, totals = run_keys(runs), dict.fromkeys(run_keys(runs), 0.0)
    for key, each in zip(keys, np.nan_to_num(seconds).tolist(), strict=True):
        totals[key] += each
    return np.asarray(seconds > _SMALL * np.array([totals[key] for key in keys]), dtype=np.bool_)


def _times(runs: CounterTable) -> Iterator[str]:
    """Cycles over the clock against the time without waits, which may be overlapped by computation."""
    kernels = np.array([name not in (APPLICATION, OTHERS) for name in runs.kernels])
    time_s, busy_s = runs.column("time_s"), runs.compute_s
    least_s = np.maximum(time_s - runs.communication_s, 0.0)
    below = busy_s + _others_s(runs) < (1 - _OFF) * least_s
    off = kernels & ((busy_s > (1 + _OFF) * time_s) | below) & _large(runs, np.fmax(busy_s, time_s))
    if off.any():
        rows = np.nonzero(off)[0]
        row = int(rows[np.argmax(np.abs(np.log((busy_s[rows] + 1e-300) / (least_s[rows] + 1e-300))))])
        more = f" (and {len(rows) - 1} more rows alike)" if len(rows) > 1 else ""
        yield (
            f"Kernel {runs.kernels[row]!r} on {_where(runs, row)}: its cycles over the clock are {busy_s[row]:.4g} s, "
            f"but its time without waits is {least_s[row]:.4g} s{more}: likely the unit of the clock or of the time, "
            "or counts of all processes together (summed)."
        )
    hz = np.where(kernels & np.isnan(runs.column("frequency_hz")), _quotient(runs.column("cycles"), least_s), np.nan)
    is_unlikely = ((hz < _CLOCKS[0]) | (hz > _CLOCKS[1])) & _large(runs, time_s)
    if is_unlikely.any():
        row = int(np.argmax(is_unlikely))
        yield (
            f"Kernel {runs.kernels[row]!r} on {_where(runs, row)}: {runs.column('cycles')[row]:.4g} cycles in "
            f"{least_s[row]:.4g} s are a clock of {hz[row]:.4g} Hz, which no processor has: likely the unit of the "
            "time, or counts of all processes together (summed)."
        )


def _quotient(above: FloatArray, below: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(below > 0, above / below, np.nan))


def _waits(runs: CounterTable) -> Iterator[str]:
    """Yield waits that are longer than the time of their row, or of their run if the row has none."""
    waits, time_s = runs.communication_s, runs.column("time_s")
    keys = run_keys(runs)
    whole = {key: time_s[row] for row, key in enumerate(keys) if runs.kernels[row] == APPLICATION}
    limit = np.fmin(time_s, np.array([whole.get(key, np.nan) for key in keys]))
    over = waits > (1 + _ROUNDING) * limit
    if over.any():
        row, count = int(np.argmax(over)), int(over.sum())
        more = f" (and {count - 1} more rows alike)" if count > 1 else ""
        yield (
            f"Kernel {runs.kernels[row]!r} on {_where(runs, row)}: it waits {waits[row]:.4g} s, longer than the "
            f"{limit[row]:.4g} s of its time{more}: likely the unit, or waits of all processes together."
        )


# --- Runs against each other ------------------------------------------------------------------------------------


def _of_runs(runs: CounterTable, value: Callable[[list[int]], float]) -> list[tuple[int, float]]:
    """First row and a value of the kernels of each run; runs whose value is not known are left out."""
    groups: dict[object, list[int]] = {}
    for row, key in enumerate(run_keys(runs)):
        if runs.kernels[row] not in (APPLICATION, OTHERS):
            groups.setdefault(key, []).append(row)
    values = [(rows[0], value(rows)) for rows in groups.values()]
    return [(row, each) for row, each in values if each > 0]


def _sums(runs: CounterTable) -> Iterator[str]:
    """Yield runs with P times the instructions of the others for one piece of work.

    Some are summed over processes, some not.
    """
    instructions, processes = runs.column("instructions"), runs.column("processes")
    size = np.where(np.isnan(runs.column("size")), 1.0, runs.column("size"))
    rates = _of_runs(runs, lambda rows: float(instructions[rows].sum()) * float(processes[rows[0]] / size[rows[0]]))
    single = [(row, work) for row, work in rates if processes[row] > 1]
    candidates = [(row, scale) for row, work in single for scale in (work, work / float(processes[row]))]
    if all(_alike(work, other) for _, work in single for _, other in single):
        return
    for _, scale in candidates:
        plain = [row for row, work in single if _alike(work, scale)]
        summed = [row for row, work in single if not _alike(work, scale) and _alike(work / processes[row], scale)]
        if plain and summed and len(plain) + len(summed) == len(single):
            row, other = summed[0], plain[0]
            totals = dict(single)
            listed = in_words([_where(runs, each) for each in summed])
            unit = "" if np.isnan(runs.column("size")[row]) else " for a unit of size"
            yield (
                f"On {listed} instructions seem to be the sum over all processes, elsewhere of one: "
                f"{totals[row]:.4g}{unit} on P = {processes[row]:g}, {totals[other]:.4g} on P = "
                f"{processes[other]:g}, a factor of about P (FILE@summed divides them)."
            )
            return


def _alike(one: float, other: float) -> bool:
    return one < _ALIKE * other and other < _ALIKE * one


def _ranks(table: CounterTable) -> Iterator[str]:
    """Yield runs that list fewer ranks than they have."""
    listed: dict[object, set[float]] = {}
    first: dict[object, int] = {}
    for row, (key, rank) in enumerate(zip(run_keys(table), table.column(RANK).tolist(), strict=True)):
        if not np.isnan(rank):
            listed.setdefault(key, set()).add(rank)
            first.setdefault(key, row)
    processes = table.column("processes")
    short = [key for key in listed if len(listed[key]) < processes[first[key]]]
    if short:
        texts = [
            f"{len(listed[key])} of {processes[first[key]]:g} ranks on {_where(table, first[key])}" for key in short
        ]
        yield f"There are rows for {in_words(texts)}: their mean is used as the mean of all."


# --- Kernels ----------------------------------------------------------------------------------------------------


def kernel_notes(runs: CounterTable, modelled: Sequence[str] = (), near_only: bool = False) -> Iterator[str]:
    """Yield a note on each kernel that only some runs have.

    Notes are on kernels with nearly the same name as one in the other runs, and on the ``modelled`` ones.
    ``near_only``: on the former alone.
    """
    keys = run_keys(runs)
    points = {key: runs.column("processes")[row] for row, key in reversed(list(enumerate(keys)))}
    there: dict[str, set[tuple[object, ...]]] = {}
    counted = {key for row, key in enumerate(keys) if runs.kernels[row] not in (APPLICATION, OTHERS)}
    for row, name in enumerate(runs.kernels):
        if name not in (APPLICATION, OTHERS):
            there.setdefault(name, set()).add(keys[row])
    for name, where in there.items():
        near = _namesake(name, where, there)
        if len(where) < len(counted) and (near or (name in modelled and not near_only)):
            on = sorted({float(points[key]) for key in where})
            one = "run" if len(where) == 1 else "runs"
            ask = f"; did you mean {near!r}?" if near else ""
            yield f"Kernel {name!r} is only in the {one} on P = {in_words([f'{P:g}' for P in on])}{ask or '.'}"


def _namesake(name: str, where: set[tuple[object, ...]], there: Mapping[str, set[tuple[object, ...]]]) -> str:
    """Return a kernel of nearly the same name that is in more runs, and in no run of this kernel; empty for none."""
    others = [each for each, runs in there.items() if len(runs) > len(where) and not runs & where]
    return next(iter(difflib.get_close_matches(name, others, n=1, cutoff=0.8)), "")
