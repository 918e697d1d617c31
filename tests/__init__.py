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
#: Numbers of ranks in ``make test-all``: all up to 17, then powers of two and their neighbours, a prime and a multiple
#: of eight. Their cost grows as the square, and algorithms differ by powers of two and remainders.
MORE_RANKS = (*range(1, 18), 24, 31, 32, 33, 37)
#: Whether properties are tried on random examples (``make test-random``).
RANDOM = bool(os.environ.get("SIMCODESIGN_RANDOM_TESTS"))


def numbers_of_ranks(most: int) -> list[int]:
    """Return numbers of ranks up to ``most``: all up to 17 and some above in ``make test-all``, else a few."""
    return [ranks for ranks in (MORE_RANKS if THOROUGH else FEW_RANKS) if ranks <= most]


def examples(wanted: int, ordinary: int = MOST_EXAMPLES) -> int:
    """Return how many examples Hypothesis tries: those wanted in ``make test-random``, few in the ordinary suite.

    ``make test-all`` tries a third of those wanted, always the same ones, but 20 and twice the ordinary ones if so many
    are wanted.
    """
    if RANDOM:
        return wanted
    return max(wanted // 3, min(wanted, max(20, 2 * ordinary))) if THOROUGH else min(wanted, ordinary)
