"""The stations of a trace by name: rows of a chart of who is served where."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from simcodesign.engine.station_names import station_name
from simcodesign.lessons.description import Run, Stops
from simcodesign.lessons.scenarios import scenario_at

#: Arrays of a rung that are about stations (``traces.traces_at``).
OF_STATIONS = ("stations", "served", "served_times")


def station_names(run: Run, stops: Stops, trace: Mapping[str, NDArray[np.generic]]) -> dict[str, list[str]]:
    """Return the names of the stations that served any operation, for every rung and draw of it.

    The names are in the order of the trace.
    """
    machine = scenario_at(run, stops).bind().machine
    return {
        key: [station_name(machine, int(kind), int(unit)) for kind, unit in np.asarray(array)]
        for name, array in trace.items()
        for key, _, kind_of_array in [name.partition("/")]
        if kind_of_array == "stations"
    }
