"""The tables docs/tables/collective-*.csv of algorithms: they are complete, and their formulas are times and messages."""

from __future__ import annotations

import re
from math import floor

import numpy as np
import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.core.operation_kinds import SEND
from simcodesign.describe.demands.collective import ALGORITHMS
from simcodesign.engine.simulate import simulate
from tests import ROOT, builders
from tests.system.documentation import csv_rows

RANKS, SIZE_BYTES, SEGMENTS = 8, 4096, 4
STARTUP_S, PER_BYTE_S, RECEIVE_S, REDUCTION_B_PER_S = 4e-6, 1e-9, 1e-6, 2e9
ROWS = csv_rows("collective-forms")
#: Algorithms for nodes with several ranks: docs/collectives.md has tables of their own for them.
OF_NODES = {"two_level", "ring_channels", "hierarchical", "hierarchical_chunks", "double_tree", "in_switch"}


def value(formula: str) -> float | None:
    """Return the formula at P = 8, a power of two, or None if it is not in symbols alone."""
    formula = re.split(r", minus | if P = 2\^k|; as ", formula)[0]
    product = re.sub(r"([\w)])\s+(?=[\w(])", r"\1 * ", formula).replace("^", "**")
    names = {*re.findall(r"[A-Za-z]\w*", product)}
    if not names <= {*"PngDswrkfh"} or not re.fullmatch(r"[\w\s()+*/.-]+", product):
        return None

    def s(size: float) -> float:
        return STARTUP_S + size * PER_BYTE_S

    constants = {"P": RANKS, "n": SIZE_BYTES, "g": SEGMENTS, "r": RECEIVE_S, "k": 3, "f": 3, "h": 0}
    functions = {"s": s, "D": lambda size: s(size) + RECEIVE_S, "w": lambda size: size / REDUCTION_B_PER_S}
    return float(eval(product, {"__builtins__": {}}, {**constants, **functions}))


def name(row: dict[str, str]) -> str:
    return " ".join(row[column] for column in ("operation", "algorithm", "variant"))


def test_it_has_every_algorithm() -> None:
    named = {(row["operation"], row["algorithm"]) for row in ROWS}
    known = {(operation, algorithm) for operation in ALGORITHMS for algorithm in ALGORITHMS[operation]}
    assert named == {one for one in known if one[1] not in OF_NODES}
    page = (ROOT / "docs" / "collectives.md").read_text(encoding="utf-8")
    assert all(f"`{algorithm}`" in page for algorithm in OF_NODES)


def test_many_formulas_are_checked() -> None:
    assert sum(value(row["time"]) is not None for row in ROWS) >= 19
    assert sum(value(row["messages"]) is not None for row in ROWS) >= 40


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_a_row(row: dict[str, str]) -> None:
    keys = [f"algorithm: {row['algorithm']}"]
    if order := re.search(r"order: \w+", row["variant"]):
        keys.append(order[0])
    if "segments" in row["variant"]:
        part = SIZE_BYTES / SEGMENTS / (2 if "of a half" in row["variant"] else 1)
        keys.append(f"segment: {part}")
    if row["operation"] != "barrier":
        keys.append(f"bytes: {SIZE_BYTES}")
    work = builders.workload(f"- {row['operation']}: {{{', '.join(keys)}}}")
    costs = {"startup_s": STARTUP_S, "per_byte_s": PER_BYTE_S, "receive_overhead_s": RECEIVE_S}
    on = builders.machine(builders.network(RANKS, **costs, reduction_per_byte_s=1 / REDUCTION_B_PER_S))
    simulated = simulate(work, on, {"P": RANKS}, effects="none")
    expected_s, messages = value(row["time"]), value(row["messages"])
    if expected_s is not None:
        assert forecast(work, on, {"P": RANKS}).makespan_s == pytest.approx(expected_s, rel=1e-12)
        assert simulated.makespan_s == pytest.approx(expected_s, rel=1e-12)
    if messages is not None:
        assert simulated.messages == messages


ROUNDS = [{key: cell.strip("`") for key, cell in row.items()} for row in csv_rows("collective-rounds")]


def test_the_table_of_rounds_has_every_algorithm_in_order() -> None:
    known = [(operation, one) for operation in ALGORITHMS for one in ALGORITHMS[operation] if one not in OF_NODES]
    named = [(row["operation"], row["algorithm"]) for row in ROUNDS]
    assert sorted(named) == sorted(known)
    for operation in ALGORITHMS:
        own = [algorithm for of, algorithm in named if of == operation]
        assert own[:1] == ALGORITHMS[operation][:1]


@pytest.mark.parametrize("ranks", [8, 16, 64])
@pytest.mark.parametrize("row", ROUNDS, ids=lambda row: f"{row['operation']} {row['algorithm']}")
def test_rounds_and_bytes_are_those_of_the_messages(row: dict[str, str], ranks: int) -> None:
    size_bytes = 1024.0
    given = "" if row["operation"] == "barrier" else f", bytes: {size_bytes}"
    work = builders.workload(f"- {row['operation']}: {{algorithm: {row['algorithm']}{given}}}")
    on = builders.machine(builders.network(ranks, startup_s=1.0))

    def stated(cell: str) -> float:
        product = re.sub(r"([\w)])\s+(?=[\w(])", r"\1 * ", cell).replace("^", "**").replace("floor *", "floor")
        names = {"P": ranks, "n": size_bytes, "k": ranks.bit_length() - 1, "floor": floor}
        return float(eval(product, {"__builtins__": {}}, names))

    plan = builders.plan_of(on, ranks, work.program)
    is_send = plan.kind == SEND
    sizes = np.broadcast_to(plan.message_bytes, plan.kind.shape)[is_send]
    sent, received = (np.bincount(of[is_send], sizes, ranks) for of in (plan.rank, plan.peer))
    assert simulate(work, on, {"P": ranks}, effects="none").makespan_s == stated(row["rounds"])
    assert max(sent.max(), received.max()) == pytest.approx(stated(row["bytes"]), rel=1e-12)
