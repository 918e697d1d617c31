"""Kinds of operations, and the components of time that they belong to."""

from __future__ import annotations

import numpy as np

#: Where time goes.
COMPONENTS = ("computation", "communication", "disk", "memory")
#: Kinds of operations, and the component that the time of each belongs to.
COMPUTE, SEND, RECEIVE, READ, WRITE, MEMORY, WAIT = range(7)
KINDS = ("compute", "send", "receive", "read", "write", "memory", "wait")
COMPONENT_OF_KIND = np.array([0, 1, 1, 2, 2, 3, 1])
