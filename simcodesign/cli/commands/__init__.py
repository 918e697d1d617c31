"""One module for each command or family: its options as a dataclass, and the function that runs it.

The program imports only the module with the name of the command, from this folder or a subfolder. For help, or if no
module has that name, it imports all of them. Command functions import their dependencies when they are called, which
keeps the start-up fast. ``simcodesign.cli.run`` implements the larger commands.
"""
