"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO

from simcodesign.core.errors import InputError, Place


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write that takes the place of ``path`` once all has been written; else nothing is left of it.

    Raises InputError where that cannot be done.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            yield file
        beside.replace(path)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", Place(str(path))) from None
    finally:
        with suppress(OSError):
            beside.unlink()


@contextmanager
def replacing_text(path: Path) -> Iterator[TextIOWrapper]:
    """The same for text in UTF-8, lines as they are given. Raises InputError also for text that is none."""
    with replacing(path) as file, TextIOWrapper(file, encoding="utf-8", newline="") as text:
        try:
            yield text
        except UnicodeEncodeError:
            raise InputError("cannot be written: a name is no valid text", Place(str(path))) from None
