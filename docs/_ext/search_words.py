"""Make the search of the site find the page that explains a subject, by the words of ``search_words.yaml``.

The words become keywords of the page, which the search looks up, and ``search_scorer.js`` lists pages by them.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

HERE = Path(__file__).parent


@cache
def words_by_page() -> dict[str, str]:
    """Return the words of each page, separated by spaces."""
    words: dict[str, str] = yaml.safe_load((HERE / "search_words.yaml").read_text(encoding="utf-8"))
    return words


def _score(_app: Sphinx, config: Config) -> None:
    config.html_search_scorer = str(HERE / "search_scorer.js")


def _add_keywords(app: Sphinx, document: nodes.document) -> None:
    if words := words_by_page().get(app.env.docname):
        document += nodes.meta(name="keywords", content=words.replace(" ", ", "))


def _add_words(app: Sphinx, page: str, _template: str, _context: dict[str, Any], _document: object) -> None:
    if page == "search":
        app.add_js_file(None, body=f"const SEARCH_WORDS = {json.dumps(words_by_page())};")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    # Other words read all pages again.
    app.add_config_value("search_words", json.dumps(words_by_page()), "env", types=str)
    app.connect("config-inited", _score)
    app.connect("doctree-read", _add_keywords)
    app.connect("html-page-context", _add_words)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
