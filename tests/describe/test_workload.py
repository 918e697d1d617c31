"""Workload files: parameters, equations, every step of a program, phases, and what is refused where."""

from __future__ import annotations

import itertools
import math
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import simcodesign as sc
from simcodesign.core.errors import InputError, Place
from simcodesign.describe.demands.collective import ALGORITHMS, ORDERS, Collective, every_algorithm
from simcodesign.describe.demands.computation import Compute
from simcodesign.describe.demands.disk_access import DiskAccess
from simcodesign.describe.demands.exchange import Exchange
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.programs.program import Block, Step, phase_name, walk
from simcodesign.report.results.workload_sheet import program_tree, workload_sheet
from tests.builders import read_workload, workload


def problem(text: str) -> InputError:
    with pytest.raises(InputError) as caught:
        read_workload(text)
    return caught.value


# --- Parameters, equations, presets ----------------------------------------------------------------------------

HEAD = """\
simcodesign: 1
name: toy
about: many things
source: none
imbalance: 10 %
parameters:
  n: {default: 1e3, unit: dof, about: size, range: [1, 1e6], origin: published}
  m: 8
  k: {default: 3, whole: true, range: [0, 5]}
  given: {about: no default}
  P: {default: 2, about: ranks}
equations:
  c: a + b
  a: n**2
  b: 2*a + P
presets:
  small: {n: 10, P: 1}
  large: {n: 1e6, k: 5}
program:
  - compute: {flops: c}
"""


def test_head() -> None:
    toy = read_workload(HEAD)
    assert (toy.name, toy.about, toy.source, toy.imbalance) == ("toy", "many things", "none", 0.1)
    n, k = toy.parameters["n"], toy.parameters["k"]
    assert (n.default, n.unit, n.about, n.low, n.high, n.whole, n.origin) == (
        1e3,
        "dof",
        "size",
        1,
        1e6,
        False,
        "published",
    )
    assert (k.default, k.low, k.high, k.whole) == (3, 0, 5, True)
    assert (toy.parameters["m"].default, toy.parameters["m"].high, toy.parameters["given"].default) == (
        8,
        math.inf,
        None,
    )
    assert (toy.parameters["P"].low, toy.parameters["P"].whole) == (1, True)
    assert toy.presets == {"small": {"n": 10, "P": 1}, "large": {"n": 1e6, "k": 5}}
    assert toy.equation_order == ("a", "b", "c")
    assert toy.parameters["k"].place == Place("w.yaml", 9, "parameters.k")


@pytest.mark.parametrize("order", list(itertools.permutations(["a: b + 1", "b: c*2", "c: n", "d: a + c"])))
def test_equations_in_any_order(order: tuple[str, ...]) -> None:
    text = "parameters: {n: 3}\nequations:\n" + "".join(f"  {line}\n" for line in order)
    placed = workload("- compute: {flops: d}", text).equation_order
    assert placed.index("c") < placed.index("b") < placed.index("a") < placed.index("d")


WRONG_HEAD = [
    ("simcodesign: 1", "simcodesign: 2", "simcodesign", "format version"),
    ("simcodesign: 1", "simcodesign: no", "simcodesign", "a number"),
    ("name: toy", 'name: "a\\tb"', "name", "not a name"),
    ("about: many things", "extends: other", "extends", "unknown key"),
    ("imbalance: 10 %", "imbalance: 10 s", "imbalance", "unit of time"),
    ("  m: 8", "  m: 08x", "parameters.m", "a number"),
    ("  m: 8", "  m: no", "parameters.m", "a number"),
    ("  m: 8", "  m: 0x10", "parameters.m", "a number"),
    ("  m: 8", "  m: 12:30", "parameters.m", "a number"),
    ("  m: 8", "  m: 1_000", "parameters.m", "a number"),
    ("  m: 8", "  m: .nan", "parameters.m", "a number"),
    ("  m: 8", "  m: [8]", "parameters.m", "must be a mapping"),
    ("  m: 8", "  n: 8", "parameters", "duplicate key"),
    ("  m: 8", "  2m: 8", "parameters.2m", "not a name"),
    ("  m: 8", "  _m: 8", "parameters._m", "not a name"),
    ("  m: 8", "  m-m: 8", "parameters.m-m", "not a name"),
    ("  m: 8", "  größe: 8", "parameters.größe", "not a name"),
    ("  m: 8", "  lambda: 8", "parameters.lambda", "a reserved name"),
    ("  m: 8", "  min: 8", "parameters.min", "a reserved name"),
    ("  m: 8", "  rank: 8", "parameters.rank", "a reserved name"),
    ("  m: 8", "  m: {defualt: 8}", "parameters.m.defualt", "did you mean 'default'"),
    ("  m: 8", "  m: {default: 8, range: [9, 10]}", "parameters.m.default", "at least 9, at most 10"),
    ("  m: 8", "  m: {default: 8, range: ['8 GB/s', '9 GB/s']}", "parameters.m.range[0]", "the key unit: B/s"),
    ("  m: 8", "  m: {default: 8 us}", "parameters.m.default", "the key unit: s"),
    ("  m: 8", "  m: {default: 8, range: [10, 9]}", "parameters.m.range", "[lowest, highest]"),
    ("  m: 8", "  m: {default: 8, range: [1]}", "parameters.m.range", "[lowest, highest]"),
    ("  m: 8", "  m: {default: 8, range: [1, .inf]}", "parameters.m.range[1]", "a number"),
    ("  m: 8", "  m: {default: 8.5, whole: true}", "parameters.m.default", "a whole number"),
    ("  m: 8", "  m: {default: 8, whole: yes}", "parameters.m.whole", "false, true"),
    ("  P: {default: 2, about: ranks}", "  P: 0", "parameters.P", "a whole number, at least 1"),
    ("  P: {default: 2, about: ranks}", "  P: 1.5", "parameters.P", "a whole number, at least 1"),
    ("  c: a + b", "  c: a + x", "equations.c", "unknown name 'x'"),
    ("  c: a + b", "  c: c", "equations.c", "c -> c"),
    ("  a: n**2", "  a: c", "equations", "equations need each other"),
    ("  c: a + b", "  rank: 2", "equations.rank", "a reserved name"),
    ("  c: a + b", "  P: 2", "equations.P", "the name of a parameter"),
    ("  c: a + b", "  n: 2", "equations.n", "the name of a parameter"),
    ("  c: a + b", "  c: ranks", "equations.c", "unknown name 'ranks'"),
    ("  c: a + b", "  c:", "equations.c", "empty expression"),
    ("  c: a + b", "  c: __import__('os').system('true')", "equations.c", "character"),
    ("  c: a + b", "  c: a.real", "equations.c", "not allowed"),
    ("  small: {n: 10, P: 1}", "  small: {x: 10}", "presets.small.x", "unknown key"),
    ("  small: {n: 10, P: 1}", "  small: {n: 0}", "presets.small.n", "at least 1"),
    ("  small: {n: 10, P: 1}", "  small: {k: 2.5}", "presets.small.k", "a whole number"),
    ("  small: {n: 10, P: 1}", "  small: {n: ten}", "presets.small.n", "a number"),
    ("  small: {n: 10, P: 1}", "  small: 10", "presets.small", "must be a mapping"),
]


@pytest.mark.parametrize(("old", "new", "path", "what"), WRONG_HEAD)
def test_what_is_wrong_in_the_head_and_where(old: str, new: str, path: str, what: str) -> None:
    assert HEAD.count(f"{old}\n") == 1
    error = problem(HEAD.replace(f"{old}\n", f"{new}\n"))
    assert what in str(error)
    assert error.place is not None
    assert error.place.path.startswith(path)
    if path != "equations":
        assert error.place.line == HEAD.split("\n").index(old) + 1


def test_the_equation_that_is_at_fault_is_named_in_a_cycle() -> None:
    error = problem(HEAD.replace("a: n**2", "a: c"))
    line = error.place.line if error.place else None
    assert line in [HEAD.split("\n").index(text) + 1 for text in ("  c: a + b", "  a: n**2", "  b: 2*a + P")]
    assert " -> " in str(error)


# --- Steps -------------------------------------------------------------------------------------------------


def only(steps: str) -> Step:
    (step,) = workload(steps, "parameters: {n: 5}\n").program
    return step


def texts(*expressions: object) -> list[str | None]:
    return [None if item is None else item.text for item in expressions]  # type: ignore[attr-defined]


@pytest.mark.parametrize("unit", ["flops", "instructions", "seconds"])
def test_compute(unit: str) -> None:
    step = only(f"- compute: {{{unit}: 2*n, when: rank == 0}}")
    assert isinstance(step, Compute)
    assert (step.unit, step.loops) == (unit, ())
    assert texts(step.amount, step.when) == ["2*n", "rank == 0"]
    assert step.place == Place("w.yaml", 5, "program[0].compute")


def test_compute_by_loops() -> None:
    step = only("- compute: {loops: [{loop: a, range: n, operations: 2}, {range: 3, operations: n}]}")
    assert isinstance(step, Compute)
    assert [(loop.name, loop.range.text, loop.operations.text) for loop in step.loops] == [
        ("a", "n", "2"),
        ("", "3", "n"),
    ]
    assert step.amount is None


@pytest.mark.parametrize("kind", ["read", "write"])
def test_access(kind: str) -> None:
    step, other = only(f"- {kind}: {{bytes: n, times: 0.5}}"), only(f"- {kind}: {{bytes: n}}")
    assert isinstance(step, DiskAccess)
    assert isinstance(other, DiskAccess)
    assert (step.kind, *texts(step.bytes, step.times, step.when)) == (kind, "n", "0.5", None)
    assert texts(other.times) == ["1"]


def test_send_and_receive() -> None:
    send, receive = only("- send: {to: rank + 1, bytes: n, tag: 7, when: rank < 1}"), only("- receive: {from: 0}")
    assert isinstance(send, Send)
    assert isinstance(receive, Receive)
    assert (*texts(send.to, send.bytes, send.when), send.tag) == ("rank + 1", "n", "rank < 1", 7)
    assert (*texts(receive.source, receive.bytes, receive.when), receive.tag) == ("0", None, None, 0)


def test_exchange() -> None:
    one = only("- exchange: {pattern: halo3d, bytes: 8*n}")
    each = only("- exchange: {pattern: halo2d, bytes: [n, 1], grid: [2, P/2], periodic: false}")
    assert isinstance(one, Exchange)
    assert isinstance(each, Exchange)
    assert (one.dims, texts(*one.bytes), one.grid, one.periodic) == (3, ["8*n"] * 3, None, True)
    assert (each.dims, texts(*each.bytes), each.periodic) == (2, ["n", "1"], False)
    assert texts(*(each.grid or ())) == ["2", "P/2"]


def test_exchange_of_several_messages() -> None:
    plain = only("- exchange: {pattern: halo2d, bytes: 8}")
    every = only("- exchange: {pattern: halo2d, bytes: 8, messages: 2*n, train: n}")
    each = only("- exchange: {pattern: halo2d, bytes: 8, messages: [n, 0]}")
    assert isinstance(plain, Exchange)
    assert isinstance(every, Exchange)
    assert isinstance(each, Exchange)
    assert [texts(*step.messages_by_dim) for step in (plain, every, each)] == [["1", "1"], ["2*n", "2*n"], ["n", "0"]]
    assert texts(plain.train, every.train) == ["1", "n"]


def test_useful_flops_of_a_block() -> None:
    step, plain = only("- {useful_flops: 2*n*P, do: [barrier: {}]}"), only("- do: [barrier: {}]")
    assert isinstance(step, Block)
    assert isinstance(plain, Block)
    assert texts(step.useful_flops, plain.useful_flops) == ["2*n*P", None]


@pytest.mark.parametrize(("name", "algorithm"), [(name, one) for name, every in ALGORITHMS.items() for one in every])
def test_collectives(name: str, algorithm: str) -> None:
    step, default = only(f"- {name}: {{bytes: 8, algorithm: {algorithm}}}"), only(f"- {name}: {{bytes: 8}}")
    assert isinstance(step, Collective)
    assert isinstance(default, Collective)
    assert (step.name, step.algorithm, step.bytes.text) == (name, algorithm, "8")
    assert default.algorithm == ALGORITHMS[name][0]


@pytest.mark.parametrize(("name", "default"), [(name, order) for (name, _), order in ORDERS.items()])
def test_order_of_children(name: str, default: str) -> None:
    """That of the default is the same algorithm, the other one has its own name."""
    other = {"near": "far", "far": "near"}[default]
    expected = {"": "binomial", f", order: {default}": "binomial", f", order: {other}": f"binomial_{other}"}
    for text, algorithm in expected.items():
        step = only(f"- {name}: {{bytes: 8, algorithm: binomial{text}}}")
        assert isinstance(step, Collective)
        assert step.key == (name, algorithm)
        assert step.key in every_algorithm()


def test_a_barrier_needs_nothing() -> None:
    step = only("- barrier: {}")
    assert isinstance(step, Collective)
    assert step.bytes.text == "0"


def test_blocks() -> None:
    toy = workload(
        "- phase: outer\n  about: words\n  repeat: 2*P\n  constants: {network.startup: 20 us, processor.rate: 2*n}\n"
        "  do:\n    - barrier: {}\n    - do:\n        - compute: {flops: 1}\n",
        "parameters: {n: 5}\n",
    )
    (outer,) = toy.program
    assert isinstance(outer, Block)
    assert (outer.phase, outer.about, outer.repeat.text) == ("outer", "words", "2*P")
    assert [path for path, _ in outer.constants] == ["network.startup", "processor.rate"]
    assert outer.constants[0][1].evaluate({}) == 20e-6
    assert outer.constants[1][1].evaluate({"n": 5.0}) == 10.0
    inner = outer.body[1]
    assert isinstance(inner, Block)
    assert (inner.phase, inner.repeat.evaluate({}), inner.constants) == (None, 1.0, ())
    assert [type(step).__name__ for step in walk(toy.program)] == ["Block", "Collective", "Block", "Compute"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("20 us", 20e-6),
        ("20us", 20e-6),
        ("0.5 ms", 5e-4),
        ("2e-5", 2e-5),
        ("2e-5 s", 2e-5),
        ("'3 µs'", 3e-6),
        ("n*1e-6", 5e-6),
        ("1e-6*(n + 1)", 6e-6),
        ("0", 0.0),
    ],
)
def test_phase_constants_are_quantities_or_expressions(text: str, value: float) -> None:
    step = only(f"- constants: {{network.startup: {text}}}\n  do: [barrier: {{}}]")
    assert isinstance(step, Block)
    assert step.constants[0][1].evaluate({"n": 5.0}) == pytest.approx(value, rel=1e-15)


WRONG_STEPS = [
    ("- compute: {}", "program[0].compute", "how much to compute"),
    ("- compute: {flops: 1, seconds: 1}", "program[0].compute", "how much to compute"),
    ("- compute: {loops: []}", "program[0].compute.loops", "no loop"),
    ("- compute: {loops: [{range: 1}]}", "program[0].compute.loops[0]", "'operations' is missing"),
    ("- compute: {flops: [1]}", "program[0].compute.flops", "a single value"),
    ("- compute: {flops: x}", "program[0].compute.flops", "unknown name, got 'x'"),
    ("- compute: {flops: 1, whn: 1}", "program[0].compute.whn", "did you mean 'when'"),
    ("- compute: 5", "program[0].compute", "a mapping"),
    ("- compte: {flops: 1}", "program[0].compte", "did you mean 'compute'"),
    ("- {compute: {flops: 1}, barrier: {}}", "program[0]", "a step is one demand"),
    ("- {}", "program[0]", "a step is one demand"),
    ("- barrier", "program[0]", "must be a mapping"),
    ("- phase: a", "program[0]", "'do' is missing"),
    ("- {phase: '', do: [barrier: {}]}", "program[0].phase", "not a name"),
    ("- {phase: a, do: []}", "program[0].do", "nothing to do"),
    ("- {repeat: rank, do: [barrier: {}]}", "program[0].repeat", "'rank' cannot be used"),
    ("- {repeats: 2, do: [barrier: {}]}", "program[0].repeats", "did you mean 'repeat'"),
    (
        "- {constants: {network.startups: 1}, do: [barrier: {}]}",
        "program[0].constants.network.startups",
        "did you mean",
    ),
    (
        "- {constants: {network.startup: -1 us}, do: [barrier: {}]}",
        "program[0].constants.network.startup",
        "0 or above",
    ),
    (
        "- {constants: {network.startup: 1 MB}, do: [barrier: {}]}",
        "program[0].constants.network.startup",
        "unit of size",
    ),
    (
        "- {constants: {network.startup: 1 usec}, do: [barrier: {}]}",
        "program[0].constants.network.startup",
        "unknown unit",
    ),
    ("- {constants: {processor.rate: 0 FLOP/s}, do: [barrier: {}]}", "program[0].constants.processor.rate", "above 0"),
    ("- {constants: {processor.rate: nan}, do: [barrier: {}]}", "program[0].constants.processor.rate", "unknown name"),
    (
        "- {constants: {processor.rate: rank}, do: [barrier: {}]}",
        "program[0].constants.processor.rate",
        "'rank' cannot",
    ),
    ("- write: {times: 2}", "program[0].write", "'bytes' is missing"),
    ("- send: {bytes: 2}", "program[0].send", "'to' is missing"),
    ("- send: {to: 1, bytes: 2, tag: -1}", "program[0].send.tag", "whole number out of range"),
    ("- send: {to: 1, bytes: 2, tag: 2147483648}", "program[0].send.tag", "whole number out of range"),
    ("- receive: {bytes: 2}", "program[0].receive", "'from' is missing"),
    ("- exchange: {pattern: halo5d, bytes: 1}", "program[0].exchange.pattern", "halo4d"),
    ("- exchange: {pattern: halo2d, bytes: [1, 2, 3]}", "program[0].exchange.bytes", "3 values for 2 dimensions"),
    ("- exchange: {pattern: halo2d, bytes: 1, grid: [P]}", "program[0].exchange.grid", "1 values for 2 dimensions"),
    ("- exchange: {pattern: halo2d, bytes: rank}", "program[0].exchange.bytes", "'rank' cannot be used"),
    ("- exchange: {pattern: halo2d, bytes: 1, periodic: 1}", "program[0].exchange.periodic", "false, true"),
    (
        "- exchange: {pattern: halo2d, bytes: 1, messages: [1]}",
        "program[0].exchange.messages",
        "1 values for 2 dimensions",
    ),
    (
        "- exchange: {pattern: halo2d, bytes: 1, messages: rank}",
        "program[0].exchange.messages",
        "'rank' cannot be used",
    ),
    ("- exchange: {pattern: halo2d, bytes: 1, train: [1, 2]}", "program[0].exchange.train", "a single value"),
    ("- exchange: {pattern: halo2d, bytes: 1, train: x}", "program[0].exchange.train", "unknown name"),
    ("- {useful_flops: rank, do: [barrier: {}]}", "program[0].useful_flops", "'rank' cannot be used"),
    ("- {useful_flop: 1, do: [barrier: {}]}", "program[0].useful_flop", "did you mean 'useful_flops'"),
    ("- compute: {flops: 1, useful_flops: 1}", "program[0].compute.useful_flops", "unknown key"),
    ("- allreduce: {bytes: 8*rank}", "program[0].allreduce.bytes", "'rank' cannot be used"),
    ("- broadcast: {bytes: 8, order: nearest}", "program[0].broadcast.order", "far, near"),
    ("- broadcast: {bytes: 8, algorithm: binomial_near}", "program[0].broadcast.algorithm", "binomial"),
    ("- reduce: {bytes: 8, algorithm: linear, segment: 8 KiB}", "program[0].reduce.segment", "chain of broadcast"),
    ("- reduce: {bytes: 8, algorithm: chain, order: far}", "program[0].reduce.order", "binomial of reduce"),
    ("- allreduce: {bytes: 8, algorithm: binomial}", "program[0].allreduce.algorithm", "recursive_doubling"),
    ("- allreduce: {}", "program[0].allreduce", "'bytes' is missing"),
]


@pytest.mark.parametrize(("step", "path", "what"), WRONG_STEPS)
def test_what_is_wrong_in_a_step_and_where(step: str, path: str, what: str) -> None:
    error = problem(f"simcodesign: 1\nname: toy\nprogram:\n\n  {step}\n")
    assert what in str(error)
    assert str(error).startswith(f"w.yaml:5: {path}: ")


def test_a_program_must_do_something() -> None:
    for text in ("program: []", "program:", "program: {}"):
        assert str(problem(f"simcodesign: 1\nname: toy\n{text}")).startswith("w.yaml:3: program: ")
    assert "'program' is missing" in str(problem("simcodesign: 1\nname: toy"))


@pytest.mark.parametrize("depth", [8, 12, 100])
def test_nesting(depth: int) -> None:
    steps = "{do: [" * depth + "barrier: {}" + "]}" * depth
    text = f"simcodesign: 1\nname: toy\nprogram: [{steps}]"
    if depth < 15:
        assert len(list(walk(read_workload(text).program))) == depth + 1
    else:
        assert "nested more than" in str(problem(text))


# --- Phases ------------------------------------------------------------------------------------------------


def test_phases_in_the_order_of_the_program() -> None:
    toy = workload(
        "- barrier: {}\n"
        "- {phase: b, do: [{phase: x, do: [barrier: {}]}, {do: [barrier: {}]}]}\n"
        "- {phase: a, do: [{do: [{phase: x, do: [barrier: {}]}]}]}\n"
        "- {repeat: 2, do: [{phase: b, do: [barrier: {}]}]}"
    )
    assert toy.phases() == ("main", "b/x", "b", "a/x")


def test_names_of_phases() -> None:
    assert phase_name("main", None) == "main"
    assert phase_name("main", "a") == "a"
    assert phase_name("a", None) == "a"
    assert phase_name("a/b", "c") == "a/b/c"


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=6))
def test_nested_phase_names(names: list[str]) -> None:
    text = "".join(f"{{phase: {name}, do: [" for name in names) + "barrier: {}" + "]}" * len(names)
    assert read_workload(f"simcodesign: 1\nname: toy\nprogram: [{text}]").phases() == ("/".join(names),)


def test_the_sheet_shows_messages_trains_and_useful_flops() -> None:
    toy = workload(
        "- useful_flops: 7*P\n  do:\n    - exchange: {pattern: halo1d, bytes: 8, messages: 12, train: 4}\n"
        "    - exchange: {pattern: halo1d, bytes: 8}"
    )
    console = Console(width=120, record=True, file=StringIO())
    console.print(program_tree(toy))
    text = console.export_text()
    assert "useful flops of all ranks: 7*P, each time" in text
    assert "exchange halo1d, 12 messages of 8 bytes, simulated in trains of 4" in text
    assert "exchange halo1d, 8 bytes\n" in text


def test_footprint() -> None:
    toy = workload("- barrier: {}", "parameters: {n: 4}\nequations: {e: 8*n}\nfootprint: e*P + 100\n")
    assert toy.footprint is not None
    assert toy.footprint.evaluate({"e": 32, "P": 2}) == 164
    assert workload("- barrier: {}").footprint is None
    console = Console(width=120, record=True, file=StringIO())
    for part in workload_sheet(toy):
        console.print(part)
    assert "e*P + 100 bytes, of every rank" in console.export_text()


@pytest.mark.parametrize(("footprint", "what"), [("8*rank", "same for every rank"), ("8*m", "unknown name")])
def test_footprints_that_cannot_be(footprint: str, what: str) -> None:
    design_problem = problem(f"simcodesign: 1\nname: toy\nfootprint: {footprint}\nprogram: [barrier: {{}}]\n")
    assert what in str(design_problem)
    assert "w.yaml:3" in str(design_problem)


def test_size() -> None:
    toy = workload("- barrier: {}", "parameters: {n: 4}\nequations: {e: 8*n}\nsize: e*n\n")
    assert toy.size is not None
    assert toy.size.evaluate({"e": 32, "n": 4}) == 128
    assert workload("- barrier: {}").size is None


@pytest.mark.parametrize(("size", "what"), [("8*rank", "same for every rank"), ("8*m", "unknown name")])
def test_sizes_that_cannot_be(size: str, what: str) -> None:
    design_problem = problem(f"simcodesign: 1\nname: toy\nsize: {size}\nprogram: [barrier: {{}}]\n")
    assert what in str(design_problem)
    assert "w.yaml:3" in str(design_problem)


def test_a_size_or_a_time_may_have_its_unit() -> None:
    send, work = only("- send: {to: 1, bytes: 4 KiB}"), only("- compute: {seconds: 3 ms}")
    exchange = only("- exchange: {pattern: halo2d, bytes: [1 KiB, 2 kB]}")
    assert isinstance(send, Send)
    assert isinstance(work, Compute)
    assert isinstance(exchange, Exchange)
    assert texts(send.bytes, work.amount, *exchange.bytes) == ["4096.0", "0.003", "1024.0", "2000.0"]


@pytest.mark.parametrize(
    ("step", "named"),
    [
        ("send: {to: 1, bytes: 4 us}", "of time, not of size"),
        ("compute: {flops: 4 KiB}", "the number alone, in B: 4096"),
    ],
)
def test_a_unit_that_does_not_fit_says_what_to_write(step: str, named: str) -> None:
    with pytest.raises(InputError, match=named):
        workload(f"- {step}\n")


def test_the_parameter_that_is_the_size_of_a_process() -> None:
    text = (
        "simcodesign: 1\nname: toy\nparameters: {cubes: {default: 8}}\nsize_parameter: WHICH\nprogram: [barrier: {}]\n"
    )
    assert read_workload(text.replace("WHICH", "cubes")).size_parameter == "cubes"
    assert read_workload(text.replace("size_parameter: WHICH\n", "")).size_parameter == "n"
    with pytest.raises(InputError, match=r":4: size_parameter: no such parameter, got 'cube'.*did you mean 'cubes'"):
        read_workload(text.replace("WHICH", "cube"))


OTHER = """simcodesign: 1
name: own
equations_of: pipeline
parameters: {micro_batches: 6, chunks: 1, group: 0}
equations: {schedule: 1, stages: P, passes: 2*micro_batches}
program: [{repeat: 2, index: r, do: [{compute: {seconds: passes + last}}]}]
"""


def test_equations_of_another_workload(tmp_path: Path) -> None:
    """Own equations win: twice 12 passes and the number of the last of 4 stages, 3; no parameter of the other one is taken."""
    (tmp_path / "own.yaml").write_text(OTHER, encoding="utf-8")
    own = sc.Workload.load(tmp_path / "own.yaml")
    assert sc.forecast(own, "crossbar-16", {"P": 4}).makespan_s == 2 * 15
    assert own.parameters.keys() == {"micro_batches", "chunks", "group"}
    (tmp_path / "own.yaml").write_text(OTHER.replace("of: pipeline", "of: pipelin"), encoding="utf-8")
    with pytest.raises(InputError, match=r"own\.yaml:3: equations_of: no such workload, got 'pipelin'.*pipeline"):
        sc.Workload.load(tmp_path / "own.yaml")
