"""Accesses to striped files as operations.

Without the effect ``storage`` an access is one operation, in which the ranks that access together have even shares of
the servers that they use. With it, the pieces of a file are requests at their servers: requests at one server one
after another, at several at the same time. An access is then an operation of its latency, after it a chain of
operations for each server, side by side, and operations of no time that wait for the ends of these chains.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import CapacityError
from simcodesign.core.operation_kinds import METADATA, RECEIVE, SEND, STORAGE_READ, STORAGE_WRITE
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.disk_access import SHARED, MetadataOperations, StorageAccess
from simcodesign.describe.machine_parts.storage import RANDOM, Storage, needed_metadata_rate, needed_storage
from simcodesign.generate.columns import Column
from simcodesign.generate.demands.base import LOWERINGS, Lowering
from simcodesign.generate.messages.message_models.base import modelled_hops, simulated
from simcodesign.generate.messages.way import Way
from simcodesign.generate.plan_builder import StepWriter
from simcodesign.generate.randomness.random_streams import stream
from simcodesign.generate.side_chains import UNITS

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]
KINDS = {"read": STORAGE_READ, "write": STORAGE_WRITE}
#: Requests of an access at one server at most: of more pieces, several are one request.
MOST_TURNS = 16
#: Chains of a rank at the same time, each a part of it that works (``Plan.unit``).
MOST_CHAINS = 30_000


class StorageAccessLowering(Lowering[StorageAccess]):
    """One operation of each rank, or its pieces."""

    def operations(self, demand: StorageAccess, writer: StepWriter) -> float:
        once = super().operations(demand, writer)
        if not writer.builder.queues_at_storage:
            return once
        storage = needed_storage(writer.machine.storage, writer.machine.name, demand.place)
        count = float(np.max(demand.servers_of_file(storage, writer.amount)))
        pieces = float(np.max(writer.amount(demand.bytes, "bytes"))) / storage.stripe_bytes + 2
        each = 3 if storage.nodes else 1
        return once * (1 + min(count, pieces) + each * min(pieces, MOST_TURNS * count))

    def write(self, demand: StorageAccess, writer: StepWriter) -> None:
        storage = needed_storage(writer.machine.storage, writer.machine.name, demand.place)
        size, times = writer.amount(demand.bytes, "bytes"), writer.amount(demand.times, "times")
        count = demand.servers_of_file(storage, writer.amount)
        latency_s, kind = times * storage.latency_s, KINDS[demand.kind]
        per_byte_s = storage.per_byte_of(demand.kind)
        if not writer.builder.queues_at_storage:
            shares = _EvenShares.of(demand, storage, writer, size, times, count)
            writer.work(kind, np.multiply(size, times), latency_s + shares.moving_s(per_byte_s, writer))
            return
        writer.work(kind, 0.0, latency_s)
        file = _Pieces.of(demand, storage, writer, size, count)
        if file.chains > MOST_CHAINS:
            what, allowed = (
                "servers on which the bytes of an access are",
                f"up to {MOST_CHAINS} with the effect storage",
            )
            raise CapacityError(what, demand.place, value=file.chains, allowed=allowed)
        file.write(writer, kind, times, per_byte_s)


@dataclass(frozen=True)
class _EvenShares:
    """The bytes of all ranks in even shares of the servers that they use.

    Each rank has ``own_bytes`` at its first server, in ``turns`` requests.
    """

    storage: Storage
    own_bytes: FloatOrArray
    turns: FloatOrArray
    every_bytes: float
    servers: float

    @classmethod
    def of(
        cls,
        demand: StorageAccess,
        storage: Storage,
        writer: StepWriter,
        size: FloatOrArray,
        times: FloatOrArray,
        count: FloatOrArray,
    ) -> _EvenShares:
        stripe, present = storage.stripe_bytes, writer.present
        pieces = np.ceil(np.divide(size, stripe))
        rows = np.ceil(pieces / count)
        full_rows = np.maximum(rows - 1, 0)
        own = full_rows * stripe + np.clip(size - full_rows * count * stripe, 0, stripe)
        if demand.file == SHARED:
            servers = min(float(np.max(count)), float(np.ceil(np.sum(present * size) / stripe)))
        else:
            servers = min(float(storage.servers), float(np.sum(present * np.minimum(pieces, count))))
        every = float(np.sum(present * np.multiply(size, times)))
        turns = np.clip(rows, 1, MOST_TURNS)
        return cls(storage, np.multiply(times, own), turns, every, max(servers, 1.0))

    def moving_s(self, per_byte_s: FloatOrArray, writer: StepWriter) -> FloatOrArray:
        """Return the seconds for which a rank waits for its bytes.

        Alone at its server, or until the server, or the node that it is on, is done with the bytes of all ranks.
        """
        own_s, every_s = per_byte_s * self.own_bytes, per_byte_s * self.every_bytes / self.servers
        if not self.storage.nodes:
            waited: FloatOrArray = np.maximum(own_s, every_s)
            return waited
        network, request = writer.machine.network, self.own_bytes / self.turns
        way = Way.of_hops(network, modelled_hops(network, writer.builder.ranks), request)
        message_s = simulated(network).arrival_s(network, way, request) + simulated(network).receive_s(network, request)
        passing_s = self.every_bytes * way.per_byte_s / min(self.servers, len(set(self.storage.nodes)))
        last_s = np.maximum(
            every_s + message_s, passing_s + message_s - request * way.per_byte_s + request * per_byte_s
        )
        moved: FloatOrArray = np.where(request > 0, np.maximum(own_s + self.turns * message_s, last_s), 0.0)
        return moved


@dataclass(frozen=True)
class _Pieces:
    """Pieces of every rank that does an access, (R,).

    The ``first`` piece of the file, ``pieces`` that it touches, bytes of the first and the last one that it leaves out,
    ``count`` servers of the file, and its ``start`` among them all.
    """

    who: NDArray[np.int32]
    first: Int64s
    pieces: Int64s
    before: Floats
    after: Floats
    count: Int64s
    start: Int64s
    storage: Storage

    @classmethod
    def of(
        cls, demand: StorageAccess, storage: Storage, writer: StepWriter, size: FloatOrArray, count: FloatOrArray
    ) -> _Pieces:
        ranks, stripe = writer.builder.ranks, float(storage.stripe_bytes)
        who = np.arange(ranks, dtype=np.int32) if writer.who is None else writer.who
        sizes, counts = np.broadcast_to(size, ranks)[who], np.broadcast_to(count, ranks)[who].astype(np.int64)
        shared = demand.file == SHARED
        begin = np.cumsum(sizes) - sizes if shared else np.zeros(len(who))
        end = begin + sizes
        first = np.floor(begin / stripe).astype(np.int64)
        pieces = np.where(sizes > 0, np.ceil(end / stripe).astype(np.int64) - first, 0)
        starts = np.zeros(len(who), np.int64) if shared else np.cumsum(counts) - counts
        if storage.allocation == RANDOM:
            writer.builder.files[writer.step.phase] += 1
            name = f"files {writer.builder.files[writer.step.phase]} of {writer.step.phase}"
            files = stream(writer.builder.seed, name)
            drawn = files.integers(storage.servers, size=1 if shared else ranks)
            starts = np.broadcast_to(drawn, ranks)[who]
        before, after = begin - first * stripe, (first + pieces) * stripe - end
        return cls(who, first, pieces, before, after, counts, starts, storage)

    @property
    def chains(self) -> int:
        """The most servers that the pieces of one rank are on."""
        return int(np.minimum(self.pieces, self.count).max(initial=0))

    def write(self, writer: StepWriter, kind: int, times: FloatOrArray, per_byte_s: FloatOrArray) -> None:
        """Write the chains, and what waits for them: ``times`` accesses are one batch."""
        each = np.broadcast_to(times, writer.builder.ranks)[self.who]
        done = np.zeros(len(self.who), np.int64)  # operations after the latency
        ends = []
        for chain in range(self.chains):
            back = done + 1
            for turn, (chosen, size_bytes) in enumerate(self._turns(chain)):
                size = each[chosen] * size_bytes
                unit: dict[str, Any] = {"unit": len(UNITS) + chain if chain else 0}
                fields: dict[str, Any] = {"server": self._server(chain)[chosen], **unit}
                first = {"back": back[chosen]} if not turn else {}
                writes = bool(self.storage.nodes) and kind == STORAGE_WRITE
                if writes:
                    self._message(writer, kind, chosen, size, fields["server"], unit, first)
                self._column(writer, kind, chosen, size, size * per_byte_s, fields | ({} if writes else first))
                if self.storage.nodes and not writes:
                    self._message(writer, kind, chosen, size, fields["server"], unit, {})
                done[chosen] += 3 if self.storage.nodes else 1
            ends.append(done.copy())
        lasts = np.minimum(self.pieces, self.count) - 1
        for chain, end in enumerate(ends):
            chosen = np.flatnonzero(chain < lasts)
            if len(chosen):
                self._column(writer, kind, chosen, 0.0, 0.0, {"awaits": (done - end)[chosen] + 1})
                done[chosen] += 1

    def _server(self, chain: int) -> Int64s:
        """Where the pieces are that begin with piece number ``chain`` of each rank."""
        server: Int64s = (self.start + (self.first + chain) % self.count) % self.storage.servers
        return server

    def _turns(self, chain: int) -> Iterator[tuple[Int64s, Floats]]:
        """Yield the requests of a chain: which ranks have it, and its bytes in an access."""
        stripe = float(self.storage.stripe_bytes)
        here = np.maximum(-((chain - self.pieces) // self.count), 0)  # pieces at this server
        turns = np.minimum(here, MOST_TURNS)
        has_last = (self.pieces - 1 - chain) % self.count == 0
        for turn in range(int(turns.max(initial=0))):
            chosen = np.flatnonzero(turn < turns)
            whole, of = here[chosen], turns[chosen]
            size = ((turn + 1) * whole // of - turn * whole // of) * stripe
            size -= self.before[chosen] if chain == 0 and turn == 0 else 0.0
            size -= np.where(has_last[chosen] & (turn == of - 1), self.after[chosen], 0.0)
            yield chosen, size

    def _message(
        self,
        writer: StepWriter,
        kind: int,
        chosen: Int64s,
        size: FloatOrArray,
        server: Int64s,
        unit: dict[str, Any],
        first: dict[str, Any],
    ) -> None:
        """Transfer bytes to their servers, or from them to their ranks, which wait until they arrive.

        ``first``: what the send follows.
        """
        who = self.who[chosen]
        ends = writer.builder.prices.node_of[who], self.storage.nodes_of(server)
        ends = ends if kind == STORAGE_WRITE else ends[::-1]
        columns = writer.columns.columns
        columns.append(Column(SEND, who, who, size, extra=unit | first, ends=ends))
        columns.append(Column(RECEIVE, who, who, size, match=-1, extra=unit, ends=ends))

    def _column(
        self, writer: StepWriter, kind: int, chosen: Int64s, size: FloatOrArray, duration_s: Any, fields: dict[str, Any]
    ) -> None:
        everybody = len(chosen) == writer.builder.ranks
        writer.columns.work(kind, size, duration_s, None if everybody else self.who[chosen], fields)


class MetadataOperationsLowering(Lowering[MetadataOperations]):
    """Two operations of each rank: the latencies of its operations, and what they take of the metadata server."""

    def operations(self, demand: MetadataOperations, writer: StepWriter) -> float:
        return 2 * super().operations(demand, writer)

    def write(self, demand: MetadataOperations, writer: StepWriter) -> None:
        machine, operations = writer.machine, writer.amount(demand.operations, "operations")
        storage = needed_storage(machine.storage, machine.name, demand.place)
        rate = needed_metadata_rate(storage, machine.name, demand.place)
        served = operations
        if not writer.builder.queues_at_storage:  # all ranks' operations, one after another
            served = np.maximum(operations, float(np.sum(writer.present * operations)))
        writer.work(METADATA, 0.0, operations * storage.metadata_latency_s)
        writer.work(METADATA, 0.0, served / rate, {"server": 0})


LOWERINGS.add(StorageAccess, StorageAccessLowering())
LOWERINGS.add(MetadataOperations, MetadataOperationsLowering())
