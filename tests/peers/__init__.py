"""Programs of others beside ours, on the same inputs: the record of ``validation/peers`` holds, and is run anew.

``python -m tests.peers`` (``make peers``) runs what can be had; benchmarks are skipped where the other one is not installed.
"""
