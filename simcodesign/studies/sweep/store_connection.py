"""Opening the file of a store: reading makes no further file, so that read-only media work."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path


def connect(path: Path, write: bool) -> sqlite3.Connection:
    """Open a connection to a store."""
    mode = "mode=rw" if write else _read_only(path)
    return sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True, isolation_level=None, check_same_thread=False)


def _read_only(path: Path) -> str:
    """How SQLite is to read a store.

    With ``mode=ro`` it looks for a writer, which needs files next to the store, and leaves them there. If no
    writer is at it, and if none can be, ``immutable`` reads the store alone.
    """
    return "mode=ro" if is_written(path) else "mode=ro&immutable=1"


def is_written(path: Path) -> bool:
    """Whether a writer may be at a store, or has left rows that are not in it yet."""
    may_be = path.with_name(f"{path.name}.lock").exists() and can_be_written(path)
    return may_be or has_pending_rows(path)


def has_pending_rows(path: Path) -> bool:
    """Whether rows may still be in the journal of a store, of a writer that is active or was killed."""
    journal = path.with_name(f"{path.name}-wal")
    return journal.exists() and journal.stat().st_size > 0


def can_be_written(path: Path) -> bool:
    """Whether files can be made next to a store; not on read-only media."""
    return os.access(path.parent, os.W_OK)


def state_of(path: Path) -> tuple[int, int, int]:
    """Properties of a file that change when it is written."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns
