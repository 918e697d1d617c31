"""Lines as launchers, terminals and log collectors leave them: without their colours, times, hosts and ranks.

Colours of terminals are removed. Lines may begin with

- the rank that printed them: ``0: `` (srun -l), ``[0] `` (mpiexec -prepend-rank), ``[1,0]<stdout>:`` (mpirun
  --tag-output) or ``[prterun-host-42@1,0]<stdout>: `` (Open MPI 5);
- a host, file or process: ``n001: `` (pdsh, clush), ``run.out:`` (grep), ``(head, rank=0, pid=3808) `` (Ray),
  ``[pod/osu-0/main] `` (kubectl --prefix);
- a time: ``2026-11-29T10:00:00.123Z `` (kubectl --timestamps, logs of continuous integration);

or with two or three of these. The outputs of ranks and hosts interleave, so the lines of each are read one after
another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

Line = tuple[int, str]
"""The number of a line in its file, from 1, and its text."""
Begins = Callable[[str], bool]
"""Whether the output of a benchmark begins at a line."""

#: Control sequences of terminals (ECMA-48), and hyperlinks.
_CONTROLS = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-B])")
_STREAM = re.compile(
    r"(?:\w{3} \w{3} +\d+ [\d:.]+ \d{4} ?)?((?:\[[^\]\s]+\])*)<std(?:out|err|diag|in)>: ?"
)  # mpirun --tag-output, --timestamp-output
#: Prefixes that benchmarks and MPI libraries also print: see ``_pattern``.
_RANKS = (re.compile(r" *(\d+): ?"), re.compile(r"\[(\d+)\] ?"))
_TIME = re.compile(r"()\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?:? ")
#: Prefixes of any word, which count only if a benchmark begins behind one: then exactly this text is a prefix.
_SOURCE = re.compile(r"(\([^()]*\) ?|\[[^\]]*\] ?|[A-Za-z][\w./-]*: ?)")
_MOST_PREFIXES = 3


def without_colours(text: str) -> str:
    """Return the text without control sequences of terminals.

    >>> without_colours("\\x1b[1;32m# OSU MPI Latency Test v7.5\\x1b[0m")
    '# OSU MPI Latency Test v7.5'
    """
    return _CONTROLS.sub("", text) if "\x1b" in text else text


def by_rank(lines: Sequence[str], begins: Begins) -> list[Line]:
    """Return numbered lines without their prefixes: the lines of one rank or host after another's, in order of first.

    ``begins``: whether the output of a benchmark begins at a line, which distinguishes prefixes from what benchmarks
    print.
    """
    rest = [("", number, line) for number, line in enumerate(lines, 1)]
    for _ in range(_MOST_PREFIXES):
        texts = [line for _, _, line in rest]
        pattern, sources = _pattern(texts, begins), _sources(texts, begins)
        if pattern is None and not sources:
            break
        rest = [_without(one, pattern, sources) for one in rest]
    ranks: dict[str, list[Line]] = {}
    for rank, number, line in rest:
        ranks.setdefault(rank, []).append((number, line))
    return [line for part in ranks.values() for line in part]


def _without(
    line: tuple[str, int, str], pattern: re.Pattern[str] | None, sources: frozenset[str]
) -> tuple[str, int, str]:
    """Return a line without its first prefix, whose rank or host is added to its other ranks and hosts."""
    rank, number, text = line
    found = pattern.match(text) if pattern is not None else None
    if found is None:
        found = _SOURCE.match(text)
        if found is None or found[1].strip() not in sources:
            return line
    return f"{rank}\n{found[1].strip()}" if found[1] else rank, number, text[found.end() :]


def _pattern(lines: Sequence[str], begins: Begins) -> re.Pattern[str] | None:
    """Return the pattern of ranks or times that begin lines: a benchmark follows it, or half of the lines have it.

    Marks of streams are never anything else.
    """
    if any(map(_STREAM.match, lines)):
        return _STREAM
    some = [line for line in lines if line.strip()]
    for prefix in (*_RANKS, _TIME):
        behind = [line[found.end() :].strip() for line in some if (found := prefix.match(line))]
        is_half = bool(some) and 2 * len(behind) >= len(some)
        if is_half or any(map(begins, behind)):
            return prefix
    return None


def _sources(lines: Sequence[str], begins: Begins) -> frozenset[str]:
    """Return the hosts, files or processes that begin a line at which, without them, a benchmark begins."""
    found = ((line, _SOURCE.match(line)) for line in lines)
    return frozenset(
        match[1].strip()
        for line, match in found
        if match and not begins(line) and _begins_behind(line[match.end() :], begins)
    )


def _begins_behind(text: str, begins: Begins) -> bool:
    """Return whether a benchmark begins at a line, or behind a rank or a time."""
    behind = (found.end() for prefix in (_STREAM, *_RANKS, _TIME) if (found := prefix.match(text)))
    return any(begins(text[end:].strip()) for end in (0, *behind))
