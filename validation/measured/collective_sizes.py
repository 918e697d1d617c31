"""Cases of one collective operation on one system: measured times by size, of which no row determined a constant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import simcodesign as sc
from simcodesign.describe.measured.times import MeasuredValue
from simcodesign.describe.scenario import Scenario
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.describe.yaml.workload import workload_from
from simcodesign.studies.validation.case import Case, Readings, Tolerance


@cache
def workload(operation: str, algorithm: str) -> Workload:
    """Return the workload of one such operation of all ranks, of ``size`` bytes."""
    program = f"[{{{operation}: {{bytes: size, algorithm: {algorithm}}}}}]"
    text = f"simcodesign: 1\nname: {operation}\nparameters: {{size: {{default: 8}}}}\nprogram: {program}\n"
    return workload_from(parse_yaml(text, operation))


def case(
    name: str,
    claim: str,
    source: str,
    times_us: Mapping[int, MeasuredValue],
    scenario: Callable[[int], Scenario],
    *,
    because: str,
    quick: bool = True,
    names_algorithms: bool = False,
) -> Case:
    """Return the case of times in us by size in bytes, whose ``scenario`` by size is read by both readings.

    ``names_algorithms`` notes the algorithms that the forecast chose.
    """

    def measure() -> Readings:
        given = {size: scenario(size) for size in times_us}
        foreseen = {size: sc.forecast(one) for size, one in given.items()}
        chosen = dict.fromkeys(one.algorithm for result in foreseen.values() for one in result.algorithms)
        return Readings(
            {size: 1e6 * float(one.makespan_s) for size, one in foreseen.items()},
            {size: 1e6 * float(sc.simulate(one).makespan_s) for size, one in given.items()},
            notes=(f"algorithms: {', '.join(chosen)}",) if names_algorithms else (),
        )

    return Case(
        name=name,
        claim=claim,
        source=source,
        unit="us",
        expected={size: float(one) for size, one in times_us.items()},
        measured=times_us,
        axis="bytes",
        reading="simulation",
        tolerance=Tolerance("what is hoped for where the algorithm is known", relative=0.1),
        measure=measure,
        because=because,
        quick=quick,
    )
