"""The key ``evidence`` of the shipped machines is what the rows of evidence and the files give."""

from __future__ import annotations

import pytest

from simcodesign.describe.yaml.files import available, load_machine
from tests import ROOT
from validation.measured.machine_evidence import computed, keys

KEYS = [*keys()]


def test_only_these_machines_state_evidence() -> None:
    stated = {
        (name, one.operation, *one.ranks) for name in available("topologies") for one in load_machine(name).evidence
    }
    assert stated == {*KEYS}


#: Forecasts of half a minute.
SLOW = ("hpl",)


@pytest.mark.parametrize(
    "key",
    [pytest.param(key, marks=pytest.mark.thorough if key[1] in SLOW else ()) for key in KEYS],
    ids=lambda key: "-".join(map(str, key)),
)
def test_evidence_is_computed_again(key: tuple[str, str, int]) -> None:
    machine, operation, ranks = key
    (stated,) = [one for one in load_machine(machine).evidence if (one.operation, *one.ranks) == (operation, ranks)]
    assert stated == computed(*key)


def test_the_page_of_fugaku_states_the_errors_of_the_file() -> None:
    text = " ".join((ROOT / "docs" / "fugaku.md").read_text(encoding="utf-8").split())
    errors = {one.operation: one.median_error for one in load_machine("fugaku").evidence if one.ranks == (512,)}
    shown = [f"{100 * errors[name]:.0f} % for " for name in ("broadcast", "allreduce", "all_to_all")]
    assert all(one in text for one in shown)
