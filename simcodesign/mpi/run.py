"""Run a program that uses mpi4py on simulated ranks: its results, its output, and a workload of what it did."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import check_execution, read_bytes
from simcodesign.core.result import Result
from simcodesign.describe.design_point import check_ranks
from simcodesign.describe.machine import Machine
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from simcodesign.mpi.detail import Detail
from simcodesign.mpi.log import CLOCK, Log
from simcodesign.mpi.process_state import ProcessState
from simcodesign.mpi.stand_in import installed
from simcodesign.mpi.world import Clock, World

#: Runs after which a program whose clock still changes what it does is taken as it is.
MOST_RUNS = 5


@dataclass(frozen=True)
class MpiRun:
    """A program that was run. ``lines``: ``(rank, line)`` that it printed, in the order of the turns.

    ``runs``: how often it ran until its clock showed the simulated times (``settled``); ``cpu_s``: of the last run;
    ``wildcards``: receives from any rank, probes and waits for any, which took the first message in the order of turns.
    ``array_bytes``: with ``detail``, the most bytes of NumPy arrays that each rank's variables held at a call of MPI.
    """

    workload: Workload
    machine: Machine
    ranks: int
    operations: int
    lines: tuple[tuple[int, str], ...]
    runs: int
    settled: bool
    cpu_s: float
    wildcards: int
    array_bytes: tuple[int, ...] = ()


def run(
    program: str | Path,
    ranks: int,
    on: str | Machine,
    *,
    arguments: Sequence[str] = (),
    speed: float | None = 1.0,
    declared: bool = True,
    detail: bool = False,
    seed: int = 0,
) -> MpiRun:
    """Run an mpi4py program on ``ranks`` ranks of a machine, without MPI, and record what every rank does.

    All ranks run in this process and take turns; messages carry the real data, so that results are right. A clock
    (``MPI.Wtime``, ``time.time``) shows the simulated time of the machine: a program that reads it runs again with the
    times of the simulation before, until they no longer change, at most 5 times. Computation is the CPU time between
    two calls, without imports. ``arguments``: of the program; ``speed``: of a processor of the machine over this
    computer's, None to leave this time out; ``declared``: whether computation that ``sc.compute`` declares counts;
    ``detail``: whether each line that calls MPI is a phase, unless the program marks phases by ``sc.phase``, and the
    memory of arrays is looked at; ``seed``: of random numbers that the program does not seed.

    ``MpiRun.workload`` goes wherever a workload goes. Raises InputError for a program that cannot be run, with the
    user's line, and DeadlockError if ranks wait for each other. This executes the program; ``confine`` forbids it.

    >>> from pathlib import Path
    >>> import tempfile
    >>> import simcodesign as sc
    >>> text = "from mpi4py import MPI; print(MPI.COMM_WORLD.allreduce(MPI.COMM_WORLD.rank))"
    >>> file = Path(tempfile.mkdtemp(), "sum.py")
    >>> _ = file.write_text(text)
    >>> done = sc.run(file, 4, "crossbar-16", speed=None)
    >>> sorted(done.lines)[0]
    (0, '6')
    >>> sc.simulate(done.workload, "crossbar-16", {"P": 4}, effects="none").messages
    8
    """
    script = Path(program)
    check_execution(Place(str(program)), str(program))
    machine = on if isinstance(on, Machine) else Machine.load(on)
    _check_options(ranks, machine, speed)
    source = read_bytes(script)
    known, before = Clock(), None
    for count in range(1, MOST_RUNS + 1):
        began_s = time.process_time()
        world = World(ranks, speed, _eager_bytes(machine), known, declared=declared)
        detailed = Detail(world) if detail else None
        state = _once(world, script, source, arguments, seed)
        log, clock = world.log, world.clock
        cpu_s = time.process_time() - began_s
        workload = log.workload(script.stem)
        settled = not log.clock_reads or (clock.reads_s == known.reads_s and log.comparable() == before)
        if settled or count == MOST_RUNS:
            break
        result = simulate(log.workload(script.stem, with_clock=True), machine, {"P": ranks}, timeline=True)
        computed_s = known.computed_s or clock.computed_s
        known, before = Clock(_times_of_reads(log, result), computed_s), log.comparable()
    return MpiRun(
        workload,
        machine,
        ranks,
        log.operations,
        tuple(state.lines),
        count,
        settled,
        cpu_s,
        log.wildcards,
        tuple(detailed.array_bytes) if detailed else (),
    )


def marked(lines: Sequence[tuple[int, str]]) -> str:
    """Return the lines as text, each marked by its rank."""
    return "".join(f"[{rank}] {line}\n" for rank, line in lines)


def _check_options(ranks: int, machine: Machine, speed: float | None) -> None:
    if ranks < 1:
        raise InputError("ranks", value=ranks, allowed="1 or more")
    check_ranks(float(ranks), machine)
    if speed is not None and not (np.isfinite(speed) and speed > 0):
        raise InputError("speed", value=speed, allowed="above 0")


def _once(world: World, script: Path, source: bytes, arguments: Sequence[str], seed: int) -> ProcessState:
    try:
        state = ProcessState(world, script, source, arguments, seed)
    except SyntaxError as error:
        raise InputError(f"SyntaxError: {error.msg}", Place(str(script), error.lineno)) from None
    except ValueError as error:  # as for a byte of 0
        raise InputError(f"not a file of Python: {error}", Place(str(script))) from None
    enabled = gc.isenabled()
    gc.disable()  # a collection would count as the computation of the rank in whose turn it falls
    try:
        with installed(world), state.installed():
            world.scheduler.run(state.body)
        world.check_received()
    except Exception:
        sys.stdout.write(marked(state.lines))  # often the only hint at the cause
        raise
    finally:
        if enabled:
            gc.enable()
    return state


def _eager_bytes(machine: Machine) -> float:
    """The longest message that is sent without its receiver; infinite of a machine without rendezvous."""
    network = machine.network
    limit = None if network is None else network.message_model.rendezvous_above_bytes
    return float("inf") if limit is None else float(np.min(np.asarray(limit)))


def _times_of_reads(log: Log, result: Result) -> list[list[float]]:
    """When each rank reads the clock: when all that it did before is done. Phase c1 begins at its first read."""
    timeline = result.timeline
    assert timeline is not None
    numbers = [int(name[1:]) if name != "main" else 0 for name in timeline.phases]  # main: nothing was done at all
    number = np.array(numbers, np.int64)[timeline.phase]
    times = []
    for rank, entries in enumerate(log.entries):
        reads = sum(entry[0] == CLOCK for entry in entries)
        done_s = np.zeros(reads + 1)
        mine = timeline.rank == rank
        np.maximum.at(done_s, number[mine], timeline.finish_s[mine])
        times.append(np.maximum.accumulate(done_s)[:reads].tolist())
    return times
