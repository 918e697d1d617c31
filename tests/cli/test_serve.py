"""The command ``serve``: tables, JSON, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simcodesign.cli import main

SMALL = ["--set", "layers=2", "--set", "hidden=1024", "--set", "heads=16", "--set", "requests=30"]
LINE = ["serve", "inference", "selene", *SMALL]


def test_tables(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "times.csv"
    assert main([*LINE, "--replications", "2", "--write", str(file)]) == 0
    text = capsys.readouterr().out
    for words in ("time to first token, p99", "tokens per second", "saturates at", "simulated     2 times"):
        assert words in text
    assert "approximation" in text
    assert "time to first token, p99" in file.read_text(encoding="utf-8")


def test_json_has_what_the_tables_have(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*LINE, "--replications", "2", "--json"]) == 0
    served = json.loads(capsys.readouterr().out)
    runs = [run["first_token"]["p99_s"] for run in served["runs"]]
    assert served["means"]["first_token_p99_s"]["mean"] == pytest.approx(sum(runs) / 2)
    assert served["forecast"]["requests_per_s"] == 1


def test_saturation_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*LINE, "--replications", "1", "--set", "rate=1e9"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "No forecast:" in text
    assert "the server saturates at" in text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["serve", "gpt", "selene"], "gpt has no section 'serving'"),
        ([*LINE, "--set", "policy=best"], "policy"),
        ([*LINE, "--set", "batch=5000"], "batch of serving"),
        ([*LINE, "--level", "2"], "--level"),
    ],
)
def test_what_is_refused(line: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line) == 2
    assert message in capsys.readouterr().err


def test_a_file_with_a_wrong_phase(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error names the line of the section."""
    file = tmp_path / "own.yaml"
    file.write_text(
        "simcodesign: 1\nname: own\nparameters: {batch: 1, n: 8, m: 8}\n"
        "program: [{phase: prefill, do: [{compute: {flops: n*batch}}]}]\n"
        "serving: {rate: 1, requests: 9, prompt: {parameter: n}, output: {parameter: m}}\n",
        encoding="utf-8",
    )
    assert main(["serve", str(file), "crossbar-16"]) == 2
    assert "own.yaml:5: serving: no such phase, got 'decode'" in capsys.readouterr().err
