"""
Four networks under an all-to-all
=================================

Four networks with equal nodes, startup and bandwidth. Their closed forms hardly differ; their simulations do.
"""

import simcodesign as sc

machines = [
    sc.Machine.load("hypercube-256", {"network.topology.kind": kind} | more)
    for kind, more in (("mesh", {}), ("torus", {}), ("fat_tree", {"network.topology.arity": 4}), ("hypercube", {}))
]
sc.compare("burst", machines, {"size": 65536}, effects="links").plot()
