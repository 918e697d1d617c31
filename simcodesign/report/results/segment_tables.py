"""Costs of messages that are piecewise by their size, as the data sheet of a machine shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from rich.table import Table

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine_parts.network import LocalMessages, Network
from simcodesign.describe.machine_parts.size_segments import KEYS, SizeSegment
from simcodesign.report.common.tables import text_table
from simcodesign.report.results.data_sheets import amount_text, bandwidth_text


def startup_text(part: Network | LocalMessages) -> str:
    """The startup of a message, or that it depends on its size."""
    return "the startup of its size" if part.segments else amount_text(part.startup_s, "time")


def bytes_text(part: Network | LocalMessages) -> str:
    """What the m bytes of a message take."""
    if part.segments:
        return "m / (the bandwidth of its size)"
    return f"m / ({bandwidth_text(part.per_byte_s)})" if np.any(np.asarray(part.per_byte_s)) else "0"


def segment_tables(network: Network) -> Iterator[Table]:
    """A table of the segments of messages over the network, within nodes and between sockets, where these have any."""
    every = (
        ("Messages over the network, by size", network),
        ("Messages within a node, by size", network.node),
        ("Messages between sockets, by size", network.socket),
    )
    for title, part in every:
        if part is None or not part.segments:
            continue
        if network.model == "loggop":
            yield _loggop_table(title, part.segments)
        else:
            yield _hockney_table(title, part.segments, network.receive_overhead_s)


def _hockney_table(title: str, segments: Sequence[SizeSegment], receive_s: FloatOrArray) -> Table:
    table = text_table(title, "size", "startup", "bandwidth", "charged to the receiver", "sender waits")
    for size, segment in zip(_sizes(segments), segments, strict=True):
        overhead_s = receive_s if segment.receive_overhead_s is None else segment.receive_overhead_s
        table.add_row(
            size,
            amount_text(segment.startup_s, "time"),
            bandwidth_text(segment.per_byte_s),
            amount_text(overhead_s, "time"),
            _waits(segment),
        )
    return table


def _loggop_table(title: str, segments: Sequence[SizeSegment]) -> Table:
    table = text_table(title, "size", *KEYS["loggop"], "sender waits")
    for size, segment in zip(_sizes(segments), segments, strict=True):
        texts = [amount_text(getattr(segment, name), dimension) for name, dimension in KEYS["loggop"].values()]
        table.add_row(size, *texts, _waits(segment))
    return table


def _sizes(segments: Sequence[SizeSegment]) -> Iterator[str]:
    """The sizes of messages of each segment."""
    below = "0 B"
    for segment in segments:
        if np.all(np.isinf(segment.up_to_bytes)):
            yield "all" if len(segments) == 1 else f"above {below}"
        else:
            below = amount_text(segment.up_to_bytes, "size")
            yield f"up to {below}"


def _waits(segment: SizeSegment) -> str:
    return "for its receiver" if segment.rendezvous else "no"
