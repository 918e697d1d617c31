"""What a release states is read as it stands."""

from __future__ import annotations

import pytest

from tests import ROOT
from tests.release.what_is_stated import changes_of, stated_version, version_of_tag

CHANGES = "# Changelog\n\n## [Unreleased]: 0.2.0\n\n- new\n\n## [0.1.0] - 2026-01-31\n\n- old\n"


def test_changes_of_a_version() -> None:
    assert changes_of(CHANGES, "0.1.0", dry_run=False) == "- old"
    assert changes_of(CHANGES, "0.2.0", dry_run=False) == ""
    assert changes_of(CHANGES, "0.2.0", dry_run=True) == "- new"
    assert changes_of(CHANGES, "0.1", dry_run=True) == ""


@pytest.mark.parametrize(("tag", "version"), [("v0.1.0", "0.1.0"), ("1.20.3", "1.20.3"), ("v1.0.0rc1", "1.0.0rc1")])
def test_tags(tag: str, version: str) -> None:
    assert version_of_tag(tag) == version


@pytest.mark.parametrize("tag", ["latest", "v1.0", "v1.0.0-3-gabc", "vv1.0.0"])
def test_other_tags_are_none_of_a_release(tag: str) -> None:
    with pytest.raises(ValueError, match="no tag of a release"):
        version_of_tag(tag)


def test_the_files_of_this_repository_are_those_of_one_release() -> None:
    version = stated_version((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert changes_of((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version, dry_run=True)
    with pytest.raises(ValueError, match="no version"):
        stated_version("title: x")
