"""Held-out steps of training: what the tables state is described, by the sizes and rates that their sources print beside it."""

from __future__ import annotations

import pytest

import simcodesign as sc
from validation.measured import held_out_steps as held_out

#: Parameters that the source prints for sequences of 2,048 tokens.
PARAMETERS = {
    "125m": 125_311_488,
    "350m": 355_985_408,
    "760m": 760_470_528,
    "1b": 1_315_950_592,
    "3b": 2_651_837_440,
    "7b": 6_658_859_008,
    "13b": 12_853_954_560,
    "30b": 29_975_214_080,
    "70b": 64_862_437_376,
}
#: Tokens a second of a GPU that NeMo prints, and GPUs, batch.
NEMO = {
    "nemo 5B 64": (22521, 64, 2048),
    "nemo 20B 64": (5851, 64, 256),
    "nemo 175B 128": (726, 128, 256),
    "nemo 175B 512": (782, 512, 2048),
}


@pytest.mark.parametrize("model", PARAMETERS)
def test_sizes_of_models(model: str) -> None:
    """Within 0.2 %: the source has no biases."""
    step = next(one for one in held_out.fsdp_steps() if one.name.startswith(f"{model} 2048 "))
    values = sc.forecast(step.workload, step.machine, step.at, longest_path=False).values
    assert float(values["parameters"]) == pytest.approx(PARAMETERS[model], rel=2e-3)


def test_every_row_is_a_case_and_a_whole_step() -> None:
    steps = (*held_out.fsdp_steps(), *held_out.gpt_steps())
    assert len(steps) == 113 + 8 == sum(len(case.expected) for case in held_out.CASES)
    for one in held_out.fsdp_steps():
        assert one.at["global_batch"] % (one.at["micro_batch"] * one.at["P"]) == 0, one.name


def test_seconds_are_from_the_printed_rates() -> None:
    nemo = {one.name: one.seconds for one in held_out.gpt_steps() if one.on == "nemo"}
    assert nemo == {
        name: pytest.approx(batch * 2048 / (rate * gpus), abs=6e-4) for name, (rate, gpus, batch) in NEMO.items()
    }


def test_utilisation_that_the_source_prints() -> None:
    """7 billion parameters, 2,048 tokens, 8 A100: 64.23 % of 312 TFLOP/s with 6 N and 12 l h s flops of a token."""
    step = next(one for one in held_out.fsdp_steps() if one.on == "a100_80gb" and one.name == "7b 2048 8 b6")
    flops = 96 * 2048 * (6 * PARAMETERS["7b"] + 12 * 32 * 4096 * 2048)
    assert flops / step.seconds / (8 * 312e12) == pytest.approx(0.6423, abs=5e-5)
