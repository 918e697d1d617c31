"""``confine``: what a description names outside the folder is refused, whichever way it names it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import simcodesign as sc
from simcodesign import cli
from simcodesign.aspen.application import load_application
from simcodesign.aspen.machine import load_machine as load_aspen_machine
from simcodesign.core.files.input_files import CONFINED
from simcodesign.studies.explore.study import load_study

GRAPH = """\
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">
<node id="a"/><node id="b"/><edge source="a" target="b"/></graph></graphml>
"""
PROFILE = "distance,count\n-1,1\n0,1\n"
MACHINE = """\
simcodesign: 1
name: m
nodes: 2
processor: {rate: 1 GFLOP/s}
network: {topology: {kind: graph, file: NAMED}, startup: 1 us, bandwidth: 1 GB/s}
"""
BASE = "simcodesign: 1\nname: b\nextends: NAMED\n"
WORKLOAD = "simcodesign: 1\nname: w\nprogram:\n  - memory: {loads: 1e6, profile: NAMED}\n"
MODEL = "model a { kernel main { execute { flops [1] } } }"
IMPORT = 'import b from "NAMED"\n' + MODEL
INCLUDE = "include NAMED\n" + MODEL
STUDY = "simcodesign: 1\nworkload: NAMED\nmachine: mesh-256\n"

#: What names a file: the suffix and text of the description, what reads it, and the name and text of the other file.
NAMING: dict[str, tuple[str, str, Callable[[Path], object], str, str]] = {
    "file": (".yaml", MACHINE, sc.Machine.load, "g.graphml", GRAPH),
    "extends": (".yaml", BASE, sc.Machine.load, "base.yaml", "simcodesign: 1\nname: base\n"),
    "profile": (".yaml", WORKLOAD, sc.Workload.load, "p.csv", PROFILE),
    "import": (".aspen", IMPORT, load_application, "b.aspen", MODEL),
    "include": (".aspen", INCLUDE, load_application, "c.aspen", "param n = 1\n"),
    "include of a machine": (
        ".aspen",
        "include NAMED\n",
        load_aspen_machine,
        "c.aspen",
        "machine m { node [1] n }\nnode n { }\n",
    ),
    "study": (".yaml", STUDY, load_study, "w.yaml", WORKLOAD),
}
OUTSIDE = "outside the folder of --confine"


def refusal(read: Callable[[Path], object], path: Path) -> str:
    """What is wrong with a description; some of them lack more than this test cares for."""
    try:
        read(path)
    except sc.InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("way", NAMING)
def test_only_files_in_the_folder_may_be_named(tmp_path: Path, way: str) -> None:
    suffix, text, read, name, content = NAMING[way]
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    for folder in (inside, outside):
        (folder / name).write_text(content)
    (inside / f"link-{name}").symlink_to(outside / name)
    description = inside / f"description{suffix}"
    for named, is_allowed in (
        (f"./{name}", True),
        (f"../inside/{name}", True),
        (f"../outside/{name}", False),
        (str(outside / name), False),
        (f"./link-{name}", False),
    ):
        description.write_text(text.replace("NAMED", named))
        assert OUTSIDE not in refusal(read, description)
        with sc.confine(inside):
            assert (OUTSIDE not in refusal(read, description)) is is_allowed, named
        with sc.confine(tmp_path):
            assert OUTSIDE not in refusal(read, description)


def test_shipped_files_and_arguments_are_free(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("simcodesign: 1\nname: mine\nextends: power-challenge\n")
    empty = tmp_path / "empty"
    empty.mkdir()
    with sc.confine(empty):
        assert sc.Machine.load(tmp_path / "mine.yaml").name == "mine"


def test_it_ends_and_nests(tmp_path: Path) -> None:
    before = os.environ.get(CONFINED)
    (tmp_path / "a").mkdir()
    with sc.confine(tmp_path), sc.confine(tmp_path / "a"):
        assert os.environ[CONFINED] == str((tmp_path / "a").resolve())
    assert os.environ.get(CONFINED) == before
    with pytest.raises(sc.InputError, match="no folder to confine"), sc.confine(tmp_path / "none"):
        pass


def test_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "p.csv").write_text(PROFILE)
    path = tmp_path / "in" / "w.yaml"
    path.write_text(WORKLOAD.replace("NAMED", "../p.csv"))
    assert cli.main(["show", str(path)]) == 0
    assert cli.main(["--confine", str(tmp_path / "in"), "show", str(path)]) == 2
    assert f"w.yaml:4: program[0].memory.profile: a file {OUTSIDE}" in capsys.readouterr().err
    assert cli.main(["--confine", str(tmp_path / "none"), "show", str(path)]) == 2
    assert CONFINED not in os.environ
