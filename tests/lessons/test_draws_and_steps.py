"""Draws of chance that a page has, the effects with which a step begins, and steps that wait for an answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simcodesign.core.errors import InputError, Place
from simcodesign.lessons.lattice import ladder_at
from simcodesign.lessons.markdown import Moment, to_html
from simcodesign.lessons.packing import block_in, unpack
from simcodesign.lessons.page import build_lesson
from simcodesign.lessons.traces import traces_at
from simcodesign.lessons.yaml.lesson import read_lesson
from tests.lessons.small import TEXT, small_lesson

DRAWS = ("    seeds: 3\n", "    seeds: 3\n    draws: 3\n")
#: A second step, which waits for an answer and begins without links and noise.
LATER = (
    "  - {name: Later, text: later.md, after_answer: choice, begins_with: hops, "
    "views: [{kind: ladder, run: near}, {kind: sliders}]}\n"
)


def lesson_with_draws(folder: Path, later: str = LATER) -> Path:
    """The small lesson with three draws of its trace, and a later step."""
    small_lesson(folder, DRAWS)
    (folder / "later.md").write_text("Later.\n", encoding="utf-8")
    (folder / "lesson.yaml").write_text(TEXT.replace(*DRAWS) + later, encoding="utf-8")
    return folder


def test_draws_are_the_runs_whose_mean_the_ladder_shows(tmp_path: Path) -> None:
    run = read_lesson(lesson_with_draws(tmp_path / "small")).runs["near"]
    at = run.traces[0].at
    trace = traces_at(run, at)
    ends = [np.asarray(trace[f"{key}/op_times"])[:, 2].max() for key in ("3", "3.1", "3.2")]
    assert len(set(ends)) == 3
    assert np.mean(ends) == pytest.approx(ladder_at(run, at)[3, 0], rel=1e-12)
    assert {name.partition("/")[0] for name in trace if name.endswith("/ops")} == {"0", "1", "2", "3", "3.1", "3.2"}


def test_the_page_says_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    page = tmp_path / "page.html"
    build_lesson(lesson_with_draws(tmp_path / "small"), page, 1)
    header, arrays = unpack(block_in(page.read_text(encoding="utf-8")))
    (trace,) = header["runs"]["near"]["traces"]
    assert (trace["draws"], header["runs"]["near"]["seeds"]) == ([1, 1, 1, 3], 3)
    assert f"{trace['arrays']}3.2/visits" in arrays
    assert [(step["begins"], step["after_answer"]) for step in header["steps"]] == [(None, ""), (1, "choice")]
    assert 'data-after-answer="choice"' in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("later", "word"),
    [
        (LATER.replace("answer: choice", "answer: nobody"), "no step before it asks"),
        (LATER.replace("with: hops", "with: disks"), "not one of the choices"),
        (LATER.replace("ladder, run: near", "curve, run: near, over: size, predict: true, log: true"), "begins at 0"),
    ],
)
def test_what_a_step_cannot_wait_for_or_begin_with(later: str, word: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=word):
        read_lesson(lesson_with_draws(tmp_path / "small", later))


def test_no_more_draws_than_seeds(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="draws"):
        read_lesson(small_lesson(tmp_path / "small", (DRAWS[0], DRAWS[1].replace("draws: 3", "draws: 4"))))


def test_microseconds_have_their_sign() -> None:
    html = to_html("2 us more for us, in us? Two of us.", Place(), lambda _, __: 1.0, lambda *_: "")
    assert html == "<p>2\N{NO-BREAK SPACE}µs more for us, in\N{NO-BREAK SPACE}µs? Two of us.</p>\n"


def test_a_button_of_the_clock_stays_with_its_full_stop() -> None:
    html = to_html(
        "First [soon](clock:x) is said, ([now](clock:x)). Then [later](clock:x) on.",
        Place(),
        lambda _, __: Moment(1.0, {}),
        lambda *_: "",
    )
    assert html.count('class="together"') == 1
    assert '<span class="together">(<button' in html
    assert "</button>).</span> Then" in html
