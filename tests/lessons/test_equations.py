"""Formulas of lessons as MathML: read back, they have the values of what their authors typed."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from simcodesign.core.errors import InputError, Place
from simcodesign.lessons.equations import equation_html, without_mathml
from simcodesign.lessons.markdown import to_html
from tests import ROOT

BLOCK = re.compile(r"```equation\n(.*?)```", re.DOTALL)
TYPED = [
    pytest.param(" ".join(re.sub(r"\{\{.*?\}\}", "32", found).split()), id=f"{path.parent.parent.name}-{path.stem}")
    for path in sorted((ROOT / "lessons").rglob("*.md"))
    for found in BLOCK.findall(path.read_text(encoding="utf-8"))
]
#: Formulas with dots, units or functions, which this test does not compute.
NOT_COMPUTED = re.compile(r"\.\.\.|max|T ≥|\d m?s\b|\d Operationen")
#: Functions that formulas have, by the names that this test gives them.
FUNCTIONS = {"log": np.log2, "ln": np.log, "exp": np.exp}
DIGITS = str.maketrans("₀₁₂₃ₛ²³", "0123s23")


def paragraph(text: str) -> ET.Element:
    """The formula, which is well-formed XML."""
    return ET.fromstring(equation_html(text))


def read_back(element: ET.Element) -> str:
    """MathML as an expression of Python, by the meaning of each element."""
    parts = [read_back(child) for child in element]
    text = (element.text or "").strip().translate(DIGITS)
    if element.tag == "mfrac":
        return f"(({parts[0]})/({parts[1]}))"
    if element.tag == "msup":
        return f"({parts[0]})**({parts[1]})"
    if element.tag == "msub":
        return parts[0] if parts[0] == "log" else f"{parts[0]}_{parts[1]}"
    if element.tag == "mspace":
        return "@"
    if element.tag == "mo":
        return {"·": "*", "−": "-", "=": "==", "⋯": ""}.get(text, text)
    return text.replace(" ", "_").replace("/", "_") or "".join(parts)


def plain_python(text: str) -> str:
    """What was typed, as an expression of Python."""
    text = text.replace("1 GFLOP/s", "GFLOP_s").replace("16 KiB", "KiB").replace("60 flops", "flops")
    text = re.sub(r"(log|ln)₂? (\w)", r"\1(\2)", text)
    text = re.sub(r"(²|³)", lambda match: f"**{match[1]}".translate(DIGITS), text)
    text = re.sub(r"(\w)([₀₁₂₃ₛ])", lambda match: f"{match[1]}_{match[2]}".translate(DIGITS), text)
    text = re.sub(r"\b([a-z]) (?=[a-z]\b)", r"\1*", text)  # single letters are factors
    text = re.sub(r"(?<=[^\W\d]) (?=[^\W\d])", "_", text)  # several words are one name
    text = re.sub(r"(\d) ?(?=[mnw(]|log)", r"\1*", text)
    return text.replace("·", "*").replace("−", "-").replace("=", "==")


def values(expression: str, known: dict[str, float]) -> list[float]:
    """The values of both sides of an equation, or of an expression alone."""
    found = []
    for side in re.split(r"==|≤|,", expression):
        names = {name: known[name] for name in re.findall(r"[^\W\d]\w*", side) if name not in FUNCTIONS}
        found.append(float(eval(side, {"__builtins__": {}}, {**FUNCTIONS, **names})))
    return found


def as_python(text: str) -> str:
    """The formula of a page as an expression of Python."""
    joined = "".join(read_back(one) for one in paragraph(text).iter("math"))
    joined = joined.replace("1@GFLOP_s", "GFLOP_s").replace("16@KiB", "KiB").replace("60@flops", "flops")
    return re.sub(r"(log|ln)@(\w)", r"\1(\2)", joined).replace("@", "*").replace("exp*(", "exp(")


@pytest.mark.parametrize("text", [one for one in TYPED if not NOT_COMPUTED.search(str(one.values[0]))])
def test_shipped_formulas_have_the_value_of_what_was_typed(text: str) -> None:
    typed, shown = plain_python(text), as_python(text)
    names = set(re.findall(r"[^\W\d]\w*", typed)) - {*FUNCTIONS}
    assert set(re.findall(r"[^\W\d]\w*", shown)) - {*FUNCTIONS} == names
    generator = np.random.default_rng(1)
    for _ in range(3):
        known = {
            name: float(value) for name, value in zip(sorted(names), generator.uniform(2, 9, len(names)), strict=True)
        }
        assert values(shown, known) == pytest.approx(values(typed, known), rel=1e-12)


@pytest.mark.parametrize("text", TYPED)
def test_all_shipped_formulas_are_mathml(text: str) -> None:
    assert len(TYPED) > 40
    assert list(paragraph(text).iter("math"))
    assert without_mathml(equation_html(text)).strip() == f'<p class="equation">{text.replace("<", "&lt;")}</p>'


def test_enough_of_them_are_computed() -> None:
    assert sum(not NOT_COMPUTED.search(str(one.values[0])) for one in TYPED) > 40


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("a / b / c", ["mfrac", "mfrac"]),
        ("T two = 1", ["msub"]),
        ("(a + b)² · c", ["msup"]),
        ("x₁² + 1", ["msup", "msub"]),
    ],
)
def test_what_becomes_what(text: str, tags: list[str]) -> None:
    found = [one.tag for one in paragraph(text).iter() if one.tag in ("mfrac", "msub", "msup")]
    assert found == tags


def test_lines_break_between_terms() -> None:
    """And so no piece has a sign but at its beginning."""
    pieces = list(paragraph("T = a · b + c − d").iter("math"))
    assert [one[0].text for one in pieces] == ["T", "=", "·", "+", "−"]
    assert all(first is not second for first, second in pairwise(pieces))


@pytest.mark.parametrize("text", ["for i: x", "a +", "(a", "a)", "C[i]", "(" * 10_000, "a ! b", "", "<b>"])
def test_what_is_no_formula_stays_text(text: str) -> None:
    html = equation_html(text)
    assert "<math" not in html
    assert "<b>" not in html


def html_of(text: str, folder: Path) -> str:
    place = Place(str(folder / "one.md"), 1)
    return to_html(text, place, lambda text, place: None, lambda text, form, place: text)


def test_a_picture_stands_in_the_page(tmp_path: Path) -> None:
    (tmp_path / "tree.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>', encoding="utf-8")
    html = html_of("![a tree](tree.svg)", tmp_path)
    assert 'alt="a tree"' in html
    assert 'src="data:image/svg+xml;base64,PHN2Zy' in html
    (tmp_path / "lesson.yaml").touch()
    (tmp_path / "de").mkdir()
    assert 'src="data:image/svg+xml;base64,PHN2Zy' in html_of("![Baum](tree.svg)", tmp_path / "de")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("![](tree.svg)", "without words"),
        ("![x](../tree.svg)", "not the name of a picture"),
        ("![x](/etc/passwd)", "not the name of a picture"),
        ("![x](https://example.org/a.png)", "not the name of a picture"),
        ("![x](tree.html)", "not the name of a picture"),
        ("![x](treee.svg)", "no such picture.*tree.svg"),
        ("![x](large.png)", "large.png"),
    ],
)
def test_pictures_that_cannot_be(text: str, words: Any, tmp_path: Path) -> None:
    (tmp_path / "tree.svg").touch()
    (tmp_path / "large.png").write_bytes(bytes(2**20 + 1))
    with pytest.raises(InputError, match=words):
        html_of(text, tmp_path)
