"""Names of files that are made of names in descriptions."""

from __future__ import annotations

import re

_UNSAFE = re.compile(r"[^\w.,=+-]+")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # devices of Windows


def safe_file_name(text: str, max_characters: int = 40) -> str:
    """Return a file name without a folder for any text.

    Letters, digits, ``_``, ``-``, ``+``, ``=``, ``,`` and inner dots.

    Different texts may give the same name: add a digest if that matters.

    >>> safe_file_name("../../etc/passwd")
    'etc-passwd'
    """
    name = _UNSAFE.sub("-", text)[:max_characters].strip(".-")
    return f"{name}-" if _RESERVED.fullmatch(name) else name or "unnamed"
