"""The example of docs/formulas.md is read as the page states. Its symbols are a table of the reference."""

from __future__ import annotations

import re
from pathlib import Path

from simcodesign.describe.yaml.formulas import load_formulas
from tests import ROOT

TEXT = (ROOT / "docs" / "formulas.md").read_text(encoding="utf-8")


def test_the_file(tmp_path: Path) -> None:
    (example,) = re.findall(r"^```yaml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    path = tmp_path / "mine.yaml"
    path.write_text(example, encoding="utf-8")
    file = load_formulas(path)
    assert [formula.name for formula in file.formulas] == ["short", "long"]
    (measured,) = file.measured
    assert measured.at == {"P": 16.0, "n": 4096.0}
