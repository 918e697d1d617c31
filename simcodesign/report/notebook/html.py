"""Printed tables as HTML for notebooks: every text is escaped, and all style is in the elements themselves."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from io import StringIO

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from simcodesign.report.common.terminal import Printable

#: Columns in which what is no table is laid out.
_WIDTH = 100
_TITLE = "text-align: left; font-weight: bold"
_CELL = "padding: 0.1em 0.8em 0.1em 0; vertical-align: top; white-space: pre-wrap; text-align: {}"


def html_of(renderables: Iterable[RenderableType]) -> str:
    """Return the parts one below the other."""
    return f"<div>{''.join(_part(one) for one in renderables)}</div>"


def _part(one: RenderableType) -> str:
    if isinstance(one, Padding):
        return _part(one.renderable)
    if isinstance(one, Group):
        return "".join(_part(part) for part in one.renderables)
    if isinstance(one, Table):
        return _table(one)
    if isinstance(one, str | Text):
        return f'<p style="white-space: pre-wrap">{_escaped(one)}</p>' if str(one) else ""
    return f'<pre style="overflow-x: auto">{_escaped(_laid_out(one))}</pre>'


def _table(table: Table) -> str:
    columns = [(column.justify, [*column.cells]) for column in table.columns]
    title = (
        f"<caption style='text-align: left; font-weight: bold'>{_escaped(table.title)}</caption>" if table.title else ""
    )
    heads = "".join(_cell("th", column.header, column.justify) for column in table.columns)
    rows = (
        "".join(_cell("td", cells[number], justify) for justify, cells in columns) for number in range(table.row_count)
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    head = f"<thead><tr>{heads}</tr></thead>" if table.show_header and table.columns else ""
    return f'<table style="border-collapse: collapse">{title}{head}<tbody>{body}</tbody></table>'


def _cell(element: str, content: RenderableType, justify: str) -> str:
    side = "right" if justify == "right" else "left"
    inner = _escaped(content) if isinstance(content, str | Text) else _part(content)
    return f'<{element} style="{_CELL.format(side)}">{inner}</{element}>'


def _escaped(content: RenderableType) -> str:
    """Escape a text for any place in HTML; characters that cannot be printed are replaced."""
    text = content.plain if isinstance(content, Text) else str(content)
    return escape("".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text))


def _laid_out(one: RenderableType) -> str:
    """Render anything that is neither table nor text, in characters."""
    to = StringIO()
    Console(file=to, width=_WIDTH, markup=False, highlight=False, emoji=False, force_terminal=False).print(
        Printable(one)
    )
    return "\n".join(line.rstrip() for line in to.getvalue().splitlines())
