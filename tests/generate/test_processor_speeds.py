"""Speeds of processors: what machine files may say, who has which, and how long computations take with them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError
from simcodesign.describe.design_point import bind
from simcodesign.describe.effects import Mechanism
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.scenario import Scenario
from simcodesign.engine.simulate import simulate
from simcodesign.generate.randomness.random_streams import speed_factors
from simcodesign.studies.elasticities.elasticities import elasticities
from tests.builders import machine, network, read_machine, workload

WORK = "- compute: {flops: 6}\n"


def described(speeds: str, nodes: str = "2", per_node: int = 4) -> Machine:
    return read_machine(
        f"simcodesign: 1\nname: m\nnodes: {nodes}\nprocessors_per_node: {per_node}\n"
        f"processor: {{rate: 1, speeds: {speeds}}}\nnetwork: {{startup: 0, bandwidth: 1, topology: {{kind: crossbar}}}}\n"
    )


def uneven(nodes: int, per_node: int, speeds: tuple[float, ...], mapping: str = "linear") -> Machine:
    made = machine(network(nodes), processors_per_node=per_node, mapping=mapping)
    return Machine(made.name, Processor(1.0, speeds=speeds), made.network, None, per_node, mapping)


def speeds_of(made: Machine, ranks: int) -> list[float]:
    factors = speed_factors(bind(workload(WORK), made, {"P": ranks}), {Mechanism.UNEVEN_RANKS})
    assert factors is not None
    speeds: list[float] = (1 / factors).tolist()
    return speeds


@pytest.mark.parametrize(
    ("speeds", "of_ranks"),
    [
        ("[2, 0.5]", [2, 2, 2, 2, 0.5, 0.5, 0.5, 0.5]),
        ("[1, 2, 3, 4]", [1, 1, 2, 2, 3, 3, 4, 4]),
        ("[1, 2, 3, 4, 5, 6, 7, 8]", [1, 2, 3, 4, 5, 6, 7, 8]),
        ("[100 %, 50 %]", [1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5]),
    ],
)
def test_speeds_of_nodes_of_sockets_and_of_processors(speeds: str, of_ranks: list[float]) -> None:
    assert speeds_of(described(speeds), 8) == of_ranks


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_ranks_compute_at_their_speeds_with_imbalance_alone(engine: str) -> None:
    made, program = uneven(2, 2, (2.0, 1.0, 3.0, 0.5)), workload(WORK)
    with_speeds = simulate(program, made, {"P": 4}, effects=("imbalance",), engine=engine)
    assert with_speeds.ranks is not None
    assert with_speeds.ranks.end_s.tolist() == [3, 6, 2, 12]
    assert simulate(program, made, {"P": 4}, effects=(), engine=engine).makespan_s == 6
    assert forecast(program, made, {"P": 4}).makespan_s == 6


def test_the_mapping_says_which_processor_a_rank_has() -> None:
    made = uneven(2, 2, (2.0, 1.0, 3.0, 0.5), mapping="round_robin")
    assert speeds_of(made, 4) == [2, 3, 1, 0.5]  # ranks 0 and 2 are on node 0, ranks 1 and 3 on node 1


@settings(deadline=None)
@given(st.integers(1, 4), st.integers(1, 6), st.data())
def test_of_independent_work_the_slowest_rank_counts(nodes: int, per_node: int, data: st.DataObject) -> None:
    parts = data.draw(st.sampled_from([each for each in range(1, per_node + 1) if per_node % each == 0]))
    drawn = data.draw(st.lists(st.sampled_from([0.25, 0.5, 2, 4]), min_size=nodes * parts, max_size=nodes * parts))
    ranks = data.draw(st.integers(1, nodes * per_node))
    result = simulate(workload(WORK), uneven(nodes, per_node, tuple(drawn)), {"P": ranks}, effects=("imbalance",))
    expected = max(
        Fraction(6) / Fraction(drawn[rank // per_node * parts + rank % per_node * parts // per_node])
        for rank in range(ranks)
    )
    assert result.makespan_s == float(expected)


@pytest.mark.parametrize("speeds", ["[1, 1, 1]", "[]", "[1, 0]", "[1, -1]", "[1, 1e7]", "2", "[1, x]"])
def test_bad_speeds_are_refused(speeds: str) -> None:
    with pytest.raises(InputError, match="speeds"):
        described(speeds)


def test_speeds_need_a_number_of_nodes() -> None:
    with pytest.raises(InputError, match="as many as the ranks need"):
        described("[1, 1]", nodes="P")


def test_what_nearer_speeds_would_help() -> None:
    made = uneven(2, 1, (0.5, 1.0))  # 12 s and 6 s; a tenth nearer to their mean of 9 s: 11.727 s
    helped = elasticities(Scenario(workload(WORK), made, {"P": 2}), effects=("imbalance",))
    change = next(one for one in helped.improvements if one.what == "processor.speeds")
    assert change.simulated == pytest.approx((9 + 3 / 1.1) / 12 - 1)
    assert change.forecast == 0
