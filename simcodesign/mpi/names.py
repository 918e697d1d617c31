"""Errors for names of mpi4py that are not simulated."""

from __future__ import annotations

from typing import Any, NoReturn

from simcodesign.core.errors import InputError
from simcodesign.mpi.scheduler import place_of_call


class NotSimulatedError(InputError, AttributeError):
    """A name of mpi4py that is not simulated; an AttributeError, so that ``hasattr`` is False."""


def not_simulated(owner: str, name: str) -> NoReturn:
    """Raise NotSimulatedError at the user's line, or AttributeError for names that Python itself looks for."""
    if name.startswith("_"):
        raise AttributeError(name)
    raise NotSimulatedError(f"mpi4py's {owner}.{name} is not simulated", place_of_call())


class SimulatedKind(type):
    """The class of the classes of mpi4py: other names of them raise NotSimulatedError."""

    def __getattr__(cls, name: str) -> Any:
        not_simulated(cls.__name__, name)


class Simulated(metaclass=SimulatedKind):
    """Base of the classes of mpi4py: other names of their objects raise NotSimulatedError."""

    def __getattr__(self, name: str) -> Any:
        not_simulated(type(self).__name__, name)
