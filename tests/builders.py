"""Small machines, workloads and plans, for tests that say only what matters to them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import indent
from typing import Any

from simcodesign.describe.demands.collective import ALGORITHMS
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.machine_parts.network import BLOCKING, Network
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.placement import MAPPINGS, RANKS, RandomMapping
from simcodesign.describe.programs.program import Step
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.machine import machine_from
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.describe.yaml.workload import workload_from
from simcodesign.generate.lower import make_plan
from simcodesign.generate.plan import Plan

#: Mappings that there are on any network.
ANYWHERE = (*(name for name in MAPPINGS if name != "grid"), RandomMapping(1, RANKS))


def read_workload(text: str) -> Workload:
    """The workload of a whole YAML file, which its errors call ``w.yaml``."""
    return workload_from(parse_yaml(text, "w.yaml"))


def read_machine(text: str) -> Machine:
    """The machine of a whole YAML file, which its errors call ``m.yaml``."""
    return machine_from(parse_yaml(text, "m.yaml"), Path())


def workload(program: str, head: str = "") -> Workload:
    """The workload of a program in YAML, as lines (``- barrier: {}``) or as one list (``[barrier: {}]``), with the
    lines of the file before it in ``head``: parameters, imbalance, footprint."""
    return read_workload(f"simcodesign: 1\nname: test\n{head}program:\n{indent(program, '  ')}\n")


def arrivals(*streams: str, head: str = "") -> Workload:
    """The workload of streams of requests, each the inside of an ``arrivals`` step."""
    return workload("".join(f"- arrivals: {{{stream}}}\n" for stream in streams), head)


def workload_of_steps(*program: Step, imbalance: float = 0.0) -> Workload:
    """The workload of steps, without parameters."""
    return Workload("test", {}, {}, program, imbalance=imbalance)


def algorithm_entry(operation: str, algorithm: str) -> str:
    """How a workload file names an algorithm, with the order of children where it is not the default."""
    if algorithm in ALGORITHMS[operation]:
        return f"algorithm: {algorithm}"
    name, order = algorithm.rsplit("_", 1)
    return f"algorithm: {name}, order: {order}"


def network(nodes: int, topology: str = "crossbar", **constants: Any) -> Network:
    """A network of ``nodes`` nodes, whose messages take no time but for the constants given, and hold their senders."""
    own = {} if constants.get("model") == "loggop" else {"sends": BLOCKING}
    return Network(build_topology(topology, nodes), **{**own, **constants})


def machine(network: Network, rate: float = 1.0, disk: Disk | None = None, **more: Any) -> Machine:
    """A machine of processors of ``rate`` FLOP/s with this network; ``more`` are further fields of Machine."""
    return Machine("test machine", Processor(rate), network, disk, **more)


def plan_of(machine: Machine, ranks: int, program: Sequence[Step], effects: Sequence[str] = ()) -> Plan:
    """The plan of steps on ``ranks`` ranks of a machine."""
    return make_plan(bind(workload_of_steps(*program), machine, {"P": ranks}), effects)
