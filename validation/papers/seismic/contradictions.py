"""SPECseis96: what the paper prints in one place against what its own numbers give in another.

Source: Armstrong and Eigenmann, Performance Forecasting: Characterization of Applications on Current and Future
Architectures. These cases test no reading: ``expected`` is what is printed, ``own`` is computed from other printed
numbers, and the tolerance is the rounding of all of them.
"""

from __future__ import annotations

from simcodesign.studies.validation.case import Case, Derived, Label, Tolerance

from ...published.tables import SOURCE_ALONE, half_digit, half_unit, number, text
from .equations import PAPER, constant
from .tables import COLUMNS, PARTS


def source_case(
    name: str,
    claim: str,
    where: str,
    label: Label,
    printed: float,
    own: Derived,
    rounding: float,
    unit: str = "s",
    why: str = "half a unit of the last printed digit of every number in it",
    chosen: str = "",
) -> Case:
    """Compare one printed number with the same number from others of the paper. ``chosen``: what we read into it."""
    return Case(
        name=f"seismic/{name}",
        claim=f"{claim} {SOURCE_ALONE}",
        source=f"{PAPER}, {where}",
        unit=unit,
        expected={label: printed},
        own={label: own.value},
        printed=True,
        inputs={"numbers of the derivation": "published"} | ({chosen: "chosen"} if chosen else {}),
        tolerance=Tolerance(why, absolute=rounding),
        reading="source",
        derivation=(own,),
        quick=True,
    )


def sum_cases() -> list[Case]:
    """Totals of the rows of Tables 1 to 3."""
    rows: list[tuple[int, str, str, object]] = [(1, f"p-{count}", "P", count) for count in (4, 8, 16)]
    rows += [(2, dataset, "dataset", dataset) for dataset in ("test", "small", "medium")]
    rows += [(3, PARTS[part], "component", part) for part in PARTS]
    cases = []
    for table, title, key, value in rows:
        name, where = f"seismic-table-{table}", {key: value}
        own = Derived(
            "total",
            " + ".join(COLUMNS),
            {column: number(name, column, **where) for column in COLUMNS},
            "s",
            "sum of the phases",
        )
        rounding = sum(half_unit(name, column, **where) for column in ("total", *COLUMNS))
        cases.append(
            source_case(
                f"table-{table}/sum-{title}",
                f"The total of row {value} of Table {table} is the sum of its phases.",
                f"Table {table}",
                "total",
                number(name, "total", **where),
                own,
                rounding,
            )
        )
    return cases


def run_cases() -> list[Case]:
    """The test set on 16 processors stands in Table 2 and, by components, in Table 3."""
    cases = []
    for column in ("total", *COLUMNS):
        parts = {part: number("seismic-table-3", column, component=part) for part in PARTS}
        own = Derived("T", "comp + comm + io", parts, "s", "Table 3")
        rounding = half_unit("seismic-table-2", column, dataset="test") + sum(
            half_unit("seismic-table-3", column, component=part) for part in PARTS
        )
        cases.append(
            source_case(
                f"table-3/against-table-2-{column.replace('phase', 'phase-')}",
                "The components of Table 3 add up to the time that Table 2 gives for the same set.",
                "Tables 2 and 3; section 2: disk accesses were accounted for in later runs",
                column,
                number("seismic-table-2", column, dataset="test"),
                own,
                rounding,
                chosen="that both tables are of one run",
            )
        )
    return cases


def ratio_rounding(
    printed: str, part: float, part_room: float, whole: float, whole_room: float, scale: float = 1.0
) -> float:
    """How far a printed ratio may be from that of two rounded numbers: rounding of all three, at its largest."""
    ratio = scale * part / whole
    largest, least = (
        scale * (part + part_room) / (whole - whole_room),
        scale * (part - part_room) / (whole + whole_room),
    )
    return half_digit(printed) + max(largest - ratio, ratio - least)


def speedup_cases() -> list[Case]:
    """Printed speed-ups over 4 processors, against the times of Table 1."""
    table, cases = "seismic-table-1", []
    for count in (8, 16):
        for column in ("total", "phase1", "phase2", "phase4"):
            printed = text("seismic-speedups", column, P=count)
            times = {"T_4": number(table, column, P=4), "T_P": number(table, column, P=count)}
            rounding = ratio_rounding(
                printed, times["T_4"], half_unit(table, column, P=4), times["T_P"], half_unit(table, column, P=count)
            )
            cases.append(
                source_case(
                    f"speed-ups/{column.replace('phase', 'phase-')}-on-{count}",
                    f"The speed-up printed for {count} processors over 4 is the ratio of the times in Table 1.",
                    "section 2 and Table 1",
                    column,
                    float(printed),
                    Derived("S", "T_4/T_P", times, about=f"{column}, P = {count}"),
                    rounding,
                    "ratio",
                )
            )
    return cases


def share_cases() -> list[Case]:
    """Printed shares of the phases in the execution time, against Table 2; and their sums."""
    table, cases = "seismic-table-2", []
    for dataset in ("test", "small", "medium"):
        for column in COLUMNS:
            printed = text("seismic-shares", column, dataset=dataset)
            times = {"phase": number(table, column, dataset=dataset), "total": number(table, "total", dataset=dataset)}
            half_units = {name: half_unit(table, name, dataset=dataset) for name in (column, "total")}
            rounding = ratio_rounding(
                printed, times["phase"], half_units[column], times["total"], half_units["total"], 100
            )
            cases.append(
                source_case(
                    f"shares/{dataset}-{column.replace('phase', 'phase-')}",
                    f"The share printed for this phase of the {dataset} set is that of the times in Table 2.",
                    "section 2 and Table 2",
                    column,
                    float(printed),
                    Derived("share", "100*phase/total", times, "%", f"{dataset}, {column}"),
                    rounding,
                    "%",
                )
            )
        shares = {column: number("seismic-shares", column, dataset=dataset) for column in COLUMNS}
        cases.append(
            source_case(
                f"shares/{dataset}-sum",
                f"The shares of the four phases of the {dataset} set add up to a whole.",
                "section 2",
                "sum",
                100.0,
                Derived("sum", " + ".join(COLUMNS), shares, "%"),
                0.5 * len(COLUMNS),
                "%",
                "four numbers in whole percents, each rounded by up to half a percent",
            )
        )
    return cases


def vector_case(name: str, above: str, below: str) -> Case:
    """The disk constants of Table 6 are one vector times a factor of the phase: their ratios are the same in each."""
    table = "seismic-table-6"

    def relative(constant_name: str, phase: int) -> float:
        return half_unit(table, f"phase{phase}", constant=constant_name) / constant(constant_name, phase)

    ratio = {phase: constant(above, phase) / constant(below, phase) for phase in (1, 2, 4)}
    off = {phase: relative(above, phase) + relative(below, phase) for phase in ratio}
    values = {"a": constant(above, 1), "b": constant(below, 1)}
    return Case(
        name=f"seismic/table-6/{name}",
        claim=f"{above} and {below} differ by the same factor in phases 2 and 4 as in phase 1: one number of the three "
        f"disk constants was fitted for each phase, no more. {SOURCE_ALONE}",
        source=f"{PAPER}, Table 6",
        unit="B" if above == "CRd-Start" else "ratio",
        expected={f"phase {phase}": ratio[1] for phase in (2, 4)},
        own={f"phase {phase}": ratio[phase] for phase in (2, 4)},
        inputs={"Table 6": "published"},
        tolerance=Tolerance("rounding of the four constants to three digits", relative=off[1] + min(off[2], off[4])),
        reading="source",
        derivation=(Derived("factor", "a/b", values, about="phase 1"),),
        quick=True,
    )


def size_case() -> Case:
    """The test set's file, of which two sizes are printed."""
    printed, own = (number("seismic-sizes", column, dataset="test") for column in ("section2", "section33"))
    rounding = half_unit("seismic-sizes", "section2", dataset="test") + half_unit(
        "seismic-sizes", "section33", dataset="test"
    )
    return source_case(
        "sizes/test",
        "The file of traces of the test set has 0.011 GB in section 2; section 3.3 gives 17 MB.",
        "sections 2 and 3.3",
        "size",
        printed,
        Derived("size", "MB/1000", {"MB": 1000 * own}, "GB"),
        rounding,
        "GB",
    )


CASES: list[Case] = [
    *sum_cases(),
    *run_cases(),
    *speedup_cases(),
    *share_cases(),
    vector_case("write-over-read", "CWr-Start", "CRd-Start"),
    vector_case("read-over-byte", "CRd-Start", "CMem-Trans"),
    size_case(),
]
