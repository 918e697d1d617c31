"""Loading the shared library of C functions; in a checkout, compiling it first if a source is newer.

An installed package contains the library and no sources. In a checkout nothing else would rebuild the library after an
edit. If the folder cannot be written, the library is kept in a cache folder of the user, by a digest of the sources.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from simcodesign.core.errors import InputError
from simcodesign.core.native.compiler import (
    FLAGS,
    LIBRARY_NAME,
    MAIN_SOURCE,
    SOURCE_FOLDERS,
    CompilerError,
    compile_library,
    find_compiler,
    source_files,
)


@cache
def library() -> ctypes.CDLL | None:
    """Return the library of C functions; None if it is not installed and there is no compiler, or compiling fails.

    A failure prints a warning, once in a process.
    """
    try:
        path = up_to_date_library(MAIN_SOURCE, SOURCE_FOLDERS)
        return None if path is None else ctypes.CDLL(str(path))
    except (CompilerError, OSError) as error:
        warnings.warn(f"the C functions are not used: {error}", stacklevel=2)
        return None


def required_library(what: str) -> ctypes.CDLL:
    """Return the library of C functions. Raises InputError if ``what`` cannot be done because there is none."""
    found = library()
    if found is None:
        allowed = "an installed C compiler; then install simcodesign again"
        raise InputError(f"{what} needs the C functions of simcodesign, which are not installed", allowed=allowed)
    return found


def up_to_date_library(main_source: Path, folders: Sequence[Path]) -> Path | None:
    """Return the path of a library at least as new as all sources, compiled if necessary; None without a compiler."""
    sources = source_files(folders)
    beside = main_source.with_name(LIBRARY_NAME)
    if _is_current(beside, sources):
        return beside
    compiler = find_compiler()
    if not sources or compiler is None:
        return None
    if os.access(beside.parent, os.W_OK):
        target = beside
    else:
        target = cache_folder() / f"{_digest(sources)}.shared"
        if target.exists():
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
    compile_library(compiler, main_source, target)
    return target


def cache_folder() -> Path:
    """Return the user's folder of libraries: ``$XDG_CACHE_HOME/simcodesign/native``, by default in ``~/.cache``."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "simcodesign" / "native"


def _is_current(path: Path, sources: Sequence[Path]) -> bool:
    return path.exists() and all(path.stat().st_mtime_ns >= source.stat().st_mtime_ns for source in sources)


def _digest(sources: Sequence[Path]) -> str:
    """Return a digest of the sources, the flags and the kind of system: home folders are shared between systems."""
    from hashlib import blake2b

    content = blake2b(repr((FLAGS, sys.platform, platform.machine())).encode(), digest_size=16)
    for source in sources:
        content.update(f"\0{source.name}\0".encode() + source.read_bytes())
    return content.hexdigest()
