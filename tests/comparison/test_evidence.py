"""Evidence of a machine's file: where it holds, what a comparison and a trust map state of it, what is not inherited."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.machine_parts.evidence import Evidence
from tests.builders import read_machine, workload
from tests.command_line import command

HEAD = "parameters: {m: {default: 1000, unit: B}}\n"
WORK = workload("- broadcast: {bytes: m}\n- all_to_all: {bytes: m}\n- barrier: {}\n", HEAD)
TEXT = """
simcodesign: 1
name: here
nodes: 64
processor: {rate: 1 GFLOP/s}
network: {startup: 5 us, bandwidth: 1 GB/s, sends: blocking, topology: {kind: mesh, shape: [8, 8]}}
"""
STATED = """evidence:
- {operation: broadcast, ranks: [8, 32], bytes: [100 B, 1 MB], rows: 7, median_error: 4 %, source: somebody}
"""
MACHINE = read_machine(TEXT + STATED)


@given(st.sampled_from([4, 8, 16, 32]), st.floats(1, 1e8))
def test_evidence_holds_on_its_ranks_and_between_its_sizes(ranks: int, size: float) -> None:
    one = Evidence("broadcast", (8, 32), 7, 0.04, (100.0, 1e6))
    assert one.holds("broadcast", ranks, size) == (ranks in (8, 32) and 100 <= size <= 1e6)
    assert not one.holds("allreduce", 8, 1000.0)
    assert not one.holds("broadcast", 8)


def test_a_comparison_lists_every_operation_with_its_evidence() -> None:
    one = sc.compare(WORK, MACHINE, {"P": 32}, effects="none")
    assert [(it.operation, it.ranks, it.size_bytes, it.known) for it in one.evidence] == [
        ("broadcast", 32, 1000, True),
        ("all_to_all", 32, 1000, False),
    ]
    first, second = one.to_dict()["evidence"]
    assert (first["rows"], first["median_error"], first["source"]) == (7, 0.04, "somebody")
    assert "rows" not in second
    assert not any(it.known for it in sc.compare(WORK, MACHINE, {"P": 16}, effects="none").evidence)
    assert not any(it.known for it in sc.compare(WORK, MACHINE, {"P": 32, "m": 2e6}, effects="none").evidence)


def test_without_the_key_nothing_is_known_of_measured_times() -> None:
    machine = read_machine(TEXT)
    assert sc.compare(WORK, machine, {"P": 32}, effects="none").evidence == ()
    runs = pd.DataFrame({"P": [32], "value": [1e-3]})
    one = sc.compare(WORK, machine, {"P": 32}, effects="none", measured=runs)
    assert [it.known for it in one.evidence] == [False, False]


def test_evidence_of_a_workload_stands_for_its_operations() -> None:
    whole = "evidence: [{operation: test, ranks: [8], rows: 1, median_error: 0.1}]\n"
    one = sc.compare(WORK, read_machine(TEXT + whole), {"P": 8}, effects="none")
    assert [(it.operation, it.known) for it in one.evidence] == [("test", True)]


def test_a_trust_map_counts_the_points_with_evidence() -> None:
    swept = sc.sweep(WORK, MACHINE, vary=["P=8,16,32", "m=10,1000"], simulate=True, within=0.1)
    assert swept.trust is not None
    by_name = {one.operation: one for one in swept.trust.evidence}
    assert (by_name["broadcast"].points, by_name["broadcast"].covered) == (6, 2)
    assert by_name["broadcast"].median_errors == (0.04, 0.04)
    assert (by_name["all_to_all"].points, by_name["all_to_all"].covered) == (6, 0)


def test_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one.yaml").write_text(TEXT + STATED, encoding="utf-8")
    Path("two.yaml").write_text("simcodesign: 1\nextends: one\nname: two\n", encoding="utf-8")
    compared = command(capfd, "compare", "broadcast", "one.yaml", "--set", "m=1000", "--effects", "none")
    shown = " ".join(compared("-P", 8).out.split())
    assert (
        "broadcast of 1 kB on 8 ranks: 7 measured times of 100 B to 1 MB, median error of the simulation 4 %." in shown
    )
    assert "The machine file has no evidence on broadcast" in " ".join(compared("-P", 16).out.split())
    swept = command(capfd, "sweep", "broadcast", "one.yaml", "--set", "m=1000", "--simulate", "--within", "10%")
    assert "broadcast: at 1 of 2 points, median error 4 %; no evidence elsewhere" in swept("--vary", "P=8,16").out
    assert sc.Machine.load("one.yaml").evidence
    assert sc.Machine.load("two.yaml").evidence == ()  # its constants may be others


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("{operation: broadcast, ranks: [], rows: 1, median_error: 0}", "evidence.ranks"),
        ("{operation: broadcast, ranks: [2], rows: 1, median_error: 0, bytes: [2, 1]}", "evidence.bytes"),
        ("{operation: broadcast, ranks: [2], rows: 0, median_error: 0}", "rows"),
        ("{operation: broadcast, ranks: [2], rows: 1, median_error: -1}", "median_error"),
        ("{operation: broadcast, ranks: [2], rows: 1}", "median_error"),
    ],
)
def test_what_evidence_cannot_be(item: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_machine(f"{TEXT}evidence: [{item}]\n")


def test_of_ranges_that_meet_the_upper_one_counts() -> None:
    """``calibrate`` ends a range at the first size of the next one, whose rows include that size."""
    ranges = ", ".join(
        f"{{operation: broadcast, ranks: [8], bytes: [{low}, {high}], rows: 1, median_error: {error}}}"
        for low, high, error in (("10 B", "1000 B", 0.5), ("1000 B", "1 MB", 0.1))
    )
    machine = read_machine(f"{TEXT}evidence: [{ranges}]\n")
    for size, error in ((10, 0.5), (999, 0.5), (1000, 0.1), (1001, 0.1)):
        (one,) = sc.compare("broadcast", machine, {"P": 8, "m": size}, effects="none").evidence
        assert one.evidence is not None
        assert one.evidence.median_error == error
