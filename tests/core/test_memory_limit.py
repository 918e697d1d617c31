"""The smallest of the limits on memory, with files and limits that are made here."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from simcodesign import cli
from simcodesign.core import memory_limit
from simcodesign.core.errors import CapacityError, Place
from simcodesign.core.memory_limit import check_memory, smallest_limit

resource = pytest.importorskip("resource", reason="RLIMIT_AS is not on this system")
GIB = 2.0**30
#: What a control group without a limit has in version 1: the largest number of whole pages of 4 KiB.
NO_LIMIT = 9223372036854771712


@pytest.fixture(autouse=True)
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_limit, "_physical_bytes", lambda: 64 * GIB)
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def written(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, (64 * GIB, "physical memory")),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, (64 * GIB, "physical memory")),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "2147483648\n"}, (2 * GIB, "control group")),
        (  # the group around it has less
            {
                "proc/self/cgroup": "0::/a/b\n",
                "sys/fs/cgroup/a/b/memory.max": "4294967296\n",
                "sys/fs/cgroup/a/memory.max": "3221225472\n",
            },
            (3 * GIB, "control group"),
        ),
        (  # in a container, whose path is that of the host
            {"proc/self/cgroup": "0::/docker/1f\n", "sys/fs/cgroup/memory.max": "1073741824"},
            (GIB, "control group"),
        ),
        (
            {
                "proc/self/cgroup": "12:cpu,cpuacct:/job\n7:memory:/job\n0::/\n",
                "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "536870912\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{NO_LIMIT}\n",
            },
            (GIB / 2, "control group"),
        ),
        (
            {"proc/self/cgroup": "7:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{NO_LIMIT}\n"},
            (64 * GIB, "physical memory"),
        ),
    ],
)
def test_control_groups(tmp_path: Path, files: dict[str, str], expected: tuple[float, str]) -> None:
    assert smallest_limit(written(tmp_path, files)) == expected


def test_the_limit_of_the_address_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (int(GIB), int(2 * GIB)))
    assert smallest_limit(tmp_path) == (GIB, "RLIMIT_AS (ulimit -v)")
    files = {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000\n"}
    assert smallest_limit(written(tmp_path / "group", files)) == (1000.0, "control group")


def test_without_any_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_limit, "_physical_bytes", lambda: math.inf)
    assert smallest_limit(tmp_path)[0] == math.inf


def test_the_error_names_the_limit_and_tells_two_numbers_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """70 % of 1 GB are 700 MB, and 700,100,000 bytes are more."""
    monkeypatch.setattr(memory_limit, "smallest_limit", lambda: (1e9, "control group"))
    check_memory("a table takes", 0.7e9, Place())
    message = r"a table takes, about 0.7001 GB of memory; a simulation may take 0.7 GB, 70 % of the control group"
    with pytest.raises(CapacityError, match=message):
        check_memory("a table takes", 700_100_000, Place())


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, math.inf),
        ({"proc/meminfo": "MemTotal: 9 kB\nMemAvailable:    2048 kB\n"}, 2048 * 1024),
        (  # version 2: 900 of 1,000 bytes are in use, 300 of them for pages of files that the system takes back
            {
                "proc/meminfo": "MemAvailable: 2048 kB\n",
                "proc/self/cgroup": "0::/job\n",
                "sys/fs/cgroup/job/memory.max": "1000\n",
                "sys/fs/cgroup/job/memory.current": "900\n",
                "sys/fs/cgroup/job/memory.stat": "anon 500\ninactive_file 300\n",
            },
            400.0,
        ),
        (  # version 1, whose group uses more than its limit
            {
                "proc/self/cgroup": "7:memory:/job\n",
                "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "1000\n",
                "sys/fs/cgroup/memory/job/memory.usage_in_bytes": "1100\n",
                "sys/fs/cgroup/memory/job/memory.stat": "inactive_file 1\ntotal_inactive_file 50\n",
            },
            0.0,
        ),
    ],
)
def test_what_is_available(tmp_path: Path, files: dict[str, str], expected: float) -> None:
    assert memory_limit.available_bytes(written(tmp_path, files)) == expected


def test_more_than_is_available_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_limit, "available_bytes", lambda: 2e9)
    check_memory("a table takes", 2e9, Place())
    with pytest.warns(UserWarning, match=r"a table takes, about 3 GB of memory, and 2 GB are available now.*fewer"):
        check_memory("a table takes", 3e9, Place(), allowed="fewer rows")


def test_another_limit_may_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_limit, "smallest_limit", lambda: (1e9, "control group"))
    monkeypatch.setattr(memory_limit, "available_bytes", lambda: math.inf)
    with memory_limit.allow_memory(5e9):
        check_memory("a table takes", 4e9, Place())
        with pytest.raises(CapacityError, match=r"may take 5 GB, the limit of --memory"):
            check_memory("a table takes", 6e9, Place())
    with pytest.raises(CapacityError, match=r"--memory SIZE before the command"):
        check_memory("a table takes", 4e9, Place())


def test_the_command_line_sets_it(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "jacobi", "torus-cluster", "-P", "64", "--effects", "none"]
    assert cli.main(["--memory", "100 kB", *words]) == 2
    assert "a simulation may take 0.0001 GB, the limit of --memory" in capsys.readouterr().err
    assert cli.main(["--memory", "1GB", *words]) == 0
    assert memory_limit.ALLOWED not in os.environ
    for wrong in ("0", "-1 GB", "much"):
        assert cli.main(["--memory", wrong, *words]) == 2
