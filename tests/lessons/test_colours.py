"""Roles can be told apart by who sees no difference between red and green, and their texts be read."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from simcodesign.core import palette as one_palette
from simcodesign.lessons.compute import Numbers
from simcodesign.lessons.description import Lesson
from simcodesign.lessons.page import page
from simcodesign.report.common import plot_style
from tests import ROOT

FRONT = ROOT / "simcodesign" / "lessons" / "front"
#: Neutral colours of the front end, and after them the colours of roles that Python sets.
SHEETS = ((FRONT / "lesson.css").read_text(encoding="utf-8"), one_palette.page_colours())
#: Deuteranopia, of linear RGB: G. Machado, M. Oliveira, L. Fernandes, A Physiologically-based Model for Simulation of
#: Color Vision Deficiency, IEEE TVCG 15 (2009), severity 1.
DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
)
#: Linear sRGB to XYZ, and the white point D65 (IEC 61966-2-1).
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])
ROLES = ("for", "sim", "wait", "you", "ink")
#: Neutral roles of the front end itself.
NEUTRAL = {"paper", "panel", "ink", "muted", "hair", "grid", "base", "edge"}


def palette(scheme: str) -> dict[str, str]:
    start = ":root {" if scheme == "light" else ':root[data-theme="dark"] {'
    return colours_after(start)


def colours_after(start: str) -> dict[str, str]:
    blocks = [sheet.split(start, 1)[1].split("}", 1)[0] for sheet in SHEETS]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-fA-F]+);", " ".join(blocks)))


def linear(colour: str) -> NDArray[np.float64]:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    value = np.array([int(digits[k : k + 2], 16) for k in (0, 2, 4)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lab(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    ratio = XYZ @ np.clip(rgb, 0, 1) / WHITE
    f = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_roles_differ_without_red_and_green(scheme: str) -> None:
    """A difference of 2.3 is just noticeable; marks of a few pixels need several times that."""
    colours = palette(scheme)
    seen = {role: lab(DEUTERANOPIA @ linear(colours[role])) for role in ROLES}
    nearest = min(float(np.linalg.norm(seen[one] - seen[other])) for one, other in combinations(ROLES, 2))
    assert nearest > 15


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("role", ["ink", "muted", "for-t", "sim", "high-t", "you-t"])
def test_texts_have_contrast(role: str, scheme: str) -> None:
    """4.5 to 1: WCAG 2.2, success criterion 1.4.3."""
    colours = palette(scheme)
    light, dark = sorted((float(XYZ[1] @ linear(colours[name])) + 0.05 for name in (role, "paper")), reverse=True)
    assert light / dark >= 4.5


def test_the_dark_palette_is_the_same_by_choice_and_by_system() -> None:
    assert colours_after(':root:not([data-theme="light"]) {') == palette("dark")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("surface", ["low-2", "high-2", "grid", "sim-3", "you-2"])
def test_text_on_surfaces_has_contrast(surface: str, scheme: str) -> None:
    """4.5 to 1, as on paper."""
    colours = palette(scheme)
    light, dark = sorted((float(XYZ[1] @ linear(colours[name])) + 0.05 for name in (surface, "ink")), reverse=True)
    assert light / dark >= 4.5


def test_pages_have_the_colours_of_pictures() -> None:
    """Forecast orange, simulation blue, too low light blue, too high red, waiting grey and hatched (Okabe and Ito 2008)."""
    colours = palette("light")
    roles = {name: colours[name].upper() for name in ("for", "sim", "low", "high", "wait")}
    assert roles == {"for": "#E69F00", "sim": "#0072B2", "low": "#56B4E9", "high": "#D55E00", "wait": "#999999"}
    assert roles["for"] == plot_style.FORECAST
    assert roles["sim"] == plot_style.SIMULATED
    assert (roles["low"], roles["high"]) == (plot_style.LOW, plot_style.HIGH)
    assert plot_style.WAITING["edgecolor"] == roles["wait"]


def test_no_sheet_and_no_script_has_a_colour_of_a_role_of_its_own() -> None:
    for path in [*FRONT.glob("*.css"), *FRONT.glob("*.js"), *FRONT.glob("views/*.js")]:
        text = path.read_text(encoding="utf-8")
        own = set(re.findall(r"--([\w-]+): #", text))
        assert own <= NEUTRAL, path.name
        assert not re.search(r"(?:Style = .|fill: |stroke: |background: |color: )#(?!000)", text), path.name


def test_waiting_is_hatched_everywhere() -> None:
    """Filled with grey it cannot be told from an operation: its variable is used by lines of a hatch alone."""
    sheet = "".join(path.read_text(encoding="utf-8") for path in FRONT.glob("*.css"))
    filled = re.findall(r"background(?:-color)?: var\(--wait\)|[^-]color: var\(--wait\)", sheet)
    assert not filled
    assert ".key.waits::before, .key.waitsThere::before { background: var(--hatch)" in sheet
    for view in ("gantt", "clock", "network"):
        assert "this.hatch(pen)" in (FRONT / "views" / f"{view}.js").read_text(encoding="utf-8"), view


def test_the_page_sets_the_colours_of_roles() -> None:
    """Every variable that the front end uses is set by it or by the palette."""
    texts = [path.read_text(encoding="utf-8") for path in FRONT.glob("*.css")]
    used = {name for text in texts for name in re.findall(r"var\(--([\w-]+)", text)}
    scripts = [path.read_text(encoding="utf-8") for path in FRONT.rglob("views/*.js")]
    used |= {name for text in scripts for name in re.findall(r"this\.colour\(\"([\w-]+)\"\)", text)}
    assert used - {"serif", "ui", "sans", "hatch", "place", "strength"} <= set(palette("light"))
    nothing: dict[str, object] = {"folder": ROOT, "name": "", "title": "", "language": "en", "about": "", "minutes": 0}
    rest: dict[str, object] = {"objectives": (), "sliders": {}, "runs": {}, "values": {}, "steps": (), "sources": ()}
    assert one_palette.page_colours() in page(Lesson(**nothing | rest), Numbers({}, {}))  # type: ignore[arg-type]
