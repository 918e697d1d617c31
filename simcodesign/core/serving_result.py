"""Answers about a server of a language model, from either reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

    @property
    def quantities(self) -> dict[str, float]:
        """Each quantity of ``QUANTITIES`` by its name."""
        return {name: of(self) for name, of in QUANTITIES.items()}


#: Quantities of both readings, by the names that comparisons, tables and metrics of searches have for them: times in
#: seconds, then rates and numbers.
TIMES: Mapping[str, Callable[[ServingResult], float]] = {
    "waiting_s": lambda one: one.waiting_s,
    "first_token_s": lambda one: one.first_token.mean_s,
    "first_token_p50_s": lambda one: one.first_token.p50_s,
    "first_token_p99_s": lambda one: one.first_token.p99_s,
    "between_tokens_s": lambda one: one.between_tokens_s,
    "latency_s": lambda one: one.latency.mean_s,
    "latency_p50_s": lambda one: one.latency.p50_s,
    "latency_p99_s": lambda one: one.latency.p99_s,
}
QUANTITIES: Mapping[str, Callable[[ServingResult], float]] = {
    **TIMES,
    "tokens_per_s": lambda one: one.tokens_per_s,
    "requests_per_s": lambda one: one.requests_per_s,
    "utilisation": lambda one: one.utilisation,
    "mean_batch": lambda one: one.mean_batch,
    "in_system": lambda one: one.in_system,
}
