"""Zip files that are the same each time, and XML texts, for packages that learning platforms import."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree as ET
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from simcodesign.core.files.atomic_files import replacing

#: The earliest time that a zip file can hold: packages do not depend on when they were written.
_TIME = (1980, 1, 1, 0, 0, 0)
XSI = "http://www.w3.org/2001/XMLSchema-instance"


def write_package(files: Mapping[str, str], output: Path) -> None:
    """Write texts by their names in the package as one zip file."""
    with replacing(output) as stream, ZipFile(stream, "w") as package:
        for name, text in files.items():
            entry = ZipInfo(name, _TIME)
            entry.compress_type = ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            package.writestr(entry, text.encode())


def identifier(text: str) -> str:
    """Return a text as an identifier: letters, digits and ``_``, not beginning with a digit."""
    plain = re.sub("[^A-Za-z0-9_]", "_", text)
    return plain if re.match("[A-Za-z_]", plain) else f"_{plain}"


def document(root: ET.Element, is_indented: bool = True) -> str:
    """Return the text of an XML file. Indenting would add blanks to texts of questions."""
    if is_indented:
        ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
