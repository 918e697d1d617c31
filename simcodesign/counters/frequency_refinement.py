"""Refinement: CPI_core and BF_mem of a kernel from two clock frequencies, and communication from two further runs.

Source: Ding et al., APMT, section 3.4: CPI = CPI_core + BF_mem T_mem (equation 5). In cycles per instruction, T_mem is
less at a lower frequency, for memory keeps its time in seconds; two runs of one number of processes then give a line,
whose slope is BF_mem and whose intercept is CPI_core, as the caption of figure 10 states. Equation 6 as it is printed
calls the slope CPI_core, and the slope of what is left over BF_mem (``refine_as_printed``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.counters.table import APPLICATION, LATENCIES, OTHERS, CounterTable, Latencies, means
from simcodesign.fitting.measurements import FloatArray


@dataclass(frozen=True)
class Refined:
    """CPI_core in cycles per instruction, and BF_mem, the fraction of memory access time that is not hidden."""

    cpi_core: float
    blocking_factor: float

    def cpi(self, memory_cpi: float) -> float:
        """Equation 5, at a T_mem in cycles per instruction."""
        return self.cpi_core + self.blocking_factor * memory_cpi


def refine(cpi: tuple[float, float], memory_cpi: tuple[float, float]) -> Refined:
    """Return the line of equation 5 through CPI and T_mem (both in cycles per instruction) at two frequencies.

    Raises InputError if T_mem is the same at both, so that the two cannot be separated.
    """
    slope = _slope(cpi, memory_cpi)
    return Refined(cpi[0] - slope * memory_cpi[0], slope)


def refine_as_printed(cpi: tuple[float, float], memory_cpi: tuple[float, float]) -> Refined:
    """Equation 6 to the letter: CPI_core = dCPI/dT_mem and BF_mem = (CPI_1 - CPI_core)/T_mem,1.

    It contradicts equation 5: both runs lie on its line only where CPI_core and BF_mem are equal. Raises InputError as
    ``refine``, and where T_mem is 0.
    """
    slope = _slope(cpi, memory_cpi)
    if memory_cpi[0] == 0:
        raise InputError("T_mem of the first run is 0", value=0.0, allowed="a number above 0")
    return Refined(slope, (cpi[0] - slope) / memory_cpi[0])


def _slope(cpi: tuple[float, float], memory_cpi: tuple[float, float]) -> float:
    for name, pair in (("CPI", cpi), ("T_mem", memory_cpi)):
        if not np.isfinite(pair).all():
            raise InputError(f"{name} at two frequencies must be two numbers", value=pair, allowed="finite numbers")
    difference = memory_cpi[0] - memory_cpi[1]
    if abs(difference) <= 1e-12 * max(map(abs, memory_cpi)):
        raise InputError(
            "T_mem is the same at both frequencies",
            value=memory_cpi,
            allowed="two, as accesses to memory make them; CPI_core and BF_mem cannot be separated",
        )
    return (cpi[0] - cpi[1]) / difference


def refine_kernels(table: CounterTable, latencies: Latencies = LATENCIES) -> dict[str, Refined]:
    """CPI_core and BF_mem of every kernel of two runs at two frequencies, on the same processes and size.

    Kernels without accesses to memory, or with counters missing in one of the runs, are left out. The first run is the
    one at the higher frequency. Raises InputError unless there are just two frequencies, one number of processes and
    one size, and where no kernel is left.
    """
    runs = means(table)
    frequencies = np.unique(runs.column("frequency_hz"))
    if len(frequencies) != 2 or np.isnan(frequencies).any():
        raise InputError(
            "the refinement needs runs at two frequencies",
            value=frequencies.tolist(),
            allowed="two, given for every run",
        )
    for name in ("processes", "size"):
        values = runs.column(name)
        if len(np.unique(values[~np.isnan(values)])) > 1:
            raise InputError(
                f"{name} differs between the runs at two frequencies", value=np.unique(values).tolist(), allowed="one"
            )
    cpi, memory = runs.cpi, runs.memory_cpi(latencies)
    refined: dict[str, Refined] = {}
    for kernel in dict.fromkeys(runs.kernels):
        rows = _two_rows(runs, kernel, frequencies)
        if kernel in (APPLICATION, OTHERS) or rows is None:
            continue
        pair, accesses = (cpi[rows[0]], cpi[rows[1]]), (memory[rows[0]], memory[rows[1]])
        if np.isfinite([*pair, *accesses]).all() and abs(accesses[0] - accesses[1]) > 1e-12 * max(accesses):
            refined[kernel] = refine((float(pair[0]), float(pair[1])), (float(accesses[0]), float(accesses[1])))
    if not refined:
        raise InputError("no kernel has cycles, instructions and accesses to memory at both frequencies")
    return refined


def _two_rows(runs: CounterTable, kernel: str, frequencies: FloatArray) -> tuple[int, int] | None:
    """Return the rows of a kernel at the higher and the lower frequency."""
    named = [row for row, name in enumerate(runs.kernels) if name == kernel]
    at = {float(runs.column("frequency_hz")[row]): row for row in named}
    low, high = map(float, frequencies)
    return (at[high], at[low]) if len(at) == 2 else None
