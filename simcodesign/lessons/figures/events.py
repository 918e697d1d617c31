"""The events of a small run one by one, each with the lines of the reference engine that make it happen."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import KINDS, RECEIVE, SEND
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import Timeline
from simcodesign.describe.scenario import Scenario
from simcodesign.engine.simulate import simulate
from simcodesign.generate.lower import make_plan
from simcodesign.lessons.description import Run, Stops
from simcodesign.lessons.figures.engine_lines import (
    ARRIVE,
    BEGIN,
    END,
    GRANT,
    REQUEST,
    LineRecorder,
    Passage,
    Sources,
    together,
)
from simcodesign.lessons.scenarios import scenario_at, within

MOST_OPERATIONS = 100
#: What happens: the words of ``simulate --write events.txt``, and of messages at stations ``asks`` and ``granted``.
WAITS, BEGINS, ENDS, ARRIVES, ASKS, GRANTED = ("waits", "begins", "ends", "arrives", "asks", "granted")
_EVENT_OF = {BEGIN: BEGINS, END: ENDS, ARRIVE: ARRIVES, REQUEST: ASKS, GRANT: GRANTED}

Row = dict[str, Any]


def events_at(run: Run, stops: Stops) -> dict[str, Any]:
    """Return the functions of the reference engine that run, and their order on every rung.

    ``functions``: name, file, first line, text; for every rung of the ladder the ``rungs``: rows in the order in which
    the engine goes through them.

    A row: ``time`` in s; ``rank``, for a message its sender; ``what``: waits, begins, ends, arrives, asks
    (for a station) or granted; ``operation``, ``bytes``, ``peer``; ``waits_for``: a rank whose message is waited for;
    ``station``, and ``holder``: the message, [from, to], or the [rank] that has the station while this one waits;
    ``lines``: of each function its number and which of its lines run. InputError for a run that is too long to read.
    """
    scenario, sources = scenario_at(run, stops), Sources()
    try:
        rungs = [_rows(scenario, run.effects[:count], sources) for count in range(len(run.effects) + 1)]
    except InputError as error:
        raise within(run, stops, error) from error
    return {"functions": sources.functions, "rungs": rungs}


def _rows(scenario: Scenario, effects: tuple[str, ...], sources: Sources) -> list[Row]:
    operations = len(make_plan(scenario.bind(), effects, 0))
    if operations > MOST_OPERATIONS:
        raise InputError("too many operations to be read one by one", value=operations, allowed=f"{MOST_OPERATIONS}")
    recorder = LineRecorder()
    result = recorder.record(lambda: simulate(scenario, effects=effects, seed=0, timeline=True, engine="simpy"))
    return _Reader(result, sources).rows(recorder.passages)


class _Reader:
    """Says in words what the passages of a run are."""

    def __init__(self, result: Result, sources: Sources) -> None:
        assert result.timeline is not None
        self.timeline: Timeline = result.timeline
        self.sources = sources
        services = result.timeline.services
        # By operation and time: the place among services, whose names are not the engine's numbers.
        self.asked: dict[tuple[int, float], list[int]] = {}
        self.begun: dict[tuple[int, float], list[int]] = {}
        if services is not None:
            for place in range(len(services)):
                op = int(services.op[place])
                self.asked.setdefault((op, float(services.requested_s[place])), []).append(place)
                self.begun.setdefault((op, float(services.begin_s[place])), []).append(place)

    def rows(self, passages: list[Passage]) -> list[Row]:
        """Rows for all passages in which something happens."""
        rows: list[Row] = []
        for one in together(passages):
            if one.op < len(self.timeline.rank):
                row = self.row(one)
                if row is not None:
                    rows.append(row)
        return rows

    def row(self, one: Passage) -> Row | None:
        """Return a passage as a row; None where only what has begun before continues."""
        what = _EVENT_OF.get(one.mark, "")
        kind, peer, rank = (int(part[one.op]) for part in (self.timeline.kind, self.timeline.peer, self.timeline.rank))
        is_message = kind in (SEND, RECEIVE)
        waits_for: int | None = None
        if not what:
            late = self.timeline.start_s[one.op] > self.timeline.ready_s[one.op]
            if not late or one.time_s != self.timeline.ready_s[one.op]:
                return None
            what, waits_for = WAITS, peer if kind == RECEIVE and peer >= 0 else None
        row: Row = {
            "time": one.time_s,
            "rank": rank,
            "what": what,
            "operation": "message" if kind == SEND and one.mark in (ARRIVE, REQUEST, GRANT) else KINDS[kind],
            "bytes": float(self.timeline.size_bytes[one.op]) if is_message else None,
            "peer": peer if is_message and peer >= 0 else None,
            "waits_for": waits_for,
            "lines": self.sources.of(one.lines),
        }
        if one.mark in (REQUEST, GRANT):
            row |= self.at_station(one)
        return row

    def at_station(self, one: Passage) -> Row:
        """Return the requested, or granted, station, and its holder if that is another operation."""
        services = self.timeline.services
        known = (self.asked if one.mark == REQUEST else self.begun).get((one.op, one.time_s), [])
        if services is None or not known:
            return {}
        place = known.pop(0)  # a message that passes several in one instant does so in this order
        row: Row = {"station": services.names[int(services.station[place])]}
        if one.mark == REQUEST and services.begin_s[place] > services.requested_s[place]:
            row |= {"what": WAITS, "holder": self.holder(place)}
        return row

    def holder(self, place: int) -> list[int] | None:
        """Operation that the station serves when this one arrives at it."""
        services = self.timeline.services
        assert services is not None
        came_s = services.requested_s[place]
        held = np.flatnonzero(
            (services.station == services.station[place]) & (services.begin_s <= came_s) & (services.end_s > came_s)
        )
        others = [int(services.op[one]) for one in held if one != place and services.op[one] < len(self.timeline.rank)]
        if not others:
            return None
        rank, peer = int(self.timeline.rank[others[0]]), int(self.timeline.peer[others[0]])
        return [rank, peer] if self.timeline.kind[others[0]] == SEND else [rank]
