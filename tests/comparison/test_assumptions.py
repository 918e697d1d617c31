"""What a comparison says of messages: what stands in the machine file and the effects that are on, and nothing else."""

from __future__ import annotations

import pytest

from simcodesign.comparison.assumptions import ASSIGNMENT_WORDS, NOT_SHARED, message_assumptions
from simcodesign.comparison.compare import compare
from simcodesign.describe.design_point import bind
from simcodesign.describe.network.interfaces import ASSIGNMENTS, Interfaces
from simcodesign.describe.network.sharing import SHARINGS
from simcodesign.studies.replication.comparison import replicate_comparison
from tests.builders import machine, network, workload

RING = "- send: {to: (rank + 1) % P, bytes: 1000}\n- receive: {from: (rank - 1) % P}"
LOGGOPS = {"model": "loggop", "overhead_s": 1e-6, "latency_s": 1e-6, "gap_s": 1e-6, "per_byte_s": 1e-9}
BOTH = ("links", "interfaces")


def assumed(*effects: str, program: str = RING, **constants) -> dict[str, str]:
    return message_assumptions(bind(workload(program), machine(network(4, **constants))), effects)


@pytest.mark.parametrize(
    ("constants", "effects", "subject", "words"),
    [
        ({}, BOTH, "protocol", "eager"),
        (LOGGOPS, BOTH, "protocol", "eager"),
        (LOGGOPS | {"rendezvous_above_bytes": 64000}, BOTH, "protocol", "rendezvous above 64 kB"),
        ({}, BOTH, "sender", "held for startup, hops and bytes, as if alone"),
        ({"hops_hold_sender": False}, BOTH, "sender", "held for startup and bytes, as if alone"),
        ({"sends": "nonblocking"}, BOTH, "sender", "held for startup, bytes flow together"),
        ({"sends": "nonblocking", "sharing": "max_min"}, BOTH, "sender", "held for startup, bytes flow together"),
        ({"sharing": "max_min"}, ["links"], "sender", "held until the last byte has passed"),
        ({"sharing": "max_min"}, ["interfaces"], "sender", "held until the last byte has passed"),
        ({"sharing": "max_min"}, ["hops"], "sender", "held for startup, hops and bytes, as if alone"),
        (LOGGOPS, BOTH, "sender", "held for o + xO, sends g + xG apart"),
        ({}, BOTH, "receiver", "not held"),
        ({"receive_overhead_s": 1e-6}, BOTH, "receiver", "held for receive_overhead"),
        ({}, ["links"], "interfaces", NOT_SHARED),
        ({}, ["interfaces"], "links", NOT_SHARED),
        ({}, BOTH, "interfaces", "one per node, full duplex, first come, first served"),
        (
            {"interfaces": Interfaces(2, "half")},
            BOTH,
            "interfaces",
            "2 per node, taken one after another, half duplex, first come, first served",
        ),
        ({"sharing": "round_robin", "per_byte_s": 1e-9}, BOTH, "links", "round robin by packets of 4 KiB"),
        ({"sharing": "round_robin", "per_byte_s": 1e-9}, BOTH, "sender", "held until the last packet has passed"),
    ],
)
def test_every_assumption(constants, effects, subject: str, words: str) -> None:
    assert assumed(*effects, **constants)[subject] == words


def test_every_way_of_sharing_has_words() -> None:
    words = [rule().words for rule in SHARINGS.values()]
    assert len({*words}) == len(words) == 3
    assert {*ASSIGNMENT_WORDS} == {*ASSIGNMENTS}


def test_phases_that_differ_are_both_named() -> None:
    eager = "- phase: late\n  constants: {network.receive_overhead: 1 us}\n  do:\n    - barrier: {}\n"
    assert assumed(program=RING)["receiver"] == "not held"
    assert assumed(program=f"{RING}\n{eager}")["receiver"] == "not held or held for receive_overhead"
    assert assumed(program=eager)["receiver"] == "held for receive_overhead"


def test_part_of_a_comparison_and_of_replicated_ones() -> None:
    case = workload(RING), machine(network(4))
    expected = message_assumptions(bind(*case), BOTH)
    assert compare(*case, effects=BOTH).to_dict()["assumptions"] == expected
    assert replicate_comparison(*case, effects=BOTH).to_dict()["first"]["assumptions"] == expected


def test_nothing_is_assumed_without_messages() -> None:
    assert compare(workload("[compute: {flops: 100}]"), machine(network(4))).assumptions == {}
