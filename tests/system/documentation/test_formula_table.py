"""The table of symbols in docs/formulas.md is that of the code, and its examples are read as it says."""

from __future__ import annotations

import re
from pathlib import Path

from simcodesign.describe.formulas.symbols import SYMBOLS
from simcodesign.describe.yaml.formulas import load_formulas
from tests import ROOT

TEXT = (ROOT / "docs" / "formulas.md").read_text(encoding="utf-8")


def test_symbols() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (\S*) ?\|$", TEXT, re.MULTILINE)
    assert rows == [(name, symbol.meaning, symbol.unit) for name, symbol in SYMBOLS.items()]


def test_the_file(tmp_path: Path) -> None:
    (example,) = re.findall(r"^```yaml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    path = tmp_path / "mine.yaml"
    path.write_text(example, encoding="utf-8")
    file = load_formulas(path)
    assert [formula.name for formula in file.formulas] == ["short", "long"]
    (measured,) = file.measured
    assert measured.at == {"P": 16.0, "m": 1024.0}
