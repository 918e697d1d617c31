"""Extensions of the site: links that are checked, words of the search, descriptions of pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import ROOT
from tests.system.documentation import site_extension

pytest.importorskip("sphinx", reason="the site needs the extra docs")


@pytest.mark.parametrize(
    ("address", "is_broken"),
    [
        ("b.html", False),
        ("b.html#there", False),
        ("#here", False),
        ("sub/", False),
        ("https://example.org/nothing", False),
        ("lessons/broadcast.html#step=3", False),
        ("c.html", True),
        ("b.html#nowhere", True),
        ("#nowhere", True),
        ("picture.png", True),
    ],
)
def test_links_that_lead_nowhere_are_found(tmp_path: Path, address: str, is_broken: bool) -> None:
    (tmp_path / "a.html").write_text(f'<p id="here"><a href="{address}">x</a></p>')
    (tmp_path / "b.html").write_text('<p id="there"></p>')
    for folder, name in (("sub", "index.html"), ("lessons", "broadcast.html")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text('<a href="missing.html">' if folder == "lessons" else "")
    found = [*site_extension("checked_links").broken_links(tmp_path)]
    assert found == ([(Path("a.html"), address)] if is_broken else [])


def test_words_of_the_search_are_those_of_pages_that_exist() -> None:
    words = site_extension("search_words").words_by_page()
    assert [page for page in words if not (ROOT / "docs" / f"{page}.md").exists()] == []
    assert all(text == text.lower() for text in words.values())


def test_a_description_is_the_first_paragraph_cut_after_a_word() -> None:
    from docutils import nodes
    from docutils.utils import new_document

    describe = site_extension("page_descriptions").description
    document = new_document("page")
    assert describe(document) == ""
    document += nodes.paragraph("", "One sentence\nin two lines.")
    document += nodes.paragraph("", "Another.")
    assert describe(document) == "One sentence in two lines."
    long = new_document("page")
    long += nodes.paragraph("", "word " * 100)
    assert describe(long) == "word " * 31 + "word ..."
