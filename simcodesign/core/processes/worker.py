"""Worker process of ``process_pool``: runs one task after another, until there are no more or its parent is gone."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from multiprocessing.connection import Connection, wait
from typing import Any


def serve(connection: Connection[Any, Any]) -> None:
    """Do tasks until an empty one comes or the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    with contextlib.suppress(EOFError, OSError):
        connection.send_bytes(b"ready")
        while payload := connection.recv_bytes():
            connection.send_bytes(_reply(payload))


def _reply(payload: bytes) -> bytes:
    try:
        function, arguments, options = pickle.loads(payload)
        return pickle.dumps((True, function(*arguments, **options), ""), pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # whatever a task may raise
        return pickle.dumps((False, _portable(error), traceback.format_exc()), pickle.HIGHEST_PROTOCOL)


def _portable(error: Exception) -> Exception:
    """Return the error, or its text if its type cannot be pickled and read again."""
    with contextlib.suppress(Exception):  # what pickling may raise has no common base
        if type(pickle.loads(pickle.dumps(error))) is type(error):
            return error
    return RuntimeError(f"{type(error).__name__}: {error}")


def end_with_parent() -> None:
    """End this process when its parent ends, even while it is in compiled code.

    The parent holds one end of a pipe, which closes when the parent ends. The signal SIGIO, sent at that moment, ends a
    process by default; a thread would wait for the lock of the interpreter, which compiled code may hold for minutes.
    The thread is for systems without that signal, and for a parent that is gone already.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    pipe = parent.sentinel
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
    threading.Thread(target=_watch, args=(pipe,), daemon=True).start()


def _watch(pipe: int) -> None:
    wait([pipe])
    os._exit(1)
