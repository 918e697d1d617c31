"""Constructs defined in a machine file: parameters, properties, resources, conflicts and components."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from dataclasses import replace

from simcodesign.core.errors import InputError, Place
from simcodesign.core.expressions.expression import FUNCTIONS, Expression, parse
from simcodesign.core.units import base_unit_of, parse_quantity
from simcodesign.describe.keys.forms import Expr, Flag, Name, Number, OneOf, Quantity, Text, Value
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Items, Named, Section
from simcodesign.describe.machine_parts.ownership import OWNERSHIP
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.resources import AMOUNT, Component, Custom, Resource, Trait
from simcodesign.describe.yaml.tree import Entry

#: Keys of a use of a resource, which no resource can have as its name.
USE_KEYS = ("traits", "from", "to")
#: A number and a unit. An expression cannot look like that.
WITH_UNIT = re.compile(r"[-+]?[0-9.]+([eE][-+]?[0-9]+)?\s*[A-Za-zµμ%][A-Za-zµμ%/]*")
_AREA = re.compile(r"([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(mm2|cm2|m2)")
_AREA_UNITS = {"mm2": 1e-6, "cm2": 1e-4, "m2": 1.0}
#: ``separate(messages)``: a trait with an argument.
_TRAIT = re.compile(r"([A-Za-z0-9_]+)\s*(?:\(\s*([A-Za-z0-9_]+)\s*\))?")


#: Keys of a parameter of a machine.
PARAMETER = Section(
    Key("default", Value(), "its value if nothing is set"),
    Key("unit", Text(), "its unit, of which only the dimension counts"),
    Key("about", Text(), "what it is"),
    Key("range", Items(Value(), "the smallest, or the largest"), "smallest and largest value", "any number"),
    Key("whole", Flag(), "whether it must be a whole number", "false"),
    Key("origin", Text(), "where the default is from"),
    Key("choices", Named(Number(), "the number for this name"), "names of its values, each with a number"),
    Key("divides", Name(), "the parameter, or `P`, whose divisors `explore` tries", "not stated"),
)


class QuantityOrFormula(OneOf):
    """A quantity with its unit, or an expression in SI units."""

    def __init__(self, dimension: str) -> None:
        super().__init__(Quantity(dimension), Expr())
        self.dimension = dimension

    def read(self, entry: Entry) -> Expression:
        if WITH_UNIT.fullmatch(entry.text().strip()):
            return parse(entry.quantity(self.dimension), entry.place)
        return entry.expression()


class Area(Expr):
    """A number with its unit, or an expression in m2."""

    def read(self, entry: Entry) -> Expression:
        match = _AREA.fullmatch(entry.text().strip())
        if match is None:
            return entry.expression()
        return parse(parse_quantity(match.group(1), "count", entry.place) * _AREA_UNITS[match.group(2)], entry.place)


_RESOURCE = Section(
    Key("time", Expr(), "seconds for an amount", required=True),
    Key("argument", Name(), "name of the amount in `time`", AMOUNT),
    Key("instances", Expr(), "how many work concurrently", "1"),
    Key("traits", Named(Expr(), "the time with this trait, of `base`"), "what changes the time, by name"),
    Key("dynamic_power", QuantityOrFormula("power"), "what an instance draws while it works", "0 W"),
    Key("energy", QuantityOrFormula("energy"), "energy of an amount", "0 J"),
    Key("about", Text(), "what it is"),
)
_COMPONENT = Section(
    Key("count", Expr(), "how many there are", "1"),
    Key("static_power", QuantityOrFormula("power"), "what each draws always", "0 W"),
    Key("rack_units", QuantityOrFormula("count"), "height of each in a rack", "0"),
    Key("die_area", Area(), "silicon of each", "0 mm2"),
    Key("price", QuantityOrFormula("count"), "price of each", "0"),
    Key("embodied_carbon", QuantityOrFormula("count"), "kg of CO2 equivalent that making each emitted", "0"),
    Key("about", Text(), "what it is"),
)
#: Keys of a machine file.
CUSTOM = (
    Key(
        "parameters",
        Named(OneOf(Value(), PARAMETER), "one parameter"),
        "numbers of the machine that `--set machine.NAME` and sweeps change",
    ),
    Key(
        "properties",
        Named(Expr(), "one number, as an expression"),
        "numbers of the machine that expressions may use, by name",
    ),
    Key("resources", Named(OneOf(Expr(), _RESOURCE), "one resource"), "resources of your own, by name"),
    Key(
        "conflicts",
        Items(Items(Name(), "the name of a resource"), "one such list"),
        "lists of resources that cannot work at the same time",
    ),
    Key(
        "components",
        Named(_COMPONENT, "one kind of part"),
        "parts that are counted, with what they draw, cost and measure",
    ),
    Key("ownership", OWNERSHIP, "how long it is used, and what its energy costs and emits"),
)


def custom_from(items: Mapping[str, Entry], place: Place) -> Custom:
    """Return the constructs of a machine file's tree."""
    resources = items["resources"].mapping() if "resources" in items else {}
    components = items["components"].mapping() if "components" in items else {}
    properties = items["properties"].mapping() if "properties" in items else {}
    for name, item in (*properties.items(), *resources.items()):
        check_name(name, item.place, USE_KEYS)
    return Custom(
        parameters=parameters_from(items["parameters"], lowest=True) if "parameters" in items else {},
        properties={name: item.expression() for name, item in properties.items()},
        resources={name: _resource(item) for name, item in resources.items()},
        conflicts=_conflicts(items["conflicts"]) if "conflicts" in items else (),
        components={name: _component(item) for name, item in components.items()},
        ownership=OWNERSHIP.read(items["ownership"]) if "ownership" in items else None,
        place=items["conflicts"].place if "conflicts" in items else place,
    )


def check_name(name: str, place: Place, reserved: tuple[str, ...]) -> None:
    """InputError unless an expression can use the name, and nothing else has it."""
    if not name.isidentifier() or not name.isascii() or name.startswith("_"):
        allowed = "letters, digits and _, not starting with a digit or _"
        raise InputError("not a name", place, value=name, allowed=allowed)
    if name in reserved or name in FUNCTIONS or keyword.iskeyword(name):
        raise InputError("a reserved name", place, value=name, allowed=f"any other name, e.g. {name}_1")


def parameters_from(entry: Entry, reserved: tuple[str, ...] = (), lowest: bool = False) -> dict[str, Parameter]:
    """Return the parameters under a key. ``lowest``: without a default they are at the low end of their range."""
    parameters = {}
    for name, item in entry.mapping().items():
        check_name(name, item.place, reserved)
        parameters[name] = _parameter(name, item, lowest)
    return parameters


def _parameter(name: str, entry: Entry, lowest: bool) -> Parameter:
    items = PARAMETER.items(entry) if not isinstance(entry.content, str) else {"default": entry}
    unit, about, origin = (items[key].text() if key in items else "" for key in ("unit", "about", "origin"))
    whole = name == "P" or ("whole" in items and items["whole"].flag())
    bare = Parameter(name, None, unit, about, whole=whole, origin=origin, place=entry.place)
    low, high = float("-inf"), float("inf")
    if "range" in items:
        low, high = _limits(bare, items["range"])
    if name == "P":
        low = max(low, 1.0)
    choices = {key: item.number() for key, item in items["choices"].mapping().items()} if "choices" in items else {}
    if "choices" in items and not choices:
        raise InputError("there is no choice", items["choices"].place)
    if choices and "range" not in items:
        low, high = min(choices.values()), max(choices.values())
    default = next(iter(choices.values()), low if low > float("-inf") else None) if lowest else None
    divides = items["divides"].name() if "divides" in items else ""
    made = replace(bare, default=default, low=low, high=high, choices=choices, divides=divides)
    return replace(made, default=parameter_value(made, items["default"])) if "default" in items else made


def _limits(parameter: Parameter, entry: Entry) -> tuple[float, float]:
    """Return the lowest and the highest value of a range."""
    form = "two numbers: [lowest, highest]"
    if isinstance(entry.content, str):
        raise InputError(f"range of {parameter.name}", entry.place, value=entry.text(), allowed=form)
    written = ", ".join(one.text() for one in entry.sequence())
    if len(entry.sequence()) != 2:
        raise InputError(f"range of {parameter.name}", entry.place, value=f"[{written}]", allowed=form)
    low, high = (parameter_number(parameter, limit) for limit in entry.sequence())
    if not low <= high:
        what = f"range of {parameter.name}: the lowest value is above the highest"
        raise InputError(what, entry.place, value=f"[{written}]", allowed=form)
    return low, high


def parameter_value(parameter: Parameter, entry: Entry) -> float:
    """Return a value that the parameter may have."""
    value = parameter_number(parameter, entry)
    parameter.check(value, entry.place)
    return value


def parameter_number(parameter: Parameter, entry: Entry) -> float:
    """Return a number as the parameter may be written: a choice by its name, with a unit if it has a dimension."""
    text = entry.text()
    if text in parameter.choices or (parameter.choices and not text[:1].isdigit()):
        return parameter.parsed(text, entry.place)
    if WITH_UNIT.fullmatch(text) and parameter.dimension != "count":
        return parameter.parsed(text, entry.place)
    if not parameter.unit and (unit := base_unit_of(text)):
        what = f"parameter {parameter.name!r} has no unit of its own"
        allowed = f"the key unit: {unit} for it, or a number without a unit"
        raise InputError(what, entry.place, value=text, allowed=allowed)
    return entry.number()


def _resource(entry: Entry) -> Resource:
    if isinstance(entry.content, str):
        return Resource(entry.expression(), place=entry.place)
    items = _RESOURCE.items(entry)
    own = _RESOURCE.values({key: item for key, item in items.items() if key not in ("traits", "about")})
    traits = items["traits"].mapping() if "traits" in items else {}
    return Resource(**own, traits=dict(_trait(name, item) for name, item in traits.items()), place=entry.place)


def _trait(written: str, entry: Entry) -> tuple[str, Trait]:
    match = _TRAIT.fullmatch(written)
    if match is None:
        raise InputError("not a trait", entry.place, value=written, allowed="name or name(argument)")
    name, argument = match.group(1), match.group(2) or ""
    for part in (name, *([argument] if argument else [])):
        check_name(part, entry.place, ())
    return name, Trait(entry.expression(), argument)


def _conflicts(entry: Entry) -> tuple[tuple[str, ...], ...]:
    groups = []
    for item in entry.sequence():
        names = tuple(name.name() for name in item.sequence())
        if len(names) < 2:
            raise InputError("a conflict is between two resources or more", item.place, value=list(names))
        groups.append(names)
    return tuple(groups)


def _component(entry: Entry) -> Component:
    own = _COMPONENT.read(entry)
    own.pop("about", None)
    return Component(**own, place=entry.place)
