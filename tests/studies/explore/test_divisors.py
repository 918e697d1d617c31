"""Divisors as values of a search, and the memory of accelerators as its constraint."""

from __future__ import annotations

import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError

#: A model of which a replica takes two GPUs or more: 16 bytes of 4.9 billion weights are 78 GB, and there are activations.
MODEL = {"P": 4, "layers": 24, "hidden": 4096, "heads": 32, "global_batch": 4, "micro_batch": 1}
NAMES = ["tensor,pipeline,data"]


def test_the_best_split_fits_and_is_one() -> None:
    """Of the divisors of P, 4, and of 24 layers; those whose product is not P are refused."""
    best = sc.explore("gpt", "selene", MODEL, vary=NAMES, subject_to="fits").point
    assert best is not None
    values, metrics = best.values, best.metrics
    assert values["tensor"] * values["pipeline"] * values["data"] == 4
    assert metrics["accelerator_footprint"] <= metrics["accelerator_capacity"] == 80e9
    times = {
        (t, p): float(
            sc.forecast(
                "gpt", "selene", {**MODEL, "tensor": t, "pipeline": p}, longest_path=False, bubbles=True
            ).makespan_s
        )
        for t, p in ((1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (4, 1))
    }
    fitting = [
        split
        for split in times
        if sc.forecast("gpt", "selene", {**MODEL, "tensor": split[0], "pipeline": split[1]}).fits_accelerator
    ]
    assert 0 < len(fitting) < len(times)
    assert (values["tensor"], values["pipeline"]) == min(fitting, key=lambda split: times[split])


def test_nothing_that_must_fit() -> None:
    with pytest.raises(InputError, match="nothing is known that must fit"):
        sc.explore("burst", "torus-cluster", vary=["P=4,16"], subject_to="fits")
