"""Values that are computed when somebody looks at them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any


class Later(Mapping[Any, float]):
    """Values by label that are computed on first access, and not when all cases are loaded."""

    def __init__(self, computed: Mapping[Any, Callable[[], float]]) -> None:
        self._computed = computed

    def __getitem__(self, label: Any) -> float:
        return float(self._computed[label]())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._computed)

    def __len__(self) -> int:
        return len(self._computed)
