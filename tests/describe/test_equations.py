"""The order of equations, and what cannot be ordered."""

from __future__ import annotations

from itertools import pairwise

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError, Place
from simcodesign.core.expressions.expression import Expression, parse
from simcodesign.describe.equations import ordered


def _equations(**texts: str) -> dict[str, Expression]:
    lines = enumerate(texts.items(), start=20)
    return {name: parse(text, Place("w.yaml", line, name)) for line, (name, text) in lines}


def test_order() -> None:
    assert ordered({}, ["n"]) == []
    assert ordered(_equations(c="b + a", b="a*n", a="n", d="2"), {"n": 1.0}) == ["a", "d", "b", "c"]


@given(st.integers(1, 25).flatmap(lambda n: st.lists(st.tuples(*[st.integers(0, n - 1)] * 2), max_size=60)))
def test_order_or_cycle_as_networkx_sees_it(edges: list[tuple[int, int]]) -> None:
    graph = networkx.DiGraph([(f"e{needed}", f"e{user}") for user, needed in edges])
    texts = {name: " + ".join(["n", *graph.predecessors(name)]) for name in sorted(graph)}
    equations = {name: parse(text) for name, text in texts.items()}
    if networkx.is_directed_acyclic_graph(graph):
        order = ordered(equations, ["n"])
        assert sorted(order) == sorted(graph)
        assert all(order.index(a) < order.index(b) for a, b in graph.edges)
        return
    with pytest.raises(InputError) as caught:
        ordered(equations, ["n"])
    cycle = caught.value.what.partition(": ")[2].split(" -> ")
    if not any("more" in name for name in cycle):
        assert cycle[0] == cycle[-1]
        assert len(set(cycle)) == len(cycle) - 1
        assert all(graph.has_edge(b, a) for a, b in pairwise(cycle))


def test_cycle_is_named() -> None:
    with pytest.raises(InputError, match=r"^w.yaml:21: a: equations need each other: a -> b -> a"):
        ordered(_equations(c="a", a="b + 1", b="2*a"), [])
    with pytest.raises(InputError, match="a -> a"):
        ordered(_equations(a="a + 1"), [])


def test_unknown_and_taken_names() -> None:
    with pytest.raises(InputError, match=r"^w.yaml:20: a: unknown name 'bytse'.*did you mean 'bytes'"):
        ordered(_equations(a="bytse*2"), ["bytes", "n"])
    with pytest.raises(InputError, match="has the name of a known value"):
        ordered(_equations(n="2"), ["n"])


@pytest.mark.thorough
def test_ten_thousand_equations() -> None:
    count = 10_000
    equations = {f"e{i}": parse(f"e{i + 1} + 1") for i in range(count - 1)} | {f"e{count - 1}": parse("n")}
    assert ordered(equations, ["n"]) == [f"e{i}" for i in reversed(range(count))]
    equations[f"e{count - 1}"] = parse("e0")
    with pytest.raises(InputError, match=r"e0 -> e1 -> .* more\) -> e9999 -> e0") as caught:
        ordered(equations, ["n"])
    assert len(str(caught.value)) < 400
