"""Run a program that uses mpi4py on simulated ranks: its results, its output, and a workload of what it did."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from simcodesign.core.errors import DeadlockError, InputError, Place
from simcodesign.core.files.input_files import check_execution, read_bytes
from simcodesign.describe.design_point import check_ranks
from simcodesign.describe.machine import Machine
from simcodesign.describe.python_programs.recording import Recording, same_operations
from simcodesign.describe.recordings.workload import workload_of_recording
from simcodesign.describe.workload import Workload
from simcodesign.mpi.detail import ArrayBytes, by_line
from simcodesign.mpi.files.written import WrittenFiles
from simcodesign.mpi.ranks.message_times import MessageTimes
from simcodesign.mpi.ranks.process_state import ProcessState
from simcodesign.mpi.ranks.world import Clock, World
from simcodesign.mpi.simulated_times import out_of_order, simulated_times
from simcodesign.mpi.stand_in import installed

#: Runs after which a program whose clock still changes what it does is taken as it is.
MOST_RUNS = 5
#: A run, and the states of its ranks.
Ran = tuple[World, ProcessState]
#: Possible consequences of the order in which messages from any rank are received.
CHANGES = ("nothing", "operations", "lines", "deadlock", "error")


@dataclass(frozen=True)
class MpiRun:
    """A program that was run.

    ``recording``: what the ranks did; ``lines``: ``(rank, line)`` that it printed, in the order of time.

    ``runs``: how often it ran until its clock showed the simulated times (``settled``); ``cpu_s``: of the last run;
    ``in_time``: receives from any rank, tests and probes, which depend on what arrives first; ``out_of_order``:
    receives from any rank that did not take what arrives first in the simulation; ``other_order``: what another run
    changed whose receives from any rank took what can come last (one of ``CHANGES``), None without such a run;
    ``array_bytes``: with ``detail``, the most bytes of NumPy arrays that each rank's variables held at a call of MPI.
    """

    workload: Workload
    machine: Machine
    recording: Recording
    lines: tuple[tuple[int, str], ...]
    runs: int
    settled: bool
    cpu_s: float
    in_time: int
    out_of_order: int
    other_order: str | None
    array_bytes: tuple[int, ...] = ()

    @property
    def ranks(self) -> int:
        """How many ranks ran."""
        return self.recording.ranks

    @property
    def operations(self) -> int:
        """How many operations all ranks did, without waits and looks at the clock."""
        return self.recording.yielded


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
    source: str | None = None,
) -> MpiRun:
    """Run an mpi4py program on ``ranks`` ranks of a machine, without MPI, and record what every rank does.

    All ranks run in this process and take turns; messages carry the real data, so that results are right. A clock
    (``MPI.Wtime``, ``time.time``) shows the simulated time of the machine: a program that reads it runs again with the
    times of the simulation before, until they no longer change, at most 5 times. Receives from any rank, tests and
    probes take what arrives first. Computation is the CPU time between two calls, without imports. ``arguments``: of
    the program; ``speed``: of a processor of the machine over this computer's, None to leave this time out;
    ``declared``: whether computation that ``sc.compute`` declares counts; ``detail``: whether each line that calls MPI
    is a phase, unless the program marks phases by ``sc.phase``, and the memory of arrays is looked at; ``seed``: of
    random numbers that the program does not seed; ``source``: the program's text, which ``program`` then only names.

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
    text, times = read_bytes(script) if source is None else source.encode(), MessageTimes(machine, ranks)
    detailed = ArrayBytes(ranks) if detail else None

    written = WrittenFiles()

    def once(known: Clock, is_late: bool = False) -> Ran:
        after = WrittenFiles(written.paths) if is_late else written
        written.restore()
        try:
            return once_with(after, known, is_late)
        finally:
            if is_late:
                after.restore()

    def once_with(files: WrittenFiles, known: Clock, is_late: bool) -> Ran:
        world = World(ranks, str(script), speed, _eager_bytes(machine), times, known, is_late, declared)
        if detailed is not None:
            detailed.attend(world)
        world.written = files
        world.nodes = machine.node_of(ranks).tolist()
        return world, _ran(world, script, text, arguments, seed)

    def recorded(world: World) -> Recording:
        recording = world.log.recording()
        return by_line(recording, script.name) if detail and not world.log.has_phases else recording

    done = _until_settled(once, recorded, machine)
    other = None
    if any(box.taken for box in chain(*done.world.boxes)):
        other = _change(lambda: once(done.known, is_late=True), done.recording, done.state)
    return MpiRun(
        workload_of_recording(done.recording, script.stem),
        machine,
        done.recording,
        done.state.lines,
        done.runs,
        done.settled,
        done.cpu_s,
        done.world.in_time,
        done.out_of_order,
        other,
        tuple(detailed.array_bytes) if detailed else (),
    )


def marked(lines: Sequence[tuple[int, str]]) -> str:
    """Return the lines as text, each marked by its rank."""
    return "".join(f"[{rank}] {line}\n" for rank, line in lines)


def _check_options(ranks: int, machine: Machine, speed: float | None) -> None:
    if ranks < 1:
        raise InputError("a run needs at least one rank", value=ranks, allowed="1 or more")
    check_ranks(float(ranks), machine)
    if speed is not None and not (np.isfinite(speed) and speed > 0):
        raise InputError("the speed of a processor must be a finite number", value=speed, allowed="above 0")


@dataclass(frozen=True)
class _Settled:
    """The last of ``runs`` of a program; ``known``: times of its simulation, if there was one."""

    world: World
    state: ProcessState
    recording: Recording
    known: Clock
    runs: int
    cpu_s: float
    settled: bool
    out_of_order: int


def _until_settled(once: Callable[[Clock], Ran], recorded: Callable[[World], Recording], machine: Machine) -> _Settled:
    """Run the program until its clock shows the simulated times, and what arrives first is received first."""
    known, before, late, runs, settled = Clock(), None, 0, 0, False
    while True:
        runs += 1
        began_s = time.process_time()
        with _uncollected():  # as long as the logs of all ranks exist, which a collection would go through
            world, state = once(known)
            recording = recorded(world)
        cpu_s = time.process_time() - began_s
        next_known = known
        if not (world.log.clock_reads or world.in_time):
            settled = True
        elif before is not None and same_operations(recording, before) and world.clock.reads_s == known.reads_s:
            settled = not late  # the simulation would equal the previous one
            return _Settled(world, state, recording, known, runs, cpu_s, settled, late)
        else:
            seen = simulated_times(world.log, recording, machine)
            late = out_of_order(world.boxes, recording, seen.arrival_s)
            settled = not late and world.clock.reads_s == seen.reads_s
            next_known = Clock(seen.reads_s, known.computed_s or world.clock.computed_s, seen.sends)
        if settled or runs == MOST_RUNS:
            return _Settled(world, state, recording, next_known, runs, cpu_s, settled, late)
        known, before = next_known, recording


def _change(again: Callable[[], Ran], recording: Recording, state: ProcessState) -> str:
    """Consequence of another run of the program: one of ``CHANGES``."""
    try:
        world, other = again()
    except DeadlockError:
        return "deadlock"
    except InputError:
        return "error"
    if sorted(other.lines) != sorted(state.lines):
        return "lines"
    return "nothing" if same_operations(world.log.recording(), recording) else "operations"


def _ran(world: World, script: Path, source: bytes, arguments: Sequence[str], seed: int) -> ProcessState:
    """Run the program once."""
    try:
        state = ProcessState(world, script, source, arguments, seed)
    except SyntaxError as error:
        raise InputError(f"SyntaxError: {error.msg}", Place(str(script), error.lineno)) from None
    except ValueError as error:  # as for a byte of 0
        raise InputError(f"not a file of Python: {error}", Place(str(script))) from None
    try:
        with _uncollected(), installed(world), state.installed(), world.written.noted():
            world.scheduler.run(state.body)
        if world.thread_error:
            raise world.thread_error
        world.end()
    except Exception as error:
        if not world.is_late:
            sys.stdout.write(marked(state.lines))  # often the only hint at the cause
        if world.thread_error:
            raise world.thread_error from error
        raise
    return state


@contextmanager
def _uncollected() -> Iterator[None]:
    """Let no collection of garbage count as the computation of the rank in whose turn it falls."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _eager_bytes(machine: Machine) -> float:
    """Return the longest message sent without its receiver; infinite for a machine without rendezvous."""
    network = machine.network
    limit = None if network is None else network.message_model.rendezvous_above_bytes
    return float("inf") if limit is None else float(np.min(np.asarray(limit)))
