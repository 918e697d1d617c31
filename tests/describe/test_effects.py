"""The names of the effects."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.describe.effects import chosen_effects, effect_names

#: As the design has it.
LADDER = (
    *("hops", "links", "interfaces", "disks", "memory", "accelerators", "storage", "conflicts", "caches"),
    *("imbalance", "noise", "background", "failures"),
)


@given(st.lists(st.sampled_from(effect_names())))
def test_the_order_is_that_of_the_ladder(names: list[str]) -> None:
    wanted = {*names, *(("links",) if "background" in names else ())}
    wanted |= {"hops"} if "links" in wanted else set()
    expected = tuple(name for name in LADDER if name in wanted)
    for written in (names, tuple(names), set(names), ",".join(names), " ".join(names), ", ".join(names)):
        assert chosen_effects(written) == expected


def test_all_and_none() -> None:
    assert chosen_effects("all") == effect_names()
    assert chosen_effects("none") == chosen_effects("") == chosen_effects([]) == ()


@pytest.mark.parametrize("effects", ["link", "hops;links", ["hops", 5], [None], 5, "all,none"])
def test_others_are_refused(effects: object) -> None:
    with pytest.raises(InputError, match="no such effect"):
        chosen_effects(effects)  # type: ignore[arg-type]
