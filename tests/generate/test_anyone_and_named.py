"""Receives from anyone and of any tag beside named ones: whose message each takes, against two lists searched in order."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.core.errors import DeadlockError
from simcodesign.describe.design_point import bind
from simcodesign.describe.goal.format import read_goal
from simcodesign.describe.machine import Machine
from simcodesign.describe.yaml.files import workload_of
from simcodesign.engine.selection import run
from simcodesign.generate.export_schedule import schedule_of
from simcodesign.generate.lower import make_plan
from simcodesign.generate.plan import Plan
from tests import examples
from tests.builders import machine, network, workload
from tests.oracles.messages.receive_queues import ANY, End, met

ENGINES = ("simpy", "compiled")
#: A message is there 100 ns after its send has begun, and takes no more time, in either model.
HOCKNEY = machine(network(8, startup_s=100e-9))
LOGGOPS = machine(network(8, model="loggop", latency_s=100e-9))
DELAY = 100


def random_ends(random: Random) -> list[End]:
    """Messages from ranks 1 to 3 and as many receives at rank 0, each at a time of its own."""
    count = random.randint(1, 8)
    times = random.sample(range(DELAY, 2 * DELAY), 2 * count)
    ends = []
    for _ in range(count):
        source, tag = random.randint(1, 3), random.randint(0, 2)
        ends.append(End(times.pop(), True, source, tag))
        source, tag = random.choice([(source, tag), (source, tag), (ANY, tag), (source, ANY), (ANY, ANY)])
        ends.append(End(times.pop(), False, source, tag))
    return ends


def text_of(ends: list[End]) -> str:
    """The schedule: every message and every receive waits on a processor of its own until its time."""
    lines: dict[int, list[str]] = defaultdict(list)
    for number, end in enumerate(ends):
        rank = end.source if end.is_message else 0
        wait, cpu = end.time - DELAY if end.is_message else end.time, f"cpu {number}"
        what = "send 8b to 0" if end.is_message else f"recv 8b from {end.source}"
        lines[rank] += [f"w{number}: calc {wait} {cpu}", f"m{number}: {what} tag {end.tag} {cpu} nic {number}"]
        lines[rank].append(f"m{number} requires w{number}")
    bodies = "".join(f"rank {rank} {{\n" + "\n".join(lines[rank]) + "\n}\n" for rank in range(4))
    return f"num_ranks 4\n{bodies}"


def are_paired_by_file(ends: list[End]) -> bool:
    """Return whether one rank sends several messages with a tag that all receives name: these are paired in the order
    of the file (docs/messages.md), not of time."""
    receives = [end for end in ends if not end.is_message]
    if any(end.tag == ANY for end in receives):
        return False
    boxed = {end.tag for end in receives if end.source == ANY}
    named = [(end.source, end.tag) for end in ends if end.is_message and end.tag not in boxed]
    return len(named) > len({*named})


def met_in(plan: Plan, ends: list[End], engine: str) -> dict[int, int]:
    """What a run has met, by the numbers of the ends."""
    order = sorted(range(len(ends)), key=lambda one: (ends[one].source if ends[one].is_message else 0, one))
    number = {
        2 * place + 1: end for place, end in enumerate(order)
    }  # each end has two operations, the second its message
    match = run(plan, engine).match.tolist()
    return {number[op]: number[match[op]] for op in number if not ends[number[op]].is_message}


@settings(max_examples=examples(300))
@given(st.integers(0, 2**32), st.sampled_from([HOCKNEY, LOGGOPS]))
def test_random_receives_take_what_two_lists_give(
    tmp_path_factory: pytest.TempPathFactory, seed: int, where: Machine
) -> None:
    ends = random_ends(Random(seed))
    assume(not are_paired_by_file(ends))
    expected, path = met(ends), tmp_path_factory.mktemp("matching") / "a.g2"
    path.write_text(text_of(ends))
    schedule = read_goal(path)
    plan = make_plan(bind(workload_of(schedule), where))
    for engine in ENGINES:
        if 2 * len(expected) == len(ends):
            assert met_in(plan, ends, engine) == expected
            again = make_plan(bind(workload_of(schedule_of(plan, "exported")), where))
            assert run(again, engine).finish_s.max() == run(plan, engine).finish_s.max()
        else:
            with pytest.raises(DeadlockError, match="rank 0 waits in receive from"):
                run(plan, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_program_in_yaml_and_in_python(engine: str) -> None:
    """Rank 0 takes the message of rank 2, which comes first, from anyone, and then that of rank 1 by name: at 1.1 us."""

    @sc.program
    def program(rank: int, size: int):  # type: ignore[no-untyped-def]
        if rank == 0:
            yield sc.rank.receive(tag=3)
            yield sc.rank.receive(1, tag=3)
        else:
            yield sc.rank.compute(seconds=1e-6 if rank == 1 else 0.0)
            yield sc.rank.send(0, 8, tag=3)

    text = """- compute: {seconds: "1e-6 * (rank == 1)", when: rank > 0}
- send: {to: 0, bytes: 8, tag: 3, when: rank > 0}
- receive: {from: anyone, tag: 3, when: rank == 0}
- receive: {from: 1, tag: 3, when: rank == 0}
"""
    for load in (program, workload(text)):
        for where in (HOCKNEY, LOGGOPS):
            result = sc.simulate(load, where, {"P": 3}, effects="none", engine=engine)
            assert result.makespan_s == pytest.approx(1.1e-6, rel=1e-12)


@pytest.mark.parametrize("name", ["a.g2", "a.goal2", "trace.txt", "a.goal"])
def test_a_schedule_with_any_ending_is_a_workload(tmp_path: Path, name: str) -> None:
    """It begins as one, after comments."""
    (tmp_path / name).write_text("// a trace\n/* of\nmine */ num_ranks 1\nrank 0 {\ncalc 5\n}\n")
    assert sc.simulate(str(tmp_path / name), HOCKNEY).makespan_s == pytest.approx(5e-9)
