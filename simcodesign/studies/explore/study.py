"""The input of an exploration: a workload, a machine and statements, from the command line or from a file.

    simcodesign: 1
    name: sweeps-in-time
    workload: jacobi
    machine: torus-cluster
    set: {n: 8192}
    vary:
      processor.rate: 1 GFLOP/s:100 GFLOP/s
      network.interfaces.bandwidth: 1 GB/s, 2 GB/s, 4 GB/s     # choices
    subject_to:
      - time <= 1 s
    minimize: [processor.rate]

``formulas`` (name: expression, over the variables and each other) replace workload and machine, with
``units`` (name: dimension) where bounds have units.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.expressions.expression import Expression
from simcodesign.describe.constants import CAPACITY
from simcodesign.describe.machine import Machine
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.yaml.files import named_source
from simcodesign.describe.yaml.machine import check_format
from simcodesign.describe.yaml.tree import Entry, read_yaml
from simcodesign.studies.explore.dimensions import measured
from simcodesign.studies.explore.models.aspen_model import AspenModel
from simcodesign.studies.explore.models.machine_model import MachineModel
from simcodesign.studies.explore.models.model_interfaces import Explorable, Ranged
from simcodesign.studies.explore.models.native_model import NativeModel
from simcodesign.studies.explore.models.serving_metrics import PREFIX as SERVING_PREFIX
from simcodesign.studies.explore.models.structure import is_structural, structural
from simcodesign.studies.explore.models.system_model import SLOWDOWN, SystemModel
from simcodesign.studies.explore.planners import capacity_constraints, plan, runs_workloads, size_of
from simcodesign.studies.explore.problem import FormulaModel, Model, Problem, check_dimension, plain_name
from simcodesign.studies.explore.problem_parser import VARY_FORMS, constraint, limits, objective
from simcodesign.studies.explore.solvers.solve import SOLVERS
from simcodesign.studies.explore.space import Variable
from simcodesign.studies.sweep.machine_source import MachineFile

#: A constraint: that every footprint fits the memory that it is of.
FITS = "fits"
#: The largest number whose divisors are looked for.
MOST_DIVIDED = 10_000_000
_KEYS = (
    "simcodesign",
    "name",
    "about",
    "source",
    "workload",
    "machine",
    "against",
    "set",
    "preset",
    "phases",
    "vary",
    "subject_to",
    "minimize",
    "maximize",
    "solver",
    "seed",
    "size",
    "formulas",
    "units",
    "socket",
    "kernel",
)


@dataclass(frozen=True)
class Statement:
    """One statement as text, with its place in the input; ``name``: of the variable, ``maximize``: of an objective."""

    text: str
    place: Place
    name: str = ""
    maximize: bool = False


@dataclass(frozen=True)
class ExplorationStudy:
    """A study as the user wrote it.

    ``settings``: as for ``--set``; ``more``: workloads after the first one; ``against``: the machine of ``slowdown``,
    empty for the machine as described.
    """

    workload: str = ""
    more: tuple[str, ...] = ()
    machine: str = ""
    against: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    preset: str | None = None
    phases: tuple[str, ...] = ()
    vary: tuple[Statement, ...] = ()
    subject_to: tuple[Statement, ...] = ()
    objectives: tuple[Statement, ...] = ()
    solver: str = ""
    seed: int | None = None
    size: str = ""
    formulas: Mapping[str, Expression] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    socket: str = ""
    kernel: str = ""

    def merged_over(self, other: ExplorationStudy) -> ExplorationStudy:
        """Return this study merged over another.

        Its entries and objectives win, its variables win by name.

        Constraints of both apply.
        """
        names = {statement.name for statement in self.vary}
        other_variables = tuple(statement for statement in other.vary if statement.name not in names)
        merged = {
            name: getattr(self, name) or getattr(other, name)
            for name in (
                "machine",
                "against",
                "preset",
                "phases",
                "solver",
                "size",
                "objectives",
                "formulas",
                "units",
                "socket",
                "kernel",
            )
        }
        named = self if self.workload else other
        return replace(
            other,
            workload=named.workload,
            more=named.more,
            **merged,
            settings={**other.settings, **self.settings},
            vary=(*other_variables, *self.vary),
            subject_to=(*other.subject_to, *self.subject_to),
            seed=other.seed if self.seed is None else self.seed,
        )

    def problem(self, model: Model) -> Problem:
        """Return the problem for this model. Raises InputError, with its place, for an invalid statement."""
        variables = tuple(_variable(statement, model, self.settings) for statement in self.vary)
        dimensions = {**_dimensions_of(variables, model), **model.dimensions}
        texts = [item for item in self.subject_to if item.text.strip() != FITS]
        constraints = [constraint(item.text, dimensions, item.place) for item in texts]
        for item in self.subject_to:
            if item not in texts and not capacity_constraints(model):
                allowed = "a workload with a footprint, and a machine with the capacity of that memory"
                raise InputError("nothing is known that must fit", item.place, value=item.text, allowed=allowed)
        objectives = [objective(item.text, item.maximize, dimensions, item.place) for item in self.objectives]
        self._check_size(model)
        return plan(model, variables, objectives, constraints, self.size)

    def _check_size(self, model: Model) -> None:
        """InputError if nothing is varied and the size has a fixed value: then there is nothing to plan."""
        size = size_of(model, self.size)
        is_set = size in self.settings
        if not self.vary and (is_set or (self.preset and size in _preset_of(model, self.preset))):
            what, place = (
                "the size has a fixed value, and nothing else is varied",
                Place("--set" if is_set else "--preset"),
            )
            raise InputError(what, place, value=size, allowed=f"--vary {size}=LOW:HIGH, or --vary others")

    def unit_notes(self, problem: Problem) -> list[str]:
        """Return notes on sums and comparisons of different units."""
        dimensions = {**_dimensions_of(problem.space.variables, problem.model), **problem.model.dimensions}
        plain = {plain_name(name): dimension for name, dimension in dimensions.items()}
        sides = [side for constraint_ in problem.constraints for side in (constraint_.left, constraint_.right)]
        expressions = [*(constraint_.expression for constraint_ in problem.objectives), *sides]
        return list(dict.fromkeys(note for constraint_ in expressions for note in measured(constraint_, plain)[1]))

    def model_notes(self, model: Model) -> list[str]:
        """Return notes for a reader of the metrics.

        That several workloads run apart, what a slowdown is against, and that traits of an Aspen model which are never
        defined are ignored.
        """
        if isinstance(model, SystemModel):
            return model.notes
        return [f"warning: {line}" for line in model.timing.warnings] if isinstance(model, AspenModel) else []

    def size_note(self, problem: Problem) -> str:
        """Return the note on a size that varies by default; "" if the user chose it."""
        if self.size or self.vary:
            return ""
        (one,) = problem.space.variables
        range_text = f"from {one.low:g} to {one.high:g}"
        return f"{one.name} is varied {range_text}: it is the size of the problem (--size names another)"

    def system_model(
        self,
        models: Sequence[NativeModel] | tuple[MachineModel],
        source: MachineFile,
        reference: Machine | None,
        compares: bool = False,
    ) -> NativeModel | MachineModel | SystemModel:
        """Return the model of workloads on the machine of a file, or of that machine alone.

        It is a plain model unless this study varies what the machine is built of, has several workloads, or uses their
        slowdown against ``reference`` (``compares``: whether or not an expression does). It has
        metrics of a server if an expression uses any, or with ``compares``.
        """
        texts = [one.text for one in (*self.subject_to, *self.objectives)]
        if compares or any(SERVING_PREFIX in one for one in texts):
            models = [one.serving() if isinstance(one, NativeModel) else one for one in models]  # type: ignore[misc]
        first = models[0]
        alone = isinstance(first, MachineModel)
        own = {name for one in models if isinstance(one, NativeModel) for name in one.workload.parameters}
        structure = tuple(
            structural(one.name, one.text, one.place)[0]
            for one in self.vary
            if one.name not in own and one.text and is_structural(one.name, first.machine, alone)
        )
        slows = not alone and (
            compares or reference is not None or any(re.search(rf"\b{SLOWDOWN}\b", one) for one in texts)
        )
        if not structure and len(models) == 1 and not slows:
            return first
        return SystemModel(tuple(models), source, structure, (reference or first.machine) if slows else None)  # type: ignore[arg-type]

    def formula_model(self) -> FormulaModel:
        """Return the model of the formulas of this study."""
        for name in self.units:
            if name not in self.formulas:
                raise InputError("a unit of no formula", value=name, allowed=nearest(name, self.formulas))
        return FormulaModel("formulas", self.formulas, tuple(one.name for one in self.vary), self.units)


def _variable(statement: Statement, model: Model, settings: Mapping[str, str]) -> Variable:
    if statement.name in settings:
        raise InputError("set and varied", statement.place, value=statement.name, allowed="one of the two")
    if isinstance(model, SystemModel) and model.is_structural(statement.name):
        return structural(statement.name, statement.text, statement.place)[1]
    parameter, dimension = _parameter_of(statement, model)
    text = statement.text
    if isinstance(model, Ranged):
        if not text:
            return model.variable(statement.name, statement.place)
        text = ",".join(_numbered(model, statement, part.strip()) for part in text.split(","))
    elif parameter is not None and parameter.choices:
        return _enumerated(parameter, statement)
    elif not text and parameter is not None and parameter.divides and runs_workloads(model):
        return Variable(statement.name, choices=_divisors(parameter, model, statement.place), place=statement.place)
    elif not text:
        raise InputError("not something to vary", statement.place, value=statement.name, allowed=VARY_FORMS)
    return limits(statement.name, text, dimension, statement.place, parameter is not None and parameter.whole)


def _divisors(parameter: Parameter, model: Model, place: Place) -> tuple[float, ...]:
    """Return the divisors of the number that a parameter divides, within its limits.

    InputError unless that is whole.
    """
    of = model.fixed(()).get(parameter.divides)
    if of is None or of != int(of) or not 1 <= of <= MOST_DIVIDED:
        allowed = f"{parameter.divides} from 1 to {MOST_DIVIDED}, or --vary {parameter.name}=A,B,C"
        raise InputError(f"divisors of {parameter.divides}", place, value=of, allowed=allowed)
    every = np.arange(1, int(of) + 1)
    good = (of % every == 0) & (every >= parameter.low) & (every <= parameter.high)
    return tuple(every[good].astype(np.float64).tolist())


def _preset_of(model: Model, preset: str) -> Mapping[str, float]:
    return model.workload.presets.get(preset, {}) if runs_workloads(model) else {}


def _enumerated(parameter: Parameter, statement: Statement) -> Variable:
    """Return a parameter that has choices: the named ones (or given by their numbers), or all of them."""
    name, place, choice_names = statement.name, statement.place, ", ".join(parameter.choices)
    if not statement.text:
        return Variable(name, choices=tuple(parameter.choices.values()), place=place)
    if ":" in statement.text:
        allowed = f"{name}, or some of its choices: {choice_names}"
        raise InputError(f"{name} has choices, not a range", place, value=statement.text, allowed=allowed)
    try:
        values = tuple(parameter.parsed(word.strip(), place) for word in statement.text.split(","))
    except InputError as error:
        raise InputError(error.what, place, value=error.value, allowed=choice_names) from None
    parameter.check(np.asarray(values), place)
    return Variable(name, choices=values, place=place)


def _numbered(model: Ranged, statement: Statement, part: str) -> str:
    """Return the number of a named choice, as text; other text unchanged."""
    if not part.isidentifier():
        return part
    try:
        return f"{model.word(statement.name, part):g}"
    except InputError as error:
        raise InputError(error.what, statement.place, value=error.value, allowed=error.allowed) from None


def _parameter_of(statement: Statement, model: Model) -> tuple[Parameter | None, str]:
    """Return the parameter that the model has for a variable (None for formulas), and its dimension."""
    if isinstance(model, FormulaModel):
        return None, ""
    explorable: Explorable = model  # type: ignore[assignment] # every other model lists its variables
    try:
        return explorable.parameter(statement.name)
    except InputError as error:
        raise InputError(error.what, statement.place, value=error.value, allowed=error.allowed) from None


def _dimensions_of(variables: Sequence[Variable], model: Model) -> dict[str, str]:
    """Dimensions of variables and fixed values, so that bounds on them may have units."""
    if isinstance(model, FormulaModel):
        return {}
    explorable: Explorable = model  # type: ignore[assignment] # every other model lists its variables
    names = [*(variable.name for variable in variables), *model.fixed([item.name for item in variables])]
    known = [name for name in names if name == CAPACITY or "." in name]
    return {name: explorable.parameter(name)[1] for name in known}


def statements_of(texts: Sequence[str], place: Place) -> tuple[Statement, ...]:
    """Statements about variables, each ``NAME=...`` or one or several names, ``A,B,C``."""
    every = [one for text in texts for one in ([text] if "=" in text else text.split(","))]
    return tuple(statement_of(one, place) for one in every)


def statement_of(text: str, place: Place) -> Statement:
    """``NAME=...`` as a statement about a variable."""
    name, sign, rest = (part.strip() for part in text.partition("="))
    if not name or bool(sign) != bool(rest):  # a name alone: over the range that its model gives it
        raise InputError("not something to vary", place, value=text, allowed=VARY_FORMS)
    return Statement(rest, place, name)


def load_study(path: str | Path) -> ExplorationStudy:
    """Read a study from a YAML file. Raises InputError naming file, line and path of the invalid entry."""
    entry = read_yaml(Path(path))
    items = entry.mapping(_KEYS, ("simcodesign",))
    check_format(items["simcodesign"])
    if "formulas" in items and ("workload" in items or "machine" in items):
        raise items["formulas"].error("formulas replace a workload and a machine")
    folder = Path(path).parent
    workloads = [named_source(one, folder) for one in _several(items, "workload")]
    return ExplorationStudy(
        workload=workloads[0] if workloads else "",
        more=tuple(workloads[1:]),
        machine=named_source(items["machine"], folder) if "machine" in items else "",
        against=named_source(items["against"], folder) if "against" in items else "",
        settings={name: one.text() for name, one in _mapping(items, "set").items()},
        preset=items["preset"].text() if "preset" in items else None,
        phases=tuple(one.text() for one in items["phases"].sequence()) if "phases" in items else (),
        vary=tuple(_varied(name, one) for name, one in _mapping(items, "vary").items()),
        subject_to=tuple(Statement(one.text(), one.place) for one in _several(items, "subject_to")),
        objectives=(*_objectives(items, "minimize"), *_objectives(items, "maximize")),
        solver=items["solver"].text(SOLVERS) if "solver" in items else "",
        seed=items["seed"].whole() if "seed" in items else None,
        size=items["size"].name() if "size" in items else "",
        formulas={name: one.expression() for name, one in _mapping(items, "formulas").items()},
        units={name: check_dimension(one.text(), one.place) for name, one in _mapping(items, "units").items()},
        socket=items["socket"].text() if "socket" in items else "",
        kernel=items["kernel"].text() if "kernel" in items else "",
    )


def _mapping(items: Mapping[str, Entry], key: str) -> Mapping[str, Entry]:
    return items[key].mapping() if key in items else {}


def _several(items: Mapping[str, Entry], key: str) -> list[Entry]:
    """Return the items of a sequence; a single value is one."""
    if key not in items:
        return []
    return items[key].sequence() if isinstance(items[key].content, list) else [items[key]]


def _objectives(items: Mapping[str, Entry], key: str) -> list[Statement]:
    return [Statement(one.text(), one.place, maximize=key == "maximize") for one in _several(items, key)]


def _varied(name: str, entry: Entry) -> Statement:
    text = ",".join(one.text() for one in entry.content) if isinstance(entry.content, list) else entry.text()
    return Statement(text, entry.place, name)


def unit_of(problem: Problem, name: str) -> str:
    """Dimension of a variable, "" if it is unknown."""
    if isinstance(problem.model, FormulaModel) or "." not in name:
        return ""
    explorable: Explorable = problem.model  # type: ignore[assignment] # every other model lists its variables
    return explorable.parameter(name)[1]
