"""The command line.

Exit status: 0 fine, 1 out of tolerance, 2 bad input, 130 interrupted, 141 nobody reads on.

To import a module of ``commands`` adds what it holds; whatever stands in that folder is a command.
"""

from simcodesign.cli.app import app, main

__all__ = ["app", "main"]
