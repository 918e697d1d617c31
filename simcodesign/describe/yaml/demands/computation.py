"""Computations of a workload file: of processors, accelerators, and resources that the machine defines."""

from __future__ import annotations

from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression
from simcodesign.describe.demands.base import ONE
from simcodesign.describe.demands.computation import ACCELERATOR, BLOCKS, HOST, PROCESSOR, Compute, Copy, Kernel, Loop
from simcodesign.describe.demands.resource_uses import Execute, ResourceUse
from simcodesign.describe.keys.forms import Choice, Expr, Name, OneOf, Text
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Items, Named, Section
from simcodesign.describe.yaml.demands.base import READERS, WHEN, DemandReader, demand, times
from simcodesign.describe.yaml.distribution import VARIES
from simcodesign.describe.yaml.resources import USE_KEYS
from simcodesign.describe.yaml.tree import Entry

_LOOP = Section(
    Key("loop", Text(), "its name", field="name"),
    Key("range", Expr(), "iterations", required=True),
    Key("operations", Expr(), "operations of an iteration", required=True),
)
_AMOUNTS = (
    Key("flops", Expr(), "operations"),
    Key("instructions", Expr(), "instructions, which take `processor.cpi` cycles each"),
    Key("seconds", Expr(), "measured seconds"),
    Key("loops", Items(_LOOP, "one loop"), "loops whose operations add up"),
)
_FURTHER = (WHEN, VARIES, Key("on", Choice((PROCESSOR, ACCELERATOR)), "the part that computes it", PROCESSOR))
_OF_KERNEL = (
    Key("bytes", Expr(), "of an accelerator: bytes that pass its memory", "0"),
    times("of an accelerator: number of kernels"),
)
#: Work that has no condition of its own.
WORK = Section(*_AMOUNTS)
_COMPUTE = Section(*_AMOUNTS, *_FURTHER)
_KERNEL = Section(_AMOUNTS[0], _AMOUNTS[2], *_OF_KERNEL, *_FURTHER)


def _compute(name: str, entry: Entry) -> Compute | Kernel:
    on = entry.mapping().get("on")
    is_kernel = on is not None and on.text((PROCESSOR, ACCELERATOR)) == ACCELERATOR
    return _kernel(entry) if is_kernel else work_from(entry, _COMPUTE)


READERS.add(
    "compute",
    DemandReader(
        "work of the processor, or with `on` of the accelerator", Section(*_AMOUNTS, *_OF_KERNEL, *_FURTHER), _compute
    ),
)


def work_from(entry: Entry, section: Section = WORK) -> Compute:
    """How much to compute, with the keys of the section."""
    values = section.read(entry)
    given = [key.name for key in _AMOUNTS if key.name in values]
    if len(given) != 1:
        allowed = "one of flops, instructions, seconds, loops"
        raise InputError("how much to compute", entry.place, value=given, allowed=allowed)
    (unit,) = given
    is_loops = unit == "loops"
    if is_loops and not values["loops"]:
        raise InputError("there is no loop", entry.mapping()["loops"].place)
    loops = tuple(Loop(**{"name": ""} | loop) for loop in values["loops"]) if is_loops else ()
    amount = None if is_loops else values[unit]
    own = (values.get("when"), entry.place, "flops" if is_loops else unit, amount, loops)
    return Compute(*own, varies=values.get("varies"))


def _kernel(entry: Entry) -> Kernel:
    """``compute: {on: accelerator, flops, bytes, times}``, or ``seconds`` instead of the first two."""
    values = _KERNEL.read(entry)
    given = [key for key in ("flops", "seconds", "bytes") if key in values]
    if not given or ("seconds" in given and len(given) > 1):
        allowed = "flops, bytes, or both; or seconds"
        raise InputError("how much an accelerator is to compute", entry.place, value=given, allowed=allowed)
    values.pop("on")
    return Kernel(**{"when": None} | values, place=entry.place)


@demand(
    "pack",
    "blocks of data that a rank copies within its memory, to pack or unpack messages of its own",
    Key("blocks", Expr(), "how many, each in `network.packing` of the machine", required=True),
    Key("bytes", Expr(), "bytes of each block, which take time by `network.packing_bandwidth`", "no time"),
    WHEN,
)
def _pack(name: str, entry: Entry, values: dict[str, Any]) -> Compute:
    own = (values.get("when"), entry.place, BLOCKS, values["blocks"])
    return Compute(*own, block_bytes=values.get("bytes"))


@demand(
    "copy",
    "a copy between host and accelerator",
    Key("to", Choice((ACCELERATOR, HOST)), "the direction", required=True),
    Key("bytes", Expr(), "bytes of a copy", required=True),
    times("number of copies"),
    WHEN,
)
def _copy(name: str, entry: Entry, values: dict[str, Any]) -> Copy:
    return Copy(**{"times": ONE} | values, place=entry.place)


class _Uses(Items):
    """Uses of resources, each ``{RESOURCE: AMOUNT, traits: [...], from: DATA}``."""

    def read(self, entry: Entry) -> tuple[ResourceUse, ...]:
        uses = tuple(_use(item) for item in entry.sequence())
        if not uses:
            raise InputError("nothing is used", entry.place)
        return uses


_USE = Named(
    OneOf(Expr(), Items(OneOf(Text(), Named(Expr(), "its argument")), "one trait")),
    "the amount of a resource; `traits`, `from` and `to` are a list and names of data",
)


@demand(
    "execute",
    "work on resources that the machine defines",
    Key("uses", _Uses(_USE, "one use"), "what is used", required=True),
    Key("parallelism", Expr(), "items that can be worked on concurrently", "1"),
    Key("label", Name(), "the name of the work"),
    WHEN,
)
def _execute(name: str, entry: Entry, values: dict[str, Any]) -> Execute:
    return Execute(**values, place=entry.place)


def _use(entry: Entry) -> ResourceUse:
    items = entry.mapping()
    used = [key for key in items if key not in USE_KEYS]
    ways = [key for key in ("from", "to") if key in items]
    if len(used) != 1 or len(ways) > 1:
        allowed = "{RESOURCE: AMOUNT}, perhaps with traits, and with from or to"
        raise InputError("a use names one resource", entry.place, value=sorted(items), allowed=allowed)
    traits = [trait for item in (items["traits"].sequence() if "traits" in items else []) for trait in _traits(item)]
    data = items[ways[0]].name() if ways else ""
    return ResourceUse(used[0], items[used[0]].expression(), tuple(traits), data, "".join(ways), entry.place)


def _traits(entry: Entry) -> list[tuple[str, Expression | None]]:
    """Return a trait, or some with their arguments."""
    if isinstance(entry.content, str):
        return [(entry.name(), None)]
    return [(name, item.expression()) for name, item in entry.mapping().items()]
