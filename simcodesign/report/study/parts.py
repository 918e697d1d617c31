"""Printed reports as JSON and back: tables as titles, heads and cells, everything else as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from simcodesign.report.common.tables import facts, text_table
from simcodesign.report.common.terminal import printed

_TEXT, _TITLE, _HEADS, _RIGHT, _ROWS = "text", "title", "heads", "right", "rows"


def parts_of(renderables: Iterable[RenderableType]) -> list[Mapping[str, Any]]:
    """Return the parts of a report as JSON."""
    return [part for one in renderables for part in _parts(one)]


def _parts(one: RenderableType) -> Iterator[Mapping[str, Any]]:
    if isinstance(one, Padding):
        yield from _parts(one.renderable)
    elif isinstance(one, Group):
        for part in one.renderables:
            yield from _parts(part)
    elif (widest := getattr(one, "widest", None)) is not None:  # of several tables the terminal gets what fits
        yield from _parts(widest)
    elif isinstance(one, Table):
        columns = [[_plain(cell) for cell in column.cells] for column in one.columns]
        yield {
            _TITLE: _plain(one.title or ""),
            _HEADS: [_plain(column.header) for column in one.columns] if one.show_header else [],
            _RIGHT: [column.justify == "right" for column in one.columns],
            _ROWS: [list(row) for row in zip(*columns, strict=True)],
        }
    elif text := _plain(one):
        yield {_TEXT: text}


def _plain(content: RenderableType) -> str:
    if isinstance(content, str | Text):
        return str(content).strip()
    return printed([content]).strip("\n")


def renderables_of(parts: Iterable[Mapping[str, Any]]) -> list[RenderableType]:
    """Return the report that ``parts_of`` took apart."""
    return [_renderable(part) for part in parts]


def _renderable(part: Mapping[str, Any]) -> RenderableType:
    if _TEXT in part:
        return Text(str(part[_TEXT]))
    rows = [tuple(map(str, row)) for row in part[_ROWS]]
    if not part[_HEADS] and not part[_TITLE] and all(len(row) == 2 for row in rows):
        return facts((name, text) for name, text in rows)
    heads = [str(head) for head in part[_HEADS]] or [""] * len(part[_RIGHT])
    table = text_table(str(part[_TITLE]), *heads)
    table.show_header = bool(part[_HEADS])
    for column, right in zip(table.columns, part[_RIGHT], strict=True):
        column.justify = "right" if right else "left"
    for row in rows:
        table.add_row(*row)
    return table
