"""
What explains the gap
=====================

An all-to-all on a mesh: from the closed form to the simulation, one effect after another. Nearly all of the gap
is contention for links.
"""

import simcodesign as sc

comparison = sc.compare("burst", "mesh-256", {"size": 65536}, effects="hops,links,interfaces")
comparison.plot()
