"""State that each rank keeps with a communicator: a name, attributes, hints, a handler of errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simcodesign.mpi.names import Quick
from simcodesign.mpi.objects.attributes import Attributed
from simcodesign.mpi.objects.info import ERROR_HANDLERS, Errhandler, Info
from simcodesign.mpi.point_to_point import MOST_TAG
from simcodesign.mpi.ranks.world import World
from simcodesign.mpi.values.constants import APPNUM, IO, LASTUSEDCODE, TAG_UB, UNIVERSE_SIZE, WTIME_IS_GLOBAL
from simcodesign.mpi.values.errors import last_used_code


class HandlesErrors(Quick):
    """The part of communicators, windows, files and sessions that keeps a handler of errors of each rank."""

    world: World

    def _own(self) -> dict[str, Any]:
        """Return what the rank whose turn it is keeps."""
        rank = self.world.current  # of a null object, an error
        of_ranks: dict[int, dict[str, Any]] = self.__dict__.setdefault("_kept", {})
        return of_ranks.setdefault(rank, {})

    @classmethod
    def Create_errhandler(cls, errhandler_fn: Callable[[Any, int], None]) -> Errhandler:
        """Return a handler of errors, which ``Call_errhandler`` calls."""
        return Errhandler(errhandler_fn)

    def Get_errhandler(self) -> Errhandler:
        """Return the handler of errors, by default ``ERRORS_RETURN`` as mpi4py sets it."""
        found: Any = self._own().get("errhandler", ERROR_HANDLERS["ERRORS_RETURN"])
        return Errhandler(found)

    def Set_errhandler(self, errhandler: Errhandler) -> None:
        """Set the handler of errors."""
        errhandler.check()
        kept: Any = errhandler
        self._own()["errhandler"] = Errhandler(kept)  # a copy, which stays when the program frees its own

    def Call_errhandler(self, errorcode: int) -> None:
        """Call the handler of errors."""
        self.Get_errhandler().called(self, errorcode)


class KeptByRanks(HandlesErrors):
    """The part of communicators, windows and files that keeps hints and a handler of errors of each rank."""

    def Get_info(self) -> Info:
        """Return a copy of the hints."""
        return Info.Create(self._own().get("info"))

    def Set_info(self, info: Info) -> None:
        """Add hints."""
        self._own().setdefault("info", {}).update(info)

    info = property(Get_info, Set_info)


class Kept(KeptByRanks, Attributed):
    """The part of communicators that keeps what a rank gives it, apart from what other ranks do."""

    number: int

    def _attributes(self) -> dict[int, Any]:
        found: dict[int, Any] = self._own().setdefault("attributes", {})
        return found

    def Get_attr(self, keyval: int) -> Any:
        """Return the value of an attribute, also one predefined by MPI, as ``TAG_UB``; None if there is none."""
        known = {
            TAG_UB: MOST_TAG,
            IO: self.world.current,
            WTIME_IS_GLOBAL: True,
            APPNUM: 0,
            LASTUSEDCODE: last_used_code(),
            UNIVERSE_SIZE: self.world.size,
        }
        return known[keyval] if keyval in known else super().Get_attr(keyval)

    def Get_name(self) -> str:
        """Return the name; empty unless one was set."""
        if not self:
            return "MPI_COMM_NULL"
        return str(self._own().get("name", "MPI_COMM_WORLD" if self.number == 0 else ""))

    def Set_name(self, name: str) -> None:
        """Set the name."""
        self._own()["name"] = name

    name = property(Get_name, Set_name)

    def copy_kept(self, made: Kept) -> None:
        """Give a duplicate the attributes, hints and handler of errors."""
        self.copy_attributes(made)
        own = self._own()
        made._own().update({key: own[key] for key in ("errhandler",) if key in own})
        made._own().update({key: dict(own[key]) for key in ("info",) if key in own})
