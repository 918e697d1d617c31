"""Communicators: the groups of ranks that a program makes."""

from __future__ import annotations

from typing import Any, NoReturn

from simcodesign.core.errors import InputError
from simcodesign.mpi.communicators.sessions import communicator_of_group
from simcodesign.mpi.communicators.splitting import Splitting
from simcodesign.mpi.communicators.topology_creation import TopologyCreation
from simcodesign.mpi.messages.exchanges import Exchanges
from simcodesign.mpi.messages.persistent import PersistentMessages
from simcodesign.mpi.messages.probes import Probes
from simcodesign.mpi.names import NotSimulated
from simcodesign.mpi.objects.groups import Group
from simcodesign.mpi.objects.info import INFO_NULL, Errhandler, Info
from simcodesign.mpi.ranks.scheduler import place_of_call


class Comm(Probes, PersistentMessages, Exchanges, TopologyCreation):
    """Ranks that exchange messages: one object for all of them."""

    def Get_rank(self) -> int:
        """Return the rank whose turn it is."""
        return self.rank

    def Get_size(self) -> int:
        """Return how many ranks there are."""
        return self.size

    def Abort(self, errorcode: int = 0) -> NoReturn:
        """End the run with an error that names the caller."""
        raise InputError(f"rank {self.world.current} calls Abort({errorcode})", place_of_call())

    def Is_inter(self) -> bool:
        """Return whether the ranks are of two groups."""
        self.check()
        return False

    def Is_intra(self) -> bool:
        """Return whether the ranks belong to one group."""
        return not self.Is_inter()

    is_inter, is_intra = property(lambda self: self.Is_inter()), property(Is_intra)

    @classmethod
    def Get_parent(cls) -> Any:
        """Return a null intercommunicator: no program is spawned."""
        return Splitting.of_two_groups()


class Intracomm(Comm):
    """A communicator of one group."""

    copied_with = "Create_cart"

    @classmethod
    def Create_from_group(
        cls, group: Group, stringtag: str = "org.mpi4py", info: Info = INFO_NULL, errhandler: Errhandler | None = None
    ) -> Any:
        """Return the communicator of a group. Only the ranks of the group call this."""
        return communicator_of_group(cls, group, stringtag)


for name in (
    *("Accept", "Ack_failed", "Agree", "Connect", "Get_failed", "Iagree", "Is_revoked", "Ishrink", "Join"),
    *("Precv_init", "Psend_init", "Revoke", "Shrink", "Spawn", "Spawn_multiple", "Create_from_groups"),
):
    setattr(Comm, name, NotSimulated(name))
Splitting.plain = Intracomm
COMM_NULL = Comm()
