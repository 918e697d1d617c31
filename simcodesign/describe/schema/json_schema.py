"""JSON Schema (draft 2020-12) of machine and workload files, for editors: from what their readers ask of each value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.core.units import DIMENSIONS
from simcodesign.describe.constants import CONSTANTS, POWERS
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.network.network import Network
from simcodesign.describe.schema.key_texts import NAME, STEP, inner_path, key_text
from simcodesign.describe.schema.probing import machine_node, workload_node
from simcodesign.describe.schema.watched import Node

KINDS = ("machine", "workload")
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_PARTS = {"network": Network, "processor": Processor, "disk": Disk}
_CONSTANTS: Mapping[str, tuple[str, str, str]] = CONSTANTS | POWERS
_STEP = {"$ref": "#/$defs/step"}

Schema = dict[str, Any]


@cache
def _schema(kind: str) -> Schema:
    steps = None
    if kind == "machine":
        root = machine_node()
    else:
        root, steps = workload_node()
    top = _Writer(kind, steps).schema_of(root, "")
    if kind == "machine":  # what a machine does not say, the one that it extends does
        top = _without_required(top)
    defined = {} if steps is None else {"$defs": {"step": _Writer(kind, None, steps).schema_of(steps, STEP)}}
    return {"$schema": _DRAFT, "title": f"simcodesign {kind}", **top, **defined}


def json_schema(kind: str) -> Schema:
    """The schema of ``machine`` or ``workload`` files. Whatever such a file may be, the schema allows; it does not know
    which keys exclude each other, nor what expressions may say. Raises InputError for another kind."""
    if kind not in KINDS:
        raise InputError("no schema of this", value=kind, allowed=", ".join(KINDS))
    return _schema(kind)


class _Writer:
    """``steps``: the node that is a definition of its own; ``inside``: the same while that definition is written."""

    def __init__(self, kind: str, steps: Node | None, inside: Node | None = None) -> None:
        self.kind, self.steps, self.first = kind, steps or inside, inside

    def schema_of(self, node: Node, path: str) -> Schema:
        """The schema of the values at one place."""
        if node is self.steps and node is not self.first:
            return _STEP
        if node is self.first:
            self.first = None  # only once: steps within it are references
        if not node.is_seen and path in _CONSTANTS:  # two ways to say it exclude each other, and one stands there
            node = Node(asked={f"quantity {_CONSTANTS[path][2]}"})
        forms = [*_single(node)]
        if node.is_mapping:
            forms.append(self._mapping(node, path))
        if node.is_sequence:
            forms.append({"type": "array"} | ({"items": self.schema_of(node.item, f"{path}[]")} if node.item else {}))
        schema = forms[0] if len(forms) == 1 else {"anyOf": forms} if forms else {}
        text = key_text(self.kind, path)
        return schema | _words_about(node, path, [] if text is None else [text.about])

    def _mapping(self, node: Node, path: str) -> Schema:
        schema: Schema = {"type": "object"}
        if node.keys is not None:
            inner = {key: self.schema_of(node.child(key), inner_path(path, key)) for key in sorted(node.keys)}
            schema |= {"properties": inner, "additionalProperties": False}
        elif node.any_key is not None:
            schema["additionalProperties"] = self.schema_of(node.any_key, inner_path(path, NAME))
        return schema | ({"required": sorted(node.always)} if node.always else {})


def _single(node: Node) -> list[Schema]:
    """Forms of a single value."""
    forms: list[Schema] = []
    if "flag" in node.asked:
        forms.append({"type": "boolean"})
    if node.words - {"true", "false"}:
        forms.append({"enum": sorted(node.words - {"true", "false"})})
    if any(asked.startswith(("quantity", "expression", "text")) for asked in node.asked):
        forms.append({"type": ["number", "string"]})
    elif "number" in node.asked:
        forms.append({"type": "number"})
    elif "whole" in node.asked:
        most = {} if node.high is None else {"maximum": node.high}
        forms.append({"type": "integer", "minimum": node.low, **most})
    return forms


def _words_about(node: Node, path: str, about: list[str]) -> Schema:
    """What a value is: what is said of its key, its dimension and unit, its default where a registry knows one."""
    words, more = [*about], {}
    for dimension in sorted(asked.removeprefix("quantity ") for asked in node.asked if asked.startswith("quantity")):
        unit = DIMENSIONS.get(dimension, "")
        words.append(f"{dimension.replace('_', ' ')}: a number" + (f" in {unit}, or with a unit" if unit else ""))
    if "expression" in node.asked:
        words.append("an expression")
    if path in _CONSTANTS:
        part, name, _ = _CONSTANTS[path]
        default = _defaults(part).get(name)
        more = {} if default is None else {"default": default}
    return ({"description": "; ".join(words)} if words else {}) | more


@cache
def _defaults(part: str) -> Mapping[str, float]:
    """The defaults of the constants of a part, by field."""
    if part not in _PARTS:
        return {}
    every = {one.name: one.default for one in fields(_PARTS[part]) if one.default is not MISSING}
    return {name: value for name, value in every.items() if isinstance(value, int | float) and value < float("inf")}


def _without_required(schema: Schema) -> Schema:
    """The same without what must be there, at any depth."""

    def changed(value: Any, keep: Callable[[Any], Any]) -> Any:
        if isinstance(value, dict):
            return {key: keep(one) for key, one in value.items() if not (key == "required" and isinstance(one, list))}
        return [keep(one) for one in value] if isinstance(value, list) else value

    def walked(value: Any) -> Any:
        return changed(value, walked)

    return dict(walked(schema))
