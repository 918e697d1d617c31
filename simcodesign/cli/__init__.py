"""The command line.

Exit status: 0 fine, 1 out of tolerance, 2 bad input, 130 interrupted, 141 output closed.

Importing a module of ``commands`` adds its commands; every module in that folder is a command.
"""

from simcodesign.cli.app import app, main

__all__ = ["app", "main"]
