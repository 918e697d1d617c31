"""The formulas of collective-costs, against rounds of messages written from the publications, and its phases."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.analytic.demands.base import ESTIMATE_IN_LOGGOPS, LEAST_IN_LOGGOPS
from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.given_formulas.values import FormulaValues, formula_values
from simcodesign.describe.demands.collective import ALGORITHMS, ON_NODES
from simcodesign.describe.machine import Machine
from simcodesign.describe.scenario import Scenario
from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine.simulate import simulate
from tests.oracles.messages.collective_rounds import ANY_RANKS, ROUNDS
from tests.shipped_pairs import load_workload

WORKLOAD = "collective-costs"
#: Hockney's startup and time per byte; a time to combine a byte.
ALPHA, BETA, GAMMA = 10e-6, 1e-8, 3e-9
#: Defaults of LogGOPSim.
LATENCY, OVERHEAD, GAP, PER_BYTE = 2.5e-6, 1.5e-6, 1e-6, 6e-9
PHASES = load_workload(WORKLOAD).phases()


@cache
def machine_of_64(name: str) -> Machine:
    """A shipped machine with 64 nodes."""
    return load_machine(name, {"nodes": 64})


def values_of(formula: str, machine: str, ranks: int, size: float, **constants: float) -> FormulaValues:
    given_values = {"P": ranks, "size": size, "network.reduction_per_byte": GAMMA} | constants
    point = Scenario.of(load_workload(WORKLOAD), machine_of_64(machine), given_values).bind()
    return formula_values(point.workload.formulas[formula], point)


def in_rounds_s(
    phase: str, ranks: int, size: float, message_s: Callable[[float], float], gamma: float = GAMMA
) -> float:
    """The sum over rounds of the largest message and of what is combined most, in blocks of size / P bytes."""
    block = size / ranks
    return sum(message_s(sent * block) + combined * block * gamma for sent, combined in ROUNDS[phase](ranks).sizes)


def hockney_s(size: float) -> float:
    return ALPHA + size * BETA


def loggp_s(size: float) -> float:
    """Alexandrov et al., SPAA 1995: o + (m - 1) G + L + o."""
    return OVERHEAD + (size - 1) * PER_BYTE + LATENCY + OVERHEAD


def pipeline_s(ranks: int, segments: int, message_s: float) -> float:
    """A chain in segments: a rank sends one segment at a time, each when it has it."""
    there = [0.0] * segments
    for _ in range(ranks - 1):
        free = 0.0
        for segment in range(segments):
            free = there[segment] = max(free, there[segment]) + message_s
    return there[-1]


def binary_tree_s(levels: int, message_s: float) -> float:
    """A rank with two children sends to one after the other; ``levels`` below it."""
    return 0.0 if levels == 0 else 2 * message_s + binary_tree_s(levels - 1, message_s)


def chains_from_the_root_s(ranks: int, chains: int, message_s: float) -> float:
    """The root sends to the head of each chain in turn; the others are dealt out evenly, first chains first."""
    lengths = [(ranks - 1) // chains + (chain < (ranks - 1) % chains) for chain in range(chains)]
    return max((turn + length) * message_s for turn, length in enumerate(lengths) if length)


def one_after_another_s(messages: int, size: float) -> float:
    """In LogGP: sends of one rank, until the last one is taken up."""
    begin = 0.0
    for _ in range(messages - 1):
        begin = max(begin + OVERHEAD, begin + GAP + (size - 1) * PER_BYTE)
    return begin + loggp_s(size)


def test_every_algorithm_is_a_phase() -> None:
    algorithms = {(operation, name) for operation, names in ALGORITHMS.items() for name in names}
    assert {*PHASES} == {"-".join(key).replace("_", "-") for key in algorithms - ON_NODES if "two_level" not in key}
    formulas = load_workload(WORKLOAD).formulas
    assert {*PHASES} == {*formulas["thakur"].phases, *formulas["hockney"].phases}
    assert {*formulas["thakur_any_p"].phases} <= {*formulas["thakur"].phases}


@pytest.mark.parametrize("ranks", [2, 8, 32])
def test_rounds_in_hockneys_model(ranks: int) -> None:
    """At a power of two; an all-to-all sends (P - 1)/P of the n bytes that the source counts, unless it is Bruck's."""
    size = 4096.0
    values = {**values_of("hockney", "crossbar-16", ranks, size).phases_s}
    values |= values_of("thakur", "crossbar-16", ranks, size).phases_s
    for phase in ROUNDS:
        expected = in_rounds_s(phase, ranks, size, hockney_s)
        if phase == "all-to-all-pairwise":
            expected += size / ranks * BETA
        assert values[phase] == pytest.approx(expected, rel=1e-12), phase


@pytest.mark.parametrize("ranks", [3, 6, 7, 12, 31])
def test_rounds_of_any_number(ranks: int) -> None:
    size = 4096.0
    values = values_of("thakur_any_p", "crossbar-16", ranks, size)
    assert values.valid
    exact = (ANY_RANKS & values.phases_s.keys()) - {"all-to-all-bruck", "all-to-all-pairwise"}
    assert len(exact) == 5
    for phase in exact:
        assert values.phases_s[phase] == pytest.approx(in_rounds_s(phase, ranks, size, hockney_s), rel=1e-12), phase
    assert not values_of("thakur", "crossbar-16", ranks, size).valid


@pytest.mark.parametrize("ranks", [2, 8, 32])
def test_rounds_in_loggp(ranks: int) -> None:
    size = 4096.0
    values = values_of("loggp", "loggop-64", ranks, size).phases_s
    for phase in ROUNDS:
        assert values[phase] == pytest.approx(in_rounds_s(phase, ranks, size, loggp_s), rel=1e-12), phase
    for phase in ("broadcast-linear", "all-to-all-linear", "gather-linear", "scatter-linear", "all-broadcast-linear"):
        expected = one_after_another_s(ranks - 1, size if phase == "broadcast-linear" else size / ranks)
        assert values[phase] == pytest.approx(expected, rel=1e-12), phase


def test_trees_and_chains() -> None:
    message_s = hockney_s(4096.0)
    for levels in (1, 2, 4):
        values = values_of("hockney", "crossbar-16", 2 ** (levels + 1) - 1, 4096.0)
        for tree in ("broadcast-binary-tree", "broadcast-interleaved-binary-tree"):
            assert values.phases_s[tree] == pytest.approx(binary_tree_s(levels, message_s), rel=1e-12)
        in_halves_s = binary_tree_s(levels, hockney_s(2048.0)) + hockney_s(2048.0)  # then pairs exchange their halves
        assert values.phases_s["broadcast-split-binary-tree"] == pytest.approx(in_halves_s, rel=1e-12)
        up_s = binary_tree_s(levels, message_s + 4096.0 * GAMMA)
        assert values.phases_s["reduce-interleaved-binary-tree"] == pytest.approx(up_s, rel=1e-12)
        ranks = 2 ** (levels + 1) - 1
        asked_s = (ranks - 1) * (hockney_s(0.0) + hockney_s(4096.0 / ranks))
        assert values.phases_s["gather-linear-synchronised"] == pytest.approx(asked_s, rel=1e-12)
    for ranks in (2, 4, 5, 8, 9, 10, 63):
        values = values_of("hockney", "crossbar-16", ranks, 4096.0)
        for phase, chains in (("broadcast-three-chains", 3), ("broadcast-four-chains", 4)):
            in_chains_s = chains_from_the_root_s(ranks, chains, message_s)
            assert values.phases_s[phase] == pytest.approx(in_chains_s, rel=1e-12)
    for ranks, segments in ((2, 1), (5, 3), (12, 8)):
        values = values_of("hockney", "crossbar-16", ranks, 4096.0 * segments, segment=4096)
        assert values.phases_s["broadcast-chain"] == pytest.approx(pipeline_s(ranks, segments, message_s), rel=1e-12)


@given(st.sampled_from([2, 4, 16, 64]), st.integers(0, 10**7), st.integers(0, 100))
def test_no_rounds_are_below_the_bounds(ranks: int, size: int, gamma_ns: int) -> None:
    values = values_of("lower_bound", "crossbar-16", ranks, size, **{"network.reduction_per_byte": gamma_ns * 1e-9})
    bounded = ROUNDS.keys() & values.phases_s.keys()
    assert len(bounded) == 16
    for phase in bounded:
        expected = in_rounds_s(phase, ranks, size, hockney_s, gamma_ns * 1e-9)
        assert values.phases_s[phase] <= expected * (1 + 1e-12), phase


@pytest.mark.parametrize("machine", ["crossbar-16", "loggop-64"])
@pytest.mark.parametrize("phase", PHASES)
def test_a_phase_alone_is_forecast(machine: str, phase: str) -> None:
    """As all ranks start it together: powers of two, for which forms in LogGOPS are exact as well, or say that they
    are lower bounds."""
    for ranks in (2, 8, 16):
        scenario = Scenario.of(load_workload(WORKLOAD), load_machine(machine), {"P": ranks}, phases=[phase])
        forecasted = forecast(scenario)
        ratio = simulate(scenario, effects="none").makespan_s / forecasted.makespan_s
        if any(LEAST_IN_LOGGOPS in text for text in forecasted.basis):
            assert 1 - 1e-12 <= ratio <= 2
        elif any(ESTIMATE_IN_LOGGOPS in text for text in forecasted.basis):
            assert 0.8 <= ratio <= 1.4
        else:
            assert ratio == pytest.approx(1, rel=1e-12)
