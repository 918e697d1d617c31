"""The forecast of a server: prices of its steps, and the queue that its discipline makes of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.serving.bulk_queue import BulkQueue
from simcodesign.analytic.serving.lengths import Law, law_of, law_of_length
from simcodesign.analytic.serving.shared_batch import SharedBatch
from simcodesign.analytic.serving.step_prices import StepPrices
from simcodesign.core.errors import InputError
from simcodesign.core.serving_result import ServingResult, Spread
from simcodesign.describe.evaluated.server import Server

Floats = NDArray[np.float64]
#: Parts of a law of lengths, and of times of a batch; up to twice as many values.
PARTS = 64
#: Seeing a request complete its answer, points of the integral over lengths and waits.
POINTS = 2**12
BULK = "bulk queue M/G(1,B)/1, embedded Markov chain (Bailey 1954, Neuts 1967)"
SHARING = "processor sharing of at most B, birth and death process (Cohen 1979): approximation"


class SaturatedError(InputError):
    """Requests that arrive faster than the server can serve them: there is no steady state."""


def forecast_server(server: Server) -> ServingResult:
    """Return the steady state.

    Raises SaturatedError without one, and InputError if a mean request does not fit the memory.

    Arrivals are taken to be Poisson; ``basis`` states it if they are not.
    """
    largest = _largest_batch(server)
    prompt = law_of_length(server.prompt_tokens, server.serving.prompt)
    output = law_of_length(server.output_tokens, server.serving.output)
    prices = StepPrices(server, largest, int(prompt.values[-1] + output.values[-1]))
    parts = _Parts(server, largest, prices, prompt, output)
    return parts.continuous() if server.continuous and largest > 1 else parts.static()


def _largest_batch(server: Server) -> int:
    """Return requests of mean lengths for which the memory has room, at most the largest batch."""
    if server.room_bytes is None:
        return server.batch
    request = server.token_bytes * (server.prompt_tokens + server.output_tokens)
    if request > server.room_bytes:
        what = "a request of mean lengths does not fit the memory of the accelerator"
        tokens = server.room_bytes / server.token_bytes
        raise InputError(what, server.serving.place, value=f"{request:g} B", allowed=f"up to {tokens:.0f} tokens")
    return min(server.batch, int(server.room_bytes // request))


@dataclass(frozen=True)
class _Parts:
    """A server with the laws of its lengths and the prices of its steps."""

    server: Server
    largest: int
    prices: StepPrices
    prompt: Law
    output: Law

    def static(self) -> ServingResult:
        """Batches that stay together."""
        sizes = np.arange(1.0, self.largest + 1)
        mean_prompt = np.rint(self.prompt.mean)
        prefill_s = self.prices.prefill_s(sizes, self.prompt.mean)
        services = [self._alone()] if self.largest == 1 else []
        for size in range(1, self.largest + 1) if self.largest > 1 else ():
            longest = self.output.largest_of(size)
            decode_s = self.prices.all_decode_s(size, mean_prompt, longest.values)
            services.append(Law(prefill_s[size - 1] + decode_s, longest.weights).condensed(PARTS))
        saturation = self.largest / services[-1].mean
        self._check(saturation)
        queue = BulkQueue(self.server.rate_per_s, services)
        samples = queue.samples()
        mean_s = queue.in_system / self.server.rate_per_s
        wait_s = mean_s - float(np.sum(queue.shares * [service.mean for service in services]))
        prefills = [Law(np.array([time]), np.ones(1)) for time in prefill_s]
        if self.largest == 1:
            prefills = [law_of(self.prices.prefill_s(1, self.prompt.values), self.prompt.weights)]
        first_s = wait_s + float(np.sum(queue.shares * [one.mean for one in prefills]))
        exact = "exact" if self._is_constant or self.largest == 1 else "exact except for prompts of mean length"
        percentiles = "percentiles: 32,768 points of Sobol's sequence"
        return self._result(
            wait_s,
            Spread(first_s, *_percentiles(samples.with_service(prefills))),
            Spread(mean_s, *_percentiles(samples.with_service(services))),
            queue.utilisation,
            queue.in_batch,
            saturation,
            (f"{'M/G/1' if self.largest == 1 else BULK}: means {exact}", percentiles),
        )

    def _alone(self) -> Law:
        """Return the time of a request by itself, over both lengths."""
        prompt, output = self.prompt.condensed(PARTS * 4), self.output.condensed(PARTS * 4)
        prefill_s = self.prices.prefill_s(1, prompt.values)
        decode_s = self.prices.all_decode_s(1, prompt.values[:, None], output.values)
        weights = prompt.weights[:, None] * output.weights
        return law_of(prefill_s[:, None] + decode_s, weights).condensed(PARTS * 4)

    def continuous(self) -> ServingResult:
        """Return requests that join and leave the batch between steps."""
        prompt, output = self.prompt.condensed(PARTS), self.output.condensed(PARTS)
        weights = prompt.weights[:, None] * output.weights
        sizes = np.arange(1, self.largest + 1)
        prefill = law_of(self.prices.prefill_s(1, prompt.values), prompt.weights)
        all_s = self.prices.all_decode_s(sizes[:, None, None], prompt.values[:, None], output.values)
        decode_s = np.sum(weights * all_s, axis=(1, 2))
        further = max(output.mean - 1, 0.0)
        step_s = decode_s / further if further else np.zeros(len(sizes))
        shared = SharedBatch(self.server.rate_per_s, prefill.mean + decode_s / sizes)
        self._check(1 / float(shared.departure_s[-1]))
        numbers = shared.numbers
        # A request that finds room waits for the rest of the step, of decode or of the prefill of others.
        prefilling = self.server.rate_per_s * prefill.mean
        in_prefill = np.minimum(prefilling / (1 - numbers[0]), 1.0)
        begin_s = _Begin(shared, step_s, prefill, in_prefill).samples()
        wait_s = float(begin_s.mean())
        mean_s = shared.in_system / self.server.rate_per_s + wait_s - shared.delayed * shared.drain_s
        draws = _spread_points(2)
        first = begin_s + prefill.at(draws[0])
        first_s = wait_s + prefill.mean
        between_s = (mean_s - first_s) / further if further else 0.0
        latency = first + between_s * (self.output.at(draws[1]) - 1)
        utilisation = 1 - float(numbers[0])
        return self._result(
            wait_s,
            Spread(first_s, *_percentiles(first)),
            Spread(mean_s, *_percentiles(latency)),
            utilisation,
            shared.in_batch / utilisation,
            1 / float(shared.departure_s[-1]),
            (SHARING, "a prefill has one request; a request waits for half a step on average: approximation"),
        )

    @property
    def _is_constant(self) -> bool:
        """Whether all prompts are alike."""
        return len(self.prompt.values) == 1

    def _check(self, saturation_per_s: float) -> None:
        """SaturatedError unless the rate is below saturation."""
        if self.server.rate_per_s >= saturation_per_s:
            what = f"the server saturates at {saturation_per_s:.4g} requests per second"
            expression = self.server.serving.rate
            raise SaturatedError(
                what,
                expression.place or self.server.serving.place,
                value=self.server.rate_per_s,
                allowed=f"a rate below {saturation_per_s:.6g}",
            )

    def _result(
        self,
        wait_s: float,
        first_token: Spread,
        latency: Spread,
        utilisation: float,
        in_batch: float,
        saturation_per_s: float,
        basis: tuple[str, ...],
    ) -> ServingResult:
        """Return the answer; numbers in the system are by Little's law."""
        server = self.server
        further = self.output.mean - 1
        if server.serving.between.name != "exponential":
            basis = (*basis, f"arrivals are taken for Poisson; described: {server.serving.between.text}")
        if self.largest < server.batch:
            basis = (*basis, f"the memory has room for {self.largest} requests of mean lengths")
        return ServingResult(
            reading="forecast",
            largest_batch=self.largest,
            continuous=server.continuous,
            rate_per_s=server.rate_per_s,
            waiting_s=wait_s,
            first_token=first_token,
            between_tokens_s=(latency.mean_s - first_token.mean_s) / further if further else 0.0,
            latency=latency,
            requests_per_s=server.rate_per_s,
            tokens_per_s=server.rate_per_s * self.output.mean,
            utilisation=utilisation,
            mean_batch=in_batch,
            in_system=server.rate_per_s * latency.mean_s,
            saturation_per_s=saturation_per_s,
            basis=basis,
        )


@dataclass(frozen=True)
class _Begin:
    """Waits before the prefill, under continuous batching."""

    shared: SharedBatch
    step_s: Floats
    prefill: Law
    in_prefill: float

    def samples(self) -> Floats:
        """(N,) waits, each as likely."""
        seen, kind, rest, length, drain = _spread_points(7)[2:]
        state = np.searchsorted(np.cumsum(self.shared.numbers), np.minimum(seen, 1 - 1e-12))
        longer = Law(self.prefill.values, self.prefill.weights * self.prefill.values / self.prefill.mean)
        step_s = np.where(kind < self.in_prefill, longer.at(length), self.step_s[np.maximum(state, 1) - 1])
        full = state == len(self.shared.numbers) - 1
        waits = np.where(state > 0, rest * step_s, 0.0)
        return np.where(full, -np.log(drain) * self.shared.drain_s, waits)


def _spread_points(count: int) -> Floats:
    """(count, N) points of Sobol's sequence, evenly spread between 0 and 1."""
    from scipy.stats import qmc

    return np.asarray(qmc.Sobol(count, scramble=False).random(POINTS).T + 0.5 / POINTS)


def _percentiles(times_s: Floats) -> tuple[float, float]:
    """Median and 99th percentile."""
    p50, p99 = np.quantile(times_s, [0.5, 0.99])
    return float(p50), float(p99)
