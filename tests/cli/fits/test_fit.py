"""The command ``fit``: what it reads, prints where, and refuses."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simcodesign import cli
from simcodesign.analytic.forecast import forecast
from simcodesign.cli.run.fits.fit import EXPONENT_FORMS, matching, parsed_exponents
from simcodesign.core.errors import InputError
from simcodesign.describe.yaml.files import load_machine, load_workload
from simcodesign.engine.simulate import simulate
from simcodesign.fitting import parallel_fit
from simcodesign.fitting.batch_predictions import BEYOND
from simcodesign.fitting.normal_form import Model
from tests import ROOT
from tests.command_line import Ran, command

HEAD = "p,n,region,metric,value\n"
LINES = "".join(
    f"{p},{n},solve,time,{3 + 0.5 * p * n}\n{p},{n},solve,bytes,{8 * n}\n{p},{n},exchange,time,{2 + 4 * p**0.5}\n"
    for p in (4, 8, 16, 32, 64)
    for n in (10, 20, 40, 80, 160)
)


def models(ran: Ran) -> dict[tuple[str, str], str]:
    """Texts of the models by region and metric."""
    return {(one["region"], one["metric"]): one["model"]["text"] for one in ran.json["fits"]}


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("COLUMNS", "140")
    return command(capfd, "fit")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Values without noise whose models are known."""
    file = tmp_path / "runs.csv"
    file.write_text(HEAD + LINES)
    return file


# --- Models --------------------------------------------------------------------------------------------------


def test_the_models_of_made_up_data_are_found(run: Any, runs: Path) -> None:
    assert models(run(runs, "--json")) == {
        ("solve", "time"): "3 + 0.5 p n",
        ("solve", "bytes"): "8 n",
        ("exchange", "time"): "2 + 4 p^(1/2)",
    }


def test_tables_show_models_and_predictions_at_the_target(run: Any, runs: Path) -> None:
    ran = run(runs, "--target", "p=1024,n=1e3")
    assert (ran.status, ran.err) == (0, "")
    rows = [re.split(r"\s{2,}", line.strip()) for line in ran.out.splitlines()]
    assert ["solve", "3 + 0.5 p n", "0 %", "0 %", "1.0000", "512,000", "512,000"] in rows
    assert ["exchange", "2 + 4 p^(1/2)", "0 %", "0 %", "1.0000", "130", "130"] in rows
    assert "at p=1024, n=1000" in ran.out


def test_without_a_target_it_is_said_where_predictions_are(run: Any, runs: Path) -> None:
    text = " ".join(run(runs).out.split())
    assert f"p={64 * BEYOND:g}, n={160 * BEYOND:g} is four times the largest measured value" in text
    assert run(runs, "--json").json["target"] == {"p": 256.0, "n": 640.0}


def test_a_target_in_parts_and_names_with_commas(run: Any, runs: Path, tmp_path: Path) -> None:
    assert run(runs, "--json", "--target", "n=3", "--target", " p = 5 ").json["target"] == {"p": 5.0, "n": 3.0}
    file = tmp_path / "names.csv"
    rows = "".join(f"{x},main,time,{7 * x}\n" for x in (1, 2, 4, 8, 16))
    file.write_text(f'"size, in kB",region,metric,value\n{rows}')
    answer = run(file, "--json", "--target", "size, in kB=100").json
    assert answer["target"] == {"size, in kB": 100.0}
    assert answer["fits"][0]["prediction"]["value"] == pytest.approx(700)


def test_the_level_widens_the_interval(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "noisy.csv"
    noise = (1.02, 0.97, 1.01, 1.03, 0.98, 1.0)
    file.write_text("p,value\n" + "".join(f"{2**k},{(1 + 2**k) * e}\n" for k, e in enumerate(noise, 1)))
    widths = []
    for level in (0.5, 0.9, 0.99):
        prediction = run(file, "--json", "--level", level).json["fits"][0]["prediction"]
        assert prediction["level"] == level
        widths.append(prediction["high"] - prediction["low"])
    assert widths == sorted(widths)
    assert "99 % interval" in run(file, "--level", 0.99).out


def test_options_reach_the_search(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "p.csv"

    def model(truth: Any, *options: Any) -> str:
        file.write_text("p,value\n" + "".join(f"{p},{truth(p)}\n" for p in (4, 8, 16, 32, 64, 128)))
        return str(run(file, "--json", *options).json["fits"][0]["model"]["text"])

    assert model(lambda p: 3 + 2 * (p - 1), "--collective", "Alltoall=p") == "3 + 2 Alltoall(p)"
    assert model(lambda p: 3 + 2 / p, "--negative-exponents") == "3 + 2 p^(-1)"
    assert model(lambda p: 1000 - 2 * p, "--negative-coefficients") == "1000 - 2 p"
    assert model(lambda p: 3 + p**0.375, "--exponents", "paper") == "3 + 1 p^(3/8)"
    assert model(lambda p: 3 + p**0.3, "--exponents", "3/10,1;0,1", "--no-refine") == "3 + 1 p^(3/10)"
    assert model(lambda p: 3 + 2 * p, "--terms", "0").strip("0123456789.") == ""
    relative, absolute = (
        model(lambda p: p**2.2 + p, "--terms", "1", "--no-refine", "--weighting", weighting)
        for weighting in ("relative", "absolute")
    )
    assert relative != absolute


def test_parsed_exponents() -> None:
    pairs = {(str(i), str(j)) for i, j in parsed_exponents("0,1/2,1;0,1").pairs}
    assert pairs == {("0", "1"), ("1/2", "0"), ("1/2", "1"), ("1", "0"), ("1", "1")}
    assert {(str(i), str(j)) for i, j in parsed_exponents("0.25, 2").pairs} == {("1/4", "0"), ("2", "0")}
    assert parsed_exponents(" paper ") == "paper"


def test_regions_and_metrics_by_pattern(run: Any, runs: Path) -> None:
    assert set(models(run(runs, "--json", "--region", "s*"))) == {("solve", "time"), ("solve", "bytes")}
    assert set(models(run(runs, "--json", "--region", "s*", "--region", "ex*e", "--metric", "time"))) == {
        ("solve", "time"),
        ("exchange", "time"),
    }


def test_a_pattern_may_be_a_name_with_brackets() -> None:
    names = ["a[0]", "a0", "b"]
    assert matching(["a[0]"], names, "--region") == {"a[0]", "a0"}
    assert matching([], names, "--region") is None


# --- Several files, formats ----------------------------------------------------------------------------------


def test_files_are_taken_together(run: Any, tmp_path: Path) -> None:
    """One file for each p, as runs are often kept."""
    files = []
    for p in (4, 8, 16, 32, 64):
        files.append(tmp_path / f"run{p}.csv")
        files[-1].write_text(f"p,region,metric,value\n{p},main,time,{5 + 2 * p}\n")
    again = tmp_path / "again.csv"
    again.write_text("p,region,metric,value\n4,main,time,13\n64,main,time,133\n")
    answer = run(*files, again, "--json").json
    assert (answer["points"], answer["repetitions"]) == (5, 2)
    assert answer["fits"][0]["model"]["text"] == "5 + 2 p"


def test_series_that_lack_points_only_if_they_may(run: Any, tmp_path: Path) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    head = "p,region,metric,value\n"
    first.write_text(head + "".join(f"{p},main,time,{p}\n{p},other,time,3\n" for p in (4, 8, 16, 32)))
    second.write_text(head + "64,main,time,64\n")
    refused = run(first, second)
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert "region 'other', metric 'time': a series lacks a point" in refused.err
    assert models(run(first, second, "--partial", "--json"))["main", "time"] == "1 p"


def test_a_shared_example_has_the_lead_exponent_that_extrap_finds(run: Any, cases: Path) -> None:
    name = "text/one_parameter_1.txt"
    listed = json.loads((cases / "extrap" / "expected_models.json").read_text())[name]["models"]
    assert [(one["callpath"], one["metric"], one["function"][-5:]) for one in listed] == [("compute", "time", "x^(2)")]
    (result,) = run(cases / "extrap" / name, "--no-refine", "--json").json["fits"]
    assert (result["region"], result["metric"]) == ("compute", "time")
    assert result["model"]["terms"][-1]["factors"] == [
        {"parameter": "x", "exponent": "2", "log2_exponent": "0", "collective": None}
    ]


# --- Outputs -------------------------------------------------------------------------------------------------


def test_python_is_a_module(run: Any, runs: Path, tmp_path: Path) -> None:
    ran = run(runs, "--write", tmp_path / "fit.py")
    assert "3 + 0.5 p n" in ran.out
    module: dict[str, Any] = {}
    exec((tmp_path / "fit.py").read_text(), module)
    assert module["solve_time"](1024, 1000) == pytest.approx(3 + 0.5 * 1024 * 1000)
    assert module["MODELS"]["exchange", "time"](100, 1) == pytest.approx(42)


def test_latex_is_a_table(run: Any, runs: Path, tmp_path: Path) -> None:
    file = tmp_path / "fit.tex"
    assert run(runs, "--write", file, "--target", "p=1024,n=1e3").status == 0
    assert r"exchange & time & $2 + 4 \, p^{1/2}$ & 0 & $130$ & $130$ to $130$ \\" in file.read_text()


def test_all_outputs_of_one_fit(run: Any, runs: Path, tmp_path: Path) -> None:
    """JSON is printed as without files, and each file is as if it were the only one."""
    alone = run(runs, "--json").out
    files = [tmp_path / name for name in ("a.py", "b.tex", "models:c.py")]
    several = [word for file in files[:2] for word in ("--write", file)]
    ran = run(runs, "--json", *several, "--write", f"models:{tmp_path / 'c.py'}")
    assert ran.out == alone
    assert (tmp_path / "a.py").read_text() == (tmp_path / "c.py").read_text()
    assert (tmp_path / "b.tex").read_text().startswith("\\begin{tabular}")


@pytest.mark.thorough
def test_a_plot_beside_any_output(run: Any, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    plot = tmp_path / "fit.png"
    assert run(runs, "--json", "--metric", "bytes", "--write", plot).json["series"] == 1
    assert plot.read_bytes().startswith(b"\x89PNG")
    monkeypatch.setattr("simcodesign.report.fits.plot.MOST_SERIES", 2)
    assert run(runs, "--write", plot).err == "note: the plot shows 2 of 3 series (--region and --metric choose)\n"


def test_help_is_short(run: Any) -> None:
    ran = run("--help")
    for option in (
        "--target",
        "--format",
        "--exponents",
        "--terms",
        "--collective",
        "--negative-exponents",
        "--level",
        "--negative-coefficients",
        "--no-refine",
        "--weighting",
        "--region",
        "--metric",
        "--partial",
        "--jobs",
        "--json",
        "--write",
    ):
        assert option in ran.out


# --- Bad input -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--target", "p=5"], "--target: a point without a parameter, got 'n'"),
        (["--target", "q=5,n=3"], "--target: a point with an unknown parameter, got 'q' (allowed: n, p)"),
        (["--target", "p=-5,n=3"], "positive finite numbers"),
        (["--target", "p=inf,n=3"], "positive finite numbers"),
        (["--target", "p=x,n=3"], "the target of p is not a number, got 'x'"),
        (["--target", "p=1,p=3"], "two values of a parameter"),
        (["--target", "p"], "--target: not a target, got 'p'"),
        (["--target", "=5"], "--target: not a target"),
        (["--level", "1"], "--level: not a level of an interval, got '1'"),
        (["--level", "nan"], "--level: "),
        (["--region", "foo*"], "--region: a pattern that matches nothing, got 'foo*' (allowed: exchange, solve)"),
        (["--metric", "tim"], "did you mean 'time'?"),
        (["--region", "exchange", "--metric", "bytes"], "no series has one of these regions"),
        (["--format", "xx"], "no such format of measurements, got 'xx'"),
        (["--write", "plot:a.gif"], "--write: wrong suffix of a file, got 'plot:a.gif'"),
        (["--write", "a.gif"], "--write: no kind of file has this name or suffix, got 'a.gif'"),
        (["--exponents", "foo"], "an unknown set of exponents, got 'foo' (allowed: extrap, paper"),
        (["--exponents", "1,,2"], "--exponents: not a set of exponents"),
        (["--exponents", "1;a"], "--exponents: not a pair of exponents"),
        (["--exponents", "0"], "--exponents: a set of exponents without any pair"),
        (["--exponents", "99"], "--exponents: an exponent"),
        (["--collective", "Alltoal=p"], "did you mean 'Alltoall'?"),
        (["--collective", "Alltoall"], "operation=parameter, e.g. Alltoall=p"),
        (["--collective", "Alltoall=P"], "a collective operation of an unknown parameter, got 'P'"),
        (["--weighting", "foo"], "--weighting: unknown weighting, got 'foo'"),
    ],
)
def test_bad_options_are_one_line(run: Any, runs: Path, options: list[str], words: str) -> None:
    ran = run(runs, *options)
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("error: ")
    assert words in ran.err


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"", "the file is empty"),
        ("a.csv", HEAD.encode(), "a.csv"),
        ("a.csv", b"p,value\n4,abc\n", "a.csv:2: column value: not a number, got 'abc'"),
        ("a.csv", b"p,value\n0,1\n4,2\n", "a.csv:2: column p: a parameter out of range"),
        ("a.json", b'{"parameters": ["p"], "measu', "is the file cut off?"),
        ("a.bin", bytes(range(256)) * 4, "a.bin"),
        ("a.txt", bytes(range(128, 256)), "not text in UTF-8"),
        ("a.cubex", b"x", "a file instead of a folder of runs"),
    ],
)
def test_bad_files_are_one_line(run: Any, tmp_path: Path, name: str, content: bytes, words: str) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    ran = run(file)
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("error: ")
    assert words in ran.err


def test_files_that_are_missing_twice_or_of_other_parameters(run: Any, runs: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("q,value\n4,1\n8,2\n")
    for files, words in (
        ((tmp_path / "none.csv",), "No such file or directory"),
        ((runs, runs), "a file is given twice"),
        ((runs, tmp_path / "." / "x" / ".." / "none.csv"), "No such file or directory"),
        ((runs, other), "files of other parameters cannot be fitted together, got 'q' (allowed: p, n"),
        ((tmp_path,), "a folder without runs"),
    ):
        ran = run(*files)
        assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
        assert words in ran.err


def test_one_point_constant_zero_and_negative_values_work(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("p,value\n4,1.5\n")
    ran = run(file)
    assert (ran.status, ran.err) == (0, "")
    assert "There is one point only: the growth of the values is unknown." in ran.out
    for values, text in (([2] * 5, "2"), ([0] * 5, "0")):
        file.write_text("p,value\n" + "".join(f"{2**k},{value}\n" for k, value in enumerate(values)))
        assert run(file, "--json").json["fits"][0]["model"]["text"] == text
        assert run(file).status == 0
    file.write_text("p,value\n1,0\n2,-2\n4,3\n8,-1\n16,5\n")
    assert run(file).status == run(file, "--write", tmp_path / "a.tex", "--write", tmp_path / "a.py").status == 0


def test_repeated_rows_are_repetitions(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("p,value\n" + "".join(f"{2**k},{2**k}\n{2**k},{2**k}\n" for k in range(5)))
    answer = run(file, "--json").json
    assert (answer["points"], answer["repetitions"]) == (5, 2)


# --- Many ----------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_json_of_many_series_by_processes_is_that_of_one(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel_fit, "WORTH_S", 0.0)
    monkeypatch.setattr(parallel_fit, "BLOCK", 16)
    file = tmp_path / "many.csv"
    file.write_text("p,region,value\n" + "".join(f"{p},r{k},{p * k + 1}\n" for k in range(60) for p in (2, 4, 8, 16)))
    one, two = (run(file, "--json", "-j", jobs) for jobs in (1, 2))
    assert one.out == two.out
    assert [result["region"] for result in one.json["fits"]] == [f"r{k}" for k in range(60)]
    assert sum(line.startswith('    {"region"') for line in one.out.splitlines()) == 60  # a line each


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to see which processes are left")
@pytest.mark.thorough
def test_an_interrupt_ends_all_processes_without_a_traceback(tmp_path: Path) -> None:
    file = tmp_path / "many.csv"
    lines = (f"{p},r{k},{p * k + 1.5}\n" for k in range(40_000) for p in (2, 4, 8, 16, 32))
    file.write_text("p,region,value\n" + "".join(lines))
    with subprocess.Popen(
        [sys.executable, "-m", "simcodesign", "fit", str(file), "-j", "2", "--json"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        deadline = time.monotonic() + 60
        while len(group(process.pid)) < 3 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        _, complaints = process.communicate(timeout=60)
    assert (process.returncode, complaints) == (130, "")
    deadline = time.monotonic() + 10
    while group(process.pid) and time.monotonic() < deadline:  # the resource tracker takes a moment
        time.sleep(0.05)
    assert group(process.pid) == []


def group(leader: int) -> list[int]:
    """Living processes of a process group."""
    recorded = []
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z" and int(fields[2]) == leader:
            recorded.append(int(entry.name))
    return recorded


def test_errors_of_exponents_say_the_option() -> None:
    with pytest.raises(InputError, match="--exponents"):
        parsed_exponents("x;y")
    assert EXPONENT_FORMS


# --- As a workload --------------------------------------------------------------------------------------------------

REQUIREMENTS: dict[str, Callable[[float, float], float]] = {
    "PAPI_FP_OPS": lambda p, n: 2e3 * n * math.log2(n),
    "sent": lambda p, n: 48 * n ** (2 / 3),
    "bytes_sent:allreduce": lambda p, n: 8 * math.log2(p),
    "bytes_used": lambda p, n: 800 * n,
    "calls": lambda p, n: 7.0,
}


@pytest.fixture
def requirements(tmp_path: Path) -> Path:
    rows = [
        f"{p},{n},solve,{metric},{demand(p, n)!r}"
        for metric, demand in REQUIREMENTS.items()
        for p in (4, 8, 16, 32, 64)
        for n in (1000, 2000, 4000, 8000, 16000)
    ]
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(["p,n,region,metric,value", *rows]) + "\n")
    return path


def test_a_workload_that_both_readings_run(
    requirements: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "solver.yaml"
    assert cli.main(["fit", str(requirements), "--write", str(file), "--as", "sent=bytes_sent:halo3d"]) == 0
    assert "note: metric 'calls' is left out: it is not known to be a demand" in capsys.readouterr().err
    workload, machine, values = load_workload(file), load_machine("torus-cluster"), {"P": 256, "n": 1e5}
    for result in (forecast(workload, machine, values), simulate(workload, machine, values, effects="none")):
        assert result.flops / 256 == pytest.approx(REQUIREMENTS["PAPI_FP_OPS"](256, 1e5), rel=1e-9)
        sent = REQUIREMENTS["sent"](256, 1e5) + REQUIREMENTS["bytes_sent:allreduce"](256, 1e5)
        assert result.message_bytes / 256 == pytest.approx(sent, rel=1e-9)
        assert result.footprint_bytes == pytest.approx(8e7, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            ["--as", "sent=flops"],
            "--as needs --write workload:FILE.yaml",
        ),
        (["--ranks-parameter", "p"], "--ranks-parameter needs --write workload:FILE.yaml"),
        (["--write", "workload:out.txt"], "--write: wrong suffix of a file"),
        (["--write", "out.yaml", "--as", "sent"], "--as: not a metric and its demand, got 'sent'"),
        (["--write", "out.yaml", "--as", "sent=sense"], "error: "),
        (["--write", "out.yaml", "--as", "nothing=flops"], "no such metric"),
        (["--write", "out.yaml", "--ranks-parameter", "q"], "error: "),
        (["--write", "out.yaml", "--neighbours", "halo9d"], "not a pattern of neighbours"),
    ],
)
def test_workloads_that_cannot_be_written(
    requirements: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    complaint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["fit", str(requirements), *options]) == 2
    assert complaint in capsys.readouterr().err
    assert not (tmp_path / "out.yaml").exists()


def test_counts_that_are_known_to_be_exact(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        f"{p},{n},{640 + 160 * math.log2(p) + 480 * n ** (2 / 3) - 960 * n ** (1 / 3)!r}"
        for p in (2, 4, 8, 16, 32)
        for n in (64, 256, 1024, 4096, 16384)
    ]
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(["p,n,value", *rows]) + "\n")
    assert cli.main(["fit", str(path), "--exact", "--negative-coefficients", "--json"]) == 0
    (series,) = json.loads(capsys.readouterr().out)["fits"]
    assert series["model"]["text"] == "640 + 160 log2(p) - 960 n^(1/3) + 480 n^(2/3)"


# --- Columns, cells and numbers as people have them --------------------------------------------------------------


def test_units_behind_metrics_and_cores_make_a_workload(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "cores.csv"
    rows = "".join(f"{p},main,time [s],{3 + 96 / p}\n{p},main,setup [ms],{p}\n" for p in (2, 4, 8, 16, 32))
    file.write_text("cores,region,metric,value\n" + rows)
    ran = run(file, "--negative-exponents", "--write", tmp_path / "w.yaml")
    assert ran.status == 0, ran.err
    assert "'setup [ms]' is left out" in ran.err
    work = load_workload(tmp_path / "w.yaml")
    result = forecast(work, load_machine("torus-cluster"), {"P": 8})
    assert result.makespan_s == pytest.approx(3 + 96 / 8, rel=1e-6)


@pytest.mark.parametrize("cell", ["", "nan"])
def test_a_cell_without_a_value_is_told(run: Any, tmp_path: Path, cell: str) -> None:
    file = tmp_path / "gap.csv"
    file.write_text(
        "p,region,metric,value\n" + "".join(f"{p},main,time,{cell if p == 8 else p}\n" for p in (2, 4, 8, 16, 32, 64))
    )
    ran = run(file)
    assert ran.status == 0
    assert "note: main time has 0 of 1 values at p=8 (empty, or not given)" in ran.err
    assert run(file, "--partial").err == ""
    file.write_text(
        "p,region,metric,value\n"
        + "".join(f"{p},main,time,{v}\n" for p in (2, 4, 8, 16, 32) for v in (p, cell if p > 8 else p, p))
    )
    assert "main time has 2 of 3 values at p=16 (empty, or not given); so does 1 more" in run(file).err


def test_a_narrow_terminal_gets_a_table_without_folded_cells(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "long.csv"
    lines = [
        f"{p},{n},exchange_boundary,time,{1.23456 + 0.5 * p**0.5 * n * math.log2(n)}\n"
        for p in (4, 8, 16, 32, 64)
        for n in (1000, 2000, 4000, 8000, 16000)
    ]
    file.write_text(HEAD + "".join(lines))
    monkeypatch.setenv("COLUMNS", "80")
    narrow = run(file).out
    assert max(map(len, narrow.splitlines())) <= 80
    row = next(line for line in narrow.splitlines() if line.strip().startswith("exchange_boundary"))
    assert "p^(1/2) n log2(n)" in row
    assert "cross-val. 0 %" in narrow
    monkeypatch.setenv("COLUMNS", "140")
    wide = run(file).out
    assert re.search(r"exchange_boundary +1.23456 \+ 0.5 p\^\(1/2\) n log2\(n\) +0 %", wide)
    assert max(map(len, wide.splitlines())) > 80


def test_a_table_that_fits_a_narrow_terminal_stays_as_it_is(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "short.csv"
    file.write_text("p,value\n" + "".join(f"{p},{7 * p}\n" for p in (2, 4, 8, 16, 32)))
    monkeypatch.setenv("COLUMNS", "80")
    assert "cross-val.       R2" in run(file).out


def test_round_coefficients_are_printed_round(run: Any, tmp_path: Path) -> None:
    """Least squares leaves 7.000000000001822 of a count of 7; what is printed is 7, what is used stays as it was."""
    file = tmp_path / "counts.csv"
    file.write_text("p,value\n" + "".join(f"{p},{7 + 8 * p}\n" for p in (2, 4, 8, 16, 32, 64)))
    model = run(file, "--json").json["fits"][0]["model"]
    assert model["python"] == "7.0 + 8.0*p"
    assert model["constant"] == pytest.approx(7, rel=1e-9)
    assert Model(("p",), 7.000000000001822).python == "7.0"
    assert Model(("p",), 7.0000000018).python == "7.0000000018"
    assert Model(("p",), 1 / 3).python == repr(1 / 3)


def test_one_bad_repetition_is_named(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "bad.csv"
    spread = (1.0, 1.01, 0.99, 1.004, 0.996)
    rows = [
        (p, (3 + 2 * p) * s * (8 if (p, k) == (32, 2) else 1))
        for p in (2, 4, 8, 16, 32, 64)
        for k, s in enumerate(spread)
    ]
    file.write_text("p,value\n" + "".join(f"{p},{value}\n" for p, value in rows))
    assert "Repetition 3 at p=32 is an outlier" in run(file, "--target", "p=1024", "--json").json["fits"][0]["warning"]
    assert "Repetition 3 at p=32 is an outlier" in " ".join(run(file, "--target", "p=1024").out.split())


def test_what_a_reader_leaves_out_is_noted(run: Any, tmp_path: Path) -> None:
    rows = "".join(f"{2**power:<8} {1 + power / 10:.2f}\n" for power in range(8))
    (tmp_path / "osu.txt").write_text(f"# OSU MPI Latency Test v7.3\n# Size  Latency (us)\n{rows}256      1.")
    ran = run(tmp_path / "osu.txt")
    assert ran.status == 0
    assert ran.err == f"note: {tmp_path / 'osu.txt'}: line 11 is cut short: it is left out.\n"


@pytest.mark.parametrize(("factor", "is_refused"), [(1.4, False), (2.0, True)])
def test_files_that_state_no_ranks_are_no_repetitions(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], factor: float, is_refused: bool
) -> None:
    """Runs on 4 and 8 ranks, whose numbers OSU does not print, would be fitted as one."""
    files = []
    for name, times in (("four.txt", 1.0), ("eight.txt", factor)):
        lines = [f"{2**power} {times * (3 + 2**power / 1000):.3f}" for power in range(3, 16)]
        head = "# OSU MPI Allreduce Latency Test v7.3\n# Size  Avg Latency(us)\n"
        (tmp_path / name).write_text(head + "\n".join(lines) + "\n")
        files.append(tmp_path / name)
    refusal = f"2 runs of allreduce with values that differ by a factor of {factor:.1f} are no repetitions"
    answer = command(capfd, "fit")(*files)
    assert (refusal in answer.err) == is_refused
    assert bool(answer.status) == is_refused
    for file, ranks in zip(files, (4, 8), strict=True):
        file.write_text(f"mpirun -np {ranks} osu_allreduce\n{file.read_text()}")
    assert refusal not in command(capfd, "fit")(*files).err
