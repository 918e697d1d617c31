"""The bundle of the front end is that of its sources; this needs no Node."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from tests import ROOT

FRONT = ROOT / "simcodesign" / "lessons" / "front"
BUNDLE = ROOT / "simcodesign" / "lessons" / "bundle"
OWN = re.compile(r"\.(js|mjs|css)$|^package\.json$")


def sources() -> list[Path]:
    found = [path for path in FRONT.rglob("*") if path.is_file() and "node_modules" not in path.parts]
    return sorted(
        (path for path in found if OWN.search(path.relative_to(FRONT).as_posix())),
        key=lambda path: path.relative_to(FRONT).as_posix(),
    )


@pytest.mark.parametrize("name", ["lesson.js", "lesson.css"])
def test_the_bundle_is_current(name: str) -> None:
    digest = hashlib.sha256()
    for path in sources():
        digest.update(f"{path.relative_to(FRONT).as_posix()}\n".encode() + path.read_bytes() + b"\n")
    versions = json.loads((FRONT / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    first, _, _ = (BUNDLE / name).read_text(encoding="utf-8").partition("\n")
    assert f"sha256:{digest.hexdigest()}" in first, "run `npm install && npm run build` in simcodesign/lessons/front"
    for package, version in versions.items():
        assert f"{package} {version}" in first


def test_it_is_small() -> None:
    assert sum((BUNDLE / name).stat().st_size for name in ("lesson.js", "lesson.css")) < 600_000


def test_both_languages_have_all_texts() -> None:
    english, german = set[str](), set[str]()
    for file in sorted(FRONT.glob("texts*.js")):
        tables = re.split(r"\n  (?:en|de): \{", file.read_text(encoding="utf-8"))[1:]
        for names, table in zip((english, german), tables, strict=True):
            names |= set(re.findall(r"(?:^|[\s,])([a-zA-Z_]+): \"", table.split("\n  },")[0]))
    assert english == german
    used = {
        name
        for path in sources()
        if path.suffix == ".js"
        for name in re.findall(r"\btext\(\"([a-zA-Z_]+)\"", path.read_text(encoding="utf-8"))
    }
    assert used <= english
