"""Which effects the ladder simulates: all that may change a simulation, and no others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.analytic.forecast import forecast
from simcodesign.comparison import compare as comparing
from simcodesign.comparison.effects import note_long_ladder
from simcodesign.core.operation_kinds import (
    COMPUTE,
    COPY_TO_ACCELERATOR,
    COPY_TO_HOST,
    KERNEL,
    MEMORY,
    METADATA,
    READ,
    SEND,
    STORAGE_READ,
    STORAGE_WRITE,
    WRITE,
)
from simcodesign.core.result import Result
from simcodesign.describe.effects import effect_named, effect_names
from simcodesign.describe.scenario import Scenario
from simcodesign.engine.simulate import simulate
from simcodesign.generate.lower import make_plan
from tests.builders import workload
from tests.shipped_pairs import load_machine, load_workload, pair_parameters, ranks_of

#: Kinds of operations without which an effect changes nothing: an oracle that reads the Plan, not the description.
NEEDS = {
    "hops": {SEND},
    "links": {SEND},
    "interfaces": {SEND},
    "background": {SEND},
    "disks": {READ, WRITE},
    "memory": {MEMORY},
    "caches": {MEMORY},
    "accelerators": {KERNEL, COPY_TO_ACCELERATOR, COPY_TO_HOST},
    "storage": {STORAGE_READ, STORAGE_WRITE, METADATA},
    "conflicts": {COMPUTE},
    "imbalance": {COMPUTE, KERNEL},
}


def same(one: Result, other: Result) -> bool:
    """Whether two simulations agree to the last bit."""
    assert one.ranks is not None
    assert other.ranks is not None
    same_times = np.array_equal(one.ranks.busy_s, other.ranks.busy_s) and np.array_equal(
        one.ranks.end_s, other.ranks.end_s
    )
    return one.headline_s == other.headline_s and same_times and one.served == other.served


@pytest.mark.thorough
@pytest.mark.parametrize(("of", "on"), pair_parameters())
def test_an_effect_that_is_not_tried_changes_nothing(of: str, on: str) -> None:
    ranks = ranks_of(of, (4, 1))[0]
    described, bare = load_workload(of), load_machine(on)
    scenario = Scenario.of(described, bare, {"P": min(ranks, int(bare.most_ranks))})
    kinds = {*make_plan(scenario.bind()).kind.tolist()}
    bare_run = simulate(scenario, effects=())
    acting = [
        name
        for name in effect_names()
        if (one := effect_named(name)).acts_on(described, bare) and one.present_in(bare_run)
    ]
    for name in acting:
        assert kinds & NEEDS.get(name, kinds), f"{name} is simulated although it cannot act"
    assert same(simulate(scenario, effects=acting), simulate(scenario)), f"more than {acting} acts"


def tried(monkeypatch: pytest.MonkeyPatch, *scenario: object) -> tuple[list[str], list[str]]:
    """The last effect of each simulation of ``compare``, and the effects that the ladder has as acting."""
    runs: list[tuple[str, ...]] = []
    simulate_experiment = comparing.simulate_experiment

    def counted(experiment: object, *rest: object, **more: object) -> Result:
        runs.append(experiment.effects)  # type: ignore[attr-defined]
        return simulate_experiment(experiment, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(comparing, "simulate_experiment", counted)
    comparison = sc.compare(*scenario)  # type: ignore[arg-type]
    return [effects[-1] for effects in runs if effects], [rung.effect for rung in comparison.rungs if rung.applies][1:]


def test_disks_are_not_tried_without_disk_accesses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages alone, on nodes with several processors, caches, shared disks, a hop latency, and noise of computations."""
    simulated, acting = tried(monkeypatch, "broadcast", "torus-cluster", {"P": 8})
    assert load_machine("torus-cluster").disk is not None
    assert simulated == acting == ["hops", "links", "interfaces"]


def test_one_rank_has_no_effects_of_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tried(monkeypatch, "broadcast", "torus-cluster", {"P": 1}) == ([], [])


READS = "- read: {bytes: 1e6}\n"


@pytest.mark.parametrize(
    ("program", "changes", "acts"),
    [
        (READS, {}, False),  # one rank a node, a disk for each node
        (READS, {"disk.shared_by": 2}, True),
        (READS, {"processors_per_node": 2}, True),
        ("- compute: {seconds: 1}\n", {"processors_per_node": 2}, False),
        ("- arrivals: {to: disk, rate: 10, requests: 5, bytes: 1e6}\n", {}, True),
    ],
)
def test_disks_act_where_accesses_may_meet(program: str, changes: dict[str, object], acts: bool) -> None:
    built = sc.Machine.load("torus-cluster", {"processors_per_node": 1, "disk.shared_by": 1, **changes})
    assert effect_named("disks").acts_on(workload(program), built) is acts


@pytest.mark.parametrize(
    ("noise", "program", "acts"),
    [
        ("disk: 0.3", "- compute: {seconds: 1}\n", False),
        ("disk: 0.3", "- read: {bytes: 1e6}\n", True),
        ("memory: 0.3", "- compute: {seconds: 1}\n", False),
        ("network: 0.3", "- compute: {seconds: 1}\n", False),
        ("network: 0.3", "- barrier: {}\n", True),
        ("compute: 0.3", "- read: {bytes: 1e6}\n", False),
        ("compute: 0.3", "- barrier: {}\n", False),
        ("compute: 0.3", "- compute: {seconds: 1}\n", True),
    ],
)
def test_noise_acts_on_what_the_workload_does(noise: str, program: str, acts: bool) -> None:
    part, _, variation = noise.partition(": ")
    built = sc.Machine.load("torus-cluster", {f"noise.{part}": float(variation)})
    assert effect_named("noise").acts_on(workload(program), built) is acts


def test_a_program_in_python_has_the_effects_of_what_it_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its description does not say what it does; the simulation without effects does."""
    file = tmp_path / "reads.py"
    file.write_text(
        "import simcodesign as sc\n\n\n@sc.program\ndef reads(rank, size):\n    yield sc.rank.read(1e6)\n",
        encoding="utf-8",
    )
    simulated, acting = tried(monkeypatch, str(file), sc.Machine.load("torus-cluster"), {"P": 8})
    assert simulated == acting == ["disks", "noise"]  # noise of anything, as a program may compute


def test_execute_blocks_are_work_of_processors() -> None:
    """They use resources that the machine defines, by ``uses``, which is no list of parts."""
    blocks = load_workload("fft3d")
    assert blocks.uses_resources
    assert blocks.may_use("processor")
    assert not blocks.may_use("disk")


def test_a_long_ladder_is_announced_before_it_begins() -> None:
    """A million messages, each in all simulations, and 32 hops in most: by docs/speed.md some 5 s for each of these."""
    machine = sc.Machine.load("mesh-256", {"nodes": 1024, "network.topology.shape": [32, 32]})
    scenario = Scenario.of("burst", machine, {"P": 1024})
    forecasted, point = forecast(scenario), scenario.bind()
    assert float(forecasted.messages) == 1024 * 1023
    with pytest.warns(UserWarning, match=r"the ladder takes \d+ simulations of 1,047,552 messages, at least about"):
        note_long_ladder(forecasted, tuple(effect_names()), point, "simpy")
    note_long_ladder(forecasted, ("hops",), point, "compiled")  # a second: nothing is said
