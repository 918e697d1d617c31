"""The tables of ``validation/peers`` are what both sides say: ours is computed anew, theirs is near it or accepted."""

from __future__ import annotations

import re

import pytest

from validation.peers import booksim, ciw, loggopsim, simgrid
from validation.peers.record import FOLDER, table

PEERS = ("loggopsim", "simgrid", "booksim", "ciw")
DIFFERENCES = (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("peer", PEERS)
def test_header_names_peer_source_input_units_and_status(peer: str) -> None:
    text = (FOLDER / f"{peer}.csv").read_text(encoding="utf-8")
    for word in ("Peer", "Source", "Input", "Units", "Status"):
        assert len(re.findall(rf"^# {word}: \S", text, re.MULTILINE)) == 1
    assert {"theirs", "ours"} <= {*table(peer).columns}
    assert not table(peer).isna().any(axis=None)


@pytest.mark.parametrize("name", loggopsim.PATTERNS)
def test_ours_of_loggopsim(name: str) -> None:
    frame = table("loggopsim")
    rows = frame[frame.pattern == name]
    assert len(rows) in (6, 9)
    for _, row in rows.iterrows():
        assert loggopsim.simulated_ns(name, loggopsim.parameters(row)) == pytest.approx(row.ours, abs=1e-3)
        assert (row.ours == row.theirs) != loggopsim.accepted(row)


@pytest.mark.parametrize("name", simgrid.FLOWS)
def test_ours_of_simgrid(name: str) -> None:
    frame = table("simgrid")
    rows = frame[frame.flows == name]
    assert {*rows.settings} == {*simgrid.SETTINGS}
    assert rows.ours.tolist() == pytest.approx([simgrid.simulated_us(name)] * len(rows), rel=1e-6)


def test_ours_of_booksim() -> None:
    frame = table("booksim").set_index(["experiment", "quantity"]).ours
    older = booksim.forecast_cycles(booksim.RATE, booksim.torus(hop_cycles=1, other_cycles=0))
    assert frame["older guide", "latency at 0.15"] == pytest.approx(older, rel=1e-5)
    of_2 = booksim.forecast_cycles(booksim.RATE, booksim.torus())
    assert frame["guide of 2.0", "latency at 0.15"] == pytest.approx(of_2, rel=1e-5)


def test_ours_of_ciw() -> None:
    forecast = ciw.forecast()
    assert forecast.keys() == ciw.recorded().keys()
    for row in table("ciw").itertuples():
        assert row.ours == pytest.approx(forecast[f"{row.model}, {row.quantity}"], rel=1e-5)
        assert abs(row.theirs - row.ours) < 4 * row.error
        assert 4 * row.error < ciw.MARGIN * row.ours
