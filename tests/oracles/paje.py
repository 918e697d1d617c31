"""A reader of Paje traces, after the published format: what it checks is what PajeNG and ViTE rely on."""

from __future__ import annotations

import shlex
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Trace:
    """Names of containers; states (container, value, begin, end), values of variables (container, time, value), and
    links (value, from, to, begin, end, bytes)."""

    containers: dict[str, str] = field(default_factory=dict)
    states: list[tuple[str, str, float, float]] = field(default_factory=list)
    variables: list[tuple[str, float, float]] = field(default_factory=list)
    links: list[tuple[str, str, str, float, float, float]] = field(default_factory=list)


def read_paje(text: str) -> Trace:
    """The content of a trace; AssertionError for what the format does not allow."""
    definitions: dict[str, tuple[str, list[str]]] = {}
    types: dict[str, str] = {"0": ""}
    trace, stacks, open_links = Trace(), defaultdict[str, list[Any]](list), dict[str, Any]()
    lines, time_s = iter(text.splitlines()), 0.0
    for line in lines:
        if line.startswith("%EventDef"):
            _, name, number = line.split()
            fields = []
            while (line := next(lines)) != "%EndEventDef":
                fields.append(line.removeprefix("%").split()[0])
            definitions[number] = (name, fields)
            continue
        number, *values = shlex.split(line)
        name, fields = definitions[number]
        assert len(values) == len(fields), line
        assert "" not in values, "PajeNG reads no empty field"
        row = dict(zip(fields, values, strict=True))
        if "Time" in row:
            assert float(row["Time"]) >= time_s, "PajeNG wants times in order"
            time_s = float(row["Time"])
        assert row.get("Type", "0") in types, line
        if name.startswith("PajeDefine"):
            types[row["Alias"]] = row["Name"]
            continue
        if name == "PajeCreateContainer":
            assert row["Alias"] not in trace.containers
            assert row["Name"] not in trace.containers.values()
            assert row["Container"] in {"0", *trace.containers}
            trace.containers[row["Alias"]] = row["Name"]
            continue
        if name == "PajeDestroyContainer":
            assert row["Name"] in trace.containers
            continue
        assert row["Container"] in trace.containers, line
        where = trace.containers[row["Container"]]
        if name == "PajePushState":
            stacks[where].append((row["Value"], time_s))
        elif name == "PajePopState":
            value, begin_s = stacks[where].pop()
            trace.states.append((where, value, begin_s, time_s))
        elif name == "PajeSetVariable":
            trace.variables.append((where, time_s, float(row["Value"])))
        elif name == "PajeStartLink":
            assert row["Key"] not in open_links
            open_links[row["Key"]] = (trace.containers[row["StartContainer"]], time_s, float(row["Bytes"]))
        else:
            assert name == "PajeEndLink", name
            source, begin_s, size_bytes = open_links.pop(row["Key"])
            target = trace.containers[row["EndContainer"]]
            trace.links.append((row["Value"], source, target, begin_s, time_s, size_bytes))
    assert not open_links
    assert not any(stacks.values())
    return trace
