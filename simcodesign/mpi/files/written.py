"""Files that a run writes: a program that runs again finds them as they were before its first run."""

from __future__ import annotations

import builtins
import io
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


class WrittenFiles:
    """Copies of files as they were before they were opened for writing, or that they were not there."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._folder: str | None = None
        self._copies: dict[str, Path | None] = {}
        for path in paths:
            self.keep(path)

    @property
    def paths(self) -> tuple[str, ...]:
        """The absolute paths of the files."""
        return tuple(self._copies)

    def keep(self, given: Any) -> None:
        """Keep a file that is about to be written, unless it is kept, or is none of the disk's."""
        path = os.path.abspath(os.fsdecode(given))
        if self._folder is not None and path.startswith(self._folder):  # a copy
            return
        if path in self._copies or (os.path.lexists(path) and not os.path.isfile(path)):
            return
        copy = None
        if os.path.exists(path):
            if self._folder is None:
                self._folder = tempfile.mkdtemp(prefix="simcodesign-")
                weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            copy = Path(self._folder, str(len(self._copies)))
            with suppress(OSError):
                shutil.copy2(path, copy)
        self._copies[path] = copy

    def restore(self) -> None:
        """Put back all files, and remove those that were not there."""
        for path, copy in self._copies.items():
            with suppress(OSError):
                if copy is None:
                    Path(path).unlink(missing_ok=True)
                elif copy.exists():
                    shutil.copy2(copy, path)

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Keep what ``open`` of Python opens for writing."""
        plain = builtins.open

        def noting(file: Any, mode: str = "r", *given: Any, **named: Any) -> Any:
            if isinstance(file, str | bytes | os.PathLike) and isinstance(mode, str) and set(mode) & set("wax+"):
                self.keep(file)
            return plain(file, mode, *given, **named)

        builtins.open = io.open = noting
        try:
            yield
        finally:
            builtins.open = io.open = plain
