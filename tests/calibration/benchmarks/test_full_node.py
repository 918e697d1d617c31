"""Constants of full nodes, found again in outputs that the formulas of a model make of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import yaml

from simcodesign.calibration.benchmarks.machine_constants import MachineCalibration, calibrate_machine
from simcodesign.calibration.benchmarks.nodes.loaded_interfaces import PATH as LOADED
from simcodesign.calibration.benchmarks.nodes.loaded_interfaces import PairwiseRounds
from simcodesign.core.errors import InputError
from simcodesign.describe.yaml.files import load_machine
from simcodesign.fitting.readers.benchmarks.output.table import read_benchmark
from simcodesign.report.calibration.machine_file import machine_file_text
from tests.calibration.benchmarks import full_node_outputs as made
from tests.calibration.benchmarks.full_node_outputs import GB, MIB, RANKS, SIZES, US

Given = Mapping[str, float]
ONE_NODE, TWO_NODES = {"nodes": 1.0}, {"nodes": 2.0}
FULL, TWO_FULL = {"nodes": 1.0, "ranks_per_node": RANKS}, {"nodes": 2.0, "ranks_per_node": RANKS}
NEAR = (made.imb("PingPong", 2, made.near, SIZES), ONE_NODE)
FAR = (made.imb("PingPong", 2, made.far, SIZES), TWO_NODES)
SENDRECV = (made.imb("Sendrecv", RANKS, made.sendrecv, SIZES), ONE_NODE)
ALLTOALL = (made.imb("Alltoall", 2 * RANKS, made.alltoall, [2**16, 2**20]), TWO_NODES)
STREAM = (made.STREAM, {})


def calibrated(folder: Path, machine: str, *outputs: tuple[str, Given], **options: object) -> MachineCalibration:
    path = folder / "made.yaml"
    path.write_text(machine)
    tables = []
    for number, (text, given) in enumerate(outputs, 1):
        file = folder / f"output-{number}.txt"
        file.write_text(text)
        tables.append(read_benchmark(file).with_parameters(given))
    return calibrate_machine(path, tables, **options)  # type: ignore[arg-type]


def constants(found: MachineCalibration) -> dict[str, float]:
    return {one.path: one.value for one in found.all_constants}


#: Times are printed in hundredths of a microsecond.
ROUNDED = 0.005 * US


@pytest.mark.parametrize("machine", [made.MACHINE, made.LEVELS])
def test_intels_benchmarks_give_the_constants_of_the_model_back(tmp_path: Path, machine: str) -> None:
    found = calibrated(tmp_path, machine, NEAR, FAR, SENDRECV, ALLTOALL, STREAM, segments=1)
    values = constants(found)
    assert values["network.startup"] == pytest.approx(made.FAR_STARTUP, abs=ROUNDED)
    assert 1 / values["network.per_byte"] == pytest.approx(made.FAR_BANDWIDTH, rel=1e-3)
    assert values["node.network.startup"] == pytest.approx(made.NEAR_STARTUP, abs=ROUNDED)
    assert 1 / values["node.network.per_byte"] == pytest.approx(made.NEAR_BANDWIDTH, rel=1e-3)
    assert found.holds_receiver is True
    assert values["node.memory.copies"] == pytest.approx(made.COPIES, rel=1e-4)
    path = tmp_path / "mine.yaml"
    path.write_text(machine_file_text(found, "mine"))
    mine = load_machine(path)
    assert mine.node_network is not None
    assert mine.node_network.message_model.holds_receiver  # type: ignore[attr-defined]
    assert mine.node_memory is not None
    assert mine.node_memory.copies == pytest.approx(made.COPIES, rel=1e-4)
    assert mine.memory is not None
    assert mine.memory.per_byte_s == pytest.approx(1 / made.STREAM_BANDWIDTH)


def test_memory_of_the_machine_stands_for_stream(tmp_path: Path) -> None:
    """The machine's 50 GB/s over the 35.7 GB/s of messages: half the copies of 100 GB/s."""
    found = calibrated(tmp_path, made.LEVELS, NEAR, SENDRECV, segments=1)
    assert constants(found)["node.memory.copies"] == pytest.approx(made.COPIES / 2, rel=1e-4)
    assert any(one.how.endswith("the memory of made, 50 GB/s") for one in found.constants)


def test_osu_multi_lat_and_windows_show_the_same(tmp_path: Path) -> None:
    """Half of the ranks send at a time; windows both ways are as fast together as one way."""
    one_way = made.osu("Bandwidth Test", lambda size: size / made.near(size), SIZES[1:], "Bandwidth (MB/s)")
    both = made.osu("Bi-Directional Bandwidth Test", lambda size: size / made.near(size), SIZES[1:], "Bandwidth (MB/s)")
    pairs = made.osu(
        "Multi Latency Test", lambda size: made.round_within(size, RANKS // 2, 2 * size, ends=1.0), SIZES[1:]
    )
    alone = made.osu("Latency Test", made.near, SIZES[1:])
    outputs = (alone, ONE_NODE), (pairs, FULL), (one_way, ONE_NODE), (both, ONE_NODE), STREAM
    found = calibrated(tmp_path, made.MACHINE, *outputs, segments=1)
    assert constants(found)["node.memory.copies"] == pytest.approx(made.COPIES, rel=1e-4)
    assert found.holds_receiver is True
    assert "network.interfaces.per_byte" not in constants(found)  # no message left the node


def test_messages_that_hold_one_end_are_no_longer_both_ways(tmp_path: Path) -> None:
    alike = made.imb("Sendrecv", RANKS, lambda size: made.round_within(size, RANKS, 2 * size, ends=1.0), SIZES)
    found = calibrated(tmp_path, made.LEVELS, NEAR, (alike, ONE_NODE), STREAM, segments=1)
    assert found.holds_receiver is False
    assert "holds_receiver: false" in machine_file_text(found, "mine")


@pytest.mark.parametrize(
    ("text", "machine", "why"),
    [
        (made.imb("Sendrecv", RANKS, made.sendrecv, SIZES[:22]), made.LEVELS, "fit the cache of 2.09715e+06 bytes"),
        (
            made.imb("Sendrecv", RANKS, lambda size: made.sendrecv(size) + 900 * US, SIZES),
            made.LEVELS,
            "bytes over time still rise at 4.1943e+06 bytes",
        ),
        (made.imb("Sendrecv", RANKS, made.sendrecv, [2**22]), made.LEVELS, "are the only one"),
        (
            made.imb("Sendrecv", RANKS, lambda size: 2 * made.near(size), SIZES),
            made.LEVELS,
            "as long as two ranks alone",
        ),
        (
            made.imb("Sendrecv", RANKS, made.sendrecv, SIZES),
            made.LEVELS.replace("memory: {latency: 100 ns, bandwidth: 50 GB/s}\n", "").partition("caches")[0]
            + made.LEVELS.partition("bandwidth: 50 GB/s}\n")[2],
            "nothing states a rank's share of the last cache; state caches, or --fix node.memory.cache=1MiB",
        ),
    ],
)
def test_rows_that_cannot_show_the_memory_are_refused(tmp_path: Path, text: str, machine: str, why: str) -> None:
    found = calibrated(tmp_path, machine, NEAR, (text, ONE_NODE), segments=1)
    assert "node.memory.copies" not in constants(found)
    (note,) = [one for one in found.notes if one.startswith("node.memory.copies is not determined")]
    assert why in note
    assert any("No collective operation follows from these rows" in one for one in found.notes)


def test_a_cache_that_is_given_is_written(tmp_path: Path) -> None:
    machine = made.LEVELS.replace(made.LEVELS[made.LEVELS.index("caches:") : made.LEVELS.index("memory:")], "")
    known = {"node.memory.cache": made.CACHE}
    found = calibrated(tmp_path, machine, NEAR, SENDRECV, STREAM, segments=1, known=known)
    text = yaml.safe_load(machine_file_text(found, "mine"))
    assert text["node"]["memory"] == {"copies": pytest.approx(made.COPIES, rel=1e-4), "cache": "2 MiB"}


def test_a_part_of_a_node_shows_nothing_of_a_full_one(tmp_path: Path) -> None:
    half = made.imb("Sendrecv", RANKS // 2, made.sendrecv, SIZES)
    found = calibrated(tmp_path, made.LEVELS, NEAR, (half, ONE_NODE), segments=1)
    assert found.holds_receiver is None
    assert "Messages among 8 ranks of a node are not used: a full node of made has 16 ranks." in found.notes


def test_a_short_form_within_nodes_is_named(tmp_path: Path) -> None:
    short = made.MACHINE.replace("  startup: 2 us", "  node: {startup: 1 us, bandwidth: 2 GB/s}\n  startup: 2 us")
    found = calibrated(tmp_path, short, NEAR, SENDRECV, segments=1)
    assert {"network.node.startup", "network.node.per_byte"} <= {*constants(found)}
    assert any("made states network.node, in which nothing is shared" in note for note in found.notes)


# Which level messages crossed


def test_ping_pongs_of_different_levels_never_mix(tmp_path: Path) -> None:
    for order in ((NEAR, FAR), (FAR, NEAR)):
        values = constants(calibrated(tmp_path, made.LEVELS, *order, segments=1))
        assert values["network.startup"] == pytest.approx(made.FAR_STARTUP, abs=ROUNDED)
        assert values["node.network.startup"] == pytest.approx(made.NEAR_STARTUP, abs=ROUNDED)


def test_the_ping_pong_of_a_run_on_full_nodes_stays_within_one(tmp_path: Path) -> None:
    """On two full nodes, 30 of 32 ranks wait: ranks 0 and 1 are on the first node."""
    text = made.imb("PingPong", 2, made.near, SIZES, waiting=2 * RANKS - 2)
    for given in ({"nodes": 2.0}, {"ranks_per_node": RANKS}, TWO_FULL):
        found = calibrated(tmp_path, made.LEVELS, (text, given), segments=1)
        assert found.messages is None
        assert constants(found)["node.network.startup"] == pytest.approx(made.NEAR_STARTUP, abs=ROUNDED)
        assert any("PingPong" not in note and "of 2 of 32 ranks was on 1 node" in note for note in found.notes)
    far = calibrated(tmp_path, made.LEVELS, (text, {"ranks_per_node": 1.0}), segments=1)
    assert far.messages is not None


@pytest.mark.parametrize(
    ("text", "given", "words"),
    [
        (
            NEAR[0],
            {},
            "output-1.txt:7: ping_pong within a node or between nodes.*--given nodes=2 --given ranks_per_node=16",
        ),
        (SENDRECV[0], {}, "sendrecv within a node or between nodes"),
        (
            made.osu("Bandwidth Test", lambda size: GB, [1024], "Bandwidth (MB/s)"),
            {},
            "window within a node or between",
        ),
        (NEAR[0], TWO_FULL, "ping_pong of a run of 2 ranks, on 2 nodes of 16 ranks.*--given FILE:nodes=2"),
        (SENDRECV[0], {"nodes": 1.0, "ranks_per_node": 8.0}, "sendrecv of a run of 16 ranks, on 1 nodes of 8 ranks"),
        (NEAR[0], {"nodes": 0.0}, "nodes of ping_pong, got 0.0"),
        (NEAR[0], {"ranks_per_node": 1.5}, "ranks_per_node of ping_pong, got 1.5"),
    ],
)
def test_a_file_that_does_not_state_its_level_is_an_error(tmp_path: Path, text: str, given: Given, words: str) -> None:
    with pytest.raises(InputError, match=words):
        calibrated(tmp_path, made.LEVELS, (text, given))


SOCKETS = made.MACHINE.replace("shared_by: 16", "shared_by: 8") + (
    "node: {network: {topology: {kind: crossbar}, startup: 1 us, bandwidth: 1 GB/s}}\n"
    "socket: {per_node: 2, network: {topology: {kind: crossbar}, startup: 1 us, bandwidth: 1 GB/s}}\n"
)


def test_sockets_have_constants_of_their_own(tmp_path: Path) -> None:
    within = made.imb("PingPong", 2, lambda size: 0.2 * US + size / (16 * GB), SIZES)
    given = {"nodes": 1.0, "sockets": 1.0}
    outputs = (within, given), (NEAR[0], {"nodes": 1.0, "sockets": 2.0})
    values = constants(calibrated(tmp_path, SOCKETS, *outputs, segments=1))
    assert values["socket.network.startup"] == pytest.approx(0.2 * US, abs=ROUNDED)
    assert values["node.network.startup"] == pytest.approx(made.NEAR_STARTUP, abs=ROUNDED)
    with pytest.raises(InputError, match=r"ping_pong within a socket or between sockets.*--given sockets=1"):
        calibrated(tmp_path, SOCKETS, NEAR)


def test_smpis_runs_are_between_nodes(tmp_path: Path) -> None:
    text = "".join(
        f"MPI_Send,{size},{number},{2 * made.far(size)!r}\nMPI_Recv,{size},{number},0.0\n"
        for number, size in enumerate(SIZES[1:], 1)
    )
    found = calibrated(tmp_path, made.LEVELS, (text, {}), segments=1)
    assert constants(found)["network.startup"] == pytest.approx(made.FAR_STARTUP, rel=1e-6)
    assert found.within_node == ()


def test_pairs_on_both_levels_determine_nothing(tmp_path: Path) -> None:
    """Of 24 ranks on nodes of 16, ranks 0 and 12 are on one node, and ranks 4 and 16 on two."""
    text = "#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part\n# Benchmarking Uniband\n# #processes = 24\n"
    text += "       #bytes #repetitions   Mbytes/sec      Msg/sec\n"
    text += "".join(f"{size:13d}  1000  {size / (1 + size / 9000):.2f}  1000000\n" for size in SIZES[4:])
    found = calibrated(tmp_path, made.LEVELS, FAR, (text, {"ranks_per_node": RANKS}), segments=1)
    assert not any("windows" in one.how for one in found.all_constants)


# What is no evidence


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        ((NEAR, FAR), "No collective operation follows from these rows"),
        ((FAR,), "No collective operation follows from these rows"),
        ((NEAR, FAR, SENDRECV, STREAM), "No collective operation between full nodes follows from these rows"),
    ],
)
def test_what_no_row_is_evidence_for_is_written_into_the_file(
    tmp_path: Path, outputs: tuple[tuple[str, Given], ...], words: str
) -> None:
    found = calibrated(tmp_path, made.LEVELS, *outputs, segments=1)
    assert any(line.startswith(f"# {words}") for line in machine_file_text(found, "mine").splitlines())


# Interfaces under load


def test_alltoall_on_two_full_nodes_shows_loaded_interfaces(tmp_path: Path) -> None:
    found = calibrated(tmp_path, made.LEVELS, NEAR, FAR, SENDRECV, ALLTOALL, STREAM, segments=1)
    assert 1 / constants(found)[LOADED] == pytest.approx(made.LOADED, rel=2e-3)
    assert not any("follows from these rows" in note for note in found.notes)
    (tmp_path / "mine.yaml").write_text(machine_file_text(found, "mine"))
    mine = load_machine(tmp_path / "mine.yaml").constants()
    assert 1 / float(np.max(mine[LOADED])) == pytest.approx(made.LOADED, rel=2e-3)


@pytest.mark.parametrize("rate", [3 * GB, made.LOADED, 11 * GB])
def test_the_rate_of_loaded_interfaces_solves_the_rounds(tmp_path: Path, rate: float) -> None:
    """Pairwise exchange of a MiB, its rounds counted message by message."""
    (tmp_path / "exact.yaml").write_text(
        made.MACHINE.replace("startup: 2 us", f"startup: {made.FAR_STARTUP!r} s")
        .replace("  bandwidth: 1 GB/s", f"  bandwidth: {made.FAR_BANDWIDTH!r} B/s")
        .replace("bandwidth: 50 GB/s", f"bandwidth: {made.STREAM_BANDWIDTH!r} B/s")
        + f"node: {{memory: {{copies: {made.COPIES}}}, network: {{topology: {{kind: crossbar}}, holds_receiver: true, "
        f"startup: {made.NEAR_STARTUP!r} s, bandwidth: {made.NEAR_BANDWIDTH!r} B/s}}}}\n"
    )
    rounds = PairwiseRounds.of(load_machine(tmp_path / "exact.yaml"), MIB)
    seconds = made.alltoall(MIB, rate)
    assert rounds.seconds(rate) == pytest.approx(seconds, rel=1e-9)
    assert rounds.rate(seconds) == pytest.approx(rate, rel=1e-6)


def test_sendrecv_on_two_nodes_shows_no_loaded_interfaces(tmp_path: Path) -> None:
    """In its chain one rank of a node sends to another node."""
    chain = made.imb("Sendrecv", 2 * RANKS, lambda size: 9 * made.sendrecv(size), SIZES)
    found = calibrated(tmp_path, made.LEVELS, NEAR, FAR, (chain, TWO_NODES), segments=1)
    assert not {LOADED, "node.memory.copies"} & {*constants(found)}
    assert found.holds_receiver is None


@pytest.mark.parametrize(
    ("text", "given", "words"),
    [
        (ALLTOALL[0], {}, "no row is of two full nodes of 16 ranks"),
        (made.imb("Alltoall", RANKS, made.alltoall, [2**20]), TWO_NODES, "no row is of two full nodes"),
        (made.imb("Alltoall", 2 * RANKS, made.alltoall, [4096]), TWO_NODES, "has no size of 65536 to 1.04858e"),
        (made.imb("Alltoall", 2 * RANKS, lambda size: 31 * made.far(size), [2**20]), TWO_NODES, "than without load"),
    ],
)
def test_alltoall_that_cannot_show_loaded_interfaces_says_why(
    tmp_path: Path, text: str, given: Given, words: str
) -> None:
    found = calibrated(tmp_path, made.LEVELS, FAR, (text, given), segments=1)
    assert LOADED not in constants(found)
    assert any(words in note for note in found.notes)
