"""Bars of formulas and of measured times beside forecast and simulation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simcodesign.comparison.compare import Comparison, compare
from simcodesign.report.results import plots
from tests.builders import read_machine, workload

pytest.importorskip("matplotlib")

MACHINE = read_machine("""
simcodesign: 1
name: hockney
nodes: 8
processor: {rate: 1 GFLOP/s}
network: {topology: {kind: crossbar}, startup: 1 ms, bandwidth: 1 GB/s}
""")
#: A second of computation; the broadcast takes 3 startups.
WORK = workload("- compute: {flops: 1e9}\n- broadcast: {bytes: 0, algorithm: binomial}\n", "parameters: {P: 8}\n")
FORMULAS = """
simcodesign: 1
formulas:
  parts:
    total: 1.25 s
    components: {computation: 1 s}
  smaller_than_its_parts:
    total: 0.5 s
    components: {computation: 1 s}
  outside: {total: 3 s, valid: P > 8}
measured:
  total: 2 s
  components: {computation: 1.5 s}
"""
MINUS = "\N{MINUS SIGN}"


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    path = tmp_path_factory.mktemp("formulas") / "f.yaml"
    path.write_text(FORMULAS, encoding="utf-8")
    return compare(WORK, MACHINE, formulas=path)


def texts(comparison: Comparison, path: Path, **how: object) -> str:
    """All texts of the plot, in their order."""
    plots.comparison_bars(comparison, path / "c.svg", **how)  # type: ignore[arg-type]
    found = re.findall(r"<!--(.*?)-->", (path / "c.svg").read_text(encoding="utf-8"), re.DOTALL)
    return " ".join(text.strip() for text in found)


def test_bars_of_formulas_and_of_what_was_measured(compared: Comparison, tmp_path: Path) -> None:
    shown = texts(compared, tmp_path)
    assert "parts (formula) smaller_than_its_parts (formula) forecast simulated measured" in shown
    assert "outside" not in shown
    assert "not split up" in shown
    assert f"error against measured: parts {MINUS}37.5%, smaller_than_its_parts {MINUS}75.0%" in shown
    # The bar of a formula is as long as its total, even where its components add up to more.
    assert {"1.25 s", "500 ms", "2 s"} <= set(re.findall(r"[\d.]+ m?s", shown))


def test_measured_times_that_are_given_are_the_ones_that_count(compared: Comparison, tmp_path: Path) -> None:
    shown = texts(compared, tmp_path, measured=[{"total": 5.0}])
    assert f"error against measured: parts {MINUS}75.0%, smaller_than_its_parts {MINUS}90.0%" in shown
