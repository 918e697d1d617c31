"""The mapping of a machine file: a name, a kind with options, the node of every rank, or a file that lists these."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import DESCRIPTION_BYTES, check_confined, open_text
from simcodesign.core.files.text_files import CsvRows
from simcodesign.describe.keys.forms import Choice, FileName, OneOf, Text, Whole
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Items, Named, Section
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
_RANDOM = (
    Key(
        "of", Choice(PLACED_AT_RANDOM), "of `random`: whether whole nodes or single ranks are placed at random", "nodes"
    ),
    Key("seed", Whole(0), "of `random`: the seed", "0"),
)
_GRID = Key(
    "shape",
    Items(Whole(1), "nodes in one dimension"),
    "of `grid`: nodes in each dimension of the part",
    "the part with the smallest surface",
)
_FOLDED = (
    Key(
        "job",
        Items(Whole(1), "nodes along one axis"),
        "of `folded`: nodes along each of the one to three axes of the job",
    ),
    Key(
        "order",
        Text(),
        "of `folded`: the axes of the job, the one along which ranks run first first",
        "YZX; YX of two axes",
    ),
    Key(
        "axes",
        Items(
            Items(Text(), "the letter of a dimension"),
            "the dimensions of one axis, the one along which its nodes run first first",
        ),
        "of `folded`: the dimensions of each axis of the job, by the order of the topology's shape X, Y, Z, a, b, c",
        "[[X, a], [Y, b], [Z, c]] of three axes",
    ),
)
_KIND = Key("kind", Choice(KINDS), "`random`, `grid` or `folded`")
_ON_PARTITIONS = Key(
    "partitions",
    OneOf(Named(Whole(1), "ranks on the partition of this name"), Items(Text(), "the name of a partition")),
    "the partitions on which ranks are, one after another; or how many ranks on each, by name",
)
#: All forms of ``mapping``.
MAPPING = OneOf(
    Choice(MAPPINGS),
    FileName(SUFFIXES),
    Items(Whole(0), "the node of a rank"),
    Section(_KIND, *_RANDOM, _GRID, *_FOLDED, _ON_PARTITIONS),
)


def mapping_from(
    entry: Entry, topology: Topology, per_node: int, folder: Path, partitions: Sequence[Partition] = ()
) -> RankMapping:
    """``random``.

    ``{kind: random, of: ranks, seed: 3}``, ``{kind: grid, shape: [4, 4]}``; ``[0, 0, 1, 1]``; ``{kind: folded, job: [8,
    8, 8], order: YZX, axes: [[X, a], [Y, b], [Z, c]]}``; ``ranks.txt``, in ``folder`` unless its path is absolute;
    ``{partitions: {gpu: 128, cpu: 64}}``. InputError for anything else, for lists of nodes that there are not, or
    that have fewer processors, and for jobs that do not fit the ``topology``.
    """
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
    """Raise InputError if the mapping of a machine file folds a job into a network that differs.

    Differs in shape and number of nodes. The error points at ``mapping.job``.
    """
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
        return GridMapping(**Section(_GRID).read(_without_kind(entry)))
    return RandomMapping(**Section(*_RANDOM).read(_without_kind(entry)))


def _without_kind(entry: Entry) -> Entry:
    return replace(entry, content={key: item for key, item in entry.mapping().items() if key != "kind"})


def _folded_from(entry: Entry, topology: Topology) -> FoldedMapping:
    items = Section(_KIND, replace(_FOLDED[0], required=True), *_FOLDED[1:]).items(entry)
    own = Section(*_FOLDED).values({key: item for key, item in items.items() if key != "kind"})
    mapping = FoldedMapping(**own)
    folded_nodes(mapping, topology, entry.place, {key: item.place for key, item in items.items()})
    return mapping


def _nodes_in(path: Path) -> list[int]:
    """Return the node of every rank, from lines with a node each, or with a rank and its node, in any order."""
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
