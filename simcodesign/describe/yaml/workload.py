"""Workload files: from a YAML tree to a Workload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from simcodesign.core.errors import InputError, nearest
from simcodesign.core.expressions.expression import Expression, parse
from simcodesign.describe.constants import CONSTANTS, OF_THE_WHOLE, POWERS, cache_of, check_constant, check_not_former
from simcodesign.describe.demands.base import ONE, Demand
from simcodesign.describe.formulas.formula import Formula, check_phases
from simcodesign.describe.measured.times import MeasuredTimes
from simcodesign.describe.network.size_segments import segment_at
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.programs.overlap import overlapping, started
from simcodesign.describe.programs.program import Block, Step
from simcodesign.describe.randomness.node_failures import Checkpoints
from simcodesign.describe.workload import RESERVED, Workload
from simcodesign.describe.yaml.constants import constant_value
from simcodesign.describe.yaml.demands import demand_keys, demand_reader
from simcodesign.describe.yaml.formulas import formulas_from, measured_of_workload
from simcodesign.describe.yaml.machine import check_format
from simcodesign.describe.yaml.noise import imbalance_from
from simcodesign.describe.yaml.resources import WITH_UNIT, check_name, parameter_value, parameters_from
from simcodesign.describe.yaml.tree import Entry, amount

_KEYS = (
    "simcodesign",
    "name",
    "about",
    "source",
    "parameters",
    "equations",
    "presets",
    "imbalance",
    "checkpoints",
    "footprint",
    "accelerator_footprint",
    "size",
    "size_parameter",
    "program",
    "data",
    "groups",
    "formulas",
    "measured",
)
_BLOCK_KEYS = ("phase", "repeat", "do", "constants", "about", "useful_flops", "index")


def workload_from(entry: Entry) -> Workload:
    """The workload of a file's tree."""
    items = entry.mapping(_KEYS, ("simcodesign", "name", "program"))
    check_format(items["simcodesign"])
    parameters = parameters_from(items["parameters"], ("rank",)) if "parameters" in items else {}
    equations = items["equations"].mapping() if "equations" in items else {}
    _check_distinct(parameters, equations)
    workload = Workload(
        name=items["name"].name(),
        about=items["about"].text() if "about" in items else "",
        source=items["source"].text() if "source" in items else "",
        parameters=parameters,
        equations={name: _equation(name, item) for name, item in equations.items()},
        program=_steps(items["program"]),
        presets=_presets(items["presets"], parameters) if "presets" in items else {},
        imbalance=imbalance_from(items["imbalance"]) if "imbalance" in items else 0.0,
        checkpoints=_checkpoints(items["checkpoints"]) if "checkpoints" in items else None,
        footprint=amount(items, "footprint"),
        accelerator_footprint=amount(items, "accelerator_footprint"),
        size=amount(items, "size"),
        size_parameter=_size_parameter(items["size_parameter"], parameters) if "size_parameter" in items else "n",
        place=entry.place,
        data={name: item.expression() for name, item in items["data"].mapping().items()} if "data" in items else {},
        groups=_groups(items["groups"]) if "groups" in items else {},
        formulas=formulas_from(items["formulas"]) if "formulas" in items else {},
    )
    if "measured" in items:
        workload = replace(workload, measured=measured_of_workload(items["measured"], workload))
    timed: list[Formula | MeasuredTimes] = [*workload.formulas.values(), *workload.measured]
    for one in timed:
        check_phases(one.phases, workload.phases(), one.place)
    return workload


def _size_parameter(entry: Entry, parameters: Mapping[str, Parameter]) -> str:
    """The name of a parameter. InputError for another name."""
    if (name := entry.name()) not in parameters:
        raise InputError("no such parameter", entry.place, value=name, allowed=nearest(name, parameters))
    return name


def _checkpoints(entry: Entry) -> Checkpoints:
    """``{interval: SECONDS, write: SECONDS, restart: SECONDS}``."""
    items = entry.mapping(("interval", "write", "restart"), ("interval", "write"))
    return Checkpoints(
        items["interval"].expression(), items["write"].expression(), amount(items, "restart") or parse(0)
    )


def _check_distinct(parameters: dict[str, Parameter], equations: dict[str, Entry]) -> None:
    for name, item in equations.items():
        if name in parameters:
            raise InputError("an equation with the name of a parameter", item.place, value=name)


def _equation(name: str, item: Entry) -> Expression:
    check_name(name, item.place, RESERVED)
    return item.expression()


def _groups(entry: Entry) -> dict[str, Expression]:
    """The colour of a rank in each."""
    return {name: item.expression() for name, item in entry.mapping().items()}


def _presets(entry: Entry, parameters: dict[str, Parameter]) -> dict[str, dict[str, float]]:
    known = {"P": Parameter("P", None, low=1, whole=True)} | parameters
    return {
        name: {key: parameter_value(known[key], value) for key, value in preset.mapping(known).items()}
        for name, preset in entry.mapping().items()
    }


def _steps(entry: Entry) -> tuple[Step, ...]:
    steps = tuple(_step(item) for item in entry.sequence())
    if not steps:
        raise InputError("there is nothing to do", entry.place)
    return steps


def _step(entry: Entry) -> Step:
    items = entry.mapping()
    if "start" in items:
        return _start(entry)
    if "overlap" in items and len(items) == 1:
        return _overlap(items["overlap"])
    if "do" in items or "phase" in items:
        return _block(entry)
    if len(items) != 1:
        names = ", ".join(sorted(items)) or "nothing"
        allowed = "'when' inside the braces of the demand" if "when" in items else None
        raise InputError("a step is one demand or a block with 'do'", entry.place, value=names, allowed=allowed)
    name, item = next(iter(items.items()))
    reader = demand_reader(name)
    if reader is None:
        allowed = nearest(name, {*demand_keys(), "phase", "do", "start", "overlap"})
        raise InputError("unknown step", item.place, value=name, allowed=allowed)
    return reader(name, item)


def _start(entry: Entry) -> Demand:
    items = entry.mapping(("start", "as"), ("start", "as"))
    return started(_demand(items["start"]), items["as"].name())


def _overlap(entry: Entry) -> Block:
    return overlapping([_demand(item) for item in entry.sequence()], entry.place)


def _demand(entry: Entry) -> Demand:
    step = _step(entry)
    if isinstance(step, Block) or step.started_as:
        raise InputError("this is no demand by itself", entry.place, allowed="one demand, e.g. {compute: {flops: n}}")
    return step


def _block(entry: Entry) -> Block:
    items = entry.mapping(_BLOCK_KEYS, ("do",))
    if "constants" in items:
        for path, item in items["constants"].mapping().items():
            check_not_former(path, item.place)
    constants = _block_constants(items["constants"]) if "constants" in items else {}
    return Block(
        repeat=items["repeat"].expression() if "repeat" in items else ONE,
        body=_steps(items["do"]),
        phase=items["phase"].name() if "phase" in items else None,
        constants=tuple((path, _constant(path, item)) for path, item in constants.items()),
        about=items["about"].text() if "about" in items else "",
        place=entry.place,
        useful_flops=amount(items, "useful_flops"),
        index=_index(items["index"], items) if "index" in items else None,
    )


def _block_constants(entry: Entry) -> dict[str, Entry]:
    """The constants of a machine that a block replaces, by their paths."""
    numbered = {path for path in entry.mapping() if cache_of(path) is not None or segment_at(path) is not None}
    return entry.mapping(((CONSTANTS | POWERS).keys() - OF_THE_WHOLE) | numbered)


def _index(entry: Entry, items: Mapping[str, Entry]) -> str:
    """The name that counts the iterations of a block."""
    if "repeat" not in items:
        raise InputError("an index without 'repeat'", entry.place, value=entry.text(), allowed="repeat: N, index: k")
    name = entry.name()
    check_name(name, entry.place, RESERVED)
    return name


def _constant(path: str, entry: Entry) -> Expression:
    """A quantity with its unit, or an expression in SI units."""
    if WITH_UNIT.fullmatch(entry.text().strip()):
        return parse(constant_value(path, entry), entry.place)
    expression = entry.expression()
    if not expression.names:
        check_constant(path, expression.evaluate({}), entry.place)
    return expression
