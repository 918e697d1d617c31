"""Closed standard streams, readers that go away and full disks end in a message and a status, never in a traceback."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from simcodesign import cli

SHOW = ("show", "seismic")


def run(redirections: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line with what a shell does to its streams."""
    words = " ".join((sys.executable, "-m", "simcodesign", *arguments, redirections))
    return subprocess.run(["bash", "-c", words], capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("redirections", "status", "says"),
    [
        (">&-", 2, "standard output is closed"),
        ("2>&-", 0, ""),
        (">&- 2>&-", 2, ""),
        ("<&-", 0, ""),
        (">/dev/full", 2, "No space left"),
        ("2>/dev/full", 0, ""),
    ],
)
def test_streams_that_are_closed_or_full(redirections: str, status: int, says: str) -> None:
    done = run(redirections, *SHOW)
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    assert says in done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("arguments", [SHOW, ("--help",), ("forecast", "jacobi", "mesh-256", "--json")])
def test_a_reader_that_goes_away(arguments: tuple[str, ...]) -> None:
    done = run("| head -c 1 >/dev/null; exit ${PIPESTATUS[0]}", *arguments)
    assert done.returncode in (0, 1, 141)  # as it is the first, or none, to write after the reader has gone
    assert not done.stderr


def test_an_error_without_anybody_to_read_it() -> None:
    assert run("2>&-", "show", "nothing").returncode == 2


#: Commands with an output file, FILE.
OUTPUTS = [
    ("plot", "forecast jacobi mesh-256 -P 4 --write FILE", "x.png"),
    ("plot as text", "forecast jacobi mesh-256 -P 4 --write FILE", "x.svg"),
    ("timeline", "simulate jacobi mesh-256 -P 16 --write FILE", "x.json"),
    ("packed timeline", "simulate jacobi mesh-256 -P 64 --write FILE", "x.json.gz"),
    ("counters", "simulate jacobi mesh-256 -P 16 --write counters:FILE", "x.csv"),
    ("table of a sweep", "sweep jacobi mesh-256 --vary n=100:200:+5 --write FILE", "x.csv"),
    ("schedule", "simulate jacobi mesh-256 -P 16 --write FILE", "x.goal"),
    ("profile", "locality --generate triad --set n=2000 --groups --write profile:FILE", "x.csv"),
]


@pytest.mark.parametrize(("command", "name"), [one[1:] for one in OUTPUTS], ids=[one[0] for one in OUTPUTS])
def test_an_output_is_there_whole_or_not_at_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, name: str
) -> None:
    """On a disk that takes fewer bytes than the output has, what was there before stays."""
    path = tmp_path / name
    arguments = [word.replace("FILE", str(path)) for word in command.split()]
    assert cli.main(arguments) == 0, capsys.readouterr().err
    whole = path.read_bytes()
    path.write_text("before")
    before = {one: one.read_bytes() for one in tmp_path.iterdir()}
    assert limited(lambda: cli.main(arguments), len(whole) // 2) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert {one: one.read_bytes() for one in tmp_path.iterdir()} == before


def limited(run: Callable[[], int], size_bytes: int) -> int:
    """Run while no file may become larger than this."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        return run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_an_output_keeps_links_and_permissions(tmp_path: Path) -> None:
    target, link = tmp_path / "target.png", tmp_path / "link.png"
    target.write_text("before")
    target.chmod(0o640)
    link.symlink_to(target)
    assert cli.main(["forecast", "jacobi", "mesh-256", "-P", "4", "--write", str(link)]) == 0
    assert link.is_symlink()
    assert target.read_bytes().startswith(b"\x89PNG")
    assert target.stat().st_mode & 0o777 == 0o640


def test_an_output_may_be_a_pipe(tmp_path: Path) -> None:
    """Which is written as it is: nothing takes its place."""
    pipe = tmp_path / "pipe.png"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        assert cli.main(["forecast", "jacobi", "mesh-256", "-P", "4", "--write", str(pipe)]) == 0
        content, _ = reader.communicate(timeout=60)
    assert content.startswith(b"\x89PNG")
    assert pipe.is_fifo()
