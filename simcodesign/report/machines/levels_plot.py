"""The levels of a machine as boxes within boxes: the network between nodes, a node of each kind, sockets, processors.

A box has the rates of its network in it. Only some of several alike nodes or sockets are drawn, with their number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.levels import PATHS, Level, NodeKind
from simcodesign.report.common import plot_style
from simcodesign.report.results.data_sheets import amount_text, bandwidth_text
from simcodesign.report.results.message_rows import message_text

#: Inches: width of the figure, height of a line of text, distance between boxes, side of a processor.
WIDTH, LINE, GAP, SIDE = 8.0, 0.16, 0.1, 0.26
#: Points of the text.
SIZE = 8.0
#: How many kinds of nodes, sockets of a node, and processors are drawn at most.
MAX_KINDS, MAX_SOCKETS, MAX_PROCESSORS = 3, 2, 8
#: Distance between processors.
BESIDE = SIDE + 0.5 * GAP
#: Boxes behind a repeated one, and the offset of each from the next one.
BEHIND, SHIFT = 2, 0.045


@dataclass(frozen=True)
class Box:
    """``lines`` of text above the boxes ``inside``, or above ``processors`` processors.

    ``copies``: how many boxes are alike, of which some are drawn behind it.
    """

    lines: tuple[str, ...]
    colour: str
    inside: tuple[Box, ...] = ()
    processors: int = 0
    copies: int = 1

    def text(self, width: float) -> list[str]:
        """Its lines, wrapped to its width."""
        return [part for line in self.lines for part in plot_style.wrapped(line, width - 2 * GAP, SIZE).splitlines()]

    def widths(self, width: float) -> float:
        """Return the width of each box inside, side by side."""
        return (width - GAP - (GAP + BEHIND * SHIFT) * len(self.inside)) / max(len(self.inside), 1)

    def height(self, width: float) -> float:
        """Inches that the box takes at this width."""
        height = 1.5 * GAP + LINE * len(self.text(width))
        if self.inside:
            height += GAP + BEHIND * SHIFT + max(one.height(self.widths(width)) for one in self.inside)
        return height + (GAP + BESIDE * self.rows(width) if self.processors else 0.0)

    def in_row(self, width: float) -> int:
        """How many processors are drawn side by side."""
        return max(1, int((width - 2 * GAP + 0.5 * GAP) // BESIDE))

    def rows(self, width: float) -> int:
        """How many rows of processors are drawn."""
        return -(-min(self.processors, MAX_PROCESSORS) // self.in_row(width))


def levels_plot(machine: Machine, path: str | Path) -> None:
    """Draw the levels of a machine.

    Raises InputError for one whose nodes depend on the ranks, a path that cannot be written, and without Matplotlib.
    """
    if machine.nodes_by_ranks is not None:
        raise InputError(
            "levels of a machine whose nodes depend on the ranks", value=machine.name, allowed="-P N as well"
        )
    with plot_style.styled(path) as mpl:
        box = machine_box(machine)
        height = box.height(WIDTH)
        figure = plot_style.new_figure(mpl, WIDTH + 0.3, height + 0.6)
        plot_style.set_title(figure, f"{machine.name}: levels")
        axis = figure.subplots()
        axis.set_axis_off()
        axis.set_xlim(0, WIDTH)
        axis.set_ylim(height, 0)
        axis.set_aspect("equal")
        _draw(mpl, axis, box, (0.0, 0.0), (WIDTH, height))
        plot_style.save(figure, path)


def machine_box(machine: Machine) -> Box:
    """Return the box of the network between nodes, with a node of each kind in it."""
    outer, *inner = machine.numbered_levels
    kinds = machine.node_kinds
    names = [one.name for one in machine.partitions] if len(kinds) > 1 else []
    boxes = []
    for number, kind in enumerate(kinds[:MAX_KINDS]):
        levels = [level for level in inner if level.kind is kind]
        boxes.append(_node_box(machine, kind, levels, names[number] if number < len(names) else ""))
    more = [f"and {len(kinds) - MAX_KINDS} more kinds of nodes"] if len(kinds) > MAX_KINDS else []
    count = f"{machine.nodes:,} node{'s' if machine.nodes > 1 else ''}, {machine.processors:,} processors"
    lines = _network_lines(outer, PATHS[0], machine.interfaces_by_partition)
    return Box((count, *lines, *more), plot_style.OKABE_ITO[0], tuple(boxes))


def _network_lines(level: Level, path: str, differ: Mapping[str, int] | None = None) -> Iterator[str]:
    """Yield the topology of a level, and what its messages take and share.

    ``differ``: the interfaces of a node of each partition.
    """
    network = level.network
    hops = f", at most {network.topology.diameter:,} hops" if network.topology.diameter > 1 else ""
    rails = f", {network.rails} rails" if network.rails > 1 else ""
    yield f"{path}: {network.topology.kind}{rails}{hops}; a message takes {message_text(network)}"
    count = "" if network.interfaces.count == 1 else f"{network.interfaces.count} "
    ends = "interfaces of a node" if level.depth == 0 else "interface"
    ends = f"{count}{ends}" if count or level.depth else "interface of a node"
    link, interface = (
        bandwidth_text(one) for one in (network.link_occupancy_s_per_byte, network.interface_occupancy_s_per_byte)
    )
    if differ:
        several = ", ".join(f"{number} of {name}" for name, number in differ.items())
        yield f"link {link}, interfaces of a node ({several}) {interface} each"
        return
    yield f"link {link}, {ends} {interface}{' each' if count else ''}"


def _node_box(machine: Machine, kind: NodeKind, levels: list[Level], name: str) -> Box:
    """Return the box of a node, with its sockets if messages have a network in them."""
    title = f"one of {kind.nodes:,} nodes" if kind.nodes > 1 else "the node"
    title += f" of {name}" if name else ""
    prefix = f"partitions.{name}." if name else ""
    parts = [part for level in levels[:1] for part in _network_lines(level, prefix + PATHS[1])]
    parts = parts or [
        "messages within the node cost as between nodes" if machine.network.node is None else "network.node"
    ]
    has_sockets = len(levels) > 1
    parts += _accelerator_lines(machine, name)
    lines = (f"{title}: {_processors_text(kind.processors, not has_sockets)}", *parts, *_memory_lines(machine))
    colour = plot_style.OKABE_ITO[2]
    if not has_sockets:
        return Box(lines, colour, (), kind.processors, kind.nodes)
    each = kind.processors // kind.sockets
    texts = f"one of {kind.sockets} sockets: {_processors_text(each)}", *_network_lines(levels[1], prefix + PATHS[2])
    socket = Box(texts, plot_style.OKABE_ITO[1], (), each)
    return Box(lines, colour, (socket,) * min(kind.sockets, MAX_SOCKETS), 0, kind.nodes)


def _processors_text(count: int, is_drawn: bool = True) -> str:
    drawn = f" ({MAX_PROCESSORS} are drawn)" if is_drawn and count > MAX_PROCESSORS else ""
    return f"{count:,} processor{'s' if count > 1 else ''}{drawn}"


def _memory_lines(machine: Machine) -> Iterator[str]:
    """Yield the memory of a node and what messages load of it; not where partitions may have their own."""
    if machine.partitions:
        return
    if machine.memory is not None:
        count = machine.memory.controllers
        rate = bandwidth_text(machine.memory.per_byte_s)
        yield f"memory {rate}" if count == 1 else f"memory {count} x {rate}, one controller a socket"
    if machine.node_memory is not None:
        least, rate = (
            amount_text(machine.message_cache_bytes, "size"),
            bandwidth_text(machine.message_memory_s_per_byte),
        )
        yield f"messages of operations that touch more than {least} a rank load it: {rate} for all of a controller"


def _accelerator_lines(machine: Machine, partition: str) -> Iterator[str]:
    """Yield the accelerators of a node, of a partition if it has a name."""
    one = machine.accelerator
    own = next((each for each in machine.partitions if each.name == partition), None)
    if one is None or (own is not None and not own.has_accelerator):
        return
    own_constants = {} if own is None else own.constants
    rates = {"accelerator.rate": ("", one.rate_flop_per_s)}
    rates |= {f"accelerator.rates.{name}": (f" {name}", rate) for name, rate in one.rates.stated().items()}
    given = [(own_constants.get(path, rate), name) for path, (name, rate) in rates.items()]
    each = " or ".join(f"{amount_text(rate, 'rate')}{name}" for rate, name in given if rate is not None)
    count = f"{one.count} accelerator{'s' if one.count > 1 else ''}"
    yield f"{count}, {each} each" if each else count


def _draw(mpl: Any, axis: Any, box: Box, corner: tuple[float, float], size: tuple[float, float]) -> None:
    """Draw a box, what is behind it, its text and what is inside it."""
    (x, y), (width, height) = corner, size
    for number in range(BEHIND if box.copies > 1 else 0, -1, -1):
        shift = number * SHIFT
        face = plot_style.paler(mpl, box.colour, 0.12)
        look = {"facecolor": face, "edgecolor": box.colour, "linewidth": 0.8}
        axis.add_patch(mpl.patches.Rectangle((x + shift, y + shift), width, height, **look))
    text = box.text(width)
    for number, line in enumerate(text):
        axis.text(x + GAP, y + 0.5 * GAP + LINE * (number + 0.5), line, fontsize=SIZE, va="center")
    top = y + GAP + LINE * len(text)
    each = box.widths(width)
    for number, one in enumerate(box.inside):
        place = x + GAP + number * (each + GAP + BEHIND * SHIFT), top
        _draw(mpl, axis, one, place, (each, one.height(each)))
    look = {"facecolor": plot_style.paler(mpl, plot_style.GREY, 0.5), "edgecolor": plot_style.GREY, "linewidth": 0.6}
    for number in range(min(box.processors, MAX_PROCESSORS)):
        row, place_in_row = divmod(number, box.in_row(width))
        corner = x + GAP + place_in_row * BESIDE, top + row * BESIDE
        axis.add_patch(mpl.patches.Rectangle(corner, SIDE, SIDE, **look))
