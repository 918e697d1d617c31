"""Steps of training read after the workloads and machines were finished: nothing is fitted to them.

They showed that attention is slower than products of matrices; since then, machines state an efficiency of attention. Its value
for ``selene`` is from kernels alone, chosen before its errors here were computed.

FSDP of MPT (workload ``mixture-of-experts`` with one expert) on A100 of 80 and of 40 GB and on H100, and steps of Megatron-DeepSpeed
and NeMo (workload ``gpt``). The machine ``selene`` is calibrated by kernels and all-reduces; ``dgx-h100-cluster`` is the data
sheet with kernels that reach full rates, so that its times are lower bounds. Of an A100 of 40 GB, the memory has the same fraction of its
data sheet as of 80 GB (1,555 and 2,039 GB/s).

Source: mosaicml/llm-foundry; Smith et al., arXiv 2201.11990; bigscience-workshop/bigscience; NVIDIA/NeMo (``published/``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

import pandas as pd

import simcodesign as sc
from simcodesign.describe.machine import Machine
from simcodesign.describe.measured.times import MeasuredValue
from simcodesign.describe.yaml.files import load_machine
from simcodesign.studies.validation.case import Case, Readings, Tolerance

from ..published import tables
from .gpt import case_of_steps

FSDP_TABLE, GPT_TABLE = "fsdp-steps", "gpt-steps-held-out"
GPUS_OF_A_NODE = 8
CAUSAL_FLASH, FULL_SHARD = 2, 3
VOCABULARY = 50_368
#: Layers, hidden size and heads of MPT (llm-foundry, scripts/train/yamls/pretrain).
MPT = {
    "125m": (12, 768, 12),
    "350m": (24, 1024, 16),
    "760m": (24, 1536, 12),
    "1b": (24, 2048, 16),
    "3b": (32, 2560, 20),
    "7b": (32, 4096, 32),
    "13b": (40, 5120, 40),
    "30b": (48, 7168, 56),
    "70b": (80, 8192, 64),
}
#: GPU or source -> machine, and what its nodes have instead. Jean Zay: four links of 100 Gb/s.
MACHINES: Mapping[str, tuple[str, Mapping[str, str | float]]] = {
    "a100_80gb": ("selene", {}),
    "a100_40gb": (
        "selene",
        {"accelerator.memory.bandwidth": 1202e9 * 1555 / 2039, "accelerator.memory.capacity": 40e9},
    ),
    "h100_80gb": ("dgx-h100-cluster", {}),
    "mt-nlg": ("selene", {}),
    "bloom": ("selene", {"network.rails": 4, "network.bandwidth": 12.5e9}),
    "nemo": ("dgx-h100-cluster", {}),
}
_GPT_PARAMETERS = (
    *("hidden", "layers", "heads", "vocabulary", "tensor", "pipeline", "virtual_stages", "micro_batch"),
    *("recomputation", "sequence_parallelism", "zero", "attention", "number_type"),
)


@dataclass(frozen=True)
class Step:
    """A measured step of a ``workload`` on the GPU or of the source ``on``, at a design point."""

    name: str
    on: str
    workload: str
    seconds: float
    at: Mapping[str, float]

    @property
    def machine(self) -> Machine:
        """The machine, described before this step was read."""
        return machine_of(self.on)

    def forecast_s(self) -> float:
        """The longest path of messages; the sum of closed forms if it has too many."""
        return float(sc.forecast(self.workload, self.machine, self.at).makespan_s)

    def simulated_s(self) -> float:
        """Without effects: every GPU has an interface, and GPUs that do the same are simulated once."""
        return float(sc.simulate(self.workload, self.machine, self.at, effects="none").makespan_s)


@cache
def machine_of(on: str) -> Machine:
    """The machine of a GPU or source."""
    name, settings = MACHINES[on]
    return load_machine(name, dict(settings))


@cache
def fsdp_steps() -> tuple[Step, ...]:
    """Steps with FSDP; seconds: tokens of a step over tokens per second."""
    return tuple(_fsdp_step(row) for row in tables.table(FSDP_TABLE).itertuples())


def _fsdp_step(row: pd.Series) -> Step:
    layers, hidden, heads = MPT[row.model]
    at = {
        "P": row.gpus,
        "layers": layers,
        "hidden": hidden,
        "heads": heads,
        "feed_forward": 4 * hidden,
        "sequence": row.sequence,
        "vocabulary": VOCABULARY,
        "experts": 1,
        "expert_parallel": 1,
        "global_batch": row.batch,
        "micro_batch": row.micro_batch,
        "recomputation": row.recomputation,
        "attention": CAUSAL_FLASH,
        "zero": FULL_SHARD,
    }
    name = f"{row.model} {row.sequence} {row.gpus} b{row.micro_batch}"
    return Step(name, row.gpu, "mixture-of-experts", row.batch * row.sequence / row.tokens_per_s, at)


@cache
def gpt_steps() -> tuple[Step, ...]:
    """Steps with tensor and pipeline parallelism; of replicas of whole nodes, two are described."""
    return tuple(_gpt_step(row) for row in tables.table(GPT_TABLE).itertuples())


def _gpt_step(row: pd.Series) -> Step:
    replicas = row.gpus // (row.tensor * row.pipeline)
    here = min(replicas, 2) if row.tensor * row.pipeline % GPUS_OF_A_NODE == 0 else replicas
    ranks = {"P": row.tensor * row.pipeline * here, "total_data": replicas, "global_batch": row.batch}
    at = {**ranks, **{name: getattr(row, name) for name in _GPT_PARAMETERS}}
    return Step(f"{row.source} {row.model} {row.gpus}", row.source, "gpt", float(row.seconds), at)


_GOAL = Tolerance("the worst error that steps of training are to have, stated before they were read", relative=0.12)
_ATTENTION = (
    "in steps of 16,384 tokens or more, the time beside all other kernels is 28 to 33 % of the peak rate in attention; the kernels "
    "of selene, measured alone, reach 24 %, with heads of 64 numbers (Dao, arXiv 2307.08691, Figure 4 c)"
)
_DATA_SHEET = "the machine is a data sheet whose kernels reach full rates: a lower bound"
_SHORT = "kernels take longer in a step than alone, as in other large steps; neither source divides its time"


def _case(name: str, rows: list[Step], source: str, because: str, full: bool = True) -> Case:
    measured = {one.name: MeasuredValue(one.seconds) for one in rows}

    def measure() -> Readings:
        return Readings({one.name: one.forecast_s() for one in rows}, {one.name: one.simulated_s() for one in rows})

    claim = "Kernels and all-reduces, measured alone, predict steps of training that were read last."
    chosen = "memory bandwidth of 40 GB, a causal mask that leaves out blocks"
    base = case_of_steps(f"held-out/{name}", claim, source, measured, measure, _GOAL, chosen)
    return replace(base, because=because, full=full)


_MPT = "repository mosaicml/llm-foundry, scripts/train/benchmarking (commit 061f2c7)"
_OF_GPT = {
    "mt-nlg": ("Smith et al., arXiv 2201.11990, Sec. 2.4, quoted in repository cli99/llm-analysis", _SHORT),
    "bloom": ("repository bigscience-workshop/bigscience, train/tr11-176B-ml", _SHORT),
    "nemo": ("repository NVIDIA/NeMo, docs/source/performance (commit 070a0bb)", _DATA_SHEET),
}
_OF_FSDP = {"a100_80gb": _ATTENTION, "a100_40gb": _SHORT, "h100_80gb": _DATA_SHEET}
CASES = (
    *(
        _case(f"fsdp-{on.replace('_', '-')}", [one for one in fsdp_steps() if one.on == on], _MPT, why)
        for on, why in _OF_FSDP.items()
    ),
    *(_case(on, [one for one in gpt_steps() if one.on == on], *about) for on, about in _OF_GPT.items()),
)
