"""Grading: parameters of codes, points, exam files without answers, and files of answers that are not to be believed."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.cli import app
from simcodesign.core.errors import InputError
from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine.simulate import simulate
from simcodesign.lessons.checking import check_lesson
from simcodesign.lessons.folders import lesson_folder
from simcodesign.lessons.grading.answers import read_answers
from simcodesign.lessons.grading.changes import Changes, changes_of, read_changes
from simcodesign.lessons.grading.marking import is_near, mark, missed_share
from simcodesign.lessons.grading.marks import CHECK, OK, REFUSED, Marks, answers_of, grade, marks_csv
from simcodesign.lessons.grading.questions import SECRETS, of_case
from simcodesign.lessons.grading.seeding import checked_code, combinations_of, place_of
from simcodesign.lessons.grading.withheld import Withheld
from simcodesign.lessons.packing import block_in, unpack
from simcodesign.lessons.page import build_lesson
from simcodesign.lessons.yaml.lesson import read_lesson
from simcodesign.report.lessons.tables import note_on_withheld
from tests.lessons.small import seeded_lesson

CODES = [f"s{number:03}" for number in range(1, 101)]


# --- Parameters of a code


def test_a_class_shares_the_combinations_evenly_and_neighbours_differ() -> None:
    lesson = read_lesson(lesson_folder("exam"))
    combinations = combinations_of(lesson)
    count = math.prod(len(stops) for stops in lesson.seeded.values())
    assert len({tuple(one.items()) for one in combinations}) == len(combinations) == count
    drawn = [combinations[place_of("exam", code, count)] for code in CODES]
    assert all(one != other for one, other in pairwise(drawn))
    shares = Counter(tuple(one.items()) for one in drawn).values()
    assert len(shares) == count
    assert max(shares) - min(shares) <= 1
    # By how many of four sliders neighbours differ in the mean; of independent draws it would be 2/3 * 3 + 1/2.
    differing = [sum(one[k] != other[k] for k in one) for one, other in pairwise(drawn)]
    assert np.mean(differing) > 3


def test_places_are_those_of_sha256sum() -> None:
    """First twelve digits of ``printf exam/s | sha256sum`` of GNU coreutils, and the number of the code."""
    for code, digits in (("s017", "d0b4a34e6459"), ("anna", "1647278341de")):
        number = int(code[1:]) if code[1:].isdigit() else 0
        assert place_of("exam", code, 54) == (int(digits, 16) + number) % 54
    long = "s" + "9" * 39
    assert place_of("exam", long, 54) == (int("d0b4a34e6459", 16) + 10**39 - 1) % 54


@pytest.mark.parametrize("code", ["", " ", "=1+1", "a b", "é1", "\N{KELVIN SIGN}1", "x" * 41, "-s1", "s1\x00", "../x"])
def test_what_is_no_code_is_refused(code: str) -> None:
    with pytest.raises(InputError):
        checked_code(code)


def test_capitals_and_blanks_do_not_count() -> None:
    assert checked_code(" S017\n") == "s017"


# --- Points


@given(
    st.floats(1e-9, 1e9),
    st.floats(0, 1),
    st.floats(-2, 2),
)
def test_a_number_is_right_within_its_tolerance(answer: float, tolerance: float, off: float) -> None:
    if abs(abs(off) - tolerance) > 1e-6 and abs(off) > 1e-6:
        assert is_near(answer * (1 + off), answer, tolerance) is (abs(off) <= tolerance)
    assert is_near(answer, answer, tolerance)


@given(st.floats(-3, 3), st.lists(st.floats(1e-6, 1e3), min_size=2, max_size=6))
def test_a_curve_that_is_off_by_a_factor_misses_by_it(exponent: float, truth: list[float]) -> None:
    factor = 10.0**exponent
    x = np.cumsum(np.arange(1, len(truth) + 1)).tolist()
    missed = missed_share(x, [factor * value for value in truth], truth)
    assert missed == pytest.approx(max(factor, 1 / factor) - 1, rel=1e-6, abs=1e-9)


@settings(max_examples=20)
@given(st.lists(st.tuples(st.floats(0.01, 100), st.floats(0.01, 100)), min_size=2, max_size=5))
def test_the_area_is_that_of_small_strips(points: list[tuple[float, float]]) -> None:
    """Also where the curves cross."""
    drawn, truth = ([row[k] for row in points] for k in (0, 1))
    x = [1.5**k for k in range(len(points))]
    at = np.linspace(x[0], x[-1], 40_001)
    at = (at[1:] + at[:-1]) / 2
    apart = np.abs(np.interp(at, x, np.log(drawn)) - np.interp(at, x, np.log(truth)))
    assert math.log1p(missed_share(x, drawn, truth)) == pytest.approx(apart.mean(), rel=1e-3, abs=1e-6)


CURVE = {"name": "c", "points": 4.0, "tolerance": 0.2, "open": [1, 2], "truth": [1.0, 2.0], "over": "x"}


@pytest.mark.parametrize(
    ("factor", "points"), [(1, 4.0), (1.2, 4.0), (1 / 1.2, 4.0), (1.3, 2.0), (1.401, 0.0), (5, 0.0)]
)
def test_points_of_a_curve(factor: float, points: float) -> None:
    drawn = {"1": factor, "2": 2 * factor}
    assert mark(CURVE, drawn, [0.5, 1.0, 2.0]).points == points


anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["1", "2", "a"]), inner, max_size=3),
    max_leaves=6,
)
NUMBER = {"name": "n", "html": "", "points": 1.0, "tolerance": 0.02, "answer": 5.0, "unit": ""}
CHOICE = {"name": "k", "points": 1.0, "choices": [{"id": "ab", "right": True}, {"id": "cd", "right": False}]}


@given(anything)
def test_points_for_anything_are_between_none_and_all(value: Any) -> None:
    for question in (NUMBER, CHOICE, CURVE):
        found = mark(question, value, [0.5, 1.0, 2.0])
        assert 0 <= found.points <= question["points"]  # type: ignore[operator]
        assert math.isfinite(found.points)


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, 10**400, "five", "=5", True, None, [5], {"5": 5}, 1e308]
)
def test_what_is_no_finite_number_has_no_points(value: object) -> None:
    assert mark(NUMBER, value).points == 0


# --- Files of answers


@settings(max_examples=60)
@given(st.one_of(st.binary(max_size=60), anything.map(lambda one: json.dumps(one).encode())))
def test_the_reader_takes_anything(data: bytes) -> None:
    path = SCRATCH / "any.json"
    path.write_bytes(data)
    with pytest.raises(InputError):
        read_answers(path)


@given(st.dictionaries(st.sampled_from(["lesson", "content", "code", "parameters", "answers", "exam"]), anything))
def test_the_reader_takes_any_fields(fields: dict[str, Any]) -> None:
    path = SCRATCH / "answers.json"
    path.write_text(json.dumps({**answers("s1", {}), **fields}), encoding="utf-8")
    try:
        found = read_answers(path)
    except InputError:
        return
    assert checked_code(found.code) == found.code
    assert isinstance(found.given, dict)


SCRATCH = Path()


@pytest.fixture(autouse=True, scope="module")
def _scratch(tmp_path_factory: pytest.TempPathFactory) -> None:
    global SCRATCH
    SCRATCH = tmp_path_factory.mktemp("scratch")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A small lesson, its page and its exam; numbers are kept for all tests of this file."""
    folder = tmp_path_factory.mktemp("graded")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        seeded_lesson(folder / "small")
        build_lesson(folder / "small", folder / "page.html", 1)
        build_lesson(folder / "small", folder / "exam.html", 1, exam=True)
        yield folder


def header_of(built: Path, name: str = "page") -> dict[str, Any]:
    return unpack(block_in((built / f"{name}.html").read_text(encoding="utf-8")))[0]


def answers(code: str, given: dict[str, Any], **others: Any) -> dict[str, Any]:
    wrapped = {name: {"value": value} for name, value in given.items()}
    return {"simcodesign": 1, "lesson": "small", "code": code, "content": "", "answers": wrapped, **others}


def parameters_of(header: dict[str, Any], code: str) -> dict[str, int]:
    seeded = header["seeded"]
    return dict(
        zip(
            seeded["sliders"], seeded["combinations"][place_of("small", code, len(seeded["combinations"]))], strict=True
        )
    )


def truths(header: dict[str, Any], code: str) -> dict[str, Any]:
    """The right answers of a code, by fresh runs of both readings."""
    stops = parameters_of(header, code)
    places, size = (2, 8)[stops["nodes"]], (1024.0, 65536.0, 1048576.0)[stops["size"]]
    shape = [1, 2] if places == 2 else [2, 4]
    machine = load_machine("mesh-256", {"nodes": places, "network.topology.shape": shape, "network.distance": "none"})

    def values(m: float, startup: float) -> dict[str, Any]:
        return {"P": places, "order": "near", "m": m, "network.startup": startup}

    formula_s = float(forecast("broadcast", machine, values(size, 20e-6)).headline_s)
    simulated_s = float(simulate("broadcast", machine, values(size, 20e-6), effects=("hops", "links")).headline_s)
    curve = {
        str(k): float(forecast("broadcast", machine, values(m, 1e-6)).headline_s)
        for k, m in ((1, 65536.0), (2, 2.0**20))
    }
    choice = next(one for step in header["steps"] for one in step["questions"] if one["name"] == "choice")
    number = place_of("small", code, len(header["seeded"]["combinations"]))
    right = next(one["id"] for one in of_case(choice, number)["choices"] if one["right"])
    return {"number": formula_s * 1e3, "factor": simulated_s / formula_s, "sketch": curve, "choice": right}


def write(folder: Path, files: dict[str, Any]) -> list[Path]:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        (folder / name).write_bytes(data)
    return sorted(folder / name for name in files)


def graded(built: Path, tmp_path: Path, files: dict[str, Any], changes: Changes | None = None) -> Marks:
    return grade(write(tmp_path / "answers", files), built / "small", changes)


def test_right_answers_have_all_points_and_wrong_ones_none(built: Path, tmp_path: Path) -> None:
    header = header_of(built)
    files = {}
    for code in ("s1", "s2", "s3", "s4"):
        right = truths(header, code)
        genuine = {"content": header["content"], "parameters": parameters_of(header, code)}
        files[f"{code}.json"] = answers(code, right, **genuine)
        other = next(one["id"] for one in header["steps"][0]["questions"][1]["choices"] if one["id"] != right["choice"])
        wrong = {"number": right["number"] * 1.02, "factor": right["factor"] * 0.9, "choice": other}
        wrong["sketch"] = {key: 3 * value for key, value in right["sketch"].items()}
        files[f"w{code}.json"] = answers(f"w{code}", wrong, content=header["content"], right=True, answer=right)
    marks = graded(built, tmp_path, files)
    assert marks.most == {"number": 1, "choice": 1, "sketch": 3, "factor": 2}
    by_code = {row.code: row for row in marks.rows}
    for code in ("s1", "s2", "s3", "s4"):
        assert (by_code[code].total, by_code[code].state, by_code[code].remarks) == (7.0, OK, ())
    assert len({tuple(parameters_of(header, code).values()) for code in ("s1", "s2", "s3", "s4")}) == 4


def test_forged_files_are_named_and_never_crash(built: Path, tmp_path: Path) -> None:
    header = header_of(built)
    right = truths(header, "s1")
    own = {"content": header["content"], "parameters": parameters_of(header, "s1")}
    text = json.dumps(answers("s1", right, **own))
    files = {
        "parameters.json": answers("s1", right, **{**own, "parameters": parameters_of(header, "s2")}),
        "content.json": answers("s5", {}, content="0" * 16),
        "lesson.json": {**answers("s6", right), "lesson": "=other"},
        "nan.json": json.dumps(answers("s7", {"number": math.nan, "factor": math.inf})).encode(),
        "huge.json": text.replace(str(right["number"]), "1" + "0" * 9000).replace('"s1"', '"s8"').encode(),
        "types.json": answers("s9", {"number": "5", "factor": [1], "choice": 3, "sketch": "curve"}),
        "curve.json": answers("s10", {"sketch": {"1": -1.0, "2": 1e400}}),
        "twice.json": b'{"simcodesign": 1, "simcodesign": 1}',
        "deep.json": b"[" * 100_000,
        "junk.json": b"x" * 10_000_000,
        "code.json": answers("=cmd|' /C calc'!A0", right),
        "=1+1.json": b"",
        "bytes.json": b"\xff\xfe\x00",
        "listed.json": {**answers("s11", {}), "answers": []},
        "strange.json": answers("s12", {"=HYPERLINK(1)": 1}, **own),
    }
    marks = graded(built, tmp_path, files)
    rows = {row.file: row for row in marks.rows}
    assert set(rows) == set(files)
    refused = {
        "lesson.json",
        "twice.json",
        "deep.json",
        "junk.json",
        "code.json",
        "=1+1.json",
        "bytes.json",
        "listed.json",
    }
    assert {name for name, row in rows.items() if row.state == REFUSED} == refused
    assert {row.state for name, row in rows.items() if name not in refused} == {CHECK}
    assert rows["parameters.json"].total == 7.0  # by its code, whatever it says
    assert rows["nan.json"].total == rows["types.json"].total == rows["curve.json"].total == 0
    assert rows["huge.json"].points["number"] == 0
    assert all(row.remarks for row in marks.rows)
    table = list(csv.reader(io.StringIO(marks_csv(marks))))
    assert len(table) == len(files) + 1
    assert {len(row) for row in table} == {10}
    assert not [cell for row in table for cell in row if cell.startswith(("=", "+", "-", "@", "\t"))]
    assert "'=1+1.json" in {row[1] for row in table}


def test_no_file_that_can_be_graded_is_an_error(built: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        grade([tmp_path / "nothing.json"], built / "small")
    bad = write(tmp_path / "bad", {"a.json": b"{", "b.json": {**answers("s1", {}), "simcodesign": 2}})
    with pytest.raises(InputError, match=r"a\.json: not a file of answers.*b\.json: answers in another format"):
        grade(bad, built / "small")
    with pytest.raises(InputError, match="shipped lesson"):
        grade(write(tmp_path / "answers", {"a.json": answers("s1", {})}))


def test_files_of_one_code_name_each_other_and_missing_answers_are_said(built: Path, tmp_path: Path) -> None:
    header = header_of(built)
    one = answers("s1", {"number": 1.0}, content=header["content"], parameters=parameters_of(header, "s1"))
    marks = graded(built, tmp_path, {"a.json": one, "b.json": {**one, "code": "S1 "}})
    assert [row.state for row in marks.rows] == [CHECK, CHECK]
    assert "b.json" in marks.rows[0].remarks[-1]
    assert "a.json" in marks.rows[1].remarks[-1]
    assert "choice, sketch, factor" in marks.rows[0].remarks[0]
    marks = graded(built, tmp_path, {"a.json": one, "c.json": {**one, "code": "s5", "exam": True, "parameters": None}})
    assert "practice" in marks.rows[0].remarks[0]
    assert not [remark for remark in marks.rows[1].remarks if "practice" in remark]


def test_tolerances_are_those_of_the_teacher(built: Path, tmp_path: Path) -> None:
    header = header_of(built)
    right = truths(header, "s1")
    given = {"number": right["number"] * 1.08, "factor": right["factor"]}
    own = {"content": header["content"], "parameters": parameters_of(header, "s1"), "tolerance": {"number": 1}}
    file = {"a.json": answers("s1", given, **own)}
    assert graded(built, tmp_path, file).rows[0].points["number"] == 0
    (tmp_path / "changes.yaml").write_text("simcodesign: 1\ntolerance: {number: 10 %}\nhide: [factor]\n")
    changes = read_changes(tmp_path / "changes.yaml")
    marks = graded(built, tmp_path, file, changes)
    assert marks.rows[0].points["number"] == 1
    assert "factor" not in marks.most
    assert marks.rows[0].state == OK  # an answer to what is hidden is none to look at
    build_lesson(built / "small", tmp_path / "page.html", 1, exam=True, changes=changes)
    assert read_changes(tmp_path / "page.html") == changes


def test_the_command_grades_by_the_tolerances_given(built: Path, tmp_path: Path) -> None:
    header = header_of(built)
    given = {"number": truths(header, "s1")["number"] * 1.08}
    own = {"content": header["content"], "parameters": parameters_of(header, "s1")}
    answered = write(tmp_path / "answers", {"a.json": answers("s1", given, **own)})
    changes, output = tmp_path / "changes.yaml", tmp_path / "marks.csv"
    changes.write_text("simcodesign: 1\ntolerance: {number: 10 %}\n")
    command = ["grade", *map(str, answered), "--lesson", str(built / "small"), "--write", str(output), "-j", "1"]
    for options, points in ([], "0"), (["--tolerances", str(changes)], "1"):
        assert CliRunner().invoke(app, [*command, *options]).exit_code == 0
        (row,) = csv.DictReader(output.read_text(encoding="utf-8").splitlines())
        assert row["number"] == points, options


# --- Exam files


def test_an_exam_has_no_answers(built: Path) -> None:
    page, exam = header_of(built), header_of(built, "exam")
    text = (built / "exam.html").read_text(encoding="utf-8")
    _, arrays = unpack(block_in(text))
    assert arrays == {}  # one question asks for the formula, one for the simulation, of the only run
    assert exam["steps"][0]["views"] == []
    everything = json.dumps(exam)
    for key in SECRETS:
        assert f'"{key}"' not in everything
    numbers = set(floats(exam))
    for number in range(4):
        for one in page["steps"][0]["questions"]:
            case = of_case(one, number)
            wanted = [case["answer"]] if "answer" in case else case.get("truth", [])
            assert not [value for value in wanted for found in numbers if math.isclose(found, value, rel_tol=1e-6)]
    ids = [one["id"] for one in exam["steps"][0]["questions"][1]["choices"]]
    assert ids == sorted(ids)
    # Texts and the buttons of the clock have named values, which are held back.
    assert "… says" not in text
    assert "says …" in text
    assert "data-clock" not in text.split('id="lesson-data"')[0]
    assert "<lesson-teacher" not in text.split('id="lesson-data"')[0]
    assert exam["content"] == page["content"]


def test_what_an_exam_withholds_of_texts_is_named_with_its_line(built: Path, tmp_path: Path) -> None:
    """Each of them stands in the line that is named; what a teacher hides anyway is not."""
    folder = seeded_lesson(tmp_path / "small")
    text = "One.\n\nTwo lines,\n{{formula : ms}} and [now](clock:half).\n\n| a |\n|---|\n| [then](clock:half) |\n\n> Stop the clock.\n"
    (folder / "one.md").write_text(text, encoding="utf-8")
    found: list[Withheld] = []
    build_lesson(folder, tmp_path / "exam.html", 1, exam=True, on_withheld=found.append)
    lines = [(Path(one.place.file).name, one.place.line, one.words) for one in found]
    in_text = [one[1:] for one in lines if one[0] == "one.md" and one[1] is not None]
    assert in_text == [
        (10, "the text says 'clock', and this step of the exam has no clock"),
        (4, "{{formula}} is shown as …"),
        (4, "the button clock:half is text only"),
        (8, "the button clock:half is text only"),
    ]
    figures = [words for _, line, words in lines if line is None]
    assert len(figures) == 4
    assert figures[0].endswith("its curve 'Title'")
    assert not [one for one in lines if one[0] == "lesson.yaml"]  # hints and feedback are in no exam anyway
    # By the list above: four figures, one word, two buttons, one value; once each, in the lines 4, 8 and 10 of one.md.
    counts = "4 figures left out, 1 words about figures that are left out, 2 buttons shown as text, 1 values hidden"
    note = note_on_withheld(found)
    assert f": {counts}. Read these lines again: " in note
    assert "one.md 4, 8, 10" in note
    assert "\n" not in note
    found.clear()
    build_lesson(folder, tmp_path / "exam.html", 1, exam=True, changes=Changes(("One/1",)), on_withheld=found.append)
    assert not [one for one in found if "its curve" in one.words]
    build_lesson(folder, tmp_path / "page.html", 1, on_withheld=pytest.fail)


# --- Answers beside truths


def test_every_answer_stands_beside_its_truth(built: Path, tmp_path: Path) -> None:
    header = header_of(built)
    right = truths(header, "s1")
    given = {"number": right["number"] * 1.05, "choice": "=1+1", "sketch": right["sketch"], "factor": -1.0}
    own = {"content": header["content"], "parameters": parameters_of(header, "s1")}
    files = {"a.json": answers("s1", given, **own), "b.json": answers("s2", {}), "c.json": b"{"}
    marks = graded(built, tmp_path, files)
    rows = list(csv.DictReader(io.StringIO(answers_of(marks))))
    names = ("number", "choice", "sketch", "factor")
    assert [(row["code"], row["question"]) for row in rows] == [(code, name) for code in ("s1", "s2") for name in names]
    number, choice, sketch, factor = rows[:4]
    assert float(number["truth"]) == pytest.approx(right["number"], rel=1e-5)
    assert (number["unit"], number["tolerance"], number["points"], number["of"]) == ("ms", "0.01", "0", "1")
    assert float(number["off"]) == pytest.approx(0.05, rel=1e-3)
    assert (choice["answer"], choice["remark"]) == ("'=1+1", "not one of the choices")
    assert choice["truth"] in ("Hops", "Links")
    assert sketch["answer"] == sketch["truth"]
    assert [one.split(": ")[0] for one in sketch["truth"].split("; ")] == ["64 KiB", "1 MiB"]
    assert float(sketch["truth"].split(": ")[1].split(";")[0]) == pytest.approx(right["sketch"]["1"], rel=1e-3)
    assert (float(sketch["off"]), sketch["points"]) == (0.0, "3")
    assert (factor["answer"], factor["points"]) == ("-1", "0")
    stops = {name: header["sliders"][name]["stops"][stop]["text"] for name, stop in own["parameters"].items()}
    assert number["stops"] == "; ".join(f"{name}: {text}" for name, text in stops.items())
    assert {row["answer"] for row in rows[4:]} == {""}


def test_a_check_with_a_code_has_the_truths_of_that_code(built: Path) -> None:
    header = header_of(built)
    for code in ("s1", " S2"):
        checked = check_lesson(built / "small", 1, code=code)
        right = truths(header, checked_code(code))
        for name in ("number", "factor"):
            assert float(checked.answers[name].split()[0]) == pytest.approx(right[name], rel=1e-3)
        own = parameters_of(header, checked_code(code))
        stops = {name: header["sliders"][name]["stops"][stop]["text"] for name, stop in own.items()}
        assert checked.parameters == stops
    with pytest.raises(InputError, match="not a student's code"):
        check_lesson(built / "small", 1, code="a b")
    with pytest.raises(InputError, match="depends on a code"):
        check_lesson(lesson_folder("ping-pong"), 1, code="s1")


def floats(one: Any) -> list[float]:
    if isinstance(one, dict):
        return [value for each in one.values() for value in floats(each)]
    if isinstance(one, list):
        return [value for each in one for value in floats(each)]
    return [one] if isinstance(one, float) else []


def test_a_question_for_a_simulation_leaves_the_formula(tmp_path: Path, built: Path) -> None:
    """Without the questions for the formula: the student is to judge it."""
    folder = seeded_lesson(tmp_path / "small", ("answer: formula, unit: ms", "answer: simulated, unit: ms"))
    text = (
        (folder / "lesson.yaml")
        .read_text(encoding="utf-8")
        .replace("reading: formula, given", "reading: formula, given")
    )
    start, end = text.index("      - name: sketch"), text.index("      - {name: factor")
    (folder / "lesson.yaml").write_text(text[:start] + text[end:], encoding="utf-8")
    build_lesson(folder, tmp_path / "exam.html", 1, exam=True)
    header, arrays = unpack(block_in((tmp_path / "exam.html").read_text(encoding="utf-8")))
    assert list(arrays) == ["near/formula"]
    assert [one["kind"] for one in header["steps"][0]["views"]] == ["curve"]
    assert header["runs"]["near"]["traces"] == []


@pytest.mark.thorough
def test_the_shipped_exam_holds_back_what_it_asks_for() -> None:
    """Only what no question asks for has simulations: the tree in its other order."""
    from simcodesign.lessons.contents import contents
    from simcodesign.lessons.lattice import Lattice, formula_times

    lesson = read_lesson(lesson_folder("exam"))
    numbers = numbers_without_simulating(lesson, Lattice, formula_times)
    _, arrays = contents(lesson, numbers, exam=True)
    assert [name for name in arrays if name.endswith("simulated")] == ["far/simulated"]
    assert len(lesson.steps) == 4
    assert 6 <= sum(len(step.questions) for step in lesson.steps) <= 10
    assert sum(one.points for step in lesson.steps for one in step.questions) == 13


def numbers_without_simulating(lesson: Any, lattice: Any, formula_times: Any) -> Any:
    """Forecasts, and in place of simulations what is 10 % more for each rung."""
    from simcodesign.lessons.compute import Numbers

    lattices = {}
    for name, run in lesson.runs.items():
        formula_s = formula_times(run)
        rungs = (1.1 + len(lattices) / 100) ** np.arange(1, len(run.effects) + 2)
        ladder = np.repeat(formula_s[..., None, None] * rungs[:, None], 3, axis=-1)
        lattices[name] = lattice(formula_s, ladder)
    return Numbers(lattices, {})


# --- Changes


@pytest.mark.parametrize(
    ("hide", "start", "tolerance", "word"),
    [
        (["Two"], [], [], "no such step"),
        (["One/9"], [], [], "no such step"),
        (["One"], [], [], "nothing of the lesson is left"),
        ([], ["size=1 KiB"], [], "student's code"),
        ([], ["startup=3 us"], [], "not a stop"),
        ([], ["speed=3 us"], [], "no such slider"),
        ([], [], ["choice=5 %"], "no question with a tolerance"),
        ([], [], ["number=5 km"], "km"),
        ([], [], ["number"], "NAME=VALUE"),
        ([], [], ["number=2000 %"], "not a tolerance"),
    ],
)
def test_changes_that_cannot_be_are_refused(
    hide: list[str], start: list[str], tolerance: list[str], word: str, built: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=word):
        build_lesson(built / "small", tmp_path / "p.html", 1, changes=changes_of(hide, start, tolerance))


def test_what_is_hidden_is_not_in_the_page(built: Path, tmp_path: Path) -> None:
    changes = changes_of(["One/1", "factor"], ["startup=1 us"], ["number=30 %"])
    build_lesson(built / "small", tmp_path / "p.html", 1, changes=changes)
    header = unpack(block_in((tmp_path / "p.html").read_text(encoding="utf-8")))[0]
    (step,) = header["steps"]
    assert [one["kind"] for one in step["views"]] == ["network", "gantt", "clock"]
    assert [one["name"] for one in step["questions"]] == ["number", "choice", "sketch"]
    assert step["questions"][0]["tolerance"] == 0.3
    assert header["sliders"]["startup"]["start"] == 0


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (("seeded: {nodes: [2, 8]", "seeded: {nodes: [2, 9]"), "not a stop"),
        (("seeded: {nodes: [2, 8], size: [1 KiB, 1 MiB]}", "seeded: {nodes: [2]}"), "combinations"),
        (("size: [1 KiB, 1 MiB]}\n", "size: [1 KiB, 64 KiB]}\n"), "not simulated"),
        (("name: factor", "name: number"), "two questions"),
        (("given: 1, at", "given: 2, at"), "too many points"),
        (("points: 3", "points: -1"), "not a number of points"),
        (("draw: {run: near, over: size", "draw: {run: near, over: sizes"), "not one of"),
    ],
)
def test_errors_of_a_lesson(change: tuple[str, str], word: str, built: Path, tmp_path: Path) -> None:
    folder = seeded_lesson(tmp_path / "small", change)
    with pytest.raises(InputError, match=word):
        build_lesson(folder, tmp_path / "page.html", 1)
