"""Names of a formula with values before it is fitted: constants of a machine, and given values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.formulas.symbols import SYMBOLS, hierarchy_values
from simcodesign.describe.machine import Machine
from simcodesign.describe.resources import PREFIX
from simcodesign.describe.yaml.constants import OTHER_NAMES


@dataclass(frozen=True)
class KnownNames:
    """``given``: values in SI units by name.

    ``of_machine``: the same of a machine, under all names that formulas have for its constants (``t_s``,
    ``network.startup``, ``caches.L2.size``, ``nodes``, ``machine.NAME``); what is given wins.
    """

    given: Mapping[str, float] = field(default_factory=dict)
    of_machine: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in self.given.items():
            if not np.isfinite(value):
                raise InputError("a constant of a formula", Place(name), value=value, allowed="a finite number")

    @property
    def values(self) -> dict[str, float]:
        """All of them."""
        return {**self.of_machine, **self.given}


def names_of_machine(machine: Machine) -> dict[str, float]:
    """Return the constants of a machine by their symbols and paths, and what its file defines, in SI units.

    What has several values is left out.
    """
    constants, defined = machine.constants(), machine.names()
    symbols = {name: one.value(constants) for name, one in SYMBOLS.items() if one.path in constants}
    memory = {name: value for name, (value, _) in hierarchy_values(machine).items()}
    bandwidths = {
        f"{path.removesuffix(key)}{other}": 1 / value
        for path, value in constants.items()
        for other, key in OTHER_NAMES.items()
        if other.endswith("bandwidth") and path.rpartition(".")[2] == key and np.all(np.asarray(value) > 0)
    }
    own = {f"{PREFIX}{name}": value for name, value in defined.items()}
    every = {**symbols, **memory, **bandwidths, **constants, **own, **defined}
    return {name: float(value) for name, value in every.items() if np.ndim(value) == 0}
