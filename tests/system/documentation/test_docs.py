"""What the documentation shows is what the code is."""

from __future__ import annotations

import re
import subprocess
import sys

import pandas as pd
import pytest

from tests import ROOT


@pytest.mark.thorough
def test_the_picture_of_the_packages_is_that_of_the_imports() -> None:
    done = subprocess.run([sys.executable, "docs/draw_architecture.py", "--check"], cwd=ROOT, check=False, timeout=300)
    assert done.returncode == 0, "run: python docs/draw_architecture.py"


def test_the_front_pictures_show_the_computed_times() -> None:
    done = subprocess.run([sys.executable, "docs/draw_front.py", "--check"], cwd=ROOT, check=False, timeout=300)
    assert done.returncode == 0, "run: python docs/draw_front.py"


@pytest.mark.parametrize("document", ["CONTRIBUTING.md"])
def test_examples_are_parts_of_the_files_that_they_name(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    examples = re.findall(r"^```\w+\n# (tests/\S+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert examples
    for file, example in examples:
        assert example in (ROOT / file).read_text(encoding="utf-8"), file


def test_files_that_are_named_exist() -> None:
    for document in (ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        for name in re.findall(
            r"`((?:tests|simcodesign|validation|docs)/[\w/.]+)`", document.read_text(encoding="utf-8")
        ):
            assert (ROOT / name).exists(), f"{document.name}: {name}"


def test_the_paper_states_the_figures_of_the_pages_and_cites_all_its_references() -> None:
    paper = (ROOT / "paper.md").read_text(encoding="utf-8")
    references = re.findall(r"^@\w+\{(\w+),", (ROOT / "paper.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert {*re.findall(r"\[@(\w+)\]", paper)} == {*references}
    rows = pd.read_csv(ROOT / "docs" / "tables" / "evidence-rows.csv").query("system == 'fugaku'")
    errors = {
        one: (100 * (rows[f"{one}_s"] / rows.measured_s - 1)).abs() for one in ("textbook", "forecast", "simulation")
    }
    formula, forecast, simulation = (f"{one.median():.1f} %" for one in errors.values())
    assert f"For {len(rows)} collective operations" in paper
    assert (
        f"{formula} for the textbook formula, {forecast} for the forecast and {simulation} for the simulation" in paper
    )
    assert f"omits {errors['simulation'].isna().sum()} of them" in paper
    assert f"is {errors['simulation'].max():.0f} %" in paper
    assert len(paper.partition("# Summary")[2].split()) <= 1000  # about two pages, as journals ask
