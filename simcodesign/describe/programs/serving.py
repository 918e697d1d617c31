"""Serving of a language model: requests that arrive at a server, whose steps are phases of the workload's program.

A step is a prefill of several prompts, or one token for each request of a batch. Its time is the time of the phase
``prefill`` or ``decode`` at other values of three parameters: requests of the batch, tokens of a prompt, and tokens of
an output. The values of these parameters at the design point are the largest batch, and the mean lengths.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.expressions.expression import Expression
from simcodesign.describe.demands.base import ONE
from simcodesign.describe.keys.forms import Expr, Name
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Section
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.yaml.distribution import DISTRIBUTION

POISSON, SAME = Distribution("exponential"), Distribution("deterministic")


@dataclass(frozen=True)
class Length:
    """The tokens of prompts or outputs: the ``parameter`` that is their mean, and how they vary around it."""

    parameter: str
    varies: Distribution = SAME


@dataclass(frozen=True)
class Serving:
    """How requests arrive at one server, and how it serves them.

    - ``rate``: requests per second. ``requests``: how many a simulation has. ``between``: the distribution of the times
      between arrivals.
    - ``prompt``, ``output``: lengths of requests. ``batch``: the parameter of the requests of a step; its value at the
      design point is the largest batch.
    - ``prefill``, ``decode``: phases of the program. Decode is one step if the output has two tokens.
    - ``continuous``: 1 if requests join and leave the batch between steps, 0 if a batch stays together to its end.
    - ``ranks``: of one server; None for all of the design point.
    - ``token_bytes``, ``fixed_bytes``: memory of an accelerator that each token of a request keeps, and that weights
      use; None if memory does not limit the batch.
    """

    rate: Expression
    requests: Expression
    prompt: Length
    output: Length
    batch: str = "batch"
    prefill: str = "prefill"
    decode: str = "decode"
    between: Distribution = POISSON
    continuous: Expression = ONE
    ranks: Expression | None = None
    token_bytes: Expression | None = None
    fixed_bytes: Expression | None = None
    place: Place = field(default=Place(), compare=False)

    def expressions(self) -> Iterator[Expression]:
        """Yield the expressions over parameters and equations."""
        amounts = (self.rate, self.requests, self.continuous, self.ranks, self.token_bytes, self.fixed_bytes)
        yield from (one for one in amounts if one is not None)

    def check(self, parameters: Collection[str], phases: Collection[str]) -> None:
        """Raise InputError for a parameter or a phase that the workload does not have."""
        for name in (self.batch, self.prompt.parameter, self.output.parameter):
            if name not in parameters:
                raise InputError("no such parameter", self.place, value=name, allowed=nearest(name, parameters))
        for name in (self.prefill, self.decode):
            if name not in phases:
                raise InputError("no such phase", self.place, value=name, allowed=nearest(name, phases))


_LENGTH = Section(
    Key("parameter", Name(), "the parameter whose value is their mean", required=True),
    Key("varies", DISTRIBUTION, "how lengths vary around the mean; a distribution", "deterministic"),
    make=Length,
)
#: Keys of ``serving``.
SERVING = Section(
    Key("rate", Expr(), "requests per second of one server", required=True),
    Key("requests", Expr(), "how many requests a simulation has", required=True),
    Key("between", DISTRIBUTION, "law of the times between arrivals; a distribution", "exponential"),
    Key("prompt", _LENGTH, "tokens of prompts", required=True),
    Key("output", _LENGTH, "tokens of outputs, the first by the prefill", required=True),
    Key("batch", Name(), "the parameter of the requests of a step; its value is the largest batch", "batch"),
    Key("prefill", Name(), "the phase that computes the first token of each request", "prefill"),
    Key("decode", Name(), "the phase that computes the other tokens", "decode"),
    Key("continuous", Expr(), "1 if requests join and leave the batch between steps; 0 if a batch stays together", "1"),
    Key("ranks", Expr(), "ranks of one server", "P"),
    Key("token_bytes", Expr(), "memory of an accelerator that each token of a request keeps", "not limited"),
    Key("fixed_bytes", Expr(), "memory of an accelerator that the requests cannot use", "0"),
)
