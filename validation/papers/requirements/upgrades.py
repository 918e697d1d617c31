"""Requirements co-design: the models of Table II, and Tables III to VI entry by entry.

Source: Calotoiu, Graf, Hoefler, Lorenz, Rinke, Wolf, Lightweight Requirements Engineering for Exascale Co-design, CLUSTER
2018. ``own`` is what the paper's models give (``requirements_models``, by itself), ``measure`` what the system says. The
paper names no base machine for Tables IV and V, so that all their cases have a chosen input: the JUQUEEN of its
measurements, with 458752 processes of 1 GB, or another base where that agrees with more entries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import simcodesign as sc
from simcodesign.analytic.requirements_per_process import requirements
from simcodesign.studies.requirements.upgrade import UpgradeStudy, filled, upgrade_study
from simcodesign.studies.requirements.upgrade_factors import upgrade_of
from simcodesign.studies.validation.case import Case, Derived, Label, Readings, Tolerance

from ...published.tables import number, table
from . import models as own

PAPER = "Calotoiu et al., CLUSTER 2018"
MACHINE = "juqueen"
#: Processes and memory of each: public numbers of JUQUEEN, 28 racks of 1024 nodes of 16 cores, 16 GB a node.
BASE_P, BASE_M = 28.0 * 1024 * 16, 16e9 / 16
#: Upgrades A, B and C of Table III, as variants of a machine.
UPGRADES = {
    name: upgrade_of({key: "x2"}, name)
    for name, key in zip(own.UPGRADES, ("nodes", "processors_per_node", "memory.capacity"), strict=True)
}
#: One decimal is printed where it is not 0, so that 1 stands for 1.0.
ONE_DECIMAL = Tolerance(
    "one decimal is printed, and left out where it is 0: half a unit of it, and rounding of doubles",
    absolute=0.05 + 1e-9,
)
SAME_MODEL = Tolerance(
    "the same models evaluated twice: sizes are exact to 1e-13, requirements are sums of some five products",
    relative=1e-10,
)
#: Names of ratios in the system, by the columns of Table V.
NAMES = {
    "n": "size",
    "N": "overall",
    "computation": "computation",
    "communication": "communication",
    "memory": "memory_access",
}
#: The input that the paper does not give for Tables IV and V.
BASE = "processes and memory before the upgrade"
#: What was chosen by these very numbers, and says nothing about them.
CHOSEN = {
    "bytes_sent": "the third line of bytes sent of MILC (its coefficient was chosen by these very ratios)",
    "stack_distance": "the exponent of the stack distance of MILC (it was chosen by these very ratios)",
}
#: Bases at which most entries agree, of those with 2^7 to 2^32 processes and sizes of 2 to 1e12: p, and n, which the
#: memory is filled with. Kripke and MILC agree with no more entries at any than on JUQUEEN.
BEST_BASES = {"lulesh": (2.0**20, 10.0**7.2), "relearn": (2.0**7, 10.0**6.9), "icofoam": (2.0**17, 10.0**5.7)}


@cache
def study(app: str, upgrade: str, p: float = 0.0, m: float = 0.0) -> UpgradeStudy:
    """By the system: on JUQUEEN, or with so many processes of so much memory."""
    if not p:
        return upgrade_study(app, MACHINE, UPGRADES[upgrade])
    machine = sc.Machine.load("crossbar-16", {"nodes": int(p), "memory": {"capacity": m}})
    return upgrade_study(app, machine, UPGRADES[upgrade])


def study_ratios(app: str, upgrade: str, p: float = 0.0, m: float = 0.0) -> dict[str, float]:
    """Ratios by the columns of Table V; 0 if nothing fits after the upgrade."""
    result = study(app, upgrade, p, m)
    if app == "baseline":
        return {column: result.baseline[name] for column, name in NAMES.items()}
    return {column: result.ratios[name] if result.new.fit.fits else 0.0 for column, name in NAMES.items()}


# Table II.


def model_case(app: str) -> Case:
    """Every requirement of one application at several sizes and numbers of processes."""
    points = [(n, p) for n in (2.0, 1e3, 12345.0) for p in (2.0, 6.0, 458752.0, 2e9)]
    labels = {f"{metric}, n = {n:g}, p = {p:g}": (metric, n, p) for metric in own.METRICS for n, p in points}

    def measure() -> Readings:
        return Readings(forecast={label: requirement(app, *point) for label, point in labels.items()})

    return Case(
        name=f"requirements/table-2/{app}",
        claim=f"A process of {app} requires what the rows of Table II say.",
        source=f"{PAPER}, Table II (the workload and requirements-table-2.csv say which terms are legible)",
        unit="",
        expected={label: own.model(app, *point) for label, point in labels.items()},
        tolerance=SAME_MODEL,
        reading="forecast",
        measure=measure,
        workload=app,
        quick=True,
    )


def requirement(app: str, metric: str, n: float, p: float) -> float:
    """By the system; a stack distance as the mean of all loads and stores."""
    needs = requirements(app, {"n": n, "P": p})
    if metric == "stack_distance":
        return float(needs.weighted_accesses) / float(needs.loads_stores)
    names = {
        "bytes_used": "footprint_bytes",
        "flop": "flops",
        "bytes_sent": "sent_bytes",
        "loads_stores": "loads_stores",
    }
    return float(getattr(needs, names[metric]))


def upgrade_file_case() -> Case:
    """Table III: the upgrades as variants of a machine."""
    rows = {f"{column}, {name}": (name, column) for name in own.UPGRADES for column in ("p", "m")}

    def factor(name: str, column: str) -> float:
        upgrade = UPGRADES[name]
        return upgrade.processes if column == "p" else upgrade.memory

    return Case(
        name="requirements/table-3/factors",
        claim="Processes and memory of a process change by these factors.",
        source=f"{PAPER}, Table III",
        unit="factor",
        expected={
            label: number("requirements-table-3", column, upgrade=name) for label, (name, column) in rows.items()
        },
        tolerance=Tolerance("whole numbers and halves, exact as doubles"),
        reading="forecast",
        printed=True,
        inputs={"Table III": "published"},
        measure=lambda: Readings(forecast={label: factor(*row) for label, row in rows.items()}),
        quick=True,
    )


# Table IV.


def table_4_own(p: float, m: float) -> dict[Label, float]:
    """Ratios of LULESH after upgrade A."""
    own_ratios = own.ratios("lulesh", "racks", p, m)
    n, new_n = own.largest("lulesh", p, m), own.largest("lulesh", 2 * p, m)
    loads = own.model("lulesh", "loads_stores", new_n, 2 * p) / own.model("lulesh", "loads_stores", n, p)
    return {
        "p": 2.0,
        "m": 1.0,
        "n": own_ratios["n"],
        "N": own_ratios["N"],
        "flop": own_ratios["computation"],
        "bytes_sent": own_ratios["communication"],
        "loads_stores": loads,
    }


def table_4_ratios(p: float, m: float) -> dict[Label, float]:
    """The same by the system."""
    result = study("lulesh", "racks", p, m)
    ratios = result.ratios
    return {
        "p": result.new.processes / result.old.processes,
        "m": result.new.memory_bytes / result.old.memory_bytes,
        "n": ratios["size"],
        "N": ratios["overall"],
        "flop": ratios["computation"],
        "bytes_sent": ratios["communication"],
        "loads_stores": ratios["loads_stores"],
    }


def range_of_flop() -> str:
    """How a ratio that depends on p changes with it."""
    flop_ratios = ", ".join(
        f"{own.ratios('lulesh', 'racks', p, 1e9)['computation']:.3f} / {table_4_own(p, 1e9)['loads_stores']:.3f} at p = {p:g}"
        for p in (1e3, 1e4, 1e5, BASE_P, 1e6, 1e7, 1e8, 1e9)
    )
    return (
        f"The base is not stated. Ratios of flop / loads and stores: {flop_ratios}; the limits are 2^0.25 = 1.189 / 1."
    )


def table_4_case(where: str, p: float, m: float) -> Case:
    """All ratios of Table IV at one base."""
    rows = table("requirements-table-4")
    on_juqueen = p == BASE_P
    base = (0.0, 0.0) if on_juqueen else (p, m)
    return Case(
        name=f"requirements/table-4/{where}",
        claim=f"LULESH after the racks are doubled, from {p:g} processes with {m:g} B each.",
        source=f"{PAPER}, Table IV",
        unit="ratio",
        expected=dict(zip(rows.quantity, rows.ratio.astype(float), strict=True)),
        tolerance=ONE_DECIMAL,
        reading="forecast",
        own=table_4_own(p, m),
        printed=True,
        inputs={**own.origins("lulesh", "bytes_used", "loads_stores"), BASE: "chosen"},
        measure=lambda: Readings(forecast=table_4_ratios(*base), notes=(range_of_flop(),)),
        workload="lulesh",
        machine=MACHINE if on_juqueen else "",
        parameters={"P": p, "m": m},
        quick=True,
        derivation=(Derived("flop", "(2*p)**0.25*log2(2*p)/(p**0.25*log2(p))", {"p": p}),),
    )


# Table V.


def published(app: str, upgrade: str) -> dict[str, float]:
    """A column of Table V."""
    return {column: number("requirements-table-5", column, upgrade=upgrade, app=app) for column in own.RATIOS}


def table_5_cases(app: str, upgrade: str) -> list[Case]:
    """A column of Table V, once: from the base at which most entries of the application agree, if there is a better one
    than JUQUEEN; what was chosen by its own entries is apart."""
    if app in BEST_BASES:
        return [best_base_case(app, upgrade)]
    expected, own_ratios = published(app, upgrade), own.ratios(app, upgrade, BASE_P, BASE_M)
    chosen = {
        "communication": CHOSEN["bytes_sent"],
        **({} if upgrade == "racks" else {"memory": CHOSEN["stack_distance"]}),
    }
    apart = {column: why for column, why in chosen.items() if app == "milc"}
    evident = [column for column in expected if column not in apart]
    cases = [_table_5(app, upgrade, app, expected, own_ratios, evident)]
    cases += [
        _table_5(app, upgrade, f"{app}-{column}", expected, own_ratios, [column], {why: None})
        for column, why in apart.items()
    ]
    return cases


def _table_5(
    app: str,
    upgrade: str,
    name: str,
    expected: Mapping[str, float],
    own_ratios: Mapping[str, float],
    columns: Sequence[str],
    needs: Mapping[str, float | None] | None = None,
) -> Case:
    workload = "lulesh" if app == "baseline" else app

    def measure() -> Readings:
        if app == "baseline":
            baseline = study(workload, upgrade).baseline
            return Readings(forecast={column: baseline[NAMES[column]] for column in columns})
        return Readings(
            forecast={column: study_ratios(app, upgrade)[column] for column in columns}, notes=notes(app, upgrade)
        )

    return Case(
        name=f"requirements/table-5/{upgrade}-{name}",
        claim=f"How {app} responds to the upgrade {upgrade}, from {BASE_P:g} processes with {BASE_M:g} B each.",
        source=f"{PAPER}, Table V",
        unit="ratio",
        expected={column: expected[column] for column in columns},
        tolerance=ONE_DECIMAL,
        reading="forecast",
        own={column: own_ratios[column] for column in columns},
        printed=True,
        inputs={"Table III": "published"} if app == "baseline" else {**own.origins(app, *own.METRICS), BASE: "chosen"},
        needs=needs or {},
        measure=measure,
        workload=workload,
        machine=MACHINE,
        parameters={"P": BASE_P},
        quick=True,
    )


def notes(app: str, upgrade: str) -> tuple[str, ...]:
    """Return what a reader of the numbers must know, such as the ratios from JUQUEEN where the base is another one."""
    fit = study(app, upgrade).new.fit
    if fit.fits:
        ratios = ", ".join(f"{column} {value:.3g}" for column, value in study_ratios(app, upgrade).items())
        shown = (f"From {BASE_P:g} processes with {BASE_M:g} B each, as on JUQUEEN: {ratios}.",)
        return (*shown, range_of_flop()) if (app, upgrade) == ("lulesh", "racks") else shown
    return (
        f"Nothing fits after this upgrade, for which 0 stands: {fit.terms[0].text} alone is {fit.terms[0].value:.4g} B of "
        f"{fit.capacity_bytes:.4g} B.",
    )


def best_base_case(app: str, upgrade: str) -> Case:
    """The same at the base at which most entries of the application agree."""
    p, n = BEST_BASES[app]
    m = own.model(app, "bytes_used", n, p)
    return Case(
        name=f"requirements/table-5/{upgrade}-{app}",
        claim=f"How {app} responds to the upgrade {upgrade}, from the base at which most of its entries in Table V agree: "
        f"{p:g} processes with {m:.4g} B each.",
        source=f"{PAPER}, Table V",
        unit="ratio",
        expected=published(app, upgrade),
        tolerance=ONE_DECIMAL,
        reading="forecast",
        own=own.ratios(app, upgrade, p, m),
        printed=True,
        inputs={**own.origins(app, *own.METRICS), f"{BASE}, searched for the most agreement": "chosen"},
        measure=lambda: Readings(forecast=best_base_ratios(app, upgrade, p, m), notes=notes(app, upgrade)),
        workload=app,
        parameters={"P": p, "m": m},
        quick=True,
    )


def best_base_ratios(app: str, upgrade: str, p: float, m: float) -> dict[str, float]:
    """By the system, without a machine: two systems that are filled."""
    change, workload = UPGRADES[upgrade], sc.Workload.load(app)
    old = filled(workload, p, m)
    new = filled(workload, p * change.processes, m * change.memory)
    if not new.fit.fits:
        return dict.fromkeys(NAMES, 0.0)
    return {column: new.metric(name) / old.metric(name) for column, name in NAMES.items()}


# Table VI.


def system_case(name: str) -> Case:
    """A straw-man system as it is shipped, and its totals."""
    columns = ("nodes", "processors", "per_node", "memory", "rate")
    expected = {column: own.system(name, column) for column in columns}

    def measure() -> Readings:
        machine = sc.Machine.load(f"strawman-{name}")
        memory, rate = float(machine.rank_capacity_bytes or 0.0), float(machine.processor.rate_flop_per_s)
        values = (machine.nodes, machine.processors, machine.processors_per_node, memory, rate)
        per_process = dict(zip(columns, map(float, values), strict=True))
        return Readings(
            forecast=per_process | {"all memory": memory * machine.processors, "all rates": rate * machine.processors}
        )

    return Case(
        name=f"requirements/table-6/{name}",
        claim=f"The {name} system, whose memory is 10 PB and whose rate is 1 exaflop/s in all.",
        source=f"{PAPER}, Table VI",
        unit="",
        expected=expected | {"all memory": 1e16, "all rates": 1e18},
        own=expected
        | {
            "all memory": expected["processors"] * expected["memory"],
            "all rates": expected["processors"] * expected["rate"],
        },
        tolerance=Tolerance("powers of ten with one digit: products of doubles, rounded once or twice", relative=1e-15),
        reading="forecast",
        printed=True,
        inputs={"Table VI": "published"},
        measure=measure,
        machine=f"strawman-{name}",
        quick=True,
    )


CASES: list[Case] = [
    *(model_case(app) for app in own.APPS),
    upgrade_file_case(),
    table_4_case(MACHINE, BASE_P, BASE_M),
    table_4_case("million-processes", 2.0**20, BASE_M),
    *(case for upgrade in own.UPGRADES for app in (*own.APPS, "baseline") for case in table_5_cases(app, upgrade)),
    *(system_case(name) for name in own.SYSTEMS),
]
