"""The reference of the site names everything that the program has: its tables are made of the registries."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

import simcodesign
from simcodesign.analytic import machine_metrics
from simcodesign.analytic.machine_metrics import HardwareMetrics
from simcodesign.cli import app
from simcodesign.cli.app import BAD_INPUT, BROKEN_PIPE, INTERRUPTED
from simcodesign.cli.run.replication import PRECISION_NOT_REACHED
from simcodesign.cli.run.verdict import OUT_OF_TOLERANCE
from simcodesign.core.files.input_files import CONFINED
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.core.units import DIMENSIONS
from simcodesign.describe.effects import effect_names
from simcodesign.describe.formulas.symbols import SYMBOLS
from simcodesign.describe.schema.key_table import key_table
from simcodesign.describe.yaml.tree import Entry
from simcodesign.lessons.folders import available, lesson_folder
from simcodesign.lessons.yaml import lesson
from simcodesign.studies.explore.metric_meanings import MEANINGS
from simcodesign.studies.explore.models import aspen_model, machine_model, native_model
from simcodesign.studies.explore.models.serving_metrics import SERVING_METRICS
from simcodesign.studies.sweep import evaluate
from tests import ROOT
from tests.system.documentation import site_extension

pytest.importorskip("sphinx", reason="the site needs the extra docs")
REFERENCE = ROOT / "docs" / "reference"


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    """The extension of the site that makes the tables."""
    return site_extension("reference_pages")


def first_column(pages: ModuleType, table: str) -> list[str]:
    _, *rows = pages.TABLES[table]()
    return [re.sub(r"[`{}~]|:py:obj:|py:obj|simcodesign\.|:", "", row[0]) for row in rows]


def test_every_table_stands_on_a_page(pages: ModuleType) -> None:
    pages_with_tables = (*REFERENCE.glob("*.md"), ROOT / "docs" / "limits.md")
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages_with_tables)
    assert sorted(re.findall(r"```\{registered\} (\S+)", text)) == sorted(pages.TABLES)


def test_every_public_name_effect_and_symbol_is_there(pages: ModuleType) -> None:
    words = {f"rank.{word} <describe.python_programs.rank.{word}>" for word in simcodesign.rank.__all__}
    assert {*first_column(pages, "public-names")} == {*simcodesign.__all__, *words} - {"__version__"}
    assert first_column(pages, "effects") == [*effect_names()]
    assert first_column(pages, "symbols") == [*SYMBOLS]


@pytest.mark.parametrize("kind", ["machine", "workload"])
def test_every_key_is_in_one_table(pages: ModuleType, kind: str) -> None:
    """Every key is in a table of the page of its kind of file, and something is written about it."""
    text = (REFERENCE / f"{kind}-keys.md").read_text(encoding="utf-8")
    sections = re.findall(rf"```\{{keys\}} {kind} (\S+)", text)
    shown = [key.path for section in sections for key in pages.keys_of(kind, section)]
    assert sorted(shown) == sorted(key.path for key in key_table(kind))
    assert [key.path for key in key_table(kind) if not key.about] == []


def test_every_metric_is_there(pages: ModuleType) -> None:
    """With its unit and meaning."""
    text = (REFERENCE / "metrics.md").read_text(encoding="utf-8")
    memory = dict.fromkeys(("footprint", "capacity", "accelerator_footprint", "accelerator_capacity"), "size")
    costs = {"ownership_cost": "", "run_cost": "", "carbon": "kg"}
    optional = {**memory, "energy": "energy", "peak_power": "power", **costs, "slowdown": ""}
    optional |= {native_model.FAILURES_METRIC: "count", native_model.WITH_FAILURES: "time"}
    optional |= native_model.LIMITED | native_model.PROCESSOR_LIMITED
    totals = {"rack_units": "", "die_area": "m2", "price": "", "embodied_carbon": "kg"}
    totals |= {"static_power": "power", "full_power": "power", "ownership_cost": ""}
    for table, metrics in (
        ("metrics-of-workloads", native_model.METRICS | optional),
        ("metrics-of-servers", SERVING_METRICS),
        ("metrics-of-machines", machine_model.MACHINE_METRICS | totals),
        ("metrics-of-aspen-models", aspen_model.METRICS),
    ):
        assert f"{{registered}} {table}\n" in text
        _, *rows = pages.TABLES[table]()
        stated = {name.strip("`"): unit for name, unit, _ in rows}
        assert stated == {name: DIMENSIONS.get(one, one) for name, one in metrics.items()}
        assert all(meaning for _, _, meaning in rows)
    assert aspen_model.MACHINE_METRICS.keys() <= aspen_model.METRICS.keys()
    parts = [f"{part}_s" for part in COMPONENTS]
    table = re.findall(r"^\| (`.*?) \|", text.partition("## Columns of a sweep\n")[2], re.MULTILINE)
    columns = [name for cell in table for name in re.findall(r"`(\w+)`", cell)]
    limits = [*evaluate.LIMITS, *evaluate.PROCESSOR_LIMITS]
    assert sorted(columns) == sorted(
        ["makespan_s", *parts, *evaluate.COUNTS, *evaluate.OPTIONAL, *limits, *machine_metrics.RUN_COLUMNS]
    )
    assert all(f"`{name}`" in text for name in machine_metrics.MACHINE_COLUMNS)


def test_metrics_of_hardware_have_a_meaning() -> None:
    machine = simcodesign.Machine.load("keeneland")
    own = {*HardwareMetrics(machine).dimensions} - {*machine.custom.properties}
    assert own <= {*MEANINGS}


def test_every_key_of_lessons_is_in_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """As their reader asks for them."""
    asked, own = set[str](), set[str]()
    mapping = Entry.mapping

    def noted(self: Entry, allowed: Collection[str] | None = None, required: Collection[str] = ()) -> dict[str, Entry]:
        if Path(self.place.file).name == "lesson.yaml":
            asked.update(allowed or ())
        return mapping(self, allowed, required)

    monkeypatch.setattr(Entry, "mapping", noted)
    for name in available():
        read = lesson.read_lesson(lesson_folder(name))
        own |= {*read.sliders, *read.runs}
    text = (ROOT / "docs" / "lessons.md").read_text(encoding="utf-8")
    assert len(asked) > 50
    assert {key for key in asked - own if not re.search(rf"\b{key}\b", text)} == set()


def test_every_effect_has_its_assumption_its_limits_and_a_picture() -> None:
    text = (ROOT / "docs" / "effects.md").read_text(encoding="utf-8")
    sections = {part.partition("\n")[0]: part for part in text.split("\n## ")[1:]}
    assert [*sections] == [*effect_names()]
    for name, section in sections.items():
        assert [line for line in section.splitlines() if line in ("The forecast", "The effect", "Limits")] == [
            "The forecast",
            "The effect",
            "Limits",
        ]
        assert f'picture("{name}"' in section


@pytest.mark.thorough
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
            lines = [line for line in block.splitlines() if not line.startswith(":")]
            names = [line.rpartition("<")[2].rstrip(">") for line in lines]
            named |= {str((page.parent / name).relative_to(docs)) for name in names}
    assert pages <= named


def _generated(page: Path) -> bool:
    return "drawn" in page.parts


def test_every_command_and_public_name_has_one_page(tmp_path: Path) -> None:
    generated = site_extension("generated_pages")
    written = generated.command_pages()
    for name, _ in all_commands():
        assert f"command_{name.replace('-', '_').replace(' ', '_')}\n" in written[name.replace(" ", "-")]
    text = "\n".join(generated.python_pages().values())
    for name in {*simcodesign.__all__} - {"__version__", "rank"}:
        assert len(re.findall(rf"simcodesign\.{name}\n", text)) == 1, name
    (tmp_path / "removed.rst").write_text("the page of a command that is gone")
    generated.write_pages(tmp_path, {"compare": "text"})
    assert [page.name for page in tmp_path.iterdir()] == ["compare.rst"]


def test_every_command_has_help() -> None:
    """Of which the pages of commands and options are made."""
    from click import Context

    context = Context(app)
    for name in app.list_commands(context):
        command = app.get_command(context, name)
        assert command is not None
        assert command.help
        assert all(parameter.help for parameter in command.params if hasattr(parameter, "help")), name


def test_every_option_that_writes_a_file_is_there() -> None:
    """With its command; a table names no others."""
    text = (REFERENCE / "files.md").read_text(encoding="utf-8").partition("\n## ")[0]
    stated = [
        (re.findall(r"`(--[\w-]+)`", options), of)
        for options, of in re.findall(r"^\| (`--.*?) \| (.*?) \|", text, re.MULTILINE)
    ]
    shown = {
        (option, name)
        for options, of in stated
        for option in options
        for name in re.findall(r"`(.*?)`", of) or ["most"]
    }
    writing = set()
    for name, command in all_commands():
        for one in command.params:
            words = getattr(one, "help", "") or ""
            if (
                re.search(r"[Ww]rite|written|[Ss]ave the|keep the|are kept|^Plot|^Store points", words)
                and type(one.type).__name__ == "Path"
            ):
                option = next((text for text in one.opts if text.startswith("--")), "")
                writing.add((option, name))
    assert {one for one in writing if one[0]} == shown


def test_every_word_of_write_is_there() -> None:
    """With its commands and suffixes, and no others, as the help of the command lists them."""
    assert "{registered} written-files" in (REFERENCE / "files.md").read_text(encoding="utf-8")
    stated = {
        (word.strip("`"), name, suffixes.replace("`", ""))
        for word, of, suffixes, _ in [*site_extension("reference_pages").TABLES["written-files"]()][1:]
        for name in re.findall(r"`(.*?)`", of)
    }
    shown = set()
    for name, _ in all_commands():
        text = CliRunner().invoke(app, [*name.split(), "--help"], env={"COLUMNS": "300"}).stdout
        listed = text.partition("Words and suffixes of --write:\n")[2]
        shown |= {(word, name, suffixes) for word, suffixes in re.findall(r"^  (\w+) \((.*?)\)", listed, re.MULTILINE)}
    assert stated == shown
    assert all(command.outputs for _, command in all_commands() if any("--write" in one.opts for one in command.params))


def all_commands() -> list[tuple[str, Any]]:
    """Commands with their options."""
    from click import Context

    context = Context(app)
    found = []
    for name in app.list_commands(context):
        command: Any = app.get_command(context, name)
        inner = [f"{name} {each}" for each in command.commands] if hasattr(command, "commands") else []
        found += [(each, command.commands[each.split()[1]]) for each in inner] or [(name, command)]
    return found


def test_every_environment_variable_is_there() -> None:
    """That a module of the package reads or sets."""
    text = (REFERENCE / "environment.md").read_text(encoding="utf-8")
    named = {CONFINED}
    for path in (ROOT / "simcodesign").rglob("*.py"):
        named |= {*re.findall(r"""environ(?:\.get\(|\[)?["']([A-Z_]+)["']""", path.read_text(encoding="utf-8"))}
        named |= {*re.findall(r"[\"']([A-Z]+_NUM_THREADS)[\"']", path.read_text(encoding="utf-8"))}
        named |= {*re.findall(r"""["']([A-Z_]+)["'] in os\.environ""", path.read_text(encoding="utf-8"))}
    assert {name for name in named if f"`{name}`" not in text} == set()


def test_every_exit_status_is_there() -> None:
    text = (REFERENCE / "environment.md").read_text(encoding="utf-8")
    statuses = {0, OUT_OF_TOLERANCE, PRECISION_NOT_REACHED, BAD_INPUT, INTERRUPTED, BROKEN_PIPE}
    assert {one for one in statuses if not re.search(rf"^\| {one} \|", text, re.MULTILINE)} == set()
