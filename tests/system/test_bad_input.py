"""Bad input is one clear error that names the place, at once, through the Python verbs and the command line alike.

Every case below is a small valid machine and workload with something wrong in it. The expected line is found in the
text itself, and nothing but the errors of this package may come out. Then Hypothesis takes over: whatever is done to
the files, it works or it is refused.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign import cli
from simcodesign.core import memory_limit
from simcodesign.core.errors import CapacityError, DeadlockError, InputError, SimcodesignError
from simcodesign.generate import plan_size as memory
from tests.hanging import no_hang

MACHINE = """\
simcodesign: 1
name: toy
nodes: 4
processors_per_node: 2
processor: {rate: 1 GFLOP/s, clock: 1 GHz}
network:
  topology: {kind: mesh, shape: [2, 2]}
  startup: 10 us
  bandwidth: 100 MB/s
  hop_latency: 1 us
  link_bandwidth: 200 MB/s
disk:
  read_startup: 1 ms
  write_startup: 2 ms
  bandwidth: 50 MB/s
mapping: linear
noise: 1 %
"""
WORKLOAD = """\
simcodesign: 1
name: toy
parameters:
  n: {default: 100, range: [1, 1e6]}
  m: 8
  steps: {default: 2, range: [0, 100]}
equations:
  share: area/P
  area: n**2
program:
  - phase: work
    repeat: steps
    constants: {processor.rate: 5e8, network.startup: 20 us}
    do:
      - compute: {flops: share}
      - exchange: {pattern: halo2d, bytes: 8*n}
      - phase: reduce
        do:
          - allreduce: {bytes: 8}
  - send: {to: (rank + 1) % P, bytes: m, when: P > 1}
  - receive: {from: (rank - 1) % P, bytes: m, when: P > 1}
  - write: {bytes: n}
presets:
  small: {n: 10}
imbalance: 5 %
"""
GRAPH = """\
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">
<node id="a"/><node id="b"/><node id="c"/><node id="d"/>
<edge source="a" target="b"/><edge source="c" target="d"/>
</graph></graphml>
"""
TOPOLOGY = "topology: {kind: mesh, shape: [2, 2]}"
SPARE_BYTES = 3 * 2**30


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    """Whoever takes gigabytes fails here instead of taking them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + SPARE_BYTES, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.fixture(autouse=True, scope="module")
def imported() -> None:
    """Not in the time of the first case."""
    sc.compare("burst", "crossbar-16", {"P": 2})


# --- Cases -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Changes of the valid files, or of what is asked for, and the error that must come of it.

    ``line`` is a text that the line at fault contains; ``path`` is what the message must name.
    """

    name: str
    says: str
    machine: tuple[str, str] | str | bytes | None = None  # a replacement in the valid text, or another text
    workload: tuple[str, str] | str | bytes | None = None
    path: str = ""
    line: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict)
    changes: Mapping[str, object] = field(default_factory=dict)
    preset: str | None = None
    phases: tuple[str, ...] | None = None
    effects: str = "all"
    seed: int = 0
    verbs: tuple[str, ...] = ("forecast", "simulate", "compare")
    error: type[SimcodesignError] = InputError
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    placed: bool = True  # the message names the file


def in_machine(name: str, old: str, new: str, path: str, says: str, **more: object) -> Case:
    return Case(name, says, machine=(old, new), path=path, line=new.split("\n")[-1], **more)  # type: ignore[arg-type]


def in_workload(name: str, old: str, new: str, path: str, says: str, **more: object) -> Case:
    return Case(name, says, workload=(old, new), path=path, line=new.split("\n")[-1], **more)  # type: ignore[arg-type]


RATE, STARTUP, NODES = "rate: 1 GFLOP/s", "startup: 10 us", "nodes: 4"
SIMULATED = ("simulate", "compare")

NUMBERS_OF_MACHINES = [
    in_machine(f"{key} {value}", old, f"{old.split(':')[0]}: {value}", key, says)
    for key, old in [
        ("processor.rate", RATE),
        ("network.startup", "  startup: 10 us"),
        ("network.bandwidth", "  bandwidth: 100 MB/s"),
        ("disk.read_startup", "read_startup: 1 ms"),
        ("noise", "noise: 1 %"),
        ("nodes", NODES),
        ("processors_per_node", "processors_per_node: 2"),
    ]
    for value, says in [
        (".nan", ""),
        ("nan", ""),
        (".inf", ""),
        ("-.inf", ""),
        ("-1", ""),
        ("much", ""),
        ("1e400", ""),
        ("[1]", ""),
        ("", ""),
        ("{a: 1}", ""),
        ("0x10", ""),
        ("1_000", ""),
        ("12:30", ""),
        ("no", ""),
        ("~", ""),
        ("true", ""),
        ("1 parsec", ""),
        *([("0", "")] if key in ("processor.rate", "network.bandwidth", "nodes", "processors_per_node") else []),
        *([("2.5", "whole"), ("1e10", "whole")] if key in ("nodes", "processors_per_node") else []),
    ]
]
MACHINES = [
    in_machine("format 2", "simcodesign: 1", "simcodesign: 2", "simcodesign", "allowed: 1"),
    in_machine(
        "unknown key", "hop_latency: 1 us", "hop_latenzy: 1 us", "network.hop_latenzy", "did you mean 'hop_latency'"
    ),
    in_machine("duplicate key", "noise: 1 %", "noise: 1 %\nnodes: 4 ", "", "duplicate key, got 'nodes'"),
    in_machine(
        "slow link", "link_bandwidth: 200", "link_bandwidth: 99", "network.link_bandwidth", "faster than its link"
    ),
    in_machine("kind", "kind: mesh", "kind: mash", "network.topology.kind", "did you mean 'mesh'"),
    in_machine("shape", "shape: [2, 2]", "shape: [2, 3]", "network.topology", "shape has 6 hosts"),
    in_machine("mapping", "mapping: linear", "mapping: lineal", "mapping", "did you mean 'linear'"),
    in_machine("mapping beyond", "mapping: linear", "mapping: [0, 4]", "mapping[1]", "0 to 3"),
    in_machine("mapping crowded", "mapping: linear", "mapping: [0, 0, 0]", "mapping", "3 ranks on node 0"),
    in_machine("no graph", TOPOLOGY, "topology: {kind: graph, file: no.xml}", "network.topology.file", "No such file"),
    in_machine(
        "graph is a folder", TOPOLOGY, "topology: {kind: graph, file: .}", "network.topology.file", "it is a folder"
    ),
    in_machine(
        "disconnected",
        TOPOLOGY,
        "topology: {kind: graph, file: g.xml}",
        "network.topology",
        "not connected",
        files={"g.xml": GRAPH},
    ),
    in_machine("cyclic", "name: toy", "extends: m", "extends", "extend each other: m -> m"),
    in_machine("no base", "name: toy", "extends: power-chalenge", "extends", "did you mean 'power-challenge'"),
    Case(
        "chain",
        "extend each other: m -> o -> m",
        machine=("name: toy", "extends: o"),
        path="o.yaml:2: extends",
        files={"o.yaml": "name: o\nextends: m\n"},
    ),
]

HOSTILE = [
    "__import__('os').system('true')",
    "().__class__",
    "open(1)",
    "lambda: 1",
    "[x for x in 1]",
    "f(2)",
    "n.real",
    "n[0]",
    "n if n else 1",
    "n := 2",
    "1 +",
    "(1",
    "'a'",
    "1j",
    "n and 1",
    "1e400",
    "nan",
    "inf",
    "_n",
    "exec(1)",
    "(" * 5000 + "n" + ")" * 5000,
    "-" * 5000 + "n",
    "+".join(["n"] * 2000),
    "min(" * 1000,
    "2**" * 1300 + "n",
]
EXPRESSIONS = [
    in_workload(f"{place} {number}", old, new.format(expression=yaml_quoted), path, "")
    for number, expression in enumerate(HOSTILE)
    for yaml_quoted in ["'" + expression.replace("'", "''") + "'"]
    for place, old, new, path in [
        ("equation", "  area: n**2", "  area: {expression}", "equations.area"),
        ("repeat", "repeat: steps", "repeat: {expression}", "program[0].repeat"),
        ("demand", "flops: share", "flops: {expression}", "program[0].do[0].compute.flops"),
        ("constant", "processor.rate: 5e8", "processor.rate: {expression}", "program[0].constants.processor.rate"),
    ]
]
AREA = "  area: n**2"
EQUATIONS = [
    in_workload(f"equation {text}", AREA, f"  area: {text}", "equations.area", says)
    for text, says in [
        ("area", "area -> area"),
        ("nn", "unknown name 'nn'"),
        ("ranks", "unknown name"),
        ("1/(n - 100)", "finite"),
        ("9**9**9", "finite"),
        ("n**n**n", "finite"),
        ("log(-n)", "finite"),
        ("sqrt(1 - n)", "finite"),
        ("0/0", "finite"),
        ("1e308*n", "finite"),
        ("n % 0", "finite"),
        ("n // 0", "finite"),
        ("", "empty"),
        ("[1]", "single value"),
        ("{a: 1}", "single value"),
    ]
] + [Case("cycle", "->", workload=(AREA, "  area: share"), path="equations.")]
WORKLOADS = [
    in_workload("format 2", "simcodesign: 1", "simcodesign: 2", "simcodesign", "allowed: 1"),
    in_workload("unknown key", "imbalance: 5 %", "inbalance: 5 %", "inbalance", "did you mean 'imbalance'"),
    in_workload(
        "unknown step", "- write: {bytes: n}", "- wirte: {bytes: n}", "program[3].wirte", "did you mean 'write'"
    ),
    in_workload("duplicate key", "  m: 8", "  m: 8\n  n: 9", "parameters", "duplicate key, got 'n'"),
    in_workload("name", "  m: 8", "  lambda: 8", "parameters.lambda", "reserved"),
    in_workload("default out of range", "default: 100", "default: 0", "parameters.n.default", "at least 1"),
    in_workload("preset out of range", "small: {n: 10}", "small: {n: 0}", "presets.small.n", "at least 1"),
    in_workload("preset unknown", "small: {n: 10}", "small: {nn: 10}", "presets.small.nn", "did you mean 'n'"),
    *[
        in_workload(f"parameter {value}", "  m: 8", f"  m: {value}", "parameters.m", "number")
        for value in (".nan", ".inf", "no", "0x10", "1_000", "12:30", "~", "8 KB", "'8'", "1e999")
    ],
    in_workload(
        "constant unknown",
        "processor.rate: 5e8",
        "processor.rat: 5e8",
        "program[0].constants.processor.rat",
        "did you mean 'processor.rate'",
    ),
    in_workload(
        "constant unit", "network.startup: 20 us", "network.startup: 20 um", "constants.network.startup", "unit"
    ),
    *[
        in_workload(
            f"constant {value}",
            "processor.rate: 5e8",
            f"processor.rate: {value}",
            "program[0].constants.processor.rate",
            "",
        )
        for value in ("0", "-1", "nan", "1/0", "0/0", "0 FLOP/s", "-1 MFLOP/s", "1/(n - 100)", "rank", "log(0 - n)")
    ],
    Case(
        "constant 100 - n",
        "processor.rate",
        workload=("processor.rate: 5e8", "processor.rate: 100 - n"),
        path="program[0]",
    ),
    Case(
        "constant 1 - n", "processor.rate", workload=("processor.rate: 5e8", "processor.rate: 1 - n"), path="program[0]"
    ),
    *[
        in_workload(f"repeat {value}", "repeat: steps", f"repeat: {value}", "program[0].repeat", says)
        for value, says in (("-1", "negative"), ("1/0", "finite"), ("0 - n", "negative"), ("nan", "unknown name"))
    ],
    in_workload(
        "repeat 2.5", "repeat: steps", "repeat: 2.5", "program[0].repeat", "whole repetitions", verbs=SIMULATED
    ),
    Case(
        "repeat 1e300",
        "GB of memory",
        workload=("repeat: steps", "repeat: 1e300"),
        error=CapacityError,
        verbs=SIMULATED,
    ),
    Case("repeat 1e9", "GB of memory", workload=("repeat: steps", "repeat: 1e9"), error=CapacityError, verbs=SIMULATED),
    *[
        in_workload(f"{path} {value}", old, new.format(value), path, says)
        for old, new, path in [
            ("flops: share", "flops: {}", "program[0].do[0].compute.flops"),
            ("bytes: 8*n", "bytes: {}", "program[0].do[1].exchange.bytes"),
            ("{bytes: 8}", "{{bytes: {}}}", "program[0].do[2].do[0].allreduce.bytes"),
            ("(rank + 1) % P, bytes: m", "(rank + 1) % P, bytes: {}", "program[1].send.bytes"),
            ("{bytes: n}", "{{bytes: {}}}", "program[3].write.bytes"),
        ]
        for value, says in (("-1", "negative"), ("8 - n", "negative"), ("1/0", "finite"), ("nn", "unknown name"))
    ],
    in_workload("itself", "to: (rank + 1) % P", "to: rank", "program[1].send.to", "not another rank", verbs=SIMULATED),
    in_workload(
        "beyond", "to: (rank + 1) % P", "to: rank + 1", "program[1].send.to", "not another rank", verbs=SIMULATED
    ),
    in_workload(
        "half a rank", "to: (rank + 1) % P", "to: rank/2", "program[1].send.to", "not another rank", verbs=SIMULATED
    ),
    in_workload(
        "from nobody",
        "from: (rank - 1) % P",
        "from: -1",
        "program[2].receive.from",
        "not another rank",
        verbs=SIMULATED,
    ),
    Case(
        "send lost",
        "do not match",
        workload=("  - receive: {from: (rank - 1) % P, bytes: m, when: P > 1}\n", ""),
        path="program[",
        verbs=SIMULATED,
    ),
    Case(
        "tags",
        "do not match",
        workload=("bytes: m, when: P > 1}\n  - rec", "bytes: m, tag: 1, when: P > 1}\n  - rec"),
        path="program[",
        verbs=SIMULATED,
    ),
    Case(
        "sizes",
        "expects 9 bytes",
        workload=("P, bytes: m, when: P > 1}\n  - write", "P, bytes: 9, when: P > 1}\n  - write"),
        path="program[",
        verbs=SIMULATED,
    ),
    in_workload(
        "grid",
        "pattern: halo2d,",
        "pattern: halo2d, grid: [3, 3],",
        "program[0].do[1].exchange",
        "does not hold",
        verbs=SIMULATED,
    ),
    Case(
        "no clock",
        "processor.clock",
        workload=("flops: share", "instructions: share"),
        machine=(", clock: 1 GHz", ""),
        path="program[0].do[0].compute",
    ),
]
DEADLOCK = """\
  - receive: {from: (rank - 1) % P, bytes: m, when: P > 1}
  - send: {to: (rank + 1) % P, bytes: m, when: P > 1}
"""
RING = WORKLOAD[WORKLOAD.index("  - send") : WORKLOAD.index("  - write")]
RUNS = [
    Case(
        "all receive first",
        "rank 0 waits in receive",
        workload=(RING, DEADLOCK),
        error=DeadlockError,
        verbs=SIMULATED,
        placed=False,
    ),
    *[
        Case(f"P = {value}", "P", parameters={"P": value})
        for value in (0, -1, 1.5, 9, 1e300, float("nan"), float("inf"))
    ],
    *[
        Case(f"n = {value}", "parameters.n", parameters={"n": value})
        for value in (0, -1, 1e7, float("nan"), float("-inf"))
    ],
    *[Case(f"m = {value}", "", parameters={"m": value}) for value in (float("nan"), float("inf"), -5)],
    Case("unknown parameter", "did you mean 'steps'", parameters={"step": 3}),
    Case("unknown constant", "did you mean", changes={"network.startups": "3 us"}),
    Case("constant negative", "network.startup", changes={"network.startup": -3}),
    Case("constant nan", "processor.rate", changes={"processor.rate": float("nan")}),
    Case("no bandwidth", "network.bandwidth", changes={"network.bandwidth": 0}),
    Case("change in part", "set twice", changes={"disk": "{bandwidth: 1}", "disk.bandwidth": 1}),
    Case("preset", "did you mean 'small'", preset="smal"),
    Case("phase", "did you mean 'work'", phases=("wrk",)),
    Case("effect", "did you mean 'links'", effects="link", verbs=SIMULATED),
    Case("effects", "no such effect", effects="hops,all", verbs=SIMULATED),
    Case("seed", "0 or above", seed=-1, verbs=SIMULATED),
    Case(
        "one big step",
        "GB of memory",
        machine=(TOPOLOGY, "topology: {kind: bus}"),
        changes={"nodes": 2**20},
        error=CapacityError,
        verbs=("simulate",),
    ),
    Case(
        "P beyond memory",
        "GB of memory",
        machine=(TOPOLOGY, "topology: {kind: bus}"),
        changes={"nodes": 10**9},
        error=CapacityError,
        verbs=("simulate",),
    ),
    Case(
        "ranks that differ beyond memory",
        "GB of memory",
        machine=(TOPOLOGY, "topology: {kind: bus}"),
        changes={"nodes": 10**9},
        workload=("flops: share", "flops: rank"),
        error=CapacityError,
        verbs=("forecast", "compare"),
    ),
    *[
        Case(f"overflow of {what}", "", workload=(old, new), placed=False)
        for what, old, new in [
            ("messages", "bytes: 8*n", "bytes: 1e308"),
            ("collectives", "{bytes: 8}", "{bytes: 1e308}"),
            ("the disk", "{bytes: n}", "{bytes: 1e308}"),
            ("a constant", "network.startup: 20 us", "network.startup: 1e308"),
        ]
    ],
    Case("overflow of repetitions", "", workload=("repeat: steps", "repeat: 1e308"), placed=False, verbs=("forecast",)),
]
FILES = [
    Case(f"{name} {kind}", says, path="", **{kind: content})  # type: ignore[arg-type]
    for kind in ("machine", "workload")
    for name, content, says in [
        ("empty", "", "nothing in it"),
        ("comment", "# nothing\n", "nothing in it"),
        ("text", "hello", "must be a mapping"),
        ("sequence", "- 1\n- 2\n", "must be a mapping"),
        ("binary", bytes(range(256)), "UTF-8"),
        ("utf-16", MACHINE.encode("utf-16"), "UTF-8"),
        ("latin-1", b"name: \xe4\n", "UTF-8"),
        ("nul", b"name: \0\n", "control"),
        ("20 MB", b"# " + b"x" * 20_000_000, "too large"),
        ("brackets", "[" * 100_000, "nested more than"),
        ("braces", "{a: " * 100_000, "nested more than"),
        ("aliases", "a: &a [x]\nb: [*a, *a]\n", "anchors are not allowed"),
        ("alias", "a: *a\n", "aliases are not allowed"),
        ("tag", "!!python/object/apply:os.abort []\n", "tags are not allowed"),
        ("merge", "a: {b: 1}\n<<: *a\n", "aliases"),
        ("documents", MACHINE + "---\n" + MACHINE, "only one document"),
        ("tab", "simcodesign: 1\nprocessor:\n\trate: 1\n", "a tab"),
        ("unclosed", "a: [1, 2\nb: 3\n", "not YAML"),
        ("half a million keys", "".join(f"k{n}: 1\n" for n in range(300_000)), "more than"),
        ("long key", "? " + "k" * 10**6 + "\n: 1", "a name"),
        ("long value", "simcodesign: " + "1" * 10**6, "a"),
        ("long name", f"simcodesign: 1\nname: {'x' * 10**6}\n", ""),
        ("escape", 'simcodesign: 1\n"\\e[31m": 2\n', "not a name"),
    ]
]
CASES = [*NUMBERS_OF_MACHINES, *MACHINES, *EXPRESSIONS, *EQUATIONS, *WORKLOADS, *RUNS, *FILES]


# --- What they are put to --------------------------------------------------------------------------------------


def written(folder: Path, name: str, valid: str, change: tuple[str, str] | str | bytes | None) -> Path:
    path = folder / name
    if isinstance(change, bytes):
        path.write_bytes(change)
        return path
    text = change if isinstance(change, str) else valid
    if isinstance(change, tuple):
        assert valid.count(change[0]) >= 1, change[0]
        text = valid.replace(change[0], change[1], 1)
    path.write_text(text, encoding="utf-8")
    return path


def files(case: Case, folder: Path) -> tuple[Path, Path]:
    for name, content in case.files.items():
        written(folder, name, "", content)
    return written(folder, "w.yaml", WORKLOAD, case.workload), written(folder, "m.yaml", MACHINE, case.machine)


def check_message(case: Case, message: str, workload: Path, machine: Path) -> None:
    assert case.says in message
    assert case.path in message
    assert len(message) < 1500
    assert "Traceback" not in message
    wrong = workload if case.workload is not None else machine if case.machine is not None else None
    if case.line and wrong is not None:
        text = wrong.read_text(encoding="utf-8")
        lines = [number for number, line in enumerate(text.split("\n"), 1) if case.line.split("\n")[-1] in line]
        assert any(message.startswith(f"{wrong}:{line}: ") for line in lines), (lines, message)
    elif wrong is not None and case.placed:
        assert str(wrong.parent) in message


def by_python(case: Case, verb: str, workload: Path, machine: Path) -> Callable[[], object]:
    options: dict[str, object] = {"preset": case.preset, "phases": case.phases}
    if verb in SIMULATED:
        options |= {"effects": case.effects, "seed": case.seed}

    def run() -> object:
        loaded = sc.Machine.load(machine, dict(case.changes))
        return getattr(sc, verb)(workload, loaded, dict(case.parameters), **options)

    return run


def arguments(case: Case, verb: str, workload: Path, machine: Path) -> list[str]:
    words = [verb, str(workload), str(machine)]
    for name, value in {**case.parameters, **case.changes}.items():
        words += ["--set", f"{name}={value}"]
    words += [] if case.preset is None else ["--preset", case.preset]
    words += [word for phase in case.phases or () for word in ("--phase", phase)]
    return [*words, "--effects", case.effects, f"--seed={case.seed}"] if verb in SIMULATED else words


CALLS = [pytest.param(case, verb, id=f"{case.name[:40]}-{verb}") for case in CASES for verb in case.verbs[:1]]
FURTHER = [
    pytest.param(case, verb, id=f"{case.name[:40]}-{verb}")
    for case in (*MACHINES[:2], *EQUATIONS, *WORKLOADS, *RUNS)
    for verb in case.verbs[1:]
]


@pytest.mark.parametrize(("case", "verb"), [*CALLS, *FURTHER])
def test_python(case: Case, verb: str, tmp_path: Path) -> None:
    workload, machine = files(case, tmp_path)
    run = by_python(case, verb, workload, machine)
    with no_hang(), pytest.raises(SimcodesignError) as caught:
        run()
    assert type(caught.value) is case.error
    check_message(case, str(caught.value), workload, machine)


#: What the command line makes of every kind of case in the ordinary suite; ``test_python`` has them all.
BY_COMMAND = [
    pytest.param(*call.values, id=call.id, marks=() if number % 14 == 0 else pytest.mark.thorough)
    for number, call in enumerate(CALLS)
]


@pytest.mark.parametrize(("case", "verb"), BY_COMMAND)
def test_command_line(
    case: Case, verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workload, machine = files(case, tmp_path)
    monkeypatch.setattr(sys, "argv", ["simcodesign", *arguments(case, verb, workload, machine)])
    with no_hang():
        assert cli.main() == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("error: ") == 1
    assert err.endswith("\n")
    check_message(case, err.removeprefix("error: "), workload, machine)


def test_the_valid_files_work(tmp_path: Path) -> None:
    workload, machine = files(Case("valid", ""), tmp_path)
    comparison = sc.compare(workload, machine)
    assert comparison.simulation.makespan_s > 0
    assert sc.forecast(workload, machine, {"n": [1, 2, 3]}).makespan_s.shape == (3,)


def test_few_ranks_on_a_billion_nodes(tmp_path: Path) -> None:
    workload, machine = files(Case("valid", "", machine=(TOPOLOGY, "topology: {kind: bus}")), tmp_path)
    assert sc.compare(workload, sc.Machine.load(machine, {"nodes": 10**9}), {"P": 4}).simulation.makespan_s > 0


PATHS = [
    "power-chalenge",
    "seismik",
    "",
    ".",
    "..",
    "/",
    "/tmp",
    "no/such.yaml",
    "no.yaml",
    "a\0b",
    "x" * 5000,
    "/dev/zero",
]


@pytest.mark.parametrize("name", PATHS)
def test_names_and_paths_of_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["forecast", name, "crossbar-16"], ["forecast", "burst", name], ["show", name]):
        monkeypatch.setattr(sys, "argv", ["simcodesign", *words])
        assert cli.main() == 2
        err = capsys.readouterr().err
        assert err.startswith("error: ")
        assert len(err) < 1500
    for load in (sc.Machine.load, sc.Workload.load):
        with pytest.raises(InputError):
            load(name)


@pytest.mark.parametrize(
    "words",
    [
        ["forecast", "seismik", "power-challenge"],
        pytest.param(["simulate", "burst", "crossbar-16", "--set", "P=0"], marks=pytest.mark.thorough),
        pytest.param(["compare", "burst", "crossbar-16", "--set", "network.startup=-1"], marks=pytest.mark.thorough),
    ],
)
def test_as_a_process(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "simcodesign", *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


# --- Anything ------------------------------------------------------------------------------------------------

FEW = 20_000
quick = settings(deadline=5000, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def small_plans(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Mutants may simulate this many operations, so that each is quick."""
    if "anything" in request.node.name:
        monkeypatch.setattr(memory_limit, "memory_bytes", lambda: FEW * memory.BYTES_PER_OPERATION)


def works_or_is_refused(workload: Path, machine: Path, parameters: Mapping[str, object] | None = None) -> None:
    for verb in (sc.forecast, sc.simulate, sc.compare):
        try:
            result = verb(workload, machine, parameters)
        except SimcodesignError as error:
            assert len(str(error)) < 2000  # noqa: PT017 - a mutant may also work
        else:
            makespan = result.simulation.makespan_s if verb is sc.compare else result.makespan_s
            assert np.all(np.isfinite(makespan))


@quick
@given(st.sampled_from(["m.yaml", "w.yaml"]), st.text(max_size=60))
def test_anything_as_text(tmp_path: Path, name: str, text: str) -> None:
    workload, machine = files(Case("valid", ""), tmp_path)
    (tmp_path / name).write_text(text, encoding="utf-8", errors="replace")
    works_or_is_refused(workload, machine)


Tree = list["Tree"] | dict[str, "Tree"] | str

MACHINE_TREE: Tree = {
    "simcodesign": "1",
    "name": "toy",
    "nodes": "4",
    "processors_per_node": "2",
    "processor": {"rate": "1 GFLOP/s", "clock": "1 GHz", "cpi": "1.5"},
    "network": {
        "topology": {"kind": "mesh", "shape": ["2", "2"]},
        "startup": "10 us",
        "bandwidth": "100 MB/s",
        "receive_overhead": "1 us",
        "hop_latency": "1 us",
        "link_bandwidth": "200 MB/s",
        "interfaces": {"count": "2", "duplex": "half", "bandwidth": "200 MB/s"},
        "startup_per": "message",
        "sends": "blocking",
        "hops_hold_sender": "false",
        "distance": "log2",
        "switching": "cut_through",
    },
    "disk": {
        "read_startup": "1 ms",
        "write_startup": "2 ms",
        "bandwidth": "50 MB/s",
        "shared_by": "all",
        "spindles": "2",
    },
    "mapping": ["0", "1", "2", "3", "0", "1"],
    "noise": "1 %",
}
WORKLOAD_TREE: Tree = {
    "simcodesign": "1",
    "name": "toy",
    "imbalance": "5 %",
    "parameters": {
        "n": {"default": "100", "range": ["1", "1e6"], "whole": "true"},
        "m": "8",
        "steps": {"default": "2"},
    },
    "equations": {"share": "area/P", "area": "n**2"},
    "program": [
        {
            "phase": "work",
            "repeat": "steps",
            "constants": {"processor.rate": "5e8", "network.startup": "20 us"},
            "do": [
                {"compute": {"loops": [{"loop": "a", "range": "n", "operations": "m"}]}},
                {
                    "exchange": {
                        "pattern": "halo2d",
                        "bytes": ["8*n", "m"],
                        "grid": ["P/2", "2"],
                        "periodic": "false",
                        "messages": ["m", "2"],
                        "train": "1",
                    }
                },
                {"useful_flops": "n*P", "do": [{"allreduce": {"bytes": "8", "algorithm": "ring"}}]},
            ],
        },
        {"compute": {"instructions": "share", "when": "rank < 2"}},
        {"broadcast": {"bytes": "m"}},
        {"barrier": {}},
        {"send": {"to": "(rank + 1) % P", "bytes": "m", "tag": "3", "when": "P > 1"}},
        {"receive": {"from": "(rank - 1) % P", "bytes": "m", "tag": "3", "when": "P > 1"}},
        {"read": {"bytes": "n", "times": "0.5"}},
        {"all_to_all": {"bytes": "m/P"}},
        {"write": {"bytes": "n*rank"}},
    ],
    "presets": {"small": {"n": "10"}},
}
SCALARS = st.sampled_from(
    [
        "0",
        "1",
        "2",
        "3",
        "-1",
        "0.5",
        "1e9",
        "1e10",
        "1e300",
        "1e308",
        "-1e308",
        "1e-320",
        "1e400",
        "2147483648",
        "9" * 25,
        ".nan",
        "nan",
        ".inf",
        "inf",
        "~",
        "",
        "''",
        "no",
        "true",
        "false",
        "0x10",
        "010",
        "1_000",
        "12:30",
        "1 us",
        "1 B/s",
        "-1 us",
        "50 %",
        "0 %",
        "1000 %",
        "P",
        "P - 1",
        "rank",
        "-rank",
        "rank/2",
        "n",
        "1/0",
        "0/0",
        "1/(rank - 1)",
        "n/0",
        "9**9**9",
        "where(rank, 1, 0)",
        "rank % 2",
        "1e200*n",
        "x",
        "area",
        "share",
        "__import__('os')",
        "bus",
        "torus",
        "tree",
        "hypercube",
        "fat_tree",
        "graph",
        "crossbar",
        "mesh",
        "linear",
        "round_robin",
        "one_per_node",
        "none",
        "all",
        "hop",
        "sqrt",
        "log2",
        "store_and_forward",
        "halo1d",
        "halo4d",
        "ring",
        "bruck",
        "binomial",
        "main",
        "a/b",
        "*a",
        "&a b",
        "!!int 1",
        "[",
        "{",
        "]",
        "- 1",
        "a: b",
        "#",
        "|",
        ">",
        "@",
        "%",
        "\\",
        '"\\e[31m"',
        "ä",
        "x" * 300,
    ]
)
KEYS = st.sampled_from(
    [
        "name",
        "nodes",
        "rate",
        "bandwidth",
        "per_byte",
        "link_per_byte",
        "dims",
        "shape",
        "arity",
        "file",
        "kind",
        "phase",
        "do",
        "repeat",
        "constants",
        "compute",
        "send",
        "barrier",
        "flops",
        "seconds",
        "when",
        "P",
        "rank",
        "n",
        "min",
        "extends",
        "<<",
        "lambda",
        "x",
        "tag",
        "algorithm",
        "grid",
        "network.per_byte",
        "disk.per_byte",
        "processor.clock",
        "",
    ]
)


def shown(tree: Tree) -> str:
    """The tree in flow style, its scalars as they are; a key that ends in + is a duplicate of the one without."""
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{key.rstrip('+')}: {shown(value)}" for key, value in tree.items()) + "}"
    return tree if isinstance(tree, str) else "[" + ", ".join(map(shown, tree)) + "]"


def places(tree: Tree) -> Iterator[tuple[Tree, int | str]]:
    """Every container with each of its keys."""
    if isinstance(tree, str):
        return
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in items:
        yield tree, key
        yield from places(value)


def copied(tree: Tree) -> Tree:
    if isinstance(tree, dict):
        return {key: copied(value) for key, value in tree.items()}
    return tree if isinstance(tree, str) else [copied(value) for value in tree]


@st.composite
def mutants(draw: st.DrawFn, valid: Tree) -> str:
    """A valid tree after one to three deletions, duplications, changes of kind and hostile scalars."""
    tree = copied(valid)
    for _ in range(draw(st.integers(1, 3))):
        every = list(places(tree))
        if not every:
            break
        outer, key = draw(st.sampled_from(every))
        _mutate(draw, outer, key)
    return shown(tree)


def _mutate(draw: st.DrawFn, outer: Any, key: Any) -> None:
    some = draw(SCALARS)
    match draw(st.sampled_from(["replace", "replace", "replace", "delete", "duplicate", "retype", "rename"])):
        case "delete":
            del outer[key]
        case "duplicate" if isinstance(outer, dict):
            outer[f"{key}+"] = copied(outer[key])
        case "duplicate":
            outer.insert(0, copied(outer[key]))
        case "retype":
            outer[key] = draw(st.sampled_from([[outer[key]], {"x": outer[key]}, [], {}, [some, some], {"kind": some}]))
        case "rename" if isinstance(outer, dict):
            outer[draw(KEYS)] = outer.pop(key)
        case _:
            outer[key] = some


@quick
@given(mutants(MACHINE_TREE))
def test_anything_as_machine(tmp_path: Path, text: str) -> None:
    workload, machine = files(Case("valid", "", machine=text, workload=shown(WORKLOAD_TREE)), tmp_path)
    works_or_is_refused(workload, machine)


@quick
@given(mutants(WORKLOAD_TREE))
def test_anything_as_workload(tmp_path: Path, text: str) -> None:
    workload, machine = files(Case("valid", "", machine=shown(MACHINE_TREE), workload=text), tmp_path)
    works_or_is_refused(workload, machine)


EXPRESSION = st.recursive(
    st.sampled_from(["n", "m", "P", "rank", "steps", "share", "0", "1", "2", "8", "1e9", "1e300", "-1", "x"]),
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/", "//", "%", "**", "<", "=="]), inner)
        | st.builds(
            "{}({})".format, st.sampled_from(["log2", "exp", "sqrt", "cbrt", "ceil", "abs", "min", "where", "f"]), inner
        )
        | st.builds("max({}, {})".format, inner, inner)
    ),
    max_leaves=6,
) | st.text(st.sampled_from("n0123456789.e+-*/%()<>=!,P _abcxyz'\"[]{}:@"), max_size=20)
HOLES = [
    "flops: share",
    "bytes: 8*n",
    "{bytes: 8}",
    "to: (rank + 1) % P",
    "from: (rank - 1) % P",
    "{bytes: n}",
    "repeat: steps",
    "processor.rate: 5e8",
    "network.startup: 20 us",
    "  area: n**2",
]


@quick
@given(st.sampled_from(HOLES), EXPRESSION)
def test_anything_as_expression(tmp_path: Path, hole: str, expression: str) -> None:
    quoted = "'" + expression.replace("'", "''") + "'"
    filled = hole[: hole.index(": ") + 2] + quoted + "}" * hole.count("}")
    works_or_is_refused(*files(Case("valid", "", workload=(hole, filled)), tmp_path))


SET_NAMES = st.sampled_from(
    [
        "P",
        "n",
        "m",
        "steps",
        "nodes",
        "processors_per_node",
        "mapping",
        "noise",
        "processor",
        "processor.rate",
        "processor.clock",
        "network",
        "network.startup",
        "network.topology",
        "network.topology.kind",
        "network.topology.shape",
        "network.per_byte",
        "network.bandwidth",
        "network.link_per_byte",
        "network.distance",
        "disk",
        "disk.spindles",
        "disk.shared_by",
        "name",
        "area",
        "simcodesign",
        "extends",
        "rank",
        "",
    ]
) | st.text(max_size=8)
SET_VALUES = (
    SCALARS
    | st.text(max_size=12)
    | st.sampled_from(["[2, 2]", "[4]", "{kind: bus}", "{a: {b: c}}", "[0, 1]", "4", "16"])
)
SETTINGS = st.lists(st.tuples(SET_NAMES, SET_VALUES).map("=".join) | st.text(max_size=10), max_size=3)


@quick
@given(st.sampled_from(["forecast", "simulate", "compare"]), SETTINGS)
def test_anything_with_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: str, items: list[str]
) -> None:
    workload, machine = files(Case("valid", ""), tmp_path)
    words = [word for item in items for word in ("--set", item)]
    monkeypatch.setattr(sys, "argv", ["simcodesign", verb, str(workload), str(machine), *words])
    status = cli.main()
    out, err = capsys.readouterr()
    assert status in (0, 2)
    assert status == 0 or (out == "" and err.startswith(("error: ", "Usage: ")))
    assert "Traceback" not in err


PARAMETER_VALUES = st.floats() | st.integers(-5, 20) | st.lists(st.floats(0, 10), max_size=3) | SCALARS | st.none()


@quick
@given(
    st.dictionaries(
        st.sampled_from(["P", "n", "m", "steps", "network.startup", "processor.rate", "x"]), PARAMETER_VALUES
    )
)
def test_anything_as_parameters(tmp_path: Path, parameters: dict[str, object]) -> None:
    works_or_is_refused(*files(Case("valid", ""), tmp_path), parameters)
