"""The records of an Aspen file, close to its text: one frozen record for each construct, with its place.

Quantities are ``Expression``s whose text is Aspen; nothing is looked up or computed here. Two records are equal if they
have the same contents, at any position in the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from simcodesign.core.errors import Place
from simcodesign.core.expressions.expression import Expression

# --- definitions ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """``param name = value [in low .. high | in choices]``; ``choices`` names an enumeration."""

    name: str
    value: Expression
    low: Expression | None
    high: Expression | None
    choices: str | None
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Numbers:
    """``param name[] = {..}`` or ``param name[][] = {{..}, ..}``: rows of constants, one row for an array."""

    name: str
    rows: tuple[tuple[Expression, ...], ...]
    is_table: bool
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Enumeration:
    """``enum name {members}``: the members count from 0."""

    name: str
    members: tuple[str, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Data:
    """``data name [bytes]`` or ``data name as shape(n, .., bytes)``: ``size_bytes`` is the product."""

    name: str
    shape: str | None
    size_bytes: Expression
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Import:
    """``import name from "path" with key = value, ..``."""

    name: str
    path: str
    arguments: tuple[tuple[str, Expression], ...]
    place: Place = field(compare=False)


Global = Parameter | Numbers | Enumeration | Data | Import

# --- statements of kernels ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trait:
    name: str
    argument: Expression | None


@dataclass(frozen=True)
class Use:
    """``resource [amount] of size [s] from data as traits``: ``amount`` is the product of both brackets."""

    resource: str
    amount: Expression
    data: str | None
    traits: tuple[Trait, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Execute:
    """A block whose uses of resources overlap; ``parallelism`` None is 1."""

    label: str
    parallelism: Expression | None
    uses: tuple[Use, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Call:
    """``call name(arguments)``; ``name`` is ``model.kernel`` for a kernel of an import."""

    name: str
    arguments: tuple[Expression, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Iterate:
    """``iterate`` (one after the other) or ``map`` (independent of each other), with an optional counter from 0."""

    is_map: bool
    label: str
    counter: str | None
    count: Expression
    body: tuple[Statement, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Group:
    """``seq`` (one after the other) or ``par`` (side by side)."""

    is_parallel: bool
    label: str
    body: tuple[Statement, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True)
class If:
    condition: Expression
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Switch:
    """The first case whose value equals the subject."""

    subject: Expression
    cases: tuple[tuple[Expression, tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Probability:
    """Each case with its probability; ``otherwise`` has the rest."""

    cases: tuple[tuple[Expression, tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Local:
    """``sample name from f(..)`` or ``param name = value`` inside a kernel."""

    name: str
    value: Expression
    place: Place = field(compare=False)


Statement = Execute | Call | Iterate | Group | If | Switch | Probability | Local


@dataclass(frozen=True)
class Argument:
    """A formal argument of a kernel."""

    name: str
    is_data: bool


@dataclass(frozen=True)
class Kernel:
    name: str
    arguments: tuple[Argument, ...]
    body: tuple[Statement, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Model:
    """An application model."""

    name: str
    definitions: tuple[Global, ...]
    kernels: tuple[Kernel, ...]
    place: Place = field(compare=False)


# --- machines ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """``kind [count] name`` inside a component; ``count`` None is 1."""

    kind: str
    count: Expression | None
    name: str
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Property:
    """``property name [value]``; a property without a value is a mark."""

    name: str
    value: Expression | None
    place: Place = field(compare=False)


@dataclass(frozen=True)
class TraitDefinition:
    """How a trait changes the time, which it calls ``base``; ``argument`` is the name of the trait's argument."""

    name: str
    argument: str | None
    time_s: Expression


@dataclass(frozen=True)
class Resource:
    """``resource name(argument) [time_s] with traits``."""

    name: str
    argument: str
    time_s: Expression
    traits: tuple[TraitDefinition, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Power:
    """``static power [w]`` or ``dynamic power [w]``."""

    is_dynamic: bool
    value_w: Expression
    place: Place = field(compare=False)


#: Costs of a component other than powers, by the names of metrics used in files.
PART_COSTS = {"rack_units": "rack units", "die_area": "die area", "price": "price"}


@dataclass(frozen=True)
class PartCost:
    """``rack units [u]``, ``die area [m2]`` or ``price [p]`` of one instance; ``name``: one of ``PART_COSTS``."""

    name: str
    value: Expression
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Conflict:
    """Two resources that cannot be used at the same time."""

    resources: tuple[str, str]
    place: Place = field(compare=False)


Member = Part | Property | Resource | Power | PartCost | Conflict


@dataclass(frozen=True)
class Component:
    """``kind name { members }``, in the order in which they are written."""

    kind: str
    name: str
    members: tuple[Member, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True)
class File:
    """A whole file, with what it includes; ``files`` are all that were read."""

    path: str
    definitions: tuple[Global, ...]
    components: tuple[Component, ...]
    models: tuple[Model, ...]
    files: tuple[str, ...]
