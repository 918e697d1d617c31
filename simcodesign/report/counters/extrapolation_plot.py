"""Errors of predictions from small runs for each target and method, the parts of prediction and truth, and ladders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simcodesign.report.common import plot_style
from simcodesign.report.counters.extrapolation_tables import BASELINES
from simcodesign.studies.extrapolation.ladder import ErrorLadder
from simcodesign.studies.extrapolation.study import ExtrapolationStudy
from simcodesign.studies.extrapolation.trials import METHODS, PARTS, Trial

COLOURS = dict(
    zip(
        METHODS,
        (plot_style.OKABE_ITO[4], plot_style.OKABE_ITO[0], plot_style.OKABE_ITO[1], plot_style.OKABE_ITO[3]),
        strict=True,
    )
)
PART_COLOURS = dict(zip(PARTS, plot_style.OKABE_ITO, strict=False))
#: Errors beyond this are cut off and written down.
_CUT = 100.0


def profile_plot(study: ExtrapolationStudy, path: str | Path, ladders: Sequence[ErrorLadder] = ()) -> None:
    """Draw a study. InputError as ``styled``."""
    count = len(study.trials)
    with plot_style.styled(path) as mpl:
        rows = 3 if ladders else 2
        figure = plot_style.new_figure(mpl, max(6.4, 2.6 * count + 1.2), 2.7 * rows)
        axes = figure.subplots(rows, 1)
        question = study.question
        on = ", ".join(map(str, question.profile))
        title = f"{question.workload.name} on {question.machine.label}: predicted from runs on P = {on}"
        figure.suptitle(plot_style.plain(title), x=0.01, ha="left")
        _errors(axes[0], study.trials)
        _parts(axes[1], study.trials)
        if ladders:
            _ladders(axes[2], ladders)
        plot_style.save(figure, path)


def _errors(axes: Any, trials: Sequence[Trial]) -> None:
    """Mean signed errors with 95 % intervals, and every seed as a dot."""
    methods = [name for name in METHODS if any(name in trial.methods for trial in trials)]
    width = 0.8 / len(methods)
    for place, name in enumerate(methods):
        label = f"T = {name}" if name in BASELINES else name
        for at, trial in enumerate(trials):
            if name not in trial.methods:
                continue
            x = at + (place - (len(methods) - 1) / 2) * width
            _bar(axes, x, width, trial, name, label if not at else None)
    axes.axhline(0, color=plot_style.DARK, linewidth=0.8)
    _limits(axes, [one for trial in trials for name in trial.methods for one in _span(trial, name)])
    _names(axes, trials)
    axes.set_ylabel("error (%)")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _span(trial: Trial, name: str) -> list[float]:
    error = trial.error(name)
    half = error.half if math.isfinite(error.half) else 0.0
    return [100 * (error.mean - half), 100 * (error.mean + half)]


def _bar(axes: Any, x: float, width: float, trial: Trial, name: str, label: str | None) -> None:
    error = trial.error(name)
    half = 100 * error.half if math.isfinite(error.half) else None
    axes.bar(x, 100 * error.mean, 0.9 * width, color=COLOURS[name], label=label)
    if half:
        axes.errorbar(x, 100 * error.mean, half, color=plot_style.DARK, linewidth=0.9, capsize=2)
    seeds = [100 * one.error(name) for one in trial.outcomes]
    axes.plot([x] * len(seeds), seeds, ".", color=plot_style.DARK, markersize=2.5)
    if abs(100 * error.mean) > _CUT:
        edge = math.copysign(_CUT, error.mean)
        side = "top" if edge > 0 else "bottom"
        axes.annotate(
            f"{100 * error.mean:+z.0f}",
            (x, edge),
            ha="center",
            va=side,
            fontsize=7,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.8},
        )


def _limits(axes: Any, values: Sequence[float]) -> None:
    low, high = min([0.0, *values]), max([0.0, *values])
    margin = 0.06 * (min(high, _CUT) - max(low, -_CUT)) or 1.0
    axes.set_ylim(max(low, -_CUT) - margin, min(high, _CUT) + margin)


def _names(axes: Any, trials: Sequence[Trial]) -> None:
    words = [trial.target.text.replace(", ", "\n", 1) + ("\n(refused)" if trial.refusal else "") for trial in trials]
    axes.set_xticks(range(len(trials)), [plot_style.plain(word) for word in words])
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.6, len(trials) - 0.4)


def _parts(axes: Any, trials: Sequence[Trial]) -> None:
    """Draw the parts of the pipeline's prediction and of the truth, in % of the truth."""
    for at, trial in enumerate(trials):
        truth_s = trial.truth_s.mean
        for x, side, word in ((at - 0.2, 0, "predicted"), (at + 0.2, 1, "truth")):
            bottom = 0.0
            for name in PARTS:
                seconds = trial.part_s(name)[side]
                label = name if not at and not side and _present(trials, name) else None
                axes.bar(x, 100 * seconds / truth_s, 0.36, bottom=bottom, color=PART_COLOURS[name], label=label)
                bottom += 100 * seconds / truth_s
            axes.annotate(word, (x, bottom), (0, 2), textcoords="offset points", ha="center", fontsize=7)
    axes.axhline(100, color=plot_style.DARK, linewidth=0.6, linestyle=":")
    axes.margins(y=0.12)
    _names(axes, trials)
    axes.set_ylabel("share of the truth (%)")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _present(trials: Sequence[Trial], name: str) -> bool:
    return any(any(trial.part_s(name)) for trial in trials)


def _ladders(axes: Any, ladders: Sequence[ErrorLadder]) -> None:
    """Draw the error of the pipeline with effect after effect."""
    for place, ladder in enumerate(ladders):
        errors = [100 * rung.error for rung in ladder.rungs]
        halves = [rung.trial.error(rung.trial.pipeline).half for rung in ladder.rungs]
        bars = [100 * half if math.isfinite(half) else 0.0 for half in halves]
        colour, label = plot_style.OKABE_ITO[place % len(plot_style.OKABE_ITO)], plot_style.plain(ladder.target.text)
        axes.errorbar(
            range(len(errors)),
            errors,
            bars,
            color=colour,
            marker="o",
            markersize=4,
            capsize=2,
            linewidth=1.2,
            label=label,
        )
    axes.axhline(0, color=plot_style.DARK, linewidth=0.8)
    axes.axhspan(-100 * ladders[0].threshold, 100 * ladders[0].threshold, color=plot_style.GREY, alpha=0.2, linewidth=0)
    axes.set_xticks(range(len(ladders[0].rungs)), [rung.effect for rung in ladders[0].rungs], rotation=30, ha="right")
    axes.tick_params(axis="x", labelsize=7)
    axes.set_ylabel("error of the\npipeline (%)")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
