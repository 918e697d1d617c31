"""``algorithm: auto``: every reading is that of the program in which the algorithm of the rules is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.formulas.formula import formula
from simcodesign.analytic.requirements_per_process import requirements
from simcodesign.comparison.compare import compare
from simcodesign.core.errors import InputError
from simcodesign.describe.demands.collective import ALGORITHMS, SIGNALS
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.algorithm_choice import RULES, chosen_rules
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from tests import builders, examples

KIB = 1024
HOCKNEY = {"startup_s": 1e-6, "per_byte_s": 1e-9, "receive_overhead_s": 2e-7, "reduction_per_byte_s": 5e-10}
HEAD = "parameters: {n: {default: 0}, q: {default: 3}}\ngroups: {row: rank // q}\n"
SIZES = (0, 1, 256, 257, 2048, 2049, 12 * KIB - 1, 12 * KIB, 32 * KIB, 32 * KIB + 1, 80 * KIB, 512 * KIB - 1, 512 * KIB)
RANKS = (1, 2, 3, 7, 8, 9, 12, 16)


def published(operation: str, ranks: int, size: float) -> str:
    """The algorithm by section 4 of Thakur, Rabenseifner and Gropp (2005), as far as it is there."""
    if operation == "broadcast":
        return "scatter_allgather" if size >= 12 * KIB and ranks >= 8 else "binomial"
    if operation == "allreduce":
        return "rabenseifner" if size > 2 * KIB else "recursive_doubling"
    if operation == "reduce_scatter":
        return "pairwise" if size >= 512 * KIB else "recursive_halving"
    if operation == "allgather":
        if bin(ranks).count("1") == 1:
            return "recursive_doubling" if size * ranks < 512 * KIB else "ring"
        return "bruck" if size * ranks < 80 * KIB else "ring"
    if operation == "all_to_all":
        if size <= 256 and ranks >= 8:
            return "bruck"
        return "linear" if size <= 32 * KIB else "pairwise"
    return ALGORITHMS[operation][0]


def machine() -> Machine:
    return builders.machine(builders.network(1024, **HOCKNEY))


def one(operation: str, algorithm: str, size: str = "n", more: str = "") -> str:
    entry = "" if operation in SIGNALS else f"bytes: {size}, "
    return f"- {operation}: {{{entry}algorithm: {algorithm}{more}}}\n"


def auto(operation: str, more: str = "") -> Workload:
    return builders.workload(one(operation, "auto", more=more), HEAD)


def rows(result: Any) -> list[tuple[str, int, int, float, float]]:
    """What a Result says of the algorithms that were taken."""
    return [(it.algorithm, it.min_ranks, it.max_ranks, it.min_bytes, it.max_bytes) for it in result.algorithms]


def test_the_rules_are_those_that_were_published_and_name_algorithms_that_there_are() -> None:
    assert set(RULES) == set(ALGORITHMS)
    sizes = np.array(sorted({*SIZES, *(size // ranks + more for size in SIZES for ranks in RANKS for more in (0, 1))}))
    for operation, rules in RULES.items():
        assert {rule.algorithm for rule in rules} <= set(ALGORITHMS[operation])
        ranks, size = np.meshgrid([*RANKS, 64, 1000], sizes)
        expected = np.vectorize(lambda p, n, name=operation: published(name, p, n))(ranks, size)
        chosen = chosen_rules(RULES[operation], ranks, size)
        for rule, where in chosen:
            np.testing.assert_array_equal(where, expected == rule.algorithm)
        assert np.sum([where for _, where in chosen], axis=0).min() == 1


@pytest.mark.parametrize("operation", ALGORITHMS)
def test_each_design_point_takes_its_own_algorithm(operation: str) -> None:
    ranks, sizes = np.array(RANKS)[:, None], np.array(SIZES, float)
    every = forecast(auto(operation), machine(), {"P": ranks, "n": sizes})
    for i, p in enumerate(RANKS):
        for j, n in enumerate(SIZES):
            written = builders.workload(
                one(operation, published(operation, p, n if operation not in SIGNALS else 0)), HEAD
            )
            alone = forecast(written, machine(), {"P": p, "n": n})
            assert every.makespan_s[i, j] == pytest.approx(alone.makespan_s, rel=1e-14)
            assert (every.messages[i, j], every.message_bytes[i, j]) == (alone.messages, alone.message_bytes)
    taken = {it.algorithm for it in every.algorithms}
    assert taken == {published(operation, p, n if operation not in SIGNALS else 0) for p in RANKS for n in SIZES}


@settings(max_examples=examples(40), deadline=None)
@given(
    operations=st.lists(st.sampled_from(list(ALGORITHMS)), min_size=1, max_size=3),
    ranks=st.integers(1, 14),
    size=st.sampled_from(SIZES),
)
def test_readings_of_auto_are_those_of_the_algorithm_written(operations: list[str], ranks: int, size: int) -> None:
    values = {"P": ranks, "n": size}
    sizes = [0 if name in SIGNALS else size for name in operations]
    written = [one(name, published(name, ranks, n)) for name, n in zip(operations, sizes, strict=True)]
    by_hand = builders.workload("".join(written), HEAD)
    by_rule = builders.workload("".join(one(name, "auto") for name in operations), HEAD)
    forecasts = [forecast(it, machine(), values, bounds=True) for it in (by_hand, by_rule)]
    assert forecasts[0].makespan_s == forecasts[1].makespan_s
    assert forecasts[0].bounds == forecasts[1].bounds
    assert forecasts[0].pipelined is not None
    assert forecasts[1].pipelined is not None
    assert forecasts[0].pipelined.makespan_s == forecasts[1].pipelined.makespan_s
    simulations = [simulate(it, machine(), values, effects="links") for it in (by_hand, by_rule)]
    assert simulations[0].makespan_s == simulations[1].makespan_s
    assert simulations[0].messages == simulations[1].messages
    assert not simulations[0].algorithms
    assert simulations[1].algorithms == forecasts[1].algorithms
    for name, n in zip(operations, sizes, strict=True):
        assert (published(name, ranks, n), ranks, ranks, n, n) in rows(simulations[1])
    assert requirements(by_rule, values).sent_bytes == requirements(by_hand, values).sent_bytes


def test_an_index_and_groups_of_different_sizes_choose_each_for_itself() -> None:
    """Groups of 3, 3 and 2 of 8 ranks; 100 k bytes times 27 or 2: sizes on both sides of the bound of an allgather."""
    size = "100*2**k*group_size**3"
    loop = "- repeat: 12\n  index: k\n  do:\n    "
    by_rule = builders.workload(loop + one("allgather", "auto", size, ", group: row"), HEAD)
    by_hand = []
    for k in range(12):
        sizes = {p: 100 * 2**k * p**3 for p in (2, 3)}
        by_hand.append({published("allgather", p, n) for p, n in sizes.items()})
    simulated = simulate(by_rule, machine(), {"P": 8}, effects="none")
    forecasted = forecast(by_rule, machine(), {"P": 8})
    assert simulated.makespan_s == pytest.approx(forecasted.makespan_s, rel=1e-12)
    assert sorted(rows(simulated)) == sorted(rows(forecasted))
    assert (
        {it.algorithm for it in simulated.algorithms}
        == set().union(*by_hand)
        == {"recursive_doubling", "bruck", "ring"}
    )
    smallest = next(it for it in simulated.algorithms if it.algorithm == "recursive_doubling")
    assert (smallest.min_ranks, smallest.max_ranks, smallest.min_bytes) == (2, 2, 800)


def test_design_points_with_an_index_are_those_of_single_forecasts() -> None:
    program = "- repeat: 9\n  index: k\n  do:\n    " + one("allreduce", "auto", "n*2**k")
    by_rule = builders.workload(program, HEAD)
    sizes = np.array([1.0, 40.0, 300.0, 5000.0])
    every = forecast(by_rule, machine(), {"P": 6, "n": sizes})
    for place, n in enumerate(sizes):
        steps = [one("allreduce", published("allreduce", 6, n * 2**k), f"{n * 2**k}") for k in range(9)]
        alone = forecast(builders.workload("".join(steps)), machine(), {"P": 6})
        assert every.makespan_s[place] == pytest.approx(alone.makespan_s, rel=1e-13)


def test_results_show_what_was_taken() -> None:
    compared = compare(auto("allreduce"), machine(), {"P": 4, "n": 5000})
    shown = compared.to_dict()
    for reading in ("forecast", "simulation"):
        assert shown[reading]["algorithms"] == [
            {
                "phase": "main",
                "operation": "allreduce (auto)",
                "algorithm": "rabenseifner",
                "min_ranks": 4,
                "max_ranks": 4,
                "min_bytes": 5000.0,
                "max_bytes": 5000.0,
            }
        ]


def test_there_is_no_formula_where_numbers_decide() -> None:
    with pytest.raises(InputError, match="recursive_doubling, rabenseifner"):
        formula(auto("allreduce"))


def test_no_order_and_no_segments() -> None:
    for more in (", order: near", ", segment: 64 KiB"):
        with pytest.raises(InputError):
            auto("broadcast", more)


def test_a_program_in_python_chooses_by_the_group_and_the_bytes() -> None:
    def program(algorithms: list[str]) -> Workload:
        def body(rank: int, size: int) -> Iterator[Any]:
            group = sc.rank.group(rank // 9)
            yield sc.rank.world.allreduce(100, algorithm=algorithms[0])
            yield sc.rank.world.allreduce(5000, algorithm=algorithms[1])
            yield sc.rank.phase("rows")
            yield group.broadcast(20000, root=1, algorithm=algorithms[2 if group.size == 9 else 3])

        return sc.program(body)

    by_hand = program(["recursive_doubling", "rabenseifner", "scatter_allgather", "binomial"])
    by_rule = program(["auto"] * 4)
    for reading in (forecast, simulate):
        results = [reading(it, machine(), {"P": 14}) for it in (by_hand, by_rule)]
        assert results[0].makespan_s == results[1].makespan_s
        assert not results[0].algorithms
        taken = {
            (it.phase, it.operation, *row[:3]) for it, row in zip(results[1].algorithms, rows(results[1]), strict=True)
        }
        assert taken == {
            ("main", "allreduce (auto)", "recursive_doubling", 14, 14),
            ("main", "allreduce (auto)", "rabenseifner", 14, 14),
            ("rows", "broadcast (auto)", "scatter_allgather", 9, 9),
            ("rows", "broadcast (auto)", "binomial", 5, 5),
        }
