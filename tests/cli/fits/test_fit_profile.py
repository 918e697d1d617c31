"""``fit-counters --profile``: what it prints, its JSON and plot, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.cli.run.fits.profile import parsed_target
from simcodesign.core.errors import InputError
from simcodesign.studies.extrapolation.trials import PLAIN
from tests.command_line import command

WORKLOAD = """simcodesign: 1
name: toy
parameters: {P: {default: 2, whole: true}, n: {default: 1e9}, steps: {default: 1, whole: true}}
size: n
program:
  - phase: solve
    repeat: steps
    do:
      - compute: {instructions: n/P}
      - allreduce: {bytes: 8}
presets:
  double: {n: 2e9}
"""
MACHINE = """simcodesign: 1
name: box
nodes: 64
processor: {rate: 1 GFLOP/s, cpi: 1, clock: 2 GHz}
network: {topology: {kind: crossbar}, sends: blocking, startup: 1 us, per_byte: 0}
noise: 5 %
"""


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setenv("COLUMNS", "80")
    work, box = tmp_path / "toy.yaml", tmp_path / "box.yaml"
    work.write_text(WORKLOAD)
    box.write_text(MACHINE)

    return command(capfd, "fit-counters", "--profile", str(work), str(box))


SMALL = ("--vary", "P=2,4,8", "--target", "P=32", "--seeds", "2")


def test_tables_fit_in_80_columns(run: Any) -> None:
    ran = run(*SMALL, "--target", "P=32,preset=double", "--ladder", "0")
    assert ran.status == 0
    assert max(map(len, ran.out.splitlines())) <= 80
    for words in (
        "toy on box",
        "truth, simulated",
        "counters",
        "T = a size/P + b",
        "P = 32, preset double",
        "models alone",
        "noise",
        "of the error",
    ):
        assert words in ran.out


def test_json_has_every_seed(run: Any) -> None:
    json = run(*SMALL, "--json").json
    (target,) = json["targets"]
    assert json["seeds"] == [0, 1]
    assert json["profile"] == [2, 4, 8]
    for method, seconds in target["seconds"].items():
        errors = [result / truth - 1 for result, truth in zip(seconds, target["truth_s"], strict=True)]
        assert target["errors"][method]["mean"] == pytest.approx(sum(errors) / 2)
        assert target["errors"][method]["mean_absolute"] == pytest.approx(sum(map(abs, errors)) / 2)
    assert target["ladder"] is None
    assert target["refusal"] is None


def test_without_a_target_four_times_the_largest_run(run: Any) -> None:
    """P = 4 x 8; and processes are given in the grammar of a sweep."""
    ran = run("--vary", "P=2:8:x2", "--seeds", "2", "--json")
    assert ran.out == run(*SMALL, "--json").out


def test_effects_off_is_exact(run: Any) -> None:
    (target,) = run(*SMALL, "--effects", "none", "--json").json["targets"]
    assert target["truth_s"][0] == pytest.approx(1e9 / 32 / 2e9 + 5e-6)
    assert abs(target["errors"][PLAIN]["mean"]) < 1e-9


def test_larger_size_by_preset_and_parameter(run: Any) -> None:
    """The same run; 2e9 instructions on 32 processes of 2 GHz, and five steps of a collective."""
    by_preset = run(
        "--vary", "P=2,4,8", "--target", "P=32,preset=double", "--effects", "none", "--seeds", "1", "--json"
    )
    by_value = run("--vary", "P=2,4,8", "--target", "P=32,n=2e9", "--effects", "none", "--seeds", "1", "--json")
    seconds = [one.json["targets"][0]["truth_s"][0] for one in (by_preset, by_value)]
    assert seconds == [pytest.approx(2e9 / 32 / 2e9 + 5e-6)] * 2


def test_settings_are_of_all_runs(run: Any) -> None:
    (once,) = run(*SMALL, "--effects", "none", "--json").json["targets"]
    (thrice,) = run(*SMALL, "--effects", "none", "--set", "steps=3", "--json").json["targets"]
    assert thrice["truth_s"][0] == pytest.approx(3 * once["truth_s"][0])


def test_refinement_is_said(run: Any) -> None:
    ran = run(*SMALL, "--further", "P=16,64", "--second-clock", "1 GHz")
    assert ran.status == 0, ran.err
    assert "counters, refined" in ran.out
    assert "1 GHz on P = 8" in ran.out


@pytest.mark.thorough
@pytest.mark.parametrize("suffix", [pytest.param("png", marks=pytest.mark.thorough), "svg"])
def test_plot(run: Any, tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"plot.{suffix}"
    assert run(*SMALL, "--target", "P=64,preset=double", "--ladder", "0", "--write", path).status == 0
    assert path.stat().st_size > 5000


def test_no_ladder_is_said(run: Any) -> None:
    assert "no ladder" in run(*SMALL, "--effects", "none", "--ladder", "10%").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--vary", "P=2,4,8", "--target", "P=32", "--seeds", "9" * 30), "'--seeds'"),
        (("--vary", "P=2,4", "--target", "P=32"), "numbers of processes to profile"),
        (("--vary", "P=2,x,8", "--target", "P=32"), "--vary: 'x' is no value of P"),
        (("--vary", "n=2,4,8"), "--vary: not numbers of processes"),
        (("--target", "P=32"), "--vary: numbers of processes"),
        ((*SMALL, "--evidence", "a.csv"), "--evidence needs FILE..."),
        ((*SMALL, "--write", "made.yaml"), "--write: models of simulated runs"),
        ((*SMALL, "--further", "16"), "--further: not something to vary"),
        (("--vary", "P=2,4,8", "--target", "P=8"), "a target that is profiled"),
        (("--vary", "P=2,4,8", "--target", "32"), "--target: not a target"),
        (("--vary", "P=2,4,8", "--target", "preset=double"), "a target without P"),
        (("--vary", "P=2,4,8", "--target", "P=1.5"), "processes of a target"),
        (("--vary", "P=2,4,8", "--target", "P=32,n=many"), "n of a target"),
        (("--vary", "P=2,4,8", "--target", "P=32,volume=-1"), "volume of a target"),
        (("--vary", "P=2,4,8", "--target", "P=32,m=3"), "m"),
        ((*SMALL, "--set", "P=4"), "P is given by --vary and --target"),
        ((*SMALL, "--second-clock", "2 GHz"), "second clock"),
        ((*SMALL, "--second-clock", "2 s"), "--second-clock"),
        ((*SMALL, "--further", "P=8"), "further runs that are profiled already"),
        ((*SMALL, "--guard", "much"), "guard"),
        ((*SMALL, "--effects", "luck"), "no such effect"),
    ],
)
def test_refused(run: Any, arguments: tuple[str, ...], message: str) -> None:
    ran = run(*arguments)
    assert ran.status == 2
    assert message in ran.err
    assert not ran.out


@given(st.text("P=,123abcn. ", max_size=20))
def test_targets_are_read_or_refused(text: str) -> None:
    try:
        result = parsed_target(text)
    except InputError:
        return
    assert result.processes >= 1


def test_parsed_target_reads_all() -> None:
    result = parsed_target(" P=128 , preset=C, n=1e3, volume=4")
    assert (result.processes, result.preset, dict(result.parameters), result.volume) == (128, "C", {"n": 1e3}, 4.0)
    assert result.text == "P = 128, preset C, n = 1000.0"
