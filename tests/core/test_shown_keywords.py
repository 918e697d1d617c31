"""Keywords that are passed on: the signature that is shown has each of them, and the functions take no others."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

import pytest

import simcodesign as sc
from simcodesign.core.shown_keywords import shows_keywords
from simcodesign.describe.scenario import SimulationKeywords
from simcodesign.engine.experiment import Experiment
from simcodesign.fitting.fit import FitKeywords, fit
from simcodesign.studies.replication.replicate import Replications, StreamReplicationKeywords

REPETITION = "replications precision precision_of level at_most jobs"
SIMULATION = "preset phases effects seed engine"
KEYWORDS = [
    (sc.simulate, f"{SIMULATION} {REPETITION} warm_up timeline counters on_progress"),
    (sc.compare, f"{SIMULATION} {REPETITION} vary formulas measured anchor timeline on_progress"),
]


@pytest.mark.parametrize(("verb", "names"), KEYWORDS, ids=[verb.__name__ for verb, _ in KEYWORDS])
def test_every_keyword_is_shown(verb: Callable[..., Any], names: str) -> None:
    parameters = signature(verb).parameters
    assert list(parameters)[:3] == ["workload", "machine", "parameters"]
    assert {*parameters} - {"workload", "machine", "parameters"} == {*names.split()}
    assert {each.kind for each in parameters.values()} == {Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY}
    for name in names.split():
        assert parameters[name].default is not Parameter.empty


@pytest.mark.parametrize(
    ("keywords", "taken_by"),
    [(SimulationKeywords, Experiment.of), (StreamReplicationKeywords, Replications.of), (FitKeywords, fit)],
)
def test_a_list_of_keywords_is_what_is_taken(keywords: type, taken_by: Callable[..., Any]) -> None:
    named = {each.name for each in signature(taken_by).parameters.values() if each.kind is Parameter.KEYWORD_ONLY}
    assert {*keywords.__annotations__, "on_progress"} == {*named, "on_progress"}


def test_a_default_is_that_of_the_function_that_takes_it() -> None:
    def taken(*, often: int = 3, loud: bool = False) -> None: ...

    class Keywords:
        often: int

    @shows_keywords(Keywords, taken_by=taken)
    def greet(name: str, **options: int) -> None: ...

    shown = signature(greet).parameters
    assert [*shown] == ["name", "often"]
    assert shown["often"].default == 3


@pytest.mark.parametrize("verb", [verb for verb, _ in KEYWORDS], ids=lambda verb: verb.__name__)
def test_an_unknown_keyword_is_an_error(verb: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="seeds"):
        verb("jacobi", "torus-cluster", seeds=3)
