"""The effects that a closed form leaves out: the switches of a simulation, in the order of the ladder.

``conflicts``: in an ``execute`` block, a use of a resource begins when all those before it that it conflicts with are
done, one after another as they are written; the closed form takes the heaviest set of uses that all conflict. It
stands before the effects that change the work itself, since the bounds still hold for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from simcodesign.core.errors import InputError, nearest

EFFECTS = ("hops", "links", "interfaces", "disks", "memory", "conflicts", "caches", "imbalance", "noise")


def chosen_effects(effects: str | Collection[str]) -> tuple[str, ...]:
    """The effects of ``"all"``, ``"none"``, a list in one text or a collection, in the order of the ladder.

    ``links`` brings ``hops`` with it: a message that queues for the links of its route also takes that route.

    Raises InputError for an unknown one.
    """
    if isinstance(effects, str):
        named = {"all": EFFECTS, "none": ()}.get(effects)
        effects = named if named is not None else effects.replace(",", " ").split()
    for name in effects if isinstance(effects, Iterable) else [effects]:
        if not isinstance(name, str) or name not in EFFECTS:
            allowed = f"{nearest(str(name)[:100], EFFECTS)}; or all, or none"
            raise InputError("no such effect", value=name, allowed=allowed)
    implied = {"hops"} if "links" in effects else set()
    return tuple(name for name in EFFECTS if name in {*effects, *implied})
