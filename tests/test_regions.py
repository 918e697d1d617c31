"""Tables, JSON and plots of feasibility regions, and the command that asks for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simcodesign.cli.base import main

ASK = ["codesign", "feasibility", "cg", "exascale-cg", "--target", "1e18", "--over", "ts,tw"]


def test_the_inequality_and_the_threshold_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ASK) == 0
    out = capsys.readouterr().out
    assert "1120 ts + 1599600 tw <= " in out
    assert "eta below 0.09315" in out  # 2.1048e-5 / 2.2596e-4
    assert "62.4" in out  # GB/s at eta = 1, as published


def test_json_has_a_region_for_each_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ASK, "--each", "eta=1,0.05", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [region["values"] for region in said["regions"]] == [{"eta": 1.0}, {"eta": 0.05}]
    assert [region["feasible"] for region in said["regions"]] == [True, False]
    assert said["regions"][0]["intercepts"] == pytest.approx([1.8296e-7, 1.2810e-10], rel=1e-4)
    assert said["regions"][1]["intercepts"] == [None, None]


def test_a_simulated_boundary_is_listed_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    few = ["codesign", "feasibility", "cg", "exascale-cg", "--target", str(1e18 / 2**14), "--set", "nodes=64"]
    plot = tmp_path / "region.png"
    options = ["--set", "train=104", "--each", "eta=1", "--simulate", "--effects", "hops", "--points", "2"]
    assert main([*few, *options, "--plot", str(plot)]) == 0
    assert "hops" in capsys.readouterr().out
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--each", "eta=a,b"], "not a list of values"),
        (["--each", "nothing=1"], "not a parameter"),
        (["--over", "ts"], "two costs"),
    ],
)
def test_bad_options(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ASK[:4], "--target", "1e18", *options]) == 2
    assert said in capsys.readouterr().err
