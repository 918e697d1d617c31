"""The memory side of nodes in both readings: caches that processors share, a controller for each socket, prefetch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.memory import CacheLevel, Memory, Prefetcher, RemoteMemory
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from simcodesign.locality.hits_by_level import Stream, served_together
from simcodesign.locality.streams.kernels import kernel_trace
from tests import builders, examples
from tests.builders import network, read_machine

ROUNDING = 1e-12
L1_S, L2_S, MEMORY_S, BYTE_S = 1e-9, 8e-9, 64e-9, 2e-10
#: 512 and 8192 elements of 8 bytes; four processors share the second one.
CACHES = (CacheLevel("L1", 4096, L1_S, 8), CacheLevel("L2", 65536, L2_S, 8, shared_by=4))


def machine(
    cores: int = 4, nodes: int = 2, mapping: Any = "linear", net: dict[str, Any] | None = None, **more: Any
) -> Machine:
    memory = Memory(**({"latency_s": MEMORY_S, "per_byte_s": BYTE_S, "caches": CACHES} | more))
    of_nodes = network(nodes, **(net or {}))
    return builders.machine(of_nodes, 1e9, processors_per_node=cores, mapping=mapping, memory=memory)


def workload(demand: str, head: str = "") -> Workload:
    return builders.workload(f"- memory: {demand}", head)


# --- Caches that processors share -----------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", range(1, 9))
@pytest.mark.parametrize("mapping", ["linear", "round_robin", "one_per_node"])
def test_each_rank_has_its_share_of_a_cache_by_its_node(ranks: int, mapping: str) -> None:
    """1000 accesses at a distance of 3000 elements: 8192 elements hold them for up to two ranks of a node. The forecast
    is that of the slowest rank, with the accesses of all."""
    if mapping == "one_per_node" and ranks > 2:
        pytest.skip("two nodes")
    demand = workload("{accesses: 1000, stack_distance: 3000, element: 8 B}")
    node = {
        "linear": [rank // 4 for rank in range(ranks)],
        "round_robin": [rank % -(-ranks // 4) for rank in range(ranks)],
        "one_per_node": list(range(ranks)),
    }[mapping]
    crowded = [node.count(one) > 2 for one in node]
    each_s = [1000 * (MEMORY_S if full else L2_S) for full in crowded]
    predicted = forecast(demand, machine(mapping=mapping), {"P": ranks})
    simulated = simulate(demand, machine(mapping=mapping), {"P": ranks}, effects="none")
    assert predicted.makespan_s == pytest.approx(max(each_s), rel=ROUNDING)
    assert simulated.ranks is not None
    assert simulated.ranks.end_s == pytest.approx(each_s, rel=ROUNDING)
    for result in (predicted, simulated):
        assert result.served == pytest.approx(
            {"L1": 0, "L2": 1000 * crowded.count(False), "memory": 1000 * sum(crowded)}
        )


def test_only_ranks_that_do_the_demand_share() -> None:
    """Of four ranks of a node, two go through the cache, each with half of it."""
    demand = builders.workload(
        "- memory: {accesses: 1000, stack_distance: 3000, when: rank >= 2}\n- compute: {seconds: 0}"
    )
    assert forecast(demand, machine(), {"P": 4}).makespan_s == pytest.approx(1000 * L2_S, rel=ROUNDING)
    everybody = workload("{accesses: 1000, stack_distance: 3000}")
    assert forecast(everybody, machine(), {"P": 4}).makespan_s == pytest.approx(1000 * MEMORY_S, rel=ROUNDING)


def test_numbers_of_ranks_in_one_forecast() -> None:
    """Where all ranks share alike; else ranks differ, and a forecast takes one number of them."""
    demand = workload("{accesses: 1000, stack_distance: 3000}")
    together = forecast(demand, machine(), {"P": np.array([1, 2, 4, 8])})
    assert together.makespan_s == pytest.approx(np.array([L2_S, L2_S, MEMORY_S, MEMORY_S]) * 1000, rel=ROUNDING)
    with pytest.raises(InputError, match="P must be one number"):
        forecast(demand, machine(), {"P": np.array([4, 6])})


def test_arrays_of_distances_and_sizes_meet_the_shares() -> None:
    """A share of 2048 elements for each of four, at every design point."""
    formula = workload("{accesses: 1000, stack_distance: d}", "parameters: {d: {default: 1}}\n")
    times = forecast(formula, machine(), {"P": 4, "d": np.array([511.0, 512.0, 2047.0, 2048.0])}).makespan_s
    assert times == pytest.approx(1000 * np.array([L1_S, L2_S, L2_S, MEMORY_S]), rel=ROUNDING)


@pytest.mark.parametrize("ranks", [1, 3, 4, 6])
def test_streams_of_ranks_meet_in_the_sets_of_one_cache(ranks: int) -> None:
    """With ``caches``: what each rank's accesses cost where those of its node go through one cache in turn."""
    sizes = {"n": 60, "rows": 60, "sweeps": 2}
    demand = workload("{kernel: stencil, sizes: {n: 60, rows: 60, sweeps: 2}}")
    result = simulate(demand, machine(), {"P": ranks}, effects="caches")
    trace = kernel_trace("stencil", **sizes)
    expected = []
    for count in [4] * (ranks // 4) + [ranks % 4] * (ranks % 4 > 0):
        caches = np.array([range(count), [0] * count])
        every = served_together([Stream(trace, trace.span)] * count, machine().memory.geometries(), caches, 0)
        expected += [trace.accesses * float(np.dot(one.shares, (L1_S, L2_S, MEMORY_S))) for one in every]
    assert result.ranks is not None
    assert result.ranks.end_s == pytest.approx(expected, rel=1e-9)
    assert result.hit_methods == {"L1": "sets", "L2": "sets"}


def test_ranks_with_other_sizes_take_another_share_in_the_sets() -> None:
    """A rank with a small grid leaves the cache to its neighbour: the stack model gives each the half, in which the
    large one, of 7/8 of the cache, finds nothing again."""
    demand = workload("{kernel: stencil, sizes: {n: 60 - 50*(rank > 0), rows: 60, sweeps: 6}}")
    model = simulate(demand, machine(), {"P": 2}, effects="none")
    real = simulate(demand, machine(), {"P": 2}, effects="caches")
    assert model.ranks is not None
    assert real.ranks is not None
    alone = simulate(demand, machine(), {"P": 1}, effects="caches").makespan_s
    assert real.ranks.end_s[0] == pytest.approx(alone, rel=0.1)
    assert model.ranks.end_s[0] > 1.5 * real.ranks.end_s[0]


@pytest.mark.thorough
def test_a_formula_of_distances_goes_through_shared_sets() -> None:
    """Distances far from the share of each: the stream made of them is served as the stack model says."""
    demand = workload(
        "{accesses: 1000, stack_distance: [{fraction: 0.5, distance: 600}, {fraction: 0.5, distance: 4000}]}"
    )
    small = (CacheLevel("L1", 1024, L1_S, 8), CACHES[1])
    for ranks, served in ((1, (0, 1, 0)), (4, (0, 0.5, 0.5))):
        result = simulate(demand, machine(caches=small), {"P": ranks}, effects="caches")
        assert [result.served[level] / (1000 * ranks) for level in ("L1", "L2", "memory")] == pytest.approx(
            served, abs=0.02
        )
        assert result.hit_methods["L2"] == "synthetic"


def test_hits_in_sets_of_the_forecast() -> None:
    """``hits: sets`` takes both readings through the same shared cache."""
    demand = workload("{kernel: triad, sizes: {n: 2048, repeats: 2}}")
    in_sets = machine(hits="sets")
    predicted, simulated = forecast(demand, in_sets, {"P": 4}), simulate(demand, in_sets, {"P": 4}, effects="none")
    assert predicted.makespan_s == pytest.approx(simulated.makespan_s, rel=ROUNDING)
    assert predicted.served == pytest.approx(simulated.served)


def test_counted_hits_are_as_they_were_counted() -> None:
    demand = workload("{accesses: 1000, hits: {l1: 0.5, llc: 0.25}}")
    times = [forecast(demand, machine(), {"P": ranks}).makespan_s for ranks in (1, 4)]
    assert times[0] == times[1] == pytest.approx(1000 * (0.5 * L1_S + 0.25 * L2_S + 0.25 * MEMORY_S), rel=ROUNDING)


@sc.program
def uneven(rank: int, size: int) -> Iterator[Any]:
    """Every rank the same accesses."""
    yield sc.rank.memory(accesses=1000, stack_distance=3000)


def test_a_program_in_python_shares_caches() -> None:
    """Six ranks on nodes of four: four have no room, two have."""
    point = {"P": 6}
    predicted, simulated = forecast(uneven, machine(), point), simulate(uneven, machine(), point, effects="none")
    assert predicted.makespan_s == pytest.approx(1000 * MEMORY_S, rel=ROUNDING)
    assert simulated.ranks is not None
    assert simulated.ranks.end_s == pytest.approx([1000 * MEMORY_S] * 4 + [1000 * L2_S] * 2, rel=ROUNDING)
    assert predicted.served == pytest.approx(simulated.served)
    assert simulated.served == pytest.approx({"L1": 0, "L2": 2000, "memory": 4000})


# --- A controller for each socket -----------------------------------------------------------------------------

REMOTE = RemoteMemory(latency_s=100e-9, per_byte_s=3e-10)
#: A vector of 2^15 elements three times: a line of memory for every eight of them.
LINES = 3 * 2**15 / 8
TRIAD = "{{kernel: triad, sizes: {{n: 32768}}, {}}}"


def sockets(count: int = 2, cores: int = 4, **more: Any) -> Machine:
    own = tuple(replace(level, shared_by=1) for level in CACHES)
    return machine(cores, **({"caches": own, "controllers": count, "remote": REMOTE} | more))


@pytest.mark.parametrize("transfers", ["overlap", "in_turn"])
@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("blocking", [0.0, 0.1, 1.0])
def test_what_remote_accesses_cost(transfers: str, share: float, blocking: float) -> None:
    """Latencies by their share; bytes pass a controller, and those of other sockets what lies between: at the same time
    or one after another. A rank that has the node for itself takes as long with the effect ``memory``."""
    demand = workload(TRIAD.format(f"blocking: {blocking}, remote: {share}"))
    stall_s = blocking * LINES * (7 * L1_S + (1 - share) * MEMORY_S + share * REMOTE.latency_s)
    at_controllers_s, between_s = LINES * 64 * BYTE_S, LINES * 64 * share * REMOTE.per_byte_s
    moving_s = max(at_controllers_s, between_s) if transfers == "overlap" else at_controllers_s + between_s
    node = sockets(transfers=transfers)
    assert forecast(demand, node, {"P": 1}).makespan_s == pytest.approx(max(stall_s, moving_s), rel=ROUNDING)
    for effects in ("none", "memory"):
        result = simulate(demand, node, {"P": 1}, effects=effects)
        assert result.makespan_s == pytest.approx(max(stall_s, moving_s), rel=ROUNDING)
        assert result.components["memory"] == pytest.approx(result.makespan_s, rel=ROUNDING)


@pytest.mark.parametrize(
    ("policy", "controllers", "share"), [("first_touch", 4, 0.0), ("interleaved", 4, 0.75), ("interleaved", 2, 0.5)]
)
def test_where_data_is_by_the_policy(policy: str, controllers: int, share: float) -> None:
    """At the own socket, or at all of them alike; a demand that says it itself is not asked."""
    node = sockets(controllers, policy=policy)
    stall_s = LINES * (7 * L1_S + (1 - share) * MEMORY_S + share * REMOTE.latency_s)
    assert forecast(workload(TRIAD.format("blocking: 1")), node, {"P": 1}).makespan_s == pytest.approx(
        stall_s, rel=ROUNDING
    )
    own = forecast(workload(TRIAD.format("blocking: 1, remote: 0")), node, {"P": 1}).makespan_s
    assert own == pytest.approx(LINES * (7 * L1_S + MEMORY_S), rel=ROUNDING)


def test_ranks_queue_at_the_controller_of_their_socket() -> None:
    """Streams that fill a controller: three ranks of a node are two on one socket and one on the other."""
    demand, node = workload(TRIAD.format("blocking: 0")), sockets()
    alone_s = LINES * 64 * BYTE_S
    for ranks, crowd in ((1, 1), (2, 2), (3, 2), (4, 2), (5, 2)):
        result = simulate(demand, node, {"P": ranks}, effects="memory")
        assert result.makespan_s == pytest.approx(crowd * alone_s, rel=1e-9)
    assert simulate(demand, sockets(1, remote=None), {"P": 4}, effects="memory").makespan_s == pytest.approx(
        4 * alone_s
    )
    assert result.stations is not None
    busy = {result.stations.name(place): busy_s for place, busy_s in enumerate(result.stations.busy_s)}
    assert busy == pytest.approx({"memory 0.0": 2 * alone_s, "memory 0.1": 2 * alone_s, "memory 1.0": alone_s})


@pytest.mark.parametrize(("remote", "load"), [(0.0, 4.0), (0.25, 3.0), (0.5, 2.0), (1.0, 6.0)])
def test_what_limits_ranks_of_one_socket(remote: float, load: float) -> None:
    """Four ranks on the first of two sockets: their own controller serves 1 - r of their bytes, the other one r, and so
    does what lies between, 1.5 times as slowly. The most loaded of the three says how long they take."""
    demand = workload(TRIAD.format(f"blocking: 0, remote: {remote}"))
    node = sockets(cores=8, nodes=1)
    alone_s = LINES * 64 * BYTE_S
    assert load == 4 * max(1 - remote, remote, 1.5 * remote) or load == 2.0 or load == 3.0
    bound_s = 4 * alone_s * max(1 - remote, 1.5 * remote)
    result = simulate(demand, node, {"P": 4}, effects="memory")
    assert bound_s * (1 - 1e-9) <= result.makespan_s <= bound_s * 1.15


@pytest.mark.parametrize("transfers", ["overlap", "in_turn"])
@settings(max_examples=examples(20), deadline=None)
@given(
    ranks=st.integers(1, 12),
    controllers=st.sampled_from([1, 2, 3, 6]),
    remote=st.sampled_from([0.0, 0.3, 0.75]),
    blocking=st.sampled_from([0.0, 0.05]),
    repeat=st.integers(1, 3),
)
def test_engines_and_bounds_of_sockets(
    transfers: str, ranks: int, controllers: int, remote: float, blocking: float, repeat: int
) -> None:
    """Both engines to the last bit, and no simulation leaves the bounds."""
    demand = builders.workload(
        f"- repeat: {repeat}\n  do:\n"
        f"    - memory: {{kernel: triad, sizes: {{n: 512}}, blocking: {blocking}, remote: {remote}}}\n"
        "    - barrier: {}\n"
    )
    of_sockets = {"transfers": transfers} | ({} if controllers > 1 else {"remote": None})
    node = sockets(controllers, cores=6, **of_sockets)
    one, other = (
        simulate(demand, node, {"P": ranks}, effects="memory", engine=engine) for engine in ("simpy", "compiled")
    )
    assert one.ranks is not None
    assert other.ranks is not None
    assert one.makespan_s == other.makespan_s
    assert one.ranks.end_s.tolist() == other.ranks.end_s.tolist()
    bounds = forecast(demand, node, {"P": ranks}, bounds=True).bounds
    assert bounds is not None
    assert max(bounds.lower_s.values()) <= one.makespan_s * (1 + 1e-9)
    assert one.makespan_s <= bounds.upper_s * (1 + 1e-9)


def test_bounds_know_the_controllers() -> None:
    """Four ranks, two on each socket: half of the bytes at each controller, wherever they come from."""
    alone_s = LINES * 64 * BYTE_S
    for remote, most in ((0, 2.0), (0.5, 2.0), (1, 2.0)):
        bounds = forecast(
            workload(TRIAD.format(f"blocking: 0, remote: {remote}")), sockets(), {"P": 4}, bounds=True
        ).bounds
        assert bounds is not None
        assert bounds.lower_s["most loaded memory"] == pytest.approx(most * alone_s, rel=ROUNDING)
    three = forecast(workload(TRIAD.format("blocking: 0, remote: 0.25")), sockets(), {"P": 3}, bounds=True).bounds
    assert three is not None
    assert three.lower_s["most loaded memory"] == pytest.approx((2 * 0.75 + 0.25) * alone_s, rel=ROUNDING)


def test_sockets_of_messages_and_of_memory_are_the_same() -> None:
    from simcodesign.describe.network.network import LocalMessages

    local = {"node": LocalMessages(1e-6, 1e-9), "socket": LocalMessages(2e-6, 1e-9)}
    assert sockets(2, net={**local, "sockets_per_node": 2}).socket_of(4).tolist() == [0, 0, 1, 1]
    assert sockets(4).socket_of(8).tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    with pytest.raises(InputError, match=r"network\.socket\.per_node"):
        sockets(4, net={**local, "sockets_per_node": 2})


def test_loggops_moves_bytes_one_after_another() -> None:
    """An operation has its processor there, so that nothing passes between sockets beside it."""
    demand = workload(TRIAD.format("blocking: 0, remote: 0.5"))
    node = sockets(transfers="in_turn", net={"model": "loggop", "latency_s": 1e-6})
    for effects in ("none", "memory"):
        one, other = (simulate(demand, node, {"P": 4}, effects=effects, engine=name) for name in ("simpy", "compiled"))
        assert one.makespan_s == other.makespan_s
    lone = simulate(demand, node, {"P": 1}, effects="memory").makespan_s
    assert lone == pytest.approx(forecast(demand, node, {"P": 1}).makespan_s, rel=ROUNDING)


@sc.program
def remote_triad(rank: int, size: int) -> Iterator[Any]:
    """A triad of which half is at the other socket."""
    yield sc.rank.memory(kernel="triad", sizes={"n": 4096}, blocking=0, remote=0.5)
    yield sc.rank.compute(seconds=1e-6)


def test_a_program_in_python_has_sockets() -> None:
    node = sockets(transfers="in_turn")
    lone = simulate(remote_triad, node, {"P": 1}, effects="memory").makespan_s
    assert lone == pytest.approx(forecast(remote_triad, node, {"P": 1}).makespan_s, rel=ROUNDING)
    one, other = (
        simulate(remote_triad, node, {"P": 6}, effects="memory", engine=name) for name in ("simpy", "compiled")
    )
    assert one.makespan_s == other.makespan_s > lone


# --- Prefetch -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("effects", ["none", "caches"])
@pytest.mark.parametrize("depth", [1, 2, 4, 10, 40])
@pytest.mark.parametrize("streams", [2, 3, 16])
def test_triad_by_littles_law(effects: str, depth: int, streams: int) -> None:
    """Lines that are fetched ahead come every latency / depth, until the controller is busy all the time; the first
    line of each array is waited for. With fewer streams than arrays, all lines are (but for two at the ends of arrays,
    which lie side by side)."""
    latencies = (CacheLevel("L1", 4096, 0.0, 8),)
    node = machine(caches=latencies, prefetch=Prefetcher(streams, depth))
    ahead = LINES - 3 if streams >= 3 else 0
    stall_s = (LINES - ahead + ahead / depth) * MEMORY_S
    # The set-associative cache writes the lines of one array back, but for those that it still holds at the end.
    moved = LINES * 64 * BYTE_S if effects == "none" else (4 * LINES / 3 - 64 / 3) * 64 * BYTE_S
    demand = workload("{kernel: triad, sizes: {n: 32768}}")
    result = simulate(demand, node, {"P": 1}, effects=effects)
    assert result.makespan_s == pytest.approx(max(stall_s, moved), rel=2e-3)
    if effects == "none":
        assert forecast(demand, node, {"P": 1}).makespan_s == pytest.approx(result.makespan_s, rel=ROUNDING)


def test_prefetch_never_waits_longer_than_without() -> None:
    """Where more accesses are under way at once than lines are fetched ahead, or a demand blocks less."""
    for more, demand in (({"outstanding": 8.0}, ""), ({}, ", blocking: 0.125")):
        program = workload("{kernel: triad, sizes: {n: 32768}" + demand + "}")
        every = [
            forecast(program, machine(per_byte_s=1e-12, prefetch=one, **more), {"P": 1}).makespan_s
            for one in (None, Prefetcher(8, 4), Prefetcher(8, 64))
        ]
        assert every[1] == pytest.approx(every[0], rel=ROUNDING)
        assert every[2] == pytest.approx(every[0] - (LINES - 3) * MEMORY_S * (1 / 8 - 1 / 64), rel=1e-9)


def test_profiles_and_random_accesses_are_not_helped() -> None:
    """A profile says nothing of the order of addresses; drawn at random, hardly any line follows another."""
    for demand in (
        "{accesses: 1000, stack_distance: 1e9}",
        "{accesses: 1000, hits: {l1: 0.5}}",
        "{kernel: random_access, sizes: {n: 4194304, updates: 2000}}",
    ):
        for effects in ("none", "caches"):
            plain, helped = (
                simulate(workload(demand), one, {"P": 1}, effects=effects).makespan_s
                for one in (machine(), machine(prefetch=Prefetcher(16, 16)))
            )
            assert helped == pytest.approx(plain, rel=2e-3)


def test_constants_of_prefetch_and_remote_memory_vary() -> None:
    """Arrays of them in one forecast, in a phase, and by name only where they are."""
    demand = workload("{kernel: triad, sizes: {n: 4096}}")
    node = machine(prefetch=Prefetcher(2, 4))
    times = forecast(demand, node, {"P": 1, "memory.prefetch.streams": np.array([2.0, 3.0, 3.5])}).makespan_s
    assert times[1] == times[2] < times[0] / 2
    assert times[0] == forecast(demand, node, {"P": 1}).makespan_s
    in_phase = builders.workload(
        "- phase: deep\n  constants: {memory.prefetch.streams: 3}\n  do: [memory: {kernel: triad, sizes: {n: 4096}}]"
    )
    assert forecast(in_phase, node, {"P": 1}).makespan_s == times[1]
    remote = workload("{kernel: triad, sizes: {n: 4096}, remote: 0.5}")
    slow = forecast(remote, sockets(), {"P": 1, "memory.remote.latency": np.array([1e-7, 2e-7])}).makespan_s
    assert slow[1] - slow[0] == pytest.approx(0.5 * 3 * 4096 / 8 * 1e-7, rel=1e-9)
    for path in ("memory.prefetch.depth", "memory.remote.latency"):
        with pytest.raises(InputError, match=path.rpartition(".")[0]):
            forecast(demand, machine(), {"P": 1, path: 8.0})


# --- What a machine may say -----------------------------------------------------------------------------------

FILE = """
simcodesign: 1
name: m
nodes: 2
processors_per_node: 8
processor: {{rate: 1 GFLOP/s}}
network: {{topology: {{kind: crossbar}}, startup: 1 us, bandwidth: 1 GB/s}}
caches:
  L1: {{size: 4 KiB, ways: 8, latency: 1 ns{l1}}}
  L2: {{size: 64 KiB, ways: 8, latency: 8 ns{l2}}}
memory: {{latency: 64 ns, bandwidth: 5 GB/s{memory}}}
"""


def from_file(l1: str = "", l2: str = "", memory: str = "") -> Machine:
    return read_machine(FILE.format(l1=l1, l2=l2, memory=memory))


def test_a_machine_file_says_it() -> None:
    prefetch, remote = "prefetch: {streams: 16, depth: 8}", "remote: {latency: 100 ns, bandwidth: 4 GB/s}"
    node = from_file(", shared_by: 2", ", shared_by: 4", f", {prefetch}, controllers: 2, policy: interleaved, {remote}")
    assert node.memory is not None
    assert [level.shared_by for level in node.memory.caches] == [2, 4]
    assert node.memory.prefetch == Prefetcher(16, 8)
    assert (node.memory.controllers, node.memory.policy) == (2, "interleaved")
    assert node.memory.remote == RemoteMemory(1e-7, 0.25e-9)
    assert node.caches_of(10)[1].tolist() == [0] * 4 + [1] * 4 + [2] * 2


@pytest.mark.parametrize(
    ("l1", "l2", "memory", "named"),
    [
        ("", ", shared_by: 3", "", r"caches\.L2\.shared_by"),
        ("", ", shared_by: 16", "", r"caches\.L2\.shared_by"),
        (", shared_by: 4", ", shared_by: 2", "", r"caches\.L2\.shared_by"),
        ("", ", shared_by: 0", "", "shared_by"),
        ("", ", shared_by: 8", ", controllers: 2", r"caches\.L2\.shared_by"),
        ("", "", ", controllers: 3", r"memory\.controllers"),
        ("", "", ", controllers: 2, policy: near", "policy"),
        ("", "", ", remote: {latency: 100 ns}", r"memory\.remote"),
        ("", "", ", controllers: 2, remote: {}", "remote"),
        ("", "", ", controllers: 2, remote: {latency: -1 ns}", r"memory\.remote\.latency"),
        ("", "", ", controllers: 2, remote: {bandwidth: 1 GB/s, per_byte: 1 ns/B}", r"memory\.remote\.per_byte"),
        ("", "", ", prefetch: {streams: 16}", "depth"),
        ("", "", ", prefetch: {streams: 0, depth: 4}", r"memory\.prefetch\.streams"),
        ("", "", ", prefetch: {streams: 5000, depth: 4}", r"memory\.prefetch\.streams"),
        ("", "", ", prefetch: {streams: 4, depth: 0.5}", r"memory\.prefetch\.depth"),
        ("", "", ", prefetch.streams: 4", "prefetch"),
    ],
)
def test_what_no_machine_has(l1: str, l2: str, memory: str, named: str) -> None:
    with pytest.raises(InputError, match=named):
        from_file(l1, l2, memory)


def test_shares_of_remote_accesses() -> None:
    for share in ("1.5", "-0.1"):
        with pytest.raises(InputError, match="remote"):
            forecast(workload(TRIAD.format(f"remote: {share}")), sockets(), {"P": 1})
    # A node of one controller has no other one.
    one = machine(caches=CACHES[:1])
    assert forecast(workload(TRIAD.format("remote: 1")), one, {"P": 1}).makespan_s == pytest.approx(
        LINES * (7 * L1_S + MEMORY_S), rel=ROUNDING
    )
