"""Commands whose options are a dataclass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import click
import pytest
from click.testing import CliRunner, Result

from simcodesign.cli.dataclass_commands import Argument, Option, command


class Tone(Enum):
    CALM = 1
    SHRILL = 2


@dataclass(frozen=True, kw_only=True)
class Shared:
    loud: Annotated[bool, Option(help="A flag.")] = False


@dataclass(frozen=True, kw_only=True)
class Options:
    name: Annotated[str, Argument(metavar="NAME", help="Who is greeted.")]
    others: Annotated[list[Path], Argument(metavar="[OTHER]...", help="Files of more.")] = field(default_factory=list)
    shared: Shared
    often: Annotated[int, Option(metavar="N", min=1, max=9, help="How often.")] = 1
    patience_s: Annotated[float, Option(metavar="S", min=0, help="Between two.")] = 0.5
    words: Annotated[list[str], Option("--word", help="What is said.")] = field(default_factory=list)
    most: Annotated[int | None, Option("-m", "--most", help="How many.")] = None
    polite: Annotated[bool | None, Option(help="Yes, no, or as usual.")] = None
    quiet_or_not: Annotated[bool | None, Option("--quiet/--audible", help="The same under other names.")] = None
    tongue: Annotated[Literal["en", "de"], Option(help="A choice of words.")] = "en"
    tone: Annotated[Tone, Option(help="A choice of members.")] = Tone.CALM
    pair: Annotated[tuple[int, str] | None, Option(help="Two values.")] = None
    context: click.Context


DEFAULTS: Mapping[str, object] = {
    "name": "Ada",
    "others": [],
    "shared": Shared(loud=False),
    "often": 1,
    "patience_s": 0.5,
    "words": [],
    "most": None,
    "polite": None,
    "quiet_or_not": None,
    "tongue": "en",
    "tone": Tone.CALM,
    "pair": None,
}


@dataclass(frozen=True, kw_only=True)
class Required:
    files: Annotated[list[str], Argument(metavar="FILE...", help="One or more.")]
    over: Annotated[list[str], Option(help="One or more.")]


@dataclass(frozen=True, kw_only=True)
class Twice:
    first: Shared
    second: Shared


def called(*arguments: str, options_type: Any = Options) -> tuple[Result, Any]:
    """How a command ends that is called with these arguments, and the options that it gets."""
    calls: list[object] = []
    group = click.Group()

    def run(options: Any) -> None:
        """Greet somebody.

        At length.
        """
        calls.append(options)

    run.__annotations__["options"] = options_type
    command(group, "greet")(run)
    result = CliRunner().invoke(group, ["greet", *arguments], env={"COLUMNS": "80"})
    return result, calls[0] if calls else None


def values(*arguments: str) -> dict[str, object]:
    """All options but the context that a command gets which is called with these arguments."""
    result, options = called(*arguments)
    assert result.exit_code == 0, result.output
    return {name: getattr(options, name) for name in DEFAULTS}


def test_defaults_are_those_of_the_dataclass() -> None:
    assert values("Ada") == DEFAULTS


@pytest.mark.parametrize(
    ("arguments", "changed"),
    [
        (["b", "c"], {"others": [Path("b"), Path("c")]}),
        (["--loud"], {"shared": Shared(loud=True)}),
        (["--often", "9"], {"often": 9}),
        (["--patience-s", "1e-3"], {"patience_s": 1e-3}),
        (["--word", "a", "--word", "b"], {"words": ["a", "b"]}),
        (["-m", "-3"], {"most": -3}),
        (["--most=2"], {"most": 2}),
        (["--polite"], {"polite": True}),
        (["--no-polite"], {"polite": False}),
        (["--audible"], {"quiet_or_not": False}),
        (["--tongue", "de"], {"tongue": "de"}),
        (["--tone", "SHRILL"], {"tone": Tone.SHRILL}),
        (["--pair", "3", "sobol"], {"pair": (3, "sobol")}),
    ],
)
def test_fields_are_parameters(arguments: list[str], changed: dict[str, object]) -> None:
    assert values("Ada", *arguments) == {**DEFAULTS, **changed}


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "'NAME'"),
        (["Ada", "--often", "0"], "'--often'"),
        (["Ada", "--often", "10"], "'--often'"),
        (["Ada", "--often", "1.5"], "'--often'"),
        (["Ada", "--patience-s", "-1"], "'--patience-s'"),
        (["Ada", "--no-loud"], "--no-loud"),
        (["Ada", "--words", "a"], "--words"),
        (["Ada", "--tongue", "fr"], "'en', 'de'"),
        (["Ada", "--tone", "flat"], "'CALM', 'SHRILL'"),
        (["Ada", "--pair", "x", "sobol"], "'--pair'"),
    ],
)
def test_wrong_values_are_usage_errors(arguments: list[str], part: str) -> None:
    result, options = called(*arguments)
    assert (result.exit_code, result.stdout, options) == (2, "", None)
    assert part in result.stderr


def test_no_value_can_be_left_out() -> None:
    result, options = called("Ada", "--word", "--loud")  # takes what follows it, even another option
    assert (result.exit_code, options and (options.words, options.shared.loud)) == (0, (["--loud"], False))
    result, _ = called("Ada", "--word")
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "missing"), [(["--over", "a"], "FILE"), (["f"], "--over"), (["f", "--over", "a"], None)]
)
def test_fields_without_a_default_are_required(arguments: list[str], missing: str | None) -> None:
    result, options = called(*arguments, options_type=Required)
    assert result.exit_code == (2 if missing else 0)
    assert missing is None or f"Missing {'option' if missing[0] == '-' else 'argument'} '{missing}" in result.stderr
    assert missing or options == Required(files=["f"], over=["a"])


def test_a_field_gets_the_context() -> None:
    _, options = called("Ada")
    assert options.context.params["name"] == "Ada"


def test_help_is_the_docstring_with_arguments_and_defaults() -> None:
    lines = called("--help")[0].stdout.splitlines()
    assert lines[0].endswith("[OPTIONS] NAME [OTHER]...")
    assert {"  Greet somebody.", "  At length."} <= set(lines)
    assert "  NAME        Who is greeted." in lines
    (often,) = (line.split(maxsplit=2) for line in lines if "--often" in line)
    assert often == ["--often", "N", "How often.  [default: 1; 1<=x<=9]"]
    (loud,) = (line.split(maxsplit=1) for line in lines if "--loud" in line)
    assert loud == ["--loud", "A flag."]


def test_two_groups_with_one_option_are_noticed() -> None:
    with pytest.warns(UserWarning, match="--loud is used more than once"):
        called(options_type=Twice)
