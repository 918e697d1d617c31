"""The command ``locality``: what it measures, what it prints where, and what it refuses."""

from __future__ import annotations

import gzip
import json
import lzma
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from simcodesign.cli.options.locality_options import RECORDED
from simcodesign.cli.run.locality import counted
from simcodesign.locality.profile import StackDistanceProfile, load_profile
from simcodesign.locality.traces.counted import CountedTrace
from simcodesign.locality.traces.trace import ArrayTrace
from simcodesign.report.common.progress import ProgressBar
from simcodesign.report.locality.tables import Findings, binary, bins, share, sizes_bytes
from tests.command_line import command

needs_valgrind = pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
needs_compiler = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")

#: Lines A B C A B B A (64 bytes): first touches of 3, then distances 2 2 0 1. One store, one modify.
LACKEY = """\
==1== Lackey
I  0400a0,3
 L 1000,8
I  0400b0,3
 S 1040,8
I  0400a0,3
 L 1080,8
 L 1008,8
I  0400b0,3
 M 1048,4
 L 1050,4
I  0400a0,3
 L 103f,1
"""


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("COLUMNS", "80")
    return command(capfd, "locality")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "small.trace"
    path.write_text(LACKEY)
    return path


# --- What is measured -----------------------------------------------------------------------------------------


def test_a_trace_counted_by_hand(run: Any, trace: Path) -> None:
    ran = run(trace)
    assert ran.cells("accesses") == ["accesses", "7"]
    assert ran.cells("of these") == ["of these", "5 loads, 1 stores, 1 modifies"]
    assert ran.cells("distinct lines") == ["distinct lines", "3, a footprint of 192 B"]
    assert ran.cells("stack distance") == ["stack distance", "median 1, mode 2"]
    assert ran.cells("0", "0")[2:4] == ["1", "14.29%"]
    assert ran.cells("1", "1")[2:4] == ["1", "14.29%"]
    assert ran.cells("2", "3")[2:4] == ["2", "28.57%"]
    assert ran.cells("first touch")[1:3] == ["3", "42.86%"]
    # one line hits distance 0, two lines hit 0 and 1, four hit all that is used again
    assert ran.cells("64 B") == ["64 B", "1", "85.71%"]
    assert ran.cells("128 B") == ["128 B", "2", "71.43%"]
    assert ran.cells("256 B") == ["256 B", "4", "42.86%"]
    assert "distinct other lines of 64 B used strictly between two uses" in " ".join(ran.out.split())
    assert ran.err == ""


def test_accesses_across_lines_are_told(run: Any, tmp_path: Path) -> None:
    (tmp_path / "t.lackey").write_text(" L 103f,4\n L 1000,8\n")
    out = run(str(tmp_path / "t.lackey")).out
    assert re.search(r"^accesses +2$", out, re.MULTILINE)
    assert re.search(r"^across lines +1 more access to a line, which counts like the others", out, re.MULTILINE)
    assert re.search(r"^distinct lines +2,", out, re.MULTILINE)


def test_the_same_as_json(run: Any, trace: Path) -> None:
    answer = run(trace, "--json", "--groups", "--reuse").json
    assert answer["kinds"] == {"loads": 5, "stores": 1, "modifies": 1, "fetches": 0}
    assert [(part["from"], part["to"], part["accesses"]) for part in answer["histogram"]] == [
        (0, 0, 1),
        (1, 1, 1),
        (2, 3, 2),
    ]
    assert (answer["accesses"], answer["cold"], answer["footprint_bytes"], answer["median"]) == (7, 3, 192, 1)
    assert [row["miss_ratio"] for row in answer["miss_ratio"]] == pytest.approx([6 / 7, 5 / 7, 3 / 7], rel=1e-12)
    # accesses in between: A 2, B 2, B 0, A 2
    assert [(part["from"], part["accesses"]) for part in answer["reuse"]["histogram"]] == [(0, 1), (1, 0), (2, 3)]
    groups = {group["name"]: (group["accesses"], group["cold"], group["median"]) for group in answer["groups"]}
    assert groups == {"0x400a0": (4, 2, 1), "0x400b0": (3, 1, 0)}
    assert answer["sample"] is answer["bursts"] is answer["caches"] is answer["recording"] is None


def test_lines_of_another_size_and_the_first_accesses(run: Any, trace: Path) -> None:
    assert run(trace, "--line", 128, "--json").json["cold"] == 2
    some = run(trace, "--most", 4, "--json").json
    assert (some["accesses"], some["cold"], some["kinds"]["stores"], some["kinds"]["modifies"]) == (4, 3, 1, 0)


def test_instructions_are_accesses_when_asked_for(run: Any, trace: Path) -> None:
    answer = run(trace, "--instructions", "--json").json
    assert (answer["accesses"], answer["kinds"]["fetches"]) == (12, 5)
    assert run(trace, "--instructions").cells("of these")[1].endswith("5 fetches")


def test_formats(run: Any, tmp_path: Path) -> None:
    address = np.array([0, 64, 0, 128, 64], np.uint64)
    np.save(tmp_path / "a.npy", address)
    (tmp_path / "a.u64").write_bytes(address.tobytes())
    (tmp_path / "a.gz").write_bytes(gzip.compress(address.tobytes()))
    (tmp_path / "a.din").write_text("0 0\n1 40\n0 0\n0 80\n0 40\n")
    for arguments in (["a.npy"], ["a.u64"], ["a.gz", "--format", "raw"], ["a.din"]):
        answer = run(tmp_path / arguments[0], *arguments[1:], "--json").json
        assert (answer["accesses"], answer["cold"], answer["median"]) == (5, 3, 1)
    assert "kinds" in answer
    assert "of these" not in run(tmp_path / "a.npy").out  # an array of addresses has no kinds


def test_without_a_line_used_twice(run: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "once.npy", np.arange(0, 6400, 64))
    ran = run(tmp_path / "once.npy")
    assert ran.cells("stack distance") == ["stack distance", "none: no line is used twice"]
    assert ran.cells("first touch")[1:3] == ["100", "100.00%"]
    assert ran.cells("64 B") == ["64 B", "1", "100.00%"]
    assert run(tmp_path / "once.npy", "--json").json["median"] is None


def read(cases: Path, name: str) -> np.ndarray:
    with lzma.open(cases / "cache" / f"{name}.npy.xz") as file:
        return np.load(file)


@pytest.mark.parametrize(("grain", "line"), [("line64", 64), ("elem8", 8)])
def test_a_recorded_trace(run: Any, cases: Path, tmp_path: Path, grain: str, line: int) -> None:
    """The saved profile is the reference histogram of three other programs."""
    saved = tmp_path / "gzip.csv"
    answer = run(cases / "cache" / "gzip_1M.npy.xz", "--line", line, "--write", f"profile:{saved}", "--json").json
    expected = pd.read_csv(cases / "cache" / f"hist_gzip_1M_{grain}.csv")
    distance, count = (expected.iloc[:, column].to_numpy() for column in (0, 1))
    profile = load_profile(saved)
    assert profile.line_bytes == line
    assert profile.cold == answer["cold"] == count[distance < 0].sum()
    assert np.array_equal(profile.distance, distance[distance >= 0])
    assert np.array_equal(profile.count, count[distance >= 0])
    for part in answer["histogram"]:
        inside = (distance >= part["from"]) & (distance <= part["to"])
        assert part["accesses"] == count[inside].sum()
    for row in answer["miss_ratio"]:
        missed = count[(distance < 0) | (distance >= row["lines"])].sum()
        assert row["miss_ratio"] == pytest.approx(missed / count.sum(), rel=1e-12)


def test_caches_of_a_recorded_trace(run: Any, cases: Path) -> None:
    """Hits and misses of each level are those of four other programs."""
    reference = json.loads((cases / "cache" / "hits.json").read_text())["gzip_1M"]["hier_8way_32K_256K_2M"]
    arguments = (cases / "cache" / "gzip_1M.npy.xz", "--caches", "32KiB:8,256 KiB:8,2MiB:8", "--method", "sets")
    levels = run(*arguments, "--json").json["caches"]["levels"]
    numbers = [(level["hits"], level["accesses"] - level["hits"]) for level in levels]
    assert numbers == [(reference[name]["hits"], reference[name]["misses"]) for name in ("L1", "L2", "L3")]


# --- Caches ---------------------------------------------------------------------------------------------------


@pytest.fixture
def conflicts(tmp_path: Path) -> Path:
    """Lines 0 and 2 in turn, stored each time: always misses in two sets of one way, hits in full 2 lines."""
    path = tmp_path / "conflicts.din"
    path.write_text("1 0\n1 80\n" * 50)
    return path


def test_caches_by_the_stack_model(run: Any, conflicts: Path) -> None:
    ran = run(conflicts, "--caches", "64,128,1KiB:4", "--method", "auto")
    assert ran.cells("L1") == ["L1", "64 B", "full", "100", "0.00%", "0.00%", "full"]
    assert ran.cells("L2") == ["L2", "128 B", "full", "100", "98.00%", "98.00%", "full"]
    assert ran.cells("L3") == ["L3", "1 KiB", "4", "2", "0.00%", "0.00%", "full"]
    assert ran.cells("memory") == ["memory", "2", "2.00%"]
    assert "full: stack model, fully associative" in ran.out
    assert ran.err == ""
    # What it leaves out comes before its numbers.
    assert ran.out.index("conflicts within their sets") < ran.out.index("hit ratio")
    assert "conflicts within their sets" not in run(conflicts, "--caches", "64,128").out


def test_ways_mean_sets(run: Any, conflicts: Path, tmp_path: Path) -> None:
    """Lines 0 and 2 share one of two sets of one way, so that all accesses miss; a cache of two lines would hit 98."""
    by_sets = run(conflicts, "--caches", "128B:1")
    assert by_sets.cells("L1")[4:] == ["0.00%", "0.00%", "99", "sets"]
    assert by_sets.err == ""
    assert run(conflicts, "--caches", "128B").cells("L1")[4:] == ["98.00%", "98.00%", "full"]
    # A saved profile has no accesses to simulate.
    saved = tmp_path / "saved.json"
    assert run(conflicts, "--write", f"profile:{saved}").status == 0
    assert run(saved, "--caches", "128B:1").cells("L1")[-1] == "binomial"


def test_the_binomial_correction(run: Any, conflicts: Path, tmp_path: Path) -> None:
    """One other line falls into another of two sets with chance one half."""
    saved = tmp_path / "saved.json"
    run(conflicts, "--write", f"profile:{saved}")
    for source, method in ((saved, []), (conflicts, ["--method", "binomial"])):
        ran = run(source, "--caches", "128B:1", *method)
        assert ran.cells("L1") == ["L1", "128 B", "1", "100", "49.00%", "49.00%", "binomial"]
        assert ("not to be relied on below 4 ways" in ran.err) == (not method)
    assert run(conflicts, "--caches", "128B:1", "--method", "full").cells("L1")[-2:] == ["98.00%", "full"]


def test_caches_in_their_sets(run: Any, conflicts: Path) -> None:
    ran = run(conflicts, "--caches", "128:1,256:4", "--method", "sets")  # L1 keeps the last line, L2 has both
    assert ran.cells("L1") == ["L1", "128 B", "1", "100", "0.00%", "0.00%", "99", "sets"]
    assert ran.cells("L2") == ["L2", "256 B", "full", "100", "98.00%", "98.00%", "0", "sets"]
    assert "Memory: 2 lines read (128 B), 0 written (0 B); 3 copies are dirty at the end" in " ".join(ran.out.split())
    caches = run(conflicts, "--caches", "128:1", "--method", "sets", "--json").json["caches"]
    assert caches["memory"] == {"accesses": 100, "reads_lines": 100, "writes_lines": 99}


@pytest.mark.thorough
def test_inclusion_and_stores_that_miss_mean_a_simulation(run: Any, conflicts: Path) -> None:
    around = run(conflicts, "--caches", "256:4", "--no-write-allocate", "--json").json["caches"]
    assert (around["levels"][0]["method"], around["levels"][0]["hits"]) == ("sets", 0)
    assert around["memory"]["writes_lines"] == 100
    for inclusion in ("inclusive", "exclusive", "non-inclusive", "non_inclusive"):
        levels = run(conflicts, "--caches", "64,128:2", "--inclusion", inclusion, "--json").json["caches"]["levels"]
        assert [level["hits"] for level in levels] == [0, 98]


# --- Kernels --------------------------------------------------------------------------------------------------


def test_a_kernel(run: Any) -> None:
    """C = A B for 4 x 4 doubles: 2 n^3 loads and n^2 stores, on 3 n^2 elements."""
    answer = run("--generate", "matmul", "--set", "n=4", "--line", 8, "--groups", "--json").json
    assert answer["kinds"] == {"loads": 128, "stores": 16, "modifies": 0, "fetches": 0}
    assert answer["cold"] == 48
    assert [(group["name"], group["accesses"], group["cold"]) for group in answer["groups"]] == [
        ("A", 64, 16),
        ("B", 64, 16),
        ("C", 16, 16),
    ]
    assert run("--generate", "matmul", "--set", "n=4", "--groups").cells("C")[1:3] == ["16", "11.11%"]


def test_sizes_of_kernels(run: Any) -> None:
    some = run("--generate", "matmul", "--set", "n=1e1", "--set", "count_c=no", "--json").json
    assert (some["accesses"], some["kinds"]["stores"]) == (2000, 0)
    words = run("--generate", "blocked_matmul", "--set", "n=8", "--set", "b=4", "--set", "count_c=none", "--json").json
    assert words["accesses"] == 1024
    assert run("--generate", "triad", "--set", "n=1e6", "--most", 500, "--json").json["accesses"] == 500


# --- Samples, bursts, saved profiles --------------------------------------------------------------------------


def test_a_sample_of_lines(run: Any) -> None:
    """Uniform use of 4,096 lines: a cache of C of them misses 1 - C / 4096 of what is not a first touch."""
    kernel = ("--generate", "random_access", "--set", "n=4096", "--set", "element_bytes=64", "--set", "updates=200000")
    answer = run(*kernel, "--sampled-lines", 512, "--seed", 3, "--caches", "128 KiB:8", "--json").json
    assert not answer["sample"]["exact"]
    assert answer["sample"]["keys"] <= 512
    assert answer["accesses"] == 200_000
    for row in answer["miss_ratio"]:
        exact = max(1 - row["lines"] / 4096, 4096 / 200_000)
        assert row["low"] <= row["miss_ratio"] <= row["high"]
        assert row["low"] - 0.02 <= exact <= row["high"] + 0.02
    ran = run(*kernel, "--sampled-lines", 512)
    assert "95 % interval" in ran.out
    assert re.fullmatch(r"[\d.]+% to [\d.]+%", ran.cells("128 KiB")[-1])
    everything = run(*kernel, "--sampled-lines", 8192)
    assert everything.cells("sample") == ["sample", "all 4,096 lines: what follows is exact"]
    assert "interval" not in everything.out


def test_bursts(run: Any) -> None:
    """Two lines in turn: distance 1 in every burst of 10, of which two accesses are the first ones there."""
    kernel = ("--generate", "triad", "--set", "n=1", "--set", "repeats=2000")  # b c a b c a ..., 3 lines
    answer = run(*kernel, "--bursts", "30/300", "--json").json
    bursts = answer["bursts"]
    assert (bursts["bursts"], bursts["accesses"], answer["cold"]) == (20, 600, 60)
    assert [row["miss_ratio"] for row in answer["miss_ratio"]] == [None] * len(answer["miss_ratio"])
    assert (answer["miss_ratio"][-1]["low"], answer["miss_ratio"][-1]["high"]) == (0, pytest.approx(0.1, rel=1e-12))
    ran = run(*kernel, "--bursts", "30/300", "--groups")
    assert ran.cells("b") == ["b", "200", "33.33%", "2", "2", "20"]
    assert ran.cells("size", "lines") == ["size", "lines", "at least", "at most"]


def test_groups_with_few_samples_are_dropped(run: Any) -> None:
    kernel = ("--generate", "matmul", "--set", "n=30", "--line", 8, "--bursts", "10000/10000", "--groups")
    answer = run(*kernel, "--seed", 1, "--json").json
    assert [group["name"] for group in answer["groups"]] == ["A", "B"]  # C is stored once for each element
    assert (answer["bursts"]["dropped_groups"], answer["bursts"]["dropped_samples"]) == (1, 0)
    assert "groups dropped for too few samples: 1" in " ".join(run(*kernel).out.split())


@pytest.mark.parametrize("suffix", ["json", "csv", "npz"])
def test_a_saved_profile_in_place_of_a_trace(run: Any, trace: Path, tmp_path: Path, suffix: str) -> None:
    saved = tmp_path / f"p.{suffix}"
    first = run(trace, "--line", 32, "--write", f"profile:{saved}", "--caches", "64", "--json").json
    again = run(saved, "--caches", "64", "--json").json
    for key in ("line_bytes", "accesses", "cold", "histogram", "miss_ratio", "median", "mode", "caches"):
        assert again[key] == first[key]
    assert again["kinds"] is None
    assert run(saved, "--line", 32).status == 0


@pytest.mark.thorough
def test_plots(run: Any, trace: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    kernel = ("--generate", "random_access", "--set", "n=40000", "--set", "updates=20000")
    for number, arguments in enumerate(
        (
            (trace, "--reuse", "--caches", "64,128:1"),
            (*kernel, "--sampled-lines", 128, "--caches", "32KiB:2"),
            ("--generate", "triad", "--set", "n=9", "--set", "repeats=300", "--bursts", "100/200"),
        )
    ):
        plot = tmp_path / f"{number}.svg"
        assert run(*arguments, "--write", plot).status == 0
        assert plot.stat().st_size > 5000


# --- Programs that are run ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Walks an array of 64-byte lines several times, prints, and ends with the status that its argument is."""
    path = tmp_path_factory.mktemp("program") / "walk"
    source = """
    #include <stdio.h>
    #include <stdlib.h>
    static volatile char lines[64 * 3000] __attribute__((aligned(64)));
    int main(int count, char **words) {
        printf("the program speaks\\n");
        for (int turn = 0; turn < 20; turn++) for (int i = 0; i < 3000; i++) lines[64 * i] = 1;
        return count > 1 ? atoi(words[1]) : 0;
    }"""
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", str(path)], input=source.encode(), check=True)
    return str(path)


@pytest.mark.thorough
@needs_valgrind
@needs_compiler
def test_a_program_is_run(run: Any, program: str, tmp_path: Path) -> None:
    kept = tmp_path / "walk.npz"
    ran = run("--run", "--write", f"trace:{kept}", "--groups", "--json", "--", program)
    answer = ran.json
    assert "the program speaks" in ran.err
    assert answer["source"] == program
    assert answer["recording"] == {"accesses": answer["accesses"], "stopped": False, "exit_status": 0}
    walk = answer["groups"][0]  # the store in the loop: 3,000 first touches, then 3,000 - 1 other lines or more between
    assert (walk["accesses"], walk["cold"]) == (60_000, 3000)
    assert 2999 <= walk["median"] < 3100
    again = run(kept, "--json").json
    assert (again["accesses"], again["cold"], again["histogram"]) == (
        answer["accesses"],
        answer["cold"],
        answer["histogram"],
    )


@needs_valgrind
@needs_compiler
def test_a_program_is_stopped(run: Any, program: str) -> None:
    ran = run("--run", "--most", 5000, "--", program)
    assert ran.cells("accesses") == ["accesses", "5,000"]
    assert ran.cells("recorded")[1] == "5,000 accesses: the program was stopped then"
    assert f"{RECORDED:,}" in " ".join(run("--help").out.split())


@pytest.mark.thorough
@needs_valgrind
@needs_compiler
def test_a_program_that_fails(run: Any, program: str, tmp_path: Path) -> None:
    kept = tmp_path / "walk.npz"
    ran = run("--run", "--write", f"trace:{kept}", "--", program, 3)
    assert (ran.status, ran.out) == (2, "")
    assert "ended with exit status 3" in ran.err
    assert not kept.exists()
    ran = run("--run", "--any-exit", "--", program, 3)
    assert ran.status == 0
    assert "note: the program ended with exit status 3" in ran.err


# --- Bad input ------------------------------------------------------------------------------------------------

KERNEL = ["--generate", "matmul", "--set", "n=4"]
BAD = {
    "nothing": (["--groups"], "nothing to measure (allowed: a file, --generate NAME, or --run -- PROGRAM ARGS)"),
    "two": (["TRACE", "other"], "one trace at a time"),
    "missing": (["absent.npy"], "absent.npy"),
    "kernel": (["--generate", "matmull"], "no such kernel, got 'matmull': did you mean 'matmul'?"),
    "no size": (["--generate", "matmul"], "kernel matmul: n is missing"),
    "size": ([*KERNEL, "--set", "m=1"], "kernel matmul: no such size, got 'm'"),
    "size twice": ([*KERNEL, "--set", "n=1"], "--set: given twice, got 'n'"),
    "not a size": (["--generate", "matmul", "--set", "n"], "--set: not a size, got 'n' (allowed: name=value"),
    "size for a trace": (["TRACE", "--set", "n=1"], "--set: does not apply to a trace (allowed: with --generate)"),
    "kernel and trace": ([*KERNEL, "TRACE"], "a kernel and a trace"),
    "kernel and run": ([*KERNEL, "--run"], "--run and --generate exclude each other"),
    "no program": (["--run"], "--run: no program to run (allowed: --run -- PROGRAM ARGS)"),
    "line": (
        ["TRACE", "--line", "48"],
        "the size of a line must be a power of two, got 48 (allowed: 1, 2, 4, ... bytes)",
    ),
    "line 0": (["TRACE", "--line", "0"], "the size of a line must be a power of two, got 0"),
    "line and caches": (
        ["TRACE", "--line", "48", "--caches", "1KiB"],
        "the size of a line must be a power of two, got 48",
    ),
    "format": (["TRACE", "--format", "lacky"], "no such format of traces, got 'lacky': did you mean 'lackey'"),
    "keep": (["TRACE", "--write", "trace:k.npz"], "--write: does not apply to a trace"),
    "size of a cache": (["TRACE", "--caches", "32Kib:8"], "--caches: unknown unit 'Kib' of size, got '32Kib'"),
    "odd size": (
        ["TRACE", "--caches", "100"],
        "--caches: 100: a cache must hold whole lines: its size_bytes do not fit, got 100 (allowed: a whole number",
    ),
    "ways": (
        ["TRACE", "--caches", "1KiB:x"],
        "--caches: the associativity of a cache must be a whole number, got '1KiB:x' (allowed: size:ways",
    ),
    "many ways": (
        ["TRACE", "--caches", "1KiB:32"],
        "--caches: 1KiB:32: the lines of a cache cannot be divided into sets of this many ways, got 32 (allowed: at most its 16",
    ),
    "no caches": (["TRACE", "--method", "sets"], "--method: no caches to find the hits of (allowed: with --caches)"),
    "allocate": (["TRACE", "--no-write-allocate"], "--no-write-allocate: no caches to find the hits of"),
    "method": (["TRACE", "--caches", "1KiB", "--method", "best"], "--method: how hits are found, got 'best'"),
    "policy": (["TRACE", "--caches", "1KiB", "--method", "full", "--inclusion", "exclusive"], "(allowed: sets)"),
    "inclusion": (["TRACE", "--caches", "1KiB", "--inclusion", "incl"], "--inclusion: no such inclusion, got 'incl'"),
    "sample": (
        ["TRACE", "--sampled-lines", "10"],
        "keys of a sample must be a whole number, got 10 (allowed: 128 or more)",
    ),
    "bursts": (["TRACE", "--bursts", "10"], "--bursts: not bursts, got '10' (allowed: LENGTH/PERIOD"),
    "long bursts": (
        ["TRACE", "--bursts", "10/5"],
        "--bursts: the accesses of a burst are out of range, got '10/5' (allowed: LENGTH from 2 to PERIOD)",
    ),
    "few samples": (["TRACE", "--bursts", "2/2"], "--bursts: no instruction has enough samples, got '2/2'"),
    "both": (["TRACE", "--bursts", "2/2", "--sampled-lines", "999"], "--sampled-lines and --bursts exclude each other"),
    "groups of a sample": (
        ["TRACE", "--sampled-lines", "999", "--groups"],
        "--groups: a sample of lines has no groups",
    ),
    "caches of bursts": (["TRACE", "--bursts", "2/2", "--caches", "64"], "bursts know no distance that reaches out"),
    "groups of an array": (["ARRAY", "--groups"], "the trace has no instruction groups"),
    "groups in bursts": (["ARRAY", "--bursts", "400/400", "--groups"], "the trace has no instruction groups"),
    "instructions": (["ARRAY", "--instructions"], "format npy names no instructions fetched (allowed: lackey, din)"),
    "groups of a profile": (["PROFILE", "--groups"], "--groups: does not apply to a saved profile"),
    "sets of a profile": (
        ["PROFILE", "--caches", "64", "--method", "sets"],
        "--method sets: does not apply to a saved profile",
    ),
    "line of a profile": (
        ["PROFILE", "--line", "8"],
        "--line: the profile is of lines of another size, got 8 (allowed: 64)",
    ),
    "save": (
        ["TRACE", "--write", "profile:p.yaml"],
        "--write: wrong suffix of a file, got 'profile:p.yaml' (allowed: profile:FILE (.json .csv .npz))",
    ),
    "folder": (["TRACE", "--write", "no/p.json"], "--write: cannot be written, got 'no/p.json'"),
    "same file": (["PROFILE", "--write", "PROFILE"], "--write: this file is in use by the same command"),
    "plot": (["TRACE", "--write", "p.txt"], "--write: no kind of file has this name or suffix, got 'p.txt'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_options(run: Any, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "array.npy", np.arange(0, 3200, 4) % 640)
    StackDistanceProfile.from_distances([0, 1, -1]).save(tmp_path / "profile.json")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    arguments, message = BAD[name]
    files = {"TRACE": "small.trace", "ARRAY": "array.npy", "PROFILE": "profile.json"}
    ran = run(*(files.get(word, word) for word in arguments))
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1, ran.err
    assert message in ran.err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_broken_traces(run: Any, tmp_path: Path) -> None:
    whole = np.arange(1000, dtype=np.uint64)
    (tmp_path / "odd.u64").write_bytes(whole.tobytes()[:-3])
    (tmp_path / "empty.u64").write_bytes(b"")
    (tmp_path / "cut.u64.gz").write_bytes(gzip.compress(whole.tobytes())[:-20])
    (tmp_path / "garbage.trace").write_text(LACKEY + " L 12zz,8\n")
    (tmp_path / "what.trace").write_text("hello\n")
    (tmp_path / "broken.json").write_text("{")
    np.savez(tmp_path / "other.npz", a=whole)
    for name, message in {
        "odd.u64": "byte 7992",
        "empty.u64": "the trace is empty",
        "cut.u64.gz": "byte",
        "garbage.trace": "12zz",
        "what.trace": "the format of the trace is unknown",
        "broken.json": "the file is not JSON",
        "other.npz": "other.npz",
    }.items():
        ran = run(tmp_path / name, "--write", tmp_path / "p.json", "--json")
        assert (ran.status, ran.out) == (2, ""), name
        assert name in ran.err
        assert message in ran.err
        assert ran.err.count("\n") == 1, ran.err
        assert not (tmp_path / "p.json").exists()


def test_addresses_above_the_half(run: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "high.npy", np.array([2**64 - 1, 2**63, 2**64 - 1], np.uint64))
    assert run(tmp_path / "high.npy", "--json").json["median"] == 1


def test_an_empty_profile(run: Any, tmp_path: Path) -> None:
    StackDistanceProfile.from_distances([]).save(tmp_path / "p.json")
    ran = run(tmp_path / "p.json")
    assert ran.status == 2
    assert "the profile is empty" in ran.err


def test_without_valgrind(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    ran = run("--run", "--", "true")
    assert ran.status == 2
    assert "recording needs valgrind, which is not installed" in ran.err


def test_a_program_is_not_run_for_nothing(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong with the options is said before anything is recorded: nobody asks for valgrind."""
    monkeypatch.setenv("PATH", "/nowhere")
    for wrong in (
        ["--sampled-lines", 1],
        ["--bursts", "1/1"],
        ["--line", 3],
        ["--caches", "65"],
        ["--write", "p"],
        ["--caches", "64", "--inclusion", "in"],
        ["--write", tmp_path / "t.npy"],
    ):
        ran = run("--run", *wrong, "--", "true")
        assert ran.status == 2
        assert "valgrind" not in ran.err


# --- How it is shown ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("accesses", [10**3, 10**7, 10**10])
def test_numbers_are_whole_at_80_columns(run: Any, tmp_path: Path, accesses: int) -> None:
    saved = tmp_path / "p.json"
    count = [accesses, accesses // 3, accesses // 7]
    StackDistanceProfile.from_counts([0, 5, 30_000_000], count, accesses // 9).save(saved)
    ran = run(saved, "--caches", "32KiB:8,1 MiB:2,1GiB:16")
    assert max(map(len, ran.out.splitlines())) <= 80
    assert ran.cells("0", "0")[2] == f"{accesses:,}"
    assert ran.cells("16,777,216")[1:3] == ["33,554,431", f"{accesses // 7:,}"]
    assert ran.cells("L1")[3] == f"{sum(count) + accesses // 9:,}"
    assert ran.cells("L3")[1:3] == ["1 GiB", "16"]


def test_texts() -> None:
    sizes = (0, 1, 1023, 1024, 1536, 48 << 10, 5 << 20, 1100 << 40)
    assert [binary(size) for size in sizes] == [
        "0 B",
        "1 B",
        "1,023 B",
        "1 KiB",
        "1.5 KiB",
        "48 KiB",
        "5 MiB",
        "1,100 TiB",
    ]
    assert [share(part) for part in (0, 1, 0.12345, 2e-6)] == ["0.00%", "100.00%", "12.35%", "0.0002%"]


def test_bins_and_sizes() -> None:
    profile = StackDistanceProfile.from_counts([0, 1, 2, 3, 4, 2**62], [1, 2, 3, 4, 5, 6], 7)
    result = bins(profile)
    assert [tuple(one) for one in result[:4]] == [(0, 0, 1), (1, 1, 2), (2, 3, 7), (4, 7, 5)]
    assert tuple(result[-1]) == (2**62, 2**63 - 1, 6)
    assert sizes_bytes(Findings("far", profile, 28.0))[-1] == 2**62
    near = StackDistanceProfile.from_counts([9], [1], 1, line_bytes=128)
    assert sizes_bytes(Findings("near", near, 2.0)) == [128, 256, 512, 1024, 2048]


def test_counted_traces() -> None:
    recorded: list[int] = []
    trace = CountedTrace(ArrayTrace(np.arange(10), np.arange(10) % 3, np.zeros(10, int)), 7, recorded.append)
    assert [len(chunk) for chunk in trace.chunks(4)] == [4, 3]
    assert recorded == [4, 7]
    assert trace.kinds is not None
    assert (trace.kinds.loads, trace.kinds.stores, trace.kinds.modifies, trace.grouped) == (3, 2, 2, True)
    assert [len(chunk) for chunk in CountedTrace(trace).chunks(3)] == [3, 3, 1]  # read again, from the start


def test_progress_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for terminal in (True, False):
        monkeypatch.setattr(sys.stderr, "isatty", lambda on=terminal: on)
        console = Console(stderr=True, width=100, force_terminal=terminal)
        with ProgressBar("{task.description}", unit="accesses", console=console, patience_s=None) as bar:
            for _ in counted(bar, ArrayTrace(np.arange(1000)), "stack distances").chunks(100):
                pass
        shown = capsys.readouterr().err
        assert ("stack distances" in shown and "1,000 accesses" in shown) == terminal


def test_help_is_short(run: Any) -> None:
    ran = run("--help")
    assert ran.status == 0
    for option in (
        "--line",
        "--groups",
        "--reuse",
        "--caches",
        "--method",
        "--inclusion",
        "--generate",
        "--set",
        "--run",
        "--any-exit",
        "--most",
        "--sampled-lines",
        "--bursts",
        "--seed",
        "--format",
        "--instructions",
        "--json",
        "--write",
    ):
        assert option in ran.out
