"""Elasticities as tables and sentences for a terminal."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table

from simcodesign.report.common.numbers import signed_percent
from simcodesign.report.common.tables import dashed_list, new_table
from simcodesign.studies.elasticities.elasticities import Elasticities, Improvement


def elasticity_tables(found: Elasticities) -> list[RenderableType]:
    """Return the use of the time, what helps, other algorithms, and what changes nothing, with the reasons."""
    changes = [one for one in found.improvements if _is_shown(one)]
    better = [one for one in changes if not one.is_algorithm]
    algorithms = [one for one in changes if one.is_algorithm]
    title = f"Change of the time when one thing gets {found.improvement:.0%} better, and all else stays"
    return [
        dashed_list(found.bottleneck, "Use of the simulated time:"),
        *([_table(title, "what gets better", better)] if better else []),
        *(
            [
                _table(
                    "Change of the time with another algorithm on the same machine", "operation (algorithm)", algorithms
                )
            ]
            if algorithms
            else []
        ),
        dashed_list(_without_change(found), "These change nothing in the simulation:"),
        dashed_list((f"{what}: {why}" for what, why in found.impossible), "These cannot be tried:"),
    ]


def _table(title: str, first: str, rows: list[Improvement]) -> Table:
    table = new_table(title, first, "forecast", "simulated")
    for row in rows:
        table.add_row(row.what, _share(row.forecast), _share(row.simulated))
    return table


def _is_shown(one: Improvement) -> bool:
    """Whether it has a row: whatever changes the simulation, and algorithms that change any reading."""
    return bool(one.simulated or (one.is_algorithm and one.forecast))


def _share(share: float) -> str:
    return signed_percent(share) if share else "0"


def _without_change(found: Elasticities) -> list[str]:
    """For each reason, all that it holds for, with the forecast's change if it has one, and the reason."""
    by_reason: dict[str, list[str]] = {}
    for one in found.improvements:
        if not _is_shown(one):
            forecast = f" (forecast {signed_percent(one.forecast)})" if one.forecast else ""
            by_reason.setdefault(one.reason, []).append(f"{one.what}{forecast}")
    return [f"{', '.join(names)}: {reason}" for reason, names in by_reason.items()]
