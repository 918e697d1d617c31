"""Markdown of lessons as HTML: CommonMark without raw HTML, and a few words of our own.

* ``{{name}}``, ``{{name : ms}}``, ``{{a/b : .2f}}``: a named value or an expression of them, in a unit or a format.
* ``[the formula](role:formula)``: a word in the colour of its role, one of ``ROLES``.
* ``[14 ms](clock:first_wait)``: a button that sets the clock to a named value, in s.
* A quotation (``>``) is a task for the student; a fenced block ``equation`` is set off in italics.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from html import escape

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from simcodesign.core.errors import InputError, Place

ROLES = ("formula", "simulation", "waiting", "you", "measured")
_VALUE = re.compile(r"\{\{([^{}:]+)(?::([^{}]*))?\}\}")
#: A button with what is written on to it: browsers would begin a line with the full stop behind a button.
_TOGETHER = re.compile(r'[^\s<>]*<button[^>]*class="jump"[^>]*>(?:(?!</button>).)*</button>[^\s<>]+', re.DOTALL)
#: Microseconds as authors type them.
_MICROSECONDS = re.compile(r"(?<=\d) us\b")
#: The value of an expression in SI units; and as text in a format ("" for none).
Evaluate = Callable[[str, Place], float]
Format = Callable[[str, str, Place], str]


def to_html(text: str, place: Place, evaluate: Evaluate, shown: Format) -> str:
    """The HTML of a text. InputError, with the file and its line, for a value, a role or a link that is none.

    A button for a time that is nan is text only."""

    def value(match: re.Match[str]) -> str:
        here = Place(place.file, (place.line or 1) + text.count("\n", 0, match.start()))
        return shown(match[1].strip(), (match[2] or "").strip(), here)

    filled = _MICROSECONDS.sub("\N{NO-BREAK SPACE}µs", _VALUE.sub(value, text))
    tokens = _parser().parse(filled)
    for token in tokens:
        line = (place.line or 1) + (token.map[0] if token.map else 0)
        _change(token, Place(place.file, line), evaluate)
    return _TOGETHER.sub(
        r'<span class="together">\g<0></span>', _parser().renderer.render(tokens, _parser().options, {})
    )


def inline_html(text: str, place: Place, evaluate: Evaluate, shown: Format) -> str:
    """The same of one paragraph, without its tags."""
    html = to_html(text, place, evaluate, shown).strip()
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
        return f'<p class="equation">{escape(token.content.strip())}</p>\n'
    return f"<pre><code>{escape(token.content)}</code></pre>\n"


def _change(token: Token, place: Place, evaluate: Evaluate) -> None:
    """Quotations into tasks, links into roles and buttons."""
    if token.type in ("blockquote_open", "blockquote_close"):
        token.tag = "div"
        token.attrSet("class", "task")
    closing: list[str] = []
    for child in token.children or ():
        if child.type == "link_open":
            closing.append(_link(child, place, evaluate))
        elif child.type == "link_close":
            child.tag = closing.pop()
        elif child.type == "image":
            raise InputError("pictures cannot stand in a text", place, allowed="text; figures are views of a step")


def _link(token: Token, place: Place, evaluate: Evaluate) -> str:
    """Change a link in place; the tag that it has now."""
    kind, _, target = str(token.attrs.get("href", "")).partition(":")
    if kind in ("http", "https"):
        token.attrs = {"href": f"{kind}:{target}", "rel": "noreferrer"}
        return "a"
    if kind == "role" and target in ROLES:
        token.tag, token.attrs = "span", {"class": f"role-{target}"}
    elif kind == "clock":
        time_s = evaluate(target.replace("%20", " "), place)
        token.tag, token.attrs = "button", {"type": "button", "class": "jump", "data-clock": repr(time_s)}
        if time_s != time_s:
            token.tag, token.attrs = "span", {}
    else:
        allowed = f"https://..., clock:NAME, {', '.join(f'role:{role}' for role in ROLES)}"
        raise InputError("not a link", place, value=f"{kind}:{target}", allowed=allowed)
    return token.tag
