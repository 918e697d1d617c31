"""Collective operations as functions of the number of processes: the data that a process sends per unit of payload.

Source: Calotoiu et al., "Lightweight requirements engineering for exascale co-design", CLUSTER 2018, Table II.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class CollectiveShape(NamedTuple):
    """Shape of a collective operation as a function of the number of processes, and how it is written."""

    numeric: Callable[[Array], Array]
    formula: str


#: Collective operations that may be factors of a term.
COLLECTIVES: Mapping[str, CollectiveShape] = MappingProxyType(
    {
        "Allreduce": CollectiveShape(np.log2, "log2({0})"),
        "Bcast": CollectiveShape(lambda p: (p - 1) / p, "(({0} - 1)/{0})"),
        "Alltoall": CollectiveShape(lambda p: p - 1, "({0} - 1)"),
    }
)
