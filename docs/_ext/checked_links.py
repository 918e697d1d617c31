"""Fail the build if a page of the site links to a page, file or heading of the site that does not exist.

Sphinx itself checks references; addresses in HTML, such as those of lessons on cards, are checked here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.application import Sphinx
from sphinx.util import logging

#: Folders of the site whose files are not pages.
NOT_PAGES = ("lessons", "_modules", "_static")


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return all anchors of a page."""
    return frozenset(re.findall(r'\b(?:id|name)="([^"]+)"', page.read_text(encoding="utf-8")))


def broken_links(site: Path) -> Iterator[tuple[Path, str]]:
    """Yield each page, relative to ``site``, with an address in it that leads to nothing in ``site``."""
    for page in sorted(site.rglob("*.html")):
        if page.relative_to(site).parts[0] not in NOT_PAGES:
            addresses = {*re.findall(r'\b(?:href|src)="([^"]+)"', page.read_text(encoding="utf-8"))}
            yield from ((page.relative_to(site), one) for one in sorted(addresses) if not _exists(page, one))


def _exists(page: Path, address: str) -> bool:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return True
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    target = target / "index.html" if target.is_dir() else target
    if not target.exists():
        return False
    # Anchors of a lesson are states of its page.
    is_page = target.suffix == ".html" and "lessons" not in target.parts
    return not (parts.fragment and is_page) or unquote(parts.fragment) in anchors(target)


def _check(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.name == "html":
        for page, address in broken_links(Path(app.outdir).resolve()):
            logging.getLogger(__name__).warning("%s: a link leads nowhere: %s", page, address)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("build-finished", _check, priority=900)  # after extensions that copy files
    return {"parallel_read_safe": True, "parallel_write_safe": True}
