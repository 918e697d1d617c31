"""Outcomes of validation cases as one HTML file that needs nothing else: no script, no font, no request."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from simcodesign import __version__
from simcodesign.errors import InputError
from simcodesign.report.tables import Seconds
from simcodesign.report.verdicts import counts_line, expected_text, label_text, number, percent
from simcodesign.validate.outcome import Ladder, Outcome, counts
from simcodesign.validate.verdict import Point, Verdict

TEMPLATE = Path(__file__).with_name("page.html.j2")
#: More rows are folded up.
MOST_ROWS = 30
READING_WORDS = {
    "forecast": "forecast (closed form)",
    "simulation": "simulation (events)",
    "both": "forecast and simulation",
    "source": "none: the source held against itself",
}


def load_jinja() -> Any:
    """Jinja2. InputError when it is not installed."""
    try:
        import jinja2  # optional dependency
    except ImportError as error:
        raise InputError("Jinja2 is not installed", allowed="pip install 'simcodesign[report]'") from error
    return jinja2


def write_page(outcomes: Sequence[Outcome], path: Path, *, dated: bool = False) -> None:
    """Write the page. InputError when the file cannot be written or Jinja2 is missing."""
    text = page(outcomes, dated=dated)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write the report: {error.strerror or error}", value=str(path)) from error


def page(outcomes: Sequence[Outcome], *, dated: bool = False) -> str:
    """The page as text; the same outcomes give the same text, unless it is ``dated``."""
    jinja2 = load_jinja()
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "number": number, "label": label_text, "percent": percent, "slug": slug, "image": _image, "ladder": ladder_rows,
    }  # fmt: skip
    text: str = environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        outcomes=outcomes, counts=counts(outcomes), summary=counts_line(outcomes), verdicts=[*reversed(Verdict)],
        groups=_groups(outcomes), readings=READING_WORDS, version=__version__, most_rows=MOST_ROWS,
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC") if dated else "", deviation_text=deviation_text,
        expected_text=expected_text, columns=_columns,
    )  # fmt: skip
    return text


def _groups(outcomes: Sequence[Outcome]) -> list[tuple[str, list[Outcome]]]:
    """Outcomes by the first part of their names, both in the order given."""
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome.group, []).append(outcome)
    return list(groups.items())


def _columns(outcome: Outcome) -> list[tuple[str, str]]:
    """What the table of a case has values for: names of Point, and what they are called there."""
    names = (("own", "own recomputed"), ("forecast", "forecast"), ("simulation", "simulation"))
    return [
        (name, words) for name, words in names
        if name in outcome.tested or any(getattr(point, name) is not None for point in outcome.points)
    ]  # fmt: skip


def slug(verdict: Verdict) -> str:
    """The verdict as a class of the style sheet."""
    return verdict.replace(" ", "-")


def deviation_text(outcome: Outcome, point: Point) -> str:
    """The relative deviation; the difference where zero is expected."""
    deviation = outcome.deviation(point)
    if not math.isnan(deviation) or outcome.target(point) != 0:
        return percent(deviation)
    values = [value for name in outcome.tested if (value := getattr(point, name)) is not None]
    return f"{max(values, key=abs):+.2g} {outcome.unit}".rstrip() if values else percent(deviation)


def ladder_rows(ladder: Ladder) -> dict[str, Any]:
    """Rows of effect, simulated, change and share as texts, and the unit of the times."""
    show = Seconds([ladder.forecast_s, *(step.simulated_s for step in ladder.steps)])
    rows = [("forecast", show(ladder.forecast_s), "", "")]
    for step in ladder.steps:
        share = f"{step.share:.1%}" if math.isfinite(step.share) else "\N{EN DASH}"
        rows.append((step.effect, show(step.simulated_s), show(step.change_s, "+"), share))
    return {"unit": show.unit, "rows": rows}


def _image(svg: str) -> str:
    """As an address that holds the picture: identifiers of several SVGs in one page would collide."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode("ascii")
