"""``--measured`` of ``compare`` and ``sweep``: what is printed, drawn and written, and what the exit status is of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command_line import command

PROGRAM = ("broadcast", "mesh-256", "--set", "m=64", "--set", "network.distance=none")
ARGUMENTS = (*PROGRAM, "--effects", "none")
#: log2(P) (t_s + m t_w) by hand: 20 us and 10 ns a byte; forecast and simulation without effects.
EXACT = "P,m,value,low,high,count\n16,64,82.56 us,80 us,90 us,5\n4,64,50 us,,,\n"


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "m.csv"
    path.write_text(f"# interval: quartiles\n# source: a logbook\n{EXACT}", encoding="utf-8")
    return str(path)


def test_compare_prints_the_spread_and_what_is_not_explained(capfd: pytest.CaptureFixture[str], file: str) -> None:
    ran = command(capfd, "compare")(*ARGUMENTS, "-P", "4", "--measured", file)
    assert ran.cells("not explained")[1:3] == ["50.000", "+8.720"]
    assert "a logbook" in ran.out
    ran = command(capfd, "compare")(*ARGUMENTS, "-P", "16", "--measured", file)
    (row,) = [line.split() for line in ran.out.splitlines() if " to " in line and line.split()[0] == "total"]
    assert [float(cell) for cell in row[1:] if cell != "to"] == pytest.approx([82.56] * 4 + [80, 90])
    assert "quartiles; n = 5" in " ".join(ran.out.split())
    ran = command(capfd, "compare")(*ARGUMENTS, "-P", "8", "--measured", file)
    assert "P=16, m=64 B" in ran.out


@pytest.mark.parametrize(("value", "is_hinted"), [("41.28", True), ("42 ms", True), ("40 ms", False), ("1 us", False)])
def test_a_factor_between_units_is_pointed_out(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, value: str, is_hinted: bool
) -> None:
    """Both readings take 41.28 us on 4 ranks; 41.28 was meant in microseconds."""
    table = tmp_path / "m.csv"
    table.write_text(f"# role: calibration\nP,m,value\n4,64,{value}\n", encoding="utf-8")
    words = " ".join(command(capfd, "compare")(*ARGUMENTS, "-P", "4", "--measured", table).out.split())
    assert ("a time without a unit is in seconds" in words) == is_hinted
    assert "Its table states that constants were determined from it (role: calibration)" in words
    anchored = " ".join(command(capfd, "forecast")(*PROGRAM, "-P", "8", "--anchor", table).out.split())
    assert ("a time without a unit is in seconds" in anchored) == is_hinted


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (("-P", "16"), 0, ""),
        (("-P", "4"), 1, "the simulation against what was measured"),
        (("-P", "4", "--tolerance-of", "forecast"), 1, "the forecast against what was measured"),
        (("-P", "8"), 1, "nothing to compare the simulation"),
        (("-P", "16", "--formula", "P*t_s"), 0, ""),
        (("-P", "16", "--formula", "P*t_s", "--tolerance-of", "formulas"), 1, "formula formula against what was"),
        (("-P", "16", "--tolerance-of", "formulas"), 2, "--tolerance-of"),
        (("-P", "16", "--replications", "2"), 2, "--measured"),
    ],
)
def test_the_verdict(
    capfd: pytest.CaptureFixture[str], file: str, options: tuple[str, ...], status: int, words: str
) -> None:
    ran = command(capfd, "compare")(*ARGUMENTS, *options, "--measured", file, "--tolerance", "5%")
    assert ran.status == status
    assert words in ran.err


def test_no_effect_is_the_cause_where_the_simulation_is_farther_off(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The forecast is 163.6 us with hops by the mean of the mesh, the simulation 136 us; 160 us are nearer to the first."""
    file, given = tmp_path / "m.csv", ("broadcast", "mesh-256", "-P", "16")
    for measured, away in (("160 us", True), ("130 us", False)):
        file.write_text(f"P,value\n16,{measured}\n", encoding="utf-8")
        ran = command(capfd, "compare")(*given, "--formula", "163 us", "--measured", str(file))
        text = " ".join(ran.out.split())
        assert ("so that no effect explains that" in text) == away
        assert ("so that no step of the ladder explains it" in text) == away
        assert ("the largest contributor is" in text) != away


def test_without_measurements_the_verdict_is_that_of_before(capfd: pytest.CaptureFixture[str]) -> None:
    compare = command(capfd, "compare")
    mine = ("--formula", "P*t_s")
    for options, status in (
        (("--tolerance", "0.01%"), 0),
        (("--tolerance", "5%", *mine), 1),
        (("--tolerance", "5%", *mine, "--tolerance-of", "forecast"), 0),
        (("--tolerance", "5%", "--tolerance-of", "simulation"), 1),  # nothing was measured
        (("--tolerance-of", "forecast"), 2),
    ):
        assert compare(*ARGUMENTS, "-P", "16", *options).status == status, options


def test_sweep(capfd: pytest.CaptureFixture[str], file: str, tmp_path: Path) -> None:
    sweep = command(capfd, "sweep")
    arguments = (*PROGRAM, "--vary", "P=4:16:x2", "--measured", file)
    plot = tmp_path / "p.svg"
    ran = sweep(*arguments, "--write", str(plot), "--tolerance", "5%")
    assert ran.status == 1
    assert "the forecast against what was measured -17.440%" in ran.err
    assert plot.stat().st_size
    assert sweep(*arguments, "--tolerance", "18%").status == 0
    events = [json.loads(line) for line in sweep(*arguments, "--json-lines").out.splitlines()]
    found = [event for event in events if event["event"] == "measured"]
    assert [event["axes"] for event in found] == [{"P": 4.0}, {"P": 16.0}]
    assert found[0]["measured_s"] == pytest.approx(50e-6)
    assert found[0]["measured_forecast_error"] == pytest.approx(41.28 / 50 - 1)
    assert "measured_low_s" not in found[0]
    assert (found[1]["measured_low_s"], found[1]["measured_n"]) == (pytest.approx(80e-6), 5)
    assert sweep(*arguments[:-2], "--tolerance", "5%").status == 2


def test_compare_draws_what_was_measured(capfd: pytest.CaptureFixture[str], file: str, tmp_path: Path) -> None:
    plot = tmp_path / "p.svg"
    command(capfd, "compare")(*ARGUMENTS, "-P", "16", "--measured", file, "--write", str(plot))
    assert "not explained" in plot.read_text(encoding="utf-8")
