"""The command ``explore``: what is searched for by default, tables, JSON, files, plots, bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import simcodesign as sc
from simcodesign.cli.app import main

JACOBI = ["jacobi", "torus-cluster"]
KEENELAND = ["fft3d", "keeneland", "-P", "360", "--set", "n=1000"]


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def out(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["explore", *arguments]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    return " ".join(text.split())


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["explore", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["explore", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    return captured.err


def test_tune(capsys: pytest.CaptureFixture[str]) -> None:
    text = out(capsys, *JACOBI, "--vary", "P=1:256", "--set", "n=500", "--subject-to", "P <= 100")
    every = sc.forecast(*JACOBI, {"n": 500, "P": list(range(1, 101))}).makespan_s.tolist()  # type: ignore[union-attr]
    best = 1 + every.index(min(every))
    assert "Solved exactly: every point of the space was looked at" in text
    assert f"P {best} 1 256" in text
    assert "P <= 100" in text


def test_json_is_not_rounded(capsys: pytest.CaptureFixture[str]) -> None:
    result = answer(
        capsys,
        *JACOBI,
        "--vary",
        "processor.rate=1 MFLOP/s:1 TFLOP/s",
        "--set",
        "n=4096",
        "-P",
        "64",
        "--subject-to",
        "time <= 100 ms",
    )
    assert (result["feasible"], result["exact"], result["method"]) == (True, False, "bisection")
    rate = result["point"]["values"]["processor.rate"]
    again = sc.forecast(*JACOBI, {"n": 4096, "P": 64, "processor.rate": rate}).makespan_s
    assert again == pytest.approx(0.1, rel=1e-14)
    (one,) = result["sensitivity"]
    assert one["active"]
    assert one["looser"] < rate < one["tighter"]


@pytest.mark.thorough
def test_infeasible_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    """kripke has 1e5 n bytes, and a process of juqueen 1 GB: n = 10^4."""
    arguments = ("kripke", "juqueen", "--subject-to", "n >= 20000")
    text = out(capsys, *arguments)
    assert "Infeasible: no point meets all constraints (proven" in text
    assert "n >= 20000 50.000% 10000 n = 10000" in text
    assert "footprint <= 100.000% - n = 20000" in text  # the name goes on in the next line
    assert "'n >= 20000' with 'footprint <= capacity'" in text
    why = answer(capsys, *arguments)["infeasible"]
    assert why["relaxations"][0]["fraction"] == pytest.approx(0.5, rel=1e-12)
    assert why["nearest"]["violation"] == pytest.approx(0.5, rel=1e-9)


def test_architect(capsys: pytest.CaptureFixture[str]) -> None:
    text = out(capsys, "torus-cluster", "--vary", "nodes=1:1000", "--subject-to", "memory_bandwidth <= 1 TB/s")
    assert "nodes 50 1 1000" in text
    assert "peak_rate (max) 1.6 TFLOP/s" in text


@pytest.mark.thorough
def test_a_front(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = (*JACOBI, "--vary", "P=1:64", "--minimize", "time", "--minimize", "P", "--pareto")
    trace, plot = tmp_path / "t.csv", tmp_path / "p.png"
    pytest.importorskip("matplotlib")
    text = out(capsys, *arguments, "--points", "100", "--write", f"evaluations:{trace}", "--write", str(plot))
    assert "Pareto front" in text
    assert len(pd.read_csv(trace)) == 64
    assert plot.stat().st_size > 10_000
    result = answer(capsys, *arguments, "--points", "100")
    every = sc.forecast(*JACOBI, {"P": list(range(1, 65))}).makespan_s.tolist()  # type: ignore[union-attr]
    best = [p for p in range(1, 65) if every[p - 1] < min(every[: p - 1], default=1e9)]
    assert sorted(point["values"]["P"] for point in result["front"]) == best


@pytest.mark.thorough
def test_confirmed(capsys: pytest.CaptureFixture[str]) -> None:
    text = out(
        capsys, *JACOBI, "--vary", "P=251,256", "--set", "n=4096", "--simulate-best", "1", "--effects", "hops,disks"
    )
    assert "because of queueing at shared disks (disks)" in text
    assert "here the order turns" in text


@pytest.mark.thorough
def test_plot_and_trace(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    trace, plot = tmp_path / "t.csv", tmp_path / "p.svg"
    result = answer(
        capsys,
        *JACOBI,
        "--vary",
        "P=1:32",
        "--vary",
        "network.startup=1 us, 2 us",
        "--write",
        f"evaluations:{trace}",
        "--write",
        str(plot),
    )
    frame = pd.read_csv(trace)
    assert len(frame) == result["evaluations"] == 64
    assert frame["time"].min() == result["objective"]
    assert "Parallel coordinates" in plot.read_text()


def test_a_file_and_options_over_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(
        "simcodesign: 1\nworkload: jacobi\nmachine: torus-cluster\nset: {n: 500}\n"
        "vary: {P: 1:256}\nsubject_to: P <= 100\nminimize: time\n"
    )
    result = answer(capsys, "--file", str(path))
    same = answer(capsys, *JACOBI, "--set", "n=500", "--vary", "P=1:256", "--subject-to", "P <= 100")
    assert result == same
    fewer = answer(capsys, "--file", str(path), "--subject-to", "P <= 7")
    assert fewer["point"]["values"]["P"] <= 7
    other = answer(capsys, "--file", str(path), "--vary", "P=2,3", "--maximize", "time")
    assert other["evaluations"] == 2


def test_parameters_of_the_machine_are_set_for_the_architect(capsys: pytest.CaptureFixture[str]) -> None:
    """What is set counts as what is varied to that one value."""
    vary = ["keeneland", "--vary", "nodes=3,5"]
    here = answer(capsys, *vary, "--set", "machine.core_clock=1 GHz", "--set", "machine.ecc=off")
    there = answer(capsys, *vary, "--vary", "machine.core_clock=1 GHz", "--vary", "machine.ecc=off")
    assert here["point"]["metrics"] == there["point"]["metrics"]
    as_is = answer(capsys, *vary)
    assert here["point"]["metrics"] != as_is["point"]["metrics"]


@pytest.mark.parametrize("text", ["machine.ecc=on,off", "machine.ecc", "machine.ecc=0.75,1"])
def test_choices_by_name(capsys: pytest.CaptureFixture[str], text: str) -> None:
    """The whole bandwidth is there without error correction."""
    result = answer(capsys, *KEENELAND, "--vary", text)
    assert (result["evaluations"], result["point"]["values"]) == (2, {"machine.ecc": 1.0})
    one = answer(capsys, *KEENELAND, "--vary", "precision=single_complex")
    assert one["point"]["values"] == {"precision": 8.0}


@pytest.mark.parametrize(
    ("arguments", "text", "is_largest"),
    [
        (["lulesh", "juqueen"], "n", True),
        ([*JACOBI, "--vary", "n=10:20"], "n", True),
        ([*JACOBI, "--vary", "n=10:20", "--vary", "P=2,4"], "n", True),
        ([*JACOBI, "--vary", "sweeps=1:5", "--size", "sweeps"], "sweeps", True),
        ([*JACOBI, "--vary", "n=10:20", "--minimize", "time"], "time", False),
        ([*JACOBI, "--vary", "P=2,4", "--subject-to", "time <= 1 h"], "time", False),
        ([*JACOBI, "--vary", "processor.rate=1e9,2e9"], "time", False),
        ([*JACOBI, "--vary", "processor.rate=1e9,2e9", "--subject-to", "processor.rate <= 2e9"], "time", False),
        ([*JACOBI, "--vary", "processor.rate=1e9,2e9", "--subject-to", "time <= 1 h"], "processor.rate", False),
        ([*JACOBI, "--vary", "processor.rate=1e9,2e9", "--vary", "P=2,4", "--subject-to", "rate >= 1"], "time", False),
        (["torus-cluster", "--vary", "nodes=1:9"], "peak_rate", True),
    ],
)
def test_what_is_best_follows_from_what_is_varied(
    capsys: pytest.CaptureFixture[str], arguments: list[str], text: str, is_largest: bool
) -> None:
    (one,) = answer(capsys, *arguments)["objectives"]
    assert (one["text"], one["maximize"]) == (text, is_largest)


def test_a_size_in_the_preset_is_not_varied(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text(
        "simcodesign: 1\nname: w\nparameters:\n  n: {default: 10, range: [1, 1e6]}\n  k: {default: 1, range: [1, 9]}\n"
        "presets: {small: {n: 100}, other: {k: 2}}\nprogram: [{compute: {flops: n*1e6*k}}]\n"
    )
    both, limit = [str(file), "torus-cluster", "--preset"], ["--subject-to", "time <= 1 s"]
    assert "--preset: the size has a fixed value" in refusal(capsys, *both, "small", *limit)
    assert main(["explore", *both, "other", *limit]) == 0
    assert "note: n is varied from 1 to 1e+06" in capsys.readouterr().err
    assert main(["explore", *both, "small", *limit, "--vary", "n=1:1e6"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["jacobi"], "no machine is given"),
        ([], "no machine is given"),
        (["jacoby", "torus-cluster", "--vary", "n=4:9"], "did you mean 'jacobi'"),
        ([*JACOBI, "--vary", "nn=4:9"], "did you mean 'n'"),
        ([*JACOBI, "--vary", "n=9:4"], "not in order"),
        ([*JACOBI, "--vary", "n=4:inf"], "not bounded"),
        ([*JACOBI, "--vary", "n"], "not something to vary"),
        ([*JACOBI, "--vary", "n=4:9", "--vary", "n=5:9"], "varied twice"),
        ([*JACOBI, "--vary", "n=4:9", "--set", "n=5"], "set and varied"),
        ([*JACOBI, "--vary", "n=4:9", "--subject-to", "tme <= 3"], "did you mean 'time'"),
        ([*JACOBI, "--vary", "n=4:9", "--subject-to", "time <= 3 GB"], "unit of size, not of time"),
        (
            [*JACOBI, "--vary", "n=4:9", "--subject-to", "price <= 9"],
            "a machine with components that state their price",
        ),
        ([*JACOBI, "--vary", "n=4:9", "--minimize", "energy"], "a machine with static_power or dynamic_power"),
        (
            ["inference", "selene", "--vary", "P=4,8", "--subject-to", "first_token_p99 <= 1"],
            "did you mean 'serving.first_token_p99'",
        ),
        ([*JACOBI, "--vary", "n=4:9", "--minimize", ""], "no objective"),
        ([*JACOBI, "--vary", "n=4:9", "--solver", "evolve"], "no such solver"),
        ([*JACOBI, "--vary", "n=4:9", "--pareto"], "2 or 3"),
        ([*JACOBI, "--vary", "n=4:9", "--points", "5"], "--points"),
        ([*JACOBI, "--vary", "n=4:9", "--engine", "simpy"], "--engine"),
        ([*JACOBI, "--vary", "n=4:9", "--write", "trace.txt"], "--write: no kind of file has this name or suffix"),
        ([*JACOBI, "--vary", "n=4:9", "--write", "plot.txt"], "--write"),
        ([*JACOBI, "--vary", "n=4:9", "--file", "nothing.yaml"], "nothing.yaml"),
        ([*JACOBI, "--vary", "n=4:9", "--set", "n5"], "not a setting"),
        ([*KEENELAND, "--vary", "machine.ecc=on,of"], "'of' (allowed: on, off)"),
        ([*KEENELAND, "--vary", "machine.ecc=0.8"], "on (0.75), off (1)"),
        ([*KEENELAND, "--vary", "machine.ecc=0.75:1"], "has choices, not a range"),
        ([*KEENELAND, "--vary", "precision=8:16"], "single_complex, double_complex"),
        (["jacobi", "torus-cluster", "keeneland"], "a second machine, got 'keeneland'"),
        ([*JACOBI, "--set", "n=500"], "the size has a fixed value"),
        (["keeneland", "--vary", "nodes=1:9", "--set", "machine.core_clok=1e9"], "did you mean"),
        (["keeneland", "--vary", "nodes=1:9", "--set", "machine.ecc=maybe"], "'maybe' (allowed: off, on)"),
        (["keeneland", "--vary", "nodes=1:9", "--set", "machine.ecc=0.8"], "on (0.75), off (1)"),
        (["burst", "crossbar-16"], "nothing is varied"),
        (["burst", "crossbar-16", "--size", "sise"], "did you mean 'size'"),
        (["torus-cluster", "--vary", "nodes=0:5"], "within 1 to"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], arguments: list[str], says: str) -> None:
    assert says in refusal(capsys, *arguments)


COMD = ["comd-eam", "keeneland", "-P", "360", "--vary", "machine.core_clock=100 MHz:2 GHz"]
FFT = ["fft3d", "keeneland", "-P", "360"]


def test_choices_are_shown_by_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    text = out(
        capsys,
        *FFT,
        "--vary",
        "precision",
        "--vary",
        "machine.ecc",
        "--set",
        "n=2000",
        "--minimize",
        "energy",
        "--write",
        f"evaluations:{trace}",
    )
    assert "precision single_complex single_complex double_complex" in text
    assert "machine.ecc off on off" in text
    rows = pd.read_csv(trace)
    assert set(rows["machine.ecc"]) == {"on", "off"}
    assert set(rows["precision"]) == {"single_complex", "double_complex"}


def test_objectives_have_their_units(capsys: pytest.CaptureFixture[str]) -> None:
    text = out(capsys, *FFT, "--vary", "machine.ecc", "--set", "n=2000", "--minimize", "energy/time")
    assert text.split("energy/time (min)")[1].split()[1] == "kW"
    text = out(capsys, *FFT, "--vary", "machine.ecc", "--set", "n=2000", "--minimize", "energy*time")
    assert text.split("energy*time (min)")[1].split()[1:3] == ["J", "s"]


@pytest.mark.thorough
def test_a_limit_of_evaluations_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    values = [*COMD, "--vary", "machine.memory_clock=100 MHz:4 GHz", "--subject-to", "time <= 1 s"]
    assert "300 evaluations, the limit of --max-evaluations" in out(capsys, *values, "--max-evaluations", "300")


@pytest.mark.thorough
def test_what_is_proven_and_what_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    values = [*COMD, "--vary", "machine.memory_clock=100 MHz:4 GHz", "--max-evaluations", "6000"]
    text = out(capsys, *values, "--subject-to", "time <= 0.01 s")
    assert "Infeasible as far as was searched: none of" in text  # a time is no formula
    assert "machine.core_clock = 100 MHz to 2 GHz" in text
    assert "That is no proof" in text
    text = out(capsys, *values, "--subject-to", "(machine.core_clock - 1e9)**2 <= -1")
    assert "Infeasible: no point meets all" in text  # bounds of a square say so
    assert "That is no proof" not in text


def test_a_front_is_confirmed(capsys: pytest.CaptureFixture[str]) -> None:
    values = [
        *FFT,
        "--vary",
        "n=1000:1040:whole",
        "--minimize",
        "energy",
        "--maximize",
        "n",
        "--pareto",
        "--points",
        "4",
    ]
    text = out(capsys, *values, "--simulate-best", "3", "--seed", "7")
    assert "Confirmed: when simulated, 0 of 3 points are beaten by another one" in text
    result = answer(capsys, *values, "--simulate-best", "3")
    assert result["confirmed"]["front_stays"]
    assert [one["beaten_by"] for one in result["confirmed"]["points"]] == [None] * 3


@pytest.mark.thorough
def test_the_seed_is_that_of_the_simulation_too(capsys: pytest.CaptureFixture[str]) -> None:
    """Only noise is drawn: another seed gives other times, the same seed the same."""
    values = [*JACOBI, "--vary", "P=16,32", "--set", "n=1024", "--set", "noise=0.1", "--simulate-best", "1"]
    one, same, other = (
        [point["simulated"]["objectives"] for point in answer(capsys, *values, "--seed", seed)["confirmed"]["points"]]
        for seed in ("3", "3", "4")
    )
    assert one == same != other


def test_a_trace_in_parquet(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    values = [*FFT, "--vary", "machine.ecc", "--vary", "n=1000:1010:whole", "--minimize", "energy"]
    traces = [tmp_path / "trace.csv", tmp_path / "trace.parquet"]
    for trace in traces:
        out(capsys, *values, "--write", f"evaluations:{trace}")
    csv, parquet = pd.read_csv(traces[0]), pd.read_parquet(traces[1])
    assert len(parquet) == 22
    pd.testing.assert_frame_equal(csv, parquet, check_dtype=False, rtol=1e-15)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            [*FFT, "--vary", "n=1000:2000", "--set", "machine.core_clock=5 GHz"],
            "--set: machine.core_clock: parameter 'core_clock' cannot have this value, got '5 GHz' (allowed: a finite number, at least 100 MHz, "
            "at most 2 GHz)",
        ),
        ([*FFT, "--vary", "n=2000:1000"], "the lower one is above the upper one, got '2000:1000'"),
        ([*FFT, "--vary", "machine.core_clock=1 GHz:9 GHz"], "got '1 GHz:9 GHz' (allowed: within 100 MHz to 2 GHz)"),
        ([*FFT, "--vary", "n=1000:2000", "--subject-to", "time + energy <= 10"], "adds or compares s and J"),
        ([*FFT, "--vary", "n=1000:inf"], "is not bounded"),
    ],
)
def test_more_bad_input(capsys: pytest.CaptureFixture[str], arguments: list[str], says: str) -> None:
    assert says in refusal(capsys, *arguments)


def test_a_property_called_capacity_is_not_that_of_a_rank(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """360 ranks of 6 GB hold 5129^3 values of 16 B, whatever a property of the machine is called."""
    machine = tmp_path / "own.yaml"
    machine.write_text(
        "simcodesign: 1\nextends: keeneland\nname: own\nproperties: {capacity: 5, time: 3, price: 4}\n", "utf-8"
    )
    result = answer(capsys, "fft3d", str(machine), "-P", "360", "--vary", "n=1000:10000:whole")
    assert result["point"]["values"]["n"] == 5129
    metrics = result["point"]["metrics"]
    assert (metrics["capacity"], metrics["machine.capacity"], metrics["machine.time"], metrics["machine.price"]) == (
        6e9,
        5,
        3,
        4,
    )


def test_sums_of_units_with_a_factor_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    values = [*FFT, "--vary", "machine.ecc", "--set", "n=2000", "--minimize", "time + 1e-6*energy"]
    assert main(["explore", *values]) == 0
    assert "note: 'time + 1e-6*energy' adds or compares s and J" in " ".join(capsys.readouterr().err.split())


def test_a_constant_that_the_file_leaves_out_is_varied(capsys: pytest.CaptureFixture[str]) -> None:
    """What the search finds for a bandwidth of links is what that bandwidth in the file gives; links store messages."""
    stored = {"network.switching": "store_and_forward"}
    run = ["burst", "torus-cluster", "--set", "network.switching=store_and_forward"]
    times = []
    for bandwidth in ("2 GB/s", "4 GB/s"):
        machine = sc.Machine.load("torus-cluster", stored | {"network.link_bandwidth": bandwidth})
        point = answer(capsys, *run, "--vary", f"network.link_bandwidth={bandwidth}")["point"]
        times.append(point["metrics"]["time"])
        assert times[-1] == sc.forecast("burst", machine).makespan_s
    assert times[1] < times[0]
    for bad, says in (
        ("network.link_bandwith=1:2", "did you mean 'network.link_bandwidth'"),
        ("network.topology.shape=1:2", "network.topology.shape: must be a sequence"),
        ("storage.bandwidth=1:2", "nothing of this name can be varied"),
        ("P,size=1:2", "a --vary for each name that has values"),
    ):
        assert says in refusal(capsys, *run, "--vary", bad)
