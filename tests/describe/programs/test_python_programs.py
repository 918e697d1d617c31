"""Programs in Python: what they say is what the same program in YAML says; errors name the line."""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.core.errors import DeadlockError, InputError
from simcodesign.core.result import Result
from simcodesign.describe.demands.collective import ALGORITHMS, ON_NODES, SIGNALS, every_algorithm
from simcodesign.studies.sweep.content_digest import digest
from simcodesign.studies.sweep.executors import LocalExecutor
from simcodesign.studies.sweep.run import run
from simcodesign.studies.sweep.store import Store
from simcodesign.studies.sweep.sweep import same, sweep_of
from tests import examples
from tests.builders import algorithm_entry, read_machine, workload

MACHINE = "torus-cluster"
LOGGOPS = """simcodesign: 1
name: test
nodes: 16
processor: {rate: 1e9}
network:
  topology: {kind: torus, shape: [4, 4]}
  model: loggop
  L: 2 us
  o: 1 us
  g: 3 us
  G: 2e-9
  O: 1e-10
  S: 2000
  hop_latency: 50 ns
"""


def simulated(load: sc.Workload, ranks: int, on: Any = MACHINE, effects: str = "all") -> Result:
    """By both engines, which must agree."""
    one, other = (sc.simulate(load, on, {"P": ranks}, effects=effects, engine=name) for name in ("simpy", "compiled"))
    assert one.makespan_s == other.makespan_s
    return one


def program_of(operations: Callable[[int, int], Any]) -> sc.Workload:
    """The program whose rank does the operations of a list."""

    def program(rank: int, size: int) -> Iterator[Any]:
        yield from operations(rank, size)

    return sc.program(program)


def loaded(tmp_path: Path, body: str) -> sc.Workload:
    """The program of a file whose line 5 is the first of ``body``."""
    head = ["import simcodesign as sc", "", "@sc.program", "def program(rank, size):"]
    path = tmp_path / "prog.py"
    path.write_text("\n".join([*head, *(f"    {line}" for line in body.splitlines())]) + "\n")
    return sc.Workload.load(f"{path}:program")


@sc.program
def ring(rank: int, size: int, *, n: int = 3, bytes: float = 1000.0) -> Iterator[Any]:
    """Around a ring."""
    for _ in range(n):
        yield sc.rank.compute(flops=1e6 * (rank + 1))
        yield sc.rank.send((rank + 1) % size, bytes)
        yield sc.rank.receive((rank - 1) % size)
        yield sc.rank.phase("sum")
        yield sc.rank.world.allreduce(8)
        yield sc.rank.phase("main")


RING = """- repeat: n
  do:
    - compute: {flops: "1e6 * (rank + 1)"}
    - send: {to: "(rank + 1) % P", bytes: size}
    - receive: {from: "(rank + P - 1) % P"}
    - phase: sum
      do: [allreduce: {bytes: 8}]
"""


@pytest.mark.parametrize("on", ["crossbar-16", "torus-cluster", "packet-torus", "loggops"])
def test_a_program_in_python_is_the_program_in_yaml(on: str) -> None:
    name = read_machine(LOGGOPS) if on == "loggops" else sc.Machine.load(on)
    text = workload(RING, "parameters: {n: {default: 3}, size: {default: 1000}}\n")
    mine, other = simulated(ring, 6, name), simulated(text, 6, name)
    assert mine.makespan_s == other.makespan_s
    assert mine.phases == other.phases
    assert (mine.messages, mine.message_bytes, mine.flops) == (other.messages, other.message_bytes, other.flops)


@pytest.mark.parametrize(("operation", "algorithm"), [key for key in every_algorithm() if key not in ON_NODES])
@pytest.mark.parametrize("ranks", [1, 5, pytest.param(8, marks=pytest.mark.thorough)])
def test_every_collective_is_that_of_yaml(operation: str, algorithm: str, ranks: int) -> None:
    size = () if operation in SIGNALS else (4096.0,)
    plain, order = algorithm, {}
    if algorithm not in ALGORITHMS[operation]:
        plain, _, last = algorithm.rpartition("_")
        order = {"order": last}
    mine = program_of(lambda rank, count: [getattr(sc.rank.world, operation)(*size, algorithm=plain, **order)] * 2)
    inside = algorithm_entry(operation, algorithm) + (", bytes: 4096" if size else "")
    text = workload(f"- {operation}: {{{inside}}}\n" * 2)
    for machine in (MACHINE, read_machine(LOGGOPS)):
        one, other = (sc.simulate(load, machine, {"P": ranks}, engine="simpy") for load in (mine, text))
        assert one.makespan_s == other.makespan_s
        forecasts = [sc.forecast(load, machine, {"P": ranks}, longest_path=False).makespan_s for load in (mine, text)]
        assert forecasts[0] == pytest.approx(forecasts[1], rel=1e-12)


@pytest.mark.parametrize(("operation", "algorithm"), sorted(ON_NODES))
def test_no_program_looks_at_nodes(operation: str, algorithm: str) -> None:
    size = () if operation in SIGNALS else (4096.0,)
    program = program_of(lambda rank, count: [getattr(sc.rank.world, operation)(*size, algorithm=algorithm)])
    with pytest.raises(InputError, match="looks at no nodes"):
        sc.simulate(program, MACHINE, {"P": 2})


@given(sizes=st.lists(st.integers(0, 10**6), min_size=1, max_size=4), q=st.integers(1, 5), seed=st.integers(0, 99))
@settings(max_examples=examples(40), deadline=None)
def test_groups_do_what_the_same_messages_do(sizes: list[int], q: int, seed: int) -> None:
    """A linear broadcast within groups, beside the sends and receives of which it consists."""
    ranks = 7
    colours = np.random.default_rng(seed).integers(0, q, ranks)
    members = [np.flatnonzero(colours == colours[rank]).tolist() for rank in range(ranks)]

    def with_groups(rank: int, size: int) -> Iterator[Any]:
        group = sc.rank.group(int(colours[rank]))
        for step, one in enumerate(sizes):
            yield group.broadcast(one, root=step % group.size, algorithm="linear")

    def by_hand(rank: int, size: int) -> Iterator[Any]:
        group = members[rank]
        for step, one in enumerate(sizes):
            root = step % len(group)
            others = group[root + 1 :] + group[:root]
            if rank == group[root]:
                yield from (sc.rank.send(other, one) for other in others)
            else:
                yield sc.rank.receive(group[root])

    one, other = (
        sc.simulate(sc.program(function), "crossbar-16", {"P": ranks}, engine="simpy")
        for function in (with_groups, by_hand)
    )
    assert one.makespan_s == other.makespan_s
    assert one.messages == other.messages


def test_summa_on_a_grid_is_its_closed_form() -> None:
    """Ends of the rounds are synchronised by nothing but their messages, whose trees are alike on a power of two."""

    @sc.program
    def summa(rank: int, size: int, *, n: int = 512, b: int = 64) -> Iterator[Any]:
        q = isqrt(size)
        row, column = sc.rank.group(rank // q), sc.rank.group(rank % q)
        for k in range(n // b):
            yield row.broadcast(8 * n * b / q, root=k * b * q // n)
            yield column.broadcast(8 * n * b / q, root=k * b * q // n)
            yield sc.rank.compute(flops=2 * n * n * b / size)

    forecast = sc.forecast(summa, "crossbar-16", {"P": 16})
    network = sc.Machine.load("crossbar-16").network
    rate = sc.Machine.load("crossbar-16").processor.rate_flop_per_s
    one_s = network.message_model.startup_s + 8 * 512 * 64 / 4 * network.message_model.per_byte_s
    expected = 8 * (2 * 2 * one_s + 2 * 512 * 512 * 64 / 16 / rate)
    assert forecast.makespan_s == pytest.approx(expected, rel=0.02)  # hops beside the startup
    assert forecast.messages == 8 * 2 * 4 * 3
    assert forecast.basis == ("longest path through the messages of its ranks",)
    assert "busiest rank" in sc.forecast(summa, "crossbar-16", {"P": 16}, longest_path=False).basis[0]
    assert not forecast.formulas
    several = sc.forecast(summa, "crossbar-16", {"P": np.array([4, 16])})
    assert several.makespan_s[1] == forecast.makespan_s


def test_what_is_started_overlaps() -> None:
    @sc.program
    def load(rank: int, size: int, *, seconds: float = 1.0) -> Iterator[Any]:
        handle = yield sc.rank.start(sc.rank.world.allreduce(1e6))
        yield sc.rank.compute(seconds=seconds)
        yield sc.rank.wait(handle)
        yield sc.rank.compute(seconds=0.5)

    for seconds in (1.0, 1e-6):
        alone = sc.simulate(
            program_of(lambda rank, size: [sc.rank.world.allreduce(1e6)]), MACHINE, {"P": 8}, effects="none"
        )
        assert 1e-6 < alone.makespan_s < 1.0
        expected = 0.5 + max(seconds, alone.makespan_s)
        given_values = {"P": 8, "seconds": seconds}
        for engine in ("simpy", "compiled"):
            both = sc.simulate(load, MACHINE, given_values, effects="none", engine=engine)
            assert both.makespan_s == pytest.approx(expected, rel=1e-12)
        assert sc.forecast(load, MACHINE, given_values).makespan_s == pytest.approx(expected, rel=1e-12)


ERRORS = {
    "a receive without a send": ("if rank == 1:\n    yield sc.rank.receive(0)\nyield sc.rank.compute(flops=1)", 6),
    "a send without a receive": ("yield sc.rank.compute(flops=1)\nif rank == 1:\n    yield sc.rank.send(0, 8)", 7),
    "different bytes": (
        "if rank == 1:\n    yield sc.rank.send(0, 8)\nif rank == 0:\n    yield sc.rank.receive(1, 9)",
        8,
    ),
    "other collectives": ("w = sc.rank.world\nyield w.broadcast(8) if rank else w.allreduce(8)", 6),
    "not equally many": ("yield sc.rank.world.barrier()\nif rank:\n    yield sc.rank.world.barrier()", 7),
    "another root": ("yield sc.rank.world.broadcast(8, root=rank)", 5),
    "a root outside": ("yield sc.rank.group(rank // 2).broadcast(8, root=2)", 5),
    "a group of some": ("if rank:\n    sc.rank.group(1)\nyield sc.rank.compute(flops=1)", 6),
    "its members": ("g = sc.rank.group(1) if rank else sc.rank.world\nyield sc.rank.compute(flops=g.size)", 5),
    "no operation": ("yield sc.rank.compute(flops=1)\nyield 5", 6),
    "two amounts": ("yield sc.rank.compute(flops=1, seconds=2)", 5),
    "negative": ("yield sc.rank.compute(flops=-1)", 5),
    "not finite": ("yield sc.rank.compute(flops=float('nan'))", 5),
    "a text": ("yield sc.rank.compute(flops='1')", 5),
    "unhashable": ("yield sc.rank.compute(flops=[1])", 5),
    "no bytes": ("yield sc.rank.world.broadcast()", 5),
    "no rank": ("yield sc.rank.send(99, 8)", 5),
    "itself": ("yield sc.rank.send(rank, 8)", 5),
    "no algorithm": ("yield sc.rank.world.allreduce(8, algorithm='magic')", 5),
    "no operation of a group": ("yield sc.rank.world.alreduce(8)", 5),
    "a colour": ("sc.rank.group(0.5)\nyield sc.rank.compute(flops=1)", 5),
    "its own error": ("x = 1\nyield sc.rank.compute(flops=1 / (rank - 1))", 6),
    "never waited for": ("yield sc.rank.compute(flops=1)\nh = yield sc.rank.start(sc.rank.world.barrier())", 6),
    "no start": ("yield sc.rank.wait(3)", 5),
    "waits again": (
        "h = yield sc.rank.start(sc.rank.world.barrier())\nyield sc.rank.wait(h)\nyield sc.rank.wait(h)",
        7,
    ),
    "starts work": ("yield sc.rank.start(sc.rank.compute(flops=1))", 5),
    "within a helper": ("def helper():\n    yield sc.rank.compute(flops=-1)\nyield from helper()", 6),
    "a message of a helper": ("def helper():\n    yield sc.rank.receive(1 - rank % 2)\nyield from helper()", 6),
    "no root": ("yield sc.rank.world.allreduce(8, root=1)", 5),
    "bytes of a barrier": ("yield sc.rank.world.barrier(8)", 5),
    "no segments": ("yield sc.rank.world.allreduce(8, segment=8)", 5),
    "empty segments": ("yield sc.rank.world.broadcast(8, algorithm='chain', segment=0)", 5),
    "it ends the process": ("import sys\nsys.exit(0)\nyield", 6),
    "a part of a rank twice": ("yield sc.rank.overlap(sc.rank.read(8), sc.rank.write(8))", 5),
    "one part": ("yield sc.rank.overlap(sc.rank.compute(flops=1))", 5),
    "messages overlap": ("yield sc.rank.overlap(sc.rank.compute(flops=1), sc.rank.world.barrier())", 5),
    "loads of nothing": ("yield sc.rank.memory(loads=3)", 5),
    "an unknown word of memory": ("yield sc.rank.memory(loads=3, hits={'l9': 1})", 5),
    "no number of loads": ("yield sc.rank.memory(loads='n', hits={'l1': 1})", 5),
    "a profile": ("yield sc.rank.memory(profile='x.json')", 5),
    "a negative load": ("yield sc.rank.memory(loads=-1, hits={'l1': 1})", 5),
    "outside the group": ("yield sc.rank.group(rank // 2).send(2, 8)", 5),
    "no rank of the group": ("yield sc.rank.group(rank // 2).receive(0.5)", 5),
    "waits for an operation": ("yield sc.rank.wait(sc.rank.compute(flops=1))", 5),
    "starts a wait": ("yield sc.rank.start(sc.rank.phase('x'))", 5),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_name_the_line(tmp_path: Path, name: str) -> None:
    body, line = ERRORS[name]
    load = loaded(tmp_path, body)
    for reading in (sc.simulate, sc.forecast):
        with pytest.raises(InputError) as error:
            reading(load, MACHINE, {"P": 4})
        assert f"prog.py:{line}:" in str(error.value)


def test_deadlocks_name_the_lines(tmp_path: Path) -> None:
    load = loaded(tmp_path, "yield sc.rank.receive(1 - rank)\nyield sc.rank.send(1 - rank, 8)")
    for engine in ("simpy", "compiled"):
        with pytest.raises(DeadlockError, match=r"prog\.py:5") as error:
            sc.simulate(load, MACHINE, {"P": 2}, engine=engine)
        assert "prog.py:6" in str(error.value)


def test_the_members_of_a_group_are_known_anywhere() -> None:
    seen = {}

    def program(rank: int, size: int) -> Iterator[Any]:
        half = sc.rank.group(rank % 2)
        part = sc.rank.group(half.rank // 2 if rank < 6 else None)
        if part is not None:
            seen[rank] = (half.rank, half.size, part.rank, part.size)
            yield part.barrier()
        yield sc.rank.compute(flops=1)

    sc.simulate(sc.program(program), MACHINE, {"P": 7}, engine="simpy")
    assert seen == {
        0: (0, 4, 0, 4),
        1: (0, 3, 1, 4),
        2: (1, 4, 2, 4),
        3: (1, 3, 3, 4),
        4: (2, 4, 0, 2),
        5: (2, 3, 1, 2),
    }


def test_a_program_of_a_file_is_pickled_by_its_path(tmp_path: Path) -> None:
    load = loaded(tmp_path, "yield sc.rank.compute(seconds=2)")
    again = pickle.loads(pickle.dumps(load))
    assert digest(again) == digest(load)
    assert sc.simulate(again, MACHINE, {"P": 2}, effects="none").makespan_s == 2.0
    changed = loaded(tmp_path, "yield sc.rank.compute(seconds=3)")
    assert digest(changed) != digest(load)
    with pytest.raises(InputError, match="changed"):
        sc.simulate(pickle.loads(pickle.dumps(load)), MACHINE, {"P": 2})


def test_a_formula_stands_in_place_of_the_forecast() -> None:
    def formula(machine: Any, size: Any, *, n: Any) -> Any:
        return n * machine.network.message_model.startup_s * np.log2(size)

    @sc.program(forecast=formula)
    def program(rank: int, size: int, *, n: int = 5) -> Iterator[Any]:
        for _ in range(n):
            yield sc.rank.world.broadcast(0)

    ranks = np.array([2, 4, 8])
    startup_s = sc.Machine.load(MACHINE).network.message_model.startup_s
    result = sc.forecast(program, MACHINE, {"P": ranks})
    np.testing.assert_allclose(result.makespan_s, 5 * startup_s * np.log2(ranks), rtol=1e-12)


@pytest.mark.parametrize("value", ["1 / 0", "-1.0", "float('nan')", "'x'", "[1.0, 2.0, 3.0]"])
def test_a_formula_that_gives_no_seconds_is_an_error_with_its_place(tmp_path: Path, value: str) -> None:
    path = tmp_path / "prog.py"
    head = (
        f"import simcodesign as sc\n\n@sc.program(forecast=lambda machine, size: {value})\ndef program(rank, size):\n"
    )
    path.write_text(f"{head}    yield sc.rank.compute(seconds=1)\n")
    with pytest.raises(InputError, match=r"prog\.py:\d"):
        sc.forecast(str(path), MACHINE, {"P": 4})


@pytest.mark.thorough
def test_sweeps_know_a_program_by_its_source_and_run_it_in_worker_processes(tmp_path: Path) -> None:
    metas = []
    for seconds in (2, 3):
        loaded(tmp_path, f"yield sc.rank.compute(seconds={seconds} * size)")
        swept = sweep_of(str(tmp_path / "prog.py"), MACHINE, ["P=2,4"], simulate=True, effects="none")
        metas.append(swept.meta())
        store = Store.create(tmp_path / f"{seconds}.sqlite", swept.meta())
        with closing(store), closing(LocalExecutor(2)) as executor:
            run(swept, store, executor)
            rows = list(store.rows())
        assert [row.results["simulated_makespan_s"] for row in rows] == [2 * seconds, 4 * seconds]
        again = sweep_of(str(tmp_path / "prog.py"), MACHINE, ["P=2,4"], simulate=True, effects="none")
        assert same(swept.meta(), again.meta())
    assert not same(*metas)


def test_what_stands_in_the_file_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though two versions have one size and one time, by which Python tells its caches of bytecode apart."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for seconds in (2, 3):
        loaded(tmp_path, f"yield sc.rank.compute(seconds={seconds} * size)")
        os.utime(tmp_path / "prog.py", (1e9, 1e9))
        described = sc.Workload.load(str(tmp_path / "prog.py"))
        assert sc.simulate(described, MACHINE, {"P": 2}, effects="none").makespan_s == 2 * seconds
    assert not (tmp_path / "__pycache__").exists()


def test_a_confined_program_is_not_executed(tmp_path: Path) -> None:
    path = tmp_path / "prog.py"
    path.write_text("open('executed', 'w')\n")
    with sc.confine(tmp_path), pytest.raises(InputError, match="executed"):
        sc.Workload.load(str(path))


def test_parameters_are_those_of_the_function() -> None:
    assert {name: (one.default, one.whole) for name, one in ring.parameters.items()} == {
        "n": (3.0, True),
        "bytes": (1000.0, False),
    }
    with pytest.raises(InputError, match="parameter 'n'"):
        sc.simulate(ring, MACHINE, {"P": 2, "n": 1.5})
    with pytest.raises(InputError, match="generator"):
        sc.program(lambda rank, size: [])
    with pytest.raises(InputError, match="by keyword"):
        program_of(lambda rank, size: []).program[0].function and sc.program(_wrong)


def _wrong(rank: int, ranks: int) -> Iterator[Any]:
    yield sc.rank.compute(flops=1)


def test_noise_and_comparison_take_it_as_any_other_workload() -> None:
    load = replace(ring, imbalance=0.2)
    comparison = sc.compare(load, MACHINE, {"P": 4}, engine="simpy")
    assert comparison.forecast.makespan_s == sc.forecast(ring, MACHINE, {"P": 4}).makespan_s
    gap_s = comparison.simulation.makespan_s - comparison.forecast.makespan_s
    assert comparison.rungs[0].fraction == pytest.approx(comparison.rungs[0].change_s / gap_s)
    assert sum(rung.fraction for rung in comparison.rungs) == pytest.approx(1.0)
    assert sc.simulate(load, MACHINE, {"P": 4}, replications=3, engine="simpy").interval("makespan_s").mean > 0


def test_the_documentation_runs(tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "docs" / "python-programs.md").read_text()
    blocks = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    assert len(blocks) == 3
    for number, block in enumerate(blocks):
        path = tmp_path / f"block{number}.py"
        path.write_text(block)
        sc.Workload.load(path)


@pytest.mark.parametrize("model", ["hockney", "loggop"])
def test_segments_and_waits_for_several_are_those_of_yaml(model: str) -> None:
    @sc.program
    def mine(rank: int, size: int) -> Iterator[Any]:
        first = yield sc.rank.start(sc.rank.world.broadcast(1e5, algorithm="chain", segment=3e4))
        second = yield sc.rank.start(sc.rank.world.allreduce(8))
        yield sc.rank.compute(flops=1e3)
        yield sc.rank.wait(first, second)
        yield sc.rank.world.reduce(1e5, algorithm="chain", segment=1e6, root=2)

    text = workload("""- {start: {broadcast: {bytes: 1e5, algorithm: chain, segment: 3e4}}, as: first}
- {start: {allreduce: {bytes: 8}}, as: second}
- compute: {flops: 1e3}
- wait: [first, second]
- reduce: {bytes: 1e5, algorithm: chain, segment: 1e6, root: 2}
""")
    machine = sc.Machine.load(MACHINE) if model == "hockney" else read_machine(LOGGOPS)
    one, other = simulated(mine, 5, machine), simulated(text, 5, machine)
    assert (one.makespan_s, one.messages) == (other.makespan_s, other.messages)
    forecasts = [sc.forecast(load, machine, {"P": 5}, longest_path=False) for load in (mine, text)]
    assert forecasts[0].makespan_s == pytest.approx(forecasts[1].makespan_s, rel=1e-12)
    assert forecasts[0].messages == forecasts[1].messages


@pytest.mark.parametrize("model", ["hockney", "loggop"])
def test_starts_and_groups_are_those_of_yaml(model: str) -> None:
    @sc.program
    def mine(rank: int, size: int, *, n: int = 3) -> Iterator[Any]:
        row, column = sc.rank.group(rank // 4), sc.rank.group(rank % 3)
        for _ in range(n):
            handle = yield sc.rank.start(row.allreduce(1e5))
            yield sc.rank.compute(flops=1e5 * (rank + 1))
            yield column.broadcast(3000, root=1)
            yield sc.rank.wait(handle)
            yield column.reduce(3000, root=2)

    text = workload(
        """- repeat: 3
  do:
    - {start: {allreduce: {bytes: 1e5, group: row}}, as: x}
    - compute: {flops: "1e5 * (rank + 1)"}
    - broadcast: {bytes: 3000, group: column, root: 1}
    - wait: x
    - reduce: {bytes: 3000, group: column, root: 2}
""",
        "groups: {row: rank // 4, column: rank % 3}\n",
    )
    machine = sc.Machine.load(MACHINE) if model == "hockney" else read_machine(LOGGOPS)
    one, other = simulated(mine, 11, machine), simulated(text, 11, machine)
    assert one.makespan_s == other.makespan_s
    assert one.messages == other.messages


def test_ranks_of_a_colour_below_zero_are_in_no_group_as_in_yaml() -> None:
    @sc.program
    def mine(rank: int, size: int) -> Iterator[Any]:
        odd = sc.rank.group(rank % 2 - 1)  # even ranks have -1
        if odd is not None:
            yield odd.allreduce(1e5)

    text = workload("- allreduce: {bytes: 1e5, group: odd}\n", "groups: {odd: rank % 2 - 1}\n")
    one, other = simulated(mine, 9, sc.Machine.load(MACHINE)), simulated(text, 9, sc.Machine.load(MACHINE))
    assert one.makespan_s == other.makespan_s
    assert one.messages == other.messages > 0


@given(q=st.integers(1, 4), seed=st.integers(0, 99), shift=st.integers(1, 3))
@settings(max_examples=examples(15), deadline=None)
def test_messages_within_groups_are_those_among_all_ranks(q: int, seed: int, shift: int) -> None:
    """A shift around each group, beside the same by ranks of all."""
    colours = np.random.default_rng(seed).integers(0, q, 7)

    def with_groups(rank: int, size: int) -> Iterator[Any]:
        group = sc.rank.group(int(colours[rank]))
        if shift % group.size:
            yield group.send((group.rank + shift) % group.size, 1000 + rank)
            yield group.receive((group.rank - shift) % group.size)
        yield sc.rank.world.send((rank + 1) % size, 8, tag=1)
        yield sc.rank.world.receive((rank - 1) % size, tag=1)

    def by_hand(rank: int, size: int) -> Iterator[Any]:
        members = np.flatnonzero(colours == colours[rank]).tolist()
        place = members.index(rank)
        if shift % len(members):
            yield sc.rank.send(members[(place + shift) % len(members)], 1000 + rank)
            yield sc.rank.receive(members[(place - shift) % len(members)])
        yield sc.rank.send((rank + 1) % size, 8, tag=1)
        yield sc.rank.receive((rank - 1) % size, tag=1)

    one, other = (
        sc.simulate(sc.program(function), MACHINE, {"P": 7}, engine="simpy") for function in (with_groups, by_hand)
    )
    assert one.makespan_s == other.makespan_s
    assert one.message_bytes == other.message_bytes


MEMORY = {"loads": 1e6, "stores": 5e5, "hits": {"l1": 0.9}}
MEMORIES: dict[str, dict[str, Any]] = {
    "hits": MEMORY,
    "blocking": MEMORY | {"blocking": 0.25, "times": 3},
    "one distance": {"accesses": 1e5, "stack_distance": 3000, "element": 8},
    "distances": {
        "accesses": 1e5,
        "stack_distance": [{"fraction": 0.5, "distance": 10}, {"fraction": 0.25, "distance": 1e5}],
    },
    "kernel": {"kernel": "matmul", "sizes": {"n": 10}, "times": 2},
}
CORES = """simcodesign: 1
name: test
nodes: 2
processors_per_node: 2
processor: {rate: 1e9}
caches: {l1: {size: 32 KiB, ways: 8, latency: 1 ns}}
memory: {latency: 80 ns, bandwidth: 10 GB/s, outstanding: 4}
disk: {read_startup: 1 ms, write_startup: 1 ms, per_byte: 10 ns/B}
network: {topology: {kind: crossbar}, startup: 1 us, per_byte: 1 ns/B}
"""


@pytest.mark.parametrize("name", MEMORIES)
@pytest.mark.parametrize("effects", ["none", "memory,caches"])
def test_loads_and_stores_are_those_of_yaml(name: str, effects: str) -> None:
    keywords, machine = MEMORIES[name], read_machine(CORES)

    def both(rank: int, size: int) -> Iterator[Any]:
        yield sc.rank.memory(**keywords)
        yield sc.rank.overlap(sc.rank.compute(flops=2e6), sc.rank.memory(**keywords))

    inside = json.dumps(keywords)
    text = workload(f"- memory: {inside}\n- overlap: [{{memory: {inside}}}, {{compute: {{flops: 2e6}}}}]\n")
    one, other = (simulated(load, 4, machine, effects) for load in (sc.program(both), text))
    assert one.makespan_s == other.makespan_s > 0
    assert one.components == other.components
    assert one.served == pytest.approx(other.served, rel=1e-12)
    forecasts = [sc.forecast(load, machine, {"P": 4}, longest_path=False) for load in (sc.program(both), text)]
    assert forecasts[0].makespan_s == pytest.approx(forecasts[1].makespan_s, rel=1e-12)
    assert forecasts[0].served == pytest.approx(forecasts[1].served, rel=1e-12)


@pytest.mark.parametrize("model", ["hockney", "loggop"])
def test_kinds_of_work_overlap_as_in_yaml(model: str) -> None:
    """The longest of the three; a known answer, for all of them take stated seconds."""

    def program(rank: int, size: int) -> Iterator[Any]:
        disk, loads = sc.rank.write(1e6), sc.rank.memory(loads=1e6, hits={"l1": 0})
        yield sc.rank.overlap(disk, sc.rank.compute(seconds=0.001 if rank else 0.03), loads)
        yield sc.rank.world.barrier()

    text = workload(
        """- overlap:
    - {write: {bytes: 1e6}}
    - {compute: {seconds: "0.001 + 0.029 * (rank == 0)"}}
    - {memory: {loads: 1e6, hits: {l1: 0}}}
- barrier: {}
"""
    )
    loggop = CORES.replace("startup: 1 us, per_byte: 1 ns/B", "model: loggop, L: 1 us, o: 1 us, g: 1 us, G: 1e-9")
    machine = read_machine(CORES if model == "hockney" else loggop)
    one, other = (simulated(load, 4, machine, "none") for load in (sc.program(program), text))
    assert one.makespan_s == pytest.approx(other.makespan_s, rel=1e-12)
    assert one.makespan_s == pytest.approx(0.03, rel=1e-3)
    alone = sc.simulate(
        program_of(lambda rank, size: [sc.rank.overlap(sc.rank.read(1e6), sc.rank.memory(loads=1e6, hits={"l1": 0}))]),
        machine,
        {"P": 2},
        effects="none",
    )
    assert alone.makespan_s == pytest.approx(1e6 * 80e-9 / 4, rel=1e-12)


ENDLESS = """import simcodesign as sc


@sc.program
def computes(rank, size):
    while True:
        yield sc.rank.compute(flops=1)


@sc.program
def names_phases(rank, size):
    while True:
        yield sc.rank.phase("again")


@sc.program
def ends(rank, size):
    for step in range(25):
        yield sc.rank.compute(flops=1)
"""


@pytest.mark.parametrize(("name", "line"), [("computes", 7), ("names_phases", 13)])
def test_a_program_that_never_ends_is_an_error(
    name: str, line: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "endless.py"
    file.write_text(ENDLESS, encoding="utf-8")
    monkeypatch.setenv("SIMCODESIGN_MOST_OPERATIONS", "1000")
    words = (
        rf"endless.py:{line}: rank 0 has not ended after 1,000 operations of all ranks .*SIMCODESIGN_MOST_OPERATIONS"
    )
    with pytest.raises(InputError, match=words):
        sc.simulate(f"{file}:{name}", "torus-cluster", {"P": 2})


def test_the_limit_is_of_all_ranks_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four ranks of 25 operations are 100."""
    file = tmp_path / "endless.py"
    file.write_text(ENDLESS, encoding="utf-8")
    monkeypatch.setenv("SIMCODESIGN_MOST_OPERATIONS", "100")
    assert sc.simulate(f"{file}:ends", "torus-cluster", {"P": 4}).makespan_s > 0
    with pytest.raises(InputError, match="rank 4 has not ended after 100 operations"):
        sc.simulate(f"{file}:ends", "torus-cluster", {"P": 5})
    monkeypatch.setenv("SIMCODESIGN_MOST_OPERATIONS", "many")
    with pytest.raises(InputError, match="1 or above"):
        sc.simulate(f"{file}:ends", "torus-cluster", {"P": 3})
