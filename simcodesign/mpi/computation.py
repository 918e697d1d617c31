"""Times counted as computation of a program that uses mpi4py, in the words of ``--compute``."""

from __future__ import annotations

from collections.abc import Collection

from simcodesign.mpi.values.errors import MpiError

_WORDS = ("time", "flops", "none")


def computation(machines: Collection[str], word: str, speed: float) -> tuple[float | None, bool]:
    """Return ``speed`` and ``declared`` as ``run`` takes them.

    Raises MpiError without a machine, or for a ``word`` that ``--compute`` does not have.
    """
    if not machines:
        raise MpiError(
            "no machine is given to run the program on", allowed="--on MACHINE; simcodesign list names the machines"
        )
    if word not in _WORDS:
        raise MpiError("--compute: not one of the choices", value=word, allowed=", ".join(_WORDS))
    return (speed if word == "time" else None), word != "none"
