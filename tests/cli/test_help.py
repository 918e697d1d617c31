"""``simcodesign --help``: commands in sections."""

from __future__ import annotations

import re

from click.testing import CliRunner

from simcodesign.cli.app import app


def test_every_command_stands_once_in_its_section() -> None:
    text = CliRunner().invoke(app, ["--help"]).stdout
    heads = re.findall(r"^([A-Z]\w+)[^\n]*:$", text, flags=re.MULTILINE)
    assert heads == ["Options", "Model", "Measure", "Design", "Teach", "Check"]
    bodies = re.split(r"^[A-Z]\w+[^\n]*:$", text, flags=re.MULTILINE)[2:]
    listed = [re.findall(r"^  ([a-z-]+)  ", body, flags=re.MULTILINE) for body in bodies]
    assert listed == [
        ["compare", "forecast", "list", "run", "schema", "serve", "show", "simulate"],
        ["calibrate", "fit", "fit-counters", "fit-formula", "locality", "requirements"],
        ["explore", "study", "sweep"],
        ["grade", "lab", "lesson"],
        ["demo", "score", "validate"],
    ]
