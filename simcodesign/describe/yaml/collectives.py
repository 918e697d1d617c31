"""``collectives`` of machine files: by which rules operations with ``algorithm: auto`` take an algorithm."""

from __future__ import annotations

from simcodesign.describe.demands.collective import ALGORITHMS
from simcodesign.describe.keys.forms import ABOVE_0, Amount, Choice, OneOf, Text, Whole
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Items, Named, Section
from simcodesign.describe.network.algorithm_choice import LIBRARIES, Decisions, Rule
from simcodesign.describe.yaml.tree import Entry

_UP_TO, _RANKS = "up_to", "up_to_ranks"
_ROW = Section(
    Key(_UP_TO, Amount("size", ABOVE_0), "largest `bytes` of the operation for which the row holds", "no end"),
    Key(_RANKS, Whole(1), "largest number of ranks, of the operation or of its group", "no end"),
    Key("algorithm", Text(), "its name, as `algorithm` of the operation has it", required=True),
)
_TABLE = Items(_ROW, "one row; the first that holds counts, and the last one has no end")
COLLECTIVES = OneOf(Choice(tuple(LIBRARIES)), Named(OneOf(Choice(tuple(LIBRARIES)), _TABLE), "an operation"))


def decisions_from(entry: Entry) -> Decisions:
    """Return the rules by operation: those of a library, or a table for each operation that is named.

    Raises InputError for operations and algorithms that there are not, and for a table whose last row has an end.
    """
    if isinstance(entry.content, str):
        return LIBRARIES[entry.text(LIBRARIES)]
    found: dict[str, tuple[Rule, ...]] = {}
    for operation, table in entry.mapping([*ALGORITHMS]).items():
        if isinstance(table.content, str):
            library = table.text([name for name, rules in LIBRARIES.items() if operation in rules])
            found[operation] = LIBRARIES[library][operation]
        else:
            found[operation] = _rules(operation, table)
    return found


def _rules(operation: str, table: Entry) -> tuple[Rule, ...]:
    every = table.sequence()
    if not every:
        raise table.error("no rows", "one or more, the last one without an end")
    rules = []
    for row in every:
        items = _ROW.items(row)
        values = _ROW.values(items)
        algorithm = items["algorithm"].text(ALGORITHMS[operation])
        bounds = [f"({name} <= {values[key]!r})" for name, key in (("n", _UP_TO), ("P", _RANKS)) if key in values]
        if bool(bounds) == (row is every[-1]):
            raise row.error(
                "the last row has an end" if bounds else "a row without an end before others",
                f"{_UP_TO} or {_RANKS} in each row but the last one",
            )
        rules.append(Rule(algorithm, " * ".join(bounds) or "1"))
    return tuple(rules)
