"""The columns of the table of operations, one declaration each: its type, what it means, and which pass fills it.

Every operation has the columns that are ``always`` present; others exist if the machine, the program or an effect needs
them. A name that is not declared here is no column.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcodesign.generate.plan import NONE

#: Who fills a column: demands as they are lowered, the prices of the machine, or parts that run concurrently.
DEMANDS, PRICES, CHAINS, COUNTERS = "demands", "prices", "side chains", "counters"


@dataclass(frozen=True)
class OperationColumn:
    """A column.

    ``default``: the value for other operations; ``is_place``: it counts operations within a rank, and so grows when
    these move to later places.
    """

    type: type[np.generic]
    unit: str
    meaning: str
    filled_by: str
    default: float = 0
    always: bool = False
    is_place: bool = False


def _always(kind: type[np.generic], unit: str, meaning: str, by: str = DEMANDS, place: bool = False) -> OperationColumn:
    return OperationColumn(kind, unit, meaning, by, NONE if kind is np.int32 else 0, always=True, is_place=place)


#: Columns by name. ``match`` of a segment: of a send or a receive the place of the other end of its message among the
#: operations of its peer; ``BY_TAG - tag`` where messages are still to be paired; NONE otherwise.
COLUMNS: dict[str, OperationColumn] = {
    "kind": _always(np.int8, "", "what it is (core.operation_kinds)"),
    "phase": _always(np.int16, "", "number of its phase"),
    "peer": _always(np.int32, "rank", "the other end of its message"),
    "match": _always(np.int32, "operation", "the other end of its message", place=True),
    "size_bytes": _always(np.float64, "B", "bytes that it moves"),
    "duration_s": _always(np.float64, "s", "how long it takes, alone", PRICES),
    "route": OperationColumn(np.int32, "", "of a send: number of the route of its message", PRICES, NONE),
    "cost": OperationColumn(np.int32, "", "of a send: its row in the table of costs", PRICES),
    "gap_s": OperationColumn(np.float64, "s", "until the interface sends or receives again", PRICES),
    "flight_s": OperationColumn(np.float64, "s", "of a send: from its beginning until the message arrives", PRICES),
    "until": OperationColumn(
        np.int32, "operation", "what waits for it, and for all that is posted with it", DEMANDS, NONE, is_place=True
    ),
    "any_tag": OperationColumn(np.bool_, "", "of a receive: takes a message of any tag", DEMANDS),
    "receive_s": OperationColumn(np.float64, "s", "of a send: how long its message has the receiver", PRICES),
    "spread_s": OperationColumn(np.float64, "s", "of a send: by which its last byte is behind the first", PRICES),
    "rendezvous": OperationColumn(np.bool_, "", "of a send: done when a receive takes its message", PRICES),
    "holds": OperationColumn(np.bool_, "", "of a send: whether its bytes hold the sender", PRICES),
    "interfaces": OperationColumn(
        np.int16, "", "of a send: how many interfaces of its rank its messages take one after another", PRICES, 1
    ),
    "train": OperationColumn(np.float64, "messages", "that travel together", PRICES, 1.0),
    "variant": OperationColumn(np.int16, "", "of a receive: which variant of the machine prices it", PRICES, NONE),
    "collective": OperationColumn(np.int8, "", "whether a collective made it", COUNTERS),
    "clock_hz": OperationColumn(np.float64, "Hz", "of the processor that is at work", COUNTERS, np.nan),
    "power": OperationColumn(np.int32, "", "row of what it draws", PRICES, NONE),
    "varies": OperationColumn(np.int32, "", "number of its demand, whose times vary", DEMANDS, NONE),
    "back": OperationColumn(np.int32, "operations", "distance back in its rank to its predecessor", CHAINS, 1),
    "awaits": OperationColumn(np.int32, "operations", "distance back to what it waits for in addition, or 0", CHAINS),
    "unit": OperationColumn(np.int16, "", "the part of its rank that does it", CHAINS),
    "polled": OperationColumn(np.int16, "", "its role in a part that is polled (polled_parts.py)", DEMANDS),
    "server": OperationColumn(np.int32, "", "of the storage, that serves it", DEMANDS, NONE),
    "controller": OperationColumn(
        np.int16, "sockets", "of a memory operation: distance from its own to the controller that serves it", DEMANDS
    ),
}
#: Columns of programs in which parts run concurrently.
OF_CHAINS = tuple(name for name, column in COLUMNS.items() if column.filled_by == CHAINS)
#: Types of the columns that every operation has; and of others, with their default values.
FIELDS = {name: column.type for name, column in COLUMNS.items() if column.always}
EXTRAS = {name: (column.type, column.default) for name, column in COLUMNS.items() if not column.always}
PLACES = {name for name, column in COLUMNS.items() if column.is_place}
