"""Wavefronts: the closed form is the simulation without effects, and messages in the order that a brute-force walk gives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.formulas.formula import formula
from simcodesign.core.errors import InputError
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.message_models.hockney import SENDS
from simcodesign.engine.simulate import simulate
from tests import THOROUGH, builders, examples
from tests.builders import closed_forms, workload

#: At most some thousand sums follow one another, each rounded to 1.1e-16.
ROUNDING = 1e-12
WORK_S, SIZES = 2e-5, (800.0, 300.0)


def program(grid: tuple[int, int], planes: int, corners: object = 1, more: str = "") -> str:
    inside = f"grid: [{grid[0]}, {grid[1]}], planes: {planes}, bytes: [{SIZES[0]}, {SIZES[1]}], corners: {corners}"
    return f"- wavefront: {{{inside}, compute: {{seconds: {WORK_S}}}{more}}}\n"


def machine(
    sends: str = SENDS[0], receive_s: float = 0.0, startup_s: float = 3e-6, per_byte_s: float = 1e-8
) -> Machine:
    network = builders.network(
        1024, startup_s=startup_s, per_byte_s=per_byte_s, receive_overhead_s=receive_s, sends=sends
    )
    return builders.machine(network)


def both(text: str, machine: Machine, ranks: int) -> tuple[float, float]:
    work = workload(text)
    closed, simulated = closed_forms(work, machine, {"P": ranks}), simulate(work, machine, {"P": ranks}, effects="none")
    assert (simulated.messages, simulated.message_bytes) == pytest.approx((closed.messages, closed.message_bytes))
    return float(closed.makespan_s), float(simulated.makespan_s)


def walked_s(grid: tuple[int, int], planes: int, corners: Sequence[tuple[int, int]], receive_s: float) -> float:
    """Every block of every rank in turn, one by one: sends hold the sender until the message is there."""
    startup_s, per_byte_s = 3e-6, 1e-8
    send_s = [startup_s + per_byte_s * size for size in SIZES]
    ready = np.zeros(grid)
    for corner in corners:
        steps = [-1 if end else 1 for end in corner]
        places = [range(extent)[:: steps[axis]] for axis, extent in enumerate(grid)]
        for _ in range(planes):
            arrived: dict[tuple[int, int, int], float] = {}
            for x in places[0]:
                for y in places[1]:
                    time_s = ready[x, y]
                    for axis in range(2):
                        if (x, y, axis) in arrived:
                            time_s = max(time_s, arrived[x, y, axis]) + receive_s
                    time_s += WORK_S
                    for axis, (to_x, to_y) in enumerate(((x + steps[0], y), (x, y + steps[1]))):
                        if 0 <= to_x < grid[0] and 0 <= to_y < grid[1]:
                            time_s += send_s[axis]
                            arrived[to_x, to_y, axis] = time_s
                    ready[x, y] = time_s
    return float(ready.max())


GRIDS = (
    [(x, y) for x in range(1, 9) for y in range(1, 9)] if THOROUGH else [(1, 1), (1, 5), (4, 1), (2, 2), (2, 5), (3, 4)]
)


@pytest.mark.thorough
@pytest.mark.parametrize("sends", SENDS)
@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_the_closed_form_is_exact_without_effects(grid: tuple[int, int], sends: str) -> None:
    for planes in (1, 2, 13):
        for corners in (1, 2, 4):
            one = machine(sends, receive_s=4e-6)
            closed_s, simulated_s = both(program(grid, planes, corners), one, grid[0] * grid[1])
            assert closed_s == pytest.approx(simulated_s, rel=ROUNDING, abs=0), (planes, corners)


@given(
    grid=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    planes=st.integers(1, 6),
    corners=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=4),
    receive_s=st.sampled_from([0.0, 5e-6, 9e-5]),
)
@settings(max_examples=examples(100), deadline=None)
def test_both_readings_are_the_walk_over_all_blocks(
    grid: tuple[int, int], planes: int, corners: list[tuple[int, int]], receive_s: float
) -> None:
    text = program(grid, planes, [list(corner) for corner in corners])
    closed_s, simulated_s = both(text, machine(receive_s=receive_s), grid[0] * grid[1])
    expected_s = walked_s(grid, planes, corners, receive_s)
    assert closed_s == pytest.approx(expected_s, rel=ROUNDING)
    assert simulated_s == pytest.approx(expected_s, rel=ROUNDING)


def test_stages_of_one_sweep_without_messages_that_cost() -> None:
    """Hoisie, Lubeck and Wasserman: px + py - 2 stages fill the pipeline, then a block comes each stage."""
    closed_s, simulated_s = both(program((8, 6), 20), machine(startup_s=0.0, per_byte_s=0.0), 48)
    assert closed_s == pytest.approx((8 + 6 - 2 + 20) * WORK_S, rel=ROUNDING)
    assert simulated_s == pytest.approx(closed_s, rel=ROUNDING)


def test_sweeps_of_groups_and_bounds() -> None:
    text = "simcodesign: 1\nname: test\ngroups: {half: rank // 12}\nprogram:\n  " + program(
        (4, 3), 5, 2, ", group: half"
    )
    work, one = builders.read_workload(text), machine()
    closed = closed_forms(work, one, {"P": 24}, bounds=True)
    simulated = simulate(work, one, {"P": 24}, effects="none")
    assert closed.makespan_s == pytest.approx(both(program((4, 3), 5, 2), one, 12)[0], rel=ROUNDING)
    assert simulated.makespan_s == pytest.approx(closed.makespan_s, rel=ROUNDING)
    assert closed.messages == simulated.messages == 2 * 2 * 5 * (3 * 3 + 4 * 2)
    assert closed.bounds is not None
    assert closed.bounds.least_s(()) <= simulated.makespan_s <= closed.bounds.upper_s


def test_work_and_requirements_are_counted() -> None:
    text = "- wavefront: {grid: [4, 3], planes: 5, bytes: 80, compute: {flops: 1000}, corners: 2}\n"
    work, one = workload(text), machine()
    closed, simulated = closed_forms(work, one, {"P": 12}), simulate(work, one, {"P": 12}, effects="none")
    assert closed.flops == simulated.flops == 12 * 5 * 2 * 1000


@pytest.mark.parametrize("corners", [1, 2])
def test_the_formula_is_the_forecast(corners: int) -> None:
    """Where receives take nothing, which is what formulas assume."""
    for grid in ((1, 1), (1, 4), (5, 1), (2, 2), (4, 6)):
        work = workload(program(grid, 7, corners))
        closed_s = closed_forms(work, machine(), {"P": grid[0] * grid[1]}).makespan_s
        values = {"t_s": 3e-6, "t_B": 1e-8, "P": grid[0] * grid[1]}
        assert float(sum(formula(work).values()).subs(values)) == pytest.approx(closed_s, rel=1e-9)


@pytest.mark.parametrize(
    "inside",
    [
        "grid: [4, 3], planes: 5, bytes: 8, corners: 3",
        "grid: [4, 3], planes: 5, bytes: 8, corners: [[0, 2]]",
        "grid: [4, 3], planes: 5, bytes: 8, corners: [[0]]",
        "grid: [4, 4], planes: 5, bytes: 8",
        "grid: [4, 3], planes: 5.5, bytes: 8",
        "grid: [4, 3, 1], planes: 5, bytes: 8",
        "grid: [4, 3], planes: 5, bytes: 8, compute: {flops: 1, when: rank > 0}",
    ],
)
def test_bad_input(inside: str) -> None:
    for reading in (forecast, simulate):
        with pytest.raises(InputError):
            reading(workload(f"- wavefront: {{{inside}}}\n"), machine(), {"P": 12})
