"""The record of all closed forms of a collective algorithm (time, messages, symbols ...), and the registry of these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.even_sharing import Doubling
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts
from simcodesign.analytic.messages.node_levels import LevelCosts, NodeLevels
from simcodesign.analytic.messages.ordered_steps import Steps
from simcodesign.analytic.pipelining.succession import UNKNOWN, Succession
from simcodesign.core.errors import InputError
from simcodesign.core.registry import Registry
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.collective import ENTRY_POINTS, Collective
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.levels import Switches

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class OnNodes:
    """An algorithm that looks at which ranks share a node.

    ``cost(size_bytes, levels)``, and its messages in order, ``steps(node)``, by the node (P,) of every rank; or
    ``steps_with(switches, node)``, if they depend on which switches of the machine combine messages.
    """

    cost: Callable[[FloatOrArray, NodeLevels], LevelCosts]
    steps: Callable[[Ints], Steps]
    steps_with: Callable[[Switches, Ints], Steps] | None = None

    def steps_on(self, node: Ints, machine: Machine) -> Steps:
        """Return the messages on a machine, by the node (P,) of every rank."""
        return self.steps(node) if self.steps_with is None else self.steps_with(machine.switches, node)


@dataclass(frozen=True)
class AlgorithmForm:
    """One algorithm of one collective operation in closed form, without hops, contention and waits for late ranks.

    ``cost(size_bytes, price)``: seconds, messages and bytes of all ranks together, for any P; arrays broadcast.
    ``steps(ranks)``: senders, receivers and sizes, in order, for the ranks 0 to P - 1.
    ``messages_in_turn``, ``sizes_in_turn``: texts of what the critical path holds for P = 2^k: messages one after
    another, and what they carry together in units of ``bytes``. They are the two factors of the formula in symbols.
    ``sent_per_byte(ranks)``: bytes that a process sends on average for each byte that it contributes, as models of
    requirements in the literature count them, which call this function ``cost_function``.
    ``copies_in_turn``: text of how many blocks a rank copies to pack and unpack messages, for P = 2^k.
    ``least_in_loggops(ranks)``: where the cost is a lower bound in LogGOPS, because ranks do not all do alike.
    ``synchronises``: no rank leaves before the last one has come and has done all of its rounds.
    ``folds``: where P is no power of two, some ranks only fold in and out; the last rank takes part in all rounds.
    ``doubling``: senders and receivers in its rounds, if these are at distance 1, 2, 4, ... P/2 when P is a power of
    two.
    ``segmented(size_bytes, price, segments)``: the cost if data are passed on in ``segments`` equal parts.
    ``segmented_steps(ranks, segments)``: the messages in this case, if they are not those of ``steps`` as many times.
    ``pace_in_turn``: text of the messages that each further segment adds to the critical path, for P = 2^k; none if
    that is no multiple of a message.
    ``estimate_in_loggops``: the cost is an estimate in LogGOPS.
    ``of_sizes(sizes_bytes, price)``: the cost where bytes differ from rank to rank, (..., P).
    ``on_nodes``: the cost and the steps of an algorithm that looks at nodes; ``cost`` and ``steps`` are then those of
    ranks that each have a node for themselves.
    ``succession``: how it follows itself and others, for P that is a power of two if it ``folds``.
    """

    cost: Callable[[FloatOrArray, MessageCosts], Cost]
    steps: Callable[[int], Steps]
    messages_in_turn: str
    sizes_in_turn: str
    sent_per_byte: Callable[[FloatOrArray], FloatOrArray]
    cost_function: str = ""
    copies_in_turn: str = ""
    least_in_loggops: Callable[[FloatOrArray], NDArray[np.bool_]] | None = None
    synchronises: bool = False
    folds: bool = False
    succession: Succession = UNKNOWN
    doubling: Doubling | None = None
    segmented: Callable[[FloatOrArray, MessageCosts, FloatOrArray], Cost] | None = None
    segmented_steps: Callable[[int, int], Steps] | None = None
    pace_in_turn: str = ""
    estimate_in_loggops: bool = False
    of_sizes: Callable[[FloatOrArray, MessageCosts], Cost] | None = None
    on_nodes: OnNodes | None = None

    def steps_in(self, ranks: int, segments: int) -> tuple[Steps, int]:
        """Return the messages among ``ranks`` ranks in ``segments`` equal parts, and how often they repeat."""
        if self.segmented_steps is not None and segments > 1:
            return self.segmented_steps(ranks, segments), 1
        return self.steps(ranks), segments


#: Forms by operation and algorithm.
ALGORITHM_FORMS: Registry[tuple[str, str], AlgorithmForm] = Registry("collective algorithm", __name__, ENTRY_POINTS)


def register_algorithm_form(operation: str, algorithm: str, form: AlgorithmForm) -> None:
    """Register the closed form of an algorithm. InputError if another one has this name."""
    ALGORITHM_FORMS.add((operation, algorithm), form)


def algorithm_form_of(step: Collective) -> AlgorithmForm:
    """Return the closed form of a demand. InputError if none is registered."""
    if step.key not in ALGORITHM_FORMS:
        what = "this algorithm has no closed form, so that it cannot be forecast"
        raise InputError(what, step.place, value=f"{step.name}: {step.algorithm}", allowed="simulate it")
    return ALGORITHM_FORMS[step.key]
