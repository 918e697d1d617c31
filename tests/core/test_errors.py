"""What a message says is short, however long the names in a file are."""

from __future__ import annotations

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


def test_every_name_follows_those_that_are_alike_in_alphabetic_order() -> None:
    names = ["torus-cluster", "mesh", "abacus", "torus", "zero", "xeon"]
    expected = "did you mean 'torus'? torus, torus-cluster, abacus, mesh, xeon, zero"
    assert nearest("torus-c", names, every=True) in (
        expected,
        expected.replace("torus, torus-cluster", "torus-cluster, torus"),
    )
