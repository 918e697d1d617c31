"""The command line.

Exit status: 0 fine, 1 out of tolerance, 2 bad input, 130 interrupted, 141 nobody reads on.

Commands stand in modules by their subject; to import such a module adds its commands. Modules that take long to import
are loaded by the command that needs them.
"""

import simcodesign.cli.aspen
import simcodesign.cli.calibrate
import simcodesign.cli.explore.explore
import simcodesign.cli.extrapolate
import simcodesign.cli.feasibility
import simcodesign.cli.fit.fit
import simcodesign.cli.forecast_simulate
import simcodesign.cli.list_show
import simcodesign.cli.locality.locality
import simcodesign.cli.requirements.requirements
import simcodesign.cli.sweep.store
import simcodesign.cli.sweep.sweep
import simcodesign.cli.validation  # noqa: F401
from simcodesign.cli.app import app, main

__all__ = ["app", "main"]
