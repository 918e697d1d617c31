"""Roles can be told apart by who sees no difference between red and green, and their texts be read."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests import ROOT

CSS = (ROOT / "simcodesign" / "lessons" / "front" / "lesson.css").read_text(encoding="utf-8")
#: Deuteranopia, of linear RGB: G. Machado, M. Oliveira, L. Fernandes, A Physiologically-based Model for Simulation of
#: Color Vision Deficiency, IEEE TVCG 15 (2009), severity 1.
DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
)
#: Linear sRGB to XYZ, and the white point D65 (IEC 61966-2-1).
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])
ROLES = ("for", "sim", "wait", "you", "ink")


def palette(scheme: str) -> dict[str, str]:
    start = ":root {" if scheme == "light" else ':root[data-theme="dark"] {'
    block = CSS.split(start, 1)[1].split("}", 1)[0]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]+);", block))


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
@pytest.mark.parametrize("role", ["ink", "muted", "for-t", "sim", "wait", "you-t"])
def test_texts_have_contrast(role: str, scheme: str) -> None:
    """4.5 to 1: WCAG 2.2, success criterion 1.4.3."""
    colours = palette(scheme)
    light, dark = sorted((float(XYZ[1] @ linear(colours[name])) + 0.05 for name in (role, "paper")), reverse=True)
    assert light / dark >= 4.5


def test_the_dark_palette_is_the_same_by_choice_and_by_system() -> None:
    by_system = CSS.split(':root:not([data-theme="light"]) {', 1)[1].split("}", 1)[0]
    assert dict(re.findall(r"--([\w-]+): (#[0-9a-f]+);", by_system)) == palette("dark")
