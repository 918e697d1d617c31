"""The table of docs/messages.md, row by row: when what a message holds is free again."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from simcodesign.describe.goal.format import read_goal
from simcodesign.describe.machine import Machine
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


def hockney_receive(folder: Path) -> None:
    assert ends(send(10) + compute(100, 1) + receive(), machine(**HOCKNEY)) == [15, 100, 104]


def no_rendezvous(folder: Path) -> None:
    assert ends(send(10**6) + compute(1, 0) + compute(1e8, 1) + receive(), machine(**HOCKNEY))[:2] == [1000005, 1000006]


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


def program_send(folder: Path) -> None:
    assert in_ns(ends(send(3) + compute(7e-9, 0) + receive(), loggops())) == [12, 19, 128]


def program_gap(folder: Path) -> None:
    program = send(3) + send(3) + compute(7e-9, 0) + receive() + receive()
    assert in_ns(ends(program, loggops()))[:3] == [12, 66, 73]


def program_receive(folder: Path) -> None:
    program = send(3) + send(3) + compute(7e-9, 0) + receive() + receive()
    assert in_ns(ends(program, loggops()))[3:] == [128, 182]
    assert in_ns(ends(send(3) + compute(200e-9, 1) + receive(), loggops())) == [12, 200, 212]


def program_rendezvous(folder: Path) -> None:
    program = send(3) + compute(7e-9, 0) + receive()
    assert in_ns(ends(program, loggops(rendezvous_above_bytes=2.0))) == [12, 135, 128]


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


ROWS: list[Callable[[Path], None]] = [
    hockney_send,
    hops_do_not_hold,
    hockney_receive,
    no_rendezvous,
    interfaces,
    links,
    program_send,
    program_gap,
    program_receive,
    program_rendezvous,
    schedule_send,
    schedule_gap,
    schedule_message,
    schedule_before_posting,
    schedule_interface,
    schedule_rendezvous,
]


@pytest.mark.parametrize("row", range(1, len(ROWS) + 1))
def test_row(tmp_path: Path, row: int) -> None:
    ROWS[row - 1](tmp_path)


def test_every_row_has_a_test() -> None:
    rows = re.findall(r"^\| (\d+) \|", (ROOT / "docs" / "messages.md").read_text(), re.MULTILINE)
    assert rows == [str(number + 1) for number in range(len(ROWS))]
