"""JSON Schema (draft 2020-12) of machine and workload files, for editors."""

from __future__ import annotations

from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.describe.keys.key import Schema
from simcodesign.describe.yaml.machine import machine_file
from simcodesign.describe.yaml.workload import WORKLOAD, step_section

KINDS = ("machine", "workload")
_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def json_schema(kind: str) -> Schema:
    """Return the schema of ``machine`` or ``workload`` files.

    It accepts whatever such a file may be; it does not know which keys exclude each other, nor the names in
    expressions. Raises InputError for another kind.
    """
    if kind not in KINDS:
        raise InputError("no schema of this", value=kind, allowed=", ".join(KINDS))
    head = {"$schema": _DRAFT, "title": f"simcodesign {kind}"}
    if kind == "workload":
        return head | WORKLOAD.schema() | {"$defs": {"step": step_section().schema()}}
    # Keys missing in a machine file may be in the machine that it extends.
    schema: Schema = _without_required(machine_file().schema())
    return head | schema


def _without_required(value: Any) -> Any:
    """Return the schema without the keys that must be there, at any depth."""
    if isinstance(value, list):
        return [_without_required(one) for one in value]
    if not isinstance(value, dict):
        return value
    is_section = isinstance(value.get("required"), list)
    return {key: _without_required(one) for key, one in value.items() if not (is_section and key == "required")}
