"""Steps of training of GPT on 8 to 3,072 A100: measured, the field's formula, forecast and simulation.

No constant is from a step of training. Startup and bandwidth of NVLink are from the all-reduce of 1 MiB and of 1 GiB among
8 GPUs; efficiency and bandwidth of the memory are from 14 single kernels (``tests/system/test_gpt.py`` derives both). The
data sheet has the rest (the machine ``selene``). Nodes of the second source have four interfaces of 200 Gb/s, not eight. Of
replicas that are whole nodes two are simulated; what all of them add up of gradients is described.

Source: Narayanan et al., SC 2021; VIA-Research/vTrain (MICRO 2024); Korthikanti et al., MLSys 2023.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd

import simcodesign as sc
from simcodesign.core.errors import Place
from simcodesign.core.expressions.expression import parse
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.accelerator import Accelerator, efficiency_of
from simcodesign.describe.measured.times import MeasuredValue
from simcodesign.describe.scenario import Scenario
from simcodesign.describe.yaml.files import load_machine
from simcodesign.studies.validation.case import Case, Readings, Tolerance

from ..published import tables
from .gpu_nodes import calibrated_constants

TABLE = "gpt-steps"
MACHINE = "selene"
GPUS_OF_A_NODE = 8
#: Interfaces of a node of the second source: 800 Gb/s in total (its repository, config/validation/multi).
INTERFACES = {"vtrain": 4}
EFFECTS = ("node", "hops", "links", "interfaces")
#: Number of stages from which steps of groups that are whole nodes, with an interface for each GPU, are simulated without
#: effects: GPUs that do the same are then simulated once, without which the step would not fit the memory. The step of
#: 175 billion parameters has the same time with and without effects, to 1e-6.
ALIKE_FROM = 16
SOURCES = {
    "sc21": "Narayanan et al., SC 2021 (arXiv 2104.04473), Table 1",
    "vtrain": "repository VIA-Research/vTrain, data/ground_truth_multi.csv (Bang et al., MICRO 2024)",
    "korthikanti": "Korthikanti et al., MLSys 2023 (arXiv 2205.05198), Table 5",
}
#: The field's formula: passes of a stage, prolonged by the bubble, then gradients and Adam (Narayanan et al., Sec. 2.2, with
#: kernels, and rings of 2 (t - 1) messages of a t-th each).
STAGES = parse(
    "(1 + bubble)*micro_batches*stage_layers*("
    "(3 + (recomputation == 2))*(products_s + (attention_bytes + other_bytes + scores_bytes)/hbm)"
    " + (recomputation == 1)*(attention_bytes + scores_bytes)/hbm"
    " + (4 + 2*(recomputation == 2))*2*(tensor - 1)*(startup + activation/tensor/inside))"
    " + micro_batches*(3*logits_s + 3*logits_bytes/hbm)"
    " + 2*(replicas - 1)/replicas*2*weights/outside + 28*weights*adam_share/hbm"
)
_COLUMNS = {"batch": "global_batch"}
_PARAMETERS = (
    "hidden",
    "layers",
    "heads",
    "sequence",
    "tensor",
    "pipeline",
    "virtual_stages",
    "batch",
    "micro_batch",
    "recomputation",
    "sequence_parallelism",
)


@dataclass(frozen=True)
class Step:
    """A measured step: of a ``model`` by one ``source``, with its parameters of the workload ``gpt``."""

    source: str
    model: str
    gpus: int
    seconds: float
    parameters: Mapping[str, int]

    @property
    def replicas(self) -> int:
        """Replicas of the model."""
        return self.gpus // (self.parameters["tensor"] * self.parameters["pipeline"])

    @property
    def name(self) -> str:
        """The model, GPUs, tensor, pipeline, micro-batch and recomputation."""
        of = self.parameters
        how = "" if of["recomputation"] == 2 else " selective"
        return f"{self.model} {self.gpus} t{of['tensor']} p{of['pipeline']} b{of['micro_batch']}{how}"

    @property
    def at(self) -> dict[str, int]:
        """The design point: of replicas of whole nodes, two."""
        here = min(self.replicas, 2) if self.parameters["tensor"] % GPUS_OF_A_NODE == 0 else self.replicas
        ranks = self.parameters["tensor"] * self.parameters["pipeline"] * here
        return {"P": ranks, "total_data": self.replicas, **self.parameters}

    @property
    def machine(self) -> Machine:
        """The machine that it was measured on."""
        return machine_of(self.source)

    def forecast_s(self) -> float:
        """The longest path of messages; the sum of closed forms if it has too many."""
        return float(sc.forecast("gpt", self.machine, self.at).makespan_s)

    def searched_s(self) -> float:
        """As ``explore`` orders points: the sum of closed forms and the bubble."""
        return float(sc.forecast("gpt", self.machine, self.at, longest_path=False, bubbles=True).makespan_s)

    def simulated_s(self) -> float:
        """With everything that messages share; without effects for ``ALIKE_FROM`` stages or more."""
        is_alike = self.source not in INTERFACES and self.parameters["pipeline"] >= ALIKE_FROM
        return float(sc.simulate("gpt", self.machine, self.at, effects="none" if is_alike else EFFECTS).makespan_s)

    def formula_s(self) -> float:
        """Narayanan et al., Sec. 2.2, with kernels and rings: ``STAGES``."""
        values = Scenario.of("gpt", self.machine, self.at).bind().values
        return stages_s({name: float(value) for name, value in values.items() if np.ndim(value) == 0}, self.machine)


@cache
def machine_of(source: str) -> Machine:
    """The machine of a source: ``selene``, or with fewer interfaces of a node."""
    return load_machine(MACHINE, {"network.rails": INTERFACES[source]} if source in INTERFACES else {})


def stages_s(values: Mapping[str, float], machine: Machine) -> float:
    """``STAGES`` at values of parameters and equations."""
    accelerator, network = machine.accelerator, machine.network
    assert accelerator is not None
    assert accelerator.memory_per_byte_s is not None
    inside = machine.levels[1].message_model
    tokens, hidden, tensor = values["tokens"], values["hidden"], values["tensor"]
    heads, head, sequence = values["all_heads"], values["head"], values["sequence"]
    constants = {
        "products_s": sum(_product_s(accelerator, part * tokens * hidden**2 / tensor) for part in (6, 2, 8, 8)),
        "logits_s": _product_s(accelerator, 2 * tokens * hidden * values["vocabulary"] / tensor),
        "attention_bytes": 4 * (heads * head + head * sequence + heads * sequence),
        "hbm": 1 / accelerator.memory_per_byte_s,
        "startup": inside.startup_s,
        "inside": 1 / inside.per_byte_s,
        "outside": network.rails / GPUS_OF_A_NODE / network.message_model.per_byte_s,
    }
    return float(STAGES.evaluate({**values, **constants}))


def _product_s(accelerator: Accelerator, flops: float) -> float:
    """A product of matrices that does not wait for the memory."""
    assert accelerator.rates.fp16 is not None
    return flops / float(accelerator.rates.fp16 * efficiency_of(accelerator, {"flops": flops}, MACHINE, Place("gpt")))


@cache
def steps() -> tuple[Step, ...]:
    """All measured steps."""
    frame: pd.DataFrame = tables.table(TABLE)
    return tuple(
        Step(
            row.source,
            row.model,
            int(row.gpus),
            float(row.seconds),
            {_COLUMNS.get(name, name): int(getattr(row, name)) for name in _PARAMETERS},
        )
        for row in frame.itertuples()
    )


def evidence(source: str) -> list[Step]:
    """The steps of a source."""
    return [one for one in steps() if one.source == source]


def calibrated() -> tuple[float, float]:
    """Startup and bandwidth inside a node."""
    return calibrated_constants("a100")


_GOAL = Tolerance("the worst error that the simulation is to have, stated before it was run", relative=0.12)
_OUTLIERS = (
    "micro-batches of 64 sequences take twice as long as those of 32, and of 2 half as long again as of 4: no time that grows "
    "with the micro-batch is within 33 % of these rows; neither launches nor a memory that is nearly full explain them"
)
_SCATTER = (
    "the same work of a layer differs by up to 34 % between rows with other pipelines, which nothing here describes: it is "
    "not in the kernels"
)
_LARGE_PRODUCTS = "large products reach less in a step than alone, by 10 to 15 %"
_TWO_NODES = "the step of 18.4 billion parameters takes a fifth longer than described; the others are met"


def _case(name: str, rows: list[Step], *, because: str = "", quick: bool = False, full: bool = False) -> Case:
    measured = {one.name: MeasuredValue(one.seconds) for one in rows}

    def measure() -> Readings:
        return Readings(
            {one.name: one.forecast_s() for one in rows},
            {one.name: one.simulated_s() for one in rows},
            formula={one.name: one.formula_s() for one in rows},
            notes=("the passes of a stage, prolonged by the bubble",),
        )

    claim = "Kernels and all-reduces, measured alone, predict steps of training."
    chosen = "bytes of a layer, rings of channels, rows of kernels that are constants"
    base = case_of_steps(f"gpt/{name}", claim, SOURCES[rows[0].source], measured, measure, _GOAL, chosen)
    return replace(base, because=because, quick=quick, full=full)


def case_of_steps(
    name: str,
    claim: str,
    source: str,
    measured: dict[str, MeasuredValue],
    measure: Callable[[], Readings],
    goal: Tolerance,
    chosen: str,
) -> Case:
    """A case of steps of training. ``chosen``: what was neither public nor assumed."""
    return Case(
        name=name,
        claim=claim,
        source=source,
        unit="s",
        expected={one: float(value) for one, value in measured.items()},
        measured=measured,
        reading="simulation",
        tolerance=goal,
        measure=measure,
        inputs={
            "data sheet, kernels, all-reduce": "public",
            "latencies between nodes": "assumed",
            chosen: "chosen",
        },
        printed=True,
    )


def place_of_the_fastest(rows: list[Step], seconds: Callable[[Step], float]) -> int:
    """The place, from 1, of the pair of tensor and pipeline that was measured fastest, in the order of ``seconds``: of each
    pair its fastest micro-batch counts."""

    def order(seconds: Callable[[Step], float]) -> list[tuple[int, int]]:
        pairs: dict[tuple[int, int], float] = {}
        for one in rows:
            pair = one.parameters["tensor"], one.parameters["pipeline"]
            pairs[pair] = min(pairs.get(pair, math.inf), seconds(one))
        return sorted(pairs, key=lambda pair: pairs[pair])

    return order(seconds).index(order(lambda one: one.seconds)[0]) + 1


def _best(model: str, full: bool) -> Case:
    rows = [one for one in evidence("vtrain") if one.model == model]

    def measure() -> Readings:
        searched, simulated = (place_of_the_fastest(rows, one) for one in (Step.searched_s, Step.simulated_s))
        return Readings({"place": searched}, {"place": simulated})

    return Case(
        name=f"gpt/vtrain-{model.lower()}-best",
        claim="The pair of tensor and pipeline that was measured fastest is among the three best.",
        source=SOURCES["vtrain"],
        unit="",
        expected={"place": 3.0},
        reading="both",
        tolerance=Tolerance("the goal, stated before: among the three that a search names", sense="at_most"),
        measure=measure,
        inputs={"data sheet, kernels, all-reduce": "public", "latencies between nodes": "assumed"},
        full=full,
    )


def _vtrain(model: str, tensor: tuple[int, ...]) -> list[Step]:
    return [one for one in evidence("vtrain") if one.model == model and one.parameters["tensor"] in tensor]


_LARGE = ("310.1B", "529.6B", "1008B")
_SC21, _KORTHIKANTI = evidence("sc21"), evidence("korthikanti")
#: Model -> why its rows with tensor groups of a node are missed.
_MODELS = {"3.6B": _OUTLIERS, "18.4B": "", "39.1B": ""}
CASES = (
    _case("sc21", [one for one in _SC21 if one.gpus <= 512], quick=True),
    _case("sc21-1536", [one for one in _SC21 if one.gpus > 512 and one.model not in _LARGE]),
    _case("sc21-large", [one for one in _SC21 if one.model in _LARGE], because=_LARGE_PRODUCTS, full=True),
    _case("korthikanti", [one for one in _KORTHIKANTI if one.gpus <= 64]),
    _case("korthikanti-large", [one for one in _KORTHIKANTI if one.gpus > 64], because=_LARGE_PRODUCTS, full=True),
    *(
        _case(f"vtrain-{one.lower()}-node", _vtrain(one, (8,)), because=why, full=one == "39.1B")
        for one, why in _MODELS.items()
    ),
    *(
        _case(f"vtrain-{one.lower()}-part", _vtrain(one, (1, 2, 4)), because=_SCATTER, full=one == "39.1B")
        for one in _MODELS
    ),
    *(_best(one, full=one == "39.1B") for one in _MODELS),
    _case(
        "vtrain-two-nodes",
        [one for one in evidence("vtrain") if one.parameters["tensor"] == 16],
        because=_TWO_NODES,
    ),
)
