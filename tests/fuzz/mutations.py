"""Damage: what is done to the bytes of a file, and to the words of a command line."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

_WORDS = r"""
0 1 2 3 -1 -0.0 0.5 1e9 1e-9 1e300 1e308 -1e308 1e-320 1e400 1e24 1000000000000000000000000 2147483648
9223372036854775807 18446744073709551616 nan NaN inf -inf .nan .inf ~ null true no 0x10 010 1_000 12:30 50% 1000%
-1% 1/0 0/0 9**9**9 n P rank x '' "" [] {} [[]] {a:b} * & ! ? : , ; # - -- = == <= ( ) < > | \ / . .. ... @ $ %
1us -1us 1B/s 1:10 1:10:log 10:1 1,2 P=2 n=nan all none auto kind bytes phase do repeat when min log2 where
"""
_SPACES = ("", " ", "\t", "\n", "\r\n")
_CONTROL = ("\x00", "\x1b[31m", "\x7f", "\ufeff")
_UNICODE = ("\N{GREEK SMALL LETTER MU}", "\N{SUPERSCRIPT TWO}", "\N{ARABIC-INDIC DIGIT THREE}", "\N{ZERO WIDTH SPACE}")
_DIGITS = ("9" * 30, "9" * 5000, f"1.{'0' * 400}1")
#: What is put in place of a token: numbers at and beyond the ends of ranges, words of YAML, and hostile text.
TOKENS = (*_WORDS.split(), *_SPACES, *_CONTROL, *_UNICODE, *_DIGITS)
#: What nests, and how.
NESTS = (("(", ")"), ("[", "]"), ("{a: ", "}"), ("-", ""), ("- ", ""), ("{", "}"), ("kernel k {", "}"), ("log2(", ")"))
DEPTHS = (2, 30, 300, 3000)
#: Options that nearly all commands have, or that are extreme.
OPTIONS = [
    "--json",
    "--set=n=0",
    "--set=P=0",
    "--set=P=nan",
    "--set=n=1e308",
    "--set=nodes=1e24",
    "--set=network.startup=-1",
    "--set=processor.rate=1e-320",
    "--set=network.bandwidth=inf",
    "--set=disk.spindles=0",
    "--seed=-1",
    "--seed=1e9",
    "--seed=340282366920938463463374607431768211456",
    "-P0",
    "-P-1",
    "-P1000000",
    "-P99999999999999999999",
    "--help",
    "--effects=none",
    "--effects=all",
    "--effects=,",
    "--engine=simpy",
    "--preset=tiny",
    "--preset=",
    "--phase=work",
    "--phase=",
    "--precision=0",
    "--precision=1e-320",
    "--replications=2",
    "--level=100%",
    "--level=nan",
    "--tolerance=-1",
    "--tolerance=nan",
    "--target=p=0",
    "--target=p=1e308",
    "--target=p=-1,n=nan",
    "--level=1",
    "--level=0",
    "--terms=0",
    "--terms=8",
    "--exact",
    "--negative-exponents",
    "--negative-coefficients",
    "--line=0",
    "--line=1e9",
    "--caches=0:0",
    "--caches=64:1",
    "--sample=0",
    "--bursts=0/0",
    "--bursts=5/1",
    "--most=0",
    "--most=1",
    "--groups",
    "--reuse",
    "--max-evaluations=100",
    "--vary=n=0:0",
    "--vary=n=nan:inf",
    "--vary=P=1:1e308",
    "--minimize=1/0*time",
    "--minimize=time",
    "--maximize=n",
    "--pareto",
    "--points=2",
    "--vary=n=1:1e308:x1.0001",
    "--vary=n=1:2:x1",
    "--vary=n=0:1:+1e-320",
    "--vary=n=1,2",
    "--vary=P=1:9:n=1",
    "--unknown=n",
    "--fix=network.startup=nan",
    "--simulate",
    "--kernel=main",
    "--socket=Chip",
    "--size=n=0",
    "--size=n=-1",
    "--confine=.",
    "--aspen-compatible",
    "--ladder",
]
Choose = random.Random

_TOKEN = re.compile(rb"[A-Za-z_][A-Za-z_0-9]*|[0-9][0-9.eE+-]*|[^\sA-Za-z0-9_]")
_NUMBER = re.compile(rb"[0-9][0-9.eE+-]*")


def _span(rng: Choose, data: bytes) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((1, 1, 2, 5, 20, 100)))


def _flip(rng: Choose, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def _delete(rng: Choose, data: bytes) -> bytes:
    start, end = _span(rng, data)
    return data[:start] + data[end:]


def _duplicate(rng: Choose, data: bytes) -> bytes:
    start, end = _span(rng, data)
    return data[:end] + data[start:end] * rng.choice((1, 1, 3, 100)) + data[end:]


def _truncate(rng: Choose, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _insert(rng: Choose, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(TOKENS).encode() + data[at:]


def _one_of(rng: Choose, pattern: re.Pattern[bytes], data: bytes) -> tuple[int, int]:
    spans = [match.span() for match in pattern.finditer(data)]
    return rng.choice(spans) if spans else (0, 0)


def _replace_token(rng: Choose, data: bytes) -> bytes:
    start, end = _one_of(rng, _TOKEN, data)
    return data[:start] + rng.choice(TOKENS).encode() + data[end:]


def _replace_number(rng: Choose, data: bytes) -> bytes:
    start, end = _one_of(rng, _NUMBER, data)
    return data[:start] + rng.choice(TOKENS[:30]).encode() + data[end:]


def _swap(rng: Choose, data: bytes) -> bytes:
    (a, b), (c, d) = sorted((_one_of(rng, _TOKEN, data), _one_of(rng, _TOKEN, data)))
    return data if c < b else data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def _lines(rng: Choose, data: bytes) -> bytes:
    """Two lines swapped, one dropped, one twice, or one indented otherwise."""
    lines = data.splitlines(keepends=True)
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(4):
        case 0:
            lines[at], lines[other] = lines[other], lines[at]
        case 1:
            del lines[at]
        case 2:
            lines.insert(other, lines[at])
        case _:
            lines[at] = b"  " + lines[at] if rng.random() < 0.5 else lines[at].removeprefix(b"  ")
    return b"".join(lines)


def _nest(rng: Choose, data: bytes) -> bytes:
    start, end = _one_of(rng, _TOKEN, data)
    before, after = rng.choice(NESTS)
    depth = rng.choice(DEPTHS)
    return data[:start] + before.encode() * depth + data[start:end] + after.encode() * depth + data[end:]


def _value_of_another_kind(rng: Choose, data: bytes) -> bytes:
    """What follows a colon or an equals sign becomes a list, a mapping, a number or nothing."""
    start, end = _one_of(rng, re.compile(rb"(?<=[:=]) *[^\n,}\]]+"), data)
    value = data[start:end].strip()
    others = (
        b"[%s]" % value,
        b"[]",
        b"{}",
        b"{x: %s}" % value,
        b"1",
        b"",
        b"[%s, %s]" % (value, value),
        b"'%s'" % value,
    )
    return data[:start] + b" " + rng.choice(others) + data[end:]


_WEIGHTS: dict[Callable[[Choose, bytes], bytes], int] = {
    _flip: 1,
    _delete: 1,
    _duplicate: 1,
    _truncate: 1,
    _insert: 1,
    _lines: 1,
    _nest: 1,
    _swap: 2,
    _replace_number: 6,
    _replace_token: 4,
    _value_of_another_kind: 3,
}


def changed_file(rng: Choose, data: bytes) -> bytes:
    """A file after one change, seldom empty or of other bytes altogether."""
    chance = rng.random()
    if chance < 0.01 or not data:
        return rng.choice((b"", b"\n", b"\xff\xfe", b"\x00" * 100, rng.randbytes(200)))
    (change,) = rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))
    return change(rng, data)


def changed_words(rng: Choose, words: list[str]) -> list[str]:
    """Words after the command itself: one dropped, repeated, replaced or changed inside, or an option more."""
    words = list(words)
    at = rng.randrange(len(words)) if words else 0
    match rng.randrange(8) if words else 0:
        case 0 | 1 | 2:
            words.insert(rng.randrange(len(words) + 1), rng.choice(OPTIONS))
        case 3:
            del words[at]
        case 4:
            words.insert(at, words[at])
        case 5:
            words[at] = rng.choice(TOKENS)
        case _:
            words[at] = changed_file(rng, words[at].encode()).decode(errors="replace")
    return words
