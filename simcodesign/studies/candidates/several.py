"""Several machines, and several workloads, compared in one answer.

Each forecast and simulated, with its ladder, and if anything is random in replications under common random numbers,
with paired intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any, Unpack

import numpy as np

from simcodesign.analytic.given_formulas.values import FormulaSources, given_formulas
from simcodesign.analytic.machine_metrics import cost_columns
from simcodesign.comparison.attribution import LadderStep, relative_error, steps_to
from simcodesign.comparison.compare import Comparison, compare_experiment
from simcodesign.comparison.effects import Rung
from simcodesign.comparison.measured.sources import MeasuredSources, given_measurements
from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.core.shown_answers import Drawn
from simcodesign.core.shown_keywords import shows_keywords
from simcodesign.core.to_json import PlainResult, attributes_of
from simcodesign.describe.machine import Machine
from simcodesign.describe.measured.times import MeasuredValue
from simcodesign.describe.scenario import MachineSource, Scenario, SimulationKeywords, WorkloadSource
from simcodesign.describe.variants import WITH, split_variant
from simcodesign.engine.event_contract import OnProgress
from simcodesign.engine.experiment import Experiment
from simcodesign.studies.replication.comparison import ReplicatedComparison, replicate_comparisons
from simcodesign.studies.replication.observations import MSER5, Floats, Key
from simcodesign.studies.replication.output_analysis import Interval, PairedIntervals, paired
from simcodesign.studies.replication.replicate import Replications, nth_replication, random_sources_of
from simcodesign.studies.replication.stopping import MOST, StoppingRules

#: One of something, or several.
Workloads = WorkloadSource | Sequence[WorkloadSource]
Machines = MachineSource | Sequence[MachineSource]


@dataclass(frozen=True)
class Candidate(PlainResult):
    """A workload on a machine, forecast and simulated, ``at`` a value of the axis if there is one.

    ``comparison``: with one simulation, the first replication if there are several (``replicated``).
    ``against``: its simulated time against the time of the first machine, with the same workload at the same value,
    replication by replication; None for the first one. ``costs``: price, power, and energy and costs of the run by
    both readings (of several replications, the first), named as columns of a sweep; empty where the machine states
    none.
    """

    comparison: Comparison
    at: Mapping[str, float]
    replicated: ReplicatedComparison | None = None
    against: PairedIntervals | None = None
    costs: Mapping[str, float] = field(default_factory=dict)

    @property
    def workload(self) -> str:
        """Its name."""
        return self.comparison.forecast.workload

    @property
    def machine(self) -> str:
        """Its name."""
        return self.comparison.forecast.machine

    @property
    def forecast_s(self) -> float:
        """The forecast, of the makespan or of the response time of an open stream."""
        return float(self.comparison.forecast.headline_s)

    @property
    def times_s(self) -> Floats:
        """The simulated time of each replication."""
        if self.replicated is None:
            return np.array([float(self.comparison.simulation.headline_s)])
        return self.replicated.values[:, 0]

    @property
    def simulated(self) -> Interval:
        """The mean of the simulated times; ``same`` if nothing is random."""
        if self.replicated is None:
            time_s = float(self.times_s[0])
            return Interval(time_s, time_s, time_s, 1, 1.0, same=True)
        return self.replicated.interval(*self.replicated.keys[0])

    @property
    def error(self) -> float:
        """Signed error of the forecast against the (mean) simulation."""
        return relative_error(self.forecast_s, self.simulated.mean)

    def change(self, rung: Rung) -> Interval:
        """Change by an effect, in the mean of the replications."""
        if self.replicated is None:
            return Interval(rung.change_s, rung.change_s, rung.change_s, 1, 1.0, same=True)
        return self.replicated.interval("change_s", rung.effect)

    @property
    def largest(self) -> Rung:
        """The rung that changes the time most."""
        return max(self.comparison.rungs, key=lambda rung: abs(self.change(rung).mean))

    @property
    def measured(self) -> MeasuredValue | None:
        """The measured total; None if none was measured."""
        return None if (known := self.comparison.measured) is None else known.total

    @property
    def steps(self) -> tuple[LadderStep, ...]:
        """Return the ladder in the mean of the replications, and on to the measured total.

        It has the rungs that have anything to act on, with shares of the whole gap.
        """
        times_s, at_s = {}, self.forecast_s
        for rung in self.comparison.rungs:
            if rung.applies:
                at_s += self.change(rung).mean
                times_s[rung.effect] = at_s
        return steps_to(self.forecast_s, times_s, None if self.measured is None else float(self.measured))

    def json_fields(self) -> dict[str, Any]:
        """Names, both times, error, ladder, and what else the comparison has."""
        shown: dict[str, Any] = attributes_of(self, "workload", "machine", "at", "forecast_s", "error")
        shown |= {"simulated_s": self.simulated.mean, "replications": len(self.times_s)}
        if self.replicated is not None:
            shown |= {"simulated": self.simulated, "random_sources": self.replicated.random_sources}
        shown["ladder"] = [
            {"effect": rung.effect, "applies": rung.applies, "change_s": self.change(rung).mean}
            for rung in self.comparison.rungs
        ]
        shown |= {name: it for name in ("formulas", "measured") if (it := getattr(self.comparison, name))}
        shown |= {"use": use} if (use := self.comparison.simulation.use) is not None else {}
        shown |= {"notes": notes} if (notes := self.comparison.forecast.notes) else {}
        shown |= {"measured_errors": errors} if (errors := self.comparison.measured_errors) else {}
        shown |= {"measured_ladder": self.steps} if self.measured is not None else {}
        shown |= {"costs": self.costs} if self.costs else {}
        return shown | {"against_first": self.against}


@dataclass(frozen=True)
class SeveralComparisons(PlainResult, Drawn):
    """All candidates: workload by workload, value of the ``axis`` by value, machine by machine.

    ``axis``: its name; empty without one.
    """

    comparisons: tuple[Candidate, ...]
    axis: str = ""

    @property
    def workloads(self) -> list[str]:
        """Their names, in the order given."""
        return list(dict.fromkeys(one.workload for one in self.comparisons))

    @property
    def machines(self) -> list[str]:
        """Their names, in the order given."""
        return list(dict.fromkeys(one.machine for one in self.comparisons))

    @property
    def groups(self) -> list[list[Candidate]]:
        """Candidates that differ by their machine only."""
        groups: dict[tuple[object, ...], list[Candidate]] = {}
        for one in self.comparisons:
            groups.setdefault((one.workload, *one.at.values()), []).append(one)
        return list(groups.values())

    def table(self) -> Any:
        """Return a row for each candidate (pandas).

        Names, value of the axis, both times with the interval, error, and by how much each effect changes the time.
        """
        import pandas as pd

        return pd.DataFrame([_row(one) for one in self.comparisons])

    def json_fields(self) -> dict[str, Any]:
        """Return the candidates, and the order of the machines by each reading."""
        orders = [
            {
                "workload": group[0].workload,
                "at": group[0].at,
                **{name: order_of(group, name) for name in READINGS},
                "ranks": {name: ranked(group, name) for name in READINGS},
            }
            for group in self.groups
        ]
        return {"reading": "several comparisons", "axis": self.axis, "comparisons": self.comparisons, "orders": orders}


#: Machines whose times differ by a smaller share are equally fast.
EQUALLY_FAST = 1e-9
#: Criteria by which machines can be ordered.
READINGS = ("forecast", "simulated")


def order_of(group: Sequence[Candidate], reading: str) -> list[str]:
    """Return the machines of a group from the fastest on, by a reading."""
    times = [one.forecast_s if reading == "forecast" else one.simulated.mean for one in group]
    return [group[at].machine for at in sorted(range(len(group)), key=times.__getitem__)]


def ranked(group: Sequence[Candidate], reading: str) -> list[list[str]]:
    """Rank a group, with machines together that are equally fast (except for rounding).

    Machines are also together if the replications show no difference between them and the fastest: the paired interval
    of their times includes 0.
    """
    candidates = {one.machine: one for one in group}
    ranks: list[list[str]] = []
    for name in order_of(group, reading):
        if ranks and not _faster(candidates[ranks[-1][0]], candidates[name], reading):
            ranks[-1].append(name)
        else:
            ranks.append([name])
    return ranks


def is_open(one: Candidate, other: Candidate) -> bool:
    """Return whether replications leave open which of two is faster.

    The paired interval of the difference holds 0, and not since both are always the same.
    """
    known = one.replicated or other.replicated
    if known is None:
        return False
    difference = against(one, other, known.level).difference
    return not difference.same and difference.holds(0.0)


def _faster(one: Candidate, other: Candidate, reading: str) -> bool:
    """Whether one is faster by a reading: by more than rounding, and than chance."""
    if reading == "forecast":
        return one.forecast_s * (1 + EQUALLY_FAST) < other.forecast_s
    return one.simulated.mean * (1 + EQUALLY_FAST) < other.simulated.mean and not is_open(one, other)


def same_order(group: Sequence[Candidate]) -> bool:
    """Return whether both readings order any two machines alike, equally fast ones included.

    Two machines are also alike if the simulation leaves open which of the two is faster.
    """
    return all(
        is_open(one, other) or _faster(one, other, "forecast") == _faster(one, other, "simulated")
        for one, other in permutations(group, 2)
    )


def _row(one: Candidate) -> dict[str, object]:
    time = one.simulated
    shown: dict[str, object] = {"workload": one.workload, "machine": one.machine, **one.at}
    shown |= {"forecast_s": one.forecast_s, "simulated_s": time.mean, "low_s": time.low, "high_s": time.high}
    shown["error"] = one.error
    shown |= one.costs
    return shown | {f"{rung.effect}_s": one.change(rung).mean for rung in one.comparison.rungs if rung.applies}


@shows_keywords(SimulationKeywords, taken_by=Experiment.of)
def compare_several(
    workloads: Workloads,
    machines: Machines,
    parameters: Mapping[str, object] | None = None,
    *,
    vary: Mapping[str, Sequence[float] | Sequence[str]] | None = None,
    formulas: FormulaSources = None,
    measured: MeasuredSources = None,
    replications: int | None = None,
    precision: float | None = None,
    precision_of: str | None = None,
    level: float = 0.95,
    at_most: int = MOST,
    jobs: int = 1,
    on_progress: OnProgress | None = None,
    **options: Unpack[SimulationKeywords],
) -> SeveralComparisons:
    """Compare every workload on every machine, in one answer.

    ``workloads``, ``machines``: one or several, as ``compare`` takes each. ``vary``: one name (``P``, a parameter or a
    constant) and its values, in SI units; every candidate is then compared at each. Texts are values of a key of
    machine files (``mapping``): each machine is compared with each of them. ``replications``: of what has
    anything random, by default 10; all candidates draw the same random numbers, so that differences between machines
    are paired. ``precision``: replicate until the half-width of the difference of each machine from the first one is
    this fraction of the first mean, up to ``at_most`` replications. ``precision_of``: the quantity, as for
    ``replicate``. ``level``: of all intervals; ``jobs``: maximum
    number of processes for replications. Other arguments as for ``compare``.

    Raises InputError for names that come twice, an axis without values or more than one, and as ``compare`` does.
    """
    given = [_several(workloads), _several(machines)]
    words = {name: found for name, found in (vary or {}).items() if any(isinstance(value, str) for value in found)}
    for key, texts in words.items():
        given[1] = variants_over(given[1], key, [str(text) for text in texts])
    name, values = _axis({key: found for key, found in (vary or {}).items() if key not in words})
    scenarios = [
        Scenario.of(workload, machine, parameters, preset=options.get("preset"), phases=options.get("phases"))
        for workload in given[0]
        for machine in given[1]
    ]
    run = {key: value for key, value in options.items() if key not in ("preset", "phases")}
    experiments = [Experiment.of(scenario, **run) for scenario in scenarios]  # type: ignore[arg-type] # as given
    return compare_experiments(
        experiments,
        (name, values),
        formulas=formulas,
        measured=measured,
        replications=replications,
        precision=precision,
        precision_of=precision_of,
        level=level,
        at_most=at_most,
        jobs=jobs,
        on_progress=on_progress,
    )


def _several(given: Any) -> list[Any]:
    return list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]


def variants_over(machines: Sequence[Any], key: str, texts: Sequence[str]) -> list[str]:
    """Return each machine with each value of a key of its file, as a variant of its own.

    ``mapping`` or ``network.topology.taper``. InputError for machines that are no names or files.
    """
    if any(isinstance(one, Machine) for one in machines):
        what = f"{key} of a machine object cannot be varied"
        raise InputError(what, value=key, allowed="the name or file of the machine")
    between = [", " if split_variant(one)[1] else WITH for one in machines]
    pairs = zip(machines, between, strict=True)
    return [f"{one}{begin}{key}={text}" for one, begin in pairs for text in texts]


def _axis(vary: Mapping[str, Sequence[Any]] | None) -> tuple[str, tuple[float, ...]]:
    """Name and values of the only axis. InputError for more of them, and for none of the values."""
    if not vary:
        return "", ()
    if len(vary) > 1:
        raise InputError("candidates are compared over one name", value=", ".join(vary), allowed="one; or sweep")
    ((name, values),) = vary.items()
    if not len(values):
        raise InputError(f"values of {name}", value=list(values), allowed="at least one")
    return name, tuple(float(value) for value in values)


def compare_experiments(
    experiments: Sequence[Experiment],
    over: tuple[str, Sequence[float]] = ("", ()),
    *,
    formulas: FormulaSources = None,
    measured: MeasuredSources = None,
    replications: int | None = None,
    precision: float | None = None,
    precision_of: str | None = None,
    level: float = 0.95,
    at_most: int = MOST,
    jobs: int = 1,
    on_progress: OnProgress | None = None,
) -> SeveralComparisons:
    """``compare_several`` of experiments: all machines with one workload, then with the next."""
    _check_apart(experiments)
    name, values = over
    given = given_formulas(formulas)
    rules = StoppingRules(replications, precision, precision_of, level, at_most, MSER5)
    candidates: list[Candidate] = []
    for group in _groups(experiments, name, values):
        times = (*given_measurements(measured, group[0].scenario.workload), *given.measured)
        ours = replace(given, measured=times)
        is_random = any(random_sources_of(one.point, one.effects) for one in group)
        comparisons = [
            compare_experiment(nth_replication(one, 0) if is_random else one, ours, on_progress=on_progress)
            for one in group
        ]
        several = replicate_comparisons(Replications(group[0], rules, jobs, None), group) if is_random else ()
        for number, (one, comparison) in enumerate(zip(group, comparisons, strict=True)):
            replicated = several[number] if several else None
            at = {name: _float(one.scenario.parameters[name])} if name else {}
            candidate = Candidate(comparison, at, replicated, costs=_costs(one, comparison))
            pair = against(candidates[-number], candidate, level) if number else None
            candidates.append(replace(candidate, against=pair))
    return SeveralComparisons(tuple(candidates), name)


def _costs(one: Experiment, comparison: Comparison) -> dict[str, float]:
    """Costs of the machine and of a run on it, by both readings."""
    if not one.scenario.machine.custom.components:
        return {}
    readings = {"forecast": comparison.forecast, "simulated": comparison.simulation}
    energies = {f"{name}_energy_j": result.energy_j for name, result in readings.items() if result.energy_j is not None}
    times = {f"{name}_makespan_s": result.makespan_s for name, result in readings.items()}
    columns = cost_columns(one.scenario.bind().machine, energies | times, READINGS)
    return {name: _float(value) for name, value in (columns | energies).items()}


def _float(value: Any) -> float:
    return float(value)


def _check_apart(experiments: Sequence[Experiment]) -> None:
    """InputError unless every pair of a workload and a machine has names of its own."""
    if not experiments:
        raise InputError("nothing to compare", allowed="at least one workload and one machine")
    pairs = [(one.scenario.workload.name, one.scenario.machine.label) for one in experiments]
    for workload, machine in pairs:
        if pairs.count((workload, machine)) > 1:
            raise InputError("compared twice", value=f"{workload} on {machine}", allowed="names that differ")


def _groups(experiments: Sequence[Experiment], name: str, values: Sequence[float]) -> Iterator[list[Experiment]]:
    """Experiments that differ by their machine only, workload by workload, value by value."""
    by_workload: dict[str, list[Experiment]] = {}
    for one in experiments:
        by_workload.setdefault(one.scenario.workload.name, []).append(one)
    for group in by_workload.values():
        if not name:
            yield group
        for value in values:
            yield [replace(one, scenario=one.scenario.at({name: value})) for one in group]


def differences(first: Candidate, other: Candidate) -> dict[Key, PairedIntervals]:
    """Return paired intervals of the simulated time and of its components, of ``other`` against ``first``."""
    one, two = first.replicated, other.replicated
    if one is None or two is None:
        return {}
    columns = {
        key: (one.values[:, one.keys.index(key)], two.values[:, two.keys.index(key)])
        for key in (one.keys[0], *(("components_s", part) for part in COMPONENTS))
    }
    return {key: paired(*sides, one.level) for key, sides in columns.items()}


def against(first: Candidate, other: Candidate, level: float) -> PairedIntervals:
    """Return the simulated times of ``other`` against the times of ``first``, pair by pair.

    A time that is always the same has a pair for each other.
    """
    sides = first.times_s, other.times_s
    certain = first.replicated is None and other.replicated is None
    count = 2 if certain else max(map(len, sides))  # of two equal numbers there is nothing to be uncertain of
    one, two = (np.broadcast_to(side, count) if len(side) == 1 else side for side in sides)
    return paired(one, two, level)
