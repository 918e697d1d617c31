"""A workload: parameters, equations, and the program that every rank runs, as both readings read it.

Amounts of the program are expressions over parameters, equations, ``P`` (ranks) and ``rank``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.expressions.expression import Expression, parse
from simcodesign.core.registry import function_of
from simcodesign.core.shown_answers import ShownInNotebooks
from simcodesign.describe.demands.arrivals import BETWEEN, REQUESTS, Arrivals, check_alone
from simcodesign.describe.demands.computation import Copy, Kernel
from simcodesign.describe.demands.disk_access import MetadataOperations, StorageAccess
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.demands.resource_uses import Execute
from simcodesign.describe.equations import ordered
from simcodesign.describe.formulas.formula import Formula
from simcodesign.describe.measured.times import MeasuredTimes
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.programs.groups import GROUP_NAMES, check_group
from simcodesign.describe.programs.overlap import check_starts, has_overlap
from simcodesign.describe.programs.program import (
    Block,
    Step,
    indices_of,
    names_in,
    placed_demands,
    walk,
    with_indices,
)
from simcodesign.describe.programs.serving import Serving
from simcodesign.describe.randomness.node_failures import Checkpoints
from simcodesign.describe.randomness.noise import Imbalance, share_as_distribution

#: Names that a program may use in addition to parameters and equations.
RESERVED = ("P", "rank")
#: The constants for combining what is received, and for packing, which are computations.
PROCESSING = frozenset({"network.reduction_per_byte", "network.packing", "network.packing_per_byte"})


@dataclass(frozen=True)
class Workload(ShownInNotebooks):
    """An application: the contents of a workload file.

    Expressions are over its parameters, equations and ``P``, in SI units.

    - ``name``, ``about``, ``source``: its name, its description, and its origin.
    - ``parameters``: its inputs, by name. ``presets``: named sets of their values (data sets).
    - ``equations``: names for expressions; ``equation_order``: the same, each after those that it uses.
      ``local_equations``: names for expressions with ``rank`` or the index of a loop, which the program and the groups
      have in full.
    - ``program``: blocks and demands, in the order in which every rank runs them.
    - ``imbalance``: coefficient of variation of the ranks' shares of computation, or an ``Imbalance``.
    - ``data``: data structures of each rank, in bytes. ``footprint``: memory that each rank uses, in bytes; the size of
      its data, if it is not stated. ``accelerator_footprint``: what it uses of the memory of its accelerator, in bytes.
    - ``size``: of the whole problem, in units of its own. ``size_parameter``: the parameter that is the size of the
      problem of a process, ``n`` if it is not stated.
    - ``groups``: the colours of the ranks in each of its communicators.
    - ``checkpoints``: those that all ranks write together.
    - ``formulas``: closed forms of its time, from papers or by hand. ``measured``: its times on some machine.
      ``bubbles``: closed forms of what ranks of a pipeline wait, by names such as ``(p-1)/m``: the first that is valid.
    - ``requires``: conditions on parameters, ``P`` and equations, by what they demand in words.
    - ``serving``: how requests arrive at a server whose steps are phases of the program.
    - ``place``: its place in its file.

    Raises InputError for names that are reserved or unknown, equations in a circle, and demands that exclude others.

    >>> import simcodesign as sc
    >>> sorted(sc.Workload.load("broadcast").parameters)
    ['m', 'order']
    """

    name: str
    parameters: Mapping[str, Parameter]
    equations: Mapping[str, Expression]
    program: tuple[Step, ...]
    presets: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    imbalance: float | Imbalance = 0.0
    footprint: Expression | None = None
    accelerator_footprint: Expression | None = field(default=None, kw_only=True)
    size: Expression | None = None
    about: str = ""
    source: str = ""
    place: Place = field(default=Place(), compare=False)
    equation_order: tuple[str, ...] = field(init=False, compare=False)
    data: Mapping[str, Expression] = field(default_factory=dict)
    groups: Mapping[str, Expression] = field(default_factory=dict)
    checkpoints: Checkpoints | None = None
    formulas: Mapping[str, Formula] = field(default_factory=dict)
    measured: tuple[MeasuredTimes, ...] = ()
    size_parameter: str = field(default="n", kw_only=True)
    local_equations: Mapping[str, Expression] = field(default_factory=dict, kw_only=True)
    bubbles: Mapping[str, Formula] = field(default_factory=dict, kw_only=True)
    serving: Serving | None = field(default=None, kw_only=True)
    requires: Mapping[str, Expression] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        for name in GROUP_NAMES if self.groups else ():
            if name in self.equations or name in self.parameters:
                raise InputError(f"{name} is a reserved name in workloads with groups", self.place)
        for name in RESERVED:
            if name in self.equations or (name == "rank" and name in self.parameters):
                raise InputError(f"{name} is a reserved name", self.place)
        known = {*self.parameters, "P"}
        object.__setattr__(self, "equation_order", tuple(ordered(self.equations, known)))
        known |= self.equations.keys()
        by_rank = known | {"rank"}
        check_alone(walk(self.program), bool(self.imbalance), self.place)
        check_starts(self.program)
        steps = list(with_indices(self.program))
        for colour in self.groups.values():
            _check_known(colour, by_rank.union(*(indices for _, indices in steps)), self.place)
        for step, indices in steps:
            if not isinstance(step, Block) and step.communicator is not None:
                check_group(step.communicator, self.groups, step.place)
                _check_known(self.groups[step.communicator], by_rank | indices, step.place)
            _check_names(step, known | indices, by_rank | indices)
            _check_data(step, self.data)
        if self.footprint is None and self.data:
            total = parse(" + ".join(f"({size.text})" for size in self.data.values()), self.place)
            object.__setattr__(self, "footprint", total)
        checkpoints = () if self.checkpoints is None else self.checkpoints.expressions()
        if self.checkpoints is not None and self.is_open:
            raise InputError("checkpoints are of programs that end, not of an open stream", self.place)
        served = () if self.serving is None else self.serving.expressions()
        if self.serving is not None:
            self.serving.check(self.parameters, self.phases())
        wholes = (
            self.footprint,
            self.accelerator_footprint,
            self.size,
            *self.data.values(),
            *self.requires.values(),
            *checkpoints,
            *served,
        )
        for whole in wholes:
            if whole is not None:
                _check_known(whole, known, self.place)

    @classmethod
    def load(cls, source: str | Path | Mapping[str, object]) -> Workload:
        """Return the workload of a bundled name, of a file, or of a dictionary with the keys of a file.

        For example ``seismic``; or a variant (``seismic with preset=small, n=64``).

        ``source``: the name, the path or the dictionary. A file may also be a GOAL schedule (``a.goal``, ``a.bin``, or
        any ending if it begins as one), a trace of a program in a format of ``describe.recordings.readers``, or a
        program in Python (``a.py:name``), which executes the file. In a
        dictionary expressions are texts or numbers, and ``simcodesign: 1`` may be left out.

        Raises InputError with file, line and path of what is wrong.

        >>> import simcodesign as sc
        >>> sc.Workload.load("jacobi").name
        'jacobi'
        >>> sc.Workload.load({"name": "work", "program": [{"compute": {"flops": 1e9}}]}).name
        'work'
        """
        workload: Workload = function_of("describe.yaml.files", "workload_from_source")(source)
        return workload

    @cached_property
    def imbalance_model(self) -> Imbalance:
        """Its imbalance; a plain share is the coefficient of variation of what ranks compute."""
        if isinstance(self.imbalance, Imbalance):
            return self.imbalance
        return Imbalance(share_as_distribution(self.imbalance, "imbalance", self.place), place=self.place)

    @cached_property
    def is_open(self) -> bool:
        """Whether its program is of arrivals."""
        return any(isinstance(step, Arrivals) for step in self.program)

    @cached_property
    def accesses_memory(self) -> bool:
        """Whether some demand is of loads and stores in memory."""
        return any(isinstance(step, MemoryAccesses) for step in walk(self.program))

    @cached_property
    def uses_accelerators(self) -> bool:
        """Whether some demand is of accelerators or their links."""
        return any(isinstance(step, Kernel | Copy) for step in walk(self.program))

    @cached_property
    def uses_storage(self) -> bool:
        """Whether some demand is of the storage that all nodes share."""
        return any(isinstance(step, StorageAccess | MetadataOperations) for step in walk(self.program))

    @cached_property
    def has_index(self) -> bool:
        """Whether the iterations of some loop differ by an index."""
        return bool(self.indices)

    @cached_property
    def indices(self) -> frozenset[str]:
        """The indices of all loops."""
        return indices_of(self.program)

    @cached_property
    def uses_resources(self) -> bool:
        """Whether some demand is of resources that the machine file defines."""
        return any(isinstance(step, Execute) for step in walk(self.program))

    def may_use(self, part: str) -> bool:
        """Return whether some demand may use a part of the machine (``Demand.parts``)."""
        return any(known is None or part in known for known in self._parts)

    @cached_property
    def _parts(self) -> frozenset[frozenset[str] | None]:
        """The parts of the machine that demands may use, of each kind of demand."""
        return frozenset(step.parts for step in walk(self.program) if not isinstance(step, Block))

    def uses_one_at_a_time(self, part: str) -> bool:
        """Return whether no rank may use a part of the machine several times concurrently."""
        demands = [step for step in walk(self.program) if not isinstance(step, Block)]
        users = [one for one in demands if one.parts is None or part in one.parts]
        started = self.has_overlap and any(one.can_be_started for one in users)
        return all(one.works_on == part for one in users) and not started

    @cached_property
    def sets_processing(self) -> bool:
        """Return whether some block has times of its own for combining or packing data of messages."""
        blocks = (step for step in walk(self.program) if isinstance(step, Block))
        return any(path in PROCESSING for block in blocks for path, _ in block.constants)

    @cached_property
    def has_overlap(self) -> bool:
        """Whether ranks do several things concurrently."""
        return has_overlap(self.program)

    @cached_property
    def varies(self) -> bool:
        """Whether some demand takes a different time whenever it is done."""
        laws = (placed.demand.variation for placed in placed_demands(self.program))
        return any(law is not None and not law.constant for law in laws)

    @cached_property
    def differs_by_rank(self) -> bool:
        """Whether the cost of some demand may differ from rank to rank."""
        return any(placed.demand.differs_by_rank for placed in placed_demands(self.program))

    def names_in(self, step: Step) -> frozenset[str]:
        """Return the names on which a step depends: those in its expressions, and in the colours of its groups."""
        groups = {part.communicator for part in walk((step,)) if not isinstance(part, Block)} - {None}
        return names_in(step).union(*(self.groups[group].names for group in groups if group is not None))

    def phases(self) -> tuple[str, ...]:
        """Names of the phases in program order; demands outside a named phase are booked under ``main``."""
        if self.is_open:
            return (BETWEEN, REQUESTS)
        return tuple(dict.fromkeys(placed.phase for placed in placed_demands(self.program)))

    def json_fields(self) -> str:
        """Its name: a description has a file of its own."""
        return self.name


def _check_names(step: Step, known: set[str], by_rank: set[str]) -> None:
    """Only what each rank does for itself may depend on ``rank``; the index of a block counts inside of it."""
    if isinstance(step, Block):
        if step.index is not None:
            _check_index(step, step.index, by_rank)
            _check_known(step.repeat, known, step.place)
            known = known | {step.index}
        for expression in step.expressions():
            _check_known(expression, known, step.place)
        return
    own = set(GROUP_NAMES if step.communicator is not None else ())
    several = list(step.rank_expressions())
    for expression in step.expressions():
        alike = step.alike_on_all_ranks and not any(expression is one for one in several)
        _check_known(expression, (known | own) - {"group_rank"} if alike else by_rank | own, step.place)


def _check_index(block: Block, index: str, names: set[str]) -> None:
    """InputError for an index that hides a parameter, an equation, another index, or what the project defines."""
    if index in {*names, *RESERVED, *GROUP_NAMES}:
        what = "the index of a loop has the name of something else"
        raise InputError(what, block.place, value=index, allowed="any other name")


def _check_data(step: Step, data: Mapping[str, Expression]) -> None:
    """InputError for a use of data that the workload does not have."""
    for name, place in () if isinstance(step, Block) else step.data_names():
        if name not in data:
            raise InputError("unknown data", place, value=name, allowed=nearest(name, data))


def _check_known(expression: Expression, known: set[str], place: Place) -> None:
    for name in sorted(expression.names - known):
        reason = "this is the same for every rank: 'rank' cannot be used" if name == "rank" else "unknown name"
        raise InputError(reason, expression.place or place, value=name, allowed=nearest(name, known))
