"""Execute blocks in both readings: compared with brute force over sets of uses, and a schedule made step by step."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.formulas.formula import formula
from simcodesign.analytic.requirements_per_process import requirements
from simcodesign.analytic.resources import all_in_turn_s, block_s, highest_power, turns, use_s
from simcodesign.comparison.compare import compare
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import parse
from simcodesign.describe.demands.resource_uses import ItemUse, item_uses
from simcodesign.describe.resources import Custom, Resource
from simcodesign.engine.simulate import simulate
from simcodesign.generate.block_schedule import times_of_block
from tests.describe.test_resources import machine, using

NAMES = "abcde"
PAIRS = list(combinations(NAMES, 2))
conflicts = st.lists(st.sampled_from(PAIRS), max_size=10, unique=True)
uses = st.lists(
    st.builds(
        ItemUse,
        resource=st.sampled_from(NAMES),
        amount=st.just(1.0),
        time_s=st.integers(0, 20).map(float),
        instances=st.sampled_from([0.5, 1.0, 2.0, 3.0]),
        power_w=st.integers(0, 9).map(float),
        energy_j=st.integers(0, 9).map(float),
    ),
    min_size=1,
    max_size=7,
)


def custom(pairs: list[tuple[str, str]]) -> Custom:
    return Custom(resources={name: Resource(parse(1)) for name in NAMES}, conflicts=tuple(pairs))


def excluding(one: str, other: str, pairs: list[tuple[str, str]]) -> bool:
    return one == other or (one, other) in pairs or (other, one) in pairs


def rounds(parallelism: int, instances: float) -> int:
    return math.ceil(Fraction(parallelism) / Fraction(instances))


def heaviest(result: list[ItemUse], parallelism: int, pairs: list[tuple[str, str]]) -> float:
    """Over all subsets of uses of which every two exclude each other."""
    most = 0.0
    for count in range(1, len(result) + 1):
        for some in combinations(result, count):
            if all(excluding(a.resource, b.resource, pairs) for a, b in combinations(some, 2)):
                most = max(most, sum(rounds(parallelism, use.instances) * use.time_s for use in some))
    return most


def scheduled(result: list[ItemUse], parallelism: int, pairs: list[tuple[str, str]]) -> list[tuple[float, float]]:
    """Begin and end of every use, one after another."""
    spans: list[tuple[float, float]] = []
    for use in result:
        earlier = [
            end
            for (_, end), other in zip(spans, result, strict=False)
            if excluding(use.resource, other.resource, pairs)
        ]
        begin = max(earlier, default=0.0)
        spans.append((begin, begin + rounds(parallelism, use.instances) * use.time_s))
    return spans


@given(uses, st.integers(0, 12), conflicts)
def test_both_readings_are_the_heaviest_set(
    parts: list[ItemUse], parallelism: int, pairs: list[tuple[str, str]]
) -> None:
    expected = heaviest(parts, parallelism, pairs)
    assert block_s(parts, float(parallelism), custom(pairs)) == expected
    assert times_of_block(parts, float(parallelism), custom(pairs), in_order=False).duration_s == expected


@given(uses, st.integers(0, 12), conflicts)
def test_list_schedule(parts: list[ItemUse], parallelism: int, pairs: list[tuple[str, str]]) -> None:
    made = times_of_block(parts, float(parallelism), custom(pairs), in_order=True)
    spans = scheduled(parts, parallelism, pairs)
    assert made.duration_s == max(end for _, end in spans)
    assert heaviest(parts, parallelism, pairs) <= made.duration_s <= all_in_turn_s(parts, float(parallelism))


@given(uses, st.integers(0, 12), conflicts, st.booleans())
def test_energy_of_a_block(
    parts: list[ItemUse], parallelism: int, pairs: list[tuple[str, str]], in_order: bool
) -> None:
    """The area under the power is items x (time x power + energy), whatever overlaps; idle instances draw nothing."""
    made = times_of_block(parts, float(parallelism), custom(pairs), in_order)
    area = sum(float((piece.until - piece.since) * piece.watts) for piece in made.pieces) * float(made.duration_s)
    items = [use.time_s * use.power_w + use.energy_j for use in parts if use.time_s]
    assert area == pytest.approx(parallelism * sum(items), rel=1e-12, abs=1e-12)
    assert all(0 <= float(piece.since) <= float(piece.until) <= 1 + 1e-15 for piece in made.pieces)


@given(uses, st.integers(1, 12), conflicts)
def test_power_within_a_block(parts: list[ItemUse], parallelism: int, pairs: list[tuple[str, str]]) -> None:
    """At every moment of the list schedule, by its uses."""
    bare = [ItemUse(use.resource, 1.0, use.time_s, use.instances, use.power_w, 0.0) for use in parts]
    made = times_of_block(bare, float(parallelism), custom(pairs), in_order=True)
    spans, whole = scheduled(bare, parallelism, pairs), float(made.duration_s)
    edges = sorted({0.0, whole, *(float(x) * whole for piece in made.pieces for x in (piece.since, piece.until))})
    for low, high in pairwise(edges):
        if high - low < 1e-9:
            continue
        moment, watts = (low + high) / 2, 0.0
        for use, (begin, end) in zip(bare, spans, strict=True):
            if begin <= moment < end:
                turn = int((moment - begin) / use.time_s)
                watts += use.power_w * min(use.instances, parallelism - turn * use.instances)
        total = sum(float(p.watts) for p in made.pieces if float(p.since) * whole <= moment < float(p.until) * whole)
        assert total == pytest.approx(watts, rel=1e-9, abs=1e-9)


@given(st.dictionaries(st.sampled_from(NAMES), st.integers(0, 50).map(float)), conflicts)
def test_highest_power(watts: dict[str, float], pairs: list[tuple[str, str]]) -> None:
    """Over all sets of which no two exclude each other."""
    most = 0.0
    for count in range(1, len(watts) + 1):
        for some in combinations(watts, count):
            if not any(excluding(a, b, pairs) for a, b in combinations(some, 2)):
                most = max(most, sum(watts[name] for name in some))
    assert highest_power(watts, custom(pairs)) == most


@given(st.integers(1, 10**7), st.integers(1, 400), st.integers(1, 400))
def test_shares_of_instances_are_whole_turns(items: int, ranks: int, instances: int) -> None:
    """Items of all over the ranks, and instances over the ranks, both rounded: as many turns as without."""
    expected = math.ceil(Fraction(items, instances))
    assert turns(items / ranks, instances / ranks) == expected
    one = [ItemUse("a", 1.0, 1.0, instances / ranks, 0.0, 0.0)]
    assert times_of_block(one, items / ranks, custom([]), in_order=True).duration_s == expected


def test_ranks_that_differ() -> None:
    use = ItemUse("a", 1.0, np.array([1.0, 2.0, 0.0]), 2.0, 4.0, 0.0)
    other = ItemUse("b", 1.0, 3.0, 1.0, 0.0, 0.0)
    parallelism = np.array([3.0, 1.0, 2.0])
    for pairs, expected in (([], [9.0, 3.0, 6.0]), ([("a", "b")], [11.0, 5.0, 6.0])):
        assert block_s([use, other], parallelism, custom(pairs)).tolist() == expected
        assert times_of_block([use, other], parallelism, custom(pairs), False).duration_s.tolist() == expected
    assert use_s(use, parallelism).tolist() == [2.0, 2.0, 0.0]


# --- Whole readings ------------------------------------------------------------------------------------------

#: Five pairs in a ring: no more than two exclude each other, and yet they cannot be done in that time.
RING = """resources: {a: {time: amount, dynamic_power: 5 W}, b: amount, c: amount, d: amount, e: amount}
conflicts: [[a, b], [b, c], [c, d], [d, e], [e, a]]
"""


def test_the_effect_conflicts() -> None:
    ring, block = machine(RING), using("{a: 1}, {b: 1}, {c: 1}, {d: 1}, {e: 1}")
    comparison = compare(block, ring, {"P": 2})
    changes = {rung.effect: rung.change_s for rung in comparison.rungs}
    assert comparison.forecast.makespan_s == 2
    assert changes.pop("conflicts") == 3  # a chain: a, b, c, d, e
    assert not any(changes.values())
    assert comparison.within_bounds
    # The energy is that of a alone in both, and static power is not said.
    assert [rung.simulation.energy_j for rung in comparison.rungs] == pytest.approx([10.0] * len(comparison.rungs))
    assert comparison.energy_difference_j == pytest.approx(0)


def test_ranks_in_both_readings() -> None:
    block = using("{flops: 2e9*(1 + rank), traits: [dp]}, {loads: 5e9}", "")
    forecasted, simulated = forecast(block, machine()), simulate(block, machine(), effects="none")
    assert forecasted.makespan_s == simulated.makespan_s == pytest.approx(16 + 5 + 1e-9)
    assert forecasted.flops == simulated.flops == 72e9
    assert dict(forecasted.used) == dict(simulated.used) == {"flops": 72e9, "loads": 40e9}
    assert simulated.energy_j == pytest.approx(forecasted.energy_j, rel=1e-12)


def test_imbalance_noise_and_counters_take_a_block_as_a_computation() -> None:
    block = using("{flops: 2e9}", "imbalance: 10 %\n")
    clocked = machine("resources: {flops: {time: amount/1e9, dynamic_power: 3 W}}\nnoise: 5 %\n")
    result = simulate(block, clocked, effects=["imbalance", "noise"], seed=3, counters=True)
    assert result.ranks is not None
    assert len(set(result.ranks.end_s.tolist())) == 8
    assert result.energy_j == pytest.approx(3 * result.ranks.end_s.sum(), rel=1e-12)
    assert result.counters is not None
    assert result.counters.of("time_s").sum() == pytest.approx(result.ranks.end_s.sum())


def test_requirements_and_formula() -> None:
    block = using("{flops: 2e9*P}, {loads: 5e9}, {flops: 1}")
    assert requirements(block, {"P": 4}).flops == pytest.approx(8e9 + 1)
    pytest.importorskip("sympy")
    with pytest.raises(InputError, match="no formula"):
        formula(block)


def test_too_many_resources() -> None:
    many = machine("resources: {" + ", ".join(f"r{n}: amount" for n in range(20)) + "}\n")
    assert forecast(using(", ".join(f"{{r{n}: 1}}" for n in range(16))), many).makespan_s == 1
    with pytest.raises(InputError, match="up to 16"):
        forecast(using(", ".join(f"{{r{n}: 1}}" for n in range(17))), many)


TRAITS = """parameters: {clock: {default: 4}}
resources:
  r:
    instances: 2*clock
    time: amount/clock
    traits: {double: base*2, plus: base + 1, "times(k)": base*k}
    dynamic_power: 3*clock
    energy: 7*amount
"""
trait_lists = st.lists(st.sampled_from(["double", "plus", "times(3)", "times(5)"]), max_size=5)


@given(trait_lists, st.integers(1, 50))
def test_traits_change_a_time_in_their_order(traits: list[str], amount: int) -> None:
    """Folded by hand."""
    described = machine(TRAITS)
    written = [t if "(" not in t else "{" + t.replace("(", ": ").replace(")", "}") for t in traits]
    [step] = using(f"{{r: {amount}, traits: [{', '.join(written)}]}}").program
    [use] = item_uses(step, described, lambda expression, _: expression.evaluate({}))
    expected = amount / 4
    for trait in traits:
        expected = {"double": expected * 2, "plus": expected + 1, "times(3)": expected * 3, "times(5)": expected * 5}[
            trait
        ]
    assert use.time_s == expected
    assert (use.resource, use.amount, use.instances, use.power_w, use.energy_j) == ("r", amount, 8, 12, 7 * amount)
