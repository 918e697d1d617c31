"""A server with every amount of its description given a value."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.programs.serving import Serving
from simcodesign.describe.scenario import Scenario

#: Requests of a simulation, and of a batch.
MAX_REQUESTS, MAX_BATCH = 10_000_000, 1024


@dataclass(frozen=True)
class Server:
    """A server of ``scenario``.

    Requests per second, requests of a simulation, the largest batch, mean tokens of prompts and outputs.

    ``room_bytes``: for the tokens of all requests, None without a limit; a token uses ``token_bytes``.
    """

    scenario: Scenario
    serving: Serving
    rate_per_s: float
    requests: int
    batch: int
    prompt_tokens: float
    output_tokens: float
    continuous: bool
    room_bytes: float | None
    token_bytes: float

    @classmethod
    def of(cls, scenario: Scenario) -> Server:
        """Return the server.

        Raises InputError without ``serving``, for several design points, and for amounts that cannot be used.
        """
        serving = scenario.workload.serving
        if serving is None:
            what = f"{scenario.workload.name} has no section 'serving'"
            raise InputError(what, scenario.workload.place, allowed="a workload with one, for example inference")
        point = scenario.bind()
        point.require_one_point("serving")
        rate_per_s = _amount(point, serving.rate, "rate", 0, above=True)  # of one server among all ranks
        if serving.ranks is not None:
            scenario = scenario.at({"P": _amount(point, serving.ranks, "ranks", 1)})
            point = scenario.bind()
        token = 0.0 if serving.token_bytes is None else _amount(point, serving.token_bytes, "token_bytes", 0)
        server = cls(
            scenario=scenario,
            serving=serving,
            rate_per_s=rate_per_s,
            requests=int(_amount(point, serving.requests, "requests", 1)),
            batch=int(np.asarray(point.values[serving.batch])),
            prompt_tokens=float(np.asarray(point.values[serving.prompt.parameter])),
            output_tokens=float(np.asarray(point.values[serving.output.parameter])),
            continuous=_amount(point, serving.continuous, "continuous", 0) != 0,
            room_bytes=_room(point, serving) if token else None,
            token_bytes=token,
        )
        if not 1 <= server.batch <= MAX_BATCH:
            allowed = f"1 to {MAX_BATCH}"
            raise InputError(f"{serving.batch} of serving", serving.place, value=server.batch, allowed=allowed)
        if server.requests > MAX_REQUESTS:
            raise InputError("requests", serving.place, value=server.requests, allowed=f"up to {MAX_REQUESTS}")
        return server

    def step(self, phase: str, batch: object, prompt_tokens: object) -> Scenario:
        """Return the scenario of one step, a prefill or a decode step.

        A decode step's requests have ``prompt_tokens`` in their cache. Arrays broadcast.
        """
        tokens = 1 if phase == self.serving.prefill else 2
        of = self.serving
        at = self.scenario.at({of.batch: batch, of.prompt.parameter: prompt_tokens, of.output.parameter: tokens})
        return replace(at, phases=(phase,))

    def fits(self, tokens: float) -> bool:
        """Whether the memory has room for these tokens of requests."""
        return self.room_bytes is None or tokens * self.token_bytes <= self.room_bytes


def _room(point: DesignPoint, serving: Serving) -> float | None:
    """Bytes of the accelerator's memory that tokens may use; None if its capacity is not stated."""
    if point.accelerator_capacity_bytes is None:
        return None
    fixed = 0.0 if serving.fixed_bytes is None else _amount(point, serving.fixed_bytes, "fixed_bytes", 0)
    capacity = float(np.asarray(point.accelerator_capacity_bytes))
    if fixed >= capacity:
        what = "the memory of the accelerator has no room for requests"
        raise InputError(what, serving.place, value=f"{fixed:g} B", allowed=f"fixed_bytes below {capacity:g} B")
    return capacity - fixed


def _amount(point: DesignPoint, expression: Expression, name: str, low: float, above: bool = False) -> float:
    """Return the value. InputError below ``low``."""
    value = float(np.asarray(expression.evaluate(point.values)))
    if not low <= value < np.inf or (above and value == low):
        allowed = f"{'above' if above else 'at least'} {low:g}"
        raise InputError(f"{name} of serving", expression.place, value=value, allowed=allowed)
    return value
