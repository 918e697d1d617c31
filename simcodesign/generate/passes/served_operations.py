"""Where operations are served that queue for more than their processor.

Disks, memory controllers, accelerators and their links, the servers of the storage.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.operation_kinds import (
    COPY_TO_ACCELERATOR,
    COPY_TO_HOST,
    KERNEL,
    MEMORY,
    METADATA,
    READ,
    STORAGE_READ,
    STORAGE_WRITE,
    WRITE,
)
from simcodesign.describe.effects import Mechanism
from simcodesign.describe.machine import Machine
from simcodesign.generate.passes.draft import Draft
from simcodesign.generate.plan import (
    ACCELERATOR,
    CONTROLLER,
    DISK,
    METADATA_SERVER,
    NONE,
    STORAGE,
    TO_ACCELERATOR,
    TO_HOST,
)

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
#: A kind of stations, the operations served there, and of each the unit at which it is.
Visits = tuple[int, Int64s, Int64s]


def served_at(draft: Draft, elsewhere: Int64s) -> tuple[list[tuple[int, Int64s]], Int32s | None]:
    """Return the units of each kind that serve operations, in the order of stations.

    Also return (N,) the station of each operation, or NONE, None if there is none. ``elsewhere``: controllers that
    messages pass, which follow other stations.
    """
    served: list[tuple[int, Int64s]] = []
    station, count = None, 0
    for kind, operations, unit in _visits(draft, elsewhere):
        units, place = np.unique(unit, return_inverse=True)
        if len(units):
            station = np.full(len(draft), NONE, np.int32) if station is None else station
            station[operations] = count + place
        served.append((kind, units))
        count += len(units)
    return served, station


def _visits(draft: Draft, elsewhere: Int64s) -> Iterator[Visits]:
    """Who is served where, by the kinds of stations in their order."""
    machine, node, on = draft.builder.design_point.machine, draft.prices.node_of, draft.builder.on
    if Mechanism.DISKS in on and machine.disk is not None:
        accesses = np.flatnonzero((draft.kind == READ) | (draft.kind == WRITE))
        yield DISK, accesses, node[draft.rank[accesses]] // machine.disk.shared_by
    if Mechanism.CONTROLLERS in on:
        moves, controller = accesses_at(draft)
        apart = ~np.isin(controller, elsewhere)
        yield CONTROLLER, moves[apart], controller[apart]
    if Mechanism.ACCELERATORS in on and machine.accelerator is not None:
        accelerator = machine.accelerator.of_ranks(node, machine.place_of(draft.ranks))
        yield from _at_accelerators(draft, accelerator[draft.program_rank], machine)
    server = draft.fields.get("server")
    if server is not None:
        accesses = np.flatnonzero(np.isin(draft.kind, (STORAGE_READ, STORAGE_WRITE)) & (server != NONE))
        yield STORAGE, accesses, server[accesses].astype(np.int64)
        operations = np.flatnonzero((draft.kind == METADATA) & (server != NONE))
        yield METADATA_SERVER, operations, np.zeros(len(operations), np.int64)


def accesses_at(draft: Draft) -> tuple[Int64s, Int64s]:
    """Operations that move bytes of memory, and the controller of each."""
    moves = np.flatnonzero((draft.kind == MEMORY) & (draft.size_bytes > 0))
    which = draft.fields["controller"][moves] if "controller" in draft.fields else None
    machine = draft.builder.design_point.machine
    return moves, _controllers_of(machine, draft.rank[moves], draft.prices.node_of, which)


def _controllers_of(machine: Machine, rank: Int32s, node: Int64s, which: NDArray[Any] | None) -> Int64s:
    """Return the memory controllers by which these ranks move bytes.

    The controllers of their nodes ``which`` sockets on from their own; or, from the number of sockets on, what lies
    between that one and the others. Numbered as ``Memory`` names them.
    """
    if which is None or machine.memory is None:
        return node[rank]
    count = machine.memory.controllers
    socket = (machine.socket_of(len(node))[rank] + which) % count
    here: Int64s = (node[rank] + (which >= count) * machine.nodes) * count + socket
    return here


def _at_accelerators(draft: Draft, accelerator: Int64s, machine: Machine) -> Iterator[Visits]:
    """Kernels, and the bytes of copies, which use one direction of a half-duplex link."""
    kernels = np.flatnonzero(draft.kind == KERNEL)
    yield ACCELERATOR, kernels, accelerator[draft.rank[kernels]]
    copies = draft.size_bytes > 0
    there, back = copies & (draft.kind == COPY_TO_ACCELERATOR), copies & (draft.kind == COPY_TO_HOST)
    assert machine.accelerator is not None
    full = machine.accelerator.is_full_duplex
    for kind, chosen in ((TO_ACCELERATOR, there if full else there | back), (TO_HOST, back if full else there & back)):
        operations = np.flatnonzero(chosen)
        yield kind, operations, accelerator[draft.rank[operations]]
