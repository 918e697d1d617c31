"""Logs of training: the time of each step, with the sizes of the model and how it is divided among ranks.

Megatron-LM prints its arguments, ``hidden_size ........ 6144``, and for each interval of steps ``iteration 10/ 100 |
... | elapsed time per iteration (ms): 5123.4 | ... | global batch size: 512 | ...``. The parameters of a row have the
names of the workload ``gpt``. The first interval of each run is left out: it has what happens once. A run begins with
its arguments, or with an iteration that is not after the one before. Format: ``training_log`` and
``_print_args`` of Megatron-LM, core 0.8.
"""

from __future__ import annotations

import re
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.core.files.text_files import number
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable, add_benchmark
from simcodesign.fitting.readers.benchmarks.output.text import numbered_lines

FORMAT = "training"
#: The operation of a step: the whole program.
WHOLE = "total"
#: Arguments of Megatron-LM by their names in the workload ``gpt``; ``P``: ranks.
ARGUMENTS = {
    "world_size": "P",
    "num_layers": "layers",
    "hidden_size": "hidden",
    "num_attention_heads": "heads",
    "seq_length": "sequence",
    "padded_vocab_size": "vocabulary",
    "global_batch_size": "global_batch",
    "micro_batch_size": "micro_batch",
    "tensor_model_parallel_size": "tensor",
    "pipeline_model_parallel_size": "pipeline",
}
_ARGUMENT = re.compile(r"(\w+) \.{2,} (\d+)\b")
_TIME = re.compile(r"elapsed time per iteration \((ms|s)\):\s*([^\s|]+)")
_BATCH = re.compile(r"global batch size:\s*(\d+)")
_ITERATION = re.compile(r"\biteration\s+(\d+)\s*/")
_UNITS_S = {"ms": 1e-3, "s": 1.0}


def read_training(path: Path) -> BenchmarkTable:
    """Read a row for each interval of steps but the first of each run.

    Raises InputError naming the line of a time that is none.
    """
    rows: list[BenchmarkRow] = []
    arguments: dict[str, float] = {}
    iteration, is_first, left_out = 0, True, 0
    for line, text in numbered_lines(path):
        if found := _ARGUMENT.search(text):
            if found[1] in ARGUMENTS:
                is_first = True
                arguments[ARGUMENTS[found[1]]] = float(found[2])
        elif found := _TIME.search(text):
            counted = _ITERATION.search(text)
            is_first |= counted is not None and int(counted[1]) <= iteration
            iteration = int(counted[1]) if counted else iteration
            place = Place(str(path), line)
            step_s = number(found[2], place) * _UNITS_S[found[1]]
            if step_s <= 0:
                raise InputError("the time of a step", place, value=step_s, allowed="above 0")
            batch = _BATCH.search(text)
            parameters = arguments | ({"global_batch": float(batch[1])} if batch else {})
            if is_first:
                left_out += 1
            else:
                rows.append(BenchmarkRow(WHOLE, "time", step_s, line, "total", parameters))
            is_first = False
    of = f" of each of {left_out} runs" if left_out > 1 else ""
    notes = (f"The first interval of steps{of} is left out: it has what happens once.",) if rows else ()
    return BenchmarkTable(str(path), FORMAT, tuple(rows), notes)


def _sniff(start: FileStart) -> Match:
    is_one = _TIME.search(start.text) or "tensor_model_parallel_size ." in start.text
    return Match.CERTAIN if is_one else Match.NONE


add_benchmark(FORMAT, read_training, _sniff)
