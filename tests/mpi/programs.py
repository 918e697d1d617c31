"""Programs of a few lines that use mpi4py, run on simulated ranks."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import simcodesign as sc
from simcodesign.describe.machine import Machine

HEAD = "from mpi4py import MPI\nimport numpy as np\ncomm = MPI.COMM_WORLD\nrank, size = comm.rank, comm.size\n"


def run_text(folder: Path, text: str, ranks: int, machine: str | Machine = "crossbar-16") -> Any:
    """Run a program after ``HEAD`` (four lines), without computation."""
    file = folder / "program.py"
    file.write_text(HEAD + textwrap.dedent(text))
    return sc.run(file, ranks, machine, speed=None)


def limited(size_bytes: int) -> Machine:
    """Return two nodes (10 us, 100 MB/s) between which messages above a size wait for their receivers."""
    network = {
        "topology": {"kind": "crossbar"},
        "startup": "10 us",
        "bandwidth": "100 MB/s",
        "S": f"{size_bytes} B",
    }
    return Machine.load(
        {"simcodesign": 1, "name": "two", "nodes": 2, "processor": {"rate": "1 GFLOP/s"}, "network": network}
    )
