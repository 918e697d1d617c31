"""A case of validation of another package: ``simcodesign validate --cases tests/extension/my_cases``."""

from pathlib import Path

import simcodesign
from simcodesign.studies.validation.case import Case, Derived, Readings, Tolerance

WORKLOAD = Path(__file__).with_name("one-message.yaml")
MACHINE = "crossbar-16"  # a startup of 10 us, and 100 MB/s
#: Time of a message in seconds, by message size in bytes.
MESSAGE_S = {0: 10e-6, 1000: 20e-6, 1_000_000: 10.01e-3}


def measure() -> Readings:
    """Both readings of one message."""
    points = {size: {"size": size} for size in MESSAGE_S}
    forecast = {size: simcodesign.forecast(WORKLOAD, MACHINE, point).makespan_s for size, point in points.items()}
    simulation = {size: simcodesign.simulate(WORKLOAD, MACHINE, point).makespan_s for size, point in points.items()}
    line = Derived("T", "t_0 + B / r", {"t_0": 10e-6, "B": 1e6, "r": 100e6}, "s")
    return Readings(forecast, simulation, derivation=(line,))


CASES = [
    Case(
        name="messages/one-message",
        claim="A message takes the startup time and the time of the bytes at the asymptotic bandwidth.",
        source="R. W. Hockney, The communication challenge for MPP, Parallel Computing 20 (1994), eq. 1",
        unit="s",
        expected=MESSAGE_S,
        tolerance=Tolerance("Both readings add the same two times, up to rounding.", relative=1e-12),
        reading="both",
        measure=measure,
        workload=str(WORKLOAD.name),
        machine=MACHINE,
        axis="B",
        quick=True,
    )
]
