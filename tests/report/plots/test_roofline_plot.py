"""The picture of rooflines: ridge points by hand, and the lines as drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import simcodesign as sc
from simcodesign.analytic.roofline_points import RooflinePoint
from simcodesign.core.errors import InputError
from simcodesign.report.common import plot_style
from simcodesign.report.machines.roofline_plot import MOST_POINTS, Roof, roofline_plot, roofs, workload_roofline_plot
from tests.builders import read_machine
from tests.command_line import command

MACHINE = (
    "simcodesign: 1\nname: m\nnodes: 2\nprocessors_per_node: 4\nprocessor: {rate: 10 GFLOP/s}\n"
    "network: {topology: {kind: crossbar}, startup: 1 us, bandwidth: 1 GB/s}\n"
    "memory: {latency: 100 ns, bandwidth: 20 GB/s}\n"
    "accelerator: {count: 1, rates: {bf16: 300 TFLOP/s, fp16: 300 TFLOP/s, fp64: 20 TFLOP/s}, memory: {bandwidth: 2 TB/s}, efficiency: 0.5}\n"
)


def test_ridge_points() -> None:
    found: dict[str, Any] = {
        roof.name: (roof.rate_flop_per_s, pytest.approx(roof.ridge)) for roof in roofs(read_machine(MACHINE))
    }
    assert found == {
        "fp64": (20e12, 10),
        "fp64 reached": (10e12, 5),
        "bf16 and fp16": (300e12, 150),
        "bf16 and fp16 reached": (150e12, 75),
        "processor": (10e9, 0.5),
        "processor, 4 share the memory": (10e9, 2),
        "node of 4 processors": (40e9, 2),
    }


def test_attention_has_roofs_if_its_efficiency_is_a_number() -> None:
    plain = [roof.name for roof in roofs(read_machine(MACHINE))]
    stated = MACHINE.replace("efficiency: 0.5", "efficiency: 0.5, attention_efficiency: 0.25")
    found = {roof.name: roof.ridge for roof in roofs(read_machine(stated))}
    assert found.keys() - {*plain} == {"fp64 reached by attention", "bf16 and fp16 reached by attention"}
    assert (found["fp64 reached by attention"], found["bf16 and fp16 reached by attention"]) == (2.5, 37.5)
    by_shape = MACHINE.replace("efficiency: 0.5", "efficiency: 0.5, attention_efficiency: {formula: 1/4}")
    assert [roof.name for roof in roofs(read_machine(by_shape))] == plain


def test_caches_and_sockets_have_roofs() -> None:
    """Ridges: 10 GFLOP/s over 64 B of 2 GHz, over 20 GB/s of each of two controllers, over 8 GB/s between sockets."""
    machine = MACHINE.partition("accelerator")[0].replace("rate: 10 GFLOP/s", "rate: 10 GFLOP/s, clock: 2 GHz")
    machine = machine.replace(
        "bandwidth: 20 GB/s", "bandwidth: 20 GB/s, controllers: 2, policy: interleaved, remote: {bandwidth: 8 GB/s}"
    )
    machine += "caches: {L1: {size: 32 KiB, ways: 8, latency: 2 ns, bandwidth: 64 B/cycle}}\n"
    assert {roof.name: roof.ridge for roof in roofs(read_machine(machine))} == pytest.approx(
        {
            "processor": 0.5,
            "processor, from L1": 10 / 128,
            "processor, memory of another socket": 10 / 8,
            "processor, 4 share the memory": 1.0,
            "node of 4 processors": 1.0,
        }
    )


@pytest.mark.parametrize(("flops_per_byte", "rate"), [(1, 2), (4, 8), (10, 8)])
def test_what_a_roof_lets_through(flops_per_byte: float, rate: float) -> None:
    assert Roof("", 8.0, 2.0).at(flops_per_byte) == rate


def test_each_roof_is_a_line_that_bends_at_its_ridge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures: list[Any] = []
    monkeypatch.setattr(plot_style, "save", lambda figure, path: figures.append(figure))
    machine = read_machine(MACHINE)
    roofline_plot(machine, tmp_path / "roofline.png")
    (axis,) = figures[0].axes
    for line, roof in zip(axis.lines, roofs(machine), strict=True):
        (first, bend, last), (low, top, end) = line.get_data()
        assert (bend, top, end) == pytest.approx((roof.ridge, roof.rate_flop_per_s, roof.rate_flop_per_s))
        assert low / first == pytest.approx(roof.byte_per_s)
        assert last > bend


@pytest.mark.parametrize("name", ["crossbar-16", "two-partitions"])
def test_machines_without_one(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no roofline"):
        roofline_plot(sc.Machine.load(name), tmp_path / "roofline.png")


@pytest.mark.parametrize("name", ["a100-cluster", "frontier-cabinet", "ice-lake-cluster"])
def test_shipped_machines(name: str, tmp_path: Path) -> None:
    roofline_plot(sc.Machine.load(name), tmp_path / "roofline.png")
    assert (tmp_path / "roofline.png").read_bytes().startswith(b"\x89PNG")


def drawn(monkeypatch: pytest.MonkeyPatch, points: list[RooflinePoint]) -> Any:
    figures: list[Any] = []
    monkeypatch.setattr(plot_style, "save", lambda figure, path: figures.append(figure))
    workload_roofline_plot(read_machine(MACHINE), "roofline.png", points, "a title")
    return figures[0]


def test_points_below_the_roofs_of_their_formats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 10 s in all, those of processors once for each memory; the longest is number 1."""
    figure = drawn(
        monkeypatch, [RooflinePoint("product", "bf16", 4e12, 1e10, 2.0), RooflinePoint("sum", "processor", 8, 64, 8.0)]
    )
    (axis,) = figure.axes
    roofs_drawn = [line for line in axis.lines if line.get_marker() == "None"]
    marks = [line for line in axis.lines if line.get_marker() != "None"]
    assert len(roofs_drawn) == 4  # bf16 and what its kernels reach, the processor with all of its memory and a part
    assert [tuple(map(float, (*line.get_xdata(), *line.get_ydata()))) for line in marks] == [(400, 2e12), (0.125, 1)]
    assert marks[0].get_color() == roofs_drawn[0].get_color() != marks[1].get_color() == roofs_drawn[2].get_color()
    assert [text.get_text() for text in axis.texts] == ["1", "2"]
    entries = [text.get_text() for text in figure.legends[0].get_texts()]
    assert entries[-2:] == ["1: sum (80%)", "2: product (20%)"]


def test_points_that_are_near_each_other_have_their_numbers_together(monkeypatch: pytest.MonkeyPatch) -> None:
    near = [RooflinePoint(f"k{n}", "fp64", 1e12 * (1 + n / 100), 1e10, 20.0 - n) for n in range(MOST_POINTS + 1)]
    (axis,) = drawn(monkeypatch, near).axes
    assert [text.get_text() for text in axis.texts] == [", ".join(map(str, range(1, MOST_POINTS + 1)))]


def test_the_command_writes_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """By the name of the file; another name has the bars of the phases, as before."""
    forecast = command(capfd, "forecast")
    for name in ("roofline.png", "other.png"):
        forecast("inference", "a100-cluster", "--write", tmp_path / name)
    files = [(tmp_path / name).read_bytes() for name in ("roofline.png", "other.png")]
    assert all(one.startswith(b"\x89PNG") for one in files)
    assert files[0] != files[1]
    refused = forecast("jacobi", "torus-cluster", "-P", 4, "--write", tmp_path / "roofline.svg")
    assert refused.status == 2
    assert "no kernel or phase of this workload" in refused.err
