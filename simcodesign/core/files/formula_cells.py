"""Text in tables that a spreadsheet program would take for a formula: with an apostrophe in front it does not.

Text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return, after any apostrophes, gets one more
apostrophe, and loses it again when it is read, so that every text reads back as it was. Numbers stay as they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def escaped(text: str) -> str:
    """Return the text as it is written into a cell."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unescaped(cell: str) -> str:
    """Return the text that a cell represents."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def escaped_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with its texts, and the names of its columns, as they are written into cells."""
    texts = frame.select_dtypes(exclude=["number", "bool"]).columns
    cells = {name: frame[name].map(lambda entry: escaped(entry) if isinstance(entry, str) else entry) for name in texts}
    return frame.assign(**cells).rename(columns=escaped)
