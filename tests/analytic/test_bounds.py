"""Bounds of every simulation, on random programs and machines; and the algebra of paths behind it."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.bounds import bounds_of
from simcodesign.analytic.collectives.algorithm_form import ALGORITHM_FORMS
from simcodesign.analytic.critical_path_bound import Path, cut
from simcodesign.analytic.forecast import forecast
from simcodesign.comparison.compare import compare
from simcodesign.core.errors import InputError, Place
from simcodesign.core.expressions.expression import parse
from simcodesign.core.result import Result
from simcodesign.describe.demands.collective import ALGORITHMS, Collective
from simcodesign.describe.demands.computation import Compute
from simcodesign.describe.demands.disk_access import DiskAccess
from simcodesign.describe.demands.exchange import Exchange
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.network.interfaces import DUPLEXES, Interfaces
from simcodesign.describe.network.message_models.hockney import NONBLOCKING, SENDS
from simcodesign.describe.network.network import DISTANCES, SWITCHINGS
from simcodesign.describe.network.sharing import SHARINGS
from simcodesign.describe.programs.program import Block, Step
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from tests import builders, examples
from tests.builders import ANYWHERE, network, network_of, network_with, workload_of_steps

KEYS = [(name, algorithm) for name, algorithms in ALGORITHMS.items() for algorithm in algorithms]
SHARING = {"links": "most loaded link", "interfaces": "most loaded interface", "disks": "most loaded disk"}
#: Rounding of sums of at most some thousand numbers, added in another order.
ROUNDING = 1e-10

# ---------------------------------------------------------------------------------------------------------------------
# Random programs and machines

TIMES = st.sampled_from([0.0, 0.5, 1.0, 3.0, 10.0])
PER_BYTE = TIMES.map(lambda time: time / 8)
SIZES = st.sampled_from([0, 1, 8, 100])
#: Constants of a network that both models of messages have.
ANY_MODEL = {
    "per_byte_s": PER_BYTE,
    "hop_latency_s": TIMES,
    "distance": st.sampled_from(DISTANCES),
    "switching": st.sampled_from(SWITCHINGS),
}
#: Constants that a block of the program may replace.
REPLACED = {
    "hockney": ["network.startup", "network.receive_overhead", "network.hop_latency", "disk.read_startup"],
    "loggop": ["network.L", "network.o", "network.g", "network.hop_latency", "disk.read_startup"],
}
#: Amounts that differ among ranks, and ranks that take part.
SHARES = st.sampled_from(["1", "2", "rank", "rank % 2", "3*(rank % 3)", "(rank == 0)*20", "7"]).map(parse)
WHEN = st.one_of(st.none(), st.sampled_from(["rank == 0", "rank > 0", "rank % 2 == 1", "rank == P - 1"]).map(parse))


def machines(kinds: tuple[str, ...] = ("bus", "crossbar", "fat_tree", "mesh", "torus", "tree")) -> st.SearchStrategy:
    return st.builds(
        _machine,
        st.sampled_from(kinds),
        st.integers(1, 9),
        st.integers(1, 3),
        st.sampled_from(ANYWHERE),
        st.one_of(
            st.fixed_dictionaries(
                ANY_MODEL
                | {
                    "startup_s": TIMES,
                    "receive_overhead_s": TIMES,
                    "startup_per": st.sampled_from(["message", "hop"]),
                    "hops_hold_sender": st.booleans(),
                    "sends": st.sampled_from(SENDS),
                    "sharing": st.sampled_from([*SHARINGS]),
                    "packet_bytes": st.sampled_from([1.0, 3.0, 50.0]),
                }
            ),
            st.fixed_dictionaries(
                ANY_MODEL
                | {
                    "model": st.just("loggop"),
                    "latency_s": TIMES,
                    "overhead_s": TIMES,
                    "gap_s": TIMES,
                    "overhead_per_byte_s": PER_BYTE,
                }
            ),
        ),
        st.tuples(*[st.sampled_from([None, 0.0, 0.3, 1.0])] * 2),
        st.builds(Interfaces, st.integers(1, 3), st.sampled_from(DUPLEXES)),
        st.builds(Disk, TIMES, TIMES, TIMES, st.integers(1, 9), st.integers(1, 3)),
    )


def _machine(
    kind: str,
    nodes: int,
    per_node: int,
    mapping: str,
    constants: dict[str, object],
    slack: tuple[float | None, float | None],
    interfaces: Interfaces,
    disk: Disk,
) -> Machine:
    topology = build_topology(kind, nodes, **({"arity": 2} if kind == "fat_tree" else {}))
    link, interface = (None if share is None else share * constants["per_byte_s"] for share in slack)
    constants |= {"link_per_byte_s": link, "interfaces": replace(interfaces, per_byte_s=interface)}
    if constants.get("sends") == NONBLOCKING:
        constants["hops_hold_sender"] = True
    is_stored = constants["switching"] == "store_and_forward"
    per_byte_s = (constants["per_byte_s"], link, interface)
    if {"max_min": is_stored or 0 in per_byte_s, "round_robin": is_stored and slack[0] not in (None, 1.0)}.get(
        constants.get("sharing", ""), False
    ):
        constants |= {"sharing": "fcfs"}
    return Machine("test machine", Processor(2.0), network_of(topology, **constants), disk, per_node, mapping)


@st.composite
def bodies(draw: st.DrawFn, ranks: int, model: str, depth: int = 2) -> tuple[Step, ...]:
    """Steps of a program; a send's receive comes somewhere after it."""
    steps: list[Step] = []
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["compute", "access", "collective", "exchange", "message", "shift", "block"]))
        if kind in ("message", "shift"):
            if ranks > 1:
                _put_message(draw, steps, _ends(draw, ranks) if kind == "message" else _shift(draw, ranks))
        elif kind == "block":
            steps += [draw(blocks(ranks, model, depth - 1))] if depth else []
        else:
            steps.append(draw(DEMANDS[kind]))
    return tuple(steps) or (Compute(None, Place(), "seconds", parse(1)),)


def _put_message(draw: st.DrawFn, steps: list[Step], message: tuple[Send, Receive]) -> None:
    """The receive at the end, the send anywhere before."""
    steps.insert(draw(st.integers(0, len(steps))), message[0])
    steps.append(message[1])


def _ends(draw: st.DrawFn, ranks: int) -> tuple[Send, Receive]:
    source = draw(st.integers(0, ranks - 1))
    target = (source + draw(st.integers(1, ranks - 1))) % ranks
    tag = draw(st.integers(0, 2))
    send = Send(parse(f"rank == {source}"), Place(), parse(target), parse(draw(SIZES)), tag)
    return send, Receive(parse(f"rank == {target}"), Place(), parse(source), None, tag)


def _shift(draw: st.DrawFn, ranks: int) -> tuple[Send, Receive]:
    away = draw(st.integers(1, ranks - 1))
    size = draw(st.one_of(SIZES.map(parse), SHARES))
    return (
        Send(None, Place(), parse(f"(rank + {away}) % P"), size, 3),
        Receive(None, Place(), parse(f"(rank - {away}) % P"), None, 3),
    )


@st.composite
def blocks(draw: st.DrawFn, ranks: int, model: str, depth: int) -> Block:
    constants = draw(st.dictionaries(st.sampled_from(REPLACED[model]), TIMES.map(parse), max_size=2))
    phase = draw(st.one_of(st.none(), st.sampled_from(["one", "two"])))
    repeat = parse(draw(st.sampled_from([0, 1, 2, 3])))
    return Block(repeat, draw(bodies(ranks, model, depth)), phase, tuple(constants.items()))


@st.composite
def exchanges(draw: st.DrawFn) -> Exchange:
    dims = draw(st.integers(1, 3))
    sizes = tuple(parse(draw(SIZES)) for _ in range(dims))
    several = draw(st.one_of(st.none(), st.tuples(*[st.sampled_from([0, 1, 3, 5]).map(parse)] * dims)))
    return Exchange(None, Place(), dims, sizes, None, draw(st.booleans()), several)


def with_trains(workload: Workload, train: int) -> Workload:
    """The same with every exchange in trains."""

    def changed(steps: tuple[Step, ...]) -> tuple[Step, ...]:
        return tuple(
            replace(step, body=changed(step.body))
            if isinstance(step, Block)
            else replace(step, train=parse(train))
            if isinstance(step, Exchange)
            else step
            for step in steps
        )

    return replace(workload, program=changed(workload.program))


DEMANDS: dict[str, st.SearchStrategy[Step]] = {
    "compute": st.builds(Compute, WHEN, st.just(Place()), st.sampled_from(["seconds", "flops"]), SHARES),
    "access": st.builds(DiskAccess, WHEN, st.just(Place()), st.sampled_from(["read", "write"]), SHARES, SHARES),
    "collective": st.builds(
        lambda key, size: Collective(None, Place(), *key, parse(size)), st.sampled_from(KEYS), SIZES
    ),
    "exchange": exchanges(),
}


@st.composite
def cases(draw: st.DrawFn) -> tuple[Workload, Machine, int]:
    machine = draw(machines())
    ranks = draw(st.integers(1, min(machine.most_ranks, 9)))
    workload = workload_of_steps(*draw(bodies(ranks, machine.network.message_model.name)))
    workload = with_trains(workload, draw(st.integers(1, 4)))
    return workload, machine, ranks


def holds(forecasted: Result, result: Result) -> None:
    """Every bound that is for the effects of the simulation."""
    assert forecasted.bounds is not None
    for name, bound in forecasted.bounds.lower_s.items():
        effect = next((effect for effect, what in SHARING.items() if what == name), None)
        if effect is None or effect in result.effects:
            assert bound <= result.makespan_s * (1 + ROUNDING), name
    assert result.makespan_s <= forecasted.bounds.upper_s * (1 + ROUNDING)


@settings(max_examples=examples(500))
@given(cases(), st.sets(st.sampled_from(["hops", *SHARING])))
def test_every_simulation_lies_in_its_bounds(case: tuple[Workload, Machine, int], effects: set[str]) -> None:
    workload, machine, ranks = case
    result = forecast(workload, machine, {"P": ranks}, bounds=True)
    holds(result, simulate(workload, machine, {"P": ranks}, effects=effects))


@settings(max_examples=examples(50))
@given(cases(), st.sets(st.sampled_from(["hops", *SHARING])))
def test_comparisons_lie_in_their_bounds(case: tuple[Workload, Machine, int], effects: set[str]) -> None:
    workload, machine, ranks = case
    compared = compare(workload, machine, {"P": ranks}, effects=effects)
    assert compared.within_bounds
    low = replace(compared.forecast.bounds, upper_s=-1.0)
    assert not replace(compared, forecast=replace(compared.forecast, bounds=low)).within_bounds


# ---------------------------------------------------------------------------------------------------------------------
# Bounds that are reached


def plain(kind: str, nodes: int, disk: Disk | None = None, **constants: float) -> Machine:
    return builders.machine(network(nodes, kind, **({"per_byte_s": 1.0} | constants)), disk=disk)


def test_one_rank_alone_is_bound_from_both_sides() -> None:
    machine = plain("crossbar", 1, Disk(1.0, 2.0, 0.5))
    work = workload_of_steps(
        Compute(None, Place(), "flops", parse(7)), DiskAccess(None, Place(), "read", parse(4), parse(3))
    )
    bounds = bounds_of(bind(work, machine))
    assert (
        bounds.least_s(("links", "interfaces", "disks"))
        == bounds.upper_s
        == simulate(work, machine).makespan_s
        == 7 + 3 * (1 + 4 * 0.5)
    )


def test_a_bus_is_as_busy_as_its_bytes() -> None:
    """Five ranks send 100 bytes each over one link of 1 s/B, and nothing else takes time."""
    machine = plain("bus", 6)
    send = Send(parse("rank > 0"), Place(), parse(0), parse(100))
    receives = [Receive(parse("rank == 0"), Place(), parse(source), None) for source in range(1, 6)]
    bounds = bounds_of(bind(workload_of_steps(send, *receives), machine))
    assert bounds.lower_s["most loaded link"] == 500
    assert simulate(workload_of_steps(send, *receives), machine, effects="links").makespan_s == 500


def test_a_disk_is_as_busy_as_its_accesses() -> None:
    machine = plain("crossbar", 6, Disk(3.0, 0.0, 1.0, shared_by=6, spindles=2))
    read = DiskAccess(None, Place(), "read", parse(2), parse(1))
    assert bounds_of(bind(workload_of_steps(read), machine)).lower_s["most loaded disk"] == 6 * 5 / 2
    assert simulate(workload_of_steps(read), machine, effects="disks").makespan_s == 15


@pytest.mark.parametrize(
    ("interfaces", "bound_s", "simulated_s"),
    [
        (Interfaces(), 30, 40),
        (Interfaces(duplex="half"), 40, 40),
        (Interfaces(3), 10, 20),
        (Interfaces(2, "half"), 20, 30),
    ],
    ids=["full", "half", "three", "two half"],
)
def test_an_interface_is_as_busy_as_what_comes_and_goes(
    interfaces: Interfaces, bound_s: float, simulated_s: float
) -> None:
    """Three messages of 10 s each come to node 0, one after another at one interface, then one of 10 s goes."""
    machine = plain("crossbar", 4)
    machine = replace(machine, network=network_with(machine.network, interfaces=interfaces))
    gather = Send(parse("rank > 0"), Place(), parse(0), parse(10))
    receives = [Receive(parse("rank == 0"), Place(), parse(source), None) for source in (1, 2, 3)]
    answer = (
        Send(parse("rank == 0"), Place(), parse(1), parse(10)),
        Receive(parse("rank == 1"), Place(), parse(0), None),
    )
    program = workload_of_steps(gather, *receives, *answer)
    assert bounds_of(bind(program, machine)).lower_s["most loaded interface"] == bound_s
    assert simulate(program, machine, effects="interfaces").makespan_s == simulated_s


def test_a_barrier_adds_the_busiest_ranks_before_and_after() -> None:
    """Rank 0 works before it, rank 1 after it: both count, though neither does all."""
    first = Compute(parse("rank == 0"), Place(), "seconds", parse(10))
    second = Compute(parse("rank == 1"), Place(), "seconds", parse(20))
    barrier = Collective(None, Place(), "barrier", "dissemination", parse(0))
    work, machine = workload_of_steps(first, barrier, second), plain("crossbar", 4, startup_s=1.0)
    bounds = bounds_of(bind(work, machine))
    assert bounds.lower_s["ranks' own work"] == 10 + 2 + 20
    assert simulate(work, machine, effects="none").makespan_s == 32


@pytest.mark.parametrize(("name", "algorithm"), KEYS)
@pytest.mark.parametrize("ranks", [2, 3, 5, 8])
@pytest.mark.thorough
def test_work_of_one_rank_before_and_of_another_after_a_collective(name: str, algorithm: str, ranks: int) -> None:
    """Any two ranks. Where all wait for all the bound is reached, unless ranks fold onto a power of two."""
    collective = Collective(None, Place(), name, algorithm, parse(8))
    machine = plain("crossbar", ranks, startup_s=8.0, receive_overhead_s=4.0)
    form = ALGORITHM_FORMS[name, algorithm]
    exact = form.synchronises and not (form.folds and ranks & (ranks - 1))
    for last, busy in itertools.product(range(ranks), repeat=2):
        before = Compute(parse(f"rank == {last}"), Place(), "seconds", parse(1000))
        after = Compute(parse(f"rank == {busy}"), Place(), "seconds", parse(500))
        work = workload_of_steps(before, collective, after)
        bounds = bounds_of(bind(work, machine))
        value = float(simulate(work, machine, effects="none").makespan_s)
        assert bounds.lower_s["ranks' own work"] <= value * (1 + ROUNDING)
        assert value <= bounds.upper_s * (1 + ROUNDING)
        if exact:
            assert value == pytest.approx(bounds.lower_s["ranks' own work"], rel=1e-12)


def test_a_receive_counts_where_it_stands() -> None:
    """Sent before the barrier, received after it: the overhead cannot delay what rank 1 does before."""
    send = Send(parse("rank == 0"), Place(), parse(1), parse(0))
    receive = Receive(parse("rank == 1"), Place(), parse(0), None)
    before = Compute(parse("rank == 1"), Place(), "seconds", parse(100))
    after = Compute(parse("rank == 2"), Place(), "seconds", parse(100))
    barrier = Collective(None, Place(), "barrier", "dissemination", parse(0))
    work = workload_of_steps(send, before, barrier, receive, after)
    machine = plain("crossbar", 3, startup_s=1.0, receive_overhead_s=50.0)
    result, simulated = bounds_of(bind(work, machine)), simulate(work, machine, effects="none")
    assert result.lower_s["ranks' own work"] <= simulated.makespan_s <= result.upper_s


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (Send(None, Place(), parse("rank + 1"), parse(1)), "rank 3: to = rank + 1 is not another rank"),
        (Send(None, Place(), parse("rank"), parse(1)), "rank 0: to = rank is not another rank"),
        (Exchange(None, Place(), 2, (parse(1),) * 2, (parse(3), parse(3))), "does not hold P = 4 ranks"),
    ],
)
def test_a_program_that_cannot_be_is_refused(step: Step, text: str) -> None:
    with pytest.raises(InputError) as caught:
        bounds_of(bind(workload_of_steps(step), plain("crossbar", 4)))
    assert text in str(caught.value)


def test_several_design_points_have_no_bounds() -> None:
    work = workload_of_steps(Compute(None, Place(), "seconds", parse("P")))
    with pytest.raises(InputError, match="one design point"):
        forecast(work, plain("bus", 4), {"P": [1, 2]}, bounds=True)


# ---------------------------------------------------------------------------------------------------------------------
# Paths add up like the steps of a program

RANKS = 3
WORK = st.lists(st.integers(0, 9), min_size=RANKS, max_size=RANKS)
#: Steps: what each rank does by itself (a list), or a cut that takes some time (a number). Whole numbers add exactly.
STEPS = st.lists(st.one_of(WORK, st.integers(0, 9)), max_size=8)


def path_of(steps: list[list[int] | int]) -> Path:
    path = Path(np.zeros(RANKS))
    for step in steps:
        path = path + (cut(RANKS, float(step)) if isinstance(step, int) else Path(np.array(step, float)))
    return path


def walked(steps: list[list[int] | int]) -> float:
    """Time by walking the steps: at a cut all ranks go on together."""
    clock = np.zeros(RANKS)
    for step in steps:
        clock = np.full(RANKS, clock.max() + step) if isinstance(step, int) else clock + step
    return float(clock.max())


def same(one: Path, other: Path) -> None:
    assert one.head.tolist() == other.head.tolist()
    assert one.inner_s == other.inner_s
    assert (one.tail is None) == (other.tail is None)
    assert one.tail is None or other.tail is None or one.tail.tolist() == other.tail.tolist()


@given(STEPS)
def test_length_of_a_path_is_that_of_the_walk(steps: list[list[int] | int]) -> None:
    assert path_of(steps).length_s == walked(steps)


@given(STEPS, STEPS, STEPS)
def test_paths_form_a_monoid(a: list[list[int] | int], b: list[list[int] | int], c: list[list[int] | int]) -> None:
    one, two, three = path_of(a), path_of(b), path_of(c)
    same((one + two) + three, one + (two + three))
    same(one + two, path_of(a + b))
    nothing = Path(np.zeros(RANKS))
    same(nothing + one, one)
    same(one + nothing, one)


@given(STEPS, st.integers(0, 5), st.integers(0, 3))
def test_repetition_is_repeated_addition(steps: list[list[int] | int], times: int, more: int) -> None:
    path = path_of(steps)
    same(path.repeated(times), path_of(steps * times))
    same(path.repeated(times + more), path.repeated(times) + path.repeated(more))
    assert path.repeated(times).length_s == walked(steps * times)


@given(STEPS, STEPS)
def test_paths_do_not_get_shorter(a: list[list[int] | int], b: list[list[int] | int]) -> None:
    joined = path_of(a + b).length_s
    assert max(path_of(a).length_s, path_of(b).length_s) <= joined <= path_of(a).length_s + path_of(b).length_s


@given(WORK, st.floats(0, 4))
def test_part_of_a_repetition_counts_where_nothing_is_cut(work: list[int], times: float) -> None:
    assert math.isclose(path_of([work]).repeated(times).length_s, times * max(work), rel_tol=1e-15)


@pytest.mark.parametrize(
    ("sends", "interfaces", "is_said"),
    [("nonblocking", 1, True), ("nonblocking", 2, True), ("nonblocking", 4, False), ("blocking", 1, False)],
)
def test_messages_sent_together_that_outrun_the_interfaces_are_noted(
    sends: str, interfaces: int, is_said: bool
) -> None:
    """Three messages of 1 MB at 1 GB/s: 3 startups of 1 us and 1 ms side by side, 3 ms and these one after another; an
    interface needs 3 ms, and several share that."""
    machine = builders.read_machine(f"""
simcodesign: 1
name: four
nodes: 4
processor: {{rate: 1 GFLOP/s}}
network: {{topology: {{kind: crossbar}}, startup: 1 us, bandwidth: 1 GB/s, sends: {sends}, interfaces: {{count: {interfaces}}}}}
""")
    work = builders.workload("- all_to_all: {bytes: 1e6, algorithm: linear}\n")
    seen = forecast(work, machine, {"P": 4}, bounds=True)
    assert float(seen.makespan_s) == pytest.approx(1.003e-3 if sends == "nonblocking" else 3.003e-3)
    assert bool(seen.notes) == is_said == ("notes" in seen.to_dict())
    if is_said:
        assert "1.003 ms" in seen.notes[0]
        assert f"{3 / interfaces:g} ms" in seen.notes[0]
    assert compare(work, machine, {"P": 4}, effects="none").forecast.notes == seen.notes
