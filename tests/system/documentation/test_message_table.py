"""The table of docs/messages.md, row by row: when what a message holds is free again."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from simcodesign.describe.goal.format import read_goal
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.yaml.files import workload_of
from simcodesign.engine.simulate import simulate
from tests import ROOT, builders

#: Seconds: startup 3, a hop 2 (one between any two nodes), a byte 1, receive overhead 4.
HOCKNEY = {"startup_s": 3.0, "hop_latency_s": 2.0, "per_byte_s": 1.0, "receive_overhead_s": 4.0}
#: Nanoseconds.
LETTERS = {"latency_s": 100e-9, "overhead_s": 10e-9, "gap_s": 50e-9, "per_byte_s": 2e-9, "overhead_per_byte_s": 1e-9}


def machine(**constants: object) -> Machine:
    return builders.machine(builders.network(4, **constants))


def loggops(**constants: object) -> Machine:
    return machine(model="loggop", **LETTERS, **constants)


def ends(program: str, on: Machine, ranks: int = 2, effects: str | tuple[str, ...] = "none") -> list[float]:
    """When the operations of a program are done."""
    result = simulate(builders.workload(program), on, {"P": ranks}, effects=effects, timeline=True)
    assert result.timeline is not None
    return result.timeline.finish_s.tolist()


def send(size: int, sender: int = 0, to: int = 1) -> str:
    return f"- send: {{to: {to}, bytes: {size}, when: rank == {sender}}}\n"


def receive(source: int = 0, at: int = 1) -> str:
    return f"- receive: {{from: {source}, when: rank == {at}}}\n"


def compute(seconds: float, rank: int) -> str:
    return f"- compute: {{seconds: {seconds}, when: rank == {rank}}}\n"


def in_ns(times: list[float]) -> list[float]:
    return [round(time * 1e9, 6) for time in times]


def of_schedule(folder: Path, text: str, on: Machine) -> list[float]:
    """When the operations of a schedule are done, in nanoseconds."""
    (folder / "a.goal").write_text(text)
    result = simulate(workload_of(read_goal(folder / "a.goal")), on, effects="none", timeline=True)
    assert result.timeline is not None
    return in_ns(result.timeline.finish_s.tolist())


def hockney_send(folder: Path) -> None:
    assert ends(send(10) + receive(), machine(**HOCKNEY)) == [15, 19]


def hops_do_not_hold(folder: Path) -> None:
    assert ends(send(10) + receive(), machine(**HOCKNEY, hops_hold_sender=False)) == [13, 19]


def sent_together(folder: Path) -> None:
    """Both messages are there 10 s after their startups."""
    program = send(10, 0, 1) + send(10, 0, 2) + receive(0, 1) + receive(0, 2)
    assert ends(program, machine(**HOCKNEY, sends="nonblocking"), 3) == [3, 6, 19, 22]


def hockney_receive(folder: Path) -> None:
    assert ends(send(10) + compute(100, 1) + receive(), machine(**HOCKNEY)) == [15, 100, 104]


def rendezvous(folder: Path) -> None:
    """The sender waits in an operation of its own, until the receiver has computed for 100 s."""
    program = send(10) + compute(1, 0) + compute(100, 1) + receive()
    assert ends(program, machine(**HOCKNEY)) == [15, 16, 100, 104]
    for limit_bytes, sends, expected in (
        (10.0, "blocking", [15, 16, 100, 104]),
        (9.0, "nonblocking", [3, 100, 101, 100, 104]),
    ):
        on = machine(**HOCKNEY, sends=sends, rendezvous_above_bytes=limit_bytes)
        assert ends(program, on) == expected
    assert ends(program, machine(**HOCKNEY, rendezvous_above_bytes=9.0)) == [15, 100, 101, 100, 104]


def two_messages(effect: str) -> list[float]:
    """Two messages of 10 bytes to rank 2, which asks for one after the other."""
    program = send(10, 0, 2) + send(10, 1, 2) + receive(0, 2) + receive(1, 2)
    constants = HOCKNEY | {"receive_overhead_s": 0.0}
    on = builders.machine(builders.network(4, "bus", **constants))
    return ends(program, on, 3, (effect,))


def interfaces(folder: Path) -> None:
    first, second = two_messages("interfaces")[2:]
    assert second - first == 10


def links(folder: Path) -> None:
    first, second = two_messages("links")[2:]
    assert second - first == 10


def send_of_a_program(folder: Path) -> None:
    assert in_ns(ends(send(3) + compute(7e-9, 0) + receive(), loggops())) == [12, 19, 124]


def gap_of_a_program(folder: Path) -> None:
    """Rank 0 sends at 0 and 54; rank 1 takes the messages up at 110 and 164, and sends at 178."""
    program = send(3) + send(3) + receive(1, 0) + receive() + receive() + send(3, 1, 0)
    assert in_ns(ends(program, loggops())) == [12, 66, 302, 124, 178, 190]


def rendezvous_of_a_program(folder: Path) -> None:
    program = send(3) + compute(7e-9, 0) + receive()
    assert in_ns(ends(program, loggops(rendezvous_above_bytes=2.0))) == [110, 117, 124]


def posted_together(folder: Path) -> None:
    """Both sends of a rank are posted at once: large ones do not wait for one another, but the wait does for all."""
    program = "- all_to_all: {bytes: 3, algorithm: linear}\n" + compute(7e-9, 0)
    finished = in_ns(ends(program, loggops(rendezvous_above_bytes=2.0), 3))
    assert finished[:6] == [110, 164, 124, 178, 178, 185]


def processor_of_an_access(folder: Path) -> None:
    """A read of 200 ns on a disk that another rank reads from first: its message is taken up after both."""
    disk = Disk(200e-9, 200e-9, 0.0, shared_by=4)
    on = replace(loggops(), disk=disk)
    program = "- read: {bytes: 1, when: rank > 0}\n" + send(3, 0, 2) + receive(0, 2)
    assert in_ns(ends(program, on, 3, ("disks",))) == [12, 200, 400, 414]


TWO = "num_ranks 2\nrank 0 {{\n{}\n}}\nrank 1 {{\n{}\n}}\n"


def schedule_send(folder: Path) -> None:
    text = TWO.format("a: send 3b to 1\nb: calc 7\nb requires a", "recv 3b from 0")
    assert of_schedule(folder, text, loggops()) == [12, 19, 124]


def schedule_gap(folder: Path) -> None:
    text = TWO.format("send 3b to 1\nsend 3b to 1\ncalc 7", "recv 3b from 0\nrecv 3b from 0")
    assert of_schedule(folder, text, loggops())[:3] == [12, 66, 19]


def schedule_message(folder: Path) -> None:
    assert of_schedule(folder, TWO.format("send 3b to 1", "recv 3b from 0\ncalc 112"), loggops()) == [12, 126, 112]


def schedule_before_posting(folder: Path) -> None:
    """The message has the processor from 110 to 124; c, which waits for b at 118, and r come after it."""
    text = TWO.format(
        "send 3b to 1",
        "b: calc 105\nc: calc 1 cpu 1\nr: recv 3b from 0\nd: calc 13 cpu 1\nd requires b\nc requires d\nr requires c\ne: calc 5\ne requires d",
    )
    assert of_schedule(folder, text, loggops()) == [12, 105, 119, 124, 118, 129]


def schedule_interface(folder: Path) -> None:
    text = "num_ranks 3\nrank 0 {\nsend 1b to 2\n}\nrank 1 {\nsend 1b to 2\n}\nrank 2 {\nrecv 1b from 0\nrecv 1b from 1\n}\n"
    assert of_schedule(folder, text, loggops()) == [10, 10, 120, 170]


def schedule_rendezvous(folder: Path) -> None:
    text = TWO.format("a: send 3b to 1\nb: calc 7\nb requires a", "b: calc 200\nr: recv 3b from 0\nr requires b")
    assert of_schedule(folder, text, loggops(rendezvous_above_bytes=2.0)) == [200, 207, 200, 214]
    assert of_schedule(folder, text, loggops()) == [12, 19, 200, 214]


INSIDE = {"topology": {"kind": "crossbar"}, "startup": 1.0, "per_byte": 0.5}
#: Seconds: startup 3 and a byte 1 between nodes, startup 1 and half a second for a byte inside one.
LEVELS = {
    "name": "levels",
    "nodes": 2,
    "processors_per_node": 3,
    "processor": {"rate": 1.0},
    "network": {"topology": {"kind": "crossbar"}, "startup": 3.0, "per_byte": 1.0},
    "node": {"network": INSIDE},
}


def levels(folder: Path) -> None:
    """Ranks 0 to 2 are on one node, 3 on another: 10 bytes are there after 1 + 5 s, and after 3 + 10 s."""
    assert ends(send(10) + receive(), Machine.load(LEVELS)) == [1, 6]
    assert ends(send(10, 0, 3) + receive(0, 3), Machine.load(LEVELS), 4) == [3, 13]


def inside_a_node(folder: Path) -> None:
    """Two messages that come to rank 2 at once take 5 s each at its interface; that from rank 3 holds none of it."""
    program = send(10, 0, 2) + send(10, 1, 2) + receive(0, 2) + receive(1, 2)
    assert ends(program, Machine.load(LEVELS), 3, "node") == [1, 1, 6, 11]
    outside = send(10, 0, 2) + send(2, 3, 2) + receive(0, 2) + receive(3, 2)
    assert ends(outside, Machine.load(LEVELS), 4, "all") == [1, 6, 6, 3]


#: The same, whose messages hold both ends; and with a memory that takes 2 s for a byte of a message (2 x 1 copies).
BOTH_ENDS = {**LEVELS, "node": {"network": {**INSIDE, "holds_receiver": True}}}
MEMORY = {
    **LEVELS,
    "memory": {"latency": 0.0, "per_byte": 1.0},
    "node": {"network": INSIDE, "memory": {"copies": 1.0, "cache": 12}},
}


def both_ends(folder: Path) -> None:
    """10 bytes hold rank 0 for 1 + 5 s, and rank 1 for as long: from the beginning, and from 8 s on."""
    assert ends(send(10) + receive(), Machine.load(BOTH_ENDS)) == [6, 6, 6]
    assert ends(send(10) + compute(8, 1) + receive(), Machine.load(BOTH_ENDS)) == [6, 8, 14, 14]


def memory_of_a_node(folder: Path) -> None:
    """Messages of 20 bytes pass after a startup of 1 s: 40 s each, one after another. 10 bytes are less than 12."""
    program = send(20, 0, 1) + send(20, 1, 2) + receive(0, 1) + receive(1, 2)
    assert sorted(ends(program, Machine.load(MEMORY), 3, "node")) == [1, 1, 41, 81]
    assert ends(program, Machine.load(MEMORY), 3, "none")[-1] == 11
    assert ends(send(10) + receive(), Machine.load(MEMORY), 2, "node") == [1, 6]


def queue_of_a_receiver(folder: Path) -> None:
    """Rank 2 receives from rank 1 at 115 s, after which the message of rank 0, there at 15 s, is taken up."""
    program = send(10, 0, 2) + compute(100, 1) + send(10, 1, 2) + receive(1, 2) + receive(0, 2)
    on = machine(**HOCKNEY, matching_s=0.5)
    assert ends(program, on, 3)[3:] == [119, 123]
    assert ends(program, on, 3, "matching")[3:] == [119.5, 123.5]


ROWS: list[Callable[[Path], None]] = [
    hockney_send,
    hops_do_not_hold,
    sent_together,
    hockney_receive,
    rendezvous,
    interfaces,
    links,
    schedule_send,
    schedule_gap,
    schedule_message,
    schedule_before_posting,
    schedule_interface,
    schedule_rendezvous,
    posted_together,
    processor_of_an_access,
    levels,
    inside_a_node,
    both_ends,
    memory_of_a_node,
    queue_of_a_receiver,
]


@pytest.mark.parametrize("check", [send_of_a_program, gap_of_a_program, rendezvous_of_a_program])
def test_rows_of_loggops_in_a_program(tmp_path: Path, check: Callable[[Path], None]) -> None:
    check(tmp_path)


@pytest.mark.parametrize("row", range(1, len(ROWS) + 1))
def test_row(tmp_path: Path, row: int) -> None:
    ROWS[row - 1](tmp_path)


def test_every_row_has_a_test() -> None:
    rows = re.findall(r"^\| (\d+) \|", (ROOT / "docs" / "messages.md").read_text(), re.MULTILINE)
    assert rows == [str(number + 1) for number in range(len(ROWS))]
