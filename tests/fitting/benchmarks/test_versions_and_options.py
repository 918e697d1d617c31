"""Outputs of other versions and options of benchmarks, behind ranks, and several in one log, as rows by hand."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from simcodesign.core.errors import InputError
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable, read_benchmark
from simcodesign.fitting.readers.formats import read_measurements
from tests.fitting.benchmarks import outputs

US = pytest.approx


SYNCHRONISED = (("MPI_Win_flush", 0.3), ("MPI_Win_post/start/complete/wait", 0.9))


def read(folder: Path, text: str, name: str = "output.txt", format: str | None = None) -> BenchmarkTable:
    path = folder / name
    path.write_text(text)
    return read_benchmark(path, format)


def facts(rows: tuple[BenchmarkRow, ...], *names: str) -> list[tuple[object, ...]]:
    """Operation, quantity, value and these parameters of each row."""
    return [(row.operation, row.quantity, row.value, *map(row.parameters.get, names)) for row in rows]


def test_osu_non_blocking_times_are_of_communication_alone(tmp_path: Path) -> None:
    table = read(tmp_path, outputs.OSU_NON_BLOCKING)
    reduce, barrier = "non_blocking_allreduce", "non_blocking_barrier"
    assert facts(table.rows, "bytes") == [
        (reduce, "time", US(20e-6), 1),
        (reduce, "overall_time", US(30e-6), 1),
        (reduce, "compute_time", US(18e-6), 1),
        (reduce, "overlap", US(0.4), 1),
        (barrier, "time", US(64e-6), None),
        (barrier, "overall_time", US(90e-6), None),
        (barrier, "compute_time", US(68e-6), None),
        (barrier, "overlap", US(0.655), None),
    ]
    assert (table.rows[4].low, table.rows[4].high) == (US(60e-6), US(66e-6))
    assert [row.low for row in table.rows[5:]] == [None] * 3
    assert table.notes == ("line 8: the validation of non_blocking_allreduce failed; the row is left out.",)


def test_osu_options_and_threads(tmp_path: Path) -> None:
    rows = read(tmp_path, outputs.OSU_OPTIONS).rows
    assert facts(rows, "bytes", "P", "threads", "sender_threads") == [
        ("allgather", "time", US(5e-6), 8, None, None, None),
        ("ping_pong", "time", US(1.5e-6), 16, 2, None, None),
        ("multi_threaded_ping_pong", "time", US(9e-6), 8, 2, 4, 2),  # old versions say it above the title
        ("multi_threaded_ping_pong", "time", US(7e-6), 8, 2, 3, 1),
        ("ping_pong", "time", US(1.75e-6), 32, 2, None, None),  # no thread of the test before
        ("persistent_broadcast", "time", US(2e-6), 4, None, None, None),
        ("multi_pair_ping_pong", "time", US(3e-6), 2, None, None, None),
        ("ping_pong", "time", US(2.4e-6), 1, 2, None, None),
        ("multi_process_ping_pong", "time", US(48e-6), 4, None, None, None),
    ]
    derived = {"data": "derived datatype"}  # it prints the bytes that are sent, and another test no such column
    assert [row.labels for row in rows] == [{}, derived, *[{}] * 5, {"device": "CUDA"}, {}]
    assert (rows[8].parameters["sender_processes"], rows[8].parameters["processes"]) == (2, 3)
    assert (rows[0].low, rows[0].high, rows[0].repetitions) == (US(4e-6), US(6e-6), 1000)


@pytest.mark.parametrize(
    ("title", "buffers", "device"),
    [
        ("MPI", "", None),
        ("MPI-CUDA", "", "CUDA"),  # version 7.5 does not say where the buffers are
        ("MPI-CUDA", "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n", "CUDA"),
        ("MPI-ROCM", "# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)\n", "ROCM, device to host"),
        ("MPI-CUDA", "# Send Buffer on MANAGED (M) and Receive Buffer on MANAGED (M)\n", "CUDA, managed to managed"),
        ("MPI-CUDA", "# Send Buffer on HOST (H) and Receive Buffer on HOST (H)\n", None),
        ("NCCL-CUDA", "", "CUDA"),
        ("NCCL", "", "NCCL"),
    ],
)
def test_osu_labels_the_memory_of_buffers(tmp_path: Path, title: str, buffers: str, device: str | None) -> None:
    text = f"# OSU {title} Latency Test v7.2\n{buffers}# Size          Latency (us)\n# Datatype: MPI_CHAR.\n1   4.06\n"
    (row,) = read(tmp_path, text).rows
    assert (row.operation, row.value, row.labels.get("device")) == ("ping_pong", US(4.06e-6), device)


def test_osu_one_sided_tests_are_parted_by_their_synchronisation(tmp_path: Path) -> None:
    part = "# OSU MPI_Put Latency Test v5.8\n# Window creation: MPI_Win_allocate\n# Synchronization: {}\n"
    texts = [f"{part.format(name)}# Size          Latency (us)\n1   {time}\n2   3.0\n" for name, time in SYNCHRONISED]
    rows = read(tmp_path, "".join(texts)).rows
    assert [(row.operation, row.labels["synchronization"], row.value) for row in rows[::2]] == [
        ("put", "MPI_Win_flush", US(0.3e-6)),
        ("put", "MPI_Win_post/start/complete/wait", US(0.9e-6)),
    ]
    assert len(read_measurements(tmp_path / "output.txt").regions) == 2


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("name", sorted(outputs.ALL))
def test_the_encodings_of_spreadsheets_and_powershell_change_nothing(tmp_path: Path, name: str, encoding: str) -> None:
    text = outputs.ALL[name][1].lstrip()
    (tmp_path / name).write_bytes(text.encode(encoding))
    found = read_benchmark(tmp_path / name)
    (tmp_path / name).write_text(text)
    assert found == read_benchmark(tmp_path / name)


def test_osu_several_pairs_have_two_ranks_each(tmp_path: Path) -> None:
    rows = read(tmp_path, outputs.OSU_BANDWIDTHS).rows
    assert {(row.parameters["pairs"], row.parameters["P"], row.parameters["window"]) for row in rows[3:]} == {
        (4, 8, 64)
    }


def test_imb_bandwidths_are_of_all_pairs_together(tmp_path: Path) -> None:
    rows = read(tmp_path, outputs.IMB_WINDOWS).rows
    assert facts(rows, "bytes", "P", "pairs") == [
        ("window", "operation_rate", 4e6, 0, 2, None),
        ("window", "bandwidth", 1e9, 1000, 2, None),
        ("window", "operation_rate", 1e6, 1000, 2, None),
        ("window", "bandwidth", 9.9e9, 1e6, 2, None),
        ("window", "operation_rate", 9900, 1e6, 2, None),
        ("multi_pair_window", "bandwidth", 12e9, 1e6, 9, 4),  # the ninth rank waits
        ("multi_pair_window", "operation_rate", 12000, 1e6, 9, 4),
        ("window_both_ways", "bandwidth", 18e9, 1e6, 2, None),
        ("window_both_ways", "operation_rate", 18000, 1e6, 2, None),
    ]


def test_imb_groups_and_rows_that_were_not_measured(tmp_path: Path) -> None:
    table = read(tmp_path, outputs.IMB_MULTI)
    assert facts(table.rows, "bytes", "P", "groups") == [
        ("allgather", "time", US(150e-6), 512, 120, None),
        ("multi_allgather", "time", US(35e-6), 512, 2, 60),
        ("multi_pair_ping_pong", "time", US(10e-6), 1024, 2, 2),
        ("multi_pair_ping_pong", "time", US(11e-6), 1024, 2, 2),
        ("all_to_all", "time", US(5e-6), 4, 4, None),
        ("all_to_all", "time", US(9e-6), 4096, 4, None),
        ("reduce_scatter_block", "time", US(4e-6), 1024, 4, None),  # 256 for each of four ranks
    ]
    assert [row.labels for row in table.rows[2:4]] == [{"group": "group 0"}, {"group": "group 1"}]
    assert table.notes == (
        "line 19: PingPong of 1073741824 bytes was not measured (out-of-mem).",
        "line 25: Alltoall of 1073741824 bytes was not measured (int-overflow).",
        "line 26: Alltoall of 536870912 bytes was not measured (time-out).",
    )


def test_imb_one_group_is_as_without_multi(tmp_path: Path) -> None:
    titles = "#bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
    multi = (
        "# Benchmarking Multi-Allreduce \n# ( 1 groups of 4 processes each running simultaneous ) \n"
        f"# Group    0                     : 0 1 2 3\n        Group       {titles}\n   0   4   1000   3.06   3.07   3.065\n"
    )
    plain = f"# Benchmarking Allreduce \n# #processes = 4 \n       {titles}   4   1000   3.06   3.07   3.065\n"
    of_group, alone = (replace(read(tmp_path, text).rows[0], line=0) for text in (multi, plain))
    assert of_group == alone
    assert (alone.operation, dict(alone.parameters), dict(alone.labels)) == ("allreduce", {"P": 4, "bytes": 4}, {})


def test_hpl_of_nvidia_has_a_rate_of_each_gpu(tmp_path: Path) -> None:
    # 2/3 n^3 + 3/2 n^2 operations in 52.88 s are 3.370e14 a second, of the whole.
    text = (
        "T/V                N    NB     P     Q         Time          Gflops (   per GPU)\n"
        "WC0           299008  1024     2     4        52.88       3.370e+05 ( 4.213e+04)\n"
        "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0000132 ...... PASSED\n"
    )
    time, rate = read(tmp_path, text).rows
    assert (time.value, time.parameters["P"], rate.quantity) == (52.88, 8, "flop_rate")
    assert rate.value == pytest.approx((2 / 3 * 299008**3 + 1.5 * 299008**2) / 52.88, rel=5e-4)


def test_stream_cut_short_has_the_threads_that_were_requested(tmp_path: Path) -> None:
    titles = "Function    Best Rate MB/s  Avg time     Min time     Max time\n"
    text = "".join(
        f"STREAM version $Revision: 5.10 $\nNumber of Threads requested = {threads}\n{counted}{titles}Triad: {rate} 2 1 3\n"
        for threads, counted, rate in ((96, "", 110880.1), (8, "Number of Threads counted = 4\n", 12299.7))
    )
    assert facts(read(tmp_path, text).rows, "threads") == [
        ("stream triad", "bandwidth", US(110880.1e6), 96),
        ("stream triad", "bandwidth", US(12299.7e6), 4),
    ]


def test_imb_modes_non_blocking_threads_and_files(tmp_path: Path) -> None:
    rows = read(tmp_path, outputs.IMB_OTHERS).rows
    put, exchange, barrier = "unidir_put", "non_blocking_all_to_all", "non_blocking_barrier"
    assert facts(rows, "bytes", "P", "threads") == [
        (put, "time", US(0.5e-6), 1024, 2, None),
        (put, "time", US(3e-6), 1024, 2, None),
        (exchange, "time", US(40e-6), 1024, 4, None),
        (exchange, "overall_time", US(60e-6), 1024, 4, None),
        (exchange, "compute_time", US(38e-6), 1024, 4, None),
        (exchange, "overlap", US(0.45), 1024, 4, None),
        ("non_blocking_broadcast", "time", US(8e-6), 1024, 4, None),
        (barrier, "time", US(20e-6), None, 4, None),
        (barrier, "overall_time", US(30e-6), None, 4, None),
        (barrier, "compute_time", US(19e-6), None, 4, None),
        (barrier, "overlap", US(0.5), None, 4, None),
        ("multi_threaded_ping_pong", "time", US(6e-6), 1024, 2, 4),  # 4096 bytes of four threads
        ("p_write_indv", "time", US(100e-6), 1024, 4, None),
    ]
    assert [row.labels.get("mode") for row in rows[:3]] == ["aggregate", "non-aggregate", None]
    assert [row.component for row in rows[-2:]] == ["communication", "disk"]


def test_imb_modes_are_series_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "imb.txt").write_text(outputs.IMB_OTHERS)
    regions = {*read_measurements(tmp_path / "imb.txt").regions}
    assert {"unidir_put (aggregate)", "unidir_put (non-aggregate)"} <= regions


def test_imb_columns_of_no_quantity_are_noted(tmp_path: Path) -> None:
    table = read(
        tmp_path, f"{outputs.IMB}# Benchmarking Other\n# #processes = 2\n #bytes #repetitions Joule\n 8 10 3.5\n"
    )
    assert table.rows == read(tmp_path, outputs.IMB).rows
    assert table.notes == ("line 39: no column of Other is a time or a bandwidth (#bytes #repetitions Joule).",)


def test_nccl_versions_without_devices_count_ranks_by_their_blocks(tmp_path: Path) -> None:
    table = read(tmp_path, outputs.NCCL_ALLGATHER)
    assert facts(table.rows, "bytes", "P") == [
        ("allgather", "time", US(20e-6), 1024, 4),
        ("allgather", "time", US(19.5e-6), 1024, 4),
    ]
    old = read(tmp_path, outputs.NCCL_OLD)
    assert facts(old.rows, "bytes", "P")[2:] == [
        ("collective", "time", US(20e-6), 1024, 4),
        ("collective", "time", US(19.5e-6), 1024, 4),
    ]
    assert old.notes == ("no line names the operation, and 'collective' may be allgather or all_to_all.",)


def test_nccl_blocks_of_unknown_ranks_and_types_have_no_bytes(tmp_path: Path) -> None:
    table = read(tmp_path, outputs.NCCL_ALLGATHER.replace("float", "newtype"))
    assert [dict(row.parameters) for row in table.rows] == [{}, {}]
    assert table.notes == ("the number of ranks of allgather is unknown: its rows have no bytes.",)


def test_nccl_ranks_by_blocks_where_lines_of_devices_are_cut(tmp_path: Path) -> None:
    # Of 16 ranks two are listed; 67108864 B are 16 blocks of 1048576 elements of 4 B.
    text = (
        "# Collective test starting: all_gather_perf\n# nThread 1 nGpus 8 minBytes 33554432\n"
        "#  Rank  0 Group  0 Pid  92057 on    a100-44 device  0 [0000:27:00] NVIDIA A100\n"
        "#  Rank  1 Group  0 Pid  92057 on    a100-44 device  1 [0000:2a:00] NVIDIA A100\n"
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
        "    67108864       1048576     float    none      -1   1914.8   35.05   32.86      0   1921.0   34.94   32.75    N/A\n"
    )
    row = read(tmp_path, text).rows[0]
    assert dict(row.parameters) == {"P": 16, "bytes": 4 * 1048576}


@pytest.mark.parametrize(
    ("redop", "root", "count", "operation"),
    [
        ("sum", -1, 1024, "allreduce"),
        ("sum", -1, 256, "reduce_scatter"),
        ("max", 2, 1024, "reduce"),
        ("none", 0, 1024, "broadcast"),
        ("none", 0, 256, "collective"),
        ("none", -1, 256, "collective"),
        ("none", -1, 1024, "sendrecv"),
    ],
)
def test_nccl_operations_by_operator_root_and_blocks(
    tmp_path: Path, redop: str, root: int, count: int, operation: str
) -> None:
    row = f"  4096  {count}  float  {redop}  {root}  20.00  0.20  0.15  0  19.50  0.21  0.16  0\n"
    assert {one.operation for one in read(tmp_path, outputs.NCCL_TIMES + row).rows} == {operation}


def test_nccl_several_tests_groups_and_iterations(tmp_path: Path) -> None:
    rows = read(tmp_path, outputs.NCCL_EACH).rows
    assert facts(rows, "bytes", "P", "nodes", "groups") == [
        ("broadcast", "time", US(20e-6), 1024, 2, 1, None),
        ("broadcast", "time", US(19e-6), 1024, 2, 1, None),
        ("multi_sendrecv", "time", US(30e-6), 1024, 2, 2, 2),
        ("multi_sendrecv", "time", US(29e-6), 1024, 2, 2, 2),
    ]
    assert [(row.low, row.high) for row in rows] == [
        (US(18e-6), US(25e-6)),
        (US(17e-6), US(24e-6)),
        *[(None, None)] * 2,
    ]


def test_nccl_types_and_operators_are_labels_where_there_are_several(tmp_path: Path) -> None:
    text = outputs.NCCL + outputs.NCCL.splitlines(keepends=True)[-3].replace("  sum", "  max")
    assert [row.labels.get("redop") for row in read(tmp_path, text).rows] == ["sum", "sum", "sum", "sum", "max", "max"]


def test_nccl_json_lists_the_first_rank_of_each_process(tmp_path: Path) -> None:
    table = read(tmp_path, outputs.NCCL_JSON, "out.json")
    assert facts(table.rows, "bytes", "P", "nodes") == [
        ("all_to_all", "time", US(20.5e-6), 1024, 8, 2),
        ("all_to_all", "time", US(21.5e-6), 1024, 8, 2),
        ("all_to_all", "time", US(31.5e-6), 2048, 8, 2),
    ]
    assert [row.labels["placement"] for row in table.rows] == ["out-of-place", "in-place", "in-place"]
    assert (table.rows[0].low, table.rows[0].high) == (US(19e-6), US(23e-6))
    whole = json.loads(outputs.NCCL_JSON)
    on_one_line = read(tmp_path, json.dumps(whole)).rows
    assert facts(on_one_line, "bytes") == facts(table.rows, "bytes")
    assert [row.line for row in table.rows] == [2, 2, 3]
    assert [row.line for row in on_one_line] == [1, 1, 2]  # the numbers of the results, so that they stay apart
    whole["results"][0]["in_place"]["nwrong"] = 3.0
    with pytest.raises(InputError, match="wrong"):
        read(tmp_path, json.dumps(whole))


def test_nccl_times_of_calls_are_no_times_of_operations(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no measurement"):
        read(tmp_path, outputs.NCCL.replace(" time ", " cputime "))


PREFIXES: dict[str, Callable[[int], str]] = {
    "srun -l": lambda rank: f"{rank}: ",
    "srun -l, ten ranks": lambda rank: f"{rank:2}: ",
    "mpiexec -prepend-rank": lambda rank: f"[{rank}] ",
    "mpirun --tag-output": lambda rank: f"[1,{rank}]<stdout>:",
    "Open MPI 5": lambda rank: f"[prterun-host-42@1,{rank}]<stdout>: ",
    "tag-detailed": lambda rank: f"[1,{rank}][node-a:42]<stdout>: ",
}


def prefixed(text: str, prefix: str) -> str:
    return "".join(f"{prefix}{line}" for line in text.splitlines(keepends=True))


@pytest.mark.parametrize("launcher", PREFIXES)
@pytest.mark.parametrize("name", outputs.ALL)
def test_ranks_before_lines_change_nothing(tmp_path: Path, name: str, launcher: str) -> None:
    text = outputs.ALL[name][1]
    plain, tagged = tmp_path / name, tmp_path / f"tagged_{name}"
    plain.write_text(text)
    tagged.write_text(prefixed(text, PREFIXES[launcher](0)))
    assert read_benchmark(tagged).rows == read_benchmark(plain).rows
    tagged.write_bytes(gzip.compress(tagged.read_bytes()))
    assert read_benchmark(tagged).rows == read_benchmark(plain).rows


@pytest.mark.parametrize("launcher", PREFIXES)
def test_outputs_of_ranks_that_interleave_are_read_one_after_another(tmp_path: Path, launcher: str) -> None:
    other = outputs.STREAM.replace("Threads counted = 8", "Threads counted = 4").replace("42500.0", "21000.0")
    pairs = zip(outputs.STREAM.splitlines(), other.splitlines(), strict=True)
    zero, one = (PREFIXES[launcher](rank) for rank in (0, 1))
    rows = read(tmp_path, "".join(f"{zero}{first}\n{one}{second}\n" for first, second in pairs)).rows
    assert [(row.parameters["threads"], row.value, row.line) for row in rows if row.operation == "stream triad"] == [
        (8, 42.5e9, 31),
        (4, 21e9, 32),
    ]


@pytest.mark.parametrize("launcher", PREFIXES)
def test_a_long_script_above_ranks_is_no_rank(tmp_path: Path, launcher: str) -> None:
    script = "".join(f"Loading module {number}\n" for number in range(50))
    rows = read(tmp_path, script + prefixed(outputs.OSU_LATENCY, PREFIXES[launcher](0))).rows
    assert facts(rows, "bytes")[-1] == ("ping_pong", "time", US(2.25e-6), 4096)
    assert [row.line for row in rows] == [54, 55, 56, 57]


def test_few_lines_with_ranks_are_what_they_are(tmp_path: Path) -> None:
    debug = "[0] MPI startup(): Multi-threaded optimized library\n"
    plain = read(tmp_path, outputs.IMB)
    assert read(tmp_path, outputs.IMB + debug).rows == plain.rows


def test_ior_and_mdtest_in_one_log_are_both_read(tmp_path: Path) -> None:
    apart = [read(tmp_path, text).rows for text in (outputs.IOR_TEXT, outputs.MDTEST)]
    table = read(tmp_path, outputs.IOR_TEXT + outputs.MDTEST)
    assert table.format == "ior and mdtest"
    assert facts(table.rows, "P") == facts((*apart[0], *apart[1]), "P")
    lines = (outputs.IOR_TEXT + outputs.MDTEST).splitlines()
    assert [lines[row.line - 1].split()[0] for row in table.rows] == ["write", "read", "write", "File", "File", "Tree"]
    measured = read_measurements(tmp_path / "output.txt")
    assert {*measured.regions} >= {"write", "file creation"}


def test_a_named_format_reads_its_own_part(tmp_path: Path) -> None:
    table = read(tmp_path, outputs.OSU_LATENCY + outputs.IMB + outputs.OSU_FULL, format="osu")
    assert (table.format, [row.operation for row in table.rows].count("ping_pong")) == ("osu", 4)
    every = read_measurements(tmp_path / "output.txt", "imb")
    assert {*every.regions} == {"ping_pong", "sendrecv", "allreduce"}


def test_a_named_format_reads_its_own_part_before_others_are_imported(tmp_path: Path) -> None:
    """In a process that has imported this format, but not those of the other outputs in the file."""
    path = tmp_path / "output.txt"
    path.write_text(outputs.OSU_LATENCY + outputs.IMB, encoding="utf-8")
    source = (
        "import simcodesign.fitting.readers.benchmarks.osu\n"
        "from simcodesign.fitting.readers.benchmarks.output.table import read_benchmark\n"
        f"print(*(row.operation for row in read_benchmark({str(path)!r}, 'osu').rows))"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, timeout=60)
    assert {*done.stdout.split()} == {"ping_pong"}


def test_hpc_challenge_has_linpack_and_stream_of_its_ranks(tmp_path: Path) -> None:
    table = read(tmp_path, outputs.HPCC)
    assert facts(table.rows, "n", "P") == [
        ("star_stream triad", "bandwidth", 3.5e9, 16666347, None),
        ("single_stream triad", "bandwidth", 9e9, 16666347, None),
        ("hpl", "time", 125, 28284, 16),
        ("hpl", "flop_rate", 120.7e9, 28284, 16),
    ]
    assert (table.rows[0].low, table.rows[0].high, table.rows[0].repetitions) == (2.5e9, 4.5e9, 9)
    assert "parts of HPC Challenge that are not read: PTRANS." in table.notes


def test_an_output_without_a_measurement_is_noted_beside_others(tmp_path: Path) -> None:
    table = read(tmp_path, outputs.MDTEST.partition("SUMMARY")[0] + outputs.STREAM)
    assert table.format == "stream"
    assert table.notes == ("the output of mdtest holds no measurement.",)


def test_files_of_others_are_read(cases: Path) -> None:
    """Values read off the files by hand: what they print, and between which ranks."""
    folder = cases / "files-of-others"
    (first, second) = read_benchmark(folder / "imb2019-multi-pingpong.txt").rows
    assert facts((first, second), "bytes", "P", "groups") == [
        ("multi_pair_ping_pong", "time", US(59.15e-6), 1024, 2, 2),
        ("multi_pair_ping_pong", "time", US(66.40e-6), 2048, 2, 2),
    ]
    gathers = read_benchmark(folder / "imb2019-multi-allgather.txt").rows
    assert facts(gathers, "bytes", "P", "groups")[0] == ("multi_allgather", "time", US(33.8e-6), 512, 2, 60)
    assert facts(gathers, "bytes", "P", "groups")[-1] == ("allgather", "time", US(177.07e-6), 512, 120, None)
    groups = [(row.parameters["P"], row.parameters.get("groups")) for row in gathers]
    assert groups == [(2, 60), (4, 30), (8, 15), (16, 7), (32, 3), (64, None), (120, None)]
    times = [row for row in read_benchmark(folder / "omb571-iallgather.txt").rows if row.quantity == "time"]
    assert facts((*times,), "bytes") == [
        ("non_blocking_allgather", "time", US(52.61e-6), 4),
        ("non_blocking_allgather", "time", US(51.11e-6), 8),
    ]
    barrier = read_benchmark(folder / "omb571-ibarrier.txt").rows
    assert {row.quantity: row.value for row in barrier} == {
        "time": US(63.15e-6),
        "overall_time": US(89.72e-6),
        "compute_time": US(68.02e-6),
        "overlap": US(0.6564),
    }
