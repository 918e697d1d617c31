"""Structure of a machine as variables of a search.

Keys of its file that are no constants, such as ``network.topology.taper`` and ``mapping``, and parameters of the
machine that shape its network.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.machine import Machine
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.resources import PREFIX
from simcodesign.describe.schema.key_table import key_table
from simcodesign.describe.yaml.files import in_file
from simcodesign.studies.explore.models.machine_constants import BANDWIDTHS, is_constant, varied_constant
from simcodesign.studies.explore.problem_parser import limits
from simcodesign.studies.explore.space import Variable
from simcodesign.studies.sweep.design.grid import split
from simcodesign.studies.sweep.points import Value


@dataclass(frozen=True)
class Structural:
    """A variable that is no constant.

    The ``path`` of its key, and the texts of the values that are words or lists, by the numbers that represent them in
    the search.
    """

    name: str
    path: str
    words: Mapping[float, str] = field(default_factory=dict)

    def value(self, number: float) -> Value:
        """Return what the file of the machine has at the key."""
        return self.words.get(number, int(number) if float(number).is_integer() else number)

    @property
    def parameter(self) -> Parameter:
        """Return its values as a parameter with choices."""
        return Parameter(self.name, None, choices={word: number for number, word in self.words.items()})


def is_structural(name: str, machine: Machine, counts_nodes: bool = False) -> bool:
    """Return whether a key of a machine file, or a parameter of the machine, is not varied as an array.

    That is, no constant of a forecast. ``counts_nodes``: ``nodes`` and ``processors_per_node`` are such counts, unless
    prices follow the network.
    """
    if name.startswith(PREFIX):
        return machine.custom.shapes_network(name)
    if name in ("nodes", "processors_per_node"):
        return not counts_nodes or machine.custom.uses_network
    if is_constant(name) or name in BANDWIDTHS or varied_constant(name, machine) is not None:
        return False
    patterns = {row.path.replace("[]", "") for row in key_table("machine")}
    return name in patterns


def structural(name: str, text: str, place: Place) -> tuple[Structural, Variable]:
    """Return the variable of ``A,B,C`` (numbers, words, lists) or ``LOW:HIGH:whole``, and its values in the file.

    Raises InputError for values that are missing or that come twice.
    """
    (path,) = in_file({name: None})
    items = split(text, ",")
    if len(items) == 1 and len(split(text, ":")) > 1 and not text.startswith(("[", "{")):
        return Structural(name, path), limits(name, text, "", place)
    if not all(items) or len({*items}) < len(items):
        allowed = f"{name}=A,B,C, each value once"
        raise InputError("not something to vary", place, value=f"{name}={text}", allowed=allowed)
    if all(_is_number(item) for item in items):
        return Structural(name, path), limits(name, text, "", place)
    words = {float(number): item for number, item in enumerate(items)}
    return Structural(name, path, words), Variable(name, choices=tuple(words), words=words, place=place)


def changes_at(structure: Iterable[Structural], values: Mapping[str, float]) -> dict[str, Value]:
    """Return the changes in the file of the machine for these values."""
    return {one.path: one.value(float(values[one.name])) for one in structure}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
