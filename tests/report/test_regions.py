"""Tables, JSON and plots of feasibility regions, and the command that asks for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simcodesign.cli.app import main
from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine.simulate import simulate

OVER = ["--vary", "ts", "--vary", "tw"]
BASE = ["explore", "cg", "exascale-cg", *OVER]
ASK = [*BASE, "--subject-to", "rate >= 1e18"]
ETAS = ["--vary", "eta=1,0.75,0.5,0.25,0.2,0.1"]


@pytest.mark.thorough
def test_the_inequality_and_the_threshold_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ASK, *ETAS]) == 0
    out = capsys.readouterr().out
    assert "1120 ts + 1599600 tw <= " in out
    assert "eta must be at least 0.09315" in out  # 2.1048e-5 / 2.2596e-4
    assert "62.4" in out  # GB/s at eta = 1, as published


@pytest.mark.thorough
def test_json_has_a_region_for_each_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ASK, "--vary", "eta=1,0.05", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [region["values"] for region in data["regions"]] == [{"eta": 1.0}, {"eta": 0.05}]
    assert [region["feasible"] for region in data["regions"]] == [True, False]
    assert data["regions"][0]["intercepts"] == pytest.approx([1.8296e-7, 1.2810e-10], rel=1e-4)
    assert data["regions"][1]["intercepts"] == [None, None]


@pytest.mark.thorough
def test_a_simulated_boundary_is_listed_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    few = [*BASE, "--subject-to", f"rate >= {1e18 / 2**14}", "--set", "nodes=64"]
    plot = tmp_path / "region.png"
    options = ["--set", "train=104", "--vary", "eta=1", "--simulate", "--effects", "hops", "--points", "2"]
    assert main([*few, *options, "--write", str(plot)]) == 0
    printed = capsys.readouterr().out
    assert "hops" in printed
    # Each printed point is feasible, and a point one unit of its last digit further is not.
    table = printed.partition("Boundaries by simulation")[2].partition("Nothing is known")[0]
    rows = [line.split() for line in table.splitlines() if line.endswith(("GB/s", "unlimited"))]
    (first, _, most_tw, *_), (most_ts, _, last, *_) = rows
    assert (first, last) == ("0", "0")
    assert main([*few, *options, "--json"]) == 0
    limit_s = json.loads(capsys.readouterr().out)["regions"][0]["limit_s"]

    def time_s(ts_ns: float, tw_ps: float) -> float:
        costs = {"network.startup": ts_ns * 1e-9, "network.per_byte": tw_ps * 1e-12 / 8}
        machine = load_machine("exascale-cg", {"nodes": 64, **costs})
        values = {"train": 104, "eta": 1}
        return float(simulate("cg", machine, values, phases=["iterate"], effects=["hops"]).makespan_s)

    for at in (lambda step: (0.0, float(most_tw) + step), lambda step: (float(most_ts) + step, 0.0)):
        assert time_s(*at(0.0)) <= limit_s < time_s(*at(0.1))
    assert plot.read_bytes().startswith(b"\x89PNG")


FEW = ["explore", "cg", "exascale-cg", "--set", "nodes=64", "--set", "train=104"]


def words(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.thorough
@pytest.mark.parametrize("target", ["1 EFLOP/s", "1000 Pflop/s", "1e18"])
def test_a_target_has_the_units_of_a_machine_file(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*BASE, "--subject-to", f"rate >= {target}", "--vary", "eta=1"]) == 0
    assert "where 1 Eflop/s are reached" in words(capsys)


def test_what_is_infeasible_is_said_of_both_readings(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main([*FEW, *OVER, "--subject-to", "rate >= 1e18", "--vary", "eta=1,1", "--simulate", "--effects", "hops"]) == 0
    )
    out = words(capsys)
    assert out.count("nothing is feasible") == 2
    assert "the work alone takes 21.05 us of 13.79 ns allowed" in out  # 1.3792e-5 of 2^14 times that
    assert "above the peak of the machine, 655.4 Tflop/s of 65536 processors" in out  # 64 x 1024 x 10 GFLOP/s


@pytest.mark.parametrize(
    ("etas", "lines"),
    [
        ("1", []),  # one line needs no legend
        ("1,0.75", ["forecast: eta = 1", "forecast: eta = 0.75"]),  # intercepts of 183 and 176 ns
        ("0.05", ["nothing is feasible"]),
    ],
)
def test_a_picture_names_each_line_and_what_is_infeasible(
    etas: str, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    plot = tmp_path / "region.svg"
    assert main([*ASK, "--vary", f"eta={etas}", "--write", str(plot)]) == 0
    capsys.readouterr()
    texts = [line.strip()[5:-4] for line in plot.read_text(encoding="utf-8").splitlines() if "<!-- " in line]
    assert [text for text in texts if "eta" in text or "feasible" in text] == lines


@pytest.mark.thorough
def test_machine_constants_may_vary_and_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    options = [
        *OVER,
        "--subject-to",
        f"rate >= {1e18 / 2**14}",
        "--set",
        "eta=1",
        "--vary",
        "network.hop_latency=10 ns,100 ns",
    ]
    assert main([*FEW, *options, "--simulate", "--effects", "hops", "--points", "2", "--json"]) == 0
    regions = json.loads(capsys.readouterr().out)["regions"]
    assert [region["values"]["network.hop_latency"] for region in regions] == ["10 ns", "100 ns"] * 2
    near, far = (region["intercepts"][0] for region in regions[2:])
    assert 1064 * (near - far) == pytest.approx((2 + 4 * 9) * 90e-9, rel=1e-5)  # ways of 3 + 3 + 3 hops
    assert main([*FEW, *options]) == 0
    assert "64 ranks on 64 nodes, train = 104, eta = 1" in words(capsys)


@pytest.mark.thorough
def test_a_cost_that_the_forecast_leaves_out_is_bounded_by_simulation(capsys: pytest.CaptureFixture[str]) -> None:
    options = [
        "--subject-to",
        f"rate >= {1e18 / 2**14}",
        "--set",
        "eta=1",
        "--vary",
        "ts",
        "--vary",
        "network.hop_latency",
    ]
    assert main([*FEW, *options]) == 2
    assert "the forecast for this machine leaves hops out" in capsys.readouterr().err
    bandwidth = ["--set", "network.bandwidth=1 TB/s"]
    assert main([*FEW, *options, *bandwidth, "--simulate", "--effects", "hops", "--points", "2", "--json"]) == 0
    (region,) = json.loads(capsys.readouterr().out)["regions"]
    assert (2 + 4 * 9) * region["intercepts"][1] == pytest.approx(region["limit_s"] - region["fixed_s"], rel=1e-5)


@pytest.mark.thorough
def test_numbers_are_whole_in_eighty_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*ASK, "--vary", "eta=1,0.05"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    (row,) = [line.split() for line in lines if line.startswith(" forecast      1")]
    assert row == ["forecast", "1", "21.05", "us", "182.9", "ns", "128.1", "ps", "62.45", "GB/s"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([*OVER, "--vary", "eta=a,b"], "--vary: parameter 'eta' must be a number"),
        ([*OVER, "--vary", "eta=1,"], "not a list of values"),
        ([*OVER, "--vary", "eta=0.1:1"], "not a list of values"),
        ([*OVER, "--vary", "nothing=1"], "--vary: neither a parameter of cg nor a key of machine files"),
        ([*OVER, "--vary", "eta=1", "--vary", "train=2"], "a third thing to vary"),
        (["--vary", "ts"], "nothing of this name can be varied"),
        (["--vary", "ts", "--vary", "bandwidth"], "allowed: tw, or network.per_byte"),
        (["--vary", "ts", "--vary", "processor.rate"], "no cost"),
        (["--vary", "ts", "--vary", "s_i"], "useful flops change with s_i"),
        ([*OVER, "--effects", "hops"], "--effects needs --simulate"),
        ([*OVER, "--points", "3"], "with --simulate"),
        ([*OVER, "--solver", "enumeration"], "--solver: does not apply to a region"),
        ([*OVER, "--subject-to", "time <= 1 s"], "--subject-to: a region needs one bound"),
    ],
)
def test_bad_options(options: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "cg", "exascale-cg", "--subject-to", "rate >= 1e18", *options]) == 2
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        ("rate >= 1 GB/s", "'GB/s' is a unit of bandwidth"),
        ("rate <= 1e18", "not a bound of a region"),
        ("time <= rate", "compares s with"),
        ("time <= 0 s", "time to be kept"),
        ("rate >= 0", "rate to be reached"),
    ],
)
def test_bad_bounds(bound: str, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*BASE, "--subject-to", bound]) == 2
    assert expected in capsys.readouterr().err


def test_a_bound_of_the_time_is_that_of_its_rate(capsys: pytest.CaptureFixture[str]) -> None:
    """The phase of all useful flops takes so long at the rate; the bound of the time is over this phase alone."""
    assert main([*ASK, "--set", "eta=1", "--json"]) == 0
    (by_rate,) = json.loads(capsys.readouterr().out)["regions"]
    bound = ["--subject-to", f"time <= {by_rate['limit_s']!r} s", "--phase", "iterate"]
    assert main([*BASE, *bound, "--set", "eta=1", "--json"]) == 0
    (by_time,) = json.loads(capsys.readouterr().out)["regions"]
    assert by_time["intercepts"] == pytest.approx(by_rate["intercepts"], rel=1e-9)
    assert main([*BASE, *bound, "--set", "eta=1"]) == 0
    assert "where the time is at most 226 us" in words(capsys)
