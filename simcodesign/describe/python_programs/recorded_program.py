"""A program that is recorded before anything is priced, as a demand: the whole program of its workload."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from simcodesign.describe.demands.base import NETWORK, Demand
from simcodesign.describe.python_programs.recorded_operations import PARTS
from simcodesign.describe.python_programs.recording import Recording


@dataclass(frozen=True)
class RecordedProgram(Demand):
    """A program of this ``name``, in Python or in a file of recorded operations.

    ``whole``: its parameters that are whole numbers.
    """

    name: str
    digest: str
    whole: tuple[str, ...]
    uses_parts = frozenset({NETWORK, *PARTS.values()})
    #: Name of such a program in messages.
    words: ClassVar[str]

    @property
    def formula(self) -> Callable[..., Any] | None:
        """Seconds by (machine, size, **parameters), which replace the forecast."""
        return None

    def arguments(self, values: Mapping[str, Any], names: Mapping[str, object]) -> dict[str, object]:
        """Return the values of the workload's parameters, without P, as ``recorded`` takes them."""
        every = {name: int(values[name]) if name in self.whole else values[name] for name in names}
        every.pop("P", None)
        return every

    def recorded(self, ranks: int, values: dict[str, object]) -> Recording:
        """Return what the ranks do. Raises InputError, with its line, for what cannot be."""
        raise NotImplementedError
