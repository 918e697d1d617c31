"""Draw ``architecture.svg``, the picture of the packages, from the import statements of the code.

    python docs/draw_architecture.py          # writes the picture
    python docs/draw_architecture.py --check  # exit status 1 if the picture is not that of the code

A box is a package with the first line of its docstring. An arrow leads from a package to one that it imports, and is
left out where a longer way of arrows leads there too.
"""

from __future__ import annotations

import ast
import sys
import textwrap
from pathlib import Path
from xml.sax.saxutils import escape

import networkx as nx

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "simcodesign"
PICTURE = Path(__file__).with_name("architecture.svg")

#: What the packages are for, with the colour of their boxes.
GROUPS = {
    "the simulator": ("#dbe9f6", ("core", "describe", "analytic", "generate", "engine", "comparison")),
    "what it is fed with": ("#e0f0dd", ("locality", "fitting", "counters", "calibration", "aspen", "mpi")),
    "what is made with it": ("#fbe9d0", ("studies", "lessons", "lab", "report", "cli")),
}
COLOURS = {name: colour for colour, names in GROUPS.values() for name in names}

#: Where the boxes stand, row by row from the top: every arrow leads down.
ROWS = (
    ("", "cli", ""),
    ("", "report", "lab"),
    ("", "lessons", ""),
    ("studies", "", ""),
    ("aspen", "counters", "calibration"),
    ("comparison", "", "mpi"),
    ("engine", "analytic", ""),
    ("generate", "", "fitting"),
    ("", "describe", ""),
    ("", "locality", ""),
    ("", "core", ""),
)

BOX_WIDTH, BOX_HEIGHT = 300, 76
COLUMN_STEP, ROW_STEP = 340, 108
MARGIN, LEGEND_HEIGHT = 20, 44


def imports() -> nx.DiGraph:
    """Return the packages and who imports whom, as an acyclic graph."""
    graph = nx.DiGraph()
    graph.add_nodes_from(path.name for path in sorted(PACKAGE.iterdir()) if (path / "__init__.py").is_file())
    for path in PACKAGE.rglob("*.py"):
        package = path.relative_to(PACKAGE).parts[0]
        for target in imported_packages(path) & set(graph) - {package}:
            if package in graph:
                graph.add_edge(package, target)
    return graph


def imported_packages(path: Path) -> set[str]:
    """Return the names right below ``simcodesign`` that a file imports."""
    modules: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
    parts = (module.split(".") for module in modules)
    return {names[1] for names in parts if names[0] == "simcodesign" and len(names) > 1}


def corners(graph: nx.DiGraph) -> dict[str, tuple[float, float]]:
    """Return the upper left corner of every box."""
    corner = {
        name: (MARGIN + COLUMN_STEP * column, MARGIN + ROW_STEP * row)
        for row, names in enumerate(ROWS)
        for column, name in enumerate(names)
        if name
    }
    if set(corner) != set(graph):
        raise SystemExit(f"ROWS and the packages differ: {sorted(set(corner) ^ set(graph))}")
    if upward := [edge for edge in graph.edges if corner[edge[0]][1] >= corner[edge[1]][1]]:
        raise SystemExit(f"these imports do not lead down: {upward}")
    return corner


def purpose(package: str) -> str:
    """Return the first paragraph of the docstring of a package."""
    tree = ast.parse((PACKAGE / package / "__init__.py").read_text(encoding="utf-8"))
    return " ".join((ast.get_docstring(tree) or "").split("\n\n")[0].split())


def drawing(graph: nx.DiGraph) -> str:
    """Return the picture as SVG."""
    corner = corners(graph)
    width = 2 * MARGIN + COLUMN_STEP * len(ROWS[0]) - (COLUMN_STEP - BOX_WIDTH)
    height = 2 * MARGIN + ROW_STEP * len(ROWS) - (ROW_STEP - BOX_HEIGHT) + LEGEND_HEIGHT
    reduced = sorted(nx.transitive_reduction(graph).edges)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" font-family="sans-serif">',
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#666"/></marker></defs>',
        f'<rect width="{width:g}" height="{height:g}" fill="white"/>',
        *(arrow(corner[source], corner[target]) for source, target in reduced),
        *(box(name, *place) for name, place in corner.items()),
        *legend(height - MARGIN - 14),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def arrow(source: tuple[float, float], target: tuple[float, float]) -> str:
    """Return a curve from the lower edge of one box to the upper edge of another."""
    x1, y1, x2, y2 = source[0] + BOX_WIDTH / 2, source[1] + BOX_HEIGHT, target[0] + BOX_WIDTH / 2, target[1] - 1
    bend = (y2 - y1) / 2
    curve = f"M{x1:g} {y1:g}C{x1:g} {y1 + bend:g} {x2:g} {y2 - bend:g} {x2:g} {y2:g}"
    return f'<path d="{curve}" fill="none" stroke="#666" stroke-width="1.3" marker-end="url(#head)"/>'


def box(name: str, x: float, y: float) -> str:
    """Return a package and what it is for."""
    lines = textwrap.wrap(purpose(name), 42)
    if len(lines) > 3:
        raise SystemExit(f"the docstring of simcodesign/{name} does not fit into its box: {purpose(name)}")
    text = "".join(
        f'<tspan x="{x + 10:g}" y="{y + 36 + 15 * number:g}">{escape(line)}</tspan>'
        for number, line in enumerate(lines)
    )
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6" fill="{COLOURS[name]}" '
        f'stroke="#888"/><text x="{x + 10:g}" y="{y + 20:g}" font-size="15" font-weight="bold">{name}</text>'
        f'<text font-size="12" fill="#333">{text}</text>'
    )


def legend(y: float) -> list[str]:
    """Return the colours and what they mean."""
    return [
        f'<rect x="{MARGIN + 230 * number}" y="{y:g}" width="16" height="16" rx="3" fill="{colour}" stroke="#888"/>'
        f'<text x="{MARGIN + 230 * number + 24}" y="{y + 13:g}" font-size="13">{title}</text>'
        for number, (title, (colour, _)) in enumerate(GROUPS.items())
    ]


def main(arguments: list[str]) -> int:
    """Write the picture, or with ``--check`` compare it with the one that is there."""
    text = drawing(imports())
    if "--check" in arguments:
        return int(PICTURE.read_text(encoding="utf-8") != text)
    PICTURE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
