"""Outcomes of validation cases as one HTML file that needs nothing else: no font, no request, no script but its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from simcodesign import __version__
from simcodesign.core.errors import InputError
from simcodesign.core.files.atomic_files import replacing_text
from simcodesign.core.units import DIMENSIONS
from simcodesign.describe.constants import dimension_at
from simcodesign.report.common.numbers import Seconds, quantity
from simcodesign.report.results.ladder_rows import not_here_text
from simcodesign.report.validation.cards import FOOT, WIDTH, cards, ticks
from simcodesign.report.validation.measured import (
    Column,
    expects_measured,
    measured_columns,
    measured_text,
    spread_words,
)
from simcodesign.report.validation.story import checked_text, holds_text, others_text, worst_cases
from simcodesign.report.validation.tables import (
    deviation_text,
    expected_text,
    label_text,
    number,
    row_unit,
    shown_point,
    tolerance_text,
)
from simcodesign.studies.validation.outcome import CaseLadder, CaseOutcome, counts
from simcodesign.studies.validation.verdict import HOLDS, SERIES, CaseValue, Verdict

TEMPLATE, STYLE, SCRIPT = (Path(__file__).with_name(f"page.{suffix}") for suffix in ("html.j2", "css", "js"))
#: Sign before each verdict, in addition to its colour.
SIGNS = {
    Verdict.REPRODUCED: "\\2713",
    Verdict.CHOSEN: "\\223C",
    Verdict.CONSISTENT: "=",
    Verdict.INCONSISTENT: "\\2260",
    Verdict.NOT_RECOVERABLE: "?",
    Verdict.NOT_REPRODUCED: "\\2212",
    Verdict.DIFFERS: "\\2717",
}
#: More rows are folded up.
MOST_ROWS = 30
READING_WORDS = {
    "forecast": "forecast (closed form)",
    "simulation": "simulation (events)",
    "both": "forecast and simulation",
    "source": "none: the source compared with itself",
}


def load_jinja() -> Any:
    """Jinja2. InputError when it is not installed."""
    try:
        import jinja2  # optional dependency
    except ImportError as error:
        raise InputError("Jinja2 is not installed", allowed="pip install 'simcodesign[report]'") from error
    return jinja2


def write_page(outcomes: Sequence[CaseOutcome], path: Path, *, dated: bool = False) -> None:
    """Write the page, whole or not at all. InputError when that cannot be done or Jinja2 is missing."""
    text = page(outcomes, dated=dated)
    with replacing_text(path) as file:
        file.write(text)


def page(outcomes: Sequence[CaseOutcome], *, dated: bool = False) -> str:
    """Return the page as text; the same outcomes give the same text, unless it is ``dated``."""
    jinja2 = load_jinja()
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "number": number,
        "label": label_text,
        "slug": slug,
        "ladder": ladder_rows,
    }
    text: str = environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        outcomes=outcomes,
        counts=counts(outcomes),
        others=others_text(outcomes),
        checked=checked_text(outcomes),
        holds=holds_text(outcomes),
        worst=worst_cases(outcomes),
        cards=cards(outcomes),
        width=WIDTH,
        foot=FOOT,
        ticks=ticks,
        signs=SIGNS.items(),
        style=STYLE.read_text(encoding="utf-8"),
        script=SCRIPT.read_text(encoding="utf-8"),
        readings=READING_WORDS,
        holding=HOLDS,
        version=__version__,
        most_rows=MOST_ROWS,
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC") if dated else "",
        deviation_text=deviation_text,
        expected_text=expected_text,
        columns=_columns,
        expects_measured=expects_measured,
        measured_text=measured_text,
        spread_words=spread_words,
        shown_point=shown_point,
        row_unit=row_unit,
        tolerance_text=tolerance_text,
        parameter_text=parameter_text,
    )
    return text


def _columns(outcome: CaseOutcome) -> list[Column]:
    """Columns of the table of a case that have values."""
    names = (("own", "own recomputed"), *((name, name) for name in SERIES))
    return [
        *(
            (words, True, _value_of(name))
            for name, words in names
            if name in outcome.tested or any(getattr(point, name) is not None for point in outcome.points)
        ),
        *measured_columns(outcome),
    ]


def _value_of(name: str) -> Callable[[CaseValue, float], str]:
    return lambda point, scale: number(getattr(point, name), scale)


def slug(verdict: Verdict) -> str:
    """Return the verdict as a class of the style sheet."""
    return verdict.replace(" ", "-")


def parameter_text(name: str, value: str) -> str:
    """Return a value as a reader expects it: constants of a machine with their units, whole numbers without a point."""
    try:
        number_ = float(value)
    except ValueError:
        return value
    if (dimension := dimension_at(name)) is not None:
        return quantity(number_, DIMENSIONS[dimension])
    return number(number_)


def ladder_rows(ladder: CaseLadder) -> dict[str, Any]:
    """Return rows of effect, simulated, change and share as texts, and the unit of the times.

    Also return which effects change nothing or have nothing to act on.
    """
    show = Seconds([ladder.start_s, *(step.simulated_s for step in ladder.steps)])
    rows = [(ladder.start, show(ladder.start_s), "", "")]
    idle = [step.effect for step in ladder.steps if not step.change_s]
    for step in ladder.steps:
        if not step.change_s:
            continue
        share = f"{step.fraction:z.1%}" if math.isfinite(step.fraction) else "\N{EN DASH}"
        rows.append((step.effect, show(step.simulated_s), show(step.change_s, "+"), share))
    return {"unit": show.unit, "rows": rows, "idle": idle, "absent": not_here_text(ladder.absent)}
