"""``sc.compare``: forecast and simulation, of one or several workloads and machines, once or in replications."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, Unpack, overload

from simcodesign.analytic.given_formulas.values import FormulaSources
from simcodesign.comparison.compare import Comparison, compare_given
from simcodesign.comparison.compare import compare as compare_once
from simcodesign.comparison.measured.sources import MeasuredSources
from simcodesign.core.errors import InputError
from simcodesign.core.shown_keywords import shows_keywords
from simcodesign.describe.scenario import MachineSource, Scenario, SimulationKeywords, WorkloadSource
from simcodesign.engine.experiment import Experiment
from simcodesign.studies.anchored.anchor import Anchors
from simcodesign.studies.anchored.comparisons import with_anchors
from simcodesign.studies.candidates.several import SeveralComparisons, compare_several
from simcodesign.studies.replication.comparison import ReplicatedComparison, replicate_comparison
from simcodesign.studies.verbs.repetition import RepetitionOptions, repetition, taken_from

Several = list[Any] | tuple[Any, ...]


class _OnceOptions(TypedDict, total=False):
    """The options of a comparison that is not repeated."""

    formulas: FormulaSources
    measured: MeasuredSources
    timeline: bool
    on_progress: Callable[..., object] | None


class CompareOptions(SimulationKeywords, RepetitionOptions, _OnceOptions, total=False):
    """The keyword options of ``compare``."""

    anchor: MeasuredSources


@overload
def compare(
    workload: WorkloadSource | Scenario,
    machine: MachineSource | None = None,
    parameters: Mapping[str, object] | None = None,
    **options: Unpack[CompareOptions],
) -> Comparison: ...
@overload
def compare(
    workload: Several | WorkloadSource | Scenario,
    machine: Several,
    parameters: Mapping[str, object] | None = None,
    *,
    vary: Mapping[str, Sequence[float] | Sequence[str]] | None = None,
    replications: int | None = None,
    precision: float | None = None,
    **options: Unpack[CompareOptions],
) -> SeveralComparisons: ...
@overload
def compare(
    workload: Several | WorkloadSource | Scenario,
    machine: MachineSource | None = None,
    parameters: Mapping[str, object] | None = None,
    *,
    vary: Mapping[str, Sequence[float] | Sequence[str]],
    replications: int | None = None,
    **options: Unpack[CompareOptions],
) -> SeveralComparisons: ...
@overload
def compare(
    workload: WorkloadSource | Scenario,
    machine: MachineSource | None = None,
    parameters: Mapping[str, object] | None = None,
    *,
    replications: int | None = None,
    precision: float | None = None,
    **options: Unpack[CompareOptions],
) -> ReplicatedComparison: ...
@shows_keywords(_OnceOptions, taken_by=compare_once)
@shows_keywords(RepetitionOptions, taken_by=repetition)
@shows_keywords(SimulationKeywords, taken_by=Experiment.of)
def compare(
    workload: Several | WorkloadSource | Scenario,
    machine: Several | MachineSource | None = None,
    parameters: Mapping[str, object] | None = None,
    *,
    vary: Mapping[str, Sequence[float] | Sequence[str]] | None = None,
    replications: int | None = None,
    precision: float | None = None,
    anchor: MeasuredSources = None,
    **options: Any,
) -> Comparison | SeveralComparisons | ReplicatedComparison:
    """Forecast, then simulate with no effect and with the effects switched on one after another.

    ``workload`` and ``machine`` may each be a list or tuple: every workload is then compared on every machine, in one
    answer, under common random numbers. ``vary``: one name (``P``, a parameter or a constant) and its values, in SI
    units; every workload and machine is then compared at each. Texts are values of a key of machine
    files (``mapping``): every machine is then compared with each of them. Effects are switched on in the order of
    ``describe.effects``; what one explains depends on those before it. ``timeline`` is kept for the last simulation.

    ``formulas``: closed forms of the user's, compared in addition to our forecast: one or several (or by name), each an
    expression (``"log2(P)*(t_s + m*t_w)"``), the path of a ``.yaml`` file, a ``Formula``, or a function whose arguments
    are names of a formula and which returns seconds. Those of the workload are compared too.

    ``measured``: measured times, with their spread: the path of a table (``.csv``), a DataFrame with the same
    columns, ``MeasuredTimes``, or several. Times of this design point are compared with both readings, and end the
    ladder; if there are none, ``measured_elsewhere`` names the others.

    ``anchor``: times measured on fewer ranks, as for ``measured``, at which both readings are anchored
    (``sc.anchored``): ``Comparison.anchored`` and ``anchor_ladder``.

    ``replications``: of the whole ladder, with independent random numbers; among several machines, of what has
    anything random, by default 10. ``precision``: as many as the mean takes, or with several machines the difference
    between each of them and the first one. Other arguments as for ``simulate``.

    Raises InputError, CapacityError and DeadlockError as ``forecast`` and ``simulate`` do, and InputError for formulas
    with unknown names and with terms that are not seconds, for names that come twice, and for options that exclude one
    another.

    >>> import simcodesign as sc
    >>> comparison = sc.compare("broadcast", "mesh-256", {"P": 64}, effects="hops,links")
    >>> [rung.effect for rung in comparison.rungs]
    ['dependencies and waiting', 'hops', 'links']
    >>> len(sc.compare("broadcast", ["mesh-256", "crossbar-16"], {"P": 16}, effects="none").comparisons)
    2
    >>> sc.compare("jacobi", "torus-cluster", {"P": 4}, replications=2, effects="noise").count
    2
    """
    repeats = taken_from(options)
    several = vary is not None or any(isinstance(one, list | tuple) for one in (workload, machine))
    is_repeated = replications is not None or precision is not None
    if repeats and not (several or is_repeated):
        raise InputError(f"{next(iter(repeats))} needs replications", allowed="replications= or precision=")
    if (several or is_repeated) and options.pop("timeline", False):
        raise InputError("a timeline shows a single simulation", allowed="one machine, without replications")
    how = repetition(replications, precision, **repeats)
    work: Any = workload
    on: Any = machine
    if anchor is not None and (several or is_repeated):
        raise InputError("an anchor needs one workload on one machine, once", allowed="sweep(..., anchor=...)")
    if several:
        return compare_several(work, on, parameters, vary=vary, **how, **options)
    if not is_repeated:
        if anchor is None:
            return compare_once(work, on, parameters, **options)
        kept = {name: options.pop(name) for name in [*options] if name in SimulationKeywords.__annotations__}
        experiment = Experiment.of(work, on, parameters, **kept)
        anchors = Anchors.of(anchor, experiment.scenario, on)
        return with_anchors(compare_given(experiment, **options), experiment, anchors)
    if any(options.pop(name, None) is not None for name in ("formulas", "measured")):
        what = "replications of one machine have no formulas and measurements"
        raise InputError(what, allowed="machines as a list: compare(workload, [machine], ...)")
    return replicate_comparison(work, on, parameters, **how, **options)
