"""Starting and ending the server of the laboratory."""

from __future__ import annotations

import socket
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path

import uvicorn

from simcodesign.core.errors import InputError, Place
from simcodesign.lab.answers import forecast_over
from simcodesign.lab.app import Laboratory, application
from simcodesign.lab.asked import Asked
from simcodesign.lab.guard import ADDRESS, new_token
from simcodesign.lab.starts import FIRST_MACHINE, FIRST_WORKLOAD, shipped_text
from simcodesign.lab.work import Workers


def serve(
    lesson: str | Path | None,
    port: int,
    processes: int,
    opens_browser: bool,
    on_address: Callable[[str], None],
) -> None:
    """Serve until Ctrl-C; ``on_address`` is called with the address and its token. ``port`` 0: a free one.

    Raises InputError for a port that cannot be used.
    """
    listener = listening(port)
    port, token = listener.getsockname()[1], new_token()
    workers = Workers(processes)
    address = f"http://{ADDRESS}:{port}/{token}/" + (f"lesson/{Path(lesson).name}" if lesson else "")
    app = application(Laboratory(workers, processes, lesson), token, port)
    config = uvicorn.Config(app, log_level="error", access_log=False, timeout_graceful_shutdown=1, server_header=False)
    try:
        on_address(address)
        threading.Thread(target=_warm_up, daemon=True).start()
        if opens_browser:
            # The socket listens already: what the browser asks for waits until the server runs.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        workers.close()
        listener.close()


def _warm_up() -> None:
    """Make a first forecast, because its imports take longer than to compute it."""
    machine, workload = shipped_text("machine", FIRST_MACHINE), shipped_text("workload", FIRST_WORKLOAD)
    forecast_over(Asked(machine or "", workload or ""))


def listening(port: int) -> socket.socket:
    """Return a socket of this computer alone. InputError for a port in use or not allowed."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((ADDRESS, port))
        listener.listen(64)
    except OSError as error:
        listener.close()
        raise InputError(
            f"cannot be used: {error.strerror}", Place("--port"), value=port, allowed="another, or 0 for any"
        ) from None
    return listener
