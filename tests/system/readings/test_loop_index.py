"""Loops with an index: both readings of a loop are those of the program in which its iterations are written out."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.formulas.model_text import model_texts
from simcodesign.analytic.requirements_per_process import requirements
from simcodesign.core.errors import InputError
from simcodesign.describe.design_point import bind
from simcodesign.describe.evaluated.useful_flops import useful_flops
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine.simulate import simulate
from simcodesign.generate.lower import make_plan
from tests import examples
from tests.builders import workload

HEAD = "parameters:\n  n: {default: 6}\n  r: {default: 0.5}\n  m: {default: 1000}\n"
#: Amounts that depend on k: polynomials, geometric terms, and others.
AMOUNTS = (
    "m*(k + 1)",
    "8*(n - k)*(n - k - 1)",
    "m*(k - 2)**2*k",
    "m*r**k",
    "m + 3*m*r**(n - k)",
    "m*2**(-k) + 7",
    "m*(k % 3)",
    "m*sqrt(k)",
    "where(k < 2, m, 5*m)",
    "m*k*r**k",
    "m",
)
STEPS = (
    "compute: {{flops: {0}}}",
    "compute: {{loops: [{{range: n - k, operations: {0}}}]}}",
    "compute: {{flops: {0}, when: rank == k % P}}",
    "broadcast: {{bytes: {0}}}",
    "allreduce: {{bytes: {0}}}",
    "allreduce: {{bytes: {0}, algorithm: ring}}",
    "all_to_all: {{bytes: {0}}}",
    "exchange: {{pattern: halo1d, bytes: {0}}}",
    "exchange: {{pattern: halo2d, bytes: [{0}, 8]}}",
    "send: {{to: (rank + 1) % P, bytes: {0}}}\n- receive: {{from: (rank - 1) % P}}",
    "send: {{to: (rank + k) % P, bytes: {0}, when: k % P > 0}}\n- receive: {{from: (rank - k) % P, when: k % P > 0}}",
    "write: {{bytes: {0}, times: k}}",
)
MACHINES = ("crossbar-16", "torus-cluster")


def body(steps: tuple[str, ...]) -> str:
    """Lines of steps."""
    return "".join(f"- {step}\n" for step in steps)


def indented(text: str) -> str:
    """The lines within a block."""
    return "".join(f"    {line}\n" for line in text.splitlines())


def with_index(steps: tuple[str, ...], repeat: str = "n") -> Workload:
    """A loop over k."""
    return workload(f"- repeat: {repeat}\n  index: k\n  do:\n{indented(body(steps))}", HEAD)


def written_out(steps: tuple[str, ...], times: int) -> Workload:
    """The same without an index, every iteration by itself."""
    program = "".join(re.sub(r"\bk\b", f"({k})", body(steps)) for k in range(times))
    return workload(program or "- compute: {flops: 0}\n", HEAD)


def some_steps() -> st.SearchStrategy[tuple[str, ...]]:
    """Steps whose amounts depend on k."""
    step = st.builds(lambda form, amount: form.format(f"'{amount}'"), st.sampled_from(STEPS), st.sampled_from(AMOUNTS))
    return st.lists(step, min_size=1, max_size=3).map(tuple)


def alike(one: object, other: object, relative: float) -> None:
    """Times, counts and messages of two results."""
    for name in ("makespan_s", "messages", "message_bytes", "flops", "disk_bytes"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=relative, err_msg=name)


@settings(max_examples=examples(40), deadline=None)
@given(some_steps(), st.integers(0, 9), st.sampled_from([0.25, 0.5, 1.0, 1.5]), st.sampled_from(MACHINES))
def test_the_forecast_is_the_sum_over_the_iterations(steps: tuple[str, ...], n: int, r: float, machine: str) -> None:
    given_ = {"P": 8, "n": n, "r": r}
    alike(forecast(with_index(steps), machine, given_), forecast(written_out(steps, n), machine, given_), 1e-12)


@settings(max_examples=examples(20), deadline=None)
@given(some_steps(), st.integers(0, 6), st.sampled_from(MACHINES), st.booleans())
def test_the_simulation_is_that_of_the_iterations_written_out(
    steps: tuple[str, ...], n: int, machine: str, shared: bool
) -> None:
    effects = ["links", "interfaces", "disks"] if shared else []
    one, other = (
        simulate(program, machine, {"P": 8, "n": n}, effects=effects)
        for program in (with_index(steps), written_out(steps, n))
    )
    assert one.makespan_s == other.makespan_s
    assert (one.messages, one.message_bytes) == (other.messages, other.message_bytes)
    assert one.flops == pytest.approx(other.flops, rel=1e-12)
    assert sum(step.time_s for step in one.demands) == pytest.approx(one.makespan_s, rel=1e-12)
    assert len(one.demands) == len(forecast(with_index(steps), machine, {"P": 8, "n": n}).demands)


def test_points_at_once_are_each_by_itself() -> None:
    steps = ("compute: {flops: 8*(n - k)**2}", "broadcast: {bytes: m*r**k}", "all_to_all: {bytes: m*sqrt(n - k - 1)}")
    n, r = np.array([0, 1, 4, 7]), np.array([[0.5], [2.0]])
    many = forecast(with_index(steps), "crossbar-16", {"P": 8, "n": n, "r": r})
    for row, ratio in enumerate(r[:, 0]):
        for column, count in enumerate(n):
            one = forecast(written_out(steps, count), "crossbar-16", {"P": 8, "n": int(count), "r": float(ratio)})
            assert many.makespan_s[row, column] == pytest.approx(one.makespan_s, rel=1e-12)
            assert many.message_bytes[row, column] == pytest.approx(one.message_bytes, rel=1e-12)


TRIANGLE = """- repeat: n
  index: i
  do:
    - compute: {flops: 1e6*(n - i)}
    - repeat: n - i - 1
      index: j
      do:
        - compute: {flops: 1e5*(n - i - j - 1)}
        - allreduce: {bytes: 8*(i + j)}
    - repeat: 2
      do: [barrier: {}]
"""


def triangle_written_out(n: int) -> Workload:
    lines = ""
    for i in range(n):
        lines += f"- compute: {{flops: 1e6*{n - i}}}\n"
        for j in range(n - i - 1):
            lines += f"- compute: {{flops: 1e5*{n - i - j - 1}}}\n- allreduce: {{bytes: {8 * (i + j)}}}\n"
        lines += "- barrier: {}\n- barrier: {}\n"
    return workload(lines, HEAD)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_triangular_loop(n: int) -> None:
    given_ = {"P": 8, "n": n}
    loop, rows = workload(TRIANGLE, HEAD), triangle_written_out(n)
    alike(forecast(loop, "crossbar-16", given_), forecast(rows, "crossbar-16", given_), 1e-12)
    assert simulate(loop, "crossbar-16", given_).makespan_s == simulate(rows, "crossbar-16", given_).makespan_s
    points = forecast(loop, "crossbar-16", {"P": 8, "n": np.array([n, n + 1])})
    assert points.makespan_s[0] == pytest.approx(forecast(rows, "crossbar-16", given_).makespan_s, rel=1e-12)


def test_requirements_bounds_and_useful_flops() -> None:
    steps = ("compute: {flops: 1e6*(k + 1)}", "allreduce: {bytes: 8*k**2}")
    one, other = with_index(steps), written_out(steps, 6)
    needs = [requirements(program, {"P": 8}) for program in (one, other)]
    assert (needs[0].flops, needs[0].sent_bytes) == pytest.approx((needs[1].flops, needs[1].sent_bytes), rel=1e-12)
    bounds = [forecast(program, "crossbar-16", {"P": 8}, bounds=True).bounds for program in (one, other)]
    assert bounds[0].upper_s == pytest.approx(bounds[1].upper_s, rel=1e-12)
    assert bounds[0].lower_s == pytest.approx(bounds[1].lower_s, rel=1e-12)
    useful = workload("- {repeat: n, index: k, useful_flops: k**2, do: [barrier: {}]}\n", HEAD)
    assert useful_flops(bind(useful, load_machine("crossbar-16"), {"n": 5})) == 30


def test_what_does_not_depend_on_the_index_is_lowered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from simcodesign.generate.demands.collective import CollectiveLowering

    written, write = [], CollectiveLowering.write
    monkeypatch.setattr(CollectiveLowering, "write", lambda *given: (written.append(given[1]), write(*given)))
    point = bind(with_index(("barrier: {}", "allreduce: {bytes: k}")), load_machine("crossbar-16"), {"P": 8})
    make_plan(point)
    assert sorted(demand.name for demand in written) == ["allreduce"] * 6 + ["barrier"]


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("- compute: {flops: k}\n- {repeat: 2, index: k, do: [compute: {flops: k}]}\n", "unknown name"),
        ("- {repeat: k, index: k, do: [compute: {flops: k}]}\n", "unknown name"),
        ("- {repeat: 2, index: n, do: [compute: {flops: 1}]}\n", "name of something else"),
        ("- {repeat: 2, index: P, do: [compute: {flops: 1}]}\n", "reserved"),
        ("- {repeat: 2, index: rank, do: [compute: {flops: 1}]}\n", "reserved"),
        ("- {repeat: 2, index: log2, do: [compute: {flops: 1}]}\n", "reserved"),
        ("- {index: k, do: [compute: {flops: 1}]}\n", "without 'repeat'"),
        ("- {repeat: 2, index: k, do: [{repeat: 2, index: k, do: [barrier: {}]}]}\n", "name of something else"),
    ],
)
def test_indices_that_cannot_be(program: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as error:
        workload(program, HEAD)
    assert "w.yaml:" in str(error.value)


def test_repeat_must_be_whole() -> None:
    program = with_index(("compute: {flops: k}",), "n/4")
    for reading in (forecast, simulate):
        with pytest.raises(InputError, match="whole repetitions"):
            reading(program, "crossbar-16", {"P": 4})
    with pytest.raises(InputError, match="negative"):
        forecast(with_index(("compute: {flops: k}",), "n - 7"), "crossbar-16", {"P": 4})


def test_models_of_requirements_do_not_name_the_index() -> None:
    program = with_index(("compute: {flops: k}",))
    assert "k" not in model_texts(program, {"n": 6.0, "r": 0.5, "m": 1000.0, "P": 8.0})["flops"].split()
