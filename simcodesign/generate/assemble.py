"""From columns to a Plan: operations numbered, messages paired and priced, chance spent, stations found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.machine import Machine
from simcodesign.describe.setting import Setting
from simcodesign.describe.workload import Receive, Send, walk
from simcodesign.errors import InputError, Place
from simcodesign.generate.chance import factors, stream
from simcodesign.generate.columns import Columns
from simcodesign.generate.matching import matches
from simcodesign.generate.network import charge_s, counted_hops, lawful_hops
from simcodesign.generate.paths import routes_and_stations
from simcodesign.generate.plan import Operations, Plan
from simcodesign.result import COMPUTE, RECEIVE, SEND

T = TypeVar("T", bound=np.generic)


def assembled(
    columns: Columns,
    setting: Setting,
    parts: Sequence[Machine],
    phases: tuple[str, ...],
    effects: frozenset[str],
    seed: int,
) -> Plan:
    """The Plan of the columns. ``parts`` are the machine variants that price them.

    Raises InputError when sends and receives do not match in number or size.
    """
    messages = (step.place for step in walk(setting.workload.program) if isinstance(step, Send | Receive))
    place = next(messages, setting.workload.program[0].place)
    operations = _operations(columns, place)
    hops = _price(operations, setting, parts, effects)
    _spend_chance(operations, setting, effects, seed)
    if not np.isfinite(operations.duration_s.sum() + operations.size_bytes.sum()):
        raise InputError(
            "the time or the bytes of an operation, or of all together, are too large to be a number", place
        )
    routes, stations, station = routes_and_stations(operations, hops, parts, effects)
    chained = np.ones(len(operations) + 1, bool)
    chained[operations.first] = False
    return Plan(
        first=operations.first,
        kind=operations.kind,
        phase=operations.phase,
        rank=operations.rank,
        peer=operations.peer,
        size_bytes=operations.size_bytes,
        duration_s=operations.duration_s,
        match=operations.match,
        station=station,
        chained=chained,
        phases=phases,
        stations=stations,
        routes=routes,
    )


def _operations(columns: Columns, place: Place) -> Operations:
    match = matches(columns, numbering(columns), place)
    counts = columns.present.sum(axis=0)
    kind = rank_major(columns, columns.kind)
    rank = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    return Operations(
        first=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        kind=kind,
        phase=rank_major(columns, columns.phase),
        part=rank_major(columns, columns.part),
        rank=rank,
        peer=rank_major(columns, columns.peer),
        size_bytes=_sizes(rank_major(columns, columns.size_bytes), kind, match, rank, place),
        duration_s=rank_major(columns, columns.duration_s),
        match=match,
    )


def numbering(columns: Columns) -> NDArray[np.int64]:
    """Operation number of every cell (C, P), rank by rank; meaningless where nothing is present."""
    count, ranks = columns.present.shape
    if columns.present.all():
        regular: NDArray[np.int64] = np.arange(ranks)[None, :] * count + np.arange(count)[:, None]
        return regular
    flat = np.cumsum(columns.present.T.ravel()) - 1
    return np.ascontiguousarray(flat.reshape(ranks, count).T)


def rank_major(columns: Columns, array: NDArray[T]) -> NDArray[T]:
    """A (C, P) or (C,) array as one value per operation, rank by rank."""
    present = columns.present
    cells = np.broadcast_to(array if array.ndim == 2 else array[:, None], present.shape).T
    return cells[present.T] if not present.all() else np.array(cells, order="C").ravel()


def _sizes(
    size: NDArray[np.float64], kind: NDArray[np.int8], match: NDArray[np.int64], rank: NDArray[np.int32], place: Place
) -> NDArray[np.float64]:
    """A receive has the size of its message; a size that it states itself must be the same."""
    receives = np.flatnonzero(kind == RECEIVE)
    sent = size[match[receives]]
    wrong = receives[~np.isnan(size[receives]) & (size[receives] != sent)]
    if len(wrong):
        op = wrong[0]
        what = (
            f"rank {rank[op]} expects {size[op]:g} bytes from rank {rank[match[op]]}, which sends {size[match[op]]:g}"
        )
        raise InputError(f"sends and receives do not match: {what}", place)
    size[receives] = sent
    return size


def _price(
    operations: Operations, setting: Setting, parts: Sequence[Machine], effects: frozenset[str]
) -> NDArray[np.float64]:
    """Durations of sends and receives, in place; hops of every send by the law, or by its route with ``hops``."""
    kind, part, machine = operations.kind, operations.part, setting.machine
    hops = np.full(len(operations), lawful_hops(machine, setting.ranks))
    sends, receives = np.flatnonzero(kind == SEND), kind == RECEIVE
    if effects & {"hops", "links"}:
        node = machine.node_of(setting.ranks)
        hops[sends] = counted_hops(machine, node, operations.rank[sends], operations.peer[sends])
    for number, variant in enumerate(parts):
        mine = sends[part[sends] == number]
        operations.duration_s[mine] = charge_s(variant, hops[mine], operations.size_bytes[mine])
        operations.duration_s[receives & (part == number)] = variant.network.receive_overhead_s
    return hops


def _spend_chance(operations: Operations, setting: Setting, effects: frozenset[str], seed: int) -> None:
    """Imbalance (one factor per rank) and noise (one per operation) of computation, in place."""
    computes = np.flatnonzero(operations.kind == COMPUTE)
    if "imbalance" in effects and setting.workload.imbalance:
        shares = factors(stream(seed, "imbalance"), setting.workload.imbalance, setting.ranks)
        operations.duration_s[computes] *= shares[operations.rank[computes]]
    if "noise" in effects and setting.machine.noise:
        for number, phase in enumerate(setting.workload.phases()):  # so that a phase alone has the same noise
            mine = computes[operations.phase[computes] == number]
            operations.duration_s[mine] *= factors(stream(seed, f"noise in {phase}"), setting.machine.noise, len(mine))
