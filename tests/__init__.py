"""The tests, in folders like those of the package; ``system`` holds what concerns all of it."""

from pathlib import Path

#: The checkout.
ROOT = Path(__file__).resolve().parent.parent
