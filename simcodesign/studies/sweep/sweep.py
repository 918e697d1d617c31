"""A sweep: workload, machine, design points and reading, and the keys of its points in a store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Unpack

from simcodesign import __version__
from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.shown_keywords import shows_keywords
from simcodesign.describe.constants import CAPACITY, CONSTANTS, POWERS, dimension_at, is_of
from simcodesign.describe.design_point import check_preset, select_phases
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.levels import PATHS
from simcodesign.describe.machine_use import machine_use
from simcodesign.describe.network.size_segments import PATH
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.resources import PREFIX
from simcodesign.describe.scenario import MachineSource, SimulationKeywords, WorkloadSource, workload_of
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.constants import OTHER_NAMES
from simcodesign.describe.yaml.files import in_file
from simcodesign.engine.experiment import Experiment
from simcodesign.studies.sweep.check_change import check_change
from simcodesign.studies.sweep.content_digest import canonical, digest
from simcodesign.studies.sweep.design.grid import (
    CHANGE,
    PARAMETER,
    SEED,
    Design,
    Known,
    Lookup,
    SweepAxis,
    grid,
    parse_axis,
)
from simcodesign.studies.sweep.design.sampling import sampled
from simcodesign.studies.sweep.design.ties import tied
from simcodesign.studies.sweep.machine_source import SHAPED, MachineFile, reshaped, source_of
from simcodesign.studies.sweep.points import PointKeys, PointResult, SweepPoint, Value, item

FORMAT = 1
#: An axis of at most this many values caches the items of its keys.
_MAX_CACHED_ITEMS = 10_000
#: Top-level keys of a machine file that may be varied.
TOP_KEYS = ("nodes", "processors_per_node", "mapping", "noise")


@dataclass(frozen=True)
class Sweep:
    """A workload on a machine, read at every point of a design; it can be pickled.

    ``experiment``: what all points share, except for parameters. All points use its seed (the same random
    numbers), unless an axis sets it; its engine changes no result. ``simulate``: whether points are simulated, too.
    ``given``: parameters that are the same at all points, SI units.
    """

    experiment: Experiment
    source: MachineFile
    design: Design
    simulate: bool = False
    given: Mapping[str, float] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, object]:
        return {attribute.name: getattr(self, attribute.name) for attribute in fields(self)}  # nothing that was derived

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)

    @property
    def workload(self) -> Workload:
        """Workload of the experiment."""
        return self.experiment.scenario.workload

    @property
    def count(self) -> int:
        """Number of points."""
        return self.design.count

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the axes, and of what is tied to them: the first columns of the table."""
        return self.design.names

    @property
    def structural(self) -> bool:
        """Whether something in the machine file is varied that cannot be an array in one forecast."""
        return any(axis.known.kind == CHANGE for axis in self.design.settings)

    def point(self, number: int) -> SweepPoint:
        """Return the point of this number, from 0. IndexError for others."""
        value_indices = self.design.place(number)
        parameters: dict[str, float] = dict(self.given)
        changes: dict[str, Value] = {}
        axes: dict[str, Value] = {}
        seed = self.experiment.seed
        for axis, axis_index in zip(self.design.settings, value_indices, strict=True):
            kind, path, value = axis.known.kind, axis.known.path, axis.given[axis_index]
            axes[axis.name] = axis.values[axis_index]
            if kind == CHANGE:
                changes[path] = value
            elif kind == PARAMETER:
                parameters[path] = float(value)
            else:
                seed = int(value)
        items_text = b"".join(
            [items[value_indices[axis_index]] if axis_index >= 0 else items[0] for axis_index, items in self._items]
        )
        return SweepPoint(number, parameters, changes, seed, self._keys.key(items_text), axes)

    @cached_property
    def _items(self) -> list[tuple[int, Sequence[bytes]]]:
        """The items of the keys, in order: the index of the axis (-1: none), and the item of each of its values."""
        sources = [
            (axis.known.kind, axis.known.path, axis_index) for axis_index, axis in enumerate(self.design.settings)
        ]
        sources += [(PARAMETER, path, -1) for path in self.given]
        sources += [] if any(kind == SEED for kind, _, _ in sources) else [(SEED, "seed", -1)]
        fixed = {PARAMETER: self.given, SEED: {"seed": self.experiment.seed}}
        return [
            (
                axis_index,
                [item(kind, path, fixed[kind][path])] if axis_index < 0 else _Items(self.design.settings[axis_index]),
            )
            for kind, path, axis_index in sorted(sources)
        ]

    def points(self, numbers: Iterable[int] | None = None) -> Iterator[SweepPoint]:
        """Return the points of these numbers, or all, made one by one."""
        return (self.point(int(number)) for number in (range(self.count) if numbers is None else numbers))

    def row(self, point: SweepPoint, results: Mapping[str, float] | None = None, reason: str = "") -> PointResult:
        """Return the row of a point: its results, or the reason why there are none."""
        return PointResult(point.number, point.key, point.axes, results or {}, reason)

    @cached_property
    def _keys(self) -> PointKeys:
        return PointKeys.of({**self._settings_meta, "content": self._contents})

    @cached_property
    def _contents(self) -> dict[str, str]:
        return {
            "workload": digest(self.workload),
            "machine": digest(self.source.content(self.structural)),
        }

    @property
    def _settings_meta(self) -> dict[str, object]:
        """The settings that all points share, except for workload and machine."""
        simulated, experiment = self.simulate, self.experiment
        preset, phases = experiment.scenario.preset, experiment.scenario.phases
        return {
            "format": FORMAT,
            "version": __version__,
            "simulate": self.simulate,
            "preset": preset,
            "phases": None if phases is None else list(phases),
            "effects": list(experiment.effects) if simulated else None,
        }

    def meta(self) -> dict[str, object]:
        """Return the description of the sweep for a store, as JSON values. Equal for sweeps of the same rows."""
        return {
            **self._settings_meta,
            "workload": self.workload.name,
            "machine": self.source.machine.full_label,
            "workload content": self._contents["workload"],
            "machine content": self._contents["machine"],
            "parameters": {name: float(value) for name, value in sorted(self.given.items())},
            "seed": self.experiment.seed,
            "points": self.count,
            "axes": [_axis_meta(axis) for axis in self.design.settings],
            "zipped": self.design.zipped,
        }


class _Items(Sequence[bytes]):
    """The items of the values of an axis, computed on use, and cached if the axis has few values."""

    def __init__(self, axis: SweepAxis) -> None:
        self._axis = axis
        self._cached: dict[int, bytes] = {}

    def __len__(self) -> int:
        return len(self._axis.values)

    def __getitem__(self, index: Any) -> Any:
        encoded = self._cached.get(index)
        if encoded is None:
            encoded = item(self._axis.known.kind, self._axis.known.path, self._axis.given[index])
            if len(self) <= _MAX_CACHED_ITEMS:
                self._cached[index] = encoded
        return encoded


@shows_keywords(SimulationKeywords, taken_by=Experiment.of)
def sweep_of(
    workload: WorkloadSource,
    machine: MachineSource,
    vary: Sequence[str],
    *,
    settings: Mapping[str, str] | None = None,
    sample: tuple[int, str] | None = None,
    ties: Sequence[str] = (),
    simulate: bool = False,
    **options: Unpack[SimulationKeywords],
) -> Sweep:
    """Return the sweep over axes as ``--vary`` takes them; ``settings``: texts by name, as ``--set`` takes them.

    ``sample``: number and method (``sobol``, ``lhs``) of points sampled in ranges LOW:HIGH, instead of the full grid.
    ``ties``: what follows the axes, as ``--tie`` writes it. ``simulate``: whether points are simulated, too.
    InputError for anything that cannot be used.
    """
    loaded = workload_of(workload)
    given, changes = _settings(settings or {}, loaded)
    source = source_of(machine, changes)
    experiment = Experiment.of(loaded, source.machine, **options)
    check_preset(loaded, experiment.scenario.preset)
    if experiment.scenario.phases is not None:
        select_phases(loaded, experiment.scenario.phases)
    lookup = lookup_in(loaded, source)
    design = (
        grid([parse_axis(text, lookup) for text in vary])
        if sample is None
        else sampled(vary, sample[0], sample[1], experiment.seed, lookup)
    )
    numbers = {name: _number(name, text, loaded, source.machine) for name, text in given.items()}
    design = tied(design, ties, lookup, numbers)
    _check_apart(design, given | changes | ({"seed": str(experiment.seed)} if experiment.seed else {}))
    design = _with_notes(design, source, simulate)
    for axis in design.settings:
        if axis.known.kind == CHANGE:
            check_change(source, axis, design)
    return Sweep(experiment, source, design, simulate, numbers)


def _with_notes(design: Design, source: MachineFile, simulate: bool) -> Design:
    """Return the design, with notes on what may surprise.

    If the shape of the network follows its nodes, if a seed has no effect, and if ranks take a part of the machine that
    another mapping would choose better.
    """
    values = {axis.known.path: axis.values for axis in design.settings}
    notes = [design.note, *(axis.note for axis in design.axes)]
    if not simulate and any(axis.known.kind == SEED for axis in design.axes):
        notes.append("a forecast draws nothing")
    if not simulate and "mapping" in values:
        notes.append("a forecast hardly depends on mapping; --simulate distinguishes its values")
    tree = None if SHAPED & values.keys() else source.tree
    if tree is not None and any(reshaped(tree, {"nodes": value}) for value in values.get("nodes", ())):
        notes.append("where nodes are varied, the network has the most even shape of its dimensions")
    if simulate and source.machine.nodes_by_ranks is None and not {"nodes", "mapping"} & values.keys():
        notes.append(_note_of_part(source.machine, [float(value) for value in values.get("P", ())]))
    return replace(design, note="; ".join(part for part in notes if part))


def _note_of_part(machine: Machine, ranks: Sequence[float]) -> str:
    """Return the hint for the first number of ranks that has one; nothing if none has."""
    for count in ranks:
        if 1 <= count <= machine.most_ranks and (hint := machine_use(machine, int(count)).hint):
            return f"P = {count:,.0f} is on a part of {machine.name}: {hint}"
    return ""


def lookup_in(workload: Workload, source: MachineFile) -> Lookup:
    """Look up what can be varied: parameters, ``P``, constants, anything in the machine file, and the seed."""

    def lookup(name: str) -> Known:
        if name in workload.parameters or name == "P":
            return _of_parameter(name, workload.parameters.get(name, Parameter("P", None, whole=True)))
        if name == "seed":
            return Known(name, SEED, whole=True)
        if name.startswith(PREFIX):
            known = source.machine.parameter(name, Place("--vary"))
            if source.machine.custom.shapes_network(name):
                (path,) = in_file({name: None})
                return Known(path, CHANGE, known.dimension if known.unit else "", known.whole, known.choices)
            return _of_parameter(name, known)
        return _in_machine(name, workload, source.machine)

    return lookup


def _of_parameter(path: str, known: Parameter) -> Known:
    return Known(path, PARAMETER, known.dimension, known.whole, known.choices)


def _in_machine(name: str, workload: Workload, machine: Machine) -> Known:
    """Return a constant, a bandwidth instead of one, or a key of the machine file."""
    constants = CONSTANTS | POWERS
    part, _, key = name.rpartition(".")
    path, inverse = name, False
    if key.endswith("bandwidth"):
        is_network = (key == "bandwidth" and part in PATHS) or part.startswith(f"{PATH}.")
        per_byte = machine.network.message_model.per_byte_key() if is_network else OTHER_NAMES.get(key, key)
        path, inverse = f"{part}.{per_byte}", True
    dimension = dimension_at(path)
    if path not in constants and dimension is not None and path in machine.constants():  # of a cache, or of a segment
        return Known(path, PARAMETER, "bandwidth" if inverse else dimension, inverse=inverse)
    if path in constants:
        present = getattr(machine, constants[path][0]) is not None
        if present and is_of(path, machine.network.message_model):
            return Known(path, PARAMETER, "bandwidth" if inverse else constants[path][2], inverse=inverse)
        raise InputError(
            f"{machine.name} has no such constant",
            Place("--vary"),
            value=name,
            allowed=nearest(name, machine.varying()),
        )
    if name == CAPACITY and machine.capacity_bytes is not None:
        return Known(name, PARAMETER, "size")
    if "." in name or name in TOP_KEYS:
        return Known(name, CHANGE)
    what = f"neither a parameter of {workload.name} nor a key of machine files"
    paths = [one.replace("per_byte", other) for one in machine.varying() for other in ("per_byte", "bandwidth")]
    allowed = nearest(name, {*workload.parameters, "P", "seed", *TOP_KEYS, *paths})
    raise InputError(what, Place("--vary"), value=name, allowed=allowed)


def _settings(settings: Mapping[str, str], workload: Workload) -> tuple[dict[str, str], dict[str, str]]:
    """Parameters, and changes in the machine file, of ``--set``."""
    parameters = {
        name: text
        for name, text in settings.items()
        if name == "P" or name in workload.parameters or name.startswith(PREFIX)
    }
    return parameters, {name: text for name, text in settings.items() if name not in parameters}


def _check_apart(design: Design, settings: Mapping[str, str]) -> None:
    for axis in design.settings:
        for name in {axis.name, axis.known.path} & settings.keys():
            raise InputError("set and varied", Place("--vary"), value=name, allowed="--set or --vary, not both")


def _number(name: str, text: str, workload: Workload, machine: Machine) -> float:
    """Return the number that a setting spells."""
    place = Place("--set", None, name)
    if name.startswith(PREFIX):
        return machine.parameter(name, place).parsed(text, place)
    parameter = workload.parameters.get(name)
    if parameter is not None and parameter.is_named:
        return parameter.parsed(text, place)
    try:
        return float(text)
    except ValueError:
        raise InputError("a parameter must be a number", place, value=text, allowed="e.g. 16, 0.5 or 1e6") from None


def _axis_meta(axis: SweepAxis) -> dict[str, object]:
    """Return an axis in short: its ends, and a digest of all values."""
    ends = [axis.values[0], axis.values[-1]]
    return {
        "name": axis.name,
        "count": len(axis.values),
        "ends": ends,
        "unit": axis.unit,
        "values": digest([axis.known.path, axis.known.kind, axis.given]),
    }


def same(meta: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Whether two metas are of the same sweep."""
    return canonical(meta) == canonical(other)


def differences(stored: Mapping[str, object], requested: Mapping[str, object]) -> list[str]:
    """Differences between the stored and the requested sweep, a line each."""
    lines = []
    for name in dict.fromkeys([*stored, *requested]):
        stored_value, requested_value = stored.get(name), requested.get(name)
        if canonical(stored_value) != canonical(requested_value):
            lines.append(_difference(name, stored_value, requested_value))
    return lines


def _difference(name: str, stored_value: object, requested_value: object) -> str:
    if name == "axes" and isinstance(stored_value, list) and isinstance(requested_value, list):
        return f"axes: {_axes_text(stored_value)} in the store, {_axes_text(requested_value)} now"
    if name.endswith("content"):
        return f"{name}: the {name.split()[0]} has changed since the store was made"
    return f"{name}: {stored_value!r} in the store, {requested_value!r} now"


def _axes_text(axes: list[object]) -> str:
    def text(axis: object) -> str:
        if not isinstance(axis, dict):
            return repr(axis)
        low, high = axis["ends"]
        return f"{axis['name']} ({axis['count']} from {low} to {high}, {axis['values'][:8]})"

    return "; ".join(text(axis) for axis in axes)
