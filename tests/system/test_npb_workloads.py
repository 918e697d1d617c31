"""The workloads shaped like the NAS Parallel Benchmarks, CICE and HOMME.

Oracles: the operation counts by which the benchmarks rate themselves and their published classes, written down here again;
messages counted in plain Python, process by process, by the benchmarks' published partitions; a pipeline's closed form.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from simcodesign.analytic.forecast import forecast as forecast_of
from simcodesign.comparison.compare import compare
from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import SEND
from simcodesign.core.result import Result
from simcodesign.describe.design_point import bind
from simcodesign.describe.evaluated.useful_flops import useful_flops
from simcodesign.describe.machine import Machine
from simcodesign.describe.programs.program import Block, walk
from simcodesign.describe.yaml.files import available
from simcodesign.describe.yaml.files import load_machine as read_machine
from simcodesign.describe.yaml.files import load_workload as read_workload
from simcodesign.engine.simulate import simulate as simulate_of
from simcodesign.generate.lower import make_plan
from tests.shipped_pairs import BY_SQUARE_OR_POWER, ELSEWHERE, RANKS_DIFFER, fits, ranks_of

ROUNDING = 1e-12
XEON = "xeon-cluster"
NPB = ("npb-bt", "npb-cg", "npb-ep", "npb-ft", "npb-lu", "npb-mg", "npb-sp")
EVERY = (*NPB, "cice", "homme")
#: The least that has everything in it.
SMALL: dict[str, dict[str, float]] = {
    **{name: {"iterations": 1} for name in NPB if name != "npb-ep"},
    "npb-ep": {},
    "cice": {"subcycles": 2},
    "homme": {"steps": 1, "rk_stages": 1, "tracer_stages": 1, "hypervis": 1},
}

#: A file takes longer to read than most of what follows.
load_workload, load_machine = cache(read_workload), cache(read_machine)


def forecast(name: str, machine: str | Machine, *given, **more) -> Result:
    return forecast_of(
        load_workload(name), load_machine(machine) if isinstance(machine, str) else machine, *given, **more
    )


def simulate(name: str, machine: str | Machine, *given, **more) -> Result:
    return simulate_of(
        load_workload(name), load_machine(machine) if isinstance(machine, str) else machine, *given, **more
    )


# ---------------------------------------------------------------------------------------------------------------------
# Classes, operations, kernels

#: Class -> size and iterations, by the documents of NPB 2 and 3.
EDGES = {"S": 12, "A": 64, "B": 102, "C": 162, "D": 408, "E": 1020}
CLASSES: dict[str, dict[str, dict[str, float]]] = {
    "npb-bt": {
        c: {"n": n, "iterations_full": i}
        for (c, n), i in zip((EDGES | {"W": 24}).items(), (60, 200, 200, 200, 250, 250, 200), strict=True)
    },
    "npb-sp": {
        c: {"n": n, "iterations_full": i}
        for (c, n), i in zip((EDGES | {"W": 36}).items(), (100, 400, 400, 400, 500, 500, 400), strict=True)
    },
    "npb-lu": {
        c: {"n": n, "iterations_full": i}
        for (c, n), i in zip((EDGES | {"W": 33}).items(), (50, 250, 250, 250, 300, 300, 300), strict=True)
    },
    "npb-mg": {
        c: {"lt": lt, "iterations_full": i}
        for c, lt, i in zip("SWABCDE", (5, 7, 8, 8, 9, 10, 11), (4, 4, 4, 20, 20, 50, 50), strict=True)
    },
    "npb-ep": {c: {"m": m} for c, m in zip("SWABCDE", (24, 25, 28, 30, 32, 36, 40), strict=True)},
    "npb-cg": {
        c: {"na": na, "nonzer": nonzer, "iterations_full": i}
        for c, na, nonzer, i in zip(
            "SWABCDE",
            (1400, 7000, 14000, 75000, 150000, 1500000, 9000000),
            (7, 8, 11, 13, 15, 21, 26),
            (15, 15, 15, 75, 75, 100, 100),
            strict=True,
        )
    },
    "npb-ft": {
        c: {"nx": nx, "ny": ny, "nz": nz, "iterations_full": i}
        for c, nx, ny, nz, i in (
            ("S", 64, 64, 64, 6),
            ("W", 128, 128, 32, 6),
            ("A", 256, 256, 128, 6),
            ("B", 512, 256, 256, 20),
            ("C", 512, 512, 512, 20),
            ("D", 2048, 1024, 1024, 25),
            ("E", 4096, 2048, 2048, 25),
        )
    },
}
#: Ding et al., APMT, Table 3: kernels, and those that do not scale.
TABLE_3 = {
    "cice": (7, 2),
    "homme": (11, 6),
    "npb-ep": (3, 0),
    "npb-mg": (5, 1),
    "npb-ft": (5, 2),
    "npb-sp": (5, 1),
    "npb-lu": (6, 2),
    "npb-bt": (8, 2),
    "npb-cg": (6, 1),
}


def operations(name: str, size: dict[str, float], iterations: int) -> float:
    """What the benchmark divides by its time (of EP, random numbers)."""
    n = size.get("n", 0)
    match name:
        case "npb-bt":
            return iterations * (3478.8 * n**3 - 17655.7 * n**2 + 28023.7 * n)
        case "npb-sp":
            return iterations * (881.174 * n**3 - 4683.91 * n**2 + 11484.5 * n - 19272.4)
        case "npb-lu":
            return iterations * (
                1984.77 * n * n * n - 10923.3 * ((n + n + n) / 3) ** 2 + 27770.9 * (n + n + n) / 3 - 144010.0
            )
        case "npb-mg":
            return 58.0 * iterations * 8 ** size["lt"]
        case "npb-ep":
            return 2 ** (size["m"] + 1)
        case "npb-cg":
            row = size["nonzer"] * (size["nonzer"] + 1)
            return 2 * iterations * size["na"] * (3 + row + 25 * (5 + row) + 3)
    points = size["nx"] * size["ny"] * size["nz"]
    return points * (14.8157 + 7.19641 * math.log(points) + (5.23518 + 7.21113 * math.log(points)) * iterations)


@pytest.mark.parametrize("name", NPB)
def test_classes_are_the_published_ones(name: str) -> None:
    assert {c: dict(values) for c, values in load_workload(name).presets.items()} == CLASSES[name]


@pytest.mark.parametrize("name", NPB)
def test_operations_are_those_the_benchmark_counts(name: str) -> None:
    workload, machine = load_workload(name), load_machine(XEON)
    for preset, size in CLASSES[name].items():
        for iterations in (1, 7) if name != "npb-ep" else (1,):
            given = {"P": 16} | ({} if name == "npb-ep" else {"iterations": iterations})
            got = useful_flops(bind(workload, machine, given, preset=preset))
            assert got == pytest.approx(operations(name, size, iterations), rel=ROUNDING)


#: What processes do besides, all of it zero; MG has more where a grid has fewer points than processes.
NOTHING_ELSE = {
    "npb-bt": {"copy_instructions": 0, "norm_instructions": 0},
    "npb-sp": {"copy_instructions": 0},
    "npb-lu": {"copy_instructions": 0, "norm_instructions": 0},
}


@pytest.mark.parametrize("name", NOTHING_ELSE)
def test_all_instructions_are_those_of_the_operations(name: str) -> None:
    for ranks in ranks_of(name, (1, 4, 9, 16, 64)):
        given = {"P": ranks, "iterations": 2, "instructions_per_flop": 1.7, **NOTHING_ELSE[name]}
        result = forecast(name, XEON, given, preset="A")
        assert result.instructions == pytest.approx(1.7 * operations(name, CLASSES[name]["A"], 2), rel=ROUNDING)


def test_instructions_of_mg_where_every_grid_has_a_point_for_every_process() -> None:
    given = {"P": 8, "iterations": 1, "level_instructions": 0, "instructions_per_flop": 1}
    cycle = forecast("npb-mg", XEON, given, preset="A").instructions - 2 * 3 * 256**3  # without the two norms
    assert cycle == pytest.approx(58 * 256**3, rel=ROUNDING)


def blocks(name: str) -> dict[str, list[Block]]:
    values: dict[str, list[Block]] = {}
    for step in walk(load_workload(name).program):
        if isinstance(step, Block) and step.phase:
            values.setdefault(step.phase, []).append(step)
    return values


def fixed(name: str) -> set[str]:
    """The kernels that do not scale, as their own descriptions say."""
    return {
        phase for phase, parts in blocks(name).items() if any("does not scale with P" in part.about for part in parts)
    }


@pytest.mark.parametrize("name", EVERY)
def test_as_many_kernels_as_the_source_counts(name: str) -> None:
    assert (len(load_workload(name).phases()), len(fixed(name))) == TABLE_3[name]


#: The vectors of CG: processes of a column do the same.
REPEATED = {"npb-cg": {"sum_rows", "transpose", "dot_products", "update"}}


@pytest.mark.parametrize("name", EVERY)
def test_strong_scaling_of_kernels(name: str) -> None:
    """Of those that scale, all processes together do the same whatever P; of the others more, the more processes."""
    ranks = (4, 16, 64)
    for phase in load_workload(name).phases():
        total = [forecast(name, XEON, {"P": P, **SMALL[name]}, phases=[phase]).instructions for P in ranks]
        if phase in fixed(name):
            assert total[0] < total[1] < total[2] or phase == "transpose", phase  # FT's own copies are its slab
        elif phase in REPEATED.get(name, ()):
            assert total[0] / 4 >= total[1] / 16 > total[2] / 64, phase
        else:
            assert total == pytest.approx([total[0]] * 3, rel=ROUNDING), phase


@pytest.mark.parametrize("name", ["npb-bt", "npb-sp", "npb-lu", "npb-cg", "npb-mg", "npb-ft", "cice", "homme"])
def test_the_capacity_of_caches_matters(name: str) -> None:
    """Of the accesses, fewer go to memory where a process has less."""
    preset, ranks, given = {
        "npb-ft": ("W", 32, {}),
        "homme": ("small", 1024, {"nlev": 26}),
        "cice": ("gx1", 256, {}),
    }.get(name, ("B", 1024, {}))
    shares = []
    for P in (1, ranks):
        served = forecast(name, XEON, {"P": P, **given}, preset=preset).served
        shares.append(served["memory"] / sum(served.values()))
    assert shares[0] > 2 * shares[1]


#: NAS Parallel Benchmark Results: memory of classes A and B in Mw, printed to a whole number.
MEMORY_MW = {"npb-bt": (24, 96), "npb-sp": (6, 22), "npb-lu": (30, 122), "npb-mg": (57, 57)}


@pytest.mark.parametrize("name", MEMORY_MW)
def test_footprint_is_the_published_memory(name: str) -> None:
    for preset, published in zip("AB", MEMORY_MW[name], strict=True):
        whole = 16 * forecast(name, XEON, {"P": 16}, preset=preset).footprint_bytes
        assert whole / 8e6 == pytest.approx(published, rel=0.5 / published + 0.05)  # SP: 22.9 and 20.7 words a point


@pytest.mark.parametrize("name", EVERY)
def test_size_is_that_of_the_whole_problem(name: str) -> None:
    sizes = {bind(load_workload(name), load_machine(XEON), {"P": P}).size for P in (1, 4, 16)}
    assert len(sizes) == 1
    if name in ("npb-bt", "npb-sp", "npb-lu"):
        assert sizes == {load_workload(name).parameters["n"].default ** 3}


# ---------------------------------------------------------------------------------------------------------------------
# Messages

Message = tuple[int, int, float]


def sent(name: str, ranks: int, given: dict[str, float], phases: list[str] | None = None) -> Counter[Message]:
    """Messages of the simulation: source, target and bytes, each as often as it is sent."""
    design_point = bind(load_workload(name), load_machine(XEON), {"P": ranks, **given}, phases=phases)
    plan = make_plan(design_point, ())
    here = plan.kind == SEND
    return Counter(
        zip(
            plan.rank[here].tolist(), plan.peer[here].tolist(), np.round(plan.size_bytes[here], 6).tolist(), strict=True
        )
    )


def cells(q: int, process: int) -> list[tuple[int, int, int]]:
    """Coordinates of the cells of a process of a multi-partition, one in every plane of cells."""
    return [((process % q + k) % q, (process // q - k) % q, k) for k in range(q)]


@pytest.mark.parametrize("name", ["npb-bt", "npb-sp"])
@pytest.mark.parametrize("q", [2, 3, 4])
def test_messages_of_a_multi_partition(name: str, q: int) -> None:
    """Whoever owns the next cell gets the message: one per process, axis, way and plane of cells but the last."""
    n = 36
    owner = {cell: process for process in range(q * q) for cell in cells(q, process)}
    assert len(owner) == q**3
    edge = n // q
    forward, back = (30, 5) if name == "npb-bt" else (22, 10)
    expected: Counter[Message] = Counter()
    for process in range(q * q):
        for axis in range(3):
            faces: Counter[int] = Counter()
            for cell in cells(q, process):
                for way, values in ((1, forward), (-1, back)):
                    if not 0 <= cell[axis] + way < q:
                        continue
                    other = owner[tuple(c + way * (a == axis) for a, c in enumerate(cell))]
                    faces[way, other] += edge * edge * 2 * 5
                    lines = (
                        (edge + 1) ** 2 if name == "npb-bt" else (n - 2) ** 2 / q**2
                    )  # the mean: cells at the rim are smaller
                    expected[process, other, round(8 * values * lines, 6)] += 1
            for (_, other), doubles in faces.items():
                expected[process, other, 8.0 * doubles] += 1
    phases = ["copy_faces", "x_solve", "y_solve", "z_solve", *(["back_substitution"] if name == "npb-bt" else [])]
    assert sent(name, q * q, {"n": n, "iterations": 1}, phases) == expected


@pytest.mark.parametrize("q", [2, 3, 4])
def test_bytes_of_sp_are_those_of_its_cells(q: int) -> None:
    """The mean of a stage is exact: summed over real cells, of which those at the rim have no line at the boundary."""
    n = 36
    inner = [n // q - (c == 0) - (c == q - 1) for c in range(q)]
    stage = sum(inner[a] * inner[b] for a in range(q) for b in range(q))
    got = sent("npb-sp", q * q, {"n": n, "iterations": 1}, ["x_solve", "y_solve", "z_solve"])
    assert sum(size * count for (_, _, size), count in got.items()) == pytest.approx(
        3 * (q - 1) * 8 * 32 * stage, rel=1e-9
    )


def grid_of_cg(ranks: int) -> tuple[int, int]:
    """Rows and columns of processes."""
    log = ranks.bit_length() - 1
    return 2 ** (log // 2), 2 ** (log - log // 2)


@pytest.mark.parametrize("ranks", [1, 2, 4, 8, 16, 32])
def test_messages_of_cg(ranks: int) -> None:
    """The set-up of the benchmark, step by step."""
    rows, columns = grid_of_cg(ranks)
    na, inner = 1600, 3
    expected: Counter[Message] = Counter()
    for me in range(ranks):
        row, column = divmod(me, columns)
        width = columns
        while width > 1:
            partner = row * columns + (column + width // 2) % width + column // width * width
            expected[me, partner, 8.0 * na / columns] += inner + 1
            expected[me, partner, 8.0] += 2 * (inner + 1)
            expected[me, partner, 16.0] += 1
            width //= 2
        if rows == columns:
            partner = me % rows * rows + me // rows
        else:
            partner = 2 * (me // 2 % rows * rows + me // 2 // rows) + me % 2
        if partner != me:
            expected[me, partner, 8.0 * na / columns] += inner + 1
    assert sent("npb-cg", ranks, {"na": na, "inner": inner, "iterations": 1}) == expected


@pytest.mark.parametrize("ranks", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("pipelined", [0, 1])
def test_messages_of_lu(ranks: int, pipelined: int) -> None:
    n = 34
    log = ranks.bit_length() - 1
    xdim, ydim = 2 ** (log - log // 2), 2 ** (log // 2)
    expected: Counter[Message] = Counter()
    for rank in range(ranks):
        row, column = rank % xdim, rank // xdim
        neighbours = [(rank + step, ydim) for step, there in ((1, row < xdim - 1), (-1, row > 0)) if there]
        neighbours += [
            (rank + step * xdim, xdim) for step, there in ((1, column < ydim - 1), (-1, column > 0)) if there
        ]
        for other, along in neighbours:
            for _plane in range(1, n - 1):
                expected[rank, other, round(8 * 5 * (n - 2) / along, 6)] += 1
            expected[rank, other, round(8 * 10 * n * n / along, 6)] += 1
    given = {"n": n, "iterations": 1, "pipelined": pipelined}
    assert sent("npb-lu", ranks, given, ["exchange_3", "lower", "upper"]) == expected


def test_planes_of_lu_together_are_as_many_bytes() -> None:
    one, some = (
        sent("npb-lu", 8, {"n": 34, "iterations": 1, "planes_per_message": g}, ["lower", "upper"]) for g in (1, 5)
    )
    assert sum(some.values()) == sum(one.values()) * 7 / 32
    assert [sum(s * c for (_, _, s), c in each.items()) for each in (one, some)] == pytest.approx(
        [2 * 8 * 5 * 32 * 32 * (4 + 2 - 2)] * 2
    )


@pytest.mark.parametrize("ranks", [1, 2, 4, 16, 64])
def test_messages_of_mg(ranks: int) -> None:
    """comm3 after psinv, resid and rprj3 of every grid, but no resid on the coarsest; one resid more after the cycle."""
    lt, log = 5, ranks.bit_length() - 1
    dx = log // 3
    dy = (log - dx) // 2
    extent = [2**dx, 2**dy, 2 ** (log - dx - dy)]
    expected: Counter[Message] = Counter()
    for level in range(1, lt + 1):
        times = 2 if level == 1 else 3  # of the finest: resid, psinv, resid
        x, y, z = (max(2**level // e, 1) for e in extent)
        sizes = (y * z, (x + 2) * z, (x + 2) * (y + 2))
        for rank in range(ranks):
            place = [rank % extent[0], rank // extent[0] % extent[1], rank // extent[0] // extent[1]]
            for axis in range(3):
                for way in (1, -1) if extent[axis] > 1 else ():
                    to = [(c + way * (a == axis)) % extent[a] for a, c in enumerate(place)]
                    other = to[0] + extent[0] * (to[1] + extent[1] * to[2])
                    expected[rank, other, 8.0 * sizes[axis]] += times
    assert (
        sent("npb-mg", ranks, {"lt": lt, "iterations": 1}, ["rprj3", "coarse", "psinv", "interp"])
        + Counter({key: 2 * count for key, count in finest(ranks, extent, lt).items()})
        == expected
    )


def finest(ranks: int, extent: list[int], lt: int) -> Counter[Message]:
    """One comm3 of the finest grid: what resid, whose phase also has norms, sends twice."""
    got = sent("npb-mg", ranks, {"lt": lt, "iterations": 2}, ["psinv"])
    return Counter({key: count // 2 for key, count in got.items()})


def doubling(ranks: int) -> int:
    """Messages of an allreduce by recursive doubling, ranks a power of two."""
    return ranks * (ranks.bit_length() - 1)


@pytest.mark.parametrize("ranks", [1, 4, 32])
def test_messages_of_ft_and_ep(ranks: int) -> None:
    given = {"nx": 64, "ny": 64, "nz": 32, "iterations": 3}
    assert sent("npb-ft", ranks, given, ["transpose"]) == Counter(
        {(a, b, 16.0 * 64 * 64 * 32 / ranks**2): 4 for a in range(ranks) for b in range(ranks) if a != b}
    )
    for name, more, phase, sizes in (("npb-ft", given, "checksum", [16] * 3), ("npb-ep", {}, "tally", [8, 8, 80, 8])):
        got = sent(name, ranks, more, [phase])
        assert sum(got.values()) == len(sizes) * doubling(ranks)
        assert sum(size * count for (_, _, size), count in got.items()) == sum(sizes) * doubling(ranks)


@pytest.mark.parametrize(
    ("ranks", "rows"), [(1, 1), (2, 1), (4, 2), (5, 1), (8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (96, 8), (128, 8)]
)
def test_messages_of_cice(ranks: int, rows: int) -> None:
    """Blocks in rows that are closed and columns that are not."""
    columns = ranks // rows
    expected: Counter[Message] = Counter()
    for rank in range(ranks):
        row, column = divmod(rank, columns)
        for way in (1, -1):
            if columns > 1:
                expected[rank, row * columns + (column + way) % columns, round(16 * 384 / rows, 6)] += 2
            if 0 <= row + way < rows:
                expected[rank, (row + way) * columns + column, round(16 * 320 / columns, 6)] += 2
    assert sent("cice", ranks, {"subcycles": 2}, ["stepu"]) == expected


def test_half_of_the_longitudes_have_sunshine() -> None:
    for ranks, lit in ((16, 8), (10, 6), (1, 1)):  # of 5 columns, two and a half
        result = simulate("cice", XEON, {"P": ranks, "subcycles": 1}, phases=["shortwave_compute_dEdd"], effects="none")
        assert result.ranks is not None
        assert np.count_nonzero(result.ranks.end_s > 0) == lit


def test_collectives_of_homme_are_24_kilobytes() -> None:
    got = sent("homme", 16, {"steps": 3}, ["global_sums", "broadcast"])
    assert {size for _, _, size in got} == {24e3}
    assert sum(got.values()) == 3 * (16 * 4 + 15)


def test_borders_of_homme_go_to_four_neighbours_after_every_stage() -> None:
    got = sent("homme", 16, {"steps": 2, "ne": 8, "nlev": 10, "qsize": 4}, ["edge_exchange"])
    assert sum(got.values()) == 2 * (5 + 3 + 2 * 3) * 16 * 4
    side = math.sqrt(6 * 8 * 8 / 16) * 4 * 10
    assert {size for _, _, size in got} == {round(8 * 4 * side, 6)}


@pytest.mark.parametrize(
    ("name", "n", "iterations", "ranks", "line"),
    [
        ("npb-lu", 64, 250, (2, 4, 8), (1.20e8, 0)),
        ("npb-lu", 64, 250, (4, 8, 16, 32), (6.59e7, 3.35e8)),
        ("npb-lu", 102, 250, (4, 8, 16, 32), (1.69e8, 8.57e8)),
        ("npb-sp", 64, 400, (4, 9, 16), (3.25e8, 7.94e8)),
        ("npb-sp", 102, 400, (4, 9, 16), (8.37e8, 2.05e9)),
    ],
)
def test_volumes_are_as_the_files_say(
    name: str, n: int, iterations: int, ranks: tuple[int, ...], line: tuple[float, float]
) -> None:
    """Beside those of Ding et al., 6.52e7 P + 5.92e9 B for LU and 3.05e8 P + 3.15e9 B for SP."""
    volume = [forecast(name, XEON, {"P": P, "n": n, "iterations": iterations}).message_bytes for P in ranks]
    assert np.polyfit(ranks, volume, 1) == pytest.approx(line, rel=0.005, abs=1e3)  # three digits are printed; norms


# ---------------------------------------------------------------------------------------------------------------------
# Numbers of processes


@pytest.mark.thorough
@pytest.mark.parametrize("read", [forecast, simulate])
@pytest.mark.parametrize("name", [*BY_SQUARE_OR_POWER])
def test_other_numbers_of_processes_are_refused(name: str, read: Callable[..., object]) -> None:
    for ranks in {3, 8, 12} - {*ranks_of(name, (8,))}:
        with pytest.raises(InputError, match="process grid"):
            read(name, XEON, {"P": ranks})


def test_ft_has_no_less_than_a_plane_for_each_process() -> None:
    with pytest.raises(InputError, match="process grid"):
        forecast("npb-ft", XEON, {"P": 64}, preset="W")
    forecast("npb-ft", XEON, {"P": 32}, preset="W")


# ---------------------------------------------------------------------------------------------------------------------
# Both readings

MACHINES = ("xeon-cluster", "xeon-4-nodes", "torus-cluster")


def together(name: str) -> dict[str, float]:
    """In small; LU without its wavefront, which a sum over each process's own steps does not know."""
    return SMALL[name] | ({"pipelined": 0} if name == "npb-lu" else {})


def some_ranks(name: str) -> tuple[int, ...]:
    """Where LU has processes with neighbours on all sides, if with any."""
    return ranks_of(name, (1, 16, 32) if name == "npb-lu" else (1, 2, 4, 8, 9, 10, 16))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", ELSEWHERE)
def test_simulation_without_effects_is_the_forecast(name: str, machine: str) -> None:
    assert fits(name, machine)
    for ranks in some_ranks(name):
        given = {"P": ranks, **together(name)}
        forecasted, simulated = forecast(name, machine, given), simulate(name, machine, given, effects="none")
        assert simulated.makespan_s == pytest.approx(forecasted.makespan_s, rel=ROUNDING)
        for phase, times in forecasted.phases.items():
            for part, time in times.items():
                assert simulated.phases[phase][part] == pytest.approx(
                    time, rel=ROUNDING, abs=ROUNDING * forecasted.makespan_s
                ), (
                    phase,
                    part,
                )
        assert (simulated.messages, simulated.message_bytes) == pytest.approx(
            (forecasted.messages, forecasted.message_bytes), rel=ROUNDING
        )
        assert simulated.instructions == pytest.approx(forecasted.instructions, rel=ROUNDING)
        assert simulated.served == pytest.approx(forecasted.served, rel=ROUNDING)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_simulation_stays_in_its_bounds(name: str) -> None:
    comparison = compare(
        load_workload(name),
        load_machine(XEON),
        {"P": 4, **SMALL[name]},
        effects=["hops", "links", "interfaces", "memory"],
    )
    assert comparison.within_bounds


@pytest.mark.parametrize("name", ELSEWHERE)
def test_engines_agree(name: str) -> None:
    given = {"P": 4, **SMALL[name]}
    effects = ["links", "interfaces", "memory", "imbalance", "noise"]
    one, other = (
        simulate(name, XEON, given, effects=effects, seed=5, engine=engine) for engine in ("simpy", "compiled")
    )
    assert (one.makespan_s, one.phases) == (other.makespan_s, other.phases)


@pytest.mark.parametrize("name", sorted({*EVERY} - {*RANKS_DIFFER}))
def test_forecast_of_several_numbers_of_processes_at_once(name: str) -> None:
    ranks = np.array([1, 2, 8, 64])
    every = forecast(name, XEON, {"P": ranks}).makespan_s
    assert every == pytest.approx([forecast(name, XEON, {"P": P}).makespan_s for P in ranks], rel=1e-13)


def wavefront(xdim: int, ydim: int, planes: int, work_s: float, row_s: float, column_s: float) -> float:
    """When the last process is done with a sweep: each waits for two neighbours, works, and sends one after another."""
    done = np.zeros((xdim, ydim))  # when a process is free for its next plane
    for _ in range(planes):
        from_north, from_west = np.zeros((xdim, ydim)), np.zeros((xdim, ydim))
        for row in range(xdim):
            for column in range(ydim):
                time = max(done[row, column], from_north[row, column], from_west[row, column]) + work_s
                if row + 1 < xdim:
                    time += row_s
                    from_north[row + 1, column] = time
                if column + 1 < ydim:
                    time += column_s
                    from_west[row, column + 1] = time
                done[row, column] = time
    return float(done.max())


@pytest.mark.parametrize("sweep", ["lower", "upper"])
@pytest.mark.parametrize("ranks", [2, 4, 8, 16, 64])
def test_wavefront_of_lu_is_a_pipeline(ranks: int, sweep: str) -> None:
    n, machine = 34, read_machine("torus-cluster", {"network.distance": "one"})
    log = ranks.bit_length() - 1
    xdim, ydim = 2 ** (log - log // 2), 2 ** (log // 2)
    given = {"P": ranks, "n": n, "iterations": 1}
    alone = forecast("npb-lu", machine, {**given, "pipelined": 0}, phases=[sweep]).phases[sweep]
    work_s = (alone["computation"] + alone["memory"]) / (n - 2)
    row_s, column_s = (2e-6 + 100e-9 + 8 * 5 * (n - 2) / extent / 2e9 for extent in (ydim, xdim))
    got = simulate("npb-lu", machine, given, phases=[sweep], effects="none").makespan_s
    assert got == pytest.approx(wavefront(xdim, ydim, n - 2, work_s, row_s, column_s), rel=1e-11)
    if ydim > 1:  # every plane takes the first process its work and two sends; the last plane then passes all others
        filled = (n - 3) * (work_s + row_s + column_s)
        passed = (xdim - 1) * (work_s + row_s) + (ydim - 1) * (work_s + row_s + column_s) + work_s
        corner = passed - (ydim - 1) * row_s  # along the last row there is nobody further south
        assert filled + corner <= got * (1 + ROUNDING)
        assert got <= (filled + passed) * (1 + ROUNDING)


@pytest.mark.parametrize("name", EVERY)
def test_more_processes_are_faster(name: str) -> None:
    preset = "B" if name in NPB else None
    times = [forecast(name, XEON, {"P": P}, preset=preset).makespan_s for P in (1, 4, 16, 64)]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("machine", ["xeon-cluster", "xeon-4-nodes"])
def test_platforms_are_those_of_the_source(machine: str) -> None:
    described = load_machine(machine)
    cores, clock_hz, memory_bytes = (24, 2.5e9, 128e9) if machine == "xeon-cluster" else (32, 3e9, 64e9)
    assert (described.processors_per_node, described.processor.clock_hz, described.capacity_bytes) == (
        cores,
        clock_hz,
        memory_bytes,
    )
    assert described.memory is not None
    shapes = [(level.size_bytes / 1024, level.ways) for level in described.memory.caches]
    assert shapes == [(32, 8), (256, 8), (2560, 20)]
    assert [round(level.latency_s * clock_hz) for level in described.memory.caches] == [4, 12, 50]
    assert described.most_ranks >= (1024 if machine == "xeon-cluster" else 128)
    assert machine in available("topologies")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "line", "ranks", "norms"),
    [("npb-sp", (3.05e8, 3.15e9), (4, 9, 16, 121), 0), ("npb-lu", (6.52e7, 5.92e9), (2, 4, 8, 128), 40)],
)
@pytest.mark.parametrize("preset", ["A", "C"])
def test_the_published_volumes(
    name: str, line: tuple[float, float], ranks: tuple[int, ...], norms: int, preset: str
) -> None:
    """Ding et al., section 4.2: bytes of all processes in a whole run. LU sends its norms besides, twice."""
    for P in ranks:
        given = {"P": P, "iterations": 2, "volume": "published"}
        result = forecast(name, XEON, given, preset=preset)
        share = 2 / result.values["iterations_full"]
        besides = 2 * norms * P * np.log2(P)
        assert result.message_bytes == pytest.approx(share * (line[0] * P + line[1]) + besides, rel=1e-12)
        if P <= 16:
            assert simulate(name, XEON, given, preset=preset, effects="none").message_bytes == pytest.approx(
                result.message_bytes
            )
