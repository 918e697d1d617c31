"""Constants of a machine from what benchmarks print: everything that the tables can tell, and what was used for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from simcodesign.analytic.messages.route_links import modelled_hops
from simcodesign.calibration.benchmarks.node_rates import memory_bandwidth, processor_rate
from simcodesign.calibration.benchmarks.point_to_point import (
    HOPS,
    LATENCY,
    OVERHEAD,
    PER_BYTE,
    RECEIVE,
    PointToPoint,
    point_to_point,
)
from simcodesign.calibration.benchmarks.reductions import OPERATIONS, reduction_rate
from simcodesign.calibration.benchmarks.samples import (
    Lines,
    MachineConstant,
    of_one_memory,
    of_one_node,
    of_several_nodes,
    samples,
    united,
)
from simcodesign.calibration.benchmarks.saturation import PATH as INTERFACE
from simcodesign.calibration.benchmarks.saturation import (
    duplex,
    interface_bandwidth,
    saturated_pairs,
    windows_of_any_nodes,
)
from simcodesign.calibration.benchmarks.storage import storage_constants
from simcodesign.calibration.benchmarks.within_node import node_change, notes_of_one_node, within_node
from simcodesign.core.errors import InputError, Place
from simcodesign.describe.constants import check_constant
from simcodesign.describe.demands.collective import ALGORITHMS
from simcodesign.describe.machine import Machine
from simcodesign.describe.yaml.files import load_machine
from simcodesign.fitting.readers.benchmarks.table import BenchmarkTable, read_benchmark

#: Constants that may be given as known.
KNOWN = (LATENCY, RECEIVE, OVERHEAD)
#: What segments of a network in LogGOPS state each, though it is the same for all.
IN_EACH = (OVERHEAD, "network.g", PER_BYTE)
#: The time per byte of a link, as ``INTERFACE`` is that of an interface.
LINK = "network.link_per_byte"
_NETWORK = "network."


@dataclass(frozen=True, eq=False)
class MachineCalibration:
    """``name``: of the machine that was calibrated; ``messages``: of ping-pongs, if there are any; ``constants``: all
    others; ``duplex``: of its interfaces, None where it was not measured. ``tables``: what was read."""

    name: str
    machine: Machine
    tables: tuple[BenchmarkTable, ...]
    messages: PointToPoint | None
    constants: tuple[MachineConstant, ...]
    duplex: str | None
    notes: tuple[str, ...]
    level: float
    within_node: PointToPoint | None = None
    """Constants of messages from ping-pongs between two ranks of one node."""

    @property
    def all_constants(self) -> tuple[MachineConstant, ...]:
        """Of messages and others; startups and times per byte segment after segment."""
        segments = () if self.messages is None else self.messages.segments
        own = () if self.messages is None else self.messages.constants
        segments = (*segments, *(() if self.within_node is None else self.within_node.segments))
        return (*(one for segment in segments for one in (segment.startup, segment.per_byte)), *own, *self.constants)

    @property
    def lines(self) -> Lines:
        """The rows that were used, which are no evidence for this machine."""
        messages = tuple(one.lines for one in (self.messages, self.within_node) if one is not None)
        return united([*messages, *(one.lines for one in self.all_constants)])

    @property
    def roles(self) -> list[str]:
        """For each row of the tables in their order: ``calibration`` or ``evidence``."""
        used = {file: {*numbers} for file, numbers in self.lines.items()}
        return [
            "calibration" if row.line in used.get(table.file, ()) else "evidence"
            for table in self.tables
            for row in table.rows
        ]


def calibrate_machine(
    machine: str | Path,
    files: Iterable[str | Path | BenchmarkTable],
    *,
    known: Mapping[str, float] | None = None,
    segments: int | None = None,
    level: float = 0.9,
    robust: bool = False,
) -> MachineCalibration:
    """Determine constants from benchmarks, as ``studies.verbs.calibrate`` describes. ``known``: some of ``KNOWN``."""
    base = load_machine(machine)
    every = tuple(one if isinstance(one, BenchmarkTable) else read_benchmark(one) for one in files)
    for path, value in (known or {}).items():
        if path not in KNOWN:
            raise InputError("not a constant that can be given", value=path, allowed=", ".join(KNOWN))
        check_constant(path, value, base.place)
    notes = [note for table in every for note in (f"{table.file}: {one}" for one in table.notes)]
    tables, of_memory = of_one_memory(every)
    notes += of_memory
    hops = float(np.max(modelled_hops(base.network, 2.0)))
    far = of_several_nodes(tables)
    messages = point_to_point(far, base, known or {}, hops, segments, level, robust)
    overhead_s = _receive_overhead_s(messages, base)
    near = within_node(of_one_node(tables), base, overhead_s, segments, level, robust)
    notes += notes_of_one_node(tables, base, near)
    if messages is not None and np.max(base.network.hop_latency_s) and not samples(far, "ping_pong", by=(HOPS,)):
        assumed = (
            f"Ping-pongs are taken to be {hops:.4g} hops apart, the mean of {base.name}, because no file states it."
        )
        notes.append(f"{assumed} Set it, for example by --given hops=2.")
    constants, kind = _others(tables, far, base, level, notes)
    constants = _as_fast_as_messages(constants, messages, base, notes)
    partial = MachineCalibration(str(machine), base, every, messages, tuple(constants), kind, (), level, near)
    if any(row.operation in OPERATIONS for table in tables for row in table.rows):
        calibrated = load_machine(machine, machine_changes(partial))
        rate, more = reduction_rate(tables, calibrated, level)
        constants += [rate] if rate is not None else []
        if rate is not None and messages is None:
            notes.append(f"No ping-pongs: the messages of reductions are taken to cost what {base.name} states.")
        notes += more
    notes += () if messages is None else messages.notes
    notes += () if near is None else [f"Within a node: {note}" for note in near.notes]
    done = replace(partial, constants=tuple(constants), notes=tuple(notes))
    if not done.all_constants and kind is None:
        raise _no_constant(done)
    load_machine(machine, machine_changes(done))  # says where constants that were measured contradict the machine
    return done


class NoConstantError(InputError):
    """Measurements of which no constant can be made."""


def _no_constant(calibration: MachineCalibration) -> NoConstantError:
    """Return the error that lists what each file lacks."""
    operations = sorted({row.operation for table in calibration.tables for row in table.rows})
    allowed = "ping-pongs of three sizes or more, windows, STREAM, Linpack of three sizes, IOR and mdtest"
    if {*operations} & {*OPERATIONS}:
        allowed += "; allreduce and reduce that take longer than their messages"
    if {*operations} & {*ALGORITHMS}:
        allowed += (
            "; startup and bandwidth from collectives: --write rows.csv, then calibrate WORKLOAD MACHINE rows.csv, "
            "with a workload of that collective"
        )
    what = " ".join(["no constant can be made of these measurements.", *calibration.notes]).removesuffix(".")
    files = ", ".join(table.file for table in calibration.tables)
    return NoConstantError(what, Place(files), value=", ".join(operations), allowed=allowed)


def _receive_overhead_s(messages: PointToPoint | None, base: Machine) -> float:
    """The receive overhead that the calibrated machine has."""
    found = () if messages is None else messages.constants
    own = float(np.max(base.constants().get(RECEIVE, 0.0)))
    return next((one.value for one in found if one.path == RECEIVE), own)


def _others(
    tables: Sequence[BenchmarkTable], far: Sequence[BenchmarkTable], base: Machine, level: float, notes: list[str]
) -> tuple[list[MachineConstant], str | None]:
    """What does not need the constants of messages, and the duplex of interfaces; messages of several nodes alone,
    ``far``, pass these."""
    constants = [one for one in (interface_bandwidth(far, level),) if one is not None]
    memory = memory_bandwidth(tables)
    if memory is not None and base.memory is None:
        notes.append(f"{base.name} states no memory: STREAM's {1e-9 / memory.value:.4g} GB/s have no place in it.")
    elif memory is not None:
        constants.append(memory)
    of_storage, more = storage_constants(tables, base, level)
    constants += of_storage
    notes += more
    rate, note = processor_rate(tables, level)
    kind, ratio = duplex(far)
    notes += [one for one in (note, ratio, saturated_pairs(far), windows_of_any_nodes(far)) if one]
    return constants + ([rate] if rate is not None else []), kind


def _as_fast_as_messages(
    constants: list[MachineConstant], messages: PointToPoint | None, base: Machine, notes: list[str]
) -> list[MachineConstant]:
    """With no interface or link, measured or of the machine, that is slower than a message that passes it."""
    if messages is None:
        return constants
    fastest = min((one.per_byte for one in messages.segments), key=lambda one: one.value)
    kept = [one for one in constants if one.path != INTERFACE or one.value <= fastest.value]
    notes += [
        f"An interface of {1e-9 / one.value:.4g} GB/s ({one.how}) is slower than the fastest ping-pongs: not written."
        for one in constants
        if one not in kept
    ]
    stated, measured = base.constants(), {one.path for one in kept}
    for path in (INTERFACE, LINK):
        slowest = float(np.max(stated.get(path, 0.0)))
        if path not in measured and slowest > fastest.value:
            how = f"at least as fast as the messages through it ({base.name}: {1e-9 / slowest:.4g} GB/s)"
            kept.append(MachineConstant(path, fastest.value, np.nan, np.nan, how, messages.lines))
            notes.append(f"{path} is a bound: nothing here measures more than ping-pongs pass.")
    return kept


def constants_of_all(calibration: MachineCalibration) -> tuple[MachineConstant, ...]:
    """Those that stand beside segments, not in them."""
    messages = calibration.messages
    own = () if messages is None else messages.constants
    in_segments = messages is not None and len(messages.segments) > 1
    return *(one for one in own if not (in_segments and one.path in IN_EACH)), *calibration.constants


def shared_by_segments(calibration: MachineCalibration) -> dict[str, float]:
    """What every segment of a network in LogGOPS states besides L and G, by its key: o, g and O, as determined or as
    the machine has them."""
    if calibration.messages is None or not calibration.machine.network.message_model.has_gaps:
        return {}
    stated = {path: float(np.max(value)) for path, value in calibration.machine.constants().items() if path in IN_EACH}
    found = {one.path: one.value for one in calibration.messages.constants if one.path in IN_EACH}
    return {path.removeprefix(_NETWORK): value for path, value in {**stated, **found}.items()}


def machine_changes(calibration: MachineCalibration) -> dict[str, object]:
    """What the machine's file says differently, by dotted paths; sizes, times and bandwidths in SI units."""
    changes: dict[str, object] = {}
    messages = calibration.messages
    if messages is not None and len(messages.segments) == 1:
        (one,) = messages.segments
        changes |= {part.path: part.value for part in (one.startup, one.per_byte)}
    elif messages is not None:
        shared = shared_by_segments(calibration)
        changes["network.segments"] = [
            {part.path.removeprefix(_NETWORK): part.value for part in (one.startup, one.per_byte)}
            | shared
            | ({"up_to": one.up_to} if np.isfinite(one.up_to) else {})
            for one in messages.segments
        ]
    if calibration.within_node is not None:
        changes["network.node"] = node_change(calibration.within_node)
    changes |= {one.path: one.value for one in constants_of_all(calibration)}
    if calibration.duplex is not None:
        changes["network.interfaces.duplex"] = calibration.duplex
    return changes
