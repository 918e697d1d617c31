"""Machines and workloads as a reader wants to see them: data sheet, equations, program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from rich import box
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.tree import Tree

from simcodesign.analytic.formula import formula_latex, phase_formula
from simcodesign.analytic.formula_prices import ASSUMPTIONS, SYMBOLS
from simcodesign.core.errors import InputError
from simcodesign.core.expression import Expression, parse
from simcodesign.core.expression_sympy import to_latex
from simcodesign.core.units import FloatOrArray, format_quantity
from simcodesign.describe.constants import CONSTANTS, POWERS
from simcodesign.describe.demands.arrivals import DISK, Arrivals
from simcodesign.describe.demands.base import Demand
from simcodesign.describe.demands.collective import SIGNALS, Collective
from simcodesign.describe.demands.computation import Compute
from simcodesign.describe.demands.disk_access import DiskAccess
from simcodesign.describe.demands.exchange import Exchange
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.demands.replay import Replay
from simcodesign.describe.demands.resource_uses import Execute
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts import Disk, Memory, Network
from simcodesign.describe.noise import Imbalance, Noise
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.program import Block, Step
from simcodesign.describe.resources import PREFIX, Component, Resource
from simcodesign.describe.topology.base import Topology
from simcodesign.describe.workload import Workload

Rows = Iterable[tuple[str, str]]
HOP_LAWS = {"one": "1", "log2": "log2(P)", "sqrt": "sqrt(P)", "mean": "the mean of the topology", "none": "0"}


def overview(
    machines: Sequence[tuple[str, Machine]], workloads: Sequence[tuple[str, Workload]]
) -> list[RenderableType]:
    """One line per machine and workload; the first of each pair is the name that commands take."""
    first = _table("Machines", "name", "about")
    for name, machine in machines:
        first.add_row(name, one_line(machine.about))
    second = _table("Workloads", "name", "about", "presets")
    for name, workload in workloads:
        second.add_row(name, one_line(workload.about), ", ".join(workload.presets))
    return [first, second]


def one_line(text: str) -> str:
    """Text of a YAML block without its line breaks."""
    return " ".join(text.split())


# --- Machine -------------------------------------------------------------------------------------------------


def machine_sheet(machine: Machine) -> list[RenderableType]:
    """The data sheet of a machine."""
    return [
        _head("machine", machine),
        _section("Nodes", _node_rows(machine)),
        _section("Topology", _topology_rows(machine.network.topology)),
        _section("Messages", _message_rows(machine.network)),
        _section("Memory of a node", [*_capacity_rows(machine), *_memory_rows(machine.memory)]),
        _section("Disks", [("disks", "none")] if machine.disk is None else _disk_rows(machine.disk, machine.nodes)),
        *_custom_parts(machine),
    ]


def _custom_parts(machine: Machine) -> Iterator[RenderableType]:
    """What the file defines of its own, and what it says of power and costs."""
    custom = machine.custom
    if custom.parameters:
        yield _parameter_table(replace(one, name=f"{PREFIX}{one.name}") for one in custom.parameters.values())
    if custom.properties:
        values = machine.properties()
        texts = ((name, f"{float(values[name]):.6g} = {it.text}") for name, it in custom.properties.items())
        yield _section("Properties", texts)
    if custom.resources:
        yield _resource_table(custom.resources)
        groups = [("never at the same time", ", ".join(group)) for group in custom.conflicts]
        yield _section("Conflicts", [("of a resource with itself", "always"), *groups])
    if custom.components:
        yield _component_table(custom.components)
    if rows := list(_power_rows(machine)):
        yield _section("Power and costs", rows)


def _resource_table(resources: Mapping[str, Resource]) -> Table:
    table = _table("Resources (seconds of an item)", "name", "time", "instances", "traits", "dynamic power", "energy")
    for name, one in resources.items():
        traits = [
            f"{title}{f'({trait.argument})' if trait.argument else ''}: {trait.change.text}"
            for title, trait in one.traits.items()
        ]
        texts = ("" if part is None else part.text for part in (one.dynamic_power, one.energy))
        table.add_row(f"{name}({one.argument})", one.time.text, one.instances.text, "\n".join(traits), *texts)
    return table


def _component_table(components: Mapping[str, Component]) -> Table:
    names = ("name", "count", "static power (W)", "rack units", "die area (m2)", "price")
    table = _table("Components", *names)
    for name, one in components.items():
        parts = (one.static_power, one.rack_units, one.die_area, one.price)
        table.add_row(name, one.count.text, *("" if part is None else part.text for part in parts))
    return table


def _power_rows(machine: Machine) -> Rows:
    for path, value in machine.powers().items():
        yield path, _quantity(value, POWERS[path][2])
    totals = machine.totals()
    if totals.static_power_w is not None:
        yield "static power", _quantity(totals.static_power_w, "power")
    if totals.rack_units is not None:
        yield "rack units", f"{float(totals.rack_units):,.6g}"
    if totals.die_area_m2 is not None:
        yield "area of dies", f"{1e6 * float(totals.die_area_m2):,.6g} mm2"
    if totals.price is not None:
        yield "price", f"{float(totals.price):,.2f}"


def _node_rows(machine: Machine) -> Rows:
    processor = machine.processor
    yield "nodes", f"{machine.nodes:,}"
    yield "processors", f"{machine.processors:,} ({machine.processors_per_node} per node)"
    yield "rate of a processor", _quantity(processor.rate_flop_per_s, "rate")
    if processor.clock_hz is not None:
        clock, cycles = _quantity(processor.clock_hz, "frequency"), _quantity(processor.cycles_per_instruction, "count")
        yield "clock", f"{clock}, {cycles} cycles per instruction"
    mapping = machine.mapping if isinstance(machine.mapping, str) else f"nodes {', '.join(map(str, machine.mapping))}"
    yield "mapping of ranks", mapping
    if isinstance(machine.noise, Noise):
        yield from machine.noise.texts()
    else:
        yield "noise of computation", f"{machine.noise:.3g} (standard deviation over mean)" if machine.noise else "none"


def _capacity_rows(machine: Machine) -> Rows:
    if machine.capacity_bytes is not None:
        each = machine.rank_capacity_bytes
        share = "" if each == machine.capacity_bytes or each is None else f" ({_quantity(each, 'size')} a rank)"
        yield "capacity", f"{_quantity(machine.capacity_bytes, 'size')}{share}"


def _memory_rows(memory: Memory | None) -> Rows:
    if memory is None:
        yield "memory", "not described"
        return
    for level in memory.caches:
        ways = "fully associative" if level.ways is None else f"{level.ways} ways"
        size = (
            format_quantity(level.size_bytes, "size")
            if level.size_bytes % 1024
            else f"{level.size_bytes // 1024:,} KiB"
        )
        cycles = "" if level.clock_hz is None else f" ({float(level.latency_cycles(level.clock_hz)):.6g} cycles)"
        yield level.name, f"{size}, {ways}, {_quantity(level.latency_s, 'time')}{cycles}"
    yield "memory", f"{_quantity(memory.latency_s, 'time')}, {_bandwidth(memory.per_byte_s)}"
    yield "lines", f"{memory.line_bytes} bytes"
    yield "hits are found by", memory.hits


def _topology_rows(topology: Topology) -> Rows:
    yield "kind", topology.kind
    yield from topology.facts()
    yield "links", f"{topology.link_count:,} (one-way)"
    yield "diameter (hops)", f"{topology.diameter:,}"
    yield "mean distance (hops)", f"{topology.mean_hops():.4g}"
    yield "bisection width (links)", f"{'' if topology.bisection_exact else 'at most '}{topology.bisection_width:,}"


def _message_rows(network: Network) -> Rows:
    yield from _loggop_rows(network) if network.model == "loggop" else _hockney_rows(network)
    yield "hops where routes are not looked at", HOP_LAWS[network.distance]
    yield "switching", network.switching.replace("_", "-")
    yield "bandwidth of a link", _bandwidth(network.link_occupancy_s_per_byte)
    yield "bandwidth of an interface", _bandwidth(network.interface_occupancy_s_per_byte)
    if network.model == "hockney" and network.per_byte_s:
        half = _quantity(network.startup_s / network.per_byte_s, "size")
        yield "half-performance size", f"{half} (startup takes as long as the bytes)"


def _hockney_rows(network: Network) -> Rows:
    yield "model", _message_model(network)
    yield "startup", f"{_quantity(network.startup_s, 'time')} per {network.startup_per}"
    yield "bandwidth", _bandwidth(network.per_byte_s)
    yield "latency of a hop", _quantity(network.hop_latency_s, "time")
    yield "hops hold the sender", "yes" if network.hops_hold_sender else "no: they delay the arrival alone"
    yield "charged to the receiver", _quantity(network.receive_overhead_s, "time")


def _loggop_rows(network: Network) -> Rows:
    """The constants of LogGOPS by their letters."""
    limit = network.rendezvous_above_bytes
    way = f"L + h x {_quantity(network.hop_latency_s, 'time')}" if network.hop_latency_s else "L"
    if network.switching == "store_and_forward":
        way += f" + max(h - 1, 0) x m / ({_bandwidth(network.link_occupancy_s_per_byte)})"
    yield (
        "model",
        f"LogGOPS: m bytes, x = max(m - 1, 0), occupy sender and receiver for o + x O and fly for {way} + x G",
    )
    yield "latency L", _quantity(network.latency_s, "time")
    yield "overhead o", _quantity(network.overhead_s, "time")
    yield "gap g", f"{_quantity(network.gap_s, 'time')} (sends, and receives, of a rank begin g + x G apart)"
    yield "time per byte G", f"{_quantity(network.per_byte_s, 'per_byte')} ({_bandwidth(network.per_byte_s)})"
    yield "overhead per byte O", _quantity(network.overhead_per_byte_s, "per_byte")
    yield "rendezvous above S", "never" if limit is None else _quantity(limit, "size")


def _message_model(network: Network) -> str:
    startup = _quantity(network.startup_s, "time")
    bytes_ = f"m / ({_bandwidth(network.per_byte_s)})" if network.per_byte_s else "0"
    if not network.hops_hold_sender:
        return f"m bytes occupy the sender for {startup} + {bytes_} and arrive {_way(network)} later, over h hops"
    times = "" if network.startup_per == "message" else "max(h, 1) x "
    parts = [f"{times}{startup}", *_hop_parts(network), bytes_]
    return f"m bytes over h hops occupy the sender for {' + '.join(parts)}"


def _way(network: Network) -> str:
    """What the hops of a message add that do not hold its sender."""
    parts = [f"max(h - 1, 0) x {_quantity(network.startup_s, 'time')}"] if network.startup_per == "hop" else []
    return " + ".join([*parts, *_hop_parts(network)]) or "0"


def _hop_parts(network: Network) -> list[str]:
    parts = [f"h x {_quantity(network.hop_latency_s, 'time')}"] if network.hop_latency_s else []
    if network.switching == "store_and_forward":
        parts.append(f"max(h - 1, 0) x m / ({_bandwidth(network.link_occupancy_s_per_byte)})")
    return parts


def _disk_rows(disk: Disk, nodes: int) -> Rows:
    yield "startup of a read", _quantity(disk.read_startup_s, "time")
    yield "startup of a write", _quantity(disk.write_startup_s, "time")
    yield "bandwidth", _bandwidth(disk.per_byte_s)
    yield "disks", f"{-(-nodes // disk.shared_by):,}, nodes on each: {disk.shared_by:,}"
    yield "accesses served at a time", str(disk.spindles)


def _quantity(value: FloatOrArray, dimension: str) -> str:
    return format_quantity(float(value), dimension)


def _bandwidth(per_byte_s: FloatOrArray) -> str:
    return _quantity(1 / per_byte_s, "bandwidth") if per_byte_s else "unlimited"


# --- Workload ------------------------------------------------------------------------------------------------


def workload_sheet(workload: Workload) -> list[RenderableType]:
    """Parameters, equations, presets and program of a workload."""
    parts = [_head("workload", workload), _parameter_table(workload.parameters.values())]
    if workload.equations:
        equations = ((name, f"= {equation.text}") for name, equation in workload.equations.items())
        parts.append(_section("Equations", equations))
    if workload.presets:
        presets = ((name, _assignments(values)) for name, values in workload.presets.items())
        parts.append(_section("Presets", presets))
    if workload.imbalance_model:
        share = workload.imbalance_model.text
        if not isinstance(workload.imbalance, Imbalance):
            share = f"{workload.imbalance:.3g} (standard deviation over mean of the ranks' shares of computation)"
        parts.append(_section("Imbalance", [("of computation", share)]))
    if workload.size is not None:
        parts.append(_section("Size of the problem", [("size", workload.size.text)]))
    if workload.data:
        data = ((name, f"{size.text} bytes") for name, size in workload.data.items())
        parts.append(_section("Data of every rank", data))
    if workload.footprint is not None:
        parts.append(_section("Memory", [("footprint", f"{workload.footprint.text} bytes, of every rank")]))
    return [*parts, program_tree(workload)]


def latex(workload: Workload) -> str:
    """Equations and the seconds of every phase in LaTeX, one per line; words are comments. InputError without SymPy."""
    to_latex(parse(1))  # SymPy is missing for all phases, or for none
    equations = [f"{to_latex(parse(name))} = {to_latex(it)}" for name, it in workload.equations.items()]
    return "".join(f"{line}\n" for line in [*equations, *_formula_lines(workload)])


def _formula_lines(workload: Workload) -> Iterator[str]:
    yield f"% Seconds of every phase with all its repetitions, for {ASSUMPTIONS}:"
    names: set[str] = set()
    for phase in workload.phases():
        try:
            formula = phase_formula(workload, phase)
            yield f"T_{{\\text{{{_plain_latex(phase)}}}}} = {formula_latex(formula)}"
            names |= {symbol.name for symbol in formula.free_symbols}
        except InputError as error:
            yield f"% There is no formula of phase {one_line(phase)}: {one_line(str(error))}"
    for symbol in SYMBOLS:
        if symbol in names and symbol not in {*workload.parameters, *workload.equations}:
            yield f"% {symbol}: {SYMBOLS[symbol][0]}"


def _plain_latex(text: str) -> str:
    """Text as LaTeX prints it, letter by letter."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {letter: f"\\{letter}" for letter in "&%$#_{}"}
    return "".join(special.get(letter, letter) for letter in one_line(text))


def program_tree(workload: Workload) -> Tree:
    """The program as an indented tree."""
    tree = Tree("Program (every rank)")
    _grow(tree, workload.program)
    return tree


def _grow(tree: Tree, program: tuple[Step, ...]) -> None:
    for step in program:
        if isinstance(step, Block):
            branch = tree.add(_block_label(step))
            for path, value in step.constants:
                branch.add(f"with {path} = {_constant(path, value)}")
            if step.useful_flops is not None:
                branch.add(f"useful flops of all ranks: {step.useful_flops.text}, each time")
            _grow(branch, step.body)
            continue
        if isinstance(step, Execute):
            _grow_uses(tree, step)
            continue
        leaf = tree.add(f"{_demand_label(step)}{_conditions(step)}")
        for loop in step.loops if isinstance(step, Compute) else ():
            leaf.add(f"loop {loop.name}: {loop.range.text} times {loop.operations.text} flops".replace(" :", ":"))


def _grow_uses(tree: Tree, step: Execute) -> None:
    label = f" ({step.label})" if step.label else ""
    branch = tree.add(f"execute{label}, {step.parallelism.text} items of every rank{_conditions(step)}")
    for use in step.uses:
        traits = [name if argument is None else f"{name}({argument.text})" for name, argument in use.traits]
        way = f" {use.way} {use.data}" if use.data else ""
        words = f" as {', '.join(traits)}" if traits else ""
        branch.add(f"{use.resource} {use.amount.text}{way}{words}")


def _block_label(block: Block) -> str:
    name = f"phase {block.phase}" if block.phase else "block"
    times = "" if block.repeat.text == "1" else f", {block.repeat.text} times"
    about = f": {one_line(block.about)}" if block.about else ""
    return f"{name}{times}{about}"


def _demand_label(step: Demand) -> str:
    match step:
        case Compute():
            return f"compute {step.amount.text} {step.unit}" if step.amount else "compute the sum of loops"
        case DiskAccess():
            times = "" if step.times.text == "1" else f", {step.times.text} times"
            return f"{step.kind} {step.bytes.text} bytes{times}"
        case MemoryAccesses():
            return _references_label(step)
        case Send():
            return f"send {step.bytes.text} bytes to {step.to.text}{_tag(step.tag)}"
        case Receive():
            size = "" if step.bytes is None else f" {step.bytes.text} bytes"
            source = "anyone" if step.source is None else step.source.text
            return f"receive{size} from {source}{_tag(step.tag)}"
        case Arrivals():
            return _arrivals_label(step)
        case Replay():
            return f"replay a schedule of {len(step.schedule):,} operations on {step.schedule.ranks:,} ranks"
        case Exchange():
            return _exchange_label(step)
        case Collective():
            size = "" if step.name in SIGNALS else f", {step.bytes.text} bytes"
            return f"{step.name} ({step.algorithm.replace('_', ' ')}){size}"
    return step.title


def _arrivals_label(step: Arrivals) -> str:
    what = f"{step.kind}s" if step.to == DISK else "messages"
    parts = [
        f"{step.requests.text} {what} of {step.bytes.text} bytes",
        f"{step.rate.text} per second ({step.between.text})",
    ]
    if step.to == DISK:
        parts += [f"a capacity of {step.capacity.text} at the disk"] if step.capacity else []
        parts += ["going on to other disks"] if step.next else []
    else:
        parts += ["to any other rank" if step.destination is None else f"to rank {step.destination.text}"]
    return f"arrivals: {', '.join(parts)}"


def _references_label(step: MemoryAccesses) -> str:
    times = "" if step.times.text == "1" else f", {step.times.text} times"
    if step.kernel:
        sizes = ", ".join(f"{name} = {getattr(size, 'text', size)}" for name, size in step.sizes)
        return f"memory accesses of the kernel {step.kernel}: {sizes}{times}"
    amount = "all" if step.accesses is None else step.accesses.text
    if step.profile is not None:
        return f"{amount} memory accesses with a measured profile{times}"
    if step.hits:
        hits = ", ".join(f"{role} {share.text}" for role, share in step.hits)
        return f"{amount} memory accesses with counted hits: {hits}{times}"
    pairs = [
        f"{distance.text}" + ("" if share.text == "1" else f" ({share.text})") for share, distance in step.distances
    ]
    return f"{amount} memory accesses at stack distances {', '.join(pairs)}{times}"


def _exchange_label(step: Exchange) -> str:
    sizes = list(dict.fromkeys(size.text for size in step.bytes))
    grid = f", grid {' x '.join(extent.text for extent in step.grid)}" if step.grid else ""
    edges = "" if step.periodic else ", not periodic"
    counts = list(dict.fromkeys(count.text for count in step.messages_by_dim))
    messages = "" if counts == ["1"] else f"{' / '.join(counts)} messages of "
    trains = "" if step.train.text == "1" else f", simulated in trains of {step.train.text}"
    return f"exchange halo{step.dims}d, {messages}{' / '.join(sizes)} bytes{grid}{edges}{trains}"


def _tag(tag: int) -> str:
    return f", tag {tag}" if tag else ""


def _conditions(step: Demand) -> str:
    varies = getattr(step, "varies", None)
    return ("" if varies is None else f", varies: {varies.text}") + (
        "" if step.when is None else f", when {step.when.text}"
    )


def _constant(path: str, value: Expression) -> str:
    """With its unit when it is a number."""
    return value.text if value.names else _quantity(value.evaluate({}), (CONSTANTS | POWERS)[path][2])


def _parameter_table(parameters: Iterable[Parameter]) -> Table:
    table = _table("Parameters", "name", "default", "unit", "range", "origin", "about")
    table.columns[0].no_wrap = True
    for parameter in parameters:
        default = "(must be given)" if parameter.default is None else f"{parameter.default:.10g}"
        table.add_row(
            parameter.name, default, parameter.unit, _range(parameter), parameter.origin, one_line(parameter.about)
        )
    return table


def _range(parameter: Parameter) -> str:
    if parameter.choices:
        return ", ".join(f"{name} ({value:g})" for name, value in parameter.choices.items())
    limits = [f"from {parameter.low:g}"] if parameter.low > float("-inf") else []
    limits += [f"to {parameter.high:g}"] if parameter.high < float("inf") else []
    return " ".join([*limits, *(["whole"] if parameter.whole else [])])


def _assignments(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:.10g}" for name, value in values.items())


# --- Both ----------------------------------------------------------------------------------------------------


def _head(kind: str, described: Machine | Workload) -> RenderableType:
    rows = [
        (kind, described.name),
        ("about", described.about),
        ("source", described.source),
        ("file", described.place.file),
    ]
    return _section("", ((name, one_line(text)) for name, text in rows if text))


def _section(title: str, rows: Rows) -> RenderableType:
    table = Table(
        title=title or None, box=None, show_header=False, title_justify="left", title_style="bold", padding=(0, 2, 0, 0)
    )
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in rows:
        table.add_row(name, text)
    return Padding(table, (0, 0, 1, 0), expand=False)


def _table(title: str, *names: str) -> Table:
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)
    for name in names:
        table.add_column(name, overflow="fold")
    return table
