"""Solvers against known optima: enumeration, bisection, differential evolution, ISRES."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.studies.explore.bound_sensitivity import bound_sensitivities
from simcodesign.studies.explore.evaluator import write_trace
from simcodesign.studies.explore.problem import Problem
from simcodesign.studies.explore.problem_parser import constraint, objective
from simcodesign.studies.explore.solvers.solve import solve
from simcodesign.studies.explore.space import FloatArray, Space, Variable
from tests import examples
from tests.oracles.design_problems import ARCHITECT, ARCHITECT_UNITS, problem
from tests.oracles.integer_problems import INTEGER_PROBLEMS

#: Flops of the backprojection tiles of synthetic aperture radar with tiles of tf (Spafford and Vetter 2015).
SSCP = {
    "flops": "tf**2*(2809*4*80636*log2(80636) + 2809*(10 + 21*80636) + ceil(2809/tf)*ceil(80636/tf)*138)"
    " + 114036**2*44*ceil(2809/tf)"
}
#: The optimum of a search agrees with the published one to so much: twice what their last digits leave.
PRINTED = 1e-10


@pytest.mark.parametrize("solver", ["auto", "evolution"])
def test_tiles_of_the_radar(solver: str) -> None:
    solution = solve(problem(["tf=16:64:whole"], SSCP, ["flops"]), solver=solver)
    assert solution.point.values == {"tf": 34}
    assert solution.objective == pytest.approx(7.0092648505e13, rel=1e-10)
    assert solution.exact is (solver == "auto")
    assert solution.evaluations == 49 or solver == "evolution"


def test_g06() -> None:
    """Michalewicz and Schoenauer 1996; a feasible region of 0.007 % of the space."""
    formulas = {"f": "(x - 10)**3 + (y - 20)**3", "a": "(x - 5)**2 + (y - 5)**2", "b": "(x - 6)**2 + (y - 5)**2"}
    solution = solve(problem(["x=13:100", "y=0:100"], formulas, ["f"], ["a >= 100", "b <= 82.81"]))
    assert solution.feasible
    assert solution.objective == pytest.approx(-6961.81387558015, rel=PRINTED)
    assert solution.point.values["x"] == pytest.approx(14.095, rel=1e-9)


class G08:
    """Published optimum 0.0958250414180359 at (1.22797135260752599, 4.24537336612274885)."""

    name, dimensions = "G08", {"f": "", "a": "", "b": ""}

    def fixed(self, varied: Collection[str]) -> Mapping[str, float]:
        return {}

    def evaluate(self, values: Mapping[str, FloatArray]) -> Mapping[str, FloatArray]:
        x, y = values["x"], values["y"]
        f = np.sin(2 * np.pi * x) ** 3 * np.sin(2 * np.pi * y) / (x**3 * (x + y))
        return {"f": f, "a": x**2 - y + 1, "b": 1 - x + (y - 4) ** 2}


def test_g08() -> None:
    space = Space((Variable("x", 1e-3, 10, log=False), Variable("y", 0, 10)))
    limits = (constraint("a <= 0", {}), constraint("b <= 0", {}))
    solution = solve(Problem(G08(), space, (objective("f", True, {}),), limits))
    assert solution.objective == pytest.approx(0.0958250414180359, rel=PRINTED)


def test_an_equality() -> None:
    """G11 of the same collection: x^2 + (y - 1)^2 on y = x^2 is 0.75."""
    design_problem = problem(["x=-1:1", "y=-1:1"], {"f": "x**2 + (y - 1)**2", "h": "y - x**2"}, ["f"], ["h == 0"])
    assert solve(design_problem).objective == pytest.approx(0.75, abs=2e-6)  # the tolerance of the equality, twice


@settings(max_examples=4)
@given(st.tuples(*[st.floats(0, 200)] * 2), st.floats(-1.5, 1.5), st.integers(100, 300))
def test_whole_quadratics_against_brute_force(centre: tuple[float, float], mixed: float, least: int) -> None:
    a, b = centre
    text = f"(i - {a!r})**2 + (j - {b!r})**2 + {mixed!r}*(i - {a!r})*(j - {b!r})"
    solution = solve(problem(["i=0:200:whole", "j=0:200:whole"], {"f": text}, ["f"], [f"i + j >= {least}"]))
    assert solution.method == "evolution"  # 40401 points are too many to look at all
    i, j = np.meshgrid(np.arange(201.0), np.arange(201.0), indexing="ij")
    f = (i - a) ** 2 + (j - b) ** 2 + mixed * (i - a) * (j - b)
    assert solution.objective == pytest.approx(f[i + j >= least].min(), rel=1e-12, abs=1e-9)


@settings(max_examples=examples(25))
@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=2, max_size=9), st.integers(5, 60))
def test_a_knapsack_against_enumeration(items: list[tuple[int, int]], room: int) -> None:
    value = " + ".join(f"{worth}*x{at}" for at, (worth, _) in enumerate(items))
    weight = " + ".join(f"{load}*x{at}" for at, (_, load) in enumerate(items))
    names = [f"x{at}=0,1" for at in range(len(items))]
    solution = solve(problem(names, {"value": value, "weight": weight}, [], [f"weight <= {room}"], ["value"]))
    best = max(
        sum(worth for taken, (worth, _) in zip(chosen, items, strict=True) if taken)
        for chosen in itertools.product((0, 1), repeat=len(items))
        if sum(load for taken, (_, load) in zip(chosen, items, strict=True) if taken) <= room
    )
    assert solution.objective == best
    assert solution.exact


def test_mixed_variables() -> None:
    """By hand: for each choice c and whole k the best x is on the constraint or at the centre."""
    text = "(x - 3.3)**2 + (k - 4.4)**2 + (c - 5)**2 + x*k/10"
    solution = solve(problem(["x=0:10", "k=0:10:whole", "c=1,4,9"], {"f": text}, ["f"], ["x + k >= 8"]))
    best = min(
        (x - 3.3) ** 2 + (k - 4.4) ** 2 + 1 + x * k / 10
        for k in range(11)
        for x in [min(max(8 - k, 3.3 - k / 20, 0.0), 10.0)]
    )
    assert solution.objective == pytest.approx(best, rel=1e-12)
    assert (solution.point.values["k"], solution.point.values["c"]) == (5, 4)


@given(st.floats(1, 1e6), st.floats(0.5, 4))
def test_one_monotone_variable_by_algebra(limit: float, power: float) -> None:
    design_problem = problem(["n=1:1e9"], {"time": f"n**{power!r}"}, [], [f"time <= {limit!r}"], ["n"])
    solution = solve(design_problem)
    assert (solution.method, solution.exact) == ("bisection", True)
    assert solution.objective == pytest.approx(min(limit ** (1 / power), 1e9), rel=1e-14)
    assert solution.feasible


@given(st.integers(1, 10**9), st.integers(1, 3))
def test_one_whole_monotone_variable(limit: int, power: int) -> None:
    design_problem = problem(["n=1:1000000000:whole"], {"time": f"n**{power}"}, [], [f"time <= {limit}"], ["n"])
    solution = solve(design_problem)
    best = max(
        n for n in range(round(limit ** (1 / power)) - 2, round(limit ** (1 / power)) + 3) if 0 < n**power <= limit
    )
    assert solution.point.values["n"] == best
    assert solution.exact


def test_two_sides_of_one_variable() -> None:
    down = problem(["n=1:1e6"], {"time": "1e6/n"}, ["n"], ["time <= 100", "n <= 20000"])
    assert solve(down).objective == pytest.approx(10000, rel=1e-14)
    none = solve(problem(["n=1:1e6"], {"time": "1e6/n"}, ["n"], ["time <= 100", "n <= 9999.999999"]))
    assert (none.feasible, none.exact, none.method) == (False, True, "bisection")


def test_what_is_not_monotone_is_not_bisected() -> None:
    wavy = problem(["n=0:100"], {"f": "(n - 37.5)**2"}, ["f"])
    assert solve(wavy).method == "evolution"
    assert solve(wavy).objective == pytest.approx(0, abs=1e-15)
    with pytest.raises(InputError, match="cannot be bisected"):
        solve(wavy, solver="bisection")
    with pytest.raises(InputError, match="too many points"):
        solve(wavy, solver="enumeration")
    with pytest.raises(InputError, match="no such solver"):
        solve(wavy, solver="evolutoin")


def keeneland_s(n: float) -> float:
    """A 3-D FFT of n^3 double complex on 360 GPUs of 133.2 GB/s behind 120 links of 4 GB/s, by its largest parts."""
    points = n**3
    work = 3 * 5 * points * math.log2(n) / (360 * 665.6e9)
    loads = 3 * 6.3 * 16 * points * max(1.0, math.log(n) / math.log(24e6)) / (360 * 133.2e9)
    return work + loads + 2 * 16 * points / (120 * 4e9)


def test_the_largest_fft_by_plain_bisection() -> None:
    formulas = {
        "time": "3*5*n**3*log2(n)/(360*665.6e9) + 3*6.3*16*n**3*max(1, log(n)/log(24e6))/(360*133.2e9)"
        " + 2*16*n**3/(120*4e9)",
        "footprint": "16*n**3/360",
    }
    units = {"time": "time", "footprint": "size"}
    for limits, expected in [(["footprint <= 6 GB"], round((6e9 * 360 / 16) ** (1 / 3), 9)), (["time <= 10 s"], None)]:
        solution = solve(problem(["n=64:100000"], formulas, [], limits, ["n"], units=units))
        low, high = 64.0, 1e5
        while expected is None and math.nextafter(low, high) < high:
            middle = (low + high) / 2
            low, high = (middle, high) if keeneland_s(middle) <= 10 else (low, middle)
        assert solution.exact
        assert solution.objective == pytest.approx(expected or low, rel=1e-11 if expected else 1e-14)


def test_the_architect_without_the_ceiling() -> None:
    """18 kW hold 72 GPUs; 50 TFLOP/s need 512 flop per cycle at 1.36 GHz and more, so that 2 GHz are enough."""
    limits = ["power <= 18 kW", "units <= 42"]
    design_problem = problem(
        ["gpus=1:500:whole", "clock=1e8:2e9"], ARCHITECT, [], limits, ["peak"], units=ARCHITECT_UNITS
    )
    solution = solve(design_problem)
    assert solution.objective == pytest.approx(72 * 512 * 2e9, rel=1e-12)
    fewest = solve(
        problem(
            ["gpus=1:500:whole", "clock=1e8:2e9"], ARCHITECT, ["gpus"], ["peak >= 50 TFLOP/s"], units=ARCHITECT_UNITS
        )
    )
    assert fewest.objective == 49


def test_several_objectives_count_relative_to_their_own_best() -> None:
    """x + 100/x in shares of their bests 1 and 10: x/1 + (100/x)/10 is least where x^2 = 10; with weight 4, 2.5."""
    for weight, best in ((1, math.sqrt(10)), (4, math.sqrt(2.5))):
        design_problem = problem(["x=1:10"], {"a": "x", "b": "100/x"}, [f"a*{weight}", "b"])
        assert solve(design_problem).scales == (1.0, 10.0)
        assert solve(design_problem).point.values["x"] == pytest.approx(best, rel=1e-6)  # flat: half the digits


@pytest.mark.thorough
def test_a_seed_gives_the_same_trace_again() -> None:
    design_problem = problem(
        ["x=13:100", "y=0:100", "k=0:9:whole"], {"f": "(x - 20)**2*(y + 1) + k"}, ["f"], ["x*y >= 100"]
    )
    one, same, other = (solve(design_problem, seed=seed) for seed in (3, 3, 4))
    pd.testing.assert_frame_equal(one.trace, same.trace)
    assert one.point == same.point
    assert not one.trace.equals(other.trace)


def test_the_trace_holds_every_evaluation(tmp_path: object) -> None:
    design_problem = problem(["x=0:10", "k=0:9:whole"], {"f": "(x - 3)**2 + k"}, ["f"], ["x + k >= 4"])
    recorded: list[int] = []
    model = design_problem.model
    original = type(model).evaluate

    class Counting:
        name, dimensions = model.name, model.dimensions

        def fixed(self, varied: Collection[str]) -> Mapping[str, float]:
            return {}

        def evaluate(self, values: Mapping[str, FloatArray]) -> object:
            recorded.append(len(values["x"]))
            return original(model, values)  # type: ignore[arg-type]

    solution = solve(Problem(Counting(), design_problem.space, design_problem.objectives, design_problem.constraints))  # type: ignore[arg-type]
    frame = solution.trace
    assert len(frame) == solution.evaluations == sum(recorded) - 1  # the answer is read once more
    assert list(frame["evaluation"]) == list(range(1, len(frame) + 1))
    assert np.allclose(frame["f"], (frame["x"] - 3) ** 2 + frame["k"], rtol=1e-12)
    assert (frame["feasible"] == (frame["x"] + frame["k"] >= 4 * (1 - 1e-15))).all()
    assert frame.loc[frame["feasible"], "f"].min() == solution.objective
    path = f"{tmp_path}/trace.csv"
    write_trace(frame, path)
    assert len(pd.read_csv(path)) == len(frame)
    with pytest.raises(InputError, match="name of a trace"):
        write_trace(frame, f"{tmp_path}/trace.txt")


def test_shadow_prices_by_duality() -> None:
    """max 3x + 2y on x + y <= 4, x + 3y <= 9, x <= 3: the vertex (3, 1), duals 2, 0 and 1."""
    limits = ["x + y <= 4", "x + 3*y <= 9", "x <= 3"]
    first = solve(problem(["x=0:10", "y=0:10"], {"f": "3*x + 2*y"}, [], limits, ["f"]))
    solution, result = bound_sensitivities(first)
    assert solution.objective == pytest.approx(11, rel=1e-10)
    duals = [2 * 0.04, 0.0, 1 * 0.03]
    assert [one.objective_change for one in result] == pytest.approx(duals, abs=1e-8)
    assert [one.looser - 11 for one in result] == pytest.approx(duals, abs=1e-8)
    assert [one.active for one in result] == [True, False, True]


@pytest.mark.thorough
def test_isres_finds_the_same() -> None:
    pytest.importorskip("nlopt")
    design_problem = problem(["x=0:10", "k=0:10:whole"], {"f": "(x - 3.3)**2 + (k - 4.4)**2"}, ["f"], ["x + k >= 8"])
    solution = solve(design_problem, solver="isres", evaluations=3000)
    assert solution.method == "isres"
    assert solution.objective == pytest.approx(
        min((max(8 - k, 3.3) - 3.3) ** 2 + (k - 4.4) ** 2 for k in range(9)), rel=1e-9
    )


def test_nothing_can_be_evaluated() -> None:
    with pytest.raises(InputError, match="nowhere finite"):
        solve(problem(["x=1:2"], {"f": "log(-x)"}, ["f"]))


@settings(max_examples=8)
@given(st.integers(2, 45), st.integers(500, 2000), st.booleans())
@pytest.mark.thorough
def test_a_whole_variable_that_needs_a_real_one_at_its_limit(most: int, base: int, upper: bool) -> None:
    """``most`` of them are paid for only at the cheap end of x, to the last coin: so many, and no more, by algebra."""
    cost = f"k*({base} + {'2000 - x' if upper else 'x - 500'})"
    made = problem(
        ["k=1:50:whole", "x=500:2000"], {"price": cost}, subject_to=[f"price <= {most * base}"], maximize=["k"]
    )
    solution = solve(made)
    assert solution.feasible
    assert solution.point.values == {"k": most, "x": 2000.0 if upper else 500.0}


def test_two_real_variables_at_opposite_limits() -> None:
    made = problem(
        ["k=1:50:whole", "x=1:3", "y=1:3"], {"price": "k*(x + 4 - y)"}, subject_to=["price <= 60"], maximize=["k"]
    )
    assert solve(made).point.values == {"k": 30, "x": 1, "y": 3}


@pytest.mark.parametrize("solver", ["auto", "evolution"])
@pytest.mark.parametrize("limit", [100, 137, 300, 1000])
def test_a_limit_of_evaluations_holds(solver: str, limit: int) -> None:
    design_problem = problem(
        ["x=13:100", "y=0:100", "k=0:9:whole"], {"f": "(x - 20)**2*(y + 1) + k"}, ["f"], ["x*y >= 100"]
    )
    solution = solve(design_problem, solver=solver, evaluations=limit)
    assert solution.evaluations == len(solution.trace) <= limit
    assert solution.spent
    assert not solution.exact
    assert (solution.trace.stage == "polish").any()  # a share of it is kept for that


def test_a_limit_beyond_what_is_needed_changes_nothing() -> None:
    design_problem = problem(["x=13:100", "k=0:9:whole"], {"f": "(x - 20)**2 + k"}, ["f"], ["x*k >= 100"])
    limited = solve(design_problem, evaluations=1_000_000)
    assert not limited.spent
    assert limited.point.objectives[0] == pytest.approx(solve(design_problem).point.objectives[0], rel=1e-9)


def test_exact_methods_keep_to_a_limit() -> None:
    many = problem(["k=0:9000:whole"], {"f": "(k - 4321)**2"}, ["f"])
    assert solve(many).exact
    few = solve(many, evaluations=300)
    assert few.evaluations <= 300
    assert not few.exact
    with pytest.raises(InputError, match="too many points to enumerate"):
        solve(many, solver="enumeration", evaluations=300)
    one = problem(["x=0:1"], {"f": "x", "g": "x**2"}, ["f"], ["g >= 0.5"])
    assert solve(one, evaluations=131).spent
    assert solve(one).exact


def test_every_batch_is_told() -> None:
    design_problem = problem(["x=0:10", "y=0:10"], {"f": "(x - 3)**2 + y"}, ["f"], ["x + y >= 4"])
    calls: list[tuple[str, int]] = []
    solution = solve(design_problem, on_progress=lambda stage, count: calls.append((stage, count)))
    assert sum(count for _, count in calls) == solution.evaluations
    assert {stage for stage, _ in calls} >= {"evolution", "polish"}


def found_of(name: str, seeds: range) -> int:
    """Seeds with which the search finds the optimum that looking at every point finds."""
    stated, least = INTEGER_PROBLEMS[name].stated(), INTEGER_PROBLEMS[name].least()
    solutions = [solve(stated, solver="evolution", seed=seed) for seed in seeds]
    return sum(one.feasible and one.objective == pytest.approx(least, rel=1e-12) for one in solutions)


@pytest.mark.thorough
def test_three_whole_variables() -> None:
    assert found_of("tiles", range(2)) == 2


@pytest.mark.thorough
@pytest.mark.parametrize("name", INTEGER_PROBLEMS)
def test_three_whole_variables_with_nine_of_ten_seeds(name: str) -> None:
    assert found_of(name, range(10)) >= 9
