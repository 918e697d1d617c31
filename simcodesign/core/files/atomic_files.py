"""Atomic writing: a file is replaced completely or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO

from simcodesign.core.errors import InputError, Place


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that replaces ``path`` once everything has been written; after an error nothing remains of it.

    A symbolic link stays and its target is replaced; a file keeps its permissions; a pipe or a device is written as it
    is. Raises InputError if that is impossible.
    """
    try:
        target = Path(os.path.realpath(path))
        mode = target.stat().st_mode if target.exists() else None
        if mode is not None and not stat.S_ISREG(mode):
            with target.open("wb") as file:
                yield file
            return
        beside = target.with_name(f".{target.name[:100]}.{os.getpid()}.part")  # no name is longer than 255 bytes
        try:
            with beside.open("wb") as file:
                if mode is not None:
                    beside.chmod(stat.S_IMODE(mode))
                yield file
            beside.replace(target)
        finally:
            with suppress(OSError):
                beside.unlink()
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", Place(str(path))) from None


@contextmanager
def replacing_text(path: Path) -> Iterator[TextIOWrapper]:
    """Open a UTF-8 text file as ``replacing`` does, without changing line ends.

    Raises InputError for invalid text too.
    """
    with replacing(path) as file, TextIOWrapper(file, encoding="utf-8", newline="") as text:
        try:
            yield text
        except UnicodeEncodeError:
            raise InputError("cannot be written: a name is no valid text", Place(str(path))) from None
