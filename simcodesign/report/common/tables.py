"""Parts of printed reports: paragraphs, facts by name, lists, and tables of numbers for narrow terminals."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table

from simcodesign.report.common.fitted_table import FittedTable


def paragraph(content: RenderableType, *, bold: bool = False) -> RenderableType:
    """Text, or anything else, with an empty line below."""
    return Padding(content, (0, 0, 1, 0), style="bold" if bold else "none", expand=False)


def facts(rows: Iterable[tuple[str, str]]) -> RenderableType:
    """Names and what they are, one below the other."""
    grid = Table.grid(padding=(0, 2))
    for name, text in rows:
        grid.add_row(name, text)
    return paragraph(grid)


def section(title: str, rows: Iterable[tuple[str, str]]) -> RenderableType:
    """Names and a text about each, under a title; an empty title is not printed."""
    table = Table(
        title=title or None, box=None, show_header=False, title_justify="left", title_style="bold", padding=(0, 2, 0, 0)
    )
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in rows:
        table.add_row(name, text)
    return paragraph(table)


def dashed_list(lines: Iterable[str], head: str | None = None) -> RenderableType:
    """Lines with a dash, below ``head``; nothing if there are none."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    for line in lines:
        grid.add_row("-", line)
    if not grid.row_count:
        return ""
    return paragraph(grid if head is None else Group(head, grid))


def new_table(title: str, first: str, *others: str) -> Table:
    """Return a table whose first column is text and whose others are numbers (see ``FittedTable``)."""
    table = FittedTable(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)
    table.add_column(first, overflow="fold")
    for name in others:
        table.add_column(name, justify="right", overflow="fold")
    return table


def text_table(title: str, *names: str, right: Collection[str] = ()) -> Table:
    """Return a table of texts that are folded if they are long; the columns of ``right`` are aligned to the right."""
    table = FittedTable(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)
    for name in names:
        table.add_column(name, overflow="fold", justify="right" if name in right else "left")
    return table
