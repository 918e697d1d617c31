"""Draw the requests that arrive at a server: when, and with how many tokens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.evaluated.server import Server
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.generate.randomness.random_streams import random_factors, stream

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RequestList:
    """(R,) requests in the order of their arrival: seconds, tokens of the prompt, tokens of the output."""

    arrival_s: Floats
    prompt_tokens: Ints
    output_tokens: Ints

    def __len__(self) -> int:
        return len(self.arrival_s)


def draw_requests(server: Server, seed: int) -> RequestList:
    """Return the requests of a run, from named streams of ``seed``: the same at all rates except for the scale of time.

    Lengths are whole: a mean times a random factor, rounded, at least 1.
    """
    of, count = server.serving, server.requests
    gaps = random_factors(of.between, stream(seed, "between requests"), count) / server.rate_per_s
    return RequestList(
        np.cumsum(gaps),
        _tokens(server.prompt_tokens, of.prompt.varies, seed, "prompts", count),
        _tokens(server.output_tokens, of.output.varies, seed, "outputs", count),
    )


def _tokens(mean: float, law: Distribution, seed: int, name: str, count: int) -> Ints:
    """(R,) whole lengths, at least 1."""
    lengths = np.rint(mean * random_factors(law, stream(seed, f"tokens of {name}"), count))
    return np.maximum(lengths, 1).astype(np.int64)
