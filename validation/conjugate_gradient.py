"""An exascale conjugate-gradient iteration: the published time, its coefficients, and where the source contradicts itself.

Source: Bhatele et al., IPDPS 2011, section on conjugate gradients. Every expected number is printed there or follows
from its equations, which are written out here once more, apart from the workload ``cg`` that both readings read.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np

import simcodesign as sc
from simcodesign.codesign.feasibility import Question, forecast_region, question, threshold
from simcodesign.validate.case import Case, Derived, Label, Said, Tolerance

from .published import table

SOURCE = "Bhatele et al., IPDPS 2011, conjugate gradient"
WORKLOAD, MACHINE = "cg", "exascale-cg"
#: Nodes, cores of a node and dof of a core; cores on the surface of a node; seconds per flop.
P, CORES, N_I, N_SHARED, S, S_I, T_C = 2**20, 1024, 17**3, 17**3 - 15**3, 520, 18, 1e-10
N = 16385**3
RATE = 1e18
ETAS = (1.0, 0.75, 0.5, 0.25, 0.2, 0.1, 0.095)
#: A point of the plane at which times are compared, inside the region: s per message and per value.
TS, TW = 1e-7, 5e-11
ROUNDING = Tolerance("sums of some 10^3 doubles, in another order", relative=1e-11)
SYMBOLS = {"S": S, "n": N_SHARED, "lg": 20.0}


def dofs(nodes: int) -> int:
    """Degrees of freedom of the whole mesh: cubes of 16 x 16 x 16 on cores in blocks of 8 x 8 x 16, nodes in 3-D."""
    grid = node_grid(nodes)
    return math.prod(16 * cores * extent + 1 for cores, extent in zip((8, 8, 16), grid, strict=True))


def node_grid(nodes: int) -> tuple[int, int, int]:
    """2^k nodes as 2^ceil(k/3) x ... : 128 x 128 x 64 for 2^20."""
    k = nodes.bit_length() - 1
    return 2 ** ((k + 2) // 3), 2 ** ((k + 1) // 3), 2 ** (k // 3)


def t_iter(nodes: int = P, ts: float = TS, tw: float = TW, eta: float = 1.0, sends: int = S, s_i: int = S_I) -> float:
    """The published seconds of an iteration; ``sends``: messages of a node in an exchange."""
    lg = math.log2(nodes)
    flops = (2 * s_i + 6) * N_I + dofs(nodes) / (nodes * CORES) + 2 * lg
    return flops / eta * T_C + 2 * (sends + 2 * lg) * ts + 2 * (S * N_SHARED + 2 * lg) * tw


def t_setup(nodes: int = P, ts: float = TS, tw: float = TW, eta: float = 1.0) -> float:
    """The published seconds of the set-up."""
    lg = math.log2(nodes)
    flops = (2 * S_I + 1) * N_I + dofs(nodes) / (nodes * CORES) + lg
    return flops / eta * T_C + 2 * (S + lg) * ts + 2 * (S * N_SHARED + lg) * tw


def useful_flops(vector: int = 6, s_i: int = S_I) -> float:
    """Operations of an iteration that count for the rate; the printed numerator has ``vector`` = 1."""
    return P * CORES * (2 * s_i + vector) * N_I + N + 40


def asked(**parameters: float) -> Question:
    """For which startup and time per value does an iteration reach 1 Eflop/s?"""
    return question(WORKLOAD, MACHINE, ("ts", "tw"), RATE, parameters)


def constants(ts: float = TS, tw: float = TW) -> dict[str, float]:
    """Machine constants of a point of the plane; values have 8 bytes."""
    return {"network.startup": ts, "network.per_byte": tw / 8}


# --- What the workload says ------------------------------------------------------------------------------------


def _values() -> Said:
    values = sc.forecast(WORKLOAD, MACHINE, {"P": P}).values
    names = ("n_i", "n_shared", "N", "S", "P_c", "grid_x", "grid_y", "grid_z")
    return Said(forecast={name: float(values[name]) for name in names})  # type: ignore[arg-type] # one design point


MESH = Case(
    name="cg/mesh",
    claim="A core of 16^3 cubes has 4913 degrees of freedom, 1538 of them on its surface; a node has 520 cores on its.",
    source=f"{SOURCE}, weak scaling",
    unit="1",
    expected={"n_i": N_I, "n_shared": N_SHARED, "N": N, "S": S, "P_c": 2**30, "grid_x": 128, "grid_y": 128, "grid_z": 64},
    tolerance=Tolerance("counts; the number of all dofs is beyond what a double holds exactly", relative=1e-15),
    reading="forecast",
    measure=_values,
    workload=WORKLOAD,
    machine=MACHINE,
    derivation=(
        Derived("n_i", "(edge + 1)**3", {"edge": 16}),
        Derived("n_shared", "(edge + 1)**3 - (edge - 1)**3", {"edge": 16}),
        Derived("S", "x*y*z - (x - 2)*(y - 2)*(z - 2)", {"x": 8, "y": 8, "z": 16}),
        Derived("N", "(edge*cores + 1)**3", {"edge": 16, "cores": 1024}),
    ),
    quick=True,
)


# --- The published times, by both readings ------------------------------------------------------------------------


def _times(phase: str, ranks: tuple[int, ...], simulated: tuple[int, ...], given: Mapping[str, float], machine: str) -> Said:
    """Seconds of a phase over the number of nodes, simulated without effects."""
    machines = {nodes: sc.load_machine(machine, {"nodes": nodes}) for nodes in ranks}
    values = {**constants(), **given}
    return Said(
        forecast={p: float(sc.forecast(WORKLOAD, machines[p], values, phases=phase).makespan_s) for p in ranks},
        simulation={
            p: float(sc.simulate(WORKLOAD, machines[p], values, phases=phase, effects="none").makespan_s)
            for p in simulated
        },
    )


def _t_iter_derived(sends: int) -> tuple[Derived, ...]:
    values = {"s": S_I, "n": N_I, "N": N, "P_c": 2**30, "lg": 20, "t_c": T_C, "S": sends, "S_0": S, "n_s": N_SHARED,
              "t_s": TS, "t_w": TW, "eta": 1.0}  # fmt: skip

    def part(symbol: str, formula: str) -> Derived:
        used = {name: value for name, value in values.items() if name in Derived("", formula, values).expression.names}
        return Derived(symbol, formula, used, "s")

    return (
        part("computation", "1/eta*((2*s + 6)*n + N/P_c + 2*lg)*t_c"),
        part("startups", "2*(S + 2*lg)*t_s"),
        part("values", "2*(S_0*n_s + 2*lg)*t_w"),
    )


def time_case(
    name: str, claim: str, phase: str, expected: dict[Label, float], simulated: tuple[int, ...], sends: int = S,
    machine: str = MACHINE, full: bool = False, quick: bool = False, **given: float,
) -> Case:  # fmt: skip
    """A case on the time of a phase over the number of nodes."""
    ranks = tuple(int(p) for p in expected)
    return Case(
        name=name,
        claim=claim,
        source=f"{SOURCE}, equation of T_{phase[:5].removesuffix('at')}",
        unit="s",
        expected=expected,
        tolerance=ROUNDING,
        reading="both" if simulated == ranks else "forecast",
        measure=lambda: _times(phase, ranks, simulated, given, machine),
        workload=WORKLOAD,
        machine=machine,
        parameters={**constants(), **given, "phase": phase, "effects": "none"},
        axis="nodes",
        derivation=_t_iter_derived(sends) if phase == "iterate" else (),
        full=full,
        quick=quick,
    )


ALL = tuple(2**k for k in range(3, 21))
SMALL, MIDDLE, LARGE, FULL = (2**6, 2**9), (2**12,), (2**15,), (2**20,)


def _iterations(ranks: tuple[int, ...], sends: int = S) -> dict[Label, float]:
    return {p: t_iter(p, sends=sends) for p in ranks}


TIMES = [
    time_case("cg/t-iter/forecast", "The forecast of an iteration is the published T_iter for every number of nodes.",
              "iterate", _iterations(ALL), (), quick=True),
    time_case("cg/t-setup/forecast", "The forecast of the set-up is the published T_setup for every number of nodes.",
              "setup", {p: t_setup(p) for p in ALL}, (), quick=True),
    time_case("cg/t-setup/simulated", "The set-up, simulated message by message without contention, takes T_setup.",
              "setup", {p: t_setup(p) for p in SMALL}, SMALL),
    time_case("cg/t-iter/each-message", "An iteration, each of 1040 messages of a node simulated, takes T_iter.",
              "iterate", _iterations(SMALL + MIDDLE), SMALL + MIDDLE),
    time_case("cg/t-iter/trains", "With the messages to a neighbour as one train the simulated time is the same.",
              "iterate", _iterations(SMALL + MIDDLE + LARGE), SMALL + MIDDLE + LARGE, train=104.0),
    time_case("cg/t-iter/aggregated", "With one message to each neighbour, T_iter has 6 startups in place of 520.",
              "iterate", _iterations(SMALL + MIDDLE + LARGE, 6), SMALL + MIDDLE + LARGE, 6, aggregated=1.0),
    time_case("cg/t-iter/hypercube", "Without contention the network does not matter: T_iter on a hypercube.",
              "iterate", _iterations(SMALL), SMALL, machine="exascale-cg-hypercube", train=104.0, quick=True),
    time_case("cg/t-iter/fat-tree", "Without contention the network does not matter: T_iter on a fat tree.",
              "iterate", _iterations(SMALL), SMALL, machine="exascale-cg-fat-tree", train=104.0, quick=True),
    time_case("cg/t-iter/each-message-32768", "An iteration of 2^15 nodes, every message simulated, takes T_iter.",
              "iterate", _iterations(LARGE), LARGE, full=True),
    time_case("cg/t-iter/trains-1048576", "An iteration of the whole machine, messages in trains, takes T_iter.",
              "iterate", _iterations(FULL), FULL, train=104.0, full=True),
    time_case("cg/t-iter/aggregated-1048576", "An iteration of the whole machine with 6 messages takes that T_iter.",
              "iterate", _iterations(FULL, 6), FULL, 6, aggregated=1.0, full=True),
]  # fmt: skip


# --- The feasibility region -------------------------------------------------------------------------------------


def _coefficients(**parameters: float) -> Said:
    region = forecast_region(asked(**parameters), points=2)
    assert region.slopes is not None  # the time is linear in both costs
    return Said(forecast={"ts": region.slopes[0], "tw": region.slopes[1]})


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


def right_hand_case(name: str, claim: str, own: float | None, derived: Derived, **parameters: float) -> Case:
    """A case on the first number on the right of the printed inequality: useful flops / rate."""
    return Case(
        name=name,
        claim=claim,
        source=f"{SOURCE}, region of Figure 9",
        unit="s",
        expected={"useful flops / rate": RHS},
        tolerance=PRINTED,
        reading="forecast",
        measure=lambda: Said(forecast={"useful flops / rate": asked(**parameters).limit_s}),
        own={} if own is None else {"useful flops / rate": own},
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
        "cg/right-hand-side", "The useful operations of an iteration at 1 Eflop/s take 2.26e-4 s, with (2 s + 6) n of them.",
        None, _rate_derived(6, 18),
    ),
    right_hand_case(
        "cg/right-hand-side/as-printed", "The printed numerator has (2 s + 1) n operations, which give another right-hand side.",
        useful_flops(1) / RATE, _rate_derived(1, 18), vector_flops=1.0,
    ),
    right_hand_case(
        "cg/right-hand-side/mean-degree", "With the mean number of neighbours of that mesh, 12, the right-hand side is another.",
        useful_flops(6, 12) / RATE, _rate_derived(6, 12), s_i=12.0,
    ),
    Case(
        name="cg/computation",
        claim="The computation of an iteration takes 2.10e-5 s at the peak rate.",
        source=f"{SOURCE}, region of Figure 9",
        unit="s",
        expected={"T_iter at ts = tw = 0": FIXED},
        tolerance=Tolerance("half a unit of the last of three printed digits", absolute=0.5e-7),
        reading="forecast",
        measure=lambda: Said(forecast={"T_iter at ts = tw = 0": forecast_region(asked(), points=2).fixed_s}),
        workload=WORKLOAD,
        machine=MACHINE,
        derivation=_t_iter_derived(S)[:1],
        quick=True,
    ),
]  # fmt: skip


def mesh_degrees(edge: int) -> np.ndarray:
    """Neighbours of the vertices inside a mesh of edge^3 cubes, each cut into five tetrahedra, counted one by one.

    Cubes alternate between the two cuts: the central tetrahedron has the even vertices, so that diagonals match.
    """
    neighbours: dict[tuple[int, int, int], set[tuple[int, int, int]]] = {}
    for cube in itertools.product(range(edge), repeat=3):
        corners = [tuple(c + d for c, d in zip(cube, step, strict=True)) for step in itertools.product((0, 1), repeat=3)]
        inner = [corner for corner in corners if sum(corner) % 2 == 0]  # the central tetrahedron
        for corner in corners:
            if corner in inner:
                tetrahedra = [inner]
            else:  # a corner tetrahedron: the corner and its three neighbours in the cube
                tetrahedra = [[corner, *(c for c in inner if sum(abs(a - b) for a, b in zip(c, corner, strict=True)) == 1)]]
            for tetrahedron in tetrahedra:
                for a, b in itertools.permutations(tetrahedron, 2):
                    neighbours.setdefault(a, set()).add(b)  # type: ignore[arg-type]
    inside = [v for v in neighbours if all(0 < x < edge for x in v)]
    return np.array([len(neighbours[v]) for v in inside])


def _degree_case() -> Case:
    degrees = mesh_degrees(5)  # 4^3 vertices inside, as many of either kind
    return Case(
        name="cg/mean-degree",
        claim="The average number of neighbours of a degree of freedom is 18.",
        source=f"{SOURCE}, weak scaling; counted on a mesh of five tetrahedra to a cube",
        unit="neighbours",
        expected={"average": 18.0, "largest": 18.0},
        tolerance=Tolerance("a count; vertices of 18 and of 6 neighbours alternate"),
        reading="source",
        own={"average": float(degrees.mean()), "largest": float(degrees.max())},
        derivation=(Derived("average", "(a + b)/2", {"a": float(degrees.max()), "b": float(degrees.min())}),),
        quick=True,
    )


def _intercepts(axis: int, etas: tuple[float, ...], **parameters: float) -> Said:
    regions = {eta: forecast_region(asked(eta=eta, **parameters), points=2) for eta in etas}
    return Said(forecast={eta: region.intercepts[axis] for eta, region in regions.items()})


def intercept_cases() -> list[Case]:
    """The intercepts of the boundary with both axes, for the printed and for the exact constants."""
    rows = table("conjugate-gradient-intercepts")
    cases = []
    kinds = {
        "printed": ("printed", {}, "from the printed, rounded constants"),
        "exact": ("exact(2s+6)", {}, "from unrounded constants, with (2 s + 6) n operations"),
        "as-printed": ("exact(2s+1) lhs", {"vector_flops": 1.0}, "with the printed numerator, (2 s + 1) n"),
    }
    for kind, (constant, parameters, words) in kinds.items():
        chosen = rows[rows.constants == constant]
        for axis, (symbol, column, per) in enumerate(
            [("startup", "ts_max_s_at_tw0", 1120.0), ("time per value", "tw_max_s_per_value_at_ts0", 1599600.0)]
        ):
            values = {
                float(eta): float(value)
                for eta, value in zip(chosen.eta, chosen[column], strict=True)
                if str(value) not in ("infeasible", "nan", "None")
            }
            rounded = Tolerance(
                "rounding of the printed 2.26e-4 and 2.10e-5 at the smallest eta", absolute=(0.5e-6 + 0.5e-7 / 0.095) / per
            )
            digits = Tolerance("five digits are given", relative=0.5e-4)
            cases.append(
                Case(
                    name=f"cg/intercepts/{kind}/{'latency' if axis == 0 else 'bandwidth'}",
                    claim=f"The largest {symbol} for 1 Eflop/s, the other cost being zero, {words}.",
                    source=f"{SOURCE}, region of Figure 9",
                    unit="s" if axis == 0 else "s per value",
                    expected=values,  # type: ignore[arg-type]
                    tolerance=rounded if kind == "printed" else digits,
                    reading="forecast",
                    measure=lambda axis=axis, values=values, given=parameters: _intercepts(axis, tuple(values), **given),  # type: ignore[misc]
                    workload=WORKLOAD,
                    machine=MACHINE,
                    parameters={"P": P, **parameters},
                    axis="eta",
                    derivation=(Derived("at eta = 1", "(a - b/eta)/c", {"a": RHS, "b": FIXED, "eta": 1.0, "c": per}),),
                    quick=True,
                )
            )
    return cases


def _order_case(name: str, claim: str, axis: int, sense: str, bound: float, etas: tuple[float, ...], unit: str) -> Case:
    def measure() -> Said:
        said = _intercepts(axis, etas)
        return said if axis == 0 else Said(forecast={eta: 8 / value / 1e9 for eta, value in said.forecast.items()})

    return Case(
        name=name, claim=claim, source=f"{SOURCE}, Figure 9 and the text about it", unit=unit,
        expected=dict.fromkeys(etas, bound), tolerance=Tolerance("an order of magnitude is claimed", sense=sense),
        reading="forecast", measure=measure, workload=WORKLOAD, machine=MACHINE, parameters={"P": P}, axis="eta", quick=True,
    )  # fmt: skip


ORDERS = [
    _order_case("cg/order/latency-above", "The latency that is needed is tenths of a microsecond: not less.",
                0, "at_least", 1e-7, ETAS[:5], "s"),
    _order_case("cg/order/latency-below", "The latency that is needed is tenths of a microsecond: not more.",
                0, "at_most", 1e-6, ETAS[:5], "s"),
    _order_case("cg/order/bandwidth-above", "The node bandwidth that is needed is tens of GB/s: not less.",
                1, "at_least", 10.0, ETAS[:4], "GB/s"),
    _order_case("cg/order/bandwidth-below", "The node bandwidth that is needed is tens of GB/s: not more.",
                1, "at_most", 100.0, ETAS[:4], "GB/s"),
]  # fmt: skip

THRESHOLD = Case(
    name="cg/threshold",
    claim="Below an efficiency of 0.0929 no network is good enough.",
    source=f"{SOURCE}, region of Figure 9: 2.26e-4 = 2.10e-5 / eta",
    unit="1",
    expected={"eta": 0.0929},
    tolerance=Tolerance("rounding of the printed 2.26e-4 and 2.10e-5", relative=0.5e-6 / RHS + 0.5e-7 / FIXED),
    reading="forecast",
    measure=lambda: Said(forecast={"eta": threshold(asked(), "eta", 0.01, 1.0) or math.nan}),
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

CASES = [MESH, *TIMES, *COEFFICIENTS, *REGION, _degree_case(), *intercept_cases(), *ORDERS, THRESHOLD, FIGURE]
