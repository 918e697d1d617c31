"""What the files of the repository state of a release: the version, the changes, what is to be in the archives."""

from __future__ import annotations

import re
import tarfile
import zipfile
from pathlib import Path

#: Where the wheel must have files of each kind, and one pattern for each.
IN_WHEEL = {
    "machines": r"simcodesign/topologies/[\w-]+\.yaml",
    "workloads": r"simcodesign/workloads/[\w-]+\.yaml",
    "lessons": r"simcodesign/lessons/shipped/[\w-]+/lesson\.yaml",
    "front end of lessons": r"simcodesign/lessons/bundle/[\w.-]+\.(js|css)",
    "published tables": r"simcodesign/validation/.+\.csv",
    "types": r"simcodesign/py\.typed",
    "licence": r".*/licenses/LICENSE",
}
#: The same of the source archive, besides.
IN_SDIST = {
    "tests": r"tests/system/test_package\.py",
    "site": r"docs/conf\.py",
    "sources of the front end": r"simcodesign/lessons/front/package\.json",
    "changes": r"CHANGELOG\.md",
    "citation": r"CITATION\.cff",
    "version of archives": r"PKG-INFO",
    **{
        name: pattern.replace("simcodesign/lessons/shipped", "lessons")
        for name, pattern in IN_WHEEL.items()
        if name == "lessons"
    },
}
MOST_BYTES = 10 * 1000 * 1000


def stated_version(citation: str) -> str:
    """The version in ``CITATION.cff``. ValueError if there is none."""
    found = re.search(r"^version: (\S+)$", citation, re.MULTILINE)
    if found is None:
        raise ValueError("CITATION.cff states no version")
    return found[1]


def changes_of(changelog: str, version: str, dry_run: bool) -> str:
    """The section of a version in ``CHANGELOG.md``; of a dry run it may still be called unreleased. "" if there is none."""
    heads = [rf"\[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d"] + [rf"\[Unreleased\]: {re.escape(version)}"] * dry_run
    found = re.search(rf"^## (?:{'|'.join(heads)})\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def version_of_tag(tag: str) -> str:
    """``0.1.0`` of ``v0.1.0``. ValueError for a tag that is none of a release."""
    found = re.fullmatch(r"v?(\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?)", tag)
    if found is None:
        raise ValueError(f"{tag} is no tag of a release, as v1.2.3")
    return found[1]


def counts_in_wheel(path: Path) -> dict[str, int]:
    """How many files of each kind a wheel has."""
    with zipfile.ZipFile(path) as wheel:
        return _counts(wheel.namelist(), IN_WHEEL)


def counts_in_sdist(path: Path) -> dict[str, int]:
    """The same of a source archive, whose files stand in a folder with its version."""
    with tarfile.open(path) as archive:
        return _counts([name.partition("/")[2] for name in archive.getnames()], IN_SDIST)


def _counts(names: list[str], patterns: dict[str, str]) -> dict[str, int]:
    return {kind: sum(re.fullmatch(pattern, name) is not None for name in names) for kind, pattern in patterns.items()}
