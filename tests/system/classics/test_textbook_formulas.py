"""The formulas of the shipped classics, their programs without effects, and what their messages bring together.

Oracle: the run times of Grama, Gupta, Karypis and Kumar (2003), sections 8.2 and 13.2 to 13.3, of Amdahl (1967) and of
Gustafson (1988), written here in Python from startup, bytes and rates.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import log2, nan

import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.given_formulas.values import formula_values
from simcodesign.core.operation_kinds import SEND
from simcodesign.describe.design_point import bind
from simcodesign.describe.evaluated.useful_flops import useful_flops
from simcodesign.describe.machine import Machine
from simcodesign.describe.yaml.files import load_machine, load_workload
from simcodesign.engine.simulate import simulate
from simcodesign.generate.lower import make_plan

ROUNDING = 1e-12
#: mesh-256 and hypercube-256: seconds for a message, a byte and a flop.
STARTUP_S, BYTE_S, FLOP_S = 20e-6, 1e-8, 1e-8
REAL, COMPLEX = 8 * BYTE_S, 16 * BYTE_S
#: A multiply-add; a point in one step of an FFT, half of a butterfly of 10 flops.
MULTIPLY_ADD_S, POINT_S = 2 * FLOP_S, 5 * FLOP_S


@cache
def without_hops() -> Machine:
    return load_machine("hypercube-256", {"nodes": 1024, "network.hop_latency": 0})


def simple_s(n: float, p: float) -> float:
    return n**3 / p * MULTIPLY_ADD_S + STARTUP_S * log2(p) + 2 * REAL * n**2 / p**0.5


def simple_steps_s(n: float, p: float) -> float:
    """Two all-to-all broadcasts on a hypercube of sqrt(p) processes, section 4.2: messages of 1, 2, 4 ... blocks."""
    rounds = [STARTUP_S + REAL * 2**i * n**2 / p for i in range(round(log2(p) / 2))]
    return n**3 / p * MULTIPLY_ADD_S + 2 * sum(rounds)


def cannon_s(n: float, p: float) -> float:
    return n**3 / p * MULTIPLY_ADD_S + 2 * p**0.5 * STARTUP_S + 2 * REAL * n**2 / p**0.5


def dns_s(n: float, p: float) -> float:
    return n**3 / p * MULTIPLY_ADD_S + STARTUP_S * log2(p) + REAL * n**2 / p ** (2 / 3) * log2(p)


def dns_steps_s(n: float, p: float) -> float:
    """Two single messages, two broadcasts and a reduction, each of log2(q) messages."""
    q = round(p ** (1 / 3))
    return n**3 / p * MULTIPLY_ADD_S + (2 + 2 * log2(q) + log2(q)) * (STARTUP_S + REAL * n**2 / q**2)


def summa_s(n: float, p: float) -> float:
    """Panels of 128 columns."""
    panel_s = STARTUP_S + REAL * n * 128 / p**0.5
    return n**3 / p * MULTIPLY_ADD_S + n / 128 * (2 * log2(p**0.5) * panel_s)


def exchange_hypercube_s(n: float, p: float) -> float:
    return n / p * log2(n) * POINT_S + STARTUP_S * log2(p) + COMPLEX * n / p * log2(p)


def exchange_mesh_s(n: float, p: float) -> float:
    return n / p * log2(n) * POINT_S + STARTUP_S * log2(p) + 2 * COMPLEX * n / p**0.5


def transpose_s(n: float, p: float) -> float:
    return n / p * log2(n) * POINT_S + STARTUP_S * (p - 1) + COMPLEX * n / p


def transpose_steps_s(n: float, p: float) -> float:
    return n / p * log2(n) * POINT_S + (p - 1) * (STARTUP_S + COMPLEX * n / p**2)


MATRIX_SIZES = ((256, 4), (1024, 16), (4096, 256))
CUBES = ((256, 8), (1024, 64))
POINTS = ((2**12, 4), (2**16, 16), (2**20, 256))
FORMULAS: dict[tuple[str, str], tuple[Callable[[float, float], float], tuple[tuple[int, int], ...]]] = {
    ("simple-matmul", "textbook"): (simple_s, MATRIX_SIZES),
    ("simple-matmul", "every_step"): (simple_steps_s, ((64, 1), *MATRIX_SIZES)),
    ("cannon", "textbook"): (cannon_s, ((90, 9), *MATRIX_SIZES)),
    ("dns-matmul", "textbook"): (dns_s, ((270, 27), *CUBES)),
    ("dns-matmul", "every_step"): (dns_steps_s, CUBES),
    ("summa", "tree"): (summa_s, ((256, 1), (1024, 16), (4096, 64))),
    ("fft-binary-exchange", "hypercube"): (exchange_hypercube_s, ((2**12, 1), *POINTS, (2**12, 8))),
    ("fft-binary-exchange", "mesh"): (exchange_mesh_s, POINTS),
    ("fft-transpose", "textbook"): (transpose_s, ((2**12, 1), *POINTS)),
    ("fft-transpose", "every_step"): (transpose_steps_s, ((2**12, 1), *POINTS)),
}
#: A formula that has every step of the program, for each of them.
COMPLETE = {
    "simple-matmul": "every_step",
    "cannon": "textbook",
    "dns-matmul": "every_step",
    "summa": "tree",
    "fft-binary-exchange": "hypercube",
    "fft-transpose": "every_step",
}


def formula_s(workload: str, formula: str, given: dict[str, object]) -> float:
    point = bind(load_workload(workload), without_hops(), given)
    total_s = formula_values(point.workload.formulas[formula], point).total_s
    assert total_s is not None
    return float(total_s)


@pytest.mark.parametrize("names", FORMULAS, ids="-".join)
def test_formulas_are_those_of_the_book(names: tuple[str, str]) -> None:
    by_hand, sizes = FORMULAS[names]
    for n, p in sizes:
        assert formula_s(*names, {"n": n, "P": p}) == pytest.approx(by_hand(n, p), rel=ROUNDING)


@pytest.mark.parametrize(
    ("workload", "formula", "refused"),
    [
        ("simple-matmul", "textbook", 36),
        ("cannon", "textbook", 18),
        ("summa", "tree", 36),
        ("dns-matmul", "textbook", 16),
        ("dns-matmul", "every_step", 27),
        ("fft-binary-exchange", "hypercube", 12),
        ("fft-binary-exchange", "mesh", 8),
        ("fft-transpose", "textbook", 257),
    ],
)
def test_formulas_say_nothing_outside_their_range(workload: str, formula: str, refused: int) -> None:
    assert formula_s(workload, formula, {"P": refused}) == pytest.approx(nan, nan_ok=True)


@pytest.mark.parametrize("workload", COMPLETE)
def test_programs_take_as_long_as_the_book_says_without_effects(workload: str) -> None:
    by_hand, sizes = FORMULAS[workload, COMPLETE[workload]]
    for n, p in sizes:
        given = {"n": n, "P": p}
        forecasted = forecast(load_workload(workload), without_hops(), given)
        simulated = simulate(load_workload(workload), without_hops(), given, effects="none")
        assert forecasted.makespan_s == pytest.approx(by_hand(n, p), rel=ROUNDING)
        # Roots of SUMMA's next broadcast begin before the last one has reached the leaves, by less than one message.
        tolerance = 1e-3 if workload == "summa" else ROUNDING
        assert simulated.makespan_s == pytest.approx(by_hand(n, p), rel=tolerance)


@pytest.mark.parametrize("workload", [*COMPLETE, "serial-fraction"])
def test_useful_operations_are_those_that_are_done(workload: str) -> None:
    design_point = bind(load_workload(workload), without_hops(), {"P": 64})
    result = simulate(load_workload(workload), without_hops(), {"P": 64}, effects="none")
    assert result.flops == pytest.approx(useful_flops(design_point), rel=ROUNDING)


@pytest.mark.parametrize("q", [2, 3, 4])
def test_dns_brings_blocks_to_their_planes(q: int) -> None:
    """Block (i, j) of A goes to plane j and that of B to plane i, along its pillar; nothing else leaves plane 0 there."""
    plan = make_plan(bind(load_workload("dns-matmul"), without_hops(), {"P": q**3}))
    for i in range(q):
        for j in range(q):
            rank = i * q + j
            sent = list(plan.peer[(plan.rank == rank) & (plan.kind == SEND)])
            lifted = [plane * q**2 + rank for plane in (j, i) if plane > 0]
            assert sent[: len(lifted)] == lifted


@pytest.mark.parametrize("p", [2, 8, 16])
def test_binary_exchange_pairs_points_of_every_step(p: int) -> None:
    """The first log2(p) of the steps flip the highest bits of the number of a point, the highest one first."""
    plan = make_plan(bind(load_workload("fft-binary-exchange"), without_hops(), {"P": p}))
    for rank in range(p):
        sent = list(plan.peer[(plan.rank == rank) & (plan.kind == SEND)])
        assert sent == [rank ^ (p >> step) for step in range(1, int(log2(p)) + 1)]


@pytest.mark.parametrize("p", [1, 7, 64, 1024])
@pytest.mark.parametrize("serial", [0.0, 0.01, 0.4, 1.0])
def test_laws_of_amdahl_and_gustafson(serial: float, p: int) -> None:
    flops = 1e8
    fixed = {"P": p, "s": serial, "flops": flops}
    speedup = flops * FLOP_S / formula_s("serial-fraction", "amdahl", fixed)
    assert speedup == pytest.approx(1 / (serial + (1 - serial) / p), rel=ROUNDING)
    scaled = {**fixed, "size": "scaled"}
    work = useful_flops(bind(load_workload("serial-fraction"), without_hops(), scaled))
    scaled_speedup = work * FLOP_S / formula_s("serial-fraction", "gustafson", scaled)
    assert scaled_speedup == pytest.approx(p + (1 - p) * serial, rel=ROUNDING)


@pytest.mark.parametrize("size", ["fixed", "scaled"])
@pytest.mark.parametrize("stretches", [1, 5])
def test_serial_work_waits_and_is_waited_for(stretches: int, size: str) -> None:
    """Two messages of 8 bytes for each level of the tree, besides what the law says."""
    p, serial, flops = 16, 0.2, 1e6
    given = {"P": p, "s": serial, "flops": flops, "size": size, "stretches": stretches}
    law_s = flops * FLOP_S * (serial + (1 - serial) / (p if size == "fixed" else 1))
    expected_s = law_s + stretches * 2 * log2(p) * (STARTUP_S + REAL)
    for result in (
        forecast(load_workload("serial-fraction"), without_hops(), given),
        simulate(load_workload("serial-fraction"), without_hops(), given, effects="none"),
    ):
        assert result.makespan_s == pytest.approx(expected_s, rel=ROUNDING)
