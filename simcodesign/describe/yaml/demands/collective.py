"""Collective operations of a workload file, and all readers of demands by their keys."""

from __future__ import annotations

from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import parse
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
from simcodesign.describe.keys.forms import Choice, Expr
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Section
from simcodesign.describe.network.message_models.hockney import SENDS
from simcodesign.describe.yaml.demands.base import GROUP, READERS, DemandReader, footprint
from simcodesign.describe.yaml.resources import QuantityOrFormula
from simcodesign.describe.yaml.tree import Entry


def collective_section(name: str) -> Section:
    """Return the keys of a collective operation."""
    root = Key("root", Expr(), "the rank at the root", "0")
    return Section(
        Key("bytes", Expr(), "bytes of a rank; a barrier has none", required=name not in SIGNALS),
        Key(
            "algorithm",
            Choice(tuple(algorithm_names(name))),
            "how it is done (networks-and-algorithms.md)",
            "the first in that table",
        ),
        Key("order", Choice(("near", "far")), "of a binomial tree: whether near or far children come first", "far"),
        Key("segment", QuantityOrFormula("size"), "bytes of a segment of a pipeline", "the whole message"),
        Key(
            "sends",
            Choice(SENDS),
            "how its messages are sent in Hockney's model, as `network.sends`",
            "the algorithm's way in docs/collectives.md, otherwise `network.sends`",
        ),
        GROUP,
        footprint("by the operation"),
        *([root] if name in ROOTED else ()),
    )


def _collective(name: str, entry: Entry) -> Collective:
    section = collective_section(name)
    items = section.items(entry)
    values: dict[str, Any] = {"bytes": parse(0), "algorithm": ALGORITHMS[name][0]} | section.values(items)
    algorithm, order, segment = values["algorithm"], values.pop("order", None), values.get("segment")
    if order is not None:
        if (name, algorithm) not in ORDERS:
            known = ", ".join(f"{way} of {operation}" for operation, way in ORDERS)
            what = f"{algorithm} of {name} has no order of children"
            raise InputError(what, items["order"].place, value=order, allowed=f"order with {known}")
        values["algorithm"] = algorithm_in_order(name, algorithm, order)
    if segment is not None and (name, values["algorithm"]) not in SEGMENTED:
        known = " and ".join(f"{way} of {operation}" for operation, way in sorted(SEGMENTED))
        what = f"{algorithm} of {name} has no segments"
        raise InputError(what, segment.place, value=segment.text, allowed=f"segment with {known}")
    return Collective(None, entry.place, name, **values)


def demand_reader(key: str) -> DemandReader | None:
    """Return the reader of the demand under this key in a program; None if there is no such demand."""
    if key in ALGORITHMS:
        return DemandReader("a collective operation (docs/collectives.md)", collective_section(key), _collective)
    return READERS.get(key)


def demand_keys() -> tuple[str, ...]:
    """Return the keys of all demands."""
    return (*READERS, *ALGORITHMS)
