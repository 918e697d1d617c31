"""``sc.calibrate``: constants of a machine, from what benchmarks print or from measured times of a workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack, overload

from simcodesign.calibration.benchmarks.machine_constants import MachineCalibration, calibrate_machine
from simcodesign.calibration.calibrate import Calibration
from simcodesign.calibration.calibrate import calibrate as calibrate_by_times
from simcodesign.core.errors import InputError
from simcodesign.core.shown_keywords import shows_keywords
from simcodesign.describe.machine import Machine
from simcodesign.describe.scenario import MachineSource, WorkloadSource


class BenchmarkOptions(TypedDict, total=False):
    """The keyword options of ``calibrate`` with benchmarks."""

    segments: int | None
    algorithms: bool
    simulate: bool
    evidence: Sequence[Any]


class TimesOptions(TypedDict, total=False):
    """The keyword options of ``calibrate`` with times of a workload."""

    preset: str | None
    unknown: Sequence[str] | None
    per_phase: bool | None
    ratios: Sequence[Mapping[str, float]]
    weighting: str
    error: float | None
    value: str | None


@overload
def calibrate(
    machine: str | Path,
    files: Any,
    *,
    workload: None = None,
    known: Mapping[str, float] | None = None,
    level: float = 0.9,
    robust: bool = False,
    **options: Unpack[BenchmarkOptions],
) -> MachineCalibration: ...
@overload
def calibrate(
    machine: MachineSource,
    files: Any,
    *,
    workload: WorkloadSource,
    parameters: Mapping[str, float] | None = None,
    known: Mapping[str, float] | None = None,
    level: float = 0.9,
    robust: bool = False,
    **options: Unpack[TimesOptions],
) -> Calibration: ...
@shows_keywords(BenchmarkOptions, taken_by=calibrate_machine)
@shows_keywords(TimesOptions, taken_by=calibrate_by_times)
def calibrate(
    machine: MachineSource,
    files: Any,
    *,
    workload: WorkloadSource | None = None,
    parameters: Mapping[str, float] | None = None,
    known: Mapping[str, float] | None = None,
    level: float = 0.9,
    robust: bool = False,
    **options: Any,
) -> MachineCalibration | Calibration:
    """Determine constants of a machine from files that benchmarks have written, or from times of a workload.

    ``machine``: a bundled name or a path; with a workload also an object. ``files``: one file of a benchmark or
    several, or tables of ``read_table``; with a ``workload``, its times: a table (see ``calibration.timings``),
    several, or ``Timing`` objects. ``known``: given constants that are not determined, in SI units by path
    (``network.receive_overhead``; with a workload also ``phase:path``). ``level``: of the intervals. ``robust``: leave
    out what the other measurements do not explain.

    With benchmarks: ``segments``: of sizes of messages; None to choose their number by cross-validation.
    ``algorithms``: whether to name, for each collective operation and range of sizes, the algorithm whose forecasts are
    off by the most constant factor (``choices``). ``evidence``: files from which nothing is determined; the result's
    ``evidence`` has the errors of forecasts on their collective operations, and on unused rows of ``files``.
    ``simulate``: whether these errors are of simulations instead.

    With a ``workload``: least squares, no constant below 0. ``parameters`` and ``preset`` apply unless the table has
    its own. ``value``: the column of times, by default ``value``, ``seconds`` or ``time``. ``unknown``: paths of
    constants (``network.startup``) and ``computation``, a factor of the computation time; by default the startup and
    per-byte times of network and disk that have a part in the times. All others keep the values of workload and
    machine. ``per_phase``: one value for each phase, by default if every time belongs to a phase. ``ratios``: vectors
    of constants of which only a common factor is determined. ``weighting`` and ``error`` as in
    ``calibration.linear_constants``.

    Raises InputError for names, values and files that cannot be used, if they determine no constant of the machine, and
    for constants in which the forecast is not linear.

    >>> import simcodesign as sc
    >>> from pathlib import Path
    >>> file = Path("osu_latency.txt")
    >>> _ = file.write_text("# OSU MPI Latency Test v7.0\\n# Size  Latency (us)\\n1000  2\\n2000  3\\n9000  10\\n")
    >>> found = sc.calibrate("crossbar-16", file, segments=1)  # 1 us, and 1 ns for each byte
    >>> [round(one.value * 1e9) for one in found.all_constants]
    [1000, 1]
    >>> times = Path("times.csv")
    >>> _ = times.write_text("m,seconds\\n1000,2e-6\\n9000,1e-5\\n")
    >>> found = sc.calibrate("crossbar-16", times, workload="ping-pong", parameters={"turns": 1, "P": 2})
    >>> [round(one.value * 1e9) for one in found.fit.estimates]
    [1000, 1]
    """
    given: dict[str, Any] = {"level": level, "robust": robust, **options}
    wrong = {*options} - {*(BenchmarkOptions if workload is None else TimesOptions).__annotations__}
    if wrong & {*BenchmarkOptions.__annotations__, *TimesOptions.__annotations__} or (workload is None and parameters):
        what = f"{', '.join(sorted(wrong)) or 'parameters'} {'without' if workload is None else 'with'} a workload"
        raise InputError(
            what, allowed=f"{', '.join(BenchmarkOptions.__annotations__)} for benchmarks; others with workload="
        )
    if workload is not None:
        return calibrate_by_times(workload, machine, files, parameters, fixed=known, **given)
    if isinstance(machine, Machine):
        what = "benchmarks determine constants of a machine in a file"
        raise InputError(what, value=machine.name, allowed="a bundled name, or the path of a file")
    given["evidence"] = _listed(given.get("evidence", ()))
    return calibrate_machine(machine, _listed(files), known=known, **given)


def _listed(files: Any) -> list[Any]:
    """Return files as a list, also if it is one."""
    return list(files) if isinstance(files, list | tuple) else [files]
