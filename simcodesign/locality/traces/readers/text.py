"""Traces of text: what ``valgrind --tool=lackey --trace-mem=yes`` prints, Dinero's ``din``, and Pin's ``pinatrace``.

lackey prints a line ``I  ADDRESS,SIZE`` for an instruction and then `` L``, `` S`` or `` M ADDRESS,SIZE`` for each of
its loads, stores and modifies; addresses are hexadecimal, sizes decimal bytes. ``SB ADDRESS`` is the beginning of a
superblock (``--trace-superblocks=yes``) and no access. Lines that begin with ``==``, ``--`` or ``**`` are messages of
valgrind.

A line of din is ``LABEL ADDRESS`` and anything after a blank: label 0 or r a read, 1 or w a write, 2 or i an
instruction fetch (numbers: Dinero III, M. D. Hill, manual page; letters: Dinero IV, J. Edler, M. D. Hill); ``0x`` may
precede the address. Its other labels (3, 4, m, c, v) are no accesses and are refused.

The example tool ``pinatrace`` of Intel's Pin prints ``INSTRUCTION: R ADDRESS`` for a read and ``W`` for a write, with
``0x`` before the numbers, and ``#eof`` at the end. It prints no sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.locality.traces.byte_streams import Stream, open_stream
from simcodesign.locality.traces.readers.registry import READERS, TraceReader
from simcodesign.locality.traces.text_bytes import DIN, IS_DIN, IS_LACKEY, IS_PIN, LACKEY, PIN, Parsed
from simcodesign.locality.traces.text_parser import parse_lines
from simcodesign.locality.traces.trace import CHUNK, MOST_ADDRESS, Accesses, Kinds, Trace, at_least_one, empty_trace

#: Bytes parsed at a time, and so the longest line.
BLOCK_BYTES = 1 << 22


@dataclass(frozen=True)
class TextFormat:
    """How the lines of a format look."""

    name: str
    labels: Kinds = field(repr=False)  # (256,) kind by byte
    record: re.Pattern[bytes]  # a line, for guessing the format
    allowed: str
    form: int
    has_instructions: bool = True


LACKEY_TEXT = TextFormat(
    "lackey",
    LACKEY,
    re.compile(rb"[ \t]*(?:SB[ \t]+[0-9a-fA-F]+[ \t\r]*$|[ILSM][ \t]+[0-9a-fA-F]+,)"),
    "'I  ADDRESS,SIZE', or ' L', ' S' or ' M ADDRESS,SIZE'",
    IS_LACKEY,
)
DIN_TEXT = TextFormat(
    "din",
    DIN,
    re.compile(rb"[ \t]*[012rwi][ \t]+(?:0[xX])?[0-9a-fA-F]+[ \t\r\n]"),
    "LABEL ADDRESS, with label 0 read, 1 write, 2 fetch",
    IS_DIN,
)
PIN_TEXT = TextFormat(
    "pin",
    PIN,
    re.compile(rb"[ \t]*(?:0[xX])?[0-9a-fA-F]+:[ \t]*[RW][ \t]+(?:0[xX])?[0-9a-fA-F]+[ \t\r\n]"),
    "INSTRUCTION: R ADDRESS, or W for a write",
    IS_PIN,
    has_instructions=False,
)
MESSAGE_LINE = re.compile(rb"[ \t]*(==|--|\*\*|#)")


class TextTrace(Trace):
    """A file of text. It has groups if it names instructions; instructions are accesses only with ``instructions``."""

    def __init__(self, path: Path, text: TextFormat, compression: str = "", instructions: bool = False) -> None:
        self.name, self._path, self._compression = str(path), path, compression
        self._text, self._instructions = text, instructions
        self._grouped: bool | None = None

    def chunks(self, most: int = CHUNK) -> Iterator[Accesses]:
        at_least_one(most)
        if self._grouped is None:
            # Usually the first block is enough; only a trace without any instruction is read to its end for this.
            with open_stream(self._path, self._compression) as stream:
                self._grouped = any(block.fetches for block in parsed_blocks(stream, self._text))
        some = False
        with open_stream(self._path, self._compression) as stream:
            for block in parsed_blocks(stream, self._text, self._instructions):
                accesses = block.accesses
                some |= len(accesses) > 0
                group = accesses.group if self._grouped else None
                yield from Accesses(accesses.address, accesses.kind, group, accesses.size).split(most)
        if not some:
            raise empty_trace(self.name)


def parsed_blocks(stream: Stream, text: TextFormat, instructions: bool = False) -> Iterator[Parsed]:
    """Yield the lines of a stream, a block at a time; InputError at the first that is wrong or does not end."""
    group = 0
    buffer = bytearray(2 * BLOCK_BYTES)
    view = np.frombuffer(buffer, np.uint8)
    stream.line, kept = 1, 0  # bytes kept of a line that has not ended
    while fresh := stream.read_into(memoryview(buffer)[kept : kept + BLOCK_BYTES]):
        start, filled = stream.offset - fresh - kept, kept + fresh
        end = buffer.rfind(b"\n", 0, filled) + 1
        if end:
            parsed = parse_lines(view[:end], text.labels, text.form, instructions, group)
            if parsed.wrong >= 0:
                stream.line += buffer.count(b"\n", 0, parsed.wrong)
                line = bytes(buffer[parsed.wrong : buffer.index(b"\n", parsed.wrong)])
                raise wrong_line(stream, start + parsed.wrong, line, text)
            stream.line += parsed.lines
            group = parsed.group
            yield parsed
        kept = filled - end
        if kept > BLOCK_BYTES:
            what = f"no line ends within {kept} bytes: this is no text"
            raise InputError(what, stream.place(start + end), allowed=text.allowed)
        buffer[:kept] = buffer[end:filled]
    if kept:
        raise cut_line(stream, bytes(buffer[:kept]))


def wrong_line(stream: Stream, offset: int, line: bytes, text: TextFormat) -> InputError:
    """Return the error for a line that is not of the format."""
    number = re.fullmatch(rb"\s*(?:\w+:)?\s*\w\s+(?:0[xX])?([0-9a-fA-F]+)(,\d+\s*|\s.*|)", line)
    shown = line[:60].decode("latin-1")
    if number and int(number[1], 16) > MOST_ADDRESS:
        return InputError(
            "this address is too large", stream.place(offset), value=shown, allowed=f"0 to {MOST_ADDRESS:x}"
        )
    if text is DIN_TEXT and number and line.split()[0] in (b"3", b"4", b"m", b"c", b"v"):
        what = "this label is no read, write or instruction fetch"
        return InputError(what, stream.place(offset), value=shown, allowed=text.allowed)
    return InputError(
        f"this is not a line of a {text.name} trace", stream.place(offset), value=shown, allowed=text.allowed
    )


def cut_line(stream: Stream, line: bytes) -> InputError:
    """Return the error for a last line without its end, whose address may lack digits."""
    offset = stream.offset - len(line)
    what = "the trace is cut off: its last line does not end"
    shown = line[:60].decode("latin-1")
    return InputError(
        what, stream.place(offset), value=shown, allowed=f"a newline after it, or the first {offset} bytes only"
    )


def reader_of(text: TextFormat) -> TraceReader:
    """Return the reader of a format of text."""

    def read(path: Path, compression: str, instructions: bool) -> Trace:
        return TextTrace(path, text, compression, instructions)

    def sniff(start: FileStart) -> Match:
        """Its first line that is no message of valgrind; messages alone are of lackey."""
        lines = [line for line in start.content.splitlines(keepends=True) if line.strip()]
        records = [line for line in lines if not MESSAGE_LINE.match(line)]
        fits = bool(text.record.match(records[0])) if records else bool(lines) and text is LACKEY_TEXT
        return Match.POSSIBLE if fits else Match.NONE

    return TraceReader(text.name, read, (f".{text.name}",), sniff, has_instructions=text.has_instructions)


READERS.add_reader(reader_of(LACKEY_TEXT))
READERS.add_reader(reader_of(DIN_TEXT))
READERS.add_reader(reader_of(PIN_TEXT))
