"""The lesson ``own-program``: its recordings are those of its program, and its numbers follow by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.lessons.description import NumberQuestion
from simcodesign.lessons.folders import lesson_folder
from simcodesign.lessons.lattice import formula_times, ladder_at
from simcodesign.lessons.scenarios import scenario_at, workload_at
from simcodesign.lessons.yaml.lesson import read_lesson
from tests.lessons.small import small_lesson

FOLDER = lesson_folder("own-program")
RANKS = (4, 8, 16, 32, 64)
POINTS, SWEEPS, ROW_S = 2048, 4, 2e-6 + 8 * 2048 / 1e9
HOW = {"chain": "in-order", "both": "both-ways"}


def plate_in_one_piece() -> float:
    """Return the mean of the first row after all sweeps, without ranks."""
    plate = np.zeros((POINTS + 2, POINTS))
    plate[0] = 100.0
    for _ in range(SWEEPS):
        plate[1:-1, 1:-1] = (plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]) / 4
    return float(plate[1].mean())


@pytest.mark.parametrize(("run", "ranks"), [("chain", 4), ("both", 16)])
def test_a_recording_is_what_the_program_does_and_its_output_is_right(run: str, ranks: int) -> None:
    lesson = read_lesson(FOLDER)
    kept = scenario_at(lesson.runs[run], {"ranks": RANKS.index(ranks)})
    done = sc.run(FOLDER / "heat.py", ranks, kept.machine, arguments=[HOW[run]], speed=None)
    for effects in ("none", "all"):
        both = (done.workload, kept.workload)
        fresh, stored = (sc.simulate(one, kept.machine, {"P": ranks}, effects=effects) for one in both)
        assert (fresh.headline_s, fresh.messages) == (stored.headline_s, stored.messages)
    expected = f"{plate_in_one_piece():.6f}"
    assert done.lines == ((0, f"mean of the first row: {expected}"),)
    (printed,) = (one for step in lesson.steps for one in step.questions if one.name == "printed")
    assert isinstance(printed, NumberQuestion)
    assert printed.answer.text == expected


def test_times_follow_by_hand() -> None:
    """The formula: two rows sent and two received, which overlap pairwise; the chain: each row after the other, down
    and up again; ``Sendrecv``: as the formula."""
    lesson = read_lesson(FOLDER)
    ranks = np.array(RANKS)
    points_s = SWEEPS * 4 * (POINTS // ranks) * (POINTS - 2) / 10e9
    by_hand_s = {"chain": points_s + SWEEPS * 2 * (ranks - 1) * ROW_S, "both": points_s + SWEEPS * 2 * ROW_S}
    for name, expected_s in by_hand_s.items():
        run = lesson.runs[name]
        assert formula_times(run) == pytest.approx(by_hand_s["both"], rel=1e-12)
        found_s = [ladder_at(run, {"ranks": stop})[0, 0] for stop in range(len(RANKS))]
        assert found_s == pytest.approx(expected_s, rel=1e-12)


def test_the_file_of_a_workload_has_the_stop_in_its_name() -> None:
    run = read_lesson(FOLDER).runs["chain"]
    assert workload_at(run, {"ranks": 4}) == FOLDER / "in-order-64.recording.npz"


@pytest.mark.parametrize("name", ["{other}.recording.npz", "{size}.recording.npz"])
def test_braces_name_a_slider_of_the_run_that_does_not_set_a_number_alone(name: str, tmp_path: Path) -> None:
    folder = small_lesson(tmp_path, ("workload: broadcast", f'workload: "{name}"'))
    with pytest.raises(InputError, match=r"lesson.yaml:15.*in the name of a file.*a slider of the run whose stops"):
        read_lesson(folder)
