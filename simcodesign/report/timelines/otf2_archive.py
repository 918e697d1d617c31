"""A simulation as an OTF2 archive, for Vampir and others; needs the package ``otf2`` (the extra of that name).

Format: Open Trace Format 2 (VI-HPS), by its own Python bindings.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.core.operation_kinds import KINDS, RECEIVE, SEND
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import Timeline
from simcodesign.report.results.utilisation import recorded
from simcodesign.report.timelines.rows import (
    in_nanoseconds,
    names_of_tracks,
    nanoseconds_of,
    served_by,
    title_of,
    tracks_of,
)

_PER_SECOND = 10**9


def write_otf2(result: Result, path: str | Path) -> None:
    """Write every operation, message and service of a simulation as an OTF2 archive with the anchor file ``path``.

    Beside the anchor ``run.otf2`` stand ``run.def`` and the folder ``run``. Locations are ranks and stations; messages
    are those of MPI, point to point, with their bytes; the metric ``waiting`` of a station is how many wait there.

    Raises InputError without the package ``otf2``, for a result without timeline, and where the archive cannot be made.
    """
    timeline, path = recorded(result), Path(path)
    try:
        import otf2
    except ImportError:
        what = "OTF2 archives need the package otf2, which is not installed"
        raise InputError(what, Place(str(path)), allowed="pip install simcodesign[otf2]") from None
    for taken in (path, path.with_suffix(".def"), path.with_suffix("")):
        if taken.exists():
            raise InputError("is there already", Place(str(taken)), allowed="the name of a new archive")
    if not path.parent.is_dir():
        raise InputError("cannot be written: no such folder", Place(str(path)))
    try:
        with otf2.writer.open(str(path.parent), archive_name=path.stem, timer_resolution=_PER_SECOND) as archive:
            _Archive(otf2, archive, timeline, title_of(result)).write()
    except otf2.error.Error as error:
        raise InputError(f"cannot be written: {error}", Place(str(path))) from None


class _Archive:
    """An archive that is written. Regions are made when they are first entered."""

    def __init__(self, otf2: Any, archive: Any, timeline: Timeline, title: str) -> None:
        self.otf2, self.archive, self.timeline = otf2, archive, timeline
        self.define = archive.definitions
        self.root = self.define.system_tree_node(title, class_name="simulation")
        self.regions: dict[str, Any] = {}

    def write(self) -> None:
        """All of it."""
        self._write_ranks()
        for kind in dict.fromkeys(() if self.timeline.services is None else self.timeline.services.kinds):
            self._write_stations(kind)

    def _region(self, name: str) -> Any:
        if name not in self.regions:
            self.regions[name] = self.define.region(name)
        return self.regions[name]

    def _write_ranks(self) -> None:
        timeline = self.timeline
        ready, start, finish = nanoseconds_of(timeline)
        track = tracks_of(timeline, ready, finish)
        names = names_of_tracks(timeline, track) if len(track) else {}
        ranks = int(timeline.rank.max(initial=-1)) + 1
        groups = [self.define.location_group(f"rank {rank}", system_tree_parent=self.root) for rank in range(ranks)]
        locations = {tid: self.define.location(name, group=groups[tid % ranks]) for tid, name in names.items()}
        world = self._world([locations[rank] for rank in range(ranks)])
        rows: dict[int, list[int]] = defaultdict(list)
        for op in np.lexsort((np.arange(len(track)), ready)).tolist():
            rows[int(track[op])].append(op)
        for tid, ops in rows.items():
            writer = self.archive.event_writer_from_location(locations[tid])
            for op in ops:
                kind = KINDS[timeline.kind[op]]
                if start[op] > ready[op]:
                    writer.enter(int(ready[op]), self._region(f"waiting: {kind}"))
                    writer.leave(int(start[op]), self._region(f"waiting: {kind}"))
                writer.enter(int(start[op]), self._region(kind))
                self._message(writer, op, int(start[op]), world)
                writer.leave(int(finish[op]), self._region(kind))

    def _world(self, locations: list[Any]) -> Any:
        """The communicator of all ranks."""
        types, mpi = self.otf2.GroupType, self.otf2.Paradigm.MPI
        self.define.group("ranks", group_type=types.COMM_LOCATIONS, paradigm=mpi, members=locations)
        members = self.define.group("world", group_type=types.COMM_GROUP, paradigm=mpi, members=locations)
        return self.define.comm("world", members)

    def _message(self, writer: Any, op: int, time_ns: int, world: Any) -> None:
        """The end of a message at which this operation is; its tag, the number of its send, is that of no other."""
        timeline = self.timeline
        kind, match, size = int(timeline.kind[op]), int(timeline.match[op]), round(float(timeline.size_bytes[op]))
        if kind == SEND and match >= 0:
            writer.mpi_send(time_ns, int(timeline.peer[op]), world, op, size)
        elif kind == RECEIVE and match >= 0:
            writer.mpi_recv(time_ns, int(timeline.peer[op]), world, match, size)

    def _write_stations(self, kind: str) -> None:
        """The stations of one kind, and how many wait at each."""
        assert self.timeline.services is not None
        group = self.define.location_group(f"{kind}s", system_tree_parent=self.root)
        for track in self.timeline.services.tracks():
            if track.kind != kind:
                continue
            lanes = track.lanes()
            begin, end = in_nanoseconds(track.begin_s), in_nanoseconds(track.end_s)
            for lane in range(int(lanes.max(initial=0)) + 1):
                name = track.name + (f", beside {lane}" if lane else "")
                writer = self.archive.event_writer_from_location(self.define.location(name, group=group))
                for place in np.flatnonzero(lanes == lane).tolist():
                    region = self._region(served_by(self.timeline, int(track.op[place])))
                    writer.enter(int(begin[place]), region)
                    writer.leave(int(end[place]), region)
            moments, waiting = track.queue()
            if len(moments):
                member = self.define.metric_member("waiting", value_type=self.otf2.Type.INT64)
                metric = self.define.metric_class([member])
                location = self.define.location(
                    f"{track.name}, waiting", type=self.otf2.LocationType.METRIC, group=group
                )
                writer = self.archive.event_writer_from_location(location)
                for moment, count in zip(in_nanoseconds(moments).tolist(), waiting.tolist(), strict=True):
                    writer.metric(moment, metric, count)
