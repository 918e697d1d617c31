"""The longest path of sends and receives against the simulation without effects, and against closed forms."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.analytic.longest_path import event_graph
from simcodesign.analytic.longest_path.operations import AS_THEY_COME, FROM_ANYONE
from simcodesign.analytic.longest_path.program_path import ProgramPath, path_of_program
from simcodesign.analytic.messages.message_costs import price
from simcodesign.core.errors import DeadlockError, InputError
from simcodesign.describe.machine import Machine
from simcodesign.describe.scenario import Scenario, WorkloadSource
from simcodesign.describe.workload import Workload
from tests import examples
from tests.builders import machine, network, network_with, workload
from tests.random_programs import operations, random_machine

RANKS = (1, 2, 3, 4, 5, 7, 8, 12, 13)
SIZES_BYTES = (0, 8, 1000, 20_000)
TREE = """- repeat: ceil(log2(P))
  index: k
  do:
    - receive: {from: rank - 2**k, bytes: 1000, when: (rank >= 2**k) * (rank < 2**(k+1))}
    - send: {to: rank + 2**k, bytes: 1000, when: (rank < 2**k) * (rank + 2**k < P)}
"""


def path_of(load: WorkloadSource, on: Machine, ranks: int) -> ProgramPath:
    """The path, also of one rank, whose forecast is the sum."""
    return path_of_program(Scenario.of(load, on, {"P": ranks}).bind())


def time_s(load: WorkloadSource, on: Machine, ranks: int) -> float:
    path = path_of(load, on, ranks)
    assert path.time_s is not None, path.reason
    return path.time_s


def simulated_s(load: Workload, on: Machine, ranks: int) -> float:
    return float(sc.simulate(load, on, {"P": ranks}, effects=()).makespan_s)


class Writer:
    """Random steps of sends, receives and work in YAML; ``others``: of collectives and exchanges as well."""

    def __init__(self, rng: random.Random, ranks: int, others: bool) -> None:
        self.rng, self.ranks, self.others, self.started = rng, ranks, others, 0

    def block(self, depth: int, indent: str) -> Iterator[str]:
        for _ in range(self.rng.randint(1, 4)):
            kind = self.rng.random()
            if depth < 2 and kind < 0.25:
                yield f"{indent}- repeat: {self.rng.choice((0, 1, 2, 3))}\n{indent}  do:"
                yield from self.block(depth + 1, indent + "    ")
            elif kind < 0.45:
                uneven = f"(1 + (rank * {self.rng.randint(0, 5)}) % 3)"
                yield f"{indent}- compute: {{seconds: {self.rng.choice((0, 0.3, 1, 4, 20))}e-6 * {uneven}}}"
            elif self.others and kind < 0.6:
                other = self.rng.choice(operations())
                yield f"{indent}- {other.replace('BYTES', str(self.rng.choice(SIZES_BYTES)))}"
            else:
                yield from (f"{indent}- {step}" for step in self.messages())

    def messages(self) -> list[str]:
        """A message of some ranks, in one order or the other, the send or the receive perhaps started."""
        rng, far = self.rng, self.rng.randint(1, max(self.ranks - 1, 1))
        to, of, sends, receives = rng.choice(
            (
                (f"rank + {far}", f"rank - {far}", f"rank + {far} < P", f"rank >= {far}"),
                (f"(rank + {far}) % P", f"(rank - {far}) % P", "P > 1", "P > 1"),
                ("0", f"{far}", f"rank == {far}", f"P > {far} * (1 + P * rank)"),
            )
        )
        tag, size = rng.randint(0, 1), rng.choice((*SIZES_BYTES, "1000 * (1 + rank % 2)"))
        pair = [f"send: {{to: {to}, bytes: {size}, tag: {tag}, when: {sends}}}"]
        pair.insert(1 if "%" in to else rng.randint(0, 1), f"receive: {{from: {of}, tag: {tag}, when: {receives}}}")
        if rng.random() < 0.3:
            self.started += 1
            place = rng.randint(0, 1)
            pair[place] = f"{{start: {{{pair[place]}}}, as: x{self.started}}}"
            pair += [f"compute: {{seconds: {rng.choice((0, 1, 4))}e-6}}", f"wait: x{self.started}"]
        return pair


def case(seed: int, model: str, others: bool = False) -> tuple[Workload, Machine, int]:
    rng = random.Random(f"{model} {seed}")
    ranks = rng.choice(RANKS)
    text = "\n".join(
        [*Writer(rng, ranks, others).block(0, ""), "- send: {to: 1, bytes: 8, when: (rank == 0) * (P > 1)}"]
    )
    text += "\n- receive: {from: 0, when: rank == 1}"
    return workload(text), random_machine(rng, model), ranks


@settings(deadline=None, max_examples=examples(400))
@given(st.integers(0, 10**6))
def test_hockney_equals_simulation(seed: int) -> None:
    load, on, ranks = case(seed, "hockney")
    assert time_s(load, on, ranks) == pytest.approx(simulated_s(load, on, ranks), rel=1e-12, abs=1e-18)


def equals_or_waits(found: tuple[Workload, Machine, int], limit_bytes: float | None) -> None:
    """The path is the simulation, or there is none, and the simulated ranks wait for each other."""
    load, on, ranks = found
    on = replace(on, network=network_with(on.network, rendezvous_above_bytes=limit_bytes))
    path = path_of(load, on, ranks)
    if path.time_s is None:
        with pytest.raises(DeadlockError):
            simulated_s(load, on, ranks)
    else:
        assert path.time_s == pytest.approx(simulated_s(load, on, ranks), rel=1e-12, abs=1e-18)
        assert path.left_out == ()


@settings(deadline=None, max_examples=examples(200))
@given(st.integers(0, 10**6), st.sampled_from([0.0, 500.0]))
def test_hockney_with_rendezvous(seed: int, limit_bytes: float) -> None:
    """Equal, and no path where the ranks wait for each other."""
    equals_or_waits(case(seed, "hockney"), limit_bytes)


@settings(deadline=None, max_examples=examples(200))
@given(st.integers(0, 10**6), st.sampled_from([None, 0.0, 500.0]))
def test_operations_of_several_ranks(seed: int, limit_bytes: float | None) -> None:
    """Message by message: all algorithms and halos in Hockney's model, also where senders wait for their receivers."""
    equals_or_waits(case(seed, "hockney", True), limit_bytes)


@settings(deadline=None, max_examples=examples(400))
@given(st.integers(0, 10**6), st.sampled_from(["hockney", "loggop"]), st.booleans())
def test_lower_bound(seed: int, model: str, others: bool) -> None:
    """In LogGOPS, and with operations of several ranks."""
    load, on, ranks = case(seed, model, others)
    assert time_s(load, on, ranks) <= simulated_s(load, on, ranks) * (1 + 1e-12)


@pytest.mark.parametrize("ranks", [1, 2, 3, 8, 13, 32, 1000])
@pytest.mark.parametrize(
    "own",
    [
        {"startup_s": 1e-6, "receive_overhead_s": 3e-7},
        {"model": "loggop", "latency_s": 1e-6, "overhead_s": 5e-7, "gap_s": 2e-6},
    ],
    ids=["hockney", "loggop"],
)
def test_binomial_tree(ranks: int, own: dict[str, Any]) -> None:
    """The closed form of the broadcast, for powers of two log2 P messages one after another."""
    on = machine(network(1024, per_byte_s=1e-9, **own))
    path_s = time_s(workload(TREE), on, ranks)
    if not ranks & (ranks - 1):
        message, rounds = price(on.network, float(ranks)).message(1000.0), ranks.bit_length() - 1
        between_s, last_s = max(message.whole_s, message.next_send_s), message.whole_s
        assert path_s == pytest.approx((rounds - 1) * between_s + last_s if rounds else 0.0, rel=1e-12)
    broadcast = workload("- broadcast: {bytes: 1000, algorithm: binomial}")
    closed_s = float(sc.forecast(broadcast, on, {"P": ranks}).makespan_s)
    assert path_s == pytest.approx(closed_s, rel=1e-12)


def test_late_ranks_of_a_recorded_program() -> None:
    """Ranks that come late to collective operations, without any message that stands by itself."""

    @sc.program
    def late(rank: int, size: int) -> Iterator[Any]:
        yield sc.rank.compute(seconds=1e-6 * (rank * 7 % size))
        yield sc.rank.world.broadcast(1000, root=0)
        yield sc.rank.compute(seconds=1e-6 * (size - rank))
        yield sc.rank.world.allreduce(80)

    on = machine(network(32, per_byte_s=1e-9, startup_s=1e-6, receive_overhead_s=3e-7))
    for ranks in (2, 5, 16):
        forecasted_s = float(sc.forecast(late, on, {"P": ranks}).makespan_s)
        assert forecasted_s == pytest.approx(simulated_s(late, on, ranks), rel=1e-12)


def test_python_program_equals_yaml() -> None:
    @sc.program
    def tree(rank: int, size: int) -> Iterator[Any]:
        for k in range((size - 1).bit_length()):
            if 2**k <= rank < 2 ** (k + 1):
                yield sc.rank.receive(source=rank - 2**k, bytes=1000)
            elif rank < 2**k and rank + 2**k < size:
                yield sc.rank.send(rank + 2**k, 1000)

    on = machine(network(32, per_byte_s=1e-9, startup_s=1e-6, receive_overhead_s=3e-7))
    for ranks in (1, 2, 5, 13, 32):
        result = sc.forecast(tree, on, {"P": ranks})
        assert (result.longest_path is None) == (ranks == 1)
        assert float(result.makespan_s) == pytest.approx(time_s(workload(TREE), on, ranks), rel=1e-12)
        assert float(result.makespan_s) == pytest.approx(simulated_s(tree, on, ranks), rel=1e-12)


@settings(deadline=None, max_examples=examples(60))
@given(st.integers(0, 10**6), st.sampled_from(["hockney", "loggop"]))
def test_python_programs(seed: int, model: str) -> None:
    """Sends, receives, what is started, and collectives of groups: a lower bound; in Hockney's model the simulation."""
    rng = random.Random(f"python {seed}")
    ranks, on, grouped = rng.choice((2, 3, 5, 8)), random_machine(rng, model), rng.random() < 0.5
    rounds = [
        (rng.randint(1, ranks - 1), rng.choice(SIZES_BYTES), rng.random() < 0.4, rng.choice(["broadcast", "barrier"]))
        for _ in range(rng.randint(1, 5))
    ]

    @sc.program
    def shifts(rank: int, size: int) -> Iterator[Any]:
        row: Any = sc.rank.group(rank % 2)
        for far, size_bytes, started, operation in rounds:
            yield sc.rank.compute(seconds=1e-6 * (rank * far % 3))
            message = sc.rank.send((rank + far) % size, size_bytes)
            handle = (yield sc.rank.start(message)) if started else (yield message)
            yield sc.rank.receive(source=(rank - far) % size)
            if started:
                yield sc.rank.wait(handle)
            if grouped:
                yield row.barrier() if operation == "barrier" else row.broadcast(size_bytes)

    path_s, run_s = time_s(shifts, on, ranks), simulated_s(shifts, on, ranks)
    assert path_s <= run_s * (1 + 1e-12)
    if model == "hockney":
        assert path_s == pytest.approx(run_s, rel=1e-12, abs=1e-18)


def test_loggops_is_a_bound() -> None:
    on = machine(network(8, model="loggop", latency_s=1e-6, overhead_s=1e-7))
    assert path_of(workload(TREE), on, 8).left_out == (AS_THEY_COME,)


def test_barrier_holds_all() -> None:
    """What one rank does before a barrier delays what another one does after it."""
    on = machine(network(8, startup_s=1e-6))
    late, after = "- compute: {seconds: 1e-3, when: rank == 0}", "- compute: {seconds: 1e-3, when: rank == 3}"
    message = "- send: {to: 1, bytes: 0, when: rank == 0}\n- receive: {from: 0, when: rank == 1}"
    load = workload("\n".join([late, "- barrier: {}", after, message]))
    assert 2e-3 < time_s(load, on, 4) <= simulated_s(load, on, 4) * (1 + 1e-12)


def test_receive_from_anyone_waits_for_none() -> None:
    on = machine(network(8, startup_s=1e-6, receive_overhead_s=1e-7))
    load = workload(
        "- send: {to: 0, bytes: 0, when: rank > 0}\n- repeat: P - 1\n  do:\n    - receive: {from: anyone, when: rank == 0}"
    )
    assert time_s(load, on, 5) == pytest.approx(1e-6)  # a send of any of them
    assert path_of(load, on, 5).left_out == (FROM_ANYONE,)
    assert simulated_s(load, on, 5) == pytest.approx(1.4e-6)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("- send: {to: 1, bytes: 8, when: rank == 0}", "match"),
        ("- receive: {from: 1 - rank, bytes: 8}\n- send: {to: 1 - rank, bytes: 8}", "wait for each other"),
        ("- repeat: 10**15\n  do:\n    - send: {to: 1 - rank, bytes: 8}\n    - receive: {from: 1 - rank}", "more than"),
        ("- repeat: 10**15\n  do:\n    - compute: {flops: 1}\n- send: {to: 1 - rank, bytes: 8}", "more than"),
    ],
)
def test_no_path(text: str, reason: str) -> None:
    """What has none says why, and is forecast as the sum."""
    result = sc.forecast(workload(text), machine(network(2, startup_s=1e-6)), {"P": 2})
    assert result.longest_path is not None
    assert result.longest_path.time_s is None
    assert reason in result.longest_path.reason
    assert result.longest_path.reason in result.basis[-1]
    assert result.sum_s is None


def test_loop_is_followed_to_its_end() -> None:
    """A ping-pong of n iterations takes 2 n messages, as far as it is followed."""
    on = machine(network(2, startup_s=1e-6))
    text = "- repeat: n\n  do:\n"
    for here, there in ((0, 1), (1, 0)):
        text += f"    - send: {{to: {there}, bytes: 0, when: rank == {here}}}\n"
        text += f"    - receive: {{from: {here}, when: rank == {there}}}\n"
    load = workload(text, "parameters: {n: 1000}\n")
    assert time_s(load, on, 2) == pytest.approx(2000 * 1e-6)
    assert event_graph.MOST_OPERATIONS >= 1000 * 4


def test_only_where_it_is_wanted_and_ranks_differ() -> None:
    on = machine(network(8, startup_s=1e-6))
    summed = sc.forecast(workload(TREE), on, {"P": 8}, longest_path=False)
    assert (summed.longest_path, summed.sum_s) == (None, None)
    alike = sc.forecast(workload("- barrier: {}"), on, {"P": 8})
    assert not {"longest_path", "sum_s", "basis"} & alike.json_fields().keys()
    with_path = sc.forecast(workload(TREE), on, {"P": 8}).json_fields()
    assert with_path["longest_path"].time_s == with_path["makespan_s"] == pytest.approx(3e-6)
    assert with_path["sum_s"] == summed.makespan_s


def test_index_in_peers_in_loggops() -> None:
    """The forecast evaluates these iterations one by one: rank 0 sends three messages; their tree is deeper."""
    on = machine(network(8, model="loggop", latency_s=1e-6, overhead_s=1e-7))
    result = sc.forecast(workload(TREE), on, {"P": 8})
    assert result.sum_s == pytest.approx(3 * 1.1e-6)
    assert result.makespan_s == pytest.approx(3 * 1.2e-6)  # o + L + o, from rank to rank


def test_peer_that_is_none() -> None:
    """The error of the forecast says what is allowed."""
    with pytest.raises(InputError, match="0 to 3, not 0 itself"):
        sc.forecast(workload("- send: {to: rank, bytes: 0}"), machine(network(4)), {"P": 4})
