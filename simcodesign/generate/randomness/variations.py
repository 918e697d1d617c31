"""The demands of a program whose times vary, as they are met while it is lowered."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from simcodesign.describe.randomness.distribution import Distribution


@dataclass
class Variations:
    """The demands whose times vary, in the order of the program.

    ``slices``: operations that a memory demand takes; ``marked``: whether operations say which demand they are of.
    """

    slices: int = 1
    marked: bool = False
    rows: list[tuple[str, Distribution, int]] = field(default_factory=list)  # stream, law, operations at a time
    _counts: Counter[str] = field(default_factory=Counter)

    def add(self, phase: str, distribution: Distribution, width: int = 1) -> int:
        """Return the number of a demand of a phase, each doing of which takes ``width`` operations in a row."""
        self._counts[phase] += 1
        self.rows.append((f"demand {self._counts[phase]} of {phase}", distribution, width))
        return len(self.rows) - 1
