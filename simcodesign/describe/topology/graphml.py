"""GraphML files: checked for what NetworkX's reader would let pass or stumble over, then read by it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING
from xml.parsers import expat

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.files.input_files import read_bytes

if TYPE_CHECKING:
    import networkx as nx

MAX_FILE_BYTES = 32 * 2**20


def load_graphml(path: str | Path, place: Place | None = None) -> nx.Graph:
    """The graph in a GraphML file; ``place`` is where a description names the file.

    Raises InputError for a file that is missing, unreadable, larger than ``MAX_FILE_BYTES``, not well-formed,
    not GraphML, or that has a document type declaration (its entities could expand without bound), nodes without
    or with the same id, or edges between nodes that it does not declare.
    """
    import networkx as nx

    data = read_bytes(path, MAX_FILE_BYTES, place)
    _Check(str(path)).run(data)
    try:
        graph = nx.read_graphml(io.BytesIO(data))
    except Exception as error:  # the reader stumbles over malformed content in many ways
        reason = f"{type(error).__name__}: {error}"
        what = f"not a GraphML graph that NetworkX can read ({reason})"
        raise InputError(what, Place(str(path))) from None
    return _with_defaults(graph)


def _with_defaults(graph: nx.Graph) -> nx.Graph:
    """The graph with the defaults of its keys, which NetworkX leaves with the graph, at every vertex and edge."""
    parts = {"node_default": graph.nodes(data=True), "edge_default": graph.edges(data=True)}
    for kind, rows in parts.items():
        for *_, attributes in rows:
            for name, value in graph.graph.get(kind, {}).items():
                attributes.setdefault(name, value)
    return graph


class _Check:
    """One pass of the XML parser, which builds nothing and knows every encoding in which a DTD could hide."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._nodes: set[str] = set()
        self._ends: dict[str, int] = {}  # node named by an edge -> line where it is first named
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._element

    def run(self, data: bytes) -> None:
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            what = f"malformed XML: {expat.ErrorString(error.code)}"
            raise InputError(what, Place(self._file, error.lineno)) from None
        except InputError:
            raise
        except (ValueError, LookupError) as error:  # an unknown or unusable encoding
            raise InputError(f"malformed XML: {error}", Place(self._file)) from None
        for name, line in self._ends.items():
            if name not in self._nodes:
                allowed = nearest(name, self._nodes)
                raise InputError(
                    "edge to a node that is not declared", Place(self._file, line), value=name, allowed=allowed
                )

    def _here(self) -> Place:
        return Place(self._file, self._parser.CurrentLineNumber)

    def _doctype(self, *_: object) -> None:
        what = "GraphML file with a document type declaration (DTD)"
        raise InputError(what, self._here(), allowed="plain GraphML without <!DOCTYPE>")

    def _element(self, qualified_name: str, attributes: dict[str, str]) -> None:
        name = qualified_name.rpartition(" ")[2]
        if name == "node":
            self._node(attributes.get("id"))
        elif name == "edge":
            for end in ("source", "target"):
                self._end(end, attributes.get(end))

    def _node(self, identifier: str | None) -> None:
        if identifier is None:
            raise InputError("node without an id", self._here())
        if identifier in self._nodes:
            raise InputError("two nodes with the same id", self._here(), value=identifier)
        self._nodes.add(identifier)

    def _end(self, end: str, identifier: str | None) -> None:
        if identifier is None:
            raise InputError(f"edge without a {end}", self._here())
        self._ends.setdefault(identifier, self._parser.CurrentLineNumber)
