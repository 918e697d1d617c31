"""The names of the effects."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.effects import chosen_effects, effect_names, random_effects

#: As the design has it.
LADDER = (
    *(
        "hops",
        "links",
        "interfaces",
        "node",
        "matching",
        "disks",
        "memory",
        "accelerators",
        "storage",
        "conflicts",
        "caches",
    ),
    *("interference", "imbalance", "noise", "background", "failures"),
)


@given(st.lists(st.sampled_from(effect_names())))
def test_the_order_is_that_of_the_ladder(names: list[str]) -> None:
    wanted = {*names, *(("links",) if "background" in names else ())}
    wanted |= {"hops"} if wanted & {"links", "node"} else set()
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


#: Messages only, in all kinds of demands that have nothing else.
MESSAGES = [
    {"exchange": {"pattern": "halo2d", "bytes": 1024}},
    {"allreduce": {"bytes": 4096, "algorithm": "ring"}},
    {"barrier": {}},
    {"start": {"allreduce": {"bytes": 8, "algorithm": "ring"}}, "as": "sum"},
    {"wait": "sum"},
]


@pytest.mark.parametrize(
    ("more", "changes", "acts"),
    [
        ([], {}, False),
        ([], {"reduction": "1 GB/s"}, True),
        ([{"compute": {"seconds": 1e-6}}], {}, True),
    ],
)
def test_noise_acts_where_ranks_compute(more: list[object], changes: dict[str, str], acts: bool) -> None:
    """The machine has noise of computations alone; seeds change a simulation where there are any."""
    workload = sc.Workload.load({"name": "messages", "program": [*MESSAGES, *more]})
    network = {"startup": "1 us", "bandwidth": "1 GB/s", "topology": {"kind": "crossbar"}, **changes}
    machine = sc.Machine.load(
        {"network": network, "name": "noisy", "nodes": 4, "processor": {"rate": "1 GFLOP/s"}, "noise": "5 %"}
    )
    one, other = (sc.simulate(workload, machine, {"P": 4}, seed=seed) for seed in (1, 2))
    assert (one.makespan_s != other.makespan_s) == acts
    assert random_effects(workload, machine, effect_names()) == (("noise",) if acts else ())
    several = sc.compare(workload, machine, vary={"P": [2.0, 4.0]}, replications=2)
    assert [len(candidate.times_s) for candidate in several.comparisons] == [2 if acts else 1] * 2
    ladder = {rung.effect: rung for rung in several.comparisons[1].comparison.rungs}
    assert ladder["noise"].applies == acts
