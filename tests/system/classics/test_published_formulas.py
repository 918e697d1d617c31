"""The formulas that shipped workloads carry from papers: SPECseis96, conjugate gradients, Linpack, wavefronts, checkpoints.

Oracles: the equations of the papers, written here in Python from the constants of a machine, with their sums and recursions as they
stand there; and numbers that the papers print.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, log2, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from simcodesign.analytic.given_formulas.values import FormulaValues, formula_values
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.describe.yaml import files
from tests import examples
from tests.shipped_pairs import load_machine, load_workload

ROUNDING = 1e-12
#: torus-cluster: seconds of a startup, a byte, a flop.
STARTUP_S, BYTE_S, FLOP_S = 2e-6, 1 / 2e9, 1 / 8e9


def values_of(
    workload: str,
    formula: str,
    parameters: Mapping[str, object],
    machine: str | Machine = "torus-cluster",
    preset: str | None = None,
) -> FormulaValues:
    described = load_machine(machine) if isinstance(machine, str) else machine
    point = bind(load_workload(workload), described, parameters, preset=preset)
    return formula_values(point.workload.formulas[formula], point)


def total_s(workload: str, formula: str, parameters: Mapping[str, object], **how: str | Machine) -> float:
    values = values_of(workload, formula, parameters, **how)  # type: ignore[arg-type]
    assert values.total_s is not None
    return float(values.total_s)


def approximately(seconds: float) -> object:
    return pytest.approx(seconds, rel=ROUNDING)


# SPECseis96, equations 3 and 4 with Table 6.


def communication_s(iterations: float, processors: int, start_s: float, byte_s: float, size: float) -> float:
    return iterations * (processors - 1) * 1 * (start_s + byte_s * size)


def disk_s(
    iterations: float, reads: float, read: tuple[float, float], writes: float, write: tuple[float, float], byte_s: float
) -> float:
    """``read``, ``write``: seconds of a startup, and bytes."""
    return iterations * (reads * (read[0] + byte_s * read[1]) + writes * (write[0] + byte_s * write[1]))


#: Samples, traces, groups, lines.
DATA_SETS = {"test": (256, 32, 64, 8), "small": (512, 48, 140, 16), "large": (1024, 96, 396, 128)}


@pytest.mark.parametrize("processors", [4, 16, 1024])
@pytest.mark.parametrize("preset", DATA_SETS)
def test_resource_usage(preset: str, processors: int) -> None:
    samples, traces, groups, lines = DATA_SETS[preset]
    trace, iterations = 4 * samples, traces * lines / processors
    plane = 4 * groups * lines / processors
    sent = [
        communication_s(iterations, processors, 3.18e-4, 6.62e-7, trace * groups / processors),
        communication_s(samples, processors, 1.04e-4, 2.17e-6, plane),
    ]
    of_phases = [
        disk_s(iterations, 0, (4.32e-5, 0), 1, (1.53e-3, trace * groups), 2.22e-8),
        disk_s(iterations, groups, (8.58e-5, trace), 1, (3.04e-3, trace * groups), 4.40e-8),
        disk_s(samples, 1, (1.48e-4, plane), 48 / 256, (5.25e-3, plane * 256 / 48), 7.60e-8),
    ]
    machine = files.load_machine("power-challenge", {"nodes": 1024})
    values = values_of("seismic", "usage", {"P": processors}, machine, preset)
    assert values.components_s["communication"] == approximately(sum(sent))
    assert values.components_s["disk"] == approximately(sum(of_phases))
    # Phases are made of the same parts, with the constants that they have of their own.
    assert values.total_s == approximately(sum(float(part) for part in values.components_s.values()))
    assert values.total_s == approximately(sum(float(part) for part in values.phases_s.values()))


def test_computation_of_the_test_set_is_that_of_table_3() -> None:
    values = values_of("seismic", "usage", {"P": 16}, "power-challenge")
    assert values.components_s["computation"] == approximately(5.53 + 2.92 + 0.283 + 16.4)
    assert values_of("seismic", "usage", {"P": 8}, "power-challenge").phases_s["time-migration"] == 0.283


# Conjugate gradients.


@pytest.mark.parametrize("eta", [1, 0.5, 0.1])
@pytest.mark.parametrize("iterations", [1, 7])
def test_iteration_at_exascale(eta: float, iterations: int) -> None:
    """The coefficients that the paper prints, 1120 t_s and 1599600 t_w, and 1e-10 s for a flop."""
    given = {"P": 2**20, "eta": eta, "iterations": iterations, "network.startup": 1e-7, "network.per_byte": 2e-11}
    values = values_of("cg", "T_iter", given, "exascale-cg")
    value_s = 8 * 2e-11
    iteration_s = (42 * 4913 + 16385**3 / 2**30 + 40) * 1e-10 / eta + 1120 * 1e-7 + 1599600 * value_s
    setup_s = (37 * 4913 + 16385**3 / 2**30 + 20) * 1e-10 / eta + 2 * 540 * 1e-7 + 2 * (520 * 1538 + 20) * value_s
    assert values.phases_s["iterate"] == approximately(iterations * iteration_s)
    assert values.phases_s["setup"] == approximately(setup_s)
    assert values.total_s == approximately(sum(float(part) for part in values.components_s.values()))


@pytest.mark.parametrize(("edge", "processes"), [(17, 64), (33, 256)])
def test_iteration_of_nodes_with_one_core(edge: int, processes: int) -> None:
    shared = edge**3 - (edge - 2) ** 3
    lg = log2(processes)
    flops = (2 * 18 + 6) * edge**3 + (edge - 1) ** 3 + 2 * lg
    one_s = flops * FLOP_S + 2 * (1 + 2 * lg) * STARTUP_S + 2 * (shared + 2 * lg) * 8 * BYTE_S
    given = {"P": processes, "n_i": edge**3, "iterations": 3}
    assert total_s("cg-iteration", "T_iter", given) == approximately(3 * one_s)


@pytest.mark.parametrize("q", [4, 16])
def test_expand_and_fold(q: int) -> None:
    rows, lg = 65536, 2 * log2(q)
    piece = rows // q**2
    messages = lg + 1, (2 * q - 1) * piece
    product_s = (2 * 27 * piece + (q - 1) * piece) * FLOP_S + messages[0] * STARTUP_S + messages[1] * 8 * BYTE_S
    vectors_s = 10 * piece * FLOP_S + 2 * (2 * lg * (FLOP_S + STARTUP_S + 8 * BYTE_S))
    values = values_of("cg-2d", "expand_and_fold", {"P": q * q, "n": rows, "iterations": 5})
    assert values.total_s == approximately(5 * (product_s + vectors_s))
    assert sum(float(part) for part in values.phases_s.values()) == approximately(5 * (product_s + vectors_s))


# High Performance Linpack: a panel has m rows and b columns; all items are of 8 bytes.


def panel_s(m: float, b: int, p: int, slowness: float) -> float:
    return (m / p - b / 3) * b**2 * FLOP_S * slowness + b * log2(p) * (STARTUP_S + 8 * BYTE_S * 2 * b)


def broadcast_s(m: float, b: int, p: int) -> float:
    return STARTUP_S + 8 * BYTE_S * m * b / p


def update_s(n: float, b: int, p: int, q: int) -> tuple[float, float]:
    """Of n columns that are left: its flops, and the swaps."""
    flops = n * b**2 / q + 2 * n**2 * b / (p * q)
    return FLOP_S * flops, STARTUP_S * (log2(p) + p - 1) + 3 * 8 * BYTE_S * n * b / q


@settings(max_examples=examples(60), deadline=None)
@given(
    panels=st.integers(1, 60),
    b=st.integers(1, 100).map(lambda half: 2 * half),
    p=st.sampled_from([1, 2, 4, 8]),
    q=st.sampled_from([1, 2, 3, 8]),
    slowness=st.sampled_from([1.0, 2.5]),
)
def test_linpack_is_the_sum_over_panels(panels: int, b: int, p: int, q: int, slowness: float) -> None:
    n = panels * b
    left = [n - k * b for k in range(panels)]
    phases = {
        "panel": sum(panel_s(m, b, p, slowness) for m in left),
        "main": sum(broadcast_s(m, b, p) for m in left),
        "update": sum(update_s(m - b, b, p, q)[0] for m in left),
        "swap": sum(update_s(m - b, b, p, q)[1] for m in left),
    }
    solution_s = FLOP_S * n**2 / (p * q) + n * (STARTUP_S / b + 2 * 8 * BYTE_S)
    given_values = {"P": p * q, "q": q, "n": n, "b": b, "slowness": slowness}
    values = values_of("hpl", "by_panel", given_values)
    for name, seconds in phases.items():
        assert values.phases_s[name] == pytest.approx(seconds, rel=1e-9, abs=1e-15), name
    assert values.total_s == pytest.approx(sum(phases.values()) + solution_s, rel=1e-9)


def test_dominant_terms_of_linpack() -> None:
    n, b, p, q = 8000, 200, 2, 8
    seconds = [
        2 * n**3 * FLOP_S / (3 * p * q),
        8 * BYTE_S * n**2 * (3 * p + q) / (2 * p * q) + STARTUP_S * n * ((b + 1) * log2(p) + p) / b,
    ]
    values = values_of("hpl", "dominant", {"P": 16, "q": 8})
    assert values.total_s == approximately(sum(seconds))
    assert [float(values.components_s[name]) for name in ("computation", "communication")] == [
        approximately(part) for part in seconds
    ]


@pytest.mark.parametrize(("p", "q"), [(2, 4), (4, 4), (4, 2)])
def test_the_dominant_terms_are_what_the_sum_comes_to(p: int, q: int) -> None:
    """With thin panels of a large matrix they differ by little; with 3/2 b (P + Q) / N of it besides, by the flops of panels."""
    large = {"P": p * q, "q": q, "n": 10**7, "b": 50}
    ratio = total_s("hpl", "by_panel", large) / total_s("hpl", "dominant", large)
    assert 0 < ratio - 1 < 1e-4


# Wavefronts.


def start_s(
    px: int, py: int, work_s: float, east_s: float, south_s: float, receive_s: float
) -> dict[tuple[int, int], float]:
    """Equation (r2b): when a process may begin with its first block."""
    began = {(1, 1): 0.0}
    for i in range(1, px + 1):
        for j in range(1, py + 1):
            ways = []
            if i > 1:
                ways.append(began[i - 1, j] + work_s + (east_s + receive_s) + receive_s)
            if j > 1:
                ways.append(began[i, j - 1] + work_s + east_s + (south_s + receive_s))
            began[i, j] = max(ways, default=0.0)
    return began


@pytest.mark.parametrize("receive_s", [0.0, 3e-6])
@pytest.mark.parametrize(("px", "py"), [(4, 4), (8, 2), (2, 16)])
def test_plug_and_play(px: int, py: int, receive_s: float) -> None:
    given = {"P": px * py, "px": px, "columns_x": 5, "columns_y": 7, "planes": 60, "mk": 4, "mmi": 2}
    machine = load_machine("torus-cluster").with_constants({"network.receive_overhead": receive_s})
    work_s = 36 * 5 * 7 * 4 * 2 * FLOP_S
    east_s, south_s = (STARTUP_S + 8 * columns * 4 * 2 * BYTE_S for columns in (7, 5))
    began = start_s(px, py, work_s, east_s, south_s, receive_s)
    blocks = 60 / 4 * (6 / 2)
    stack_s = blocks * (2 * receive_s + work_s + east_s + south_s)
    values = values_of("sweep3d", "plug_and_play", {**given, "iterations": 12}, machine)
    assert values.phases_s["sweep"] == approximately(12 * (2 * began[1, py] + 2 * began[px, py] + 8 * stack_s))
    assert values.phases_s["converge"] == approximately(12 * log2(px * py) * (STARTUP_S + 8 * BYTE_S))


@pytest.mark.parametrize(("px", "py"), [(8, 8), (4, 16)])
def test_pipelines(px: int, py: int) -> None:
    """T = (px + py - 1 + N - 1) T_cpu + (2 (px + py - 2) + 4 (N - 1)) T_msg for N blocks from one corner, and four corners."""
    blocks = 2 * (400 / 10) * (6 / 3)
    work_s = 36 * 5 * 5 * 10 * 3 * FLOP_S
    message_s = STARTUP_S + 8 * 5 * 10 * 3 * BYTE_S
    corner_s = (px + py - 1 + blocks - 1) * work_s + (2 * (px + py - 2) + 4 * (blocks - 1)) * message_s
    values = values_of("sweep3d", "pipeline", {"P": px * py, "px": px, "iterations": 2})
    assert values.phases_s["sweep"] == approximately(2 * 4 * corner_s)


# Checkpoints and failures, in the units of Daly's Figures 3 to 5.

WORK_S, WRITE_S, RESTART_S = 500 * 3600.0, 300.0, 600.0
#: Seconds between failures -> the best interval that the figures print, in minutes, and half of its last digit.
BEST_MIN = {86400.0: (117, 0.5), 21600.0: (57, 0.5), 900.0: (9.1, 0.05)}


def young_s(interval_s: float, mtbf_s: float) -> float:
    return WORK_S + WORK_S / interval_s * WRITE_S + WORK_S / mtbf_s * (interval_s / 2 + RESTART_S)


def daly_s(interval_s: float, mtbf_s: float) -> float:
    tries = exp((interval_s + WRITE_S) / mtbf_s) - 1
    return mtbf_s * exp(RESTART_S / mtbf_s) * tries * WORK_S / interval_s


def checkpointed_s(formula: str, mtbf_s: float, interval_s: float = 7200.0) -> float:
    given = {"P": 1024, "failures.mtbf": 1024 * mtbf_s, "interval": interval_s}
    return total_s("checkpointed", formula, given, machine="failing-torus")


@pytest.mark.parametrize("mtbf_s", BEST_MIN)
@pytest.mark.parametrize("interval_s", [600.0, 7200.0])
def test_makespans_with_failures(mtbf_s: float, interval_s: float) -> None:
    assert checkpointed_s("young", mtbf_s, interval_s) == approximately(young_s(interval_s, mtbf_s))
    assert checkpointed_s("daly", mtbf_s, interval_s) == approximately(daly_s(interval_s, mtbf_s))


@pytest.mark.parametrize("mtbf_s", BEST_MIN)
def test_best_makespans_with_failures(mtbf_s: float) -> None:
    """Young's is the least of his formula; Daly's estimate is within 0.1 % of the least of his."""
    young = minimize_scalar(
        young_s, args=(mtbf_s,), bounds=(1.0, mtbf_s * 10), method="bounded", options={"xatol": 1e-6}
    )
    assert checkpointed_s("young_best", mtbf_s) == pytest.approx(young.fun, rel=1e-9)
    daly = minimize_scalar(daly_s, args=(mtbf_s,), bounds=(1.0, mtbf_s), method="bounded", options={"xatol": 1e-6})
    assert daly.fun <= checkpointed_s("daly_best", mtbf_s) <= daly.fun * 1.001
    minutes, digit = BEST_MIN[mtbf_s]
    assert checkpointed_s("daly_best", mtbf_s) == pytest.approx(daly_s(minutes * 60, mtbf_s), rel=1e-4)
    first_s = sqrt(2 * WRITE_S * mtbf_s)
    estimate_s = first_s * (1 + sqrt(WRITE_S / (2 * mtbf_s)) / 3 + WRITE_S / (18 * mtbf_s)) - WRITE_S
    assert estimate_s / 60 == pytest.approx(minutes, abs=digit)
    assert checkpointed_s("daly_best", mtbf_s) == approximately(daly_s(estimate_s, mtbf_s))


def test_nodes_of_several_processes_fail_less_often() -> None:
    machine = files.load_machine("failing-torus", {"processors_per_node": 4})
    assert total_s("checkpointed", "daly", {"P": 4094}, machine=machine) == approximately(daly_s(7200.0, 86400.0))
