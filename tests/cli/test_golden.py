"""One output per command, as it is printed: ``golden/COMMAND.txt``.

These files pin the layout alone: which columns, headings, units and notes there are, and in which order. That the
numbers in them are right is the business of other tests. ``pytest tests/cli/test_golden.py --renew`` writes them anew;
read the difference before it is committed.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from simcodesign import cli
from simcodesign.analytic.forecast import forecast
from simcodesign.calibration.calibrate import timings_of
from tests import ROOT
from tests.lessons.small import small_lesson

FOLDER = Path(__file__).with_name("golden")
JACOBI = "jacobi torus-cluster -P 8 --set sweeps=2"

#: A command line for each command; the last word before its arguments ends the name of its file.
LINES = [
    "calibrate seismic power-challenge times.csv --unknown network.startup,network.per_byte --shared",
    f"compare {JACOBI} --effects hops,links",
    "compare lulesh relearn strawman-massively-parallel strawman-vector strawman-hybrid --requirements",
    "compare lulesh juqueen 'juqueen with nodes=x2' --requirements",
    "demo --folder plots",
    "explore cg exascale-cg --set nodes=64 --vary ts --vary tw --subject-to 'rate >= 61 TFLOP/s' --set eta=1",
    "explore torus-cluster --vary nodes=1:1000 --subject-to 'memory_bandwidth <= 1 TB/s'",
    "explore comd-eam keeneland -P 360 --vary 'machine.core_clock=100 MHz,2 GHz' --subject-to 'time <= 3600 s'",
    "explore lulesh juqueen --subject-to 'time <= 1 s' --subject-to 'n >= 100'",
    "explore jacobi torus-cluster --vary P=251,256 --set n=4096",
    "fit runs.csv --target p=65536",
    "fit-counters --profile jacobi torus-cluster --set sweeps=2 --vary P=2,4,8 --target P=16 --seeds 2",
    "fit-formula runs.csv 'a + b*p**x' --target p=65536",
    f"forecast {JACOBI}",
    "grade answers.json --write marks.csv --lesson small -j 1",
    "lesson build small --write small.html",
    "lesson check small",
    "lesson list",
    "lesson new mine",
    "lesson notebook simpy_by_hand --write simpy.ipynb",
    "list",
    "locality --generate blocked_matmul --set n=16 --set b=4 --caches 1KiB:2,4KiB:8 --groups",
    "score predictions.csv",
    "serve inference selene --set requests=200 --replications 2 --effects none",
    "show jacobi",
    f"simulate {JACOBI} --effects hops,links --stations 3",
    "study two",
    "sweep jacobi torus-cluster --vary P=1:64:x2",
    "validate --cases my_cases -j 1",
]
STUDY = """simcodesign: 1
questions: {How long: {forecast: jacobi torus-cluster, P: 8}, Within 1 us: {explore: jacobi torus-cluster, vary: {P: 1:8}}}
"""
#: File of what each line prints: the words of the command, for ``explore`` and requirements also what they are about.
STEMS = [
    "-".join(words[: 2 if words[0] in ("explore", "lesson") else 1])
    + "-".join(["", *words[1:3]]) * ("--requirements" in words)
    for words in map(str.split, LINES)
]
#: What takes more than a second or two: part of ``make test-all``.
LONG = [line for line in LINES if line.startswith("demo")]


def commands(group: Any) -> Iterator[str]:
    """The names of all commands, those of groups with the name of the group before them."""
    context = group.make_context("simcodesign", [], resilient_parsing=True)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield from [f"{name} {each}" for each in commands(command)] if hasattr(command, "commands") else [name]


def name_of(line: str) -> str:
    """The command that a line calls: its one or two first words."""
    words = line.split()
    return " ".join(words[: 2 if words[0] in ("lesson") else 1])


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the lines name."""
    folder = tmp_path_factory.mktemp("golden")
    shutil.copytree(ROOT / "tests" / "extension" / "my_cases", folder / "my_cases")
    results = [(ranks, forecast("seismic", "power-challenge", {"P": ranks}, preset="test")) for ranks in (2, 4, 8)]
    times = pd.concat([timings_of(result, {"P": ranks}, "test") for ranks, result in results])
    times.to_csv(folder / "times.csv", index=False)
    rows = [f"{p},time,{3 + 0.5 * p}\n" for p in (4, 8, 16, 32, 64)]
    small_lesson(folder / "small")
    (folder / "two").mkdir()
    (folder / "two" / "study.yaml").write_text(STUDY)
    answers = {"simcodesign": 1, "lesson": "small", "content": "", "code": "s1", "answers": {"number": {"value": 1}}}
    (folder / "answers.json").write_text(json.dumps(answers))
    (folder / "predictions.csv").write_text(
        "id,seconds\nfugaku/broadcast/binomial/8x8x8/4,2e-5\nfugaku/broadcast/binomial/4x4x4/67108864,0.1\n"
    )
    (folder / "runs.csv").write_text("p,metric,value\n" + "".join(rows))
    return folder


def printed(line: str, capfd: pytest.CaptureFixture[str]) -> str:
    """What a command prints, without what depends on the machine: how long things took, and the width of that column."""
    capfd.readouterr()
    status = cli.main(shlex.split(line))
    out, err = capfd.readouterr()
    assert status == 0, err
    text = f"$ simcodesign {line}\n{out}{err}".replace(str(ROOT), "ROOT")
    if name_of(line) == "study":
        text = re.sub(r"answered +[0-9.]+", "answered   SECONDS", re.sub(r": [0-9.]+ MB", ": SIZE MB", text))
    if name_of(line) == "validate":
        text = re.sub(
            r" +[0-9.]+ (us|ms|s)$", "   TIME", re.sub("─+", "─", re.sub(" {2,}", "  ", text)), flags=re.MULTILINE
        )
    return text


def test_every_command_has_one() -> None:
    names = {name_of(line) for line in LINES}
    # ``lab`` serves until it is ended: tests/lab; ``run`` and ``requirements`` take a program:
    # tests/mpi, tests/studies/recorded.
    assert sorted([*names, "lab", "requirements", "run", "schema"]) == sorted(commands(cli.app))
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(STEMS)


@pytest.mark.parametrize(
    ("line", "stem"),
    [
        pytest.param(line, stem, id=stem, marks=pytest.mark.thorough if line in LONG else ())
        for line, stem in zip(LINES, STEMS, strict=True)
    ],
)
def test_output(
    line: str,
    stem: str,
    inputs: Path,
    request: pytest.FixtureRequest,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(inputs)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("XDG_CACHE_HOME", str(inputs / "cache"))
    text, golden = printed(line, capfd), FOLDER / f"{stem}.txt"
    if request.config.getoption("--renew"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
