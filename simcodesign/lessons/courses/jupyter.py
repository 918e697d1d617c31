"""Notebooks of lessons in Jupyter's format.

The notebooks are Python files for marimo: each cell is a function ``_`` whose parameters are the names that it takes
from other cells, and whose last line returns the names that it defines. The format of Jupyter is described at
https://nbformat.readthedocs.io (4.5).
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.files.atomic_files import replacing_text
from simcodesign.core.files.input_files import read_text
from simcodesign.lessons.folders import shipped_folder

_INDENT = "    "


@dataclass(frozen=True)
class Cell:
    """The source of a cell, with the names that it needs from others and the names that it gives them."""

    source: str
    needs: frozenset[str]
    gives: frozenset[str]


def notebook_names() -> list[str]:
    """Return the names of the bundled notebooks."""
    return sorted(path.stem for path in shipped_folder("notebooks").glob("*.py"))


def notebook_file(name: str) -> Path:
    """Return the marimo file of a bundled notebook. InputError for another name."""
    if name not in notebook_names():
        raise InputError("no such notebook", value=name, allowed=nearest(name, notebook_names()))
    return shipped_folder("notebooks") / f"{name}.py"


def write_notebook(name: str, output: Path) -> None:
    """Write a bundled notebook: for Jupyter (``.ipynb``), or as it is for marimo (``.py``).

    InputError for a name or a path that cannot be used.
    """
    file = notebook_file(name)
    text = read_text(file)
    if output.suffix.lower() == ".ipynb":
        text = json.dumps(to_jupyter(text, file), ensure_ascii=False, indent=1) + "\n"
    with replacing_text(output) as written:
        written.write(text)


def to_jupyter(text: str, file: Path) -> dict[str, object]:
    """Return the content of a Jupyter notebook with the cells of a marimo file, each after the cells that it needs.

    The comment at the top becomes a text without the lines that say how to run the file. InputError if cells need one
    another, or a name that no cell gives.
    """
    title = text.partition("\n")[0].lstrip("# ").partition(" `marimo edit")[0]
    cells = [
        {"cell_type": "markdown", "id": "title", "metadata": {}, "source": title.splitlines(keepends=True)},
        *(
            {
                "cell_type": "code",
                "id": f"cell-{number}",
                "metadata": {},
                "execution_count": None,
                "outputs": [],
                "source": cell.source.splitlines(keepends=True),
            }
            for number, cell in enumerate(_in_order(list(_cells(text, file)), file), start=1)
        ),
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _cells(text: str, file: Path) -> Iterator[Cell]:
    lines = text.splitlines()
    for node in ast.parse(text, str(file)).body:
        if not (isinstance(node, ast.FunctionDef) and node.name == "_"):
            continue
        *body, last = node.body
        assert isinstance(last, ast.Return)
        needs = frozenset(argument.arg for argument in node.args.args)
        given = last.value.elts if isinstance(last.value, ast.Tuple) else []
        gives = frozenset(one.id for one in given if isinstance(one, ast.Name))
        if body:
            yield Cell(_unindented(lines, node.lineno, last.lineno - 1, body), needs, gives)


def _unindented(lines: list[str], first: int, end: int, body: list[ast.stmt]) -> str:
    """Return the lines after ``first`` up to ``end``, counted from 1, one level to the left, except inside of texts."""
    inside = {
        number
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Constant | ast.JoinedStr)
        for number in range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)
    }
    numbered = enumerate(lines[first:end], start=first + 1)
    return "\n".join(line if number in inside else line.removeprefix(_INDENT) for number, line in numbered).strip("\n")


def _in_order(cells: list[Cell], file: Path) -> list[Cell]:
    """Return the cells in an order in which a reader can run them, as near to the file's as possible."""
    ordered: list[Cell] = []
    known: frozenset[str] = frozenset()
    while cells:
        ready = next((cell for cell in cells if cell.needs <= known), None)
        if ready is None:
            raise InputError("cells that need one another", Place(str(file)), value=sorted(cells[0].needs - known))
        cells.remove(ready)
        ordered.append(ready)
        known |= ready.gives
    return ordered
