"""The functions in C under AddressSanitizer and UndefinedBehaviorSanitizer: no access outside of an array, no overflow."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from simcodesign.core.native.compiler import FLAGS, MAIN_SOURCE, POSIX_FLAGS
from tests import examples

pytestmark = pytest.mark.thorough

SANITIZERS = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
#: Random programs in both models of messages, then shipped ones with every effect: links in turn, fair shares, packets,
#: routes that adapt, other jobs, failures, disks, memory, storage, streams.
PROGRAM = """
import sys
from pathlib import Path
import simcodesign.core.native.shared_library as native
native.up_to_date_library = lambda *_: Path(sys.argv[1])
import simcodesign as sc
from tests.random_programs import random_case
for seed in range(int(sys.argv[2])):
    for model in ("hockney", "loggop"):
        workload, machine, ranks = random_case(seed, model)
        sc.simulate(workload, machine, {"P": ranks}, effects="all" if seed % 2 else "none", engine="compiled")
PAIRS = "jacobi mesh-256, burst mesh-256, transpose torus-cluster, stencil xeon-cluster, cg-iteration nvl72-cluster, "
PAIRS += "jacobi loggop-64, sweep3d packet-torus, transpose dragonfly-1056, jacobi failing-torus, "
PAIRS += "transpose forwarding-mesh, burst slim-fly-200, seismic power-challenge, disk-queue power-challenge"
for pair in PAIRS.split(","):
    result = sc.simulate(*pair.split(), {"P": 16}, effects="all", engine="compiled")
    assert result.engine == "compiled"
print("done")
"""
#: A write behind the end of an array of NumPy.
PLANTED = "void plant(double *array, long at); void plant(double *array, long at) { array[at] = 1.0; }"
CALL = "import ctypes, sys, numpy as np; x = np.zeros(8); lib = ctypes.CDLL(sys.argv[1]); lib.plant(x.ctypes, ctypes.c_long(8))"


def compiled(source: Path, target: Path) -> Path:
    """The library of a source with the sanitizers in it. Skips where gcc, or its sanitizers, are not installed."""
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("no gcc")
    command = [gcc, *(flag for flag in FLAGS if flag != "-fvisibility=hidden" and flag != "-O2"), *SANITIZERS]
    done = subprocess.run(
        [*command, "-o", str(target), str(source), *POSIX_FLAGS], capture_output=True, text=True, check=False
    )
    if "cannot find" in done.stderr:
        pytest.skip("no libraries of the sanitizers")
    assert done.returncode == 0, done.stderr
    return target


def sanitized(program: str, library: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program in Python whose arrays have guarded ends."""
    names = [
        subprocess.run(
            ["gcc", f"-print-file-name={name}.so"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in ("libasan", "libubsan")
    ]
    settings = {"LD_PRELOAD": ":".join(names), "PYTHONMALLOC": "malloc", "ASAN_OPTIONS": "detect_leaks=0"}
    command = [sys.executable, "-c", program, str(library), *arguments]
    return subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=False)


def test_a_planted_error_is_found(tmp_path: Path) -> None:
    source = tmp_path / "planted.c"
    source.write_text(PLANTED)
    found = sanitized(CALL, compiled(source, tmp_path / "planted.so"))
    assert found.returncode != 0
    assert "heap-buffer-overflow" in found.stderr


#: Caches of every kind, GOAL files that are cut and damaged, traces of text, streams with a profile.
FILES_AND_TRACES = """
import random, sys, tempfile
from pathlib import Path
import simcodesign.core.native.shared_library as native
native.up_to_date_library = lambda *_: Path(sys.argv[1])
import numpy as np
from simcodesign.core.errors import InputError
from simcodesign.describe.goal.format import read_goal, write_goal
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hierarchy.counts import INCLUSIONS, Policy
from simcodesign.locality.hierarchy.prefetch import sequential_share
from simcodesign.locality.hierarchy.shared import SharedHierarchy
from simcodesign.locality.hierarchy.simulate import lru_hits, simulator_of
from simcodesign.locality.traces.trace import Accesses, ArrayTrace
from tests.describe.goal.test_goal import EXAMPLE
draw = random.Random(1)
goal = Path(tempfile.mkdtemp(), "a.goal")
for case in range(int(sys.argv[2])):
    text = EXAMPLE[: case % len(EXAMPLE)] if case % 2 else EXAMPLE
    for _ in range(draw.randrange(3)):
        at = draw.randrange(len(text) + 1)
        text = text[:at] + draw.choice(["/*", "//", "rank 0 {", "}", "tag -1", "l9", "999999999999999999999", "-"]) + text[at:]
    goal.write_text(text)
    try:
        write_goal(read_goal(goal), goal)
    except InputError:
        pass
numbers = np.random.default_rng(3)
for ways in ((2, 4, None), (None, 8, 64), (3, 5, 16)):
    levels = [CacheGeometry(64 * lines, 64, way) for lines, way in zip((30, 120, 960), ways)]
    for policy in [Policy(inclusion, allocate) for inclusion in INCLUSIONS for allocate in (True, False)]:
        simulator = simulator_of(levels, policy)
        kinds = numbers.integers(0, 4, 3000).astype(np.uint8)
        simulator.run(Accesses(numbers.integers(0, 1 << 17, 3000, np.uint64), kinds))
        simulator.run(Accesses(numbers.integers(0, 1 << 17, 3000, np.uint64)))
        simulator.counts()
    shared = SharedHierarchy(levels, np.array([[0, 1], [0, 1], [0, 0]]), 2, [(0, 1 << 17)] * 2)
    shared.run([ArrayTrace(numbers.integers(0, 1 << 17, 2000, np.uint64)) for _ in range(2)])
    shared.counts()
print(lru_hits(np.arange(5000) * 64 % 40000, 100)[1] > 0, sequential_share(ArrayTrace(np.arange(4000) * 64), 64, 8, 4) > 0.9)
"""


def test_files_and_traces(tmp_path: Path) -> None:
    library = compiled(MAIN_SOURCE, tmp_path / "all.so")
    done = sanitized(FILES_AND_TRACES, library, str(examples(400)))
    assert (done.returncode, done.stdout) == (0, "True True\n"), done.stderr[-3000:]


def test_simulations(tmp_path: Path) -> None:
    library = compiled(MAIN_SOURCE, tmp_path / "engine.so")
    done = sanitized(PROGRAM, library, str(examples(20)))
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-3000:]
