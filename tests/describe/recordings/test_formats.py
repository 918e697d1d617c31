"""Which files are recordings, and of which format: by their first bytes, else by their suffix."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import simcodesign as sc
from simcodesign import cli
from simcodesign.core.errors import InputError
from simcodesign.describe.recordings.workload import recording_reader

CALL = "MPI_Barrier entering at walltime 1.000000000, cputime 0.1 seconds in thread 0.\n"


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("a.txt", "# a comment\n\n0 init\n0 finalize\n", "time-independent"),
        ("a.replay", "0 allReduce 8 0\n", "time-independent"),
        ("a.index", "ranks/0.txt\nranks/1.txt\n", "time-independent"),
        ("a-0.txt", "# htor\nMPI_Init:-:1:2:3\n", "liballprof"),
        ("a-0.txt", f"version=1.0.0\nhostname=x\n{CALL}", "dumpi"),
        ("a.0.json", '{"id": "1", "type": "COMP_NODE"}', "chakra-json"),
        ("a.0.et", "", "chakra"),
        ("a.otf2", "", "otf2"),
        ("a.json", '{"name": "workload", "program": []}', None),
        ("a.yaml", "0 init\n", None),
        ("a.goal", "num_ranks 1\n", None),
        ("a.trace", "num_ranks 1\nrank 0 {\n}\n", None),
        ("a.csv", "p,time\n4,1.5\n", None),
        ("a.cfg", "0 nothing\n", None),
    ],
)
def test_the_format_of_a_file(tmp_path: Path, name: str, text: str, format: str | None) -> None:
    (tmp_path / name).write_text(text)
    reader = recording_reader(tmp_path / name)
    assert (reader.name if reader else None) == format


def test_a_recording_is_no_machine(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("0 init\n")
    with pytest.raises(InputError, match="a machine is expected"):
        sc.Machine.load(str(tmp_path / "a.txt"))


def test_studies_name_recordings_beside_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The workload of a study is beside its file, wherever the program runs."""
    (tmp_path / "a.txt").write_text("0 init\n0 compute 1e9\n")
    study = (
        "simcodesign: 1\nworkload: a.txt\nmachine: crossbar-16\nvary: {network.startup: 1e-6:1e-5}\nminimize: time\n"
    )
    (tmp_path / "study.yaml").write_text(study)
    assert cli.main(["explore", "--file", str(tmp_path / "study.yaml"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["objective"] == 1.0  # 1e9 flops at 1e9 a second, whatever the network


@pytest.mark.parametrize("command", ["forecast", "simulate", "compare", "show"])
def test_commands_take_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("0 init\n1 init\n0 compute 1e9\n0 send 1 0 8\n1 recv 0 0 8\n")
    machine = [] if command == "show" else ["crossbar-16"]
    assert cli.main([command, "a.txt", *machine, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


def test_a_sweep_varies_the_machine(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("0 init\n1 init\n0 send 1 0 1000000\n1 recv 0 0 1000000\n")
    for startup_s in (1e-6, 1e-3):
        result = sc.simulate(str(tmp_path / "a.txt"), "crossbar-16", {"network.startup": startup_s}, effects="none")
        assert result.makespan_s == pytest.approx(startup_s + 0.01, rel=1e-12)


def test_an_archive_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "otf2", None)
    (tmp_path / "traces.otf2").write_bytes(b"")
    with pytest.raises(InputError, match=r"simcodesign\[otf2\]"):
        sc.Workload.load(str(tmp_path / "traces.otf2"))
