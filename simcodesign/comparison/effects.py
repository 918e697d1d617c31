"""The ladder: a simulation with no effect, and with the effects switched on one after another."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from simcodesign.comparison.attribution import changes_of
from simcodesign.core.native.shared_library import library
from simcodesign.core.result import Result
from simcodesign.core.to_json import attributes_of
from simcodesign.core.units import format_quantity
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.effects import Mechanism, effect_named, ladder
from simcodesign.generate.lower import check_operations_fit

#: First rung of the ladder: what remains of the gap with every effect off.
WAITING = "dependencies and waiting"
#: Its cause, in words, like the causes in the records of effects.
WAITING_WORDS = "the order of operations: ranks wait for each other, or overlap what the formula adds up"


#: CPU seconds of the compiled engine for a message, and for a hop if messages wait for links (docs/speed.md: 0.74
#: million messages in 0.13 s, 17 million hops in 2.8 s); how many times as long the SimPy engine takes.
MESSAGE_S, HOP_S, SIMPY_TIMES = 0.2e-6, 0.16e-6, 100.0
#: CPU seconds of a ladder from which on a warning comes before it.
LONG_S = 60.0
#: Fewer messages never take long.
FEW_MESSAGES = 10_000
#: Effects with which messages wait for what they pass.
_AT_LINKS = frozenset((Mechanism.LINKS, Mechanism.INTERFACES, Mechanism.NODE_NETWORKS))


@dataclass(frozen=True)
class Rung:
    """One step of the ladder: the simulation with this effect and all before it."""

    effect: str
    simulation: Result
    change_s: float  # of ``Result.headline_s``, since the rung before (since the forecast, of the first)
    fraction: float  # of the whole gap, or (see ``Comparison``) of what effects add; nan when there is none
    #: Whether the effect has anything to act on in this workload on this machine; if so, it may still change nothing.
    applies: bool = True

    def json_fields(self) -> dict[str, Any]:
        """Return a row of the ladder."""
        return attributes_of(self, "effect", "applies", "change_s", "fraction", simulated_s="simulation.headline_s")


def simulations_with(
    effects: tuple[str, ...],
    simulate: Callable[[tuple[str, ...]], Result],
    point: DesignPoint,
    last_anew: bool = False,
) -> list[Result]:
    """Results of no effect, of the first of the effects, of the first two, ..., of all of them.

    An effect that has nothing to act on is not simulated: the Result before it is used, unless it is the last one,
    and that is to be simulated in any case (``last_anew``).
    """
    results = [simulate(())]
    for count, name in enumerate(effects, start=1):
        if _applies(name, results[-1], point) or (last_anew and count == len(effects)):
            results.append(simulate(effects[:count]))
        else:
            results.append(replace(results[-1], effects=effects[:count]))
    return results


def note_long_ladder(forecast: Result, effects: tuple[str, ...], point: DesignPoint, engine: str) -> None:
    """Warn before the first simulation if all of them are expected to take more than ``LONG_S`` CPU seconds.

    Raises CapacityError instead if the first one would not fit in memory.
    The expectation counts messages and hops; it leaves out queueing, computation and memory, so it is a lower estimate.
    """
    workload, machine = point.workload, point.machine
    messages = float(forecast.messages)
    if messages < FEW_MESSAGES:
        return
    hops = machine.network.topology.mean_hops()
    rungs = [known for name in effects if (known := effect_named(name)).acts_on(workload, machine)]
    if all(known.keeps_alike(workload, machine) for known in rungs):
        return  # ranks that do the same are simulated once
    passing_links = sum(
        1 for at, _ in enumerate(rungs) if any(_AT_LINKS & {*one.switches_on} for one in rungs[: at + 1])
    )
    seconds = messages * (MESSAGE_S * (1 + len(rungs)) + HOP_S * hops * passing_links)
    seconds *= 1.0 if library() is not None and engine != "simpy" else SIMPY_TIMES
    if seconds > LONG_S:
        check_operations_fit(point)
        each = f"{1 + len(rungs)} simulations of {messages:,.0f} messages"
        took = format_quantity(float(f"{seconds:.1g}"), "time")
        warnings.warn(f"the ladder takes {each}, at least about {took}; --effects selects fewer", stacklevel=4)


def rungs_of(
    forecast: Result, simulations: list[Result], effects: tuple[str, ...], point: DesignPoint
) -> tuple[Rung, ...]:
    """Change by each simulation against the previous one, and by the first against the forecast."""
    times_s = [float(simulation.headline_s) for simulation in simulations]
    changes = changes_of([float(forecast.headline_s), *times_s])
    if forecast.formulas:
        changes = [(changes[0][0], float("nan")), *changes_of(times_s)]
    return tuple(
        Rung(effect, simulation, *change, applies=bool(change[0]) or _applies(effect, simulation, point))
        for effect, simulation, change in zip((WAITING, *effects), simulations, changes, strict=True)
    )


def _applies(effect: str, simulation: Result, point: DesignPoint) -> bool:
    """Return whether there is anything for the effect to act on: in the descriptions, and in a simulation of them."""
    if effect == WAITING:
        return True
    known = effect_named(effect)
    return known.present_in(simulation) and known.acts_on(point.workload, point.machine)


def names_that_apply(ladders: Iterable[Sequence[Rung]]) -> tuple[list[str], list[str]]:
    """Return the rungs that have anything to act on in any of these ladders, and all others, in their order."""
    applies: dict[str, bool] = {}
    for rung in chain.from_iterable(ladders):
        applies[rung.effect] = applies.get(rung.effect, False) or rung.applies
    return [name for name, acts in applies.items() if acts], [name for name, acts in applies.items() if not acts]


def effect_words(effect: str) -> str:
    """Return a rung of the ladder as the cause of a difference; a name that is none stays as it is."""
    if effect == WAITING:
        return WAITING_WORDS
    return next((known.words for known in ladder() if known.name == effect), effect)
