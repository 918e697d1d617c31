"""The key ``evidence`` of the shipped machines is what the rows of evidence and the files give."""

from __future__ import annotations

import pytest

from simcodesign.describe.yaml.files import available, load_machine
from validation.measured.machine_evidence import computed, keys

KEYS = [*keys()]


def test_only_these_machines_state_evidence() -> None:
    stated = {
        (name, one.operation, *one.ranks) for name in available("topologies") for one in load_machine(name).evidence
    }
    assert stated == {*KEYS}


@pytest.mark.parametrize("key", KEYS, ids=lambda key: "-".join(map(str, key)))
def test_evidence_is_computed_again(key: tuple[str, str, int]) -> None:
    machine, operation, ranks = key
    (stated,) = [one for one in load_machine(machine).evidence if (one.operation, *one.ranks) == (operation, ranks)]
    assert stated == computed(*key)
