"""``compare`` with several machines and workloads: one table, one plot, one JSON object."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests import ROOT
from tests.command_line import command

TWO = ("burst", "mesh-256", "hypercube-256", "-P", "8")


def test_a_row_for_each_and_ladders_side_by_side(capfd: pytest.CaptureFixture[str]) -> None:
    run = command(capfd, "compare")
    ran = run(*TWO)
    alone = [run("burst", name, "-P", "8", "--json").json for name in TWO[1:3]]
    for name, one in zip(TWO[1:3], alone, strict=True):
        row = ran.cells(name, "8")
        assert [float(cell) for cell in row[2:4]] == pytest.approx(
            [1e6 * one[side]["makespan_s"] for side in ("forecast", "simulation")], rel=1e-4
        )
    changes = [next(rung["change_s"] for rung in one["ladder"] if rung["effect"] == "links") for one in alone]
    assert [float(cell) for cell in ran.cells("links")[1:]] == pytest.approx([1e6 * change for change in changes])
    assert "disks" not in {line.split()[0] for line in ran.out.splitlines() if line.startswith(" disks")}
    assert "Effects with nothing to act on in any of these: node, matching" in ran.out
    assert "hypercube-256 is the fastest" in ran.out
    answer = run(*TWO, "--json").json
    assert [one["simulated_s"] for one in answer["comparisons"]] == [one["simulation"]["makespan_s"] for one in alone]
    assert [one["use"] for one in answer["comparisons"]] == [one["simulation"]["use"] for one in alone]
    assert [one.get("notes") for one in answer["comparisons"]] == [one["forecast"].get("notes") for one in alone]
    assert "8 of 256 nodes" in ran.out


def test_why_names_the_parts_of_the_difference_between_machines(capfd: pytest.CaptureFixture[str]) -> None:
    """Against two comparisons of one machine each: their forecasts and rungs, subtracted, and ranked by size."""
    run = command(capfd, "compare")
    text = " ".join(run(*TWO, "--why").out.split())
    alone = [run("burst", name, "-P", "8", "--json").json for name in TWO[1:3]]
    parts = {"forecast": alone[1]["forecast"]["makespan_s"] - alone[0]["forecast"]["makespan_s"]}
    for first, other in zip(alone[0]["ladder"], alone[1]["ladder"], strict=True):
        parts[first["effect"]] = other["change_s"] - first["change_s"]
    ranked = sorted((name for name in parts if abs(parts[name]) > 1e-12), key=lambda name: -abs(parts[name]))
    whole_s = alone[1]["simulation"]["makespan_s"] - alone[0]["simulation"]["makespan_s"]
    expected = ", ".join(f"{name} {1e6 * parts[name]:+.2f} us" for name in ranked)
    assert f"hypercube-256 minus mesh-256: {1e6 * whole_s:+.2f} us = {expected}." in text
    assert "Each column explains the gap between forecast and simulation of one machine." in text
    assert "minus" not in run(*TWO).out


def test_several_workloads_are_told_from_machines(capfd: pytest.CaptureFixture[str]) -> None:
    run = command(capfd, "compare")
    ran = run("burst", "transpose", "mesh-256", "hypercube-256", "-P", "4", "--effects", "links", "--json")
    pairs = [(one["workload"], one["machine"]) for one in ran.json["comparisons"]]
    assert pairs == [(a, b) for a in ("burst", "transpose") for b in ("mesh-256", "hypercube-256")]


@pytest.mark.thorough
@pytest.mark.parametrize("options", [("--vary", "P=2,4"), ()])
def test_plots(capfd: pytest.CaptureFixture[str], tmp_path: Path, options: tuple[str, ...]) -> None:
    file = tmp_path / "several.svg"
    arguments = TWO[:3] if options else TWO
    assert command(capfd, "compare")(*arguments, *options, "--write", file).status == 0
    texts = set(re.findall(r"<!-- (.*?) -->", file.read_text(encoding="utf-8")))
    assert {"mesh-256", "hypercube-256", "forecast", "simulated"} <= texts
    assert ("links" in texts) == (not options)
    assert ("forecast / simulated (below 1: the forecast is too low)" in texts) == bool(options)


#: Two of the three values have a measured time, of which one has a spread.
RUNS = "# interval: quartiles\nP,value,low,high\n4,160 us,150 us,175 us\n8,1 ms,,\n"


def test_ladders_over_an_axis_end_with_what_is_not_explained(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Steps of a ladder add up from the forecast to the measured time; pictures and tables have all columns."""
    (tmp_path / "runs.csv").write_text(RUNS, encoding="utf-8")
    given = ("burst", "mesh-256", "--vary", "P=4,8", "--measured", tmp_path / "runs.csv", "--effects", "links")
    given = (*given, "--formula", "mine = (P - 1)*(t_s + size*t_w)")
    run = command(capfd, "compare")
    ran = run(*given, "--why", "--write", tmp_path / "a.svg")
    answer = run(*given, "--json").json["comparisons"]
    for one, measured_s in zip(answer, (160e-6, 1e-3), strict=True):
        steps = one["measured_ladder"]
        assert sum(step["change_s"] for step in steps) == pytest.approx(measured_s - one["forecast_s"])
        assert (steps[-1]["step"], steps[-1]["time_s"]) == ("not explained", measured_s)
        assert steps[-1]["change_s"] == pytest.approx(measured_s - one["simulated_s"])
        gap_s = measured_s - one["forecast_s"]
        assert [step["fraction"] for step in steps] == pytest.approx([step["change_s"] / gap_s for step in steps])
    cells = re.findall(
        r"([+-][\d.]+) \((-?[\d.]+)%\)", next(line for line in ran.out.splitlines() if "not expl" in line)
    )
    last = [one["measured_ladder"][-1] for one in answer]
    assert [float(number) for number, _ in cells] == pytest.approx([1e3 * step["change_s"] for step in last], abs=6e-5)
    assert [float(share) for _, share in cells] == pytest.approx([100 * step["fraction"] for step in last], abs=0.06)
    assert any("spread" in line for line in ran.out.splitlines())
    texts = set(re.findall(r"<!-- (.*?) -->", (tmp_path / "a.svg").read_text(encoding="utf-8")))
    assert {"forecast", "mine (formula)", "simulated", "measured", "links", "not explained"} <= texts


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*TWO, "--write", "a.json"), "--write"),
        ((*TWO, "--replications", "3", "--at-most", "30"), "--at-most needs --precision"),
        (("burst", "mesh-256", "mesh-265"), "mesh-256"),
        (("burst", "mesh-256", "mesh-256"), "compared twice"),
        (("burst", "transpose", "jacobi"), "no machine is given"),
        ((*TWO[:3], "--vary", "seed=1,2"), "seed"),
        ((*TWO, "--vary", "P=2:8:x2", "--vary", "P=x"), "P"),
    ],
)
def test_what_is_refused(capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str) -> None:
    ran = command(capfd, "compare")(*arguments)
    assert (ran.status, ran.out) == (2, "")
    assert words in ran.err


def test_the_tolerance_holds_for_each(capfd: pytest.CaptureFixture[str]) -> None:
    ran = command(capfd, "compare")(*TWO, "--tolerance", "10%")
    assert ran.status == 1
    assert "(mesh-256)" in ran.err
    assert "(hypercube-256)" not in ran.err


def test_variants_have_values_of_their_own(capfd: pytest.CaptureFixture[str]) -> None:
    run = command(capfd, "compare")
    names = ["burst with size=64", "burst with size=4096", "mesh-256", "mesh-256 with network.startup=1 us"]
    answer = run(*names, "-P", "4", "--effects", "none", "--json").json
    # Three sends of a rank by hand: startup (20 us, or 1 us), bytes at 100 MB/s, 1 us for each of 32/3 hops.
    hops = 3e-6 * 32 / 3  # the mean distance of a 16 x 16 mesh: 2 (16^2 - 1)/(3 x 16) x 256/255
    by_hand = [3 * (startup + size / 100e6) + hops for size in (64, 4096) for startup in (20e-6, 1e-6)]
    assert [one["simulated_s"] for one in answer["comparisons"]] == pytest.approx(by_hand, rel=1e-3)
    assert [(one["workload"], one["machine"]) for one in answer["comparisons"]] == [
        (workload, machine) for workload in names[:2] for machine in names[2:]
    ]


def test_what_is_set_of_all_stands_in_the_title(capfd: pytest.CaptureFixture[str]) -> None:
    ran = command(capfd, "compare")(*TWO, "--set", "network.startup=1 us", "--effects", "none")
    assert "all with network.startup=1 us" in ran.out.splitlines()[0]
    assert ran.cells("mesh-256", "8")[:2] == ["mesh-256", "8"]


def test_equally_fast_machines_have_no_order(capfd: pytest.CaptureFixture[str]) -> None:
    run = command(capfd, "compare")
    three = ("burst", "mesh-256", "mesh-256 with mapping=linear", "hypercube-256", "-P", "8", "--effects", "links")
    ran = run(*three, "--json")
    (order,) = ran.json["orders"]
    assert ran.err.count("links includes hops") == 1
    assert order["ranks"]["simulated"] == [["hypercube-256"], ["mesh-256", "mesh-256 with mapping=linear"]]
    assert order["ranks"]["forecast"] == order["ranks"]["simulated"]
    assert "mesh-256 and mesh-256 with mapping=linear take" in " ".join(run(*three).out.split())


@pytest.mark.parametrize("more", [["--why"], ["--anchor", "runs.csv"]])
def test_notes_of_effects_are_printed_once(
    more: list[str], capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs.csv").write_text("P,m,value\n4,1 KiB,130 us\n8,1 KiB,210 us\n", encoding="utf-8")
    arguments = ("broadcast", "mesh-256", "-P", "16", "--set", "m=1024", "--effects", "links", *more)
    assert command(capfd, "compare")(*arguments).err.count("links includes hops") == 1


def test_a_program_is_said_to_be_executed_once(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    lines = ["import simcodesign as sc", "@sc.program", "def one(rank, size):", "    yield sc.rank.compute(flops=1)"]
    file.write_text("\n".join(lines), encoding="utf-8")
    ran = command(capfd, "compare")(str(file), "mesh-256", "hypercube-256", "-P", "2")
    assert ran.err.count("which is executed") == 1


@pytest.mark.parametrize(("name", "option"), [("forecast", "--set"), ("sweep", "--vary")])
def test_a_key_without_its_section_is_completed(name: str, option: str, capfd: pytest.CaptureFixture[str]) -> None:
    """``bandwidth`` is a constant of several parts of a machine."""
    refused = command(capfd, name)("burst", "mesh-256", option, "bandwidth=1 GB/s")
    assert (refused.status, refused.out) == (2, "")
    assert "did you mean 'disk.bandwidth' or 'network.bandwidth'?" in refused.err


def test_what_is_set_is_not_varied_too(capfd: pytest.CaptureFixture[str]) -> None:
    refused = command(capfd, "compare")(*TWO, "--vary", "P=2,4")
    assert (refused.status, refused.out) == (2, "")
    assert "--vary: set and varied" in refused.err


def test_algorithms_of_collectives_are_named(capfd: pytest.CaptureFixture[str]) -> None:
    run = command(capfd, "compare")
    answer = run("broadcast", "mesh-256", "-P", "4", "--set", "order=near", "--effects", "none", "--json").json
    assert answer["collectives"] == ["broadcast (binomial near)"]
    ran = run("broadcast", "cg-iteration", "mesh-256", "-P", "4", "--effects", "none")
    assert ran.cells("collectives")[1] == "broadcast (binomial) (broadcast)"
    assert "allreduce (recursive doubling) (cg-iteration)" in ran.out


DOCUMENT = (ROOT / "docs" / "candidates.md").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_the_examples_of_the_documentation(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands print what stands there, and the Python runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    console = "".join(re.findall(r"^```console\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL))
    for part in re.split(r"^\$ simcodesign compare ", console, flags=re.MULTILINE)[1:]:
        line, _, expected = part.partition("\n")
        ran = command(capfd, "compare")(*shlex.split(line))
        assert ran.status == 0
        for lines in filter(None, (one.strip("\n") for one in re.split(r"^\.\.\.$", expected, flags=re.MULTILINE))):
            assert lines in ran.out
    (python,) = re.findall(r"^```python\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
    exec(compile(python, "candidates.md", "exec"), {})
    shown = capfd.readouterr().out.splitlines()
    assert shown[-1].startswith("hypercube-256 {'P': 4.0}")


def test_over_a_bandwidth_is_shown_as_it_was_asked(capfd: pytest.CaptureFixture[str]) -> None:
    ran = command(capfd, "compare")("burst", "crossbar-16", "--vary", "network.bandwidth=1,2GB/s", "--effects", "none")
    assert "over network.bandwidth" in ran.out.splitlines()[0]
    answer = ran.out.split()
    assert {"1e+09", "2e+09", "(B/s)"} <= {*answer}
    assert "network.per_byte" not in ran.out
