"""The same operation printed by every benchmark is the same row: what its bytes are is defined in one place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simcodesign.describe.demands.collective import ALGORITHMS
from simcodesign.fitting.readers.benchmarks.output.operations import BYTES, PRINTED, operation_of, row_bytes
from simcodesign.fitting.readers.benchmarks.output.table import read_benchmark

DOCS = Path(__file__).parents[3] / "docs"
RANKS, BLOCK = 4, 1024
WHOLE = RANKS * BLOCK
#: Names of each benchmark, and the size it prints for buffers of four ranks with a block of 1 KiB for each; the bytes of
#: ours. By the definitions of MPI: a broadcast or a reduction is of the whole buffer, a rank has or gets a block.
OPERATIONS = {
    "broadcast": (WHOLE, ("Broadcast", "Bcast", "broadcast", "BCAST"), (WHOLE, WHOLE, WHOLE, WHOLE)),
    "reduce": (WHOLE, ("Reduce", "Reduce", "reduce", "REDUCE"), (WHOLE, WHOLE, WHOLE, WHOLE)),
    "allreduce": (WHOLE, ("Allreduce", "Allreduce", "all_reduce", "ALLREDUCE"), (WHOLE, WHOLE, WHOLE, WHOLE)),
    "reduce_scatter": (
        WHOLE,
        ("Reduce_scatter", "Reduce_scatter", "reduce_scatter", "REDUCE_SCATTER"),
        (WHOLE, WHOLE, WHOLE, WHOLE),
    ),
    "allgather": (BLOCK, ("Allgather", "Allgather", "all_gather", "ALLGATHER"), (BLOCK, BLOCK, WHOLE, WHOLE)),
    "gather": (BLOCK, ("Gather", "Gather", "gather", "GATHER"), (BLOCK, BLOCK, WHOLE, WHOLE)),
    "scatter": (BLOCK, ("Scatter", "Scatter", "scatter", "SCATTER"), (BLOCK, BLOCK, WHOLE, WHOLE)),
    "all_to_all": (
        BLOCK,
        ("All-to-All Personalized Exchange", "Alltoall", "alltoall", "ALLTOALL"),
        (BLOCK, BLOCK, WHOLE, WHOLE),
    ),
}
OSU = "# OSU MPI {} Latency Test v7.4\n# Size       Avg Latency(us)\n{}   12.50\n"
IMB = """# Benchmarking {}
# #processes = 4
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
       {} 1000 11.00 14.00 12.50
"""
NCCL = """# Collective test starting: {}_perf
#  Rank  0 Group  0 Pid  1 on node-a device  0 [0000:0f:00] X
#  Rank  1 Group  0 Pid  2 on node-a device  1 [0000:15:00] X
#  Rank  2 Group  0 Pid  3 on node-b device  0 [0000:0f:00] X
#  Rank  3 Group  0 Pid  4 on node-b device  1 [0000:15:00] X
#       size         count      type   redop    root     time   algbw   busbw #wrong
        {}   256  float   none  -1  12.50  0.10  0.10  0
"""
PICO = """collective_type,algo_name,nnodes,tasks_per_node,buffer_size,n_iter,min,median,max
{},ring,2,2,{},100,11000,12500,14000
"""


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_same_operation_is_the_same_row(tmp_path: Path, operation: str) -> None:
    size, names, printed = OPERATIONS[operation]
    path = tmp_path / "output.txt"
    rows = set()
    for template, name, printed_size in zip((OSU, IMB, NCCL, PICO), names, printed, strict=True):
        path.write_text(template.format(name, printed_size))
        (row,) = read_benchmark(path).with_parameters({"P": RANKS}).rows
        rows.add((row.operation, row.quantity, round(row.value * 1e9), row.parameters["bytes"], row.parameters["P"]))
    assert rows == {(operation, "time", 12500, size, RANKS)}


def test_windows_of_osu_and_of_intel_are_the_same_row(tmp_path: Path) -> None:
    osu, imb = tmp_path / "osu.txt", tmp_path / "imb.txt"
    osu.write_text("# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n1024      9000.00\n")
    imb.write_text("# Benchmarking Uniband\n# #processes = 2\n #bytes #repetitions Mbytes/sec\n 1024 1000 9000.00\n")
    (first,), (second,) = (read_benchmark(path).rows for path in (osu, imb))
    assert (first.operation, first.value, first.parameters) == (second.operation, second.value, second.parameters)
    osu.write_text(
        "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n# [ pairs: 8 ] [ window size: 64 ]\n"
        "# Size                  MB/s        Messages/s\n1024      9000.00  8789062.50\n"
    )
    imb.write_text(
        "# Benchmarking Uniband\n# #processes = 16\n #bytes #repetitions Mbytes/sec Msg/sec\n 1024 1000 9000.00 8789062\n"
    )
    (first, _), (second, _) = (read_benchmark(path).rows for path in (osu, imb))
    assert (first.operation, first.value) == (second.operation, second.value)
    assert {**second.parameters, "window": 64} == dict(first.parameters)  # Intel's prints no window


def test_blocks_of_unknown_ranks_have_no_bytes() -> None:
    assert row_bytes("nccl", "allgather", 4096, None) is None
    assert row_bytes("nccl", "allreduce", 4096, None) == 4096
    assert row_bytes("imb", "reduce_scatter_block", 256, 4) == 1024
    assert row_bytes("osu", "reduce_scatter_block", 1024, 4) == 1024
    assert row_bytes("nccl", "non_blocking_allgather", 4096, 4) == row_bytes("nccl", "multi_allgather", 4096, 4) == 1024


def test_every_collective_of_ours_with_bytes_is_defined() -> None:
    assert {*ALGORITHMS} - {"barrier", "all_broadcast"} <= {*BYTES}
    assert {operation_of(name) for name in BYTES} == {*BYTES}
    assert all({*operations} <= {*BYTES} for operations in PRINTED.values())


def test_the_page_says_what_bytes_are() -> None:
    text = (DOCS / "calibration.md").read_text(encoding="utf-8").partition("### What `bytes` is")[2]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    titles, _, *body = [row for row in rows if len(row) == 6]
    formats = [re.sub("`", "", title) for title in titles[2:]]
    said = {name: row for row in body for name in re.findall(r"`(\w+)`", row[0])}
    assert {*said} == {*BYTES}
    factor = {"as it is": 1, "divided by P": 1 / RANKS, "times P": RANKS}
    for name, row in said.items():
        assert row[1] == BYTES[name]
        for form, cell in zip(formats, row[2:], strict=True):
            if cell:  # empty: the benchmark has no such operation
                assert row_bytes(form, name, 1.0, RANKS) == factor[cell], (name, form)
