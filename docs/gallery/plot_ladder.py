"""
Explaining the gap
==================

An all-to-all on a mesh, from the closed form to the simulation, one effect after another. Contention for links
causes nearly all of the gap.
"""

import simcodesign as sc

comparison = sc.compare("burst", "mesh-256", {"size": 65536}, effects="hops,links,interfaces")
comparison.plot()
