"""How far models of a few small runs can be trusted: predictions from hardware counters, compared with the truth.

Small runs of a workload are simulated and counted, the pipeline of ``counters`` makes models of them and
predicts larger runs, and these are simulated as well: the truth. The pipeline is compared with the two models that use
total times only. Nothing of this is measured on a real machine, and no constant of the pipeline was chosen by it; the
constants chosen by trial (``counters.forms.LEVEL``, when an amount counts as constant, and the exponent c = 1 of
a/P + b P^c + d on few runs) were settled before, on twelve made-up sets of noise. That was calibration, and is no
evidence.

Source: Ding et al., APMT, sections 3.4, 4.2 and 5: runs on 2, 4 and 8 processes (4, 9 and 16 where squares are asked
for), two further ones for communication, one at two thirds of the clock (3 and 2 GHz).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.units import is_positive
from simcodesign.counters.fit_and_predict import fit_and_predict
from simcodesign.counters.kernels import LEAST_RUNS, THRESHOLD
from simcodesign.counters.models import ApplicationModel, Breakdown
from simcodesign.counters.partition import Target
from simcodesign.counters.prediction import GUARD, Miss, check_guard, predict, replaced_forms
from simcodesign.counters.runs import run_times, scaling_of
from simcodesign.counters.table import LATENCIES, NUMBERS, CounterTable, Latencies, joined, means
from simcodesign.describe.effects import effect_names
from simcodesign.describe.scenario import OfScenario, Scenario
from simcodesign.engine.selection import AUTO
from simcodesign.engine.simulate import simulate
from simcodesign.studies.extrapolation.trials import PARTS, PLAIN, REFINED, ApplicationRun, SeedOutcome, Trial
from simcodesign.studies.extrapolation.virtual_profiler import counters_of, latencies_of

#: Purpose of a run: part of its seed, so that its random numbers are independent of all other runs.
PROFILE, FURTHER, CLOCK, TRUTH = range(4)
#: Counters that a run for communication only does not have.
_UNCOUNTED = (
    "instructions",
    "cycles",
    "l1_hits",
    "l2_hits",
    "llc_hits",
    "memory_accesses",
    "loads_stores",
    "stall_cycles",
)

OnProgress = Callable[[str, int], None]


@dataclass(frozen=True)
class ExtrapolationStudy:
    """An extrapolation, and a trial for each target. ``notes``: remarks on the models of the first seed."""

    question: Extrapolation
    trials: tuple[Trial, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Extrapolation(OfScenario):
    """Which runs are profiled, and which are predicted.

    ``further``: numbers of processes of runs that refine communication, the largest of two or more being held back to
    show what that was worth; ``second_clock_hz``: of a run on the most profiled processes that refines CPI_core and
    BF_mem. With neither there is no refinement. ``threshold``, ``dimensions``, ``guard``: see ``fit_application`` and
    ``predict``.
    """

    scenario: Scenario
    profile: tuple[int, ...]
    targets: tuple[ApplicationRun, ...]
    effects: tuple[str, ...] = field(default_factory=effect_names)
    further: tuple[int, ...] = ()
    second_clock_hz: float | None = None
    threshold: float = THRESHOLD
    dimensions: float = 3
    guard: float | None = GUARD
    engine: str = AUTO

    def __post_init__(self) -> None:
        _check_processes("numbers of processes to profile", self.profile, LEAST_RUNS)
        if self.further:
            _check_processes("numbers of processes of further runs", self.further, 1)
        if both := set(self.further) & set(self.profile):
            raise InputError("further runs that are profiled already", value=sorted(both), allowed="other numbers")
        if not self.targets:
            raise InputError("no target", allowed="one or more")
        second, clock_hz = self.second_clock_hz, self.machine.processor.clock_hz
        if second is not None and clock_hz is None:
            raise InputError(f"a second clock, for {self.machine.name}, which has none", self.machine.place)
        if second is not None and not (is_positive(second) and second != clock_hz):
            raise InputError("second clock in Hz", value=second, allowed=f"a number above 0 that is not {clock_hz:g}")

    @property
    def runs(self) -> int:
        """Simulations of a seed."""
        return len(self.profile) + len(self.further) + (self.second_clock_hz is not None) + len(self.targets)

    @property
    def latencies(self) -> Latencies:
        """Latencies of the machine, or of a common one if it has no memory."""
        return LATENCIES if self.machine.memory is None else latencies_of(self.machine)

    def counted(
        self, target: ApplicationRun, purpose: int, seed: int, more: Mapping[str, object] | None = None
    ) -> CounterTable:
        """Return the counters of a run: of the size of the target, or of the profiled one if the target names none."""
        other = target.preset is not None or bool(target.parameters)
        scenario = self.scenario.at({**target.parameters, **(more or {}), "P": target.processes})
        if target.preset is not None:
            scenario = replace(scenario, preset=target.preset)
        result = simulate(
            scenario,
            effects=self.effects,
            seed=run_seed(seed, purpose, target.processes),
            engine=self.engine,
            counters=True,
        )
        if other and result.size is None:
            what = f"another size of {self.workload.name}, which does not say its size"
            raise InputError(what, self.workload.place, value=target.text, allowed="size: EXPRESSION in its file")
        return counters_of(result, repetition=seed)


def _check_processes(what: str, given: Sequence[int], least: int) -> None:
    if len(set(given)) < max(len(given), least) or min(given, default=0) < 1:
        raise InputError(what, value=list(given), allowed=f"{least} or more, each once and of 1 or above")


def run_seed(seed: int, purpose: int, processes: int) -> int:
    """Return the seed of one run: its random numbers are independent of other runs, and the same with every effect."""
    return int(np.random.SeedSequence((seed, purpose, processes)).generate_state(1)[0])


def run_extrapolation(
    question: Extrapolation, seeds: Sequence[int] = range(5), on_progress: OnProgress | None = None
) -> ExtrapolationStudy:
    """Profile on few processes, predict the targets, simulate them, for every seed.

    ``on_progress(what, runs)`` is called with what is simulated next, and how many simulations are done. InputError for
    no seed, for a target that is profiled, for one of another size where the workload does not say its size, and as
    ``simulate`` and the pipeline.
    """
    if not len(seeds) or len(set(seeds)) < len(seeds):
        raise InputError("seeds", value=list(seeds), allowed="one or more, each once")
    rows, notes = [], None
    for number, seed in enumerate(seeds):
        report = _reporter(question, seed, on_progress, number * question.runs)
        outcomes, seed_notes = _seed(question, seed, report)
        rows.append(outcomes)
        notes = seed_notes if notes is None else notes
    trials = zip(question.targets, zip(*rows, strict=True), strict=True)
    return ExtrapolationStudy(question, tuple(Trial(target, outcomes) for target, outcomes in trials), notes or ())


def _reporter(question: Extrapolation, seed: int, on_progress: OnProgress | None, before: int) -> Callable[[str], None]:
    done = iter(range(before, before + question.runs + 1))

    def report(what: str) -> None:
        if on_progress:
            on_progress(f"{question.workload.name}, seed {seed}: {what}", next(done))

    return report


def _seed(
    question: Extrapolation, seed: int, report: Callable[[str], None]
) -> tuple[tuple[SeedOutcome, ...], tuple[str, ...]]:
    """Outcomes at the targets, and the notes of the last model, including its forms that it cannot use there."""
    tables = list(_profiled(question, seed, report))
    models = {PLAIN: fitted_model(question, tables)}
    if question.further or question.second_clock_hz is not None:
        models[REFINED] = fitted_model(question, [*tables, *_more(question, seed, report)])
    last = models.get(REFINED, models[PLAIN])
    outcomes, notes = [], dict.fromkeys(last[1])
    for target in question.targets:
        report(target.text)
        truth = question.counted(target, TRUTH, seed)
        size = float(truth.column("size")[0])
        notes |= dict.fromkeys(replaced_forms(last[0], target.processes, None if math.isnan(size) else size))
        outcomes.append(_outcome(question, target, seed, {name: one[0] for name, one in models.items()}, truth))
    return tuple(outcomes), tuple(notes)


def _profiled(question: Extrapolation, seed: int, report: Callable[[str], None]) -> Iterator[CounterTable]:
    for processes in question.profile:
        report(f"profile on {processes}")
        yield question.counted(ApplicationRun(processes), PROFILE, seed)


def _more(question: Extrapolation, seed: int, report: Callable[[str], None]) -> Iterator[CounterTable]:
    """Yield runs that refine: runs measured for their communication, and one at the second clock."""
    for processes in question.further:
        report(f"communication on {processes}")
        yield communication_of(question.counted(ApplicationRun(processes), FURTHER, seed))
    if question.second_clock_hz is not None:
        report("second clock")
        clock = {"processor.clock": question.second_clock_hz}
        yield question.counted(ApplicationRun(max(question.profile)), CLOCK, seed, clock)


def communication_of(table: CounterTable) -> CounterTable:
    """Return these runs without the counters of computation and memory."""
    values = table.values.copy()
    values[:, [NUMBERS.index(name) for name in _UNCOUNTED]] = math.nan
    return CounterTable(table.kernels, table.classes, values)


def fitted_model(question: Extrapolation, tables: Sequence[CounterTable]) -> tuple[ApplicationModel, tuple[str, ...]]:
    """Return the model of these runs, and remarks on it; without a guard."""
    first = Target(float(question.targets[0].processes))
    fitted = fit_and_predict(
        joined(tables), [first], threshold=question.threshold, latencies=question.latencies, guard=None
    )
    return fitted.model, fitted.notes


def _outcome(
    question: Extrapolation,
    target: ApplicationRun,
    seed: int,
    models: Mapping[str, ApplicationModel],
    truth: CounterTable,
) -> SeedOutcome:
    run = run_times(means(truth), scaling_of(means(truth)))
    size = float(truth.column("size")[0])
    known = None if math.isnan(size) else size
    first = models[PLAIN]
    _check_new(first, target, size)
    seconds: dict[str, float] = {}
    parts: dict[str, Mapping[str, float]] = {}
    refusal = ""
    for name, model in models.items():
        prediction = predict(
            model, target.processes, known, volume=target.volume, dimensions=question.dimensions, guard=None
        )
        seconds[name], parts[name] = prediction.seconds, parts_of(prediction.breakdown)
        if name == PLAIN:  # baselines see the profiled runs alone
            seconds |= prediction.baselines
            refusal = _refusal(question, first, size, prediction.misses)
    total_s = float(run.total_s[0])
    return SeedOutcome(seed, total_s, seconds, parts, truth_parts(truth), refusal)


def _check_new(model: ApplicationModel, target: ApplicationRun, size: float) -> None:
    runs = model.runs
    same = runs.column("size") == size if model.scaling.known else True
    if ((runs.column("processes") == target.processes) & same).any():
        raise InputError("a target that is profiled", value=target.text, allowed="other processes, or another size")


def _refusal(question: Extrapolation, model: ApplicationModel, size: float, misses: Sequence[Miss]) -> str:
    """Why the guard refuses another size; empty if it does not, or is off."""
    scaling = model.scaling
    if question.guard is None or scaling.kind != "strong" or not scaling.known or size == scaling.size:
        return ""
    try:
        check_guard(misses, question.guard)
    except InputError as error:
        return error.what
    return ""


def parts_of(breakdown: Breakdown) -> dict[str, float]:
    """Seconds of each of ``PARTS``."""
    factor = breakdown.blocking_factor
    seconds = (
        breakdown.compute_s,
        breakdown.memory_s,
        factor * breakdown.p2p_s,
        factor * breakdown.collective_s,
        breakdown.others_s,
    )
    return dict(zip(PARTS, map(float, seconds), strict=True))


def truth_parts(table: CounterTable) -> dict[str, float]:
    """Parts of a run: of the mean process, with its waits as they show in the time of the run."""
    rows = means(table)
    run = run_times(rows, scaling_of(rows))
    stalls_s = float(np.nansum(rows.stall_s))
    waits_s = float(run.p2p_s[0] + run.collective_s[0])
    exposed_s = max(float(run.total_s[0] - run.others_s[0] - run.compute_s[0]), 0.0)
    factor = exposed_s / waits_s if waits_s else 0.0
    seconds = (
        float(run.compute_s[0]) - stalls_s,
        stalls_s,
        factor * float(run.p2p_s[0]),
        factor * float(run.collective_s[0]),
        float(run.others_s[0]),
    )
    return dict(zip(PARTS, seconds, strict=True))
