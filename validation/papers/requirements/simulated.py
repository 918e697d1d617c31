"""Requirements co-design simulated: the counters of simulations have the ratios of the models, and what the times do.

Nothing here is published: Calotoiu et al., CLUSTER 2018, leave times out on purpose. What is expected are the models of
their Table II, computed again (``requirements_models``), at the number of processes that is simulated. The times are shown
in notes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from simcodesign.studies.requirements.simulated_strawman import SimulatedStrawMan, simulated_straw_men
from simcodesign.studies.requirements.simulated_upgrade import SimulatedCell, simulated_upgrades
from simcodesign.studies.requirements.upgrade_ranking import rankings
from simcodesign.studies.validation.case import Case, Label, Readings, Tolerance

from . import models as own
from .upgrades import BASE_M, MACHINE, PAPER, UPGRADES

#: Processes of the base: two nodes, so that a case takes seconds. A power of two, for which the cost functions of Table
#: II count as many bytes as the messages of the algorithms do.
P = 32
#: Processors of the straw-man systems, the fewest whose numbers are in the ratio of Table VI.
STRAW_P = {"massively-parallel": 200, "vector": 5, "hybrid": 10}
#: Counter -> the row of Table II that it must follow.
ROWS = {"flops": "flop", "sent_bytes": "bytes_sent", "loads_stores": "loads_stores"}
COUNTED = Tolerance(
    "the same models evaluated twice: sizes are exact to 1e-13, counters are sums of some 10^4 doubles", relative=1e-10
)
SAME_TIME = Tolerance(
    "a simulation adds some 10^3 doubles on its critical path where the forecast multiplies", relative=1e-10
)


@cache
def cells(app: str, effects: str) -> tuple[SimulatedCell, ...]:
    """By the system."""
    return tuple(simulated_upgrades([app], MACHINE, [*UPGRADES.values()], ranks=P, effects=effects))


def ratio(app: str, upgrade: str, metric: str) -> float:
    """By the models, at the number of processes that is simulated."""
    new_p, new_m = P * own.factor(upgrade, "p"), BASE_M * own.factor(upgrade, "m")
    n, new_n = own.largest(app, float(P), BASE_M), own.largest(app, new_p, new_m)
    return own.model(app, metric, new_n, new_p) / own.model(app, metric, n, float(P))


def counter_case(app: str) -> Case:
    """Counters of an application after the three upgrades; what becomes of its time is shown."""
    labels: dict[Label, tuple[str, str]] = {
        f"{upgrade}, {counter}": (upgrade, counter) for upgrade in own.UPGRADES for counter in ROWS
    }

    def measure() -> Readings:
        counted = {cell.upgrade: cell.counter_ratios for cell in cells(app, "all")}
        return Readings(
            simulation={label: counted[upgrade][counter] for label, (upgrade, counter) in labels.items()},
            notes=tuple(table(app)),
        )

    return Case(
        name=f"requirements-simulated/counters/{app}",
        claim=f"What a simulation of {app} counts changes with an upgrade as its requirements do, from {P} processes.",
        source=f"the models of {PAPER}, Table II, computed anew; not published",
        unit="ratio",
        expected={label: ratio(app, upgrade, ROWS[counter]) for label, (upgrade, counter) in labels.items()},
        tolerance=COUNTED,
        reading="simulation",
        measure=measure,
        workload=app,
        machine=MACHINE,
        parameters={"P": P},
    )


def table(app: str) -> list[str]:
    """Of every upgrade the ratios of requirements and of time, and what explains the difference; and the picks."""
    lines = []
    for cell in cells(app, "all"):
        ratios, step = cell.study.ratios, cell.explained_by()
        why = f"{step.name} {step.change:+.3g}" if step is not None else "nothing"
        needs = " / ".join(f"{ratios[name]:.3g}" for name in ("computation", "communication", "memory_access"))
        lines.append(
            f"{cell.upgrade}: requirements {needs} (mean {cell.requirement_ratio:.3g}), simulated time {cell.time_ratio:.4g}, "
            f"for a unit of the overall problem {cell.time_per_problem:.4g}; the difference is explained by {why}."
        )
    (ranking,) = rankings(cells(app, "all"))
    picks = {
        way: " = ".join(ranking.picks(way))
        for way in ("requirements", "simulated", "full_requirements", "full_forecast")
    }
    lines.append(
        f"For a unit of the overall problem the requirements pick {picks['requirements']} and the simulated time "
        f"{picks['simulated']}; on all of {MACHINE} they pick {picks['full_requirements']} and the forecast time "
        f"{picks['full_forecast']}. Rates, stack distances and blocking are partly assumed: these times are no evidence."
    )
    return lines


def time_case(app: str) -> Case:
    """Without effects a simulation takes as long as the forecast says."""

    def measure() -> Readings:
        simulated_cells = cells(app, "none")
        runs = {
            "as it is": simulated_cells[0].old,
            **{cell.upgrade: cell.new for cell in simulated_cells if cell.new is not None},
        }
        seconds = {
            name: (float(run.comparison.forecast.makespan_s), float(run.simulation.makespan_s))
            for name, run in runs.items()
        }
        return Readings(simulation={name: simulated / implied for name, (implied, simulated) in seconds.items()})

    return Case(
        name=f"requirements-simulated/no-effects/{app}",
        claim=f"Without effects a simulation of {app} takes what the forecast says, on the base and on all upgraded machines.",
        source="the independence of the two readings",
        unit="simulated over forecast seconds",
        expected=dict.fromkeys(("as it is", *own.UPGRADES), 1.0),
        tolerance=SAME_TIME,
        reading="simulation",
        measure=measure,
        workload=app,
        machine=MACHINE,
        parameters={"P": P},
    )


@cache
def straw_men(app: str) -> SimulatedStrawMan:
    """By the system, as small as the ratios of processors allow."""
    names = [f"strawman-{name}" for name in own.SYSTEMS]
    return simulated_straw_men([app], names, ranks=max(STRAW_P.values()), effects="none")[0]


def straw_man_case(app: str) -> Case:
    """Computation of the largest problem that all smaller systems hold."""
    problem = min(p * own.largest(app, float(p), own.system(name, "memory")) for name, p in STRAW_P.items())

    def least(name: str) -> float:
        p = float(STRAW_P[name])
        return own.model(app, "flop", problem / p, p) / own.system(name, "rate")

    def measure() -> Readings:
        runs = zip(own.SYSTEMS, straw_men(app).runs, strict=True)
        times = {name: run.simulation.components for name, run in runs if run is not None}
        return Readings(
            simulation={name: float(parts["computation"]) for name, parts in times.items()},
            notes=tuple(
                f"{name}: "
                + ", ".join(f"{part} {float(time):.3g} s" for part, time in parts.items() if time)
                + "; memory and network are assumed"
                for name, parts in times.items()
            ),
        )

    return Case(
        name=f"requirements-simulated/straw-men/{app}",
        claim=f"The simulated computation of {app} on straw-man systems of 200, 5 and 10 processors, which have the memory and "
        "the rate of those of Table VI, for the largest problem that all hold.",
        source=f"the models of {PAPER}, Tables II and VI, computed anew; not published",
        unit="s",
        expected={name: least(name) for name in own.SYSTEMS},
        tolerance=COUNTED,
        reading="simulation",
        measure=measure,
        workload=app,
        parameters=dict(STRAW_P),
    )


MAKERS: tuple[Callable[[str], Case], ...] = (counter_case, time_case, straw_man_case)
CASES: list[Case] = [make(app) for make in MAKERS for app in own.APPS]
