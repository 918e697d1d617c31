"""What a message says is short, however long the names in a file are."""

from __future__ import annotations

import pytest

from simcodesign.core.errors import InputError, Place, nearest


def test_long_words_are_clipped_and_paths_of_files_are_not() -> None:
    name, file = "n" * 5000, "f" * 4000
    text = str(InputError(f"region {name}", Place(file, 3, name), value=name, allowed=nearest("x", [name])))
    assert file in text
    assert len(text) < len(file) + 1000
    assert str(InputError("w" * 200, allowed="short")) == f"{'w' * 200} (allowed: short)"


def test_paths_of_many_keys_are_cut() -> None:
    message = str(InputError("unknown key", Place("machine.yaml", 3, "network." * 10_000)))
    assert len(message) < 1100
    assert message.startswith("machine.yaml:3: network.")


#: What was written and the name that was meant: a slip of the keyboard, another number, a beginning.
NEAR = """jacoby jacobi, seismik seismic, startp startup, bandwith bandwidth, bandwidht bandwidth, nodess nodes, node nodes,
noize noise, faliures failures, failure failures, lniks links, link links, hop hops, memroy memory, mem memory, disc disk,
clok clock, interface interfaces, uss us, nn n, latency hop_latency, fugako fugaku, juquene juqueen, Disk disk,
robin round_robin, node one_per_node"""
#: Words of the field that have nothing to do with the name that shares most letters with them.
FAR = """wires failures, ranks links, cores nodes, words loads, ports torus, threads stores, linear relearn, router rate,
stream storage, tree stores, accel cice, hpcg cg, gpus us, clos clock, reduce resources, price cice, frontier cice,
packets parameters, star stores, prices processor, congestion cg-iteration, nics noise"""


@pytest.mark.parametrize("pair", [pair.split() for pair in NEAR.split(",")], ids=" for ".join)
def test_a_misspelt_name_is_suggested(pair: list[str]) -> None:
    written, meant = pair
    assert nearest(written, [meant, "qqqq"]) == f"did you mean {meant!r}? " + ", ".join(sorted([meant, "qqqq"]))


@pytest.mark.parametrize("pair", [pair.split() for pair in FAR.split(",")], ids=" against ".join)
def test_an_unlike_name_is_not_suggested(pair: list[str]) -> None:
    written, other = pair
    assert nearest(written, [other]) == other


def test_a_word_of_several_names_suggests_none_of_them() -> None:
    assert nearest("startup", ["read_startup", "write_startup"]) == "read_startup, write_startup"
    assert nearest("by", ["one_by_one"]) == "one_by_one"
    keys = ["disk.bandwidth", "network.bandwidth"]  # neither is more likely
    assert nearest("bandwidth", keys).startswith("did you mean 'disk.bandwidth' or 'network.bandwidth'? ")
    assert nearest("waiting", ["serving.waiting", "writing"]).startswith("did you mean 'serving.waiting'? ")


def test_long_lists_are_cut_and_counted_after_the_names_that_are_alike() -> None:
    names = [f"a{number:02}" for number in range(30)]
    assert nearest("torus", names) == ", ".join(names)  # 30 names are listed
    more = [*names, "torus-cluster", "packet-torus", "torsu"]
    expected = "did you mean 'torsu'? torsu, packet-torus, torus-cluster, " + ", ".join(names[:12])
    assert nearest("torus", more) == f"{expected}, and 18 more"  # 33 names, 15 of them printed
    assert nearest("torus", more, see="simcodesign list") == f"{expected}, and 18 more: simcodesign list"
    assert nearest("torus", []) == "none"
