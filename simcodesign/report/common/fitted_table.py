"""Table that fits the available width.

Headings break only between words. If the table is too wide, constant columns are removed and listed below it; if it is
still too wide, it is transposed.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

#: Columns of a terminal on which any table fits.
_ENDLESS = 100_000
#: Rows from which on a column that is the same in all of them adds nothing in any.
_MIN_ROWS = 2
#: Rows up to which a table is transposed; a longer one would be pages of columns, in which rows are hard to find.
_MAX_TURNED = 40
#: Fewest columns of a terminal that a turned row takes.
_MIN_WIDTH = 3


class FittedTable(Table):
    """A table that breaks heads rather than cells, and both between words only.

    If that is too wide, columns that are the same in all rows are left out and named below; if that is still too
    wide, it is printed with rows as columns, as many of them side by side as fit, unless there are very many. Only a
    word that is longer than the whole width is broken, and words of the cells of such a long table.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._fits(console, options):
            yield from super().__rich_console__(console, options)
            return
        kept, same = self._varying()
        narrower = self._with_columns(kept) if same else self
        if same and narrower._fits(console, options):
            yield narrower
            yield _named(same)
            return
        if not 0 < self.row_count <= _MAX_TURNED or any(column.width is not None for column in self.columns):
            yield from super().__rich_console__(console, options)
            return
        yield from narrower._transposed(console, options)
        if same:
            yield _named(same)

    def _fits(self, console: Console, options: ConsoleOptions) -> bool:
        """Whether it can be printed without breaking a word; sets the widths of its columns if so."""
        ours = [column for column in self.columns if column.width is None]
        for column in ours:
            column.min_width = column.max_width = None
        everything = Measurement.get(console, options.update(max_width=_ENDLESS), self).maximum
        if everything <= options.max_width:
            return True
        heads = [str(column.header) for column in ours]
        cells = [[str(cell) for cell in column.cells] for column in ours]
        natural = [max(map(cell_len, [*head.split("\n"), *texts])) for head, texts in zip(heads, cells, strict=True)]
        words = [max(map(_longest_word, texts), default=0) for texts in cells]
        whole = [
            widest if column.justify == "left" else max(map(cell_len, texts), default=0)
            for column, widest, texts in zip(ours, words, cells, strict=True)
        ]
        available = options.max_width - (everything - sum(natural))
        named, worded = _headed(whole, heads), _headed(words, heads)
        for wide, least in ((natural, named), (named, worded)):
            if sum(least) <= available:
                for column, width in zip(ours, _narrowed(wide, least, available), strict=True):
                    column.min_width = column.max_width = width
                return True
        return False

    def _varying(self) -> tuple[list[Column], list[str]]:
        """Return the columns without those, except for the first, that are the same in all rows, and what these are."""
        kept, same = [], []
        for number, column in enumerate(self.columns):
            texts = [str(cell) for cell in column.cells]
            if number and len(texts) >= _MIN_ROWS and len(set(texts)) == 1 and column.width is None:
                same.append(f"{_joined(column)} = {texts[0]}" if texts[0] else f"no {_joined(column)}")
            else:
                kept.append(column)
        return kept, same

    def _with_columns(self, columns: Sequence[Column]) -> FittedTable:
        """Return the table with these of its columns alone."""
        table = self._empty(self.title)
        for column in columns:
            table.add_column(column.header, justify=column.justify, overflow=column.overflow, width=column.width)
        for texts, row in zip(zip(*(column.cells for column in columns), strict=True), self.rows, strict=True):
            table.add_row(*texts, style=row.style, end_section=row.end_section)
        return table

    def _empty(self, title: object) -> FittedTable:
        return FittedTable(
            title=title or None,  # type: ignore[arg-type] # as it was given
            box=self.box,
            title_justify=self.title_justify,
            title_style=self.title_style,
            pad_edge=self.pad_edge,
        )

    def _transposed(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Tables with the columns as rows, and as many of the rows as columns as fit; at least one."""
        rows = range(self.row_count)
        for count in range(min(self.row_count, max(options.max_width // _MIN_WIDTH, 1)), 0, -1):
            groups = [rows[first : first + count] for first in range(0, self.row_count, count)]
            tables = [self._turned(group, "" if number else self.title) for number, group in enumerate(groups)]
            if all(table._fits(console, options) for table in tables) or count == 1:  # each sets its widths
                for table in tables:
                    yield from Table.__rich_console__(table, console, options)
                return

    def _turned(self, rows: Sequence[int], title: object) -> FittedTable:
        """Return the columns as rows, of these rows alone."""
        table = self._empty(title)
        cells = [[*column.cells] for column in self.columns]
        table.add_column(_joined(self.columns[0]), overflow="fold")
        for row in rows:
            table.add_column(str(cells[0][row]), justify="right", overflow="fold")
        for column, texts in zip(self.columns[1:], cells[1:], strict=True):
            table.add_row(_joined(column), *(texts[row] for row in rows))
        return table


def _named(same: Sequence[str]) -> Text:
    """Return the columns left out, and an empty line, as there is one under a table."""
    return Text(f"Equal in every row: {', '.join(same)}\n")


def _joined(column: Column) -> str:
    """Return a head in one line."""
    return " ".join(str(column.header).replace(".\n", ".").split())


def _headed(least: Sequence[int], heads: Sequence[str]) -> list[int]:
    """Widths in which no word of a head is broken either."""
    return [max(width, _longest_word(head)) for width, head in zip(least, heads, strict=True)]


def _narrowed(widths: Sequence[int], least: Sequence[int], available: int) -> list[int]:
    """Return the widths, first narrowed if they are furthest above the least ones, until they fit."""
    widths = [max(width, few) for width, few in zip(widths, least, strict=True)]
    while sum(widths) > available:
        spare = [width - few for width, few in zip(widths, least, strict=True)]
        widths[spare.index(max(spare))] -= 1
    return widths


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)
