"""Messages of other jobs cost no more than a few times the job: their estimate, their size, and the warning."""

from __future__ import annotations

import numpy as np
import pytest

from simcodesign.core.result import Result
from simcodesign.describe.effects import effect_names, switched_on
from simcodesign.describe.machine import Machine
from simcodesign.engine import background, simulate
from simcodesign.generate.passes.background import BackgroundLoad
from tests.builders import read_machine, workload

MACHINE = """
simcodesign: 1
name: m
nodes: 64
processor: {rate: 1 GFLOP/s}
network: {startup: 1 us, bandwidth: 1 GB/s, topology: {kind: torus, shape: [8, 8]}SHARING}
background: {load: 0.3SIZE}
"""
#: 16 ranks for 50 ms, and a ring of messages now and then.
JOB = workload("- {repeat: 4, do: [compute: {seconds: 12.5e-3}, allreduce: {bytes: 8, algorithm: ring}]}")


def machine(size: str = "", sharing: str = "") -> Machine:
    return read_machine(MACHINE.replace("SIZE", size).replace("SHARING", sharing))


def simulated(on: Machine) -> tuple[Result, str]:
    """And what is said of the background."""
    result = simulate.simulate(JOB, on, {"P": 16})
    assert result.use is not None
    assert result.use.background is not None
    return result, result.use.background.about


def stations(nodes: range) -> float:
    """Links and two interfaces of the shortest routes between these nodes of the torus, by hand, in the mean."""
    ways = [(abs(a // 8 - b // 8), abs(a % 8 - b % 8)) for a in nodes for b in nodes if a != b]
    return 2 + float(np.mean([min(row, 8 - row) + min(column, 8 - column) for row, column in ways]))


@pytest.mark.parametrize(("sharing", "packets"), [("", 1), (", sharing: {round_robin: 4 KiB}", 16)])
def test_the_estimate_is_what_the_engine_does(sharing: str, packets: int) -> None:
    """48 nodes with a load of 0.3 of 1 GB/s send 0.3 * 48e9 / 65536 messages a second, each with a grant and a head at
    every station. That many, random as they are, within 3 %; the estimate has routes between all 64 nodes, not these 48.
    """
    on = machine(", size: 64 KiB", sharing)
    load = BackgroundLoad.of(on, lambda: np.arange(16), switched_on(effect_names()))
    assert load is not None
    assert load.messages_per_s(65536.0) == pytest.approx(0.3 * 48e9 / 65536, rel=1e-12)
    assert load.events_per_s(65536.0) == pytest.approx(
        0.3 * 48e9 / 65536 * 2 * packets * stations(range(64)), rel=1e-12
    )
    beside, _ = simulated(on)
    alone = simulate.simulate(JOB, on, {"P": 16}, effects="links,interfaces")
    expected = 0.3 * 48e9 / 65536 * float(beside.makespan_s) * 2 * packets * stations(range(16, 64))
    assert beside.events - alone.events == pytest.approx(expected, rel=0.03)


def test_their_size_grows_until_they_cost_a_few_times_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as large messages take half the events, up to 1 MiB; a stated size stays."""
    on = machine()
    assert "messages of 64 KiB" in simulated(on)[1]  # few enough not to be noticed
    monkeypatch.setattr(background, "UNNOTICED", 0.0)
    alone = simulate.simulate(JOB, on, {"P": 16}, effects="links,interfaces")
    load = BackgroundLoad.of(on, lambda: np.arange(16), switched_on(effect_names()))
    assert load is not None
    times = load.events_per_s(65536.0) * float(alone.makespan_s) / alone.events
    monkeypatch.setattr(background, "MOST_TIMES", times / 3)  # a half is too many, a quarter is not
    result, about = simulated(on)
    assert "messages of 256 KiB" in about
    assert (result.events - alone.events) / alone.events == pytest.approx(times / 4, rel=0.06)
    monkeypatch.setattr(background, "MOST_TIMES", 0.001)
    with pytest.warns(UserWarning, match=r"background: some .* messages of 1 MiB take .* times as many as the job"):
        assert "messages of 1 MiB" in simulated(on)[1]
    with pytest.warns(UserWarning, match="messages of 64 KiB take"):
        assert "messages of 64 KiB" in simulated(machine(", size: 64 KiB"))[1]


def test_packets_do_not_become_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "UNNOTICED", 0.0)
    with pytest.warns(UserWarning, match="messages of 64 KiB take"):
        assert "messages of 64 KiB" in simulated(machine(sharing=", sharing: {round_robin: 4 KiB}"))[1]
