"""Tables of counters: what is refused, what follows from a row, and means over ranks and repetitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError, Place
from simcodesign.counters.table import NUMBERS, CounterTable, Latencies, counter_table, joined, means, summed

ROW = {
    "kernel": "solve",
    "processes": 4,
    "frequency_hz": 2e9,
    "instructions": 100.0,
    "cycles": 150.0,
    "stall_cycles": 50.0,
    "l1_hits": 30.0,
    "l2_hits": 5.0,
    "llc_hits": 2.0,
    "memory_accesses": 3.0,
}
LATENCIES = Latencies(4, 12, 40, 100e-9)


def test_what_follows_from_a_row() -> None:
    table = counter_table([ROW])
    access_cycles = 30 * 4 + 5 * 12 + 2 * 40 + 3 * 100e-9 * 2e9
    assert table.cpi == pytest.approx([1.5])
    assert table.compute_cpi == pytest.approx([1.0])
    assert table.compute_s == pytest.approx([75e-9])
    assert table.stall_s == pytest.approx([25e-9])
    assert table.memory_s(LATENCIES) == pytest.approx([access_cycles / 2e9])
    assert table.memory_cpi(LATENCIES) == pytest.approx([access_cycles / 100])
    assert table.blocking_factor(LATENCIES) == pytest.approx([50 / access_cycles])
    assert table.miss_fraction == pytest.approx([3 / 40])


@given(st.floats(1, 1e12), st.floats(1e-3, 1e3), st.floats(1e-9, 1), st.floats(1e8, 1e10))
def test_computation_and_stalls_make_up_the_cycles(instructions: float, cpi: float, share: float, hz: float) -> None:
    """Equation 2 of one kernel: T_comp + BF_mem T_mem is its time."""
    cycles = cpi * instructions
    row = ROW | {"instructions": instructions, "cycles": cycles, "stall_cycles": share * cycles, "frequency_hz": hz}
    table = counter_table([row])
    compute_s = instructions * table.compute_cpi / hz
    memory_s = table.blocking_factor(LATENCIES) * table.memory_s(LATENCIES)
    assert compute_s + memory_s == pytest.approx(table.compute_s, rel=1e-12)


def test_missing_counters_are_nan() -> None:
    table = counter_table([{"kernel": "solve", "processes": 4}])
    for column in (
        table.cpi,
        table.compute_s,
        table.memory_s(LATENCIES),
        table.blocking_factor(LATENCIES),
        table.miss_fraction,
    ):
        assert math.isnan(column[0])
    assert table.communication_s == [0]
    assert table.stall_s[0] != 0  # without a frequency nothing is known


def test_loads_and_stores_count_for_more_than_levels() -> None:
    assert counter_table([ROW | {"loads_stores": 300.0}]).miss_fraction == pytest.approx([0.01])
    nothing = dict.fromkeys(("l1_hits", "l2_hits", "llc_hits", "memory_accesses"), 0.0)
    assert counter_table([ROW | nothing]).miss_fraction == [0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"processes": 0}, "processes is not a whole number, got 0.0"),
        ({"processes": 2.5}, "whole"),
        ({"processes": math.nan}, "processes"),
        ({"cycles": -1.0}, "cycles is out of range, got -1.0"),
        ({"cycles": math.inf}, "cycles is out of range, got inf"),
        ({"frequency_hz": 0.0}, "frequency_hz"),
        ({"kernel": " "}, "kernel has no name"),
        ({"cycels": 1.0}, "did you mean 'cycles'"),
    ],
)
def test_bad_rows(change: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        counter_table([ROW | change], [Place("runs.csv", 7)])


def test_the_place_is_told() -> None:
    with pytest.raises(InputError, match=r"^runs.csv:7: cycles"):
        counter_table([ROW | {"cycles": -1.0}], [Place("runs.csv", 7)])
    with pytest.raises(InputError, match=r"^b:2: .*two rows.* the other is at a:1"):
        counter_table([ROW, ROW], [Place("a", 1), Place("b", 2)])
    with pytest.raises(InputError, match="the rows of counters have a wrong shape"):
        CounterTable(("a",), ("",), np.zeros((1, 2)))
    with pytest.raises(InputError, match="has no rows"):
        counter_table([])
    with pytest.raises(InputError, match="no table"):
        joined([])
    with pytest.raises(InputError, match="latency l1_cycles"):
        Latencies(l1_cycles=-1)


def test_a_table_cannot_be_changed() -> None:
    table = counter_table([ROW])
    with pytest.raises(ValueError, match="read-only"):
        table.column("cycles")[0] = 1
    with pytest.raises(InputError, match="did you mean 'cycles'"):
        table.column("cycels")
    with pytest.raises(InputError, match="no such kernel"):
        table.of("slove")
    assert list(table.frame().columns) == ["kernel", "problem_class", *NUMBERS]


@given(st.lists(st.just(0.0) | st.floats(1e-9, 1e12), min_size=4, max_size=4))
def test_means_over_ranks(cycles: list[float]) -> None:
    rows = [ROW | {"rank": rank, "cycles": value} for rank, value in enumerate(cycles)]
    result = means(counter_table(rows))
    assert len(result) == 1
    assert result.column("cycles")[0] == pytest.approx(np.mean(cycles), rel=1e-12)
    assert math.isnan(result.column("rank")[0])


def test_a_kernel_of_some_ranks_counts_as_none_on_the_others() -> None:
    rows = [ROW | {"rank": rank} for rank in range(4)]
    rows.append(ROW | {"rank": 0, "kernel": "write", "cycles": 80.0})
    assert means(counter_table(rows)).of("write").column("cycles") == [20]


def test_means_over_repetitions() -> None:
    rows = [ROW | {"repetition": number, "cycles": 10.0 * number} for number in (1, 2, 3)]
    rows[1]["stall_cycles"] = math.nan
    result = means(counter_table(rows))
    assert result.column("cycles") == [20]
    assert result.column("stall_cycles") == [50]
    assert math.isnan(result.column("message_bytes")[0])


def test_kernels_are_added_up() -> None:
    rows = [ROW | {"kernel": name, "processes": P} for name in ("a", "b", "c") for P in (2, 4)]
    rows[0]["stall_cycles"] = math.nan
    result = summed(counter_table(rows), lambda name: "rest" if name != "c" else name)
    assert result.kernels == ("rest", "rest", "c", "c")
    assert list(result.of("rest").column("cycles")) == [300, 300]
    assert list(result.of("rest").column("stall_cycles")) == [50, 100]
    assert list(result.of("rest").column("frequency_hz")) == [2e9, 2e9]
    assert np.isnan(result.column("message_bytes")).all()


@pytest.mark.parametrize("value", [1e200, 1e-320, -1.0, math.inf])
@pytest.mark.parametrize("name", ["frequency_hz", "cycles", "time_s"])
def test_numbers_whose_products_overflow_are_refused(name: str, value: float) -> None:
    with pytest.raises(InputError, match=rf"{name} is out of range, got .*\(allowed: a number of 0 or above"):
        counter_table([{"kernel": "k", "processes": 1.0, name: value}])
