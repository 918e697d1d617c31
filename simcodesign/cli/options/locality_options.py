"""Options of ``locality``, and the streams that it can read."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from simcodesign.cli.dataclass_commands import Argument, Option
from simcodesign.cli.options.shared import AnswerOptions, Format, Seed, Settings
from simcodesign.cli.sections import Heading
from simcodesign.cli.written_files import PLOT_SUFFIXES, TABLE, Output, Outputs, RequestedFiles
from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import STREAM_BYTES, open_bytes, real_path

#: Default number of accesses to record of a program (--most); it takes about a minute.
RECORDED = 10_000_000
PROFILE_SUFFIXES = (".json", ".csv", ".npz")
METHODS = ("auto", "full", "binomial", "sets")
#: Sources of a measurement.
FILE, PROFILE, KERNEL, RUN = "a trace", "a saved profile", "--generate", "--run"


@dataclass(frozen=True, kw_only=True)
class LocalityOptions:
    """Options of `locality`: the stream, the distances and hits, and the outputs."""

    source: Annotated[
        list[str],
        Argument(
            metavar="TRACE",
            help="A trace (npy, npz, raw uint64, valgrind's lackey, din; plain or as gzip, xz, bz2) or a saved "
            "profile; with --run a program.",
        ),
    ] = field(default_factory=list)
    line: Annotated[
        int | None,
        Option(heading=Heading.TRACE, metavar="BYTES", help="Size of a cache line, a power of two (default: 64)."),
    ] = None
    groups: Annotated[
        bool,
        Option(
            heading=Heading.SHOWN, help="Print the distances for each instruction too, or for each array of a kernel."
        ),
    ] = False
    reuse: Annotated[
        bool, Option(heading=Heading.SHOWN, help="Print reuse distances too: the number of accesses between two uses.")
    ] = False
    caches: Annotated[
        str | None,
        Option(
            heading=Heading.TRACE,
            metavar="LIST",
            help="Count the hits of these caches, SIZE:WAYS from L1 on: 32KiB:8,256KiB:8,2MiB:16.",
        ),
    ] = None
    method: Annotated[
        str | None,
        Option(
            heading=Heading.TRACE,
            metavar="NAME",
            help="Count hits by this method. sets: simulate the sets of each level, with write-backs (default if WAYS "
            "are given and all accesses are read). full: treat every cache as fully associative. binomial: spread "
            "lines over sets at random. auto: full for 4 or more ways, binomial below (default otherwise).",
        ),
    ] = None
    inclusion: Annotated[
        str | None,
        Option(
            heading=Heading.TRACE,
            metavar="NAME",
            help="Simulate caches that are non-inclusive (default), inclusive or exclusive.",
        ),
    ] = None
    no_write_allocate: Annotated[
        bool, Option(heading=Heading.TRACE, help="Simulate stores that do not fetch the line on a miss.")
    ] = False
    generate: Annotated[
        str | None,
        Option(
            heading=Heading.TRACE,
            metavar="NAME",
            help="Generate the accesses of a kernel, such as matmul or stencil; --set sets its sizes.",
        ),
    ] = None
    settings: Settings = field(default_factory=list)
    run: Annotated[
        bool, Option(heading=Heading.TRACE, help="Run a program and record it with valgrind: --run -- PROGRAM ARGS.")
    ] = False
    any_exit: Annotated[bool, Option(heading=Heading.TRACE, help="Accept a program that fails (with --run).")] = False
    most: Annotated[
        int | None,
        Option(
            heading=Heading.TRACE,
            metavar="N",
            min=1,
            help=f"Use only the first N accesses (default: all; with --run {RECORDED:,}).",
        ),
    ] = None
    sampled_lines: Annotated[
        int | None,
        Option(
            heading=Heading.TRACE,
            metavar="N",
            help="Estimate from a sample of N cache lines, such as 8192, with a 95 % interval.",
        ),
    ] = None
    bursts: Annotated[
        str | None,
        Option(
            heading=Heading.TRACE,
            metavar="LENGTH/PERIOD",
            help="Estimate from bursts of LENGTH accesses, one in every PERIOD accesses: 10000/1000000.",
        ),
    ] = None
    seed: Seed = 0
    format: Format = None
    instructions: Annotated[
        bool, Option(heading=Heading.TRACE, help="Count instruction fetches as accesses too (lackey, din).")
    ] = False
    output: AnswerOptions

    @property
    def kind(self) -> str:
        """The stream to measure. InputError for none or several."""
        if self.run and self.generate is not None:
            raise InputError("--run and --generate exclude each other", allowed="one of them")
        if self.run and not self.source:
            raise InputError("no program to run", Place(RUN), allowed="--run -- PROGRAM ARGS")
        if self.generate is not None and self.source:
            raise InputError("a kernel and a trace", value=self.source[0], allowed="one of them")
        if self.run or self.generate is not None:
            return RUN if self.run else KERNEL
        if len(self.source) != 1:
            what = "one trace at a time" if self.source else "nothing to measure"
            allowed = "a file, --generate NAME, or --run -- PROGRAM ARGS"
            raise InputError(what, value=" ".join(self.source) or None, allowed=allowed)
        return PROFILE if self.format is None and holds_profile(Path(self.source[0])) else FILE

    @property
    def simulates(self) -> bool:
        """Return whether the caches are simulated: by name, by an option that needs it, or because ways are given.

        A profile has no accesses to simulate, and samples and bursts are for traces too long to simulate.
        """
        if self.method is not None:
            return self.method == "sets"
        is_whole = self.kind != PROFILE and self.sampled_lines is None and self.bursts is None
        return self._has_policy or (is_whole and self._has_ways)

    @property
    def _has_ways(self) -> bool:
        return any(":" in item for item in (self.caches or "").split(","))

    @property
    def _has_policy(self) -> bool:
        return self.inclusion is not None or self.no_write_allocate

    def requested_files(self) -> RequestedFiles:
        """Return the files to write.

        InputError for those that cannot be written, and for options that exclude each other.
        """
        self._check_kind()
        self._check_sampling()
        self._check_caches()
        files = FILES.requested(self.output.write)
        if self.kind != RUN:
            files.refuse(["trace"], f"does not apply to {self.kind}", f"with {RUN}")
        if len(files.paths("trace")) > 1:
            raise InputError("a trace at a time", Place("--write"), allowed="one file")
        if self.bursts is not None:
            what = "a profile of bursts lacks all distances that reach out of one"
            files.refuse(["profile"], what, "without --bursts; or with --sampled-lines")
        for output, path in files.files:
            if self.source and real_path(path) == real_path(self.source[0]):
                what = "this file is in use by the same command"
                raise InputError(what, Place("--write"), value=f"{output.word}:{path}")
        return files

    def _check_kind(self) -> None:
        kind, traced = self.kind, (FILE, KERNEL, RUN)
        for option, value, kinds in (
            ("--set", self.settings, (KERNEL,)),
            ("--any-exit", self.any_exit, (RUN,)),
            ("--format", self.format, (FILE,)),
            ("--instructions", self.instructions, (FILE,)),
            ("--most", self.most, traced),
            ("--groups", self.groups, traced),
            ("--reuse", self.reuse, traced),
            ("--sampled-lines", self.sampled_lines, traced),
            ("--bursts", self.bursts, traced),
            ("--method sets", self.simulates, traced),
        ):
            if value and kind not in kinds:
                raise InputError(f"does not apply to {kind}", Place(option), allowed=f"with {', '.join(kinds)}")

    def _check_sampling(self) -> None:
        if self.seed < 0:
            raise InputError("seed", Place("--seed"), value=self.seed, allowed="a whole number, 0 or above")
        if self.sampled_lines is not None and self.bursts is not None:
            raise InputError("--sampled-lines and --bursts exclude each other", allowed="one of them")
        if self.sampled_lines is not None and self.groups:
            raise InputError("a sample of lines has no groups", Place("--groups"), allowed="with --bursts, or exact")

    def _check_caches(self) -> None:
        if self.caches is None and (self.method is not None or self._has_policy):
            option = (
                "--method" if self.method is not None else "--inclusion" if self.inclusion else "--no-write-allocate"
            )
            raise InputError("no caches to find the hits of", Place(option), allowed="with --caches")
        if self.method is not None and self.method not in METHODS:
            raise InputError("how hits are found", Place("--method"), value=self.method, allowed=", ".join(METHODS))
        if self._has_policy and not self.simulates:
            what = "the stack model has neither inclusion nor stores"
            raise InputError(what, Place("--method"), value=self.method, allowed="sets")
        if self.bursts is not None and self.caches is not None and not self.simulates:
            what = "bursts know no distance that reaches out of one"
            raise InputError(what, Place("--caches"), allowed="--method sets with --bursts; or --sampled-lines")


def holds_profile(path: Path) -> bool:
    """Whether a file is a saved profile by its name, or for archives by what it holds."""
    if path.suffix.lower() != ".npz":
        return path.suffix.lower() in PROFILE_SUFFIXES
    try:
        with open_bytes(path, STREAM_BYTES) as file, zipfile.ZipFile(file) as archive:
            return "distance.npy" in archive.namelist()
    except (InputError, OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError):
        return False  # its reader reports what is wrong with it


def _profile(findings: Any, path: Path) -> None:
    findings.profile.save(path)


def _plot(findings: Any, path: Path) -> None:
    from simcodesign.report.locality.plot import locality_plot

    locality_plot(findings, path)


FILES = Outputs(
    Output("profile", PROFILE_SUFFIXES, "the profile of stack distances", _profile),
    Output("trace", (".npz",), "the trace of the program that --run records"),
    Output("plot", PLOT_SUFFIXES, "a plot of miss ratios over the size of the cache", _plot),
    TABLE,
)
