"""Outcomes of validation cases as one HTML file that needs nothing else: no script, no font, no request."""

from __future__ import annotations

import math
import re
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
from simcodesign.report.validation.measured import (
    Column,
    expects_measured,
    measured_columns,
    measured_text,
    spread_words,
)
from simcodesign.report.validation.tables import (
    counts_line,
    deviation_text,
    expected_text,
    label_text,
    number,
    row_unit,
    shown_point,
    tolerance_text,
)
from simcodesign.studies.validation.outcome import CaseLadder, CaseOutcome, counts
from simcodesign.studies.validation.verdict import SERIES, CaseValue, Verdict

TEMPLATE = Path(__file__).with_name("page.html.j2")
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
    """The page as text; the same outcomes give the same text, unless it is ``dated``."""
    jinja2 = load_jinja()
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "number": number,
        "label": label_text,
        "slug": slug,
        "image": image_address,
        "ladder": ladder_rows,
    }
    text: str = environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        outcomes=outcomes,
        counts=counts(outcomes),
        summary=counts_line(outcomes),
        verdicts=[*reversed(Verdict)],
        groups=_groups(outcomes),
        readings=READING_WORDS,
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
        counted=_counted,
        tolerance_text=tolerance_text,
        parameter_text=parameter_text,
        picture_text=picture_text,
    )
    return text


def _groups(outcomes: Sequence[CaseOutcome]) -> list[tuple[str, list[CaseOutcome]]]:
    """Outcomes by the first part of their names, both in the order given."""
    groups: dict[str, list[CaseOutcome]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome.group, []).append(outcome)
    return list(groups.items())


def _columns(outcome: CaseOutcome) -> list[Column]:
    """What the table of a case has values for."""
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
    """The verdict as a class of the style sheet."""
    return verdict.replace(" ", "-")


def _counted(outcomes: Sequence[CaseOutcome]) -> list[tuple[Verdict, int]]:
    """Verdicts that occur, and how often."""
    return [(verdict, count) for verdict, count in counts(outcomes).items() if count]


def parameter_text(name: str, value: str) -> str:
    """A value as a reader expects it: constants of a machine with their units, whole numbers without a point."""
    try:
        number_ = float(value)
    except ValueError:
        return value
    if (dimension := dimension_at(name)) is not None:
        return quantity(number_, DIMENSIONS[dimension])
    return number(number_)


def picture_text(outcome: CaseOutcome) -> str:
    """What a plot shows, for those who do not see it."""
    points, tested = outcome.points, " and ".join(outcome.tested) or "the source's own equations"
    scale, unit = row_unit(outcome, *points)
    targets = [outcome.target(point) for point in points]
    low, high = (number(extreme(targets), scale) for extreme in (min, max))
    span = f"{low} {unit}".rstrip() if low == high else f"{low} to {high} {unit}".rstrip()
    over = f" over {outcome.axis}" if outcome.axis else ""
    worst = deviation_text(outcome, shown_point(outcome))
    many = f"{len(points)} values" if len(points) > 1 else "one value"
    verdict = f"{tested}: {outcome.verdict}, deviation at the closest {worst}"
    return f"Plot of {outcome.name}: {many}{over}, expected {span}; {verdict}."


def ladder_rows(ladder: CaseLadder) -> dict[str, Any]:
    """Rows of effect, simulated, change and share as texts, the unit of the times, and what has nothing to act on."""
    show = Seconds([ladder.start_s, *(step.simulated_s for step in ladder.steps)])
    rows = [(ladder.start, show(ladder.start_s), "", "")]
    for step in ladder.steps:
        share = f"{step.share:z.1%}" if math.isfinite(step.share) else "\N{EN DASH}"
        rows.append((step.effect, show(step.simulated_s), show(step.change_s, "+"), share))
    return {"unit": show.unit, "rows": rows, "absent": not_here_text(ladder.absent)}


def image_address(svg: str) -> str:
    """As an address that holds the picture: identifiers of several SVGs in one page would collide. Safe within double
    quotes; as text, which takes a third less than base64."""
    text = slim(svg)
    text = text if "'" in text else text.replace('"', "'")
    for character in '%"#&':  # the first of them first
        text = text.replace(character, f"%{ord(character):02X}")
    return f"data:image/svg+xml;charset=utf-8,{text}"


def slim(svg: str) -> str:
    """The same picture without what a browser does not need: comments, metadata, names of groups, lists of fonts, line
    ends, thousandths of a point. Numbers below 1 stay: they may be scales of letters."""
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
