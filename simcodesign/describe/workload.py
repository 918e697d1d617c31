"""A workload: parameters, equations, and the program that every rank runs, as both readings read it.

A program is a tree. Leaves are demands (compute, disk, messages); blocks repeat their body and may name a phase and
replace machine constants in it. Amounts are expressions over parameters, equations, ``P`` (ranks) and ``rank``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.expression import Expression, parse
from simcodesign.describe.demands.arrivals import BETWEEN, REQUESTS, check_alone
from simcodesign.describe.demands.arrivals import Arrivals as Arrivals  # also imported from here
from simcodesign.describe.demands.base import Demand as Demand  # also imported from here
from simcodesign.describe.distribution import Distribution
from simcodesign.describe.equations import ordered
from simcodesign.describe.goal.schedule import Schedule
from simcodesign.describe.noise import Imbalance, share_as_distribution
from simcodesign.describe.parameters import Parameter as Parameter  # also imported from here
from simcodesign.locality.profile import StackDistanceProfile

#: Collective operations and their algorithms, the default first.
ALGORITHMS: dict[str, tuple[str, ...]] = {
    "broadcast": ("binomial", "linear"),
    "allreduce": ("recursive_doubling", "ring", "reduce_broadcast"),
    "allgather": ("ring", "bruck", "linear"),
    "all_to_all": ("pairwise", "linear", "bruck"),
    "all_broadcast": ("linear",),
    "barrier": ("dissemination",),
}
#: Caches as hardware counters tell them apart: the first, those between, and the last of two or more.
CACHE_ROLES = ("l1", "l2", "llc")
ONE = parse(1)
#: Names that a program may use besides parameters and equations.
RESERVED = ("P", "rank")
#: Phase of demands that stand outside any phase.
MAIN_PHASE = "main"


@dataclass(frozen=True)
class Loop:
    """``range`` times ``operations`` per iteration: one row of a loop-level operation count."""

    name: str
    range: Expression
    operations: Expression


@dataclass(frozen=True)
class Compute(Demand):
    """Work of a processor: ``amount`` in ``unit`` (flops, instructions, seconds), or summed over ``loops`` in flops.

    ``varies``, here as in other demands: each time it is done, it takes as long times a factor of its own.
    """

    unit: str
    amount: Expression | None
    loops: tuple[Loop, ...] = ()
    varies: Distribution | None = None

    def expressions(self) -> Iterator[Expression]:
        yield from super().expressions()
        yield from (() if self.amount is None else (self.amount,))
        for loop in self.loops:
            yield from (loop.range, loop.operations)


@dataclass(frozen=True)
class Access(Demand):
    """``times`` reads or writes of ``bytes`` each, served by the disk as one batch; ``times`` may be a fraction."""

    kind: str
    bytes: Expression
    times: Expression
    varies: Distribution | None = None

    def expressions(self) -> Iterator[Expression]:
        yield from super().expressions()
        yield from (self.bytes, self.times)


@dataclass(frozen=True)
class References(Demand):
    """Loads and stores in memory, of which caches serve what their locality lets them.

    Their locality is that of one of these: a ``kernel`` with its ``sizes``, which ``times`` executions repeat; a
    measured ``profile``; ``distances``, pairs of a share of the accesses and its stack distance in elements of
    ``element_bytes``; or ``hits``, the share that each of ``CACHE_ROLES`` was seen to serve, whatever its size (what
    the shares leave of 1 always goes to memory). ``accesses``: how many in all; None for those
    of the kernel or profile. ``blocking`` (BF_mem of hardware-counter models) is the part of the access times for which
    the processor stands still.
    """

    kernel: str = ""
    sizes: tuple[tuple[str, Expression | str], ...] = ()
    profile: StackDistanceProfile | None = field(default=None, repr=False)
    distances: tuple[tuple[Expression, Expression], ...] = ()
    hits: tuple[tuple[str, Expression], ...] = ()
    element_bytes: int = 8
    accesses: Expression | None = None
    times: Expression = ONE
    blocking: Expression = ONE
    varies: Distribution | None = None

    def expressions(self) -> Iterator[Expression]:
        yield from super().expressions()
        yield from (size for _, size in self.sizes if isinstance(size, Expression))
        for pair in self.distances:
            yield from pair
        yield from (share for _, share in self.hits)
        yield from (part for part in (self.accesses, self.times, self.blocking) if part is not None)


@dataclass(frozen=True)
class Send(Demand):
    """An eager message to rank ``to``."""

    to: Expression
    bytes: Expression
    tag: int = 0

    def expressions(self) -> Iterator[Expression]:
        yield from super().expressions()
        yield from (self.to, self.bytes)


@dataclass(frozen=True)
class Receive(Demand):
    """Wait for the next message with this tag from rank ``source``; ``bytes``, if given, must be what was sent.

    Without a source it is the message that comes first, whoever sends it (not checked against ``bytes``).
    """

    source: Expression | None
    bytes: Expression | None
    tag: int = 0

    def expressions(self) -> Iterator[Expression]:
        yield from super().expressions()
        yield from (part for part in (self.source, self.bytes) if part is not None)


@dataclass(frozen=True)
class Exchange(Demand):
    """Halo exchange with both neighbours in each of ``dims`` dimensions of a process grid; ``bytes`` per dimension.

    ``messages`` of so many bytes go to each neighbour, by dimension (one if it is None). Up to ``train`` of them are
    simulated as one transfer.
    """

    dims: int
    bytes: tuple[Expression, ...]
    grid: tuple[Expression, ...] | None = None
    periodic: bool = True
    messages: tuple[Expression, ...] | None = None
    train: Expression = ONE

    @property
    def messages_by_dim(self) -> tuple[Expression, ...]:
        """Messages to each neighbour in every dimension."""
        return (ONE,) * self.dims if self.messages is None else self.messages

    def expressions(self) -> Iterator[Expression]:
        yield from super().expressions()
        yield from self.bytes
        yield from self.grid or ()
        yield from (*(self.messages or ()), self.train)


@dataclass(frozen=True)
class Collective(Demand):
    """A collective operation of all ranks; ``bytes`` is the size that each rank contributes (to each partner)."""

    name: str
    algorithm: str
    bytes: Expression

    def expressions(self) -> Iterator[Expression]:
        yield from super().expressions()
        yield self.bytes


@dataclass(frozen=True)
class Block:
    """``repeat`` times the ``body``; ``phase`` names where its time is booked; ``constants`` replace the machine's.

    ``useful_flops``: what one repetition adds to the operations, of all ranks, of which a rate is made.
    """

    repeat: Expression
    body: tuple[Step, ...]
    phase: str | None = None
    constants: tuple[tuple[str, Expression], ...] = ()
    about: str = ""
    place: Place = field(default=Place(), compare=False)
    useful_flops: Expression | None = None


@dataclass(frozen=True)
class Replay(Demand):
    """A schedule from elsewhere, which a simulation replays; it has no closed form."""

    schedule: Schedule = field(repr=False)


@dataclass(frozen=True)
class Use:
    """``amount`` of a ``resource`` of the machine for one item of an ``Execute``, with ``traits`` (and their argument)
    in this order. ``data`` names the data structure that the use goes ``from`` or ``to`` (``way``)."""

    resource: str
    amount: Expression
    traits: tuple[tuple[str, Expression | None], ...] = ()
    data: str = ""
    way: str = ""
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True)
class Execute(Demand):
    """``parallelism`` items of each rank, spread over the instances of the resources that they use (Aspen's execute
    block: Spafford and Vetter, SC 2012)."""

    uses: tuple[Use, ...]
    parallelism: Expression = ONE
    label: str = ""

    def expressions(self) -> Iterator[Expression]:
        yield from super().expressions()
        yield self.parallelism
        for use in self.uses:
            yield use.amount
            yield from (argument for _, argument in use.traits if argument is not None)


Step = Block | Compute | Execute | Access | References | Send | Receive | Exchange | Collective | Replay | Arrivals


@dataclass(frozen=True)
class Workload:
    """An application. ``presets`` are named sets of parameter values (data sets); ``imbalance`` is the coefficient
    of variation of the ranks' share of computation, or an ``Imbalance``; ``data`` are data structures of each rank, in
    bytes; ``footprint`` is the memory that each rank uses, in bytes: that of its data, if nothing is said; ``size`` is
    that of the whole problem, in units of its own."""

    name: str
    parameters: Mapping[str, Parameter]
    equations: Mapping[str, Expression]
    program: tuple[Step, ...]
    presets: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    imbalance: float | Imbalance = 0.0
    footprint: Expression | None = None
    size: Expression | None = None
    about: str = ""
    source: str = ""
    place: Place = field(default=Place(), compare=False)
    equation_order: tuple[str, ...] = field(init=False, compare=False)
    data: Mapping[str, Expression] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in RESERVED:
            if name in self.equations or (name == "rank" and name in self.parameters):
                raise InputError(f"{name} is a reserved name", self.place)
        known = {*self.parameters, "P"}
        object.__setattr__(self, "equation_order", tuple(ordered(self.equations, known)))
        known |= self.equations.keys()
        by_rank = known | {"rank"}
        check_alone(walk(self.program), bool(self.imbalance), self.place)
        for step in walk(self.program):
            _check_names(step, known, by_rank)
            _check_data(step, self.data)
        if self.footprint is None and self.data:
            total = parse(" + ".join(f"({size.text})" for size in self.data.values()), self.place)
            object.__setattr__(self, "footprint", total)
        for whole in (self.footprint, self.size, *self.data.values()):
            if whole is not None:
                _check_known(whole, known, self.place)

    @property
    def imbalance_model(self) -> Imbalance:
        """Its imbalance; a plain share is the coefficient of variation of what ranks compute."""
        if isinstance(self.imbalance, Imbalance):
            return self.imbalance
        return Imbalance(share_as_distribution(self.imbalance, "imbalance", self.place), place=self.place)

    @property
    def is_open(self) -> bool:
        """Whether its program is of arrivals."""
        return any(isinstance(step, Arrivals) for step in self.program)

    def phases(self) -> tuple[str, ...]:
        """Names of the phases in program order; demands outside a named phase are booked under ``main``."""
        if self.is_open:
            return (BETWEEN, REQUESTS)
        names: dict[str, None] = {}
        for phase, step in with_phase(self.program):
            if not isinstance(step, Block):
                names.setdefault(phase)
        return tuple(names)


def walk(program: tuple[Step, ...]) -> Iterator[Step]:
    """Every step of a program, blocks before their bodies."""
    for step in program:
        yield step
        if isinstance(step, Block):
            yield from walk(step.body)


def with_phase(program: tuple[Step, ...], phase: str = MAIN_PHASE) -> Iterator[tuple[str, Step]]:
    """Every step of a program with the phase in which its time is booked."""
    for step in program:
        inner = phase_name(phase, step.phase) if isinstance(step, Block) else phase
        yield inner, step
        if isinstance(step, Block):
            yield from with_phase(step.body, inner)


def phase_name(outer: str, inner: str | None) -> str:
    """Name of a phase inside another: ``outer/inner``."""
    if inner is None:
        return outer
    return inner if outer == MAIN_PHASE else f"{outer}/{inner}"


def _check_names(step: Step, known: set[str], by_rank: set[str]) -> None:
    """Only what each rank does for itself may depend on ``rank``."""
    if isinstance(step, Block):
        expressions = [step.repeat, *(value for _, value in step.constants)]
        expressions += [] if step.useful_flops is None else [step.useful_flops]
    else:
        expressions = list(step.expressions())
    allowed = known if isinstance(step, Block | Exchange | Collective) else by_rank
    for expression in expressions:
        _check_known(expression, allowed, step.place)


def _check_data(step: Step, data: Mapping[str, Expression]) -> None:
    """InputError for a use of data that the workload does not have."""
    for use in step.uses if isinstance(step, Execute) else ():
        if use.data and use.data not in data:
            raise InputError("unknown data", use.place or step.place, value=use.data, allowed=nearest(use.data, data))


def _check_known(expression: Expression, known: set[str], place: Place) -> None:
    for name in sorted(expression.names - known):
        reason = "this is the same for every rank: 'rank' cannot be used" if name == "rank" else "unknown name"
        raise InputError(reason, expression.place or place, value=name, allowed=nearest(name, known))
