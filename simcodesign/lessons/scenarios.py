"""The scenario of a run at stops of its sliders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

from simcodesign.core.errors import InputError
from simcodesign.describe.scenario import Scenario
from simcodesign.describe.yaml.files import load_machine
from simcodesign.lessons.description import Run, Slider, Stops


def scenario_at(run: Run, stops: Stops, parameters: Mapping[str, object] | None = None) -> Scenario:
    """Workload and machine of ``run`` at these stops; ``parameters`` replace those of the stops.

    InputError, with the place of the run, for what cannot be used.
    """
    machine, values = dict(run.changes), dict[str, object](run.parameters)
    for slider in run.sliders:
        stop = slider.stops[stops[slider.name]]
        machine |= stop.machine
        values |= stop.parameters
    values |= parameters or {}
    phases = None if run.phases is None else list(run.phases)
    try:
        return Scenario.of(workload_at(run, stops), load_machine(run.machine, machine), values, phases=phases)
    except InputError as error:
        raise within(run, stops, error) from error


def workload_at(run: Run, stops: Stops) -> str | Path:
    """Return the workload of ``run``, with the values of sliders at these stops in the name of its file."""
    path = Path(run.workload)
    name = path.name
    for slider in run.sliders:
        name = name.replace(f"{{{slider.name}}}", f"{slider.stops[stops[slider.name]].value:.12g}")
    return run.workload if name == path.name else path.with_name(name)


def within(run: Run, stops: Stops, error: InputError) -> InputError:
    """Return an error of a scenario, with the place of its run and the stops at which it occurs."""
    here = ", ".join(f"{slider.name} {slider.stops[stops[slider.name]].text}" for slider in run.sliders)
    return InputError(f"at {here}: {error}" if here else str(error), run.place)


def every_stop(sliders: tuple[Slider, ...]) -> Iterator[dict[str, int]]:
    """All combinations of stops, those of the last slider next to one another."""
    names = [slider.name for slider in sliders]
    for numbers in product(*(range(len(slider.stops)) for slider in sliders)):
        yield dict(zip(names, numbers, strict=True))


def simulated_stops(run: Run) -> Iterator[dict[str, int]]:
    """All combinations of stops at which there are simulations."""
    names = [slider.name for slider in run.sliders]
    for numbers in product(*(run.simulated[name] for name in names)):
        yield dict(zip(names, numbers, strict=True))


def start_of(run: Run) -> dict[str, int]:
    """Return the stops that the sliders begin with."""
    return {slider.name: slider.start for slider in run.sliders}
