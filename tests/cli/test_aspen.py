"""The commands ``forecast``, ``compare`` and ``show`` on Aspen models: numbers by hand, tables, JSON, bad input."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from simcodesign.cli.app import main

APPLICATION = """
enum Way { near, far }
param n = 8 in 4 .. 64
param way = far in Way

model waves {
  data field as Array(n, n, 8)

  kernel main {
    iterate [2] { call step }
    par {
      execute [4] "pack" { flops [6] }
      execute "send" { messages [10] }
    }
  }

  kernel step {
    execute [n] "update" {
      flops [3] as fast, odd
      loads [16] from field
    }
  }
}
"""
MACHINE = """
param cores = 4 in 1 .. 8
param clock = 2

machine Pair {
  node [2] Box
  interconnect Wire
}

node Box {
  socket [1] Cpu
  socket [1] Card
  static power [50]
}

socket Cpu {
  core [cores] Core
  memory Ram
}

core Core {
  resource flops(n) [n / clock] with fast [base / 2]
  dynamic power [10]
}

memory Ram {
  property capacity [1000]
  resource loads(bytes) [bytes / 16]
  dynamic power [5]
}

socket Card { core [100] Lane }

core Lane {
  resource flops(n) [n]
}

interconnect Wire {
  resource messages(bytes) [bytes / 2]
}
"""


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "110")


@pytest.fixture
def pair(tmp_path: Path) -> list[str]:
    for name, text in (("waves", APPLICATION), ("pair", MACHINE)):
        (tmp_path / f"{name}.aspen").write_text(text, encoding="utf-8")
    return [str(tmp_path / "waves.aspen"), str(tmp_path / "pair.aspen")]


def out(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return " ".join(capsys.readouterr().out.split())


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    return captured.err


# 8 cores of 2 flop/s, twice that "fast"; two memories. A step of 8 items: the longer of 3/4 s and 4 rounds of 1 s.
# Two steps, then 3 s of packing beside 5 s of sending: 13 s; 16 s if these are added up.


def test_run_time_energy_and_memory(capsys: pytest.CaptureFixture[str], pair: list[str]) -> None:
    text = out(capsys, "forecast", *pair, "--socket", "Cpu")
    assert "waves on Pair (Cpu), kernel main" in text
    assert "run time 13 s" in text
    assert "original's answer 16 s, 23.1 % more: it adds map and par up" in text
    # 100 W for 13 s; of the cores 16 items of 3/4 s and 4 of 3 s, 10 W each; of the memories 16 of 1 s, 5 W.
    assert 1300 + 10 * (16 * 0.75 + 4 * 3) + 5 * 16 * 1 == 1620
    assert "energy 1.62 kJ" in text
    assert "maximum power 190 W, of which 100 W static" in text  # 8 cores and 2 memories
    assert "data 512 B: field" in text
    assert "memory 2 kB: the data fits" in text
    assert "flops of Core has no trait 'odd', it is ignored" in text
    assert re.search(r"step: update .*flops as fast, odd 48 .*loads 256 B", text)


def test_the_original(capsys: pytest.CaptureFixture[str], pair: list[str]) -> None:
    text = out(capsys, "forecast", *pair, "--socket", "Cpu", "--aspen-compatible")
    assert "run time 16 s, map and par added up" in text
    assert "map and par overlapping 13 s; the original's answer is 23.1 % more" in text


def test_json_has_all_numbers(capsys: pytest.CaptureFixture[str], pair: list[str]) -> None:
    result = answer(capsys, "forecast", *pair, "--socket", "Cpu", "--set", "n=16", "--set", "clock=4")
    # 16 items on two memories are 8 rounds of 1 s, twice; packing takes 1.5 s beside the 5 s of sending.
    assert (result["seconds"], result["original_seconds"]) == (16 + 5, 16 + 1.5 + 5)
    assert result["parameters"] == {"n": 16, "clock": 4}
    assert result["data_bytes"] == {"field": 16 * 16 * 8}
    assert result["memory_bytes"] == 2000
    blocks = {block["label"]: block for block in result["blocks"]}
    assert [use["resource"] for use in blocks["update"]["uses"]] == ["flops", "loads"]
    assert blocks["update"]["uses"][0]["amount"] == 2 * 16 * 3
    assert {one["name"]: one["times"] for one in result["kernels"]} == {"main": 1, "step": 2}
    assert "simulation" not in result


def test_all_sockets(capsys: pytest.CaptureFixture[str], pair: list[str]) -> None:
    text = out(capsys, "forecast", *pair)
    assert "Cpu 13 s 16 s" in text
    assert "Card: " in text
    assert "has no resource 'loads'" in text
    result = answer(capsys, "forecast", *pair)
    assert [one["socket"] for one in result["sockets"]] == ["Cpu"]
    assert list(result["absent"]) == ["Card"]


def test_a_simulation(capsys: pytest.CaptureFixture[str], pair: list[str]) -> None:
    text = out(capsys, "compare", *pair, "--socket", "Cpu", "--engine", "simpy")
    assert "Simulated: waves on Pair (Cpu), kernel main" in text
    assert "The simulation (simpy) takes as long as the closed form predicts." in text
    result = answer(capsys, "compare", *pair, "--socket", "Cpu", "--effects", "none")
    assert result["simulation"]["simulated_s"] == result["seconds"] == 13
    assert [rung["effect"] for rung in result["simulation"]["ladder"]] == ["shared instances"]


def test_show_an_application(capsys: pytest.CaptureFixture[str], pair: list[str]) -> None:
    text = out(capsys, "show", pair[0])
    assert "application waves" in text
    assert "n 8 4 .. 64" in text
    assert "way far near, far" in text
    assert "field 512 B Array" in text
    assert "step flops as fast, odd; loads" in text
    assert re.search(r"main step flops; messages", text)


def test_show_a_machine(capsys: pytest.CaptureFixture[str], pair: list[str]) -> None:
    text = out(capsys, "show", pair[1])
    assert "machine Pair" in text
    assert "sockets Cpu, Card" in text
    assert "core Core 8" in text
    assert "cores 4 1 .. 8" in text
    assert "Core flops(n) n / clock with fast base / 2" in text
    assert "Box static 50 W" in text
    assert "Ram capacity 1000" in text


def test_show_a_part(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "part.aspen").write_text("param c = other * 2\ncore Core { resource flops(n) [n / c] }")
    text = out(capsys, "show", str(tmp_path / "part.aspen"))
    assert "parts of a machine Core" in text
    assert "c other * 2" in text  # of the file that includes it


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--socket", "Gpu"], "Pair has no such socket, got 'Gpu'"),
        (["--set", "m=3"], "unknown parameter 'm'"),
        (["--set", "n"], "not a setting"),
        (["--set", "n=3", "--set", "n=4"], "set twice"),
        (["--set", "way=up"], "far, near"),
        (["--kernel", "mian"], "unknown kernel 'mian': did you mean 'main'?"),
        (["-P", "4"], "--ranks does not apply to Aspen models"),
        (["--preset", "small"], "--preset does not apply to Aspen models"),
        (["--bounds"], "--bounds does not apply to Aspen models"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], pair: list[str], arguments: list[str], message: str) -> None:
    assert message in refusal(capsys, "forecast", *pair, *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--socket: a simulation needs one kind of socket (allowed: Cpu, Card)"),
        (["--socket", "Cpu", "--effects", "links"], "Aspen models have no such effect, got 'links'"),
        (["--socket", "Cpu", "--engine", "fast"], "engine"),
        (["--why"], "--why does not apply to Aspen models"),
        (["--replications", "3"], "--replications does not apply to Aspen models"),
    ],
)
def test_bad_comparisons(
    capsys: pytest.CaptureFixture[str], pair: list[str], arguments: list[str], message: str
) -> None:
    assert message in refusal(capsys, "compare", *pair, *arguments)


def test_options_of_aspen_models_alone(capsys: pytest.CaptureFixture[str], pair: list[str]) -> None:
    others = ("jacobi", "torus-cluster")
    for command in ("forecast", "compare"):
        for option in (["--socket", "Cpu"], ["--kernel", "main"], ["--aspen-compatible"]):
            needed = f"error: {option[0]} needs Aspen models: APP.aspen MACHINE.aspen\n"
            assert refusal(capsys, command, *others, *option) == needed
        for files in ((pair[0], "torus-cluster"), ("jacobi", pair[1])):
            assert "Aspen models are one application and one machine" in refusal(capsys, command, *files)
    assert "Aspen models are one application and one machine" in refusal(capsys, "compare", *pair, pair[1])
    assert "--seed needs Aspen models" in refusal(capsys, "forecast", *others, "--seed", "1")
    assert "allowed: forecast, compare, explore and show" in refusal(capsys, "simulate", *pair)


def test_a_seed_draws_samples(capsys: pytest.CaptureFixture[str], pair: list[str], tmp_path: Path) -> None:
    path = tmp_path / "chance.aspen"
    path.write_text("model a { kernel main { sample x from uniform(0, 32) execute { flops [x] } } }")
    means = answer(capsys, "forecast", str(path), pair[1], "--socket", "Cpu")["seconds"]
    drawn = {
        answer(capsys, "forecast", str(path), pair[1], "--socket", "Cpu", "--seed", seed)["seconds"] for seed in "12"
    }
    assert means == 16 / 2
    assert len(drawn | {means}) == 3
    assert "seed, got -1" in refusal(capsys, "forecast", str(path), pair[1], "--socket", "Cpu", "--seed", "-1")


def test_a_tolerance_judges_the_closed_form(capsys: pytest.CaptureFixture[str], pair: list[str]) -> None:
    arguments = ["compare", *pair, "--socket", "Cpu"]
    assert main([*arguments, "--tolerance", "1%"]) == 0  # both take 13 s
    path = Path(pair[0])
    path.write_text(path.read_text().replace("par {", "map [4] {"))  # whose iterations overlap
    capsys.readouterr()
    assert main([*arguments, "--tolerance", "0%"]) == 1
    assert "out of tolerance: error of the forecast" in capsys.readouterr().err


def test_files_in_the_wrong_places(capsys: pytest.CaptureFixture[str], pair: list[str], tmp_path: Path) -> None:
    assert "application models, but a machine" in refusal(capsys, "forecast", pair[1], pair[0])
    assert "but an application" in refusal(capsys, "forecast", pair[0], pair[0])
    assert "nowhere.aspen" in refusal(capsys, "forecast", str(tmp_path / "nowhere.aspen"), pair[1])
    assert "nowhere.aspen" in refusal(capsys, "show", str(tmp_path / "nowhere.aspen"))
    assert "equations" in refusal(capsys, "show", pair[0], "--write", "equations:-")
    (tmp_path / "bad.aspen").write_text("model m {\n  kernel main { execute { flops [3 } }\n}")
    assert "bad.aspen:2: column" in refusal(capsys, "show", str(tmp_path / "bad.aspen"))


def test_a_value_out_of_range_is_told(capsys: pytest.CaptureFixture[str], pair: list[str]) -> None:
    arguments = ("forecast", *pair, "--socket", "Cpu", "--set", "n=100")
    assert "n = 100 is outside its range 4 .. 64" in refusal(capsys, *arguments)
    text = out(capsys, *arguments, "--aspen-compatible")
    assert "n = 100 is outside its range 4 .. 64" in text
    assert "the data does not fit" in text


@pytest.mark.parametrize(("formula", "value"), [("sqrt(n)", "-5"), ("n", "-5"), ("0/(n + 5)", "-5")])
def test_a_run_time_that_cannot_be_is_an_error(
    capsys: pytest.CaptureFixture[str], pair: list[str], tmp_path: Path, formula: str, value: str
) -> None:
    """Negative or no number: of a parameter without a range, or where ranges take no part."""
    for declared, compatible in (("param n = 4", ()), ("param n = 4 in 1 .. 8", ("--aspen-compatible",))):
        path = tmp_path / "a.aspen"
        path.write_text(f"{declared}\nmodel a {{ kernel main {{ execute {{ flops [{formula}] }} }} }}")
        arguments = ("forecast", str(path), pair[1], "--socket", "Cpu", *compatible)
        out(capsys, *arguments)
        assert "the model gives no run time" in refusal(capsys, *arguments, "--set", f"n={value}")


def test_sizes_of_data_that_cannot_be(capsys: pytest.CaptureFixture[str], pair: list[str], tmp_path: Path) -> None:
    path = tmp_path / "a.aspen"
    path.write_text("param n = 4\nmodel a { data d as Array(n, 8) kernel main { execute { flops [1] } } }")
    assert "the model gives no bytes of d" in refusal(
        capsys, "forecast", str(path), pair[1], "--socket", "Cpu", "--set", "n=-5"
    )
