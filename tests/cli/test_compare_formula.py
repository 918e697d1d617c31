"""``compare --formula``: what is printed, and which error the exit status is of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import command

ARGUMENTS = ("burst", "crossbar-16", "-P", "16", "--effects", "none")
FILE = """formulas:
  startups: {total: (P - 1)*t_s, components: {communication: (P - 1)*t_s}, valid: P > 2}
  whole: "(P - 1)*(t_s + size*t_w)"
measured: {total: 800 us, at: {P: 16}, source: a test}
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "mine.yaml"
    path.write_text(FILE, encoding="utf-8")
    return str(path)


def test_tables(capfd: pytest.CaptureFixture[str], file: str) -> None:
    ran = command(capfd, "compare")(*ARGUMENTS, "--formula", file, "--formula", "2.5e-6*P")
    assert ran.cells("total") == ["total", "764.40", "764.40", "0", "+0.0%"]  # of the readings, as without formulas
    assert "lacks size*t_B*(P - 1): 614.4 us" in ran.out
    assert "2.5e-6 taken as 2.5e-6 s" in ran.out
    assert ran.cells("left out of the formula") == ["left out of the formula", "764.40", "+614.40", "94.5%"]
    rows = [line.split() for line in ran.out.splitlines()]
    assert ["not", "explained", "800.00", "+35.60", "5.5%"] in rows
    assert ["total", "150.00", "764.40", "40.00", "764.40", "764.40", "800.00"] in rows
    assert ["communication", "150.00", "-", "-", "764.40", "764.40", "-"] in rows


def test_json(capfd: pytest.CaptureFixture[str], file: str) -> None:
    answer = command(capfd, "compare")(*ARGUMENTS, "--formula", file, "--json").json
    assert [one["formula"]["name"] for one in answer["formulas"]] == ["startups", "whole"]
    assert answer["formulas"][1]["error"] == pytest.approx(0, abs=1e-12)
    assert answer["formulas"][1]["left_out"]["terms"] == []
    assert answer["measured"]["total_s"] == pytest.approx(800e-6)


@pytest.mark.parametrize(
    ("formulas", "status", "word"),
    [
        ((), 0, ""),
        (("whole=(P - 1)*(t_s + size*t_w)",), 0, ""),
        (("short=(P - 1)*t_s",), 1, "formula short"),
        (("whole=(P - 1)*(t_s + size*t_w)", "short=(P - 1)*t_s"), 1, "formula short"),
        (("t_s*size",), 2, "the term t_s*size is s B, not s"),
        (("t_z*P",), 2, "unknown name 't_z'"),
        (("2 us*",), 2, "syntax error"),
        (("no-such-file.yaml",), 2, "no-such-file.yaml"),
    ],
)
def test_exit_status(capfd: pytest.CaptureFixture[str], formulas: tuple[str, ...], status: int, word: str) -> None:
    options = [part for formula in formulas for part in ("--formula", formula)]
    ran = command(capfd, "compare")(*ARGUMENTS, "--tolerance", "1%", *options)
    assert ran.status == status
    assert word in ran.err


def test_a_formula_outside_its_range_is_out_of_tolerance(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text("formulas: {small: {total: P*t_s, valid: P < 4}}\n", encoding="utf-8")
    ran = command(capfd, "compare")(*ARGUMENTS, "--formula", path, "--tolerance", "100%")
    assert ran.status == 1
    assert "outside its range: valid for P < 4" in ran.out


def test_replications_take_no_formula(capfd: pytest.CaptureFixture[str]) -> None:
    ran = command(capfd, "compare")(*ARGUMENTS, "--replications", "2", "--formula", "P*t_s")
    assert ran.status == 2
    assert "--formula" in ran.err


def test_hops_are_one_step_of_the_printed_ladder(capfd: pytest.CaptureFixture[str]) -> None:
    """What the forecast has for hops by a law, and what the effect makes of it, in one line: by hand from the JSON."""
    arguments = ("cg-iteration", "fat-tree-cluster", "-P", "16", "--effects", "hops")
    run = command(capfd, "compare")
    (formula,) = run(*arguments, "--json").json["formulas"]
    by_law_s = sum(one["time_s"] for one in formula["left_out"]["terms"] if one["text"].startswith("hops"))
    effect_s = next(one["change_s"] for one in formula["ladder"] if one["step"] == "hops")
    assert by_law_s > 0 > effect_s
    lines = run(*arguments).out.partition("From formula T_iter")[2].splitlines()
    hops = next(line.split() for line in lines if line.split()[:1] == ["hops"])
    assert float(hops[2]) == pytest.approx(1e6 * (by_law_s + effect_s), abs=0.005)
    assert any("left out of the formula, but hops" in line for line in lines)


def test_the_largest_step_of_the_verdict_is_one_of_the_printed_ladder(capfd: pytest.CaptureFixture[str]) -> None:
    """A tree formula without hops: its only printed step is hops, by the difference of both printed times."""
    formula = "tree = ceil(log2(P))*(t_s + m*t_w)"
    text = command(capfd, "compare")("broadcast", "mesh-256", "-P", "256", "--formula", formula).out
    ladder = text.partition("From formula tree")[2].partition("Formula tree")[0]
    hops = next(line.split() for line in ladder.splitlines() if line.split()[:1] == ["hops"])
    sentence = " ".join(text.split()).partition("Formula tree (")[2].partition("Formula grama (")[0]
    assert f"the largest step is hops ({float(hops[2]):g} us more)" in sentence
