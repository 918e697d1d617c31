"""Pictures within a page: an SVG made smaller, as an address, or many of them compressed."""

from __future__ import annotations

import gzip
import re
from base64 import b64encode
from collections.abc import Sequence

#: Between the pictures of a pack.
SEPARATOR = "\0"


def packed(svgs: Sequence[str]) -> str:
    """Pictures as one text: gzip in base64, which a browser unpacks (``DecompressionStream``).

    They are so alike that a twentieth is left. The same pictures give the same text.
    """
    return b64encode(gzip.compress(SEPARATOR.join(map(inline, svgs)).encode(), 9, mtime=0)).decode("ascii")


def inline(svg: str) -> str:
    """Return the picture as an element of a page.

    Without the style that would hold for the rest of the page as well. The identifiers that Matplotlib gives are
    digests of what they name, so that equal ones are of equal things.
    """
    return re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", slim(svg), flags=re.DOTALL)


def image_address(svg: str) -> str:
    """As an address that holds the picture.

    Safe within double quotes; as text, which takes a third less than base64.
    """
    text = slim(svg)
    text = text if "'" in text else text.replace('"', "'")
    for character in '%"#&':  # the first of them first
        text = text.replace(character, f"%{ord(character):02X}")
    return f"data:image/svg+xml;charset=utf-8,{text}"


def slim(svg: str) -> str:
    """Remove what a browser does not need.

    Comments, metadata, names of groups, lists of fonts, line ends, thousandths of a point. Numbers below 1 stay: they
    may be scales of letters.
    """
    text = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    text = re.sub(r"(?<![\d.])(\d*[1-9]\d*\.\d{2})\d+", r"\1", text)
    text = re.sub(r"font-family: [^;\"]*", "font-family: sans-serif", text)
    text = re.sub(r"(font: [^;\"]*?px) [^;\"]*", r"\1 sans-serif", text)
    text = re.sub(r"<g id=\"[^\"]*\">", "<g>", text)
    text = re.sub(r" transform=\"rotate\(-0 [^)]*\)\"", "", text)
    text = re.sub(r"style=\"[^\"]*\"", lambda style: style[0].replace("; ", ";").replace(": ", ":"), text)
    text = re.sub(r">\s+<", "><", text)
    text = text.replace("#000000", "black").replace("#ffffff", "white")
    single = r"<g>(<(?:use|path)[^>]*/>|<text[^>]*>[^<]*</text>)</g>"
    for _ in range(3):  # groups of one element, in each other
        text = re.sub(single, r"\1", text)
    return re.sub(r"\s+", " ", text).strip()
