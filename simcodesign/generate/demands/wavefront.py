"""Lowering of wavefronts: receives, computations and sends, block by block."""

from __future__ import annotations

import functools

import numpy as np

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import Evaluate
from simcodesign.describe.demands.wavefront import Wavefront
from simcodesign.generate.columns import Ranks
from simcodesign.generate.demands.base import LOWERINGS, Lowering
from simcodesign.generate.demands.computation import duration_of_computation_s
from simcodesign.generate.messages.group_columns import equal_groups
from simcodesign.generate.messages.wavefront import wavefront
from simcodesign.generate.plan_builder import StepWriter


class WavefrontLowering(Lowering[Wavefront]):
    """The sweeps of all ranks, or of every group."""

    def operations(self, demand: Wavefront, writer: StepWriter) -> float:
        most = sum(
            5.0 * one.members.size * float(writer.amount(demand.planes, "planes", one.names))
            for one in equal_groups(writer.step)
        )
        return most * len(demand.corners)

    def write(self, demand: Wavefront, writer: StepWriter) -> None:
        for several in equal_groups(writer.step):
            amount: Evaluate = functools.partial(writer.amount, changed=several.names)
            taking_part = np.zeros(writer.builder.ranks)
            taking_part[several.members] = 1.0
            ranks = writer.columns if demand.group is None else several.ranks
            _write(demand, writer, ranks, amount, taking_part)
            if demand.group is not None:
                writer.columns.columns += several.columns(writer.builder.ranks)


def _write(demand: Wavefront, writer: StepWriter, ranks: Ranks, amount: Evaluate, taking_part: FloatOrArray) -> None:
    """Write the sweeps over one process grid; note what those ranks compute."""
    px, py = (int(extent) for extent in demand.checked_grid(ranks.count, amount))
    planes, (in_x, in_y) = int(demand.checked_planes(amount)), demand.sizes_bytes(amount)
    compute_s = 0.0
    if demand.compute is not None:
        unit, work = demand.compute.unit, demand.compute.work(amount)
        processor = writer.machine.processor
        processor.needs_one_kind("a wavefront", demand.place)
        compute_s = float(np.max(duration_of_computation_s(demand.compute, processor, work)))
        blocks = taking_part * planes * len(demand.corners)
        writer.count(writer.builder.totals.work, unit, work * blocks)
        writer.count_instructions(unit, work * blocks, compute_s * blocks)
    wavefront(ranks, (px, py), planes, (float(in_x), float(in_y)), compute_s, demand.corners)


LOWERINGS.add(Wavefront, WavefrontLowering())
