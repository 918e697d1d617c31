"""Numbers and texts of a lesson as one compressed block of text, which a page unpacks without a request.

The block is base64 of gzip of: the length of the header in bytes (uint32), the header (JSON), zeros up to a multiple of
4, the arrays one after another. All numbers are little-endian. The header's ``arrays`` has of each array, by its name,
the kind (``f4`` or ``i4``), the shape and the offset, in items of 4 bytes after the header.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]


def pack(header: Mapping[str, Any], arrays: Arrays) -> str:
    """Return the block of a header and arrays: floats become float32, whole numbers int32."""
    described, parts, offset = {}, [], 0
    for name, array in arrays.items():
        kind = "f4" if np.issubdtype(array.dtype, np.floating) else "i4"
        part = np.ascontiguousarray(array, dtype=f"<{kind}")
        described[name] = {"kind": kind, "shape": list(array.shape), "offset": offset}
        parts.append(part.tobytes())
        offset += part.size
    text = json.dumps({**header, "arrays": described}, ensure_ascii=False, separators=(",", ":")).encode()
    head = np.uint32(len(text)).astype("<u4").tobytes() + text + bytes(-len(text) % 4)
    # The time in a gzip header would make every build another file.
    return base64.b64encode(gzip.compress(head + b"".join(parts), 9, mtime=0)).decode()


def unpack(block: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header without its ``arrays``, and the arrays by name."""
    data = gzip.decompress(base64.b64decode(block))
    length = int(np.frombuffer(data, "<u4", 1)[0])
    header = json.loads(data[4 : 4 + length])
    begin = 4 + length + -length % 4
    arrays = {}
    for name, one in header.pop("arrays").items():
        count = int(np.prod(one["shape"], dtype=int))
        found = np.frombuffer(data, f"<{one['kind']}", count, begin + 4 * one["offset"])
        arrays[name] = found.reshape(one["shape"])
    return header, arrays


def block_in(page: str) -> str:
    """Return the block of a page that ``page.py`` has written."""
    return page.split('<script type="text/plain" id="lesson-data">', 1)[1].split("</script>", 1)[0]
