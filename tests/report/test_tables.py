"""Tables on narrow terminals: nothing is cut off, and what fits stays whole."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from simcodesign.report.common.tables import new_table

SAME = "Equal in every row"
WORDS = st.text("abc0123456789.", min_size=1, max_size=9)
PHRASES = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)


def lines(heads: list[str], rows: list[list[str]], width: int) -> list[str]:
    table = new_table("", *heads)
    for row in rows:
        table.add_row(*row)
    console = Console(width=width, markup=False, highlight=False, emoji=False, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return capture.get().splitlines()


def letters(text: str) -> Counter[str]:
    return Counter(letter for letter in text if not letter.isspace() and letter != "\u2500")


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[str]]]:
    columns = draw(st.integers(2, 6))
    heads = draw(st.lists(PHRASES, min_size=columns, max_size=columns))
    return heads, draw(st.lists(st.lists(PHRASES, min_size=columns, max_size=columns), min_size=1, max_size=4))


@settings(max_examples=40)
@given(table=tables(), width=st.integers(30, 120))
def test_no_word_is_broken_and_nothing_is_cut_off(table: tuple[list[str], list[list[str]]], width: int) -> None:
    heads, rows = table
    table_lines = lines(heads, rows, width)
    assert all(len(line) <= width for line in table_lines)
    printed = {word.rstrip(",") for word in " ".join(table_lines).split()}
    assert {word for text in [*heads, *(cell for row in rows for cell in row)] for word in text.split()} <= printed
    if SAME not in " ".join(table_lines):
        # Rows that stand as columns in several tables repeat the heads.
        assert not letters("".join([*heads, *(cell for row in rows for cell in row)])) - letters("".join(table_lines))


def test_columns_that_are_the_same_everywhere_are_named_below() -> None:
    heads, rows = ["point", "nodes", "bandwidth of links"], [["0", "64", "1 GB/s"], ["1", "128", "1 GB/s"]]
    assert SAME not in "".join(lines(heads, rows, 40))
    narrow = lines(heads, rows, 20)
    assert "bandwidth of links = 1 GB/s" in " ".join(" ".join(narrow).split())
    table = narrow[: next(number for number, line in enumerate(narrow) if "Equal" in line)]
    assert [line.split() for line in table if line.split()[:1] in (["0"], ["1"])] == [["0", "64"], ["1", "128"]]


def test_what_does_not_fit_has_its_rows_side_by_side() -> None:
    heads = ["machine", "forecast", "simulated", "difference"]
    rows = [["mesh", "1.0744", "2.6704", "-1.5960"], ["tree", "1.2744", "8.1234", "-7.0490"]]
    turned = [line.split() for line in lines(heads, rows, 36) if line.strip() and "\u2500" not in line]
    assert turned == [list(column) for column in zip(heads, *rows, strict=True)]
    apart = [line.split() for line in lines(heads, rows, 24) if line.strip() and "\u2500" not in line]
    assert apart == [[head, cell] for row in rows for head, cell in zip(heads, row, strict=True)]


@pytest.mark.parametrize(("width", "whole"), [(46, True), (39, True), (38, True), (37, False)])
def test_heads_are_broken_first(width: int, whole: bool) -> None:
    """Cells of 11, 10 and 9 columns, with 3 between them and 1 at each end, need 38; their heads are longer."""
    table_lines = lines(
        ["what there is", "bandwidth of links", "time"], [["twelve.mes.", "123.4 GB/s", "17.25 ms."]], width
    )
    assert all(len(line) <= width for line in table_lines)
    match = re.search(r"twelve\.mes\. +123\.4 GB/s +17\.25 ms\.", "\n".join(table_lines))
    assert (match is not None) == whole


def test_a_table_can_be_printed_narrow_and_then_wide() -> None:
    table = new_table("", "name", "bandwidth of every link")
    table.add_row("a", "1")
    for width, heads in ((20, 3), (80, 1)):
        console = Console(width=width, color_system=None)
        with console.capture() as capture:
            console.print(table)
        shown = [line for line in capture.get().splitlines() if line.strip()]
        assert len(shown) == heads + 2


def test_a_column_of_given_width_keeps_it() -> None:
    table = new_table("", "name", "bandwidth of every link")
    table.add_column("", width=10, no_wrap=True)
    table.add_row("a", "1", Text("#" * 10))
    for width in (30, 80):
        console = Console(width=width, color_system=None)
        with console.capture() as capture:
            console.print(table)
        assert "#" * 10 in capture.get()
