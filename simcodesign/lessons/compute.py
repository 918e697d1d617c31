"""All numbers of a lesson: lattices and traces, by several processes, kept from one build to the next."""

from __future__ import annotations

import hashlib
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.files.atomic_files import replacing_text
from simcodesign.core.files.file_names import safe_file_name
from simcodesign.core.files.input_files import DATA_BYTES, is_file, read_bytes, read_text
from simcodesign.core.processes.ordered_map import map_in_order
from simcodesign.describe.yaml.files import shipped_path
from simcodesign.lessons.description import Lesson, Run, Stops
from simcodesign.lessons.figures.events import events_at
from simcodesign.lessons.figures.helps import helps_at
from simcodesign.lessons.lattice import Lattice, assembled, formula_times, ladder_at
from simcodesign.lessons.packing import pack, unpack
from simcodesign.lessons.scenarios import simulated_stops
from simcodesign.lessons.traces import traces_at

#: A trace by its run and the numbers of its stops.
TraceKey = tuple[str, tuple[int, ...]]
Trace = Mapping[str, NDArray[np.generic]]
#: Packages that a number depends on.
_SOURCES = ("core", "describe", "analytic", "generate", "engine", "locality", "studies/elasticities", "lessons")
#: Files in a lesson's folder that no number depends on: texts, pictures, and pages that were built there.
_NO_INPUTS = (".md", ".html", ".png", ".jpg", ".svg", ".pdf")
_MOST_BYTES = 256 * 1024 * 1024
OnProgress = Callable[[int, int], None]
#: Functions that compute something of a run at stops; all are pickled by name.
Work = Callable[[Run, Stops], Any]


@dataclass(frozen=True)
class Numbers:
    """The lattice of every run, all traces; ``documents``: ``RUN/events``, ``RUN/helps`` (``figures``)."""

    lattices: Mapping[str, Lattice]
    traces: Mapping[TraceKey, Trace]
    documents: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Tasks:
    """Simulations to do, numbered; picklable.

    Task n gives the ladder of a point, the arrays of a trace, or a document, first the ladders of all points.
    """

    runs: tuple[Run, ...]

    @cached_property
    def _all(self) -> list[tuple[Work, Run, Stops]]:
        points: list[tuple[Work, Run, Stops]] = [
            (ladder_at, run, stops) for run in self.runs for stops in simulated_stops(run)
        ]
        traces: list[tuple[Work, Run, Stops]] = [(traces_at, run, one.at) for run in self.runs for one in run.traces]
        events: list[tuple[Work, Run, Stops]] = [(events_at, run, run.events.at) for run in self.runs if run.events]
        helps: list[tuple[Work, Run, Stops]] = [(helps_at, run, one.at) for run in self.runs for one in run.helps]
        return [*points, *traces, *events, *helps]

    def __len__(self) -> int:
        return len(self._all)

    def __call__(self, number: int) -> Any:
        work, run, stops = self._all[number]
        return work(run, stops)


def compute(lesson: Lesson, workers: int, on_progress: OnProgress | None = None) -> Numbers:
    """All numbers of a lesson. InputError for a run that cannot be."""
    formula_s = {name: formula_times(run) for name, run in lesson.runs.items()}  # first: errors show immediately
    tasks = Tasks(tuple(lesson.runs.values()))
    results: list[Any] = []
    if on_progress is not None:
        on_progress(0, len(tasks))
    for result in _in_order(tasks, workers):
        results.append(result)
        if on_progress is not None:
            on_progress(len(results), len(tasks))
    rest = iter(results)
    lattices = {
        name: assembled(run, formula_s[name], [np.asarray(next(rest), np.float64) for _ in simulated_stops(run)])
        for name, run in lesson.runs.items()
    }
    traces = {trace_key(run, one.at): next(rest) for run in tasks.runs for one in run.traces}
    documents = {f"{run.name}/events": next(rest) for run in tasks.runs if run.events}
    documents |= {f"{run.name}/helps": [next(rest) for _ in run.helps] for run in tasks.runs}
    return Numbers(lattices, traces, documents)


def _in_order(tasks: Tasks, workers: int) -> Iterator[Any]:
    if not len(tasks):
        return
    began = time.monotonic()
    yield tasks(0)
    yield from map_in_order(tasks, len(tasks), workers, time.monotonic() - began)


def trace_key(run: Run, at: Mapping[str, int]) -> TraceKey:
    """Return the run and the numbers of its stops, in the order of its sliders."""
    return run.name, tuple(at[slider.name] for slider in run.sliders)


def numbers_of(lesson: Lesson, workers: int, fresh: bool = False, on_progress: OnProgress | None = None) -> Numbers:
    """All numbers of a lesson, from the last build if nothing that they depend on has changed; ``fresh``: again.

    Numbers that are kept are float32 except for the ladder and the forecasts, as the page has them."""
    kept = cache_folder() / f"{safe_file_name(lesson.name)}-{content_hash(lesson)}.txt"
    if not fresh and is_file(kept):
        # Whatever is wrong with the file: it is only a copy of what can be computed again.
        with suppress(Exception):
            return _unpacked(lesson, read_text(kept, _MOST_BYTES))
    numbers = compute(lesson, workers, on_progress)
    arrays: dict[str, NDArray[np.generic]] = {}
    for name, lattice in numbers.lattices.items():
        # As pairs of float32, whose sum has 48 bits: named values are computed of these.
        high = lattice.simulated_s.astype(np.float32)
        arrays |= {f"{name}/high": high, f"{name}/low": lattice.simulated_s - high}
    for (name, stops), trace in numbers.traces.items():
        arrays |= {f"{name}/trace/{'-'.join(map(str, stops))}/{key}": one for key, one in trace.items()}
    packed = pack({"documents": numbers.documents}, arrays)
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with replacing_text(kept) as file:
            file.write(packed)
    except (OSError, InputError) as error:
        warnings.warn(f"the numbers are not kept for the next build: {kept.parent}: {error}", stacklevel=2)
    return _unpacked(lesson, packed)


def _unpacked(lesson: Lesson, block: str) -> Numbers:
    header, arrays = unpack(block)
    lattices = {
        name: Lattice(formula_times(run), arrays[f"{name}/high"].astype(np.float64) + arrays[f"{name}/low"])
        for name, run in lesson.runs.items()
    }
    traces = {}
    for run in lesson.runs.values():
        for one in run.traces:
            key = trace_key(run, one.at)
            start = f"{run.name}/trace/{'-'.join(map(str, key[1]))}/"
            traces[key] = {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}
    return Numbers(lattices, traces, header["documents"])


def cache_folder() -> Path:
    """Where numbers are kept: ``$XDG_CACHE_HOME/simcodesign/lessons``, by default in ``~/.cache``."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "simcodesign" / "lessons"


def content_hash(lesson: Lesson) -> str:
    """Return a digest of all that the numbers depend on.

    Runs, their files, bundled descriptions, and the code of both readings.
    """
    digest = hashlib.sha256(repr((lesson.sliders, lesson.runs)).encode())
    package = Path(__file__).resolve().parent.parent
    files = [path for path in lesson.folder.glob("*") if path.suffix not in _NO_INPUTS and is_file(path)]
    for name in _SOURCES:
        files += (package / name).rglob("*.py")
    for folder in ("topologies", "workloads"):
        files += shipped_path(folder, "").rglob("*.yaml")
    for path in sorted(files):
        if path.parent == lesson.folder and path.name == "lesson.yaml":
            continue  # what counts of it is in the runs
        digest.update(path.name.encode() + read_bytes(path, DATA_BYTES))
    return digest.hexdigest()[:24]
