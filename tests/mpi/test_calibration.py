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

#: 16 messages at once one way with an answer of 4 bytes, and both ways, as osu_bw and osu_bibw print them in Python:
#: both in MB/s of one direction.
WINDOWS = """
from mpi4py import MPI
import numpy as np

comm = MPI.COMM_WORLD
for is_both_ways in (False, True):
    if comm.rank == 0:
        print("# MPI Bi-Directional Bandwidth Test" if is_both_ways else "# MPI Bandwidth Test")
        print("# Size [B]        Latency [us]")
    for size in [1 << k for k in range(10, 20)]:
        sent, got = np.zeros(size, "u1"), np.zeros(size, "u1")
        comm.Barrier()
        began = MPI.Wtime()
        requests = []
        if is_both_ways or comm.rank == 1:
            requests += [comm.Irecv(got, 1 - comm.rank, 1) for _ in range(16)]
        if is_both_ways or comm.rank == 0:
            requests += [comm.Isend(sent, 1 - comm.rank, 1) for _ in range(16)]
        MPI.Request.Waitall(requests)
        if not is_both_ways:
            comm.Recv(got[:4], 1) if comm.rank == 0 else comm.Send(sent[:4], 0)
        if comm.rank == 0:
            print(f"{size:<10d}{16 * size / 1e6 / (MPI.Wtime() - began):>18.2f}")
"""

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


@pytest.mark.parametrize("duplex", ["full", "half"])
def test_calibrate_finds_interfaces_by_windows(duplex: str, tmp_path: Path) -> None:
    """Printed rates are those of the closed form; calibrate finds 800 MB/s and whether both ways share it."""
    program, machine, printed = tmp_path / "windows.py", tmp_path / "pair.yaml", tmp_path / "printed.txt"
    program.write_text(WINDOWS)
    interfaces = f"network: {{interfaces: {{bandwidth: 800 MB/s, duplex: {duplex}}}, "
    machine.write_text(MACHINE.replace("network: {", interfaces))
    done = sc.run(program, 2, sc.Machine.load(machine), speed=None)
    rows = [line.split() for _, line in done.lines if line[0] != "#"]
    for number, (size, rate) in enumerate(rows):
        one_way_s = 16 * int(size) / 800e6
        answer_s = 3e-6 + 4 / 800e6
        if number < len(rows) // 2:
            assert float(rate) == pytest.approx(16 * int(size) / 1e6 / (3e-6 + one_way_s + answer_s), rel=1e-4)
        elif duplex == "full":
            assert float(rate) == pytest.approx(16 * int(size) / 1e6 / (3e-6 + one_way_s), rel=1e-4)
    printed.write_text("".join(f"[{rank}] {line}\n" for rank, line in done.lines))
    found = sc.calibrate("crossbar-16", printed, segments=1)
    assert found.duplex == duplex
    constants = {one.path: one.value for one in found.all_constants}
    assert constants["network.interfaces.per_byte"] == pytest.approx(1 / 800e6, rel=1e-3)
