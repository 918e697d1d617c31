"""Names and sizes of operations: what each benchmark prints, and what the rows of this project hold.

``BYTES`` defines ``bytes`` of every collective operation, as ``bytes`` in workload files does. A benchmark may print
another size: the size of the whole buffer, P blocks, or of one block of P; ``PRINTED`` lists these sizes. Sources:
nccl-tests, doc/PERFORMANCE.md and ``*GetCollByteCount`` in src/*.cu; PICO, bench/bench_utils.c (``count / comm_sz``);
Intel MPI Benchmarks, User Guide ("X bytes") and src_c/IMB_reduce_scatter_block.c; OSU micro-benchmarks, README and
c/mpi/collective.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

#: What ``bytes`` is in a row, by operation; of all others it is a message.
BYTES: Mapping[str, str] = {
    "broadcast": "the message that every rank gets",
    "reduce": "the vector of each rank",
    "allreduce": "the vector of each rank",
    "scan": "the vector of each rank",
    "reduce_scatter": "the vector of each rank, P blocks",
    "reduce_scatter_block": "the vector of each rank, P blocks",
    "allgather": "what each rank contributes",
    "gather": "what each rank contributes",
    "scatter": "what each rank gets",
    "all_to_all": "what each rank sends to each other",
}
BLOCK, WHOLE = "block", "whole"
#: Sizes that a benchmark prints otherwise, by format and operation: ``WHOLE``, P times ``bytes``, or ``BLOCK``, a P-th.
PRINTED: Mapping[str, Mapping[str, str]] = {
    "osu": {},
    "imb": {"reduce_scatter_block": BLOCK},
    "nccl": dict.fromkeys(("allgather", "gather", "scatter", "all_to_all"), WHOLE),
    "pico": dict.fromkeys(("allgather", "gather", "scatter", "all_to_all"), WHOLE),
}
#: Names that benchmarks print, in letters alone, where the operation has another one.
_NAMES = {
    "bcast": "broadcast",
    "alltoall": "all_to_all",
    "alltoallv": "all_to_allv",
    "alltoallw": "all_to_allw",
    "reducescatter": "reduce_scatter",
    "reducescatterblock": "reduce_scatter_block",
    "latency": "ping_pong",
    "pingpong": "ping_pong",
    "pingping": "ping_ping",
    "multilatency": "multi_pair_ping_pong",
    "multithreadedlatency": "multi_threaded_ping_pong",
    "multiprocesslatency": "multi_process_ping_pong",
    "bandwidth": "window",
    "uniband": "window",
    "bidirectionalbandwidth": "window_both_ways",
    "biband": "window_both_ways",
    "multiplebandwidthmessagerate": "multi_pair_window",
}
#: Prefixes of the name of an operation in another mode, or in several groups or threads.
_WAYS = re.compile(r"^(?:non_blocking_|persistent_|multi_threaded_|multi_)+")


def operation_of(printed: str) -> str:
    """Return the operation that a benchmark calls ``printed``; one without another name keeps its own.

    >>> [operation_of(name) for name in ("Bcast", "all_gather", "Non-blocking All-to-All Latency")]
    ['broadcast', 'allgather', 'non_blocking_all_to_all']
    """
    words = re.sub(r"[^a-z0-9]+", "_", printed.lower()).strip("_")
    for way in ("non_blocking", "persistent"):
        if way in words and words != way:
            return f"{way}_{operation_of(words.replace(way, ''))}"
    letters = words.replace("_", "")
    if letters in _NAMES:
        return _NAMES[letters]
    plain = letters.removesuffix("latency").removesuffix("personalizedexchange")
    is_collective = plain in (name.replace("_", "") for name in BYTES)
    return _NAMES.get(plain) or (plain if is_collective else words.removesuffix("_latency"))


def row_bytes(format: str, operation: str, printed: float, ranks: float | None) -> float | None:
    """Return ``bytes`` of a row whose benchmark prints this size; None if that takes a number of ranks that is unknown.

    >>> row_bytes("nccl", "allgather", 4096, 4)
    1024.0
    """
    is_otherwise = PRINTED[format].get(_WAYS.sub("", operation))
    if is_otherwise is None:
        return printed
    if not ranks:
        return None
    return printed / ranks if is_otherwise == WHOLE else printed * ranks
