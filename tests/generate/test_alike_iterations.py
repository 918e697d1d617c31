"""Loops with an index: iterations that do the same are lowered once, and give the Plan of a lowering of each.

The oracle is the lowering of every iteration, which sees no two as alike.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from textwrap import indent
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from simcodesign.generate import program_lowering
from simcodesign.generate.lower import Plans
from simcodesign.generate.plan import DemandOrder, Plan
from simcodesign.generate.program_lowering import ProgramLowering
from tests.builders import bind, read_machine, workload

MACHINE = (
    "simcodesign: 1\nname: m\nnodes: 4\nprocessor: {rate: 1 GFLOP/s}\n"
    "network: {topology: {kind: crossbar}, startup: 1 us, bandwidth: 1 GB/s}\n"
    "accelerator: {count: 1, rate: 3 GFLOP/s, launch: 1 us, memory: {bandwidth: 1 GB/s}}\n"
)
HEAD = 'equations: {half: r % 2, third: (r + rank) % 3, late: r > 4}\ngroups: {pairs: "where(r % 3, rank // 2, -1)"}\n'
EFFECTS = ("links", "accelerators", "noise")
#: Steps with and without the index, with ranks, groups, starts and loops within the loop.
STEPS = (
    "- compute: {flops: 0.1*(1 + half)*1e6}",
    "- compute: {flops: 1e5/3, when: third}",
    "- kernel: {flops: 1e6*(0.1 + late), bytes: 7e5}",
    "- allreduce: {bytes: 1000 + 24*half}",
    "- allreduce: {bytes: 1000, group: pairs}",
    "- barrier: {}",
    "- {start: {allreduce: {bytes: 8*half + 8}}, as: sum}\n- compute: {flops: 1e6}\n- wait: sum",
    "- {start: {send: {to: (rank + 1) % P, bytes: 64, when: half}}, as: out}\n"
    "- {start: {receive: {from: (rank + P - 1) % P, when: half}}, as: in}\n- wait: [out, in]",
    "- repeat: late + 1\n  do: [{compute: {flops: 1e4*(1 + half)/3}}]",
    "- repeat: 2\n  index: j\n  do: [{compute: {flops: 1e4*(1 + half)}}]",
    "- repeat: 2\n  index: j\n  do: [{compute: {flops: 1e4*(r + j)}}]",
    "- allreduce: {bytes: group_size*(1 + half), group: pairs}",
    "- compute: {flops: 1e3*r}",
)


def loop(steps: list[str], times: int) -> Workload:
    """A loop of these steps, with its index r; the compute before it has no part in it."""
    return workload(
        f"- compute: {{flops: 1}}\n- repeat: {times}\n  index: r\n  do:\n{indent(chr(10).join(steps), '  ')}\n", HEAD
    )


def plan_of(load: Workload, every_rank: bool) -> Plan:
    return Plans(bind(load, read_machine(MACHINE), {"P": 4}), every_rank=every_rank).plan(EFFECTS)


def parts(of: Any) -> Any:
    """All values of a Plan, to be compared; of its demands, those in their order and the operations that every rank has of each.

    A demand may have several variants that are alike.
    """
    if isinstance(of, DemandOrder):
        return [(int(of.demand[turn]), np.broadcast_to(of.counts[turn], 4).tolist()) for turn in of.turns]
    if is_dataclass(of):
        return {field.name: parts(getattr(of, field.name)) for field in fields(of)}
    return (of.dtype, of.shape, of.tobytes()) if isinstance(of, np.ndarray) else of


def lowered_anew(load: Workload, every_rank: bool) -> Plan:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(program_lowering, "first_alike", lambda loop, _: [*range(int(loop.repeat))])
        return plan_of(load, every_rank)


@given(steps=st.lists(st.sampled_from(STEPS), min_size=1, max_size=4, unique=True), times=st.integers(0, 9))
def test_the_plan_is_that_of_every_iteration(steps: list[str], times: int) -> None:
    """All arrays, and the totals, whose sums have their order, to the last bit."""
    load = loop(steps, times)
    for every_rank in (True, False):
        found, expected = parts(plan_of(load, every_rank)), parts(lowered_anew(load, every_rank))
        for name, values in expected.items():
            assert found[name] == values, name


@pytest.mark.parametrize(
    ("step", "distinct"),
    [
        ("- compute: {flops: 1 + half}", 2),
        ("- compute: {flops: 1, when: third}", 3),
        ("- allreduce: {bytes: 8, group: pairs}", 2),
        ("- compute: {flops: r}", 9),
        ("- compute: {flops: r // 4}", 3),
        ("- repeat: 2\n  index: j\n  do: [{compute: {flops: r % 2 + j}}]", 9),
    ],
)
def test_how_many_iterations_are_lowered(monkeypatch: pytest.MonkeyPatch, step: str, distinct: int) -> None:
    lowered, block = [], ProgramLowering._block

    def counted(self: ProgramLowering, one: Any, *rest: Any) -> Any:
        lowered.append(one.block.index is None and "r" in one.evaluation.names and "j" not in one.evaluation.names)
        return block(self, one, *rest)

    monkeypatch.setattr(ProgramLowering, "_block", counted)
    simulate(loop([step], 9), read_machine(MACHINE), {"P": 4}, effects="none")
    assert sum(lowered) == distinct


def test_random_times_are_drawn_for_every_iteration() -> None:
    """From streams of its own, as without the loop."""
    load = loop(["- compute: {flops: 1e6*(1 + 0*r), varies: exponential}"], 8)
    assert parts(plan_of(load, True)) == parts(lowered_anew(load, True))
