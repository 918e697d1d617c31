"""Simulate a server: draw its requests, simulate the steps that come up, and serve the requests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.serving_result import ServingResult, Spread
from simcodesign.describe.evaluated.server import Server
from simcodesign.engine.experiment import Experiment
from simcodesign.engine.serving.batching import BatchServer, ServerLog
from simcodesign.engine.serving.step_times import StepTimes
from simcodesign.generate.serving.requests import RequestList, draw_requests

#: Fraction of the requests that arrive while the server fills; times of requests are of the others.
WARM_UP = 0.1


@dataclass
class ServerSimulation:
    """A server, and the times of its steps, which all its runs share; with the seed and effects of ``experiment``."""

    server: Server
    experiment: Experiment

    def __post_init__(self) -> None:
        self.times: StepTimes | None = None

    def run(self, seed: int) -> ServingResult:
        """Simulate once. Raises InputError for a request that never fits the memory."""
        server = self.server
        requests = draw_requests(server, seed)
        sizes = requests.prompt_tokens + requests.output_tokens
        if not server.fits(float(sizes.max())):
            what = f"a request of {sizes.max()} tokens does not fit the memory of the accelerator"
            assert server.room_bytes is not None
            allowed = f"up to {server.room_bytes / server.token_bytes:.0f} tokens"
            raise InputError(what, server.serving.place, allowed=allowed)
        if self.times is None or self.times.largest < sizes.max():
            self.times = StepTimes(server, self.experiment, int(sizes.max()))
        log = BatchServer(
            requests, server.batch, server.continuous, server.fits, self.times.prefill_s, self.times.decode_s
        ).run()
        return measured(server, requests, log)


def measured(server: Server, requests: RequestList, log: ServerLog) -> ServingResult:
    """Return the answer of a run. Rates and numbers in the system are from the warm-up to the last arrival."""
    arrival_s = requests.arrival_s
    first = int(WARM_UP * len(requests))
    after = slice(first, None)
    begin_s, end_s = float(arrival_s[first]) if first else 0.0, float(log.end_s.max())
    last_s = float(arrival_s[-1])
    window_s = last_s - begin_s
    gaps = requests.output_tokens[after] - 1
    decode_s = (log.end_s - log.first_token_s)[after]
    done = (log.end_s > begin_s) & (log.end_s <= last_s)
    inside = np.clip(np.minimum(log.end_s, last_s) - np.maximum(arrival_s, begin_s), 0, None)
    rates = (done.sum(), requests.output_tokens[done].sum(), inside.sum())
    throughput, tokens, present = (float(one) / window_s if window_s > 0 else np.nan for one in rates)
    return ServingResult(
        reading="simulation",
        largest_batch=server.batch,
        continuous=server.continuous,
        rate_per_s=server.rate_per_s,
        waiting_s=float(np.mean((log.begin_s - arrival_s)[after])),
        first_token=_spread((log.first_token_s - arrival_s)[after]),
        between_tokens_s=float(decode_s.sum() / gaps.sum()) if gaps.sum() else 0.0,
        latency=_spread((log.end_s - arrival_s)[after]),
        requests_per_s=throughput,
        tokens_per_s=tokens,
        utilisation=log.busy_s / end_s,
        mean_batch=log.batch_time_s / log.busy_s,
        in_system=present,
    )


def _spread(times_s: NDArray[np.float64]) -> Spread:
    """Mean and percentiles."""
    p50, p99 = np.quantile(times_s, [0.5, 0.99])
    return Spread(float(np.mean(times_s)), float(p50), float(p99))
