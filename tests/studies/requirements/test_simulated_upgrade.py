"""Simulated upgrade studies: smaller and upgraded machines, counters against requirements, steps, rankings, straw men."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.topology.grid_shape import prime_factors, similar_shape
from simcodesign.describe.workload import Workload
from simcodesign.report.requirements.simulated_plot import spread
from simcodesign.studies.requirements.scaled_machine import (
    VARIED,
    smaller_machine,
    upgraded_machine,
    varied_machine,
)
from simcodesign.studies.requirements.sensitivity import assumed_numbers, picked, sensitivity
from simcodesign.studies.requirements.simulated_strawman import Scale, scale_for, simulated_straw_men, smaller_system
from simcodesign.studies.requirements.simulated_systems import COUNTERS, MOST_PAIRS
from simcodesign.studies.requirements.simulated_upgrade import (
    RANKS,
    SimulatedCell,
    geometric_mean,
    ranks_for,
    simulated_upgrades,
)
from simcodesign.studies.requirements.upgrade_factors import Upgrade
from simcodesign.studies.requirements.upgrade_ranking import WAYS, Ranking, rankings
from tests.builders import read_workload

UPGRADES = RACKS, SOCKETS, MEMORY = (
    Upgrade("racks", nodes=2),
    Upgrade("sockets", processors_per_node=2, memory=0.5),
    Upgrade("memory", memory=2),
)
NAMES = [upgrade.name for upgrade in UPGRADES]
SYSTEMS = ("strawman-massively-parallel", "strawman-vector", "strawman-hybrid")
#: Requirements without logarithms, so that every ratio is known: n ~ m, flop n^2, bytes n, loads n P at distance 2 n.
LAWS = """
simcodesign: 1
name: laws
parameters:
  n: {default: 1, range: [1e-9, 1e15]}
  far: {default: 2, range: [0, 1e9], origin: assumed}
footprint: 1e6*n
program:
  - compute: {flops: 1e6*n**2}
  - memory: {accesses: 1e4*n*P, stack_distance: far*n, blocking: 0.5}
  - exchange: {pattern: halo2d, bytes: 100*n}
"""


def laws(text: str = LAWS) -> Workload:
    return read_workload(text.lstrip())


@cache
def cells(effects: str = "all") -> Mapping[str, SimulatedCell]:
    result = simulated_upgrades([laws()], "juqueen", UPGRADES, ranks=32, effects=effects)
    return {cell.upgrade: cell for cell in result}


# Machines.


@given(st.lists(st.integers(1, 40), min_size=1, max_size=4), st.integers(1, 5000))
def test_a_similar_shape_has_the_nodes_and_doubles(shape: list[int], nodes: int) -> None:
    result = similar_shape(tuple(shape), nodes)
    assert (len(result), math.prod(result)) == (len(shape), nodes)
    assert math.prod(prime_factors(nodes)) == nodes


@pytest.mark.parametrize(
    ("shape", "nodes", "expected"),
    [
        ((28, 16, 8, 8), 64, (4, 4, 2, 2)),
        ((28, 16, 8, 8), 128, (8, 4, 2, 2)),
        ((28, 16, 8, 8), 1, (1, 1, 1, 1)),
        ((4, 4), 12, (3, 4)),
        ((7,), 10, (10,)),
    ],
)
def test_shapes(shape: tuple[int, ...], nodes: int, expected: tuple[int, ...]) -> None:
    assert similar_shape(shape, nodes) == expected


def test_a_smaller_machine_keeps_its_nodes() -> None:
    whole = sc.Machine.load("juqueen")
    small = smaller_machine(whole, 512)
    assert (small.nodes, small.most_ranks, small.network.topology.kind) == (32, 512, "torus")
    assert small.rank_capacity_bytes == whole.rank_capacity_bytes == 1e9
    assert small.constants() == whole.constants()
    assert smaller_machine(whole, whole.most_ranks) == whole


@pytest.mark.parametrize("ranks", [0, 8, 24, 458752 * 2])
def test_ranks_fill_whole_nodes(ranks: int) -> None:
    with pytest.raises(InputError, match=r"ranks to be simulated on juqueen.*a multiple of 16"):
        smaller_machine(sc.Machine.load("juqueen"), ranks)


def test_what_has_no_smaller_one_is_refused() -> None:
    machine = sc.Machine.load("crossbar-16")
    with pytest.raises(InputError, match="places every rank by itself"):
        smaller_machine(replace(machine, mapping=(0, 1, 2)), 2)
    graph = machine.with_topology(build_topology("graph", 4, graph=nx.cycle_graph(4)))
    with pytest.raises(InputError, match="is a graph"):
        smaller_machine(graph, 2)


@pytest.mark.parametrize(
    "name", ["hypercube-256", "mesh-256", "fat-tree-cluster", "torus-cluster", "power-challenge-tree", "dragonfly-1056"]
)
def test_every_kind_of_network_can_be_smaller(name: str) -> None:
    machine = sc.Machine.load(name)
    nodes = 4
    small = smaller_machine(machine, nodes * machine.processors_per_node)
    assert (small.nodes, small.network.topology.kind) == (nodes, machine.network.topology.kind)


def test_upgraded_machines() -> None:
    base = smaller_machine(sc.Machine.load("juqueen"), 64)
    racks, sockets, memory = (upgraded_machine(base, upgrade) for upgrade in UPGRADES)
    assert [(it.nodes, it.processors_per_node) for it in (racks, sockets, memory)] == [(8, 16), (4, 32), (4, 16)]
    assert [it.rank_capacity_bytes for it in (racks, sockets, memory)] == [1e9, 0.5e9, 2e9]
    assert all(
        it.constants() | {"memory.capacity": 0} == base.constants() | {"memory.capacity": 0}
        for it in (racks, sockets, memory)
    )


def test_upgraded_rates_are_rates() -> None:
    base = sc.Machine.load("juqueen")
    factors = {"processor": 2.0, "network": 4.0, "memory": 8.0, "disk": 0.5}
    old, new = base.constants(), upgraded_machine(base, Upgrade("all", rates=factors)).constants()
    expected = {
        "processor.rate": 2,
        "processor.clock": 2,
        "network.per_byte": 1 / 4,
        "network.interfaces.per_byte": 1 / 4,
        "memory.per_byte": 1 / 8,
        "disk.per_byte": 2,
    }
    assert {path: new[path] / old[path] for path in old if new[path] != old[path]} == pytest.approx(expected)


def test_no_parts_of_nodes() -> None:
    with pytest.raises(InputError, match="no whole number of nodes"):
        upgraded_machine(smaller_machine(sc.Machine.load("juqueen"), 16), Upgrade("half", nodes=1.5))
    with pytest.raises(InputError, match="no whole number of processors of a node"):
        upgraded_machine(sc.Machine.load("crossbar-16"), Upgrade("third", processors_per_node=1 / 3))


@pytest.mark.parametrize("name", VARIED)
def test_varied_back_and_forth(name: str) -> None:
    machine = sc.Machine.load("juqueen", changes={"caches.L1.bandwidth": "32 GB/s"})
    assert varied_machine(varied_machine(machine, name, 2.0), name, 0.5) == machine
    assert varied_machine(machine, name, 2.0) != machine


def test_what_cannot_be_varied() -> None:
    with pytest.raises(InputError, match=r"cannot be varied.*network\.bandwidth"):
        varied_machine(sc.Machine.load("juqueen"), "network.bandwith", 2.0)


# Cells.


@pytest.mark.thorough
def test_counters_have_the_ratios_of_the_requirements() -> None:
    values = {name: [cell.counter_ratios[counter] for counter in COUNTERS] for name, cell in cells().items()}
    expected = {"racks": [1, 1, 2], "sockets": [0.25, 0.5, 1], "memory": [4, 2, 2]}  # n^2, n, n P; no disk
    never = [math.nan]
    assert values == {name: pytest.approx(ratios + never, rel=1e-12, nan_ok=True) for name, ratios in expected.items()}
    assert all(cell.counter_error < 1e-12 for cell in cells().values())


def test_times_follow_the_closed_form() -> None:
    """By hand: computation n^2 / rate; accesses at no distance, all in the first cache, half of which are waited for."""
    (cell,) = simulated_upgrades([laws()], "juqueen", [MEMORY], {"far": 0.0}, ranks=32, effects="none")
    for run, n in ((cell.old, 1000.0), (cell.new, 2000.0)):
        assert run is not None
        assert run.size == pytest.approx(n, rel=1e-12)
        parts = run.simulation.components
        assert float(parts["computation"]) == pytest.approx(1e6 * n**2 / 12.8e9, rel=1e-12)
        assert float(parts["memory"]) == pytest.approx(0.5 * 1e4 * n * 32 * 3.75e-9, rel=1e-12)
        assert float(run.simulation.makespan_s) == pytest.approx(float(run.comparison.forecast.makespan_s), rel=1e-12)


def test_steps_lead_from_the_requirements_to_the_time() -> None:
    for cell in cells().values():
        total = cell.requirement_ratio + sum(step.change for step in cell.steps)
        assert total == pytest.approx(cell.time_ratio, rel=1e-12)
        assert cell.steps[-1].ratio == cell.time_ratio
        names = [step.name for step in cell.steps]
        assert names[:4] == [
            "weights of resources",
            "stack distances",
            "startups, hops and caches",
            "dependencies and waiting",
        ]
        assert "disks" not in names  # nobody uses them


def test_the_implied_ratio_is_a_mean_of_the_ratios() -> None:
    for cell in cells().values():
        ratios = [cell.study.ratios[name] for name in ("computation", "communication", "memory_access")]
        assert sum(cell.weights.values()) == pytest.approx(1)
        assert min(ratios) <= cell.implied_ratio <= max(ratios)
        assert min(ratios) <= cell.requirement_ratio <= max(ratios)
        assert cell.time_per_problem == pytest.approx(cell.time_ratio / cell.overall_ratio)


IO_LAWS = """
simcodesign: 1
name: io-laws
parameters:
  n: {default: 1, range: [1e-9, 1e15]}
footprint: 1e6*n
program:
  - compute: {flops: 1e6*n}
  - read: {bytes: 1000*n*P, times: 2}
  - write: {bytes: 8*n}
"""


def test_what_is_read_and_written_ranks_upgrades_too() -> None:
    """By hand, from 32 processes with 1 GB each, so that n is 1000: a process reads and writes n (2000 P + 8) bytes."""
    one = laws(IO_LAWS)
    with_disks = simulated_upgrades([one], "juqueen", UPGRADES, ranks=32, effects="none")
    old, slow_s = 1000.0 * (2000 * 32 + 8), 3 * 5e-3
    for cell, (n, processes) in zip(with_disks, ((1000.0, 64), (500.0, 64), (2000.0, 32)), strict=True):
        assert cell.new is not None
        ratio = n * (2000 * processes + 8) / old
        assert cell.study.ratios["io"] == pytest.approx(ratio, rel=1e-12)
        assert cell.counter_ratios["disk_bytes"] == pytest.approx(ratio, rel=1e-12)
        disk_s = [slow_s + old / 1e9, slow_s + ratio * old / 1e9]  # three accesses of 5 ms, 1 GB/s
        computed_s = [1e9 / 12.8e9, 1e6 * n / 12.8e9]
        assert cell.component_ratios["disk"] == pytest.approx(disk_s[1] / disk_s[0], rel=1e-12)
        assert cell.weights["io"] == pytest.approx(disk_s[0] / (disk_s[0] + computed_s[0]), rel=1e-12)
        implied = (ratio * disk_s[0] + n / 1000 * computed_s[0]) / (disk_s[0] + computed_s[0])
        assert cell.implied_ratio == pytest.approx(implied, rel=1e-12)
        assert cell.requirement_ratio == pytest.approx(math.sqrt(ratio * n / 1000), rel=1e-12)
    (ranking,) = rankings(with_disks)
    per_problem = {"racks": 128008 / 64008 / 2, "sockets": 64004 / 64008, "memory": 1.0}
    assert ranking.scores["io"] == pytest.approx(per_problem, rel=1e-12)
    assert {"disk.startup", "disk.bandwidth"} <= {*assumed_numbers(with_disks)}
    assert not {"disk.startup", "disk.bandwidth"} & {*assumed_numbers(list(cells("none").values()))}


def test_what_no_longer_fits() -> None:
    workload = laws(LAWS.replace("1e6*n\n", "1e6*n + 2e7*P\n"))
    racks, memory = simulated_upgrades([workload], "juqueen", [RACKS, MEMORY], ranks=32, effects="none")
    assert racks.new is None
    assert math.isnan(racks.time_ratio)
    assert (racks.steps, racks.explained_by()) == ((), None)
    assert memory.new is not None
    (ranking,) = rankings([racks, memory])
    assert ranking.picks("simulated") == ["memory"]
    with pytest.raises(InputError, match="nothing of laws fits the 64 processes"):
        simulated_upgrades([workload], "juqueen", [MEMORY], ranks=64)


def test_sizes_and_processes_cannot_be_given() -> None:
    for name in ("n", "P"):
        with pytest.raises(InputError, match=f"{name} cannot be given"):
            simulated_upgrades([laws()], "juqueen", [RACKS], {name: 2})


def test_ranks_of_an_exchange_of_all_with_all() -> None:
    machine, upgrades = sc.Machine.load("juqueen"), UPGRADES
    assert ranks_for(sc.Workload.load("kripke"), machine, upgrades) == RANKS
    relearn = ranks_for(sc.Workload.load("relearn"), machine, upgrades)
    assert (2 * relearn) ** 2 <= MOST_PAIRS < (4 * relearn) ** 2
    assert ranks_for(sc.Workload.load("relearn"), machine, upgrades, 16) == 16
    assert ranks_for(sc.Workload.load("milc"), sc.Machine.load("crossbar-16"), upgrades) == 16


def test_systems_are_told() -> None:
    calls: list[tuple[str, str, int, int]] = []
    simulated_upgrades(
        [laws()], "juqueen", [RACKS], ranks=16, effects="none", on_progress=lambda *what: calls.append(what)
    )
    assert calls == [("laws", "as it is", 0, 2), ("laws", "racks", 1, 2)]


# Rankings.


def ranking(**scores: Sequence[float]) -> Ranking:
    nothing = dict.fromkeys(NAMES, math.nan)
    given = {way: dict(zip(NAMES, values, strict=True)) for way, values in scores.items()}
    return Ranking("w", {way: given.get(way, nothing) for way in WAYS})


@pytest.mark.parametrize(
    ("expected", "named", "verdict"),
    [
        ((1, 2, 3), (1, 5, 5), "same"),
        ((1, 1.005, 3), (1, 2, 3), "narrower"),
        ((1, 2, 3), (1, 1, 3), "wider"),
        ((1, 2, 3), (2, 1, 3), "other"),
        ((1, 1, 3), (3, 1, 1), "other"),
        ((math.nan, 2, 3), (1, 2, 3), "other"),
    ],
)
def test_verdicts(expected: Sequence[float], named: Sequence[float], verdict: str) -> None:
    assert ranking(requirements=expected, simulated=named).verdict() == verdict


def test_what_does_not_fit_is_never_picked() -> None:
    result = ranking(simulated=(math.nan, 2, 1))
    assert result.order("simulated") == ["memory", "sockets"]
    assert result.picks("simulated") == ["memory"]
    assert result.picks("weighted") == []


def test_scores_are_for_a_unit_of_the_problem() -> None:
    (result,) = rankings(list(cells().values()))
    assert result.scores["computation"] == pytest.approx({"racks": 0.5, "sockets": 0.25, "memory": 2})
    assert result.scores["simulated"] == {name: cell.time_per_problem for name, cell in cells().items()}


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=5))
def test_the_mean_lies_between(ratios: list[float]) -> None:
    assert min(ratios) * (1 - 1e-12) <= geometric_mean([*ratios, 0.0, math.nan]) <= max(ratios) * (1 + 1e-12)
    assert math.isnan(geometric_mean([]))


# Sensitivity.


def test_a_rate_of_everything_changes_nothing() -> None:
    """Computation twice as fast, and caches and the network as well: the ratios of times stay."""
    values = list(cells("none").values())
    machine = values[0].old.machine
    fast = machine
    for name, factor in (
        ("processor.rate", 2.0),
        ("caches.latency", 0.5),
        ("memory.latency", 0.5),
        ("network.startup", 0.5),
        ("network.hop_latency", 0.5),
        ("network.bandwidth", 2.0),
    ):
        fast = varied_machine(fast, name, factor)
    other = simulated_upgrades([laws()], fast, UPGRADES, ranks=32, effects="none")
    assert [cell.time_ratio for cell in other] == pytest.approx([cell.time_ratio for cell in values], rel=1e-12)


def test_both_readings_of_a_sensitivity_agree_without_effects() -> None:
    values = list(cells("none").values())
    result = {"processor.rate": [0.5, 1.0, 2.0], "far": [0.5]}
    forecasted, simulated = (
        sensitivity(values, result, reading=reading, effects="none") for reading in ("forecast", "simulation")
    )
    assert [(one.name, one.factor) for one in forecasted] == [
        ("processor.rate", 0.5),
        ("processor.rate", 2.0),
        ("far", 0.5),
    ]
    for one, other in zip(forecasted, simulated, strict=True):
        assert one.ratios == pytest.approx(other.ratios, rel=1e-12)
        assert one.as_it_is == pytest.approx({("laws", cell.upgrade): cell.time_ratio for cell in values}, rel=1e-12)


def test_a_faster_processor_leaves_the_ratio_of_what_remains() -> None:
    """All but infinitely fast, the ratio of times is that of memory and communication."""
    values = list(cells("none").values())
    (one,) = sensitivity(values, {"processor.rate": [1e12]})
    for cell in values:
        assert cell.new is not None
        rest = [
            sum(float(run.comparison.forecast.components[part]) for part in ("memory", "communication"))
            for run in (cell.new, cell.old)
        ]
        assert one.ratios["laws", cell.upgrade] == pytest.approx(rest[0] / rest[1], rel=1e-8)
    change = one.largest_change
    where = (change.workload, change.upgrade)
    assert change.relative == pytest.approx(one.ratios[where] / one.as_it_is[where] - 1)


def test_numbers_that_are_assumed() -> None:
    names = assumed_numbers(list(cells("none").values()))
    assert {"processor.rate", "network.bandwidth", "caches.latency", "far"} <= set(names)
    assert "n" not in names


@pytest.mark.parametrize(
    ("expected", "what"),
    [({"nothing": [2.0]}, "neither a rate"), ({"far": [0.0]}, "factor of far"), ({"far": [math.inf]}, "factor of far")],
)
def test_numbers_that_cannot_be_varied(expected: dict[str, list[float]], what: str) -> None:
    with pytest.raises(InputError, match=what):
        sensitivity(list(cells("none").values()), expected)


def test_picks() -> None:
    scores = {("a", "x"): 1.0, ("a", "y"): 1.001, ("a", "z"): 2.0, ("b", "x"): math.nan, ("b", "y"): 3.0}
    assert picked(scores) == {"a": ("x", "y"), "b": ("y",)}


# Straw-man systems.


def test_all_systems_are_divided_by_the_same_factors() -> None:
    machines = [sc.Machine.load(name) for name in SYSTEMS]
    scale = scale_for(machines, 2000)
    assert scale == Scale(1000, 1000)
    small = [smaller_system(machine, scale) for machine in machines]
    assert [machine.processors for machine in small] == [2000, 50, 100]
    for one, whole in zip(small, machines, strict=True):
        assert one.rank_capacity_bytes == pytest.approx(whole.rank_capacity_bytes)
        assert one.memory is not None
        assert whole.memory is not None
        share = one.memory.per_byte_s * one.processors_per_node, whole.memory.per_byte_s * whole.processors_per_node
        assert share[0] == pytest.approx(share[1])
    with pytest.raises(InputError, match="200 or more"):
        scale_for(machines, 199)


def test_simulated_straw_men() -> None:
    (result,) = simulated_straw_men(["kripke"], SYSTEMS, ranks=200, effects="none")
    assert result.small.benchmark == pytest.approx(200 * 50)
    times = result.ratios()
    assert times["full"] == times["small"] == pytest.approx((1, 1, 1))
    assert min(times["simulated"]) == 1
    for run in result.runs:
        assert run is not None
        assert float(run.simulation.components["computation"]) == pytest.approx(1.0)  # 1e7 n over the rate, on each


# Labels of the plot.


@given(st.lists(st.floats(-1, 2), max_size=30))
def test_labels_are_apart_and_in_order(heights: list[float]) -> None:
    gap = 0.05
    result = spread(sorted(heights), gap)
    assert len(result) == len(heights)
    assert all(after - before >= gap * (1 - 1e-6) for before, after in pairwise(result))


def test_labels_that_have_room_stay() -> None:
    assert spread([0.1, 0.5, 0.9], 0.05) == pytest.approx([0.1, 0.5, 0.9])
    assert spread([0.5, 0.5, 0.5], 0.1) == pytest.approx([0.4, 0.5, 0.6])
