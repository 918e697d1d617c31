"""Run a program of a few lines."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import simcodesign as sc
from simcodesign.describe.machine import Machine

HEAD = "from mpi4py import MPI\nimport numpy as np\ncomm = MPI.COMM_WORLD\nrank, size = comm.rank, comm.size\n"


@pytest.fixture
def ran(tmp_path: Path) -> Callable[..., Any]:
    """Run a program, by default without computation."""

    def run(text: str, ranks: int, machine: str | Machine = "crossbar-16", **options: Any) -> Any:
        file = tmp_path / "program.py"
        file.write_text(HEAD + textwrap.dedent(text))
        return sc.run(file, ranks, machine, **({"speed": None} | options))

    return run
