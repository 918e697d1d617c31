"""Profiled runs of the simulated machine: its hardware counters as the tables that ``fitting`` reads.

``profiled`` is the "few small profiled runs" of Ding et al., APMT, section 3: a simulation for each number of processes
and each seed. What was counted is exact, so that models of it can be compared with the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import RANK_COUNTERS, RankCounters
from simcodesign.counters.kernels import REST
from simcodesign.counters.table import APPLICATION, NUMBERS, OTHERS, RANK, CounterTable, Latencies, joined
from simcodesign.describe.scenario import MachineSource, Scenario, WorkloadSource, machine_of
from simcodesign.engine.selection import AUTO
from simcodesign.engine.simulate import simulate
from simcodesign.fitting.measurements import FloatArray

#: Names of kernels with a meaning of their own, which no phase may have.
TAKEN = (APPLICATION, OTHERS, REST)


def counters_of(
    result: Result, *, size: float | None = None, repetition: float | None = None, problem_class: str = ""
) -> CounterTable:
    """Return the counters of a simulation with ``counters=True``.

    A row for every phase and rank, and one of the application.

    A phase is a kernel. The row of the application has only a time, for every rank the makespan: a rank that is done
    early waits in the finalization. Its communication is the communication of the kernels and is not in it again. Time
    on disks, which no counter of a processor sees, is in the time of its phase; if the phase has cycles, from which
    models take the time of computation, it is also in a row ``(others)``, because otherwise models would take it for
    communication.

    ``size`` (default: the size of the Result); ``frequency_hz``: of each phase. Raises InputError for a Result
    without counters and for a phase with the name of a row that has another meaning.
    """
    counters = result.counters
    ranks = result.ranks
    if counters is None or ranks is None:
        raise InputError("a Result without counters", value=result.workload, allowed="simulate(..., counters=True)")
    for phase in counters.phases:
        if phase in TAKEN:
            what = f"a phase of {result.workload} has a name that tables of counters use"
            raise InputError(what, value=phase, allowed=f"any name but {', '.join(TAKEN)}")
    known_size = float(result.size) if size is None and result.size is not None else size
    clocked = ~np.isnan(counters.frequency_hz)
    disks_s = ranks.busy_s[:, clocked, COMPONENTS.index("disk")].sum(axis=1)
    times = {OTHERS: disks_s} if disks_s.any() else {}
    times[APPLICATION] = np.full(counters.ranks, float(result.makespan_s))
    values = np.concatenate([_rows_of_phases(counters), *(_rows_of_times(counters, each) for each in times.values())])
    values[:, NUMBERS.index("processes")] = counters.ranks
    values[:, NUMBERS.index("size")] = np.nan if known_size is None else known_size
    values[:, NUMBERS.index("repetition")] = np.nan if repetition is None else repetition
    names = tuple(kernel for kernel in (*counters.phases, *times) for _ in range(counters.ranks))
    return CounterTable(names, (problem_class,) * len(names), values)


def _rows_of_phases(counters: RankCounters) -> FloatArray:
    """Values of the rows of all phases, grouped by phase: (rows, numbers)."""
    values = np.full((len(counters.phases), counters.ranks, len(NUMBERS)), np.nan)
    values[..., NUMBERS.index(RANK)] = np.arange(counters.ranks)
    values[..., NUMBERS.index("frequency_hz")] = counters.frequency_hz[:, None]
    for name in RANK_COUNTERS:
        values[..., NUMBERS.index(name)] = counters.of(name).T
    return values.reshape(-1, len(NUMBERS))


def _rows_of_times(counters: RankCounters, time_s: FloatArray) -> FloatArray:
    """Values of rows of which only the time of every rank is known: (ranks, numbers)."""
    values = np.full((counters.ranks, len(NUMBERS)), np.nan)
    values[:, NUMBERS.index(RANK)] = np.arange(counters.ranks)
    values[:, NUMBERS.index("frequency_hz")] = counters.clock_hz
    values[:, NUMBERS.index("time_s")] = time_s
    return values


def latencies_of(machine: MachineSource) -> Latencies:
    """Return the latencies of a machine as models of counters take them: caches in cycles of its clock, memory in s.

    The levels are as in ``RankCounters``; of several between the first and the last cache it is the mean, and a
    level that the machine lacks takes 0 cycles. Raises InputError for a machine without a memory, or with caches and no
    clock.
    """
    machine = machine_of(machine)
    memory, clock_hz = machine.memory, machine.processor.clock_hz
    if memory is None:
        raise InputError(f"{machine.name} has no memory", machine.place, allowed="memory (and caches) in its file")
    if memory.caches and clock_hz is None:
        what = f"latencies of caches in cycles need processor.clock, which {machine.name} has not"
        raise InputError(what, machine.place)
    cycles = [float(level.latency_cycles(clock_hz or np.nan)) for level in memory.caches]
    between = cycles[1:-1]
    return Latencies(
        l1_cycles=cycles[0] if cycles else 0.0,
        l2_cycles=sum(between) / len(between) if between else 0.0,
        llc_cycles=cycles[-1] if len(cycles) > 1 else 0.0,
        memory_s=float(memory.latency_s),
    )


def profiled(
    workload: WorkloadSource,
    machine: MachineSource,
    processes: Sequence[int],
    parameters: Mapping[str, object] | None = None,
    *,
    preset: str | None = None,
    phases: Collection[str] | None = None,
    effects: str | Collection[str] = "all",
    seeds: Sequence[int] = range(1),
    of_run: Callable[[int], Mapping[str, object]] | None = None,
    problem_class: str = "",
    engine: str = AUTO,
) -> CounterTable:
    """Return the counters of simulations on these numbers of ``processes``, one for each of the ``seeds``.

    Their repetitions.

    ``of_run`` gives parameters that depend on the number of processes, e.g. ``lambda P: {"n": 1000 * P}`` for weak
    scaling. ``problem_class``: the name of the problem in
    the table. The other arguments are as for ``simulate``. Raises InputError for no run, a number of processes or a
    seed that comes twice, and as ``simulate`` and ``counters_of``.

    >>> from simcodesign.studies.extrapolation.virtual_profiler import profiled
    >>> table = profiled("jacobi", "torus-cluster", [4, 8], effects="none")
    >>> len(table.kernels) >= 2
    True
    """
    for what, given in (("numbers of processes", processes), ("seeds", seeds)):
        if not len(given) or len(set(given)) < len(given):
            raise InputError(f"{what} of profiled runs", value=list(given), allowed="one or more, each once")
    scenario = Scenario.of(workload, machine, parameters, preset=preset, phases=phases)
    tables = []
    for count in processes:
        run = scenario.at({**({} if of_run is None else of_run(count)), "P": count})
        for seed in seeds:
            result = simulate(run, effects=effects, seed=seed, engine=engine, counters=True)
            tables.append(counters_of(result, repetition=seed, problem_class=problem_class))
    return joined(tables)
