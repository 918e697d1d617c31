"""Run times of small Aspen models, computed by hand, in the original's reading and in ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.aspen.application import Application, load_application
from simcodesign.aspen.machine import AspenMachine, linked_by_conflicts
from simcodesign.aspen.timing import Timing, run_time

# Two nodes; on each one socket of 4 cores and a memory, and one of 8 slower cores that share everything.
# Fast: 8 cores of 1 flop/s, 2 memories of 4 B/s. Wide: 16 lanes of 1/2 flop/s. One network of 2 B/s.
MACHINE = """
param clock = 1 in 0.5 .. 4
param nodes = 2
machine Small { node [nodes] Node  interconnect Net }
interconnect Net { resource messages(bytes) [1 + bytes / 2] with separate(k) [k * base] }
node Node { socket [1] Fast  socket [1] Wide }
socket Fast { core [4] Core  memory Ram }
core Core {
  resource flops(n) [n / clock] with dp [base * 2], simd [base / 4], late [base + 1]
}
memory Ram {
  resource loads(bytes) [bytes / 4]
  resource stores(bytes) [bytes / 4]
  conflict loads, stores
}
socket Wide { core [8] Lane }
core Lane {
  resource flops(n) [2 * n]
  resource loads(bytes) [bytes]
  resource stores(bytes) [bytes]
  conflict loads, flops
}
"""

Run = Callable[..., Timing]


def application(folder: Path, body: str) -> Application:
    path = folder / "application.aspen"
    path.write_text(f"model m {{ {body} }}", encoding="utf-8")
    return load_application(path)


@pytest.fixture
def timed(machine: AspenMachine, folder: Path) -> Run:
    def run(body: str, parameters: dict[str, Any] | None = None, socket: str = "Fast", **options: Any) -> Timing:
        kernel = body if "kernel" in body else f"kernel main {{ {body} }}"
        return run_time(application(folder, kernel), machine, socket, parameters, **options)

    return run


# --- blocks -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "socket", "expected"),
    [
        ("execute { flops [12] }", "Fast", 12),
        ("execute [8] { flops [12] }", "Fast", 12),
        ("execute [9] { flops [12] }", "Fast", 24),  # 9 items on 8 cores: two rounds
        ("execute [16] { flops [12] }", "Wide", 24),
        ("execute [2] { flops [3] of size [5] }", "Fast", 15),
        ("execute { flops [12] as dp, simd }", "Fast", 12 * 2 / 4),
        ("execute { flops [12] as dp, late }", "Fast", 25),  # in turn: (12*2) + 1
        ("execute { flops [12] as late, dp }", "Fast", 26),  # (12 + 1) * 2
        ("execute { flops [2] flops [3] as dp }", "Fast", 2 + 6),  # one resource adds
        ("execute { flops [5] loads [12] }", "Fast", 5),  # two that overlap: max(5, 3)
        ("execute { flops [5] loads [12] stores [12] }", "Fast", 6),  # loads and stores exclude each other
        ("execute { flops [5] loads [12] stores [12] }", "Wide", 10 + 12),  # there flops and loads do
        ("execute [3] { messages [6] as separate(5) }", "Wide", 3 * 5 * 4),  # one network for all
        ("execute { }", "Fast", 0),
        ("iterate [3] { execute { flops [1] } execute { loads [8] } }", "Fast", 3 * (1 + 2)),
        ("seq { execute { flops [1] } execute { loads [8] } }", "Fast", 1 + 2),
        ("probability { [0.25] { execute { flops [8] } } [0.5] { } else { execute { flops [4] } } }", "Fast", 2 + 1),
    ],
)
def test_by_hand(timed: Run, body: str, socket: str, expected: float) -> None:
    for compatible in (False, True):
        timing = timed(body, socket=socket, compatible=compatible)
        assert timing.seconds == expected
        assert timing.warnings == ()


def test_parameters_of_both_sides_and_arrays_of_them(timed: Run) -> None:
    body = "param n = 3 param m = 2 * n kernel main { execute [m] { flops [n] } }"
    n, clock = np.array([3.0, 8.0, 10.0])[:, None], np.array([1.0, 2.0])
    timing = timed(body, {"n": n, "clock": clock})
    assert isinstance(timing.seconds, np.ndarray)
    np.testing.assert_array_equal(timing.seconds, np.ceil(2 * n / 8) * n / clock)
    assert timed(body, {"n": 3, "nodes": 1}).seconds == 2 * 3
    assert timed(body, {"n": 3, "m": 1}).seconds == 3


def test_a_name_of_both_sides_needs_its_side(timed: Run) -> None:
    body = "param clock = 3 kernel main { execute { flops [clock] } }"
    assert timed(body, {"machine.clock": 2, "application.clock": 8}).seconds == 4


# --- kernels, choices, arrays -----------------------------------------------------------------------------------


def test_kernels_with_arguments_and_local_names(timed: Run) -> None:
    body = """
      param n = 2   data d [n]
      kernel part(param n, data d) { param twice = 2 * n  execute { flops [twice] loads [d] from d } }
      kernel main { call part(n + 1, d)  call part(10, d)  call part(n + 1, d) }
    """
    assert timed(body).seconds == 6 + 20 + 6
    assert [(result.name, result.times, result.seconds) for result in timed(body).kernels] == [
        ("part", 3.0, 32.0),
        ("main", 1.0, 32.0),
    ]


def test_choices_point_by_point(timed: Run) -> None:
    body = """
      param n = 1
      kernel main {
        if (n < 2 or n > 5 and n < 8) { execute { flops [1] } }
        else if (n == 3) { execute { flops [10] } } else { execute { flops [100 / (9 - n)] } }
        switch (n) { [3] { execute { flops [1000] } } [5] { execute { flops [2000] } } }
      }
    """
    n = np.array([1.0, 3.0, 5.0, 6.0, 8.0, 9.0])
    expected = [1, 10 + 1000, 25 + 2000, 1, 100, np.inf]
    timing = timed(body, {"n": n})
    np.testing.assert_array_equal(timing.seconds, expected)
    assert timing.warnings == ("no finite run time at 1 of 6 points",)
    assert [timed(body, {"n": number}).seconds for number in n] == expected


def test_enumerations(timed: Run) -> None:
    body = """
      enum Way { short, long }   param way = long in Way
      kernel main { switch (way) { [short] { execute { flops [1] } } else { execute { flops [7] } } } }
    """
    assert timed(body).seconds == 7
    assert timed(body, {"way": "short"}).seconds == 1
    np.testing.assert_array_equal(timed(body, {"way": [0, 1]}).seconds, [1, 7])


def test_arrays_tables_and_lookup(timed: Run) -> None:
    body = """
      param i = 1   param v[] = {5, 0, 9}   param t[][] = {{1}, {2, 3, 4}}
      param x = 10  param keys[] = {0, 20, 30}  param found[] = {1, 5, 0}
      kernel main { execute { flops [v[i] + 10 * t[1][v[i] + 1] + 100 * lookup(found, keys, x)] } }
    """
    assert timed(body).seconds == 0 + 10 * 3 + 100 * 3
    x = np.array([-5.0, 0.0, 25.0, 90.0])
    np.testing.assert_array_equal(timed(body, {"x": x}).seconds, 30 + 100 * np.array([1.0, 1.0, 2.5, 0.0]))


def test_draws_are_means_or_seeded(timed: Run) -> None:
    body = """
      param n = 1   param at[] = {0, 4}  param up[] = {0, 1}
      kernel main { sample x from normal(5, 1) sample y from uniform(0, 2) sample z from cdf(at, up)
                    execute { flops [n * (x + 10 * y + 100 * z)] } }
    """
    timing = timed(body)
    assert timing.seconds == 5 + 10 + 200
    assert len(timing.warnings) == 3
    many = timed(body, {"n": np.ones(20_000)}, seed=1)
    assert many.warnings == ()
    # Independent draws: mean 215, variance 1 + 100/3 + 10000*16/12.
    deviation = np.sqrt(1 + 100 / 3 + 10_000 * 16 / 12)
    assert abs(np.mean(many.seconds) - 215) < 5 * deviation / np.sqrt(20_000)
    assert abs(np.std(many.seconds) / deviation - 1) < 0.05
    np.testing.assert_array_equal(many.seconds, timed(body, {"n": np.ones(20_000)}, seed=1).seconds)


def test_imports(folder: Path, machine: AspenMachine) -> None:
    (folder / "part.aspen").write_text(
        "model part { param n = 100 param m = 2*n data d [n] kernel k { execute { flops [m] loads [4*d] from d } } "
        "kernel main { call k } }",
        encoding="utf-8",
    )
    body = 'import part from "part.aspen" with n = size + 1 param size = 4 data e [3] kernel main { call part.main }'
    importing = application(folder, body)
    assert run_time(importing, machine, "Fast").seconds == 10
    assert run_time(importing, machine, "Fast", {"size": 7}).seconds == 16
    assert run_time(importing, machine, "Fast", {"part.n": 7}).seconds == 14
    assert run_time(importing, machine, "Fast", kernel="part.k").seconds == 10
    other = application(folder, body.replace("n = size + 1", "d = e, m = part.n / 50"))
    assert run_time(other, machine, "Fast").seconds == 3
    assert [result.name for result in run_time(other, machine, "Fast").kernels] == ["part.k", "part.main", "main"]


def test_undefined_traits_are_told_once_each(timed: Run) -> None:
    timing = timed("execute { flops [2] as sp, dp flops [3] as sp loads [1] as sp }")
    assert timing.seconds == 2 * 2 + 3
    flops, loads = timing.warnings
    assert "column" in flops
    assert flops.endswith("and 1 more: flops of Core has no trait 'sp', it is ignored")
    assert loads.endswith(": loads of Ram has no trait 'sp', it is ignored")


# --- counters ---------------------------------------------------------------------------------------------------


def test_counters_count_from_zero(timed: Run) -> None:
    body = """
      param n = 3   param v[] = {6, 11, 30, 100}
      kernel one(param x) { execute { flops [x] } }
      kernel main { iterate i [n] { call one(v[i]) iterate j [i] { execute { flops [1000 * i + j] } } } }
    """

    def expected(n: int) -> float:
        return sum([6, 11, 30, 100][i] + sum(1000 * i + j for j in range(i)) for i in range(n))

    assert timed(body).seconds == expected(3)
    n = np.array([[0], [1], [4]])
    np.testing.assert_array_equal(timed(body, {"n": n}).seconds, [[expected(int(k))] for k in n[:, 0]])
    block = timed(body, {"n": 4}).blocks[0]
    assert (block.kernel, block.times, block.seconds) == ("one", 4, 147)


def test_a_counter_that_is_not_used_costs_nothing(timed: Run) -> None:
    assert timed("iterate i [1e12] { execute { flops [1] } }").seconds == 1e12


# --- map and par ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "ours", "original"),
    [
        ("map [8] { execute { flops [3] } }", 3, 24),  # one on each core
        ("map [9] { execute { flops [3] } }", 6, 27),
        ("map [3] { execute [8] { flops [3] } }", 9, 9),  # every core has work already
        ("map [3] { execute [9] { flops [3] } }", 12, 18),  # 27 items in 4 rounds, not 3 times 2
        ("map [2] { map [4] { execute { flops [3] } } }", 3, 24),
        ("map [4] { iterate [5] { execute { flops [3] } } }", 15, 60),
        ("map [4] { execute { messages [2] } }", 8, 8),  # one network
        ("map [0] { execute { flops [1] } }", 0, 0),
        ("map i [4] { execute { flops [i] } }", 1.5, 6),  # the mean of 0, 1, 2, 3
        ("par { execute { flops [3] } execute { flops [5] } }", 5, 8),
        ("par { execute [8] { flops [3] } execute [8] { flops [5] } }", 8, 8),  # the cores are full
        ("par { execute [4] { flops [3] } execute [8] { flops [5] } }", 6.5, 8),  # 12 + 40 core seconds
        ("par { execute [2] { loads [8] } execute [2] { stores [16] } }", 6, 6),  # exclude each other
        ("par { execute { flops [3] } execute { messages [8] } }", 5, 8),
        ("par { seq { execute { flops [3] } execute { flops [1] } } execute { messages [2] } }", 4, 6),
        ("par { }", 0, 0),
    ],
)
def test_map_and_par(timed: Run, body: str, ours: float, original: float) -> None:
    timing = timed(body)
    assert timing.seconds == ours
    assert timing.compatible_seconds == original
    assert timing.overlap_s == original - ours
    compatible = timed(body, compatible=True)
    assert (compatible.seconds, compatible.overlapped_seconds) == (original, ours)


def test_what_is_used_does_not_depend_on_the_reading(timed: Run) -> None:
    body = "kernel k { execute [3] { flops [5] } } kernel main { map [4] { call k } par { call k call k } }"
    for compatible in (False, True):
        timing = timed(body, compatible=compatible)
        (block,) = timing.blocks
        (use,) = block.uses
        assert (block.times, use.uses, use.amount, use.busy_s, use.instances) == (6, 18, 90, 90, 8)
        assert [(result.name, result.times) for result in timing.kernels] == [("k", 6), ("main", 1)]


BLOCKS = st.builds(
    lambda p, flops, loads, sent: f"execute [{p}] {{ flops [{flops}] loads [{loads}] messages [{sent}] }}",
    st.integers(0, 40),
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(0, 3),
)


def wrapped(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    lists = st.lists(parts, min_size=1, max_size=3).map(" ".join)
    return st.one_of(
        lists.map(lambda text: f"par {{ {text} }}"),
        lists.map(lambda text: f"seq {{ {text} }}"),
        st.tuples(st.integers(0, 20), lists).map(lambda pair: f"map [{pair[0]}] {{ {pair[1]} }}"),
        st.tuples(st.integers(0, 5), lists).map(lambda pair: f"iterate [{pair[0]}] {{ {pair[1]} }}"),
        st.tuples(parts, parts).map(lambda pair: f"if (n < 3) {{ {pair[0]} }} else {{ {pair[1]} }}"),
        parts.map(lambda text: f"probability {{ [1 / n] {{ {text} }} }}"),
    )


@given(st.recursive(BLOCKS, wrapped, max_leaves=6), st.sampled_from(["Fast", "Wide"]))
def test_overlap_never_costs_and_points_are_independent(
    machine: AspenMachine, folder: Path, body: str, socket: str
) -> None:
    result = application(folder, f"param n = 2 kernel main {{ {body} }}")
    n = np.array([1.0, 2.0, 3.0, 7.0])
    timing = run_time(result, machine, socket, {"n": n})
    seconds = np.broadcast_to(timing.seconds, n.shape)
    assert np.all(seconds <= np.asarray(timing.compatible_seconds) * (1 + 1e-12))
    single = [run_time(result, machine, socket, {"n": number}).seconds for number in n]
    np.testing.assert_allclose(seconds, single, rtol=1e-12)
    # No resource does more than its instances can in that time, and blocks say the same as the whole.
    busy: dict[str, Any] = {}
    for block in timing.blocks:
        for use in block.uses:
            busy[use.resource] = busy.get(use.resource, 0.0) + np.asarray(use.busy_s) / use.instances
    for work in busy.values():
        assert np.all(work <= seconds * (1 + 1e-12) + 1e-12)


# --- machines ---------------------------------------------------------------------------------------------------


def test_the_parts_of_a_machine(machine: AspenMachine) -> None:
    assert machine.sockets == ("Fast", "Wide")
    counts = machine.counts(machine.scope({"nodes": np.float64(3)}))
    expected = {"Small": 1, "Node": 3, "Net": 1, "Fast": 3, "Wide": 3, "Core": 12, "Ram": 3, "Lane": 24}
    assert counts == expected
    assert sorted(machine.resources("Fast")) == ["flops", "loads", "messages", "stores"]
    assert machine.search_range("clock") == (0.5, 4)


def test_conflicts_join_through_a_third() -> None:
    pairs = frozenset({frozenset("ab"), frozenset("cd"), frozenset("bc")})
    assert [sorted(group) for group in linked_by_conflicts("adbxc", pairs)] == [["x"], ["a", "b", "c", "d"]]
    assert linked_by_conflicts("ad", pairs) == [["a"], ["d"]]
