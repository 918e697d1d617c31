"""``sc.requirements``: models of what a program that uses mpi4py requires, and the workload that they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError
from simcodesign.describe.design_point import check_ranks
from simcodesign.describe.machine import Machine
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.describe.yaml.workload import workload_from
from simcodesign.engine.simulate import simulate
from simcodesign.fitting.fits import Fit
from simcodesign.fitting.measurements import FloatArray
from simcodesign.fitting.normal_form import Model
from simcodesign.mpi.run import MpiRun, run
from simcodesign.studies.recorded.counts import MEMORY, PROGRAM, Counts, counts_of
from simcodesign.studies.recorded.models import fits_of, model_of
from simcodesign.studies.recorded.plan import Plan, parsed_ranks, plan_of
from simcodesign.studies.recorded.written import workload_text


@dataclass(frozen=True)
class Requirement:
    """A requirement per rank: its ``model`` and the ``fit`` behind it.

    ``predicted`` and ``recorded``: its values at the point that was held out.
    """

    phase: str
    metric: str
    model: Model
    fit: Fit
    predicted: float
    recorded: float

    @property
    def error(self) -> float:
        """Difference of the prediction as a fraction of what was recorded.

        Infinite if that is 0 and the other is not.
        """
        off = abs(self.predicted - self.recorded)
        return off / abs(self.recorded) if self.recorded else (float("inf") if off else 0.0)


@dataclass(frozen=True)
class Times:
    """Times in seconds of the program at the point that was held out, on one machine: recorded, and fitted."""

    machine: str
    recorded_forecast_s: float
    fitted_forecast_s: float
    recorded_simulated_s: float
    fitted_simulated_s: float


@dataclass(frozen=True)
class Requirements:
    """The requirements of a program. ``points``: (K, m) that were fitted, in ``parameters``; ``held_out``: (m,).

    ``text``: the workload file, ``workload``: the same, for every verb.
    """

    parameters: tuple[str, ...]
    points: FloatArray
    held_out: FloatArray
    requirements: tuple[Requirement, ...]
    times: tuple[Times, ...]
    text: str
    workload: Workload

    def of(self, phase: str, metric: str) -> Requirement:
        """Return the requirement of a phase and metric. Raises InputError if there is none."""
        for one in self.requirements:
            if (one.phase, one.metric) == (phase, metric):
                return one
        allowed = ", ".join(f"{one.phase} {one.metric}" for one in self.requirements)
        raise InputError("no such requirement", value=f"{phase} {metric}", allowed=allowed)


def requirements(
    program: str | Path,
    ranks: str | Sequence[int],
    on: str | Machine | Sequence[str | Machine],
    *,
    vary: Mapping[str, Sequence[float]] | None = None,
    arguments: Sequence[str] = (),
    speed: float | None = 1.0,
    declared: bool = True,
    effects: str = "all",
    seed: int = 0,
    on_progress: Callable[[], object] | None = None,
) -> Requirements:
    """Record an mpi4py program at several sizes, and fit models of what each rank requires.

    The program runs at all combinations of ``ranks`` (or the squares of a range, ``"2-64"``) and of the values of
    ``vary``, which replace ``{NAME}`` in ``arguments``. The most ranks are not fitted but compared with the models.
    Metrics of each phase (``sc.phase``, otherwise a line of the program), of the rank that has the most: ``messages``
    to one rank and their ``bytes_sent``; ``calls:OPERATION`` and ``bytes:OPERATION`` of collective operations, with
    ``@1`` ... and ``ranks:OPERATION@1`` on communicators of some ranks; declared ``flops``, and ``seconds``,
    the mean of all ranks. For the program: ``bytes_used``, the maximum size of variables with NumPy arrays at a call.

    ``on``: the machine of the recordings, or several; on each the largest is forecast and simulated, with ``effects``;
    ``speed``, ``declared`` and ``seed`` as in ``run``; ``on_progress``: called after each recording.

    Raises InputError as ``run`` does, for fewer than four numbers of ranks, and for a program that does nothing. This
    executes the program. Source: Calotoiu et al., "Lightweight requirements engineering for exascale co-design",
    CLUSTER 2018.

    >>> from pathlib import Path
    >>> import tempfile
    >>> import simcodesign as sc
    >>> file = Path(tempfile.mkdtemp(), "sum.py")
    >>> _ = file.write_text("from mpi4py import MPI; MPI.COMM_WORLD.gather(b'x' * 100)")
    >>> found = sc.requirements(file, [2, 3, 4, 5, 8], "crossbar-16", speed=None)
    >>> [(one.metric, one.model.text) for one in found.requirements][0]
    ('calls:gather', '1')
    """
    given = [on] if isinstance(on, str | Machine) else on
    machines = [one if isinstance(one, Machine) else Machine.load(one) for one in given]
    plan = plan_of(parsed_ranks(ranks) if isinstance(ranks, str) else ranks, vary or {}, arguments)
    for machine in machines:
        check_ranks(float(plan.held_out[0]), machine)

    def recorded(point: FloatArray) -> tuple[MpiRun, Counts]:
        done = run(
            program,
            int(point[0]),
            machines[0],
            arguments=plan.arguments_at(point),
            speed=speed,
            declared=declared,
            detail=True,
            seed=seed,
        )
        if on_progress is not None:
            on_progress()
        return done, _counted(done)

    counts = [recorded(point)[1].values for point in plan.points]
    last, largest = recorded(plan.held_out)
    keys = list(dict.fromkeys([*largest.values, *(key for one in counts for key in one)]))
    fits = fits_of(plan, counts, keys)
    if not fits:
        raise InputError("the program has no requirement: it neither communicates nor computes", value=str(program))
    found = tuple(_requirement(plan, key, fit, largest) for key, fit in fits.items())
    name = Path(program).stem
    text = workload_text(name, plan, fits, largest)
    workload = workload_from(parse_yaml(text, name))
    times = tuple(_times(machine, plan, last.workload, workload, effects, seed) for machine in machines)
    return Requirements(plan.parameters, plan.points, plan.held_out, found, times, text, workload)


def _counted(done: MpiRun) -> Counts:
    """Return the counts of a run."""
    counts = counts_of(done.recording)
    if any(done.array_bytes):
        counts.values[PROGRAM, MEMORY] = float(max(done.array_bytes))
    return counts


def _requirement(plan: Plan, key: tuple[str, str], fit: Fit, largest: Counts) -> Requirement:
    model = model_of(fit)
    return Requirement(*key, model, fit, float(model.evaluate(plan.held_out)), largest.values.get(key, 0.0))


def _times(machine: Machine, plan: Plan, program: Workload, fitted: Workload, effects: str, seed: int) -> Times:
    """Forecast and simulate the recorded and the fitted program with the most ranks."""
    ranks = int(plan.held_out[0])
    names = [name for name in fitted.parameters if name != "P"]
    point = {"P": float(ranks), **dict(zip(names, plan.held_out[1:].tolist(), strict=True))}
    pairs = []
    for workload, at in ((program, {"P": float(ranks)}), (fitted, point)):
        simulated = simulate(workload, machine, at, effects=effects, seed=seed)
        pairs.append((float(forecast(workload, machine, at).makespan_s), float(simulated.makespan_s)))
    (first_s, first_simulated_s), (fitted_s, fitted_simulated_s) = pairs
    return Times(machine.name, first_s, fitted_s, first_simulated_s, fitted_simulated_s)
