"""Predictions from hardware counters of small runs, compared with the simulated truth: tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table

from simcodesign.core.to_json import attributes_of
from simcodesign.counters.prediction import ANALYTIC, EMPIRICAL
from simcodesign.describe.effects import effect_names
from simcodesign.report.common.numbers import Seconds, quantity
from simcodesign.report.common.tables import facts, new_table, paragraph
from simcodesign.studies.extrapolation.ladder import MODELS, ErrorLadder
from simcodesign.studies.extrapolation.study import ExtrapolationStudy
from simcodesign.studies.extrapolation.trials import PARTS, PLAIN, REFINED, Summary, Trial

BASELINES = (ANALYTIC, EMPIRICAL)
#: A part that adds less than this to the error is not worth a word.
_SMALL = 0.02


def study_tables(study: ExtrapolationStudy, ladders: Sequence[ErrorLadder] = ()) -> Iterator[RenderableType]:
    """Yield the runs; for every target errors, parts and the ladder if there is one; and the notes of the pipeline."""
    yield _facts(study)
    ladder_at = {ladder.target.text: ladder for ladder in ladders}
    for trial in study.trials:
        yield error_table(trial)
        yield paragraph(" ".join(verdicts(trial)))
        yield part_table(trial)
        if ladder := ladder_at.get(trial.target.text):
            yield ladder_table(ladder)
            yield paragraph(ladder_words(ladder))
    if study.notes:
        yield paragraph("Models of the first seed:\n" + "\n".join(f"- {note}" for note in study.notes))


def _facts(study: ExtrapolationStudy) -> RenderableType:
    question = study.question
    count = len(study.trials[0].outcomes)
    preset = f", preset {question.scenario.preset}" if question.scenario.preset is not None else ""
    rows = [("profiled", f"P = {_listed(question.profile)}{preset}")]
    if question.further:
        rows.append(("communication", f"P = {_listed(question.further)}"))
    if question.second_clock_hz is not None:
        rows.append(("second clock", f"{quantity(question.second_clock_hz, 'Hz')} on P = {max(question.profile)}"))
    rows.append(("effects", "all" if question.effects == effect_names() else ", ".join(question.effects) or "none"))
    rows.append(("seeds", f"{count}: every run has draws of its own" if question.effects else f"{count}"))
    head = f"{question.workload.name} on {question.machine.label}: predicted from counters, and simulated"
    return Group(paragraph(head, bold=True), facts(rows))


def error_table(trial: Trial) -> Table:
    """Mean seconds and error of each method, with the 95 % interval, and the mean error without its sign."""
    means = {name: float(np.mean([one.seconds[name] for one in trial.outcomes])) for name in trial.methods}
    truth = trial.truth_s
    show = Seconds([truth.mean, *means.values()])
    table = new_table(trial.target.text, f"time ({show.unit})", "mean", "error", "95 %", "|error|")
    table.add_row("truth, simulated", show(truth.mean), "", _half(truth, truth.mean), "")
    for name in trial.methods:
        error = trial.error(name)
        style = "bold" if name == trial.pipeline else None
        label = f"T = {name}" if name in BASELINES else name
        table.add_row(
            label, show(means[name]), f"{error.mean:+z.1%}", _half(error), f"{trial.absolute(name):.1%}", style=style
        )
    return table


def _half(summary: Summary, unit: float = 1.0) -> str:
    return f"± {summary.half / unit:.1%}" if math.isfinite(summary.half) else "-"


def verdicts(trial: Trial) -> list[str]:
    """Verdict of the guard, and how the pipeline does against each baseline, seed by seed."""
    words = [_against(name, trial.gain(name)) for name in BASELINES if name in trial.methods]
    if trial.refusal:
        words.insert(
            0, f"The guard refuses this: {trial.refusal}. The table shows what the models predict all the same."
        )
    return words


def _against(name: str, gain: Summary) -> str:
    points = f"{100 * abs(gain.mean):.3g}"
    way = "closer to the truth than" if gain.mean > 0 else "further from the truth than"
    if abs(gain.mean) < 5e-4:
        return f"The counters are as close to the truth as {name}."
    doubt = (
        "" if gain.certain or not math.isfinite(gain.half) else f", which chance may explain (± {100 * gain.half:.3g})"
    )
    return f"The counters are {points} points {way} {name}{doubt}."


def part_table(trial: Trial) -> Table:
    """Predicted and simulated seconds of each part, and what its difference makes of the whole."""
    rows = {name: trial.part_s(name) for name in PARTS}
    show = Seconds([seconds for row in rows.values() for seconds in row])
    table = new_table("", f"part ({show.unit})", "predicted", "simulated", "of the error")
    table.title = None
    for name, excess in trial.excess().items():
        if any(rows[name]):
            table.add_row(name, show(rows[name][0]), show(rows[name][1]), f"{excess:+z.1%}")
    return table


def ladder_table(ladder: ErrorLadder) -> Table:
    """Truth and error of the pipeline with the effects switched on one after another."""
    show = Seconds([rung.trial.truth_s.mean for rung in ladder.rungs])
    title = "Effects, switched on one after another, in profile and truth"
    table = new_table(title, "effect", f"truth ({show.unit})", "error", "95 %", "change")
    for rung in ladder.rungs:
        error = rung.trial.error(rung.trial.pipeline)
        table.add_row(
            rung.effect,
            show(rung.trial.truth_s.mean),
            f"{error.mean:+z.1%}",
            _half(error),
            "" if rung.effect == MODELS else f"{rung.change:+z.1%}",
        )
    return table


def ladder_words(ladder: ErrorLadder) -> str:
    """Where the error comes from."""
    limit, largest, broken = f"{ladder.threshold:.0%}", ladder.largest, ladder.breaks
    alone = ladder.rungs[0]
    part = worst_part(alone.trial)
    if broken == MODELS:
        text = f"The error is above {limit} without any effect: the models themselves are wrong, most in {part}."
    else:
        text = f"The error is above {limit} from {broken} on."
        if abs(alone.error) > ladder.threshold:
            text += f" Without effects it is {alone.error:+z.1%}, most in {part}; in between, effects make up for that."
    if largest.effect not in (MODELS, broken) and largest.change:
        text += f" The effect that changes it most is {largest.effect} ({largest.change:+z.1%})."
    return text


def worst_part(trial: Trial) -> str:
    """Return the part that adds most to the error, in words."""
    name, excess = max(trial.excess().items(), key=lambda item: abs(item[1]))
    return f"{name} ({excess:+z.1%} of the time)"


# --- Several codes -----------------------------------------------------------------------------------------------


# --- Dictionaries ------------------------------------------------------------------------------------------------


def profile_dict(study: ExtrapolationStudy, ladders: Sequence[ErrorLadder] = ()) -> dict[str, Any]:
    """Return the question, the errors at each target, and the ladders of targets that have one."""
    by_target = {ladder.target.text: ladder for ladder in ladders}
    shown = attributes_of(
        study.question,
        *("workload", "machine", "profile", "further", "second_clock_hz", "effects"),
        preset="scenario.preset",
        parameters="scenario.parameters",
    )
    return shown | {
        "seeds": [one.seed for one in study.trials[0].outcomes],
        "targets": [_trial_dict(trial, by_target.get(trial.target.text)) for trial in study.trials],
        "notes": study.notes,
    }


def _trial_dict(trial: Trial, ladder: ErrorLadder | None) -> dict[str, Any]:
    return trial.target.json_fields() | {
        "refusal": trial.refusal or None,
        "truth_s": [one.truth_s for one in trial.outcomes],
        "seconds": {name: [one.seconds[name] for one in trial.outcomes] for name in trial.methods},
        "errors": {name: _error_dict(trial, name) for name in trial.methods},
        "gains": {name: trial.gain(name) for name in BASELINES if name in trial.methods},
        "parts_of_error": {name: trial.excess(name) for name in (PLAIN, REFINED) if name in trial.methods},
        "ladder": ladder,
    }


def _error_dict(trial: Trial, name: str) -> dict[str, float]:
    return trial.error(name).json_fields() | {"mean_absolute": trial.absolute(name)}


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(str(number) for number in numbers)
