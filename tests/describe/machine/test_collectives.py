"""Rules of a machine for ``algorithm: auto``: what they choose, in both readings, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.machine import Machine
from tests.builders import read_machine, workload

MACHINE = """
simcodesign: 1
name: here
nodes: 64
processor: {{rate: 1 GFLOP/s}}
network: {{startup: 5 us, bandwidth: 1 GB/s, sends: blocking, topology: {{kind: crossbar}}}}
collectives: {}
"""
TABLE = """
  allreduce:
  - {up_to: 4 KiB, up_to_ranks: 8, algorithm: recursive_doubling}
  - {up_to_ranks: 16, algorithm: ring}
  - {up_to: 1 MB, algorithm: reduce_broadcast}
  - {algorithm: rabenseifner}
"""
GROUPS = "groups: {some: rank // 5}\n"


def machine(collectives: str) -> Machine:
    return read_machine(MACHINE.format(collectives))


def by(operation: str, algorithm: str, size_bytes: float, more: str = "") -> sc.Workload:
    return workload(f"- {operation}: {{bytes: {size_bytes!r}, algorithm: {algorithm}{more}}}\n", GROUPS)


def of_table(ranks: int, size_bytes: float) -> str:
    if size_bytes <= 4096 and ranks <= 8:
        return "recursive_doubling"
    if ranks <= 16:
        return "ring"
    return "reduce_broadcast" if size_bytes <= 1e6 else "rabenseifner"


def of_open_mpi(operation: str, ranks: int, size_bytes: float) -> str:
    """As its source has it."""
    if operation == "allreduce":
        return "recursive_doubling" if size_bytes < 10000 else "ring"
    if operation == "all_to_all":
        if size_bytes < 200 and ranks > 12:
            return "bruck"
        return "linear" if size_bytes < 3000 else "pairwise"
    if size_bytes * ranks < 50000:
        return "recursive_doubling" if ranks & (ranks - 1) == 0 else "bruck"
    return "ring" if ranks % 2 else "neighbour_exchange"


def seconds(work: Any, on: Machine, ranks: int) -> tuple[float, float]:
    return (
        float(sc.forecast(work, on, {"P": ranks}).makespan_s),
        float(sc.simulate(work, on, {"P": ranks}, effects="none").makespan_s),
    )


@settings(max_examples=40)
@given(st.integers(1, 40), st.sampled_from([1.0, 4096.0, 4097.0, 1e6, 1.1e6]))
def test_a_table_decides_by_bytes_and_ranks(ranks: int, size_bytes: float) -> None:
    stated = by("allreduce", of_table(ranks, size_bytes), size_bytes)
    auto = by("allreduce", "auto", size_bytes)
    assert seconds(auto, machine(TABLE), ranks) == seconds(stated, machine("mpich"), ranks)


@settings(max_examples=40)
@given(
    st.sampled_from(["allreduce", "allgather", "all_to_all"]),
    st.integers(1, 40),
    st.sampled_from([1.0, 199.0, 200.0, 1250.0, 2999.0, 3000.0, 9999.0, 10000.0]),
)
def test_rules_of_open_mpi(operation: str, ranks: int, size_bytes: float) -> None:
    stated = by(operation, of_open_mpi(operation, ranks, size_bytes), size_bytes)
    auto = by(operation, "auto", size_bytes)
    assert seconds(auto, machine("open_mpi"), ranks) == seconds(stated, machine("{}"), ranks)


def test_groups_and_programs_take_the_rules_of_the_machine() -> None:
    """Groups of 5 ranks of 20; a program in Python of 20."""
    auto, stated = (by("allreduce", name, 8192, ", group: some") for name in ("auto", of_table(5, 8192)))
    assert seconds(auto, machine(TABLE), 20) == seconds(stated, machine("mpich"), 20)

    @sc.program
    def program(rank: int, size: int) -> Any:
        yield sc.rank.world.allreduce(8192, algorithm="auto")

    here = seconds(program, machine(TABLE), 20)
    assert here == pytest.approx(seconds(by("allreduce", "reduce_broadcast", 8192), machine("{}"), 20), rel=1e-12)
    taken = sc.simulate(program, machine(TABLE), {"P": 20}).algorithms
    assert [one.algorithm for one in taken] == ["reduce_broadcast"]


def test_another_chooser_and_other_operations_are_untouched() -> None:
    for work in (by("allreduce", "nccl", 8192), by("allgather", "auto", 8192), by("allreduce", "ring", 8192)):
        assert seconds(work, machine(TABLE), 20) == seconds(work, machine("{}"), 20)
    mixed = machine("{allgather: open_mpi, allreduce: nccl}")
    assert mixed.collectives["allgather"] == machine("open_mpi").collectives["allgather"]
    assert mixed.collectives["allreduce"] == machine("nccl").collectives["allreduce"]


@pytest.mark.parametrize(
    ("collectives", "what"),
    [
        ("{allreduce: []}", "no rows"),
        ("{allreduce: [{up_to: 4 KiB, algorithm: ring}]}", "the last row has an end"),
        ("{allreduce: [{algorithm: ring}, {algorithm: ring}]}", "a row without an end before others"),
        ("{allreduce: [{algorithm: pairwise}]}", "pairwise"),
        ("{sum: [{algorithm: ring}]}", "sum"),
        ("{broadcast: open_mpi}", "open_mpi"),
        ("{allreduce: [{up_to: 0 B, algorithm: ring}, {algorithm: ring}]}", "above 0"),
        ("cray", "cray"),
    ],
)
def test_what_cannot_be_used(collectives: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        machine(collectives)
