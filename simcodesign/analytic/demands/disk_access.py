"""Closed form of disk input and output: startup and per-byte time, nobody waiting for anybody.

Armstrong and Eigenmann, SPECseis96, equation 4, per iteration: X (C_start + C_mem Sz) for reads and for writes.
"""

from __future__ import annotations

from collections.abc import Iterator

from simcodesign.analytic.demands.base import CLOSED_FORMS, Charge, ClosedForm, Count, part_draws
from simcodesign.analytic.formulas.formula_prices import Payment, SymbolicPrices
from simcodesign.analytic.indexed_loops.index_shapes import IndexedLoop, Shape, product, total
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression_sympy import to_sympy
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import Demand
from simcodesign.describe.demands.disk_access import DiskAccess
from simcodesign.describe.evaluation import EvaluatedStep
from simcodesign.describe.machine_parts.disk import Disk


def access_s(
    demand: Demand, kind: str, disk: Disk | None, size_bytes: FloatOrArray, times: FloatOrArray
) -> FloatOrArray:
    """Seconds of ``times`` accesses (``read`` or ``write``) of ``size_bytes``. InputError when the machine has no
    disk."""
    if disk is None:
        raise InputError(f"a {kind} needs a disk, which this machine has not", demand.place)
    startup = disk.read_startup_s if kind == "read" else disk.write_startup_s
    return times * (startup + disk.per_byte_s * size_bytes)


class DiskAccessForm(ClosedForm[DiskAccess]):
    """Reads and writes."""

    def charge(self, demand: DiskAccess, step: EvaluatedStep) -> Charge:
        size, times = step.amount(demand.bytes, "bytes"), step.amount(demand.times, "times")
        time_s = access_s(demand, demand.kind, step.machine.disk, size, times)
        counts = (Count("disk", "bytes", size * times),)
        return Charge("disk", time_s, counts, "disk", time_s, draws=part_draws(step, "disk", time_s))

    def index_shape(self, demand: DiskAccess, step: EvaluatedStep, loop: IndexedLoop) -> Shape | None:
        if demand.when is not None and loop.index in demand.when.names:
            return None
        size, times = (Shape.of(amount.tree, loop.index) for amount in (demand.bytes, demand.times))
        return total(times, product(size, times))

    def requirements(self, demand: DiskAccess, step: EvaluatedStep, counting: str) -> dict[str, FloatOrArray]:
        return {"disk_bytes": step.amount(demand.bytes, "bytes") * step.amount(demand.times, "times")}

    def payments(self, demand: DiskAccess, prices: SymbolicPrices) -> Iterator[Payment]:
        size, times = to_sympy(demand.bytes), to_sympy(demand.times)
        yield prices.of("t_r" if demand.kind == "read" else "t_x"), (times,)
        yield prices.of("t_d"), (times, size)

    def model_terms(self, demand: DiskAccess) -> list[tuple[str, str]]:
        return [("disk_bytes", f"({demand.bytes.text})*({demand.times.text})")]


CLOSED_FORMS.add(DiskAccess, DiskAccessForm())
