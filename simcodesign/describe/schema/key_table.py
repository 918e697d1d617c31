"""Table of all keys of description files: the values that they accept, with unit, default and range."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from simcodesign.describe.demands.collective import ALGORITHMS
from simcodesign.describe.keys.forms import Text
from simcodesign.describe.keys.key import Form, Key
from simcodesign.describe.keys.section import Section
from simcodesign.describe.yaml.demands.collective import collective_section
from simcodesign.describe.yaml.machine import machine_file
from simcodesign.describe.yaml.workload import WORKLOAD, step_section

#: Path of a step of a program, and name of any collective operation.
STEP, COLLECTIVE = "STEP", "COLLECTIVE"
REQUIRED = "required"
#: Networks inside the nodes of a partition, whose keys are the keys of `node.network`.
_ELSEWHERE = {"partitions[].node.network", "partitions[].socket.network"}


@dataclass(frozen=True)
class KeyRow:
    """A key of a file. ``values``: the forms that it accepts; ``default``: the value without it, or "required"."""

    path: str
    about: str
    values: str
    default: str
    range: str


def key_table(kind: str) -> tuple[KeyRow, ...]:
    """Return all keys of a ``machine`` or ``workload``, a mapping before its own keys."""
    if kind == "machine":
        return tuple(_rows(machine_file(), ""))
    return (*_rows(WORKLOAD, ""), *_rows(_steps(), STEP))


def _steps() -> Section:
    """Return the keys of a step, with one for all collective operations."""
    every = step_section().by_name
    about = every[next(iter(ALGORITHMS))].about
    keys = {key.name: key for name in ALGORITHMS for key in collective_section(name).keys}
    keys["algorithm"] = replace(keys["algorithm"], form=Text())
    others = (key for key in every.values() if key.name not in ALGORITHMS)
    return Section(*others, Key(COLLECTIVE, Section(*(replace(one, required=False) for one in keys.values())), about))


def _rows(form: Form, path: str) -> Iterator[KeyRow]:
    for inner, key in form.inner():
        where = f"{path}{inner}" if path else inner.removeprefix(".")
        default = key.default or (REQUIRED if key.required else "")
        yield KeyRow(where, key.about, ", ".join(key.form.words()), default, key.range or key.form.range)
        if where not in _ELSEWHERE:
            yield from _rows(key.form, where)
