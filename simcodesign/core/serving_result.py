"""Answers about a server of a language model, from either reading."""

from __future__ import annotations

from dataclasses import dataclass

from simcodesign.core.to_json import PlainResult


@dataclass(frozen=True)
class Spread:
    """Mean, median and 99th percentile of a time over requests, in seconds."""

    mean_s: float
    p50_s: float
    p99_s: float


@dataclass(frozen=True)
class ServingResult(PlainResult):
    """One server in the steady state (``reading`` forecast), or over one simulated run.

    - ``largest_batch``: requests that a step may have, as the memory allows. ``continuous``: whether requests join and
      leave the batch between steps.
    - ``waiting_s``: mean time before the prefill begins. ``first_token``: until the first token. ``latency``: until the
      answer is complete. ``between_tokens_s``: mean time between two tokens of a request.
    - ``requests_per_s``, ``tokens_per_s``: completed requests, and tokens computed for them.
    - ``utilisation``: fraction of the time in which a step runs. ``mean_batch``: requests in the batch, mean of that
      time. ``in_system``: requests that wait or are served, mean of all time.
    - ``saturation_per_s``: the rate of requests from which the queue grows without limit; None of a simulation.
    - ``basis``: the formulas, and which of them are exact.
    """

    reading: str
    largest_batch: int
    continuous: bool
    rate_per_s: float
    waiting_s: float
    first_token: Spread
    between_tokens_s: float
    latency: Spread
    requests_per_s: float
    tokens_per_s: float
    utilisation: float
    mean_batch: float
    in_system: float
    saturation_per_s: float | None = None
    basis: tuple[str, ...] = ()
