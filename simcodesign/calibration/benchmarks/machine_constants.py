"""Constants of a machine from what benchmarks print: everything that the tables can tell, and what was used for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from simcodesign.analytic.messages.route_links import modelled_hops
from simcodesign.calibration.benchmarks.algorithms import (
    AlgorithmChoice,
    algorithm_choices,
    decision_table,
    notes_of_placement,
    notes_without_ranks,
)
from simcodesign.calibration.benchmarks.evidence import Source, collective_evidence, evidence_notes, read_apart
from simcodesign.calibration.benchmarks.kernels import kernel_constants
from simcodesign.calibration.benchmarks.levels import (
    NODE,
    OUTSIDE,
    at_level,
    check_levels_known,
    notes_of_waiting,
)
from simcodesign.calibration.benchmarks.node_rates import memory_bandwidth, processor_rate
from simcodesign.calibration.benchmarks.nodes.full_node import CACHE, HOLDS_RECEIVER, full_node
from simcodesign.calibration.benchmarks.nodes.loaded_interfaces import PATH as LOADED
from simcodesign.calibration.benchmarks.nodes.loaded_interfaces import loaded_interfaces
from simcodesign.calibration.benchmarks.nodes.within_node import (
    TOPOLOGY,
    WithinNode,
    level_changes,
    notes_within_node,
    unused_within_node,
    with_levels,
    within_node,
)
from simcodesign.calibration.benchmarks.packing import packing_times
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
from simcodesign.calibration.benchmarks.rings import as_messages
from simcodesign.calibration.benchmarks.rings_across_nodes import rings_across_nodes
from simcodesign.calibration.benchmarks.samples import (
    Lines,
    MachineConstant,
    notes_of_repetitions,
    of_contiguous_data,
    of_one_memory,
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
from simcodesign.core.errors import InputError, Place
from simcodesign.describe.constants import check_constant
from simcodesign.describe.demands.collective import ALGORITHMS
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.evidence import Evidence
from simcodesign.describe.yaml.files import load_machine
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkTable

#: Constants that may be given as known.
KNOWN = (LATENCY, RECEIVE, OVERHEAD, CACHE)
#: Constants that each segment of a network in LogGOPS states, though they are the same for all.
IN_EACH = (OVERHEAD, "network.g", PER_BYTE)
#: The time per byte of a link, as ``INTERFACE`` is an interface's.
LINK = "network.link_per_byte"
_NETWORK = "network."
Tables = tuple[BenchmarkTable, ...]


@dataclass(frozen=True, eq=False)
class MachineCalibration:
    """``name``: of the machine that was calibrated.

    ``messages``: of ping-pongs, if there are any; ``constants``: all others; ``duplex``: of its interfaces, None if it
    was not measured. ``tables``: what was read.
    """

    name: str
    machine: Machine
    tables: Tables
    messages: PointToPoint | None
    constants: tuple[MachineConstant, ...]
    duplex: str | None
    notes: tuple[str, ...]
    level: float
    within_node: tuple[WithinNode, ...] = ()
    """Constants of messages from ping-pongs between two ranks of one node, by the network inside."""
    holds_receiver: bool | None = None
    """Whether messages within a node hold both of their ends; None if nothing shows it."""
    lines_of_holds: Lines = field(default_factory=dict)
    """The rows that show it."""
    has_new_levels: bool = False
    """Whether the machine states no network inside its nodes, and this calibration adds one."""
    choices: tuple[AlgorithmChoice, ...] = ()
    """Algorithms of collective operations, if they were asked for."""
    evidence: tuple[Evidence, ...] = ()
    """How far forecasts are from the rows of collective operations that were not used."""

    @property
    def all_constants(self) -> tuple[MachineConstant, ...]:
        """Constants of messages and others; startups and times per byte segment after segment."""
        segments = () if self.messages is None else self.messages.segments
        own = () if self.messages is None else self.messages.constants
        segments = (*segments, *(one for near in self.within_node for one in near.segments))
        return (*(one for segment in segments for one in (segment.startup, segment.per_byte)), *own, *self.constants)

    @property
    def sharing(self) -> str | None:
        """The sharing rule that its constants need, where the machine has another one; otherwise None."""
        is_loaded = any(one.path == LOADED for one in self.constants)
        return "max_min" if is_loaded and not self.machine.network.sharing.is_by_flows else None

    @property
    def lines(self) -> Lines:
        """The used rows, which are no evidence for this machine."""
        messages = [] if self.messages is None else [self.messages.lines]
        messages += [one.messages.lines for one in self.within_node]
        of_choices = (one.lines for one in self.choices)
        return united([*messages, self.lines_of_holds, *(one.lines for one in self.all_constants), *of_choices])

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
    files: Iterable[Source],
    *,
    evidence: Iterable[Source] = (),
    known: Mapping[str, float] | None = None,
    segments: int | None = None,
    level: float = 0.9,
    robust: bool = False,
    algorithms: bool = False,
    simulate: bool = False,
) -> MachineCalibration:
    """Determine constants from benchmarks, as ``studies.verbs.calibrate`` describes. ``known``: some of ``KNOWN``."""
    loaded = load_machine(machine)
    every, held = read_apart(files, evidence)
    for path, value in (known or {}).items():
        if path not in KNOWN:
            raise InputError("not a constant that can be given", value=path, allowed=", ".join(KNOWN))
        check_constant(path, value, loaded.place)
    notes = [f"{table.file}: {one}" for table in every for one in table.notes]
    notes += [*notes_without_ranks(every), *notes_of_placement(every, loaded)]
    tables, apart, more = _usable(every, held, loaded)
    notes += more
    base, has_new_levels, note = with_levels(machine, loaded, tables)
    notes += [note] if note else []
    far = at_level(tables, OUTSIDE, base)
    given = {path: value for path, value in (known or {}).items() if path != CACHE}
    hops = float(np.max(modelled_hops(base.network, 2.0)))
    messages = point_to_point(far, base, given, hops, segments, level, robust)
    near = within_node(tables, base, _receive_overhead_s(messages, base), segments, level, robust)
    if messages is not None and np.max(base.network.hop_latency_s) and not samples(far, "ping_pong", by=(HOPS,)):
        assumed = (
            f"Ping-pongs are taken to be {hops:.4g} hops apart, the mean of {base.name}, because no file states it."
        )
        notes.append(f"{assumed} Set it, for example by --given hops=2.")
    partial = MachineCalibration(str(machine), base, every, messages, (), None, (), level, near)
    partial, tables = _with_rings(replace(partial, has_new_levels=has_new_levels), tables, notes)
    constants, kind = _others(tables, far, base, level, notes)
    constants = _as_fast_as_messages(constants, partial.messages, base, notes)
    partial = replace(partial, constants=tuple(constants), duplex=kind)
    partial = _under_load(partial, tables, (known or {}).get(CACHE), notes)
    if algorithms:
        partial = replace(partial, choices=algorithm_choices(tables, _calibrated(partial)))
    if any(one.operation in OPERATIONS for one in partial.choices):
        notes.append("The rate of operators was not determined: it would follow from an algorithm that is assumed.")
    else:
        partial = _with_reductions(partial, tables, notes)
    copies, more = packing_times(tables, _calibrated(partial), level)
    notes += more
    partial = replace(partial, constants=(*partial.constants, *copies))
    notes += () if partial.messages is None else partial.messages.notes
    used = {(file, line) for file, lines in partial.lines.items() for line in lines}
    notes += [*notes_within_node(tables, base, near), *unused_within_node(tables, base, used)]
    notes += evidence_notes(base, {one.path for one in partial.all_constants}, every)
    done = replace(partial, notes=tuple(notes))
    if not done.all_constants and kind is None and done.holds_receiver is None and not done.choices:
        raise _no_constant(done)
    calibrated = _calibrated(done)  # reports measured constants that contradict the machine
    return replace(done, evidence=collective_evidence((*tables, *apart), calibrated, done.lines, simulated=simulate))


def _usable(every: Tables, held: Collection[str], machine: Machine) -> tuple[Tables, Tables, list[str]]:
    """Return rows of one kind of memory and data, in tables to use and in files ``held``, and notes on the others.

    Rings to use are messages. Raises InputError for messages of an unspecified level.
    """
    tables, of_memory = of_one_memory(every)
    tables, of_data = of_contiguous_data(tables)
    apart = tuple(one for one in tables if one.file in held)
    tables = tuple(one for one in tables if one.file not in held)
    check_levels_known(tables, machine)
    tables, of_rings = as_messages(tables, machine)
    return tables, apart, [*of_memory, *of_data, *of_rings, *notes_of_waiting(tables), *notes_of_repetitions(tables)]


def _calibrated(calibration: MachineCalibration) -> Machine:
    """Return the machine with the constants that are determined so far."""
    return load_machine(calibration.name, machine_changes(calibration))


def _with_rings(calibration: MachineCalibration, tables: Tables, notes: list[str]) -> tuple[MachineCalibration, Tables]:
    """Add constants between nodes from rings across them, if nothing else gives these.

    Return also the tables without used rows.
    """
    if calibration.messages is not None:
        return calibration, tables
    changes = machine_changes(calibration)
    messages, rest, more = rings_across_nodes(tables, calibration.name, changes, calibration.level)
    notes += more
    return replace(calibration, messages=messages), rest


def _under_load(
    calibration: MachineCalibration, tables: Sequence[BenchmarkTable], cache: float | None, notes: list[str]
) -> MachineCalibration:
    """Add what ranks that send at the same time show: of a full node, and of two."""
    memory = next((one for one in calibration.constants if one.path == "memory.per_byte"), None)
    constants = [*calibration.constants]
    if calibration.machine.has_levels:
        found = full_node(tables, calibration.machine, memory, cache)
        notes += found.notes
        constants += [] if found.copies is None else [found.copies]
        if found.copies is not None and cache is not None:
            constants.append(MachineConstant(CACHE, cache, np.nan, np.nan, "given (--fix)"))
        calibration = replace(calibration, holds_receiver=found.holds_receiver, lines_of_holds=found.lines)
        calibration = replace(calibration, constants=tuple(constants))
    interfaces, more = loaded_interfaces(tables, _calibrated(calibration))
    notes += more
    return replace(calibration, constants=(*constants, *([] if interfaces is None else [interfaces])))


def _with_reductions(
    calibration: MachineCalibration, tables: Sequence[BenchmarkTable], notes: list[str]
) -> MachineCalibration:
    """Add the rate of operators, if some row measures a reduction."""
    if not any(row.operation in OPERATIONS for table in tables for row in table.rows):
        return calibration
    rate, more = reduction_rate(tables, _calibrated(calibration), calibration.level)
    if rate is not None and calibration.messages is None:
        notes.append(
            f"No ping-pongs: the messages of reductions are taken to cost what {calibration.machine.name} states."
        )
    notes += more
    return calibration if rate is None else replace(calibration, constants=(*calibration.constants, rate))


class NoConstantError(InputError):
    """Measurements of which no constant can be made."""


def _no_constant(calibration: MachineCalibration) -> NoConstantError:
    """Return the error that lists what each file lacks."""
    operations = sorted({row.operation for table in calibration.tables for row in table.rows})
    allowed = "ping-pongs of three sizes or more, windows, STREAM, Linpack of three sizes, products of matrices"
    allowed += ", IOR and mdtest"
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
    """Return the receive overhead that the calibrated machine has."""
    found = () if messages is None else messages.constants
    own = float(np.max(base.constants().get(RECEIVE, 0.0)))
    return next((one.value for one in found if one.path == RECEIVE), own)


def _others(
    tables: Sequence[BenchmarkTable], far: Sequence[BenchmarkTable], base: Machine, level: float, notes: list[str]
) -> tuple[list[MachineConstant], str | None]:
    """Determine all but the constants of messages, and the duplex of interfaces.

    Messages of several nodes alone, ``far``, pass these.
    """
    constants = [one for one in (interface_bandwidth(far, level),) if one is not None]
    memory = memory_bandwidth(tables, 1 if base.memory is None else base.memory.controllers)
    if memory is not None and base.memory is None:
        notes.append(f"{base.name} states no memory: STREAM's {1e-9 / memory.value:.4g} GB/s have no place in it.")
    elif memory is not None:
        constants.append(memory)
    of_storage, more = storage_constants(tables, base, level)
    of_kernels, about_kernels = kernel_constants(tables, base, level)
    constants += of_storage + of_kernels
    notes += [*more, *about_kernels]
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
    """Constants outside segments, not in them."""
    messages = calibration.messages
    own = () if messages is None else messages.constants
    in_segments = messages is not None and len(messages.segments) > 1
    return *(one for one in own if not (in_segments and one.path in IN_EACH)), *calibration.constants


def shared_by_segments(calibration: MachineCalibration) -> dict[str, float]:
    """Return the constants of every segment of a network in LogGOPS other than L and G, by key.

    o, g and O, as determined or as the machine has them.
    """
    if calibration.messages is None or not calibration.machine.network.message_model.has_gaps:
        return {}
    stated = {path: float(np.max(value)) for path, value in calibration.machine.constants().items() if path in IN_EACH}
    found = {one.path: one.value for one in calibration.messages.constants if one.path in IN_EACH}
    return {path.removeprefix(_NETWORK): value for path, value in {**stated, **found}.items()}


def machine_changes(calibration: MachineCalibration) -> dict[str, object]:
    """Return the changes of the machine's file, by dotted paths; sizes, times and bandwidths in SI units."""
    changes: dict[str, object] = {}
    messages = calibration.messages
    if messages is not None and len(messages.segments) == 1 and not calibration.machine.network.has_segments:
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
    if calibration.has_new_levels:
        changes[f"{NODE}.topology.kind"] = TOPOLOGY
    for near in calibration.within_node:
        changes |= level_changes(near)
    if calibration.holds_receiver is not None:
        changes[HOLDS_RECEIVER] = str(calibration.holds_receiver).lower()
    changes |= {one.path: one.value for one in constants_of_all(calibration)}
    if calibration.duplex is not None:
        changes["network.interfaces.duplex"] = calibration.duplex
    if calibration.sharing is not None:
        changes["network.sharing"] = calibration.sharing
    rules = decision_table(calibration.choices, calibration.machine.collectives)
    return changes | {f"collectives.{operation}": rows for operation, rows in rules.items()}
