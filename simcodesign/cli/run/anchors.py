"""The measured times of ``--anchor``, at which predictions are anchored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simcodesign.cli.options.shared import WorkloadOnMachine
from simcodesign.cli.run.scenario import parsed_settings
from simcodesign.comparison.measured.sources import given_measurements
from simcodesign.describe.machine import Machine
from simcodesign.describe.scenario import Scenario
from simcodesign.describe.yaml.files import load_machine
from simcodesign.studies.anchored.anchor import Anchors


def anchors_of(paths: Sequence[str], options: WorkloadOnMachine, scenario: Scenario) -> Anchors:
    """Return the anchors of these tables for a scenario that the options name.

    Rows may change what the options set of the machine's file.
    """
    given = parsed_settings(options.all_settings)
    names = {*scenario.workload.parameters, "P", *scenario.parameters}
    of_machine = {name: text for name, text in given.items() if name not in names}

    def machine_with(changes: Mapping[str, object]) -> Machine:
        return load_machine(options.machine, {**of_machine, **changes})

    return Anchors(given_measurements(list(paths), scenario.workload), machine_with)
