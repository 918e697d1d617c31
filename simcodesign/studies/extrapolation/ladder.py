"""Which effect breaks predictions from hardware counters.

Profiled runs and truth with the effects of a simulation switched on one after another, as ``compare`` does it for
forecasts.

All runs keep their draws from rung to rung (common random numbers), so that a change is caused by the effect. What an
effect adds depends on those before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from simcodesign.core.to_json import attributes_of
from simcodesign.describe.effects import changing_effects, effect_named
from simcodesign.studies.extrapolation.study import Extrapolation, ExtrapolationStudy, OnProgress, run_extrapolation
from simcodesign.studies.extrapolation.trials import ApplicationRun, Summary, Trial

#: First rung: all effects off. An error there is due to the forms of the models, or to too few runs.
MODELS = "models alone"
#: Error from which on a ladder is worth its simulations.
LARGE = 0.1


@dataclass(frozen=True)
class ErrorRung:
    """Profiled runs and truth with this effect and all before it.

    ``change``: of the mean signed error of the pipeline, against the rung before (0 before the first).
    """

    effect: str
    trial: Trial
    change: float

    @property
    def summary(self) -> Summary:
        """The signed error of the pipeline over the seeds."""
        return self.trial.error(self.trial.pipeline)

    @property
    def error(self) -> float:
        """Mean signed error of the pipeline."""
        return self.summary.mean

    def json_fields(self) -> dict[str, Any]:
        """Return the error with this effect, and what it is made of."""
        shown = attributes_of(self, "effect", "change", truth_s="trial.truth_s.mean", error="summary")
        return shown | {"parts_of_error": self.trial.excess()}


@dataclass(frozen=True)
class ErrorLadder:
    """The rungs of a target. ``threshold``: the error that is called large."""

    target: ApplicationRun
    threshold: float
    rungs: tuple[ErrorRung, ...]

    @property
    def breaks(self) -> str | None:
        """The rung from which on the error stays large; None if it is not large at the end."""
        effect = None
        for rung in reversed(self.rungs):
            if not abs(rung.error) > self.threshold:
                break
            effect = rung.effect
        return effect

    @property
    def largest(self) -> ErrorRung:
        """The rung of the effect that changes the error most; the first where no effect was chosen."""
        return max(self.rungs[1:] or self.rungs, key=lambda rung: abs(rung.change))

    def json_fields(self) -> dict[str, Any]:
        """Return the rungs, and which of them matter."""
        return attributes_of(self, "threshold", "breaks", "rungs", largest="largest.effect")


def ladders(
    study: ExtrapolationStudy, threshold: float = LARGE, on_progress: OnProgress | None = None
) -> tuple[ErrorLadder, ...]:
    """Return a ladder for every target whose mean error by the pipeline is above the threshold, with either sign.

    ``on_progress`` as for ``study``; its count begins again with every rung.
    """
    wrong = [trial for trial in study.trials if abs(trial.error(trial.pipeline).mean) > threshold]
    if not wrong:
        return ()
    question = replace(study.question, targets=tuple(trial.target for trial in wrong))
    rungs: list[list[ErrorRung]] = [[] for _ in wrong]
    for effect, trials in _climbed(question, wrong, on_progress):
        for place, trial in enumerate(trials):
            below = rungs[place][-1].error if rungs[place] else 0.0
            rung = ErrorRung(effect, trial, 0.0)
            rungs[place].append(replace(rung, change=rung.error - below))
    return tuple(ErrorLadder(trial.target, threshold, tuple(steps)) for trial, steps in zip(wrong, rungs, strict=True))


def _climbed(
    question: Extrapolation, last: Sequence[Trial], on_progress: OnProgress | None
) -> list[tuple[str, tuple[Trial, ...]]]:
    """Trials of all targets by effect; the last rung is given, and effects without an object change none."""
    chosen, seeds = question.effects, [one.seed for one in last[0].outcomes]
    acting = [effect for effect in chosen if effect_named(effect).acts_on(question.workload, question.machine)]
    climbed = [(MODELS, _trials(question, (), seeds, on_progress))]
    for count, effect in enumerate(chosen, start=1):
        if effect not in acting:
            trials = climbed[-1][1]
        elif effect == acting[-1]:
            trials = tuple(last)
        else:
            trials = _trials(question, chosen[:count], seeds, on_progress)
        climbed.append((effect, trials))
    return climbed


def _trials(
    question: Extrapolation, effects: tuple[str, ...], seeds: Sequence[int], on_progress: OnProgress | None
) -> tuple[Trial, ...]:
    """Return the trials with these effects; without a random one, all seeds are the same run."""
    random = bool(changing_effects(effects))
    trials = run_extrapolation(replace(question, effects=effects), seeds if random else seeds[:1], on_progress).trials
    if random:
        return trials
    return tuple(
        replace(trial, outcomes=tuple(replace(trial.outcomes[0], seed=seed) for seed in seeds)) for trial in trials
    )
