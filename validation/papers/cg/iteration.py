"""An exascale conjugate-gradient iteration: its mesh and its published time, by both readings.

Source: Bhatele et al., IPDPS 2011, section on conjugate gradients. Every expected number is printed there or follows
from its equations, which are written out here once more, apart from the workload ``cg`` that both readings read.
The feasibility region that follows is in ``region``, what it leaves out in ``effects``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np

import simcodesign as sc
from simcodesign.studies.validation.case import Case, Derived, Label, Readings, Tolerance

SOURCE = "Bhatele et al., IPDPS 2011, conjugate gradient"
WORKLOAD, MACHINE = "cg", "exascale-cg"
#: Nodes, cores of a node and dof of a core; cores on the surface of a node; seconds per flop.
P, CORES, N_I, N_SHARED, S, S_I, T_C = 2**20, 1024, 17**3, 17**3 - 15**3, 520, 18, 1e-10
N = 16385**3
RATE = 1e18
#: A point of the plane at which times are compared, inside the region: s per message and per value.
TS, TW = 1e-7, 5e-11
#: What follows from printed numbers alone: 16385 - 1 nodes of the mesh on an edge in cubes of 16 make 1024^3 cores.
PUBLISHED = {"mesh, cores and nodes; equations of T_setup and T_iter": "published"}
ROUNDING = Tolerance("sums of some 10^3 doubles, in another order", relative=1e-11)


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


def useful_flops(vector: int = 6, s_i: int = S_I, nodes: int = P) -> float:
    """Operations of an iteration that count for the rate; the printed numerator has ``vector`` = 1."""
    return nodes * CORES * (2 * s_i + vector) * N_I + dofs(nodes) + 2 * math.log2(nodes)


def constants(ts: float = TS, tw: float = TW) -> dict[str, float]:
    """Machine constants of a point of the plane; values have 8 bytes."""
    return {"network.startup": ts, "network.per_byte": tw / 8}


# --- What the workload says ------------------------------------------------------------------------------------


def _values(*names: str) -> Readings:
    values = sc.forecast(WORKLOAD, MACHINE, {"P": P}).values
    return Readings(forecast={name: float(values[name]) for name in names})  # type: ignore[arg-type] # one design point


NODES = Case(
    name="cg/mesh/nodes",
    claim="The mesh has 2^30 cores, in nodes of 8 x 8 x 16 that form a grid of 128 x 128 x 64.",
    source=f"{SOURCE}, weak scaling; follows from the size of the mesh",
    unit="1",
    expected={"P_c": 2**30, "grid_x": 128, "grid_y": 128, "grid_z": 64},
    tolerance=Tolerance("counts, exact as doubles"),
    reading="forecast",
    measure=lambda: _values("P_c", "grid_x", "grid_y", "grid_z"),
    workload=WORKLOAD,
    machine=MACHINE,
    derivation=(Derived("P_c", "((16385 - 1)/16)**3"),),
    quick=True,
)
MESH = Case(
    name="cg/mesh",
    claim="A core of 16^3 cubes has 4913 degrees of freedom, 1538 of them on its surface; a node has 520 cores on its.",
    source=f"{SOURCE}, weak scaling",
    unit="1",
    expected={
        "n_i": N_I,
        "n_shared": N_SHARED,
        "N": N,
        "S": S,
    },
    printed=True,
    inputs=PUBLISHED,
    tolerance=Tolerance("counts; the number of all dofs is beyond what a double holds exactly", relative=1e-15),
    reading="forecast",
    measure=lambda: _values("n_i", "n_shared", "N", "S"),
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


def _times(
    phase: str, ranks: tuple[int, ...], simulated: tuple[int, ...], given: Mapping[str, float], machine: str
) -> Readings:
    """Seconds of a phase over the number of nodes, simulated without effects."""
    machines = {nodes: sc.Machine.load(machine, {"nodes": nodes}) for nodes in ranks}
    values = {**constants(), **given}
    return Readings(
        forecast={p: float(sc.forecast(WORKLOAD, machines[p], values, phases=phase).makespan_s) for p in ranks},
        simulation={
            p: float(sc.simulate(WORKLOAD, machines[p], values, phases=phase, effects="none").makespan_s)
            for p in simulated
        },
    )


def t_iter_derived(sends: int, nodes: int = P) -> tuple[Derived, ...]:
    """Its parts, and their sum."""
    values = {
        "s": S_I,
        "n": N_I,
        "N": dofs(nodes),
        "P_c": nodes * CORES,
        "lg": nodes.bit_length() - 1,
        "t_c": T_C,
        "S": sends,
        "S_0": S,
        "n_s": N_SHARED,
        "t_s": TS,
        "t_w": TW,
        "eta": 1.0,
    }

    def part(symbol: str, formula: str) -> Derived:
        used = {name: value for name, value in values.items() if name in Derived("", formula, values).expression.names}
        return Derived(symbol, formula, used, "s", f"{nodes} nodes")

    parts = (
        part("computation", "1/eta*((2*s + 6)*n + N/P_c + 2*lg)*t_c"),
        part("startups", "2*(S + 2*lg)*t_s"),
        part("values", "2*(S_0*n_s + 2*lg)*t_w"),
    )
    whole = Derived(
        "T_iter", " + ".join(line.symbol for line in parts), {line.symbol: line.value for line in parts}, "s"
    )
    return (*parts, whole)


def time_case(
    name: str,
    claim: str,
    phase: str,
    expected: dict[Label, float],
    simulated: tuple[int, ...],
    sends: int = S,
    machine: str = MACHINE,
    full: bool = False,
    quick: bool = False,
    **given: float,
) -> Case:
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
        derivation=t_iter_derived(sends, ranks[-1]) if phase == "iterate" else (),
        full=full,
        quick=quick,
    )


ALL = tuple(2**k for k in range(3, 21))
SMALL, MIDDLE, LARGE, FULL = (2**6, 2**9), (2**12,), (2**15,), (2**20,)


def _iterations(ranks: tuple[int, ...], sends: int = S) -> dict[Label, float]:
    return {p: t_iter(p, sends=sends) for p in ranks}


TIMES = [
    time_case(
        "cg/t-iter/forecast",
        "The forecast of an iteration is the published T_iter for every number of nodes.",
        "iterate",
        _iterations(ALL),
        (),
        quick=True,
    ),
    time_case(
        "cg/t-setup/forecast",
        "The forecast of the set-up is the published T_setup for every number of nodes.",
        "setup",
        {p: t_setup(p) for p in ALL},
        (),
        quick=True,
    ),
    time_case(
        "cg/t-setup/simulated",
        "The set-up, simulated message by message without contention, takes T_setup.",
        "setup",
        {p: t_setup(p) for p in SMALL},
        SMALL,
    ),
    time_case(
        "cg/t-iter/each-message",
        "An iteration, each of 1040 messages of a node simulated, takes T_iter.",
        "iterate",
        _iterations(SMALL + MIDDLE),
        SMALL + MIDDLE,
    ),
    time_case(
        "cg/t-iter/trains",
        "With the messages to a neighbour as one train the simulated time is the same.",
        "iterate",
        _iterations(SMALL + MIDDLE + LARGE),
        SMALL + MIDDLE + LARGE,
        train=104.0,
    ),
    time_case(
        "cg/t-iter/aggregated",
        "With one message to each neighbour, T_iter has 6 startups in place of 520.",
        "iterate",
        _iterations(SMALL + MIDDLE + LARGE, 6),
        SMALL + MIDDLE + LARGE,
        6,
        aggregated=1.0,
    ),
    time_case(
        "cg/t-iter/hypercube",
        "Without contention the network does not matter: T_iter on a hypercube.",
        "iterate",
        _iterations(SMALL),
        SMALL,
        machine="exascale-cg-hypercube",
        train=104.0,
        quick=True,
    ),
    time_case(
        "cg/t-iter/fat-tree",
        "Without contention the network does not matter: T_iter on a fat tree.",
        "iterate",
        _iterations(SMALL),
        SMALL,
        machine="exascale-cg-fat-tree",
        train=104.0,
        quick=True,
    ),
    time_case(
        "cg/t-iter/each-message-32768",
        "An iteration of 2^15 nodes, every message simulated, takes T_iter.",
        "iterate",
        _iterations(LARGE),
        LARGE,
        full=True,
    ),
    time_case(
        "cg/t-iter/trains-1048576",
        "An iteration of the whole machine, messages in trains, takes T_iter.",
        "iterate",
        _iterations(FULL),
        FULL,
        train=104.0,
        full=True,
    ),
    time_case(
        "cg/t-iter/aggregated-1048576",
        "An iteration of the whole machine with 6 messages takes that T_iter.",
        "iterate",
        _iterations(FULL, 6),
        FULL,
        6,
        aggregated=1.0,
        full=True,
    ),
]


# --- The mesh of the source ---------------------------------------------------------------------------------------


def mesh_degrees(edge: int) -> np.ndarray:
    """Count the neighbours of the vertices inside a mesh of edge^3 cubes, each cut into five tetrahedra.

    The base unit is repeated as it is: the central tetrahedron of each cube has the corners whose places in the cube
    are even. The diagonals of a face then differ between its two cubes, and both connect their ends.
    """
    neighbours: dict[tuple[int, int, int], set[tuple[int, int, int]]] = {}
    for cube in itertools.product(range(edge), repeat=3):
        corners = [
            tuple(c + d for c, d in zip(cube, step, strict=True)) for step in itertools.product((0, 1), repeat=3)
        ]
        inner = [corner for corner in corners if (sum(corner) - sum(cube)) % 2 == 0]  # the central tetrahedron
        for corner in corners:
            if corner in inner:
                tetrahedra = [inner]
            else:  # a corner tetrahedron: the corner and its three neighbours in the cube
                tetrahedra = [
                    [corner, *(c for c in inner if sum(abs(a - b) for a, b in zip(c, corner, strict=True)) == 1)]
                ]
            for tetrahedron in tetrahedra:
                for a, b in itertools.permutations(tetrahedron, 2):
                    neighbours.setdefault(a, set()).add(b)  # type: ignore[arg-type]
    inside = [v for v in neighbours if all(0 < x < edge for x in v)]
    return np.array([len(neighbours[v]) for v in inside])


def _degree_case() -> Case:
    degrees = mesh_degrees(5)
    return Case(
        name="cg/mean-degree",
        claim="The average number of neighbours of a degree of freedom is 18. This compares the source with a mesh as it "
        "describes it, counted here; no reading is tested.",
        source=f"{SOURCE}, weak scaling and Figure 8; counted where the base unit is repeated as it is",
        unit="neighbours",
        expected={"average": 18.0},
        tolerance=Tolerance("a count of whole numbers"),
        reading="source",
        printed=True,
        inputs={"base unit of the mesh, a cube cut into five tetrahedra": "published"},
        own={"average": float(degrees.mean())},
        derivation=(
            Derived(
                "average",
                "edges + faces",
                {"edges": 6, "faces": 12},
                about="on each face around a vertex the diagonals of two cubes cross",
            ),
        ),
        quick=True,
    )


CASES = [MESH, NODES, *TIMES, _degree_case()]
