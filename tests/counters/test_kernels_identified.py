"""Kernels found from runs: by share, by a time that does not fall, and all others as one; errors of shares."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.counters.kernels import REST, cpi_variance, grouped, identify, nrmse
from simcodesign.counters.table import APPLICATION, CounterTable, counter_table, joined
from tests import examples
from tests.oracles import counter_runs as made_up


def table(times: dict[str, list[float]], processes: tuple[float, ...] = (2, 4, 8), **more: object) -> CounterTable:
    return counter_table(
        [
            {"kernel": name, "processes": P, "time_s": value, **more}
            for name, values in times.items()
            for P, value in zip(processes, values, strict=True)
        ]
    )


def test_three_kinds() -> None:
    identified = identify(
        table(
            {"solve": [60, 30, 15], "serial": [1, 1, 1], "grows": [1, 2, 3], "a": [1, 0.5, 0.25], "b": [1.2, 0.6, 0.3]}
        )
    )
    assert identified.names == ("solve", "grows", "serial", REST)
    assert identified.non_scaling == ("grows", "serial")
    assert identified.rest == ("a", "b")
    assert [kernel.key for kernel in identified.kernels] == [True, True, True]  # the serial one is 5.1 % on 8 processes
    assert identified.processes == (2, 4, 8)
    assert identified.rest_fractions[0] == pytest.approx(2.2 / 64.2)


def test_a_share_of_just_the_threshold_is_not_above_it() -> None:
    shares = {"solve": [95, 47.5, 23.75], "at": [5, 2.5, 1.25]}
    assert identify(table(shares)).rest == ("at",)
    assert identify(table(shares), threshold=0.049).rest == ()


@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(st.floats(0.01, 100), min_size=2, max_size=6),
    st.lists(st.floats(-1.5, 0.5), min_size=6, max_size=6),
    st.floats(0.01, 0.5),
)
def test_every_function_is_in_one_place(first: list[float], exponents: list[float], threshold: float) -> None:
    times = {f"f{k}": [t * P**e for P in (1, 2, 3)] for k, (t, e) in enumerate(zip(first, exponents, strict=False))}
    identified = identify(table(times, (1, 2, 3)), threshold)
    assert sorted([kernel.name for kernel in identified.kernels] + list(identified.rest)) == sorted(times)
    sums = np.sum([kernel.fractions for kernel in identified.kernels] + [identified.rest_fractions], axis=0)
    assert sums == pytest.approx(np.ones(3))
    for kernel in identified.kernels:
        assert kernel.exponent == pytest.approx(
            math.log(times[kernel.name][2] / times[kernel.name][0]) / math.log(3), abs=1e-9
        )
        assert max(kernel.fractions) > threshold or kernel.exponent >= -0.1


def test_the_rest_is_added_up() -> None:
    runs = made_up.runs()
    identified = identify(runs)
    assert identified.rest == ("small_a", "small_b")
    merged = grouped(runs, identified)
    parts = runs.of("small_a").column("cycles") + runs.of("small_b").column("cycles")
    assert merged.of(REST).column("cycles") == pytest.approx(parts)


def test_functions_that_come_and_go() -> None:
    rows = [{"kernel": "solve", "processes": P, "time_s": 100 / P} for P in (2, 4, 8)]
    rows.append({"kernel": "comes", "processes": 8, "time_s": 0.01})
    rows.append({"kernel": "goes", "processes": 2, "time_s": 0.01})
    rows.append({"kernel": APPLICATION, "processes": 2, "time_s": 60.0})
    identified = identify(counter_table(rows))
    assert identified.non_scaling == ("comes",)
    assert identified.rest == ("goes",)


def test_with_weak_scaling_a_constant_time_scales() -> None:
    tables = [table({"solve": [1.0], "serial": [0.01 * P]}, (P,), size=10.0 * P) for P in (2, 4, 8)]
    identified = identify(joined(tables))
    assert identified.non_scaling == ("serial",)


@pytest.mark.parametrize(
    ("given_table", "threshold", "words"),
    [
        (table({"a": [1, 2]}, (2, 4)), 0.05, "2: P = 2, 4"),
        (table({"a": [1, 2, 3]}), 1.0, "threshold"),
        (table({"a": [0, 0, 0]}), 0.05, "has no execution time"),
        (
            joined([table({"a": [1, 2, 3]}, frequency_hz=hz) for hz in (2e9, 2.001e9)]),
            0.05,
            "two runs of kernel 'a' on 2",
        ),
        (
            joined([table({"a": [1]}, (P,), size=size) for P, size in ((2, 1), (4, 1), (8, 3))]),
            0.05,
            "of one size",
        ),
        (
            joined([table({"a": [1]}, (P,), problem_class=name) for P, name in ((2, "A"), (4, "B"), (8, "A"))]),
            0.05,
            "class",
        ),
    ],
)
def test_bad_runs(given_table: CounterTable, threshold: float, words: str) -> None:
    with pytest.raises(InputError, match=words):
        identify(given_table, threshold)


@given(st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.01, 1)), min_size=4, max_size=8))
def test_error_of_shares(pairs: list[tuple[float, float]]) -> None:
    t, r = zip(*pairs, strict=True)
    both = [*t, *r]
    if max(both) - min(both) < 1e-3 or max(t[1:-1] + r[1:-1]) - min(t[1:-1] + r[1:-1]) < 1e-3:
        return
    squares = math.fsum(a * (a - b) ** 2 for a, b in pairs)
    assert nrmse(t, r) == pytest.approx(math.sqrt(squares) / (max(both) - min(both)), rel=1e-9)
    inner = [*t[1:-1], *r[1:-1]]
    assert nrmse(t, r, printed=True) == pytest.approx(math.sqrt(squares) / (max(inner) - min(inner)), rel=1e-9)


def test_error_of_shares_that_agree_or_cannot_be_judged() -> None:
    assert nrmse([0.5, 0.3, 0.2], [0.5, 0.3, 0.2]) == 0
    for pair in (([], []), ([0.5], [0.5, 0.5]), ([0.5, 0.5], [0.5, 0.5])):
        with pytest.raises(InputError):
            nrmse(*pair)
    with pytest.raises(InputError):
        nrmse([0.6, 0.4], [0.5, 0.5], printed=True)


def test_variance() -> None:
    assert cpi_variance([1.0, 2.0, 3.0]) == 1
    with pytest.raises(InputError, match="2 or more"):
        cpi_variance([1.0])
