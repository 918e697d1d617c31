"""The passes that make a Plan of the operations of a program, in their order.

Passes ``OF_PROGRAM`` depend on the program and on what messages cost, so that simulations with several effects may
share their results. Passes ``OF_RUN`` apply the effects. A pass with ``mechanisms`` runs if one of these is on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.effects import Mechanism, ladder
from simcodesign.generate.dependencies import with_meetings
from simcodesign.generate.loggopsim import program_in_loggopsim
from simcodesign.generate.messages.matching import matches
from simcodesign.generate.messages.rendezvous import with_rendezvous
from simcodesign.generate.messages.sharing.base import shared
from simcodesign.generate.passes.background import background_routes
from simcodesign.generate.passes.draft import Draft
from simcodesign.generate.passes.interference import slow_kernels
from simcodesign.generate.passes.randomness import apply_randomness
from simcodesign.generate.passes.visited_stations import (
    number_stations,
    queue_receives,
    route_messages,
    serve_operations,
)
from simcodesign.generate.plan import MOST_OPERATIONS, NONE, Plan
from simcodesign.generate.plan_builder import LoweredProgram, PlanBuilder
from simcodesign.generate.side_chains import dependencies_of_chains


@dataclass(frozen=True)
class Pass:
    """A step from operations to a Plan, which changes the draft."""

    run: Callable[[Draft], None]
    mechanisms: tuple[Mechanism, ...] = ()

    def acts_on(self, draft: Draft) -> bool:
        """Whether the effects ask for it."""
        return not self.mechanisms or any(one in draft.builder.on for one in self.mechanisms)


def match_messages(draft: Draft) -> None:
    """Pair sends and receives, as far as they can be before the simulation. InputError if they do not match."""
    found = matches(draft.segment, draft.rank, draft.place)
    draft.mailbox, draft.boxes, draft.tag = found.mailbox, found.boxes, found.tag


def price_receives(draft: Draft) -> None:
    """Price receives whose size is known only now. InputError if it is not."""
    draft.prices.price_receives(draft.fields, draft.rank, draft.place)


def find_dependencies(draft: Draft) -> None:
    """Find the dependencies of operations other than on the previous one in their rank."""
    draft.dependencies = draft.lowered.dependencies
    if draft.dependencies is None and draft.prices.loggops:
        draft.dependencies = program_in_loggopsim(draft.segment, draft.rank, draft.match, draft.mailbox)
    elif draft.dependencies is None and "back" in draft.fields:
        draft.dependencies = dependencies_of_chains(draft.segment, draft.rank)
    if draft.prices.loggops and np.any(draft.fields.get("polled", 0)):
        raise InputError("a part that is polled, in LogGOPS", draft.place, allowed="Hockney's model, or `polled: 0`")
    draft.dependencies, draft.fields["match"] = with_meetings(draft.dependencies, draft.kind, draft.match)


def wait_for_receivers(draft: Draft) -> None:
    """Let what comes after large messages wait until these are taken up."""
    if draft.prices.waits_for_receivers:
        several = with_rendezvous(draft.dependencies, draft.segment, draft.rank, draft.match)
        draft.dependencies, draft.taken_by = several


def vary_times(draft: Draft) -> None:
    """Give operations the factors of their ranks, of their demands and of the noise."""
    kept = None if draft.dependencies is None else draft.dependencies.without_noise
    lasts_s = None if kept is None else draft.duration_s[kept]
    draft.varied = apply_randomness(draft)
    if kept is not None:
        draft.own("duration_s")[kept] = lasts_s


def check_finite(draft: Draft) -> None:
    """Refuse times and bytes that are no numbers."""
    every = (draft.fields.get(name) for name in ("duration_s", "size_bytes", "flight_s", "gap_s"))
    if not np.isfinite(sum(_sum(part) for part in every if part is not None)):
        what = "the time or the bytes of an operation, or of all together, are too large to be a number"
        raise InputError(what, draft.place)


def follow_loggopsim(draft: Draft) -> None:
    """Take over the rules of LogGOPSim, under which messages meet their receives in queues of its own."""
    rules = None if draft.dependencies is None else draft.dependencies.loggops
    if rules is not None:
        draft.loggops = rules if draft.varied is None else draft.varied.in_loggops(rules)
        draft.mailbox, draft.boxes = None, 0


def check_polls(draft: Draft) -> None:
    """Refuse what polls cannot look at: receives that do not know their message, and kernels slowed by messages."""
    polls = None if draft.dependencies is None else draft.dependencies.polls
    if polls is None:
        return
    receives = polls.receive[polls.receive != NONE]
    if draft.mailbox is not None and np.any(draft.mailbox[receives] != NONE):
        what, allowed = "a polled part begins with a receive from anyone", "from one rank, and no `search` of receives"
        raise InputError(what, draft.place, allowed=allowed)
    accelerator = draft.builder.design_point.machine.accelerator
    if Mechanism.INTERFERENCE in draft.builder.on and accelerator is not None and accelerator.interference:
        what = "the effect interference, with parts that are polled"
        raise InputError(what, draft.place, value=accelerator.interference, allowed="no interference, or `polled: 0`")


def add_others(draft: Draft) -> None:
    """Draw the messages of other jobs."""
    builder = draft.builder
    draft.others = background_routes(builder.design_point.machine, draft.prices, builder.background)


OF_PROGRAM = (Pass(match_messages), Pass(price_receives), Pass(find_dependencies), Pass(wait_for_receivers))
OF_RUN = (
    Pass(vary_times, (Mechanism.UNEVEN_RANKS, Mechanism.VARIED_TIMES)),
    Pass(slow_kernels, (Mechanism.INTERFERENCE,)),
    Pass(check_finite),
    Pass(follow_loggopsim),
    Pass(queue_receives, (Mechanism.RECEIVE_QUEUES,)),
    Pass(check_polls),
    Pass(add_others, (Mechanism.OTHER_JOBS,)),
    Pass(serve_operations),
    Pass(route_messages),
    Pass(number_stations),
)


def drafted(lowered: LoweredProgram, builder: PlanBuilder) -> Draft:
    """Return the draft of a program, after the passes that depend on it alone.

    Raises InputError when sends and receives do not match in number or size.
    """
    draft = Draft.of(lowered, builder)
    if len(draft) > MOST_OPERATIONS:
        raise InputError("operations of a simulation", draft.place, value=len(draft), allowed=f"{MOST_OPERATIONS}")
    for one in OF_PROGRAM:
        one.run(draft)
    return draft


def finished(draft: Draft) -> Plan:
    """Return the Plan of a draft after the passes of its effects, whose messages do not share their stations yet."""
    for one in OF_RUN:
        if one.acts_on(draft):
            one.run(draft)
    return draft.as_plan()


def with_sharing(plan: Plan, point: DesignPoint, effects: Collection[str], seed: int) -> Plan:
    """Return the Plan whose messages share stations as the machine specifies, changed by the effects that do so."""
    plan = shared(plan, point.machine)
    for effect in ladder():
        if effect.name in effects and effect.change_plan is not None:
            plan = effect.change_plan(plan, point, seed)
    return plan


def _sum(values: NDArray[np.float64]) -> float:
    """Without those that are not known yet (NaN)."""
    total = float(values.sum())
    return float(np.nansum(values)) if np.isnan(total) else total
