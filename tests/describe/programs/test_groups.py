"""Groups of ranks against a plain search, and errors of groups with their place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import parse
from simcodesign.describe.programs.groups import Membership
from simcodesign.engine.simulate import simulate
from tests import builders

READINGS = (forecast, simulate)

COLOURS = st.lists(st.integers(-1, 4), min_size=1, max_size=40).filter(lambda colours: max(colours) >= 0)


@given(COLOURS)
def test_members_stand_in_the_order_of_their_ranks(colours: list[int]) -> None:
    groups = {c: [rank for rank, own in enumerate(colours) if own == c] for c in set(colours)}
    membership = Membership.by_colour("g", np.array(colours, float), len(colours), parse("rank"))
    for rank, colour in enumerate(colours):
        assert membership.group_rank[rank] == groups[colour].index(rank)
        assert membership.group_size[rank] == len(groups[colour])
        assert membership.present[rank] == (colour >= 0)
        numbers = np.array([(groups[c].index(r) + 1) % len(groups[c]) for r, c in enumerate(colours)])
        assert membership.rank_of(numbers)[rank] == groups[colour][numbers[rank]]
    listed = [row.tolist() for members in membership.members() for row in members]
    assert sorted(listed) == sorted(members for colour, members in groups.items() if colour >= 0)
    assert [len(row) for row in listed] == sorted(len(row) for row in listed)


def test_several_design_points_at_once_are_those_one_by_one() -> None:
    colours = np.array([np.arange(12) // 3, np.arange(12) % 5, np.zeros(12)])
    together = Membership.by_colour("g", colours, 12, parse("rank"))
    for row, one in enumerate(colours):
        alone = Membership.by_colour("g", one, 12, parse("rank"))
        assert (together.group_rank[row] == alone.group_rank).all()
        assert (together.group_size[row] == alone.group_size).all()


HEAD = "parameters: {q: {default: 4}}\ngroups:\n  row: rank // q\n  half: rank / 2\n  none: -1\n  some: where(rank < 5, 0, -1)\n"


@pytest.mark.parametrize(
    ("step", "where", "what"),
    [
        ("broadcast: {bytes: 8, group: rows}", 10, "unknown group"),
        ("broadcast: {bytes: 8, group: rank // q}", 10, "name it: groups: {NAME: rank // q}"),
        ("broadcast: {bytes: 8, group: half}", 6, "no whole number"),
        ("broadcast: {bytes: 8, group: none}", 7, "empty"),
        ("broadcast: {bytes: 8, group: row, root: q}", 10, "no rank of the group"),
        ("broadcast: {bytes: 8, group: row, root: 0.5}", 10, "no rank of the group"),
        ("broadcast: {bytes: 8, group: row, root: rank % q}", 10, "different roots"),
        ("broadcast: {bytes: 8, group: row, root: group_size - 1}", 0, ""),
        ("broadcast: {bytes: 8, root: P}", 10, "no rank of the group"),
        ("broadcast: {bytes: 8, root: rank}", 10, "different roots"),
        ("broadcast: {bytes: group_rank, group: row}", 10, "unknown name"),
        ("broadcast: {bytes: group_size}", 10, "unknown name"),
        ("allreduce: {bytes: 8, root: 1}", 10, "root"),
        ("exchange: {pattern: halo1d, bytes: 8, grid: [3], group: row}", 10, "does not hold"),
    ],
)
def test_bad_groups_and_roots_are_errors_of_both_readings_with_their_line(step: str, where: int, what: str) -> None:
    machine = builders.machine(builders.network(64, startup_s=1.0))
    for reading in READINGS:
        if not what:
            reading(builders.workload(f"- {step}\n", HEAD), machine, {"P": 12})
            continue
        with pytest.raises(InputError, match=what) as caught:
            reading(builders.workload(f"- {step}\n", HEAD), machine, {"P": 12})
        assert caught.value.place is not None
        assert caught.value.place.line == where


@pytest.mark.parametrize(
    ("step", "what"),
    [
        ("send: {to: group_rank, bytes: 8, group: row}", "not another rank"),
        ("send: {to: 7, bytes: 8, group: row}", "not another rank"),
        ("send: {to: 0, bytes: 8, group: some, when: group_rank > 3}", ""),
    ],
)
def test_peers_are_ranks_of_the_group(step: str, what: str) -> None:
    program = f"- {step}\n- receive: {{from: 4, group: some, when: group_rank == 0}}\n"
    machine = builders.machine(builders.network(64, startup_s=1.0))
    for reading in READINGS:
        if not what:
            assert reading(builders.workload(program, HEAD), machine, {"P": 12}).messages == 1
            continue
        with pytest.raises(InputError, match=what):
            reading(builders.workload(program, HEAD), machine, {"P": 12})


def test_names_of_groups_are_reserved_where_there_are_groups() -> None:
    with pytest.raises(InputError, match="group_size is a reserved name"):
        builders.workload("[barrier: {}]", "parameters: {group_size: {default: 1}}\ngroups: {a: rank}\n")
    builders.workload("[barrier: {}]", "parameters: {group_size: {default: 1}}\n")
