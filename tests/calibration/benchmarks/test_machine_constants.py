"""Constants that are known, found again in times that the formulas below make of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.calibration.benchmarks.machine_constants import MachineCalibration, calibrate_machine
from simcodesign.core.errors import InputError
from simcodesign.describe.yaml.files import load_machine
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable, read_benchmark
from simcodesign.report.calibration.benchmark_tables import benchmark_dict, benchmark_sentences
from simcodesign.report.calibration.machine_file import lines_text, machine_file_text
from tests.builders import workload

SIZES = [float(2**power) for power in range(21)]
US, GB = 1e-6, 1e9
MACHINE = """simcodesign: 1
name: made
nodes: 16
processor: {rate: 1 GFLOP/s}
memory: {latency: 100 ns, bandwidth: 10 GB/s}
network: {topology: {kind: crossbar}, sends: blocking, startup: 1 us, bandwidth: 1 GB/s, hop_latency: 0 s}
"""
LOGGOP = """simcodesign: 1
name: made
nodes: 16
processor: {rate: 1 GFLOP/s}
network: {topology: {kind: crossbar}, model: loggop, L: 1 us, o: 400 ns, g: 100 ns, G: 1 ns/B}
"""


def table(operation: str, rows: Sequence[tuple[float, dict[str, float]]], quantity: str = "time") -> BenchmarkTable:
    """Rows of one operation: value and parameters."""
    made = [BenchmarkRow(operation, quantity, value, line, parameters=at) for line, (value, at) in enumerate(rows, 1)]
    return BenchmarkTable(f"{operation}.txt", "made", tuple(made))


def by_size(
    operation: str, seconds: Callable[[float], float], noise: float = 0.0, seed: int = 0, **at: float
) -> BenchmarkTable:
    draw = np.random.default_rng(seed)
    rows = [(seconds(size) * float(np.exp(noise * draw.standard_normal())), {"bytes": size, **at}) for size in SIZES]
    return table(operation, rows)


def named(of: BenchmarkTable, algorithm: str) -> BenchmarkTable:
    """The table with an algorithm in each row."""
    return replace(of, rows=tuple(replace(row, labels={"algorithm": algorithm}) for row in of.rows))


def two_protocols(size: float) -> float:
    """1.5 us and 2 GB/s up to 4 KiB; beyond, 6 us and 8 GB/s."""
    return 1.5 * US + size / (2 * GB) if size <= 4096 else 6 * US + size / (8 * GB)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    path = tmp_path / "made.yaml"
    path.write_text(MACHINE)
    return path


def constants(calibration: MachineCalibration) -> dict[str, float]:
    """Those that are not of segments."""
    messages = calibration.messages
    return {one.path: one.value for one in (*(messages.constants if messages else ()), *calibration.constants)}


def test_segments_receive_overhead_and_hop_latency_are_found_again(machine: Path) -> None:
    near = by_size("ping_pong", lambda size: two_protocols(size) + 0.3 * US + 0.2 * US, hops=1.0)
    far = by_size("ping_pong", lambda size: two_protocols(size) + 0.3 * US + 5 * 0.2 * US, hops=5.0)
    late = by_size("late_receive", lambda size: 0.3 * US + size / (20 * GB))
    found = calibrate_machine(machine, [near, far, late])
    assert found.messages is not None
    small, large = found.messages.segments
    assert (small.up_to, small.up_to_range) == (4096, (4096, 8192))
    assert small.startup.value == pytest.approx(1.5 * US, rel=1e-6)
    assert small.per_byte.value == pytest.approx(1 / (2 * GB), rel=1e-6)
    assert large.startup.value == pytest.approx(6 * US, rel=1e-6)
    assert large.per_byte.value == pytest.approx(1 / (8 * GB), rel=1e-6)
    assert constants(found) == {
        "network.receive_overhead": pytest.approx(0.3 * US, rel=1e-6),
        "network.hop_latency": pytest.approx(0.2 * US, rel=1e-6),
    }
    assert not any(group.missing for group in found.messages.all_unknown.groups)
    assert set(found.roles) == {"calibration"}


def test_the_written_machine_forecasts_what_was_measured(machine: Path) -> None:
    late = by_size("late_receive", lambda size: 0.3 * US + size / (20 * GB))
    found = calibrate_machine(machine, [by_size("ping_pong", lambda size: two_protocols(size) + 0.3 * US), late])
    path = machine.parent / "calibrated.yaml"
    path.write_text(machine_file_text(found, "calibrated"))
    calibrated = load_machine(path)
    assert "ping_pong.txt lines 1-21" in calibrated.source
    assert [float(segment.up_to_bytes) for segment in calibrated.network.message_model.segments] == [4096, np.inf]
    for size in (64.0, 4096.0, 5000.0, 1e6):
        way = forecast(
            workload("- broadcast: {bytes: m}\n", "parameters: {m: {default: 1}}\n"), calibrated, {"m": size, "P": 2}
        )
        assert float(way.makespan_s) == pytest.approx(
            two_protocols(size) + 0.3 * US, rel=1e-5
        )  # six digits are written


def test_what_ping_pongs_alone_cannot_tell_apart_is_said(machine: Path) -> None:
    found = calibrate_machine(machine, [by_size("ping_pong", lambda size: 2 * US + size / GB)])
    assert found.messages is not None
    (group,) = [one for one in found.messages.all_unknown.groups if one.missing]
    assert {*group.undetermined} == {"startup of segment 1", "network.receive_overhead", "network.hop_latency"}
    (combination,) = group.combinations
    assert combination.value == pytest.approx(2 * US, rel=1e-6)
    assert len(found.messages.segments) == 1
    assert found.messages.segments[0].startup.value == pytest.approx(2 * US, rel=1e-6)
    known = calibrate_machine(
        machine, found.tables, known={"network.receive_overhead": 0.5 * US, "network.hop_latency": 0.25 * US}
    )
    assert known.messages is not None
    assert known.messages.segments[0].startup.value == pytest.approx(1.25 * US, rel=1e-6)


def test_loggops_overheads_from_sends_and_receives(tmp_path: Path) -> None:
    path = tmp_path / "made.yaml"
    path.write_text(LOGGOP)
    latency, overhead, per_byte, gap_per_byte = 2 * US, 0.5 * US, 0.05e-9, 0.1e-9
    found = calibrate_machine(
        path,
        [
            by_size("ping_pong", lambda size: latency + 2 * overhead + (size - 1) * gap_per_byte),
            by_size("isend", lambda size: overhead + (size - 1) * per_byte),
            by_size("late_receive", lambda size: overhead + size * 0.07e-9),
        ],
    )
    assert found.messages is not None
    (segment,) = found.messages.segments
    assert (segment.startup.path, segment.per_byte.path) == ("network.L", "network.G")
    assert segment.startup.value == pytest.approx(latency, rel=1e-6)
    assert segment.per_byte.value == pytest.approx(gap_per_byte, rel=1e-6)
    assert constants(found) == {
        "network.o": pytest.approx(overhead, rel=1e-6),
        "network.O": pytest.approx(per_byte, rel=1e-6),
    }


def test_loggops_segments_state_what_is_the_same_for_all(tmp_path: Path) -> None:
    path = tmp_path / "made.yaml"
    path.write_text(LOGGOP)
    found = calibrate_machine(path, [by_size("ping_pong", two_protocols)])
    written = tmp_path / "calibrated.yaml"
    written.write_text(machine_file_text(found, "calibrated"))
    small, large = load_machine(written).network.message_model.segments
    assert [small.overhead_s, large.overhead_s] == [0.4 * US] * 2  # as the machine has it
    assert small.latency_s == pytest.approx(1.5 * US + 1 / (2 * GB) - 0.8 * US, rel=1e-4)


def test_what_the_machine_says_and_times_have_no_room_for_is_kept_at_0(tmp_path: Path) -> None:
    path = tmp_path / "made.yaml"
    path.write_text(LOGGOP.replace("400 ns", "5 us"))
    found = calibrate_machine(path, [by_size("ping_pong", lambda size: 2 * US + size / GB)])
    assert found.messages is not None
    assert found.messages.segments[0].startup.value == pytest.approx(2 * US, rel=1e-2)
    assert any("would take longer than whole ping-pongs" in note for note in found.notes)


@pytest.mark.thorough
@pytest.mark.parametrize("noise", [0.01, 0.05])
def test_intervals_hold_the_truth_as_often_as_they_say(machine: Path, noise: float) -> None:
    inside = total = 0
    for seed in range(100):
        found = calibrate_machine(machine, [by_size("ping_pong", two_protocols, noise, seed)], segments=2, level=0.9)
        assert found.messages is not None
        for segment, startup, per_byte in zip(
            found.messages.segments, (1.5 * US, 6 * US), (1 / (2 * GB), 1 / (8 * GB)), strict=True
        ):
            inside += segment.startup.low <= startup <= segment.startup.high
            inside += segment.per_byte.low <= per_byte <= segment.per_byte.high
            total += 2
    # The cut is taken as known, which costs a little where noise moves it: three standard deviations and 3 %.
    assert inside / total >= 0.9 - 3 * np.sqrt(0.9 * 0.1 / total) - 0.03
    assert inside / total <= 0.97


def windows(operation: str, bandwidth: float, **at: float) -> BenchmarkTable:
    """Messages of 1 us and bytes / bandwidth, as bandwidths by size."""
    rows = [(size / (US + size / bandwidth), {"bytes": size, **at}) for size in SIZES]
    return table(operation, rows, "bandwidth")


@pytest.mark.parametrize(("both_ways", "kind"), [(23.5 * GB, "full"), (12.5 * GB, "half")])
def test_interfaces_by_windows_one_way_and_both_ways(machine: Path, both_ways: float, kind: str) -> None:
    found = calibrate_machine(machine, [windows("window", 12 * GB), windows("window_both_ways", both_ways)])
    assert constants(found) == {"network.interfaces.per_byte": pytest.approx(1 / (12 * GB), rel=1e-6)}
    assert found.duplex == kind
    text = machine_file_text(found, "calibrated")
    (machine.parent / "calibrated.yaml").write_text(text)
    interfaces = load_machine(machine.parent / "calibrated.yaml").network.interfaces
    assert (interfaces.duplex, float(interfaces.per_byte_s or 0)) == (kind, pytest.approx(1 / (12 * GB), rel=1e-5))


def test_several_pairs_of_two_nodes_count_more_than_one(machine: Path) -> None:
    tables = [windows("window", 8 * GB), windows("multi_pair_window", 11 * GB, pairs=4.0)]
    assert constants(calibrate_machine(machine, tables))["network.interfaces.per_byte"] == pytest.approx(1 / (11 * GB))


def test_pairs_that_saturate_are_told(machine: Path) -> None:
    size = 4e6
    rows = [
        (size / min(1 * GB, 3 * GB / pairs), {"bytes": size, "pairs": pairs})
        for pairs in (1.0, 2, 3, 4, 5, 6)
        for _ in range(9)
    ]
    found = calibrate_machine(machine, [table("pairs_send", rows)])
    assert constants(found) == {"network.interfaces.per_byte": pytest.approx(1 / GB)}
    (note,) = [one for one in found.notes if "fall behind" in one]
    assert "From 4 pairs on" in note
    assert "3 GB/s" in note


def test_an_interface_slower_than_messages_is_not_written(machine: Path) -> None:
    found = calibrate_machine(machine, [by_size("ping_pong", lambda size: US + size / (2 * GB)), windows("window", GB)])
    assert constants(found) == {}
    assert any("slower than the fastest ping-pongs" in note for note in found.notes)


@pytest.mark.parametrize(("key", "path"), [("interfaces.bandwidth", "interfaces"), ("link_bandwidth", "link")])
def test_a_machine_whose_interface_or_link_is_slower_than_ping_pongs_gets_one_as_fast(
    machine: Path, key: str, path: str
) -> None:
    text = MACHINE.replace("hop_latency: 0 s}", "hop_latency: 0 s, interfaces: {bandwidth: 1.5 GB/s}}")
    if key == "link_bandwidth":
        text = MACHINE.replace("hop_latency: 0 s}", "hop_latency: 0 s, link_bandwidth: 1.5 GB/s}")
    machine.write_text(text)
    found = calibrate_machine(machine, [by_size("ping_pong", lambda size: US + size / (2 * GB))])
    assert found.messages is not None
    (segment,) = found.messages.segments
    assert constants(found) == {f"network.{path}{'.' if path == 'interfaces' else '_'}per_byte": segment.per_byte.value}
    (line,) = [one for one in machine_file_text(found, "calibrated").splitlines() if "at least as fast" in one]
    assert line.partition("#")[2].split()[0] == "at"  # no interval: it is a bound
    slow = calibrate_machine(machine, [by_size("ping_pong", lambda size: US + size / GB)])
    assert constants(slow) == {}


def test_memory_by_stream_and_processors_by_linpack(machine: Path) -> None:
    rate, ranks = 3 * GB, 8.0
    sizes = (10000.0, 20000.0, 40000.0, 80000.0)
    runs = [
        ((2 / 3 * n**3 + 3 / 2 * n**2) / (ranks * rate) + 1e-9 * n**2 / np.sqrt(ranks), {"n": n, "P": ranks})
        for n in sizes
    ]
    stream = table("stream triad", [(40 * GB, {"threads": 4.0}), (42 * GB, {"threads": 8.0})], "bandwidth")
    found = calibrate_machine(machine, [table("hpl", runs), stream])
    assert constants(found) == {
        "memory.per_byte": pytest.approx(1 / (42 * GB)),
        "processor.rate": pytest.approx(rate, rel=1e-6),
    }
    assert found.roles == ["calibration"] * 4 + ["evidence", "calibration"]
    with pytest.raises(InputError, match="no constant"):
        calibrate_machine(machine, [table("hpl", runs[:2])])


def test_servers_by_what_all_ranks_reach_and_metadata_by_creations(machine: Path) -> None:
    machine.write_text(f"{MACHINE}storage: {{servers: 8, stripe: 1 MiB, stripe_count: 2, bandwidth: 1 GB/s}}\n")

    def runs(operation: str, of_server: float) -> BenchmarkTable:
        rows = [(of_server * min(8, 2 * ranks), {"P": ranks, "transfer_bytes": 1e6}) for ranks in (1.0, 2, 16, 16)]
        return table(operation, rows, "bandwidth")

    created = table("file creation", [(7000.0, {"P": 16.0})], "operation_rate")
    found = calibrate_machine(machine, [runs("read", 2 * GB), runs("write", 1.5 * GB), created])
    assert constants(found) == {
        "storage.per_byte": pytest.approx(1 / (2 * GB)),
        "storage.write_per_byte": pytest.approx(1 / (1.5 * GB)),
        "storage.metadata_rate": 7000,
    }
    written = machine.parent / "calibrated.yaml"
    written.write_text(machine_file_text(found, "calibrated"))
    storage = load_machine(written).storage
    assert storage is not None
    assert float(storage.per_byte_s) == pytest.approx(0.5e-9, rel=1e-5)
    assert storage.servers == 8


def test_reductions_are_by_the_rules_of_the_machine(tmp_path: Path) -> None:
    """By rings of eight: 14 steps of an eighth of the vector, 7 of which an operator of 5 GB/s takes part in."""
    path = tmp_path / "rules.yaml"
    path.write_text(
        "simcodesign: 1\nname: rules\nnodes: 8\nprocessor: {rate: 1 GFLOP/s}\n"
        "network: {startup: 2 us, bandwidth: 1 GB/s, topology: {kind: crossbar}}\n"
        "collectives: {allreduce: [{algorithm: ring}]}\n"
    )
    found = calibrate_machine(
        path,
        [
            by_size("ping_pong", lambda size: 2 * US + size / GB),
            by_size("allreduce", lambda size: 14 * (2 * US + size / 8 / GB) + 7 * size / 8 / (5 * GB), P=8.0),
        ],
    )
    assert constants(found)["network.reduction_per_byte"] == pytest.approx(1 / (5 * GB), rel=1e-6)
    assert any("allreduce is taken to be by the rules of rules" in note for note in found.notes)


def test_reductions_are_allreduce_less_broadcast(machine: Path) -> None:
    # Three rounds among eight; every message takes 1.3 times as long in collectives, and an operator runs at 5 GB/s.
    def messages(size: float) -> float:
        return 1.3 * 3 * (2 * US + size / GB)

    found = calibrate_machine(
        machine,
        [
            by_size("ping_pong", lambda size: 2 * US + size / GB),
            by_size("broadcast", messages, P=8.0),
            by_size("allreduce", lambda size: messages(size) + 3 * size / (5 * GB), P=8.0),
        ],
    )
    assert constants(found)["network.reduction_per_byte"] == pytest.approx(1 / (5 * GB), rel=1e-6)
    assert any("recursive_doubling" in note for note in found.notes)


def test_copies_of_blocks_are_bruck_less_its_messages(machine: Path) -> None:
    """Three rounds of half of the P blocks among eight, four among sixteen; each copies log2 P + 2 times all blocks, in
    30 ns a block and at 5 GB/s."""

    def bruck(ranks: int) -> Callable[[float], float]:
        rounds = int(np.log2(ranks))
        blocks = ranks * (rounds + 2)
        return lambda size: rounds * (2 * US + ranks / 2 * size / GB) + blocks * 0.03 * US + blocks * size / (5 * GB)

    found = calibrate_machine(
        machine,
        [
            by_size("ping_pong", lambda size: 2 * US + size / GB),
            *(named(by_size("all_to_all", bruck(ranks), P=float(ranks)), "bruck") for ranks in (8, 16)),
        ],
    )
    assert constants(found)["network.packing"] == pytest.approx(0.03 * US, rel=1e-6)
    assert constants(found)["network.packing_per_byte"] == pytest.approx(1 / (5 * GB), rel=1e-6)
    assert "packing_bandwidth: 5 GB/s" in machine_file_text(found, "own")


def test_collectives_without_ranks_are_named(machine: Path) -> None:
    """An allgather of which nothing states P is no evidence, and a note says what to give."""
    pings = by_size("ping_pong", lambda size: 2 * US + size / GB)
    gathers = by_size("allgather", lambda size: 9 * US + size / GB)
    (note,) = [one for one in calibrate_machine(machine, [pings, gathers]).notes if "number of ranks" in one]
    assert "allgather.txt: nothing states the number of ranks of allgather" in note
    assert "--given allgather.txt:P=8" in note
    known = by_size("allgather", lambda size: 9 * US + size / GB, P=8.0)
    assert not [one for one in calibrate_machine(machine, [pings, known]).notes if "number of ranks" in one]


def test_json_and_sentences_name_the_rows(machine: Path) -> None:
    found = calibrate_machine(machine, [by_size("ping_pong", two_protocols), table("barrier", [(US, {"P": 8.0})])])
    data = benchmark_dict(found)
    assert [one["up_to"] for one in data["segments"]] == [4096, None]
    assert [(one["file"], one["used_lines"]) for one in data["files"]] == [
        ("ping_pong.txt", list(range(1, 22))),
        ("barrier.txt", []),
    ]
    assert data["cross_validation"]["chosen"] == 2
    assert any("no row was used." in sentence for sentence in benchmark_sentences(found))


def test_sentences_name_the_files_whose_rows_are_evidence(machine: Path) -> None:
    collective = by_size("allgather", lambda size: 3 * (2 * US + size / GB), P=8.0)
    found = calibrate_machine(machine, [by_size("ping_pong", lambda size: 2 * US + size / GB), collective])
    assert [one.bytes for one in found.evidence] == [(1.0, 128.0), (128.0, 16384.0), (16384.0, 1048576.0)]
    assert sum(one.rows for one in found.evidence) == 21
    (sentence,) = (one for one in benchmark_sentences(found) if one.startswith("allgather.txt"))
    assert sentence.endswith("no row was used; its rows of collective operations are evidence.")


@pytest.mark.parametrize("known", [{"network.startup": 1.0}, {"network.hop_latency": -1.0}])
def test_constants_that_cannot_be_given_are_refused(machine: Path, known: dict[str, float]) -> None:
    with pytest.raises(InputError):
        calibrate_machine(machine, [by_size("ping_pong", two_protocols)], known=known)


@pytest.mark.parametrize(("noise", "is_stated"), [(0.05, False), (1.0, True)])
def test_repetitions_that_differ_are_stated(machine: Path, noise: float, is_stated: bool) -> None:
    """Five repetitions of each size, of which quartiles differ by 1.1 and by a factor of some 3."""
    found = calibrate_machine(machine, [by_size("ping_pong", two_protocols, noise, seed, nodes=2) for seed in range(5)])
    assert any("Repetitions of a ping-pong differ by a factor" in note for note in found.notes) == is_stated


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ((), ""),
        ((7,), "7"),
        ((1, 2, 3, 9), "1-3, 9"),
        ((2, 4, 6, 8, 10), "2, 4, ..., 10"),
        ((1, 5, 6, 7, 20, 30), "1, 5-7, 20, 30"),
        (tuple(n**2 for n in range(1, 25)), ", ".join(str(n**2) for n in range(1, 25))),
        (
            tuple(n**2 for n in range(1, 26)),
            "1, ..., 625 (25 of them: role calibration in the table of --write rows:FILE)",
        ),
    ],
)
def test_lines_in_short(lines: tuple[int, ...], text: str) -> None:
    assert lines_text(lines) == text


@pytest.mark.parametrize(
    ("each", "has_collective", "note"),
    [
        (1, False, "No collective operation follows from these rows: messages alone show nothing"),
        (1, True, None),
        (4, False, "No collective operation follows from these rows: messages alone show nothing"),
        (4, True, "No constant describes what the ranks of a full node share when all of them send"),
    ],
)
def test_rows_of_collectives_are_not_said_to_be_absent(
    tmp_path: Path, each: int, has_collective: bool, note: str | None
) -> None:
    machine, pair, many = (tmp_path / name for name in ("cluster.yaml", "pair.txt", "many.txt"))
    machine.write_text(
        f"simcodesign: 1\nname: cluster\nnodes: 8\nprocessors_per_node: {each}\nprocessor: {{rate: 1 GFLOP/s}}\n"
        "network: {topology: {kind: crossbar}, startup: 1 us, bandwidth: 1 GB/s}\n"
    )
    pair.write_text("# OSU MPI Latency Test v7.3\n# Size  Latency (us)\n8 1.01\n1024 2.02\n8192 9.19\n")
    many.write_text("# OSU MPI Allgather Latency Test v7.3\n# Size  Avg Latency(us)\n8 3.00\n1024 6.00\n")
    files = [read_benchmark(pair).with_parameters({"nodes": 2})]
    files += [read_benchmark(many).with_parameters({"P": 8})] if has_collective else []
    notes = calibrate_machine(machine, files, segments=1).notes
    found = [one for one in notes if one.startswith(("No collective", "No constant"))]
    assert [one.startswith(note) for one in found] == [True] if note else not found
