"""Aspen models as problems of design: metrics against run times, ranges, planners against arithmetic, the command."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simcodesign.aspen.application import load_application
from simcodesign.aspen.capacity import data_bytes, memory_bytes
from simcodesign.aspen.machine import load_machine
from simcodesign.aspen.power import energy_j, machine_max_power_w, max_power_w
from simcodesign.aspen.timing import run_time
from simcodesign.cli.app import main
from simcodesign.core.errors import InputError
from simcodesign.studies.explore.models.aspen_model import AspenMachineModel, AspenModel
from simcodesign.studies.explore.planners import plan
from simcodesign.studies.explore.problem_parser import constraint, objective, variable
from simcodesign.studies.explore.simulated.confirmation import confirm
from simcodesign.studies.explore.simulated.search import optimum_by_simulation
from simcodesign.studies.explore.solvers.solve import solve

APPLICATION = """
enum Way { short, long, far }
param n = 100 in 10 .. 1000
param work = 2 * n
param size = 3
param way = long in Way

model sums {
  import part from "part.aspen" with k = n
  data field as Array(n, n, 8)
  kernel main {
    execute [n] { flops [work * (1 + way)] as fast loads [size * 8] }
    call part.tail
  }
  kernel alone { execute [n] { flops [2] } }
}
"""
PART = "model part { param k = 1 param m = k + 1 kernel tail { execute { messages [k] } } }"
MACHINE = """
param nodes = 4 in 1 .. 100
param clock = 1 * giga in 100 * mega .. 4 * giga
param doubled = clock * 2
param size = 64
param unknown = unheard + 1

machine Cluster { node [nodes] Node  interconnect Net }
node Node { socket [1] Cpu  socket [1] Gpu  static power [20] }
socket Cpu { core [8] Core  memory Ram }
socket Gpu { core [64] Lane }
core Core {
  resource flops(x) [1e-9 + x / doubled] with fast [base / 4]
  resource broken(x) [x / unheard]
  dynamic power [clock / 1e9 * 5]
}
core Lane { resource flops(x) [x / clock]  dynamic power [1] }
memory Ram {
  property capacity [size * giga]
  resource loads(b) [b / 1e10]
  dynamic power [2]
}
interconnect Net { resource messages(b) [1e-6 + b / 1e9] }
"""


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name, text in (("sums", APPLICATION), ("part", PART), ("cluster", MACHINE)):
        (tmp_path / f"{name}.aspen").write_text(text, encoding="utf-8")
    return [str(tmp_path / "sums.aspen"), str(tmp_path / "cluster.aspen")]


@pytest.fixture
def model(files: list[str]) -> AspenModel:
    return AspenModel(load_application(files[0]), load_machine(files[1]), "Cpu")


@pytest.fixture
def machine(files: list[str]) -> AspenMachineModel:
    return AspenMachineModel(load_machine(files[1]), "Cpu")


# --- metrics ------------------------------------------------------------------------------------------------------


def test_metrics_are_those_of_the_models(model: AspenModel) -> None:
    values = {"n": np.array([10.0, 100.0, 333.0]), "nodes": np.array([1.0, 4.0, 9.0])}
    result = model.evaluate(values)
    assert result.keys() == model.dimensions.keys()
    for at in range(3):
        point = {name: float(value[at]) for name, value in values.items()}
        timing = run_time(model.application, model.machine, "Cpu", point)
        uses = [use for block in timing.blocks for use in block.uses]
        expected = {
            "time": timing.seconds,
            "energy": energy_j(timing),
            "max_power": max_power_w(timing),
            "static_power": 20 * point["nodes"],
            "data_bytes": data_bytes(model.application, {"n": point["n"]})["field"],
            "memory_bytes": memory_bytes(model.machine, "Cpu", {"nodes": point["nodes"]}),
            "flops": point["n"] * 2 * point["n"] * 2,
            "loads": point["n"] * 24,
            "messages": point["n"],
            **{f"{use.resource}_time": use.seconds for use in uses},
            "Ram.capacity": 64e9,
        }
        assert expected.keys() == result.keys()
        for name, value in expected.items():
            assert np.broadcast_to(result[name], (3,))[at] == pytest.approx(value, rel=1e-13), name


def test_a_name_of_both_files_says_which(model: AspenModel) -> None:
    assert model.parameter("application.size")[0].default == 3
    assert model.parameter("machine.size")[0].default == 64
    values = model.evaluate({"application.size": np.array([5.0]), "machine.size": np.array([1.0])})
    assert (values["loads"], values["Ram.capacity"]) == (100 * 40, 1e9)
    with pytest.raises(InputError, match="nothing of this name"):
        model.parameter("size")


def test_what_follows_from_what_is_varied_is_not_fixed(model: AspenModel, machine: AspenMachineModel) -> None:
    every = {"n", "work", "application.size", "way", "part.k", "part.m", "nodes", "clock", "doubled", "machine.size"}
    assert model.fixed(()).keys() == every
    assert model.fixed(()) == model.fixed(()) | {
        "work": 200,
        "way": 1,
        "part.m": 101,
        "doubled": 2e9,
        "machine.size": 64,
    }
    assert model.fixed(["clock"]).keys() == every - {"clock", "doubled"}
    assert model.fixed(["n"]).keys() == every - {"n", "work", "part.k", "part.m"}
    assert machine.fixed(["clock"]) == {"nodes": 4, "size": 64}


def test_given_values_stay(files: list[str]) -> None:
    read = AspenModel(load_application(files[0]), load_machine(files[1]), "Gpu", {"n": 20, "way": "far"}, "alone")
    assert read.fixed(())["n"] == 20
    assert read.fixed(())["work"] == 40
    assert read.fixed(())["way"] == 2
    assert read.evaluate({"nodes": np.array([1.0])})["flops"] == 40
    assert "loads" not in read.dimensions


def test_capability_of_a_machine(machine: AspenMachineModel) -> None:
    values = {"nodes": np.array([1.0, 10.0]), "clock": np.array([1e9, 2e9])}
    result = machine.evaluate(values)
    assert result.keys() == machine.dimensions.keys()
    np.testing.assert_allclose(result["flops_rate"], values["nodes"] * 8 * 2 * values["clock"], rtol=1e-6)
    np.testing.assert_allclose(result["loads_rate"], values["nodes"] * 1e10, rtol=1e-6)
    np.testing.assert_allclose(result["messages_rate"], 1e9, rtol=1e-6)
    assert "broken_rate" not in result
    np.testing.assert_array_equal(result["count.Core"], values["nodes"] * 8)
    expected = machine_max_power_w(machine.machine, values)
    np.testing.assert_array_equal(result["max_power"], expected)


# --- variables ----------------------------------------------------------------------------------------------------


def test_variables_have_the_ranges_of_the_files(model: AspenModel, machine: AspenMachineModel) -> None:
    n, way, clock = model.variable("n"), model.variable("way"), machine.variable("clock")
    assert (n.low, n.high, n.default, n.choices) == (10, 1000, 100, ())
    assert (way.choices, way.default) == ((0, 1, 2), 1)
    assert (clock.low, clock.high, clock.default) == (1e8, 4e9, 1e9)
    assert model.word("way", "far") == 2
    with pytest.raises(InputError, match="work has no range"):
        model.variable("work")
    with pytest.raises(InputError, match="parameter way cannot have this value, got 'near'"):
        model.word("way", "near")


def test_limits_beyond_the_range_are_refused(model: AspenModel) -> None:
    with pytest.raises(InputError, match="limits of n beyond"):
        plan(model, [variable("n=5:20", {})])
    problem = plan(model, [variable("n=10:20", {}), variable("application.size=1:9", {})])
    assert problem.space.names == ("n", "application.size")


# --- planners -----------------------------------------------------------------------------------------------------


def test_the_largest_problem_in_a_given_time(model: AspenModel) -> None:
    limit = constraint("time <= 20 us", model.dimensions)
    solution = solve(plan(model, [variable("n=10:1000:whole", {})], constraints=[limit]))
    times = {n: float(run_time(model.application, model.machine, "Cpu", {"n": n}).seconds) for n in range(10, 1001)}
    assert solution.point.values["n"] == max(n for n, seconds in times.items() if seconds <= 20e-6)
    assert solution.exact


def test_the_cheapest_machine(model: AspenModel) -> None:
    limit = constraint("time <= 2 us", model.dimensions)
    solution = solve(plan(model, [model.variable("clock")], constraints=[limit]))
    # 100 items of 400 flops on 32 cores are 4 rounds, each at a quarter of the time; after them the message.
    message = 1e-6 + 100 / 1e9
    clock = 400 / 2 / (2e-6 - message - 1e-9)
    assert solution.point.values["clock"] == pytest.approx(clock, rel=1e-9)


def test_the_architect(machine: AspenMachineModel) -> None:
    power = constraint("max_power <= 3 kW", machine.dimensions)
    most = objective("flops_rate", True, machine.dimensions)
    solution = solve(plan(machine, [variable("nodes=1:100:whole", {})], [most], [power]))
    # 20 W a node, two resources of 8 cores at 5 W, a memory of 2 W, and 64 lanes of 1 W on the other socket.
    assert solution.point.values["nodes"] == math.floor(3000 / (20 + 2 * 8 * 5 + 2 + 64))


def test_the_best_simulated_choice(model: AspenModel) -> None:
    solution = solve(
        plan(
            model, [model.variable("way"), variable("n=10:12:whole", {})], [objective("time", False, model.dimensions)]
        )
    )
    optimum = optimum_by_simulation(solution, simulations=50)
    every = [model.simulate(solution.problem.space.named(point)) for point in solution.problem.space.all_points()]
    assert optimum.exact
    assert optimum.best.simulated_total == min(float(np.asarray(metrics["time"])) for metrics in every)


def test_a_confirmed_choice(model: AspenModel) -> None:
    solution = solve(
        plan(
            model, [model.variable("way"), variable("n=10:12:whole", {})], [objective("time", False, model.dimensions)]
        )
    )
    assert (solution.point.values["way"], solution.point.values["n"]) == (0, 10)
    confirmed = confirm(solution, 2)
    assert confirmed.best_stays
    first = confirmed.points[0]
    assert first.simulated is not None
    assert first.simulated.metrics["time"] == pytest.approx(first.forecast.metrics["time"], rel=1e-12)
    assert first.simulated.metrics["energy"] == pytest.approx(first.forecast.metrics["energy"], rel=1e-12)


# --- the command --------------------------------------------------------------------------------------------------


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["explore", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["explore", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_explore_tune(capsys: pytest.CaptureFixture[str], files: list[str]) -> None:
    result = answer(capsys, *files, "--socket", "Cpu", "--vary", "way=far,long", "--set", "n=50")
    assert result["point"]["values"] == {"way": 1}
    assert result["point"]["metrics"]["flops"] == 50 * 100 * 2
    result = answer(capsys, *files, "--socket", "Gpu", "--kernel", "alone", "--vary", "n")
    assert result["point"]["metrics"]["flops"] == pytest.approx(2 * result["point"]["values"]["n"])


def test_explore_size_over_the_range_of_the_file(capsys: pytest.CaptureFixture[str], files: list[str]) -> None:
    result = answer(capsys, *files, "--socket", "Cpu", "--subject-to", "data_bytes <= 1 MB")
    assert result["point"]["values"]["n"] == pytest.approx(math.sqrt(1e6 / 8), rel=1e-9)


def test_explore_architect(capsys: pytest.CaptureFixture[str], files: list[str]) -> None:
    bounds = ["--subject-to", "count.Core <= 80", "--subject-to", "flops_rate / doubled <= 1e9"]
    result = answer(
        capsys,
        files[1],
        "--socket",
        "Cpu",
        "--vary",
        "nodes=1:100:whole",
        *bounds,
        "--maximize",
        "memory_bytes",
    )
    assert result["point"]["values"] == {"nodes": 10}


def test_explore_from_a_file(capsys: pytest.CaptureFixture[str], files: list[str], tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(
        "simcodesign: 1\nworkload: sums.aspen\nmachine: cluster.aspen\nsocket: Gpu\nkernel: alone\n"
        "vary: {n: '10:1000:whole'}\nsubject_to: [flops <= 101]\n"
    )
    assert answer(capsys, "--file", str(tmp_path / "study.yaml"))["point"]["values"] == {"n": 50}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--vary", "n"], "Cluster has no such socket"),
        (["--socket", "Cpu", "--vary", "work"], "work has no range"),
        (["--socket", "Cpu", "--vary", "work", "--set", "work=3"], "set and varied"),
        (["--socket", "Cpu", "--vary", "way=near"], "parameter way cannot have this value, got 'near'"),
        (["--socket", "Cpu", "--vary", "m=1:2"], "nothing of this name can be varied"),
        (["--socket", "Cpu", "--vary", "n=1:1e9"], "limits of n beyond"),
        (["--socket", "Cpu", "--vary", "n", "--preset", "test"], "--preset"),
        (["--socket", "Cpu", "--vary", "n", "--minimize", "flop"], "did you mean 'flops'"),
        (["--socket", "Cpu", "--vary", "n", "--set", "q=3"], "unknown parameter 'q'"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], files: list[str], arguments: list[str], message: str) -> None:
    assert message in refusal(capsys, *files, *arguments)


def test_native_and_aspen_do_not_mix(capsys: pytest.CaptureFixture[str], files: list[str]) -> None:
    assert "Aspen" in refusal(capsys, "jacobi", files[1], "--vary", "P=1:4")
    assert "torus-cluster" in refusal(capsys, files[0], "torus-cluster", "--vary", "n")
    assert "--socket" in refusal(capsys, "jacobi", "torus-cluster", "--vary", "P=1:4", "--socket", "Cpu")
    assert "not something to vary" in refusal(capsys, "jacobi", "torus-cluster", "--vary", "P")


# --- the public models --------------------------------------------------------------------------------------------


def test_planners_on_the_public_models(cases: Path) -> None:
    models = cases / "aspen" / "models"
    keeneland = load_machine(models / "machine" / "keeneland.aspen")
    tile = AspenModel(load_application(models / "echelon" / "tiling" / "tile.aspen"), keeneland, "nvidia_m2090")
    flops = objective("flops", False, tile.dimensions)
    solution = solve(plan(tile, [variable("tf=16:64:whole", {})], [flops]))
    assert solution.point.values["tf"] == 34
    assert solution.objective == pytest.approx(7.0092648505e13, rel=1e-10)
    fft = AspenModel(load_application(models / "3dfft" / "3D_FFT.aspen"), keeneland, "nvidia_m2090")
    fits = constraint("data_bytes <= memory_bytes", fft.dimensions)
    solution = solve(plan(fft, [variable("n=1000:10000:whole", {})], constraints=[fits]))
    assert solution.point.values["n"] == 5129
