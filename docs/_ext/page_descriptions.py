"""Give every page the description that search engines show: its first paragraph, unless the page states one itself."""

from __future__ import annotations

import html
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

MAX_CHARACTERS = 160


def description(document: nodes.document) -> str:
    """Return the first paragraph of a page in one line, cut after a word; empty if the page has no paragraph."""
    paragraphs = (node.astext() for node in document.findall(nodes.paragraph))
    text = " ".join(next(paragraphs, "").split())
    return text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS].rpartition(" ")[0] + " ..."


def _add(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], document: nodes.document | None) -> None:
    if document is None or 'name="description"' in context.get("metatags", ""):
        return
    if text := description(document):
        context["metatags"] = (
            f'{context.get("metatags", "")}<meta name="description" content="{html.escape(text)}" />\n'
        )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("html-page-context", _add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
