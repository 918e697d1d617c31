"""The accepted differences of ``validation/peers/README.md``: each is there still, for the reason that is given."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.core.errors import DeadlockError, InputError
from simcodesign.describe.goal.format import read_goal
from simcodesign.describe.yaml.files import workload_of
from validation.peers import booksim, ciw, loggopsim, simgrid
from validation.peers.record import FOLDER, table, workload
from validation.theory.queueing.stations import observe

#: Parameters of LogGOPSim in ns and bytes, as in the table.
LETTERS = {"L": 2500, "o": 1500, "g": 1000, "G": 6, "O": 3, "S": 65535}


def makespan_ns(schedule: str, folder: Path, **letters: int) -> float:
    """Of a GOAL schedule in ours."""
    (folder / "schedule.goal").write_text(schedule)
    read = read_goal(folder / "schedule.goal")
    on = loggopsim.loggops(read.ranks, **(LETTERS | letters))
    return float(sc.simulate(workload_of(read), on, effects="none").makespan_s) * 1e9


def block(rank: int, *lines: str) -> str:
    """The operations of a rank."""
    return "\n".join([f"rank {rank} {{", *lines, "}\n"])


# --- LogGOPSim --------------------------------------------------------------------------------------------------------


def test_loggopsim_1_an_empty_message(tmp_path: Path) -> None:
    def of(size_bytes: int) -> float:
        message = block(0, f"l1: send {size_bytes}b to 1") + block(1, f"l1: recv {size_bytes}b from 0")
        return makespan_ns(f"num_ranks 2\n{message}", tmp_path)

    by_its_rule = LETTERS["o"] + LETTERS["L"] + LETTERS["o"] + (0 - 1) * max(LETTERS["O"], LETTERS["G"])
    assert of(0) == pytest.approx(of(1)) == pytest.approx(2 * LETTERS["o"] + LETTERS["L"])
    assert of(0) > by_its_rule


def test_loggopsim_2_requires_on_another_processor(tmp_path: Path) -> None:
    lines = ("l1: calc 1000 cpu 0", "l2: calc 10 cpu 1", "l2 requires l1")
    by_its_rule = max(1000, 10)
    assert makespan_ns(f"num_ranks 1\n{block(0, *lines)}", tmp_path) == pytest.approx(1010) != by_its_rule


@pytest.mark.parametrize(
    ("receiver", "error"),
    [
        (("l1: recv 8b from 0 tag 1", "l2: recv 8b from 0 tag 1"), InputError),  # more receives than sends
        (("l1: recv 8b from -1 tag 1", "l2: recv 8b from 0 tag 1"), DeadlockError),  # from anyone takes that of rank 0
    ],
)
def test_loggopsim_3_schedules_that_cannot_end(
    receiver: tuple[str, ...], error: type[Exception], tmp_path: Path
) -> None:
    sends = ["l1: send 8b to 2 tag 1"]
    text = "num_ranks 3\n" + block(0, *sends) + block(1, *(sends if "-1" in receiver[0] else ())) + block(2, *receiver)
    with pytest.raises(error):
        makespan_ns(text, tmp_path)


def test_loggopsim_4_dependencies_of_schedgen(tmp_path: Path) -> None:
    frame = table("loggopsim")
    rows = [row for _, row in frame.iterrows() if loggopsim.accepted(row)]
    assert len(rows) == 6
    for row in rows:
        letters = loggopsim.parameters(row)
        assert loggopsim.simulated_ns(row.pattern, letters) != pytest.approx(row.theirs, rel=1e-4)
        schedule = chain(8, 8, 512) if "chain" in row.pattern else linear_barrier(8)
        assert makespan_ns(schedule, tmp_path, **letters) == pytest.approx(row.theirs)


def chain(ranks: int, segments: int, size_bytes: int) -> str:
    """Of a root that posts all segments at once, and of others that pass each on before they receive the next."""
    text = f"num_ranks {ranks}\n"
    for rank in range(ranks):
        receive, send = f"recv {size_bytes}b from {rank - 1}", f"send {size_bytes}b to {rank + 1}"
        lines = []
        for at in range(segments):
            lines += [f"r{at}: {receive}"] * (rank > 0) + [f"s{at}: {send}"] * (rank < ranks - 1)
            lines += [f"s{at} requires r{at}"] * (0 < rank < ranks - 1)
            lines += [f"r{at} requires s{at - 1}"] * (0 < rank < ranks - 1 and at > 0)
        text += block(rank, *lines)
    return text


def linear_barrier(ranks: int) -> str:
    """A byte to the first rank; when it has all, one back. Nobody waits for a send."""
    others = range(1, ranks)
    lines = ["all: calc 0"]
    for other in others:
        lines += [f"r{other}: recv 1b from {other}", f"s{other}: send 1b to {other}"]
        lines += [f"all requires r{other}", f"s{other} requires all"]
    return f"num_ranks {ranks}\n{block(0, *lines)}" + "".join(
        block(other, "l1: send 1b to 0", "l2: recv 1b from 0") for other in others
    )


# --- SimGrid ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["star, one message", "star, three messages", "star, seven into one"])
def test_simgrid_1_factors_of_lv08(name: str) -> None:
    theirs = simgrid.recorded_us(name, "default")
    assert simgrid.simulated_us(name) < 0.98 * theirs
    assert simgrid.simulated_us(name, latency=13.01, bandwidth=0.97) == pytest.approx(theirs, rel=1e-6)


def test_simgrid_2_equal_shares() -> None:
    name = "torus of 7 x 7, two permutations"
    theirs = simgrid.recorded_us(name)
    assert simgrid.simulated_us(name, sharing="max_min") < 0.99 * theirs
    assert simgrid.simulated_us(name) == pytest.approx(theirs, rel=1e-6)


def test_simgrid_3_acknowledgements() -> None:
    """Each of two messages takes 5 % of the other's link."""
    name = "star, both ways"
    theirs = simgrid.recorded_us(name, "cross traffic")
    assert theirs == pytest.approx(1 + 1.05 * 1000)
    assert simgrid.simulated_us(name) == pytest.approx(1 + 1000)


def test_simgrid_4_window() -> None:
    """10 ms of latency: 4 MiB in 20 ms at most."""
    name = "star, far away"
    theirs = simgrid.recorded_us(name, "TCP window")
    assert theirs == pytest.approx(10_000 + 10e6 / (4 * 2**20 / 20e3))
    assert simgrid.simulated_us(name) == pytest.approx(10_000 + 10e6 / 1e3)


def test_simgrid_5_lazy_updates() -> None:
    apart = {name: abs(simgrid.recorded_us(name, "lazy") / simgrid.recorded_us(name) - 1) for name in simgrid.FLOWS}
    assert 0.07 < max(apart.values()) < 0.0702
    name = max(apart, key=lambda one: apart[one])
    assert simgrid.simulated_us(name) != pytest.approx(simgrid.recorded_us(name, "lazy"), rel=0.05)
    assert simgrid.simulated_us(name) == pytest.approx(simgrid.recorded_us(name), rel=1e-6)


# --- BookSim ----------------------------------------------------------------------------------------------------------


def test_booksim_1_links_carry_all_of_their_capacity() -> None:
    """A node's message is equally likely for 63 others: the links of a ring of 8 are always busy at 63/64 in a cycle."""
    capacity = 63 / 64
    most_of_booksim = booksim.recorded("reported", "saturation") * capacity
    latency, accepted = booksim.simulated(0.9 * capacity, booksim.torus(), requests=1500)
    assert accepted > 1.1 * most_of_booksim
    assert latency < 2 * booksim.forecast_cycles(0.01, booksim.torus())


def test_booksim_2_waits_for_links_alone() -> None:
    theirs = booksim.recorded("guide of 2.0", "latency at 0.15")
    for ours in (booksim.forecast_cycles(booksim.RATE, booksim.torus()), booksim.simulated(0.15, booksim.torus())[0]):
        assert 0.9 * theirs < ours < 0.97 * theirs


def test_booksim_3_nobody_sends_to_itself() -> None:
    """With cycles for hops alone, an empty network shows the mean number of hops."""
    far = 1e6
    latency, _ = booksim.simulated(1e-4, booksim.torus(hop_cycles=far, other_cycles=0), requests=300)
    assert latency / far == pytest.approx(256 / 63, rel=0.005)
    assert latency / far > 4.02


# --- Ciw --------------------------------------------------------------------------------------------------------------


def test_ciw_1_capacity_counts_those_in_service() -> None:
    queue = ciw.QUEUES["M/M/2/5"]
    theirs = ciw.recorded()["M/M/2/5, blocked"]
    waiting_only = ciw.Queue(queue.load, queue.servers, capacity=5 - queue.servers)
    blocked = [
        float(np.asarray(sc.forecast(one.work(100), one.machine, {"P": 1}).blocked)) for one in (queue, waiting_only)
    ]
    assert blocked[0] == pytest.approx(theirs, rel=0.02)
    assert blocked[1] > 1.2 * theirs


def test_ciw_2_all_requests_count() -> None:
    queue = ciw.QUEUES["M/M/1"]
    observed = observe(queue.work, queue.machine, 2000)
    requests = observed.runs[0].requests
    assert requests is not None
    assert len(requests.response_s) == 2000
    assert observed.runs[0].response_s == pytest.approx(requests.response_s.mean())
    assert requests.response_s[0] == pytest.approx(requests.left_s[0] - requests.arrived_s[0])


def test_ciw_3_no_blocking_after_service() -> None:
    with pytest.raises(InputError, match="next"):
        workload("- arrivals: {to: disk, rate: 1, requests: 10, bytes: 0, capacity: 3, next: [[0, 1], [0, 0]]}")


# --- The list ---------------------------------------------------------------------------------------------------------


def test_every_accepted_difference_has_a_test() -> None:
    listed = set()
    peer = ""
    for line in (FOLDER / "README.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("### "):
            peer = line[4:].lower()
        elif peer and (number := re.match(r"(\d+)\. \*\*", line)):
            listed.add((peer, number[1]))
    tests = {tuple(name.split("_")[1:3]) for name in vars(sys.modules[__name__]) if re.match(r"test_[a-z]+_\d+_", name)}
    assert listed == tests
    assert len(listed) == 15
