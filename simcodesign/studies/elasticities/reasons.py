"""Why a change changes nothing, and what the time of a simulation is spent on: read off the simulation, not guessed."""

from __future__ import annotations

import numpy as np

from simcodesign.core.result import Result
from simcodesign.core.units import format_quantity
from simcodesign.describe.programs.program import placed_demands
from simcodesign.describe.scenario import Scenario
from simcodesign.studies.elasticities.changes import Change

#: Parts of a machine, and the component that their time is.
_COMPONENT_OF = {"processor": "computation", "network": "communication", "disk": "disk", "memory": "memory"}
_COMPONENT_OF |= {"storage": "disk"}
#: Effects and the stations at which they let requests wait.
_STATIONS_OF = {"links": "link", "interfaces": "interface"}


def reason_for_nothing(change: Change, scenario: Scenario, result: Result, changed: Result | None) -> str:
    """Why a simulation takes as long when it is ``changed`` (None: it was not looked at) as without the change."""
    if change.effects and not set(change.effects) & set(result.effects):
        return f"matters with the effect {change.effects[0]} only, which is off"
    component = _COMPONENT_OF.get(change.part)
    if change.path and _stated_everywhere(change.path, scenario, result, component):
        return "every phase that could use it has a value of its own"
    if component is not None and result.ranks is not None:
        spent_s = sum(times[component] for times in result.phases.values())
        place = [*result.components].index(component)
        if not result.ranks.busy_s[:, :, place].any():
            return f"no rank spends time on {component}"
        if not spent_s:
            return f"{component} is not on the critical path"
    waited_s = result.stations.waits_by_kind()
    for effect in change.effects:
        if not waited_s.get(_STATIONS_OF.get(effect, ""), 1.0):
            return f"no message waits at any {_STATIONS_OF[effect]}"
    if changed is None or changed.ranks is None or result.ranks is None:
        return "nothing on the critical path depends on it"
    if _same_operations(result, changed):
        return "every operation of this run takes the same time with it"
    return "some operations take another time, but none on the critical path"


def _same_operations(result: Result, changed: Result) -> bool:
    """Whether every rank and every station spends the same time on the same things."""
    assert result.ranks is not None
    assert changed.ranks is not None
    if len(result.stations) != len(changed.stations):
        return False
    pairs = [
        (result.ranks.busy_s, changed.ranks.busy_s),
        (result.ranks.end_s, changed.ranks.end_s),
        (result.stations.busy_s, changed.stations.busy_s),
        (result.stations.wait_s, changed.stations.wait_s),
    ]
    return all(np.array_equal(before, after) for before, after in pairs)


def _stated_everywhere(path: str, scenario: Scenario, result: Result, component: str | None) -> bool:
    """Whether all phases that spend time on the component replace the constant; all phases, if it is of none."""
    spending = {
        phase for phase, times in result.phases.items() if component is None or np.any(np.asarray(times[component]) > 0)
    }
    here = [placed for placed in placed_demands(scenario.workload.program) if placed.phase in spending]
    return bool(here) and all(path in placed.constants for placed in here)


def _percent(share: float) -> str:
    """Return a fraction that is not 0, in whole per cent."""
    return f"{share:.0%}" if share >= 0.005 else "less than 1%"


def bottleneck_lines(result: Result) -> list[str]:
    """Describe the critical path, and the longest waits: a sentence each."""
    lines = []
    total_s = float(result.makespan_s)
    parts = sorted(
        ((float(spent_s) / total_s, name) for name, spent_s in result.components.items() if spent_s), reverse=True
    )
    if parts:
        lines.append(f"The critical path is {', '.join(f'{_percent(share)} {name}' for share, name in parts)}.")
    waited_s = result.stations.waits_by_kind()
    if any(waited_s.values()):
        kind = max(waited_s, key=lambda one: waited_s[one])
        share = waited_s[kind] / sum(waited_s.values())
        busiest = max(
            (one for one in result.stations.most_used(len(result.stations)) if one.kind == kind),
            key=lambda one: one.utilisation,
        )
        lines.append(
            f"{'All' if share == 1 else _percent(share).capitalize() + ' of all'} waiting is for stations of the kind "
            f"{kind}: {format_quantity(waited_s[kind], 'time')}, summed over all requests. The busiest of them, "
            f"{busiest.name}, is in use {_percent(busiest.utilisation)} of the time."
        )
    elif len(result.stations):
        lines.append("Nothing waits for any station.")
    return lines
