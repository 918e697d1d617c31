"""From what tools call an event to the counters of ``counters``, and what a file of one run does not say by itself.

Names are compared in small letters, with ``.`` and ``-`` as ``_``, without the unit of measurement (``cpu/.../``) and
modifiers (``:u``), and without the ending ``_PS`` of precise events.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

from simcodesign.errors import Place
from simcodesign.fitting.counters import COUNTERS
from simcodesign.fitting.read_lines import number

#: The kernel of a file that holds one run as a whole.
WHOLE = "main"
#: Counts of misses, from which hits follow; no columns of a table.
L1_MISSES, L2_MISSES = "l1_misses", "l2_misses"

#: Ways to a counter, the first that is complete is taken; the events of one way are added up.
WAYS: dict[str, tuple[tuple[str, ...], ...]] = {
    "instructions": (
        ("instructions",), ("inst_retired_any_p",), ("inst_retired_any",), ("instr_retired_any",), ("inst_retired",),
        ("retired_instructions",), ("papi_tot_ins",),
    ),
    "cycles": (
        ("cycles",), ("cpu_cycles",), ("cpu_clk_unhalted_thread_p",), ("cpu_clk_unhalted_thread",),
        ("cpu_clk_unhalted_core",), ("cpu_clocks_unhalted",), ("papi_tot_cyc",),
    ),
    "l1_hits": (("mem_load_uops_retired_l1_hit",), ("mem_load_retired_l1_hit",)),
    "l2_hits": (("mem_load_uops_retired_l2_hit",), ("mem_load_retired_l2_hit",)),
    "llc_hits": (
        ("mem_load_uops_retired_llc_hit",), ("mem_load_uops_retired_l3_hit",), ("mem_load_retired_l3_hit",),
    ),
    "memory_accesses": (
        ("mem_load_uops_retired_llc_miss",), ("mem_load_uops_retired_l3_miss",), ("mem_load_retired_l3_miss",),
        ("papi_l3_tcm",), ("papi_l3_dcm",), ("llc_load_misses", "llc_store_misses"), ("llc_load_misses",),
        ("longest_lat_cache_miss",), ("cache_misses",),
    ),
    "loads_stores": (
        ("mem_uops_retired_all_loads", "mem_uops_retired_all_stores"),
        ("mem_uops_retired_all_ld", "mem_uops_retired_all_st"),
        ("mem_inst_retired_all_loads", "mem_inst_retired_all_stores"),
        ("papi_lst_ins",), ("papi_ld_ins", "papi_sr_ins"),
        ("l1_dcache_loads", "l1_dcache_stores"), ("l1_dcache_loads",),
    ),
    L1_MISSES: (("papi_l1_dcm",), ("l1_dcache_load_misses",)),
    L2_MISSES: (("papi_l2_dcm",), ("papi_l2_tcm",), ("llc_loads", "llc_stores"), ("llc_loads",), ("cache_references",)),
    "stall_cycles": (
        ("resource_stalls_lb", "resource_stalls_st"), ("cycle_activity_stalls_mem_any",),
        ("cycle_activity_stalls_ldm_pending",), ("papi_mem_scy",), ("papi_res_stl",), ("stalled_cycles_backend",),
    ),
    "time_s": (("duration_time",), ("real_time_nsec",), ("task_clock",), ("cpu_clock",)),
}  # fmt: skip
EVENTS = frozenset(event for ways in WAYS.values() for way in ways for event in way)
#: Events that come in other units than counts, where the file does not say which.
SCALES = {"duration_time": 1e-9, "real_time_nsec": 1e-9, "task_clock": 1e-3, "cpu_clock": 1e-3}
#: Times that are the same for all processes of a run, and so are not divided by their number.
WALL_CLOCK = ("duration_time", "real_time_nsec")


@dataclass(frozen=True)
class Labels:
    """What describes the run of a file. What the file says in its rows counts for more than its comments, and those
    (``# processes: 4``) for less than what is given here.

    ``summed``: counts are those of all processes together, as ``perf stat`` around a launcher has them.
    """

    processes: float | None = None
    kernel: str | None = None
    problem_class: str | None = None
    size: float | None = None
    frequency_hz: float | None = None
    repetition: float | None = None
    rank: float | None = None
    summed: bool = False

    def over(self, comments: Labels) -> Labels:
        """These labels, and what they lack from others."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        found = {name: value for name, value in given.items() if value is not None and value is not False}
        return replace(comments, **found)

    def row(self) -> dict[str, object]:
        """The columns of a table that they give."""
        return {
            one.name: value
            for one in fields(self)
            if one.name != "summed" and (value := getattr(self, one.name)) is not None
        }


NO_LABELS = Labels()
_COMMENT = re.compile(r"#\s*(\w+)\s*[:=]\s*(.*?)\s*$")


def labels_in(comments: Iterable[tuple[str, Place]]) -> Labels:
    """Labels from comment lines ``# name: value``; other comments are passed over. InputError for a bad number."""
    found: dict[str, object] = {}
    names = {one.name for one in fields(Labels)}
    for text, place in comments:
        match = _COMMENT.match(text)
        if match is None or match[1] not in names:
            continue
        name, value = match[1], match[2]
        if name in ("kernel", "problem_class"):
            found[name] = value
        elif name == "summed":
            found[name] = value.lower() in ("1", "yes", "true")
        else:
            found[name] = number(value, place, f"{name} that is not a number")
    return Labels(**found)  # type: ignore[arg-type]


_UNIT = re.compile(r"^\w+/(.*)/(\w*)$")


def event_name(text: str) -> tuple[str, str]:
    """Name of an event as in ``WAYS``, and its modifiers without the precision (``p``)."""
    name, modifiers = text.strip(), ""
    if match := _UNIT.match(name):
        name, modifiers = match[1], match[2]
    elif ":" in name:
        name, _, modifiers = name.partition(":")
    plain = re.sub(r"[.\-]", "_", name.lower()).removesuffix("_ps")
    return plain, "".join(sorted(set(modifiers.lower()) & set("ukhg")))


@dataclass
class EventCounts:
    """Counts of events of one row as they are read: lines of one event and modifier are added up."""

    counts: dict[str, dict[str, float]]

    @classmethod
    def empty(cls) -> EventCounts:
        return cls({})

    def add(self, event: str, value: float) -> bool:
        """Count an event by any of its names; whether it is one that a counter needs."""
        name, modifiers = event_name(event)
        if name not in EVENTS:
            return False
        by_modifier = self.counts.setdefault(name, {})
        by_modifier[modifiers] = by_modifier.get(modifiers, 0.0) + value
        return True

    def value(self, event: str) -> float | None:
        """What was counted: of all modes where that was asked for, else user and kernel mode added up."""
        by_modifier = self.counts.get(event)
        if by_modifier is None:
            return None
        for whole in ("", "ku"):
            if whole in by_modifier:
                return by_modifier[whole]
        return sum(by_modifier.values())


def counters_of(events: EventCounts, processes: float = 1.0) -> dict[str, float]:
    """Counters of one process from events of ``processes`` together; hits from misses where only those were counted."""
    found: dict[str, float] = {}
    for counter, ways in WAYS.items():
        for way in ways:
            values = [events.value(event) for event in way]
            if None not in values:
                wall = way[0] in WALL_CLOCK
                found[counter] = sum(value for value in values if value is not None) / (1.0 if wall else processes)
                break
    for hits, above, below in (
        ("l1_hits", "loads_stores", L1_MISSES),
        ("l2_hits", L1_MISSES, L2_MISSES),
        ("llc_hits", L2_MISSES, "memory_accesses"),
    ):
        if hits not in found and above in found and below in found:
            # Prefetches and multiplexing let misses outnumber what was asked for; a hit is not less than none.
            found[hits] = max(0.0, found[above] - found[below])
    return {name: value for name, value in found.items() if name in COUNTERS}
