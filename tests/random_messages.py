"""Random programs of single messages, started or not, with collectives between, as YAML and in Python; and which of their
ranks never finish by the rules of MPI.

``python -m tests.random_messages 0:1000`` runs the programs of these seeds on random machines, by both engines.
"""

from __future__ import annotations

import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import simcodesign as sc
from simcodesign.core.errors import DeadlockError
from simcodesign.describe.demands.collective import ALGORITHMS, ON_NODES, SIGNALS
from simcodesign.describe.machine import Machine
from simcodesign.describe.workload import Workload
from tests.builders import machine, network, workload

SIZES_BYTES = (0, 1, 8, 100, 5000)
#: Collective operations that no rank leaves before all have come, and all, each with its algorithms.
SYNCHRONISING = ("barrier", "allreduce", "allgather", "all_to_all")
EVERY = [(name, one) for name, several in ALGORITHMS.items() for one in several if (name, one) not in ON_NODES]
EFFECTS = ("none", "hops", "links", "links,interfaces", "interfaces")
#: The tag of messages that are received from anyone.
ANYONE = 2
SEND, RECEIVE, COMPUTE, WAIT, COLLECTIVE = "send", "receive", "compute", "wait", "collective"


@dataclass(frozen=True)
class Action:
    """What one rank does, or all ranks if ``rank`` is None. ``name``: it is started, and a wait has this name."""

    kind: str
    rank: int | None
    name: str = ""
    peer: int | None = None  # None: a receive from anyone
    tag: int = 0
    size_bytes: int = 0
    seconds: float = 0.0
    operation: str = ""  # of a collective
    algorithm: str = ""

    def text(self) -> str:
        """The action as a step in YAML."""
        when = "" if self.rank is None else f", when: rank == {self.rank}"
        if self.kind == WAIT:
            return f"wait: {self.name}"
        if self.kind == COMPUTE:
            return f"compute: {{seconds: {self.seconds!r}{when}}}"
        if self.kind == SEND:
            inner = f"send: {{to: {self.peer}, bytes: {self.size_bytes}, tag: {self.tag}{when}}}"
        elif self.kind == RECEIVE:
            source = "anyone" if self.peer is None else str(self.peer)
            inner = f"receive: {{from: {source}, tag: {self.tag}{when}}}"
        else:
            size = "" if self.operation in SIGNALS else f", bytes: {self.size_bytes}"
            inner = f"{self.operation}: {{algorithm: {self.algorithm}{size}}}"
        return f"{{start: {{{inner}}}, as: {self.name}}}" if self.name else inner

    def operation_in_python(self) -> Any:
        """The action as a program in Python yields it, not started."""
        if self.kind == COMPUTE:
            return sc.rank.compute(seconds=self.seconds)
        if self.kind == SEND:
            return sc.rank.send(self.peer, self.size_bytes, self.tag)
        if self.kind == RECEIVE:
            return sc.rank.receive(self.peer, tag=self.tag)
        size = () if self.operation in SIGNALS else (self.size_bytes,)
        return getattr(sc.rank.world, self.operation)(*size, algorithm=self.algorithm)


@dataclass(frozen=True)
class RandomMessages:
    """A program of P ranks: its actions in an order that keeps the order of each rank."""

    ranks: int
    actions: tuple[Action, ...]

    def of_rank(self, rank: int) -> list[Action]:
        """What a rank does, in order."""
        return [action for action in self.actions if action.rank in (rank, None)]

    def in_yaml(self) -> Workload:
        """The program as a workload file."""
        return workload("\n".join(f"- {action.text()}" for action in self.actions))

    def in_python(self) -> Workload:
        """The program in Python."""

        def program(rank: int, size: int) -> Iterator[Any]:
            handles: dict[str, Any] = {}
            for action in self.of_rank(rank):
                if action.kind == WAIT:
                    yield sc.rank.wait(handles.pop(action.name))
                elif action.name:
                    handles[action.name] = yield sc.rank.start(action.operation_in_python())
                else:
                    yield action.operation_in_python()

        load: Workload = sc.program(program)
        return load

    def stuck(self, rendezvous_above_bytes: float | None) -> set[int]:
        """The ranks that never finish by the rules of MPI: a receive is done when its message has been sent, a send when
        it has begun or, above a size, when its receive has begun too; a collective operation when all have begun it."""
        return _Progress(self, rendezvous_above_bytes).stuck()


class _Progress:
    """How far the ranks come, without times: nobody waits for anything but the other end of its operation."""

    def __init__(self, program: RandomMessages, limit: float | None) -> None:
        self.every = [program.of_rank(rank) for rank in range(program.ranks)]
        self.limit = float("inf") if limit is None else limit
        self.place = [0] * program.ranks
        self.begun: set[tuple[int, int]] = set()  # rank and place of operations
        self.other_end = self._pairs()
        self.turn = self._turns()

    def _pairs(self) -> dict[tuple[int, int], tuple[int, int]]:
        ends: dict[Any, dict[str, list[tuple[int, int]]]] = defaultdict(lambda: {SEND: [], RECEIVE: []})
        for rank, actions in enumerate(self.every):
            for place, action in enumerate(actions):
                if action.kind == SEND:
                    source = None if action.tag == ANYONE else rank
                    ends[source, action.peer, action.tag][SEND].append((rank, place))
                elif action.kind == RECEIVE:  # of receives from anyone each has any one
                    ends[action.peer, rank, action.tag][RECEIVE].append((rank, place))
        pairs = {}
        for both in ends.values():
            for one, other in zip(both[SEND], both[RECEIVE], strict=True):
                pairs[one], pairs[other] = other, one
        return pairs

    def _turns(self) -> dict[tuple[int, int], int]:
        """The number of each collective operation among those of its rank."""
        turns: dict[tuple[int, int], int] = {}
        for rank, actions in enumerate(self.every):
            places = [place for place, action in enumerate(actions) if action.kind == COLLECTIVE]
            turns |= {(rank, place): number for number, place in enumerate(places)}
        return turns

    def stuck(self) -> set[int]:
        moves = True
        while moves:
            moves = any(map(self._goes_on, range(len(self.every))))
        return {rank for rank, actions in enumerate(self.every) if self.place[rank] < len(actions)}

    def _goes_on(self, rank: int) -> bool:
        actions, began = self.every[rank], False
        if self.place[rank] == len(actions):
            return False
        place = self.place[rank]
        action = actions[place]
        if action.kind == WAIT:
            place = next(number for number, other in enumerate(actions) if other.name == action.name)
        elif action.kind != COMPUTE:
            began = (rank, place) not in self.begun
            self.begun.add((rank, place))
        if action.kind == COMPUTE or (action.name and action.kind != WAIT) or self._is_done(rank, place):
            self.place[rank] += 1
            return True
        return began

    def _is_done(self, rank: int, place: int) -> bool:
        action = self.every[rank][place]
        if action.kind == SEND and action.size_bytes <= self.limit:
            return True
        if action.kind != COLLECTIVE:
            return self.other_end[rank, place] in self.begun
        turn = self.turn[rank, place]
        begun = {other for other, at in self.begun if self.turn.get((other, at)) == turn}
        return len(begun) == len(self.every)


@dataclass
class Maker:
    """Makes programs and machines from one source of random numbers."""

    chance: random.Random
    count: int = field(default=0, init=False)

    def program(self, blocking: float, waits_at_end: bool) -> RandomMessages:
        """Messages between random ranks, a share of whose ends is ``blocking``. ``waits_at_end``: ranks wait for what they
        have started after all of it has begun."""
        chance = self.chance
        ranks = chance.randint(2, 5)
        actions: list[Action] = []
        waiting: list[Action] = []  # waits for what was started
        for _ in range(chance.randint(1, 3)):
            mine: list[list[Action]] = [[] for _ in range(ranks)]
            for _ in range(chance.randint(1, 6)):
                self._message(mine, ranks, blocking, waits_at_end and not blocking)
            for rank in range(ranks):
                if chance.random() < 0.3:
                    mine[rank].append(Action(COMPUTE, rank, seconds=chance.choice((1e-7, 1e-6, 3e-6, 1e-5))))
                chance.shuffle(mine[rank])
            lines = [action for several in mine for action in several]
            chance.shuffle(order := [rank for rank, several in enumerate(mine) for _ in several])
            taken = [iter(several) for several in mine]
            lines = [next(taken[rank]) for rank in order]
            for action in [*lines, *self._collectives(waits_at_end and not blocking)]:
                actions.append(action)
                if action.name:
                    waiting.append(Action(WAIT, action.rank, action.name))
                while waiting and not waits_at_end and chance.random() < 0.3:
                    actions.append(waiting.pop(chance.randrange(len(waiting))))
        chance.shuffle(waiting)
        return RandomMessages(ranks, (*actions, *waiting))

    def _message(self, mine: list[list[Action]], ranks: int, blocking: float, from_anyone: bool) -> None:
        chance = self.chance
        source, target = chance.sample(range(ranks), 2)
        if from_anyone and chance.random() < 0.2:  # all with this tag are
            mine[source].append(Action(SEND, source, self._name(blocking), target, ANYONE, 100))
            mine[target].append(Action(RECEIVE, target, self._name(blocking), None, ANYONE))
            return
        tag, size = chance.randint(0, 1), chance.choice(SIZES_BYTES)
        mine[source].append(Action(SEND, source, self._name(blocking), target, tag, size))
        mine[target].append(Action(RECEIVE, target, self._name(blocking), source, tag))

    def _collectives(self, any_of_them: bool) -> Iterator[Action]:
        """Some of all, or of those after which it is certain that all ranks have come."""
        known = [key for key in EVERY if any_of_them or key[0] in SYNCHRONISING]
        for _ in range(self.chance.choice((0, 0, 1, 2))):
            size, (operation, algorithm) = self.chance.choice(SIZES_BYTES), self.chance.choice(known)
            name = self._name(0.5)
            yield Action(COLLECTIVE, None, name, size_bytes=size, operation=operation, algorithm=algorithm)

    def _name(self, blocking: float) -> str:
        self.count += 1
        return "" if self.chance.random() < blocking else f"n{self.count}"

    def machine(self) -> Machine:
        """A machine with any model, limit of eager messages, sharing, and way of holding senders."""
        chance = self.chance
        own: dict[str, Any] = {"rendezvous_above_bytes": chance.choice((None, 0.0, 0.0, 50.0, 1000.0))}
        own |= {"per_byte_s": chance.choice((1e-10, 1e-9)), "hop_latency_s": chance.choice((0.0, 1e-7))}
        own |= {"link_per_byte_s": own["per_byte_s"]}
        if chance.random() < 0.3:
            own |= {
                "model": "loggop",
                "latency_s": chance.choice((0.0, 2e-6)),
                "overhead_s": chance.choice((0.0, 1e-6)),
            }
            own |= {"gap_s": chance.choice((0.0, 3e-6)), "sharing": chance.choice(("fcfs", "max_min"))}
        else:
            own |= {"startup_s": chance.choice((0.0, 1e-6)), "receive_overhead_s": chance.choice((0.0, 0.0, 1e-6))}
            own |= {"sharing": chance.choice(("fcfs", "max_min", "round_robin"))}
            own |= chance.choice(({"sends": "nonblocking"}, {}, {"hops_hold_sender": False}))
        return machine(network(8, chance.choice(("crossbar", "torus", "mesh")), **own))


def limit_of(where: Machine) -> float | None:
    """Above so many bytes senders wait for their receivers."""
    limit = where.network.message_model.rendezvous_above_bytes
    return None if limit is None else float(limit)


def outcome(load: Workload, where: Machine, ranks: int, effects: str, engine: str) -> Any:
    """The times of a simulation, or the error that ranks wait for each other."""
    try:
        result = sc.simulate(load, where, {"P": ranks}, effects=effects, engine=engine)
    except DeadlockError as error:
        return error
    ranks_of = result.ranks
    assert ranks_of is not None
    return result.makespan_s, ranks_of.end_s.tolist(), ranks_of.busy_s.tolist(), ranks_of.waiting_s.tolist()


def check(chance: random.Random, blocking: float | None = None, waits_at_end: bool | None = None) -> bool:
    """AssertionError unless a random program ends, or not, as MPI has it, with the same times as YAML and in Python, by
    both engines; whether it ends."""
    maker = Maker(chance)
    kind = chance.choice((0.0, 0.0, 0.15)), chance.random() < 0.5
    program = maker.program(
        kind[0] if blocking is None else blocking, kind[1] if waits_at_end is None else waits_at_end
    )
    where, effects = maker.machine(), chance.choice(EFFECTS)
    stuck = program.stuck(limit_of(where))
    first = None
    for load in (program.in_python(), program.in_yaml()):
        for engine in ("simpy", "compiled"):
            seen = outcome(load, where, program.ranks, effects, engine)
            if isinstance(seen, DeadlockError):
                named = {rank for rank in range(program.ranks) if f"rank {rank} waits in " in str(seen)}
                assert named == stuck, (seen, stuck)
                continue
            assert not stuck, f"ranks {stuck} wait for each other"
            first = first or seen
            assert seen == first
    return not stuck


def main(first: int, end: int) -> None:
    """Check the programs of these seeds, and print how many end."""
    ends: Counter[bool] = Counter()
    for seed in range(first, end):
        try:
            ends[check(random.Random(seed))] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
    print(f"{ends[True]} programs end, {ends[False]} wait for ever")


if __name__ == "__main__":
    main(*map(int, sys.argv[1].split(":")))
