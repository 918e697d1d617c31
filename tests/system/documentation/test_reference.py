"""The reference of the site names everything that the program has: its tables are made of the registries."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

import simcodesign
from simcodesign.cli import app
from simcodesign.describe.effects import effect_names
from simcodesign.describe.formulas.symbols import SYMBOLS
from tests import ROOT

pytest.importorskip("sphinx", reason="the site needs the extra docs")
REFERENCE = ROOT / "docs" / "reference"


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    """The extension of the site that makes the tables."""
    specification = importlib.util.spec_from_file_location("reference_pages", ROOT / "docs/_ext/reference_pages.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def first_column(pages: ModuleType, table: str) -> list[str]:
    _, *rows = pages.TABLES[table]()
    return [re.sub(r"[`{}]|:py:obj:|py:obj|simcodesign\.|:", "", row[0]) for row in rows]


def test_every_table_stands_on_a_page(pages: ModuleType) -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md"))
    assert sorted(re.findall(r"```\{registered\} (\S+)", text)) == sorted(pages.TABLES)


def test_every_public_name_effect_and_symbol_is_there(pages: ModuleType) -> None:
    assert {*first_column(pages, "public-names")} == {*simcodesign.__all__} - {"__version__"}
    assert first_column(pages, "effects") == [*effect_names()]
    assert first_column(pages, "symbols") == [*SYMBOLS]


def test_rows_are_as_long_as_their_heads(pages: ModuleType) -> None:
    for name, table in pages.TABLES.items():
        head, *rows = table()
        assert rows, name
        assert {len(row) for row in rows} == {len(head)}, name


def test_every_page_is_reached() -> None:
    """From the contents of some other page, by its name."""
    docs = ROOT / "docs"
    pages = {str(page.relative_to(docs).with_suffix("")) for page in docs.rglob("*.md") if not _generated(page)}
    named = {"index"}
    for page in docs.rglob("*.md"):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            names = [line for line in block.split() if not line.startswith(":")]
            named |= {str((page.parent / name).relative_to(docs)) for name in names}
    assert pages <= named


def _generated(page: Path) -> bool:
    return "drawn" in page.parts


def test_every_command_has_help() -> None:
    """Of which the pages of commands and options are made."""
    from click import Context

    context = Context(app)
    for name in app.list_commands(context):
        command = app.get_command(context, name)
        assert command is not None
        assert command.help
        assert all(parameter.help for parameter in command.params if hasattr(parameter, "help")), name
