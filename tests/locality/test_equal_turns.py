"""Loops whose turns repeat their stack distances: what is counted of some turns, compared with all accesses counted."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from simcodesign.locality.stack.distances import stack_profile
from simcodesign.locality.streams.equal_turns import repeated
from simcodesign.locality.streams.kernels import kernel_trace
from simcodesign.locality.streams.loop_nest import Access, Loop, Node
from simcodesign.locality.traces.trace import LOAD, STORE, Accesses, Repeated, Trace, read_all

KERNELS = [
    ("stencil", {"n": 24, "rows": 60}),
    ("stencil", {"n": 19, "rows": 80, "centre": False}),
    ("stencil", {"n": 7, "sweeps": 12}),
    ("matmul", {"n": 24}),
    ("matmul", {"n": 21, "count_c": False}),
    ("blocked_matmul", {"n": 24, "b": 2, "count_c": "accumulator"}),
    ("triad", {"n": 300}),
    ("triad", {"n": 41, "repeats": 5, "element_bytes": 12}),
]


@pytest.mark.parametrize("line_bytes", [8, 64, 256])
@pytest.mark.parametrize(("name", "sizes"), KERNELS)
def test_kernels_equal_their_accesses(name: str, sizes: dict[str, Any], line_bytes: int) -> None:
    trace = kernel_trace(name, **sizes)
    assert profile_of(trace, line_bytes) == profile_of(read_all(trace).address, line_bytes)


@pytest.mark.parametrize(("name", "sizes"), KERNELS[:3])
def test_few_turns_are_counted(name: str, sizes: dict[str, Any]) -> None:
    """What this saves: an error in its conditions that let every loop be counted whole would go unseen else."""
    trace = kernel_trace(name, **sizes)
    parts = trace.repeated(64)
    assert parts is not None
    assert sum(len(chunk) for part in parts[:3] for chunk in part) < trace.accesses / 2


@pytest.mark.parametrize("seed", range(60))
def test_random_nests_equal_mattsons_stack(seed: int) -> None:
    """Arrays may share lines here, be accessed more than once in a turn, and stay where they are."""
    draw = random.Random(seed)
    arrays = draw.randint(1, 3)
    loop = nest(draw, 0, arrays, draw.choice([40, 200, 4096]))
    line_bytes = draw.choice([8, 16, 64])
    trace = OfLoop(loop)
    assert profile_of(trace, line_bytes) == by_mattson(read_all(trace).address, line_bytes)


def test_most_random_nests_repeat() -> None:
    """The test above looks at what repeats, and at what does not."""
    draws = [random.Random(seed) for seed in range(60)]
    nests = [nest(draw, 0, draw.randint(1, 3), draw.choice([40, 200, 4096])) for draw in draws]
    repeat = [repeated(one, draw.choice([8, 16, 64])) is not None for one, draw in zip(nests, draws, strict=True)]
    assert 15 < sum(repeat) < 55


@pytest.mark.parametrize("kernel", ["stencil", "triad"])
def test_stores_are_those_of_the_accesses(kernel: str) -> None:
    trace = kernel_trace(kernel, n=9)
    assert trace.stores == np.count_nonzero(read_all(trace).kind == STORE)


class OfLoop(Trace):
    """The stream of one loop."""

    name = "loop"

    def __init__(self, loop: Loop) -> None:
        self.loop = loop

    def chunks(self, most: int = 1 << 20) -> Any:
        return self.loop.blocks(most)

    def repeated(self, line_bytes: int) -> Repeated | None:
        return repeated(self.loop, line_bytes)


def nest(draw: random.Random, depth: int, arrays: int, apart: int) -> Loop:
    """A loop of many turns around loops and accesses, with arrays that begin ``apart`` bytes after one another."""
    steps = tuple(draw.choice([0, 4, 8, 24, 64]) for _ in range(arrays))
    body: list[Node] = []
    for _ in range(draw.randint(1, 3)):
        if depth < 2 and draw.random() < 0.4:
            body.append(nest(draw, depth + 1, arrays, apart))
        else:
            array = draw.randrange(arrays)
            address = (1 << 16) + array * apart + draw.choice([0, 4, 8, 40])
            body.append(Access(array, address, draw.choice([LOAD, STORE])))
    turns = draw.randint(20, 50) if depth == 0 else draw.randint(1, 4)
    return Loop(turns, steps, tuple(body))


def profile_of(trace: Any, line_bytes: int) -> tuple[dict[int, float], float]:
    profile = stack_profile(trace, line_bytes)
    return dict(zip(profile.distance.tolist(), profile.count.tolist(), strict=True)), profile.cold


def by_mattson(address: Accesses | Any, line_bytes: int) -> tuple[dict[int, float], float]:
    """The stack written out: what was used last is in front."""
    stack: list[int] = []
    found: Counter[int] = Counter()
    for key in (int(one) // line_bytes for one in address):
        if key in stack:
            found[stack.index(key)] += 1
            stack.remove(key)
        else:
            found[-1] += 1
        stack.insert(0, key)
    cold = found.pop(-1, 0)
    return dict(found), cold
