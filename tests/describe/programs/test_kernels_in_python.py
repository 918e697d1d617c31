"""Kernels and copies of programs in Python: times by hand, equal to the same program in YAML, and errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.core.result import Result
from simcodesign.describe.recordings.file import write_recording
from tests.builders import read_machine, workload
from tests.engine.test_kernels import LINK, RATES, TIMES, machine

POWER = f"{RATES}, efficiency: 0.5, {LINK}, dynamic_power: 3 W"


def keywords_of(demand: str) -> dict[str, Any]:
    """The keywords of a kernel in YAML."""
    keywords: dict[str, Any] = yaml.safe_load(f"{{{demand}}}")
    return keywords


def program_of(*operations: Callable[[], Any]) -> sc.Workload:
    @sc.program
    def program(rank: int, size: int) -> Iterator[Any]:
        for operation in operations:
            yield operation()

    return program


def everything(load: sc.Workload, on: sc.Machine, ranks: int, effects: str = "all") -> list[Result]:
    """The forecasts as a sum and as the longest path, and the simulations by both engines."""
    forecasts = [sc.forecast(load, on, {"P": ranks}, longest_path=path) for path in (False, True)]
    return forecasts + [
        sc.simulate(load, on, {"P": ranks}, effects=effects, engine=engine) for engine in ("simpy", "compiled")
    ]


@pytest.mark.parametrize(("demand", "expected"), TIMES, ids=[demand for demand, _ in TIMES])
def test_both_readings_give_the_time_by_hand(demand: str, expected: Fraction) -> None:
    load = program_of(lambda: sc.rank.kernel(**keywords_of(demand)))
    for result in everything(load, machine(), 4):
        assert result.makespan_s == pytest.approx(float(expected), rel=1e-12)


def test_copies_take_latency_and_bytes() -> None:
    """Three times 3 s and 5 B at 1 B/s."""
    for to in ("accelerator", "host"):
        load = program_of(lambda to=to: sc.rank.copy(to, bytes=5, times=3))
        for result in everything(load, machine(POWER), 4):
            assert result.makespan_s == 24
            assert result.limits_s is not None
            assert result.limits_s["link"] == 4 * 24


MIXED = """
- kernel: {flops: 32, bytes: 40, type: bf16, times: 3}
- {phase: second, do: [{kernel: {gemm: [2, 3, 5], type: fp64}}, {compute: {flops: 2}}, {copy: {to: host, bytes: 5}}]}
- {phase: third, do: [{copy: {to: accelerator, bytes: 7}}, {kernel: {bytes: 4}}]}
"""


@sc.program
def mixed(rank: int, size: int) -> Iterator[Any]:
    yield sc.rank.kernel(flops=32, bytes=40, type="bf16", times=3)
    yield sc.rank.phase("second")
    yield sc.rank.kernel(gemm=(2, 3, 5), type="fp64")
    yield sc.rank.compute(flops=2)
    yield sc.rank.copy("host", bytes=5)
    yield sc.rank.phase("third")
    yield sc.rank.copy("accelerator", bytes=np.float64(7))
    yield sc.rank.kernel(bytes=np.int64(4))


@pytest.mark.parametrize("effects", ["none", "all"])
def test_a_program_is_the_same_as_in_yaml(effects: str) -> None:
    """Times by phase and component, what limits them, flops and energy."""
    pairs = zip(*(everything(load, machine(POWER), 3, effects) for load in (mixed, workload(MIXED))), strict=True)
    for number, (one, other) in enumerate(pairs):
        assert one.makespan_s == pytest.approx(other.makespan_s, rel=1e-12)
        assert one.phases.keys() == other.phases.keys()
        for phase, components in one.phases.items():
            assert components == pytest.approx(other.phases[phase], rel=1e-12)
        assert one.components == pytest.approx(other.components, rel=1e-12)
        assert one.limits_s == pytest.approx(other.limits_s, rel=1e-12)
        assert (one.flops, number, float(one.energy_j)) == pytest.approx((other.flops, number, float(other.energy_j)))


STARTED = """
- {start: {kernel: {flops: 64, type: bf16}}, as: first}
- {start: {copy: {to: host, bytes: 5}}, as: second}
- allreduce: {bytes: 2}
- compute: {flops: 4}
- wait: [first, second]
"""


@sc.program
def started(rank: int, size: int) -> Iterator[Any]:
    first = yield sc.rank.start(sc.rank.kernel(flops=64, type="bf16"))
    second = yield sc.rank.start(sc.rank.copy("host", bytes=5))
    yield sc.rank.world.allreduce(2)
    yield sc.rank.compute(flops=4)
    yield sc.rank.wait(first, second)


@pytest.mark.parametrize("accelerator", [POWER, f"{POWER}, interference: 0.25"])
@pytest.mark.parametrize("effects", ["none", "all"])
def test_what_is_started_goes_on_beside_the_rest_as_in_yaml(accelerator: str, effects: str) -> None:
    for one, other in zip(
        *(everything(load, machine(accelerator), 4, effects)[1:] for load in (started, workload(STARTED))), strict=True
    ):
        assert one.makespan_s == pytest.approx(other.makespan_s, rel=1e-12)
        assert one.limits_s == pytest.approx(other.limits_s, rel=1e-12)


def test_messages_slow_a_kernel_beside_them() -> None:
    """A kernel of 4 s is launched from 0 to 1 s. A message takes 1 s and 3 s for its bytes, and 0.25 of the kernel's
    rate: the 3 s beside it lose 0.75 s."""

    @sc.program
    def program(rank: int, size: int) -> Iterator[Any]:
        handle = yield sc.rank.start(sc.rank.kernel(flops=32, type="bf16"))
        if rank == 0:
            yield sc.rank.send(1, bytes=3)
        else:
            yield sc.rank.receive(0)
        yield sc.rank.wait(handle)

    on = machine(f"{RATES}, interference: 0.25")
    assert sc.simulate(program, on, {"P": 2}, effects="none").makespan_s == 1 + 4
    assert sc.simulate(program, on, {"P": 2}, effects="interference").makespan_s == 1 + 4 + 0.25 * 3
    assert sc.simulate(program, on, {"P": 2}).makespan_s == 1 + 4 + 0.25 * 3


def test_kernels_overlap_with_the_processor() -> None:
    """The longest of 8 + 1 s of a kernel, 7 s of the processor, and 3 + 5 s of a copy."""
    load = program_of(
        lambda: sc.rank.overlap(
            sc.rank.kernel(flops=32, type="bf16"), sc.rank.compute(flops=7), sc.rank.copy("host", bytes=5)
        )
    )
    for result in everything(load, machine(POWER), 2, "none"):
        assert result.makespan_s == 9


def test_ranks_that_share_an_accelerator_wait_for_each_other() -> None:
    on = read_machine(
        "simcodesign: 1\nname: m\nnodes: 1\nprocessors_per_node: 3\nprocessor: {rate: 1 FLOP/s}\n"
        "network: {topology: {kind: crossbar}, startup: 1 s, bandwidth: 1 B/s}\n"
        "accelerator: {count: 2, rates: {fp8: 4 FLOP/s}}\n"
    )
    load = program_of(lambda: sc.rank.kernel(flops=32, type="fp8"))
    assert sc.simulate(load, on, {"P": 3}, effects="none").makespan_s == 8
    assert sc.simulate(load, on, {"P": 3}, effects="accelerators").makespan_s == 16


PARTITIONS = (
    "partitions:\n- {name: new, nodes: 1, accelerator: {rates: {bf16: 16 FLOP/s}}}\n"
    "- {name: old, nodes: 1, accelerator: {efficiency: 0.25}}\n"
)


def test_each_rank_has_the_accelerator_of_its_partition() -> None:
    """Ranks 0 and 1 take 1 + 32 / (16 x 0.5) s, ranks 2 and 3 1 + 32 / (8 x 0.25) s; each r does r + 1 kernels."""

    @sc.program
    def program(rank: int, size: int) -> Iterator[Any]:
        for _ in range(rank + 1):
            yield sc.rank.kernel(flops=32, type="bf16")

    each_s = [5, 5, 17, 17]
    for result in everything(program, machine(head=PARTITIONS), 4):
        assert result.makespan_s == 4 * 17
        assert result.limits_s is not None
        assert result.limits_s["flops"] == sum((rank + 1) * (s - 1) for rank, s in enumerate(each_s))
        assert result.flops == 32 * (1 + 2 + 3 + 4)


def test_only_ranks_with_kernels_need_an_accelerator() -> None:
    on = read_machine(
        "simcodesign: 1\nname: m\nnodes: 2\nprocessors_per_node: 2\nprocessor: {rate: 1 FLOP/s}\n"
        "network: {topology: {kind: crossbar}, startup: 1 s, bandwidth: 1 B/s}\npartitions:\n"
        "- {name: new, nodes: 1, accelerator: {count: 2, launch: 1 s, rates: {bf16: 8 FLOP/s}}}\n"
        "- {name: old, nodes: 1}\n"
    )

    @sc.program
    def program(rank: int, size: int) -> Iterator[Any]:
        if rank < 2:
            yield sc.rank.kernel(flops=32, type="bf16")
        else:
            yield sc.rank.compute(flops=3)

    for result in everything(program, on, 4):
        assert result.makespan_s == 5
    load = program_of(lambda: sc.rank.kernel(flops=32, type="bf16"))
    for reading in (sc.forecast, sc.simulate):
        with pytest.raises(InputError, match="rank 2 uses an accelerator, which the nodes of its partition have not"):
            reading(load, on, {"P": 4})


def test_a_forecast_of_several_points() -> None:
    @sc.program
    def program(rank: int, size: int, *, n: int = 32) -> Iterator[Any]:
        yield sc.rank.kernel(flops=n, type="bf16")
        yield sc.rank.compute(flops=n)

    found = sc.forecast(program, machine(), {"P": 2, "n": [32, 64]})
    np.testing.assert_allclose(found.makespan_s, [1 + 8 + 32, 1 + 16 + 64], rtol=1e-12)
    assert found.limits_s is not None
    np.testing.assert_allclose(found.limits_s["flops"], [16, 32], rtol=1e-12)
    np.testing.assert_allclose(found.flops, [128, 256], rtol=1e-12)


ERRORS = {
    "nothing": ("sc.rank.kernel(type='bf16')", "how much an accelerator is to compute"),
    "an unknown word": ("sc.rank.kernel(flop=1)", "flops"),
    "no number": ("sc.rank.kernel(flops='n')", "an amount of a program in Python"),
    "below 0": ("sc.rank.kernel(flops=-1)", "an amount of a program in Python"),
    "not finite": ("sc.rank.kernel(flops=float('inf'))", "an amount of a program in Python"),
    "two extents": ("sc.rank.kernel(gemm=(2, 3), type='bf16')", "2 extents"),
    "a shape without a type": ("sc.rank.kernel(gemm=(2, 3, 4))", "gemm needs a type"),
    "no format": ("sc.rank.kernel(flops=1, type='bf15')", "bf16"),
    "random times": ("sc.rank.kernel(flops=1, varies='exponential')", "random draws belong to the simulation"),
    "a condition": ("sc.rank.kernel(flops=1, when='rank == 0')", "use `if` of Python"),
    "a copy to nowhere": ("sc.rank.copy('disk', 8)", "accelerator"),
    "no rate": ("sc.rank.kernel(flops=1, type='int8')", "type: fp64, type: bf16"),
    "no bandwidth of the link": ("sc.rank.copy('host', 8)", "bandwidth of accelerator.link"),
    "the accelerator twice": (
        "sc.rank.overlap(sc.rank.kernel(flops=1), sc.rank.kernel(flops=2))",
        "processor, memory, disk, accelerator and link",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_name_the_line(tmp_path: Path, name: str) -> None:
    call, message = ERRORS[name]
    path = tmp_path / "prog.py"
    path.write_text(f"import simcodesign as sc\n\n\n@sc.program\ndef p(rank, size):\n    yield {call}\n")
    for reading in (sc.simulate, sc.forecast):
        with pytest.raises(InputError) as error:
            reading(str(path), machine(), {"P": 2})
        assert "prog.py:6:" in str(error.value)
        assert message in str(error.value)


def test_a_machine_without_accelerators_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "prog.py"
    path.write_text(
        "import simcodesign as sc\n\n\n@sc.program\ndef p(rank, size):\n    yield sc.rank.kernel(flops=1)\n"
    )
    for reading in (sc.simulate, sc.forecast):
        with pytest.raises(InputError, match=r"prog\.py:6: this needs an accelerator, which torus-cluster has not"):
            reading(str(path), "torus-cluster", {"P": 2})


def test_a_recording_of_them_is_kept_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mixed.recording.npz"
    write_recording(mixed.program[0].recorded(3, {}), path)  # type: ignore[union-attr]
    one, other = (sc.simulate(load, machine(POWER), {"P": 3}) for load in (str(path), mixed))
    assert one.makespan_s == other.makespan_s
    with np.load(path) as parts:
        arrays = dict(parts)
    header = json.loads(arrays["simcodesign_recording"].tobytes())
    assert header["version"] == 2
    for wrong in (3, "{", "[" * 100_000, "[]", '{"flops": -1}'):
        header["operations"][0][2] = wrong
        arrays["simcodesign_recording"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
        np.savez_compressed(path, **arrays)
        with pytest.raises(InputError):
            sc.Workload.load(str(path))
