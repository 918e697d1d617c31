"""Messages within nodes that load the memory of their node (``node.memory``), by hand and by the closed form."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.describe.network.sharing import SHARINGS
from tests.engine.messages.test_levels import one_send, program, took_s

#: A megabyte at 1 GB/s, after 1 us.
SIZE, ALONE_S = 1e6, 1.001e-3
CROSSBAR = {"kind": "crossbar"}
BOTH_RULES = ["fcfs", "max_min"]


def node(
    ranks: int = 8,
    bandwidth: str = "16 GB/s",
    cache: str = "1 kB",
    sharing: Any = "fcfs",
    controllers: int = 1,
    more: dict[str, Any] | None = None,
    **inside: Any,
) -> sc.Machine:
    """Two nodes. With ``copies`` 2, memory moves a quarter of its bandwidth in messages."""
    own = {"topology": CROSSBAR, "startup": "1 us", "bandwidth": "1 GB/s"} | inside
    outer = {"topology": CROSSBAR, "startup": "2 us", "bandwidth": "2 GB/s", "sharing": sharing, "sends": "nonblocking"}
    memory = {"latency": "0 s", "bandwidth": bandwidth, "controllers": controllers}
    parts: dict[str, Any] = {"processor": {"rate": "1 GFLOP/s"}, "network": outer, "memory": memory}
    parts |= {"node": {"network": own, "memory": {"copies": 2, "cache": cache}}}
    return sc.Machine.load({"name": "node", "nodes": 2, "processors_per_node": ranks} | parts | (more or {}))


def ring(ranks: int, **more: Any) -> sc.Workload:
    """Every rank sends a megabyte to its neighbour."""
    to, source = f"(rank + 1) % {ranks}", f"(rank - 1) % {ranks}"
    return program({"send": {"to": to, "bytes": SIZE} | more}, {"receive": {"from": source}})


@pytest.mark.parametrize("sharing", SHARINGS)
@pytest.mark.parametrize("holds", [False, True])
@pytest.mark.parametrize("bandwidth_gb_s", [4, 16, 64])
@pytest.mark.parametrize("is_above", [False, True])
def test_a_round_of_a_full_node(sharing: str, holds: bool, bandwidth_gb_s: int, is_above: bool) -> None:
    """k ranks that each exchange m bytes: max(2 t_pp, k m / R_m) if both ends are held, max(t_pp, k m / R_m) if not; and
    where the operation fits in the cache, 2 t_pp or t_pp. A startup comes before the bytes of a loaded memory."""
    machine = node(8, f"{bandwidth_gb_s} GB/s", "1 kB" if is_above else "1 GB", sharing, holds_receiver=holds)
    alone_s = 2 * ALONE_S if holds else ALONE_S
    loaded_s = 8 * SIZE / (bandwidth_gb_s * 1e9 / 4) if is_above else 0.0
    startup_s = 1e-6 if loaded_s > alone_s else 0.0
    wanted_s = max(alone_s, loaded_s) + startup_s
    assert took_s(ring(8), machine, 8, "node") == pytest.approx(wanted_s, rel=1e-9)
    assert took_s(ring(8), machine, 8, "none") == pytest.approx(alone_s, rel=1e-12)


@pytest.mark.parametrize("sharing", BOTH_RULES)
@pytest.mark.parametrize(
    ("operation", "algorithm", "rounds", "size"),
    [("all_to_all", "pairwise", 7, SIZE), ("allgather", "ring", 7, SIZE), ("allreduce", "recursive_doubling", 3, SIZE)],
)
def test_collectives_of_a_full_node(sharing: str, operation: str, algorithm: str, rounds: int, size: float) -> None:
    """Rounds in which all exchange a megabyte, within 1 % of the closed form."""
    machine = node(8, "4 GB/s", "1 MB", sharing, holds_receiver=True)
    workload = program({operation: {"bytes": size, "algorithm": algorithm}})
    round_s = max(2 * ALONE_S, 8 * SIZE / 1e9)
    assert took_s(workload, machine, 8, "node") == pytest.approx(rounds * round_s, rel=1e-2)


def test_the_footprint_decides_not_the_message() -> None:
    """An all-to-all of 1 kB among 8 ranks touches 16 kB: in memory with a cache of 15.9 kB, not with one of 16 kB."""
    workload = program({"all_to_all": {"bytes": 1000, "algorithm": "pairwise"}})
    slow = "10 MB/s"  # 2.5 MB/s in messages: 8 kB take 3.2 ms
    assert took_s(workload, node(8, slow, "16 kB"), 8, "node") == pytest.approx(7 * 2e-6, rel=1e-12)
    assert took_s(workload, node(8, slow, "15.9 kB"), 8, "node") == pytest.approx(7 * 3.2e-3, rel=1e-2)
    stated = program({"all_to_all": {"bytes": 1000, "algorithm": "pairwise", "footprint": "1000*P"}})
    assert took_s(stated, node(8, slow, "8 kB"), 8, "node") == pytest.approx(7 * 2e-6, rel=1e-12)


def test_groups_have_footprints_of_their_own() -> None:
    """Ranks 0 to 5 are a group, 6 and 7 another: 2 x 6 x 1 kB are in memory, 2 x 2 x 1 kB are not."""
    groups = {"part": "rank // 6"}
    step = {"all_to_all": {"bytes": 1000, "algorithm": "pairwise", "group": "part"}}
    workload = sc.Workload.load({"name": "groups", "groups": groups, "program": [step]})
    machine = node(8, "10 MB/s", "4 kB")
    result = sc.simulate(workload, machine, {"P": 8}, effects="node")
    assert result.ranks.end_s[6:] == pytest.approx([2e-6, 2e-6], rel=1e-12)
    assert result.ranks.end_s[:6].min() > 5 * 2e-3


def test_a_negative_footprint_is_refused() -> None:
    step = {"allreduce": {"bytes": 8, "footprint": "4 - P"}}
    with pytest.raises(sc.InputError, match="footprint"):
        sc.simulate(program(step), node(), {"P": 8}, effects="node")


def test_a_message_between_nodes_does_not_load_memory() -> None:
    machine = node(8, "10 MB/s")
    assert took_s(program(*one_send(0, 8, SIZE)), machine, 16, "all") == pytest.approx(2e-6 + SIZE / 2e9, rel=1e-12)


def test_nothing_is_loaded_without_the_effect() -> None:
    machine = node(8, "10 MB/s")
    for effects in ("none", "hops", "links,interfaces,memory"):
        assert took_s(ring(8), machine, 8, effects) == pytest.approx(ALONE_S, rel=1e-12)


@pytest.mark.parametrize("sharing", BOTH_RULES)
def test_a_controller_for_each_socket(sharing: str) -> None:
    """Two controllers of 4 GB/s for four ranks each, 1 GB/s in messages. Four messages within socket 0 take 4 ms of its
    controller; four from socket 0 to 1 load each with one copy of the two, 2 ms."""
    machine = node(8, "4 GB/s", sharing=sharing, controllers=2)
    inside = [step for rank in range(4) for step in one_send(rank, (rank + 1) % 4, SIZE)]
    sends, receives = inside[::2], inside[1::2]
    wanted_s = 1e-6 + 4 * SIZE / 1e9
    assert took_s(program(*sends, *receives), machine, 8, "node") == pytest.approx(wanted_s, rel=1e-9)
    across = [step for rank in range(4) for step in one_send(rank, rank + 4, SIZE)]
    wanted_s = 1e-6 + 4 * SIZE / 2e9
    result = sc.simulate(program(*across[::2], *across[1::2]), machine, {"P": 8}, effects="node")
    if sharing == "max_min":
        assert result.makespan_s == pytest.approx(wanted_s, rel=1e-9)
    else:  # each message passes one controller, then the other
        assert wanted_s <= result.makespan_s <= wanted_s + SIZE / 2e9
    used = {result.stations.name(k): result.stations.busy_s[k] for k in range(len(result.stations))}
    assert used["memory 0.0"] == used["memory 0.1"] == pytest.approx(4 * SIZE / 2e9, rel=1e-9)
    took_s(program(*across[::2], *across[1::2]), machine, 8, "node")


STREAM = {"memory": {"accesses": 16000, "element": "64 B", "stack_distance": "1e12", "blocking": 0}}


@pytest.mark.parametrize("sharing", BOTH_RULES)
def test_computations_and_messages_share_the_controller(sharing: str) -> None:
    """Rank 2 moves 1.024 MB, which takes 1.024 ms of 1 GB/s; a message of a quarter of a megabyte from rank 0 to 1 loads
    as much memory with 4 x 0.25 MB: together 2.024 ms, with each effect alone what each takes by itself."""
    quarter = SIZE / 4
    send, receive = one_send(0, 1, quarter)
    work = {"memory": STREAM["memory"] | {"accesses": "16000*(rank == 2)"}}
    workload, machine = program(send, work, receive), node(4, "1 GB/s", sharing=sharing)
    both_s = took_s(workload, machine, 3, "node,memory")
    assert both_s == pytest.approx(2.024e-3 + (1e-6 if sharing == "max_min" else 0), rel=2e-3)
    assert took_s(workload, machine, 3, "memory") == pytest.approx(1.024e-3, rel=1e-3)
    assert took_s(workload, machine, 3, "node") == pytest.approx(1.024e-3, rel=3e-2)


@pytest.mark.parametrize("sharing", BOTH_RULES)
def test_accesses_alone_are_as_without_messages(sharing: str) -> None:
    """On the other node no message passes memory: its accesses queue as they did."""
    work = {"memory": STREAM["memory"] | {"accesses": "16000*(rank >= 4)"}}
    machine = node(4, "1 GB/s", sharing=sharing)
    assert took_s(program(work), machine, 8, "node,memory") == pytest.approx(4 * 1.024e-3, rel=1e-9)
    messages = program(*one_send(0, 1, SIZE), work)
    assert took_s(messages, machine, 8, "node,memory") == pytest.approx(4 * 1.024e-3, rel=1e-9)


def test_loggops_messages_load_memory() -> None:
    """Eight messages of a megabyte through 1 GB/s take 8 ms; each alone 1 ms."""
    letters = {"model": "loggop", "topology": CROSSBAR, "L": "1 us", "o": "0 s", "g": "0 s", "G": "1 ns/B"}
    inside = {key: value for key, value in letters.items() if key != "model"}
    parts = {"network": letters, "node": {"network": inside, "memory": {"copies": 2, "cache": "1 kB"}}}
    machine = node(8, "4 GB/s", more=parts)
    assert took_s(ring(8), machine, 8, "node") == pytest.approx(8e-3, rel=1e-3)


def test_a_phase_may_replace_copies() -> None:
    phase = {"phase": "one", "constants": {"node.memory.copies": 1}, "do": list(program_steps(8))}
    machine = node(8, "4 GB/s")
    assert took_s(program(phase), machine, 8, "node") == pytest.approx(1e-6 + 8 * SIZE / 2e9, rel=1e-9)


def program_steps(ranks: int) -> list[dict[str, Any]]:
    return [
        {"send": {"to": f"(rank + 1) % {ranks}", "bytes": SIZE}},
        {"receive": {"from": f"(rank - 1) % {ranks}"}},
    ]


def random_case(random: Random) -> tuple[sc.Workload, sc.Machine, int, str]:
    """A few steps on a random machine of one or two nodes, with times that tie."""
    sharing = random.choice(["fcfs", "max_min", {"round_robin": "300 B"}])
    controllers = random.choice([1, 2])
    more: dict[str, Any] = {}
    if controllers == 2 and random.random() < 0.5:
        fast = {"topology": CROSSBAR, "startup": "1 us", "bandwidth": "2 GB/s", "holds_receiver": random.random() < 0.5}
        more["socket"] = {"per_node": 2, "network": fast}
    holds = random.random() < 0.7
    cache, bandwidth = random.choice(["1 kB", "8 kB", "1 MB"]), random.choice(["1 GB/s", "8 GB/s"])
    machine = node(4, bandwidth, cache, sharing, controllers, more, holds_receiver=holds, hop_latency="1 us")
    sizes = (0, 500, 1000, 4000)
    steps: list[dict[str, Any]] = []
    for _ in range(random.randint(1, 5)):
        size = random.choice(sizes)
        steps.append(
            random.choice(
                [
                    {"all_to_all": {"bytes": size, "algorithm": random.choice(["pairwise", "linear"])}},
                    {"allreduce": {"bytes": size, "algorithm": random.choice(["ring", "recursive_doubling"])}},
                    {"gather": {"bytes": size, "algorithm": "linear"}},
                    {"broadcast": {"bytes": size}},
                    {"exchange": {"pattern": "halo1d", "bytes": size}},
                    {"memory": STREAM["memory"] | {"accesses": random.choice(["64", "256*(rank % 2)"])}},
                    {"compute": {"seconds": "1e-6*(rank % 3)"}},
                ]
            )
        )
    effects = random.choice(["none", "node", "node,memory", "node,links,interfaces", "all"])
    return program(*steps), machine, random.randint(2, 8), effects


@pytest.mark.parametrize("seed", range(40))
def test_both_engines_agree(seed: int) -> None:
    """``took_s`` holds them equal to the last bit."""
    workload, machine, ranks, effects = random_case(Random(seed))
    took_s(workload, machine, ranks, effects)


def test_machines_without_it_have_no_station_more() -> None:
    machine = node(8, "10 MB/s", "1 GB")
    result = sc.simulate(ring(8), machine, {"P": 8}, effects="node")
    assert "memory of messages" not in {result.stations[k].kind for k in range(len(result.stations))}
    assert np.all(result.ranks.end_s == result.ranks.end_s[0])
