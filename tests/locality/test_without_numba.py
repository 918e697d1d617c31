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


@pytest.mark.parametrize("program", [HIERARCHY], ids=["hierarchy"])
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
