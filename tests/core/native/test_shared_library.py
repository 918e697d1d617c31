"""The shared library: compiled when a source is newer, whole or not at all, and absent without an error message."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from simcodesign.core.errors import InputError
from simcodesign.core.native import shared_library as module
from simcodesign.core.native.compiler import LIBRARY_NAME, CompilerError, find_compiler
from simcodesign.core.native.shared_library import library, required_library, up_to_date_library
from tests import ROOT

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
ANSWER = '#include "layout.h"\nEXPORTED int answer(void);\nint answer(void) {{ return {}; }}\n'
LAYOUT = ROOT / "simcodesign" / "core" / "native" / "layout.h"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A C source in a folder of its own, whose function returns 1, as written an hour ago."""
    path = tmp_path / "all.c"
    (tmp_path / "layout.h").write_bytes(LAYOUT.read_bytes())
    write(path, 1, age_s=3600)
    return path


def write(path: Path, number: int, age_s: float) -> None:
    path.write_text(ANSWER.format(number))
    for file in path.parent.glob("*.[ch]"):
        changed_s = path.stat().st_mtime - age_s
        os.utime(file, (changed_s, changed_s))


def answer(path: Path | None) -> int:
    """What the library returns, in a process of its own: a loaded library stays as it is."""
    program = f"import ctypes; print(ctypes.CDLL({str(path)!r}).answer())"
    return int(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60).stdout)


@needs_compiler
def test_the_library_of_the_package_loads() -> None:
    assert isinstance(library(), ctypes.CDLL)


@needs_compiler
def test_it_is_compiled_again_only_when_a_source_is_newer(source: Path) -> None:
    first = up_to_date_library(source, [source.parent])
    assert first == source.with_name(LIBRARY_NAME)
    made_ns = first.stat().st_mtime_ns
    assert up_to_date_library(source, [source.parent]) == first
    assert first.stat().st_mtime_ns == made_ns
    write(source, 2, age_s=-60)
    assert answer(up_to_date_library(source, [source.parent])) == 2


@needs_compiler
def test_a_newer_header_counts_as_a_source(source: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    first = up_to_date_library(source, [source.parent, other])
    assert first is not None
    (other / "run.h").touch()
    os.utime(first, (0, 0))
    up_to_date_library(source, [source.parent, other])
    assert first.stat().st_mtime > 0


@pytest.mark.parametrize("compiler", ["/no/such/compiler", "false"])
def test_a_broken_compiler_leaves_the_folder_as_it_is(
    source: Path, compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", compiler)
    before = sorted(source.parent.iterdir())
    with pytest.raises(CompilerError, match=compiler):
        up_to_date_library(source, [source.parent])
    assert sorted(source.parent.iterdir()) == before


@needs_compiler
def test_an_error_in_a_source_is_shown_as_a_warning_and_no_older_library_is_used(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    up_to_date_library(source, [source.parent])
    source.write_text("int answer(void) { return unknown_name; }\n")
    os.utime(source, (2e9, 2e9))
    monkeypatch.setattr(module, "MAIN_SOURCE", source)
    monkeypatch.setattr(module, "SOURCE_FOLDERS", [source.parent])
    with pytest.warns(UserWarning, match=r"the C functions are not used: .*unknown_name"):
        assert library.__wrapped__() is None


def test_without_a_compiler_there_is_no_library(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_compiler", lambda: None)
    assert up_to_date_library(source, [source.parent]) is None


def test_an_installed_library_needs_neither_sources_nor_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "find_compiler", lambda: None)
    assert up_to_date_library(tmp_path / "all.c", [tmp_path]) is None
    (tmp_path / LIBRARY_NAME).touch()
    assert up_to_date_library(tmp_path / "all.c", [tmp_path]) == tmp_path / LIBRARY_NAME


def test_what_needs_the_library_says_so_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "library", lambda: None)
    with pytest.raises(InputError, match=r"a trace of text needs the C functions .*allowed: an installed C compiler"):
        required_library("a trace of text")


@needs_compiler
def test_several_processes_compile_at_once(source: Path) -> None:
    program = (
        "import ctypes, sys; from pathlib import Path\n"
        "from simcodesign.core.native.shared_library import up_to_date_library\n"
        "source = Path(sys.argv[1])\n"
        "print(ctypes.CDLL(str(up_to_date_library(source, [source.parent]))).answer())"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", program, str(source)], cwd=ROOT, stdout=subprocess.PIPE)
        for _ in range(4)
    ]
    assert [process.communicate(timeout=60)[0] for process in processes] == [b"1\n"] * 4
    assert {path.name for path in source.parent.iterdir()} == {"all.c", "layout.h", LIBRARY_NAME}


@needs_compiler
def test_for_a_folder_that_cannot_be_written_the_library_is_kept_by_its_sources(
    source: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    monkeypatch.setattr(os, "access", lambda path, _: path != source.parent)  # also root is refused
    first = up_to_date_library(source, [source.parent])
    assert first is not None
    assert first.parent == home / "simcodesign" / "native"
    assert not source.with_name(LIBRARY_NAME).exists()
    made_ns = first.stat().st_mtime_ns
    assert up_to_date_library(source, [source.parent]) == first
    assert first.stat().st_mtime_ns == made_ns
    write(source, 3, age_s=3600)
    second = up_to_date_library(source, [source.parent])
    assert second != first
    assert (answer(first), answer(second)) == (1, 3)
