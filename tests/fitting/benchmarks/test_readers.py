"""What benchmarks print, as rows in SI units: every number below is read off the text by hand."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.core.files.readers import FileStart
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable, read_benchmark, tidy_text
from simcodesign.fitting.readers.formats import READERS, read_measurements
from tests.fitting.benchmarks import outputs

MIB = 2**20


def read(folder: Path, name: str) -> BenchmarkTable:
    """The table of one of the outputs."""
    path = folder / name
    path.write_text(outputs.ALL[name][1])
    return read_benchmark(path)


def found(table: BenchmarkTable, operation: str, quantity: str = "time") -> list[BenchmarkRow]:
    return [row for row in table.rows if row.operation == operation and row.quantity == quantity]


def values(table: BenchmarkTable, operation: str, name: str, quantity: str = "time") -> dict[float, float]:
    """The values of an operation by a parameter."""
    return {row.parameters[name]: row.value for row in found(table, operation, quantity)}


@pytest.mark.parametrize("name", outputs.ALL)
def test_every_output_shows_its_format_and_is_series_for_fit(tmp_path: Path, name: str) -> None:
    table = read(tmp_path, name)
    assert table.format == outputs.ALL[name][0]
    lines = outputs.ALL[name][1].splitlines()
    for row in table.rows:  # a number of the row stands in its line
        assert any(character.isdigit() for character in lines[row.line - 1])
    if name == "hatchet.csv":  # one run has no parameter in which a fit could go
        with pytest.raises(InputError, match="without any parameter"):
            read_measurements(tmp_path / name)
        return
    measured = read_measurements(tmp_path / name)
    everything = sorted(row.value for row in table.rows)
    there = sorted(measured.values[~np.isnan(measured.values)].tolist())
    assert set(there) <= set(everything)
    assert len(there) == sum(all(row.parameters.get(one, 0) > 0 for one in measured.parameters) for row in table.rows)


@pytest.mark.parametrize("name", outputs.ALL)
def test_packed_by_gzip_it_is_the_same(tmp_path: Path, name: str) -> None:
    plain = read(tmp_path, name)
    packed = tmp_path / f"{Path(name).stem}.gz"
    packed.write_bytes(gzip.compress(outputs.ALL[name][1].encode()))
    assert read_benchmark(packed).rows == plain.rows


def test_osu_ping_pongs_of_empty_messages_count_too(tmp_path: Path) -> None:
    table = read(tmp_path, "osu_latency.txt")
    assert values(table, "ping_pong", "bytes") == pytest.approx({0: 1.05e-6, 1: 1.06e-6, 1024: 1.5e-6, 4096: 2.25e-6})
    assert [row.line for row in table.rows] == [4, 5, 6, 7]


def test_osu_collectives_with_all_columns(tmp_path: Path) -> None:
    table = read(tmp_path, "osu_full.txt")
    small, large = found(table, "allreduce")
    assert (small.low, small.value, small.high) == pytest.approx((2.9e-6, 3.1e-6, 3.4e-6))
    assert (large.parameters["bytes"], large.repetitions) == (MIB, 100)
    (barrier,) = found(table, "barrier")
    assert (barrier.value, dict(barrier.parameters)) == (pytest.approx(2.5e-6), {})
    assert values(table, "broadcast", "bytes") == pytest.approx({8: 1.75e-6})
    assert values(table, "all_to_all", "bytes") == pytest.approx({1: 11.25e-6})


def test_osu_bandwidths_are_of_ten_to_the_sixth(tmp_path: Path) -> None:
    table = read(tmp_path, "osu_bandwidths.out")
    assert values(table, "window", "bytes", "bandwidth") == pytest.approx({1: 4.5e6, MIB: 12e9})
    assert values(table, "window_both_ways", "bytes", "bandwidth") == pytest.approx({MIB: 23.5e9})
    assert values(table, "multi_pair_window", "bytes", "operation_rate") == pytest.approx({1: 2e7, MIB: 11682.51})
    assert {row.parameters["pairs"] for row in found(table, "multi_pair_window", "bandwidth")} == {4}


def test_osu_in_python_has_other_titles(tmp_path: Path) -> None:
    table = read(tmp_path, "osu_in_python.txt")
    assert values(table, "ping_pong", "bytes") == pytest.approx({0: 1.05e-6, 1024: 1.5e-6})
    assert values(table, "broadcast", "bytes") == pytest.approx({8: 1.75e-6})
    assert values(table, "window", "bytes", "bandwidth") == pytest.approx({MIB: 12e9})
    assert values(table, "window_both_ways", "bytes", "bandwidth") == pytest.approx({MIB: 22e9})


def test_imb_point_to_point_and_collectives(tmp_path: Path) -> None:
    table = read(tmp_path, "imb.txt")
    assert values(table, "ping_pong", "bytes") == pytest.approx({0: 1.1e-6, 4096: 2.2e-6})
    (both,) = found(table, "sendrecv")
    assert (both.low, both.value, both.high) == pytest.approx((2e-6, 2.5e-6, 3e-6))
    assert (both.parameters["P"], both.repetitions) == (16, 640)
    assert values(table, "allreduce", "bytes") == pytest.approx({4: 8e-6})
    assert values(table, "barrier", "P") == pytest.approx({16: 4.5e-6})


def test_nccl_has_two_placements_and_ranks_on_nodes(tmp_path: Path) -> None:
    table = read(tmp_path, "nccl.log")
    # busbw / algbw is 1.5 = 2 x 3/4: an allreduce among four.
    rows = found(table, "allreduce")
    assert [(row.labels["placement"], row.parameters["bytes"], row.value) for row in rows] == [
        ("out-of-place", 1024, pytest.approx(20e-6)),
        ("in-place", 1024, pytest.approx(19.5e-6)),
        ("out-of-place", MIB, pytest.approx(100e-6)),
        ("in-place", MIB, pytest.approx(105e-6)),
    ]
    assert {(row.parameters["P"], row.parameters["nodes"]) for row in rows} == {(4, 2)}


def test_nccl_says_itself_what_it_ran_or_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "named.txt"
    path.write_text(f"# Collective test starting: reduce_scatter_perf\n{outputs.NCCL}")
    assert {row.operation for row in read_benchmark(path).rows} == {"reduce_scatter"}
    path.write_text(outputs.NCCL.replace("15.73      0", "15.73      7"))
    with pytest.raises(InputError, match="wrong"):
        read_benchmark(path)


def test_hpl_runs_whose_residual_failed_are_left_out(tmp_path: Path) -> None:
    table = read(tmp_path, "HPL.out")
    (time,) = found(table, "hpl")
    assert (time.value, time.parameters["n"], time.parameters["P"], time.line) == (20.0, 10000, 8, 6)
    assert values(table, "hpl", "n", "flop_rate") == pytest.approx({10000: 33.34e9})
    assert len(table.notes) == 1
    assert "FAILED" in table.notes[0]


@pytest.mark.parametrize("name", ["hpcg.txt", "hpcg.yaml"])
def test_hpcg_in_both_forms(tmp_path: Path, name: str) -> None:
    table = read(tmp_path, name)
    assert {row.operation: row.value for row in table.rows if row.quantity == "time"} == {
        "hpcg ddot": 1.5,
        "hpcg mg": 40.25,
        "hpcg total": 60.0,
    }
    (rating,) = found(table, "hpcg rating", "flop_rate")
    assert rating.value == pytest.approx(20.75e9)
    assert dict(rating.parameters) == {"P": 32, "threads": 2, "nx": 104, "ny": 104, "nz": 52}


def test_stream_from_the_longest_to_the_shortest_repetition(tmp_path: Path) -> None:
    (triad,) = found(read(tmp_path, "stream.txt"), "stream triad", "bandwidth")
    assert (triad.value, triad.high) == (42.5e9, 42.5e9)
    assert triad.low == pytest.approx(42.5e9 * 0.045176 / 0.050196)
    assert (triad.parameters["threads"], triad.repetitions) == (8, 9)


@pytest.mark.parametrize("name", ["ior.out", "ior.csv", "ior.json"])
def test_ior_results_in_three_forms(tmp_path: Path, name: str) -> None:
    table = read(tmp_path, name)
    write = found(table, "write", "bandwidth")[0]
    assert write.value == 1000 * MIB
    assert (write.parameters["transfer_bytes"], write.parameters["block_bytes"]) == (MIB, 16 * MIB)
    assert write.parameters["P"] == 64
    if name == "ior.out":
        assert [row.value / MIB for row in found(table, "write", "bandwidth")] == [1000, 800]
        assert write.parameters["nodes"] == 4


def test_ior_summary_where_there_is_nothing_else(tmp_path: Path) -> None:
    (write,) = read(tmp_path, "ior_summary.txt").rows
    assert (write.low, write.value, write.high) == (800 * MIB, 900 * MIB, 1000 * MIB)
    assert (write.parameters["P"], write.parameters["nodes"], write.repetitions) == (64, 4, 2)


def test_mdtest_leaves_out_what_was_not_done(tmp_path: Path) -> None:
    table = read(tmp_path, "mdtest.txt")
    assert {row.operation: row.value for row in table.rows} == {
        "file creation": 7000,
        "file stat": 91000,
        "tree removal": 95,
    }
    (created,) = found(table, "file creation", "operation_rate")
    assert (created.low, created.high, created.parameters["P"]) == (6800, 7200, 128)


def test_pico_in_nanoseconds_by_shape(tmp_path: Path) -> None:
    broadcast, exchange = read(tmp_path, "pico.csv").rows
    assert (broadcast.operation, broadcast.labels["algorithm"]) == ("broadcast", "binomial")
    assert (broadcast.low, broadcast.value, broadcast.high) == pytest.approx((8.1e-6, 9e-6, 9.9e-6))
    assert dict(broadcast.parameters) == {"bytes": 1024, "P": 32, "nodes": 8}
    assert (exchange.operation, exchange.parameters["P"], exchange.repetitions) == ("all_to_all", 8, 50)


def test_caliper_by_region_and_ranks(tmp_path: Path) -> None:
    table = read(tmp_path, "caliper.csv")
    assert values(table, "main", "P") == {27: 40.5, 64: 42.0}
    (reduction,) = found(table, "MPI_Allreduce")
    assert (reduction.low, reduction.high, reduction.labels["cluster"]) == (1.0, 5.0, "opal")
    assert table.notes == ("1 times are missing",)


def test_hatchet_exclusive_and_inclusive(tmp_path: Path) -> None:
    rows = read(tmp_path, "hatchet.csv").rows
    by_scope = [(row.operation, row.labels["scope"], row.value) for row in rows]
    assert by_scope[:2] == [("main", "exclusive", 1.5), ("main", "inclusive", 10.0)]
    assert len(rows) == 6


def test_smpi_ping_pong_is_half_of_both_calls(tmp_path: Path) -> None:
    table = read(tmp_path, "x_PingPong.csv")
    assert [(row.operation, row.line) for row in table.rows] == [("ping_pong", 2), ("ping_pong", 4)]
    assert [row.value for row in table.rows] == pytest.approx([20e-6, 22e-6])
    assert {row.operation for row in read(tmp_path, "x_Recv.csv").rows} == {"late_receive"}


def test_smpi_load_counts_pairs_and_takes_senders(tmp_path: Path) -> None:
    rows = read(tmp_path, "load_send.csv").rows
    assert [(row.parameters["pairs"], row.value) for row in rows] == [
        (1, pytest.approx(5e-3)),
        (1, pytest.approx(5e-3)),
        *[(2, pytest.approx(8e-3))] * 4,
    ]


def test_what_no_benchmark_prints_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("p,value\n1,2\n")
    with pytest.raises(InputError, match="not what a benchmark prints"):
        read_benchmark(path)
    path.write_text("MPI_Recv,1024,0.1,3e-6\nMPI_Recv,nothing\n")
    with pytest.raises(InputError, match=r"runs\.csv:2"):
        read_benchmark(path)


def test_rows_cut_short_name_their_line(tmp_path: Path) -> None:
    path = tmp_path / "osu.txt"
    path.write_text(outputs.OSU_FULL.replace("2.90              3.40        1000", "2.90"))
    with pytest.raises(InputError, match=r"osu.txt:4"):
        read_benchmark(path)
    path.write_text(outputs.IMB.replace("2.20      1861.82", "2.20"))
    with pytest.raises(InputError, match=r"osu.txt:13"):
        read_benchmark(path)


def test_tidy_text_holds_every_row(tmp_path: Path) -> None:
    tables = [read(tmp_path, name) for name in ("osu_full.txt", "pico.csv")]
    lines = tidy_text(tables, {"role": ["evidence"] * sum(len(table.rows) for table in tables)}).splitlines()
    assert lines[0] == ("bytes,P,nodes,algorithm,shape,phase,component,value,low,high,count,interval,source,role")
    assert len(lines) == 1 + sum(len(table.rows) for table in tables)
    assert all(line.endswith(",evidence") for line in lines[1:])


def refusal(path: Path, name: str) -> str:
    """The message with which a file is refused; its own name where it is read, to finite numbers."""
    try:
        table = read_benchmark(path, name)
    except InputError as error:
        return str(error)
    return str(path) if all(np.isfinite(row.value) for row in table.rows) else "not finite"


@given(text=st.text(max_size=300), name=st.sampled_from(sorted({form for form, _ in outputs.ALL.values()})))
def test_any_text_is_read_or_refused_with_its_name(
    tmp_path_factory: pytest.TempPathFactory, text: str, name: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.txt"
    path.write_text(text, encoding="utf-8")
    assert str(path) in refusal(path, name)


@given(data=st.data(), name=st.sampled_from(sorted(outputs.ALL)))
def test_damaged_outputs_are_read_or_refused_with_their_name(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, name: str
) -> None:
    form, text = outputs.ALL[name]
    place = data.draw(st.integers(0, len(text)))
    path = tmp_path_factory.getbasetemp() / "damaged.txt"
    path.write_text(
        text[:place] + data.draw(st.text(max_size=5)) + text[place + data.draw(st.integers(0, 5)) :], encoding="utf-8"
    )
    assert str(path) in refusal(path, form)


def test_each_format_knows_only_its_own_outputs() -> None:
    for name, (form, text) in outputs.ALL.items():
        start = FileStart(Path(name).suffix.lower(), text.encode())
        assert READERS.recognised(start).name == form, name


def test_products_of_matrices(tmp_path: Path) -> None:
    table = read(tmp_path, "gemm.csv")
    assert values(table, "gemm", "m") == pytest.approx({128: 31.5e-6, 8192: 9e-3})
    assert [dict(row.labels) for row in table.rows] == [{"type": "bf16"}, {"type": "fp16"}]
    assert values(read(tmp_path, "gemm_plain.csv"), "gemm", "m") == pytest.approx({64: 0.19e-3, 128: 29e-6})


def test_products_by_their_rate(tmp_path: Path) -> None:
    path = tmp_path / "rates.csv"
    path.write_text("m;n;k;tflops\n1000;1000;1000;200\n")  # 2e9 flops at 200 TFLOP/s
    assert read_benchmark(path).rows[0].value == pytest.approx(10e-6)


def test_steps_of_training(tmp_path: Path) -> None:
    table = read(tmp_path, "training.log")
    assert [row.value for row in table.rows] == pytest.approx([5.0125, 5.0225])
    expected = {
        "P": 256,
        "layers": 40,
        "hidden": 6144,
        "global_batch": 512,
        "micro_batch": 8,
        "tensor": 8,
        "pipeline": 1,
    }
    assert all(dict(row.parameters) == expected for row in table.rows)


@pytest.mark.parametrize("title", ["Latency (ms)", "Latency [s]", "Avg Latency(ns)", "Bandwidth (GB/s)"])
def test_osu_in_other_units_is_refused(tmp_path: Path, title: str) -> None:
    """OSU prints microseconds and MB/s; a title that was changed by hand would be read as these."""
    path = tmp_path / "osu.txt"
    path.write_text(f"# OSU MPI Latency Test v7.3\n# Size          {title}\n8 1.00\n16 1.50\n")
    with pytest.raises(InputError, match=r"osu.txt:2: a title with another unit than OSU prints"):
        read_benchmark(path)
