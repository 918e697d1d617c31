"""Files of graphs: GraphML, GML and edge lists, checked before NetworkX reads them."""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.files.input_files import read_bytes
from simcodesign.core.files.text_files import NUMBER, delimiter_of

if TYPE_CHECKING:
    import networkx as nx

MAX_FILE_BYTES = 32 * 2**20
MAX_NAME = 1000  # characters of the name of a vertex in an edge list
MAX_COLUMNS = 4  # of an edge list without a heading: more are another format
MAX_ATTRIBUTES = 10_000  # characters of the attributes of an edge in an edge list
EDGE = "a line SOURCE TARGET, with a weight or {'name': value, ...} after it"
FORMATS = f"GraphML, GML, or an edge list ({EDGE})"

#: The opening of a GML graph, or what may hide one: a text in quotes, a comment.
_GML_GRAPH = re.compile(r'"[^"]*"|#[^\n]*|\bgraph\s*\[')
_GML_TOKEN = re.compile(r'"[^"]*"|#[^\n]*|(?<![\w.])(?P<mantissa>[+-]?[0-9]+)(?P<exponent>[eE][+-]?[0-9]+)\b')
#: The key of an edge of a multigraph: means nothing here, and repeated keys stop NetworkX.
_GML_KEY = re.compile(r"^\s*key\s+[0-9]+\s*$", re.MULTILINE)
_COMMENT = re.compile(r"^\s*%|(?:^|\s)#")
_HEADER = ({"source", "from", "src", "tail"}, {"target", "to", "dst", "head"})


def load_graph(path: str | Path, place: Place | None = None) -> nx.Graph:
    """Read a graph from a file. Its contents show the format, otherwise its suffix.

    ``place`` is the position at which a description names the file. Raises InputError for a file that is missing,
    unreadable or larger than ``MAX_FILE_BYTES``, and for contents that are no graph (see ``parsed_graphml``,
    ``parsed_gml`` and ``parsed_edges``).
    """
    data = read_bytes(path, MAX_FILE_BYTES, place)
    file, suffix = str(path), Path(path).suffix.lower()
    start = data[:64].lstrip(b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n")
    if suffix in (".graphml", ".xml") or start.startswith(b"<"):
        return parsed_graphml(data, file)
    text = _decoded(data, file)
    return parsed_gml(text, file) if suffix == ".gml" or _gml_graph(text) else parsed_edges(text, file)


def _decoded(data: bytes, file: str) -> str:
    """Decode UTF-8, and GML also from ISO 8859-1, which its specification prescribes."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    if _gml_graph(text) and "\0" not in text:
        return text
    raise InputError("a graph in an unknown format", Place(file), value=data[:40], allowed=FORMATS)


def parsed_graphml(data: bytes, file: str) -> nx.Graph:
    """Parse a GraphML document.

    Raises InputError for a document that is not well-formed, is not GraphML or has a document type declaration (its
    entities could expand without bound), for nodes without an id or with the same id, and for edges between nodes that
    the document does not declare.
    """
    import networkx as nx

    check = _Check(file)
    check.run(data)
    try:
        graph = nx.read_graphml(io.BytesIO(data))
        if graph.number_of_edges() < check.edge_count:  # NetworkX keeps one of parallel edges with the same key
            graph = nx.read_graphml(io.BytesIO(_numbered_edges(data)))
    except Exception as error:  # the reader stumbles over malformed content in many ways
        raise _unreadable("GraphML", error, file) from None
    return _with_defaults(graph)


def parsed_gml(text: str, file: str) -> nx.Graph:
    """Parse a GML document, in which an edge may occur more than once.

    A vertex is named by its label if all labels differ, otherwise by its id. Raises InputError for anything that
    NetworkX cannot read.
    """
    import networkx as nx

    if opening := _gml_graph(text):
        # NetworkX refuses repeated edges unless the file declares a multigraph. Many files of measured networks do not.
        text = f"{text[: opening.end()]} multigraph 1 {_GML_KEY.sub('', text[opening.end() :])}"
    text = _GML_TOKEN.sub(_for_networkx, text)
    try:
        graph = nx.parse_gml(text.split("\n"), label="id")
    except Exception as error:  # as above
        raise _unreadable("GML", error, file) from None
    labels = dict(graph.nodes(data="label"))
    names = {str(label) for label in labels.values() if label is not None}
    return nx.relabel_nodes(graph, labels) if len(names) == len(labels) else graph


def _for_networkx(token: re.Match[str]) -> str:
    """Write a token of GML so that NetworkX can read it: texts on one line, and numbers like 1e9 as 1.0e9."""
    if token["mantissa"]:
        return f"{token['mantissa']}.0{token['exponent']}"
    return " ".join(token[0].split("\n")) if token[0].startswith('"') else token[0]


def _gml_graph(text: str) -> re.Match[str] | None:
    return next((match for match in _GML_GRAPH.finditer(text) if match[0].startswith("graph")), None)


def _unreadable(format: str, error: Exception, file: str) -> InputError:
    what = f"not a {format} graph that NetworkX can read ({type(error).__name__}: {error})"
    return InputError(what, Place(file))


def parsed_edges(text: str, file: str) -> nx.Graph:
    """Parse an edge list: two vertices per line, separated by blanks, tabs, commas or semicolons.

    A third column without a heading is a weight, and a Python dictionary at the end of a line holds attributes, as
    NetworkX writes them. A first line such as ``source,target,bandwidth`` names the columns. ``#`` starts a comment,
    ``%`` only at the beginning of a line. If every edge is listed in both directions, the graph is directed, otherwise
    it is undirected. Raises InputError with the line for a line that is not an edge, and for a file without edges.
    """
    import networkx as nx

    edges: list[tuple[str, str, dict[str, Any]]] = []
    columns: list[str] = []
    for place, cells, attributes in _edge_lines(text, file):
        if not edges and not columns and _is_heading(cells):
            columns = cells
            continue
        ends = cells[:2]
        named = len(ends) == 2 and all(0 < len(name) <= MAX_NAME for name in ends)
        if not named or len(cells) > max(MAX_COLUMNS, len(columns)):
            raise InputError("not an edge of a graph", place, value=" ".join(cells)[:60], allowed=FORMATS)
        edges.append((cells[0], cells[1], {**_named_cells(cells, columns), **attributes}))
    if not edges:
        raise InputError("a graph without edges", Place(file), allowed=FORMATS)
    pairs = {(tail, head) for tail, head, _ in edges}
    both_ways = all((head, tail) in pairs for tail, head in pairs)
    graph = nx.MultiDiGraph() if both_ways else nx.MultiGraph()
    graph.add_edges_from(edges)
    return graph


def _is_heading(cells: list[str]) -> bool:
    """Whether the first two cells name the ends of an edge."""
    return len(cells) > 1 and all(cell.lower() in names for cell, names in zip(cells, _HEADER, strict=False))


def _edge_lines(text: str, file: str) -> Iterator[tuple[Place, list[str], dict[str, Any]]]:
    """Yield the cells of each line with contents, and the attributes in braces at its end."""
    delimiter: str | None = None
    for number, line in enumerate(text.splitlines(), 1):
        # The first numbers of a matrix are no edge, and JSON is none at all.
        if number == 1 and line.startswith(("%%MatrixMarket", "{", "[")):
            raise InputError("a graph in an unknown format", Place(file, 1), value=line[:60], allowed=FORMATS)
        plain, brace, rest = line.partition("{")
        if comment := _COMMENT.search(plain):
            plain, brace = plain[: comment.start()], ""
        if not (plain + brace).strip():
            continue
        place = Place(file, number)
        if delimiter is None:
            delimiter = delimiter_of(plain) if any(sign in plain.strip() for sign in ",;\t") else " "
        cells = [cell.strip() for cell in plain.strip().split(delimiter)] if delimiter != " " else plain.split()
        while cells and not cells[-1]:
            cells.pop()
        yield place, cells, _attributes(brace + rest, place) if brace else {}


def _attributes(text: str, place: Place) -> dict[str, Any]:
    """Read the attributes of an edge from a Python dictionary of plain values."""
    try:
        attributes = ast.literal_eval(text.strip()) if len(text) <= MAX_ATTRIBUTES else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        attributes = None
    if not isinstance(attributes, dict):
        raise InputError("attributes of an edge", place, value=text[:60], allowed="{'name': value, ...}")
    return {str(name): value for name, value in attributes.items()}


def _named_cells(cells: list[str], columns: list[str]) -> dict[str, Any]:
    """Return the cells of an edge after its two ends, by the headings of their columns."""
    names = columns[2:] or (["weight"] if len(cells) == 3 else [])
    names += [f"column {place + 3}" for place in range(len(names), len(cells) - 2)]
    values = [float(cell) if NUMBER.fullmatch(cell) else cell for cell in cells[2:]]
    return {name: value for name, value in zip(names, values, strict=False) if value != ""}


def _numbered_edges(data: bytes) -> bytes:
    """Return the document with an identifier of its own for every edge."""
    from xml.etree import ElementTree

    root = ElementTree.fromstring(data)
    for place, edge in enumerate(root.iterfind(".//{*}edge")):
        edge.set("id", f"e{place}")
    return ElementTree.tostring(root)


def _with_defaults(graph: nx.Graph) -> nx.Graph:
    """Return the graph with the defaults of its keys, which NetworkX leaves with the graph.

    They are set at every vertex and edge.
    """
    parts = {"node_default": graph.nodes(data=True), "edge_default": graph.edges(data=True)}
    for kind, rows in parts.items():
        for *_, attributes in rows:
            for name, value in graph.graph.get(kind, {}).items():
                attributes.setdefault(name, value)
    return graph


class _Check:
    """One pass of the XML parser, which builds nothing and decodes every encoding in which a DTD could hide."""

    def __init__(self, file: str) -> None:
        self.edge_count = 0
        self._file = file
        self._nodes: set[str] = set()
        self._ends: dict[str, int] = {}  # node named by an edge -> line of its first mention
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
            self.edge_count += 1
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
