"""Outputs in logs of batch systems: coloured, behind hosts and times, cut short, with messages, of several runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkTable, read_benchmark
from simcodesign.fitting.readers.benchmarks.output.text import BEGINS
from simcodesign.fitting.readers.formats import read_measurements
from tests.fitting.benchmarks import outputs

NEVER = re.compile(r"(?!)")
SIZES = [2**power for power in range(0, 23, 2)]


def osu(test: str, scale: float = 1.0) -> str:
    """The output of a test whose times are 1.5 us + bytes / (10 GB/s), times ``scale``."""
    rows = "".join(f"{size:<10}{scale * (1.5 + size / 1e4):>14.2f}\n" for size in SIZES)
    return f"\n# OSU MPI {test} Latency Test v7.3\n# Size       Avg Latency(us)\n{rows}"


def read(folder: Path, text: str, name: str = "log.txt") -> BenchmarkTable:
    path = folder / name
    path.write_text(text)
    return read_benchmark(path)


PREFIXES = {
    "": "",
    "pdsh": "n001: ",
    "grep": "runs/osu.out:",
    "Ray": "(head, rank=0, pid=3808) [1,0]<stdout>:",
    "kubectl --prefix": "[pod/osu-0/main] ",
    "kubectl --timestamps": "2026-11-29T10:00:00.123456789Z ",
    "time and rank": "[2026-11-29 10:00:00,123] 0: ",
    "host and time": "n001: 2026-11-29T10:00:00+01:00 ",
}


#: Prefixes that are recognised by themselves; others only in front of a line at which a benchmark begins.
ALONE = ("", "kubectl --timestamps", "time and rank")
BEGUN = [
    name for name, (form, text) in outputs.ALL.items() if any(map(BEGINS.get(form, NEVER).match, text.split("\n")))
]


@pytest.mark.parametrize(
    ("name", "prefix"), [(name, prefix) for name in outputs.ALL for prefix in (PREFIXES if name in BEGUN else ALONE)]
)
def test_hosts_times_and_colours_change_nothing(tmp_path: Path, name: str, prefix: str) -> None:
    prefix = PREFIXES[prefix]
    text = outputs.ALL[name][1]
    plain = read(tmp_path, text, name)
    coloured = (f"{prefix}\x1b[1;32m{line[:7]}\x1b[0m{line[7:]}\x1b[K\n" for line in text.splitlines())
    assert read(tmp_path, "".join(coloured), name).rows == plain.rows


def test_outputs_of_hosts_are_read_one_after_another(tmp_path: Path) -> None:
    pairs = zip(osu("Allreduce").splitlines(), osu("Broadcast", 2).splitlines(), strict=True)
    rows = read(tmp_path, "".join(f"n001: {first}\nn002: {second}\n" for first, second in pairs)).rows
    assert [row.operation for row in rows] == ["allreduce"] * len(SIZES) + ["broadcast"] * len(SIZES)


@given(cut=st.integers(0, 2**20))
def test_a_file_cut_anywhere_has_no_other_number(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    folder, text = tmp_path_factory.getbasetemp(), osu("Allreduce")
    begin = text.index("\n4 ") + 1  # below two whole rows
    place = begin + cut % (len(text) - begin)
    whole, found = read(folder, text), read(folder, text[:place])
    assert found.rows == whole.rows[: len(found.rows)]
    complete = text[:place].count("\n", begin) + 1
    assert len(found.rows) >= complete
    assert len(found.rows) == complete or text[place] == "\n"
    has_rest = text[place - 1] != "\n" and text[place] != "\n"
    assert found.notes == ((f"line {complete + 4} is cut short: it is left out.",) if has_rest else ())


def test_messages_that_begin_with_a_number_are_noted(tmp_path: Path) -> None:
    message = "1 more process has sent help message help-mpi-btl-openib.txt\n"
    lines = osu("Allreduce").splitlines(keepends=True)
    table = read(tmp_path, "".join([*lines[:6], message, *lines[6:]]))
    assert table.rows[-1].value == pytest.approx(1.5e-6 + SIZES[-1] / 1e10, rel=1e-4)
    assert len(table.rows) == len(SIZES)
    assert len(table.notes) == 1
    assert table.notes[0].startswith("line 7 is not a row of numbers: '1 more process")
    for text in (outputs.IMB, outputs.NCCL):
        *_, last = (line for line in text.splitlines(keepends=True) if line.split()[:1] in (["1048576"], ["1024"]))
        found = read(tmp_path, text.replace(last, message + last)).rows
        assert [row.value for row in found] == [row.value for row in read(tmp_path, text).rows]


def test_damaged_numbers_are_no_messages(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"log.txt:4: not a number, got '1,50'"):
        read(tmp_path, osu("Allreduce").replace(".", ","), "log.txt")


COMMANDS = {
    "mpirun": "+ mpirun -np {} --map-by ppr:1:node ./osu_allreduce",
    "srun": "$ srun -N 2 --ntasks={} /opt/omb/collective/osu_allreduce -f",
    "mpiexec": "mpiexec.hydra -ppn 4 -n {} osu_allreduce",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_osu_ranks_are_in_the_command_above(tmp_path: Path, command: str) -> None:
    text = "".join(f"{command.format(ranks)}\n{osu('Allreduce', ranks)}" for ranks in (2, 4, 8))
    rows = read(tmp_path, text).rows
    assert [row.parameters["P"] for row in rows[:: len(SIZES)]] == [2, 4, 8]
    measured = read_measurements(tmp_path / "log.txt")
    assert set(measured.parameters) == {"bytes", "P"}


def test_osu_ranks_of_a_command_are_of_the_next_test_alone(tmp_path: Path) -> None:
    text = "mpirun -np 4 osu_bcast\n" + osu("Broadcast") + osu("Allreduce") + "mpirun -np 8 osu_reduce\nfailed\n"
    rows = read(tmp_path, text + "mpirun $ARGUMENTS osu_gather\n" + osu("Gather")).rows
    assert {row.operation: row.parameters.get("P") for row in rows} == {
        "broadcast": 4,
        "allreduce": None,
        "gather": None,
    }


@pytest.mark.parametrize(("factor", "is_refused"), [(1.0, False), (1.3, False), (2.0, True), (0.4, True)])
def test_runs_that_are_no_repetitions_are_refused(tmp_path: Path, factor: float, is_refused: bool) -> None:
    text = osu("Allreduce") + osu("Allreduce", factor)
    if is_refused:
        second = 4 + len(SIZES) + 3
        with pytest.raises(InputError, match=rf"log.txt:{second}: 2 runs of allreduce .* factor of 2\.[05] "):
            read(tmp_path, text)
    else:
        assert len(read(tmp_path, text).rows) == 2 * len(SIZES)
    apart = osu("Allreduce") + osu("Broadcast", factor)
    assert len(read(tmp_path, apart).rows) == 2 * len(SIZES)


def test_one_disturbed_size_is_a_repetition(tmp_path: Path) -> None:
    disturbed = osu("Allreduce").replace("1.50\n", "97.50\n", 1)
    assert len(read(tmp_path, osu("Allreduce") + disturbed).rows) == 2 * len(SIZES)


def test_osu_titles_of_version_2(tmp_path: Path) -> None:
    rows = read(tmp_path, "# OSU MPI Latency Test (Version 2.2)\n# Size\t\tLatency (us) \n0\t\t1.41\n8\t\t1.53\n").rows
    assert [(row.operation, row.parameters["bytes"], row.value) for row in rows] == [
        ("ping_pong", 0, pytest.approx(1.41e-6)),
        ("ping_pong", 8, pytest.approx(1.53e-6)),
    ]


@pytest.mark.parametrize("unit", [1e6, 1 << 20])
def test_imb_bandwidths_of_both_megabytes(tmp_path: Path, unit: float) -> None:
    rate = {size: size / (size / 12e9 + 2e-8) for size in SIZES}
    rows = "".join(f"{size:>13}{100:>13}{rate[size] / unit:>13.2f}{rate[size] / size:>13.0f}\n" for size in SIZES)
    titles = "       #bytes #repetitions   Mbytes/sec      Msg/sec\n"
    table = read(tmp_path, f"# Benchmarking Uniband\n# #processes = 2\n{titles}{rows}")
    found = {row.parameters["bytes"]: row.value for row in table.rows if row.quantity == "bandwidth"}
    assert found == pytest.approx(rate, rel=1e-3)


def test_hpl_rates_show_lines_cut_short(tmp_path: Path) -> None:
    runs = ("WR11C2R4 10000 128 2 4 20.00 3.3340e+01\n", "WR11C2R4 20000 128 2 4 150.00 3.5560e+01\n")
    assert len(read(tmp_path, "".join(runs)).rows) == 4
    table = read(tmp_path, runs[0] + runs[1].replace("3.5560e+01", "3."))
    assert [row.parameters["n"] for row in table.rows] == [10000, 10000]
    assert table.notes[0].startswith("line 2: the rate of this run is not 2/3 N^3 + 3/2 N^2 operations in its time")


def test_hpcg_runs_have_parameters_of_their_own(tmp_path: Path) -> None:
    second = outputs.HPCG_TEXT.replace("Distributed Processes=32", "Distributed Processes=64")
    assert second != outputs.HPCG_TEXT
    rows = read(tmp_path, outputs.HPCG_TEXT + second).rows
    ranks = [row.parameters["P"] for row in rows]
    assert ranks == [32] * (len(rows) // 2) + [64] * (len(rows) // 2)


def test_stream_whose_validation_failed_is_left_out(tmp_path: Path) -> None:
    failed = outputs.STREAM + "Failed Validation on array a[], AvgRelAbsErr > epsilon (1.000000e-13)\n"
    with pytest.raises(InputError, match=r"holds no measurement .*the validation of STREAM failed"):
        read(tmp_path, failed)
    rows = read(tmp_path, failed + outputs.STREAM).rows
    assert [row.line for row in rows] == [row.line + failed.count("\n") for row in read(tmp_path, outputs.STREAM).rows]


def test_training_leaves_out_the_first_interval_of_each_run(tmp_path: Path) -> None:
    begin = outputs.TRAINING.index(" iteration")
    arguments, steps = outputs.TRAINING[:begin], outputs.TRAINING[begin:]
    one = [row.value for row in read(tmp_path, arguments + steps, "a.log").rows]
    for text in (arguments + steps + arguments + steps, arguments + steps + steps):
        table = read(tmp_path, text, "a.log")
        assert [row.value for row in table.rows] == one * 2
        assert table.notes == ("The first interval of steps of each of 2 runs is left out: it has what happens once.",)


def test_texts_of_other_benchmarks_are_of_no_known_format(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"(?s)the format of the file is unknown.*a table in CSV"):
        read(tmp_path, "  1:       1 bytes   1000 times -->      4.93 Mbps in       1.55 usec\n")
