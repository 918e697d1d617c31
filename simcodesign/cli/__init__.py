"""The command line. Exit status: 0 fine, 1 out of tolerance, 2 bad input, 130 interrupted, 141 nobody reads on.

Commands stand in modules by their subject; to import such a module adds its commands. Modules that take long to import
are loaded by the command that needs them: the public verbs through the package's own lazy names, the report modules
through ``base.report``.
"""

from simcodesign.cli import (
    aspen,
    base,
    calibrate,
    codesign,
    explore,
    files,
    fit,
    locality,
    options,
    profile,
    readings,
    requirements,
    sweep,
    sweep_store,
    validation,
)
from simcodesign.cli.base import app, main

__all__ = [
    "app",
    "aspen",
    "base",
    "calibrate",
    "codesign",
    "explore",
    "files",
    "fit",
    "locality",
    "main",
    "options",
    "profile",
    "readings",
    "requirements",
    "sweep",
    "sweep_store",
    "validation",
]
