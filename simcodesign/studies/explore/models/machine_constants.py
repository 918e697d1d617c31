"""The constants of a machine as variables of a search: also bandwidths instead of times per byte."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from simcodesign.core.errors import InputError, nearest
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import CAPACITY, cache_constants, dimension_at
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.levels import PATHS
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.resources import PREFIX

#: Bandwidths, and the constants of which they are the inverse.
BANDWIDTHS = {
    "network.bandwidth": "network.per_byte",
    "network.link_bandwidth": "network.link_per_byte",
    "network.interfaces.bandwidth": "network.interfaces.per_byte",
    "network.interfaces.loaded_bandwidth": "network.interfaces.loaded_per_byte",
    "disk.bandwidth": "disk.per_byte",
    "memory.bandwidth": "memory.per_byte",
    "accelerator.memory.bandwidth": "accelerator.memory.per_byte",
    "accelerator.link.bandwidth": "accelerator.link.per_byte",
    "storage.bandwidth": "storage.per_byte",
    "storage.write_bandwidth": "storage.write_per_byte",
}
BANDWIDTHS |= {
    f"{path}.{key}": f"{path}.{BANDWIDTHS[f'network.{key}'].removeprefix('network.')}"
    for path in PATHS[1:]
    for key in ("bandwidth", "link_bandwidth", "interfaces.bandwidth")
}


def constant_dimension(path: str) -> str:
    """Dimension of a constant or a power of a machine, or of a bandwidth instead of one."""
    return "size" if path == CAPACITY else dimension_at(path) or "bandwidth"


def constant_parameter(path: str, value: float, machine: Machine) -> tuple[Parameter, str]:
    """Return a constant, power or parameter of a machine as a parameter, and its dimension."""
    if path.startswith(PREFIX):
        parameter = machine.parameter(path)
        return replace(parameter, name=path, default=value), parameter.dimension if parameter.unit else ""
    return Parameter(path, value, low=0.0), constant_dimension(path)


def is_constant(name: str) -> bool:
    """Whether ``Machine.with_constants`` accepts the name."""
    return dimension_at(name) is not None or name.startswith(PREFIX)


def inverse_of(path: str, machine: Machine) -> str | None:
    """Return the constant of which a bandwidth is the inverse; None for anything else."""
    part, _, key = path.rpartition(".")
    if part in PATHS and key == "bandwidth":
        return f"{part}.{machine.network.message_model.per_byte_key()}"
    return _bandwidths(machine).get(path)


def _bandwidths(machine: Machine) -> dict[str, str]:
    """``BANDWIDTHS`` and the bandwidths of the machine's caches."""
    return BANDWIDTHS | {path.replace("per_byte", "bandwidth"): path for path in cache_constants(machine.memory)}


def constants_of(machine: Machine) -> dict[str, float]:
    """Every constant, power and parameter, and every bandwidth instead of a time per byte."""
    values = machine.constants() | machine.powers()
    values |= {f"{PREFIX}{name}": machine.names()[name] for name in machine.custom.parameters}
    constants = {path: float(np.asarray(value)) for path, value in values.items()}
    if machine.capacity_bytes is not None:
        constants[CAPACITY] = float(np.asarray(machine.capacity_bytes))
    pairs = [(path, inverse_of(path, machine)) for path in _bandwidths(machine)]
    constants |= {
        path: 1.0 / constants[inverse] for path, inverse in pairs if inverse in constants and constants[inverse] > 0
    }
    return constants


def varied_constant(path: str, machine: Machine) -> float | None:
    """Return the value in force of a constant, power or parameter that may be varied.

    It may also be a bandwidth instead of a constant. Return None if the machine has none of that name. A constant that
    its file leaves out has its default.
    """
    stated = constants_of(machine)
    if path in stated:
        return stated[path]
    inverse = inverse_of(path, machine)
    value = _default_of(inverse or path, machine)
    if value is None or inverse is None:
        return value
    return 1.0 / value if value else np.inf


def _default_of(path: str, machine: Machine) -> float | None:
    """Value in force for a constant that the file of a machine may leave out, and has left out."""
    network, storage = machine.network, machine.storage
    groups = [group for group in network.topology.link_groups if group.links]
    every_link_has_its_own = bool(groups) and all(group.per_byte_s is not None for group in groups)
    defaults = {
        "network.link_per_byte": None if every_link_has_its_own else network.message_model.least_s_per_byte,
        "network.interfaces.per_byte": network.message_model.least_s_per_byte,
        "network.reduction_per_byte": network.reduction_s_per_byte,
        "network.packing": network.packing_s_per_block,
        "network.packing_per_byte": network.packing_s_per_byte,
        "network.matching": network.search_s,
        "storage.write_per_byte": None if storage is None else storage.per_byte_s,
        "accelerator.attention_efficiency": None if machine.accelerator is None else machine.accelerator.efficiency,
    }
    value = defaults.get(path)
    return None if value is None else float(np.asarray(value))


def nothing_to_vary(model: str, name: str, others: Collection[str], machine: Machine) -> InputError:
    """Return the error for a name that cannot be varied.

    ``others``: names of the model that can, in addition to constants.
    """
    names = {*others, *constants_of(machine)}
    names |= {path for path in BANDWIDTHS if varied_constant(path, machine) is not None}
    apart = "a --vary for each name that has values; " if "," in name else ""
    return InputError(f"{model}: nothing of this name can be varied", value=name, allowed=apart + nearest(name, names))


def without_varied(constants: Mapping[str, float], varied: Collection[str], machine: Machine) -> dict[str, float]:
    """Return the constants that are not varied, neither directly nor through the inverse of a bandwidth."""
    excluded = set(varied)
    for path in _bandwidths(machine):
        inverse = inverse_of(path, machine)
        excluded |= {path, inverse or ""} if excluded & {path, inverse} else set()
    return {name: value for name, value in constants.items() if name not in excluded}


def without_bandwidths(values: Mapping[str, FloatOrArray], machine: Machine) -> dict[str, FloatOrArray]:
    """Values with times per byte instead of bandwidths. Raises InputError if both are given."""
    translated: dict[str, FloatOrArray] = {}
    for name, value in values.items():
        inverse = inverse_of(name, machine)
        if inverse is None:
            translated[name] = value
            continue
        if inverse in values:
            raise InputError(f"{name} is {inverse} in another unit", allowed="one of them varied")
        with np.errstate(divide="ignore"):
            translated[inverse] = 1.0 / np.asarray(value)
    return translated
