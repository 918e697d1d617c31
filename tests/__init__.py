"""The tests, in folders like those of the package; ``system`` holds what concerns all of it."""

import os
from pathlib import Path

#: The checkout.
ROOT = Path(__file__).resolve().parent.parent
#: Whether all is tested (``make test-all``): every combination, every example.
THOROUGH = os.environ.get("SIMCODESIGN_TESTS") == "all"
#: Examples that a property is tried on in the ordinary suite, at most.
MOST_EXAMPLES = 6
#: Parameters of one test that are tried in the ordinary suite, at most.
MOST_PARAMETERS = 3
#: Numbers of ranks that tell algorithms apart in the ordinary suite: small ones, around powers of two, primes, squares.
FEW_RANKS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 25, 33)


def numbers_of_ranks(most: int) -> list[int]:
    """Numbers of ranks to try: all up to ``most`` in ``make test-all``, a few of them in the ordinary suite."""
    return [ranks for ranks in range(1, most + 1) if THOROUGH or ranks in FEW_RANKS]


def examples(wanted: int, ordinary: int = MOST_EXAMPLES) -> int:
    """How many examples Hypothesis tries: those wanted in ``make test-all``, few in the ordinary suite."""
    return wanted if THOROUGH else min(wanted, ordinary)
