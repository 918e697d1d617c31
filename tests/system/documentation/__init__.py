"""The documentation, held to the program."""

from __future__ import annotations

import csv
import importlib
import sys
from types import ModuleType

from tests import ROOT


def site_extension(name: str) -> ModuleType:
    """A module of ``docs/_ext``, with which the site is built."""
    folder = str(ROOT / "docs" / "_ext")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(folder)


def csv_rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a table in ``docs/tables``, by the names of its columns."""
    text = (ROOT / "docs" / "tables" / f"{name}.csv").read_text(encoding="utf-8")
    return [*csv.DictReader(text.splitlines())]
