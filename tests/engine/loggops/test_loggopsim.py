"""Schedules in LogGOPS: makespans that LogGOPSim gives, and random schedules against a plain reading of its rules."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import DeadlockError, Place
from simcodesign.core.operation_kinds import COMPUTE, RECEIVE, SEND
from simcodesign.describe.design_point import bind
from simcodesign.describe.goal.format import read_goal
from simcodesign.describe.goal.schedule import ANY, ANY_TAG, NONE, Schedule
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.yaml.files import workload_of
from simcodesign.engine.event_contract import Log
from simcodesign.engine.selection import run
from simcodesign.engine.simulate import simulate
from simcodesign.generate.lower import make_plan
from simcodesign.generate.plan import Plan
from tests import builders, examples
from tests.oracles.messages.loggopsim import LogGOPS, LogGOPSim

ENGINES = ["simpy", "compiled"]


def machine(model: LogGOPS, nodes: int, **network: object) -> Machine:
    """Nanoseconds as seconds; S beyond 4 GB: no rendezvous."""
    constants = {
        "latency_s": model.L / 1e9,
        "overhead_s": model.o / 1e9,
        "gap_s": model.g / 1e9,
        "per_byte_s": model.G / 1e9,
        "overhead_per_byte_s": model.O / 1e9,
        "rendezvous_above_bytes": None if model.S >= 2**32 - 1 else model.S,
    }
    return Machine("loggop", Processor(1e9), builders.network(max(nodes, 2), model="loggop", **constants, **network))


# ---------------------------------------------------------------------------------------------------------------------
# What LogGOPSim gives


def rows(cases: Path) -> Iterator[tuple[Schedule, LogGOPS, int]]:
    """The schedules with their makespans in nanoseconds, where LogGOPSim finishes."""
    for row in csv.DictReader((cases / "goal" / "makespans.csv").read_text().splitlines()):
        if row["loggopsim_makespan_ns"]:
            names = ("L_ns", "o_ns", "g_ns", "G_ns_per_byte", "O_ns_per_byte", "S_bytes")
            model = LogGOPS(*(int(row[name]) for name in names))
            yield read_goal(cases / "goal" / row["schedule"]), model, int(row["loggopsim_makespan_ns"])


def test_makespans_of_loggopsim(cases: Path) -> None:
    compared = 0
    for schedule, model, expected in rows(cases):
        assert LogGOPSim(schedule, model).makespan == expected, schedule.name
        for engine in ENGINES:
            result = simulate(workload_of(schedule), machine(model, schedule.ranks), effects="none", engine=engine)
            assert round(result.makespan_s * 1e9, 3) == expected, (schedule.name, model, engine)
            compared += 1
    assert compared == 2 * 141


# ---------------------------------------------------------------------------------------------------------------------
# Random schedules


class Writer:
    """Operations of a few ranks, many of which are ready at the same time."""

    def __init__(self, random: Random, operations: int) -> None:
        self.random, self.ranks = random, random.randint(1, 5)
        self.cpus, self.nics = random.choice([1, 1, 2]), random.choice([1, 1, 2])
        self.density, self.open_tag = random.choice([0.0, 0.3, 0.8, 1.0]), random.choice([None, None, 1])
        self.any_rank = random.choice([None, None, None, 0])
        self.some_from_anyone = random.choice([0.0, 0.0, 0.3])  # and of any tag, beside others
        self.blocks: list[list[dict[str, int]]] = [[] for _ in range(self.ranks)]
        self.waits: list[tuple[int, int, int, bool]] = []  # rank, operation, one that waits, early
        owed: list[tuple[int, dict[str, int]]] = []
        for _ in range(operations):
            if owed and random.random() < 0.5:
                self.put(*owed.pop(random.randrange(len(owed))))
            elif random.random() < 0.3:
                self.put(random.randrange(self.ranks), {"kind": COMPUTE, "calc": random.choice([0, 1, 2, 5, 10])})
            else:
                owed.append(self.message())
        for rank, receive in random.sample(owed, len(owed)):
            self.put(rank, receive)

    def message(self) -> tuple[int, dict[str, int]]:
        """Put a send; its receive."""
        random = self.random
        source, target = random.randrange(self.ranks), random.randrange(self.ranks)
        size, tag = random.choice([0, 1, 2, 5, 9]), random.choice([0, 0, 1])
        self.put(source, {"kind": SEND, "peer": target, "size": size, "tag": tag})
        peer, tag = (ANY, ANY_TAG) if target == self.any_rank else (ANY if tag == self.open_tag else source, tag)
        if target != self.any_rank and random.random() < self.some_from_anyone:
            peer, tag = random.choice([(ANY, ANY_TAG), (ANY, tag), (source, ANY_TAG)])
        return target, {"kind": RECEIVE, "peer": peer, "size": size, "tag": tag}

    def put(self, rank: int, operation: dict[str, int]) -> None:
        block, random = self.blocks[rank], self.random
        operation["cpu"] = random.randrange(self.cpus)
        operation["nic"] = random.randrange(self.nics) if operation["kind"] != COMPUTE else 0
        for _ in range(random.choice([1, 1, 2])):
            if block and random.random() < self.density:
                chosen = len(block) - 1 if random.random() < 0.6 else random.randrange(len(block))
                self.waits.append((rank, chosen, len(block), random.random() < 0.25))
        block.append(operation)

    def schedule(self) -> Schedule:
        first = np.cumsum([0, *map(len, self.blocks)])
        every = [operation for block in self.blocks for operation in block]
        waits = sorted({(int(first[rank]) + a, int(first[rank]) + b, early) for rank, a, b, early in self.waits})
        self.random.shuffle(waits)
        waits.sort(key=lambda wait: wait[0])

        def column(name: str, otherwise: int, dtype: type[np.generic]) -> np.ndarray:
            return np.array([operation.get(name, otherwise) for operation in every], dtype)

        return Schedule(
            name="random",
            first=first.astype(np.int64),
            kind=column("kind", COMPUTE, np.int8),
            peer=column("peer", NONE, np.int32),
            size_bytes=column("size", 0, np.float64),
            calc_s=column("calc", 0, np.float64) / 1e9,
            tag=column("tag", 0, np.int32),
            cpu=column("cpu", 0, np.int32),
            edge_start=np.searchsorted([wait[0] for wait in waits], np.arange(len(every) + 1)).astype(np.int64),
            edge_target=np.array([wait[1] for wait in waits], np.int32),
            edge_early=np.array([wait[2] for wait in waits], np.bool_),
            place=Place(),
            nic=column("nic", 0, np.int32),
        )


def same(one: Log, other: Log) -> None:
    """Equal to the last bit."""
    for name, values in vars(one).items():
        np.testing.assert_array_equal(values, getattr(other, name), err_msg=name)


def logs(plan: Plan) -> Log:
    """The log of both engines."""
    reference, fast = (run(plan, engine) for engine in ENGINES)
    same(reference, fast)
    return reference


FEW = st.sampled_from([0, 1, 1, 2, 3])
MODELS = st.builds(
    LogGOPS, L=FEW, o=FEW, g=st.sampled_from([0, 1, 2, 5, 20]), G=FEW, O=FEW, S=st.sampled_from([99, 99, 0, 1, 5])
)


def compare(seed: int, operations: int, model: LogGOPS) -> int | None:
    """Every end of both engines against the oracle's; the makespan."""
    schedule = Writer(Random(seed), operations).schedule()
    oracle = LogGOPSim(schedule, model)
    plan = make_plan(bind(workload_of(schedule), machine(model, schedule.ranks)))
    if None in oracle.end:
        for engine in ENGINES:
            with pytest.raises(DeadlockError):
                run(plan, engine)
        return None
    log = logs(plan)
    assert np.rint(log.finish_s * 1e9).tolist() == oracle.end
    assert log.finish_s.tolist() == [end / 1e9 for end in oracle.end]
    return oracle.makespan


@settings(max_examples=examples(200))
@given(st.integers(0, 2**64), st.integers(1, 40), MODELS)
def test_random_schedules(seed: int, operations: int, model: LogGOPS) -> None:
    compare(seed, operations, model)


@pytest.mark.thorough
def test_many_random_schedules() -> None:
    """With constants as machines have them, and schedules of hundreds of operations."""
    random, finished = Random(1), 0
    for seed in range(2400):  # more than half of them end in deadlocks, as they should
        model = LogGOPS(
            *(random.choice(values) for values in ([2500, 5000], [500, 1500], [0, 1000, 4000], [2, 6], [0, 1, 6])),
            random.choice([0, 4, 99]),
        )
        finished += compare(seed, random.randint(1, 300), model) is not None
    assert finished > 1000


@settings(max_examples=examples(100))
@given(
    st.integers(0, 2**64),
    st.integers(1, 40),
    MODELS,
    st.sampled_from([("links",), ("interfaces",), ("links", "interfaces"), ("hops",), ("noise",), ("links", "noise")]),
)
def test_engines_agree_under_every_effect(seed: int, operations: int, model: LogGOPS, effects: tuple[str, ...]) -> None:
    schedule = Writer(Random(seed), operations).schedule()
    noisy = Machine("noisy", Processor(1e9), machine(model, 8, hop_latency_s=1e-9).network, noise=0.3)
    plan = make_plan(bind(workload_of(schedule), noisy), effects, seed=1)
    if None in LogGOPSim(schedule, model).end:
        return
    logs(plan)


# ---------------------------------------------------------------------------------------------------------------------
# Power


def powered(model: LogGOPS, ranks: int, **network: object) -> Machine:
    """20 W of a rank that computes, 5 W of one that works on messages."""
    watts = {"processor.dynamic_power": 20.0, "network.dynamic_power": 5.0}
    return machine(model, ranks, **network).with_constants(watts)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("limit", [2**32, 0])
def test_a_message_processed_before_its_receive_draws_power_while_it_is(
    engine: str, limit: int, tmp_path: Path
) -> None:
    """Its first byte comes after 3 us and keeps the processor for 1 + 1 us, though it is received after 10 us, when a
    rendezvous ends as well."""
    (tmp_path / "early.goal").write_text(
        "num_ranks 2\nrank 0 {\nl1: send 1001b to 1\n}\nrank 1 {\nl1: calc 10000 cpu 1\nl2: recv 1001b from 0 cpu 1\n"
        "l2 requires l1\n}\n"
    )
    model = LogGOPS(L=2000, o=1000, g=0, G=1, O=0, S=limit)
    workload = workload_of(read_goal(tmp_path / "early.goal"))
    result = simulate(workload, powered(model, 2), effects="none", engine=engine)
    profile = result.power_profile
    assert profile is not None
    assert profile.edges_s * 1e6 == pytest.approx([0, 1, 3, 5, 10])
    assert profile.watts == pytest.approx([25, 20, 25, 20])
    assert result.energy_j == pytest.approx((10 * 20 + (1 + 2) * 5) * 1e-6)


@settings(max_examples=examples(60))
@given(st.integers(0, 2**64), st.integers(1, 40), MODELS)
def test_the_energy_of_a_schedule_is_that_of_its_parts_and_the_area_under_its_power(
    seed: int, operations: int, model: LogGOPS
) -> None:
    schedule = Writer(Random(seed), operations).schedule()
    if None in LogGOPSim(schedule, model).end:
        return
    x = np.maximum(schedule.size_bytes - 1, 0)
    sends_s = (model.o + x * model.O)[schedule.kind == SEND].sum() / 1e9
    receives_s = (model.o + x * max(model.O, model.G))[schedule.kind == RECEIVE].sum() / 1e9
    expected_j = 20 * schedule.calc_s.sum() + 5 * (sends_s + receives_s)
    result = simulate(workload_of(schedule), powered(model, schedule.ranks), effects="none", engine="simpy")
    assert result.energy_j == pytest.approx(expected_j, rel=1e-9, abs=1e-20)
    assert result.power_profile is not None
    assert result.power_profile.energy_j == pytest.approx(expected_j, rel=1e-9, abs=1e-20)
