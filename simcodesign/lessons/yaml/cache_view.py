"""Options of the view ``cache``: the array, the strides and the sizes of the cache."""

from __future__ import annotations

from simcodesign.core.errors import InputError
from simcodesign.describe.yaml.tree import Entry
from simcodesign.lessons.figures.cache_steps import ELEMENT_BYTES, LINE_BYTES
from simcodesign.locality.cache import CacheGeometry

#: Elements of the array, and strides or sizes: each access of each pair of them is in the page.
MOST_ELEMENTS, MOST_CHOICES = 256, 8


def read_cache_options(items: dict[str, Entry], entry: Entry) -> dict[str, object]:
    """Return ``elements``, ``strides``, ``sizes`` (bytes) and, if given, ``ways``. InputError for impossible caches."""
    for name in ("elements", "strides", "sizes"):
        if name not in items:
            raise InputError(f"'{name}' is missing", entry.place, allowed="elements, strides and sizes")
    elements = items["elements"].whole(1, MOST_ELEMENTS)
    strides = [one.whole(1, elements) for one in _several(items["strides"])]
    ways = items["ways"].whole(1, MOST_ELEMENTS) if "ways" in items else None
    sizes: list[int] = []
    for one in _several(items["sizes"]):
        size_bytes = one.quantity("size")
        try:
            cache = CacheGeometry(size_bytes, LINE_BYTES, ways)  # type: ignore[arg-type]  # a whole float is taken
        except InputError as error:
            raise one.error(str(error), f"a multiple of a line of {LINE_BYTES} bytes") from error
        if cache.size_bytes > 2 * MOST_ELEMENTS * ELEMENT_BYTES:
            raise one.error("the cache is too large to be drawn", f"at most {2 * MOST_ELEMENTS * ELEMENT_BYTES} bytes")
        sizes.append(cache.size_bytes)
    return {"elements": elements, "strides": strides, "sizes": sizes} | ({} if ways is None else {"ways": ways})


def _several(entry: Entry) -> list[Entry]:
    """Return the members of a list that a slider can show."""
    members = list(entry.sequence())
    if not 1 <= len(members) <= MOST_CHOICES:
        raise entry.error(f"{len(members)} values", f"1 to {MOST_CHOICES}")
    return members
