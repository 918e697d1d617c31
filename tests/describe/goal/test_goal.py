"""GOAL files: against a slow parser of regular expressions, round trips, and what is wrong with a file."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError, Place
from simcodesign.core.operation_kinds import COMPUTE, READ, RECEIVE, SEND
from simcodesign.describe.goal import errors, format
from simcodesign.describe.goal.format import read_goal, write_goal
from simcodesign.describe.goal.schedule import ANY, ANY_TAG, NONE, Schedule
from tests import ROOT

EXAMPLE = (
    "num_ranks 2\n"
    "rank 0 { l1: send 8b to 1 tag 3 cpu 0; l2: recv 8b from 1 tag 4 cpu 0 nic 0; l3: calc 100; l2 requires l1; l3 irequires l2 }\n"
    "rank 1 { recv 8b from 0 tag 3 cpu 0; send 8b to 0 tag 4 cpu 0 }\n"
)
ARRAYS = [field.name for field in fields(Schedule) if field.name not in ("name", "place")]
settings.register_profile("goal", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
FILES = settings.get_profile("goal")


def same(one: Schedule, other: Schedule) -> bool:
    pairs = [(getattr(one, name), getattr(other, name)) for name in ARRAYS]
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


def read(folder: Path, text: str | bytes) -> Schedule:
    path = folder / "a.goal"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_goal(path)


# A reader by regular expressions, written without looking at the scanner. It reads statements whose words and signs are
# one blank apart; ValueError for every other file.

TOKEN = re.compile(r"\w+|-1\b|[^ \t\r]", re.ASCII | re.DOTALL)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
BLOCK = r"rank (?P<rank>[0-9]+) \{ (?P<body>[^{}]*)\}[; ]*"
FILE = re.compile(rf"[; ]*num_ranks (?P<ranks>[0-9]+)(?P<blocks>[; ]*(?:{re.sub('[?]P<[a-z]+>', '?:', BLOCK)})*)[; ]*")
NAME = r"(?!(?:send|recv|calc|rank|num_ranks)\b)[A-Za-z_]\w*"
LABELLED = re.compile(rf"(?:({NAME}) : )?((?:send|recv|calc) .*)", re.ASCII)
MESSAGE = re.compile(
    r"(?:send (?P<send>[0-9]+) ?b ?to (?P<to>[0-9]+)|recv (?P<recv>[0-9]+) ?b ?from (?P<source>-1|[0-9]+))"
    r"(?P<attributes>(?: (?:tag -1|(?:tag|cpu|nic) [0-9]+))*)"
)
CALC = re.compile(r"calc ([0-9]+)(?: cpu ([0-9]+))?")
WAIT = re.compile(rf"({NAME}) (i?)requires ({NAME})", re.ASCII)
HUGE = 10**15  # bytes of a message, nanoseconds of a calc


def match_of(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    if match := pattern.fullmatch(text):
        return match
    raise ValueError(text)


def below(limit: int, number: str | int) -> int:
    if not int(number) < limit:
        raise ValueError(number)
    return int(number)


def slowly(text: str) -> Schedule:
    words = " ".join(TOKEN.findall(COMMENT.sub(" ", text))).replace("\n", ";")
    file = match_of(FILE, words)
    ranks = below(2**31, file["ranks"])
    blocks = [(below(ranks, block["rank"]), block["body"]) for block in re.finditer(BLOCK, file["blocks"])]
    if sorted(rank for rank, _ in blocks) != list(range(min(ranks, len(blocks) + 1))):
        raise ValueError("ranks")
    rows, first, waits = [], [0], []
    for _, body in sorted(blocks):
        labels, named = {}, []
        for statement in filter(None, (part.strip(" ") for part in body.split(";"))):
            if match := WAIT.fullmatch(statement):
                named.append(match)
                continue
            label, operation = match_of(LABELLED, statement).groups()
            if label in labels:
                raise ValueError(label)
            if label:
                labels[label] = len(rows)
            rows.append(row_of(operation, ranks))
        for match in named:
            if match[1] == match[3] or not {match[1], match[3]} <= labels.keys():
                raise ValueError(match)
        waits += [(labels[match[3]], labels[match[1]], bool(match[2])) for match in named]
        first.append(len(rows))
    return schedule_of(first, rows, waits)


def row_of(operation: str, ranks: int) -> tuple[float, ...]:
    if operation.startswith("calc"):
        match = match_of(CALC, operation)
        return COMPUTE, NONE, 0, below(HUGE + 1, match[1]) / 1e9, 0, below(2**31, match[2] or 0), 0
    match = match_of(MESSAGE, operation)
    words = match["attributes"].split()
    given = dict(zip(words[::2], words[1::2], strict=True))
    tag = below(10**17, given.get("tag", 0)) % 2**32
    if len(words) > 2 * len(given) or (match["send"] and (given.get("tag") == "-1" or tag == 2**32 - 1)):
        raise ValueError(operation)
    tag = tag - 2**32 if tag >= 2**31 else tag
    kind, size, peer = (
        (SEND, match["send"], match["to"]) if match["send"] else (RECEIVE, match["recv"], match["source"])
    )
    cpu, nic = (below(2**31, given.get(name, 0)) for name in ("cpu", "nic"))
    return kind, ANY if peer == "-1" else below(ranks, peer), below(HUGE + 1, size), 0, tag, cpu, nic


def schedule_of(first: list[int], rows: list[tuple[float, ...]], waits: list[tuple[int, int, bool]]) -> Schedule:
    """A schedule from operations (kind, peer, size, calc, tag, cpu, nic) and (operation, one that waits, early)."""
    kind, peer, size, calc, tag, cpu, nic = (list(column) for column in zip(*rows, strict=True)) if rows else ([],) * 7
    edges = [[wait for wait in waits if wait[0] == operation] for operation in range(len(rows))]
    flat = [wait for some in edges for wait in some]
    return Schedule(
        name="a",
        first=np.array(first, np.int64),
        kind=np.array(kind, np.int8),
        peer=np.array(peer, np.int32),
        size_bytes=np.array(size, np.float64),
        calc_s=np.array(calc, np.float64),
        tag=np.array(tag, np.int32),
        cpu=np.array(cpu, np.int32),
        edge_start=np.cumsum([0, *(len(some) for some in edges)], dtype=np.int64),
        edge_target=np.array([wait[1] for wait in flat], np.int32),
        edge_early=np.array([wait[2] for wait in flat], np.bool_),
        place=Place(),
        nic=np.array(nic, np.int32),
    )


# Random texts.

BLANK = st.sampled_from([" ", " ", " ", "\t", "  ", " /* } ; requires\n rank 1 { */ ", "\r "])
BREAK = st.sampled_from(["\n", "\n", ";", ";;\n", " // a } ; l1 requires l2 /*\n", "\r\n\n", " /**/ ; \n\t"])
LABEL = st.one_of(
    st.integers(1, 30).map(lambda n: f"l{n}"),
    st.sampled_from(["a", "l", "l01", "l001", "sender", "r0op12", "op_1_x", "_", "x" * 12, "x" * 13, "rank0", "ranks"]),
)
NUMBER = st.one_of(st.integers(0, 20), st.integers(0, 10**15))


@st.composite
def operation(draw: st.DrawFn, ranks: int) -> str:
    blank = lambda: draw(BLANK)  # noqa: E731
    kind = draw(st.sampled_from(["calc", "send", "recv"]))
    cpu = f"cpu{blank()}{draw(st.integers(0, 9))}"
    if kind == "calc":
        return f"calc{blank()}{draw(NUMBER)}" + (blank() + cpu if draw(st.booleans()) else "")
    peer = str(draw(st.integers(0, ranks - 1)))
    tag = str(draw(st.one_of(st.integers(0, 9), st.integers(0, 2**32 - 2), st.just(2**33 + 7))))
    if kind == "recv":
        peer, tag = draw(st.sampled_from([peer, "-1"])), draw(st.sampled_from([tag, "-1"]))
    attributes = [f"tag{blank()}{tag}", cpu, f"nic{blank()}{draw(st.integers(0, 3))}"]
    some = draw(st.lists(st.sampled_from(attributes), unique=True))
    way = "to" if kind == "send" else "from"
    unit = draw(st.sampled_from(["b", " b"]))
    return blank().join([kind, f"{draw(NUMBER)}{unit}", way, peer, *some])


@st.composite
def body(draw: st.DrawFn, ranks: int) -> str:
    labels = draw(st.lists(LABEL, unique=True, max_size=8))
    colon = st.sampled_from([":", ": ", " :", " : "])
    statements = [f"{label}{draw(colon)}{draw(operation(ranks))}" for label in labels]
    statements += [draw(operation(ranks)) for _ in range(draw(st.integers(0, 3)))]
    if len(labels) > 1:
        pairs = st.lists(st.sampled_from(labels), min_size=2, max_size=2, unique=True)
        words = st.sampled_from(["requires", "irequires"])
        waits = draw(st.lists(pairs, max_size=12))
        statements += [draw(BLANK).join([one, draw(words), other]) for one, other in waits]
    statements = draw(st.permutations(statements))
    return "".join(statement + draw(BREAK) for statement in statements[:-1]) + "".join(statements[-1:])


@st.composite
def texts(draw: st.DrawFn) -> str:
    ranks = draw(st.integers(1, 4))
    parts = ["// made at random\n" if draw(st.booleans()) else "", f"num_ranks{draw(BLANK)}{ranks}{draw(BREAK)}"]
    parts += [
        f"rank{draw(BLANK)}{rank}{draw(BLANK)}{{{draw(body(ranks))}{draw(BLANK)}}}{draw(BREAK)}"
        for rank in draw(st.permutations(range(ranks)))
    ]
    return "".join(parts)


@settings(FILES)
@given(text=texts())
def test_reads_what_the_slow_reader_reads(tmp_path: Path, text: str) -> None:
    assert same(read(tmp_path, text), slowly(text))


# Random schedules: dependencies in circles included, which is the simulation's business.


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    ranks = draw(st.integers(1, 4))
    rows, first, waits = [], [0], []
    small = st.integers(0, 3)
    peer, size, time = st.integers(0, ranks - 1), st.integers(0, 10**15), st.integers(0, 10**15)
    tag = st.integers(-(2**31), 2**31 - 1)
    message = st.tuples(st.just(SEND), peer, size, st.just(0), tag.filter(lambda tag: tag != ANY_TAG), small, small)
    receive = st.tuples(st.just(RECEIVE), st.one_of(peer, st.just(ANY)), size, st.just(0), tag, small, small)
    calc = st.tuples(*map(st.just, (COMPUTE, NONE, 0)), time.map(lambda ns: ns / 1e9), st.just(0), small, st.just(0))
    for _ in range(ranks):
        rows += draw(st.lists(st.one_of(message, receive, calc), max_size=6))
        first.append(len(rows))
        if first[-1] - first[-2] > 1:
            own = st.integers(first[-2], first[-1] - 1)
            waits += draw(
                st.lists(st.tuples(own, own, st.booleans()).filter(lambda wait: wait[0] != wait[1]), max_size=8)
            )
    return schedule_of(first, rows, waits)


@settings(FILES)
@given(schedule=schedules(), piece=st.sampled_from([1, 5, 10**6]))
def test_reading_gives_what_was_written(tmp_path: Path, schedule: Schedule, piece: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(format, "_PIECE", piece)
        write_goal(schedule, tmp_path / "b.goal")
    assert same(read_goal(tmp_path / "b.goal"), schedule)
    assert same(slowly((tmp_path / "b.goal").read_text()), schedule)


@settings(FILES)
@given(schedule=schedules())
def test_what_is_written_has_labels_before_their_use_and_one_statement_a_line(
    tmp_path: Path, schedule: Schedule
) -> None:
    """As txt2bin wants it: no ;, no comment, attributes in their order."""
    write_goal(schedule, tmp_path / "b.goal")
    text = (tmp_path / "b.goal").read_text()
    allowed = re.compile(
        r"num_ranks \d+|rank \d+ \{|\}|l\d+: calc \d+( cpu \d+)?|"
        r"l\d+: (send \d+b to|recv \d+b from) (-1|\d+) tag (-1|\d+)( cpu \d+)?( nic \d+)?|l\d+ i?requires l\d+"
    )
    known: set[str] = set()
    for line in text.splitlines():
        assert allowed.fullmatch(line)
        if "requires" in line:
            assert {line.split()[0], line.split()[2]} <= known
        elif line.startswith("rank"):
            known = set()
        elif ":" in line:
            known.add(line.split(":")[0])


def test_the_example(tmp_path: Path) -> None:
    schedule = read(tmp_path, EXAMPLE)
    assert schedule.name == "a"
    assert schedule.place == Place(str(tmp_path / "a.goal"))
    assert (schedule.ranks, len(schedule)) == (2, 5)
    assert schedule.first.tolist() == [0, 3, 5]
    assert schedule.kind.tolist() == [SEND, RECEIVE, COMPUTE, RECEIVE, SEND]
    assert schedule.peer.tolist() == [1, 1, NONE, 0, 0]
    assert schedule.size_bytes.tolist() == [8, 8, 0, 8, 8]
    assert schedule.calc_s.tolist() == [0, 0, 1e-7, 0, 0]
    assert schedule.tag.tolist() == [3, 4, 0, 3, 4]
    assert schedule.edge_start.tolist() == [0, 1, 2, 2, 2, 2]
    assert schedule.edge_target.tolist() == [1, 2]
    assert schedule.edge_early.tolist() == [False, True]
    assert schedule.label(4) == "operation 2 of rank 1 (send)"


def test_byte_order_mark_and_windows_lines(tmp_path: Path) -> None:
    text = EXAMPLE.replace(";", "\n").replace("\n", "\r\n").encode()
    assert same(read(tmp_path, b"\xef\xbb\xbf" + text), read(tmp_path, EXAMPLE))


def test_circular_waiting_is_read(tmp_path: Path) -> None:
    schedule = read(tmp_path, "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 2\na requires b\nb requires a\n}")
    assert schedule.edge_target.tolist() == [1, 0]


def test_many_labels_of_several_kinds(tmp_path: Path) -> None:
    """Labels that count up from different stems must not slow the table down, nor be mistaken for each other."""
    labels = [f"{stem}{n}" for n in range(2000) for stem in ("l", "m", "send_", "x1y", "calc")]
    lines = [f"{label}: calc {n}" for n, label in enumerate(labels)]
    lines += [f"{one} requires {other}" for one, other in zip(labels, labels[7:], strict=False)]
    schedule = read(tmp_path, "num_ranks 1\nrank 0 {\n" + "\n".join(lines) + "\n}\n")
    assert np.array_equal(np.rint(schedule.calc_s * 1e9), np.arange(len(labels)))
    assert np.array_equal(schedule.edge_target, np.arange(len(labels) - 7))
    assert np.array_equal(np.diff(schedule.edge_start), np.arange(len(labels)) >= 7)


def test_times_and_sizes_are_rounded_to_whole_ones(tmp_path: Path) -> None:
    rows = [(COMPUTE, NONE, 0, 1.4e-9, 0, 0, 0), (SEND, 0, 2.6, 0, 0, 0, 0)]
    write_goal(schedule_of([0, 2], rows, []), tmp_path / "b.goal")
    assert "l1: calc 1\nl2: send 3b to 0 tag 0\n" in (tmp_path / "b.goal").read_text()


def test_too_large_to_write(tmp_path: Path) -> None:
    schedule = schedule_of([0, 1], [(COMPUTE, NONE, 0, 1.1e6, 0, 0, 0)], [])
    with pytest.raises(
        InputError, match=r"operation 1 of rank 0 \(calc\) is too large for GOAL, got 1100000000000000 "
    ):
        write_goal(schedule, tmp_path / "b.goal")


def test_c_numbers_kinds_and_errors_as_python_does() -> None:
    text = re.sub(
        r"/\*.*?\*/",
        "",
        (ROOT / "simcodesign" / "core" / "native" / "goal_scanner.c").read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    numbers = {}
    for names in re.findall(r"\benum \{([^}]*)\};", text):
        following = 0
        for name, value in re.findall(r"GOAL_(\w+)(?: = (-?\d+))?", names):
            numbers[name] = int(value or following)
            following = numbers[name] + 1
    numbers |= {name: int(value) for name, value in re.findall(r"\bGOAL_(MOST) = (\d+)", text)}
    kinds = {"NONE": NONE, "ANY": ANY, "COMPUTE": COMPUTE, "SEND": SEND, "RECEIVE": RECEIVE}
    codes = {name: value for name, value in vars(errors).items() if name.isupper() and isinstance(value, int)}
    assert numbers == kinds | {name: value for name, value in codes.items() if name != "MOST_INT"}


# What is wrong with a file: in EXAMPLE's place, its line, what the message says.

HEAD = "num_ranks 2\nrank 1 {\n}\nrank 0 {\n"
WRONG = [
    ("", 1, "begins with the number of its ranks, got 'end of file'"),
    ("rank 0 {\n}", 1, "begins with the number of its ranks, got 'rank'"),
    ("\n\nnum_ranks x", 3, "number of ranks, got 'x'"),
    ("num_ranks 0", 1, "number of ranks, got '0'"),
    ("num_ranks -1", 1, "number of ranks, got '-1'"),
    ("num_ranks", 1, "number of ranks, got 'end of file'"),
    ("num_ranks 2.5", 1, "number of ranks, got '2.5'"),
    ("num_ranks 2147483648", 1, "number of ranks, got '2147483648'"),
    ("num_ranks 1\n\nl1: calc 3", 3, "outside of a rank, got 'l1'"),
    ("num_ranks 1\nnum_ranks 1\nrank 0 {\n}", 2, "outside of a rank, got 'num_ranks' (allowed: rank NUMBER {)"),
    ("num_ranks 1\nrank 0 {\n}\n}", 4, "outside of a rank, got '}'"),
    ("num_ranks 1\nrank 1 {\n}", 2, "rank, got '1' (allowed: a whole number from 0 to 0)"),
    ("num_ranks 1\nrank zero {\n}", 2, "rank, got 'zero'"),
    ("num_ranks 1\nrank 0\ncalc 3\n}", 2, "{ is missing after the rank, got 'end of line'"),
    ("num_ranks 1\nrank 0 calc 3\n}", 2, "{ is missing after the rank, got 'calc'"),
    ("num_ranks 2\nrank 0 {\n}\nrank 0 {\n}\nrank 0 {\n}", 4, "rank given twice, got 0"),
    ("num_ranks 2\nrank 0 {\ncalc 3", 3, "} of rank 0 is missing, got 'end of file'"),
    ("num_ranks 2\nrank 1 {\ncalc 3\n\nrank 0 {\n}", 5, "} of rank 1 is missing, got 'rank'"),
    (HEAD + "\nsned 8b to 1\n}", 6, "unknown statement, got 'sned 8b to 1' (allowed: send, recv or calc,"),
    (HEAD + "l1 calc 8\n}", 5, "unknown statement, got 'l1 calc 8'"),
    (HEAD + "l1\n}", 5, "unknown statement, got 'l1'"),
    (HEAD + "1: calc 8\n}", 5, "unknown statement, got '1: calc 8'"),
    (HEAD + "# calc 8\n}", 5, "unknown statement, got '# calc 8'"),
    (HEAD + "{ calc 8 }\n}", 5, "unknown statement, got '{ calc 8'"),
    (HEAD + "\u00e4: calc 8\n}", 5, "unknown statement, got '\u00e4: calc 8'"),
    (HEAD + "l1: clac 8\n}", 5, "unknown operation, got 'clac': did you mean 'calc'?"),
    (HEAD + "l1:\n}", 5, "unknown operation, got 'end of line'"),
    (HEAD + "l1: calc 1\nl2: calc 1\nl1: calc 1\n}", 7, "label given twice in rank 0, got 'l1'"),
    (HEAD + "calc\n}", 5, "time of a calc, got 'end of line' (allowed: a whole number of nanoseconds from 0"),
    (HEAD + "calc -5\n}", 5, "time of a calc, got '-5'"),
    (HEAD + "calc 1.5\n}", 5, "time of a calc, got '1.5'"),
    (HEAD + "calc 1e5\n}", 5, "time of a calc, got '1e5'"),
    (HEAD + "calc 1000000000000001\n}", 5, "time of a calc, got '1000000000000001'"),
    (HEAD + f"calc {'9' * 50}\n}}", 5, f"time of a calc, got '{'9' * 50}'"),
    (HEAD + "send eightb to 1\n}", 5, "size of a message, got 'eightb'"),
    (HEAD + "send 8kb to 1\n}", 5, "size of a message, got '8kb'"),
    (HEAD + "send -8b to 1\n}", 5, "size of a message, got '-8b'"),
    (HEAD + "send: calc 8\n}", 5, "size of a message, got ':'"),
    (HEAD + "send 8 to 1\n}", 5, "b is missing after the size of a message, got 'to'"),
    (HEAD + "send 8b from 1\n}", 5, "to is missing, got 'from' (allowed: send SIZEb to RANK)"),
    (HEAD + "recv 8b to 1\n}", 5, "from is missing, got 'to'"),
    (HEAD + "recv 8bytes from 1\n}", 5, "from is missing, got 'ytes'"),
    (HEAD + "send 8b to 2\n}", 5, "rank at the other end of a message, got '2' (allowed: a whole number from 0 to 1,"),
    (HEAD + "send 8b to -1\n}", 5, "rank at the other end of a message, got '-1'"),
    (HEAD + "recv 8b from -2\n}", 5, "rank at the other end of a message, got '-2'"),
    (HEAD + "recv 8b from -10\n}", 5, "rank at the other end of a message, got '-10'"),
    (HEAD + "recv 8b from l1\n}", 5, "rank at the other end of a message, got 'l1'"),
    (
        HEAD + "send 8b to 1 tga 3\n}",
        5,
        "unknown attribute, got 'tga' (allowed: tag, cpu, nic of a message; cpu of a calc)",
    ),
    (HEAD + "calc 8 tag 3\n}", 5, "unknown attribute, got 'tag'"),
    (HEAD + "calc 8 nic 3\n}", 5, "unknown attribute, got 'nic'"),
    (HEAD + "calc 8b\n}", 5, "unknown attribute, got 'b'"),
    (HEAD + "send 8b to 1 cpu 0 tag 3 cpu 1\n}", 5, "attribute given twice, got 'cpu'"),
    (HEAD + "send 8b to 1 tag 0 tag 0\n}", 5, "attribute given twice, got 'tag'"),
    (HEAD + "send 8b to 1 tag x\n}", 5, "tag, got 'x'"),
    (HEAD + "send 8b to 1 tag -1\n}", 5, "tag, got '-1'"),
    (HEAD + "send 8b to 1 tag 4294967295\n}", 5, "tag, got '4294967295'"),
    (HEAD + "recv 8b from 1 tag -3\n}", 5, "tag, got '-3'"),
    (HEAD + f"recv 8b from 1 tag 1{'0' * 17}\n}}", 5, f"tag, got '1{'0' * 17}'"),
    (HEAD + "calc 8 cpu -1\n}", 5, "number of a processor or network interface, got '-1'"),
    (HEAD + "send 8b to 1 nic\n}", 5, "number of a processor or network interface, got 'end of line'"),
    (HEAD + "l1: calc 1\nl1 requires\n}", 6, "label of an operation is missing, got 'end of line'"),
    (HEAD + "l1: calc 1\nl1 requires 2\n}", 6, "label of an operation is missing, got '2'"),
    (HEAD + "l1: calc 1\nl1 requires l1\n}", 6, "an operation waits for itself, got 'l1'"),
    (HEAD + "l1: calc 1\nl1 requires l2\nl2 requires l1\n}", 6, "label that no operation of rank 0 has, got 'l2'"),
    (HEAD + "l1: calc 1\nl3 irequires l1\n}", 6, "label that no operation of rank 0 has, got 'l3'"),
    (HEAD + "l1: calc 1 2\n}", 5, "unknown attribute, got '2'"),
    (HEAD + "l1: calc 1 $\n}", 5, "end of the statement is missing, got '$'"),
    (HEAD + "l1: calc 1; l2: calc 2; l2 requires l1 l2\n}", 5, "end of the statement is missing, got 'l2'"),
    (HEAD + "l1: calc 1 {\n}", 5, "end of the statement is missing, got '{'"),
    (HEAD + "l1: calc 1 / 2\n}", 5, "end of the statement is missing, got '/'"),
    (HEAD + "l1: calc 1\n /* never\nclosed } \n", 6, "comment without an end (allowed: /* ... */)"),
]


@pytest.mark.parametrize(("text", "line", "what"), WRONG, ids=[what[:40] for _, _, what in WRONG])
def test_errors_name_the_line(tmp_path: Path, text: str, line: int, what: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"a.goal:{line}: ") + ".*" + re.escape(what)):
        read(tmp_path, text)


@pytest.mark.parametrize(("present", "missing"), [([1, 2], 0), ([0, 2], 1), ([1, 0], 2)])
def test_missing_rank(tmp_path: Path, present: list[int], missing: int) -> None:
    text = "num_ranks 3\n" + "".join(f"rank {rank} {{\n}}\n" for rank in present)
    with pytest.raises(InputError, match=rf"a.goal: rank is missing, got {missing} \(allowed: rank 0"):
        read(tmp_path, text)


def test_a_number_of_ranks_alone_takes_no_memory(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="rank is missing, got 0"):
        read(tmp_path, "num_ranks 2000000000\n")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.goal: cannot be read: No such file"):
        read_goal(tmp_path / "none.goal")
    with pytest.raises(InputError, match="cannot be read: it is a"):
        read_goal(tmp_path)


# Damaged files: an error, or a schedule.

PIECES = st.sampled_from(
    [
        "",
        " ",
        "\n",
        ";",
        "{",
        "}",
        ":",
        "/",
        "/*",
        "*/",
        "//",
        "-",
        "-1",
        "b",
        "0",
        "99999999999999999999",
        "l1",
        "rank",
        "rank 0 {",
        "num_ranks 3",
        "send",
        "recv 1b from 0",
        "calc",
        "calc 1",
        "requires",
        "l1 irequires l2",
        "tag",
        "cpu 1",
        "nic",
        "\0",
        "\u00e9",
    ]
)


def outcome(folder: Path, text: str) -> Schedule | str:
    try:
        return read(folder, text)
    except InputError as error:
        return str(error)


@settings(FILES)
@given(data=st.data(), text=texts())
def test_a_damaged_file_is_an_error_of_both_readers_or_one_schedule(
    tmp_path: Path, data: st.DataObject, text: str
) -> None:
    for _ in range(data.draw(st.integers(0, 2))):
        start = data.draw(st.integers(0, len(text)))
        text = text[:start] + data.draw(PIECES) + text[start + data.draw(st.integers(0, 9)) :]
    found = outcome(tmp_path, text)
    if isinstance(found, Schedule):
        assert same(found, slowly(text))
        write_goal(found, tmp_path / "again.goal")
        assert same(found, read_goal(tmp_path / "again.goal"))
    else:
        assert str(tmp_path) in found
        with pytest.raises(ValueError):  # noqa: PT011
            slowly(text)


@pytest.mark.parametrize("text", [EXAMPLE[:end] for end in range(0, len(EXAMPLE.rstrip()), 3)])
def test_a_file_that_is_cut_is_an_error(tmp_path: Path, text: str) -> None:
    assert isinstance(outcome(tmp_path, text), str)


# Schedules that do not fit together.

ROWS = [(SEND, 1, 8, 0, 3, 0, 0), (COMPUTE, NONE, 0, 1e-6, 0, 0, 0), (RECEIVE, 0, 8, 0, 3, 0, 0)]
UNFIT = [
    ("kind", [SEND, READ, RECEIVE], "kind of operation 2 of rank 0 (operation), got 3"),
    ("peer", [2, NONE, 0], "peer of operation 1 of rank 0 (send), got 2"),
    ("peer", [ANY, NONE, 0], "peer of operation 1 of rank 0 (send), got -2"),
    ("peer", [1, 0, 0], "peer of operation 2 of rank 0 (calc), got 0"),
    ("peer", [1, NONE, NONE], "peer of operation 1 of rank 1 (recv), got -1"),
    ("size_bytes", [-1.0, 0, 8], "size_bytes of operation 1 of rank 0 (send), got -1.0"),
    ("size_bytes", [8, 8.0, 8], "size_bytes of operation 2 of rank 0 (calc), got 8.0"),
    ("calc_s", [0, np.nan, 0], "calc_s of operation 2 of rank 0 (calc), got nan"),
    ("calc_s", [0, 0, 1.0], "calc_s of operation 1 of rank 1 (recv), got 1.0"),
    ("tag", [ANY_TAG, 0, 0], "tag of operation 1 of rank 0 (send), got -1"),
    ("tag", [3, 1, 3], "tag of operation 2 of rank 0 (calc), got 1"),
    ("cpu", [0, 0, -1], "cpu of operation 1 of rank 1 (recv), got -1"),
    ("nic", [0, 1, 0], "nic of operation 2 of rank 0 (calc), got 1"),
    ("peer", [1, NONE], "shape of peer, got (2,) (allowed: (3,))"),
    ("first", [0], "a schedule without ranks"),
    ("first", [0, 2, 4], "first does not rise from 0 to 3"),
    ("first", [0, 4, 3], "first does not rise from 0 to 3"),
    ("edge_start", [0, 1, 1], "length of edge_start, got 3 (allowed: 4)"),
    ("edge_start", [0, 2, 1, 1], "edge_start does not rise from 0 to 1"),
    ("edge_early", [], "edge_early and edge_target differ in length, got 0"),
    ("edge_target", [3], "an edge to an operation that does not exist (allowed: 0 to 2)"),
    ("edge_target", [0], "an operation waits for itself, got 'operation 1 of rank 0 (send)'"),
    ("edge_target", [2], "an operation waits for one of another rank, got 'operation 1 of rank 1 (recv)'"),
]


@pytest.mark.parametrize(("name", "values", "what"), UNFIT)
def test_arrays_that_do_not_fit_together(name: str, values: list[float], what: str) -> None:
    good = schedule_of([0, 2, 3], ROWS, [(0, 1, False)])
    parts = {field.name: getattr(good, field.name) for field in fields(Schedule)}
    parts[name] = np.array(values, parts[name].dtype)
    with pytest.raises(InputError, match=re.escape(what)):
        Schedule(**parts)


def test_network_interfaces_may_be_left_out() -> None:
    good = schedule_of([0, 2, 3], ROWS, [])
    parts = {field.name: getattr(good, field.name) for field in fields(Schedule) if field.name != "nic"}
    assert Schedule(**parts).nic.tolist() == [0, 0, 0]


def test_which_rank_operations_belong_to() -> None:
    schedule = schedule_of([0, 2, 2, 3], [*ROWS[:2], (RECEIVE, 0, 8, 0, 3, 0, 0)], [])
    assert schedule.rank_of(np.arange(3, dtype=np.int32)).tolist() == [0, 0, 2]
