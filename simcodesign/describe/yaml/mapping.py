"""The mapping of a machine file: a name, a kind with options, the node of every rank, or a file that lists these."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import DESCRIPTION_BYTES, check_confined, open_text
from simcodesign.core.files.text_files import CsvRows
from simcodesign.describe.machine_parts.folding import FoldedMapping, folded_nodes
from simcodesign.describe.partitions import Partition
from simcodesign.describe.placement import (
    MAPPINGS,
    PLACED_AT_RANDOM,
    GridMapping,
    RandomMapping,
    RankMapping,
    check_listed,
)
from simcodesign.describe.topology.base import Topology
from simcodesign.describe.yaml.partitions import processors_of_nodes, ranks_on_partitions
from simcodesign.describe.yaml.tree import Entry, items_by_key

#: Suffixes of files that list the nodes of ranks.
SUFFIXES = (".txt", ".csv")
_HEAD = ["rank", "node"]
FOLDED = "folded"
#: Kinds with options of their own.
KINDS = ("random", "grid", FOLDED)


def mapping_from(
    entry: Entry, topology: Topology, per_node: int, folder: Path, partitions: Sequence[Partition] = ()
) -> RankMapping:
    """``random``; ``{kind: random, of: ranks, seed: 3}``, ``{kind: grid, shape: [4, 4]}``; ``[0, 0, 1, 1]``;
    ``{kind: folded, job: [8, 8, 8], order: YZX, axes: [[X, a], [Y, b], [Z, c]]}``;
    ``ranks.txt``, in ``folder`` unless its path is absolute; ``{partitions: {gpu: 128, cpu: 64}}``. InputError for
    anything else, for lists of nodes that there are not, or that have fewer processors, and for jobs that do not fit
    the ``topology``."""
    nodes = topology.node_count
    if isinstance(entry.content, str):
        if Path(entry.content).suffix.lower() not in SUFFIXES:
            return entry.text(MAPPINGS)
        path = check_confined(folder / entry.content, entry.place)
        listed = tuple(_nodes_in(path))
        check_listed(listed, nodes, processors_of_nodes(partitions, per_node), Place(str(path)))
        return listed
    if isinstance(entry.content, dict):
        if "partitions" in entry.content:
            return ranks_on_partitions(entry, partitions, per_node)
        return _kind_from(entry, topology)
    placed = tuple(item.whole(0, nodes - 1) for item in entry.sequence())
    check_listed(placed, nodes, processors_of_nodes(partitions, per_node), entry.place)
    return placed


def names_nodes(entry: Entry) -> bool:
    """Whether a mapping is on certain nodes: a list or file of them, or a job that is folded into a network."""
    if isinstance(entry.content, dict):
        kind = entry.content.get("kind")
        return isinstance(kind, Entry) and kind.says(FOLDED)
    return isinstance(entry.content, list) or Path(str(entry.content)).suffix.lower() in SUFFIXES


def check_folded_size(items: Mapping[str, Entry]) -> None:
    """Raise InputError, which points at ``mapping.job``, where the mapping of a machine file folds a job into a network
    whose shape and number of nodes differ."""
    mapping = items.get("mapping")
    if mapping is None or not isinstance(mapping.content, dict) or not names_nodes(mapping):
        return
    shape = items_by_key(items_by_key(items["network"]).get("topology", mapping)).get("shape")
    if shape is None:
        return
    extents, nodes = [item.whole(1) for item in shape.sequence()], items["nodes"].whole(1)
    if math.prod(extents) != nodes:
        counts = f"{math.prod(extents):,} nodes by its shape and {nodes:,} by nodes"
        raise InputError(
            f"the network into which a job is folded has {counts}",
            shape.place,
            value=extents,
            allowed="the whole network; for a job of another shape set mapping.job, for example mapping.job=[4, 4, 4]",
        )


def _kind_from(entry: Entry, topology: Topology) -> RankMapping:
    kind = entry.mapping(required=("kind",))["kind"].text(KINDS)
    if kind == FOLDED:
        return _folded_from(entry, topology)
    if kind == "grid":
        items = entry.mapping(("kind", "shape"))
        return GridMapping(tuple(item.whole(1) for item in items["shape"].sequence()) if "shape" in items else None)
    items = entry.mapping(("kind", "of", "seed"))
    given = {"of": items["of"].text(PLACED_AT_RANDOM)} if "of" in items else {}
    return RandomMapping(items["seed"].whole(0) if "seed" in items else 0, **given)


def _folded_from(entry: Entry, topology: Topology) -> FoldedMapping:
    items = entry.mapping(("kind", "job", "order", "axes"), ("kind", "job"))
    mapping = FoldedMapping(
        tuple(item.whole(1) for item in items["job"].sequence()),
        items["order"].text() if "order" in items else None,
        tuple(tuple(name.text() for name in line.sequence()) for line in items["axes"].sequence())
        if "axes" in items
        else None,
    )
    folded_nodes(mapping, topology, entry.place, {key: item.place for key, item in items.items()})
    return mapping


def _nodes_in(path: Path) -> list[int]:
    """The node of every rank, from lines with a node each, or with a rank and its node, in any order."""
    with open_text(path, DESCRIPTION_BYTES) as lines:
        rows = list(CsvRows(lines, str(path)))
    if rows and [cell.strip().lower() for cell in rows[0][1]] == _HEAD:
        rows = rows[1:]
    node_of: dict[int, int] = {}
    for number, row in rows:
        place = Place(str(path), number)
        cells = [_whole(cell, place) for cell in row]
        if len(cells) not in (1, 2) or len(cells) != len(rows[0][1]):
            raise InputError(
                "a line of a mapping", place, value=",".join(row), allowed="NODE, or RANK,NODE, in all lines"
            )
        rank = len(node_of) if len(cells) == 1 else cells[0]
        if rank in node_of:
            raise InputError("a rank that is placed twice", place, value=rank)
        node_of[rank] = cells[-1]
    missing = next((rank for rank in range(len(node_of)) if rank not in node_of), None)
    if missing is not None:
        raise InputError(
            "a rank is not placed", Place(str(path)), value=missing, allowed=f"ranks 0 to {len(node_of) - 1}"
        )
    return [node_of[rank] for rank in range(len(node_of))]


def _whole(cell: str, place: Place) -> int:
    text = cell.strip()
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise InputError("a rank or node", place, value=cell, allowed="a whole number of 0 or above")
    return int(text)
