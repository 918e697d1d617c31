"""Rows at other ranks, pairs, threads or by other algorithms are no repetitions of one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from simcodesign.calibration.benchmarks.machine_constants import MachineCalibration, calibrate_machine
from simcodesign.calibration.benchmarks.samples import samples
from simcodesign.core.errors import InputError
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable, read_benchmark

SIZES = [float(2**power) for power in range(21)]
US, GB = 1e-6, 1e9
INTERFACE = "network.interfaces.per_byte"


def table(rows: Sequence[tuple[str, str, float, dict[str, float]]], form: str = "made") -> BenchmarkTable:
    """Rows of operation, quantity, value and parameters."""
    made = [
        BenchmarkRow(operation, quantity, value, line, parameters=at)
        for line, (operation, quantity, value, at) in enumerate(rows, 1)
    ]
    return BenchmarkTable("rows.txt", form, tuple(made))


def windows(
    operation: str, bandwidth: float, at: Mapping[str, float]
) -> list[tuple[str, str, float, dict[str, float]]]:
    """Messages of 1 us and bytes / bandwidth, as bandwidths by size."""
    return [(operation, "bandwidth", size / (US + size / bandwidth), {**at, "bytes": size}) for size in SIZES]


def constants(found: MachineCalibration) -> dict[str, float]:
    return {one.path: one.value for one in found.constants}


@pytest.mark.parametrize("name", ["P", "pairs", "threads", "sender_threads", "groups", "window"])
def test_what_rows_state_parts_them(name: str) -> None:
    rows = table(
        [("any", "time", value, {"bytes": 8.0, name: at}) for value, at in ((1.0, 2.0), (9.0, 4.0), (3.0, 2.0))]
    )
    assert [(one.parameters[name], one.values) for one in samples([rows], "any")] == [(2, (1.0, 3.0)), (4, (9.0,))]


def test_windows_of_two_ranks_tell_the_interface_and_those_of_more_do_not() -> None:
    of_more = [
        row for pairs in (2, 4) for row in windows("multi_pair_window", 18 * GB, {"P": 2 * pairs, "pairs": pairs})
    ]
    imb = table([*windows("window", 10 * GB, {"P": 2.0}), *of_more], "imb")
    found = calibrate_machine("crossbar-16", [imb])
    assert constants(found) == {INTERFACE: pytest.approx(1 / (10 * GB), rel=1e-6)}
    assert found.roles == ["calibration"] * 21 + ["evidence"] * 42
    (note,) = [one for one in found.notes if "Windows of" in one]
    assert "GB/s together" in note
    of_two_nodes = calibrate_machine("crossbar-16", [imb.with_parameters({"nodes": 2.0})])
    assert constants(of_two_nodes) == {INTERFACE: pytest.approx(1 / (18 * GB), rel=1e-6)}


def test_a_log_of_intels_and_another_benchmark_does_not_say_where_pairs_are() -> None:
    rows = [*windows("window", 10 * GB, {"P": 2.0}), *windows("multi_pair_window", 18 * GB, {"P": 8.0, "pairs": 4.0})]
    assert constants(calibrate_machine("crossbar-16", [table(rows, "osu and imb")])) == {
        INTERFACE: pytest.approx(1 / (10 * GB), rel=1e-6)
    }


def test_one_pair_of_osu_mbw_mr_is_a_window() -> None:
    rows = table(windows("multi_pair_window", 12 * GB, {"P": 2.0, "pairs": 1.0, "window": 64.0}), "osu")
    assert constants(calibrate_machine("crossbar-16", [rows])) == {INTERFACE: pytest.approx(1 / (12 * GB), rel=1e-6)}


def test_the_largest_window_of_the_most_pairs_counts() -> None:
    rows = [
        row
        for pairs, window, bandwidth in ((4.0, 1.0, 5 * GB), (4.0, 64.0, 11 * GB), (2.0, 64.0, 9 * GB))
        for row in windows("multi_pair_window", bandwidth, {"P": 2 * pairs, "pairs": pairs, "window": window})
    ]
    assert constants(calibrate_machine("crossbar-16", [table(rows, "osu")])) == {
        INTERFACE: pytest.approx(1 / (11 * GB), rel=1e-6)
    }


def test_duplex_compares_the_same_number_of_pairs() -> None:
    # One pair: both ways take as long as one way; four pairs, of which only one way was measured, take four times as long.
    size = 4e6
    one_way = [("pairs_send", "time", pairs * size / GB, {"bytes": size, "pairs": pairs}) for pairs in (1.0, 4.0, 4.0)]
    both = [("pairs_sendrecv", "time", size / GB, {"bytes": size, "pairs": 1.0})]
    assert calibrate_machine("crossbar-16", [table([*one_way, *both])]).duplex == "full"
    both = [("pairs_sendrecv", "time", 2 * size / GB, {"bytes": size, "pairs": 1.0})]
    assert calibrate_machine("crossbar-16", [table([*one_way, *both])]).duplex == "half"


def test_reductions_by_several_algorithms_are_not_pooled() -> None:
    # Among eight, three rounds of recursive doubling, with an operator at 5 GB/s; the ring takes ten times as long.
    def messages(size: float) -> float:
        return 3 * (2 * US + size / GB)

    rows = [
        BenchmarkRow("ping_pong", "time", 2 * US + size / GB, 1, parameters={"P": 2.0, "bytes": size}) for size in SIZES
    ]
    for size in SIZES:
        at = {"P": 8.0, "bytes": size}
        for algorithm, factor in (("recursive_doubling", 1.0), ("ring", 10.0), ("their_own", 7.0)):
            seconds = factor * (messages(size) + 3 * size / (5 * GB))
            rows.append(BenchmarkRow("allreduce", "time", seconds, 2, parameters=at, labels={"algorithm": algorithm}))
        for algorithm, factor in (("binomial", 1.0), ("chain", 6.0)):
            seconds = factor * messages(size)
            rows.append(BenchmarkRow("broadcast", "time", seconds, 3, parameters=at, labels={"algorithm": algorithm}))
    found = calibrate_machine("crossbar-16", [BenchmarkTable("rows.txt", "pico", tuple(rows))])
    assert constants(found)["network.reduction_per_byte"] == pytest.approx(1 / (5 * GB), rel=1e-6)
    assert "allreduce is that by recursive_doubling: the table has 3 algorithms." in found.notes


def test_uniband_of_two_to_sixteen_ranks(cases: Path) -> None:
    # The rows of two ranks are lines 37 to 59. Fitted alone, elsewhere, they give 105 ps a byte; pooled with others, 67.
    path = cases / "files-of-others" / "imb2019-uniband-16.txt"
    found = calibrate_machine("crossbar-16", [path])
    (constant,) = found.constants
    assert (constant.path, constant.lines) == (INTERFACE, {str(path): tuple(range(37, 60))})
    assert constant.value == pytest.approx(105e-12, rel=0.01)
    at_4_mib = {
        row.parameters["P"]: row.value / 1e6
        for row in read_benchmark(path).rows
        if row.quantity == "bandwidth" and row.parameters["bytes"] == 4 * 2**20
    }
    assert at_4_mib == pytest.approx({2: 9040.32, 4: 17728.44, 8: 18306, 16: 12231}, rel=1e-4)


def of_device(row: BenchmarkRow, device: str) -> BenchmarkRow:
    return replace(row, labels={"device": device})


def test_messages_between_accelerators_are_not_merged_with_those_between_hosts() -> None:
    host = table([("ping_pong", "time", 2 * US + size / (10 * GB), {"P": 2.0, "bytes": size}) for size in SIZES])
    slow = table([("ping_pong", "time", 20 * US + size / (40 * GB), {"P": 2.0, "bytes": size}) for size in SIZES])
    device = replace(slow, file="gpu.txt", rows=tuple(of_device(row, "CUDA") for row in slow.rows))
    memory = BenchmarkTable("s.txt", "stream", (BenchmarkRow("stream triad", "bandwidth", 1e11, 1, "memory"),))

    def startup(*tables: BenchmarkTable) -> tuple[float, MachineCalibration]:
        found = calibrate_machine("crossbar-16", [*tables, memory], segments=1)
        assert found.messages is not None
        return found.messages.segments[0].startup.value, found

    assert startup(host)[0] == pytest.approx(2 * US, rel=1e-9)
    value, found = startup(host, device)
    assert value == pytest.approx(2 * US, rel=1e-9)
    assert any("21 rows of accelerators' buffers (CUDA) are not used" in note for note in found.notes)
    assert found.roles == ["calibration"] * 21 + ["evidence"] * 22
    value, found = startup(device)
    assert value == pytest.approx(20 * US, rel=1e-9)
    assert any("All messages are between accelerators' buffers (CUDA)" in note for note in found.notes)
    other = replace(device, file="mixed.txt", rows=tuple(of_device(row, "CUDA, host to device") for row in device.rows))
    nccl = BenchmarkRow(
        "allreduce", "time", 1e-5, 1, parameters={"P": 8.0, "bytes": 8.0}, labels={"placement": "in-place"}
    )
    for first in (host, device):
        of_gpus = BenchmarkTable("nccl.txt", "nccl", (nccl,))
        notes = calibrate_machine("crossbar-16", [first, of_gpus], segments=1).notes
        assert any("1 row of accelerators' buffers (nccl-tests) is not used" in note for note in notes) == (
            first is host
        )
    with pytest.raises(InputError, match=r"several kinds of buffers.*CUDA; CUDA, host to device"):
        startup(device, other)


OSU_LATENCY = "# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us){}\n"


def osu(seconds: float, bandwidth: float, derived: bool = False) -> str:
    """What osu_latency prints, with -D of messages that are not contiguous."""
    sent = "     Transmit Size" if derived else ""
    rows = "".join(
        f"{int(size):<10d}{1e6 * (seconds + size / bandwidth):>18.2f}{f'{int(size):>18d}' if derived else ''}\n"
        for size in SIZES
    )
    return OSU_LATENCY.format(sent) + rows


def test_derived_datatypes_are_not_merged_with_contiguous_messages(tmp_path: Path) -> None:
    """A file of both, and two files; alone they determine nothing."""
    plain, derived = osu(2 * US, 10 * GB), osu(20 * US, GB, derived=True)
    (tmp_path / "both.txt").write_text(derived + plain)
    (tmp_path / "plain.txt").write_text(plain)
    (tmp_path / "derived.txt").write_text(derived)
    for files in (["both.txt"], ["derived.txt", "plain.txt"]):
        found = calibrate_machine("crossbar-16", [tmp_path / file for file in files], segments=1)
        assert found.messages is not None
        assert found.messages.segments[0].startup.value == pytest.approx(2 * US, rel=1e-3)
        assert any("21 of ping_pong of derived datatype" in note for note in found.notes)
    with pytest.raises(InputError, match=r"their data are not contiguous.*21 of ping_pong of derived datatype"):
        calibrate_machine("crossbar-16", [tmp_path / "derived.txt"])


def test_samples_of_other_data_are_apart() -> None:
    rows = [
        BenchmarkRow("any", "time", value, 1, parameters={"bytes": 8.0}, data=data)
        for value, data in ((1.0, "float sum"), (9.0, "half sum"), (3.0, "float sum"))
    ]
    parted = samples([BenchmarkTable("rows.txt", "made", tuple(rows))], "any")
    assert [(one.data, one.values) for one in parted] == [("float sum", (1.0, 3.0)), ("half sum", (9.0,))]
