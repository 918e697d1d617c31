"""How many nodes and processors of a machine ranks are on, and where else they could be."""

from __future__ import annotations

import math

from simcodesign.core.result import BackgroundUse, MachineUse
from simcodesign.describe.machine import Machine
from simcodesign.describe.placement import NAMED, RandomMapping
from simcodesign.describe.topology.grid import GridTopology
from simcodesign.describe.topology.grid_shape import smallest_box, surface


def machine_use(machine: Machine, ranks: int) -> MachineUse:
    """Return the use of a machine by ``ranks`` ranks; links are not counted."""
    nodes = int(machine.placement.nodes_used(float(ranks)))
    hint = _hint(machine, ranks, nodes) if nodes < machine.nodes else _sized(machine)
    if drawn := _drawn(machine):
        hint = f"{drawn}; {hint}" if hint else drawn
    links = machine.network.link_count
    others = _background(machine, ranks)
    inside = sum(level.links for level in machine.numbered_levels[1:])
    return MachineUse(
        nodes, machine.nodes, ranks, machine.processors, links, hint=hint, background=others, of_inside_links=inside
    )


def _drawn(machine: Machine) -> str:
    """Note that the placement is one of many, if it is a random one."""
    mapping = NAMED.get(machine.mapping, machine.mapping) if isinstance(machine.mapping, str) else machine.mapping
    if not isinstance(mapping, RandomMapping):
        return ""
    return f"placed at random ({mapping}), which is one draw of many: `mapping.seed` is another"


def _background(machine: Machine, ranks: int) -> BackgroundUse | None:
    """Traffic of other jobs."""
    background = machine.background
    if background is None or not background.load:
        return None
    senders = background.senders_among(machine.nodes, machine.node_of(ranks))
    return BackgroundUse(background.text(senders), senders, background.load)


def _sized(machine: Machine) -> str:
    """Return the network that a machine has whose nodes are as many as the ranks need."""
    if machine.nodes_by_ranks is None:
        return ""
    topology = machine.network.topology
    text = f"`nodes: P`: the {topology.label}"
    if isinstance(topology, GridTopology) and machine.nodes > 3 and len(topology.shape) > 1:
        text += ", a row, since the number has no factors" if max(topology.shape) == machine.nodes else ""
    return text


def _hint(machine: Machine, ranks: int, nodes: int) -> str:
    """Hint at another mapping for ranks that do not fill the nodes; empty if none helps."""
    if machine.mapping not in ("linear", "round_robin"):
        return ""
    hints = []
    most = math.ceil(ranks / nodes)
    if most > 1 and ranks <= machine.nodes:
        hints += [f"{most} ranks a node, `mapping: one_per_node` spreads them over {ranks:,}"]
    topology = machine.network.topology
    if isinstance(topology, GridTopology) and nodes > 1:
        hints += _grid_hint(topology, nodes)
    return "; ".join(hints)


def on_first_rows(machine: Machine, ranks: int) -> bool:
    """Whether ``ranks`` ranks are on the first rows of a grid although another part of it has a smaller surface."""
    if machine.mapping not in ("linear", "round_robin") or machine.nodes_by_ranks is not None:
        return False
    nodes, topology = int(machine.placement.nodes_used(float(ranks))), machine.network.topology
    return 1 < nodes < machine.nodes and isinstance(topology, GridTopology) and bool(_grid_hint(topology, nodes))


def _grid_hint(grid: GridTopology, nodes: int) -> list[str]:
    """Note that ranks are on the first rows of a grid, if another part of it has a smaller surface."""
    box = smallest_box(grid.shape, nodes)
    if surface(_first_rows(grid.shape, nodes)) <= surface(box):
        return []
    shape = "x".join(map(str, box))
    return [f"the first nodes of the {grid.label}, row by row: `mapping: grid` takes a part of {shape}"]


def _first_rows(whole: tuple[int, ...], nodes: int) -> tuple[int, ...]:
    """Return the box that holds the first nodes of a grid."""
    box, rest = [], nodes
    for extent in reversed(whole):
        box.append(min(rest, extent))
        rest = math.ceil(rest / extent)
    return tuple(reversed(box))
