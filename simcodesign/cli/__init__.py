"""The command line.

Exit status: 0 fine, 1 out of tolerance, 2 bad input, 130 interrupted, 141 nobody reads on.

A module here holds the options of a command or a family of commands, and the function that runs it; to import the
module adds the commands. Functions import what they run when they run, so that the program starts at once; what the
larger commands do stands in ``run``.
"""

import simcodesign.cli.aspen
import simcodesign.cli.calibrate
import simcodesign.cli.codesign
import simcodesign.cli.compare
import simcodesign.cli.explore
import simcodesign.cli.export
import simcodesign.cli.extrapolate
import simcodesign.cli.fit
import simcodesign.cli.forecast
import simcodesign.cli.list_show
import simcodesign.cli.locality
import simcodesign.cli.simulate
import simcodesign.cli.sweep
import simcodesign.cli.validation  # noqa: F401
from simcodesign.cli.app import app, main

__all__ = ["app", "main"]
