"""Network interfaces by hand: full and half duplex, one and several, in both engines."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.describe.goal.format import read_goal
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.interfaces import DUPLEXES
from simcodesign.describe.network.sharing import SHARINGS
from simcodesign.describe.yaml.files import workload_of
from simcodesign.engine.simulate import simulate
from tests import examples
from tests.builders import read_machine, workload

BOTH = pytest.mark.parametrize("engine", ["simpy", "compiled"])


def machine(
    nodes: int, interfaces: str, network: str = "sends: blocking, startup: 1 us, bandwidth: 1 GB/s", per_node: int = 1
) -> Machine:
    """A crossbar with these interfaces."""
    return read_machine(
        f"simcodesign: 1\nname: test\nnodes: {nodes}\nprocessors_per_node: {per_node}\n"
        "processor: {rate: 1 GFLOP/s}\n"
        f"network: {{topology: {{kind: crossbar}}, {network}, interfaces: {{{interfaces}}}}}\n"
    )


def message(source: int, target: int) -> str:
    """One of 1000 bytes, which takes 1 us at 1 GB/s."""
    send = f"- send: {{to: {target}, bytes: 1000, when: rank == {source}}}\n"
    return send + f"- receive: {{from: {source}, when: rank == {target}}}\n"


def makespan_us(program: str, on: Machine, engine: str, effects: str = "interfaces") -> float:
    ranks = {"P": on.processors}
    return float(simulate(workload(program), on, ranks, effects=effects, engine=engine).makespan_s) * 1e6


@BOTH
@pytest.mark.parametrize(("duplex", "least_ms", "most_ms"), [("full", 63.0693, 63.0693), ("half", 126.001, 126.0693)])
def test_a_pairwise_all_to_all_takes_its_bytes_once_unless_interfaces_are_half_duplex(
    engine: str, duplex: str, least_ms: float, most_ms: float
) -> None:
    """63 rounds of 1 ms, each with 1 us of startup and a hop of 0.1 us. A half-duplex interface passes 126 messages one
    after another, the first of them after a startup; the rest of the startups may come on top."""
    on = machine(64, f"duplex: {duplex}", "sends: blocking, startup: 1 us, bandwidth: 100 MB/s, hop_latency: 100 ns")
    program = "[all_to_all: {bytes: 100000, algorithm: pairwise}]"
    milliseconds = makespan_us(program, on, engine, "hops,links,interfaces") / 1000
    assert least_ms * (1 - 1e-12) <= milliseconds <= most_ms * (1 + 1e-12)


@BOTH
@pytest.mark.parametrize(("count", "expected_us"), [(1, 3), (2, 2)])
def test_two_ranks_of_a_node_send_at_once_by_two_interfaces(engine: str, count: int, expected_us: float) -> None:
    on = machine(3, f"count: {count}", per_node=2)
    assert makespan_us(message(0, 2) + message(1, 4), on, engine) == pytest.approx(expected_us, rel=1e-12)


@BOTH
@pytest.mark.parametrize(
    ("interfaces", "expected_us"), [("count: 1", 7), ("count: 2", 4), ("count: 3", 3), ("count: 6", 2)]
)
def test_six_messages_come_by_several_interfaces(engine: str, interfaces: str, expected_us: float) -> None:
    program = "".join(message(source, 0) for source in range(1, 7))
    assert makespan_us(program, machine(7, interfaces), engine) == pytest.approx(expected_us, rel=1e-12)


@BOTH
@pytest.mark.parametrize(
    ("interfaces", "expected_us"),
    [("duplex: full", 2), ("duplex: half", 3), ("count: 2, duplex: half", 3), ("count: 2, duplex: full", 2)],
)
def test_one_message_each_way(engine: str, interfaces: str, expected_us: float) -> None:
    """With half-duplex interfaces each passes one after the other, of two the same one, since both are the first."""
    send = "- send: {to: 1 - rank, bytes: 1000}\n- receive: {from: 1 - rank}\n"
    assert makespan_us(send, machine(2, interfaces), engine) == pytest.approx(expected_us, rel=1e-12)


@BOTH
def test_a_phase_may_have_faster_interfaces(engine: str) -> None:
    """Half duplex: one message after the other, 1 + 1 + 1 us; at twice the bandwidth both pass while one does, 1 + 1."""
    swap = "- send: {to: 1 - rank, bytes: 1000}\n    - receive: {from: 1 - rank}\n"
    faster = "  constants: {network.interfaces.per_byte: 0.5 ns/B}\n"
    phases = f"- phase: slow\n  do:\n    {swap}- phase: fast\n{faster}  do:\n    {swap}"
    assert makespan_us(phases, machine(2, "duplex: half"), engine) == pytest.approx(3 + 2, rel=1e-12)


@BOTH
@pytest.mark.parametrize(("count", "expected_ns"), [(1, 2103), (2, 1102)])
def test_a_rank_sends_at_once_by_the_interfaces_that_its_schedule_names(
    tmp_path: Path, engine: str, count: int, expected_ns: float
) -> None:
    """Two messages of 1001 bytes at 1 ns a byte on a processor each: o + L + o + 1000 G = 1 + 100 + 1 + 1000 ns. Behind
    each other on one interface, the second is 1001 bytes later."""
    sends = "l0: send 1001b to 1 cpu 0 nic 0\nl1: send 1001b to 1 cpu 1 nic 1\n"
    receives = "l0: recv 1001b from 0\nl1: recv 1001b from 0\n"
    (tmp_path / "nics.goal").write_text(f"num_ranks 2\nrank 0 {{\n{sends}}}\nrank 1 {{\n{receives}}}\n")
    on = machine(2, f"count: {count}", "model: loggop, L: 100 ns, o: 1 ns, g: 0 ns, G: 1 ns/B")
    schedule = workload_of(read_goal(tmp_path / "nics.goal"))
    result = simulate(schedule, on, effects="interfaces", engine=engine)
    assert result.makespan_s * 1e9 == pytest.approx(expected_ns, rel=1e-9)


PERMUTATIONS = st.integers(2, 8).flatmap(
    lambda ranks: st.tuples(
        st.permutations(range(ranks)), st.lists(st.integers(1, 100_000), min_size=ranks, max_size=ranks)
    )
)


@pytest.mark.thorough
@settings(max_examples=examples(200, ordinary=30), deadline=None)
@given(
    case=PERMUTATIONS,
    sharing=st.sampled_from([*SHARINGS]),
    count=st.integers(1, 3),
    engine=st.sampled_from(["simpy", "compiled"]),
)
def test_where_each_node_sends_and_receives_one_message_nobody_waits(
    case: tuple[list[int], list[int]], sharing: str, count: int, engine: str
) -> None:
    """Whatever the permutation and the sizes, through full-duplex interfaces every message takes its time alone."""
    targets, sizes = case
    on = machine(
        len(targets), f"count: {count}", f"sends: blocking, startup: 1 us, bandwidth: 1 GB/s, sharing: {sharing}"
    )
    ends = {source: target for source, target in enumerate(targets) if source != target}
    sends = "".join(f"- send: {{to: {b}, bytes: {sizes[a]}, when: rank == {a}}}\n" for a, b in ends.items())
    receives = "".join(f"- receive: {{from: {a}, when: rank == {b}}}\n" for a, b in ends.items())
    result = simulate(
        workload(f"{sends}{receives}- compute: {{flops: 0}}\n"), on, effects="links,interfaces", engine=engine
    )
    assert result.ranks is not None
    alone_s = [1e-6 + size * 1e-9 for size in sizes]
    expected = [
        max([alone_s[rank]] * (rank in ends) + [alone_s[a] for a, b in ends.items() if b == rank], default=0.0)
        for rank in range(len(targets))
    ]
    assert result.ranks.end_s == pytest.approx(expected, rel=1e-9)


@st.composite
def machines_and_messages(draw: st.DrawFn) -> tuple[Machine, str]:
    """Machines with interfaces of any kind, and messages between ranks that tie often."""
    kind = draw(st.sampled_from(["crossbar", "torus, shape: [4]", "mesh, shape: [2, 2]", "bus"]))
    interfaces = f"count: {draw(st.integers(1, 4))}, duplex: {draw(st.sampled_from(DUPLEXES))}, bandwidth: 2 GB/s"
    per_node, in_loggop = draw(st.integers(1, 2)), draw(st.booleans())
    sharing = draw(st.sampled_from([each for each in SHARINGS if each != "round_robin" or not in_loggop]))
    model = "model: loggop, L: 1 us, o: 100 ns, g: 200 ns" if in_loggop else "sends: blocking, startup: 1 us"
    on = read_machine(
        f"simcodesign: 1\nname: test\nnodes: 4\nprocessors_per_node: {per_node}\nprocessor: {{rate: 1 GFLOP/s}}\n"
        f"network: {{topology: {{kind: {kind}}}, {model}, bandwidth: 1 GB/s, sharing: {sharing}, "
        f"interfaces: {{{interfaces}}}}}\n"
    )
    ranks = st.integers(0, 4 * per_node - 1)
    ends = draw(st.lists(st.tuples(ranks, ranks).filter(lambda pair: pair[0] != pair[1]), min_size=1, max_size=12))
    sends = "".join(f"- send: {{to: {b}, bytes: {draw(SIZES)}, when: rank == {a}}}\n" for a, b in ends)
    anyone = not in_loggop and draw(st.booleans())
    sources = [("anyone" if anyone else str(a), b) for a, b in ends]
    return on, sends + "".join(f"- receive: {{from: {a}, when: rank == {b}}}\n" for a, b in sources)


SIZES = st.sampled_from([0, 1, 1000, 3000, 100_000])


@pytest.mark.thorough
@settings(max_examples=examples(1000, ordinary=60), deadline=None)
@given(case=machines_and_messages(), effects=st.sampled_from(["interfaces", "links,interfaces"]))
def test_both_engines_say_the_same_to_the_last_bit(case: tuple[Machine, str], effects: str) -> None:
    on, program = case
    runs = [simulate(workload(program), on, effects=effects, engine=engine) for engine in ("simpy", "compiled")]
    first, second = (run.ranks for run in runs)
    assert first is not None
    assert second is not None
    assert first.end_s.tobytes() == second.end_s.tobytes()
    uses = [[(use.name, use.served, use.busy_s, use.wait_s) for use in run.stations] for run in runs]
    assert uses[0] == uses[1]


def test_stations_are_called_by_what_they_do() -> None:
    def names(interfaces: str) -> set[str]:
        result = simulate(workload(message(0, 1)), machine(2, interfaces), {"P": 2}, effects="interfaces")
        assert {station.kind for station in result.stations} == {"interface"}
        return {station.name for station in result.stations}

    assert names("duplex: full") == {"injection 0", "ejection 1"}
    assert names("duplex: half") == {"interface 0", "interface 1"}
    assert names("count: 2") == {"injection 0.0", "ejection 1.0"}
