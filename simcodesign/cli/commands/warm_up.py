"""The command ``warm-up``."""

from __future__ import annotations

from dataclasses import dataclass

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import command
from simcodesign.cli.options.shared import Jobs, usable_cpus
from simcodesign.cli.sections import Section
from simcodesign.report.common.terminal import complain


@dataclass(frozen=True, kw_only=True)
class WarmUpOptions:
    """How it is compiled."""

    jobs: Jobs = None


@command(app, "warm-up", section=Section.CHECK)
def run(options: WarmUpOptions) -> None:
    """Compile all Numba functions now, so that later commands start without delay."""
    from simcodesign.cli.run.warm_up import compile_all
    from simcodesign.core.jit import HAVE_NUMBA

    if not HAVE_NUMBA:
        complain("note: Numba is not installed, so there is nothing to compile (pip install simcodesign[fast])")
        return
    complain("note: compiling takes about 45 CPU seconds the first time, and a few seconds if everything is compiled")
    compile_all(options.jobs or usable_cpus())
