"""A layer of a language model on four A100: a prefill and a decode step, by constants of single products of matrices.

Efficiency and launch are from two products (docs/accelerators.md), the bandwidth of the memory from the data sheet; no
constant is from the two rows. The source does not state how many tokens a decode step sees; 3,072 are our reading.

Source: sums of 12 operators each, H. Zhang et al., LLMCompass, ISCA 2024, ``ae/figure5``, commit 2e015fd.
"""

from __future__ import annotations

from collections.abc import Callable

import simcodesign as sc
from simcodesign.core.result import Result
from simcodesign.describe.measured.times import MeasuredValue
from simcodesign.studies.validation.case import Case, Readings, Tolerance

MACHINE = "a100-cluster"
#: A layer of 175 billion parameters, and 8 requests.
LAYER = {"P": 4, "tensor": 4, "layers": 1, "hidden": 12288, "heads": 96, "vocabulary": 4, "batch": 8}
FROM_PRODUCTS = {"accelerator.efficiency": 0.895, "accelerator.launch": 28.6e-6}
MEASURED_MS = {"prefill": 66.747, "decode": 1.1109}
TOKENS = {
    "prefill": {"prompt_tokens": 2048, "output_tokens": 1},
    "decode": {"prompt_tokens": 3071, "output_tokens": 2},
}


def time_ms(read: Callable[..., Result], step: str, constants: dict[str, float]) -> float:
    """A prefill or a decode step by ``read``, ``sc.forecast`` or ``sc.simulate``."""
    return 1e3 * float(read("inference", MACHINE, LAYER | TOKENS[step] | constants, phases=[step]).makespan_s)


def _measure() -> Readings:
    forecast, simulation = (
        {step: time_ms(read, step, FROM_PRODUCTS) for step in MEASURED_MS} for read in (sc.forecast, sc.simulate)
    )
    return Readings(forecast, simulation)


CASES = (
    Case(
        name="inference/layer",
        claim="Products of matrices, measured alone, predict a layer of prefill and of decode.",
        source="H. Zhang et al., LLMCompass, ISCA 2024, ae/figure5 of the repository, commit 2e015fd",
        unit="ms",
        expected=MEASURED_MS,
        measured={step: MeasuredValue(value) for step, value in MEASURED_MS.items()},
        reading="simulation",
        tolerance=Tolerance("the worst error of steps of training that was the goal (gpt)", relative=0.12),
        measure=_measure,
        because="products of a decode step reach 50 to 80 % of the data sheet's bandwidth, and norms of 0.4 MB take 48 us",
        inputs={"data sheet, two products": "public", "tokens of a decode step": "assumed"},
        printed=True,
        quick=True,
    ),
)
