"""The tests, in folders like those of the package; ``system`` holds what concerns all of it."""

import os
from pathlib import Path

#: The checkout.
ROOT = Path(__file__).resolve().parent.parent
#: Whether all is tested (``make test-all``): every combination, every example.
THOROUGH = os.environ.get("SIMCODESIGN_TESTS") == "all"
#: Examples that a property is tried on in the ordinary suite, at most.
MOST_EXAMPLES = 10


def examples(wanted: int, ordinary: int = MOST_EXAMPLES) -> int:
    """How many examples Hypothesis tries: those wanted in ``make test-all``, few in the ordinary suite."""
    return wanted if THOROUGH else min(wanted, ordinary)
