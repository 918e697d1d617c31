"""The examples of docs/coming-from.md: files are written, commands are run, and print what stands there."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from simcodesign.cli import app
from tests import ROOT

TEXT = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")
#: The heading of each section with examples, and the section.
SECTIONS = {
    part.partition("\n")[0]: part for part in re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:] if "```console" in part
}
FILE = re.compile(r"^```(?:yaml|text|python)\n((?:#|//) (\S+)\n.*?)^```$", re.MULTILINE | re.DOTALL)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: A torus of three dimensions, and an all-reduce by rings along one dimension after another.
CUBE = {
    "cube.yaml": """\
simcodesign: 1
name: cube
nodes: 64
processor: {rate: 100 TFLOP/s}
network: {topology: {kind: torus, shape: [4, 4, 4]}, startup: 500 ns, bandwidth: 50 GB/s}
""",
    "by-dimension.yaml": """\
simcodesign: 1
name: by-dimension
parameters: {size: 1048576, k: 4}
groups: {x: rank // k, y: "rank // k**2 * k + rank % k", z: "rank % k**2"}
program:
  - reduce_scatter: {bytes: size, group: x, algorithm: ring}
  - reduce_scatter: {bytes: size/k, group: y, algorithm: ring}
  - allreduce: {bytes: size/k**2, group: z, algorithm: ring}
  - allgather: {bytes: size/k**2, group: y, algorithm: ring}
  - allgather: {bytes: size/k, group: x, algorithm: ring}
""",
}
LARGER = "-P 4096 --set k=16 --set nodes=4096 --set network.topology.shape='[16, 16, 16]'"


def test_every_program_has_a_table_and_an_example() -> None:
    named = re.findall(r"^\| \[([^],]+)", TEXT.partition("\n## ")[0], re.MULTILINE)
    assert [*SECTIONS] == named
    for section in SECTIONS.values():
        assert "| there | here |" in section
        assert "Not here: " in section or "New: " in section


@pytest.mark.parametrize("name", SECTIONS)
def test_the_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for text, file in FILE.findall(SECTIONS[name]):
        (tmp_path / file).write_text(text, encoding="utf-8")
    blocks = CONSOLE.findall(SECTIONS[name])
    assert blocks
    for block in blocks:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            program, *arguments = shlex.split(command)
            assert program == "simcodesign"
            result = CliRunner().invoke(app, arguments)
            assert result.exit_code == 0, result.output
            rest = result.output
            for lines in filter(None, (one.strip("\n") for one in re.split(r"^\.\.\.$", expected, flags=re.MULTILINE))):
                assert lines in rest, f"{command} does not print:\n{lines}\nbut:\n{result.output}"
                rest = rest.partition(lines)[2]


@pytest.mark.thorough
def test_the_commands_of_the_table_of_speed_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three all-reduces take what rings take by hand: 2 (k - 1) steps of a dimension, of its startup and n/k bytes."""
    monkeypatch.chdir(tmp_path)
    for file, text in [*CUBE.items(), *((file, text) for text, file in FILE.findall(TEXT))]:
        (tmp_path / file).write_text(text, encoding="utf-8")
    section = TEXT.partition("\n## Speed next to published figures\n")[2]
    (block,) = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    commands = block.splitlines()
    assert len(commands) == len(re.findall(r"^\| \d\. ", section, re.MULTILINE))
    by_dimension = [f"simcodesign simulate by-dimension.yaml cube.yaml {options}" for options in ("", LARGER)]
    times_s = []
    for command in (commands[0], *by_dimension, *commands[1:]):
        _, *arguments = shlex.split(command)
        result = CliRunner().invoke(app, [*arguments, "--json"])
        assert result.exit_code == 0, result.output
        times_s.append(json.loads(result.stdout)["makespan_s"])
    by_hand = [rings(8, 1, 936.25e-9, 400e9), rings(4, 3, 500e-9, 50e9), rings(16, 3, 500e-9, 50e9)]
    assert times_s[:3] == pytest.approx(by_hand, rel=1e-12)
    flops = [72 * 128 * 2048 * 40 * 5120**2, 72 * 16 * 2048 * 96 * 12288**2]  # of layers, without recomputation
    assert all(time > work / (128 * 989.4e12) for time, work in zip(times_s[3:], flops, strict=True))


def rings(k: int, dimensions: int, startup_s: float, bandwidth: float) -> float:
    """Return the seconds of an all-reduce of 1 MiB by rings of k ranks, one dimension after another."""
    parts = [1048576 / k**dimension for dimension in range(1, dimensions + 1)]
    return sum(2 * (k - 1) * (startup_s + part / bandwidth) for part in parts)


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", TEXT):
        assert (ROOT / "docs" / target).exists(), target
    anchors = {re.sub(r"[^a-z0-9 -]", "", name.lower()).replace(" ", "-") for name in SECTIONS}
    assert {*re.findall(r"\]\(#([^)]+)\)", TEXT)} == anchors
