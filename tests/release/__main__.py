"""Everything that must hold before a release, checked step by step: ``make release-check``, which needs git and uv.

    make release-check                       # of the tag of this commit
    make release-check ARGS=--dry-run        # before there is one: as if the commit had the tag of CITATION.cff

Each step prints what it found and how long it took. The exit status is 1 if one fails. Nothing is uploaded, and nothing is
left behind but what is built, in ``build/release``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.release.what_is_stated import (
    MOST_BYTES,
    changes_of,
    counts_in_sdist,
    counts_in_wheel,
    stated_version,
    version_of_tag,
)

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "build" / "release"
#: Every extra that a user may want must be there, in one way or another.
OF_EXTRAS = "import matplotlib, jinja2, sympy, nlopt, distributed, pyarrow, pycubexr"
#: What an installed package is asked to do.
COMMANDS = (
    ("forecast", "jacobi", "torus-cluster", "-P", "16"),
    ("compare", "broadcast", "mesh-256", "-P", "16"),
    ("list",),
    ("lesson", "list"),
)


class CheckError(Exception):
    """A step that does not hold."""


def run(*command: str | Path, cwd: Path = ROOT, **variables: str) -> str:
    """What a command prints. CheckError if it fails."""
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env=environment | variables, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CheckError(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()[-600:]}")
    return done.stdout.strip()


class Release:
    """The steps, and what they hand on to each other."""

    def __init__(self, dry_run: bool, pythons: list[str], folder: Path) -> None:
        self.dry_run, self.pythons, self.folder = dry_run, pythons, folder
        self.version = self.wheel = ""
        self.failed = False

    def step(self, what: str, check: Callable[[], str]) -> None:
        """Do one, and print what it says."""
        begin = time.perf_counter()
        try:
            said, mark = check(), "ok  "
        except (CheckError, ValueError) as error:
            said, mark, self.failed = str(error), "FAIL", True
        print(f"{mark} {what}: {said} ({time.perf_counter() - begin:.1f} s)", flush=True)

    def tree(self) -> str:
        changed = run("git", "status", "--porcelain")
        if changed:
            raise CheckError(f"{len(changed.splitlines())} files are not committed")
        return f"clean at {run('git', 'rev-parse', '--short', 'HEAD')}"

    def tag(self) -> str:
        stated = stated_version((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
        if self.dry_run:
            self.version = stated
            return f"{stated}, as CITATION.cff states (dry run)"
        tag = run("git", "describe", "--tags", "--exact-match")
        self.version = version_of_tag(tag)
        if self.version != stated:
            raise CheckError(f"the tag is {tag}, CITATION.cff states {stated}")
        return f"{self.version}, of the tag {tag} and in CITATION.cff"

    def changes(self) -> str:
        text = changes_of((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), self.version, self.dry_run)
        if not text:
            raise CheckError(f"CHANGELOG.md has no section of {self.version}")
        return f"{len(text.splitlines())} lines of {self.version}"

    def build(self) -> str:
        """From an archive of the commit, which has no ``.git``; the wheel from the source archive alone."""
        shutil.rmtree(BUILT, ignore_errors=True)
        source = self.folder / "source"
        source.mkdir()
        run("git", "archive", "--output", self.folder / "source.tar", "HEAD")
        run("tar", "-xf", self.folder / "source.tar", "-C", source)
        pretended = {"SETUPTOOLS_SCM_PRETEND_VERSION": self.version} if self.dry_run else {}
        run("uv", "build", "--quiet", "--sdist", "--out-dir", BUILT, source, **pretended)
        (sdist,) = BUILT.glob("*.tar.gz")
        run("uv", "build", "--quiet", "--wheel", "--out-dir", BUILT, sdist)
        (wheel,) = BUILT.glob("*.whl")
        self.wheel = str(wheel)
        for path in (sdist, wheel):
            if self.version not in path.name.split("-")[1].removesuffix(".tar.gz"):
                raise CheckError(f"{path.name} has not the version {self.version}")
            if path.stat().st_size > MOST_BYTES:
                raise CheckError(f"{path.name} has {path.stat().st_size:,} bytes, more than {MOST_BYTES:,}")
        return ", ".join(f"{path.name} {path.stat().st_size / 1e6:.1f} MB" for path in (sdist, wheel))

    def untagged(self) -> str:
        """A clone without tags, and files without ``.git``, have a version too."""
        versions = []
        clone = self.folder / "clone"
        run("git", "clone", "--quiet", "--no-tags", "--depth", "1", f"file://{ROOT}", clone)
        for folder in (clone, self.folder / "source"):
            out = self.folder / f"{folder.name}-sdist"
            run("uv", "build", "--quiet", "--sdist", "--out-dir", out, folder)
            (sdist,) = out.glob("*.tar.gz")
            versions.append(sdist.name.removesuffix(".tar.gz").partition("-")[2])
        return f"without tags {versions[0]}, without .git {versions[1]}"

    def notes(self) -> str:
        """Write the notes of the release: the section of ``CHANGELOG.md``."""
        text = changes_of((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), self.version, self.dry_run)
        (BUILT / "notes.md").write_text(f"{text}\n", encoding="utf-8")
        return f"{(BUILT / 'notes.md').relative_to(ROOT)}, {len(text.split())} words"

    def contents(self) -> str:
        (sdist,) = BUILT.glob("*.tar.gz")
        counts = {"wheel": counts_in_wheel(Path(self.wheel)), "sdist": counts_in_sdist(sdist)}
        missing = [f"{kind} in the {archive}" for archive, each in counts.items() for kind, n in each.items() if not n]
        if missing:
            raise CheckError(f"not there: {', '.join(missing)}")
        return ", ".join(f"{n} {kind}" for kind, n in counts["wheel"].items())

    def installation(self, python: str) -> str:
        """With all extras, in an environment of its own; used from a folder that has nothing else."""
        environment, folder = self.folder / f"venv-{python}", self.folder / f"folder-{python}"
        folder.mkdir()
        run("uv", "venv", "--quiet", "--python", python, environment)
        interpreter = environment / "bin" / "python"
        begin = time.perf_counter()
        run("uv", "pip", "install", "--quiet", "--python", interpreter, f"simcodesign[all] @ file://{self.wheel}")
        took = time.perf_counter() - begin
        run(interpreter, "-c", OF_EXTRAS, cwd=folder)
        version = run(interpreter, "-m", "simcodesign", "--version", cwd=folder)
        if version != self.version:
            raise CheckError(f"--version prints {version}")
        for command in COMMANDS:
            run(interpreter, "-m", "simcodesign", *command, cwd=folder)
        return f"installed in {took:.0f} s, {len(COMMANDS)} commands"

    def demo(self, tool: str) -> str:
        folder = self.folder / f"demo-{tool}"
        folder.mkdir()
        package = f"simcodesign[plot,report] @ file://{self.wheel}"
        by = {"uvx": ("uvx", "--quiet", "--from", package), "pipx": ("pipx", "run", "--spec", package)}
        run(*by[tool], "simcodesign", "demo", cwd=folder, PIPX_HOME=str(self.folder / "pipx"))
        pages = sorted(path for path in folder.rglob("*.html"))
        if not pages:
            raise CheckError("no page was written")
        return f"{pages[0].relative_to(folder)}, {pages[0].stat().st_size / 1e6:.1f} MB"


def available_pythons() -> list[str]:
    """Those of this machine that the package supports."""
    listed = run("uv", "python", "list", "--only-installed", "--offline", "--output-format", "json")
    numbers = {
        tuple(map(int, one["version"].split(".")[:2]))
        for one in json.loads(listed)
        if one["implementation"] == "cpython"
    }
    return [f"{major}.{minor}" for major, minor in sorted(numbers) if (major, minor) >= (3, 11)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="make release-check ARGS=...")
    parser.add_argument("--dry-run", action="store_true", help="there is no tag yet: take the version of CITATION.cff")
    parser.add_argument(
        "--python", action="append", help="only these Pythons, as 3.12; by default all that are installed"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        release = Release(options.dry_run, options.python or available_pythons(), Path(folder))
        release.step("tree", release.tree)
        release.step("version", release.tag)
        release.step("changes", release.changes)
        release.step("archives", release.build)
        if release.wheel:
            release.step("notes", release.notes)
            release.step("contents", release.contents)
            release.step("other sources", release.untagged)
            for python in release.pythons:
                release.step(f"Python {python}, simcodesign[all]", lambda python=python: release.installation(python))
            for tool in ("uvx", "pipx"):
                if shutil.which(tool):
                    release.step(f"{tool} simcodesign demo", lambda tool=tool: release.demo(tool))
                else:
                    print(f"--   {tool} simcodesign demo: {tool} is not installed")
    print("Not ready." if release.failed else "Ready. Nothing was uploaded.")
    return int(release.failed)


if __name__ == "__main__":
    sys.exit(main())
