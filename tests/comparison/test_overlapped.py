"""Components that are mostly off the critical path, and interfaces that share one link."""

from __future__ import annotations

from dataclasses import replace

import pytest

import simcodesign as sc
from tests.command_line import command

#: Work beside a broadcast of 64 bytes, which takes four rounds of 20.64 us, and by the forecast 32/3 hops of 1 us in each:
#: the mean of the mesh; 16 ranks of one row are nearer to each other.
BESIDE = {
    "name": "beside",
    "parameters": {"work": {"default": 1.5e6}},
    "program": [
        {"start": {"broadcast": {"bytes": 64}}, "as": "b"},
        {"compute": {"flops": "work"}},
        {"wait": "b"},
    ],
}


@pytest.mark.parametrize(("work_s", "overlapped"), [(110e-6, ("communication",)), (10e-6, ())])
def test_what_ranks_do_beside_something_else(work_s: float, overlapped: tuple[str, ...]) -> None:
    machine = sc.Machine.load("mesh-256")
    work = work_s * machine.processor.rate_flop_per_s
    comparison = sc.compare(sc.Workload.load(BESIDE), machine, {"P": 16, "work": work}, effects="hops")
    assert comparison.forecast.components["communication"] == pytest.approx(4 * (20.64e-6 + 32e-6 / 3))
    assert comparison.overlapped == overlapped
    assert comparison.to_dict()["overlapped"] == list(overlapped)
    if overlapped:
        assert comparison.simulation.makespan_s == pytest.approx(work_s, rel=0.1)


@pytest.mark.parametrize(
    ("name", "changes", "shared"),
    [
        ("fat-tree-cluster", {"network.interfaces": {"count": 2}}, True),
        ("fat-tree-cluster", {"network.rails": 2}, False),
        ("crossbar-16", {"network.interfaces": {"count": 2}}, False),
    ],
)
def test_interfaces_that_share_the_link_of_a_node_are_named(
    name: str, changes: dict[str, object], shared: bool
) -> None:
    """On a crossbar a node has a link to each other node."""
    machine = sc.Machine.load(name, changes)
    words = sc.compare("burst", machine, {"P": 4}, effects="links,interfaces").assumptions["interfaces"]
    assert ("all on the one link" in words) == shared


def test_a_phase_that_is_mostly_off_the_critical_path() -> None:
    """A reduction to rank 0 takes log2(8) = 3 rounds; rank 1 sends once and then works, so that the critical path, its
    own, has one round of them. The forecast has it too; the sum of closed forms has three."""
    steps = {
        "name": "leaf",
        "program": [
            {"phase": "sum", "do": [{"reduce": {"bytes": 64, "algorithm": "binomial"}}]},
            {"phase": "work", "do": [{"compute": {"flops": 1e6, "when": "rank == 1"}}]},
        ],
    }
    machine = sc.Machine.load("crossbar-16", {"network.sends": "blocking", "network.distance": "none"})
    comparison = sc.compare(sc.Workload.load(steps), machine, {"P": 8}, effects="none")
    rows = comparison.phase_rows()["sum"]
    assert rows["forecast_s"] == pytest.approx(rows["simulated_s"])
    summed = sc.forecast(sc.Workload.load(steps), machine, {"P": 8}, longest_path=False)
    assert sum(summed.phases["sum"].values()) == pytest.approx(3 * rows["simulated_s"])
    with_sum = replace(comparison, forecast=summed)
    assert with_sum.overlapped_phases == ("sum",)
    assert with_sum.to_dict()["overlapped_phases"] == ["sum"]


@pytest.mark.parametrize(
    ("machine", "more", "noted"),
    [
        ("fat-tree-cluster", (), True),
        ("fat-tree-cluster", ("network.rails=2",), False),
        ("fat-tree-cluster", ("network.link_bandwidth=7.9GB/s",), True),
        ("fat-tree-cluster", ("network.link_bandwidth=8GB/s",), False),
        ("torus-cluster", (), False),
        ("crossbar-16", (), False),
    ],
)
def test_interfaces_that_add_no_links_are_noted(
    capfd: pytest.CaptureFixture[str], machine: str, more: tuple[str, ...], noted: bool
) -> None:
    """A node of a torus has several links, and one link may be as fast as two interfaces of 4 GB/s."""
    settings = ("network.interfaces.count=2", *more)
    ran = command(capfd, "forecast")(
        "burst", machine, "-P", "8", *(word for one in settings for word in ("--set", one))
    )
    assert ran.status == 0
    assert ("they add no links" in ran.err) == noted
    shown = command(capfd, "show")(f"{machine} with {', '.join(settings)}")
    assert shown.status == 0
    assert ("they add no links" in shown.err) == noted
