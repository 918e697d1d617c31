"""An effect of another package: registered by its own module, or found by an entry point of what is installed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.effects import Effect, Mechanism, chosen_effects, effect_names, register, unregister
from tests.extension.installation import install, run
from tests.extension.slow_links import SLOW_LINKS

MACHINE = """
simcodesign: 1
name: line
nodes: 6
processor: {rate: 1e9}
network: {topology: {kind: mesh, shape: [6]}, sends: blocking, startup: 1 s, per_byte: 1 s/B, distance: none, switching: cut_through}
"""
WORKLOAD = """
simcodesign: 1
name: one-message
parameters: {source: {default: 0}, target: {default: 1}}
program:
  - send: {to: target, bytes: 10, when: rank == source}
  - receive: {from: source, when: rank == target}
"""


# Importing the module registered it; other tests see the shipped effects alone.
unregister("slow_links")


@pytest.fixture(autouse=True)
def slow_links() -> Iterator[None]:
    register(SLOW_LINKS, before="caches")
    yield
    unregister("slow_links")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    workload, machine = tmp_path / "workload.yaml", tmp_path / "machine.yaml"
    workload.write_text(WORKLOAD)
    machine.write_text(MACHINE)
    return workload, machine


@pytest.mark.parametrize("source", range(5))
@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_a_message_on_one_link_by_hand(files: tuple[Path, Path], source: int, engine: str) -> None:
    """1 s to set out, 10 s on the link, or 20 s on a slow one."""
    workload, machine = files
    link = int(sc.Machine.load(machine).network.topology.routes(np.array([source]), np.array([source + 1])).link[0])
    simulated = sc.simulate(
        workload, machine, {"source": source, "target": source + 1}, effects="slow_links", engine=engine
    )
    assert simulated.makespan_s == 1 + 10 * (2 if link % 3 == 2 else 1)
    assert simulated.effects == ("hops", "links", "slow_links")


def test_an_effect_may_switch_on_what_shipped_ones_do() -> None:
    """Without their names: links and interfaces at once."""
    mechanisms = (Mechanism.OWN_ROUTES, Mechanism.LINKS, Mechanism.INTERFACES)
    register(Effect("network", words="the network", adds="links and interfaces", switches_on=mechanisms))
    try:
        both, alone, nothing = (
            sc.simulate("transpose", "torus-cluster", {"P": 16}, effects=effects).makespan_s
            for effects in ("links interfaces", "network", "none")
        )
    finally:
        unregister("network")
    assert both == alone > nothing


def test_both_engines_are_equal_where_links_are_busy() -> None:
    readable, compiled = (
        sc.simulate("transpose", "torus-cluster", {"P": 16}, effects="all", engine=engine).to_dict()
        for engine in ("simpy", "compiled")
    )
    assert readable.pop("engine") != compiled.pop("engine")
    assert readable == compiled


def test_it_is_a_rung_of_the_ladder(files: tuple[Path, Path]) -> None:
    comparison = sc.compare("transpose", "torus-cluster", {"P": 16})
    rungs = {rung.effect: rung.change_s for rung in comparison.rungs}
    names = effect_names()
    assert list(rungs)[1:] == list(names)
    assert names.index("slow_links") == names.index("caches") - 1
    assert rungs["slow_links"] > 0
    assert sum(rungs.values()) == pytest.approx(comparison.difference_s, rel=1e-12)
    assert "slow_links" not in comparison.deterministic.effects
    assert comparison.within_bounds


def test_names_are_unique_and_known() -> None:
    with pytest.raises(InputError, match="there is an effect of this name"):
        register(SLOW_LINKS)
    for other in (replace(SLOW_LINKS, name="other", implies=("lnks",)), replace(SLOW_LINKS, name="all")):
        with pytest.raises(InputError):
            register(other)
    with pytest.raises(InputError, match="no such effect"):
        register(replace(SLOW_LINKS, name="other"), before="lnks")


def test_what_is_taken_off_is_unknown() -> None:
    unregister("slow_links")
    try:
        with pytest.raises(InputError, match="no such effect"):
            chosen_effects("slow_links")
    finally:
        register(SLOW_LINKS, before="caches")


@pytest.mark.thorough
def test_an_entry_point_of_an_installed_package_is_found(files: tuple[Path, Path], tmp_path: Path) -> None:
    shutil.copy(Path(__file__).with_name("slow_links.py"), tmp_path / "slow_links.py")
    install(tmp_path, "slow_network", "[simcodesign.effects]\nslow_links = slow_links\n")
    compared = run(tmp_path, "compare", *map(str, files), "--effects", "slow_links", "--set", "target=5", "-P", "6")
    assert (compared.returncode, compared.stderr) == (0, "note: slow_links includes hops and links\n")
    assert "slow links (slow_links), which adds" in " ".join(compared.stdout.split())
