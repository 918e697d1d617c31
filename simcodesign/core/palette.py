"""The colours of roles, in pictures, report pages and lessons alike."""

from __future__ import annotations

#: The columns of a comparison.
MEASURED, FORECAST, SIMULATED = "#000000", "#E69F00", "#0072B2"
#: Colours of values that are too low, or time removed; and too high, or time added.
LOW, HIGH = "#56B4E9", "#D55E00"
#: Waiting is hatched in grey, because in grey alone it looks like an operation.
GREY = "#999999"
#: A learner's own prediction, apart from the readings under any kind of colour vision.
PREDICTED = "#A0307A"

#: Variables of a page, and their colours on light and on dark paper: ``-2`` and ``-3`` are surfaces, ``-t`` is text.
_PAGE = {
    "for": (FORECAST, FORECAST),
    "for-t": ("#855800", "#F0B83C"),
    "sim": (SIMULATED, "#4AA0E0"),
    "sim-2": ("#B3D5EA", "#1F4A6B"),
    "sim-3": ("#E2F0F8", "#16293A"),
    "low": (LOW, "#A5DAF5"),
    "low-2": ("#8FCDF0", "#1F5F8A"),
    "high": (HIGH, "#ED6A1F"),
    "high-2": ("#F0A36B", "#8A3D0C"),
    "high-t": ("#B34A00", "#F58A4A"),
    "wait": (GREY, GREY),
    "you": (PREDICTED, "#FF9FDC"),
    "you-t": (PREDICTED, "#FF9FDC"),
    "you-2": ("#F3DFEC", "#43203A"),
}


def page_colours() -> str:
    """Return the style sheet that sets the colours of roles on a page, light or dark by choice and by system."""
    light, dark = (" ".join(f"--{name}: {pair[at]};" for name, pair in _PAGE.items()) for at in (0, 1))
    return (
        f':root {{ {light} }}\n:root[data-theme="dark"] {{ {dark} }}\n'
        f'@media (prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{ {dark} }} }}\n'
    )
