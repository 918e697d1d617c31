"""Sampled against instrumented shares, and the overhead of profiling: worked out by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from simcodesign import cli
from simcodesign.core.errors import InputError
from simcodesign.counters.events import Labels
from simcodesign.counters.profiling import KernelFraction, ProfilingQuality, profiling_quality
from simcodesign.counters.readers.formats import read_counters
from simcodesign.counters.table import APPLICATION, CounterTable, counter_table

#: Times of three kernels by which shares are 0.5, 0.3, 0.2 as sampled, and 0.6, 0.25, 0.15 as instrumented.
SAMPLED = {"a": 5.0, "b": 3.0, "c": 2.0}
INSTRUMENTED = {"a": 12.0, "b": 5.0, "c": 3.0}
#: sqrt(0.5 0.1^2 + 0.3 0.05^2 + 0.2 0.05^2) / (0.6 - 0.15)
NRMSE = math.sqrt(0.00625) / 0.45

FLAT = """Flat profile:

Each sample counts as 0.01 seconds.
  %   cumulative   self              self     total
 time   seconds   seconds    calls  ms/call  ms/call  name
 60.00      1.20     1.20     7208     0.10     0.20  a
 25.00      1.70     0.50                             b<int, long>(int)
 15.00      2.00     0.30        1   300.00  2000.00  main
  0.00      2.00     0.00       12     0.00     0.00  idle

 %         the percentage of the total running time of the
time       program used by this function.
"""


def runs(times: dict[str, float], processes: float = 4.0, **more: float) -> CounterTable:
    return counter_table([{"kernel": name, "processes": processes, "time_s": s, **more} for name, s in times.items()])


def test_the_error_by_hand() -> None:
    (one,) = profiling_quality(runs(SAMPLED), runs(INSTRUMENTED))
    assert one.nrmse == pytest.approx(NRMSE, rel=1e-12)
    assert (one.processes, one.kernels, one.profiled_s) == (4, 3, 10)
    assert one.largest == KernelFraction("a", 0.5, pytest.approx(0.6))
    assert math.isnan(one.overhead)


def test_a_kernel_that_one_profile_lacks_took_no_time_there() -> None:
    """Shares 0.5, 0.5, 0 against 0.5, 0.3, 0.2: sqrt(0.5 0.2^2) / 0.5, for t weighs the kernel without samples by 0."""
    (one,) = profiling_quality(runs({"a": 5.0, "b": 5.0}), runs({"a": 5.0, "b": 3.0, "c": 2.0}))
    assert one.nrmse == pytest.approx(math.sqrt(0.02) / 0.5, rel=1e-12)
    assert one.kernels == 3


def test_equal_shares_have_no_error_whatever_the_run_took() -> None:
    (one,) = profiling_quality(runs(SAMPLED), runs({name: 7 * s for name, s in SAMPLED.items()}))
    assert one.nrmse == pytest.approx(0, abs=1e-15)


def test_the_overhead_by_hand() -> None:
    """Two repetitions without profiling, of 8 and 12 s on average, against 10.3 s of the row of the application."""
    profiled = runs(SAMPLED | {APPLICATION: 10.3})
    plain = counter_table(
        [{"kernel": APPLICATION, "processes": 4, "time_s": s, "repetition": k} for k, s in enumerate((8.0, 12.0))]
    )
    (one,) = profiling_quality(profiled, unprofiled=plain)
    assert one.overhead == pytest.approx(0.03, rel=1e-12)
    assert one == ProfilingQuality(4, 0, pytest.approx(math.nan, nan_ok=True), None, 10.3, 10.0)


def test_only_runs_that_are_given_are_compared() -> None:
    table = counter_table(
        [{"kernel": name, "processes": p, "time_s": s} for p in (2, 4, 8) for name, s in SAMPLED.items()]
    )
    found = profiling_quality(table, runs(INSTRUMENTED, 2), runs({APPLICATION: 8.0}, 8))
    assert [(one.processes, one.kernels) for one in found] == [(2, 3), (8, 0)]
    assert found[1].overhead == pytest.approx(0.25)


def test_runs_that_were_not_profiled() -> None:
    with pytest.raises(InputError, match="an instrumented run has a number of processes that was not profiled"):
        profiling_quality(runs(SAMPLED), runs(INSTRUMENTED, 8))
    with pytest.raises(InputError, match="a run without profiling has another size"):
        profiling_quality(runs(SAMPLED, size=10), unprofiled=runs({APPLICATION: 8.0}, size=20))


def test_a_flat_profile(tmp_path: Path) -> None:
    path = tmp_path / "flat.txt"
    path.write_text(FLAT)
    table = read_counters(path, Labels(processes=4))
    assert table.kernels == ("a", "b<int, long>(int)", "main")
    assert table.column("time_s").tolist() == [1.2, 0.5, 0.3]
    assert read_counters(path, Labels(processes=4, summed=True)).column("time_s").tolist() == [0.3, 0.125, 0.075]
    with pytest.raises(InputError, match="number of processes is missing"):
        read_counters(path)


def test_a_flat_profile_without_times(tmp_path: Path) -> None:
    path = tmp_path / "flat.txt"
    path.write_text("\n".join(line for line in FLAT.splitlines() if not line.startswith((" 6", " 2", " 1"))) + "\n")
    with pytest.raises(InputError, match="the flat profile has no times"):
        read_counters(path, Labels(processes=4))


def counted(path: Path, processes: int) -> str:
    """A profiled run: a table of the kernels of ``FLAT`` with the sampled shares, and a time in all of 10.3 s / P."""
    shares = {"a": 0.5, "b<int, long>(int)": 0.3, "main": 0.2}
    rows = [f'"{name}",{processes},{10 * share / processes}' for name, share in shares.items()]
    rows.append(f"{APPLICATION},{processes},{10.3 / processes}")
    path.write_text("kernel,processes,time_s\n" + "\n".join(rows) + "\n")
    return str(path)


def test_the_command_prints_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [counted(tmp_path / f"{p}.csv", p) for p in (2, 4, 8)]
    flat, plain = tmp_path / "flat.txt", tmp_path / "plain.csv"
    flat.write_text(FLAT)
    plain.write_text(f"kernel,processes,time_s\n{APPLICATION},4,2.5\n{APPLICATION},8,1.25\n")
    line = [
        "fit-counters",
        *files,
        "--target",
        "P=16",
        "--instrumented",
        f"{flat}@P=4",
        "--unprofiled",
        str(plain),
    ]
    assert cli.main([*line, "--json"]) == 0
    four, eight = json.loads(capsys.readouterr().out)["profiling"]
    assert four["nrmse"] == pytest.approx(NRMSE, rel=1e-12)
    assert four["overhead"] == pytest.approx(0.03, rel=1e-12)
    assert (eight["kernels"], eight["nrmse"], eight["largest"]) == (0, None, None)
    assert cli.main(line) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "4 3 0.176 a: 50.00% for 60.00% 2.575 s 2.5 s +3.00%" in text
    assert "Mean overhead of profiling: +3.00%" in text


def test_simulated_runs_have_no_profile_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["fit-counters", "--profile", "jacobi", "mesh-256", "--vary", "P=2,4,8", "--instrumented", "x"]
    assert cli.main(line) == 2
    assert "--instrumented needs FILE..." in capsys.readouterr().err
