"""Kinds of operations, and the components of time that they belong to."""

from __future__ import annotations

import numpy as np

#: Where time goes.
COMPONENTS = ("computation", "communication", "disk", "memory")
#: Possible limits of kernels and copies on accelerators.
LIMIT_NAMES = ("flops", "memory", "launch", "link")
#: Limits of processors that use memory, in addition to the bandwidth of each cache.
PROCESSOR_LIMIT_NAMES = ("computation", "latency", "memory", "sockets")
#: Kinds of operations, and the component that the time of each belongs to.
COMPUTE, SEND, RECEIVE, READ, WRITE, MEMORY, WAIT = range(7)
KERNEL, COPY_TO_ACCELERATOR, COPY_TO_HOST, STORAGE_READ, STORAGE_WRITE, METADATA = range(7, 13)
#: A receiver that a message holds for as long as its sender, right before it receives it.
HELD = 13
KINDS = (
    *("compute", "send", "receive", "read", "write", "memory", "wait"),
    *("kernel", "copy to accelerator", "copy to host", "read of storage", "write of storage", "metadata", "held"),
)
COMPONENT_OF_KIND = np.array([0, 1, 1, 2, 2, 3, 1, 0, 3, 3, 2, 2, 2, 1])
#: Kinds of operations that move bytes of files.
FILE_KINDS = (READ, WRITE, STORAGE_READ, STORAGE_WRITE)
