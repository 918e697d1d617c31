"""Parts that go on beside the rest of their rank: exact times, both engines, and an oracle that knows no Plan."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from textwrap import indent

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.requirements_per_process import requirements
from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.describe.demands.collective import ALGORITHMS, SIGNALS
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.message_models.hockney import SENDS
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import workload_of
from simcodesign.engine.selection import run
from simcodesign.engine.simulate import schedule_of, simulate
from simcodesign.generate.lower import make_plan
from simcodesign.report.results.utilisation import profile
from tests import THOROUGH, examples
from tests.builders import machine, network, read_machine, read_workload, workload

Floats = np.ndarray
STARTUP_S, PER_BYTE_S = 1.0, 0.25
HOCKNEY = machine(network(64, sends="blocking", startup_s=STARTUP_S, per_byte_s=PER_BYTE_S))
LOGGOPS = machine(network(64, model="loggop", latency_s=1.0, overhead_s=0.5, gap_s=0.75, per_byte_s=PER_BYTE_S))
MEMORY = read_machine(
    """\
simcodesign: 1
name: m
nodes: 4
processor: {rate: 1 FLOP/s, dynamic_power: 3 W}
memory: {latency: 1 s, bandwidth: 1 TB/s, dynamic_power: 5 W}
disk: {read_startup: 6 s, write_startup: 6 s, bandwidth: 1 TB/s}
network: {topology: {kind: crossbar}, startup: 1 s, bandwidth: 4 B/s, dynamic_power: 7 W}
"""
)
#: 4 accesses that all go to memory: 4 s.
LOADS = "memory: {loads: 4, hits: {l1: 0}}"


def times(load: Workload, on: Machine = HOCKNEY, ranks: int = 2, effects: str = "none") -> tuple[float, float]:
    """Seconds by forecast, and by both engines."""
    runs = [simulate(load, on, {"P": ranks}, effects=effects, engine=name) for name in ("simpy", "compiled")]
    assert runs[0].makespan_s == runs[1].makespan_s
    return float(forecast(load, on, {"P": ranks}).makespan_s), float(runs[0].makespan_s)


@pytest.mark.parametrize(
    ("program", "seconds"),
    [
        # An allreduce of 4 bytes on two ranks takes 1 + 4/4 = 2 s.
        ("- {start: {allreduce: {bytes: 4}}, as: x}\n- compute: {flops: 5}\n- wait: x", 5.0),
        ("- {start: {allreduce: {bytes: 4}}, as: x}\n- compute: {flops: 0.5}\n- wait: x", 2.0),
        # Two under way: done at 2 and at 1 + 2 s, then 1 s.
        (
            "- {start: {allreduce: {bytes: 4}}, as: x}\n- compute: {flops: 1}\n- {start: {allreduce: {bytes: 4}}, as: y}\n"
            "- wait: [x, y]\n- compute: {flops: 1}",
            4.0,
        ),
        # The name of a part, twice: 3 x max(2, 3) s, and a block beside a part: max(2, 2 x 4) s.
        ("- repeat: 3\n  do:\n  - {start: {barrier: {}}, as: x}\n  - compute: {flops: 3}\n  - wait: x", 9.0),
        ("- {start: {barrier: {}}, as: x}\n- repeat: 2\n  do: [compute: {flops: 4}]\n- wait: x", 8.0),
        # Posted before it is sent: 3 s, and 1 + 8/4 = 3 s more.
        (
            "- {start: {receive: {from: 1 - rank}}, as: x}\n- compute: {flops: 3}\n- send: {to: 1 - rank, bytes: 8}\n"
            "- wait: x",
            6.0,
        ),
    ],
)
def test_exact_times(program: str, seconds: float) -> None:
    assert times(workload(program)) == (seconds, seconds)


@pytest.mark.parametrize(
    ("parts", "seconds"),
    [
        (f"compute: {{flops: 9}}, {LOADS}", 9.0),
        (f"{LOADS}, compute: {{flops: 3}}", 4.0),
        (f"compute: {{flops: 3}}, {LOADS}, read: {{bytes: 0}}", 6.0),
        (f"{LOADS}, read: {{bytes: 0}}", 6.0),
    ],
)
@pytest.mark.parametrize("effects", ["none", "all"])
def test_the_longest_kind_of_work_counts(parts: str, seconds: float, effects: str) -> None:
    load = workload(f"- overlap: [{parts}]")
    assert times(load, MEMORY, 4, effects) == pytest.approx((seconds, seconds), rel=1e-12)


def test_kinds_of_work_overlap_in_loggops_as_well() -> None:
    on = read_machine(
        """\
simcodesign: 1
name: m
nodes: 2
processor: {rate: 1 FLOP/s}
memory: {latency: 1 s, bandwidth: 1 TB/s}
network: {topology: {kind: crossbar}, model: loggop, L: 1 s, o: 0.5 s, g: 0.5 s, bandwidth: 4 B/s}
"""
    )
    load = workload(f"- repeat: 2\n  do:\n  - overlap: [compute: {{flops: 3}}, {LOADS}]\n  - barrier: {{}}")
    alone = times(workload("- barrier: {}"), on)
    assert times(load, on) == (8.0 + 2 * alone[0], 8.0 + 2 * alone[1])


def test_an_overhead_needs_the_processor_in_loggops() -> None:
    """Each rank sends (0.5 s), computes for 4 s, and takes up the message that came at 1.5 s: 0.5 s more."""
    load = workload("- {start: {barrier: {}}, as: x}\n- compute: {flops: 4}\n- wait: x")
    assert times(load, LOGGOPS) == (4.0, 5.0)


@pytest.mark.parametrize("sends", SENDS)
@pytest.mark.parametrize(
    ("sent_bytes", "receiver_s", "posted", "ends_s"),
    [
        # Up to S = 8 bytes, the message is there after 1 + 8/4 = 3 s, whatever the receiver does.
        (8, 20, False, (3, 20)),
        # Above, 1 + 16/4 = 5 s, and its part is done when the receiver takes the message up.
        (16, 0, False, (5, 5)),
        (16, 20, False, (20, 20)),
        # A receive that was posted before the receiver computes takes it up when it is there.
        (16, 20, True, (5, 20)),
    ],
)
def test_a_rendezvous_that_is_started_holds_its_wait_alone(
    sends: str, sent_bytes: int, receiver_s: float, posted: bool, ends_s: tuple[float, float]
) -> None:
    on = machine(network(2, sends=sends, startup_s=STARTUP_S, per_byte_s=PER_BYTE_S, rendezvous_above_bytes=8))
    receive = "receive: {from: 0, when: rank == 1}"
    early, late = (f"- {{start: {{{receive}}}, as: y}}\n", "- wait: y\n") if posted else ("", f"- {receive}\n")
    load = workload(
        f"- {{start: {{send: {{to: 1, bytes: {sent_bytes}, when: rank == 0}}}}, as: x}}\n{early}"
        f"- compute: {{seconds: {receiver_s}, when: rank == 1}}\n"
        f"- compute: {{seconds: 2, when: rank == 0}}\n{late}- wait: x\n"
    )
    for engine in ("simpy", "compiled"):
        result = simulate(load, on, {"P": 2}, effects="none", engine=engine)
        held_s = ends_s[0] if sends == "blocking" or sent_bytes > 8 else 2  # nonblocking: after the startup of 1 s
        assert result.ranks.end_s.tolist() == [held_s, ends_s[1]]


@pytest.mark.thorough
@given(
    limit=st.integers(0, 12),
    sizes=st.lists(st.integers(0, 12), min_size=1, max_size=5),
    work=st.lists(st.integers(0, 4), min_size=4, max_size=4),
    sends=st.sampled_from(SENDS),
    effects=st.sampled_from(["none", "links,interfaces"]),
)
@settings(max_examples=examples(15), deadline=None)
def test_engines_agree_on_rendezvous_beside_work(
    limit: int, sizes: list[int], work: list[int], sends: str, effects: str
) -> None:
    """Messages around a ring, all of them started, and a collective beside them."""
    on = machine(network(4, sends=sends, startup_s=STARTUP_S, per_byte_s=PER_BYTE_S, rendezvous_above_bytes=limit))
    lines = ["- {start: {allreduce: {bytes: 8}}, as: sum}"]
    for number, size in enumerate(sizes):
        lines += [
            f"- {{start: {{send: {{to: (rank + 1) % P, bytes: {size}, tag: {number}}}}}, as: s{number}}}",
            *(f"- compute: {{seconds: {own}, when: rank == {rank}}}" for rank, own in enumerate(work)),
            f"- receive: {{from: (rank + P - 1) % P, tag: {number}}}",
            f"- wait: s{number}",
        ]
    load = workload("\n".join([*lines, "- wait: sum"]))
    one, other = (simulate(load, on, {"P": 4}, effects=effects, engine=name) for name in ("simpy", "compiled"))
    assert one.ranks.end_s.tolist() == other.ranks.end_s.tolist()
    assert one.phases == other.phases


STARTABLE = [
    f"{name}: {{algorithm: {algorithm}{'' if name in SIGNALS else ', bytes: 4'}}}"
    for name, several in ALGORITHMS.items()
    for algorithm in several
] + [f"exchange: {{pattern: halo{dims}d, bytes: 4}}" for dims in (1, 2, 3)]


@pytest.mark.parametrize("sends", SENDS)
@pytest.mark.parametrize("part", STARTABLE)
def test_the_forecast_of_a_single_overlap_is_its_simulation(part: str, sends: str) -> None:
    on = machine(network(64, sends=sends, startup_s=STARTUP_S, per_byte_s=PER_BYTE_S))
    for ranks in (1, 2, 3, 5, 8, 12) if THOROUGH else (1, 3, 8):
        alone_s = float(forecast(workload(f"- {part}"), on, {"P": ranks}).makespan_s)
        for share in (0.0, 0.5, 1.0, 2.0):
            load = workload(f"- {{start: {{{part}}}, as: x}}\n- compute: {{seconds: {share * alone_s!r}}}\n- wait: x")
            expected = max(alone_s, share * alone_s)
            plan = make_plan(bind(load, on, {"P": ranks}))
            assert run(plan, "compiled").finish_s.max() == pytest.approx(expected, rel=1e-12)
            assert float(forecast(load, on, {"P": ranks}).makespan_s) == pytest.approx(expected, rel=1e-12)


@dataclass
class LongestPath:
    """Program and oracle together: the YAML of steps, and when every rank has done them, by maximum and sum alone.

    A message of Hockney's model without effects is there when its sender is done with it. Parts that are started do not
    hold each other up, so that each is a function of the times at which its ranks begin it.
    """

    ranks: int
    now_s: Floats
    sent_s: dict[int, list[Floats]] = field(default_factory=lambda: defaultdict(list))
    posted: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    def send(self, tag: int, size: float, begin_s: Floats) -> Floats:
        end_s = begin_s + (STARTUP_S + size * PER_BYTE_S)
        self.sent_s[tag].append(end_s)
        return end_s

    def post(self, tag: int, begin_s: Floats) -> tuple[int, int, Floats]:
        number = self.posted[tag]
        self.posted[tag] += 1
        return tag, number, begin_s

    def received(self, posted: tuple[int, int, Floats]) -> Floats:
        tag, number, begin_s = posted
        return np.maximum(begin_s, np.roll(self.sent_s[tag][number], 1))

    def allreduce(self, size: float, begin_s: Floats) -> Floats:
        """Recursive doubling on a power of two: in each round the later of two partners."""
        reach = 1
        while reach < self.ranks:
            partner = np.arange(self.ranks) ^ reach
            begin_s = np.maximum(begin_s, begin_s[partner]) + (STARTUP_S + size * PER_BYTE_S)
            reach *= 2
        return begin_s

    def compute(self, seconds: Floats) -> None:
        self.now_s = self.now_s + seconds


#: A program: compute (seconds of rank 0, and more of each other one), send, receive, allreduce (sizes), start of one of
#: these with what goes on beside it, a loop.
Piece = tuple


def pieces() -> st.SearchStrategy[list[Piece]]:
    size = st.sampled_from([0, 1, 4, 10])
    own = st.tuples(st.just("compute"), st.sampled_from([0, 1, 3]), st.sampled_from([0, 1, 2]))
    ring = st.tuples(st.just("ring"), st.integers(0, 1), size)
    reduce = st.tuples(st.just("allreduce"), size)
    leaf = st.one_of(own, ring, reduce)
    return st.lists(
        st.recursive(
            leaf,
            lambda inner: st.one_of(
                st.tuples(st.just("repeat"), st.integers(0, 3), st.lists(inner, min_size=1, max_size=3)),
                st.tuples(st.just("start"), st.one_of(ring, reduce), st.lists(inner, max_size=3), st.booleans()),
            ),
            max_leaves=8,
        ),
        min_size=1,
        max_size=4,
    )


class Written:
    """Pieces as YAML, and done by the oracle."""

    def __init__(self, oracle: LongestPath) -> None:
        self.oracle, self.names = oracle, 0

    def yaml(self, several: list[Piece]) -> str:
        return "\n".join(line for piece in several for line in self._lines(piece))

    def _lines(self, piece: Piece) -> list[str]:
        right, left = "(rank + 1) % P", "(rank + P - 1) % P"
        match piece:
            case "compute", base, more:
                return [f"- compute: {{seconds: {base} + {more} * rank}}"]
            case "ring", tag, size:
                return [
                    f"- send: {{to: {right}, bytes: {size}, tag: {tag}}}",
                    f"- receive: {{from: {left}, tag: {tag}}}",
                ]
            case "allreduce", size:
                return [f"- allreduce: {{bytes: {size}, algorithm: recursive_doubling}}"]
            case "repeat", times, inner:
                return [f"- repeat: {times}\n  do:\n{indent(self.yaml(inner), '  ')}"]
            case "start", part, beside, late:
                return self._started(part, beside, late)
        raise AssertionError(piece)

    def _started(self, part: Piece, beside: list[Piece], late: bool) -> list[str]:
        """A ring: its receive is started, and it is sent before (late: after) what goes on beside it; or its send is
        started as well."""
        self.names += 1
        name, lines = f"x{self.names}", self._lines(part)
        middle = [self.yaml(beside)] if beside else []
        if part[0] == "allreduce":
            return [f"- {{start: {{{lines[0][2:]}}}, as: {name}}}", *middle, f"- wait: {name}"]
        send, receive = lines
        posted = f"- {{start: {{{receive[2:]}}}, as: {name}}}"
        if late:
            return [posted, *middle, send, f"- wait: {name}"]
        sent = f"- {{start: {{{send[2:]}}}, as: {name}s}}"
        return [posted, sent, *middle, f"- wait: [{name}s, {name}]"]

    def do(self, several: list[Piece]) -> None:
        oracle = self.oracle
        for piece in several:
            match piece:
                case "compute", base, more:
                    oracle.compute(base + more * np.arange(oracle.ranks, dtype=float))
                case "ring", tag, size:
                    oracle.now_s = oracle.send(tag, size, oracle.now_s)
                    oracle.now_s = oracle.received(oracle.post(tag, oracle.now_s))
                case "allreduce", size:
                    oracle.now_s = oracle.allreduce(size, oracle.now_s)
                case "repeat", times, inner:
                    for _ in range(times):
                        self.do(inner)
                case "start", part, beside, late:
                    self._do_started(part, beside, late)

    def _do_started(self, part: Piece, beside: list[Piece], late: bool) -> None:
        oracle = self.oracle
        if part[0] == "allreduce":
            done_s = oracle.allreduce(part[1], oracle.now_s)
            self.do(beside)
            oracle.now_s = np.maximum(oracle.now_s, done_s)
            return
        _, tag, size = part
        posted = oracle.post(tag, oracle.now_s)
        if late:
            self.do(beside)
            oracle.now_s = oracle.send(tag, size, oracle.now_s)
        else:
            done_s = oracle.send(tag, size, oracle.now_s)
            self.do(beside)
            oracle.now_s = np.maximum(oracle.now_s, done_s)
        oracle.now_s = np.maximum(oracle.now_s, oracle.received(posted))


def in_order(several: list[Piece], sent_late: frozenset[int] = frozenset()) -> bool:
    """Whether no message has to wait for itself: beside a receive whose message is sent later, none of its tag is."""
    for piece in several:
        if piece[0] == "ring" and piece[1] in sent_late:
            return False
        if piece[0] == "repeat" and not in_order(piece[2], sent_late):
            return False
        if piece[0] == "start":
            tags = {piece[1][1]} if piece[1][0] == "ring" else set()
            if tags & sent_late or not in_order(piece[2], sent_late | (tags if piece[3] else set())):
                return False
    return True


@settings(max_examples=examples(1500, 60), deadline=None)
@given(pieces().filter(in_order), st.sampled_from([2, 4, 8]))
def test_random_programs(several: list[Piece], ranks: int) -> None:
    oracle = LongestPath(ranks, np.zeros(ranks))
    written = Written(oracle)
    load = workload(written.yaml(several))
    written.do(several)
    plan = make_plan(bind(load, HOCKNEY, {"P": ranks}))
    logs = [run(plan, engine) for engine in ("simpy", "compiled")]
    assert (logs[0].finish_s == logs[1].finish_s).all()
    ends = np.array([logs[0].finish_s[a:b].max(initial=0.0) for a, b in zip(plan.first, plan.first[1:], strict=False)])
    assert (ends == oracle.now_s).all()  # whole numbers of 0.25 s: nothing is rounded


@pytest.mark.thorough
@settings(max_examples=examples(400, 25), deadline=None)
@given(pieces().filter(in_order), st.sampled_from([2, 4]), st.sampled_from(["none", "all"]))
def test_random_programs_in_loggops(several: list[Piece], ranks: int, effects: str) -> None:
    """Both engines, and the schedule that the Plan is in GOAL, take the same time."""
    load = workload(Written(LongestPath(ranks, np.zeros(ranks))).yaml(several))
    point = bind(load, LOGGOPS, {"P": ranks})
    plan = make_plan(point, () if effects == "none" else ("hops", "links", "interfaces"))
    logs = [run(plan, engine) for engine in ("simpy", "compiled")]
    assert (logs[0].finish_s == logs[1].finish_s).all()
    if effects == "none":
        again = simulate(workload_of(schedule_of(load, LOGGOPS, {"P": ranks})), LOGGOPS, {"P": ranks}, effects="none")
        assert again.makespan_s == logs[0].finish_s.max(initial=0.0)


@pytest.mark.thorough
@settings(max_examples=examples(400, 25), deadline=None)
@given(pieces().filter(in_order), st.sampled_from([2, 4, 8]), st.booleans(), st.booleans())
def test_random_programs_lie_within_their_bounds(several: list[Piece], ranks: int, gaps: bool, alone: bool) -> None:
    load, on = workload(Written(LongestPath(ranks, np.zeros(ranks))).yaml(several)), LOGGOPS if gaps else HOCKNEY
    bounds = forecast(load, on, {"P": ranks}, bounds=True).bounds
    assert bounds is not None
    time_s = simulate(load, on, {"P": ranks}, effects="none" if alone else ["hops", "links", "interfaces"]).makespan_s
    assert bounds.lower_s["ranks' own work"] <= time_s * (1 + 1e-12)
    assert time_s <= bounds.upper_s * (1 + 1e-12)


def both() -> Workload:
    """Some of everything."""
    return workload(
        "- repeat: 40\n  do:\n  - {start: {allreduce: {bytes: 4}}, as: x}\n  - compute: {flops: 3}\n"
        f"  - overlap: [compute: {{flops: 1}}, {LOADS}]\n  - wait: x\n- barrier: {{}}"
    )


def test_both_readings_agree_on_parts_and_energy_and_lie_within_the_bounds() -> None:
    load = both()
    by_formula, by_events = (
        forecast(load, MEMORY, {"P": 4}, bounds=True),
        simulate(load, MEMORY, {"P": 4}, effects="none"),
    )
    assert by_formula.makespan_s == by_events.makespan_s
    assert by_formula.phases == by_events.phases
    assert by_formula.energy_j == pytest.approx(by_events.energy_j, rel=1e-12)
    assert by_formula.peak_power_w >= by_events.peak_power_w
    assert by_formula.bounds is not None
    assert max(by_formula.bounds.lower_s.values()) <= by_events.makespan_s <= by_formula.bounds.upper_s
    assert by_formula.pipelined is not None
    assert by_formula.pipelined.makespan_s is None
    assert by_formula.pipelined.reason


def test_the_forecast_of_many_points_is_that_of_each() -> None:
    load = workload(
        "- {start: {allreduce: {bytes: 4}}, as: x}\n- compute: {flops: n}\n- wait: x", "parameters: {n: {}}\n"
    )
    sizes = np.array([0.0, 1.0, 2.0, 3.0])
    at_once = forecast(load, HOCKNEY, {"P": 2, "n": sizes})
    assert at_once.makespan_s.tolist() == [2.0, 2.0, 2.0, 3.0]
    for name in COMPONENTS:
        each = [forecast(load, HOCKNEY, {"P": 2, "n": float(n)}).phases["main"][name] for n in sizes]
        assert at_once.phases["main"][name].tolist() == each


def test_requirements_are_sums() -> None:
    alone = workload("- allreduce: {bytes: 4}\n- compute: {flops: 5}")
    beside = workload("- {start: {allreduce: {bytes: 4}}, as: x}\n- compute: {flops: 5}\n- wait: x")
    assert requirements(beside, {"P": 4}) == requirements(alone, {"P": 4})


def test_what_a_wait_adds_stands_in_its_row() -> None:
    load = workload("- {start: {allreduce: {bytes: 4}}, as: x}\n- compute: {flops: 0.5}\n- wait: x")
    for reading in (forecast, partial(simulate, effects="none")):
        assert [row.time_s for row in reading(load, HOCKNEY, {"P": 2}).demands] == [0.0, 0.5, 1.5]


def test_a_rank_that_does_two_things_is_one_busy_rank() -> None:
    result = simulate(workload(f"- overlap: [compute: {{flops: 9}}, {LOADS}]"), MEMORY, {"P": 3}, timeline=True)
    shown = profile(result)
    assert shown.working[0].sum(axis=0).tolist() == [6.0, 3.0]  # both kinds of work until 4 s, then one
    assert shown.idle.tolist() == [0.0, 0.0]
    assert result.ranks.busy_s[0, 0].tolist() == [9.0, 0.0, 0.0, 4.0]


def test_counters_are_refused() -> None:
    with pytest.raises(InputError, match="counters"):
        simulate(both(), MEMORY, {"P": 2}, counters=True)


def test_the_example_of_the_documentation() -> None:
    """Its table, in milliseconds: forecast, and simulation with hops, links and interfaces."""
    text = (Path(__file__).parents[2] / "docs" / "overlap.md").read_text()
    load = read_workload(text.split("```yaml\n")[3].split("```")[0])
    for n in (16, 32):
        (row,) = (line for line in text.splitlines() if line.startswith(f"| {n} |"))
        at, effects = {"P": 64, "n": n}, ["hops", "links", "interfaces"]
        shown = [f"{1e3 * float(forecast(load, 'torus-cluster', at).makespan_s):.2f}"]
        shown.append(f"{1e3 * simulate(load, 'torus-cluster', at, effects=effects).makespan_s:.2f}")
        assert row.split(" | ")[1:3] == shown
