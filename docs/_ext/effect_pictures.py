"""The pictures of docs/effects.md: a small case for each effect, in three readings."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt

import simcodesign as sc

#: Title, workload, machine, and number of ranks.
Case = tuple[str, sc.Workload, sc.Machine, int]
BYTES = {"bytes": 64_000}


def picture(effect: str) -> None:
    """Draw the forecast, the simulation without effects, and the simulation with one effect."""
    title, work, on, ranks = globals()[f"_{effect}"]()
    none, effects = (sc.simulate(work, on, {"P": ranks}, effects=one) for one in ("none", effect))
    times = [float(one.makespan_s) for one in (sc.forecast(work, on, {"P": ranks}), none, effects)]
    units = ((1.0, "s"), (1e3, "ms"), (1e6, "us"))
    scale, unit = next((one for one in units if max(times) * one[0] >= 1), (1e9, "ns"))
    _, axes = plt.subplots(figsize=(6, 1.5), layout="constrained")
    bars = axes.barh(
        ["forecast", "no effect", effect], [time * scale for time in times], color=["#999", "#6aaed6", "#d95f02"]
    )
    axes.bar_label(bars, fmt=lambda value: f"{float(f'{value:.4g}'):,g}", padding=3)
    axes.margins(x=0.15)
    axes.invert_yaxis()
    axes.set_xlabel(f"time ({unit})")
    axes.set_title(title, fontsize="medium")
    plt.show()


def machine(**parts: Any) -> sc.Machine:
    """Return a mesh of 16 nodes, with other or further parts."""
    network = {
        "topology": {"kind": "mesh", "shape": [4, 4]},
        "startup": "1 us",
        "bandwidth": "1 GB/s",
        "hop_latency": "1 us",
    }
    plain = {"name": "mesh", "nodes": 16, "processor": {"rate": "1 GFLOP/s"}, "network": network}
    return sc.Machine.load(plain | {**parts, "network": network | parts.get("network", {})})


def workload(*program: Any, **more: Any) -> sc.Workload:
    """Return a workload of these steps."""
    return sc.Workload.load({"name": "case", "program": [*program]} | more)


def _hops() -> Case:
    corner = workload(
        {"send": {"to": 15, "bytes": 8, "when": "rank == 0"}}, {"receive": {"from": 0, "when": "rank == 15"}}
    )
    return (
        "a message from one corner of a 4 x 4 mesh to the other: six hops",
        corner,
        machine(network={"distance": "one"}),
        16,
    )


def _links() -> Case:
    return (
        "an all-to-all of 64 kB among 16 ranks of a mesh",
        workload({"all_to_all": BYTES | {"algorithm": "linear"}}),
        machine(),
        16,
    )


def _interfaces() -> Case:
    many = workload({"gather": BYTES | {"algorithm": "linear"}})
    return (
        "15 ranks send 64 kB to rank 0, which has one interface",
        many,
        machine(network={"topology": {"kind": "crossbar"}}),
        16,
    )


def _node() -> Case:
    gpus = {"network": {"topology": {"kind": "crossbar"}, "startup": "2 us", "bandwidth": "300 GB/s"}}
    every = workload({"all_to_all": {"bytes": 100e6, "algorithm": "linear"}})
    return (
        "8 GPUs of a node send 100 MB to each other, each by its one interface",
        every,
        machine(node=gpus, processors_per_node=8),
        8,
    )


def _matching() -> Case:
    late = [{"compute": {"seconds": "1e-6*rank"}}, {"send": {"to": 0, "bytes": 8, "when": "rank > 0"}}]
    last_first = {"repeat": 15, "index": "k", "do": [{"receive": {"from": "15 - k", "when": "rank == 0"}}]}
    return (
        "15 messages, received in the reverse order of their arrival",
        workload(*late, last_first),
        machine(network={"matching": "100 ns"}),
        16,
    )


def _disks() -> Case:
    disk = {"read_startup": "1 ms", "write_startup": "1 ms", "bandwidth": "100 MB/s", "shared_by": 4}
    return (
        "16 ranks write 1 MB each; four nodes share a disk",
        workload({"write": {"bytes": 1e6}}),
        machine(disk=disk),
        16,
    )


def _memory() -> Case:
    memory = {"latency": "100 ns", "bandwidth": "10 GB/s", "outstanding": 10}
    caches = {"L1": {"size": "32 KiB", "latency": "1 ns"}}
    triad = workload({"memory": {"kernel": "triad", "sizes": {"n": 100_000}}})
    return (
        "four processors of a node run the triad together",
        triad,
        machine(memory=memory, caches=caches, processors_per_node=4),
        4,
    )


def _accelerators() -> Case:
    accelerator = {"count": 1, "rate": "1 TFLOP/s", "memory": {"bandwidth": "1 TB/s"}, "link": {"bandwidth": "10 GB/s"}}
    kernel = workload({"compute": {"on": "accelerator", "flops": 1e9}})
    return (
        "four ranks of a node share one accelerator",
        kernel,
        machine(accelerator=accelerator, processors_per_node=4),
        4,
    )


def _storage() -> Case:
    storage = {"servers": 8, "stripe": "1 MiB", "bandwidth": "1 GB/s", "allocation": "random"}
    write = workload({"write": {"to": "storage", "bytes": 1e8}})
    return "8 files of 100 MB on 8 servers, by chance several on one", write, machine(storage=storage), 8


def _conflicts() -> Case:
    resources = {name: {"time": "amount"} for name in ("a", "b", "c", "d")}
    uses = workload({"execute": {"uses": [{"b": 2}, {"a": 1}, {"d": 2}, {"c": 1}]}})
    conflicts = [["a", "b"], ["a", "d"], ["c", "d"]]
    return "four uses; a excludes b and d, and c excludes d", uses, machine(resources=resources, conflicts=conflicts), 1


def _caches() -> Case:
    ways = {"L1": {"size": "8 KiB", "ways": 1, "latency": "1 ns"}}
    product = workload({"memory": {"kernel": "matmul", "sizes": {"n": 48}}})
    slow = {"latency": "100 ns", "bandwidth": "10 GB/s"}
    return "a product of matrices through a direct-mapped cache", product, machine(memory=slow, caches=ways), 1


def _interference() -> Case:
    slowed = {"count": 1, "rate": "1 TFLOP/s", "interference": "20 %"}
    overlapped = [
        {"start": {"allreduce": {"bytes": 1e6, "algorithm": "ring"}}, "as": "sum"},
        {"compute": {"on": "accelerator", "flops": 3e9}},
        {"wait": "sum"},
    ]
    return (
        "a kernel of 3 ms, slowed by 20 % during an all-reduce of 1 MB",
        workload(*overlapped),
        machine(accelerator=slowed),
        16,
    )


def _imbalance() -> Case:
    steps = {"repeat": 10, "do": [{"compute": {"flops": 1e6}}, {"barrier": {}}]}
    return "shares of the work that vary by 10 %", workload(steps, imbalance="10 %"), machine(), 16


def _noise() -> Case:
    steps = {"repeat": 10, "do": [{"compute": {"flops": 1e6}}, {"barrier": {}}]}
    return (
        "each of ten steps varies by 10 %, and all wait for the slowest rank",
        workload(steps),
        machine(noise="10 %"),
        16,
    )


def _background() -> Case:
    row = workload({"repeat": 20, "do": [{"exchange": {"pattern": "halo1d", "bytes": 64_000}}]})
    others = {"load": 0.4, "nodes": "all", "size": "64 kB"}
    return "a ring of messages, while all nodes also send for others", row, machine(background=others), 8


def _failures() -> Case:
    long = workload({"compute": {"seconds": 20_000}}, checkpoints={"interval": 1000, "write": 50, "restart": 100})
    return (
        "20,000 s of work on 16 nodes, each of which fails every 20 hours",
        long,
        machine(failures={"mtbf": "20 h"}),
        16,
    )
