"""Requirements of a process against messages counted one by one, formulas by hand, and the models as they are printed."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.collectives.algorithm_form import ALGORITHM_FORMS
from simcodesign.analytic.formulas.model_text import footprint_terms, model_texts, short
from simcodesign.analytic.messages.collective_traffic import collective_traffic
from simcodesign.analytic.requirements_per_process import requirements, skeleton
from simcodesign.core.errors import CapacityError, InputError
from simcodesign.core.expressions.expression import parse
from simcodesign.describe.demands.collective import ALGORITHMS, ON_NODES, every_algorithm
from simcodesign.describe.design_point import bind
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_workload
from simcodesign.engine.simulate import simulate
from tests import examples
from tests.builders import algorithm_entry, workload
from tests.shipped_pairs import plain_workloads

APPS = ("kripke", "lulesh", "milc", "relearn", "icofoam")
WAYS = [key for key in every_algorithm() if key not in ON_NODES]  # what these send depends on the ranks of a node
#: Sums of a few products in another order.
ROUNDING = 1e-12


def collective(name: str, way: str) -> Workload:
    return workload(f"[{{{name}: {{{'' if name == 'barrier' else 'bytes: 64, '}{algorithm_entry(name, way)}}}}}]")


@pytest.mark.parametrize(("name", "way"), WAYS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 7, 8, 12, 64])
def test_messages_are_those_that_are_sent(name: str, way: str, ranks: int) -> None:
    sent = (
        collective_traffic(ALGORITHM_FORMS[name, way].steps(ranks), 64 if name != "barrier" else 0).load_bytes.sum()
        / ranks
    )
    requirement = requirements(collective(name, way), {"P": ranks}, counting="messages")
    assert requirement.sent_bytes == pytest.approx(sent, rel=ROUNDING)


@pytest.mark.parametrize(("name", "way"), WAYS)
def test_cost_functions_are_the_messages_of_powers_of_two(name: str, way: str) -> None:
    ranks = 2.0 ** np.arange(11)
    values = [
        requirements(collective(name, way), {"P": ranks}, counting=it).sent_bytes
        for it in ("cost_functions", "messages")
    ]
    assert values[0] == pytest.approx(values[1], rel=ROUNDING)


def test_cost_functions_of_the_paper_hold_between_powers_of_two() -> None:
    for name, expected in (("allreduce", math.log2(458752)), ("broadcast", 458751 / 458752), ("all_to_all", 458751)):
        requirement = requirements(collective(name, ALGORITHMS[name][0]), {"P": 458752})
        assert requirement.sent_bytes == pytest.approx(64 * expected, rel=ROUNDING)


@pytest.mark.parametrize("name", sorted({*plain_workloads()} - {"matmul"}))
def test_a_simulation_sends_as_many_bytes(name: str) -> None:
    """The messages of the program itself, whatever the machine."""
    given = {"P": 16}
    requirement = requirements(name, given, counting="messages")
    assert simulate(name, "torus-cluster", given, effects="none").message_bytes == pytest.approx(
        16 * requirement.sent_bytes, rel=1e-11
    )


@pytest.mark.parametrize("name", APPS)
def test_a_grid_with_every_dimension_sends_what_the_cost_functions_say(name: str) -> None:
    ranks = 2.0 ** np.arange(4, 30)
    values = [requirements(name, {"P": ranks}, counting=way).sent_bytes for way in ("cost_functions", "messages")]
    assert values[0] == pytest.approx(values[1], rel=ROUNDING)


def test_everything_is_added_up() -> None:
    text = """
  - phase: one
    repeat: 3
    do:
      - compute: {flops: 10*n}
      - compute: {loops: [{range: n, operations: 2}, {range: 5, operations: P}]}
      - compute: {seconds: 4}
      - read: {bytes: 100, times: 2}
      - write: {bytes: n, when: rank < 2}
      - memory: {loads: 6, stores: 2*n, stack_distance: [{fraction: 0.5, distance: 8}, {fraction: 0.25, distance: n}]}
      - exchange: {pattern: halo2d, bytes: [10, 20], messages: [1, 3]}
  - send: {to: (rank + 1) % P, bytes: 8*rank}
  - receive: {from: (rank - 1) % P}
"""
    requirement = requirements(workload(text, "parameters: {n: {default: 7}}\nfootprint: 8*n*P\n"), {"P": 4})
    assert requirement.flops == 3 * (70 + 14 + 20)
    assert requirement.disk_bytes == 3 * (200 + 7 / 2)
    assert requirement.loads_stores == 3 * 20
    assert requirement.weighted_accesses == 3 * 20 * (0.5 * 8 + 0.25 * 7)
    assert requirement.sent_bytes == 3 * 2 * (10 + 60) + 8 * 1.5
    assert requirement.footprint_bytes == 224
    assert set(requirement.to_dict()) == {
        "flops",
        "sent_bytes",
        "loads_stores",
        "weighted_accesses",
        "disk_bytes",
        "footprint_bytes",
    }


def test_kernels_count_their_own_accesses() -> None:
    """A naive product of matrices: 2 n^3 loads of A and B and whatever C takes; every distance is below 3 n^2."""
    requirement = requirements("matmul", {"n": 16, "b": 4, "P": 2}, phases=["naive"])
    assert requirement.flops == 2 * 16**3
    assert 2 * 16**3 <= requirement.loads_stores <= 2 * 16**3 + 3 * 16**2
    assert 0 < requirement.weighted_accesses < requirement.loads_stores * 3 * 16**2
    twice = requirements("matmul", {"n": 16, "b": 4, "P": 2, "products": 2}, phases=["naive"])
    assert twice.weighted_accesses == pytest.approx(2 * requirement.weighted_accesses)
    with pytest.raises(CapacityError, match="too many"):
        requirements("matmul", {"n": 400, "b": 4, "P": 2}, phases=["naive"])
    with pytest.raises(InputError, match="single size"):
        requirements("matmul", {"n": [16, 32], "b": 4, "P": 2})


@pytest.mark.parametrize("name", APPS)
@given(data=st.data())
@settings(max_examples=examples(25), deadline=None)
def test_arrays_are_single_points(name: str, data: st.DataObject) -> None:
    ranks = data.draw(st.lists(st.integers(1, 2**40), min_size=1, max_size=3))
    sizes = data.draw(st.lists(st.floats(1, 1e12), min_size=1, max_size=3))
    every = requirements(name, {"P": ranks, "n": np.array(sizes)[:, None]})
    for row, column in np.ndindex(len(sizes), len(ranks)):
        one = requirements(name, {"P": ranks[column], "n": sizes[row]}).to_dict()
        for metric, value in every.to_dict().items():
            assert np.broadcast_to(value, (len(sizes), len(ranks)))[row, column] == pytest.approx(
                one[metric], rel=ROUNDING
            )


@pytest.mark.parametrize(
    ("program", "given", "what"),
    [
        ("[compute: {flops: 1}]", {}, "need P"),
        ("[compute: {flops: 1}]", {"P": 2, "n": 3}, "no parameter 'n'"),
        ("[compute: {flops: 1 - P}]", {"P": 2}, "negative"),
        ("[compute: {flops: 1/(P - 2)}]", {"P": 2}, "not finite"),
        ("[compute: {flops: rank}]", {"P": [2, 3]}, "one number"),
        ("[{exchange: {pattern: halo1d, bytes: 0 - 8}}]", {"P": 2}, "negative"),
    ],
)
def test_what_has_no_requirements(program: str, given: dict[str, object], what: str) -> None:
    with pytest.raises(InputError, match=what):
        requirements(workload(program), given)


def test_counting_must_be_known() -> None:
    with pytest.raises(InputError, match=r"cost_functions, messages"):
        requirements("milc", {"P": 2}, counting="guess")


# Models as text.


def evaluated(text: str, n: float, p: float) -> float:
    """A printed model as a number, by replacing what people write."""
    text = text.replace("Allreduce(p)", "log2(p)").replace("Bcast(p)", "((p - 1)/p)").replace("Alltoall(p)", "(p - 1)")
    text = re.sub(r"(?<=[\w)]) (?=[\w(])", "*", text.replace("^", "**"))
    return float(parse(text).evaluate({"n": n, "p": p}))


#: Workloads with the bases of their logarithms, and their presets.
PRINTED = [
    *((name, {}, None) for name in APPS),
    *((name, {"n_base": math.e, "p_base": 10}, None) for name in APPS[1:]),
    ("lulesh", {}, "additive"),
]


@pytest.mark.parametrize(("name", "bases", "preset"), PRINTED)
def test_printed_models_are_the_requirements(name: str, bases: dict[str, float], preset: str | None) -> None:
    described, given = load_workload(name), {"n": 12345.5, "P": 48, **bases}
    texts = model_texts(described, bind(described, skeleton(), given, preset=preset).values)
    requirement = requirements(described, given, preset=preset)
    expected = {
        metric: value
        for metric, value in requirement.to_dict().items()
        if metric not in ("weighted_accesses", "disk_bytes")
    }
    expected["stack_distance"] = requirement.weighted_accesses / requirement.loads_stores
    assert texts.keys() == expected.keys()
    for metric, text in texts.items():
        assert evaluated(text, 12345.5, 48) == pytest.approx(expected[metric], rel=1e-9), text


def test_models_are_written_as_in_papers() -> None:
    described = load_workload("lulesh")
    values = bind(described, skeleton(), {"P": 8}).values
    assert model_texts(described, values)["flops"] == "1e5 n log2(n) p^0.25 log2(p)"
    assert model_texts(described, {**values, "n_base": math.e})["footprint_bytes"] == "1e5 n log(n)"
    assert model_texts(described, {**values, "additive": 1.0})["flops"] == "1e5 n log2(n) + p^0.25 log2(p)"
    assert len(model_texts(load_workload("cg"), bind(load_workload("cg"), skeleton(), {"P": 8}).values)["flops"]) < 300


def test_terms_of_a_footprint_add_up_to_it() -> None:
    described = load_workload("icofoam")
    point = bind(described, skeleton(), {"P": 2e9, "n": 1})
    terms = footprint_terms(described, point.values)
    assert [term.text for term in terms] == ["100 p log2(p)", "1e3 n"]
    assert sum(term.value for term in terms) == pytest.approx(point.footprint_bytes)
    assert terms[0].value == pytest.approx(100 * 2e9 * math.log2(2e9))
    assert footprint_terms(load_workload("jacobi"), {}) == ()


@given(st.floats(1e-12, 1e15))
def test_short_numbers_are_the_number_to_six_digits(value: float) -> None:
    assert float(short(value)) == pytest.approx(value, rel=1e-5)
    assert (short(1e5), short(1000.0), short(0.25), short(64.0)) == ("1e5", "1e3", "0.25", "64")
