"""For which messages an exascale conjugate-gradient iteration reaches 1 Eflop/s, and where the source contradicts itself.

Source: Bhatele et al., IPDPS 2011, region of Figure 9: 2.26e-4 - 2.10e-5 / eta >= 1120 t_s + 1599600 t_w. The four numbers
are printed; what follows from them is computed here, with them and with what they are rounded from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from simcodesign.studies.feasibility.regions import FeasibilityQuestion, forecast_region, question, threshold
from simcodesign.studies.validation.case import Case, Derived, Label, Readings, Tolerance

from ...published.tables import table
from .iteration import (
    MACHINE,
    N_I,
    N_SHARED,
    PUBLISHED,
    RATE,
    SOURCE,
    WORKLOAD,
    N,
    P,
    S,
    t_iter,
    t_iter_derived,
    useful_flops,
)

ETAS = (1.0, 0.75, 0.5, 0.25, 0.2, 0.1, 0.095)


def cg_question(**parameters: float) -> FeasibilityQuestion:
    """For which startup and time per value does an iteration reach 1 Eflop/s?"""
    return question(WORKLOAD, MACHINE, ("ts", "tw"), RATE, parameters)


def _coefficients(**parameters: float) -> Readings:
    region = forecast_region(cg_question(**parameters), points=2)
    assert region.slopes is not None  # the time is linear in both costs
    return Readings(forecast={"ts": region.slopes[0], "tw": region.slopes[1]})


def coefficient_case(name: str, claim: str, own: dict[Label, float], **parameters: float) -> Case:
    """A case on the two coefficients of the printed inequality."""
    return Case(
        name=name,
        claim=claim,
        source=f"{SOURCE}, region of Figure 9",
        unit="messages or values",
        expected={"ts": 1120.0, "tw": 1599600.0},
        tolerance=Tolerance("differences of forecasts, which are rounded", relative=1e-9),
        reading="forecast",
        measure=lambda: _coefficients(**parameters),
        own=own,
        printed=True,
        inputs=PUBLISHED | ({"dot products, by the term 2 lg P_n; completion of each": "published"} if own else {}),
        workload=WORKLOAD,
        machine=MACHINE,
        parameters={"P": P, **parameters},
        derivation=(
            Derived("ts", "2*(S + 2*lg)", {"S": S, "lg": 20}),
            Derived("tw", "2*(S*n_shared + 2*lg)", {"S": S, "n_shared": N_SHARED, "lg": 20}),
        ),
        quick=True,
    )


COEFFICIENTS = [
    coefficient_case("cg/coefficients", "An iteration costs 1120 startups and 1599600 times per value.", {}),
    coefficient_case(
        "cg/coefficients/both-completions",
        "Only one of an iteration's two dot products is charged a completion; with both there are 1.5 times as many sends.",
        {"ts": 2.0 * 520 + 520 + 80, "tw": 3.0 * 520 * 1538 + 80},
        completions=2.0,
    ),
]

RHS, FIXED = 2.26e-4, 2.10e-5
PRINTED = Tolerance("half a unit of the last of three printed digits", absolute=0.5e-6)


def right_hand_case(
    name: str, claim: str, own: float | None, derived: Derived, inputs: Mapping[str, str], **parameters: float
) -> Case:
    """A case on the first number on the right of the printed inequality: useful flops / rate."""
    return Case(
        name=name,
        claim=claim,
        source=f"{SOURCE}, region of Figure 9",
        unit="s",
        expected={"useful flops / rate": RHS},
        tolerance=PRINTED,
        reading="forecast",
        measure=lambda: Readings(forecast={"useful flops / rate": cg_question(**parameters).limit_s}),
        own={} if own is None else {"useful flops / rate": own},
        printed=True,
        inputs={**PUBLISHED, **inputs},
        workload=WORKLOAD,
        machine=MACHINE,
        parameters={"P": P, **parameters},
        derivation=(derived,),
        quick=True,
    )


def _rate_derived(vector: int, s_i: int) -> Derived:
    values = {"P_c": 2.0**30, "s": s_i, "n": N_I, "N": N, "lg": 20, "rate": RATE}
    return Derived("useful flops / rate", f"(P_c*(2*s + {vector})*n + N + 2*lg)/rate", values, "s")


REGION = [
    right_hand_case(
        "cg/right-hand-side",
        "The useful operations of an iteration at 1 Eflop/s take 2.26e-4 s, with (2 s + 6) n of them.",
        None,
        _rate_derived(6, 18),
        {"(2 s + 6) n as in T_iter; the numerator prints (2 s + 1) n": "chosen"},
    ),
    right_hand_case(
        "cg/right-hand-side/as-printed",
        "The printed numerator has (2 s + 1) n operations, which give another right-hand side.",
        useful_flops(1) / RATE,
        _rate_derived(1, 18),
        {"the printed numerator": "published"},
        vector_flops=1.0,
    ),
    Case(
        name="cg/computation",
        claim="The computation of an iteration takes 2.10e-5 s at the peak rate.",
        source=f"{SOURCE}, region of Figure 9",
        unit="s",
        expected={"T_iter at ts = tw = 0": FIXED},
        printed=True,
        inputs=PUBLISHED | {"1e-10 s for an operation": "reconstructed"},
        tolerance=Tolerance("half a unit of the last of three printed digits", absolute=0.5e-7),
        reading="forecast",
        measure=lambda: Readings(forecast={"T_iter at ts = tw = 0": forecast_region(cg_question(), points=2).fixed_s}),
        workload=WORKLOAD,
        machine=MACHINE,
        derivation=t_iter_derived(S)[:1],
        quick=True,
    ),
]


@dataclass(frozen=True)
class Axis:
    """One of the two costs, its place among them, and how many of it an iteration pays."""

    place: int
    name: str
    words: str
    symbol: str
    unit: str
    per: float


@dataclass(frozen=True)
class Constants:
    """What the region a - b / eta >= c t_s + d t_w is computed from: ``a_s`` and ``b_s`` in s; and how the workload asks."""

    rows: str  # of the table of intercepts
    words: str
    a_s: float
    b_s: float
    parameters: Mapping[str, float] = field(default_factory=dict)

    def etas(self) -> tuple[float, ...]:
        """Efficiencies of the table at which anything is feasible."""
        rows = table("conjugate-gradient-intercepts")
        return tuple(float(eta) for eta in rows[rows.constants == self.rows].eta if self.b_s / eta < self.a_s)

    def line(self, axis: Axis, eta: float) -> Derived:
        """The intercept with an axis."""
        values = {"a": self.a_s, "b": self.b_s, "eta": eta, "c": axis.per}
        return Derived(axis.symbol, "(a - b/eta)/c", values, axis.unit, f"eta = {eta:g}")


AXES = (
    Axis(0, "latency", "startup", "t_s", "s", 2 * (S + 40.0)),
    Axis(1, "bandwidth", "time per value", "t_w", "s per value", 2 * (S * N_SHARED + 40.0)),
)
PRINTED_REGION = Constants("printed", "from the printed, rounded constants", RHS, FIXED)
EXACT = Constants(
    "exact(2s+6)", "from unrounded constants, with (2 s + 6) n operations", useful_flops() / RATE, t_iter(P, 0.0, 0.0)
)
AS_PRINTED = Constants(
    "exact(2s+1) lhs",
    "with the printed numerator, (2 s + 1) n",
    useful_flops(1) / RATE,
    t_iter(P, 0.0, 0.0),
    {"vector_flops": 1.0},
)
#: Slopes and fixed times are differences of forecasts; at eta = 0.095 all but a fiftieth of them cancels.
CANCELS = Tolerance(
    "accuracy of the boundary and differences of doubles, the rest being a fiftieth of them", relative=1e-10
)


def _intercepts(axis: Axis, etas: tuple[float, ...], constants: Constants) -> dict[Label, float]:
    return {
        eta: forecast_region(cg_question(eta=eta, **constants.parameters), points=2).intercepts[axis.place]
        for eta in etas
    }


def _intercept_case(
    name: str, axis: Axis, of: Constants, etas: tuple[float, ...], tolerance: Tolerance, when: str = ""
) -> Case:
    lines: dict[Label, Derived] = {eta: of.line(axis, eta) for eta in etas}
    return Case(
        name=f"cg/intercepts/{name}",
        claim=f"The largest {axis.words} for 1 Eflop/s{when}, the other cost being zero, {of.words}.",
        source=f"{SOURCE}, region of Figure 9; computed from its constants here",
        unit=axis.unit,
        expected={eta: line.value for eta, line in lines.items()},
        tolerance=tolerance,
        reading="forecast",
        measure=lambda: Readings(forecast=_intercepts(axis, etas, of)),
        workload=WORKLOAD,
        machine=MACHINE,
        parameters={"P": P, **of.parameters},
        axis="eta",
        derivation=tuple(lines.values()),
        quick=True,
    )


def _printed_case(axis: Axis, eta: float) -> Case:
    """How far the rounding of two numbers carries depends on eta."""
    tolerance = Tolerance(
        f"half a unit of the last digit of the printed 2.26e-4 and of 2.10e-5, over {eta:g}",
        absolute=(0.5e-6 + 0.5e-7 / eta) / axis.per,
    )
    return _intercept_case(
        f"printed/{axis.name}-eta-{eta:g}", axis, PRINTED_REGION, (eta,), tolerance, f" at eta = {eta:g}"
    )


def intercept_cases() -> list[Case]:
    """The intercepts of the boundary with both axes, for the printed and for the exact constants."""
    unrounded = (("exact", EXACT), ("as-printed", AS_PRINTED))
    return [
        *(_printed_case(axis, eta) for axis in AXES for eta in PRINTED_REGION.etas()),
        *(
            _intercept_case(f"{kind}/{axis.name}", axis, of, of.etas(), CANCELS)
            for kind, of in unrounded
            for axis in AXES
        ),
    ]


def _order_case(name: str, claim: str, sense: str, bound: float) -> Case:
    """An order of magnitude that the text gives without a word on efficiencies: compared with all of them."""
    axis = AXES[0] if name.startswith("latency") else AXES[1]

    def needed(line: Derived) -> Derived:
        return line if axis.place == 0 else replace(line, symbol="bandwidth", formula="8e-9*c/(a - b/eta)", unit="GB/s")

    def measure() -> Readings:
        intercepts = _intercepts(axis, ETAS, EXACT)
        return Readings(
            forecast=intercepts if axis.place == 0 else {eta: 8e-9 / value for eta, value in intercepts.items()}
        )

    lines: dict[Label, Derived] = {eta: needed(EXACT.line(axis, eta)) for eta in ETAS}
    return Case(
        name=f"cg/order/{name}",
        claim=f"{claim} Which efficiencies the figure draws is not recovered.",
        source=f"{SOURCE}, Figure 9 and the text about it; its region's own equation",
        unit=lines[1.0].unit,
        expected=dict.fromkeys(ETAS, bound),
        printed=True,
        inputs=PUBLISHED | {"efficiencies that the figure draws": "chosen"},
        own={eta: line.value for eta, line in lines.items()},
        tolerance=replace(CANCELS, reason=f"an order of magnitude is claimed; {CANCELS.reason}", sense=sense),
        reading="forecast",
        measure=measure,
        workload=WORKLOAD,
        machine=MACHINE,
        parameters={"P": P},
        axis="eta",
        derivation=tuple(lines.values()),
        quick=True,
    )


ORDERS = [
    _order_case(
        "latency-above",
        "The latency that is needed is tenths of a microsecond, not less: by the region's own equation so for "
        "efficiencies from 0.2 on; for 0.1 it is 14 ns and for 0.095 it is 4 ns.",
        "at_least",
        1e-7,
    ),
    _order_case("latency-below", "The latency that is needed is tenths of a microsecond, not more.", "at_most", 1e-6),
    _order_case("bandwidth-above", "The node bandwidth that is needed is tens of GB/s, not less.", "at_least", 10.0),
    _order_case(
        "bandwidth-below",
        "The node bandwidth that is needed is tens of GB/s, not more: by the region's own equation so for efficiencies "
        "from 0.25 on; for 0.2 it is 106, for 0.1 it is 827 and for 0.095 it is 2908 GB/s.",
        "at_most",
        100.0,
    ),
]

THRESHOLD = Case(
    name="cg/threshold",
    claim="Below an efficiency of 0.0929 no network is good enough.",
    source=f"{SOURCE}, region of Figure 9: 2.26e-4 = 2.10e-5 / eta, computed here",
    unit="1",
    expected={"eta": FIXED / RHS},
    tolerance=Tolerance("rounding of the printed 2.26e-4 and 2.10e-5", relative=0.5e-6 / RHS + 0.5e-7 / FIXED),
    reading="forecast",
    measure=lambda: Readings(forecast={"eta": threshold(cg_question(), "eta", 0.01, 1.0) or math.nan}),
    workload=WORKLOAD,
    machine=MACHINE,
    derivation=(Derived("eta", "b/a", {"a": RHS, "b": FIXED}),),
    quick=True,
)

FIGURE = Case(
    name="cg/figure-9",
    claim="Figure 9 draws the region over t_s and t_w for several efficiencies.",
    source=f"{SOURCE}, Figure 9",
    unit="1",
    expected={"boundary": 1.0},
    tolerance=Tolerance("nothing is compared"),
    reading="source",
    needs={"efficiencies and axes of the figure": None},
)

CASES = [*COEFFICIENTS, *REGION, *intercept_cases(), *ORDERS, THRESHOLD, FIGURE]
