"""One writer for a store: a lock that ends with its process, however that ends."""

from __future__ import annotations

import fcntl
import os
import platform
from contextlib import suppress
from pathlib import Path

from simcodesign.core.errors import InputError, Place


class StoreLock:
    """The lock of a store, in a file beside it that names its process."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path, self._descriptor = path, descriptor

    @classmethod
    def acquire(cls, store: Path) -> StoreLock:
        """Lock a store. Raises InputError naming the process that holds the lock, or why it cannot be created."""
        path = store.with_name(f"{store.name}.lock")
        while True:
            descriptor = _open(path)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                owner = os.pread(descriptor, 200, 0).decode(errors="replace").strip() or "another process"
                os.close(descriptor)
                raise InputError(f"is being written by {owner}", Place(str(store))) from None
            if _is_same_file(path, descriptor):
                break
            os.close(descriptor)  # its last owner took the file away in between
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {platform.node()}\n".encode(), 0)
        return cls(path, descriptor)

    def release(self) -> None:
        """Let others write; a second time it does nothing."""
        if self._descriptor >= 0:
            with suppress(OSError):
                os.unlink(self._path)
            os.close(self._descriptor)
            self._descriptor = -1


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", Place(str(path))) from None


def _is_same_file(path: Path, descriptor: int) -> bool:
    """Whether the file of that name is the one that is open."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except OSError:
        return False
