"""Communicators: the groups of ranks that a program makes."""

from __future__ import annotations

from typing import Any, NoReturn

from simcodesign.core.errors import InputError
from simcodesign.mpi.collectives.of_buffers import Collectives
from simcodesign.mpi.requests import UNDEFINED
from simcodesign.mpi.scheduler import place_of_call
from simcodesign.mpi.topology_creation import TopologyCreation
from simcodesign.mpi.world import mpi_call


class Comm(TopologyCreation, Collectives):
    """Ranks that exchange messages: one object for all of them."""

    def Get_rank(self) -> int:
        """Return the rank whose turn it is."""
        return self.rank

    def Get_size(self) -> int:
        """Return how many ranks there are."""
        return self.size

    def Get_name(self) -> str:
        """Return a name."""
        return "MPI_COMM_WORLD" if self.number == 0 else f"communicator {self.number}"

    name = property(Get_name)

    def Abort(self, errorcode: int = 0) -> NoReturn:
        """End the run with an error that names the caller."""
        raise InputError(f"rank {self.world.current} calls Abort", place_of_call(), value=errorcode)

    @mpi_call
    def Split(self, color: int = 0, key: int = 0) -> Comm | None:
        """Return the communicator of the ranks with this colour, in the order of their keys; None for UNDEFINED."""
        found = self._split(color, key)
        return None if found is None else self._made(Comm, found)

    def _split(self, color: int, key: int) -> tuple[int, tuple[int, ...]] | None:
        """Number and members of the new communicator. Setting one up takes messages that are not counted."""

        def combine(given: list[tuple[int, int, int]]) -> list[tuple[int, tuple[int, ...]] | None]:
            found: list[tuple[int, tuple[int, ...]] | None] = [None] * len(given)
            for colour in sorted({one[0] for one in given if one[0] != UNDEFINED}):
                ordered = sorted((key, place) for place, (own, key, _) in enumerate(given) if own == colour)
                places = [place for _, place in ordered]
                members = tuple(given[place][2] for place in places)
                made = self.world.log.communicator(members), members
                for place in places:
                    found[place] = made
            return found

        found: tuple[int, tuple[int, ...]] | None = self._together(
            "split", (color, key, self.world.current), 0, combine, record=False
        )
        return found

    def _made(self, kind: type[Any], found: tuple[int, tuple[int, ...]], *more: Any) -> Any:
        """Return the one object that all members share, made for the first of them."""
        number, members = found
        shared = self.world.communicators
        if number not in shared:
            shared[number] = kind(self.world, number, members, *more)
        return shared[number]

    def Dup(self, info: None = None) -> Comm | None:
        """Return a communicator of the same ranks, whose messages are apart."""
        made: Comm | None = self.Split(0, self.rank)
        return made

    Clone = Dup

    def Free(self) -> None:
        """Do nothing: Python frees it."""

    Disconnect = Free

    def Is_inter(self) -> bool:
        """Return False: all ranks are of one group."""
        return False


class Intracomm(Comm):
    """A communicator of one group; all here are."""
