"""Other simulators beside ours, on the same inputs: their answers are recorded, each with the release that gave them.

One module a peer, with what both are given and cases that compare ours with the record, and one table of the same name:
its header says what the peer was, and how it was run. ``README.md`` has the differences that are accepted.
"""

from simcodesign.studies.validation.case import Collection

COLLECTION = Collection("other simulators", "LogGOPSim, SimGrid, BookSim and Ciw on the same inputs")
