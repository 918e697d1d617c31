"""Every example of the README and of the pages that go on from it runs, and prints what they say it prints."""

from __future__ import annotations

import re
import shlex
import shutil
from itertools import pairwise
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from click.testing import CliRunner

import simcodesign
from simcodesign.cli import app
from simcodesign.comparison.compare import compare
from simcodesign.describe.yaml.files import load_machine, load_workload
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.describe.yaml.workload import workload_from
from simcodesign.engine.simulate import simulate
from tests import ROOT

PAGES = (
    *("tour", "what-is-modelled", "describe-workloads", "describe-machines", "aspen", "certainty", "sweeps"),
    *("feasibility", "explore", "models", "counters", "upgrades", "locality", "engines"),
)
TEXT = "\n".join(page.read_text() for page in (ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in PAGES)))
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


#: Commands with one of these words take long: part of ``make test-all``.
LONG = (
    *(
        "size=65536",
        "compare milc",
        "validate --quick",
        "npb-bt",
        "npb-ep",
        "bt4.csv",
        "--simulate-best",
        "--most 1000000",
    ),
    *("compare transpose", "explore comd-eam", "--write power.png", "rate >= 6.1e13", "--simulate"),
)


def blocks(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


def commands() -> list[tuple[str, str]]:
    """Command lines and what is said to follow them."""
    recorded = []
    for text in blocks("console"):
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            recorded.append((command, output))
    return recorded


def test_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    assert len(blocks("python")) >= 2
    for text in blocks("python"):
        exec(compile(text, "documentation", "exec"), names)
    assert "forecast" in capsys.readouterr().out


def before(arguments: list[str]) -> list[list[str]]:
    """The commands that write the schedule, counters, sweep or formulas that this one reads, in their order."""
    every = [shlex.split(command)[1:] for command, _ in commands()]
    needed = [one for one in every if one != arguments and written_by(one) & {*arguments}]
    return [earlier for one in needed for earlier in [*before(one), one]]


def written_by(arguments: list[str]) -> set[str]:
    return {file.rpartition(":")[2] for option, file in pairwise(arguments) if option == "--write"}


def parameters() -> list[ParameterSet]:
    """All commands; those that take long are marked."""
    return [
        pytest.param(*pair, marks=pytest.mark.thorough if any(word in pair[0] for word in LONG) else ())
        for pair in commands()
    ]


@pytest.mark.parametrize(("command", "output"), parameters())
def test_commands(command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    program, *arguments = shlex.split(command)
    assert program == "simcodesign"
    if "--run" in arguments and shutil.which("valgrind") is None:
        pytest.skip("needs valgrind")
    (tmp_path / "runs.csv").write_text(blocks("csv")[0])
    write_descriptions(tmp_path)
    shutil.copytree(ROOT / "validation" / "aspen", tmp_path / "validation" / "aspen")
    if "times.csv" in arguments:
        names: dict[str, object] = {"sc": simcodesign}
        exec(compile(next(text for text in blocks("python") if "times.csv" in text), "documentation", "exec"), names)
    for first in before(arguments):
        assert CliRunner().invoke(app, first).exit_code == 0
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    parts = [part.strip("\n") for part in re.split(r"^\.\.\.$", output, flags=re.MULTILINE)]
    rest = result.output
    for part in filter(None, parts):
        assert part in rest, f"{command} does not print:\n{part}\nbut:\n{result.output}"
        rest = rest.partition(part)[2]
    for option, file in pairwise(arguments):
        if option == "--write":
            is_drawn = file.endswith((".png", ".svg", ".pdf"))
            assert Path(file.rpartition(":")[2]).stat().st_size > (1000 if is_drawn else 0)


def write_descriptions(folder: Path) -> tuple[Path, Path]:
    """Write the workload and the machine of the pages on describing them."""
    workload, machine = folder / "sweep.yaml", folder / "my-cluster.yaml"
    workload.write_text(next(text for text in blocks("yaml") if "simcodesign: 1" in text and "program:" in text))
    machine.write_text(next(text for text in blocks("yaml") if "extends:" in text))
    return workload, machine


def test_descriptions(tmp_path: Path) -> None:
    workload, machine = write_descriptions(tmp_path)
    comparison = compare(load_workload(workload), load_machine(machine), {"P": 64}, preset="tiny", effects="hops")
    assert comparison.simulation.makespan_s > 0


def test_groups() -> None:
    text = next(text for text in blocks("yaml") if text.startswith("groups:"))
    parameters = "parameters: {q: {default: 4}, n: {default: 64}, b: {default: 8}}"
    workload = workload_from(parse_yaml(f"simcodesign: 1\nname: grid\n{parameters}\n{text}", "grid.yaml"))
    assert simulate(workload, "crossbar-16", {"P": 16}, effects="none").messages == 4 * 3 + 4 * 8 + 16


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`make (\w+)`", TEXT):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_tables_name_what_exists() -> None:
    """The tables name every algorithm that the workload ``collectives`` uses."""
    from_describe = load_workload("collectives")
    text = TEXT + (ROOT / "docs" / "tables" / "collective-rounds.csv").read_text(encoding="utf-8")
    for step in from_describe.program:
        for demand in step.body:
            assert f"`{demand.name}`" in text
            assert f"`{demand.algorithm}`" in text


def test_the_loggops_machine(tmp_path: Path) -> None:
    file = tmp_path / "loggop-64.yaml"
    file.write_text(next(text for text in blocks("yaml") if "model: loggop" in text))
    machine = load_machine(file)
    network = machine.network
    assert (
        network.message_model.latency_s,
        network.message_model.overhead_s,
        network.message_model.gap_s,
        network.message_model.per_byte_s,
    ) == (2.5e-6, 1.5e-6, 1e-6, 6e-9)
    assert compare("transpose", machine, {"P": 16}, effects="none").error == pytest.approx(0, abs=1e-12)
