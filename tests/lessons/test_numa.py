"""The lesson on memory controllers that cores share: times by hand, from bytes and bandwidths."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simcodesign.lessons.folders import lesson_folder
from simcodesign.lessons.lattice import ladder_at
from simcodesign.lessons.yaml.lesson import read_lesson
from tests.lessons.test_shipped_by_hand import run_of, stop_of
from tests.lessons.test_shipped_numbers import formula_values_of

#: A double of u and one of v are fetched for each of 598 x 5998 points, and one of v goes back; 40 GB/s a controller.
BUSY_S = 3 * 8 * 598 * 5998 / 40e9


def simulated_s(name: str, cores: int) -> float:
    run = run_of("numa", name)
    return float(ladder_at(run, {"cores": stop_of(run, "cores", cores)})[-1, 0])


def test_one_core_takes_the_published_cycles() -> None:
    """33 cycles of 2.7 GHz for a line of 8 points (Stengel et al. 2015)."""
    assert simulated_s("own", 1) == pytest.approx(598 * 5998 / 8 * 33 / 2.7e9, rel=0.05)


@pytest.mark.parametrize(
    ("name", "cores", "at_one_controller"), [("own", 8, 8), ("own", 16, 8), ("one", 16, 16), ("spread", 16, 8)]
)
def test_a_controller_is_busy_all_the_time(name: str, cores: int, at_one_controller: int) -> None:
    assert simulated_s(name, cores) == pytest.approx(at_one_controller * BUSY_S, rel=0.03)


def test_links_between_sockets_limit_eight_cores_with_alternating_pages() -> None:
    """Half of the bytes of 8 cores over 32 GB/s, which takes longer than their half at a controller."""
    assert simulated_s("spread", 8) == pytest.approx(4 * BUSY_S * 40 / 32, rel=0.05)


def test_the_answer_of_every_code_is_bytes_over_bandwidth() -> None:
    lesson = read_lesson(lesson_folder("numa"))
    for stop in lesson.seeded["group"]:
        cores = lesson.sliders["group"].stops[stop].value
        known = replace(formula_values_of(lesson), drawn={"group": stop})
        assert known.named("busy", lesson.runs["own"].place) == pytest.approx(cores * BUSY_S, rel=1e-12)
