"""The data sheet of a workload: parameters, equations, presets, its program as a tree; formulas in LaTeX."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping

from rich.console import RenderableType
from rich.tree import Tree

from simcodesign.analytic.formulas.formula import formula_latex, phase_formula
from simcodesign.analytic.formulas.formula_prices import ASSUMPTIONS, SYMBOLS
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression, parse
from simcodesign.core.expressions.expression_sympy import to_latex
from simcodesign.describe.constants import dimension_at
from simcodesign.describe.demands.arrivals import DISK, Arrivals
from simcodesign.describe.demands.base import Demand
from simcodesign.describe.demands.collective import SIGNALS, Collective
from simcodesign.describe.demands.computation import Compute, Copy, Kernel
from simcodesign.describe.demands.disk_access import SHARED, DiskAccess, StorageAccess
from simcodesign.describe.demands.exchange import Exchange
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.demands.replay import Replay
from simcodesign.describe.demands.resource_uses import Execute
from simcodesign.describe.formulas.formula import Formula
from simcodesign.describe.programs.program import Block, Step
from simcodesign.describe.programs.serving import Serving
from simcodesign.describe.python_programs.python_program import PythonProgram
from simcodesign.describe.python_programs.recorded_program import RecordedProgram
from simcodesign.describe.python_programs.recording import Recording
from simcodesign.describe.randomness.noise import Imbalance
from simcodesign.describe.recordings.workload import RecordedRun
from simcodesign.describe.workload import Workload
from simcodesign.report.common.tables import section
from simcodesign.report.results.data_sheets import amount_text, head, one_line, parameter_table


def workload_sheet(workload: Workload, ranks: int | None = None) -> list[RenderableType]:
    """Parameters, equations, presets and program of a workload.

    ``ranks``: a program in Python is run with this many, with its defaults, and what they yield is counted; InputError
    if a parameter has no default.
    """
    parts = [head("workload", workload), parameter_table(workload.parameters.values())]
    if workload.equations or workload.local_equations:
        every = {**workload.equations, **workload.local_equations}
        equations = ((name, f"= {equation.text}") for name, equation in every.items())
        parts.append(section("Equations", equations))
    if workload.requires:
        required = ((words, condition.text) for words, condition in workload.requires.items())
        parts.append(section("Requires", required))
    if workload.presets:
        presets = ((name, _assignments(values)) for name, values in workload.presets.items())
        parts.append(section("Presets", presets))
    if workload.imbalance_model:
        share = workload.imbalance_model.text
        if not isinstance(workload.imbalance, Imbalance):
            share = f"{workload.imbalance:.3g} (standard deviation over mean of the ranks' shares of computation)"
        parts.append(section("Imbalance", [("of computation", share)]))
    if workload.checkpoints is not None:
        times = ((name, f"{getattr(workload.checkpoints, name).text} s") for name in ("interval", "write", "restart"))
        parts.append(section("Checkpoints", times))
    if workload.size is not None:
        parts.append(section("Size of the problem", [("size", workload.size.text)]))
    if workload.data:
        data = ((name, f"{size.text} bytes") for name, size in workload.data.items())
        parts.append(section("Data of every rank", data))
    if workload.groups:
        groups = ((name, f"ranks of the same {colour.text}") for name, colour in workload.groups.items())
        parts.append(section("Groups of ranks", groups))
    footprints = (("footprint", workload.footprint), ("on its accelerator", workload.accelerator_footprint))
    memory = [(name, f"{size.text} bytes, of every rank") for name, size in footprints if size is not None]
    if memory:
        parts.append(section("Memory", memory))
    if workload.serving is not None:
        parts.append(section("Serving (one server)", _serving_rows(workload.serving)))
    if workload.formulas:
        texts = ((name, _formula_text(formula)) for name, formula in workload.formulas.items())
        parts.append(section("Formulas of its time", texts))
    step = workload.program[0] if workload.program else None
    if isinstance(step, RecordedProgram):
        parts.append(section(step.words.capitalize().replace("python", "Python"), _program_rows(step, workload, ranks)))
    return [*parts, program_tree(workload)]


def _serving_rows(serving: Serving) -> Iterator[tuple[str, str]]:
    """Arrivals, lengths, and batches."""
    yield "requests per second", f"{serving.rate.text}; times between them: {serving.between.text}"
    for name, length in (("prompt", serving.prompt), ("output", serving.output)):
        yield name, f"{length.parameter} tokens on average; {length.varies.text}"
    yield "largest batch", f"the value of {serving.batch}; continuous if {serving.continuous.text}"
    yield "phases of steps", f"{serving.prefill}, {serving.decode}"


def _program_rows(step: RecordedProgram, workload: Workload, ranks: int | None) -> Iterator[tuple[str, str]]:
    """Yield the description from its file, and the number of operations of ``ranks`` ranks."""
    if isinstance(step, PythonProgram):
        yield "generator", f"{step.name}{inspect.signature(step.function)}"
        yield "docstring", one_line(inspect.getdoc(step.function) or "none")
        yield "digest of the source", step.digest
    elif isinstance(step, RecordedRun):
        ranks = step.recording.ranks
    yield (
        "forecast",
        "longest path, and the busiest rank's sum" if step.formula is None else "by a formula of its own",
    )
    if ranks is not None:
        recording = recording_of(step, workload, ranks)
        yield f"operations of {ranks:,} ranks", f"{recording.yielded:,}, {len(recording.operations):,} distinct"


def recording_of(step: RecordedProgram, workload: Workload, ranks: int) -> Recording:
    """Return what ``ranks`` ranks of a recorded program yield, with its defaults.

    InputError for a parameter without one.
    """
    missing = [name for name, parameter in workload.parameters.items() if parameter.default is None]
    if missing:
        what = "what the ranks yield depends on parameters without a default"
        raise InputError(what, step.place, value=", ".join(missing), allowed="without -P")
    defaults = {name: parameter.default for name, parameter in workload.parameters.items()}
    return step.recorded(ranks, step.arguments(defaults, defaults))


def _formula_text(formula: Formula) -> str:
    """Its formula for each time, its range, and its source."""
    times = [f"{what} = {expression.text}" for what, expression in formula.times()]
    valid = "" if formula.valid is None else f", valid for {formula.valid.text}"
    return "; ".join(times) + valid + (f" ({formula.source})" if formula.source else "")


def latex(workload: Workload) -> str:
    """Equations and the seconds of every phase in LaTeX, one per line; words are comments. InputError without SymPy."""
    to_latex(parse(1))  # SymPy is missing for all phases, or for none
    equations = [f"{to_latex(parse(name))} = {to_latex(it)}" for name, it in workload.equations.items()]
    return "".join(f"{line}\n" for line in [*equations, *_formula_lines(workload)])


def _formula_lines(workload: Workload) -> Iterator[str]:
    yield f"% Sum of closed forms: seconds of every phase with all its repetitions, for {ASSUMPTIONS}:"
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
    """Return the program as an indented tree."""
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
        leaf = tree.add(f"{_demand_label(step)}{_where(step)}{_conditions(step)}{_started(step)}")
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
    name = f"phase {block.phase}" if block.phase else "concurrent" if block.overlaps else "block"
    times = "" if block.repeat.text == "1" else f", {block.repeat.text} times"
    times += "" if block.index is None else f", {block.index} from 0"
    about = f": {one_line(block.about)}" if block.about else ""
    return f"{name}{times}{about}"


def _demand_label(step: Demand) -> str:
    match step:
        case Compute():
            return f"compute {step.amount.text} {step.unit}" if step.amount else "compute the sum of loops"
        case DiskAccess():
            return f"{step.kind} {step.bytes.text} bytes{_times(step.times)}"
        case StorageAccess():
            file = "a file that all share" if step.file == SHARED else "a file of its own"
            striped = "" if step.stripe_count is None else f" striped over {step.stripe_count.text} servers"
            return f"{step.kind} {step.bytes.text} bytes of {file}{striped} on storage{_times(step.times)}"
        case Kernel():
            amounts = ((step.flops, "flops"), (step.seconds, "seconds"), (step.bytes, "bytes"))
            work = " and ".join(f"{one.text} {unit}" for one, unit in amounts if one is not None)
            if step.shape is not None:
                extents = ", ".join(f"{name} {amount.text}" for name, amount in step.shape.named.items())
                work = f"{step.shape.kind} ({extents})"
            format = step.type if isinstance(step.type, str) else f"the format {step.type.text}"
            reached = " at the efficiency of attention" * bool(step.efficiency)
            return f"compute {work}{f' in {format}' * bool(format)}{reached} on the accelerator{_times(step.times)}"
        case Copy():
            return f"copy {step.bytes.text} bytes to the {step.to}{_times(step.times)}"
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
        case PythonProgram():
            return f"the program {step.name} in Python, which each rank runs"
        case RecordedRun():
            return f"the recorded operations of {step.recording.ranks:,} ranks"
        case Replay():
            return f"replay a schedule of {len(step.schedule):,} operations on {step.schedule.ranks:,} ranks"
        case Exchange():
            return _exchange_label(step)
        case Collective():
            size = "" if step.name in SIGNALS else f", {step.bytes.text} bytes"
            size += "" if step.segment is None else f" in segments of {step.segment.text}"
            return f"{step.name} ({step.algorithm.replace('_', ' ')}){size}"
    return step.title


def _times(times: Expression) -> str:
    return "" if times.text == "1" else f", {times.text} times"


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


def _started(step: Demand) -> str:
    polled = "" if step.polled is None else f", polled: {step.polled.text}"
    return f", started as {step.started_as}{polled}" if step.started_as else ""


def _where(step: Demand) -> str:
    """Return groups in which it is done, and its root."""
    root = f", root {step.root.text}" if isinstance(step, Collective) and step.root else ""
    return root + ("" if step.communicator is None else f", in each {step.communicator}")


def _conditions(step: Demand) -> str:
    varies = getattr(step, "varies", None)
    return ("" if varies is None else f", varies: {varies.text}") + (
        "" if step.when is None else f", when {step.when.text}"
    )


def _constant(path: str, value: Expression) -> str:
    """With its unit when it is a number."""
    return value.text if value.names else amount_text(value.evaluate({}), dimension_at(path) or "count")


def _assignments(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:.10g}" for name, value in values.items())
