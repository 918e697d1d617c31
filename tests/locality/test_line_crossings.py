"""Accesses across lines count as one access to each of the lines: by brute force, and against cachegrind."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hierarchy.simulate import lru_hits, simulate_hierarchy
from simcodesign.locality.stack.distances import group_profiles, reuse_profile, stack_distances, stack_profile
from simcodesign.locality.stack.writebacks import profiles_with_writebacks
from simcodesign.locality.traces import trace as trace_module
from simcodesign.locality.traces.formats import open_trace
from simcodesign.locality.traces.trace import LOAD, MODIFY, STORE, Accesses, read_all

KINDS = {"L": LOAD, "S": STORE, "M": MODIFY}
ACCESS = st.tuples(st.sampled_from("LSM"), st.integers(0, 400), st.sampled_from([0, 1, 2, 4, 8, 16, 32, 200]))


def written(folder: Path, text: str, name: str = "t.lackey") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def lackey(accesses: list[tuple[str, int, int]]) -> str:
    return "".join(
        f"I  {place:x},3\n {kind} {address:x},{size}\n" for place, (kind, address, size) in enumerate(accesses)
    )


def touched(accesses: list[tuple[str, int, int]], line_bytes: int) -> list[tuple[int, int, int]]:
    """Line, kind and instruction of everything that is touched, byte by byte."""
    result = []
    for place, (kind, address, size) in enumerate(accesses):
        lines = sorted({byte // line_bytes for byte in range(address, address + max(size, 1))})
        result += [(line, KINDS[kind], place) for line in lines]
    return result


def distances_of(lines: list[int]) -> list[int]:
    """Distinct other lines since the last use, by looking at all of them."""
    result = []
    for place, line in enumerate(lines):
        before = [index for index in range(place) if lines[index] == line]
        result.append(len(set(lines[before[-1] + 1 : place])) if before else -1)
    return result


@given(st.lists(ACCESS, min_size=1, max_size=30), st.sampled_from([1, 8, 64, 128]), st.sampled_from([3, 1 << 22]))
def test_every_line_that_is_touched_counts(
    tmp_path_factory: pytest.TempPathFactory, accesses: list[tuple[str, int, int]], line_bytes: int, most: int
) -> None:
    trace = open_trace(written(tmp_path_factory.getbasetemp(), lackey(accesses)))
    expected = touched(accesses, line_bytes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace_module, "MOST_TOUCHED", most)  # however many there are, in pieces or not
        chunks = list(trace.by_line(line_bytes))
        distances = stack_distances(trace, line_bytes)
    rows = [
        row
        for chunk in chunks
        for row in zip((chunk.address // line_bytes).tolist(), chunk.kind.tolist(), chunk.group.tolist(), strict=True)  # type: ignore[union-attr]
    ]
    assert rows == expected
    assert distances.tolist() == distances_of([line for line, *_ in expected])
    first = [chunk.address[0] for chunk in chunks if len(chunk)]
    assert first[0] == accesses[0][1]  # the address itself, not the beginning of its line


def test_all_that_counts_lines_counts_both(tmp_path: Path) -> None:
    """Three loads of 8 bytes at 60: each touches the lines 0 and 1, and finds them again after one other."""
    trace = open_trace(written(tmp_path, "I  4,3\n" + " L 3c,8\n" * 3))
    profile = stack_profile(trace)
    assert (profile.cold, profile.distance.tolist(), profile.count.tolist()) == (2, [1], [4])
    assert group_profiles(trace)[4].count.tolist() == [4]
    assert (reuse_profile(trace).cold, reuse_profile(trace).count.tolist()) == (2, [4])
    assert lru_hits(trace, 2) == (4, 2)
    assert lru_hits(trace, 1) == (0, 6)
    assert simulate_hierarchy(trace, [CacheGeometry(128, 64)]).levels[0].hits == 4
    assert profiles_with_writebacks(trace, 64)[0].cold == 2
    assert stack_profile(trace, 128).cold == 1
    assert len(read_all(trace)) == 3


def test_the_end_of_the_address_space() -> None:
    accesses = Accesses(np.array([2**64 - 2], np.uint64), size=np.array([8], np.uint32))
    (chunk,) = accesses.by_line(6)
    assert chunk.address.tolist() == [2**64 - 2]


def test_sizes_in_npz_files(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    np.savez(path, address=np.array([60, 0]), size=np.array([8, 4], np.uint8))
    assert stack_profile(open_trace(path)).cold == 2
    assert stack_profile(open_trace(path)).accesses == 3
    for size in (-1, 2**16 + 1):
        np.savez(path, address=np.array([60, 0]), size=np.array([8, size]))
        with pytest.raises(
            InputError, match=rf"size: entry 1 is not a size in range, got {size} \(allowed: 0 to 65536 bytes"
        ):
            read_all(open_trace(path))


def test_superblocks_are_no_accesses(tmp_path: Path) -> None:
    text = "==1== x\nSB 04001e40\nI  04001e40,3\n L 10,8\nSB 0400\n S 20,4\n"
    assert open_trace(written(tmp_path, text, "t.txt"))  # found out by its first line
    assert read_all(open_trace(written(tmp_path, text, "t.txt"))).address.tolist() == [16, 32]
    with pytest.raises(InputError, match=r"t.lackey:1: byte 0: this is not a line of a lackey trace, got 'SB 10,8'"):
        read_all(open_trace(written(tmp_path, "SB 10,8\n")))


def test_din_with_0x(tmp_path: Path) -> None:
    text = "2 0xFF\n0 0x10 4\n1 0X1F\nr 20\n"
    accesses = read_all(open_trace(written(tmp_path, text, "t.trace")))
    assert accesses.address.tolist() == [16, 31, 32]
    assert accesses.kind is not None
    assert accesses.kind.tolist() == [LOAD, STORE, LOAD]
    with pytest.raises(InputError, match=r"t.din:1: byte 0: this address is too large"):
        read_all(open_trace(written(tmp_path, "0 0x10000000000000000\n", "t.din")))


PIN = "0x7f8e1a2b3100: W 0x7ffd0a1b2c38\n0x7f8e1a2b3104: R 0x7ffd0a1b2c38\n0x40: R 0x10\n\n#eof\n"


@pytest.mark.parametrize("name", ["pinatrace.out", "t.pin", "t.txt"])
@pytest.mark.parametrize("change", [("", ""), ("0x", ""), ("\n", "\r\n"), ("\n#eof\n", "")])
def test_pinatrace(tmp_path: Path, name: str, change: tuple[str, str]) -> None:
    text = PIN.replace(*change) if change[0] else PIN
    accesses = read_all(open_trace(written(tmp_path, text, name)))
    assert accesses.address.tolist() == [0x7FFD0A1B2C38, 0x7FFD0A1B2C38, 16]
    assert accesses.kind is not None
    assert accesses.kind.tolist() == [STORE, LOAD, LOAD]
    assert accesses.group is not None
    assert accesses.group.tolist() == [0x7F8E1A2B3100, 0x7F8E1A2B3104, 0x40]
    assert accesses.size is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0x40: R 0x10\n0x40 R 0x10\n", r"t.pin:2: byte 13: this is not a line of a pin trace, got '0x40 R 0x10'"),
        ("0x40: L 0x10\n", ":1: byte 0: this is not a line of a pin trace"),
        ("0x40: R 0x10000000000000000\n", ":1: byte 0: this address is too large"),
        ("0x40: R\n", ":1: byte 0: this is not a line"),
        ("0x: R 0x10\n", ":1: byte 0: this is not a line"),
        ("#eof\n", "the trace is empty"),
        ("0x40: R 0x1", "cut off"),
    ],
)
def test_bad_pin_traces(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_all(open_trace(written(tmp_path, text, "t.pin")))


def test_pin_traces_have_no_instructions_fetched(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a trace in format pin names no instructions fetched"):
        open_trace(written(tmp_path, PIN, "t.pin"), instructions=True)


def cachegrind_like(accesses: list[tuple[int, int]], sets: int, ways: int) -> int:
    """Misses as cachegrind counts them: an access across two lines looks both up, and is one miss if either misses."""
    state: list[list[int]] = [[] for _ in range(sets)]
    misses = 0
    for address, size in accesses:
        missed = False
        for line in sorted({address // 64, (address + size - 1) // 64}):
            held = state[line % sets]
            missed |= line not in held
            state[line % sets] = [line, *(one for one in held if one != line)][:ways]
        misses += missed
    return misses


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_a_program_against_cachegrind(tmp_path: Path) -> None:
    """The same program under lackey and cachegrind; lines that are looked up twice are what both say of the misses."""
    sets, ways = 8, 2
    command = ["valgrind", "--command-line-only=yes", "--vgdb=no", "--log-file=" + str(tmp_path / "log")]
    program = ["/bin/true"]
    lackeys = [*command, "--tool=lackey", "--trace-mem=yes", "--trace-superblocks=yes", *program]
    cache = [f"--D1={sets * ways * 64},{ways},64", "--cache-sim=yes", "--cachegrind-out-file=/dev/null"]
    subprocess.run(lackeys, check=True, capture_output=True, timeout=60)
    trace = open_trace((tmp_path / "log").rename(tmp_path / "t.lackey"))
    subprocess.run([*command, "--tool=cachegrind", *cache, *program], check=True, capture_output=True, timeout=60)
    log = (tmp_path / "log").read_text()
    found = re.findall(r"D(?:   refs|1  misses):\s+([\d,]+)", log)
    references, misses = (int(number.replace(",", "")) for number in found)
    accesses = read_all(trace)
    assert accesses.size is not None
    pairs = list(zip(accesses.address.tolist(), accesses.size.tolist(), strict=True))
    if abs(len(pairs) - references) > 0.001 * references:
        pytest.skip("the two runs differ")
    crossing = sum(address // 64 != (address + size - 1) // 64 for address, size in pairs)
    assert crossing > 0
    assert cachegrind_like(pairs, sets, ways) == pytest.approx(misses, rel=0.005)
    ours = simulate_hierarchy(trace, [CacheGeometry(sets * ways * 64, 64, ways)]).levels[0]
    assert ours.accesses == len(pairs) + crossing
    lines = [(line * 64, 1) for address, size in pairs for line in range(address // 64, (address + size - 1) // 64 + 1)]
    assert ours.accesses - ours.hits == cachegrind_like(lines, sets, ways)
