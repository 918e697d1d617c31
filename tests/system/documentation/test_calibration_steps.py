"""The files of the page on calibration: its machine and its workload are read as they are printed there."""

from __future__ import annotations

import re
from pathlib import Path

import simcodesign as sc
from tests import ROOT

PAGE = ROOT / "docs" / "calibration.md"


def test_the_five_steps_run_with_the_files_as_printed(tmp_path: Path) -> None:
    """Steps 1 and 4: an allgather of 64 ranks on the cluster has a forecast, by an algorithm of its library."""
    steps = PAGE.read_text(encoding="utf-8").partition("**5. ")[0]
    files = {}
    for name in ("cluster", "allgather"):
        (text,) = (one for one in re.findall(r"```yaml\n(.*?)```", steps, re.DOTALL) if f"name: {name}\n" in one)
        files[name] = tmp_path / f"{name}.yaml"
        files[name].write_text(text, encoding="utf-8")
    forecast = sc.forecast(files["allgather"], files["cluster"], {"P": 64, "m": 1024})
    assert forecast.makespan_s > 0
    assert [*forecast.phases] == ["allgather"]


def test_no_paragraph_is_there_twice() -> None:
    paragraphs = [one for one in PAGE.read_text(encoding="utf-8").split("\n\n") if one.startswith("**")]
    assert len(paragraphs) == len({*paragraphs})
