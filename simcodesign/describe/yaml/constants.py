"""Constants of one part of a machine, from a YAML tree."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from simcodesign.core.errors import InputError, nearest
from simcodesign.core.expressions.expression import Expression, Name, parse
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import check_constant, dimension_at
from simcodesign.describe.machine_parts.storage import STORAGE
from simcodesign.describe.network.interfaces import INTERFACES
from simcodesign.describe.network.message_models.base import MESSAGE_MODELS
from simcodesign.describe.network.network import NETWORK
from simcodesign.describe.resources import RANKS, Custom, evaluated, with_ranks
from simcodesign.describe.yaml.resources import WITH_UNIT
from simcodesign.describe.yaml.tree import Entry

#: Bandwidths, and what their inverse is.
_INVERSES = {"bandwidth": "per_byte"} | {
    names[0]: names[-1] for section in (NETWORK, INTERFACES, STORAGE) for names in section.pairs.values()
}
#: Names of keys and of their inverses.
OTHER_NAMES = {"G": "bandwidth"} | {one: other for pair in _INVERSES.items() for one, other in (pair, pair[::-1])}


#: Parts of a machine file whose constants may be formulas.
PARTS = ("processor", "network", "node", "socket", "disk", "accelerator", "storage", "caches", "memory", "failures")


def with_formulas_evaluated(
    items: Mapping[str, Entry], custom: Custom, counts: Mapping[str, FloatOrArray]
) -> tuple[dict[str, Entry], Custom]:
    """Return the items of a machine file with numbers instead of the formulas of constants.

    Also return ``custom`` with these formulas, by the paths of the constants. A formula uses what ``custom`` defines,
    the ``counts`` and the number of ranks P, which is the number of processors until a run has another one; of a
    bandwidth it is kept as the formula of its inverse.

    InputError for a name that is neither.
    """
    known = custom.names_over(counts) | {RANKS}
    formulas: dict[str, Expression] = {}
    names: dict[str, FloatOrArray] = {}

    def read(entry: Entry, path: str) -> Entry:
        if isinstance(entry.content, dict):
            return replace(entry, content={key: read(item, f"{path}.{key}") for key, item in entry.content.items()})
        constant = _constant_at(path, items)
        formula = None if constant is None else formula_over(entry, known)
        if constant is None or formula is None:
            return entry
        names.update(names or with_ranks(custom.names(counts, known), counts))
        value = evaluated(formula, names, path, entry.place)
        is_inverse = constant[1]
        formulas[constant[0]] = parse(f"1/({formula.text})", entry.place) if is_inverse else formula
        return replace(entry, content=repr(float(value)))

    changed = {key: read(item, key) if key in PARTS else item for key, item in items.items()}
    return changed, replace(custom, constants=formulas) if formulas else custom


def _constant_at(path: str, items: Mapping[str, Entry]) -> tuple[str, bool] | None:
    """Return the path of a constant or power, and whether the value at ``path`` is its inverse.

    None for anything else.
    """
    part, _, key = path.rpartition(".")
    inverse = _INVERSES.get(key)
    if inverse is not None and path in ("network.bandwidth", "node.network.bandwidth", "socket.network.bandwidth"):
        stated = items["network"].mapping().get("model")
        model = MESSAGE_MODELS.get(str(stated.content)) if stated is not None else None
        inverse = inverse if model is None else model.per_byte_key()
    constant = path if inverse is None else f"{part}.{inverse}"
    return (constant, inverse is not None) if dimension_at(constant) is not None else None


def formula_over(entry: Entry, known: Collection[str]) -> Expression | None:
    """Return a formula over these names; None for a number, a quantity, and whatever else its reader will refuse."""
    if not isinstance(entry.content, str) or WITH_UNIT.fullmatch(entry.content.strip()):
        return None
    try:
        formula = parse(entry.content, entry.place)
    except InputError:
        return None
    unknown = sorted(formula.names - set(known))
    if not formula.names or (unknown and isinstance(formula.tree, Name)):
        return None
    if unknown:
        raise InputError("unknown name", entry.place, value=unknown[0], allowed=nearest(unknown[0], known))
    return formula


def constant_value(path: str, item: Entry) -> float:
    """Return the constant of this path, in SI units, if it can be used."""
    dimension = dimension_at(path)
    assert dimension is not None, path
    value = item.quantity(dimension)
    check_constant(path, value, item.place)
    return value
