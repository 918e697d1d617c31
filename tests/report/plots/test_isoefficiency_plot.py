"""Plots of isoefficiency: what is drawn of each result, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from simcodesign.core.errors import InputError
from simcodesign.report.scaling.isoefficiency_plot import isoefficiency_plot
from simcodesign.studies.scaling.isoefficiency import Isoefficiency, isoefficiency

pytest.importorskip("matplotlib")


@cache
def result(machine: str) -> Isoefficiency:
    return isoefficiency("cannon", machine, [4, 16], effects="hops")


def drawn(results: Isoefficiency | list[Isoefficiency], folder: Path) -> str:
    isoefficiency_plot(results, folder / "curves.svg")
    return (folder / "curves.svg").read_text(encoding="utf-8")


def labels(svg: str) -> list[str]:
    """Texts of the figure, which Matplotlib leaves as comments before their outlines."""
    return [line.strip()[5:-4] for line in svg.splitlines() if line.strip().startswith("<!-- ")]


@pytest.mark.thorough
def test_a_formula_that_is_alike_on_all_machines_is_one_line(tmp_path: Path) -> None:
    texts = labels(drawn([result("hypercube-256"), result("mesh-256")], tmp_path))
    assert texts.count("textbook") == 1
    for machine in ("hypercube-256", "mesh-256"):
        assert f"forecast, {machine}" in texts
        assert f"simulation, {machine}" in texts
    assert "cannon, efficiency 0.5" in texts
    assert {"4", "16"} <= {*texts}


@pytest.mark.thorough
def test_a_formula_that_differs_is_a_line_for_each_machine(tmp_path: Path) -> None:
    slower = isoefficiency("cannon", "hypercube-256", [4, 16], {"network.startup": 1e-3}, readings=["textbook"])
    other = replace(slower, machine="slower")
    texts = labels(drawn([replace(result("hypercube-256")), other], tmp_path))
    assert {"textbook, hypercube-256", "textbook, slower"} <= {*texts}


@pytest.mark.thorough
def test_a_panel_for_each_workload(tmp_path: Path) -> None:
    other = replace(result("mesh-256"), workload="something else")
    texts = labels(drawn([result("mesh-256"), other], tmp_path))
    assert {"cannon, efficiency 0.5", "something else, efficiency 0.5"} <= {*texts}


@pytest.mark.thorough
def test_what_cannot_be_plotted_is_refused(tmp_path: Path) -> None:
    in_seconds = replace(result("mesh-256"), serial="one_rank")
    with pytest.raises(InputError, match="one of them"):
        isoefficiency_plot([result("hypercube-256"), in_seconds], tmp_path / "a.png")
    with pytest.raises(InputError, match="nothing to plot"):
        isoefficiency_plot(replace(result("mesh-256"), curves=()), tmp_path / "a.png")
    with pytest.raises(InputError, match="unknown format of a plot"):
        isoefficiency_plot(result("mesh-256"), tmp_path / "a.txt")
    assert not [*tmp_path.iterdir()]
