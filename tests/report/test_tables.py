"""Tables on narrow terminals: nothing is cut off, and what fits stays whole."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from simcodesign.report.common.tables import new_table

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


@given(table=tables(), width=st.integers(30, 120))
def test_what_fits_is_whole_and_nothing_is_cut_off(table: tuple[list[str], list[list[str]]], width: int) -> None:
    heads, rows = table
    table_lines = lines(heads, rows, width)
    assert all(len(line) <= width for line in table_lines)
    assert letters("".join(table_lines)) == letters("".join([*heads, *(cell for row in rows for cell in row)]))
    longest = [max(len(word) for row in rows for word in row[place].split()) for place in range(len(heads))]
    if sum(longest) + 3 * len(heads) <= width:
        printed = " ".join(table_lines).split()
        for row in rows:
            assert all(word in printed for cell in row for word in cell.split())
    whole = [longest[0], *(max(len(row[place]) for row in rows) for place in range(1, len(heads)))]
    if sum(whole) + 3 * len(heads) <= width:
        for row in rows:
            assert all(any(cell in line for line in table_lines) for cell in row[1:])


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
