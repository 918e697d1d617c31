"""Marks of a program that uses mpi4py: its phases, and the computation that it declares. They do nothing under MPI."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from simcodesign.describe.python_programs.keyword_calls import by_keyword
from simcodesign.mpi.values.errors import MpiError


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Mark what a rank does in the ``with`` block as a phase of this name. Phases may be nested: the innermost counts.

    Only ``simcodesign run`` records phases; under MPI this does nothing. Raises MpiError for a name that is no text.

    >>> import simcodesign as sc
    >>> with sc.phase("halo"):
    ...     pass
    """
    if not isinstance(name, str) or not name:
        raise MpiError("a phase needs a name", value=name, allowed="a text that is not empty")
    world = _world()
    if world is None:
        yield
        return
    before = world.begin_phase(name)
    try:
        yield
    finally:
        world.begin_phase(before)


def compute(*, flops: float) -> None:
    """Declare that the rank has done ``flops`` floating-point operations since its last call of MPI.

    Under ``simcodesign run`` they are the recorded computation, instead of the CPU time since that call; under MPI
    this does nothing. Raises MpiError for a number that is not finite or below 0.

    >>> import simcodesign as sc
    >>> total = sum(x * x for x in range(1000))
    >>> sc.compute(flops=2000)
    """
    if not 0 <= flops < float("inf"):
        raise MpiError("compute needs a finite number of flops", value=flops, allowed="0 or above")
    world = _world()
    if world is not None:
        world.declare(float(flops))


def kernel(**keywords: Any) -> None:
    """Declare the kernels that the accelerator of the rank has done since its last call of MPI.

    The keywords are those of ``kernel`` in workload files: ``flops``, ``bytes`` or both, or a shape
    (``gemm=(m, n, k)``, ``attention={...}``,
    ``normalisation={...}``); ``type``, ``efficiency`` and ``times``.

    Under ``simcodesign run`` they are recorded instead of the CPU time since that call; under MPI this does nothing.
    Raises InputError for other keywords, and for a machine without an accelerator or a rate of this type.

    >>> import simcodesign as sc
    >>> sc.kernel(gemm=(4096, 4096, 4096), type="bf16")
    """
    world = _world()
    if world is not None:
        world.declare_kernel(by_keyword(keywords))


def _world() -> Any:
    """Return the run in which the program is, None under MPI."""
    return getattr(sys.modules.get("mpi4py.MPI"), "_world", None)
