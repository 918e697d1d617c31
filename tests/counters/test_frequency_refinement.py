"""Two clock frequencies: CPI_core and BF_mem of made-up kernels are recovered; equation 6 as printed recovers neither."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.counters.frequency_refinement import refine, refine_as_printed, refine_kernels
from simcodesign.counters.models import fit_application
from simcodesign.counters.table import CounterTable, Latencies, counter_table
from tests.oracles import counter_runs as made_up

LATENCIES = Latencies(4, 12, 40, 80e-9)
core = st.floats(0.1, 10)
factor = st.floats(1e-6, 1)
memory = st.floats(0.1, 100)


@given(core, factor, memory, st.floats(0.1, 0.9))
def test_equation_5_is_solved(cpi_core: float, blocking: float, first: float, slower: float) -> None:
    accesses = (first, slower * first)
    refined = refine((cpi_core + blocking * accesses[0], cpi_core + blocking * accesses[1]), accesses)
    # CPI_core of up to 10 hides digits of a small BF_mem T_mem.
    room = 1e-14 * (cpi_core + blocking * first)
    assert refined.cpi_core == pytest.approx(cpi_core, rel=1e-12, abs=room / (1 - slower))
    assert refined.blocking_factor == pytest.approx(blocking, rel=1e-12, abs=room / (first - accesses[1]))
    assert refined.cpi(accesses[1]) == pytest.approx(cpi_core + blocking * accesses[1])


@given(core, factor, memory)
def test_equation_6_as_printed_swaps_them(cpi_core: float, blocking: float, first: float) -> None:
    accesses = (first, first / 2)
    cpi = (cpi_core + blocking * accesses[0], cpi_core + blocking * accesses[1])
    printed = refine_as_printed(cpi, accesses)
    assert printed.cpi_core == pytest.approx(refine(cpi, accesses).blocking_factor, rel=1e-12)
    # It still meets the first run, and misses the second unless the two are the same.
    assert printed.cpi(accesses[0]) == pytest.approx(cpi[0], rel=1e-9)
    assert printed.cpi(accesses[1]) - cpi[1] == pytest.approx((blocking - cpi_core) / 2, rel=1e-6, abs=1e-9)


def runs(cpi_core: float, blocking: float, misses: float, kernel: str = "solve") -> CounterTable:
    """Two runs at 3 and 2 GHz; accesses an instruction, and misses among them."""
    rows = []
    for hz in (3e9, 2e9):
        accesses = 0.3 * 4 + 0.02 * 12 + 0.01 * 40 + misses * 80e-9 * hz
        count = 1e9
        rows.append(
            {
                "kernel": kernel,
                "processes": 16,
                "frequency_hz": hz,
                "instructions": count,
                "cycles": count * (cpi_core + blocking * accesses),
                "l1_hits": 0.3 * count,
                "l2_hits": 0.02 * count,
                "llc_hits": 0.01 * count,
                "memory_accesses": misses * count,
            }
        )
    return counter_table(rows)


def test_kernels_of_a_table() -> None:
    solve = refine_kernels(runs(1.5, 0.2, 1e-3), LATENCIES)["solve"]
    assert (solve.cpi_core, solve.blocking_factor) == pytest.approx((1.5, 0.2), rel=1e-9)


def test_a_kernel_without_accesses_to_memory_cannot_be_refined() -> None:
    with pytest.raises(InputError, match="no kernel"):
        refine_kernels(runs(1.5, 0.2, 0.0), LATENCIES)


def test_a_refined_model() -> None:
    """BF_mem of the made-up stalls: the model then says the same of every number of processes as before."""
    truth = made_up.KERNELS["solve"]
    accesses = 0.3 * 4 + 0.02 * 12 + 0.01 * 40 + truth.misses * 80e-9 * made_up.HZ
    model = fit_application(made_up.runs(), latencies=made_up.LATENCIES)
    refined = model.refined({"solve": refine((truth.cpi + truth.stalls, truth.cpi), (accesses, 0.0))})
    assert refined.at(64).seconds == pytest.approx(model.at(64).seconds, rel=1e-9)
    rows = [{"kernel": "solve", "processes": P, "time_s": 8 / P} for P in (2, 4, 8)]
    with pytest.raises(InputError, match="kernel 'solve' cannot be refined without these counters"):
        fit_application(counter_table(rows)).refined({"solve": refine((2, 1), (1, 0))})


@pytest.mark.parametrize(
    ("cpi", "accesses"), [((1, 2), (3, 3)), ((1, float("nan")), (3, 2)), ((1, 2), (float("inf"), 2))]
)
def test_bad_lines(cpi: tuple[float, float], accesses: tuple[float, float]) -> None:
    with pytest.raises(InputError):
        refine(cpi, accesses)


def test_bad_runs() -> None:
    with pytest.raises(InputError, match="T_mem of the first run is 0"):
        refine_as_printed((1, 2), (0, 2))
    with pytest.raises(InputError, match="the refinement needs runs at two frequencies"):
        refine_kernels(made_up.runs())
    rows = [{"kernel": "a", "processes": P, "frequency_hz": hz} for P, hz in ((2, 1e9), (4, 2e9))]
    with pytest.raises(InputError, match="processes differs between the runs"):
        refine_kernels(counter_table(rows))
