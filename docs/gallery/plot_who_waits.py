"""
Waiting ranks in a broadcast
============================

Sends and receives of a broadcast on eight nodes of a mesh. Hatched: a rank waits for a message.
"""

import simcodesign as sc

result = sc.simulate("broadcast", "mesh-256", {"P": 8, "m": 4096}, effects="links", timeline=True)
result.plot()
