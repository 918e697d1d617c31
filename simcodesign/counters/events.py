"""From what tools call an event to the counters of ``counters``, and what a file of one run does not say by itself.

Names are compared in small letters, with ``.`` and ``-`` as ``_``, without the unit of measurement (``cpu/.../``) and
modifiers (``:u``), and without the ending ``_PS`` of precise events.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.text_files import number
from simcodesign.counters.table import COUNTERS

#: The kernel of a file that holds one run as a whole.
WHOLE = "main"
#: Counts of misses, from which hits follow; no columns of a table.
L1_MISSES, L2_MISSES = "l1_misses", "l2_misses"

#: Ways to a counter, the first that is complete is taken; the events of one way are added up.
WAYS: dict[str, tuple[tuple[str, ...], ...]] = {
    "instructions": (
        ("instructions",),
        ("inst_retired_any_p",),
        ("inst_retired_any",),
        ("instr_retired_any",),
        ("inst_retired",),
        ("retired_instructions",),
        ("papi_tot_ins",),
    ),
    "cycles": (
        ("cycles",),
        ("cpu_cycles",),
        ("cpu_clk_unhalted_thread_p",),
        ("cpu_clk_unhalted_thread",),
        ("cpu_clk_unhalted_core",),
        ("cpu_clocks_unhalted",),
        ("papi_tot_cyc",),
    ),
    "l1_hits": (("mem_load_uops_retired_l1_hit",), ("mem_load_retired_l1_hit",)),
    "l2_hits": (("mem_load_uops_retired_l2_hit",), ("mem_load_retired_l2_hit",)),
    "llc_hits": (
        ("mem_load_uops_retired_llc_hit",),
        ("mem_load_uops_retired_l3_hit",),
        ("mem_load_retired_l3_hit",),
    ),
    "memory_accesses": (
        ("mem_load_uops_retired_llc_miss",),
        ("mem_load_uops_retired_l3_miss",),
        ("mem_load_retired_l3_miss",),
        ("papi_l3_tcm",),
        ("papi_l3_dcm",),
        ("llc_load_misses", "llc_store_misses"),
        ("llc_load_misses",),
        ("longest_lat_cache_miss",),
        ("cache_misses",),
    ),
    "loads_stores": (
        ("mem_uops_retired_all_loads", "mem_uops_retired_all_stores"),
        ("mem_uops_retired_all_ld", "mem_uops_retired_all_st"),
        ("mem_inst_retired_all_loads", "mem_inst_retired_all_stores"),
        ("papi_lst_ins",),
        ("papi_ld_ins", "papi_sr_ins"),
        ("l1_dcache_loads", "l1_dcache_stores"),
        ("l1_dcache_loads",),
    ),
    L1_MISSES: (("papi_l1_dcm",), ("l1_dcache_load_misses",)),
    L2_MISSES: (("papi_l2_dcm",), ("papi_l2_tcm",), ("llc_loads", "llc_stores"), ("llc_loads",), ("cache_references",)),
    "stall_cycles": (
        ("resource_stalls_lb", "resource_stalls_st"),
        ("cycle_activity_stalls_mem_any",),
        ("cycle_activity_stalls_ldm_pending",),
        ("papi_mem_scy",),
        ("papi_res_stl",),
        ("stalled_cycles_backend",),
    ),
    "time_s": (("duration_time",), ("real_time_nsec",), ("task_clock",), ("cpu_clock",)),
}
EVENTS = frozenset(event for ways in WAYS.values() for way in ways for event in way)
#: Events that come in other units than counts, where the file does not say which.
SCALES = {"duration_time": 1e-9, "real_time_nsec": 1e-9, "task_clock": 1e-3, "cpu_clock": 1e-3}
#: Times that are the same for all processes of a run, and so are not divided by their number.
WALL_CLOCK = ("duration_time", "real_time_nsec")


@dataclass(frozen=True)
class Labels:
    """Description of the run of a file.

    Values in the rows of the file count for more than its comments, and the comments (``# processes: 4``) for less
    than the values given here.

    ``summed``: counts are sums over all processes, as ``perf stat`` around a launcher has them.
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
        """Return these labels, and what they lack from others."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        known = {name: value for name, value in given.items() if value is not None and value is not False}
        return replace(comments, **known)

    def check(self, row: Mapping[str, object], place: Place) -> None:
        """Raise InputError if a row of the file contradicts a label. The message names the column and both values."""
        for name, value in self.row().items():
            if name in row and row[name] != value:
                at = Place(place.file, place.line, f"column {name}")
                in_row = f"{row[name]:.12g}" if isinstance(row[name], float) else repr(row[name])
                what = f"the label of the file contradicts this row, which has {in_row}"
                raise InputError(what, at, value=value, allowed="a label for a value that is not in the file")

    def row(self) -> dict[str, object]:
        """Return the columns of a table that they give."""
        return {
            one.name: value
            for one in fields(self)
            if one.name != "summed" and (value := getattr(self, one.name)) is not None
        }


NO_LABELS = Labels()
_COMMENT = re.compile(r"#\s*(\w+)\s*[:=]\s*(.*?)\s*$")


def labels_in(comments: Iterable[tuple[str, Place]]) -> Labels:
    """Labels from comment lines ``# name: value``; other comments are passed over. InputError for a bad number."""
    labels: dict[str, object] = {}
    names = {one.name for one in fields(Labels)}
    for text, place in comments:
        match = _COMMENT.match(text)
        if match is None or match[1] not in names:
            continue
        name, value = match[1], match[2]
        if name in ("kernel", "problem_class"):
            labels[name] = value
        elif name == "summed":
            labels[name] = value.lower() in ("1", "yes", "true")
        else:
            labels[name] = number(value, place, f"{name} that is not a number")
    return Labels(**labels)  # type: ignore[arg-type]


#: Presets of PAPI that no counter needs, without the prefix.
_PRESETS = """
    l1_icm l1_tcm l2_icm l3_icm ca_snp ca_shr ca_cln ca_inv ca_itv l3_ldm l3_stm bru_idl fxu_idl fpu_idl lsu_idl tlb_dm
    tlb_im tlb_tl l1_ldm l1_stm l2_ldm l2_stm btac_m prf_dm l3_dch tlb_sd csr_fal csr_suc csr_tot mem_rcy mem_wcy
    stl_icy ful_icy stl_ccy ful_ccy hw_int br_ucn br_cn br_tkn br_ntk br_msp br_prc fma_ins tot_iis int_ins fp_ins
    br_ins vec_ins fp_stal syc_ins l1_dch l2_dch l1_dca l2_dca l3_dca l1_dcr l2_dcr l3_dcr l1_dcw l2_dcw l3_dcw l1_ich
    l2_ich l3_ich l1_ica l2_ica l3_ica l1_icr l2_icr l3_icr l1_icw l2_icw l3_icw l1_tch l2_tch l3_tch l1_tca l2_tca
    l3_tca l1_tcr l2_tcr l3_tcr l1_tcw l2_tcw l3_tcw fml_ins fad_ins fdv_ins fsq_ins fnv_ins fp_ops sp_ops dp_ops
    vec_sp vec_dp ref_cyc"""
#: Events that no counter needs, and that are no misspelt ones: the presets, and neighbours of ours in lists of perf.
OTHER_EVENTS = frozenset(
    [f"papi_{name}" for name in _PRESETS.split()]
    + ["ref_cycles", "bus_cycles", "l1_icache_loads", "l1_icache_load_misses", "stalled_cycles_frontend", "user_time"]
    + ["mem_load_retired_fb_hit", "mem_load_retired_l4_hit", "longest_lat_cache_reference"]
    + [f"mem_load_{kind}retired_{level}_miss" for kind in ("", "uops_") for level in ("l1", "l2")]
    + [f"resource_stalls_{what}" for what in ("any", "rs", "rob", "sb")]
    + [f"cycle_activity_stalls_{level}_pending" for level in ("l1d", "l2")]
)
#: Letters by which a name may differ from an event and be a misspelt one.
_SLIPS = 2


def misspelt(text: str, counted: Iterable[str] = ()) -> str | None:
    """Return a warning for an event that is unknown; None for any other event.

    It warns of a name of PAPI that is no preset, and of a name that is a slip of the keyboard away from a known event
    that is not among those ``counted``.
    """
    name, _ = event_name(text)
    if name in EVENTS or name in OTHER_EVENTS:
        return None
    there = set(counted)
    near = min(((slips(name, event), event) for event in EVENTS - there), default=(_SLIPS + 1, ""))
    if near[0] <= min(_SLIPS, len(name) // 4):
        meant = near[1].upper() if near[1].startswith("papi_") else near[1]
        return f"the event {text!r} is unknown and passed over: did you mean {meant!r}?"
    return f"the event {text!r} is unknown and passed over." if name.startswith("papi_") else None


def slips(one: str, other: str) -> int:
    """Letters to insert, leave out, replace, or exchange with the next (optimal string alignment distance)."""
    if abs(len(one) - len(other)) > _SLIPS:
        return abs(len(one) - len(other))
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(one):
        row = [i + 1]
        for j, beside in enumerate(other):
            best = min(last[j + 1] + 1, row[j] + 1, last[j] + (letter != beside))
            if i and j and letter == other[j - 1] and one[i - 1] == beside:
                best = min(best, before[j - 1] + 1)
            row.append(best)
        before, last = last, row
    return last[-1]


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
        """Return counts of no event."""
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
        """Return the count: of all modes if the event covers them, otherwise user and kernel mode added up."""
        by_modifier = self.counts.get(event)
        if by_modifier is None:
            return None
        for whole in ("", "ku"):
            if whole in by_modifier:
                return by_modifier[whole]
        return sum(by_modifier.values())


def counters_of(events: EventCounts, processes: float = 1.0) -> dict[str, float]:
    """Counters of one process from events of ``processes`` together; hits from misses where only those were counted."""
    counters: dict[str, float] = {}
    for counter, ways in WAYS.items():
        for way in ways:
            values = [events.value(event) for event in way]
            if None not in values:
                wall = way[0] in WALL_CLOCK
                counters[counter] = sum(value for value in values if value is not None) / (1.0 if wall else processes)
                break
    for hits, above, below in (
        ("l1_hits", "loads_stores", L1_MISSES),
        ("l2_hits", L1_MISSES, L2_MISSES),
        ("llc_hits", L2_MISSES, "memory_accesses"),
    ):
        if hits not in counters and above in counters and below in counters:
            # Prefetches and multiplexing let misses outnumber the accesses; hits are never below 0.
            counters[hits] = max(0.0, counters[above] - counters[below])
    return {name: value for name, value in counters.items() if name in COUNTERS}
