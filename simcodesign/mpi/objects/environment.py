"""Functions of MPI that ask for the environment, or for memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simcodesign.mpi.objects.attached import attach, detach, flush
from simcodesign.mpi.objects.bytes_in_memory import MemoryBytes
from simcodesign.mpi.objects.info import INFO_NULL, Info
from simcodesign.mpi.objects.memory import memory_of
from simcodesign.mpi.ranks.world import World
from simcodesign.mpi.values.errors import errors_of_programs
from simcodesign.mpi.values.markers import BottomType


def environment(world: World) -> dict[str, Callable[..., Any]]:
    """Return the functions by their names in mpi4py."""

    def Alloc_mem(size: int, info: Info = INFO_NULL) -> MemoryBytes:
        return MemoryBytes.allocate(size)

    return {
        "Alloc_mem": Alloc_mem,
        "Free_mem": lambda mem: mem.release(),
        "Get_address": lambda location: 0 if isinstance(location, BottomType) else memory_of(location).ctypes.data,
        "Aint_add": lambda base, disp: base + disp,
        "Aint_diff": lambda addr1, addr2: addr1 - addr2,
        "Attach_buffer": lambda buf: attach(world, buf),
        "Detach_buffer": lambda: detach(world),
        "Flush_buffer": lambda: flush(world),
        **errors_of_programs(),
        "Get_processor_name": lambda: f"node{world.nodes[world.current]}",
        "Is_thread_main": lambda: True,
        "Pcontrol": lambda level: None,
        "get_vendor": lambda: ("simcodesign", (0, 1, 0)),
    }
