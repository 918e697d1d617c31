"""Workload files: from a YAML tree to a Workload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from simcodesign.core.errors import InputError, nearest
from simcodesign.core.expressions.expression import Expression, parse
from simcodesign.describe.constants import CONSTANTS, OF_THE_WHOLE, POWERS, cache_of, check_constant, check_not_former
from simcodesign.describe.demands.base import ONE, Demand
from simcodesign.describe.formulas.formula import Formula, check_phases
from simcodesign.describe.keys.forms import Expr, Name, OneOf, Text, Value, Whole
from simcodesign.describe.keys.key import Form, Key, Schema
from simcodesign.describe.keys.section import Items, Named, Section
from simcodesign.describe.measured.times import MeasuredTimes
from simcodesign.describe.network.size_segments import NUMBERED_PATHS, segment_at
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.programs.local_equations import local_names, put_in, with_expressions, written_out
from simcodesign.describe.programs.overlap import overlapping, started
from simcodesign.describe.programs.program import Block, Step, indices_of
from simcodesign.describe.programs.serving import SERVING, Serving
from simcodesign.describe.randomness.node_failures import Checkpoints
from simcodesign.describe.workload import RESERVED, Workload
from simcodesign.describe.yaml.constants import constant_value
from simcodesign.describe.yaml.demands.collective import demand_keys, demand_reader
from simcodesign.describe.yaml.formulas import FORMULAS, MEASURED, formulas_from, measured_of_workload
from simcodesign.describe.yaml.machine import FORMAT, check_format
from simcodesign.describe.yaml.noise import IMBALANCE, imbalance_from
from simcodesign.describe.yaml.resources import (
    PARAMETER,
    WITH_UNIT,
    QuantityOrFormula,
    check_name,
    parameter_value,
    parameters_from,
)
from simcodesign.describe.yaml.tree import Entry


class BlockConstants(Form):
    """Constants of the machine that a block replaces, by their paths."""

    content = dict

    def read(self, entry: Entry) -> tuple[tuple[str, Expression], ...]:
        for path, item in entry.mapping().items():
            check_not_former(path, item.place)
        numbered = {path for path in entry.mapping() if cache_of(path) is not None or segment_at(path) is not None}
        constants = entry.mapping(((CONSTANTS | POWERS).keys() - OF_THE_WHOLE) | numbered)
        return tuple((path, _constant(path, item)) for path, item in constants.items())

    def schemas(self) -> list[Schema]:
        known = {path: one[2] for path, one in sorted((CONSTANTS | POWERS).items()) if path not in OF_THE_WHOLE}
        inner = {path: Key(path, QuantityOrFormula(dimension)).schema() for path, dimension in known.items()}
        numbered = {NUMBERED_PATHS: Expr().schema()}
        return [{"type": "object", "properties": inner, "patternProperties": numbered, "additionalProperties": False}]

    def words(self) -> list[str]:
        return ["mapping"]


class StepForm(Form):
    """A step of a program, whose keys ``step_section`` declares."""

    content = dict

    def read(self, entry: Entry) -> Step:
        return _step(entry)

    def schemas(self) -> list[Schema]:
        return [{"$ref": "#/$defs/step"}]

    def words(self) -> list[str]:
        return ["mapping"]


_BLOCK = Section(
    Key("phase", Name(), "the name under which the time of a block is booked"),
    Key("repeat", Expr(), "how often a block is done", "1"),
    Key("do", Items(StepForm(), "one step"), "the steps of a block", required=True, field="body"),
    Key("constants", BlockConstants(), "constants of the machine that this block replaces, by their paths"),
    Key("about", Text(), "what a block is"),
    Key("useful_flops", Expr(), "operations of all ranks that a repetition adds to a rate", "not stated"),
    Key("index", Name(), "a name that counts the repetitions of a block from 0"),
)
_START = Section(
    Key("start", StepForm(), "a step that begins now and is waited for later (docs/overlap.md)", required=True),
    Key("as", Name(), "the name under which `start` is waited for", required=True),
    Key("polled", Expr(), "not 0: it begins when a `poll` finds its first message, or at its `wait`", "0"),
)
_OVERLAP = Key("overlap", Items(StepForm(), "one step"), "steps that begin together; it ends with the last of them")


def step_section() -> Section:
    """Return all keys of a step of a program: of blocks, and of every demand."""
    readers = ((key, demand_reader(key)) for key in demand_keys())
    demands = (Key(key, reader.keys, reader.about) for key, reader in readers if reader is not None)
    return Section(*(replace(key, required=False) for key in (*_BLOCK.keys, *_START.keys)), _OVERLAP, *demands)


_CHECKPOINTS = Section(
    Key("interval", Expr(), "seconds of work between two", required=True),
    Key("write", Expr(), "seconds to write one", required=True),
    Key("restart", Expr(), "seconds of a restart after a failure", "0"),
)
_PARAMETER = Section(
    *(replace(key, default="it must be set") if key.name == "default" else key for key in PARAMETER.keys)
)
#: Keys of a workload file.
WORKLOAD = Section(
    Key("simcodesign", Whole(), "version of the format", range=str(FORMAT), required=True),
    Key("name", Name(), "name of the workload", required=True),
    Key("about", Text(), "one sentence about the workload"),
    Key("source", Text(), "where the workload is from"),
    Key(
        "parameters",
        Named(OneOf(Value(), _PARAMETER), "one parameter"),
        "its parameters, which `--set` and sweeps change",
    ),
    Key(
        "equations",
        Named(Expr(), "one equation"),
        "values that other expressions may use, in any order; those with `rank` or the index of a loop, in the program",
    ),
    Key(
        "equations_of",
        Name(),
        "a bundled workload whose equations are used too, but for names of own parameters and equations",
    ),
    Key(
        "requires",
        Named(Expr(), "what must hold, in words, and its condition"),
        "conditions on parameters, `P` and equations; values that break one are an error",
    ),
    Key("presets", Named(Named(Value(), "the value of a parameter"), "one set"), "named sets of values of parameters"),
    Key(
        "imbalance",
        IMBALANCE,
        "how the ranks' shares of computation differ; a fraction (lognormal) or a distribution",
        "0 %",
    ),
    Key("checkpoints", _CHECKPOINTS, "what all ranks write together again and again (docs/failures.md)"),
    Key("footprint", Expr(), "bytes of memory that a rank needs", "the sum of `data`"),
    Key("accelerator_footprint", Expr(), "bytes that a rank needs in the memory of its accelerator", "not stated"),
    Key("size", Expr(), "how large the problem is; for tables of counters", "not stated"),
    Key(
        "size_parameter",
        Name(),
        "the parameter that is the problem size of a process, for `explore` and `compare --requirements`",
        "n",
    ),
    Key("program", Items(StepForm(), "one step"), "what every rank does, step by step", required=True),
    Key("data", Named(Expr(), "the bytes of one"), "bytes of each data structure of a rank, by name"),
    Key(
        "groups",
        Named(Expr(), "the colour of a rank; ranks with the same colour are one group"),
        "the communicators, by name",
    ),
    Key("formulas", FORMULAS, "closed forms of the time, from papers or by hand (docs/formulas.md)"),
    Key(
        "bubbles",
        FORMULAS,
        "closed forms of the time that ranks wait in a pipeline, by names such as (p-1)/m (docs/pipelines.md)",
    ),
    Key("measured", MEASURED, "measured times, one mapping or several (docs/measured.md)"),
    Key(
        "serving", SERVING, "requests that arrive at a server, whose steps are phases of the program (docs/serving.md)"
    ),
)

#: Keys whose values belong to the workload, whatever else the file states.
_AS_THEY_ARE = ["name", "about", "source", "footprint", "accelerator_footprint", "size", "data", "groups", "requires"]


def with_equations_of(entry: Entry, other: Entry) -> Entry:
    """Return the tree of a workload with the equations of ``other``.

    Except those whose names are names of its own parameters and equations.
    """
    items = entry.mapping()
    own, parameters = (items[key].mapping() if key in items else {} for key in ("equations", "parameters"))
    taken = {name: item for name, item in other.mapping()["equations"].mapping().items() if name not in parameters}
    return Entry({**items, "equations": Entry({**taken, **own}, entry.place)}, entry.place)


def workload_from(entry: Entry) -> Workload:
    """Return the workload of a file's tree."""
    items = WORKLOAD.items(entry)
    check_format(items["simcodesign"])
    parameters = parameters_from(items["parameters"], ("rank",)) if "parameters" in items else {}
    equations = items["equations"].mapping() if "equations" in items else {}
    _check_distinct(parameters, equations)
    own = WORKLOAD.values({key: item for key, item in items.items() if key in _AS_THEY_ARE})
    program = _steps(items["program"])
    if "size_parameter" in items:
        own["size_parameter"] = _size_parameter(items["size_parameter"], parameters)
    every = {name: _equation(name, item) for name, item in equations.items()}
    local = _local(every, program, parameters)
    if local:
        program = with_expressions(program, lambda expression: put_in(expression, local))
        own["groups"] = {name: put_in(colour, local) for name, colour in own.get("groups", {}).items()}
    workload = Workload(
        **own,
        parameters=parameters,
        equations={name: expression for name, expression in every.items() if name not in local},
        local_equations={name: every[name] for name in local},
        program=program,
        presets=_presets(items["presets"], parameters) if "presets" in items else {},
        imbalance=imbalance_from(items["imbalance"]) if "imbalance" in items else 0.0,
        checkpoints=_checkpoints(items["checkpoints"]) if "checkpoints" in items else None,
        place=entry.place,
        formulas=formulas_from(items["formulas"]) if "formulas" in items else {},
        bubbles=formulas_from(items["bubbles"]) if "bubbles" in items else {},
        serving=Serving(**SERVING.read(items["serving"]), place=items["serving"].place) if "serving" in items else None,
    )
    if "measured" in items:
        workload = replace(workload, measured=measured_of_workload(items["measured"], workload))
    timed: list[Formula | MeasuredTimes] = [*workload.formulas.values(), *workload.measured]
    for one in timed:
        check_phases(one.phases, workload.phases(), one.place)
    return workload


def _size_parameter(entry: Entry, parameters: Mapping[str, Parameter]) -> str:
    """Return the name of a parameter. InputError for another name."""
    if (name := entry.name()) not in parameters:
        raise InputError("no such parameter", entry.place, value=name, allowed=nearest(name, parameters))
    return name


def _checkpoints(entry: Entry) -> Checkpoints:
    return Checkpoints(**{"restart": parse(0)} | _CHECKPOINTS.read(entry))


def _check_distinct(parameters: dict[str, Parameter], equations: dict[str, Entry]) -> None:
    for name, item in equations.items():
        if name in parameters:
            raise InputError("an equation with the name of a parameter", item.place, value=name)


def _equation(name: str, item: Entry) -> Expression:
    check_name(name, item.place, RESERVED)
    return item.expression()


def _local(
    equations: Mapping[str, Expression], program: tuple[Step, ...], parameters: Mapping[str, Parameter]
) -> dict[str, Expression]:
    """Return the equations that depend on the rank or on the index of a loop, without names of each other."""
    varying = {"rank", *indices_of(program)} - equations.keys() - parameters.keys()
    local = {name: equations[name] for name in local_names(equations, varying)}
    return written_out(local, {*parameters, *equations, "P", *varying} - local.keys())


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
    return reader.read(name, item)


def _start(entry: Entry) -> Demand:
    items = _START.items(entry)
    polled = items["polled"].expression() if "polled" in items else None
    return started(_demand(items["start"]), items["as"].name(), polled)


def _overlap(entry: Entry) -> Block:
    return overlapping([_demand(item) for item in entry.sequence()], entry.place)


def _demand(entry: Entry) -> Demand:
    step = _step(entry)
    if isinstance(step, Block) or step.started_as:
        raise InputError("this is no demand by itself", entry.place, allowed="one demand, e.g. {compute: {flops: n}}")
    return step


def _block(entry: Entry) -> Block:
    items = _BLOCK.items(entry)
    if "do" in items and not items["do"].sequence():
        raise InputError("there is nothing to do", items["do"].place)
    if "index" in items:
        _check_index(items["index"], items)
    return Block(**{"repeat": ONE} | _BLOCK.values(items), place=entry.place)


def _check_index(entry: Entry, items: Mapping[str, Entry]) -> None:
    """Raise InputError unless the name can count the iterations of a block."""
    if "repeat" not in items:
        raise InputError("an index without 'repeat'", entry.place, value=entry.text(), allowed="repeat: N, index: k")
    check_name(entry.name(), entry.place, RESERVED)


def _constant(path: str, entry: Entry) -> Expression:
    """Return a quantity with its unit, or an expression in SI units."""
    if WITH_UNIT.fullmatch(entry.text().strip()):
        return parse(constant_value(path, entry), entry.place)
    expression = entry.expression()
    if not expression.names:
        check_constant(path, expression.evaluate({}), entry.place)
    return expression
