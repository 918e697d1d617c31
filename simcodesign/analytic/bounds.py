"""Bounds of the simulated time: what no simulation can undercut or exceed, in closed form.

Lower bounds: the critical path of the ranks' own work, the most loaded link, interface, disk and memory. Upper bound:
everything one after another, gaps between messages included; a message's flight, in which its sender works on, counts
for the upper bound alone. They hold for the deterministic effects, not for caches, imbalance and noise, which change
the work itself; the bounds of what can be shared are for simulations in which it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.collective_traffic import Traffic, checked_peers, collective_traffic, halo_traffic
from simcodesign.analytic.critical_path_bound import SYNCHRONISING, Path, cut
from simcodesign.analytic.disk import access_s
from simcodesign.analytic.memory import memory_s, transfer_s
from simcodesign.analytic.message_costs import FORMULAS, FREE, Price, floor_log2, modelled_hops, price, process_grid
from simcodesign.analytic.processor import compute_s, operations
from simcodesign.analytic.resources import all_in_turn_s, block_s
from simcodesign.core.errors import InputError
from simcodesign.core.expression import Expression
from simcodesign.core.result import Bounds
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.collective import Collective
from simcodesign.describe.demands.computation import Compute
from simcodesign.describe.demands.disk_access import DiskAccess
from simcodesign.describe.demands.exchange import Exchange
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.demands.resource_uses import Execute, item_uses
from simcodesign.describe.demands.served_accesses import memory_of, served_accesses
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.effects import ladder
from simcodesign.describe.machine import Machine
from simcodesign.describe.program import Block, Step, walk

Floats = NDArray[np.float64]


#: Larger operations are not written out message by message: there are no bounds then.
MOST_MESSAGES = 20_000_000


def bounds_of(design_point: DesignPoint) -> Bounds | None:
    """The bounds of one design point, None for operations of too many messages. InputError for several points."""
    design_point.require_one_point("a bound of the simulated time")
    ranks = design_point.ranks
    if max(ranks, *(_messages_of(step, ranks) for step in walk(design_point.workload.program))) > MOST_MESSAGES:
        return None
    node = design_point.machine.node_of(ranks)
    nodes, place = np.unique(node, return_inverse=True)
    disks, disk = np.unique(
        node // (design_point.machine.disk.shared_by if design_point.machine.disk else 1), return_inverse=True
    )
    load = _Walk(
        design_point, ranks, node, place, disk, np.zeros(len(nodes)), np.zeros(len(disks)), np.zeros(len(nodes))
    )
    path = load.program(design_point.workload.program, design_point.machine, 1.0)
    shared = {
        "most loaded interface": float(load.interfaces.max()),
        "most loaded link": max(load.links.values(), default=0.0),
    }
    if design_point.machine.disk is not None:
        shared["most loaded disk"] = float(load.disks.max()) / design_point.machine.disk.spindles
    shared["most loaded memory"] = float(load.memories.max())
    lower = {"ranks' own work": path.length_s} | {name: bound for name, bound in shared.items() if bound}
    needs_effect = {effect.lower_bound: effect.name for effect in ladder() if effect.lower_bound in lower}
    return Bounds(lower, load.serial_s, needs_effect)


def _messages_of(step: Step, ranks: int) -> float:
    """How many rows of messages one operation of all ranks takes."""
    if isinstance(step, Exchange):
        return 2.0 * step.dims * ranks
    if not isinstance(step, Collective):
        return ranks
    return float(FORMULAS[step.name, step.algorithm](0.0, Price(float(ranks), lambda size: FREE)).messages)


@dataclass
class _Walk:
    """Occupation in seconds, added up over the program per node interface, disk and link, and of everything in turn."""

    design_point: DesignPoint
    ranks: int
    node: NDArray[np.int64]  # of every rank
    interface: NDArray[np.int64]  # place of its node in ``interfaces`` and ``memories``
    disk: NDArray[np.int64]  # place of its disk in ``disks``
    interfaces: Floats
    disks: Floats
    memories: Floats  # by the places of ``interface``
    links: dict[int, float] = field(default_factory=dict)
    serial_s: float = 0.0

    def each(self, expression: Expression) -> Floats:
        """The value for every rank."""
        return np.broadcast_to(np.asarray(expression.evaluate(self.names()), dtype=np.float64), self.ranks)

    def names(self) -> dict[str, FloatOrArray]:
        """All values, and ``rank``."""
        return {**self.design_point.values, "rank": self.design_point.every_rank()}

    def program(self, steps: tuple[Step, ...], machine: Machine, times: float) -> Path:
        """The path of one repetition of the steps; everything else is added up for ``times`` repetitions."""
        path = Path(np.zeros(self.ranks))
        for step in steps:
            path = path + (
                self._block(step, machine, times) if isinstance(step, Block) else self._demand(step, machine, times)
            )
        return path

    def _block(self, block: Block, machine: Machine, times: float) -> Path:
        values: dict[str, FloatOrArray] = {path: float(self.each(value)[0]) for path, value in block.constants}
        repeat = float(self.each(block.repeat)[0])
        return self.program(block.body, machine.with_constants(values, block.place), times * repeat).repeated(repeat)

    def _demand(self, step: Step, machine: Machine, times: float) -> Path:
        match step:
            case Compute():
                time = compute_s(step, machine.processor, operations(step, self.each))
                return self._own(self._here(step) * time, times)
            case Execute():
                here, parallelism = self._here(step), self.each(step.parallelism)
                uses = item_uses(step, machine, lambda amount, _: self.each(amount))
                spent = here * block_s(uses, parallelism, machine.custom)
                self.serial_s += float(np.sum(here * all_in_turn_s(uses, parallelism) - spent)) * times
                return self._own(spent, times)
            case DiskAccess():
                spent = self._here(step) * access_s(step, machine.disk, self.each(step.bytes), self.each(step.times))
                if machine.disk is not None:
                    np.add.at(self.disks, self.disk, spent * times)
                return self._own(spent, times)
            case MemoryAccesses():
                here, memory = self._here(step), memory_of(step, machine)
                seen = served_accesses(step, memory, lambda amount, _: self.each(amount))
                np.add.at(self.memories, self.interface, here * transfer_s(seen, memory) * times)
                return self._own(here * memory_s(seen, self.each(step.blocking), memory), times)
            case Receive():
                return self._own(self._here(step) * self._empty_receive_s(machine), times)
            case _:
                return self._messages(step, machine, times)

    def _empty_receive_s(self, machine: Machine) -> FloatOrArray:
        """Time of a receive before the bytes count, which only the send knows."""
        return price(machine.network, self.ranks, 0.0).message(0.0).receive_s

    def _here(self, step: Compute | Execute | DiskAccess | MemoryAccesses | Send | Receive) -> Floats:
        return np.ones(self.ranks) if step.when is None else (self.each(step.when) != 0).astype(np.float64)

    def _own(self, spent: Floats, times: float) -> Path:
        self.serial_s += float(spent.sum()) * times
        return Path(spent)

    def _traffic(self, step: Step) -> Traffic:
        match step:
            case Collective():
                return collective_traffic(step.name, step.algorithm, self.ranks, float(self.each(step.bytes)[0]))
            case Exchange():
                sizes = [float(self.each(size)[0]) for size in step.bytes]
                messages = [float(self.each(count)[0]) for count in step.messages_by_dim]
                return halo_traffic(self._grid(step), sizes, step.periodic, messages)
            case Send():
                source = np.flatnonzero(self._here(step))
                target = checked_peers("to", step.to, self.names(), source)
                return Traffic(source, target, self.each(step.bytes)[source], np.ones(len(source)))
        raise AssertionError(step)

    def _grid(self, step: Exchange) -> list[int]:
        given = process_grid(self.ranks, step.dims) if step.grid is None else [self.each(n)[0] for n in step.grid]
        extents = [float(extent) for extent in given]
        grid = [int(extent) for extent in extents]
        if grid != extents or min(grid) < 1 or np.prod(grid) != self.ranks:
            raise InputError(f"the process grid does not hold P = {self.ranks} ranks", step.place, value=extents)
        return grid

    def _messages(self, step: Step, machine: Machine, times: float) -> Path:
        sent = self._traffic(step)
        self._occupy(sent, machine, times)
        self._in_turn(sent, machine, times)
        near = price(machine.network, self.ranks, 0.0).message(sent.size_bytes)
        self.serial_s += times * float(np.sum(near.next_receive_s * sent.messages))
        own: Floats = np.zeros(self.ranks)
        np.add.at(own, sent.source, near.send_s * sent.messages)
        if isinstance(step, Send):
            # What a receive of nothing takes is counted by the receive, a step of its own.
            self.serial_s -= times * len(sent.source) * float(self._empty_receive_s(machine))
            return Path(own)
        np.add.at(own, sent.target, near.receive_s * sent.messages)
        if isinstance(step, Collective) and (step.name, step.algorithm) in SYNCHRONISING and self.ranks > 1:
            return cut(self.ranks, _rounds_s(step, own, self.ranks))
        return Path(own)

    def _occupy(self, sent: Traffic, machine: Machine, times: float) -> None:
        """What the messages occupy on their way: interfaces and links."""
        source, target = self.node[sent.source], self.node[sent.target]
        far = source != target
        load = sent.load_bytes[far] * times
        interface_s = load * machine.network.interface_occupancy_s_per_byte
        for side in (sent.source, sent.target):
            np.add.at(self.interfaces, self.interface[side[far]], interface_s)
        links, size = machine.network.topology.link_loads(source[far], target[far], load)
        for link, seconds in zip(
            links.tolist(), (size * machine.network.link_occupancy_s_per_byte).tolist(), strict=True
        ):
            self.links[link] = self.links.get(link, 0.0) + seconds

    def _in_turn(self, sent: Traffic, machine: Machine, times: float) -> None:
        """Every message alone: its sender, every station of the longest way, and its flight."""
        network = machine.network
        hops = max(float(network.topology.diameter), float(modelled_hops(network, self.ranks)))
        most = price(network, self.ranks, hops).message(sent.size_bytes)
        total = float(sent.load_bytes.sum())
        stations = hops * network.link_occupancy_s_per_byte + 2 * network.interface_occupancy_s_per_byte
        alone = 2 * np.sum((most.next_send_s + most.flight_s) * sent.messages) + total * stations
        self.serial_s += float(times * alone)


def _rounds_s(step: Collective, own: Floats, ranks: int) -> float:
    """Time of the rounds that every rank takes part in: the work of the least busy rank.

    Ranks that only fold in and out of a power of two have less to do than the rounds; the last rank has them all.
    """
    folded = step.algorithm == "recursive_doubling" and ranks != 2 ** int(floor_log2(ranks))
    return float(own[-1]) if folded else float(own.min())
