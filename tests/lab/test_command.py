"""The command ``lab``: it serves, ends with Ctrl-C, and leaves no process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from simcodesign import cli
from simcodesign.cli.commands.teach import lab
from tests import ROOT


def children_of(pid: int) -> list[int]:
    listed = (Path("/proc") / str(pid) / "task" / str(pid) / "children").read_text()
    return [int(one) for one in listed.split()]


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="processes are listed as on Linux")
def test_it_serves_and_ends_with_ctrl_c() -> None:
    command = [sys.executable, "-m", "simcodesign", "lab", "--no-browser", "-j", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(address, timeout=60) as reply:
            assert b"lesson-free" in reply.read()
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(address.rsplit("/", 2)[0] + "/", timeout=60)
        assert caught.value.code == 404
        caught.value.close()
        children = children_of(server.pid)
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=60)
        assert server.returncode == 130
        assert errors == ""
        time.sleep(0.1)
        for pid in children:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["none"], "no such lesson"), (["--port", "99999"], "65535"), (["--jobs", "0"], "x>=1")],
)
def test_bad_options(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lab", "--no-browser", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_without_the_extra_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lab, "find_spec", lambda name: None)
    assert cli.main(["lab"]) == 2
    assert "pip install 'simcodesign[lab]'" in capsys.readouterr().err
