"""
Four networks under an all-to-all
=================================

The same 256 nodes, startup and bandwidth. The closed form sees hardly any difference; the simulation does.
"""

import simcodesign as sc

machines = [
    sc.Machine.load("hypercube-256", {"network.topology.kind": kind} | more)
    for kind, more in (("mesh", {}), ("torus", {}), ("fat_tree", {"network.topology.arity": 4}), ("hypercube", {}))
]
sc.compare("burst", machines, {"size": 65536}, effects="links").plot()
