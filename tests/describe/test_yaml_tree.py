"""The YAML tree: values and places found in the text itself, PyYAML as an oracle, and hostile input."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.yaml import tree as yaml_tree
from simcodesign.describe.yaml.files import load_machine
from simcodesign.describe.yaml.tree import Entry, merged, nested, parse_yaml, read_yaml
from tests.hanging import no_hang


def read(text: str) -> Entry:
    return parse_yaml(text, "file.yaml")


def plain(entry: Entry) -> object:
    """Texts, lists and dicts without places."""
    match entry.content:
        case dict():
            return {key: plain(item) for key, item in entry.content.items()}
        case list():
            return [plain(item) for item in entry.content]
        case text:
            return text


def problem(text: str) -> InputError:
    with pytest.raises(InputError) as caught:
        read(text)
    return caught.value


def at(entry: Entry, *steps: str | int) -> Entry:
    for step in steps:
        entry = entry.mapping()[step] if isinstance(step, str) else entry.sequence()[step]
    return entry


# --- Values ------------------------------------------------------------------------------------------------


NUMBERS = [
    ("1e9", 1e9),
    ("010", 10.0),
    ("0", 0.0),
    ("-0.5", -0.5),
    ("+3", 3.0),
    (".5", 0.5),
    ("5.", 5.0),
    ("1.5E-3", 0.0015),
    ("1e+2", 100.0),
    ("1e-400", 0.0),
]


@pytest.mark.parametrize(("text", "value"), NUMBERS)
def test_numbers_follow_yaml_1_2(text: str, value: float) -> None:
    assert at(read(f"x: {text}"), "x").number() == value


@pytest.mark.parametrize(
    "text",
    [
        "no",
        "yes",
        "on",
        ".inf",
        "-.inf",
        ".nan",
        "nan",
        "inf",
        "0x10",
        "0o7",
        "0b1",
        "1_000",
        "12:30",
        "1e400",
        "''",
        "",
        "~",
        "null",
        "true",
        "'12'",
        '"12"',
        "1 2",
        "1,000",
        "٣",
        "１２",
        "1e",
        "--1",
        "1.2.3",
        "[1]",
        "{a: 1}",
        "2026-01-01",
    ],
)
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(InputError, match=r"^file\.yaml:1: x: ") as caught:
        at(read(f"x: {text}"), "x").number()
    assert caught.value.place == Place("file.yaml", 1, "x")


@given(st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False))
def test_every_float_is_read_as_written(value: float) -> None:
    assert at(read(f"x: {value!r}"), "x").number() == value


@pytest.mark.parametrize("text", ["no", "on", "010", "0x10", "12:30", "1_000", "2026-01-01", "~", ".inf", "=", "<<"])
def test_a_scalar_stays_the_text_that_it_is(text: str) -> None:
    assert at(read(f"x: {text}"), "x").text() == text


@pytest.mark.parametrize("text", ["True", "yes", "1", "on", "TRUE", "[true]"])
def test_flags_are_true_and_false(text: str) -> None:
    assert at(read("x: true"), "x").flag() is True
    assert at(read("x: 'false'"), "x").flag() is False
    with pytest.raises(InputError):
        at(read(f"x: {text}"), "x").flag()


@pytest.mark.parametrize("text", ["2.5", "-1", "1e10", "2147483648", "1e300", "11"])
def test_whole_numbers_have_limits(text: str) -> None:
    assert at(read("x: 1e1"), "x").whole(high=10) == 10
    with pytest.raises(InputError, match="0 to 10"):
        at(read(f"x: {text}"), "x").whole(high=10)


@pytest.mark.parametrize("text", ["''", '"a\\nb"', '"\\e[31m"', "x" * 101, "[]", "{}"])
def test_names_can_be_printed(text: str) -> None:
    assert at(read("x: Ein Name / 2"), "x").name() == "Ein Name / 2"
    with pytest.raises(InputError):
        at(read(f"x: {text}"), "x").name()


def test_quantities_and_expressions_know_their_place() -> None:
    entry = read("a:\n  b: 20 us\n  c: 2*n +")
    assert at(entry, "a", "b").quantity("time") == 20e-6
    with pytest.raises(InputError, match=r"^file\.yaml:2: a\.b: .*'us' is a unit of time"):
        at(entry, "a", "b").quantity("bandwidth")
    with pytest.raises(InputError, match=r"^file\.yaml:3: a\.c: "):
        at(entry, "a", "c").expression()


def test_choices_suggest_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'torus'"):
        at(read("x: torsu"), "x").text(("mesh", "torus"))
    with pytest.raises(InputError, match=r"unknown key, got 'nods': did you mean 'nodes'"):
        read("nods: 1").mapping(("nodes", "name"))
    with pytest.raises(InputError, match="'name' is missing"):
        read("nodes: 1").mapping(("nodes", "name"), ("name",))


@pytest.mark.parametrize(
    ("text", "kinds"), [("x: 1", "text"), ("x: [1]", "sequence"), ("x: {a: 1}", "mapping"), ("x:", "text")]
)
def test_only_the_kind_that_stands_there(text: str, kinds: str) -> None:
    entry = at(read(text), "x")
    for kind in ("text", "sequence", "mapping"):
        if kind == kinds:
            getattr(entry, kind)()
        else:
            with pytest.raises(InputError):
                getattr(entry, kind)()


# --- Structure: PyYAML's base loader reads scalars as texts too ----------------------------------------------

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Co", "Cn", "Zl", "Zp"]), max_size=8)
KEYS = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=3)
#: Of these keys, the numbers of items that a mapping may change in a sequence.
ITEM_NUMBERS = {str(number) for number in range(1, 1000)}
TREES = st.recursive(
    TEXTS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


@given(TREES, st.booleans())
def test_structure_as_pyyaml_reads_it(tree: object, flow: bool) -> None:
    text = yaml.safe_dump({"root": tree}, default_flow_style=flow, allow_unicode=True)
    assume("&id" not in text)
    assert plain(read(text)) == yaml.load(text, Loader=yaml.BaseLoader) == {"root": tree}


@given(st.text(st.sampled_from("ab:-[]{},&*!|>'\"#%@`?~ \n\t0\\<="), max_size=30))
def test_any_text_is_read_like_pyyaml_or_refused(text: str) -> None:
    try:
        tree = plain(read(text))
    except InputError:
        return
    assert tree == yaml.load(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))


@given(st.binary(max_size=200))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.yaml"
    path.write_bytes(data)
    try:
        read_yaml(path)
    except InputError as error:
        assert str(error).startswith(str(path))  # noqa: PT017 - most bytes are refused, some may be read


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_endings_and_byte_order_mark(ending: str, tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_bytes(("\ufeff" + ending.join(["a: 1", "b:", "  - 2", "  - 3"])).encode())
    entry = read_yaml(path)
    assert plain(entry) == {"a": "1", "b": ["2", "3"]}
    assert at(entry, "b", 1).place == Place(str(path), 4, "b[1]")


# --- Places ------------------------------------------------------------------------------------------------

DOCUMENT = """\
# a comment
name: x

network:
  topology: {kind: mesh,
             shape: [2,
                     3]}
  startup:
    20 us
program:
  - phase: a
    do:
      - compute: >
          1 +
          2
      -
        send: 3
"""
LINES = [
    (("name",), "name", "name: x"),
    (("network",), "network", "network:"),
    (("network", "topology", "shape"), "network.topology.shape", "shape:"),
    (("network", "topology", "shape", 1), "network.topology.shape[1]", "3]"),
    (("network", "startup"), "network.startup", "startup:"),
    (("program", 0), "program[0]", "- phase"),
    (("program", 0, "do", 0, "compute"), "program[0].do[0].compute", "compute:"),
    (("program", 0, "do", 1), "program[0].do[1]", "send:"),
    (("program", 0, "do", 1, "send"), "program[0].do[1].send", "send:"),
]


@pytest.mark.parametrize(("steps", "path", "marker"), LINES)
def test_places_are_found_in_the_text(steps: tuple[str | int, ...], path: str, marker: str) -> None:
    line = next(number for number, text in enumerate(DOCUMENT.split("\n"), 1) if marker in text)
    assert at(read(DOCUMENT), *steps).place == Place("file.yaml", line, path)


@given(st.lists(st.sampled_from(["", "# comment", "k: 1", "k: [1,\n 2]", "k:\n  a: 1", "k: |\n  x\n  y"]), max_size=12))
def test_the_line_of_every_key(parts: list[str]) -> None:
    text = "\n".join(part.replace("k:", f"k{number}:") for number, part in enumerate(parts)) + "\nlast: 1\n"
    for key, entry in read(text).mapping().items():
        assert text.split("\n")[(entry.place.line or 0) - 1].startswith(f"{key}:")


def test_an_unknown_key_is_named_on_its_own_line() -> None:
    entry = read("name: x\nprocesor:\n  # the rate\n  rate: 1\n")
    with pytest.raises(InputError, match=r"^file\.yaml:2: procesor: unknown key"):
        entry.mapping(("name", "processor"))


# --- What is refused, and where ------------------------------------------------------------------------------

REFUSED = [
    ("a: 1\nb: &x 2", 2, "anchors are not allowed"),
    ("a: 1\nb: *x", 2, "aliases are not allowed"),
    ("a: &x {b: 1}\nc:\n  <<: *x", 1, "anchors are not allowed"),
    ("a: 1\nb: !!int 2", 2, "tags are not allowed"),
    ("a: !!python/object/apply:os.system ['true']", 1, "tags are not allowed"),
    ("!x\na: 1", 1, "tags are not allowed"),
    ("a: ! 1", 1, "tags are not allowed"),
    ("a: 1\nb: 2\na: 3", 3, "duplicate key, got 'a'"),
    ("a: 1\n'a': 3", 2, "duplicate key"),
    ("a: 1\n---\nb: 2", 2, "only one document"),
    ("a: 1\n...\n---\n", 3, "only one document"),
    ("", None, "nothing in it"),
    ("# only a comment\n", None, "nothing in it"),
    ("a:\n\tb: 1", 2, "a tab"),
    ("a: 1\n\t- b: 1", 2, "not YAML"),
    ("a: [1, 2\nb: 3", 2, "not YAML"),
    ("a: 'x\nb: 3", 2, "not YAML"),
    ("a: b: c", 1, "not YAML"),
    ("a: @x", 1, "not YAML"),
    ("a: 1\nb: \0", 2, "control character"),
    ("a: 1\n\nb: \x1b[31m", 3, "control character"),
    ("a: \ud800", 1, "control character"),
    ('a: "\\uD800"', 1, "not YAML"),
    ("%YAML 3.0\n---\na: 1", 1, "not YAML"),
    ("[a]: 1", 1, "a key must be a single name"),
    ("? {a: 1}\n: 1", 1, "a key must be a single name"),
    ("'': 1", 1, "not a name"),
    ("a: 1\n? " + "x" * 101 + "\n: 1", 2, "not a name"),
    ('"a\\nb": 1', 1, "not a name"),
]


@pytest.mark.parametrize(("text", "line", "what"), REFUSED)
def test_refused(text: str, line: int | None, what: str) -> None:
    error = problem(text)
    assert what in str(error)
    assert error.place is not None
    assert error.place.line == line
    assert error.place.file == "file.yaml"


LONG = yaml_tree.MAX_BYTES - 10
BOMBS = {
    "brackets": "[" * 100_000,
    "braces": "{" * 100_000,
    "dashes": "- " * 100_000,
    "keys of keys": "? " * 100_000,
    "closed brackets": "[" * 100_000 + "]" * 100_000,
    "nested in lines": "\n".join(" " * depth + "a:" for depth in range(1000)),
    "many items": "[" + "a," * (LONG // 2) + "]",
    "many sequences": "[" + "[]," * (LONG // 3) + "]",
    "many keys": "\n".join(f"k{number}: 1" for number in range(LONG // 12)),
    "unclosed quote": "a: '" + "x" * LONG,
    "one long key": "? " + "x" * LONG + "\n: 1",
    "laughs": "a: &a [x]\n" + "\n".join(f"{k}: &{k} [*a,*a,*a,*a,*a,*a]" for k in "bcdefghij"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_at_once(name: str) -> None:
    with no_hang():
        error = problem(BOMBS[name])
    assert len(str(error)) < 1000


@pytest.mark.thorough
def test_as_much_as_is_allowed_is_quick() -> None:
    with no_hang():
        entry = read("\n".join(f"k{number}: 1" for number in range(yaml_tree.MAX_ENTRIES // 2 - 10)))
    assert len(entry.mapping()) == yaml_tree.MAX_ENTRIES // 2 - 10


def test_a_long_number_is_no_trouble() -> None:
    with no_hang(), pytest.raises(InputError, match="too large") as caught:
        at(read("x: " + "1" * 1_000_000), "x").number()
    assert len(str(caught.value)) < 200


# --- Files -------------------------------------------------------------------------------------------------


def unreadable(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_yaml(path)
    return str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert unreadable(tmp_path / "none.yaml") == f"{tmp_path}/none.yaml: cannot be read: No such file or directory"
    assert unreadable(tmp_path).endswith("cannot be read: it is a folder, not a regular file")
    assert "cannot be read" in unreadable(Path("a\0b.yaml"))
    assert "cannot be read" in unreadable(Path("\udc80.yaml"))
    assert "too long" in unreadable(tmp_path / ("x" * 300))
    assert len(unreadable(Path("x/" * 5000))) < 400


def test_devices_and_pipes_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    for path, kind in ((tmp_path / "pipe.yaml", "a pipe"), (Path("/dev/zero"), "a device")):
        assert unreadable(path).endswith(f"cannot be read: it is {kind}, not a regular file")


def test_large_and_binary_files(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"a: 1\n" * 4_000_000)
    assert "too large" in unreadable(path)
    path.write_bytes(b"a: 1\nb: \xff\xfe")
    assert unreadable(path).startswith(f"{path}:2: not UTF-8")
    path.write_bytes("a: 1".encode("utf-16"))
    assert unreadable(path).startswith(f"{path}:1: not UTF-8")
    path.write_bytes(bytes(range(128)))
    assert "control character" in unreadable(path)


# --- Laying one tree over another -----------------------------------------------------------------------------


def test_merging_keeps_what_is_not_changed() -> None:
    base = read("a: 1\nb: {c: 2, d: [1, 2], e: {f: 3}}")
    change = read("b: {d: [9], e: {g: 4}}\nh: 5")
    expected = {"a": "1", "b": {"c": "2", "d": ["9"], "e": {"f": "3", "g": "4"}}, "h": "5"}
    assert plain(merged(base, change)) == expected
    assert plain(base) == {"a": "1", "b": {"c": "2", "d": ["1", "2"], "e": {"f": "3"}}}


@given(TREES, TREES)
def test_merging_is_the_recursive_update(first: object, second: object) -> None:
    def update(old: object, new: object) -> object:
        if isinstance(old, list) and isinstance(new, dict) and new and all(key in ITEM_NUMBERS for key in new):
            if max(map(int, new)) > len(old):
                raise IndexError
            return [update(item, new[str(n)]) if str(n) in new else item for n, item in enumerate(old, 1)]
        if not isinstance(old, dict) or not isinstance(new, dict):
            return new
        return old | {key: update(old[key], value) if key in old else value for key, value in new.items()}

    base, change = (read(yaml.safe_dump({"root": tree}, allow_unicode=True)) for tree in (first, second))
    try:
        expected = update({"root": first}, {"root": second})
    except IndexError:
        with pytest.raises(InputError, match="not the number of an item"):
            merged(base, change)
    else:
        assert plain(merged(base, change)) == expected


def test_another_kind_replaces_the_whole() -> None:
    base = read("topology: {kind: mesh, shape: [2, 2]}")
    assert plain(merged(base, read("topology: {kind: bus}"))) == {"topology": {"kind": "bus"}}
    same = {"topology": {"kind": "mesh", "shape": ["2", "2"], "dims": "2"}}
    assert plain(merged(base, read("topology: {kind: mesh, dims: 2}"))) == same
    assert plain(merged(base, read("topology: {shape: [4, 1]}"))) == {"topology": {"kind": "mesh", "shape": ["4", "1"]}}


def test_the_other_name_of_a_key_is_replaced() -> None:
    other = {"bandwidth": "per_byte", "per_byte": "bandwidth"}
    assert plain(merged(read("{bandwidth: 1, a: 2}"), read("per_byte: 3"), other)) == {"a": "2", "per_byte": "3"}
    both = {"bandwidth": "1", "per_byte": "3"}
    assert plain(merged(read("bandwidth: 9"), read("{bandwidth: 1, per_byte: 3}"), other)) == both


def test_changed_values_keep_their_own_places() -> None:
    both = merged(parse_yaml("a: 1\nb: {c: 2}", "base"), parse_yaml("\n\nb: {d: 3}", "change"))
    assert at(both, "b", "c").place == Place("base", 2, "b.c")
    assert at(both, "b", "d").place == Place("change", 3, "b.d")


# --- Dotted paths --------------------------------------------------------------------------------------------


def test_dotted_paths_nest() -> None:
    values = {
        "a.b": 4,
        "a.c.d": [4, 4],
        "e": "20 us",
        "f": "[1, 2]",
        "g": (2, 3),
        "h": np.array([1.5, 2]),
        "i": np.int64(7),
        "j": {"kind": "bus"},
        "k": True,
        "l": 1e-5,
        "m": "{x: 1}",
    }
    assert plain(nested(values, "set")) == {
        "a": {"b": "4", "c": {"d": ["4", "4"]}},
        "e": "20 us",
        "f": ["1", "2"],
        "g": ["2", "3"],
        "h": ["1.5", "2.0"],
        "i": "7",
        "j": {"kind": "bus"},
        "k": "true",
        "l": "1e-05",
        "m": {"x": "1"},
    }
    assert at(nested(values, "set"), "a", "c", "d").place == Place("set", None, "a.c.d")


@pytest.mark.parametrize(
    "values",
    [
        {"a": 1, "a.b": 2},
        {"a.b": 2, "a": {"c": 1}},
        {"a": {"c": 1}, "a.c": 1},
        {"a": object()},
        {"a": ""},
        {"a": "[1"},
        {"a": "\ud800"},
        {"a." * 45 + "a": 1},
        {"a": b"x"},
        {"a": {1, 2}},
        {"a": "&x 1"},
    ],
)
def test_changes_that_make_no_sense(values: dict[str, object]) -> None:
    with pytest.raises(InputError, match="set: a"):
        nested(values, "set")


@given(st.floats(allow_subnormal=False))
def test_changes_keep_every_digit(value: float) -> None:
    entry = at(nested({"a.b": value}, "set"), "a", "b")
    if math.isfinite(value):
        assert entry.number() == value
    else:
        with pytest.raises(InputError):
            entry.number()


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_change_is_read_or_refused(path: str, value: str) -> None:
    try:
        entry = nested({path: value}, "set")
    except InputError as error:
        assert str(error).isprintable() or value  # noqa: PT017 - not every change is wrong
    else:
        assert isinstance(entry.content, dict)


def test_a_number_in_place_of_a_mapping_is_answered_with_its_keys() -> None:
    """``--set background=0.3`` means ``background.load``."""
    with pytest.raises(InputError, match=r"set: background: must be a mapping .*e\.g\. background\.load"):
        load_machine("torus-cluster", {"background": "0.3"})
