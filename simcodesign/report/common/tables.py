"""What printed reports are made of: paragraphs, facts by name, lists, and tables of numbers for narrow terminals."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table

#: Columns of a terminal on which any table fits.
_ENDLESS = 100_000


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
    """Lines with a dash, below ``head``; nothing where there are none."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    for line in lines:
        grid.add_row("-", line)
    if not grid.row_count:
        return ""
    return paragraph(grid if head is None else Group(head, grid))


def new_table(title: str, first: str, *others: str) -> Table:
    """A table whose first column is text and whose others are numbers."""
    table = _Numbers(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)
    table.add_column(first, overflow="fold")
    for name in others:
        table.add_column(name, justify="right", overflow="fold")
    return table


def text_table(title: str, *names: str, right: Collection[str] = ()) -> Table:
    """A table of texts that are folded where they are long; the columns of ``right`` stand to the right."""
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)
    for name in names:
        table.add_column(name, overflow="fold", justify="right" if name in right else "left")
    return table


class _Numbers(Table):
    """A table that breaks heads rather than cells, and both between words, as long as they fit in a line."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        ours = [column for column in self.columns if column.width is None]
        for column in ours:
            column.min_width = column.max_width = None
        everything = Measurement.get(console, options.update(max_width=_ENDLESS), self).maximum
        if everything > options.max_width:
            heads = [str(column.header) for column in ours]
            cells = [[str(cell) for cell in column.cells] for column in ours]
            natural = [
                max(map(cell_len, [*head.split("\n"), *texts])) for head, texts in zip(heads, cells, strict=True)
            ]
            words = [max(map(_longest_word, texts), default=0) for texts in cells]
            whole = [words[0], *(max(map(cell_len, texts), default=0) for texts in cells[1:])]
            available = options.max_width - (everything - sum(natural))
            named, worded = _headed(whole, heads), _headed(words, heads)
            for wide, least in ((natural, named), (named, whole), (named, worded), (worded, words)):
                if sum(least) <= available:
                    for column, width in zip(ours, _narrowed(wide, least, available), strict=True):
                        column.min_width = column.max_width = width
                    break
        return super().__rich_console__(console, options)


def _headed(least: Sequence[int], heads: Sequence[str]) -> list[int]:
    """Widths in which no word of a head is broken either."""
    return [max(width, _longest_word(head)) for width, head in zip(least, heads, strict=True)]


def _narrowed(widths: Sequence[int], least: Sequence[int], available: int) -> list[int]:
    """The widths, first narrowed where they are furthest above the least ones, until they fit."""
    widths = [*widths]
    while sum(widths) > available:
        spare = [width - few for width, few in zip(widths, least, strict=True)]
        widths[spare.index(max(spare))] -= 1
    return widths


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)
