"""``serve --vary``: a server at every point of a grid, as ``serve`` has it at each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simcodesign.cli import main

SMALL = [
    "--set",
    "layers=2",
    "--set",
    "hidden=1024",
    "--set",
    "heads=16",
    "--set",
    "requests=30",
    "--replications",
    "1",
]
LINE = ["serve", "inference", "selene", *SMALL]


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert main([*LINE, *words, "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_each_point_is_the_answer_of_serve_there(capsys: pytest.CaptureFixture[str]) -> None:
    points = answer(capsys, "--vary", "rate=10:40:x2", "--vary", "policy=static,continuous")["points"]
    assert isinstance(points, list)
    assert [(one["values"]["rate"], one["values"]["policy"]) for one in points] == [
        (rate, policy) for rate in (10, 20, 40) for policy in ("static", "continuous")
    ]
    for point in (points[0], points[-1]):
        values = point["values"]
        alone = answer(capsys, "--set", f"rate={values['rate']}", "--set", f"policy={values['policy']}")
        assert point["served"] == alone


def test_machines_may_differ(capsys: pytest.CaptureFixture[str]) -> None:
    points = answer(capsys, "--vary", "accelerator.memory.bandwidth=1 TB/s,2 TB/s")["points"]
    assert isinstance(points, list)
    first, second = (one["served"]["means"]["first_token_s"]["mean"] for one in points)
    assert first > second


def test_the_table_has_points_without_a_forecast_and_without_an_answer(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "points.csv"
    line = [*LINE, "-P", "6", "--vary", "rate=10,1e9", "--vary", "tensor=1,3", "--write", str(file)]
    assert main(line) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Without a forecast the server saturates" in text
    assert "No answer at 2 of the points, first at rate = 10, tensor = 3:" in text
    assert "heads is a multiple of tensor" in text
    assert "first token, p99" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ("tensor=3", "no point has an answer; the first:"),
        ("tensr=1,2", "did you mean 'tensor'"),
        ("rate=1:2", "a range without a step"),
    ],
)
def test_what_is_refused(capsys: pytest.CaptureFixture[str], vary: str, message: str) -> None:
    assert main([*LINE, "--vary", vary]) == 2
    assert message in capsys.readouterr().err
