"""The command ``schema``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Argument, command
from simcodesign.cli.sections import Section
from simcodesign.report.common.terminal import write_json


@dataclass(frozen=True, kw_only=True)
class SchemaOptions:
    """Of which files."""

    kind: Annotated[str, Argument(metavar="KIND", help="machine or workload.")]


@command(app, "schema", section=Section.MODEL)
def run(options: SchemaOptions) -> None:
    """Print the JSON Schema of machine or workload files, with which editors complete keys and mark errors."""
    from simcodesign.describe.schema.json_schema import json_schema

    write_json(json_schema(options.kind))
