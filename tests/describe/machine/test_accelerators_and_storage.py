"""Accelerators and storage in files: what is read, and what is refused where."""

from __future__ import annotations

import pytest

from simcodesign.core.errors import InputError
from simcodesign.describe.demands.computation import Copy, Kernel
from simcodesign.describe.demands.disk_access import DiskAccess, MetadataOperations, StorageAccess
from simcodesign.describe.machine_parts.accelerator import Accelerator
from simcodesign.describe.machine_parts.storage import Storage
from tests.builders import read_machine, workload

BARE = """\
simcodesign: 1
name: m
nodes: 4
processors_per_node: 6
processor: {rate: 1 GFLOP/s}
network: {topology: {kind: crossbar}, startup: 1 us, bandwidth: 1 GB/s}
"""


def test_an_accelerator_is_read() -> None:
    text = "{count: 4, rate: 2 TFLOP/s, memory: {bandwidth: 500 GB/s}, link: {bandwidth: 10 GB/s, duplex: half}}"
    found = read_machine(f"{BARE}accelerator: {text}\n").accelerator
    assert found == Accelerator(4, 2e12, memory_per_byte_s=2e-12, link_per_byte_s=1e-10, is_full_duplex=False)


def test_storage_is_read() -> None:
    text = "{servers: 8, stripe: 1 MiB, stripe_count: all, bandwidth: 1 GB/s, metadata_rate: 20 kop/s}"
    found = read_machine(f"{BARE}storage: {text}\n").storage
    assert found == Storage(8, 2**20, 1e-9, 8, metadata_rate_per_s=20_000.0)


def test_constants_are_by_path() -> None:
    on = read_machine(
        f"{BARE}accelerator: {{count: 1, rate: 1 TFLOP/s}}\nstorage: {{servers: 8, stripe: 1 B, bandwidth: 1 GB/s}}\n"
    )
    values = {"accelerator.rate": 2e12, "storage.metadata_rate": 5.0, "storage.write_per_byte": 2e-9}
    changed = on.with_constants(values)
    assert {path: changed.constants()[path] for path in values} == values
    assert "storage.write_per_byte" not in on.constants()


def test_demands_are_read() -> None:
    program = workload(
        "- compute: {on: accelerator, flops: 8}\n- compute: {on: processor, flops: 8}\n- copy: {to: host, bytes: 1}\n"
        "- read: {from: disk, bytes: 1}\n- read: {from: storage, bytes: 1}\n- metadata: {operations: 1}\n"
    ).program
    kinds = [type(step) for step in program]
    assert kinds[0] is Kernel
    assert kinds[2:] == [Copy, DiskAccess, StorageAccess, MetadataOperations]


@pytest.mark.parametrize(
    ("part", "match"),
    [
        ("accelerator: {count: 0, rate: 1 FLOP/s}", "m.yaml:7"),
        ("accelerator: {rate: 1 FLOP/s}", "count"),
        ("accelerator: {count: 1, rate: 0}", "accelerator.rate"),
        ("accelerator: {count: 1, rate: 1, memory: {bandwidth: 1, per_byte: 1}}", "given twice"),
        ("accelerator: {count: 1, rate: 1, link: {duplex: both}}", "half"),
        ("storage: {servers: 2, stripe: 1 B}", "bandwidth"),
        ("storage: {servers: 2, bandwidth: 1 B/s}", "stripe"),
        ("storage: {servers: 2, stripe: 1.5 B, bandwidth: 1 B/s}", "stripe"),
        ("storage: {servers: 2, stripe: 1 B, bandwidth: 1 B/s, stripe_count: 3}", "stripe_count"),
        ("storage: {servers: 2, stripe: 1 B, bandwidth: 1 B/s, metadata_rate: 0}", "metadata_rate"),
        ("storage: {servers: 2, stripe: 1 B, bandwidth: 1 B/s, allocation: even}", "round_robin"),
    ],
)
def test_machines_that_are_refused(part: str, match: str) -> None:
    with pytest.raises(InputError, match=match):
        read_machine(f"{BARE}{part}\n")


@pytest.mark.parametrize(
    ("demand", "match"),
    [
        ("compute: {on: accelerator}", "flops, bytes"),
        ("compute: {on: accelerator, seconds: 1, flops: 1}", "flops, bytes"),
        ("compute: {on: gpu, flops: 1}", "accelerator"),
        ("compute: {on: accelerator, instructions: 1}", "instructions"),
        ("copy: {to: disk, bytes: 1}", "host"),
        ("copy: {bytes: 1}", "to"),
        ("read: {to: storage, bytes: 1}", "from"),
        ("read: {from: tape, bytes: 1}", "storage"),
        ("write: {to: storage, bytes: 1, file: both}", "shared"),
        ("write: {bytes: 1, file: shared}", "file"),
        ("metadata: {files: 1}", "operations"),
    ],
)
def test_demands_that_are_refused(demand: str, match: str) -> None:
    with pytest.raises(InputError, match=match):
        workload(f"- {demand}\n")
