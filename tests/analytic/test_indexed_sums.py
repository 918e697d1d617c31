"""Sums over the iterations of a loop in closed form: weights against plain sums, and when they are taken."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.indexed_loops.index_shapes import Shape
from simcodesign.analytic.indexed_loops.indexed_sums import geometric_nodes, in_few_iterations, polynomial_nodes
from simcodesign.core.expressions.expression import parse
from simcodesign.describe.design_point import bind
from simcodesign.describe.evaluation import EvaluatedBlock, Evaluation
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_machine
from tests import examples
from tests.builders import workload

HEAD = (
    "parameters: {n: {default: 50}, m: {default: 1000}, r: {default: 0.5}, q: {default: 4}}\ngroups: {row: rank // q}\n"
)


@settings(max_examples=examples(300))
@given(st.integers(0, 2000), st.lists(st.integers(0, 9), min_size=1, max_size=7))
def test_weights_of_polynomials(count: int, coefficients: list[int]) -> None:
    """Of coefficients from 0 on, so that no digit is lost in the sum itself."""

    def value(k: int) -> int:
        return sum(factor * k**power for power, factor in enumerate(coefficients))

    nodes, weights = polynomial_nodes(np.array(float(count)), len(coefficients) - 1)
    assert (nodes == np.floor(nodes)).all()
    assert (nodes[weights != 0] < count).all()
    total = sum((Fraction(value(int(k))) * Fraction(w) for k, w in zip(nodes, weights, strict=True)), start=Fraction(0))
    expected = sum(value(k) for k in range(count))
    assert float(total) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_weights_at_several_points() -> None:
    counts = np.array([[0.0, 1.0, 3.0], [10.0, 1000.0, 3.0]])
    nodes, weights = polynomial_nodes(counts, 2)
    assert nodes.shape == weights.shape == (3, 2, 3)
    for place in np.ndindex(counts.shape):
        one_nodes, one_weights = polynomial_nodes(counts[place], 2)
        assert (nodes[:, *place] == one_nodes).all()
        assert (weights[:, *place] == one_weights).all()


@settings(max_examples=examples(300))
@given(st.integers(0, 400), st.floats(0.01, 4.0), st.floats(0, 10), st.floats(0, 10))
def test_weights_of_geometric_terms(count: int, ratio: float, constant: float, factor: float) -> None:
    nodes, weights = geometric_nodes(np.array(float(count)), ratio)
    with np.errstate(over="ignore"):
        total = float((weights * (constant + factor * ratio**nodes)).sum())
        expected = float((constant + factor * ratio ** np.arange(count)).sum())
    assert (weights >= 0).all()
    if np.isfinite(expected):
        assert total == pytest.approx(expected, rel=1e-11, abs=1e-300)


@pytest.mark.parametrize(
    ("text", "degree", "ratio"),
    [
        ("n**2 + log2(m)", 0, None),
        ("(n - k)*(n - k - 1)/2", 2, None),
        ("-m*(k - 2)**2*k", 3, None),
        ("max(n, m) * k", 1, None),
        ("m + 3*m*r**(n - 2*k)", 0, 0.5**-2),
        ("2**(-k)", 0, 0.5),
        ("7/4**k", None, None),
        ("k*r**k", None, None),
        ("r**k + 2**k", None, None),
        ("k**r", None, None),
        ("k % 3", None, None),
        ("sqrt(k)", None, None),
        ("n/(k + 1)", None, None),
        ("where(k < 2, 1, 2)", None, None),
        ("2**(k*k)", None, None),
    ],
)
def test_shapes_of_formulas(text: str, degree: int | None, ratio: float | None) -> None:
    shape = Shape.of(parse(text).tree, "k")
    assert (None if shape is None else shape.degree) == degree
    if ratio is not None:
        assert shape is not None
        assert shape.ratio is not None
        assert shape.ratio.value({"n": 10.0, "m": 3.0, "r": 0.5}, "k") == pytest.approx(ratio)


def loop_over(*steps: str) -> Workload:
    return workload("- repeat: n\n  index: k\n  do:\n" + "".join(f"    - {step}\n" for step in steps), HEAD)


def closed(program: Workload, machine: str = "torus-cluster", **values: float) -> EvaluatedBlock | None:
    point = bind(program, load_machine(machine), {"P": 16, **values})
    (block,) = Evaluation.at_points(point).program.steps()
    assert isinstance(block, EvaluatedBlock)
    return in_few_iterations(block)


@pytest.mark.parametrize(
    ("step", "nodes"),
    [
        ("compute: {flops: (n - k)**2}", 3),
        ("compute: {loops: [{range: n - k, operations: m*k}]}", 3),
        ("broadcast: {bytes: m*(n - k)}", 2),
        ("broadcast: {bytes: m*(n - k), root: k % q, group: row}", 2),
        ("broadcast: {bytes: m*r**k}", 2),
        ("write: {bytes: m*k, times: k}", 3),
        ("allreduce: {bytes: 8}", 1),
    ],
)
def test_few_iterations_are_enough(step: str, nodes: int) -> None:
    part = closed(loop_over(step))
    assert part is not None
    assert part.nodes is not None
    assert len(part.nodes.index) == nodes


@pytest.mark.parametrize(
    "step",
    [
        "compute: {flops: m, when: rank == k % P}",
        "compute: {flops: sqrt(k)}",
        "broadcast: {bytes: m*k, root: k}",  # beyond the ranks
        "broadcast: {bytes: m*k, root: k / n}",
        "broadcast: {bytes: m*k, algorithm: chain, segment: 100}",
        "{repeat: k, do: [{compute: {flops: m}}]}",
    ],
)
def test_all_iterations_are_needed(step: str) -> None:
    assert closed(loop_over(step), n=20) is None


def test_a_price_with_a_kink_is_summed_iteration_by_iteration() -> None:
    """Two ranks of a chain: the larger of a send and a receive counts, so that the price bends where these are equal."""
    program = loop_over("broadcast: {bytes: m*k, algorithm: chain}", "broadcast: {bytes: m*k, order: near}")
    overhead = {"network.receive_overhead": 20e-6}
    some = [closed(program, P=ranks, **overhead) for ranks in (2, 3, 5, 7, 16)]
    for ranks, part in zip((2, 3, 5, 7, 16), some, strict=True):
        values = {"P": ranks, "n": 50, **overhead}
        written = "".join(
            f"- broadcast: {{bytes: m*{k}, algorithm: chain}}\n- broadcast: {{bytes: m*{k}, order: near}}\n"
            for k in range(50)
        )
        expected = forecast(workload(written, HEAD), "torus-cluster", values).makespan_s
        assert forecast(program, "torus-cluster", values).makespan_s == pytest.approx(expected, rel=1e-12), part


def test_many_points_at_once() -> None:
    program = loop_over("broadcast: {bytes: m*(n - k)}", "compute: {flops: (n - k)**2}")
    n = np.array([0.0, 1.0, 2.0, 7.0, 1000.0])
    many = forecast(program, "torus-cluster", {"P": 16, "n": n})
    for place, count in enumerate(n):
        one = forecast(program, "torus-cluster", {"P": 16, "n": count})
        assert np.asarray(many.makespan_s)[place] == pytest.approx(float(one.makespan_s), rel=1e-13)
        flops = 16 * sum((count - k) ** 2 for k in range(int(count)))
        assert np.asarray(many.flops)[place] == pytest.approx(flops, rel=1e-12)
