"""Bounds of Aspen files before they are parsed."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcodesign.aspen.application import load_application
from simcodesign.aspen.parse import parse_text
from simcodesign.aspen.scan import MAX_CASES, MAX_OPERATORS, MAX_TOKENS, check_tokens
from simcodesign.core.errors import InputError

HERE = Path("a.aspen")


def refusal(text: str) -> str:
    with pytest.raises(InputError) as caught:
        check_tokens(text, HERE)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("param n = 1 // two words", 4),
        ('execute "a b" { }', 4),
        ("a.b^2.5e-3", 5),
        ("\n\t\r\n", 0),
        ("n[1..2]", 7),
        ("{()}", 4),
    ],
)
def test_words_numbers_and_signs_are_counted(text: str, count: int) -> None:
    assert check_tokens(text, HERE) == count


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "^", " and "])
def test_the_operators_of_one_expression(sign: str) -> None:
    long = "param a = 1\nparam b = 1" + f"{sign}1" * MAX_OPERATORS
    assert check_tokens(long, HERE) > MAX_OPERATORS
    column = len("param b = 1") + MAX_OPERATORS * (len(sign) + 1) + 1 + len(sign) - len(sign.lstrip())
    allowed = f"up to {MAX_OPERATORS} operators; split it into several parameters"
    assert refusal(f"{long}{sign}1") == f"a.aspen:2: column {column}: the expression is too long (allowed: {allowed})"


@pytest.mark.parametrize("between", [" param q = ", ", ", "] [", "} {", ")\nparam r = ("])
def test_another_expression_counts_anew(between: str) -> None:
    half = "1" + "+1" * (MAX_OPERATORS - 1)
    assert check_tokens(f"param p = ({half}{between}{half}", HERE) > 2 * MAX_OPERATORS


def test_words_in_all() -> None:
    words = "x " * MAX_TOKENS
    assert check_tokens(words, HERE) == MAX_TOKENS
    assert refusal(words + "x").startswith(f"a.aspen:1: column {2 * MAX_TOKENS + 1}: the model has too many words")


def test_includes_count_together(tmp_path: Path) -> None:
    (tmp_path / "part.aspen").write_text("param x = 1 // no\n" * (MAX_TOKENS // 8), encoding="utf-8")
    whole = tmp_path / "whole.aspen"
    whole.write_text("include part.aspen\n" * 3, encoding="utf-8")
    with pytest.raises(InputError, match="the model has too many words, numbers and signs"):
        load_application(whole)


def test_chains_of_cases() -> None:
    chain = "if (1 < 2) { }" + " else if (1 < 2) { }" * MAX_CASES
    kernel = "model A { kernel main { %s } }"
    assert parse_text(kernel % chain).models  # which the parser takes
    assert "an if has too many cases" in refusal(kernel % (chain + " else if (1 < 2) { }"))
    assert check_tokens(kernel % "if (1 < 2) { } else if (1 < 2) { } " * (MAX_CASES + 1), HERE) > MAX_CASES


@pytest.mark.parametrize(
    "text",
    [
        "model A {\n param n = 1" + " + 1" * 124_000,
        "param n = " + "-" * 490_000 + "1",
        "param n[] = {" + "1," * 240_000,
        "model A { kernel main { " + "execute { flops [1] } " * 22_000,
        "if (1<2) { } " + "else if (1<2) { } " * 26_000,
        "(1" * 240_000,
    ],
)
def test_half_a_megabyte_is_refused_with_its_place(tmp_path: Path, text: str) -> None:
    path = tmp_path / "long.aspen"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"long\.aspen:\d+: column \d+: "):
        load_application(path)
