"""Small machines, workloads and plans, for tests that say only what matters to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from textwrap import indent
from typing import Any

from simcodesign.analytic.forecast import forecast
from simcodesign.core.result import Result
from simcodesign.describe.demands.collective import ALGORITHMS
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.network.message_models.base import MESSAGE_MODELS, MessageModel
from simcodesign.describe.network.message_models.hockney import BLOCKING, Hockney
from simcodesign.describe.network.network import Network
from simcodesign.describe.network.routing import ROUTINGS, Minimal
from simcodesign.describe.network.sharing import SHARINGS, Fcfs
from simcodesign.describe.placement import MAPPINGS, RANKS, RandomMapping
from simcodesign.describe.programs.program import Step
from simcodesign.describe.topology.base import Topology
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


#: What tests say of a network in one list of keywords -> the part that it is a field of.
_SHARING_FIELDS = {"shares", "packet_bytes"}


def _model(name: str) -> type[MessageModel]:
    return MESSAGE_MODELS[name]


def network_of(topology: Topology, *positional: Any, **flat: Any) -> Network:
    """A network of keywords in one list, as a machine file has them: those of its model of messages (``startup_s``,
    ``sends``, ``model="loggop"``), of its sharing rule (``sharing="fair", shares="by_latency"``) and its own. Its
    switches combine messages, in no time, unless processors copy these."""
    before = flat.pop("message_model", None)
    model = type(before) if before is not None else _model(flat.pop("model", Hockney.name))
    own = {name: flat.pop(name) for name in [*flat] if name in {field.name for field in fields(model)}}
    for others in MESSAGE_MODELS.values():  # which the model has not, at what they are where it does not matter
        for field in fields(others):
            if field.name in flat and field.name not in own:
                assert flat.pop(field.name) == field.default, field.name
    messages = model(*positional, **own) if before is None else replace(before, **own)
    rule = flat.pop("sharing", Fcfs.name)
    of_rule = {name: flat.pop(name) for name in [*flat] if name in _SHARING_FIELDS}
    if isinstance(rule, str):
        known = {field.name for field in fields(SHARINGS[rule])}
        rule = SHARINGS[rule](**{name: value for name, value in of_rule.items() if name in known})
    routing = flat.pop("routing", Minimal())
    routing = flat.pop("ugal", None) or (ROUTINGS[routing]() if isinstance(routing, str) else routing)
    if not messages.holds_both_ends:
        flat = {"switch_latency_s": 0.0, **flat}
    return Network(topology, messages, rule, routing, **flat)


def network_with(network: Network, **flat: Any) -> Network:
    """The network with other values of some of these keywords."""
    names = {field.name for field in fields(network.message_model)}
    of_model = {name: flat.pop(name) for name in [*flat] if name in names}
    if "model" in flat:
        network = replace(network, message_model=_model(flat.pop("model"))())
    if "sharing" in flat:
        network = replace(network, sharing=SHARINGS[flat.pop("sharing")]())
    of_rule = {name: flat.pop(name) for name in [*flat] if name in _SHARING_FIELDS}
    if of_rule:
        network = replace(network, sharing=replace(network.sharing, **of_rule))
    if isinstance(flat.get("routing"), str):
        flat["routing"] = ROUTINGS[flat["routing"]]()
    if of_model:
        network = replace(network, message_model=replace(network.message_model, **of_model))
    return replace(network, **flat)


def network(nodes: int, topology: str = "crossbar", **constants: Any) -> Network:
    """A network of ``nodes`` nodes, whose messages take no time but for the constants given, and hold their senders."""
    own = {} if constants.get("model") == "loggop" else {"sends": BLOCKING}
    return network_of(build_topology(topology, nodes), **{**own, **constants})


def machine(network: Network, rate: float = 1.0, disk: Disk | None = None, **more: Any) -> Machine:
    """A machine of processors of ``rate`` FLOP/s with this network; ``more`` are further fields of Machine."""
    return Machine("test machine", Processor(rate), network, disk, **more)


def plan_of(machine: Machine, ranks: int, program: Sequence[Step], effects: Sequence[str] = ()) -> Plan:
    """The plan of steps on ``ranks`` ranks of a machine."""
    return make_plan(bind(workload_of_steps(*program), machine, {"P": ranks}), effects)


def closed_forms(*described: Any, **options: Any) -> Result:
    """The forecast as the sum of closed forms, also where ranks differ: for tests of the closed forms themselves."""
    return forecast(*described, longest_path=False, **options)
