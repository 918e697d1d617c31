"""What the options of the command ``locality`` say, checked: one clear error before any work is done."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from simcodesign.cli.options import check_folder
from simcodesign.core.errors import InputError, Place

PROFILE_SUFFIXES = (".json", ".csv", ".npz")
METHODS = ("auto", "full", "binomial", "sets")
LINE_BYTES = 64
_WORDS = {"yes": True, "true": True, "no": False, "false": False}
FILE, PROFILE, KERNEL, RUN = "a trace", "a saved profile", "--kernel", "--run"


@dataclass(frozen=True)
class Asked:
    """What the options say."""

    source: list[str]
    kernel: str | None
    sizes: list[str]
    run: bool
    keep: Path | None
    any_exit: bool
    format: str | None
    instructions: bool
    line: int | None
    most: int | None
    groups: bool
    reuse: bool
    sample: int | None
    bursts: str | None
    seed: int
    caches: str | None
    method: str | None
    inclusion: str | None
    write_allocate: bool

    @property
    def kind(self) -> str:
        """What is measured. InputError for nothing or several."""
        if self.run or self.kernel is not None:
            if self.run and self.kernel is not None:
                raise InputError("--run and --kernel exclude each other", allowed="one of them")
            if self.run and not self.source:
                raise InputError("no program to run", Place(RUN), allowed="--run -- PROGRAM ARGS")
            if not self.run and self.source:
                raise InputError("a kernel and a trace", value=self.source[0], allowed="one of them")
            return RUN if self.run else KERNEL
        if len(self.source) != 1:
            what = "one trace at a time" if self.source else "nothing to measure"
            allowed = "a file, --kernel NAME, or --run -- PROGRAM ARGS"
            raise InputError(what, value=" ".join(self.source) or None, allowed=allowed)
        return PROFILE if self.format is None and holds_profile(Path(self.source[0])) else FILE

    @property
    def simulates(self) -> bool:
        """Whether the caches are simulated: said, or meant by what only a simulation knows."""
        return self.method == "sets" or (self.method is None and self._policy)

    @property
    def _policy(self) -> bool:
        return self.inclusion is not None or not self.write_allocate

    def check(self) -> None:
        """InputError for options that say nothing together."""
        kind = self.kind
        for option, given, kinds in (
            ("--size", self.sizes, (KERNEL,)),
            ("--keep", self.keep, (RUN,)),
            ("--any-exit", self.any_exit, (RUN,)),
            ("--format", self.format, (FILE,)),
            ("--instructions", self.instructions, (FILE,)),
            *(
                (option, given, (FILE, KERNEL, RUN))
                for option, given in (
                    ("--most", self.most),
                    ("--groups", self.groups),
                    ("--reuse", self.reuse),
                    ("--sample", self.sample),
                    ("--bursts", self.bursts),
                    ("--method sets", self.simulates),
                )
            ),
        ):
            if given and kind not in kinds:
                raise InputError(f"{kind} has no use for it", Place(option), allowed=f"with {', '.join(kinds)}")
        self._check_sampling()
        self._check_caches()

    def _check_sampling(self) -> None:
        if self.sample is not None and self.bursts is not None:
            raise InputError("--sample and --bursts exclude each other", allowed="one of them")
        if self.sample is not None and self.groups:
            raise InputError("a sample of lines knows no groups", Place("--groups"), allowed="with --bursts, or exact")

    def _check_caches(self) -> None:
        if self.caches is None and (self.method is not None or self._policy):
            option = (
                "--method" if self.method is not None else "--inclusion" if self.inclusion else "--no-write-allocate"
            )
            raise InputError("no caches to find the hits of", Place(option), allowed="with --caches")
        if self.method is not None and self.method not in METHODS:
            raise InputError("how hits are found", Place("--method"), value=self.method, allowed=", ".join(METHODS))
        if self._policy and not self.simulates:
            what = "the stack model knows neither inclusion nor stores"
            raise InputError(what, Place("--method"), value=self.method, allowed="sets")
        if self.bursts is not None and self.caches is not None and not self.simulates:
            what = "bursts know no distance that reaches out of one"
            raise InputError(what, Place("--caches"), allowed="--method sets with --bursts; or --sample")


def check_outputs(asked: Asked, save: Path | None, plot: Path | None) -> None:
    """InputError for files that cannot be written, or that would replace each other or what is read."""
    if save:
        check_folder("--save", save, PROFILE_SUFFIXES)
        if asked.bursts is not None:
            what = "a profile of bursts lacks all distances that reach out of one"
            raise InputError(what, Place("--save"), allowed="without --bursts; or with --sample")
    if asked.keep:
        check_folder("--keep", asked.keep, (".npz",))
    taken = {Path(name).resolve() for name in asked.source[:1]}
    for option, file in (("--save", save), ("--keep", asked.keep), ("--plot", plot)):
        if file and file.resolve() in taken:
            raise InputError("this file is in use by the same command", Place(option), value=str(file))
        taken |= {file.resolve()} if file else set()


def holds_profile(path: Path) -> bool:
    """Whether a file is a saved profile by its name, or for archives by what it holds."""
    if path.suffix.lower() != ".npz":
        return path.suffix.lower() in PROFILE_SUFFIXES
    try:
        with zipfile.ZipFile(path) as archive:
            return "distance.npy" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False  # what is wrong with it is said by who reads it


def kernel_sizes(given: Sequence[str]) -> dict[str, int | float | bool | str]:
    """Sizes of a kernel by their name; what is allowed, the kernel itself knows."""
    sizes: dict[str, int | float | bool | str] = {}
    for item in given:
        name, _, value = (part.strip() for part in item.partition("="))
        if not name or not value:
            raise InputError("not a size", Place("--size"), value=item, allowed="name=value, e.g. n=172")
        if name in sizes:
            raise InputError("given twice", Place("--size"), value=name, allowed="one value per name")
        sizes[name] = _value(value)
    return sizes


def _value(text: str) -> int | float | bool | str:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return _WORDS.get(text, text)


def geometries_of(asked: Asked, line_bytes: int | None = None) -> tuple[Any, ...]:
    """The caches asked for, from L1 on."""
    if asked.caches is None:
        return ()
    line = line_bytes or (LINE_BYTES if asked.line is None else asked.line)
    place = Place("--caches")
    geometries = []
    for item in asked.caches.split(","):
        size, colon, ways = (part.strip() for part in item.partition(":"))
        if colon and not ways.isdecimal():
            raise InputError("ways of a cache", place, value=item, allowed="size:ways, e.g. 32KiB:8, or size alone")
        size_bytes = import_module("simcodesign.core.units").parse_quantity(size, "size", place)
        try:
            geometries.append(
                import_module("simcodesign.locality.cache").CacheGeometry(
                    size_bytes, line, int(ways) if colon else None
                )
            )
        except InputError as error:
            place = Place("--caches", path=item.strip())
            raise InputError(error.what, place, value=error.value, allowed=error.allowed) from None
    return tuple(geometries)


def burst_of(text: str) -> tuple[int, int]:
    length, _, period = (part.strip() for part in text.partition("/"))
    if not (length.isdecimal() and period.isdecimal()):
        allowed = "LENGTH/PERIOD in accesses, e.g. 10000/1000000"
        raise InputError("not bursts", Place("--bursts"), value=text, allowed=allowed)
    if not 2 <= int(length) <= int(period):
        raise InputError("accesses of a burst", Place("--bursts"), value=text, allowed="LENGTH from 2 to PERIOD")
    return int(length), int(period)
