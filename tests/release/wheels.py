"""Wheels of six platforms, all built on this machine by zig: ``python -m tests.release.wheels SDIST FOLDER``.

Needs hatchling, hatch-vcs and ziglang. None is run: the format of the library, its
processor and the names of its exported functions are checked.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

LIBRARY = "simcodesign/core/native/simcodesign.shared"


@dataclass(frozen=True)
class Platform:
    """A target of zig, its tag in the name of a wheel, and how a library for it begins: ``magic``, then the processor."""

    target: str
    tag: str
    magic: bytes
    processor: bytes
    processor_at: int

    def check(self, content: bytes, exported: list[str]) -> None:
        """Raise ValueError unless ``content`` is a library for this platform that contains all exported names."""
        # The header of a Windows library begins where the four bytes at 60 say.
        start = int.from_bytes(content[60:64], "little") if self.magic == b"MZ" else 0
        at = start + self.processor_at
        if not content.startswith(self.magic) or content[at : at + len(self.processor)] != self.processor:
            raise ValueError(f"{self.tag}: not a library of this platform: it begins with {content[:24]!r}")
        if missing := [name for name in exported if f"{name}\0".encode() not in content]:
            raise ValueError(f"{self.tag}: not exported: {', '.join(missing)}")


ELF, MACH_O, PE = b"\x7fELF\x02\x01", b"\xcf\xfa\xed\xfe", b"MZ"
PLATFORMS = (
    Platform("x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64", ELF, b"\x3e\x00", 18),
    Platform("aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64", ELF, b"\xb7\x00", 18),
    Platform("x86_64-macos.11.0", "macosx_11_0_x86_64", MACH_O, b"\x07\x00\x00\x01", 4),
    Platform("aarch64-macos.11.0", "macosx_11_0_arm64", MACH_O, b"\x0c\x00\x00\x01", 4),
    Platform("x86_64-windows-gnu", "win_amd64", PE, b"PE\0\0\x64\x86", 0),
    Platform("aarch64-windows-gnu", "win_arm64", PE, b"PE\0\0\x64\xaa", 0),
)


def exported_names(source: Path) -> list[str]:
    """Return the functions that the C sources under ``source`` export."""
    found = set()
    for path in source.rglob("native/*.[ch]"):
        text = path.read_text(encoding="utf-8")
        found |= {*re.findall(r"^EXPORTED [^#(]*?(\w+)\(", text, re.MULTILINE)}
        found |= {f"layout_{name}" for name in re.findall(r"^LAYOUT\((\w+),", text, re.MULTILINE)}
    return sorted(found)


def build_wheel(source: Path, platform: Platform, folder: Path) -> Path:
    """Build the wheel of one platform from an unpacked source archive, and check the library in it."""
    # Without local symbols (-s), a name in the library is one that it exports.
    variables = {
        "CC": f"{sys.executable} -m ziglang cc -target {platform.target} -s",
        "_PYTHON_HOST_PLATFORM": platform.tag,  # what sysconfig, and so the build hook, takes for this platform
    }
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=source, env=os.environ | variables, check=True, capture_output=True)
    wheel = next(folder.glob(f"*-py3-none-{platform.tag}.whl"), None)
    if wheel is None:
        raise ValueError(f"{platform.tag}: no compiled wheel was built")
    platform.check(ZipFile(wheel).read(LIBRARY), exported_names(source))
    return wheel


def main() -> None:
    """Build all wheels, and print what each contains."""
    sdist, folder = map(Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as unpacked:
        with tarfile.open(sdist) as archive:
            archive.extractall(unpacked, filter="data")
        (source,) = Path(unpacked).iterdir()
        for platform in PLATFORMS:
            wheel = build_wheel(source, platform, folder.resolve())
            size_bytes = ZipFile(wheel).getinfo(LIBRARY).file_size
            print(f"{wheel.name}: library of {size_bytes:,} bytes, {len(exported_names(source))} functions; not run")


if __name__ == "__main__":
    main()
