"""Answers as they are typed, and what they mean: one table for Python and for the page."""

from __future__ import annotations

#: Language of the page, what is typed, unit of the answer, and the numbers that it can mean. A number that can mean two
#: has first what it means in the notation of the page.
CASES: list[tuple[str, str, str, tuple[float, ...]]] = [
    # plain numbers
    *((language, "2279", "", (2279.0,)) for language in ("en", "de")),
    *((language, " -35 ", "", (-35.0,)) for language in ("en", "de")),
    *((language, "\N{MINUS SIGN}1e3", "", (-1000.0,)) for language in ("en", "de")),
    *((language, "1.5e-3", "", (0.0015,)) for language in ("en", "de")),
    # decimals, in the notation of the page or in the other where only that is possible
    ("en", "2.279", "", (2.279,)),
    ("de", "2,279", "", (2.279,)),
    ("en", "0,5", "", (0.5,)),
    ("de", "0.5", "", (0.5,)),
    ("en", "0,279", "", (0.279,)),
    ("de", "0.279", "", (0.279,)),
    ("en", "2,27", "", (2.27,)),
    ("de", "2.2791", "", (2.2791,)),
    ("en", "1234,567", "", (1234.567,)),
    ("de", "1234.567", "", (1234.567,)),
    ("en", ".5", "", (0.5,)),
    ("de", ",5", "", (0.5,)),
    ("en", "7.", "", (7.0,)),
    # thousands that can mean nothing else
    ("en", "1,234,567", "", (1234567.0,)),
    ("en", "1.234.567", "", (1234567.0,)),
    ("de", "1.234.567", "", (1234567.0,)),
    ("de", "1,234,567", "", (1234567.0,)),
    ("en", "2,279.5", "", (2279.5,)),
    ("en", "2.279,5", "", (2279.5,)),
    ("de", "2.279,5", "", (2279.5,)),
    ("de", "2,279.5", "", (2279.5,)),
    *((language, "2 279", "", (2279.0,)) for language in ("en", "de")),
    *((language, "2\N{NARROW NO-BREAK SPACE}279", "", (2279.0,)) for language in ("en", "de")),
    *((language, "12'345'678", "", (12345678.0,)) for language in ("en", "de")),
    # thousands by the page, decimals elsewhere
    ("en", "2,279", "", (2279.0, 2.279)),
    ("de", "2.279", "", (2279.0, 2.279)),
    ("en", "1,375", "", (1375.0, 1.375)),
    ("en", "-1,375 ms", "ms", (-1375.0, -1.375)),
    ("de", "1.000", "", (1000.0, 1.0)),
    ("en", "3,500/2", "", (1750.0, 1.75)),
    # quotients, products, powers and sums
    *((language, "3/2", "", (1.5,)) for language in ("en", "de")),
    *((language, "3 : 2", "", (1.5,)) for language in ("en", "de")),
    *((language, "2*3", "", (6.0,)) for language in ("en", "de")),
    *((language, "2×3·4", "", (24.0,)) for language in ("en", "de")),
    *((language, "10 x 10.5", "", (105.0,)) for language in ("en", "de")),
    *((language, "63·64/2", "", (2016.0,)) for language in ("en", "de")),
    *((language, "2^10", "", (1024.0,)) for language in ("en", "de")),
    *((language, "2**-1", "", (0.5,)) for language in ("en", "de")),
    *((language, "-2^2", "", (-4.0,)) for language in ("en", "de")),
    *((language, "2^3^2", "", (512.0,)) for language in ("en", "de")),
    *((language, "8/4/2", "", (1.0,)) for language in ("en", "de")),
    *((language, "1 + 1/2 + 1/4", "", (1.75,)) for language in ("en", "de")),
    *((language, "(1 - 1/4) * 8", "", (6.0,)) for language in ("en", "de")),
    ("de", "3,5/2", "", (1.75,)),
    ("en", "1,024*2.5", "", (2560.0,)),
    # units, which stand beside the field
    ("en", "105.8 ms", "ms", (105.8,)),
    ("de", "105,8ms", "ms", (105.8,)),
    ("en", "15 us", "µs", (15.0,)),
    ("en", "15 \N{GREEK SMALL LETTER MU}s", "µs", (15.0,)),
    ("de", "22 %", "%", (22.0,)),
    # what is no number, or not finite
    *(
        (language, text, "", ())
        for language in ("en", "de")
        for text in (
            "",
            " ",
            "many",
            "1,23,456",
            "1.234,5.6",
            "1,234,5",
            "1 2",
            "1 1/2",
            "3/",
            "(3",
            "3)",
            "--",
            "2,,3",
        )
    ),
    *((language, "5 s", "ms", ()) for language in ("en", "de")),
    *((language, "5 ms", "", ()) for language in ("en", "de")),
    *((language, text, "", ()) for language in ("en", "de") for text in ("1/0", "1/(1/0)", "9^9^9^9", "(0-8)^(1/3)")),
    *(
        (language, text, "", ())
        for language in ("en", "de")
        for text in ("1e999", "1/1e999", "Infinity", "nan", "0^-1")
    ),
    *((language, text, "", ()) for language in ("en", "de") for text in ("(" * 5000, "1" * 200, "\u0661\u0662")),
]
#: Language, text of a question, and whether it has a number with a mark between thousands.
BESIDE: list[tuple[str, str, bool]] = [
    ("en", "How many of the 4,032 messages?", True),
    ("en", "How long do <strong>1,024</strong> nodes take?", True),
    ("en", "From 1,234,567.5 on?", True),
    ("en", "From 0,125 s or 1.375 s on?", False),
    ("en", "<button data-stops='[1,128]'>8 nodes</button>", False),
    ("en", "In 1,5 s, by 12,34 or 1,2345?", False),
    ("de", "Wie viele der 4.032 Nachrichten?", True),
    ("de", "Wie viele der 4032 Nachrichten in 1,375 s?", False),
]
