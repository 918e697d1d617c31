"""The bytes that the data of an application takes, and those that the memories of a machine hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simcodesign.aspen.application import Application
from simcodesign.aspen.machine import AspenMachine
from simcodesign.aspen.scope import Given, read_given
from simcodesign.aspen.timing import float_or_array, read_machine_parameters
from simcodesign.core.errors import InputError, nearest
from simcodesign.core.units import FloatOrArray


def data_bytes(application: Application, parameters: Mapping[str, Given] | None = None) -> dict[str, FloatOrArray]:
    """Return the size of each data set of an application, in bytes, without the data sets of imports."""
    given = {}
    for name, value in (parameters or {}).items():
        model, key = application.model_of(name)
        if model.definitions.expression(key) is None:
            raise InputError(f"unknown parameter {name!r}", allowed=nearest(name, application.parameters))
        given[name] = read_given(model.definitions, key, value)
    scope = application.scope(given)
    with np.errstate(all="ignore"):
        return {name: float_or_array(scope.value(name, None)) for name in application.definitions.data}


def memory_bytes(
    machine: AspenMachine, socket: str | None = None, parameters: Mapping[str, Given] | None = None
) -> FloatOrArray:
    """Return the capacities of all memories of one kind of socket, over the whole machine.

    A memory is a component of the kind ``memory`` with a property ``capacity``.
    """
    socket = machine.check_socket(socket)
    scope = machine.scope(read_machine_parameters(machine, parameters or {}))
    total: Any = 0.0
    with np.errstate(all="ignore"):
        counts = machine.counts(scope)
        for element in machine.below(machine.elements[socket] if socket else machine.top):
            capacity = element.properties.get("capacity")
            if element.kind == "memory" and capacity is not None:
                total = total + counts[element.name] * scope.evaluate(capacity)
    return float_or_array(total)
