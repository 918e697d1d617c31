"""Markdown of lessons as HTML: CommonMark without raw HTML, and a few words of our own. Pictures stand in the page.

* ``{{name}}``, ``{{name : ms}}``, ``{{a/b : .2f}}``: a named value or an expression of them, in a unit or a format.
* ``[the formula](role:formula)``: a word in the colour of its role, one of ``ROLES``.
* ``[14 ms](clock:first_wait)``: a button that sets the clock to a named value, in s, and sliders to its stops.
* A quotation (``>``) is a task for the student; a fenced block ``equation`` is a formula (``equations``).
* ``![words for who does not see it](tree.svg)``: a picture of the lesson's folder.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.files.input_files import check_confined, is_file, read_bytes
from simcodesign.lessons.equations import equation_html

ROLES = ("formula", "simulation", "waiting", "you", "measured")
_VALUE = re.compile(r"\{\{([^{}:]+)(?::([^{}]*))?\}\}")
#: A button with what is written on to it: browsers would begin a line with the full stop behind a button.
_TOGETHER = re.compile(
    r'(?<![^\s<>])[^\s<>]*<button[^>]*class="jump"[^>]*>(?:(?!</button>).)*</button>[^\s<>]+', re.DOTALL
)
#: Microseconds as authors type them.
_MICROSECONDS = re.compile(r"(?<=\d) us\b|(?<=\bin) us(?=[?.,:)])")
#: Maximum number of opening brackets of a text: the time that the parser needs for them grows with their square.
_MAX_BRACKETS = 1000
#: Pictures by suffix, and the most bytes of one: the page has a third more.
_PICTURES = {".svg": "svg+xml", ".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".webp": "webp"}
_MAX_PICTURE_BYTES = 2**20
_WITH_BLANKS = re.compile(r"\]\((clock|role):[^)\s<]* [^)]*\)")


@dataclass(frozen=True)
class Moment:
    """Where a button sets the clock, in s, and the stops of sliders at which the run stands that it is a moment of."""

    time_s: float
    stops: Mapping[str, int]


#: The moment of a button by its expression, None if it is text only; and an expression in a format ("" for none).
MomentOf = Callable[[str, Place], Moment | None]
Format = Callable[[str, str, Place], str]


def to_html(text: str, place: Place, moment: MomentOf, shown: Format) -> str:
    """Return the HTML of a text. InputError, with the file and its line, for a value, a role or a link that is none."""

    def value(match: re.Match[str]) -> str:
        here = Place(place.file, (place.line or 1) + text.count("\n", 0, match.start()))
        return shown(match[1].strip(), (match[2] or "").strip(), here)

    if text.count("[") > _MAX_BRACKETS:
        raise InputError("too many '[' in one text", place, value=text.count("["), allowed=f"up to {_MAX_BRACKETS}")
    filled = _MICROSECONDS.sub("\N{NO-BREAK SPACE}µs", _VALUE.sub(value, text))
    tokens = _parser().parse(filled)
    line = 0
    for token in tokens:
        line = token.map[0] if token.map else line  # cells of tables have none
        _change(token, Place(place.file, (place.line or 1) + line), moment)
    return _TOGETHER.sub(
        r'<span class="together">\g<0></span>', _parser().renderer.render(tokens, _parser().options, {})
    )


def inline_html(text: str, place: Place, moment: MomentOf, shown: Format) -> str:
    """Return the same of one paragraph, without its tags."""
    html = to_html(text, place, moment, shown).strip()
    return html.removeprefix("<p>").removesuffix("</p>") if html.count("<p>") == 1 else html


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "typographer": False}).enable("table")
    parser.validateLink = lambda url: True  # type: ignore[method-assign] # links are judged in _change
    parser.add_render_rule("fence", _equation)
    return parser


def _equation(self: RendererHTML, tokens: list[Token], place: int, options: object, env: object) -> str:
    token = tokens[place]
    if token.info.strip() == "equation":
        return equation_html(token.content)
    return f"<pre><code>{escape(token.content)}</code></pre>\n"


def _change(token: Token, place: Place, moment: MomentOf) -> None:
    """Quotations into tasks, links into roles and buttons."""
    if token.type in ("blockquote_open", "blockquote_close"):
        token.tag = "div"
        if token.nesting == 1:  # a closing tag has no attributes
            token.attrSet("class", "task")
    broken = _WITH_BLANKS.search(token.content) if token.type == "inline" else None
    if broken:
        here = Place(place.file, (place.line or 1) + token.content.count("\n", 0, broken.start()))
        raise InputError("a link with blanks is none in Markdown", here, value=broken[0], allowed=f"{broken[1]}:a-b")
    closing: list[str] = []
    for child in token.children or ():
        if child.type in ("softbreak", "hardbreak"):
            place = Place(place.file, (place.line or 1) + 1)
        elif child.type == "link_open":
            closing.append(_link(child, place, moment))
        elif child.type == "link_close":
            child.tag = closing.pop()
        elif child.type == "image":
            child.attrs = {"src": _picture(child, place), "class": "picture"}


def _picture(token: Token, place: Place) -> str:
    """Return a picture as a data address: beside the text, or in the folder of the lesson above a translation."""
    name = unquote(str(token.attrs.get("src", "")))
    if not token.content.strip():
        raise InputError("a picture without words", place, value=name, allowed=f"![what it shows]({name})")
    suffix = Path(name).suffix.lower()
    if suffix not in _PICTURES or Path(name).name != name:
        what = f"the name of a file beside the text that ends in {', '.join(_PICTURES)}"
        raise InputError("not the name of a picture", place, value=name, allowed=what)
    folder = Path(place.file).parent
    folders = [folder, *([folder.parent] if is_file(folder.parent / "lesson.yaml") else [])]
    path = next((one / name for one in folders if is_file(check_confined(one / name, place))), None)
    if path is None:
        known = [one.name for one in folder.glob("*") if one.suffix.lower() in _PICTURES]
        raise InputError("no such picture", place, value=name, allowed=nearest(name, known))
    content = b64encode(read_bytes(path, _MAX_PICTURE_BYTES)).decode()
    return f"data:image/{_PICTURES[suffix]};base64,{content}"


def _link(token: Token, place: Place, moment: MomentOf) -> str:
    """Change a link in place; the tag that it has now."""
    kind, _, target = str(token.attrs.get("href", "")).partition(":")
    if kind in ("http", "https"):
        token.attrs = {"href": f"{kind}:{target}", "rel": "noreferrer"}
        return "a"
    if kind == "role" and target in ROLES:
        token.tag, token.attrs = "span", {"class": f"role-{target}"}
    elif kind == "clock":
        found = moment(unquote(target), place)
        token.tag, token.attrs = "span", {}
        if found is not None:
            stops = json.dumps(found.stops, separators=(",", ":"))
            attributes = {"type": "button", "class": "jump", "data-clock": repr(found.time_s), "data-stops": stops}
            token.tag, token.attrs = "button", dict[str, str | int | float](attributes)
    else:
        allowed = f"https://..., clock:NAME, {', '.join(f'role:{role}' for role in ROLES)}"
        raise InputError("not a link", place, value=f"{kind}:{target}", allowed=allowed)
    return token.tag
