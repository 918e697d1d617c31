"""``mpi4py.util.pkl5``: communicators whose objects may be of any size. All communicators are so here."""

from __future__ import annotations

from typing import Any

from simcodesign.mpi.communicators.communicators import Comm, Intracomm
from simcodesign.mpi.communicators.intercommunicators import Intercomm
from simcodesign.mpi.messages.probes import Message
from simcodesign.mpi.pickles import PICKLE, Pickle
from simcodesign.mpi.requests import Request


class _BigMPI:
    """How long the parts are in which mpi4py sends long objects. Here messages have any length, and are not cut."""

    blocksize = 2**30

    def __enter__(self) -> _BigMPI:
        return self

    def __exit__(self, *exc: object) -> None:
        pass


def members() -> dict[str, Any]:
    """Return the names of the module."""
    names: tuple[type, ...] = (Comm, Intracomm, Intercomm, Message, Request, Pickle)
    return {one.__name__: one for one in names} | {"pickle": PICKLE, "_BigMPI": _BigMPI, "_bigmpi": _BigMPI()}
