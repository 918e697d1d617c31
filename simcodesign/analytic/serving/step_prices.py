"""Prices of the steps of a server: the forecast of a phase at all batches and lengths together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import CapacityError
from simcodesign.describe.evaluated.server import Server

Floats = NDArray[np.float64]
#: Lengths that are priced; between them the time of a decode step is linear. Batches times lengths.
MAX_LENGTHS, MAX_PRICES = 512, 50_000_000


class StepPrices:
    """Seconds of prefills, and of all decode steps of a request, on ``server``.

    With batches of 1 to ``largest_batch`` and up to ``longest`` tokens in the cache of a request.
    """

    def __init__(self, server: Server, largest_batch: int, longest: int) -> None:
        self.server = server
        if largest_batch * longest > MAX_PRICES:
            what = "there are too many batches and lengths to be priced"
            raise CapacityError(
                what, server.serving.place, value=largest_batch * longest, allowed=f"up to {MAX_PRICES}"
            )
        lengths = np.unique(np.rint(np.geomspace(1, longest, min(longest, MAX_LENGTHS))))
        batches = np.arange(1.0, largest_batch + 1)
        priced = self._price(server.serving.decode, batches[:, None], lengths)
        every = np.arange(1.0, longest + 1)
        self.decode_s: Floats = np.stack([np.interp(every, lengths, row) for row in priced])
        #: (B, N + 1) of all steps at fewer tokens.
        self._up_to = np.concatenate([np.zeros((len(batches), 2)), np.cumsum(self.decode_s, axis=1)], axis=1)

    def prefill_s(self, batch: Floats | float, tokens: Floats | float) -> Floats:
        """Return the time of a prefill of prompts of these lengths; arrays broadcast."""
        return self._price(self.server.serving.prefill, batch, tokens)

    def all_decode_s(self, batch: NDArray[np.int64] | int, prompt: Floats, output: Floats) -> Floats:
        """Return the time of all decode steps of an output after a prompt, in a batch whose requests are alike."""
        first = np.rint(prompt).astype(np.int64)
        last = first + np.rint(output).astype(np.int64) - 1
        return np.asarray(self._up_to[np.asarray(batch) - 1, last] - self._up_to[np.asarray(batch) - 1, first])

    def _price(self, phase: str, batch: Floats | float, tokens: Floats | float) -> Floats:
        shape = np.broadcast_shapes(np.shape(batch), np.shape(tokens))
        result = forecast(self.server.step(phase, batch, tokens), longest_path=False)
        return np.broadcast_to(np.asarray(result.makespan_s), shape)
