"""Whether a description leaves anything to chance, and to which effect."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from simcodesign.describe.distribution import Distribution
from simcodesign.describe.machine import Machine
from simcodesign.describe.program import walk
from simcodesign.describe.workload import Workload


def has_imbalance(workload: Workload, machine: Machine) -> bool:
    """Whether the effect ``imbalance`` has anything to do: uneven shares of computation, slow nodes."""
    return bool(workload.imbalance_model) or bool(machine.noise_model.slow_nodes)


def has_noise(workload: Workload, machine: Machine) -> bool:
    """Whether the effect ``noise`` has anything to do, so that no two iterations are the same: noise of the machine,
    demands that vary."""
    return machine.noise_model.varies or varies(workload)


def varies(workload: Workload) -> bool:
    """Whether some demand varies by itself."""
    laws: Iterator[Distribution | None] = (getattr(step, "varies", None) for step in walk(workload.program))
    return any(law is not None and not law.constant for law in laws)


def drawn_effects(workload: Workload, machine: Machine, effects: Collection[str]) -> tuple[str, ...]:
    """Those of the effects that depend on the seed: nodes that are named are slow whatever is drawn."""
    slow = machine.noise_model.slow_nodes
    shares = bool(workload.imbalance_model) or (slow is not None and slow.drawn)
    found = {"imbalance": shares, "noise": has_noise(workload, machine)}
    return tuple(effect for effect, there in found.items() if there and effect in effects)
