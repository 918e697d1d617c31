"""Constants that replace the segments of a network, or bring another network model with them."""

from __future__ import annotations

from collections.abc import Mapping

from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import MODELS_OF, is_of, paths_of, required_paths
from simcodesign.describe.network.message_models.base import MESSAGE_MODELS, MessageModel
from simcodesign.describe.network.size_segments import segment_constants


def replaces_segments(model: MessageModel, values: Mapping[str, FloatOrArray], machine: str, place: Place) -> bool:
    """Whether these constants replace the segments of the network. InputError for only some of what they state."""
    given = [path for path in values if path.removeprefix("network.") in model.in_segments()]
    if not model.segments or not given:
        return False
    required = required_paths(model)
    if not all(path in values for path in required):
        what = f"{given[0]} depends on the size of the message in the segments of {machine}"
        one = next(iter(segment_constants(model)))
        raise InputError(what, place, value=given[0], allowed=f"{one}, ...; or all of {', '.join(required)}")
    return True


def model_of_constants(
    own: MessageModel, values: Mapping[str, FloatOrArray], machine: str, place: Place
) -> MessageModel | None:
    """Return the model of messages that these constants bring with them, yet without any.

    None if it is the network's model. InputError unless they are all that it requires.
    """
    alien = [path for path in values if path in MODELS_OF and not is_of(path, own)]
    if not alien:
        return None
    model = MESSAGE_MODELS[MODELS_OF[alien[0]][0]]
    needed = required_paths(model)
    if not all(path in values for path in needed) or not all(is_of(path, model) for path in values):
        what = f"{alien[0]} is a constant of the network model {model.name}; the model of {machine} is {own.name}"
        whole = f"{', '.join(paths_of(own))}; or all of {', '.join(needed)} for {model.name}"
        raise InputError(what, place, allowed=whole)
    return model()
