"""Write a recording as a time-independent trace of SimGrid, which ``smpirun -replay`` runs."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.files.atomic_files import replacing_text
from simcodesign.describe.demands.collective import ALGORITHMS
from simcodesign.describe.python_programs.matched import message_sizes
from simcodesign.describe.python_programs.recorded_operations import COLLECTIVE, COMPUTE, RECEIVE, SEND
from simcodesign.describe.python_programs.recording import NONE, Recording

#: Kinds of computation: flops, or time that passes.
_WORK = {"flops": "compute", "seconds": "sleep"}
#: Collective operations by their bytes, root and ranks.
_COLLECTIVES: dict[str, Callable[[float, int, int], str]] = {
    "barrier": lambda size, root, ranks: "barrier",
    "broadcast": lambda size, root, ranks: f"bcast {_number(size)} {root}",
    "reduce": lambda size, root, ranks: f"reduce {_number(size)} 0 {root}",
    "allreduce": lambda size, root, ranks: f"allreduce {_number(size)} 0",
    "scan": lambda size, root, ranks: f"scan {_number(size)} 0",
    "gather": lambda size, root, ranks: f"gather {_number(size)} {_number(size)} {root}",
    "scatter": lambda size, root, ranks: f"scatter {_number(size)} {_number(size)} {root}",
    "allgather": lambda size, root, ranks: f"allgather {_number(size)} {_number(size)}",
    "all_to_all": lambda size, root, ranks: f"alltoall {_number(size)} {_number(size)}",
    "reduce_scatter": lambda size, root, ranks: f"reducescatter {' '.join(_parts(size, ranks))} 0",
}


def write_time_independent(recording: Recording, path: Path) -> list[str]:
    """Write the trace of all ranks into one file; an index with its name is what SimGrid replays. Datatypes are bytes.

    Returns what the trace leaves out: algorithms, phases. Raises InputError, with its line, for an operation that such
    a trace cannot say: of a group that is not all ranks, in instructions, on a disk or the memory, from any rank, or
    a nonblocking one that is no message; and if waits for messages of one tag between two ranks are in another order
    than their starts, because a wait names nothing else.
    """
    left_out = []
    if len(recording.phases) > 1:
        left_out.append("phases")
    used = (one for one in recording.operations if one[0] == COLLECTIVE)
    if any(algorithm != ALGORITHMS[name][0] or segments for _, name, _, algorithm, _, segments, _ in used):
        left_out.append("algorithms of collective operations")
    sizes = message_sizes(recording).tolist()
    with replacing_text(path) as file:
        for rank in range(recording.ranks):
            file.writelines(f"{rank} {line}\n" for line in ("init", *_lines(recording, sizes, rank), "finalize"))
    return left_out


def _lines(recording: Recording, sizes: list[float], rank: int) -> Iterator[str]:
    """Yield the actions of a rank."""
    begin, end = recording.first[rank : rank + 2].tolist()
    columns = (recording.op, recording.started, recording.waits_for)
    op, started, waits_for = (column[begin:end].tolist() for column in columns)
    open_messages: dict[tuple[int, int, int], deque[int]] = defaultdict(deque)
    key_of: dict[int, tuple[int, int, int]] = {}
    for entry, number in enumerate(op, start=begin):
        begun = waits_for[entry - begin]
        if begun != NONE:
            key = key_of.pop(begun)
            if open_messages[key].popleft() != begun:
                what = f"rank {rank} waits here for a message that it started after others of the same tag and rank"
                raise InputError(what, recording.place_of(entry), allowed="waits in the order of the starts")
            yield "wait {} {} {}".format(*key)
        elif number != NONE:
            operation = recording.operations[number]
            kind = operation[0]
            if kind in (SEND, RECEIVE) and operation[3] is not None:
                peer, tag = operation[3:5]
                is_started = started[entry - begin]
                if is_started:
                    key = (rank, peer, tag) if kind == SEND else (peer, rank, tag)
                    key_of[entry] = key
                    open_messages[key].append(entry)
                name = ("isend" if is_started else "send") if kind == SEND else ("irecv" if is_started else "recv")
                yield f"{name} {peer} {tag} {_number(sizes[entry])}"
            else:
                yield _own_action(recording, operation, entry, started[entry - begin])


def _own_action(recording: Recording, operation: tuple[Any, ...], entry: int, is_started: bool) -> str:
    """Return the action of computation, or of a collective operation. InputError for anything else."""
    kind, name, *rest = operation
    if not is_started and kind == COMPUTE and name in _WORK:
        return f"{_WORK[name]} {_number(rest[0])}"
    if not is_started and kind == COLLECTIVE and name in _COLLECTIVES:
        size_bytes, _, root, _, group = rest
        if np.ptp(recording.colours[group]) == 0:
            if name == "reduce_scatter" and size_bytes % 1:
                what = "reduce_scatter of a part of a byte"
                raise InputError(what, recording.place_of(entry), value=size_bytes, allowed="whole bytes")
            return _COLLECTIVES[name](size_bytes, root, recording.ranks)
        name = f"{name} of a group of ranks"
    words = "receive from any rank" if kind == RECEIVE else f"{'started ' if is_started else ''}{name}"
    what = f"a time-independent trace cannot say: {words}"
    allowed = "computation in flops or seconds, messages, collective operations of all ranks"
    raise InputError(what, recording.place_of(entry), allowed=allowed)


def _number(value: float) -> str:
    """Return the shortest text that is read as the same number."""
    return str(int(value)) if value.is_integer() and value < 1e15 else repr(value)


def _parts(size_bytes: float, ranks: int) -> Iterator[str]:
    """Whole numbers of bytes, as equal as can be, whose sum is the size."""
    each, more = divmod(int(size_bytes), ranks)
    return (str(each + (rank < more)) for rank in range(ranks))
