"""Partitions whose nodes differ in processors, interfaces, caches, disks, noise and in what is inside, by hand."""

from __future__ import annotations

from io import StringIO
from itertools import pairwise

import numpy as np
import pytest
from rich.console import Console

from simcodesign.analytic.bounds import bounds_of
from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.engine.simulate import simulate
from simcodesign.report.machines.machine_sheet import machine_sheet
from tests.builders import read_machine, workload

ENGINES = pytest.mark.parametrize("engine", ["simpy", "compiled"])
#: Two nodes of 8 ranks, one of 4 with a faster network inside, one of 2 without any: nodes 0 and 1, 2, 3.
HEAD = """simcodesign: 1
name: three-kinds
nodes: 4
processors_per_node: 8
processor: {rate: 1 GFLOP/s, clock: 1 GHz}
caches: {L1: {size: 32 KiB, ways: 8, latency: 4 cycles}, L2: {size: 1 MiB, ways: 16, latency: 14 cycles, shared_by: 2}}
memory: {latency: 100 ns, bandwidth: 10 GB/s}
disk: {read_startup: 1 ms, write_startup: 1 ms, bandwidth: 1 GB/s}
network: {topology: {kind: crossbar}, startup: 10 us, bandwidth: 1 GB/s}
node: {network: {topology: {kind: crossbar}, startup: 1 us, bandwidth: 10 GB/s}}
"""
FAST = """
    processors_per_node: 4
    processor: {clock: 2 GHz}
    disk: {bandwidth: 10 GB/s}
    caches: {L2: none, L1: {latency: 6 cycles}, L3: {size: 8 MiB, ways: 16, latency: 30 cycles, shared_by: 2}}
    node: {network: {startup: 3 us, bandwidth: 100 GB/s}}
"""
KINDS = f"""partitions:
  - {{name: cpu, nodes: 2}}
  - name: gpu
    nodes: 1{FAST}
  - {{name: login, nodes: 1, processors_per_node: 2, node: none}}
"""
RANKS = 8 + 8 + 4 + 2


def machine(more: str = "", kinds: str = KINDS) -> Machine:
    return read_machine(HEAD + kinds + more)


def both_s(program: str, on: Machine, ranks: int = RANKS, engine: str = "compiled") -> tuple[float, float]:
    """The times of forecast and simulation without effects."""
    demands, given = workload(program), {"P": ranks}
    run = simulate(demands, on, given, effects=(), engine=engine)
    return float(forecast(demands, on, given).makespan_s), float(run.makespan_s)


def one_message(source: int, target: int) -> str:
    return (
        f"- send: {{to: {target}, bytes: 1000, when: rank == {source}}}\n"
        f"- receive: {{from: {source}, when: rank == {target}}}\n"
    )


def test_ranks_fill_each_node_with_its_own_processors() -> None:
    on = machine()
    assert (on.processors, on.most_ranks) == (RANKS, RANKS)
    assert on.node_of(RANKS).tolist() == [0] * 8 + [1] * 8 + [2] * 4 + [3] * 2
    assert on.place_of(RANKS).tolist() == [*range(8), *range(8), *range(4), 0, 1]
    assert on.processor_of(RANKS).tolist() == list(range(RANKS))


@pytest.mark.parametrize(
    ("mapping", "nodes"),
    [
        ("round_robin", [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 0, 1, 2, *[0, 1] * 4]),  # full nodes are passed over
        ("one_per_node", [0, 1, 2, 3]),
        ("{partitions: [login, gpu]}", [3, 3, 2, 2, 2, 2]),
        ("{partitions: {gpu: 3, cpu: 9}}", [2, 2, 2, *[0] * 8, 1]),
        ("[2, 3, 3]", [2, 3, 3]),
    ],
)
def test_mappings_take_the_processors_of_each_node(mapping: str, nodes: list[int]) -> None:
    on = machine(f"mapping: {mapping}\n")
    assert on.most_ranks == len(nodes)
    assert on.node_of(len(nodes)).tolist() == nodes


@pytest.mark.parametrize("of", ["nodes", "ranks"])
def test_random_mappings_use_each_processor_once(of: str) -> None:
    on = machine(f"mapping: {{kind: random, of: {of}}}\n")
    assert np.bincount(on.node_of(RANKS)).tolist() == [8, 8, 4, 2]


@pytest.mark.parametrize("ranks", [1, 4, 5, 17, RANKS])
def test_round_robin_takes_as_few_nodes_as_there_can_be(ranks: int) -> None:
    on = machine("mapping: round_robin\n")
    node = on.node_of(ranks)
    assert float(on.placement.nodes_used(ranks)) == len(set(node.tolist()))
    assert float(on.placement.most_on_a_node(ranks)) == np.bincount(node).max()


@ENGINES
@pytest.mark.parametrize(
    ("source", "target", "expected_s"),
    [
        (0, 1, 1e-6 + 1000 / 10e9),  # inside a node of the machine
        (16, 17, 3e-6 + 1000 / 100e9),  # inside a node of the partition
        (20, 21, 10e-6 + 1000 / 1e9),  # inside a node without a network: as between nodes
        (7, 8, 10e-6 + 1000 / 1e9),  # between two nodes of one partition
        (15, 16, 10e-6 + 1000 / 1e9),  # between two partitions
    ],
)
def test_a_message_costs_what_the_node_of_both_ends_says(
    source: int, target: int, expected_s: float, engine: str
) -> None:
    found = both_s(one_message(source, target), machine(), engine=engine)
    assert found == pytest.approx((expected_s, expected_s), rel=1e-12)


PROGRAMS = [
    "- exchange: {pattern: halo1d, bytes: 1000}\n",
    "- allreduce: {bytes: 8000, algorithm: recursive_doubling}\n",
    "- allreduce: {bytes: 88000, algorithm: ring}\n",
    "- broadcast: {bytes: 1000, algorithm: binomial, root: 17}\n",
    "- allgather: {bytes: 1000, algorithm: ring}\n",
    "- barrier: {algorithm: dissemination}\n",
    "- all_to_all: {bytes: 1000}\n",
]


@ENGINES
@pytest.mark.parametrize("program", PROGRAMS)
def test_operations_across_partitions_are_exact_without_effects(program: str, engine: str) -> None:
    predicted, simulated = both_s(program, machine(), engine=engine)
    assert predicted == pytest.approx(simulated, rel=1e-12)


def test_a_group_costs_what_its_partition_says() -> None:
    """Groups of four ranks: two rounds inside a node, which take longest on that of the partition."""
    program = "- allreduce: {bytes: 1000, algorithm: recursive_doubling, group: four}\n"
    demands, time_s = workload(program, "groups: {four: rank // 4}\n"), 2 * (3e-6 + 1000 / 100e9)
    assert float(forecast(demands, machine(), {"P": 20}).makespan_s) == pytest.approx(time_s, rel=1e-12)
    assert float(simulate(demands, machine(), {"P": 20}, effects=()).makespan_s) == pytest.approx(time_s, rel=1e-12)


def test_forecasts_of_many_numbers_of_ranks_are_those_of_each() -> None:
    kinds = "partitions: [{name: a, nodes: 2}, {name: b, nodes: 2, processors_per_node: 2, node: {network: {startup: 3 us}}}]\n"
    on, demands = machine("", kinds), workload("- all_to_all: {bytes: 1000}\n")
    counts = np.array([2.0, 8.0, 16.0, 18.0, 20.0])
    together = np.asarray(forecast(demands, on, {"P": counts}).makespan_s)
    alone = [float(simulate(demands, on, {"P": count}, effects=()).makespan_s) for count in counts]
    assert together.tolist() == pytest.approx(alone, rel=1e-12)


@ENGINES
@pytest.mark.parametrize(
    ("demand", "expected_s"),
    [
        ("memory: {accesses: 1e6, hits: {l1: 1}, blocking: 1}", (4e-3, 3e-3)),  # 4 cycles at 1 GHz; 6 at 2 GHz
        ("memory: {accesses: 1e6, hits: {llc: 1}, blocking: 1}", (14e-3, 15e-3)),  # L2: 14 cycles; L3: 30 at 2 GHz
        ("read: {bytes: 1e9}", (1.001, 0.101)),
    ],
)
def test_ranks_use_the_caches_and_disks_of_their_node(
    demand: str, expected_s: tuple[float, float], engine: str
) -> None:
    demands = workload(f"- {demand}\n")
    run = simulate(demands, machine(), {"P": RANKS}, effects=(), engine=engine)
    assert run.ranks is not None
    every = [expected_s[0]] * 16 + [expected_s[1]] * 4 + [expected_s[0]] * 2
    assert run.ranks.end_s.tolist() == pytest.approx(every, rel=1e-12)
    predicted = forecast(demands, machine(), {"P": RANKS})
    assert float(predicted.makespan_s) == pytest.approx(max(expected_s), rel=1e-12)
    if demand.startswith("memory"):
        here = {"L1": {"L1": 22e6}, "L2": {"L2": 18e6, "L3": 4e6}}["L1" if "l1" in demand else "L2"]
        for result in (run, predicted):
            assert {name: count for name, count in result.served.items() if count} == here


#: Node of one interface of 1 GB/s, and of four of 2 GB/s; messages of 1 MB at up to 1 GB/s.
INTERFACES = """simcodesign: 1
name: two-interfaces
nodes: 4
processors_per_node: 4
processor: {{rate: 1 GFLOP/s}}
network: {{topology: {{kind: crossbar}}, startup: 10 us, bandwidth: 1 GB/s, sharing: {sharing}}}
partitions:
  - {{name: cpu, nodes: 2}}
  - {{name: gpu, nodes: 2, network: {{interfaces: {{count: {count}, bandwidth: 2 GB/s}}}}}}
"""


@ENGINES
@pytest.mark.parametrize("sharing", ["fcfs", "max_min"])
@pytest.mark.parametrize(
    ("source", "target", "count", "expected_s"),
    [
        (0, 1, 4, 4.01e-3),  # four messages through one interface
        (0, 2, 4, 4.01e-3),
        (2, 1, 4, 4.01e-3),  # that of the receiver
        (2, 3, 4, 1.01e-3),  # each through its own
        (2, 3, 2, 1.01e-3),  # two through each of twice the bandwidth
        (2, 3, 1, 2.01e-3),
    ],
)
def test_messages_share_the_interfaces_of_their_nodes(
    source: int, target: int, count: int, expected_s: float, sharing: str, engine: str
) -> None:
    """All ranks of one node send to those of another."""
    on = read_machine(INTERFACES.format(sharing=sharing, count=count))
    shift = 4 * (target - source)
    demands = workload(
        f"- send: {{to: rank + {shift}, bytes: 1e6, when: rank // 4 == {source}}}\n"
        f"- receive: {{from: rank - {shift}, when: rank // 4 == {target}}}\n"
    )
    time_s = float(simulate(demands, on, {"P": 16}, effects="interfaces", engine=engine).makespan_s)
    assert time_s == pytest.approx(expected_s, rel=1e-9)
    bounds = bounds_of(bind(demands, on, {"P": 16}))
    assert bounds is not None
    loaded_s = 4e-3 if min(source, target) < 2 else 2e-3 / count
    assert bounds.lower_s["most loaded interface"] == pytest.approx(loaded_s, rel=1e-12)


def test_effects_stay_within_the_bounds() -> None:
    on, demands = machine(), workload("- all_to_all: {bytes: 10000}\n- memory: {accesses: 1e5, hits: {l1: 0}}\n")
    bounds = bounds_of(bind(demands, on, {"P": RANKS}))
    assert bounds is not None
    runs = [
        simulate(demands, on, {"P": RANKS}, effects="hops,links,interfaces,node,memory", engine=engine)
        for engine in ("simpy", "compiled")
    ]
    times = [float(run.makespan_s) for run in runs]
    assert times[0] == times[1]
    assert max(bounds.lower_s.values()) <= times[0] <= bounds.upper_s


def test_stations_inside_a_node_are_called_by_its_number() -> None:
    on = machine()
    names = [(level.interface_name(level.first_interface), level.depth) for level in on.numbered_levels]
    assert names == [("injection 0", 0), ("node 0: injection 0", 1), ("node 2: injection 0", 1)]


def test_only_the_ranks_of_a_partition_have_its_noise() -> None:
    on = machine("", "partitions: [{name: a, nodes: 2}, {name: b, nodes: 2, noise: 30 %}]\n")
    demands = workload("- compute: {flops: 1e9}\n")
    run = simulate(demands, on, {"P": 32}, effects="noise", seed=1)
    assert run.ranks is not None
    ends = run.ranks.end_s
    assert ends[:16].tolist() == [1.0] * 16
    assert len({*ends[16:].tolist()}) == 16
    everywhere = simulate(demands, machine("noise: 30 %\n", ""), {"P": 32}, effects="noise", seed=1).ranks
    assert everywhere is not None
    assert ends[16:].tolist() == everywhere.end_s[16:].tolist()  # the same draws


def test_constants_inside_nodes_are_set_by_their_paths() -> None:
    """What a partition does not state follows the machine; a phase changes all nodes."""
    on, path = machine(), "partitions.gpu.node.network.startup"
    for given, inside in (({"node.network.startup": 5e-6}, (5.1e-6, 3.01e-6)), ({path: 7e-6}, (1.1e-6, 7.01e-6))):
        for source, expected_s in zip((0, 16), inside, strict=True):
            demands = workload(one_message(source, source + 1))
            assert float(forecast(demands, on, {"P": RANKS} | given).makespan_s) == pytest.approx(expected_s)
            assert float(simulate(demands, on, {"P": RANKS} | given, effects=()).makespan_s) == pytest.approx(
                expected_s
            )
    message = "".join(f"    {line}\n" for line in one_message(16, 17).splitlines())
    phase = f"- phase: slow\n  constants: {{node.network.startup: 9e-6}}\n  do:\n{message}"
    assert both_s(phase, on) == pytest.approx((9.01e-6, 9.01e-6), rel=1e-12)


def test_equal_partitions_with_all_keys_are_a_plain_machine() -> None:
    inside = "node: {network: {topology: {kind: crossbar}, startup: 1 us, bandwidth: 10 GB/s}}"
    own = f"processors_per_node: 8, network: {{interfaces: {{count: 1}}}}, caches: {{}}, {inside}"
    equal = machine("", f"partitions: [{{name: a, nodes: 1, {own}}}, {{name: b, nodes: 3, {own}}}]\n")
    for program in (*PROGRAMS[:3], "- memory: {accesses: 1e6, hits: {llc: 1}}\n"):
        assert both_s(program, equal, 32) == both_s(program, machine("", ""), 32)


def test_the_sheet_lists_what_differs() -> None:
    console = Console(width=200, record=True, file=StringIO())
    console.print(*machine_sheet(machine()))
    lines = console.export_text().splitlines()
    rows = {line.strip().split("  ")[0]: line.split("  ") for line in lines}
    cells = {name: [cell.strip() for cell in row if cell.strip()][1:] for name, row in rows.items()}
    assert cells["nodes"] == ["0 to 1", "2", "3"] or cells["nodes"] == ["4"]
    assert cells["processors per node"] == ["8", "4", "2"]
    assert cells["node.network.bandwidth"] == ["10 GB/s", "100 GB/s", "none"]
    assert cells["disk.bandwidth"] == ["1 GB/s", "10 GB/s", "1 GB/s"]
    assert "network.interfaces.count" not in cells  # alike


WRONG = [
    ("processors_per_node: 4", "processors_per_node: 0", "processors_per_node", "1 to"),
    ("nodes: 1\n", "nodes: 2\n", "nodes of the partitions", "4 in all"),
    ("L2: none", "L2: {shared_by: 3, size: 1 MiB}", "shared_by", "divisor"),
    ("node: none", "node: {network: {topology: {kind: mesh, shape: [3]}}}", "shape", "2"),
    ("node: none", "socket: {per_node: 4, network: {}}", "sockets of a node", "a divisor of 2"),
    ("node: none", "network: {startup: 1 us}", "startup", "interfaces"),
    ("node: none", "network: {interfaces: {count: 0}}", "count", "1 to"),
    ("node: none", "network: {interfaces: {bandwidth: 1 MB/s}}", "cannot pass faster", "at least"),
    ("node: none", "noise: {bursts: {period: 1 s, length: 1 ms}}", "bursts", "compute"),
    ("node: none", "storage: {}", "storage", "name"),
    ("node: none", "disk: {spindles: 2}", "spindles", "bandwidth"),
]


@pytest.mark.parametrize(("before", "after", "what", "allowed"), WRONG)
def test_nodes_that_cannot_be_are_refused(before: str, after: str, what: str, allowed: str) -> None:
    assert before in KINDS
    with pytest.raises(InputError) as caught:
        machine("", KINDS.replace(before, after))
    message = str(caught.value)
    assert what in message
    assert allowed in message
    assert "m.yaml:" in message


@pytest.mark.parametrize(
    ("mapping", "message"),
    [("grid", "different numbers of processors"), ("{partitions: {gpu: 5}}", "1 to 4"), ("[3, 3, 3]", "2 processors")],
)
def test_mappings_that_do_not_fit_the_nodes_are_refused(mapping: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        machine(f"mapping: {mapping}\n")


def test_what_the_machine_lacks_is_refused() -> None:
    with pytest.raises(InputError, match=r"m\.yaml:.*caches without a memory"):
        read_machine(
            HEAD.replace("caches", "#").replace("memory", "#").replace("disk", "#")
            + "partitions: [{name: a, nodes: 4, caches: {L1: {size: 32 KiB, latency: 1 ns}}}]\n"
        )
    with pytest.raises(InputError, match=r"a disk is shared by nodes"):
        read_machine(HEAD.replace("disk: {", "disk: {shared_by: 2, ") + KINDS)
    with pytest.raises(InputError, match=r"has no network there of its own"):
        machine().with_constants({"partitions.login.node.network.startup": 1e-6})


def test_partitions_are_numbered_one_after_another() -> None:
    kinds = machine().node_kinds
    assert [kind.first_node for kind in kinds] == [0, 2, 3]
    assert all(one.first_node + one.nodes == other.first_node for one, other in pairwise(kinds))


def test_partitions_that_are_alike_inside_have_the_interfaces_of_the_network() -> None:
    """Two partitions with the same processors, sockets and interfaces are nodes of one kind."""
    machine = Machine.load("two-partitions")
    assert (len(machine.partitions), len(machine.node_kinds)) == (2, 1)
    assert machine.interfaces_of_nodes(np.array([0, 47, 48, 63])).tolist() == [1, 1, 1, 1]
