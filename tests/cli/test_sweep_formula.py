"""``sweep --formula`` and ``--within``: columns, words, events, maps, and a stored sweep that is asked anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.command_line import command

BOTH = ("broadcast", "mesh-256", "--vary", "P=2,16", "--vary", "m=64B:64KiB:x32", "--simulate", "-j", "1")
GRAMA = "mine = log2(P)*(t_s + m*t_w)"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.thorough
def test_columns_words_and_a_map(capfd: pytest.CaptureFixture[str], folder: Path) -> None:
    ran = command(capfd, "sweep")(*BOTH, "--formula", GRAMA, "--formula", "t_s", "--write", "t.csv", "--write", "t.png")
    assert ran.status == 0
    table = pd.read_csv("t.csv")
    names = [name for name in table.columns if name.startswith("formula")]
    assert names == [
        f"formula{name}_{what}" for name in ("_mine", "_2", "_grama") for what in ("s", "error")
    ]  # the workload's own comes after those given
    assert table["formula_mine_s"].to_numpy() == pytest.approx(table["formula_grama_s"].to_numpy())
    within = [int((abs(table[f"formula_{name}_error"]) <= 0.1).sum()) for name in ("mine", "2")]
    assert [ran.cells("formula mine")[1], ran.cells("formula 2")[1]] == [
        str(count) if count else "-" for count in within
    ]
    words = " ".join(ran.out.split())  # lines break where the terminal ends
    assert "True of the points simulated: P from 2 to 16 (2 values), m from 64 B to 64 KiB (3 values)." in words
    assert (folder / "t.png").stat().st_size > 1000


@pytest.mark.thorough
def test_a_stored_sweep_answers_other_formulas_without_a_simulation(capfd: pytest.CaptureFixture[str]) -> None:
    assert command(capfd, "sweep")(*BOTH).status == 0
    ran = command(capfd, "sweep")(*BOTH, "--formula", GRAMA, "--within", "5%", "--json-lines")
    assert ran.status == 0
    *_, done, last = events(ran.out)
    assert (done["event"], done["stored"], done["new"]) == ("done", 6, 0)
    assert (last["event"], last["fraction"], last["points"]) == ("trust", 0.05, 6)
    assert [one["name"] for one in last["formulas"]] == ["mine", "grama", "forecast"]
    assert last["formulas"][0]["within"] == last["formulas"][1]["within"]
    assert last["formulas"][1]["best"]["points"] == 0  # of equal ones, the first


def test_a_forecast_has_times_of_formulas_alone(capfd: pytest.CaptureFixture[str]) -> None:
    ran = command(capfd, "sweep")(*BOTH[:6], "--formula", GRAMA, "--write", "t.csv")
    assert ran.status == 0
    assert [name for name in pd.read_csv("t.csv").columns if name.startswith("formula")] == ["formula_mine_s"]


@pytest.mark.thorough
def test_a_plot_of_columns_stays_one(capfd: pytest.CaptureFixture[str], folder: Path) -> None:
    ran = command(capfd, "sweep")(*BOTH, "--formula", GRAMA, "--write", "t.png", "--of", "formula_mine_error")
    assert ran.status == 0
    assert (folder / "t.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--formula", "t_z*P"), "unknown name 't_z'"),
        (("--formula", "m*t_s"), "not s"),
        (("--formula", "no-such-file.yaml"), "no-such-file.yaml"),
        (("--within", "0"), "above 0"),
        (("--within", "a lot"), "--within"),
        (
            ("--within", "10%", "--vary", "network.startup=1,2us", "--vary", "order=far,near", "--write", "t.png"),
            "axes",
        ),
    ],
)
def test_bad_input_is_refused_before_any_simulation(
    capfd: pytest.CaptureFixture[str], folder: Path, options: tuple[str, ...], word: str
) -> None:
    ran = command(capfd, "sweep")(*BOTH, *options)
    assert ran.status == 2
    assert word in ran.err
    assert not list(folder.iterdir())


def test_within_needs_simulations(capfd: pytest.CaptureFixture[str]) -> None:
    ran = command(capfd, "sweep")(*BOTH[:6], "--within", "10%")
    assert ran.status == 2
    assert "needs --simulate" in ran.err
