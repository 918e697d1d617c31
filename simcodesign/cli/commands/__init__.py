"""One module for each command or family: its options as a dataclass, and the function that runs it.

The program imports the module that is named as the command is, in this folder or one within it, and all of them for a
command of another name or for help. Functions import what they run when they run, so that the start is quick; what the
larger commands do stands in ``simcodesign.cli.run``.
"""
