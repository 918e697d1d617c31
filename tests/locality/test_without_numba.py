"""Where Numba is not installed the same functions run as plain Python, slowly: compared with the oracles."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests import ROOT

PROLOGUE = """
import sys
sys.modules["numba"] = None
import numpy as np
from simcodesign.core.jit import HAVE_NUMBA
assert not HAVE_NUMBA
rng = np.random.default_rng(3)
"""

STACK = """
from simcodesign.locality.stack.distances import reuse_distances, stack_distances, stack_profile
from simcodesign.locality.profile import StackDistanceProfile
from tests.oracles.mattson import mattson_distances, reuse_distances_by_dict
for first, most in ((0, 3), (0, 300), (2**64 - 300, 300), (0, 2**62), (5, 50)):
    for line_bytes in (1, 8, 64, 2**62):
        address = rng.integers(0, most, 150, np.uint64) + np.uint64(first)
        keys = address // np.uint64(line_bytes)
        expected = mattson_distances(keys)
        assert (stack_distances(address, line_bytes) == expected).all()
        assert (reuse_distances(address, line_bytes) == reuse_distances_by_dict(keys)).all()
        profile, counted = stack_profile(address, line_bytes), StackDistanceProfile.from_distances(expected, line_bytes)
        assert (profile.distance == counted.distance).all() and (profile.count == counted.count).all()
        assert profile.cold == counted.cold
"""

HIERARCHY = """
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hierarchy.counts import INCLUSIONS, Policy
from simcodesign.locality.hierarchy.simulate import lru_hits, simulator_of
from simcodesign.locality.traces.trace import Accesses
from tests.oracles.hierarchy_model import HierarchyModel
assert lru_hits([0, 64, 0, 128, 64], 2) == (1, 4)
levels = [CacheGeometry(256, 64, 2), CacheGeometry(1024, 64, 4), CacheGeometry(2048, 64)]
for policy in [Policy(inclusion, allocate) for inclusion in INCLUSIONS for allocate in (True, False)]:
    accesses = Accesses(rng.integers(0, 6000, 400, np.uint64), rng.integers(0, 4, 400).astype(np.uint8))
    simulator, model = simulator_of(levels, policy), HierarchyModel(levels, policy)
    simulator.run(accesses), model.run(accesses)
    assert simulator.counts() == model.counts()
"""


@pytest.mark.parametrize("program", [STACK, HIERARCHY], ids=["stack", "hierarchy"])
@pytest.mark.thorough
def test_the_answers_are_the_same(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROLOGUE + program],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
