"""A ping-pong written with mpi4py, run on a simulated machine: ``calibrate`` reads from its output the machine back."""

from __future__ import annotations

from pathlib import Path

import pytest

import simcodesign as sc

PING_PONG = """
from mpi4py import MPI
import numpy as np

comm = MPI.COMM_WORLD
if comm.rank == 0:
    print(TITLES)
for size in [0, *(1 << k for k in range(21))]:
    buffer = np.zeros(size, "u1")
    comm.Barrier()
    began = MPI.Wtime()
    for _ in range(5):
        if comm.rank == 0:
            comm.Send(buffer, 1)
            comm.Recv(buffer, 1)
        else:
            comm.Recv(buffer, 0)
            comm.Send(buffer, 0)
    if comm.rank == 0:
        print(f"{size:<10d}{(MPI.Wtime() - began) / 10 * 1e6:>18.2f}")
"""

#: Of OSU's program in C, and of the one in mpi4py's folder demo.
TITLES = {
    "c": "# OSU MPI Latency Test v7.4\\n# Size          Latency (us)",
    "python": "# MPI Latency Test\\n# Size [B]        Latency [us]",
}

MACHINE = """
simcodesign: 1
name: pair
nodes: 2
processor: {rate: 1 GFLOP/s}
network: {topology: {kind: crossbar}, startup: 3 us, bandwidth: 800 MB/s}
"""


@pytest.mark.parametrize("titles", TITLES)
def test_calibrate_finds_the_machine_that_a_ping_pong_ran_on(titles: str, tmp_path: Path) -> None:
    """3 us and 800 MB/s, beginning from crossbar-16 with 10 us and 100 MB/s; times are printed to 0.005 us."""
    program, machine, printed = tmp_path / "ping_pong.py", tmp_path / "pair.yaml", tmp_path / "printed.txt"
    program.write_text(PING_PONG.replace("TITLES", f'"{TITLES[titles]}"'))
    machine.write_text(MACHINE)
    done = sc.run(program, 2, sc.Machine.load(machine), speed=None)
    printed.write_text("".join(f"[{rank}] {line}\n" for rank, line in done.lines))
    found = {one.path: one.value for one in sc.calibrate("crossbar-16", printed, segments=1).all_constants}
    assert found["network.startup"] == pytest.approx(3e-6, rel=0.005 / 3)
    assert found["network.per_byte"] == pytest.approx(1 / 800e6, rel=1e-4)
