"""``fit-formula``: its tables, its JSON, what it writes for ``compare``, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.command_line import Ran, command

FORM = "mine = c0 + c1*log2(p)*n + c2*p**x"
VALUES = {"c0": 3.0, "c1": 0.5, "c2": 2.0, "x": 1.25}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Values of the form, without noise."""
    lines = "".join(
        f"{p},{n},solve,time,{3 + 0.5 * k * n + 2 * p**1.25}\n{p},{n},solve,bytes,{8 * n}\n"
        for k, p in enumerate((2, 4, 8, 16, 32), start=1)
        for n in (10, 20, 40, 80, 160)
    )
    file = tmp_path / "runs.csv"
    file.write_text(f"p,n,region,metric,value\n{lines}", encoding="utf-8")
    return file


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("COLUMNS", "160")
    return command(capfd, "fit-formula")


def test_tables(run: Any, runs: Path) -> None:
    ran = run(runs, "--metric", "time", FORM, "flat = a + b*p")
    row = ran.cells("mine", "3 + 0.5*log2(p)*n + 2*p**1.25")
    assert row[2:5] == ["0 %", "0 %", "1.0000"]
    assert ran.cells("mine", "x") == ["mine", "x", "1.25", "1.25", "non-linearly"]
    assert ran.cells("normal form")[0] == "normal form"
    assert ran.cells("2", "10")[3:5] != ran.cells("32", "160")[3:5]


def test_json(run: Any, runs: Path) -> None:
    answer = run(runs, FORM, "--json", "--level", "0.95", "--target", "p=64,n=320").json
    assert [(one["region"], one["metric"]) for one in answer["fits"]] == [("solve", "time"), ("solve", "bytes")]
    (own,) = answer["fits"][0]["formulas"]
    assert {one["name"]: one["value"] for one in own["coefficients"]} == pytest.approx(VALUES, rel=1e-9)
    assert own["level"] == 0.95
    assert own["prediction"]["value"] == pytest.approx(3 + 0.5 * 6 * 320 + 2 * 64**1.25)
    assert len(own["residuals"]) == 25
    assert answer["fits"][0]["normal_form"]["smape_percent"] >= 0


def test_constants(run: Any, runs: Path) -> None:
    answer = run(runs, "--metric", "time", FORM, "--set", "x=1.25", "--set", "c0=3", "--json").json
    (own,) = answer["fits"][0]["formulas"]
    assert {one["name"]: one["value"] for one in own["coefficients"]} == pytest.approx({"c1": 0.5, "c2": 2.0})
    assert answer["options"]["known"] == {"x": 1.25, "c0": 3.0}
    assert own["known"] == {"x": 1.25, "c0": 3.0}


def test_what_is_known_is_said(run: Any, runs: Path) -> None:
    ran = run(runs, "--metric", "time", "g*t_s*p + k*n", "--machine", "crossbar-16", "--set", "k=2")
    assert "Known: t_s = 1e-05, k = 2." in ran.out  # g is LogGOPS's, which crossbar-16 has not
    assert ran.cells("formula", "g")[4] == "linearly"


@pytest.mark.parametrize(("target", "is_below"), [(64, True), (8, False)])
def test_a_prediction_below_zero_is_noted(run: Any, tmp_path: Path, target: int, is_below: bool) -> None:
    """20 - p, of what was measured up to p = 16."""
    file = tmp_path / "falls.csv"
    file.write_text("p,metric,value\n" + "".join(f"{p},time,{20 - p}\n" for p in (1, 2, 4, 8, 16)), encoding="utf-8")
    ran = run(file, "a + b*p", "--target", f"p={target}")
    assert ("formula: below zero" in ran.out) == is_below


@pytest.mark.parametrize("letters", ["T_S", "t_S"])
def test_names_that_differ_in_capitals_are_no_coefficients(run: Any, runs: Path, letters: str) -> None:
    ran = run(runs, "--metric", "time", f"{letters}*p", "--machine", "crossbar-16")
    assert ran.status == 2
    assert "t_s" in ran.err


def test_nonnegative(run: Any, runs: Path) -> None:
    arguments = runs, "--metric", "time", "a + b*p + c*n + d*p*n + e*n**2", "--json"
    free, held = (run(*arguments, *more).json["fits"][0]["formulas"][0] for more in ((), ("--nonnegative",)))
    assert min(one["value"] for one in free["coefficients"]) < 0
    assert min(one["value"] for one in held["coefficients"]) == 0


# --- Sweeps, and back to compare -------------------------------------------------------------------------------------


@pytest.fixture
def swept(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Path:
    file = tmp_path / "swept.csv"
    axes = "--vary", "P=2:16:x2", "--vary", "size=100,1000,10000,100000"
    store = "--simulate", "--store", tmp_path / "s.sqlite", "-j", "1"
    ran: Ran = command(capfd, "sweep")("burst", "crossbar-16", *axes, *store, "--write", file)
    assert ran.status == 0, ran.err
    return file


@pytest.mark.parametrize(
    ("options", "key"),
    [
        (("(P - 1)*(a + b*size)",), "total_s"),
        (("(P - 1)*(a*t_s + b*size*t_w)", "--machine", "crossbar-16"), "total_s"),
        (("(P - u)*(a + b*size)", "--set", "u=1"), "total_s"),
        (("a*(1 + b*size)*(P - 1)**x",), "total_s"),
        (("(P - 1)*(a + b*size)", "--metric", "simulated_communication_s"), "components_s"),
    ],
)
def test_round_trip(
    run: Any, capfd: pytest.CaptureFixture[str], swept: Path, tmp_path: Path, options: tuple[str, ...], key: str
) -> None:
    """A burst on a crossbar is a sum that is linear in P - 1 and in the size: fitted to a sweep and compared elsewhere,
    nothing is left of the difference."""
    written = tmp_path / "fitted.yaml"
    assert run(swept, *options, "--write", written).status == 0
    answer = command(capfd, "compare")("burst", "crossbar-16", "-P", 12, "--formula", written, "--json").json
    (formula,) = answer["formulas"]
    values = formula[key] if key == "total_s" else formula[key]["communication"]
    simulated = answer["simulation"]["makespan_s"]
    assert values == pytest.approx(simulated, rel=1e-9)


@pytest.mark.thorough
def test_round_trip_of_several_phases(run: Any, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What compare says of the written formula at a point of the sweep is what the fit said there."""
    table, written = tmp_path / "swept.csv", tmp_path / "fitted.yaml"
    axes = "--vary", "P=4,16,64", "--vary", "n=128,256,512", "--simulate", "--effects", "none"
    ran = command(capfd, "sweep")(
        *("jacobi", "torus-cluster", *axes, "--set", "sweeps=2", "--store", tmp_path / "s.sqlite", "--write", table)
    )
    assert ran.status == 0, ran.err
    forms = "a + b*n**2/P + c*n/sqrt(P) + d*log2(P)", "grown = a*exp(b*P) - c*(1 + k*n)**x"
    answer = run(table, *forms, "--write", written, "--json").json
    at = ("-P", 16, "--set", "n=256", "--set", "sweeps=2", "--effects", "none")
    compared = command(capfd, "compare")("jacobi", "torus-cluster", *at, "--formula", written, "--json").json
    fitted = answer["fits"][0]["formulas"]
    for own, other in zip(fitted, compared["formulas"], strict=True):
        here = next(one for one in own["residuals"] if one["point"] == {"P": 16.0, "n": 256.0})
        assert other["total_s"] == pytest.approx(here["fitted"], rel=1e-12)
        assert compared["simulation"]["makespan_s"] == pytest.approx(here["measured"], rel=1e-12)
    assert fitted[0]["smape_percent"] < 0.1  # all that is in it: start-ups, edges, blocks and rounds of the allreduce


@pytest.mark.thorough
def test_columns_of_a_sweep(run: Any, swept: Path) -> None:
    ran = run(swept, "a*P", "--json")
    assert [one["metric"] for one in ran.json["fits"]] == ["simulated_makespan_s"]
    assert "simulated_makespan_s" in ran.err
    chosen = run(swept, "a*P", "--metric", "forecast_*", "--json").json
    assert "forecast_messages" in {one["metric"] for one in chosen["fits"]}


# --- Refused -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--nonnegative",), "Missing argument 'FORMULA...'"),
        (("a*p", "--write", "plot:f.png"), "no such kind of file, got 'plot:f.png'"),
        (("a*p", "--set", "a"), "not a name and its value"),
        (("a*p", "--set", "k=2", "--set", "k=3"), "set twice"),
        (("a*p", "--set", "k=b"), "other names"),
        (("a*P",), "P is neither a parameter"),
        (("a*p", "no-such-file.yaml"), "no-such-file.yaml"),
        (("a*p", "--write", "f.txt"), ".yaml"),
        (("a*p", "--level", "2"), "--level"),
    ],
)
def test_refused(run: Any, runs: Path, arguments: tuple[str, ...], word: str) -> None:
    ran = run(runs, *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert word in ran.err


@pytest.mark.thorough
def test_no_formula_is_written_for_what_is_no_time(run: Any, swept: Path, tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    ran = run(swept, "a*P", "--metric", "forecast_messages", "--write", file)
    assert ran.status == 2
    assert "no time" in ran.err
    assert not file.exists()
