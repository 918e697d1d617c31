"""HTML of lessons as the XHTML that QTI 2.1 allows in questions and feedback."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from simcodesign.core.errors import InputError

MATHML = "http://www.w3.org/1998/Math/MathML"
#: Elements of XHTML in QTI 2.1 that texts of lessons use; others become ``span`` or, around blocks, ``div``.
BLOCKS = frozenset({"p", "div", "pre", "ul", "ol", "table", "h1", "h2", "h3", "h4", "h5", "h6", "hr"})
INLINE = frozenset({"a", "b", "br", "code", "em", "i", "small", "span", "strong", "sub", "sup", "kbd", "var"})
_PARTS = frozenset({"li", "thead", "tbody", "tr", "th", "td"})
_ATTRIBUTES = frozenset({"class", "href"})


def blocks(html: str) -> list[ET.Element]:
    """Return the elements of an HTML text; text outside of any element becomes paragraphs.

    Only elements and attributes of QTI remain. InputError for HTML that is not well-formed.
    """
    try:
        root = ET.fromstring(f"<div>{html}</div>")
    except ET.ParseError as error:
        raise InputError("a text that is not well-formed", value=str(error), allowed="closed tags") from None
    found: list[ET.Element] = []
    line = ET.Element("p")
    line.text = root.text
    for child in root:
        kept = _allowed(child)
        if kept.tag in BLOCKS:
            found.extend([*_closed(line), kept])
            line = ET.Element("p")
            line.text, kept.tail = kept.tail, None
        else:
            line.append(kept)
    return [*found, *_closed(line)]


def _closed(line: ET.Element) -> list[ET.Element]:
    return [line] if len(line) or (line.text or "").strip() else []


def _allowed(element: ET.Element) -> ET.Element:
    """Return an element with what QTI allows of it; formulas in MathML as they are, in their namespace."""
    if element.tag in ("math", f"{{{MATHML}}}math"):
        return _formula(element)
    kept = ET.Element(element.tag if element.tag in BLOCKS | INLINE | _PARTS else _stand_in(element))
    kept.text, kept.tail = element.text, element.tail
    kept.attrib.update({name: value for name, value in element.attrib.items() if name in _ATTRIBUTES})
    kept.extend(_allowed(child) for child in element)
    return kept


def _stand_in(element: ET.Element) -> str:
    return "div" if any(each.tag in BLOCKS for each in element.iter() if each is not element) else "span"


def _formula(element: ET.Element) -> ET.Element:
    for each in element.iter():
        each.tag = each.tag.rpartition("}")[2]
    element.set("xmlns", MATHML)
    return element
