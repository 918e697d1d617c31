"""Closed forms of input and output: disks by startup and per-byte time, without waiting.

Storage by even shares of its servers.

Disks: Armstrong and Eigenmann, SPECseis96, equation 4, per iteration: X (C_start + C_mem Sz) for reads and for writes.

Storage of S servers of bandwidth B, a file striped over c of them in pieces of s bytes. An access of m bytes alone has

    n = ceil(m / s) pieces, k = ceil(n / c) of them at the first server, (k - 1) s + min(s, m - (k - 1) c s) bytes there

and takes the time of these. All ranks that access storage together take no less than all their bytes over the bandwidth
of the servers that they use: min(S, sum over the ranks of min(c, n)) for files of their own, min(c, all pieces) for a
shared one. So with M bytes of all ranks

    T = times latency + max(times (bytes at the first server) / B, M / (servers B))

likewise N operations of all ranks, x of them of this one: T = x latency + max(x, N) / rate. What even shares leave out
(files on the same servers by chance, odd pieces, the order of arrival) is the effect ``storage``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from simcodesign.analytic.demands.base import CLOSED_FORMS, Charge, ClosedForm, Count, Occupation, part_draws
from simcodesign.analytic.formulas.formula_prices import Payment, SymbolicPrices
from simcodesign.analytic.indexed_loops.index_shapes import IndexedLoop, Shape, product, total
from simcodesign.analytic.messages.message_costs import price
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression_sympy import to_sympy
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import Demand
from simcodesign.describe.demands.disk_access import SHARED, DiskAccess, MetadataOperations, StorageAccess
from simcodesign.describe.evaluation import EvaluatedStep
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.machine_parts.storage import needed_metadata_rate, needed_storage


def access_s(
    demand: Demand, kind: str, disk: Disk | None, size_bytes: FloatOrArray, times: FloatOrArray
) -> FloatOrArray:
    """Seconds of ``times`` accesses (``read`` or ``write``) of ``size_bytes``.

    InputError when the machine has no disk.
    """
    if disk is None:
        raise InputError(f"a {kind} needs a disk, which this machine has not", demand.place)
    startup = disk.read_startup_s if kind == "read" else disk.write_startup_s
    return times * (startup + disk.per_byte_s * size_bytes)


class DiskAccessForm(ClosedForm[DiskAccess]):
    """Reads and writes."""

    def charge(self, demand: DiskAccess, step: EvaluatedStep) -> Charge:
        size, times = step.amount(demand.bytes, "bytes"), step.amount(demand.times, "times")
        time_s = access_s(demand, demand.kind, step.machine.disk, size, times)
        counts = (Count("disk", "bytes", size * times),)
        return Charge("disk", time_s, counts, "disk", time_s, draws=part_draws(step, "disk", time_s))

    def index_shape(self, demand: DiskAccess, step: EvaluatedStep, loop: IndexedLoop) -> Shape | None:
        if demand.when is not None and loop.index in demand.when.names:
            return None
        size, times = (Shape.of(amount.tree, loop.index) for amount in (demand.bytes, demand.times))
        return total(times, product(size, times))

    def requirements(self, demand: DiskAccess, step: EvaluatedStep, counting: str) -> dict[str, FloatOrArray]:
        return {"disk_bytes": step.amount(demand.bytes, "bytes") * step.amount(demand.times, "times")}

    def payments(self, demand: DiskAccess, prices: SymbolicPrices) -> Iterator[Payment]:
        size, times = to_sympy(demand.bytes), to_sympy(demand.times)
        yield prices.of("t_r" if demand.kind == "read" else "t_x"), (times,)
        yield prices.of("t_d"), (times, size)

    def model_terms(self, demand: DiskAccess) -> list[tuple[str, str]]:
        return [("disk_bytes", f"({demand.bytes.text})*({demand.times.text})")]


#: Requests of an access at one server: of more pieces, several are one.
MOST_REQUESTS = 16.0


@dataclass(frozen=True)
class _Access:
    """Access of each rank to the disk.

    The latencies of its accesses, the seconds of these alone at the busiest server, and the seconds for which they
    occupy servers in all; ``least_s``: alone, wherever in its file the first byte is. ``servers``: that all ranks use.
    ``first_bytes``, ``requests``: of the accesses of a rank at its first server.
    """

    latency_s: FloatOrArray
    alone_s: FloatOrArray
    service_s: FloatOrArray
    least_s: FloatOrArray
    servers: FloatOrArray
    first_bytes: FloatOrArray
    requests: FloatOrArray


class StorageAccessForm(ClosedForm[StorageAccess]):
    """Reads and writes of striped files."""

    def charge(self, demand: StorageAccess, step: EvaluatedStep) -> Charge:
        one = self._access(demand, step)
        every_s = step.over_ranks(one.service_s * step.present)
        time_s = one.latency_s + np.maximum(one.alone_s, every_s / one.servers)
        if step.machine.storage is not None and step.machine.storage.nodes:
            time_s = one.latency_s + self._with_messages_s(one, demand, step, every_s / one.servers)
        return Charge("disk", time_s, (Count("disk", "bytes", self.requirements(demand, step, "")["disk_bytes"]),))

    def _with_messages_s(
        self, one: _Access, demand: StorageAccess, step: EvaluatedStep, served_s: FloatOrArray
    ) -> FloatOrArray:
        """Return the waiting time of a rank if its requests are messages of q bytes, each D(q).

        Its own requests one after another; the message of one and then a server that is never idle; or the bytes of all
        ranks through the links of the nodes with servers, and then the service of the last request.
        """
        storage = needed_storage(step.machine.storage, step.machine.name, demand.place)
        request = one.first_bytes / one.requests
        costs = price(step.machine.network, step.evaluation.ranks)
        message_s, empty_s = costs.message(request).whole_s, costs.message(0.0 * request).whole_s
        every_bytes = step.over_ranks(
            step.amount(demand.bytes, "bytes") * step.amount(demand.times, "times") * step.present
        )
        nodes = np.minimum(one.servers, float(len(set(storage.nodes))))
        per_byte_s = np.divide(message_s - empty_s, request, out=np.zeros_like(request), where=request > 0)
        passed_s = every_bytes * per_byte_s / nodes + empty_s + request * storage.per_byte_of(demand.kind)
        last_s = np.maximum(served_s + message_s, passed_s)
        return np.where(request > 0, np.maximum(one.alone_s + one.requests * message_s, last_s), 0.0)

    def occupation(self, demand: StorageAccess, step: EvaluatedStep) -> Occupation:
        one = self._access(demand, step)
        serial_s = one.latency_s + one.service_s
        if step.machine.storage is not None and step.machine.storage.nodes:
            costs, size = price(step.machine.network, step.evaluation.ranks), step.amount(demand.bytes, "bytes")
            count = demand.servers_of_file(step.machine.storage, step.amount)
            requests = np.minimum(np.ceil(size / step.machine.storage.stripe_bytes) + 1, MOST_REQUESTS * count)
            whole_s = costs.message(size * step.amount(demand.times, "times")).whole_s
            serial_s = serial_s + whole_s + requests * costs.message(0.0 * size).whole_s
        return Occupation(one.latency_s + one.least_s, serial_s, "storage", one.service_s)

    def _access(self, demand: StorageAccess, step: EvaluatedStep) -> _Access:
        storage = needed_storage(step.machine.storage, step.machine.name, demand.place)
        size, times = step.amount(demand.bytes, "bytes"), step.amount(demand.times, "times")
        stripe, count = storage.stripe_bytes, demand.servers_of_file(storage, step.amount)
        per_byte_s, pieces = storage.per_byte_of(demand.kind), np.ceil(size / stripe)
        rows = np.maximum(np.ceil(pieces / count), 1.0)
        first_bytes = (rows - 1) * stripe + np.minimum(stripe, size - (rows - 1) * count * stripe)
        used = np.minimum(count, pieces)
        if demand.file == SHARED:
            whole_bytes = step.over_ranks(size * step.present)
            servers = np.minimum(np.max(count), np.ceil(whole_bytes / stripe))
            used = np.minimum(count, pieces + 1)  # the first byte may be anywhere in a piece
        else:
            servers = np.minimum(storage.servers, step.over_ranks(used * step.present))
        service_s = times * size * per_byte_s
        return _Access(
            latency_s=times * storage.latency_s,
            alone_s=times * first_bytes * per_byte_s,
            service_s=service_s,
            least_s=service_s / np.maximum(used, 1.0),
            servers=np.maximum(servers, 1.0),
            first_bytes=np.asarray(times * first_bytes, dtype=np.float64),
            requests=np.minimum(rows, MOST_REQUESTS),
        )

    def requirements(self, demand: StorageAccess, step: EvaluatedStep, counting: str) -> dict[str, FloatOrArray]:
        return {"disk_bytes": step.amount(demand.bytes, "bytes") * step.amount(demand.times, "times")}

    def payments(self, demand: StorageAccess, prices: SymbolicPrices) -> Iterator[Payment]:
        raise InputError("even shares of the servers of storage have no formula in symbols", demand.place)

    def model_terms(self, demand: StorageAccess) -> list[tuple[str, str]]:
        return [("disk_bytes", f"({demand.bytes.text})*({demand.times.text})")]


class MetadataOperationsForm(ClosedForm[MetadataOperations]):
    """Operations of the metadata server."""

    def charge(self, demand: MetadataOperations, step: EvaluatedStep) -> Charge:
        latency_s, service_s = self._parts_s(demand, step)
        every_s = step.over_ranks(service_s * step.present)
        return Charge("disk", latency_s + np.maximum(service_s, every_s))

    def occupation(self, demand: MetadataOperations, step: EvaluatedStep) -> Occupation:
        latency_s, service_s = self._parts_s(demand, step)
        return Occupation(latency_s + service_s, latency_s + service_s, "metadata", service_s)

    def _parts_s(self, demand: MetadataOperations, step: EvaluatedStep) -> tuple[FloatOrArray, FloatOrArray]:
        machine, operations = step.machine, step.amount(demand.operations, "operations")
        storage = needed_storage(machine.storage, machine.name, demand.place)
        rate = needed_metadata_rate(storage, machine.name, demand.place)
        return operations * storage.metadata_latency_s, operations / rate

    def payments(self, demand: MetadataOperations, prices: SymbolicPrices) -> Iterator[Payment]:
        raise InputError("operations of a metadata server have no formula in symbols", demand.place)


CLOSED_FORMS.add(DiskAccess, DiskAccessForm())
CLOSED_FORMS.add(StorageAccess, StorageAccessForm())
CLOSED_FORMS.add(MetadataOperations, MetadataOperationsForm())
