"""Formulas of texts as MathML: what an author types on a line, ``T = log₂ P · ( startup + bytes / bandwidth )``.

A formula has numbers, names, ``+ − · /``, relations, round brackets, commas, and digits that are raised or lowered
(``n²``, ``T₁``). ``a / b`` becomes a fraction, whose outer brackets are left out. Several words are one name, words
after a single letter its index, words after a number its unit. What does not read like this stays a line of text.

A formula is several elements ``math``, one for each term and factor: browsers break lines between them, not inside.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape, unescape

_LOW, _HIGH = "₀₁₂₃₄₅₆₇₈₉ₐₑₒₓₕₖₗₘₙₚₛₜ", "⁰¹²³⁴⁵⁶⁷⁸⁹"
_PLAIN = str.maketrans(_LOW + _HIGH, "0123456789aeoxhklmnpst0123456789")
_LETTER = rf"(?:(?![{_LOW}{_HIGH}])[^\W\d_])"
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>\d[\d.,]*(?<![.,]))|(?P<unit>(?<=\d )[A-Za-z]*(?:FLOP|B|bit)/s\b)"
    rf"|(?P<word>{_LETTER}+)|(?P<low>[{_LOW}]+)|(?P<high>[{_HIGH}]+)|(?P<dots>\.\.\.|…)|(?P<sign>[-+−·/=≤≥<>≈(),]))"
)
_RELATIONS = ("=", "≤", "≥", "<", ">", "≈")
_FUNCTIONS = ("log", "max", "min", "exp", "ln")
_MINUS = {"-": "−"}
#: Where a line may break: a space without width.
_BREAK = "\N{ZERO WIDTH SPACE}"
#: More brackets than a formula has.
_MAX_BRACKETS = 40
_SHOWN = re.compile(r'<p class="equation" data-plain="([^"]*)">.*?</p>', re.DOTALL)


def equation_html(text: str) -> str:
    """Return a paragraph with a formula as MathML, or with its text if it does not read as a formula."""
    plain = " ".join(text.split())
    try:
        chunks = _Reader(_tokens(plain)).chunks()
    except ValueError:
        return f'<p class="equation">{escape(plain)}</p>\n'
    shown = _BREAK.join(f'<math displaystyle="true">{one}</math>' for one in chunks)
    return f'<p class="equation" data-plain="{escape(plain)}">{shown}</p>\n'


def without_mathml(html: str) -> str:
    """Return HTML with every formula as the text that its author typed."""
    return _SHOWN.sub(lambda match: f'<p class="equation">{escape(unescape(match[1]), quote=False)}</p>', html)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str


def _tokens(text: str) -> list[_Token]:
    if text.count("(") > _MAX_BRACKETS:
        raise ValueError("too many brackets")
    found, at = list[_Token](), 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise ValueError(text[at:])
        found.append(_Token(match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found


@dataclass
class _Reader:
    """Reads tokens by recursive descent; ValueError for what is no formula."""

    tokens: Sequence[_Token]
    at: int = 0

    def chunks(self) -> list[str]:
        """Return the formula in pieces that stay on a line: each is a sign and the factor behind it."""
        found = self._relation_parts()
        if self.at < len(self.tokens):
            raise ValueError(self.tokens[self.at].text)
        return found

    def _sign(self, *allowed: str) -> str:
        """Return the next token if it is one of these signs, which is read then; or ""."""
        if self.at < len(self.tokens) and self.tokens[self.at].kind == "sign":
            sign = self.tokens[self.at].text
            if sign in allowed:
                self.at += 1
                return sign
        return ""

    def _relation_parts(self) -> list[str]:
        parts = self._sum_parts()
        while sign := self._sign(*_RELATIONS, ","):
            first, *rest = self._sum_parts()
            parts += [_operator(sign) + first, *rest]
        return parts

    def _sum_parts(self) -> list[str]:
        lead = self._sign("-", "−")
        parts = self._product_parts()
        parts[0] = (f'<mo form="prefix">−</mo>{parts[0]}') if lead else parts[0]
        while sign := self._sign("+", "-", "−"):
            first, *rest = self._product_parts()
            parts += [_operator(sign) + first, *rest]
        return parts

    def _product_parts(self) -> list[str]:
        parts = [self._quotient()]
        while self._sign("·"):
            parts.append(_operator("·") + self._quotient())
        return parts

    def _quotient(self) -> str:
        shown, inner = self._factor()
        while self._sign("/"):
            _, below = self._factor()
            shown = inner = f"<mfrac><mrow>{inner}</mrow><mrow>{below}</mrow></mfrac>"
        return shown

    def _factor(self) -> tuple[str, str]:
        """Factors that are multiplied without a sign, without brackets around the whole factor."""
        parts: list[tuple[str, str]] = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.text == "(":
                parts.append(self._bracket())
            elif token.kind == "sign":
                break
            else:
                shown = self._atom()
                parts.append((shown, shown))
        if not parts:
            raise ValueError("an operand is missing")
        shown = '<mspace width="0.17em"></mspace>'.join(one for one, _ in parts)
        return shown, parts[0][1] if len(parts) == 1 else shown

    def _bracket(self) -> tuple[str, str]:
        self.at += 1
        inner = "".join(self._relation_parts())
        if not self._sign(")"):
            raise ValueError("a bracket is not closed")
        shown = f"<mrow><mo>(</mo>{inner}<mo>)</mo></mrow>"
        if self._is("high"):
            shown = f"<msup>{shown}{self._script()}</msup>"
            return shown, shown
        return shown, inner

    def _is(self, kind: str) -> bool:
        return self.at < len(self.tokens) and self.tokens[self.at].kind == kind

    def _script(self) -> str:
        text = self.tokens[self.at].text.translate(_PLAIN)
        self.at += 1
        return f"<mn>{text}</mn>" if text.isdigit() else f"<mi>{text}</mi>"

    def _atom(self) -> str:
        """Return a number with its unit, a name with its index, or dots."""
        token = self.tokens[self.at]
        self.at += 1
        if token.kind == "dots":
            return "<mo>⋯</mo>" if token.text == "..." else "<mtext>…</mtext>"
        if token.kind == "number":
            return f"<mn>{token.text}</mn>"
        if token.kind == "unit":
            return f"<mtext>{escape(token.text)}</mtext>"
        if token.kind != "word":
            raise ValueError(token.text)
        return self._name(token.text)

    def _name(self, first: str) -> str:
        words = [first]
        while self._is("word") and first not in _FUNCTIONS and not self._has_script(self.at):
            words.append(self.tokens[self.at].text)
            self.at += 1
        if len(words) > 1:
            name = f"<mtext>{' '.join(words)}</mtext>"
            if len(first) == 1 and all(len(word) > 1 for word in words[1:]):
                name = f'<msub><mi mathvariant="normal">{first}</mi><mtext>{" ".join(words[1:])}</mtext></msub>'
        else:
            name = f'<mi mathvariant="normal">{first}</mi>' if len(first) == 1 else f"<mi>{first}</mi>"
        if self._is("low"):
            name = f"<msub>{name}{self._script()}</msub>"
        if self._is("high"):
            name = f"<msup>{name}{self._script()}</msup>"
        return name

    def _has_script(self, at: int) -> bool:
        """Whether the token behind this one is raised or lowered: it is a name of its own."""
        return at + 1 < len(self.tokens) and self.tokens[at + 1].kind in ("low", "high")


def _operator(sign: str) -> str:
    return f'<mo form="infix">{escape(_MINUS.get(sign, sign))}</mo>'
