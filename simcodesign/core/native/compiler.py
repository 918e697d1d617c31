"""Compiling the C sources into one shared library, by the first compiler that is installed.

The build of the package runs this file by its path, before anything is installed. So it imports the
standard library alone.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
MAIN_SOURCE = HERE / "all.c"
#: One name on every system: a path needs no suffix to be loaded.
LIBRARY_NAME = "simcodesign.shared"
#: Folders of C sources; a change in any of them needs a new library.
SOURCE_FOLDERS = (HERE, HERE.parents[1] / "engine" / "native")
#: No product and sum in one rounding: the results must equal Python's in every bit.
FLAGS = ("-O2", "-std=c11", "-ffp-contract=off", "-shared", "-Wall", "-Wextra", "-fvisibility=hidden")
#: Windows needs neither, and the clang of its C runtime refuses ``-fPIC``.
POSIX_FLAGS = ("-fPIC", "-lm") if os.name == "posix" else ()


class CompilerError(Exception):
    """A compiler is installed, but did not make the library: its first message."""


def find_compiler() -> list[str] | None:
    """Return the command of a C compiler: ``$CC``, cc, gcc, clang, or zig from PyPI; None if there is none."""
    import shutil

    if named := os.environ.get("CC"):
        return shlex.split(named)
    for name in ("cc", "gcc", "clang"):
        if found := shutil.which(name):
            return [found]
    return [sys.executable, "-m", "ziglang", "cc"] if find_spec("ziglang") else None


def source_files(folders: Sequence[Path] = SOURCE_FOLDERS) -> list[Path]:
    """Return the C sources and headers in ``folders``, none in an installed package."""
    return sorted(path for folder in folders for path in folder.glob("*.[ch]"))


def compile_library(compiler: Sequence[str], source: Path, target: Path) -> None:
    """Compile ``source`` into ``target``, completely or not at all, so that several processes may do it concurrently.

    Raises CompilerError if the compiler fails or cannot be started, OSError if ``target`` cannot be written.
    """
    import tempfile

    started_s = time.time()
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    os.close(descriptor)
    part = Path(name)
    try:
        status, messages = _run([*compiler, *FLAGS, "-o", str(part), str(source), *POSIX_FLAGS])
        if status:
            lines = [*messages.strip().splitlines(), f"exit status {status}"]
            first = next((line for line in lines if "error:" in line), lines[0])
            raise CompilerError(f"{compiler[0]}: {first}")
        os.utime(part, (started_s, started_s))  # a source that is edited meanwhile is newer
        part.chmod(0o755)
        part.replace(target)
    finally:
        with suppress(OSError):
            part.unlink()


def _run(command: Sequence[str]) -> tuple[int, str]:
    """Return the exit status of a command and its messages."""
    import subprocess

    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        return done.returncode, done.stderr
    except OSError as error:
        raise CompilerError(f"{command[0]}: {error.strerror or error}") from None
