"""Settings: every name gets its value, one number or arrays; presets, phases, ranks, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.describe.demands.computation import Compute
from simcodesign.describe.design_point import DesignPoint, bind, select_phases
from simcodesign.describe.evaluated.useful_flops import useful_flops, useful_phases
from simcodesign.describe.machine import Machine
from simcodesign.describe.programs.program import Block, walk
from simcodesign.describe.workload import Workload
from tests.builders import read_machine, read_workload

MACHINE = """\
simcodesign: 1
name: four
nodes: 4
processor: {rate: 1e9}
network: {topology: {kind: bus}, sends: blocking, startup: 1e-5, per_byte: 1e-8}
"""
WORKLOAD = """\
simcodesign: 1
name: toy
parameters:
  n: {default: 100, range: [1, 1e6]}
  k: {default: 2, whole: true}
  bare: {about: no default}
equations:
  total: share*P
  share: area/P + bare
  area: n**2
presets:
  small: {n: 10, bare: 1}
  two: {P: 2, bare: 0}
program:
  - compute: {flops: area}
  - phase: a
    do:
      - compute: {flops: 1}
      - phase: x
        do: [compute: {flops: 2}]
  - do:
      - compute: {flops: 3}
      - phase: b
        do: [compute: {flops: 4}]
"""


def machine(text: str = MACHINE) -> Machine:
    return read_machine(text)


def design_point(parameters: dict[str, object] | None = None, preset: str | None = None) -> DesignPoint:
    return bind(read_workload(WORKLOAD), machine(), {"bare": 0, **(parameters or {})}, preset=preset)


def problem(parameters: dict[str, object], preset: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        design_point(parameters, preset)
    return str(caught.value)


# --- Values ------------------------------------------------------------------------------------------------


def test_defaults_and_equations() -> None:
    here = design_point({"bare": 7})
    assert here.values == {"P": 4, "n": 100, "k": 2, "bare": 7, "area": 1e4, "share": 2507, "total": 10028}
    assert here.shape == ()
    assert here.ranks == 4


def test_what_is_given_wins_over_the_preset_and_the_preset_over_the_default() -> None:
    assert bind(read_workload(WORKLOAD), machine(), preset="small").values["area"] == 100
    assert bind(read_workload(WORKLOAD), machine(), {"n": 3}, preset="small").values["area"] == 9
    assert bind(read_workload(WORKLOAD), machine(), preset="two").ranks == 2
    assert bind(read_workload(WORKLOAD), machine(), {"P": 3}, preset="two").ranks == 3


@given(st.integers(1, 4), st.floats(1, 1e6), st.floats(-1e6, 1e6, allow_subnormal=False))
def test_equations_by_hand(ranks: int, n: float, bare: float) -> None:
    values = design_point({"P": ranks, "n": n, "bare": bare}).values
    share = n**2 / ranks + bare
    assert (values["share"], values["total"]) == (share, share * ranks)


def test_arrays_broadcast() -> None:
    here = design_point({"n": [1, 2, 3], "P": np.array([[1], [2]]), "network.startup": np.ones(3)})
    assert here.shape == (2, 3)
    assert np.array_equal(here.values["share"], np.array([[1, 4, 9], [0.5, 2, 4.5]]))
    assert np.shape(here.values["area"]) == (3,)
    with pytest.raises(InputError, match="P must be one number"):
        _ = here.ranks
    with pytest.raises(InputError, match=r"one design point, but these are arrays.*'n', 'P', 'network\.startup'"):
        here.require_one_point("this")


def test_arrays_that_do_not_broadcast() -> None:
    assert "arrays" in problem({"n": [1, 2, 3], "P": [1, 2]})
    text = problem({"n": [1, 2, 3], "network.startup": [1, 2]})
    assert "'n': (3,)" in text
    assert "'network.startup': (2,)" in text


@pytest.mark.parametrize("value", [5, 5.0, np.int8(5), np.float32(5), Fraction(5), np.array(5), [5], np.array([5])])
def test_numbers_of_every_kind(value: object) -> None:
    area = design_point({"n": value}).values["area"]
    assert area == 25
    assert isinstance(area, float) == (np.ndim(value) == 0)  # type: ignore[arg-type]


def test_whole_numbers_beyond_64_bits() -> None:
    assert design_point({"bare": 10**25}).values["bare"] == 1e25


NO_NUMBERS = [
    "5",
    "abc",
    "20 us",
    None,
    True,
    1j,
    [True],
    [1j],
    ["5"],
    [],
    [[]],
    [1, [2]],
    {},
    {"a": 1},
    object(),
    b"5",
    [None, 1],
    10**400,
    [10**400],
    np.array(["a"]),
    np.datetime64("2026-01-01"),
    [1, "a"],
    math,
]


@pytest.mark.parametrize("value", NO_NUMBERS)
@pytest.mark.parametrize("name", ["n", "P", "network.startup"])
def test_what_is_no_number(name: str, value: object) -> None:
    text = problem({name: value})
    assert text.startswith(f"{name} must be a number")
    assert len(text) < 200


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, [1, math.nan], [1, math.inf], 0.5, 1e7, [1, 1e7]])
def test_parameters_out_of_range(value: object) -> None:
    assert problem({"n": value}).startswith("w.yaml:4: parameters.n: parameter 'n' cannot have this value, got ")


@pytest.mark.parametrize("value", [0, -1, 2.5, 5, 1e300, math.nan, [1, 0], [4, 5], np.array([1.5])])
def test_ranks_that_cannot_be(value: object) -> None:
    text = problem({"P": value})
    assert "parameter 'P' cannot have this value, got" in text or "has processors, got" in text
    assert "(allowed: a whole number, at least 1)" in text or "(allowed: P from 1 to 4)" in text


@pytest.mark.parametrize("value", [-1, math.nan, math.inf, [1, -1]])
def test_machine_constants_out_of_range(value: object) -> None:
    assert "network.startup is out of range" in problem({"network.startup": value})
    assert "processor.clock is out of range" in problem({"processor.clock": value})


def test_unknown_names() -> None:
    assert "toy has no parameter 'm' (allowed: P, bare, k, n)" in problem({"m": 1})
    assert "did you mean 'network.startup'" in problem({"network.startups": 1})
    assert "did you mean 'small'" in problem({}, "smal")
    assert "no such preset" in problem({}, "")
    assert "four has no disk" in problem({"disk.per_byte": 1})
    assert "has no parameter" in problem({5: 1})  # type: ignore[dict-item]
    assert "has no parameter" in problem({"total": 1})
    assert "no such preset" in problem({}, 5)  # type: ignore[arg-type]


def test_a_value_that_is_missing() -> None:
    with pytest.raises(
        InputError, match=r"^w\.yaml:6: parameters\.bare: parameter 'bare' has no default and was not given"
    ):
        bind(read_workload(WORKLOAD), machine())


@pytest.mark.parametrize("equation", ["1/(n - 100)", "log(n - 101)", "sqrt(50 - n)", "10**n**2", "0/(k - 2)"])
def test_equations_without_a_finite_value(equation: str) -> None:
    toy = read_workload(WORKLOAD.replace("area: n**2", f"area: {equation}"))
    with pytest.raises(InputError, match=r"^w\.yaml:10: equations\.area: equation 'area' = .* is not finite"):
        bind(toy, machine(), {"bare": 0})
    with pytest.raises(InputError, match="not finite"):
        bind(toy, machine(), {"bare": 0, "n": [5, 100]} if "n - 100" in equation else {"bare": [0, 1]})


@pytest.mark.parametrize("parameters", [[1], "n=5", 5, ("n", 5)])
def test_parameters_that_are_no_mapping(parameters: dict[str, object]) -> None:
    with pytest.raises(InputError, match="must map names to values"):
        bind(read_workload(WORKLOAD), machine(), parameters)


# --- Ranks -------------------------------------------------------------------------------------------------


def test_ranks_default_to_what_the_machine_takes() -> None:
    assert design_point().ranks == 4
    two = machine(MACHINE.replace("nodes: 4", "nodes: 4\nprocessors_per_node: 3"))
    assert bind(read_workload(WORKLOAD), two, {"bare": 0}).ranks == 12
    placed = machine(MACHINE + "mapping: [3, 1]\n")
    assert bind(read_workload(WORKLOAD), placed, {"bare": 0}).ranks == 2
    with pytest.raises(
        InputError, match=r"more ranks than four has places in its mapping, got 3 \(allowed: P from 1 to 2\)"
    ):
        bind(read_workload(WORKLOAD), placed, {"bare": 0, "P": 3})


def test_ranks_as_a_parameter_of_the_workload() -> None:
    declared = read_workload(WORKLOAD.replace("  bare:", "  P: {about: ranks, range: [2, 8]}\n  bare:"))
    assert bind(declared, machine(), {"bare": 0}).ranks == 4
    with pytest.raises(InputError, match="at least 2, at most 8"):
        bind(declared, machine(), {"bare": 0, "P": 1})
    fixed = read_workload(WORKLOAD.replace("  bare:", "  P: 2\n  bare:"))
    assert bind(fixed, machine(), {"bare": 0}).ranks == 2
    greedy = read_workload(WORKLOAD.replace("  bare:", "  P: 16\n  bare:"))
    with pytest.raises(InputError, match="more ranks than four has processors"):
        bind(greedy, machine(), {"bare": 0})


# --- Phases ------------------------------------------------------------------------------------------------


def flops(toy: Workload) -> list[str]:
    return [step.amount.text for step in walk(toy.program) if isinstance(step, Compute) and step.amount]


@pytest.mark.parametrize(
    ("phases", "kept"),
    [
        (["main"], ["area", "3"]),
        (["a"], ["1", "2"]),
        (["a/x"], ["2"]),
        (["b"], ["4"]),
        ("b", ["4"]),
        (["b", "a"], "124"),
        (["a", "a/x"], "12"),
        (["main", "a", "b"], ["area", "1", "2", "3", "4"]),
        ({"main", "b"}, ["area", "3", "4"]),
    ],
)
def test_selected_phases(phases: list[str], kept: list[str]) -> None:
    assert flops(select_phases(read_workload(WORKLOAD), phases)) == list(kept)


def test_selection_keeps_repetitions_and_constants() -> None:
    text = WORKLOAD.replace("  - phase: a\n", "  - phase: a\n    repeat: 3\n    constants: {network.startup: 1 us}\n")
    (block,) = select_phases(read_workload(text), ["a/x"]).program
    assert isinstance(block, Block)
    assert (block.repeat.text, len(block.constants), block.phase) == ("3", 1, "a")


@pytest.mark.parametrize("phases", [["c"], ["x"], [""], [], "", ["a", "c"], ["a/"], [5], [None]])
def test_phases_that_do_not_exist(phases: list[str]) -> None:
    with pytest.raises(InputError, match="toy has no such phase"):
        bind(read_workload(WORKLOAD), machine(), {"bare": 0}, phases=phases)


# --- Anything ------------------------------------------------------------------------------------------------

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.complex_numbers()
    | st.text(max_size=5)
    | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(
    [
        "n",
        "k",
        "P",
        "bare",
        "total",
        "rank",
        "network.startup",
        "processor.rate",
        "processor.clock",
        "disk.per_byte",
        "network.link_per_byte",
    ]
) | st.text(max_size=6)


@given(st.dictionaries(NAMES, ANYTHING, max_size=3))
def test_any_parameters_work_or_are_refused(parameters: dict[str, object]) -> None:
    try:
        here = bind(read_workload(WORKLOAD), machine(), parameters)
    except InputError:
        return
    for name, value in here.given.items():
        assert np.all(np.isfinite(value)), name


# --- Useful operations ----------------------------------------------------------------------------------------


RATED = """\
simcodesign: 1
name: rated
parameters: {n: 4, steps: 3}
program:
  - phase: start
    do: [compute: {flops: 1}]
  - phase: solve
    repeat: steps
    useful_flops: 10*n*P
    do:
      - phase: inner
        repeat: 2
        useful_flops: n
        do: [compute: {flops: 1}]
      - phase: other
        do: [compute: {flops: 1}]
"""


def useful(parameters: dict[str, object] | None = None, phases: list[str] | None = None, text: str = RATED) -> object:
    return useful_flops(bind(read_workload(text), machine(), parameters, phases=phases))


def test_useful_flops_count_as_often_as_they_are_repeated() -> None:
    assert useful() == 3 * 10 * 4 * 4 + 3 * 2 * 4
    assert type(useful()) is float
    assert useful({"P": 2, "steps": 0.5}) == 0.5 * 10 * 4 * 2 + 0.5 * 2 * 4


def test_useful_flops_of_many_points() -> None:
    steps, ranks = np.array([1.0, 2.0]), np.array([[1.0], [2.0], [4.0]])
    result = useful({"steps": steps, "P": ranks, "network.startup": np.ones((2, 1, 1))})
    assert np.array_equal(result, np.broadcast_to(steps * (40 * ranks + 8), (2, 3, 2)))


def test_useful_flops_of_some_phases() -> None:
    """A block counts if all of it is there: a part of it has no share of its operations."""
    assert useful(phases=["solve"]) == useful(phases=["solve/inner", "solve/other"]) == useful()
    assert useful(phases=["solve/inner"]) == 3 * 2 * 4
    assert useful_phases(read_workload(RATED)) == ("solve/inner", "solve/other")
    for phase in ("start", "solve/other"):
        with pytest.raises(InputError, match=r"w\.yaml:1: rated states no useful_flops here"):
            useful(phases=[phase])


def test_useful_flops_that_cannot_be() -> None:
    for text, what in (("10*n - 41", "negative"), ("n/0", "not finite")):
        with pytest.raises(InputError, match=r"w\.yaml:9: program\[1\]\.useful_flops: .*" + what):
            useful(text=RATED.replace("10*n*P", text))
    with pytest.raises(InputError, match="toy states no useful_flops"):
        useful_phases(read_workload(WORKLOAD))


def test_one_rank_on_each_node() -> None:
    one_each = machine(MACHINE.replace("nodes: 4\n", "nodes: 4\nprocessors_per_node: 8\nmapping: one_per_node\n"))
    assert bind(read_workload(WORKLOAD), one_each, {"bare": 0}).ranks == 4
    with pytest.raises(
        InputError, match=r"more ranks than four has nodes \(its mapping puts one on each\), got 5.*P from 1 to 4"
    ):
        bind(read_workload(WORKLOAD), one_each, {"bare": 0, "P": 5})


# --- Memory ----------------------------------------------------------------------------------------------------


def sized(
    footprint: str = "8*area", capacity: str = "memory: {capacity: 4e5}\nprocessors_per_node: 2\n"
) -> DesignPoint:
    text = WORKLOAD.replace("program:", f"footprint: {footprint}\nprogram:")
    work = read_workload(text)
    return bind(work, machine(MACHINE + capacity), {"bare": 0})


def test_footprint_and_capacity_of_a_rank() -> None:
    assert (sized().footprint_bytes, sized().capacity_bytes) == (8e4, 2e5)
    assert sized(capacity="").capacity_bytes is None
    assert bind(sized().workload, machine(), {"bare": 0, "memory.capacity": 7}).capacity_bytes == 7
    plain = bind(read_workload(WORKLOAD), machine(), {"bare": 0})
    assert (plain.footprint_bytes, plain.capacity_bytes) == (None, None)


def test_arrays_of_footprints_and_capacities() -> None:
    given = {"bare": 0, "n": [[10.0], [20.0]], "memory.capacity": [1e3, 1e4, 1e5]}
    design_point = bind(sized().workload, sized().machine, given)
    assert design_point.shape == (2, 3)
    assert np.array_equal(design_point.footprint_bytes, [[800.0] * 3, [3200.0] * 3])
    assert np.array_equal(design_point.capacity_bytes, [[5e2, 5e3, 5e4]] * 2)


@pytest.mark.parametrize(
    ("footprint", "what"), [("0 - n", "negative"), ("1/bare", "not finite"), ("log2(bare)", "not finite")]
)
def test_footprints_that_are_none(footprint: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        _ = sized(footprint).footprint_bytes


def test_a_capacity_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="above 0"):
        bind(sized().workload, machine(), {"bare": 0, "memory.capacity": 0})


def test_size_of_the_problem() -> None:
    text = WORKLOAD.replace("program:", "size: area\nprogram:")
    work = read_workload(text)
    assert bind(work, machine(), {"bare": 0}).size == 1e4
    assert np.array_equal(bind(work, machine(), {"bare": 0, "n": [1, 2, 3]}).size, [1, 4, 9])
    assert sized().size is None


@pytest.mark.parametrize(
    ("size", "what"), [("bare", "not above 0"), ("0 - n", "not above 0"), ("1/bare", "not finite")]
)
def test_sizes_that_are_none(size: str, what: str) -> None:
    text = WORKLOAD.replace("program:", f"size: {size}\nprogram:")
    with pytest.raises(InputError, match=what):
        _ = bind(read_workload(text), machine(), {"bare": 0}).size
