"""One module for each command or family: its options as a dataclass, and the function that runs it.

All modules of this folder are imported when the program starts. Functions import what they run when they run, so that
the start is quick; what the larger commands do stands in ``simcodesign.cli.run``.
"""
