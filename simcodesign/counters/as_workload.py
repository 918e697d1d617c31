"""Models of hardware counters as a workload file: a phase for each kernel, and one for communication and for the rest.

Both readings of the file evaluate equation 2, part by part:

    T_app = sum over kernels (T_comp + BF_mem T_mem) + BF_comm T_comm + T_others

A kernel computes its instructions at its own CPI and the machine's clock, and its accesses are served by the levels
that were counted, with BF_mem as the blocking factor: on the machine that was profiled this takes the time of the
model, on another what its clock and its latencies make of it. Waits for a shared memory controller are in the stalls
that were counted, so that there is no further one. Point-to-point communication is one message to the next
rank, a collective an allreduce by recursive doubling, whose fitted constants replace the machine's network constants.

Source: Ding et al., APMT, equation 2 and table 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.files.atomic_files import replacing_text
from simcodesign.counters.communication import Collective, PointToPoint
from simcodesign.counters.forms import CONSTANT, LINEAR, LOGARITHMIC, POWER, PROCESSES, WORK, BestForm, Form, Law
from simcodesign.counters.forms import NormalForm as NormalFormLaw
from simcodesign.counters.models import LEVELS, ApplicationModel, CommunicationModel, KernelModel
from simcodesign.counters.runs import WEAK
from simcodesign.describe.demands.memory_accesses import CACHE_ROLES
from simcodesign.describe.yaml.tree import MAX_NAME, parse_yaml
from simcodesign.describe.yaml.workload import workload_from
from simcodesign.fitting.as_workload.messages import has_negative
from simcodesign.fitting.as_workload.names import MeasuredParameter, MeasuredParameters, Names, number, one_line, quoted

#: Names of P and of the work of a process in equations: of the runs' own size, and of processes with as much work.
_PLAIN, _ALIKE = ("P", "work_of_runs"), ("alike", "work")
_COMMUNICATION, _REST = "communication", "others"


@dataclass
class _Writer:
    """The parts of the file, which grow kernel by kernel."""

    model: ApplicationModel
    names: Names = field(default_factory=Names)
    equations: list[str] = field(default_factory=list)
    phases: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def equation(self, *wanted: str, text: str, remark: str = "") -> str:
        """Add an equation of a name like the ``wanted`` one; returns the name."""
        name = self.names.new(*wanted)
        self.equations += [f"  # {one_line(remark)}"] if remark else []
        self.equations.append(f"  {name}: {text}")
        return name

    def law(self, *wanted: str, law: Law, axes: tuple[str, str]) -> str:
        """Add an equation of a counter."""
        remark = f"{' '.join(wanted)}: R2 {law.r2:.6g}"
        return self.equation(*wanted, text=law_text(law, *axes), remark=remark)

    def phase(self, wanted: str, constants: dict[str, str], steps: list[str]) -> None:
        """Add a phase, unless there is nothing to do in it."""
        if not steps:
            return
        plain, number_ = one_line(wanted).strip("()")[:MAX_NAME] or "kernel", 1
        name = plain
        while name in self.taken:
            number_ += 1
            name = f"{plain[: MAX_NAME - 8]} ({number_})"
        self.taken.add(name)
        given = ", ".join(f"{path}: {quoted(value)}" for path, value in constants.items())
        self.phases += [f"  - phase: {quoted(name)}", *([f"    constants: {{{given}}}"] if given else []), "    do:"]
        self.phases += [f"      - {step}" for step in steps]


def counter_workload_text(model: ApplicationModel, name: str, *, source: str = "", dimensions: float = 3) -> str:
    """Return the workload of the models of an application.

    ``dimensions``: in how many the problem is divided, from which follows how volumes of messages grow with the size
    (``counter_prediction.volume_ratio``). In the file, ``size`` may be changed where the runs say theirs; after weak
    scaling it follows from P. Raises InputError for fewer dimensions than 1.
    """
    if not (math.isfinite(dimensions) and dimensions >= 1):
        raise InputError("the problem must be divided in one dimension or more", value=dimensions, allowed="1 or above")
    writer = _Writer(model)
    for taken in ("size", "profiled_clock", "volume", *_PLAIN, *_ALIKE):
        writer.names.new(taken)
    for kernel in model.kernels:
        _kernel(writer, kernel)
    _communication(writer, model.communication)
    if model.others is not None:
        seconds = writer.law("others_s", law=model.others, axes=_PLAIN)
        writer.phase(_REST, {}, [f"compute: {{seconds: {seconds}}}"])
    text = "\n".join(_lines(writer, name, source, dimensions)) + "\n"
    workload_from(parse_yaml(text, one_line(name)))  # what is written can be read
    return text


def write_counter_workload(
    model: ApplicationModel, path: Path, name: str | None = None, *, source: str = "", dimensions: float = 3
) -> None:
    """Write the workload to a file, by default under the file's name. InputError also if it cannot be written."""
    text = counter_workload_text(model, path.stem if name is None else name, source=source, dimensions=dimensions)
    with replacing_text(path) as file:
        file.write(text)


def law_text(law: Law, processes: str, work: str) -> str:
    """Return a counter as an expression of these names. InputError for a kind of law that is not known."""
    axes = {PROCESSES: processes, WORK: work}
    if isinstance(law, NormalFormLaw):
        measured = [MeasuredParameter(name, axes[name], np.ones(1)) for name in law.fit.model.parameters]
        model = MeasuredParameters(tuple(measured), Names()).renamed(law.fit.model)
        return f"max(0, {model.expression})" if has_negative(model) else model.expression
    if not isinstance(law, BestForm):
        raise InputError(
            "a counter has a law of an unknown kind", value=type(law).__name__, allowed="BestForm, NormalForm"
        )
    texts: list[str] = []
    for form in law.forms:
        texts.append(form_text(form, axes[form.axis]))
        if _never_negative(form):
            break
    else:
        texts[-1] = f"max(0, {texts[-1]})"
    expression = texts.pop()
    for better in reversed(texts):  # if it is below zero, the next form replaces it
        expression = f"where({better} >= 0, {better}, {expression})"
    return expression


def form_text(form: Form, x: str) -> str:
    """One form of x, its numbers in full."""
    a, b = number(form.a), number(form.b)
    match form.kind:
        case kind if kind == CONSTANT:
            return a
        case kind if kind == LINEAR:
            return f"{a}*{x} + {b}"
        case kind if kind == LOGARITHMIC:
            return f"{a}*log({x}) + {b}"
        case kind if kind == POWER:
            return f"{a}*{x}**({b})"
    return f"{a}*exp({b}*{x})"


def _never_negative(form: Form) -> bool:
    """Whether it is so for every x above 0."""
    if form.kind == LOGARITHMIC:
        return False
    return form.a >= 0 and (form.kind != LINEAR or form.b >= 0)


def _kernel(writer: _Writer, kernel: KernelModel) -> None:
    """Write a kernel: its instructions at its CPI, and its accesses."""
    if kernel.time is not None:
        seconds = writer.law(kernel.name, "s", law=kernel.time, axes=_ALIKE)
        writer.phase(kernel.name, {}, [f"compute: {{seconds: {seconds}}}"])
        return
    instructions = writer.law(kernel.name, "instructions", law=kernel.counters["instructions"], axes=_ALIKE)
    cpi = kernel.cpi if kernel.refined is None else kernel.refined.cpi_core
    memory, constants = _memory(writer, kernel), {"processor.cpi": number(cpi)}
    if any(step.startswith("memory") for step in memory):
        constants["memory.per_byte"] = "0"  # waits for the controller are in the stalls already
    writer.phase(kernel.name, constants, [f"compute: {{instructions: {instructions}}}", *memory])


def _memory(writer: _Writer, kernel: KernelModel) -> list[str]:
    """Write the stalls: as accesses with a blocking factor if all levels were counted, otherwise as seconds."""
    stalls = kernel.counters.get("stall_cycles")
    if kernel.refined is None and stalls is None:
        return []
    if any(level not in kernel.counters for level in LEVELS):
        cycles = writer.law(kernel.name, "stall_cycles", law=kernel.counters["stall_cycles"], axes=_ALIKE)
        return [f"compute: {{seconds: {cycles}/profiled_clock}}"]
    counts = [writer.law(kernel.name, level, law=kernel.counters[level], axes=_ALIKE) for level in LEVELS]
    accesses = writer.equation(kernel.name, "accesses", text=" + ".join(counts))
    shares = (f"{count}/max({accesses}, 1e-300)" for count in counts[:-1])
    hits = ", ".join(f"{role}: {quoted(share)}" for role, share in zip(CACHE_ROLES, shares, strict=True))
    if kernel.refined is not None:
        blocking = number(kernel.refined.blocking_factor)
    else:
        assert stalls is not None
        times = kernel.latencies
        each_s = [f"{number(cycles)}/profiled_clock" for cycles in (times.l1_cycles, times.l2_cycles, times.llc_cycles)]
        terms = " + ".join(
            f"{count}*{each}" for count, each in zip(counts, [*each_s, number(times.memory_s)], strict=True)
        )
        access_s = writer.equation(kernel.name, "access_s", text=terms, remark="T_mem of table 2")
        cycles = writer.law(kernel.name, "stall_cycles", law=stalls, axes=_ALIKE)
        blocking = f"{cycles}/profiled_clock/max({access_s}, 1e-300)"
    return [f"memory: {{accesses: {accesses}, hits: {{{hits}}}, blocking: {quoted(blocking)}}}"]


def _communication(writer: _Writer, model: CommunicationModel) -> None:
    """Write times over volumes, times BF_comm: point to point a s + b, collective a log2 P + b s + c."""
    if model.p2p.a_s_per_byte or model.p2p.b_s:
        sent = writer.law("p2p_bytes", law=model.p2p_bytes, axes=_PLAIN)
        size = writer.equation("p2p_sent", text=f"volume*{sent}")
        steps = [
            f"send: {{to: (rank + 1) % P, bytes: {size}, when: P > 1}}",
            f"receive: {{from: (rank + P - 1) % P, bytes: {size}, when: P > 1}}",
        ]
        writer.phase(f"{_COMMUNICATION} p2p", _network(*_message(model.p2p, size, model.blocking_factor)), steps)
    if model.collective.a_s or model.collective.b_s_per_byte or model.collective.c_s:
        handed = writer.law("collective_bytes", law=model.collective_bytes, axes=_PLAIN)
        size = writer.equation("collective_handed", text=f"volume*{handed}")
        doublings = writer.equation("doublings", text="floor(log2(P))")
        rounds = writer.equation("rounds", text=f"max(1, {doublings} + where(2**{doublings} == P, 0, 2))")
        constants = _network(*_collective(model.collective, size, rounds, model.blocking_factor))
        steps = [f"allreduce: {{bytes: {size}, algorithm: recursive_doubling}}"]
        writer.phase(f"{_COMMUNICATION} collective", constants, steps)


def _message(model: PointToPoint, size: str, factor: float) -> tuple[str, str]:
    """Startup and time per byte of a message that takes max(0, a s + b)."""
    a, b = number(factor * model.a_s_per_byte), number(factor * model.b_s)
    if model.b_s >= 0:
        return b, a
    return "0", f"max(0, {a}*{size} + {b})/max({size}, 1e-300)"


def _collective(model: Collective, size: str, rounds: str, factor: float) -> tuple[str, str]:
    """Write a collective of ``rounds`` rounds that takes max(0, a log2 P + b s + c)."""
    a, b, c = (number(factor * value) for value in (model.a_s, model.b_s_per_byte, model.c_s))
    if model.c_s >= 0:
        return f"({a}*log2(P) + {c})/{rounds}", f"{b}/{rounds}"
    return f"max(0, {a}*log2(P) + {b}*{size} + {c})/{rounds}", "0"


def _network(startup: str, per_byte: str) -> dict[str, str]:
    """Constants of the network: these alone. Waits for links and interfaces are in the fitted times already."""
    constants = {"network.startup": startup, "network.per_byte": per_byte}
    others = ("receive_overhead", "hop_latency", "link_per_byte", "interfaces.per_byte")
    return constants | {f"network.{name}": "0" for name in others}


def _lines(writer: _Writer, name: str, source: str, dimensions: float) -> Iterator[str]:
    """Yield the file, line by line."""
    scaling, runs = writer.model.scaling, writer.model.runs
    counts = ", ".join(map(number, sorted(set(runs.column("processes").tolist()))))
    about = (
        f"Models of hardware counters, {len(writer.model.kernels)} kernels, from {scaling.kind} scaling on P = {counts}"
    )
    yield "simcodesign: 1"
    yield f"name: {quoted(one_line(name)[:MAX_NAME] or 'counters')}"
    yield f"about: {quoted(about)}"
    if source:
        yield f"source: {quoted(source)}"
    yield "parameters:"
    yield f"  P: {{about: {quoted(f'processes, profiled at {counts}')}}}"
    clock = writer.model.kernels[0].frequency_hz if writer.model.kernels else math.nan
    if math.isfinite(clock):
        yield f"  profiled_clock: {{default: {number(clock)}, range: [1, 1e15], unit: Hz, origin: measured}}"
    if scaling.kind != WEAK and scaling.known:
        yield f"  size: {{default: {number(scaling.size)}, range: [1e-300, 1e300], origin: measured}}"
    yield "equations:"
    yield from _coordinates(writer.model, dimensions)
    yield from writer.equations
    if scaling.known:
        yield "size: size"
    yield "program:"
    yield from writer.phases


def _coordinates(model: ApplicationModel, dimensions: float) -> Iterator[str]:
    """Where the laws are read (``counter_runs.Scaling.coordinates``), and by what volumes grow."""
    scaling = model.scaling
    if scaling.kind == WEAK:
        yield from (f"  size: {number(scaling.work)}*P", "  alike: P", f"  work: {number(scaling.work)}")
        yield from ("  work_of_runs: work", "  volume: 1")
    elif not scaling.known:
        yield from ("  alike: P", "  work: 1/P", "  work_of_runs: work", "  volume: 1")
    else:
        size = number(scaling.size)
        yield f"  alike: P*{size}/size                # number of processes of the runs that had as much work each"
        yield from ("  work: size/P", f"  work_of_runs: {size}/P")
        yield f"  volume: (size/{size})**({number((dimensions - 1) / dimensions)})"
