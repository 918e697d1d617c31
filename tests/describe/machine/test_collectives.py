"""Rules of a machine for ``algorithm: auto``: what they choose, in both readings, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.algorithm_choice import chosen_rules
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
#: On both sides of the bounds of Open MPI, as far as these are of bytes.
SIZES = [1.0, 199.0, 200.0, 299.0, 300.0, 1023.0, 1024.0, 1250.0, 2999.0, 3000.0, 6000.0, 6001.0, 9999.0, 10000.0]
SIZES += [12288.0, 12289.0, 20000.0, 92160.0, 92161.0, 262144.0, 262145.0]
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
    """As its source has it, of Open MPI 4.0; of a broadcast and a reduce with the bytes of a segment."""
    if operation == "broadcast":
        return broadcast_of_open_mpi(ranks, size_bytes)
    if operation == "reduce":
        return reduce_of_open_mpi(ranks, size_bytes)
    if operation == "scatter":
        return "binomial" if ranks > 10 and size_bytes < 300 else "linear"
    if operation == "gather":
        if size_bytes > 6000:
            return f"linear_synchronised, segment: {32768 if size_bytes > 92160 else 1024}"
        return "binomial" if ranks > 60 or (ranks > 10 and size_bytes < 1024) else "linear"
    if operation == "reduce_scatter":
        is_power = ranks & (ranks - 1) == 0
        few = size_bytes <= 12 * 1024 or (size_bytes <= 256 * 1024 and is_power)
        return "recursive_halving" if few or ranks >= 0.0012 * size_bytes + 8.0 else "ring"
    if operation == "allreduce":
        return "recursive_doubling" if size_bytes < 10000 else "ring"
    if operation == "all_to_all":
        if size_bytes < 200 and ranks > 12:
            return "bruck"
        return "linear" if size_bytes < 3000 else "pairwise"
    if size_bytes * ranks < 50000:
        return "recursive_doubling" if ranks & (ranks - 1) == 0 else "bruck"
    return "ring" if ranks % 2 else "neighbour_exchange"


def broadcast_of_open_mpi(ranks: int, size_bytes: float) -> str:
    if size_bytes < 2048:
        return "binomial, order: near"
    if size_bytes < 370728:
        return "split_binary_tree, segment: 1024"
    if ranks < 1.6134e-6 * size_bytes + 2.1102:
        return f"chain, segment: {128 * 1024}"
    if ranks < 13:
        return f"split_binary_tree, segment: {8 * 1024}"
    if ranks < 2.3679e-6 * size_bytes + 1.1787:
        return f"chain, segment: {64 * 1024}"
    if ranks < 3.2118e-6 * size_bytes + 8.7936:
        return f"chain, segment: {16 * 1024}"
    return f"chain, segment: {8 * 1024}"


def reduce_of_open_mpi(ranks: int, size_bytes: float) -> str:
    if ranks < 8 and size_bytes < 512:
        return "linear"
    if (ranks < 8 and size_bytes < 20480) or size_bytes < 2048:
        return "binomial"
    if ranks > 0.6016 / 1024 * size_bytes + 1.3496:
        return "binomial, segment: 1024"
    if ranks > 0.0410 / 1024 * size_bytes + 9.7128:
        return "chain, segment: 1024"
    if ranks > 0.0422 / 1024 * size_bytes + 1.1614:
        return "interleaved_binary_tree, segment: 32768"
    return f"chain, segment: {32768 if ranks > 0.0033 / 1024 * size_bytes + 1.6761 else 65536}"


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
    st.sampled_from(["allreduce", "allgather", "all_to_all", "scatter", "gather", "reduce_scatter"]),
    st.integers(1, 64),
    st.sampled_from(SIZES),
)
def test_rules_of_open_mpi(operation: str, ranks: int, size_bytes: float) -> None:
    stated = by(operation, of_open_mpi(operation, ranks, size_bytes), size_bytes)
    auto = by(operation, "auto", size_bytes)
    assert seconds(auto, machine("open_mpi"), ranks) == seconds(stated, machine("{}"), ranks)


@pytest.mark.parametrize("ranks", [2, 5, 7, 8, 12, 13, 16, 40, 64])
@pytest.mark.parametrize("operation", ["broadcast", "reduce"])
def test_segments_of_open_mpi(operation: str, ranks: int) -> None:
    """On both sides of every bound; messages show how many segments there are."""
    for size_bytes in (511.0, 512.0, 2047.0, 2048.0, 20479.0, 20480.0, 65536.0, 370727.0, 370728.0, 2e6, 6e6, 4e7):
        stated = by(operation, of_open_mpi(operation, ranks, size_bytes), size_bytes)
        auto = by(operation, "auto", size_bytes)
        one, other = (sc.forecast(work, machine("open_mpi"), {"P": ranks}) for work in (auto, stated))
        assert (one.makespan_s, one.messages) == (other.makespan_s, other.messages), (ranks, size_bytes)
    assert seconds(by(operation, "auto", 65536.0), machine("open_mpi"), ranks) == pytest.approx(
        seconds(by(operation, of_open_mpi(operation, ranks, 65536.0), 65536.0), machine("{}"), ranks), rel=1e-12
    )


@pytest.mark.parametrize(
    ("operation", "ranks", "size_bytes", "algorithm"),
    [
        ("allreduce", 3, 7, "ring"),
        ("allreduce", 3, 8, "recursive_doubling"),
        ("allreduce", 3, 262144, "rabenseifner"),
        ("allreduce", 8, 8191, "recursive_doubling"),
        ("allreduce", 16, 63, "ring"),
        ("allreduce", 63, 128, "rabenseifner"),
        ("allreduce", 64, 262143, "recursive_doubling"),
        ("allreduce", 128, 131071, "reduce_broadcast"),
        ("allreduce", 255, 131072, "recursive_doubling"),
        ("allreduce", 256, 4096, "rabenseifner"),
        ("allreduce", 2048, 2048, "ring"),
        ("allreduce", 5000, 32767, "recursive_doubling"),
        ("allgather", 2, 1e6, "recursive_doubling"),
        ("allgather", 32, 65535, "neighbour_exchange"),
        ("allgather", 64, 65536, "ring"),
        ("allgather", 256, 127, "bruck"),
        ("allgather", 1024, 3, "recursive_doubling"),
        ("allgather", 9999, 511, "bruck"),
        ("allgather", 9999, 4096, "neighbour_exchange"),
    ],
)
def test_rules_of_open_mpi_4_1(operation: str, ranks: int, size_bytes: float, algorithm: str) -> None:
    """Read off the source (coll_tuned_decision_fixed.c), at bounds of its table."""
    ((rule, _),) = chosen_rules(machine("open_mpi_4_1").collectives[operation], float(ranks), float(size_bytes))
    assert rule.algorithm == algorithm


def test_a_table_states_segments_in_groups_in_programs_and_over_many_points() -> None:
    """8 KiB in segments of 1,000 bytes, 9 of them; below 4 KiB in one piece."""
    table = "{broadcast: [{up_to: 4 KiB, algorithm: binomial}, {algorithm: chain, segment: 1000 B}]}"
    stated = "chain, segment: 1000"
    for more in (", group: some", ""):
        auto, written = (by("broadcast", name, 8192, more) for name in ("auto", stated))
        assert seconds(auto, machine(table), 20) == seconds(written, machine("{}"), 20)
    sizes = forecast_of(
        workload("- broadcast: {bytes: n, algorithm: auto}\n", "parameters: {n: {default: 1}}\n"), table
    )
    assert sizes == [
        forecast_of(by("broadcast", "binomial", 4096), "{}"),
        forecast_of(by("broadcast", stated, 8192), "{}"),
    ]

    @sc.program
    def program(rank: int, size: int) -> Any:
        yield sc.rank.world.broadcast(8192, algorithm="auto")

    assert seconds(program, machine(table), 20) == pytest.approx(
        seconds(by("broadcast", stated, 8192), machine("{}"), 20), rel=1e-12
    )
    assert sc.simulate(program, machine(table), {"P": 20}).messages == 19 * 9


def forecast_of(work: sc.Workload, collectives: str) -> Any:
    """Seconds of 20 ranks; of a workload with a parameter n at 4 and 8 KiB."""
    point = {"P": 20} | ({"n": [4096, 8192]} if "n" in work.parameters else {})
    found = sc.forecast(work, machine(collectives), point).makespan_s
    return found.tolist() if "n" in point else float(found)


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
        ("{scan: open_mpi}", "open_mpi"),
        ("{allreduce: [{algorithm: ring, segment: 1 KiB}]}", "has no segments"),
        ("{broadcast: [{algorithm: chain, segment: 0 B}]}", "above 0"),
        ("{allreduce: [{up_to: 0 B, algorithm: ring}, {algorithm: ring}]}", "above 0"),
        ("cray", "cray"),
    ],
)
def test_what_cannot_be_used(collectives: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        machine(collectives)
