"""Files that hang, fill the memory or are no files at all: every reader refuses them at once, with an InputError.

All readers open files through ``core.files.input_files``; a test on the syntax tree holds that.
"""

from __future__ import annotations

import ast
import gzip
import io
import json
import os
import resource
import signal
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from simcodesign import cli
from simcodesign.aspen.application import load_application
from simcodesign.aspen.machine import load_machine as load_aspen_machine
from simcodesign.calibration.timings import read_timings
from simcodesign.core.errors import InputError
from simcodesign.core.files import input_files
from simcodesign.core.files.input_files import DATA_BYTES, STREAM_BYTES, open_bytes
from simcodesign.counters.readers.formats import read_counters
from simcodesign.describe.topology.graph_files import load_graph
from simcodesign.describe.yaml.files import load_machine, load_workload
from simcodesign.fitting.readers.cube import check_archive
from simcodesign.fitting.readers.formats import read_measurements
from simcodesign.locality import profile_files
from simcodesign.locality.profile import load_profile
from simcodesign.locality.traces import byte_streams
from simcodesign.locality.traces.formats import open_trace
from simcodesign.studies.explore.study import load_study
from simcodesign.studies.sweep.store import Store
from tests import ROOT, examples

SPARE_BYTES = 3 * 2**30  # Arrow reserves much that it never uses
LIMIT_S = 20
WORKLOAD = load_workload("jacobi")


def read_trace(path: Path) -> None:
    for _ in open_trace(path).chunks():
        pass


#: What reads a file, by the suffix of the file.
READERS: list[tuple[str, Callable[[Path], object]]] = [
    (".yaml", load_machine),
    (".yaml", load_workload),
    (".yaml", load_study),
    (".goal", load_workload),
    *((suffix, load_graph) for suffix in (".graphml", ".gml", ".edges")),
    (".aspen", load_application),
    (".aspen", load_aspen_machine),
    *((suffix, load_profile) for suffix in (".json", ".csv", ".npz")),
    *((suffix, read_measurements) for suffix in (".csv", ".txt", ".json", ".jsonl", ".parquet", ".other")),
    *((suffix, read_trace) for suffix in (".npy", ".npz", ".u64", ".lackey", ".din", ".din.gz", ".npy.xz", ".u64.bz2")),
    (".csv", read_counters),
    (".csv", lambda path: read_timings([path], WORKLOAD)),
    (".sqlite", lambda path: Store.open(path, write=False).close()),
]
WORDS = [f"{index}{suffix}" for index, (suffix, _) in enumerate(READERS)]


@pytest.fixture(scope="module", autouse=True)
def compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The library of C functions is compiled now, so that no reader is timed meanwhile."""
    folder = tmp_path_factory.mktemp("compiled")
    (folder / "a.goal").write_text("num_ranks 1\nrank 0 {\nl1: calc 1\n}\n")
    load_workload(folder / "a.goal")
    (folder / "a.lackey").write_text(" L 10,8\n")
    read_trace(folder / "a.lackey")


@contextmanager
def bounded() -> Iterator[None]:
    """What waits for ever, or takes a gigabyte, fails instead."""

    def too_long(*_: object) -> None:
        raise AssertionError("waits for ever")

    before = signal.signal(signal.SIGALRM, too_long)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + SPARE_BYTES, hard))
    signal.alarm(LIMIT_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def huge(path: Path) -> None:
    """A file of more bytes than any limit, none of them on the disk."""
    path.touch()
    os.truncate(path, STREAM_BYTES + 1)


HOSTILE: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "endless device": lambda path: path.symlink_to("/dev/zero"),
    "terminal": lambda path: path.symlink_to("/dev/tty"),
    "folder": Path.mkdir,
    "loop of links": lambda path: path.symlink_to(path),
    "link to nothing": lambda path: path.symlink_to("nothing"),
    "huge": huge,
    "fails while it is read": lambda path: path.symlink_to("/proc/self/mem"),
    "empty": Path.touch,
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize(("suffix", "read"), READERS, ids=WORDS)
def test_a_hostile_file_is_refused(tmp_path: Path, suffix: str, read: Callable[[Path], object], kind: str) -> None:
    path = tmp_path / f"file{suffix}"
    HOSTILE[kind](path)
    with pytest.raises(InputError) as caught, bounded():
        read(path)
    assert str(path) in str(caught.value)
    if kind == "huge" and suffix not in (".aspen", ".sqlite"):  # these say in their own words what is wrong with it
        assert "allowed: up to" in str(caught.value)


@pytest.mark.parametrize(("suffix", "read"), READERS, ids=WORDS)
def test_a_file_that_may_not_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, read: Callable[[Path], object]
) -> None:
    """Permissions do not stop the super-user, whose tests these may be."""
    path = tmp_path / f"file{suffix}"
    path.write_bytes(b"x" * 200)
    really_open = os.open

    def refused(name: Any, *arguments: Any, **options: Any) -> int:
        if str(name) == str(path):
            raise PermissionError(13, "Permission denied", str(name))
        return really_open(name, *arguments, **options)

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(InputError, match="Permission denied"), bounded():
        read(path)


@pytest.mark.parametrize(("suffix", "read"), READERS, ids=WORDS)
@settings(max_examples=examples(5), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.one_of(st.binary(max_size=300), st.text(max_size=200).map(str.encode)))
def test_any_bytes_are_read_or_refused(
    tmp_path: Path, suffix: str, read: Callable[[Path], object], content: bytes
) -> None:
    path = tmp_path / f"file{suffix}"
    path.write_bytes(content)
    try:
        with bounded():
            read(path)
    except InputError as error:
        note(str(error))


@pytest.mark.parametrize(("suffix", "read"), READERS, ids=WORDS)
def test_a_field_and_a_line_of_any_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, read: Callable[[Path], object]
) -> None:
    monkeypatch.setattr(input_files, "LINE_CHARACTERS", 300_000)
    path = tmp_path / f"file{suffix}"
    for content in ("n,value,seconds\n" + "1" * 131_073 + ",1,1\n", "x" * 300_001, "TABLE," + "x" * 200_000 + "\n"):
        path.write_text(content)
        with pytest.raises(InputError), bounded():
            read(path)


# What unpacks to more than it is.


def npz_of_zeros(path: Path, size_bytes: int) -> None:
    """An archive with the arrays of a profile, of which two decompress to ``size_bytes`` of zeros."""
    header = io.BytesIO()
    count = size_bytes // 8
    np.lib.format.write_array_header_1_0(header, {"descr": "<i8", "fortran_order": False, "shape": (count,)})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("format", "line_bytes", "cold", "distance", "count"):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                member.write(header.getvalue() + bytes(8 * count))


def test_a_profile_that_unpacks_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.npz"
    npz_of_zeros(path, 1_000_000)
    monkeypatch.setattr(profile_files, "DATA_BYTES", 1_000_000)
    with (
        pytest.raises(InputError, match=r"unpacks to is too large, got '50\d* bytes' \(allowed: up to 1000000 bytes"),
        bounded(),
    ):
        load_profile(path)


def test_a_profile_whose_header_claims_too_much(tmp_path: Path) -> None:
    """The directory of the archive says little, the header of the array much."""
    path = tmp_path / "a.npz"
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<i8", "fortran_order": False, "shape": (2**37,)})
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("format", "line_bytes", "cold", "distance", "count"):
            archive.writestr(f"{name}.npy", header.getvalue())
    with pytest.raises(InputError, match="NPZ file is broken"), bounded():
        load_profile(path)


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2"])
def test_a_trace_that_unpacks_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    path = tmp_path / f"a.u64{suffix}"
    opened = {".gz": gzip.compress, ".xz": __import__("lzma").compress, ".bz2": __import__("bz2").compress}[suffix]
    path.write_bytes(opened(bytes(2**20)))
    monkeypatch.setattr(byte_streams, "STREAM_BYTES", 2**19)
    with pytest.raises(InputError, match=r"decompressed, is too large.*up to 524288 bytes"), bounded():
        read_trace(path)


def test_an_archive_of_score_p_that_unpacks_to_too_much(tmp_path: Path) -> None:
    path = tmp_path / "profile.cubex"
    member = tarfile.TarInfo("anchor.xml")
    member.size = DATA_BYTES + 1
    path.write_bytes(member.tobuf() + bytes(1024))
    os.truncate(path, 4096)
    with pytest.raises(InputError, match=r"too large.*up to 1073741824 bytes"), bounded():
        check_archive(path)


@pytest.mark.parametrize("kind", [kind for kind in HOSTILE if kind != "empty"])
def test_a_hostile_archive_of_score_p(tmp_path: Path, kind: str) -> None:
    """Looked at before the package that reads it gets it."""
    path = tmp_path / "profile.cubex"
    HOSTILE[kind](path)
    with pytest.raises(InputError), bounded():
        check_archive(path)


def test_a_file_that_grows(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"1234")
    with open_bytes(path, 10) as file:
        path.write_bytes(b"x" * 11)
        with pytest.raises(InputError, match=r"too large, got '11 bytes' \(allowed: up to 10 bytes\)"):
            file.read()


def test_json_of_any_depth(tmp_path: Path) -> None:
    for content in ("[" * 100_000, '{"a":' * 100_000, json.dumps([10**4000])):
        for name, read in (("a.json", load_profile), ("b.json", read_measurements)):
            (tmp_path / name).write_text(content)
            with pytest.raises(InputError), bounded():
                read(tmp_path / name)


# What descriptions name.

OF_A_PROFILE = """\
simcodesign: 1
name: w
program:
  - memory: {loads: 1e6, profile: PATH}
"""


@pytest.mark.parametrize("kind", ["pipe", "endless device", "folder", "loop of links", "huge"])
def test_a_hostile_file_that_a_description_names(tmp_path: Path, kind: str) -> None:
    HOSTILE[kind](tmp_path / "p.json")
    (tmp_path / "w.yaml").write_text(OF_A_PROFILE.replace("PATH", "p.json"))
    with pytest.raises(InputError, match=r"w\.yaml:4"), bounded():
        load_workload(tmp_path / "w.yaml")


def test_commands_refuse_a_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the commands as well, of which some look at a file before they read it."""
    pipe = tmp_path / "pipe.csv"
    models = tmp_path / "pipe.aspen"
    os.mkfifo(pipe)
    os.mkfifo(models)
    for arguments in (
        ["fit", pipe],
        ["fit-counters", pipe],
        ["calibrate", "seismic", "power-challenge", "--data", pipe],
        ["forecast", models, models],
        ["locality", pipe],
        ["show", f"{pipe}/x.yaml"],
        ["sweep", "--check", pipe],
    ):
        with bounded():
            assert cli.main([str(word) for word in arguments]) == 2, arguments
        captured = capsys.readouterr()
        assert "rror" in captured.err, arguments
        assert "Traceback" not in captured.err, arguments


# Nobody else opens files.

#: Modules that open what is none of a user's input: what they write, files of the package, files of their own.
OWN_FILES = {
    "__init__.py": "the version in the project file of a checkout",
    "core/files/input_files.py": "the opener itself",
    "core/files/atomic_files.py": "writes",
    "core/native/shared_library.py": "sources of the package",
    "lessons/courses/packages.py": "writes",
    "core/memory_limit.py": "what the system says of its memory",
    "core/registry.py": "metadata of installed packages",
    "core/processes/ordered_map.py": "a file of its own, between its processes",
    "describe/recordings/readers/otf2_archive.py": "by the library otf2, after its anchor file was opened",
    "aspen/parse.py": "the grammar, in the package",
    "report/validation/page.py": "the template, in the package",
    "report/demo/runs.py": "a shipped table",
    "report/demo/seismic.py": "a shipped table",
    "report/demo/flagship.py": "its own pictures",
    "report/demo/page.py": "its own pictures",
    "report/programs/cell_magic.py": "its own picture",
    "locality/traces/record.py": "writes",
    "studies/sweep/store_lock.py": "the lock of a store",
    "studies/sweep/store.py": "syncs a folder",
    "cli/app.py": "standard streams",
    "mpi/files/disk_file.py": "files of a program that is run, which reads and writes them",
}
OPENING = {"open", "read_text", "read_bytes", "load", "read_graphml", "loadtxt", "genfromtxt", "fromfile", "memmap"}
OPENING |= {"read_csv", "read_parquet", "read_table", "write_text", "write_bytes", "savefig", "ParquetFile", "ZipFile"}


def opens(call: ast.Call, own: set[str]) -> bool:
    """Whether a call opens a file by its name, not one of ours and not what is open already."""
    last = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if last not in OPENING:
        return False
    name = ast.unparse(call.func)
    if name in own or name.startswith(("Store.", "archive.", "station.")):
        return False
    if last == "load" and name.partition(".")[0] not in ("np", "numpy", "json", "pickle", "yaml", "tomllib"):
        return False
    given = [ast.unparse(one) for one in (*call.args[:1], *(keyword.value for keyword in call.keywords))]
    return not any(one in ("file", "opened", "lines", "buffer") or one.startswith("io.BytesIO(") for one in given)


@pytest.mark.thorough
def test_only_the_opener_opens_files() -> None:
    package = ROOT / "simcodesign"
    recorded = []
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        text = path.read_text()
        if name in OWN_FILES or not any(f"{word}(" in text for word in OPENING):
            continue
        tree = ast.parse(text)
        imported = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("simcodesign.")
            for alias in node.names
        }
        defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
        recorded += [f"{name}:{call.lineno}: {ast.unparse(call)}" for call in calls if opens(call, imported | defined)]
    assert not recorded
    assert all((package / name).is_file() for name in OWN_FILES)
