"""Recording with valgrind: a loop whose accesses are known appears in the trace, in order and with its stride."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from simcodesign.core.errors import InputError
from simcodesign.locality.traces import record
from simcodesign.locality.traces.formats import open_trace
from simcodesign.locality.traces.record import record_trace
from simcodesign.locality.traces.trace import LOAD, MODIFY, STORE, read_all

needs_valgrind = pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
needs_compiler = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")

#: Prints the addresses of its arrays, then walks them. Volatile elements are touched exactly as it is written, and a
#: loop over them is not unrolled, so that each statement's access is that of one instruction.
WALK = """
#include <stdio.h>
#define N 700
static volatile double source[4 * N], target[N];
static volatile long counters[N];
int main(void) {
    printf("%lx %lx %lx\\n", (unsigned long) source, (unsigned long) target, (unsigned long) counters);
    fprintf(stderr, " L 1234,8\\n");
    fflush(stdout);
    for (int i = 0; i < N; i++) target[i] = source[4 * i];
    for (int i = N - 1; i >= 0; i--) counters[i] += 1;
    return 0;
}
"""
N = 700


@pytest.fixture(scope="module")
def compiled_program(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    folder = tmp_path_factory.mktemp("programs")

    def build(source: str) -> str:
        program = folder / f"program{len(list(folder.iterdir()))}"
        command = ["gcc", "-O1", "-x", "c", "-", "-o", str(program)]
        subprocess.run(command, input=source.encode(), check=True)
        return str(program)

    return build


@needs_valgrind
@needs_compiler
def test_a_known_loop_is_in_the_trace(compiled_program: Callable[[str], str], tmp_path: Path) -> None:
    path, result = tmp_path / "walk.trace.npz", tmp_path / "printed"
    with result.open("wb") as stdout:
        recording = record_trace([compiled_program(WALK)], 10**7, path, stdout=stdout, stderr=subprocess.DEVNULL)
    source, target, counters = (int(word, 16) for word in result.read_text().split())
    trace = read_all(open_trace(path))
    assert recording.exit_status == 0
    assert not recording.stopped
    assert len(trace) == recording.accesses
    assert trace.kind is not None
    assert trace.group is not None

    def within(start: int, count: int) -> np.ndarray:
        return np.flatnonzero((trace.address >= start) & (trace.address < start + 8 * count))

    loads, stores = within(source, 4 * N), within(target, N)
    assert trace.address[loads].tolist() == [source + 32 * i for i in range(N)]
    assert trace.address[stores].tolist() == [target + 8 * i for i in range(N)]
    assert np.all(trace.kind[loads] == LOAD)
    assert np.all(trace.kind[stores] == STORE)
    assert np.all(loads < stores)
    assert np.all(stores[:-1] < loads[1:])
    assert len(np.unique(trace.group[loads])) == len(np.unique(trace.group[stores])) == 1
    # One modify for each, or on machines without such an instruction a load and a store.
    updates = within(counters, N)
    kinds = set(trace.kind[updates].tolist())
    assert kinds in ({MODIFY}, {LOAD, STORE})
    each = np.repeat(np.arange(N)[::-1], len(kinds))
    assert trace.address[updates].tolist() == [counters + 8 * i for i in each.tolist()]
    # What the program prints looks like a trace on purpose, and is none.
    assert not np.any(trace.address == 0x1234)


@needs_valgrind
@needs_compiler
@pytest.mark.thorough
def test_a_part_of_an_endless_program(compiled_program: Callable[[str], str], tmp_path: Path) -> None:
    program = compiled_program("volatile int x[64]; int main(void) { for (unsigned i = 0;; i++) x[i % 64]; }")
    path = tmp_path / "endless.npz"
    recording = record_trace([program], 500, path, skip=200_000)
    assert (recording.accesses, recording.skipped, recording.stopped) == (500, 200_000, True)
    address = read_all(open_trace(path)).address
    assert len(address) == 500
    # Whether the program uses the value or not, it loads each element once, round and round.
    steps = np.diff(address.astype(np.int64))
    assert set(steps.tolist()) == {4, -4 * 63}
    assert set(np.diff(np.flatnonzero(steps < 0)).tolist()) == {64}
    assert list(tmp_path.iterdir()) == [path]


@needs_valgrind
def test_skipping_moves_the_part_and_numpy_reads_the_file(tmp_path: Path) -> None:
    program = shutil.which("true")
    assert program
    parts = []
    for skip in (0, 300):
        path = tmp_path / f"{skip}.npz"
        recording = record_trace([program], 1000, path, skip=skip)
        assert recording.stopped
        with np.load(path) as arrays:
            assert {name: (array.dtype, array.shape) for name, array in arrays.items()} == {
                "address": (np.dtype("u8"), (1000,)),
                "kind": (np.dtype("u1"), (1000,)),
                "group": (np.dtype("u8"), (1000,)),
                "size": (np.dtype("u4"), (1000,)),
            }
            parts.append(arrays["kind"])
    # Addresses may differ from run to run; what a program does when it starts does not.
    assert np.array_equal(parts[0][300:], parts[1][:-300])


@needs_valgrind
@pytest.mark.parametrize(
    ("script", "skip", "says"),
    [
        ("exit 3", 0, r"sh: the program ended with exit status 3 after \d+ accesses; nothing is written"),
        ("kill -9 $$", 0, "sh: the program ended with signal SIGKILL after"),
        ("exit 0", 10**12, r"sh: the program made \d+ accesses, of which 1000000000000 are to be skipped"),
    ],
)
@pytest.mark.thorough
def test_programs_that_end_badly_leave_nothing(tmp_path: Path, script: str, skip: int, says: str) -> None:
    with pytest.raises(InputError, match=says):
        record_trace(["sh", "-c", script], 10**9, tmp_path / "t.npz", skip=skip)
    assert not list(tmp_path.iterdir())


@needs_valgrind
def test_any_exit_status_where_it_is_allowed(tmp_path: Path) -> None:
    recording = record_trace(["sh", "-c", "exit 3"], 10**9, tmp_path / "t.npz", any_exit_status=True)
    assert recording.exit_status == 3
    assert len(read_all(open_trace(recording.path))) == recording.accesses > 0


@needs_valgrind
@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["no such program"], "there is no such program, got 'no such program'"),
        ([], "no program to run is given"),
        ("true", "no program to run is given, got 'true'"),
        (["true", "a\0b"], "the program cannot be run"),
    ],
)
def test_programs_that_cannot_be_run(tmp_path: Path, command: list[str], says: str) -> None:
    with pytest.raises(InputError, match=says):
        record_trace(command, 10, tmp_path / "t.npz")
    assert not list(tmp_path.iterdir())


def fake_valgrind(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A program called valgrind that prints what the script says into the file descriptor of ``--log-fd``."""
    program = folder / "valgrind"
    program.write_text(f"#!{sys.executable}\nimport os, sys\nlog = int(sys.argv[1].partition('=')[2])\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("os.write(log, b'I  4,3\\nI  7,2\\n')", "the program made 0 accesses; nothing is written"),
        (
            "os.write(log, b' L 4,3\\nfatal\\n')",
            "what lackey printed:2: byte 7: this is not a line of a lackey trace, got 'fatal'",
        ),
        ("os.write(log, b' L 4,3\\n L 5')", "what lackey printed:2: byte 7: the trace is cut off"),
        ("os.write(log, b' L 4,3\\n L 5'); sys.exit(9)", "the program ended with exit status 9"),
        ("os.write(log, b' L 4,3\\n L 5'); os.kill(os.getpid(), 6)", "the program ended with signal SIGABRT"),
    ],
)
def test_what_lackey_should_not_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, says: str) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    fake_valgrind(folder, monkeypatch, script)
    with pytest.raises(InputError, match=says):
        record_trace(["true"], 10, tmp_path / "t.npz")
    assert list(tmp_path.iterdir()) == [folder]


def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    fake_valgrind(folder, monkeypatch, "os.write(log, b' L 4,3\\n')")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(record.shutil, "copyfileobj", full)
    with pytest.raises(InputError, match=r"t.npz: the trace cannot be written: No space left on device"):
        record_trace(["true"], 10, tmp_path / "t.npz")
    assert list(tmp_path.iterdir()) == [folder]


def test_without_valgrind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        InputError, match=r"needs valgrind, which is not installed \(allowed: .*apt-get install valgrind"
    ):
        record_trace([sys.executable], 10, tmp_path / "t.npz")


@pytest.mark.parametrize(
    ("most", "skip", "name", "says"),
    [
        (0, 0, "t.npz", "at least one access must be recorded, got 0"),
        (1, -1, "t.npz", "the number of skipped accesses cannot be negative, got -1"),
        (1, 0, "t.txt", r"one format only, got '.txt' \(allowed: .npz"),
        (1, 0, "none/t.npz", "there is no such folder"),
        (1, 0, "folder.npz", "the trace cannot be written to a folder"),
    ],
)
def test_wishes_that_cannot_be_met(tmp_path: Path, most: int, skip: int, name: str, says: str) -> None:
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(InputError, match=says):
        record_trace(["true"], most, tmp_path / name, skip=skip)
