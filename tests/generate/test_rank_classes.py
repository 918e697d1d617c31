"""Programs simulated with one rank for each class of ranks that do the same, against simulations of every rank."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simcodesign.core.errors import SimcodesignError
from simcodesign.core.result import Result
from simcodesign.describe.machine import Machine
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from simcodesign.generate import lower, rank_classes
from tests import THOROUGH
from tests.builders import machine, network, workload
from tests.random_programs import random_case
from tests.shipped_pairs import load_machine, load_workload, pair_parameters, ranks_of, with_power

#: Effects under which ranks that do the same do so at the same times.
EFFECTS = "hops,conflicts,caches"
GROUPS = "groups: {tensor: rank // 4, data: rank % 4}\n"
#: Layers with a group of ranks each, repeated; then all replicas.
LAYERS = """
- repeat: 6
  do:
    - compute: {seconds: 1e-6 * (1 + rank % 4)}
    - allreduce: {bytes: 1000, algorithm: ring, group: tensor}
- allreduce: {bytes: 4000, algorithm: ring, group: data}
"""


def simulated(
    monkeypatch: pytest.MonkeyPatch, by_class: bool, load: Workload, on: Machine, ranks: int, effects: str
) -> Result | str:
    """A simulation by classes however small the program is and however many there are, or of every rank."""
    with monkeypatch.context() as patch:
        patch.setattr(lower, "MIN_BY_CLASS", 0.0 if by_class else np.inf)
        patch.setattr(lower, "FINDING_WORK", np.inf)
        patch.setattr(rank_classes, "MAX_FRACTION", 1.0)
        try:
            return simulate(load, on, {"P": ranks}, effects=effects)
        except SimcodesignError as error:
            return f"{type(error).__name__} {error}"


def check(monkeypatch: pytest.MonkeyPatch, load: Workload, on: Machine, ranks: int, effects: str) -> int | None:
    """Compare both simulations, times to the last bit; return how many ranks were simulated by classes."""
    every = simulated(monkeypatch, False, load, on, ranks, effects)
    by_class = simulated(monkeypatch, True, load, on, ranks, effects)
    if isinstance(every, str) or isinstance(by_class, str):
        assert every == by_class
        return None
    assert every.ranks is not None
    assert by_class.ranks is not None
    assert by_class.makespan_s == every.makespan_s
    for name in ("busy_s", "waiting_s", "end_s"):
        assert np.array_equal(getattr(by_class.ranks, name), getattr(every.ranks, name))
    assert by_class.phases == every.phases
    assert by_class.demands == every.demands
    assert (by_class.messages, by_class.served, by_class.used) == (every.messages, every.served, every.used)
    for total in ("message_bytes", "disk_bytes", "flops", "energy_j", "peak_power_w"):  # added up in another order
        value = getattr(every, total)
        assert getattr(by_class, total) == (value if value is None else pytest.approx(value, rel=1e-12))
    if not by_class.notes:
        assert by_class.events == every.events
        return None
    return int(by_class.notes[0].split("as ")[1].split()[0])


@pytest.mark.parametrize(("load", "on"), pair_parameters())
def test_shipped_workloads_on_shipped_machines(load: str, on: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for ranks in ranks_of(load, (13, 16))[-1:]:
        for effects in ("none", EFFECTS):
            check(monkeypatch, load_workload(load), with_power(load_machine(on)), ranks, effects)


def test_random_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    several = [check(monkeypatch, *random_case(seed, "hockney"), "none") for seed in range(400 if THOROUGH else 60)]
    assert sum(count is not None for count in several) > len(several) // 2


def program(text: str, groups: str = GROUPS) -> Workload:
    return workload(text, groups)


def test_replicas_are_simulated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks with the same place in their groups do the same: four classes, whatever the number of groups."""
    for ranks in (16, 64, 128):
        assert check(monkeypatch, program(LAYERS), machine(network(ranks)), ranks, "none") == 4


def test_ranks_that_differ_have_classes_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work of the first rank delays the others one by one: all 8 differ, though their operations are alike."""
    chain = """
    - compute: {seconds: 1e-3, when: rank == 0}
    - receive: {from: rank - 1, bytes: 8, when: rank > 0}
    - send: {to: rank + 1, bytes: 8, when: rank < P - 1}
    """
    assert check(monkeypatch, program(chain, ""), machine(network(8)), 8, "none") == 8


def test_pipelines_of_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four stages of hand-written messages in each of four replicas, which then reduce their gradients."""
    pipeline = """
    - repeat: 5
      do:
        - receive: {from: rank - 4, bytes: 1e4, when: rank >= 4}
        - compute: {seconds: 1e-4 * (1 + rank // 4)}
        - send: {to: rank + 4, bytes: 1e4, when: rank < P - 4}
    - allreduce: {bytes: 1e6, algorithm: ring, group: stage}
    """
    load = program(pipeline, "groups: {stage: rank // 4}\n")
    assert check(monkeypatch, load, machine(network(16)), 16, "none") == 4


def test_messages_of_a_tag_to_several_ranks_of_a_class_are_not_confused(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a ring each rank sends a small message to the right and a large one to the left, and takes the one from the
    right first: within the only class the first send would meet the wrong receive."""
    ring = """
    - send: {to: (rank + 1) % P, bytes: 8}
    - send: {to: (rank - 1) % P, bytes: 8e6}
    - receive: {from: (rank + 1) % P}
    - receive: {from: (rank - 1) % P}
    """
    assert check(monkeypatch, program(ring, ""), machine(network(8)), 8, "none") is None


WRONG = {
    "from the wrong rank": """
    - send: {to: (rank + 1) % P, bytes: 8}
    - receive: {from: (rank - 2) % P, bytes: 8}
    """,
    "another size": """
    - send: {to: (rank + 1) % P, bytes: 8}
    - receive: {from: (rank - 1) % P, bytes: 9}
    """,
    "a circle": """
    - receive: {from: (rank - 1) % P, bytes: 8}
    - send: {to: (rank + 1) % P, bytes: 8}
    """,
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_errors_name_the_ranks_of_the_program(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    on = machine(network(8))
    several = [simulated(monkeypatch, by_class, program(wrong, ""), on, 8, "none") for by_class in (False, True)]
    assert isinstance(several[0], str)
    assert several[0] == several[1]


@pytest.mark.parametrize("effects", ["links", "interfaces", "imbalance", "links,hops"])
def test_effects_under_which_ranks_differ(effects: str, monkeypatch: pytest.MonkeyPatch) -> None:
    load = replace(program(LAYERS), imbalance=0.1)
    result = simulated(monkeypatch, True, load, load_machine("torus-cluster"), 16, effects)
    assert isinstance(result, Result)
    assert not result.notes
