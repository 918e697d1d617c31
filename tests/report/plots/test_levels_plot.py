"""The picture of the levels of a machine: its boxes, its words, and that no text leaves its box."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.report.common import plot_style
from simcodesign.report.machines import levels_plot
from simcodesign.report.machines.levels_plot import Box, machine_box
from simcodesign.report.results.message_rows import message_rows

NAMES = ["nvl72-cluster", "ice-lake-cluster", "frontier-cabinet", "dahu", "two-partitions", "crossbar-16"]


def walk(box: Box) -> list[Box]:
    return [box, *(one for inside in box.inside for one in walk(inside))]


def words(box: Box) -> str:
    return " | ".join(box.lines)


def test_boxes_within_boxes() -> None:
    """A rack has 72 GPUs; a node of the other machine two sockets of 18 cores."""
    racks, (rack,) = (box := machine_box(sc.Machine.load("nvl72-cluster"))), box.inside
    assert (rack.copies, rack.processors, rack.inside) == (4, 72, ())
    assert "4 nodes, 288 processors" in words(racks)
    assert "72 interfaces of a node 50 GB/s each" in words(racks)
    assert "2 us + m / (900 GB/s)" in words(rack)
    (node,) = machine_box(sc.Machine.load("ice-lake-cluster")).inside
    assert [socket.processors for socket in node.inside] == [18, 18]
    assert "600 ns + m / (9 GB/s), at both ends" in words(node)
    assert "memory 2 x 160.5 GB/s" in words(node)


def test_a_node_without_an_inside_says_so() -> None:
    (node,) = machine_box(sc.Machine.load("dahu")).inside
    assert "messages within the node cost as between nodes" in words(node)


def test_kinds_of_nodes_are_side_by_side() -> None:
    inside = {"network": {"topology": {"kind": "crossbar"}, "startup": "1 us", "bandwidth": "100 GB/s"}}
    machine = sc.Machine.load(
        "two-partitions", {"partitions": [{"name": "cpu", "nodes": 48}, {"name": "gpu", "nodes": 16, "node": inside}]}
    )
    cpu, gpu = machine_box(machine).inside
    assert ("48 nodes of cpu" in words(cpu), "16 nodes of gpu" in words(gpu)) == (True, True)
    assert "100 GB/s" in words(gpu)
    assert "100 GB/s" not in words(cpu)


def cores_beside_gpus() -> sc.Machine:
    """A cluster of two kinds of nodes: two sockets of 32 cores, and 4 GPUs with an interface each."""
    inside = {"network": {"topology": {"kind": "crossbar"}, "startup": "0.5 us", "bandwidth": "8 GB/s"}}
    cpu = {"name": "cpu", "nodes": 64, "node": inside, "socket": {"per_node": 2, **inside}}
    gpu = {"name": "gpu", "nodes": 16, "processors_per_node": 4, "node": inside, "accelerator": {"rate": "20 TFLOP/s"}}
    gpu |= {"network": {"interfaces": {"count": 4}}}
    network = {"topology": {"kind": "fat_tree", "arity": 16}, "startup": "1.2 us", "bandwidth": "25 GB/s"}
    text = {"name": "two", "nodes": 80, "processors_per_node": 64, "processor": {"rate": 38.4e9}, "network": network}
    return sc.Machine.load({**text, "accelerator": {"count": 4, "rate": 1e12}, "partitions": [cpu, gpu]})


def test_what_differs_is_said_of_each_kind() -> None:
    machine = cores_beside_gpus()
    everything, (cpu, gpu) = (box := machine_box(machine)), box.inside
    assert "interfaces of a node (1 of cpu, 4 of gpu) 25 GB/s each" in words(everything)
    assert "partitions.cpu.socket.network" in words(cpu.inside[0])
    assert "4 accelerators, 20 TFLOP/s each" in words(gpu)
    assert machine.interfaces_by_partition == {"cpu": 1, "gpu": 4}
    assert dict(message_rows(machine))["interfaces of a node"].startswith("1 (cpu), 4 (gpu)")
    assert sc.Machine.load("two-partitions").interfaces_by_partition == {}


@pytest.mark.parametrize("name", [*NAMES, cores_beside_gpus])
def test_text_and_boxes_stay_within_their_box(
    name: str | Callable[[], sc.Machine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As drawn: each text within the box that is around it, each processor within its own, other boxes within
    that of the level outside."""
    figures: list[Any] = []
    monkeypatch.setattr(plot_style, "save", lambda figure, path: figures.append(figure))
    levels_plot.levels_plot(sc.Machine.load(name) if isinstance(name, str) else name(), tmp_path / "levels.png")
    (figure,) = figures
    figure.draw_without_rendering()
    (axis,) = figure.axes
    boxes = [patch.get_window_extent() for patch in axis.patches]
    around = boxes[0]
    assert all(around.x0 - 1 <= box.x0 and box.x1 <= around.x1 + 1 for box in boxes)
    assert all(around.y0 - 1 <= box.y0 and box.y1 <= around.y1 + 1 for box in boxes)
    side, own = min(box.width for box in boxes), around
    for box in boxes:
        if box.width > 1.01 * side:
            own = box  # processors are drawn after their box
        else:
            assert own.x0 <= box.x0
            assert box.x1 <= own.x1
            assert own.y0 <= box.y0
            assert box.y1 <= own.y1
    texts = [text.get_window_extent() for text in axis.texts]
    for text in texts:
        holding = [
            box for box in boxes if box.x0 <= text.x0 and text.x1 <= box.x1 and box.y0 <= text.y0 and text.y1 <= box.y1
        ]
        assert holding, text
    assert not any(one.overlaps(other) for i, one in enumerate(texts) for other in texts[:i])


def test_nodes_by_ranks_are_refused(tmp_path: Path) -> None:
    machine = sc.Machine.load("crossbar-16", {"nodes": "P"})
    with pytest.raises(InputError, match="-P N"):
        levels_plot.levels_plot(machine, tmp_path / "levels.png")
