"""Runs of SimGrid: its library from where it is installed, or unpacked from Debian's packages into a folder."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from validation.peers.simgrid import FLOWS, SETTINGS, Flows

SOURCE = Path(__file__).with_name("simgrid_flows.cpp")
PACKAGE = "libsimgrid-dev"


class NotThereError(Exception):
    """Why SimGrid cannot be run here."""


def compile_program(folder: Path) -> Path:
    """SimGrid's side, compiled into the folder. NotThereError without a C++ compiler or SimGrid."""
    if shutil.which("g++") is None:
        raise NotThereError("needs g++")
    made = folder / "simgrid_flows"
    command = ["g++", "-O2", "-std=c++17", SOURCE, "-o", made, "-lsimgrid", *_unpacked(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotThereError(f"needs SimGrid's headers and library: {done.stderr.splitlines()[0]}")
    return made


def _unpacked(folder: Path) -> list[str]:
    """Where the compiler finds what ``unpack`` has put into the folder; DT_RPATH holds for libraries' libraries too."""
    libraries = sorted((folder / "debian").glob("usr/lib/*/libsimgrid.so"))
    places = [str(library.parent) for library in libraries]
    return [
        option
        for place in places
        for option in (f"-I{folder / 'debian/usr/include'}", f"-L{place}", f"-Wl,--disable-new-dtags,-rpath,{place}")
    ]


def unpack(folder: Path) -> None:
    """Debian's packages of SimGrid and all that it needs and that is not installed, in ``folder``/debian: nothing is
    installed, and nobody needs to be root. NotThereError where that is not possible."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise NotThereError("SimGrid is unpacked from Debian's packages, and this is no Debian")
    downloads = folder / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    planned = _apt(["--simulate", "--no-install-recommends", "install", PACKAGE], folder)
    names = re.findall(r"^Inst (\S+)", planned, re.MULTILINE)
    _apt(["download", *names], downloads)
    for package in downloads.glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", package, folder / "debian"], check=True)


def _apt(arguments: Sequence[str], folder: Path) -> str:
    done = subprocess.run(["apt-get", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotThereError(f"apt-get {arguments[0]}: {(done.stderr.splitlines() or ['failed'])[-1]}")
    return done.stdout


def input_text(flows: Flows) -> str:
    """For SimGrid, whose first dimension is the one in which neighbours have consecutive numbers; ours is the last."""
    shape = (flows.hosts,) if flows.hosts else flows.shape
    ranks = np.arange(flows.nodes).reshape(shape[::-1]).transpose().ravel()
    rows = [f"{ranks[source]} {ranks[target]} {size_bytes}" for source, target, size_bytes in flows.messages]
    return "\n".join([f"{flows.extents} {flows.latency_s}", *rows])


def run(program: Path, flows: Flows, settings: dict[str, str], folder: Path) -> tuple[float, float]:
    """The time at which the last message has come, in us, and the CPU seconds of the simulation."""
    file = folder / "flows.txt"
    file.write_text(input_text(flows))
    told = [f"--cfg={name}:{value}" for name, value in settings.items()]
    command = [program, file, "--log=root.thres:error", *told]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    makespan_us, cpu_s = map(float, printed.split())
    return makespan_us, cpu_s


def all_flows(folder: Path) -> dict[tuple[str, str], float]:
    """Times in us by flows and settings. NotThereError where SimGrid is not to be had."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        program = compile_program(folder)
    except NotThereError:
        unpack(folder)
        program = compile_program(folder)
    return {
        (name, settings): run(program, flows, SETTINGS[settings], folder)[0]
        for name, flows in FLOWS.items()
        for settings in SETTINGS
    }
