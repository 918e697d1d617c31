"""Estimates of memory against measured peaks, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="peaks of the resident set are measured on Linux"
)

#: Runs a small case, then the case: prints the estimate, and the peak above what the process had before.
CHILD = r"""
import contextlib, gc, json, os, sys
from simcodesign.cli.app import main
from simcodesign.engine import memory_estimate, selection
from simcodesign.generate import plan_size as memory
common, small, case = (text.split() for text in sys.argv[1:])
estimates = []
def note(what, needed_bytes, place, allowed=None):
    estimates.append(needed_bytes)
selection.check_memory = memory_estimate.check_memory = memory.check_memory = note
def status(key):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) * 1024
with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
    assert main([*common, *small]) == 0
    gc.collect()
    estimates.clear()
    open("/proc/self/clear_refs", "w").write("5")  # the peak begins anew
    before = status("VmRSS")
    assert main([*common, *case]) == 0
print(json.dumps([max(estimates), status("VmHWM") - before]))
"""
PROGRAMS = """import simcodesign as sc


@sc.program
def ring(rank, size, *, n=100):
    for step in range(int(n)):
        yield sc.rank.compute(flops=1e6)
        yield sc.rank.send((rank + 1) % size, bytes=100)
        yield sc.rank.receive((rank - 1) % size)


@sc.program
def started(rank, size, *, n=100):
    for step in range(int(n)):
        one = yield sc.rank.start(sc.rank.receive((rank - 1) % size))
        other = yield sc.rank.start(sc.rank.send((rank + 1) % size, bytes=100 + step))
        yield sc.rank.compute(flops=1e6 + step)
        yield sc.rank.wait(one, other)
"""
FAIR = """simcodesign: 1
name: fair
nodes: 256
processor: {rate: 1 GFLOP/s}
disk: {read_startup: 1 ms, write_startup: 1 ms, per_byte: 1 ns/B}
network: {sends: blocking, startup: 2 us, bandwidth: 1 GB/s, sharing: max_min, topology: {kind: mesh, shape: [16, 16]}}
"""
FT = "simulate npb-ft slim-fly-200 --effects"
JACOBI, OF_JACOBI = "simulate jacobi torus-cluster --effects", "--set P=8 --set sweeps=2"
#: What is simulated, with what in a small case first, and in the measured one.
CASES = {
    "simpy": (f"{JACOBI} none --engine simpy", OF_JACOBI, "--set P=64 --set sweeps=150"),
    "simpy-links": (f"{JACOBI} links --engine simpy", OF_JACOBI, "--set P=64 --set sweeps=120"),
    "simpy-interfaces": (f"{JACOBI} links,interfaces,disks --engine simpy", OF_JACOBI, "--set P=64 --set sweeps=120"),
    "simpy-timeline": (f"{JACOBI} links --engine simpy --write OUT.json", OF_JACOBI, "--set P=64 --set sweeps=60"),
    "simpy-events": (f"{JACOBI} links --engine simpy --write events:-", OF_JACOBI, "--set P=64 --set sweeps=30"),
    "simpy-gantt": (f"{JACOBI} none --engine simpy --write gantt:OUT.png", OF_JACOBI, "--set P=64 --set sweeps=8"),
    "compiled": (f"{JACOBI} none --engine compiled", OF_JACOBI, "--set P=256 --set sweeps=400"),
    "compiled-links": (f"{JACOBI} links --engine compiled", OF_JACOBI, "--set P=256 --set sweeps=300"),
    "compiled-timeline": (
        f"{JACOBI} links --engine compiled --write OUT.json",
        OF_JACOBI,
        "--set P=64 --set sweeps=80",
    ),
    "python-compiled": (
        "simulate PROGRAMS:ring torus-cluster --effects links --engine compiled",
        "--set P=8 --set n=5",
        "--set P=64 --set n=4000",
    ),
    "python-simpy": (
        "simulate PROGRAMS:ring torus-cluster --effects none --engine simpy",
        "--set P=8 --set n=5",
        "--set P=64 --set n=1000",
    ),
    "python-started": (
        "simulate PROGRAMS:started torus-cluster --effects none --engine simpy",
        "--set P=8 --set n=5",
        "--set P=64 --set n=300",
    ),
    "packets": (
        "simulate burst packet-torus --effects links --engine simpy",
        "--set P=4",
        "--set P=64 --set size=524288",
    ),
    "routes": ("simulate burst dragonfly-1056 --effects links --engine compiled", "--set P=4", "--set P=1024"),
    "effects": (
        "simulate jacobi xeon-cluster --effects links,interfaces,disks,memory,imbalance,noise --engine simpy",
        "--set P=8 --set sweeps=2",
        "--set P=96 --set sweeps=100",
    ),
    "python-links": (
        "simulate PROGRAMS:ring slim-fly-200 --effects links --engine simpy",
        "--set P=8 --set n=5",
        "--set P=100 --set n=500",
    ),
    "python-timeline": (
        "simulate PROGRAMS:ring slim-fly-200 --effects links --engine compiled --write OUT.json",
        "--set P=8 --set n=5",
        "--set P=100 --set n=800",
    ),
    "ft-timeline": (f"{FT} links --engine compiled --write OUT.json.gz", "--set P=4", "--set P=128"),
    "ft-events": (f"{FT} none --engine compiled --write events:-", "--set P=4", "--set P=64"),
    "ft-gantt": (f"{FT} none --engine compiled --write gantt:OUT.svg", "--set P=4", "--set P=32"),
    "burst-gantt": (
        "simulate burst mesh-256 --effects links --engine compiled --write gantt:OUT.png",
        "--set P=4",
        "--set P=64",
    ),
    "burst": ("simulate burst mesh-256 --effects links --engine simpy", "--set P=4", "--set P=128"),
    "compiled-loggops": (
        "simulate jacobi loggop-64 --effects none --engine compiled",
        OF_JACOBI,
        "--set P=64 --set sweeps=150",
    ),
    "python-loggops": (
        "simulate PROGRAMS:ring loggop-64 --effects none --engine compiled",
        "--set P=8 --set n=5",
        "--set P=64 --set n=2000",
    ),
    "compiled-packets": (
        "simulate jacobi packet-torus --effects links --engine compiled",
        OF_JACOBI,
        "--set P=64 --set sweeps=300",
    ),
    "compiled-fair": (
        "simulate jacobi FAIR --effects links --engine compiled",
        OF_JACOBI,
        "--set P=64 --set sweeps=200",
    ),
    "burst-fair": ("simulate burst FAIR --effects links --engine compiled", "--set P=4", "--set P=256"),
    "burst-events": (
        "simulate burst mesh-256 --effects links --engine compiled --write events:-",
        "--set P=4",
        "--set P=128",
    ),
    **{
        f"linpack-{swap}": (
            "simulate hpl xeon-cluster --effects all --engine compiled",
            f"--set n=2000 --set P=16 --set swap={swap}",
            f"--set n=60000 --set P=256 --set q=16 --set swap={swap}",
        )
        for swap in ("binary_exchange", "spread_roll")
    },
    **{
        name: (f"simulate {name} {machine} --effects all --engine compiled", small, large)
        for name, machine, small, large in (
            ("transpose", "dragonfly-1056", "-P 4", "-P 512"),
            ("npb-lu", "fat-tree-cluster", "-P 4 --preset S", "-P 64 --preset A --set iterations=12"),
            ("npb-cg", "dragonfly-1056", "-P 4 --preset S", "-P 256 --preset A"),
            ("npb-mg", "torus-cluster", "-P 8 --preset S", "-P 64 --preset B --set iterations=60"),
            ("lulesh-leapfrog", "fugaku", "-P 8", "-P 64"),
            ("sweep3d", "xeon-cluster", "-P 8", "-P 512 --set px=16"),
            ("uniform-traffic", "torus-cluster", "-P 8", "-P 64 --set requests=3000"),
        )
    },
    "loggops": ("simulate burst-loggp loggop-64 --engine simpy", "--set P=4", "--set P=64"),
}


def measured(case: str, folder: Path) -> tuple[float, float]:
    """The estimate and the measured peak of a case, in bytes."""
    programs = folder / "programs.py"
    programs.write_text(PROGRAMS, encoding="utf-8")
    fair = folder / "fair.yaml"
    fair.write_text(FAIR, encoding="utf-8")
    files = {"OUT": folder / "out", "PROGRAMS": programs, "FAIR": fair}
    texts = list(CASES[case])
    for word, file in files.items():
        texts = [text.replace(word, str(file)) for text in texts]
    done = subprocess.run([sys.executable, "-c", CHILD, *texts], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    estimate, peak = json.loads(done.stdout.splitlines()[-1])
    return estimate, peak


@pytest.mark.thorough
@pytest.mark.parametrize("case", CASES)
def test_the_estimate_is_within_30_percent_of_the_peak(case: str, tmp_path: Path) -> None:
    estimate, peak = measured(case, tmp_path)
    print(f"{case}: estimate {estimate / 1e6:.1f} MB, measured {peak / 1e6:.1f} MB")
    assert estimate == pytest.approx(peak, rel=0.3)
