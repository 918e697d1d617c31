"""``--write [WHAT:]FILE``: how it is parsed, what it refuses, and every kind of file of every command."""

from __future__ import annotations

import gzip
import json
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from rich.table import Table

from simcodesign.cli.app import app
from simcodesign.cli.simulation_files import FILES
from simcodesign.cli.written_files import PLOT_SUFFIXES, TABLE, Output, Outputs
from simcodesign.core.errors import InputError
from simcodesign.describe.goal.format import read_goal
from simcodesign.describe.recordings.file import read_recording
from simcodesign.describe.recordings.readers.time_independent import read_time_independent
from simcodesign.report.common.table_files import SUFFIXES, write_tables
from simcodesign.report.common.tables import new_table, paragraph
from tests import ROOT
from tests.cli.test_golden import commands
from tests.command_line import command
from tests.lessons.small import small_lesson

WORDS = [*FILES.outputs]
PAIRS = [(word, suffix) for word, output in FILES.outputs.items() for suffix in output.suffixes]
#: Names of files without a word before a colon.
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/:"), max_size=8)

# --- How it is parsed ------------------------------------------------------------------------------------------


@given(pair=st.sampled_from(PAIRS), folder=st.sampled_from(["", "a/", "./", "a:b/", "/tmp/x y/"]), name=NAMES)
@example(pair=("events", ".txt"), folder="", name="gantt:a")
def test_a_word_decides(pair: tuple[str, str], folder: str, name: str) -> None:
    word, suffix = pair
    file = f"{folder}{name}{suffix}"
    output, path = FILES.parse(f"{word}:{file}")
    assert (output.word, path) == (word, Path(file))


@given(pair=st.sampled_from(PAIRS), folder=st.sampled_from(["", "a/", "./", "/tmp/x y/"]))
def test_a_stem_decides(pair: tuple[str, str], folder: str) -> None:
    word, suffix = pair
    output, path = FILES.parse(f"{folder}{word}{suffix}")
    assert (output.word, path) == (word, Path(f"{folder}{word}{suffix}"))


@given(pair=st.sampled_from(PAIRS), name=NAMES.filter(lambda name: name.partition(".")[0].lower() not in WORDS))
def test_a_suffix_decides_if_one_word_has_it(pair: tuple[str, str], name: str) -> None:
    file = f"./{name}{pair[1]}"
    words = [word for word, suffix in PAIRS if suffix == pair[1]]
    if len(words) == 1:
        assert FILES.parse(file)[0].word == pair[0]
    else:
        with pytest.raises(InputError, match=f"{words[0]}:./") as refusal:
            FILES.parse(file)
        assert all(f"{word}:{file}" in (refusal.value.allowed or "") for word in words)


@given(st.text(max_size=20))
def test_any_text_is_parsed_or_refused_with_the_words(text: str) -> None:
    try:
        output, path = FILES.parse(text)
    except InputError as refusal:
        error = refusal
    else:
        assert output.takes(str(path)) or (output.is_text and str(path) == "-")
        return
    assert any(f"{word}:" in (error.allowed or "") for word in WORDS)


# --- What is refused -------------------------------------------------------------------------------------------

REFUSED = {
    "word": (
        "bars:a.png",
        "no such kind of file",
        "table:FILE (.csv .jsonl .parquet .tex)",
    ),
    "suffix of a word": ("plot:a.gif", "wrong suffix of a file", "plot:FILE (.png .svg .pdf)"),
    "suffix": (
        "a.gif",
        "no kind of file has this name or suffix",
        "table:FILE (.csv .jsonl .parquet .tex)",
    ),
    "no suffix": ("plot", "no kind of file has this name or suffix", "plot:FILE"),
    "nothing": ("", "no kind of file has this name or suffix", "plot:FILE"),
    "no file": ("plot:", "no kind of file has this name or suffix", "plot:FILE"),
    "folder": ("no/plot.png", "cannot be written", "a file in an existing folder"),
    "a folder": ("plot:folder.png", "cannot be written", "a file in an existing folder"),
    "not a text": ("plot:-", "wrong suffix of a file", "plot:FILE (.png .svg .pdf)"),
    "twice": ("table:./given.csv", "in use by the same command", ""),
}


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return command(capfd)


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_come_before_any_work(case: str, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text, what, allowed = REFUSED[case]
    Path("folder.png").mkdir()
    monkeypatch.setattr("simcodesign.analytic.forecast.forecast", None)
    ran = run("forecast", "jacobi", "mesh-256", "-P", 4, "--write", "given.csv", "--write", text)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"error: --write: {what}" if case != "twice" else "error: --write: this file is")
    assert what in ran.err
    assert allowed in ran.err


def test_a_plot_without_matplotlib_is_refused(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    monkeypatch.setattr("simcodesign.analytic.forecast.forecast", None)
    ran = run("forecast", "jacobi", "mesh-256", "-P", 4, "--write", "plot.png")
    assert (ran.status, ran.out) == (2, "")
    assert "simcodesign[plot]" in ran.err


def test_what_is_needed_is_asked_for() -> None:
    outputs = Outputs(Output("page", (".html",), ""))
    with pytest.raises(InputError, match=r"no file is given to write.*page:FILE \(\.html\)"):
        outputs.requested([], needed=True)
    assert outputs.requested([]).files == ()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("simulate jacobi mesh-256 -P 4 --replications 2 --write counters.csv", "shows one run"),
        ("compare jacobi mesh-256 torus-cluster -P 4 --write trace.json", "needs a single comparison"),
        ("compare jacobi mesh-256 --vary P=2,4 --write trace.json", "needs a single comparison"),
        ("compare jacobi mesh-256 -P 4 --replications 2 --write plot.png", "shows one run"),
        ("show mesh-256 --write equations:-", "a machine has no equations"),
        ("show jacobi --json --write equations:-", "exclude each other"),
        ("grade answers.json", "no file is given to write"),
        ("lesson build amdahl", "no file is given to write"),
        ("lesson build amdahl --write a.html --write b.html", "a file at a time"),
    ],
)
def test_what_does_not_go_together(line: str, words: str, run: Any) -> None:
    ran = run(*shlex.split(line))
    assert (ran.status, ran.out) == (2, "")
    assert words in ran.err


def test_help_lists_words_and_suffixes(run: Any) -> None:
    text = " ".join(run("simulate", "--help").out.split())
    assert "Words and suffixes of --write: plot (.png .svg .pdf) " in text
    for output in FILES.outputs.values():
        assert f"{output.word} ({output.names}) {output.about}" in text


# --- Every kind of file ----------------------------------------------------------------------------------------

#: Command lines; ALL stands for all words and suffixes of the command but those after it.
LINES = [
    "forecast jacobi mesh-256 -P 4 ALL roofline",
    "forecast stencil sandy-bridge -P 4 roofline",
    "simulate broadcast mesh-256 -P 4 ALL power recording replay",
    "simulate barriers.py mesh-256 -P 4 recording",
    "simulate barriers.py mesh-256 -P 4 replay",
    "simulate jacobi power-budget-cluster -P 4 --set sweeps=1 power",
    "compare broadcast mesh-256 -P 4 ALL",
    "sweep broadcast mesh-256 --vary P=2,4,8 ALL",
    "explore jacobi torus-cluster --vary P=4,16 ALL",
    "serve inference selene --set requests=20 --replications 1 ALL",
    "score ALL",
    "show jacobi ALL levels roofline",
    "show two-partitions ALL equations roofline",
    "show a100-cluster ALL equations levels",
    "calibrate crossbar-16 osu.txt ALL",
    "locality --generate triad --set n=100 ALL trace",
    "locality --run ALL profile plot -- true",
    "fit runs.csv --target p=65536 ALL",
    "fit-counters --profile jacobi torus-cluster --set sweeps=2 --vary P=2,4,8 --target P=16 --seeds 2 ALL workload",
    "fit-counters counters.csv --target P=32 workload",
    "fit-formula runs.csv 'a + b*p**x' ALL",
    "requirements sum.py -n 2,3,4,5,8 --on crossbar-16 --compute none ALL",
    "validate --cases my_cases -j 1 ALL",
    "lesson build small -j 1 ALL",
    "lesson notebook simpy_by_hand ALL",
    "grade answers.json --lesson small -j 1 ALL",
]
OSU = "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n" + "".join(
    f"{2**k:<16}{2 + 0.001 * 2**k:.3f}\n" for k in range(4, 20)
)


def outputs_of(name: str) -> dict[str, Output]:
    group: Any = app
    for word in name.split():
        group = group.get_command(group.make_context("simcodesign", [], resilient_parsing=True), word)
    return group.outputs.outputs if group.outputs else {}


def name_of(line: str) -> str:
    words = line.split()
    return " ".join(words[: 2 if words[0] == "lesson" else 1])


def pairs_of(line: str) -> list[tuple[str, str]]:
    """The words and suffixes that a line writes."""
    words = line.partition(" -- ")[0].split()
    outputs = outputs_of(name_of(line))
    chosen = {*outputs} - {*words[words.index("ALL") + 1 :]} if "ALL" in words else {words[-1]}
    return [(word, suffix) for word in outputs if word in chosen for suffix in outputs[word].suffixes]


def is_right(word: str, path: Path) -> bool:
    """Whether a file is what its suffix says, by a reader of the format."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    match path.suffix:
        case ".png":
            return data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) > 5000
        case ".pdf":
            return data.startswith(b"%PDF-") and b"%%EOF" in data[-10:]
        case ".svg":
            return ElementTree.fromstring(data).tag.endswith("}svg")
        case ".json" | ".gz":
            content = json.loads(data)
            return bool(content["traceEvents"] if word == "trace" else content["distance"])
        case ".jsonl":
            return bool(data) and all("table" in json.loads(line) for line in data.splitlines())
        case ".parquet":
            return len(pd.read_parquet(path)) > 0
        case ".csv":
            return len(pd.read_csv(path)) > 0
        case ".npz" if word == "recording":
            return read_recording(path).ranks == 4
        case ".ti":
            return read_time_independent(path).ranks == 4
        case ".npz":
            return bool(len(np.load(path)["address" if word == "trace" else "distance"]))
        case ".tex":
            return b"\\begin{tabular}" in data if word in ("table", "models") else b"T_" in data
        case ".ipynb":
            return len(json.loads(data)["cells"]) > 2
        case ".py":
            return bool(compile(data, "models.py", "exec"))
        case ".yaml" | ".yml":
            return isinstance(yaml.safe_load(data), dict)
        case ".html" | ".htm":
            return data.lower().startswith(b"<!doctype html>")
        case ".goal":
            return read_goal(path).ranks == 4
        case ".txt":
            return b"begins" in data and b"ends" in data
    return False


@pytest.mark.parametrize("line", LINES)
def test_every_kind_is_written(line: str, run: Any) -> None:
    if any(suffix in PLOT_SUFFIXES for _, suffix in pairs_of(line)):
        pytest.importorskip("matplotlib")
    pytest.importorskip("pyarrow")
    if "--run" in line and shutil.which("valgrind") is None:
        pytest.skip("needs valgrind")
    Path("osu.txt").write_text(OSU)
    Path("runs.csv").write_text("p,metric,value\n" + "".join(f"{p},time,{3 + 0.5 * p}\n" for p in (4, 8, 16, 32, 64)))
    shutil.copy(ROOT / "tests" / "fuzz" / "inputs" / "counters.csv", "counters.csv")
    program = "import simcodesign as sc\n\n@sc.program\ndef barriers(rank, size):\n    yield sc.rank.world.barrier()\n"
    Path("barriers.py").write_text(program)
    Path("sum.py").write_text("from mpi4py import MPI\nMPI.COMM_WORLD.allreduce(1)\n")
    small_lesson(Path("small"))
    shutil.copytree(ROOT / "tests" / "extension" / "my_cases", "my_cases")
    answers = {"simcodesign": 1, "lesson": "small", "content": "", "code": "s1", "answers": {"number": {"value": 1}}}
    Path("answers.json").write_text(json.dumps(answers))
    options, dashes, program = line.partition(" -- ")
    words = shlex.split(options)
    cut = words.index("ALL") if "ALL" in words else len(words) - 1
    pairs = [pair for pair in pairs_of(line) if name_of(line) != "lesson build" or pair[1] == ".html"]
    written = [part for word, suffix in pairs for part in ("--write", f"{word}:one-{word}{suffix}")]
    ran = run(*words[:cut], *written, *([dashes.strip(), *program.split()] if program else []))
    assert ran.status == 0, ran.err
    for word, suffix in pairs:
        assert is_right(word, Path(f"one-{word}{suffix}")), (word, suffix)


def test_every_word_and_suffix_of_every_command_is_among_them() -> None:
    tested = {(name_of(line), *pair) for line in LINES for pair in pairs_of(line)}
    assert {name for name in commands(app) if outputs_of(name)} == {name for name, _, _ in tested}
    for name in commands(app):
        for word, output in outputs_of(name).items():
            assert {(name, word, suffix) for suffix in output.suffixes} <= tested


@pytest.mark.thorough
@pytest.mark.parametrize(
    "line",
    [
        "compare jacobi mesh-256 torus-cluster -P 4 --set sweeps=1",
        "compare broadcast mesh-256 --vary P=2,4",
        "simulate jacobi mesh-256 -P 4 --set sweeps=1 --replications 2 -j 1",
    ],
)
def test_plots_and_tables_of_several_runs(line: str, run: Any) -> None:
    pytest.importorskip("matplotlib")
    ran = run(
        *line.split(), "--json", "--write", "plot.svg" if "compare" in line else "plot:p.svg", "--write", "t.jsonl"
    )
    assert ran.json
    assert is_right("plot", Path("plot.svg" if "compare" in line else "p.svg"))
    assert is_right("table", Path("t.jsonl"))


def test_text_is_printed_in_place_of_tables(run: Any) -> None:
    ran = run("simulate", "broadcast", "mesh-256", "-P", 2, "--write", "events:-")
    assert ran.out.split()[:3] == ["time", "(us)", "rank"]
    assert "Most used" not in ran.out
    written = run("simulate", "broadcast", "mesh-256", "-P", 2, "--write", "events.txt")
    assert "Most used" in written.out
    assert Path("events.txt").read_text() == ran.out


# --- Tables ----------------------------------------------------------------------------------------------------


def report() -> Iterator[Any]:
    yield paragraph("A text.")
    table = new_table("Times (ms)", "phase", "time", "share", "note")
    table.add_row("a_1", "1,234.5", "12.5%", "3 of 4")
    table.add_row("=b", "-", "0.0%", "all")
    yield table
    yield Table.grid()
    other = new_table("Stations", "station", "time")
    other.add_row("disk 0", "2e-05")
    yield other


BY_HAND = [
    {"table": "Times (ms)", "phase": "a_1", "time": 1234.5, "share": 0.125, "note": "3 of 4"},
    {"table": "Times (ms)", "phase": "=b", "time": None, "share": 0.0, "note": "all"},
    {"table": "Stations", "station": "disk 0", "time": 2e-05},
]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_reads_back_as_it_is_printed(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{suffix}"
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    write_tables(report(), path)
    if suffix == ".jsonl":
        assert [json.loads(line) for line in path.read_text().splitlines()] == BY_HAND
    elif suffix == ".tex":
        head, *rest = path.read_text().split("\n\n")
        assert len(rest) == 1
        assert head.startswith("% Times (ms)\n\\begin{tabular}{lrrr}\n\\hline\nphase & time & share & note \\\\\n")
        assert "a\\_1 & 1,234.5 & 12.5\\% & 3 of 4 \\\\\n=b & - & 0.0\\% & all \\\\\n" in head
    else:
        frame = pd.read_parquet(path) if suffix == ".parquet" else pd.read_csv(path)
        assert list(frame.columns) == ["table", "phase", "time", "share", "note", "station"]
        rows = [
            {name: cell for name, cell in row.items() if cell == cell and cell is not None}
            for row in frame.to_dict("records")
        ]
        escaped = [row | ({"phase": "'=b"} if row.get("phase") == "=b" and suffix == ".csv" else {}) for row in BY_HAND]
        assert rows == [{name: cell for name, cell in row.items() if cell is not None} for row in escaped]


def test_a_report_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no table to write"):
        write_tables([paragraph("A text.")], tmp_path / "t.csv")


def test_the_table_of_a_forecast_has_its_numbers(run: Any) -> None:
    """The printed numbers, which are rounded, against those of --json."""
    answer = run("forecast", "jacobi", "mesh-256", "-P", 4, "--json", "--write", "table.csv").json
    frame = pd.read_csv("table.csv")
    total = frame[(frame["phase"] == "total") & frame["table"].str.contains("component")].iloc[0]
    unit = {"(us)": 1e-6, "(ms)": 1e-3, "(s)": 1.0}[str(total["table"]).split()[-1]]
    assert total["total"] * unit == pytest.approx(answer["makespan_s"], rel=1e-4)
    assert TABLE.suffixes == SUFFIXES
