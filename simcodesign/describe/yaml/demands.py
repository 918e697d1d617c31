"""Demands of a workload file: one entry of a program to one demand, computations, accesses, messages and arrivals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression, parse
from simcodesign.core.files.input_files import check_confined
from simcodesign.core.registry import Registry
from simcodesign.describe.demands.arrivals import KINDS as ARRIVAL_KINDS
from simcodesign.describe.demands.arrivals import TARGETS, Arrivals
from simcodesign.describe.demands.base import ENTRY_POINTS, ONE, Demand
from simcodesign.describe.demands.collective import (
    ALGORITHMS,
    ORDERS,
    ROOTED,
    SEGMENTED,
    SIGNALS,
    Collective,
    algorithm_in_order,
    algorithm_names,
)
from simcodesign.describe.demands.computation import ACCELERATOR, BLOCKS, PROCESSOR, Compute, Kernel, Loop
from simcodesign.describe.demands.disk_access import DISK, STORAGE, DiskAccess, StorageAccess
from simcodesign.describe.demands.exchange import Exchange
from simcodesign.describe.demands.memory_accesses import CACHE_ROLES, MemoryAccesses
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.demands.resource_uses import Execute, ResourceUse
from simcodesign.describe.demands.wait import Wait
from simcodesign.describe.demands.wavefront import CORNERS, Corner, Wavefront
from simcodesign.describe.network.message_models.hockney import SENDS
from simcodesign.describe.yaml.accelerators_and_storage import (
    copy_from,
    kernel_from,
    metadata_from,
    storage_access_from,
)
from simcodesign.describe.yaml.distribution import distribution_from, varies
from simcodesign.describe.yaml.resources import USE_KEYS, quantity_or_expression
from simcodesign.describe.yaml.tree import Entry
from simcodesign.describe.yaml.tree import amount as amount
from simcodesign.describe.yaml.tree import when as when
from simcodesign.locality.profile import StackDistanceProfile, load_profile

#: What reads one kind of demand: from the key under which it stands in a program, and what stands there.
DemandReader = Callable[[str, Entry], Demand]
#: By key.
READERS: Registry[str, DemandReader] = Registry("demand", __name__, ENTRY_POINTS)
READERS.register("copy")(copy_from)
READERS.register("metadata")(metadata_from)
_COMPUTE_UNITS = ("flops", "instructions", "seconds")


def group(items: dict[str, Entry]) -> str | None:
    """The groups of ranks that do a demand, each by itself, if it names them."""
    return items["group"].text() if "group" in items else None


@READERS.register("compute")
def _compute(name: str, entry: Entry) -> Compute | Kernel:
    items = entry.mapping()
    if "on" in items and items["on"].text((PROCESSOR, ACCELERATOR)) == ACCELERATOR:
        return kernel_from(entry)
    return _work(entry, ("when", "varies", "on"))


@READERS.register("pack")
def _pack(name: str, entry: Entry) -> Compute:
    items = entry.mapping(("blocks", "when"), ("blocks",))
    return Compute(when(items), entry.place, BLOCKS, items["blocks"].expression())


def _work(entry: Entry, further: tuple[str, ...] = ()) -> Compute:
    """How much to compute; some ``further`` keys are allowed."""
    items = entry.mapping((*_COMPUTE_UNITS, "loops", *further))
    given = [key for key in (*_COMPUTE_UNITS, "loops") if key in items]
    if len(given) != 1:
        allowed = "one of flops, instructions, seconds, loops"
        raise InputError("how much to compute", entry.place, value=given, allowed=allowed)
    if given == ["loops"]:
        loops = tuple(_loop(item) for item in items["loops"].sequence())
        if not loops:
            raise InputError("there is no loop", items["loops"].place)
        return Compute(when(items), entry.place, "flops", None, loops, varies=varies(items))
    return Compute(when(items), entry.place, given[0], items[given[0]].expression(), varies=varies(items))


def _loop(entry: Entry) -> Loop:
    items = entry.mapping(("loop", "range", "operations"), ("range", "operations"))
    name = items["loop"].text() if "loop" in items else ""
    return Loop(name, items["range"].expression(), items["operations"].expression())


@READERS.register("execute")
def _execute(name: str, entry: Entry) -> Execute:
    items = entry.mapping(("parallelism", "label", "uses", "when"), ("uses",))
    uses = tuple(_use(item) for item in items["uses"].sequence())
    if not uses:
        raise InputError("nothing is used", items["uses"].place)
    label = items["label"].name() if "label" in items else ""
    return Execute(when(items), entry.place, uses, amount(items, "parallelism") or ONE, label)


def _use(entry: Entry) -> ResourceUse:
    """``{RESOURCE: AMOUNT, traits: [...], from: DATA}``."""
    items = entry.mapping()
    used = [key for key in items if key not in USE_KEYS]
    ways = [key for key in ("from", "to") if key in items]
    if len(used) != 1 or len(ways) > 1:
        allowed = "{RESOURCE: AMOUNT}, perhaps with traits, and with from or to"
        raise InputError("a use is of one resource", entry.place, value=sorted(items), allowed=allowed)
    traits = [trait for item in (items["traits"].sequence() if "traits" in items else []) for trait in _traits(item)]
    data = items[ways[0]].name() if ways else ""
    return ResourceUse(used[0], items[used[0]].expression(), tuple(traits), data, "".join(ways), entry.place)


def _traits(entry: Entry) -> list[tuple[str, Expression | None]]:
    """A trait, or some with their arguments."""
    if isinstance(entry.content, str):
        return [(entry.name(), None)]
    return [(name, item.expression()) for name, item in entry.mapping().items()]


@READERS.register("read")
@READERS.register("write")
def _access(name: str, entry: Entry) -> DiskAccess | StorageAccess:
    way = "from" if name == "read" else "to"
    where = entry.mapping().get(way)
    if where is not None and where.text((DISK, STORAGE)) == STORAGE:
        return storage_access_from(name, way, entry)
    items = entry.mapping((way, "bytes", "times", "when", "varies"), ("bytes",))
    size, times = items["bytes"].expression(), amount(items, "times") or ONE
    return DiskAccess(when(items), entry.place, name, size, times, varies(items))


#: Whose locality a memory demand has: one of these.
_LOCALITY = ("kernel", "profile", "stack_distance", "hits")
_AMOUNTS = ("accesses", "loads", "stores", "times", "blocking", "remote")
_MEMORY_KEYS = (*_LOCALITY, "sizes", "element", *_AMOUNTS, "when", "varies")


@READERS.register("memory")
def _memory_accesses(name: str, entry: Entry) -> MemoryAccesses:
    if "bytes" in entry.mapping():
        allowed = "accesses; traffic of N bytes: {accesses: N/64, element: 64 B, stack_distance: 1e12, blocking: 0}"
        raise InputError("unknown key", entry.mapping()["bytes"].place, value="bytes", allowed=allowed)
    items = entry.mapping(_MEMORY_KEYS)
    given = [key for key in _LOCALITY if key in items]
    if len(given) != 1:
        raise InputError(
            "whose locality the accesses have",
            entry.place,
            value=given,
            allowed=f"one of {', '.join(_LOCALITY)}",
        )
    for key, owner in (("sizes", "kernel"), ("element", "stack_distance")):
        if key in items and owner not in items:
            raise InputError(f"{key} belongs to {owner}", items[key].place)
    accesses = _accesses(items)
    if accesses is None and ("stack_distance" in items or "hits" in items):
        raise InputError("how many accesses", entry.place, allowed="accesses, or loads and stores")
    if accesses is not None and "kernel" in items:
        raise InputError("a kernel has its own number of accesses", accesses.place, allowed="times, for more of them")
    kernel, sizes = _kernel(items) if "kernel" in items else ("", ())
    return MemoryAccesses(
        when(items),
        entry.place,
        kernel=kernel,
        sizes=sizes,
        profile=_profile(items["profile"]) if "profile" in items else None,
        distances=_distances(items["stack_distance"]) if "stack_distance" in items else (),
        hits=tuple((role, share.expression()) for role, share in items["hits"].mapping(CACHE_ROLES).items())
        if "hits" in items
        else (),
        element_bytes=_element(items["element"]) if "element" in items else MemoryAccesses.element_bytes,
        accesses=accesses,
        times=amount(items, "times") or ONE,
        blocking=amount(items, "blocking"),
        remote=amount(items, "remote"),
        varies=varies(items),
    )


def _accesses(items: dict[str, Entry]) -> Expression | None:
    """All accesses, or loads and stores together; None if none are stated."""
    kinds = [key for key in ("loads", "stores") if key in items]
    if kinds and "accesses" in items:
        raise InputError(
            "accesses are loads and stores together", items[kinds[0]].place, allowed="accesses, or loads and stores"
        )
    if not kinds:
        return amount(items, "accesses")
    text = " + ".join(f"({items[key].expression().text})" for key in kinds)
    return parse(text, items[kinds[0]].place)


def _kernel(items: dict[str, Entry]) -> tuple[str, tuple[tuple[str, Expression | str], ...]]:
    """The name of the kernel, and its sizes."""
    from simcodesign.locality.streams.kernels import KERNELS

    kernel = items["kernel"].text(KERNELS)
    known = KERNELS[kernel].sizes
    given = items["sizes"].mapping(known) if "sizes" in items else {}
    for name, size in known.items():
        if size.default is None and name not in given:
            raise InputError(f"{name} of the kernel is missing", items["kernel"].place, allowed=size.about)
    sizes = (
        (name, item.text(known[name].words) if known[name].words else item.expression()) for name, item in given.items()
    )
    return kernel, tuple(sizes)


def _profile(entry: Entry) -> StackDistanceProfile:
    """A profile in a file beside this one."""
    path = check_confined(Path(entry.place.file).parent / entry.text(), entry.place)
    try:
        return load_profile(path)
    except InputError as error:
        raise InputError(str(error), entry.place) from None


def _distances(entry: Entry) -> tuple[tuple[Expression, Expression], ...]:
    """One stack distance for all, or multiple with their fractions of the accesses."""
    if isinstance(entry.content, str):
        return ((ONE, entry.expression()),)
    pairs = [item.mapping(("fraction", "distance"), ("fraction", "distance")) for item in entry.sequence()]
    if not pairs:
        raise InputError("there is no stack distance", entry.place)
    return tuple((pair["fraction"].expression(), pair["distance"].expression()) for pair in pairs)


def _element(entry: Entry) -> int:
    value = entry.quantity("size")
    if value < 1 or value != int(value) or int(value) & (int(value) - 1):
        raise entry.error("bytes of an element", "a power of two")
    return int(value)


_ARRIVALS_KEYS = (
    "to",
    "rate",
    "requests",
    "between",
    "bytes",
    "kind",
    "varies",
    "capacity",
    "next",
    "destination",
    "when",
)
#: ``destination`` of messages to any other rank.
UNIFORM = "uniform"


@READERS.register("arrivals")
def _arrivals(name: str, entry: Entry) -> Arrivals:
    items = entry.mapping(_ARRIVALS_KEYS, ("to", "rate", "requests", "bytes"))
    for key in ("kind", "capacity", "next", "destination"):
        owner = "network" if key == "destination" else "disk"
        if key in items and items["to"].text(TARGETS) != owner:
            raise InputError(f"{key} belongs to arrivals to the {owner}", items[key].place)
    anywhere = "destination" not in items or items["destination"].says(UNIFORM)
    return Arrivals(
        when(items),
        entry.place,
        to=items["to"].text(TARGETS),
        rate=items["rate"].expression(),
        requests=items["requests"].expression(),
        bytes=quantity_or_expression(items["bytes"], "size"),
        between=distribution_from(items["between"]) if "between" in items else Arrivals.between,
        varies=varies(items),
        kind=items["kind"].text(ARRIVAL_KINDS) if "kind" in items else Arrivals.kind,
        capacity=amount(items, "capacity"),
        next=tuple(tuple(share.expression() for share in row.sequence()) for row in items["next"].sequence())
        if "next" in items
        else (),
        destination=None if anywhere else items["destination"].expression(),
    )


MOST_TAG = 2**31 - 3
#: ``from`` of a receive that takes the message that comes first.
ANYONE = "anyone"


@READERS.register("send")
def _send(name: str, entry: Entry) -> Send:
    items = entry.mapping(("to", "bytes", "tag", "when", "group", "footprint"), ("to", "bytes"))
    to, size = items["to"].expression(), items["bytes"].expression()
    return Send(when(items), entry.place, to, size, _tag(items), group(items), footprint=amount(items, "footprint"))


@READERS.register("receive")
def _receive(name: str, entry: Entry) -> Receive:
    items = entry.mapping(("from", "bytes", "tag", "when", "group"), ("from",))
    source = None if items["from"].says(ANYONE) else items["from"].expression()
    return Receive(when(items), entry.place, source, amount(items, "bytes"), _tag(items), group(items))


def _tag(items: dict[str, Entry]) -> int:
    return items["tag"].whole(0, MOST_TAG) if "tag" in items else 0


@READERS.register("exchange")
def _exchange(name: str, entry: Entry) -> Exchange:
    keys = ("pattern", "bytes", "grid", "periodic", "messages", "train", "group", "footprint")
    items = entry.mapping(keys, ("pattern", "bytes"))
    patterns = [f"halo{dims}d" for dims in range(1, 5)]
    dims = patterns.index(items["pattern"].text(patterns)) + 1
    sizes = _each(items["bytes"], dims)
    grid = _each(items["grid"], dims) if "grid" in items else None
    periodic = items["periodic"].flag() if "periodic" in items else True
    messages = _each(items["messages"], dims) if "messages" in items else None
    train = amount(items, "train") or ONE
    touched = amount(items, "footprint")
    return Exchange(None, entry.place, dims, sizes, grid, periodic, messages, train, group(items), footprint=touched)


@READERS.register("wavefront")
def _wavefront(name: str, entry: Entry) -> Wavefront:
    keys = ("grid", "planes", "bytes", "compute", "corners", "group", "footprint")
    items = entry.mapping(keys, ("grid", "planes", "bytes"))
    (px, py), (in_x, in_y) = (_each(items[key], 2) for key in ("grid", "bytes"))
    work = _work(items["compute"]) if "compute" in items else None
    corners = _corners(items["corners"]) if "corners" in items else CORNERS[1]
    planes, touched = items["planes"].expression(), amount(items, "footprint")
    return Wavefront(None, entry.place, (px, py), planes, (in_x, in_y), work, corners, group(items), footprint=touched)


def _corners(entry: Entry) -> tuple[Corner, ...]:
    """How many sweeps, or the corner from which each begins: [x, y], 0 for the lower and 1 for the upper end."""
    if isinstance(entry.content, str):
        number = entry.whole(1, max(CORNERS))
        if number not in CORNERS:
            raise entry.error("corners of a wavefront", "1, 2, 4, or a list as [[0, 0], [1, 1]]")
        return CORNERS[number]
    corners = [[end.whole(0, 1) for end in corner.sequence()] for corner in entry.sequence()]
    if not corners or any(len(corner) != 2 for corner in corners):
        raise InputError("corners of a wavefront", entry.place, value=corners, allowed="e.g. [[0, 0], [1, 1]]")
    return tuple((x, y) for x, y in corners)


@READERS.register("wait")
def _wait(name: str, entry: Entry) -> Wait:
    names = [entry] if isinstance(entry.content, str) else entry.sequence()
    if not names:
        raise InputError("nothing is waited for", entry.place)
    return Wait(None, entry.place, tuple(item.name() for item in names))


def _each(entry: Entry, dims: int) -> tuple[Expression, ...]:
    """One expression per dimension; a single one holds for all."""
    if isinstance(entry.content, str):
        return (entry.expression(),) * dims
    parts = entry.sequence()
    if len(parts) != dims:
        raise InputError(f"{len(parts)} values for {dims} dimensions", entry.place)
    return tuple(part.expression() for part in parts)


def _collective(name: str, entry: Entry) -> Collective:
    rooted = ("root",) if name in ROOTED else ()
    keys = ("bytes", "algorithm", "order", "segment", "sends", "group", "footprint", *rooted)
    items = entry.mapping(keys, () if name in SIGNALS else ("bytes",))
    algorithm = items["algorithm"].text(algorithm_names(name)) if "algorithm" in items else ALGORITHMS[name][0]
    if "order" in items:
        if (name, algorithm) not in ORDERS:
            known = ", ".join(f"{way} of {operation}" for operation, way in ORDERS)
            what = f"{algorithm} of {name} has no order of children"
            raise InputError(what, items["order"].place, value=items["order"].text(), allowed=f"order with {known}")
        algorithm = algorithm_in_order(name, algorithm, items["order"].text(("near", "far")))
    size, root = amount(items, "bytes") or parse(0), amount(items, "root")
    segment = quantity_or_expression(items["segment"], "size") if "segment" in items else None
    if segment is not None and (name, algorithm) not in SEGMENTED:
        known = ", ".join(f"{way} of {operation}" for operation, way in sorted(SEGMENTED))
        what = f"{algorithm} of {name} has no segments"
        raise InputError(what, segment.place, value=segment.text, allowed=f"segment with {known}")
    sends = items["sends"].text(SENDS) if "sends" in items else None
    touched = amount(items, "footprint")
    every = (name, algorithm, size, group(items), root, segment)
    return Collective(None, entry.place, *every, sends=sends, footprint=touched)


def demand_reader(key: str) -> DemandReader | None:
    """What reads the demand that stands under this key in a program; None if there is no such demand."""
    return READERS.get(key, _collective if key in ALGORITHMS else None)


def demand_keys() -> tuple[str, ...]:
    """The keys of all demands."""
    return (*READERS, *ALGORITHMS)
