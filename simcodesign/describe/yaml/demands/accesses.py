"""Accesses of a workload file: to disks, to storage that all nodes share, and to memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression, parse
from simcodesign.core.files.input_files import check_confined
from simcodesign.describe.demands.base import ONE
from simcodesign.describe.demands.disk_access import (
    DISK,
    OWN,
    SHARED,
    STORAGE,
    DiskAccess,
    MetadataOperations,
    StorageAccess,
)
from simcodesign.describe.demands.memory_accesses import CACHE_ROLES, MemoryAccesses
from simcodesign.describe.keys.forms import Bytes, Choice, Expr, OneOf, Text
from simcodesign.describe.keys.key import Form, Key, Schema
from simcodesign.describe.keys.section import Items, Section
from simcodesign.describe.yaml.demands.base import READERS, WHEN, DemandReader, demand, times
from simcodesign.describe.yaml.distribution import VARIES
from simcodesign.describe.yaml.tree import Entry
from simcodesign.locality.profile import load_profile

_BYTES = Key("bytes", Expr(), "bytes of an access", required=True)
_TIMES = times("number of accesses")
_OF_STORAGE = (
    Key("file", Choice((OWN, SHARED)), "of storage: a file of each rank, or one of all", OWN),
    Key("stripe_count", Expr(), "of storage: servers of the file", "as the machine; of a shared file all"),
)


def _register_access(name: str, way: str) -> None:
    where = Key(way, Choice((DISK, STORAGE)), f"{way} where", DISK)
    of_storage = Section(where, _BYTES, _TIMES, *_OF_STORAGE, WHEN)
    of_disk = Section(where, _BYTES, _TIMES, WHEN, VARIES)

    def read(name: str, entry: Entry) -> DiskAccess | StorageAccess:
        stated = entry.mapping().get(way)
        is_storage = stated is not None and stated.text((DISK, STORAGE)) == STORAGE
        values = {"when": None, "times": ONE} | (of_storage if is_storage else of_disk).read(entry)
        values.pop(way, None)
        return (StorageAccess if is_storage else DiskAccess)(**values, kind=name, place=entry.place)

    about = f"a {name} {way} disk or storage"
    READERS.add(name, DemandReader(about, Section(*of_storage.keys, VARIES), read))


_register_access("read", "from")
_register_access("write", "to")


@demand("metadata", "operations of the metadata server", Key("operations", Expr(), "how many", required=True), WHEN)
def _metadata(name: str, entry: Entry, values: dict[str, Any]) -> MetadataOperations:
    return MetadataOperations(**values, place=entry.place)


def _kernels() -> Mapping[str, Any]:
    from simcodesign.locality.streams.kernels import KERNELS

    return KERNELS


class _KernelSizes(Form):
    """Sizes of a kernel, which differ from kernel to kernel."""

    content = dict

    def read(self, entry: Entry) -> dict[str, Entry]:
        return entry.mapping()

    def schemas(self) -> list[Schema]:
        sizes = {name: size for kernel in _kernels().values() for name, size in kernel.sizes.items()}
        inner: Schema = {
            name: (Choice(size.words) if size.words else Expr()).schema() for name, size in sorted(sizes.items())
        }
        return [{"type": "object", "properties": inner, "additionalProperties": False}]

    def words(self) -> list[str]:
        return ["mapping"]


class _Profile(Text):
    """A profile in a file next to this one."""

    def read(self, entry: Entry) -> Any:
        path = check_confined(Path(entry.place.file).parent / entry.text(), entry.place)
        try:
            return load_profile(path)
        except InputError as error:
            raise InputError(str(error), entry.place) from None


class _Distances(OneOf):
    """One stack distance for all accesses, or several with their fractions of them."""

    def read(self, entry: Entry) -> tuple[tuple[Expression, Expression], ...]:
        read = super().read(entry)
        pairs = (
            ((ONE, read),)
            if isinstance(read, Expression)
            else tuple((one["fraction"], one["distance"]) for one in read)
        )
        if not pairs:
            raise InputError("there is no stack distance", entry.place)
        return pairs


_PAIR = Section(
    Key("fraction", Expr(), "the fraction of the accesses", required=True),
    Key("distance", Expr(), "the stack distance", required=True),
)
#: Whose locality a memory demand has: one of these.
_LOCALITY = (
    Key("kernel", Choice(_kernels), "a known loop nest"),
    Key("profile", _Profile(), "a file with a profile of stack distances"),
    Key(
        "stack_distance",
        _Distances(Expr(), Items(_PAIR, "one of several")),
        "lines touched since the last access; one expression, or multiple with fractions",
        field="distances",
    ),
    Key(
        "hits",
        Section(*(Key(role, Expr(), f"fraction that the cache {role} serves") for role in CACHE_ROLES)),
        "fractions that caches serve, as counters had them (docs/memory.md)",
    ),
)
MEMORY_KEYS = (
    *_LOCALITY,
    Key("sizes", _KernelSizes(), "the sizes of the kernel (docs/memory.md)"),
    Key("element", Bytes("bytes of an element"), "bytes of an access", "8 B", field="element_bytes"),
    Key("accesses", Expr(), "how many; or `loads` and `stores`"),
    Key("loads", Expr(), "how many loads"),
    Key("stores", Expr(), "how many stores"),
    times("how often"),
    Key("blocking", Expr(), "part of the access times for which the processor waits", "1 / `memory.outstanding`"),
    Key("remote", Expr(), "fraction of the lines at other sockets", "by `memory.policy`"),
    WHEN,
    VARIES,
)
_MEMORY = Section(*MEMORY_KEYS)


def _memory(name: str, entry: Entry) -> MemoryAccesses:
    if "bytes" in entry.mapping():
        allowed = "accesses; traffic of N bytes: {accesses: N/64, element: 64 B, stack_distance: 1e12, blocking: 0}"
        raise InputError("unknown key", entry.mapping()["bytes"].place, value="bytes", allowed=allowed)
    items = _MEMORY.items(entry)
    given = [key.name for key in _LOCALITY if key.name in items]
    if len(given) != 1:
        allowed = f"one of {', '.join(key.name for key in _LOCALITY)}"
        raise InputError("whose locality the accesses have", entry.place, value=given, allowed=allowed)
    for key, owner in (("sizes", "kernel"), ("element", "stack_distance")):
        if key in items and owner not in items:
            raise InputError(f"{key} belongs to {owner}", items[key].place)
    accesses = _accesses(items)
    if accesses is None and ("stack_distance" in items or "hits" in items):
        raise InputError("how many accesses", entry.place, allowed="accesses, or loads and stores")
    if accesses is not None and "kernel" in items:
        raise InputError("a kernel has its own number of accesses", accesses.place, allowed="times, for more of them")
    apart = ("kernel", "sizes", "accesses", "loads", "stores")
    values = {"when": None} | _MEMORY.values({key: item for key, item in items.items() if key not in apart})
    values["hits"] = tuple(values.get("hits", {}).items())
    kernel, sizes = _kernel(items) if "kernel" in items else ("", ())
    return MemoryAccesses(**values, place=entry.place, kernel=kernel, sizes=sizes, accesses=accesses)


READERS.add("memory", DemandReader("accesses to memory through the caches (docs/memory.md)", _MEMORY, _memory))


def _accesses(items: dict[str, Entry]) -> Expression | None:
    """All accesses, or loads and stores together; None if none are stated."""
    kinds = [key for key in ("loads", "stores") if key in items]
    if kinds and "accesses" in items:
        raise InputError(
            "accesses are loads and stores together", items[kinds[0]].place, allowed="accesses, or loads and stores"
        )
    if not kinds:
        return items["accesses"].expression() if "accesses" in items else None
    text = " + ".join(f"({items[key].expression().text})" for key in kinds)
    return parse(text, items[kinds[0]].place)


def _kernel(items: dict[str, Entry]) -> tuple[str, tuple[tuple[str, Expression | str], ...]]:
    """Return the name of the kernel, and its sizes."""
    kernel = items["kernel"].text(_kernels())
    known = _kernels()[kernel].sizes
    given = items["sizes"].mapping(known) if "sizes" in items else {}
    for name, size in known.items():
        if size.default is None and name not in given:
            raise InputError(f"{name} of the kernel is missing", items["kernel"].place, allowed=size.about)
    sizes = (
        (name, item.text(known[name].words) if known[name].words else item.expression()) for name, item in given.items()
    )
    return kernel, tuple(sizes)
