"""Chakra execution traces, as JSON and as messages of protobuf. All traces here are made by hand, and so is the encoding."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.core.result import Result
from simcodesign.describe.python_programs.recorded_operations import COLLECTIVE
from simcodesign.describe.recordings.chakra_nodes import COLLECTIVES, KINDS
from simcodesign.describe.recordings.readers.chakra_et import read_chakra_et
from simcodesign.describe.recordings.readers.chakra_json import read_chakra_json
from tests import examples
from tests.describe.recordings.test_builder import message_s

#: The nodes of a rank: number, kind, dependencies, microseconds, attributes.
Nodes = list[tuple[int, str, list[int], int, dict[str, Any]]]


def as_json(nodes: Nodes) -> bytes:
    """As chakra_jsonizer writes nodes: 64-bit numbers are texts, and the metadata come first."""
    objects: list[Any] = [{"attr": [{"name": "schema", "stringVal": "0.0.4"}]}]
    for number, kind, needs, duration_us, attributes in nodes:
        attr = [{"name": name, **_json_value(value)} for name, value in attributes.items()]
        deps = [str(one) for one in needs]
        objects.append(
            {"id": str(number), "type": kind, "dataDeps": deps, "durationMicros": str(duration_us), "attr": attr}
        )
    return "".join(json.dumps(one, indent=2) for one in objects).encode()


def _json_value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolVal": value}
    return {"stringVal": value} if isinstance(value, str) else {"int64Val": str(value)}


def varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first: 150 is 96 01, as protobuf's documentation has it."""
    number %= 2**64
    data = b""
    while number > 127:
        data += bytes([number % 128 + 128])
        number //= 128
    return data + bytes([number])


def whole(field: int, number: int) -> bytes:
    """A field that is a number."""
    return varint(field * 8) + varint(number)


def sized(field: int, data: bytes) -> bytes:
    """A field that is bytes."""
    return varint(field * 8 + 2) + varint(len(data)) + data


def as_et(nodes: Nodes) -> bytes:
    """As a file of Chakra; dependencies of even nodes are packed, those of odd ones are not."""
    messages = [sized(1, sized(1, b"schema") + sized(29, b"0.0.4"))]
    for number, kind, needs, duration_us, attributes in nodes:
        message = whole(1, number) + sized(2, b"some name") + whole(3, KINDS.index(kind)) + whole(7, duration_us)
        for field, part in ((4, needs[::2]), (5, needs[1::2])):
            if number % 2:
                message += b"".join(whole(field, one) for one in part)
            elif part:
                message += sized(field, b"".join(map(varint, part)))
        for name, value in attributes.items():
            message += sized(10, sized(1, name.encode()) + _et_value(value))
        messages.append(message)
    return b"".join(varint(len(message)) + message for message in messages)


def _et_value(value: Any) -> bytes:
    if isinstance(value, bool):
        return whole(27, value)
    return sized(29, value.encode()) if isinstance(value, str) else whole(9, value)


FORMATS: dict[str, Callable[[Nodes], bytes]] = {"json": as_json, "et": as_et}


def written(folder: Path, suffix: str, *ranks: Nodes) -> Path:
    """The file of rank 0."""
    for rank, nodes in enumerate(ranks):
        (folder / f"trace.{rank}.{suffix}").write_bytes(FORMATS[suffix](nodes))
    return folder / f"trace.0.{suffix}"


def simulated(folder: Path, suffix: str, *ranks: Nodes) -> Result:
    """On crossbar-16, as a file that a user names."""
    result: Result = sc.simulate(str(written(folder, suffix, *ranks)), "crossbar-16", effects="none")
    return result


pytestmark = pytest.mark.parametrize("suffix", list(FORMATS))
ALL_REDUCE = {"comm_type": 0, "comm_size": 1_000_000}


def test_a_message_after_computation(tmp_path: Path, suffix: str) -> None:
    """300 us, 1e6 operations at 1e9 a second, then 1 MB."""
    work: Nodes = [(1, "COMP_NODE", [], 300, {}), (2, "COMP_NODE", [1], 0, {"num_ops": 10**6})]
    sends: Nodes = [*work, (3, "COMM_SEND_NODE", [2, 1], 0, {"comm_dst": 1, "comm_size": 10**6, "comm_tag": 7})]
    receives: Nodes = [(9, "COMM_RECV_NODE", [], 0, {"comm_src": 0, "comm_size": 10**6, "comm_tag": 7})]
    makespan_s = simulated(tmp_path, suffix, sends, receives).makespan_s
    assert makespan_s == pytest.approx(1.3e-3 + message_s(1e6), rel=1e-12)


def test_collective_operations_go_on_beside_computation(tmp_path: Path, suffix: str) -> None:
    """Two ranks: node 3 may run beside the allreduce 2; node 4 needs both; node 5 needs nothing."""
    nodes: Nodes = [
        (1, "COMP_NODE", [], 1000, {}),
        (2, "COMM_COLL_NODE", [1], 0, ALL_REDUCE),
        (3, "COMP_NODE", [1], 4000, {}),
        (4, "COMP_NODE", [2, 3], 2000, {}),
        (5, "COMP_NODE", [], 500, {}),
    ]
    makespan_s = simulated(tmp_path, suffix, nodes, nodes).makespan_s
    assert makespan_s == pytest.approx(1e-3 + message_s(1e6) + 2e-3, rel=1e-12)


def test_the_order_in_the_file_does_not_matter(tmp_path: Path, suffix: str) -> None:
    nodes: Nodes = [
        (7, "COMP_NODE", [5], 100, {}),
        (5, "COMM_COLL_NODE", [2], 0, ALL_REDUCE),
        (2, "COMP_NODE", [], 100, {}),
        (3, "METADATA_NODE", [], 0, {}),
    ]
    makespan_s = simulated(tmp_path, suffix, nodes, nodes).makespan_s
    assert makespan_s == pytest.approx(2e-4 + message_s(1e6), rel=1e-12)


@pytest.mark.parametrize("kind", range(len(COLLECTIVES)))
def test_sizes_of_collective_operations(tmp_path: Path, suffix: str, kind: int) -> None:
    """An all-to-all states what a rank sends to all; four ranks."""
    name = list(COLLECTIVES.values())[kind]
    nodes: Nodes = [(1, "COMM_COLL_NODE", [], 0, {"comm_type": kind, "comm_size": 4000, "root_rank": 2})]
    path = written(tmp_path, suffix, *[nodes] * 4)
    recording = {"json": read_chakra_json, "et": read_chakra_et}[suffix](path)
    (only,) = [one for one in recording.operations if one[0] == COLLECTIVE]
    size = {"all_to_all": 1000, "barrier": 0}.get(name, 4000)
    root = 2 if name in ("broadcast", "reduce", "gather", "scatter") else 0
    assert (only[1], only[2], only[4]) == (name, size, root)


def test_process_groups_are_the_ranks_that_use_their_name(tmp_path: Path, suffix: str) -> None:
    ranks: list[Nodes] = [
        [(1, "COMM_COLL_NODE", [], 0, {**ALL_REDUCE, "pg_name": f"group {rank // 2}"})] for rank in range(4)
    ]
    result = simulated(tmp_path, suffix, *ranks)
    assert result.messages == 4  # each of two pairs exchanges one
    assert result.makespan_s == pytest.approx(message_s(1e6), rel=1e-12)


def test_the_host_beside_a_device_takes_no_time(tmp_path: Path, suffix: str) -> None:
    host: Nodes = [(1, "COMP_NODE", [], 1000, {"is_cpu_op": True}), (2, "COMP_NODE", [1], 500, {"is_cpu_op": True})]
    device: Nodes = [host[0], (2, "COMP_NODE", [1], 500, {"is_cpu_op": False})]
    assert simulated(tmp_path, suffix, host).makespan_s == pytest.approx(1.5e-3, rel=1e-12)
    assert simulated(tmp_path, suffix, device).makespan_s == pytest.approx(0.5e-3, rel=1e-12)


ERRORS: list[Nodes] = [
    [(1, "COMP_NODE", [2], 1, {}), (2, "COMP_NODE", [1], 1, {})],
    [(1, "COMP_NODE", [], 1, {}), (1, "COMP_NODE", [], 1, {})],
    [(1, "COMP_NODE", [3], 1, {})],
    [(1, "MEM_LOAD_NODE", [], 0, {"tensor_size": 8})],
    [(1, "COMM_COLL_NODE", [], 0, {"comm_type": 99, "comm_size": 8})],
    [(1, "COMM_COLL_NODE", [], 0, {"comm_size": 8})],
    [(1, "COMM_SEND_NODE", [], 0, {"comm_size": 8})],
    [(1, "COMM_SEND_NODE", [], 0, {"comm_size": 8, "comm_dst": "x"})],
    [(1, "COMM_SEND_NODE", [], 0, {"comm_size": 8, "comm_dst": 4})],
    [(1, "COMM_RECV_NODE", [], 0, {"comm_size": 8, "comm_src": 0})],
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_name_the_file_and_the_node(tmp_path: Path, suffix: str, number: int) -> None:
    """The line of an object, or the number of a message; the metadata are the first. Rank 1 does nothing."""
    path = written(tmp_path, suffix, ERRORS[number], [])
    if number == len(ERRORS) - 1:  # the receive of a message to itself is none: of another rank, which sends none
        path = written(tmp_path, suffix, [], ERRORS[number])
        path = path.with_name(f"trace.1.{suffix}")
    with pytest.raises(InputError) as raised:
        sc.Workload.load(str(path))
    place = raised.value.place
    assert place is not None
    assert place.file == str(path)
    first = {"json": 8, "et": 2}[suffix]
    assert place.line is not None
    assert place.line >= first if len(ERRORS[number]) > 1 else place.line == first


def test_what_is_no_trace(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"trace.0.{suffix}"
    for data in {
        "json": [b'{"id": 1', b"[1]", b"[" * 10**5, b'{"a":' * 10**5, b"\xff", b""],
        "et": [b"\x05ab", b"\xff" * 12, b"\x00\x01\x0f"],
    }[suffix]:
        path.write_bytes(data)
        with pytest.raises(InputError):
            {"json": read_chakra_json, "et": read_chakra_et}[suffix](path)


@given(st.data())
@settings(max_examples=examples(300))
def test_any_damage_is_an_input_error_or_none(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, data: st.DataObject
) -> None:
    nodes: Nodes = [
        (1, "COMP_NODE", [], 300, {"num_ops": 5}),
        (2, "COMM_COLL_NODE", [1], 0, {**ALL_REDUCE, "pg_name": "a"}),
        (3, "MEM_STORE_NODE", [1, 2], 7, {}),
    ]
    content = bytearray(FORMATS[suffix](nodes))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / f"any.0.{suffix}"
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        recording = {"json": read_chakra_json, "et": read_chakra_et}[suffix](path)
    except InputError:
        return
    assert recording.ranks == 1


@given(st.lists(st.sampled_from([4, 5, 6, 7]), min_size=1, max_size=8), st.data())
@settings(max_examples=examples(100))
def test_any_graph_keeps_its_order(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, kinds: list[int], data: st.DataObject
) -> None:
    """Of one rank: an entry of a node comes after the ends of all that it depends on."""
    nodes: Nodes = []
    for number, kind in enumerate(kinds, start=1):
        needs = data.draw(st.lists(st.integers(1, number - 1), unique=True, max_size=3)) if number > 1 else []
        peer = {"comm_src": 0, "comm_dst": 0, "comm_size": 8, "comm_tag": number}
        nodes.append((number, KINDS[4] if kind < 7 else KINDS[7], needs, number, {**peer, "comm_type": 9}))
    recording = {"json": read_chakra_json, "et": read_chakra_et}[suffix](
        written(tmp_path_factory.getbasetemp(), suffix, nodes)
    )
    begins: dict[int, int] = {}
    ends: dict[int, int] = {}
    lines = sorted({*recording.line.tolist()})
    number_of = {line: place for place, line in enumerate(lines, start=1)}
    for entry, line in enumerate(recording.line.tolist()):
        number = number_of[line]
        begins.setdefault(number, entry)
        if not recording.started[entry]:
            ends[number] = entry
    for number, _, needs, _, _ in nodes:
        assert all(ends[one] < begins[number] for one in needs)


def test_numbers_of_all_types(tmp_path: Path, suffix: str) -> None:
    """Sizes as numbers of 4 and 8 bytes, and by zigzag: the bytes of protobuf's documentation, and floats."""
    if suffix == "json":
        values = [{"doubleVal": 8.0}, {"uint32_val": 8}, {"floatVal": 8}, {"int64Val": "8"}]
        texts = [
            json.dumps(
                [
                    {"attr": []},
                    {"id": 1, "type": 7, "attr": [{"name": "comm_size", **one}, {"name": "comm_type", "int32Val": 5}]},
                ]
            ).encode()
            for one in values
        ]
    else:
        fields = [varint(3 * 8 + 1) + struct.pack("<d", 8), varint(5 * 8 + 5) + struct.pack("<f", 8), whole(17, 16)]
        fields += [varint(21 * 8 + 1) + struct.pack("<Q", 8), varint(23 * 8 + 5) + struct.pack("<i", 8)]
        kind = sized(10, sized(1, b"comm_type") + whole(7, 5))
        nodes = [whole(1, 1) + whole(3, 7) + kind + sized(10, sized(1, b"comm_size") + one) for one in fields]
        texts = [b"\x00" + varint(len(node)) + node for node in nodes]
    for text in texts:
        path = tmp_path / f"trace.0.{suffix}"
        path.write_bytes(text)
        recording = {"json": read_chakra_json, "et": read_chakra_et}[suffix](path)
        assert [one[1:3] for one in recording.operations] == [("broadcast", 8)]
