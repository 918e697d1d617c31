"""The closed-form record of one kind of demand: its whole part of the analytic reading.

``forecast`` asks for ``charge`` and ``operation``, its bounds for ``occupation`` and ``traffic``, requirements for
``requirements``, the formula for ``payments``, texts of models for ``model_terms``. A kind of demand with only
than its ``charge`` can be forecast with its bounds; it has no requirements and no formula.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.formulas.formula_prices import Payment, SymbolicPrices
from simcodesign.analytic.indexed_loops.index_shapes import IndexedLoop, Shape
from simcodesign.analytic.messages.collective_traffic import Traffic
from simcodesign.analytic.messages.message_order import Ordered
from simcodesign.analytic.pipelining.succession import Operation
from simcodesign.core.errors import InputError
from simcodesign.core.registry import Registry
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import ENTRY_POINTS, Demand
from simcodesign.describe.evaluation import EvaluatedStep

Floats = NDArray[np.float64]
D = TypeVar("D", bound=Demand)


@dataclass(frozen=True)
class Count:
    """Amount of ``name`` for each rank.

    ``name`` is ``work`` (flops, instructions), ``disk`` (bytes), ``served`` (accesses by cache level), ``prefetched``
    (accesses of ``memory`` that were fetched ahead), ``used`` (amounts of resources), ``limits`` (seconds, by what
    limits the work).
    """

    group: str
    name: str
    each: FloatOrArray


@dataclass(frozen=True)
class Draw:
    """Energy of a demand done once, and the power meanwhile, of one part of the machine.

    They are of each rank, or of all ranks together if ``of_all``. ``is_resource``: the part is a resource that the
    machine file defines.
    """

    part: str
    energy_j: FloatOrArray
    power_w: FloatOrArray
    of_all: bool = False
    is_resource: bool = False


@dataclass(frozen=True)
class Charge:
    """Cost of one execution of a demand.

    ``time_s`` of each rank that does it, booked under ``component``, except for ``computation_s`` of it, which is
    booked as computation.

    ``station``: a station that ranks may share and that is busy for ``service_s`` of it, except for the fraction
    ``remote``, during which the others of its kind in the node are. ``messages`` and ``message_bytes``: of all
    ranks together. ``hit_methods``: how the hits of each cache level were computed.
    ``draws``: only if the machine states powers. ``basis``: how it was forecast, beyond closed forms.
    """

    component: str
    time_s: FloatOrArray
    counts: tuple[Count, ...] = ()
    station: str = ""
    service_s: FloatOrArray = 0.0
    messages: FloatOrArray = 0.0
    message_bytes: FloatOrArray = 0.0
    hit_methods: Mapping[str, str] | None = None
    draws: tuple[Draw, ...] = ()
    computation_s: FloatOrArray = 0.0
    remote: FloatOrArray = 0.0
    basis: tuple[str, ...] = ()


@dataclass(frozen=True)
class Occupation:
    """Bounds of the time of each rank, one execution: ``least_s``, the minimum; ``serial_s`` when nothing overlaps.

    ``station`` is busy for ``service_s`` of it, for any rank that uses it; ``remote`` as of a ``Charge``.
    """

    least_s: FloatOrArray
    serial_s: FloatOrArray
    station: str = ""
    service_s: FloatOrArray = 0.0
    remote: FloatOrArray = 0.0


class ClosedForm(Generic[D]):
    """The analytic reading of one kind of demand."""

    #: Whether the receives of its messages are demands of their own.
    received_apart = False

    def charge(self, demand: D, step: EvaluatedStep) -> Charge:
        """Time that it takes by itself, at every design point. InputError if it has no closed form."""
        raise InputError("a demand that has no closed form cannot be forecast", demand.place, allowed="simulate it")

    def charges(self, demand: D, step: EvaluatedStep) -> Iterator[tuple[EvaluatedStep, Charge]]:
        """Charges in parts, each with the step under which it is booked: for kinds that have several phases."""
        yield step, self.charge(demand, step)

    def basis(self, demand: D) -> str:
        """How it was forecast (``Result.basis``); nothing for a plain sum of closed forms."""
        return ""

    def index_shape(self, demand: D, step: EvaluatedStep, loop: IndexedLoop) -> Shape | None:
        """How its charge depends on the index of a loop; None if that is not known."""
        return None

    def operation(self, demand: D, step: EvaluatedStep, charge: Charge) -> Operation | None:
        """Its place among operations that follow one another, at one design point if all ranks are alike.

        None for work of each rank by itself. For messages, only what the kind states is known.
        """
        if charge.component != "communication":
            return None
        return Operation(step.phase, demand.label, float(charge.time_s))

    def evenly_shared_s(self, demand: D, step: EvaluatedStep) -> float | None:
        """Seconds of it if its messages share links fairly, at one design point with all ranks alike.

        None if it has not been derived.
        """
        return None

    def loaded_s(self, demand: D, step: EvaluatedStep, charge: Charge) -> FloatOrArray | None:
        """Return the seconds of it if its messages share the memory and the interfaces of their nodes.

        At every design point, all ranks alike; None if no formula is derived for it.
        """
        return None

    def occupation(self, demand: D, step: EvaluatedStep) -> Occupation:
        """Bounds of its time, for every rank of one design point; not for kinds that have ``traffic``."""
        charge = self.charge(demand, step)
        return Occupation(charge.time_s, charge.time_s, charge.station, charge.service_s, charge.remote)

    def traffic(self, demand: D, step: EvaluatedStep) -> Traffic | None:
        """Its messages, with sources and targets; None for work of a rank by itself."""
        return None

    def ordered(self, demand: D, step: EvaluatedStep) -> Ordered | None:
        """Its messages with their prices, in the order in which every rank sends and receives them.

        At one design point. None for what a rank does by itself.
        """
        return None

    def rounds_s(self, demand: D, own_s: Floats) -> float | None:
        """If no rank leaves it before the last one has come: seconds from then on.

        ``own_s`` (P,): each rank's work on its messages. None if ranks may leave it before.
        """
        return None

    def message_rows(self, demand: D, ranks: int) -> float:
        """How many messages of ``ranks`` ranks would have to be looked at one by one."""
        return ranks

    def requirements(self, demand: D, step: EvaluatedStep, counting: str) -> dict[str, FloatOrArray]:
        """Needs of each rank for one execution, by the names of ``Requirements``."""
        return {}

    def payments(self, demand: D, prices: SymbolicPrices) -> Iterator[Payment]:
        """Its time in symbols. InputError if it has no formula."""
        raise InputError("this demand has no formula", demand.place)

    def model_terms(self, demand: D) -> list[tuple[str, str]]:
        """Metrics and their formulas as text, by the cost functions of its messages."""
        return []


#: The basis of what is forecast in LogGOPS where ranks do not all do alike.
LEAST_IN_LOGGOPS = "a lower bound, since its ranks do not all do alike (LogGOPS)"
#: The basis of a forecast that is neither exact in LogGOPS nor bounded: overheads and gaps of concurrent messages.
ESTIMATE_IN_LOGGOPS = "an estimate, since it leaves out gaps between messages sent together (LogGOPS)"
#: Kind of demand -> its closed form.
CLOSED_FORMS: Registry[Any, ClosedForm[Any]] = Registry("closed form", __name__, ENTRY_POINTS)


def closed_form(demand: Demand) -> ClosedForm[Any]:
    """Return the record of its kind. InputError if there is none."""
    if type(demand) not in CLOSED_FORMS:
        raise InputError("a demand without a closed form", demand.place, value=type(demand).__name__)
    return CLOSED_FORMS[type(demand)]


def part_draws(step: EvaluatedStep, part: str, time_s: FloatOrArray) -> tuple[Draw, ...]:
    """Return the energy of a part of the machine that works for ``time_s``.

    None if the machine states no power for it.
    """
    power_w = getattr(getattr(step.machine, part), "dynamic_power_w", None)
    if power_w is None:
        return ()
    return (Draw(part, time_s * power_w, np.where(np.asarray(time_s) > 0, power_w, 0.0)),)
