"""Constants that replace the segments of a network, or bring another network model with them."""

from __future__ import annotations

from collections.abc import Mapping

from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import MODEL_OF, REQUIRED_CONSTANTS, paths_of
from simcodesign.describe.machine_parts.network import Network
from simcodesign.describe.machine_parts.size_segments import IN_SEGMENTS, segment_constants


def replaces_segments(network: Network, values: Mapping[str, FloatOrArray], machine: str, place: Place) -> bool:
    """Whether these constants replace the segments of the network. InputError for only some of what they state."""
    required = [f"network.{key}" for key in REQUIRED_CONSTANTS[network.model]]
    given = [path for path in values if path.removeprefix("network.") in IN_SEGMENTS[network.model]]
    if not network.segments or not given:
        return False
    if not all(path in values for path in required):
        what = f"{given[0]} depends on the size of the message in the segments of {machine}"
        one = next(iter(segment_constants(network.segments, network.model)))
        raise InputError(what, place, value=given[0], allowed=f"{one}, ...; or all of {', '.join(required)}")
    return True


def model_of_constants(network: Network, values: Mapping[str, FloatOrArray], machine: str, place: Place) -> str | None:
    """The network model that these constants bring with them, None if it is that of the network. InputError unless
    they are all that it requires."""
    own = network.model
    alien = [path for path in values if MODEL_OF.get(path, own) != own]
    if not alien:
        return None
    model = MODEL_OF[alien[0]]
    needed = [f"network.{key}" for key in REQUIRED_CONSTANTS[model]]
    if not all(path in values for path in needed) or any(MODEL_OF.get(path, model) != model for path in values):
        what = f"{alien[0]} is a constant of the network model {model}; that of {machine} is {own}"
        whole = f"{', '.join(paths_of(own))}; or all of {', '.join(needed)} for {model}"
        raise InputError(what, place, allowed=whole)
    return model
