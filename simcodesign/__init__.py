"""simcodesign: analytic performance models of parallel machines, compared with a discrete-event simulation.

A workload and a machine are each described once, in a YAML file, and read twice: ``forecast`` evaluates
closed forms, ``simulate`` runs the same description as events. ``compare`` compares one reading with the
other, turns on one after another the effects that a closed form leaves out, and says how much of the gap
each of them explains::

    import simcodesign as sc

    print(sc.bundled())                                       # names of workloads, machines and lessons
    comparison = sc.compare("seismic", "power-challenge", {"P": 16}, preset="test")
    print(comparison)                                         # forecast, simulation, and why they differ
    comparison.plot()                                         # the ladder, in Matplotlib axes

    workload = sc.Workload.load("seismic")                    # a bundled name, a path, or a dictionary
    machine = sc.Machine.load("power-challenge")
    forecast = sc.forecast(workload, machine, {"P": [1, 2, 4, 8, 16]})   # any parameter may be an array
    simulated = sc.simulate(workload, machine, {"P": 16})                # one design point, run as events

    scenario = sc.Scenario.of("jacobi", "torus-cluster", {"P": 64})      # what every verb takes, as one object
    print(sc.compare(scenario), sc.compare(scenario.on("crossbar-16").at({"P": 16})))

    print(sc.compare("jacobi", ["torus-cluster", "fat-tree-cluster"], {"P": 64}))   # side by side

    many = sc.simulate("jacobi", "torus-cluster", {"P": 64}, precision=0.01)   # a mean with its interval
    print(many.interval("makespan_s"))

    trust = sc.sweep("broadcast", "mesh-256", vary=["P=2:64:x2", "m=64B:64KiB:x4"], simulate=True, within=0.1).trust
    print(trust.formulas[0].within.text)                      # where the textbook's formula is within 10 %

    models = sc.fit("runs.csv")                               # requirement models from measurements
    print(models[0].model.text, models[0].predict({"p": 65536}))

Each public name is imported from its own module when it is used, so that ``import simcodesign`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = [
    "CapacityError",
    "Comparison",
    "DeadlockError",
    "InputError",
    "Job",
    "Machine",
    "Result",
    "Scenario",
    "SimcodesignError",
    "Workload",
    "__version__",
    "anchored",
    "bundled",
    "calibrate",
    "compare",
    "compute",
    "confine",
    "explore",
    "fit",
    "fit_formula",
    "forecast",
    "kernel",
    "phase",
    "plot",
    "program",
    "rank",
    "read_table",
    "requirements",
    "run",
    "serve",
    "simulate",
    "sweep",
    "validate",
]

__version__: str

#: The module of every public name.
_HOMES = {
    "CapacityError": "core.errors",
    "Comparison": "comparison.compare",
    "DeadlockError": "core.errors",
    "InputError": "core.errors",
    "Job": "describe.jobs.job",
    "Machine": "describe.machine",
    "Result": "core.result",
    "Scenario": "describe.scenario",
    "SimcodesignError": "core.errors",
    "Workload": "describe.workload",
    "anchored": "studies.anchored.anchor",
    "bundled": "lessons.folders",
    "calibrate": "studies.verbs.calibrate",
    "compare": "studies.verbs.compare",
    "compute": "mpi.marks",
    "confine": "core.files.input_files",
    "explore": "studies.verbs.explore",
    "fit": "fitting.fit",
    "fit_formula": "fitting.formulas.fit_formula",
    "forecast": "studies.verbs.forecast",
    "kernel": "mpi.marks",
    "phase": "mpi.marks",
    "plot": "report.pictures.plot",
    "program": "describe.python_programs.workload",
    "read_table": "fitting.readers.benchmarks.output.table",
    "requirements": "studies.recorded.requirements",
    "run": "mpi.run",
    "serve": "studies.serving.serve",
    "simulate": "studies.verbs.simulate",
    "sweep": "studies.trust.sweep_in_memory",
    "validate": "studies.verbs.validate",
}

#: The module of the words of programs, which is itself public: ``sc.rank``.
_WORDS = f"{__name__}.describe.python_programs.rank"


def __getattr__(name: str) -> Any:
    """Return a public name, imported from its module on use (PEP 562)."""
    if name == "__version__":
        return _version()
    if name == "rank":
        globals()[name] = value = import_module(_WORDS)  # programs use it a million times
        return value
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


def load_ipython_extension(shell: Any) -> None:
    """Add the cell magic ``%%simulate`` to IPython, as ``%load_ext simcodesign`` does."""
    import_module(f"{__name__}.report.programs.cell_magic").register(shell)


def _version() -> str:
    """Of the installed package; ``unknown`` of files that are not installed, beside which another version may be."""
    # Imported on use, because they take longer than all else here.
    root = import_module("pathlib").Path(__file__).resolve().parent.parent
    try:
        installed = import_module("importlib.metadata").distribution(__name__)
    except ImportError:  # PackageNotFoundError
        return "unknown"
    if not (root / "pyproject.toml").is_file():
        return str(installed.version)
    # A checkout: what is installed is this one if it was installed in place from here.
    where = import_module("json").loads(installed.read_text("direct_url.json") or "{}")
    return str(installed.version) if where.get("url") == root.as_uri() else "unknown"
