"""What commands print with ``--json`` is what docs/_ext/json_fields.yaml says: every field, and no other."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from simcodesign import cli
from simcodesign.core.to_json import to_json
from simcodesign.report.sweep.events import SweepEvents, SweepProgress
from simcodesign.studies.trust.trust_map import Trust
from tests import ROOT
from tests.cli.test_golden import commands
from tests.fuzz.seeds import files
from tests.studies.trust.test_trust_map import map_of
from tests.system.documentation import site_extension

pytestmark = pytest.mark.thorough

OWN_FILES = {
    "own.yaml": """\
simcodesign: 1
formulas:
  root: {total: "c*P", symbols: {c: 1 us}, valid: P > 2, about: a guess, source: nobody}
  parts: {phases: {work: 1 ms}, components: {computation: 1 ms}}
""",
    "line.yaml": """\
simcodesign: 1
name: line
nodes: 8
processor: {rate: 1 GFLOP/s}
network: {sends: blocking, startup: 2 us, bandwidth: 1 GB/s, sharing: max_min, topology: {kind: mesh, shape: [8]}}
""",
    "sums.yaml": """\
simcodesign: 1
name: sums
program:
  - allreduce: {bytes: 1e6, algorithm: recursive_doubling}
  - broadcast: {bytes: 1e6, algorithm: chain}
""",
    "jobs.yaml": """\
simcodesign: 1
name: jobs
processor: {rate: 1 GFLOP/s}
parameters: {speed: {default: 2}}
nodes: P
network: {startup: 1 us, bandwidth: 1 GB/s, topology: {kind: crossbar}}
background: {load: 0.1}
""",
    "four.yaml": """\
simcodesign: 1
name: four
nodes: 4
processor: {rate: 1 GFLOP/s}
network: {topology: {kind: crossbar}, startup: 1 us, bandwidth: 1 GB/s, sends: nonblocking, interfaces: {count: 1}}
""",
    "owned.yaml": """\
simcodesign: 1
extends: line
name: owned
components: {node: {count: nodes, price: 100, static_power: 10 W, embodied_carbon: 5}}
ownership: {years: 5, energy_price: 0.2, carbon_intensity: 300}
""",
    "rules.yaml": """\
simcodesign: 1
name: rules
nodes: 4
processor: {rate: 1 GFLOP/s}
network: {topology: {kind: crossbar}, startup: 1 us, bandwidth: 1 GB/s}
collectives: {allreduce: open_mpi}
""",
    "all.yaml": """\
simcodesign: 1
name: all
size: 1e6*P
program:
  - all_to_all: {bytes: 1e6, algorithm: linear}
""",
    "own_cases/measured.py": """\
from simcodesign.describe.measured.times import MeasuredValue
from simcodesign.studies.validation.case import Case, Readings, Tolerance

CASES = [
    Case(
        name="own/one",
        claim="1 is 1.",
        source="nobody",
        unit="s",
        expected={1: 1.0},
        measured={1: MeasuredValue(1.0)},
        tolerance=Tolerance("none is needed", relative=0.0),
        reading="both",
        measure=lambda: Readings({1: 1.0}, {1: 1.0}, formula={1: 1.0}),
    )
]
""",
    "two.aspen": """\
param clock = 1e9
machine Two { node [4] Host interconnect [1] Wire }
node Host { socket [2] Chip socket [1] Card }
socket Chip { core [4] Unit memory Ram }
socket Card { core [1] Unit }
core Unit { resource flops(number) [number / clock] with sp [base / 2], simd [base / 4] }
memory Ram {
  resource loads(number) [number / 1e10]
  resource stores(number) [number / 1e10]
  property capacity [1e9]
}
interconnect Wire { resource messages(number) [1e-6 + number / 1e9] }
""",
    "spoiled.csv": """\
P,n,seconds
2,100,0.00517856
2,1000,0.0085799
2,10000,0.287572
2,20000,1.11725
4,100,0.00530101
4,1000,0.0224451
4,10000,0.151656
4,20000,0.571659
""",
    "ring.py": """\
import simcodesign as sc


@sc.program
def ring(rank, size, *, n=4096):
    yield sc.rank.compute(flops=n)
    yield sc.rank.world.barrier()
""",
    "fewer.csv": "P,value\n4,1 ms\n6,2 ms\n",
    "sums.txt": "# OSU MPI Allreduce Latency Test v7.0\n# Size  Avg Latency(us)\n8 20\n64 21\n512 24\n4096 50\n",
    "rows.txt": "# OSU MPI Allgather Latency Test v7.0\n# Size  Avg Latency(us)\n8 20\n64 21\n512 24\n4096 50\n",
    "sum.py": "from mpi4py import MPI\nMPI.COMM_WORLD.allreduce(1)\n",
}

LINES = """
forecast arrivals.yaml little.yaml --json
forecast offloaded.yaml attached.yaml -P 6 --bounds --json
forecast loads.yaml cached.yaml -P 2 --bounds --json
forecast groups.yaml together.yaml -P 4 --json
forecast pipeline dgx-h100-cluster -P 4 --json
simulate groups.yaml together.yaml -P 4 --effects all --json
forecast jacobi@0:4 jacobi@4:8 torus-cluster --json
simulate jacobi@0:4 jacobi@4:8 torus-cluster --effects links --json
simulate sums.yaml dgx-h100-cluster -P 8 --effects node --json
simulate small.yaml little.yaml -P 4 --replications 3 --level 90% -j 1 --json
simulate small.yaml little.yaml -P 2 --precision 10% --at-most 20 -j 1 --json
simulate arrivals.yaml little.yaml --warm-up 3 --replications 2 -j 1 --json
simulate arrivals.yaml little.yaml --json
simulate small.yaml little.yaml -P 4 --write events:- --json
simulate offloaded.yaml attached.yaml -P 6 --effects all --json
simulate small.yaml little.yaml -P 2 --effects none --why --json
compare small.yaml little.yaml -P 8 --anchor fewer.csv --effects none --json
forecast small.yaml little.yaml -P 8 --anchor fewer.csv --json
forecast small.yaml little.yaml -P 2 --anchor fewer.csv --json
compare small.yaml little.yaml -P 4 --formula n*2.5e-6 --measured measured.csv --tolerance 500% --tolerance-of forecast --json
compare arrivals.yaml little.yaml --json
compare small.yaml little.yaml together.yaml --vary P=1,2 --effects hops,noise --replications 2 --json
compare small.yaml little.yaml -P 4 --effects hops,noise --replications 2 -j 1 --json
forecast app.aspen box.aspen --json
forecast app.aspen two.aspen --json
simulate disk-queue power-challenge --replications 1 --json
compare app.aspen box.aspen --set n=16 --kernel main --seed 1 --json
calibrate small.yaml little.yaml times.csv --unknown network.startup,network.per_byte --shared --json
calibrate small.yaml little.yaml spoiled.csv --unknown network.startup,computation --json
calibrate little.yaml --json
show rules.yaml --json
calibrate little.yaml sums.txt --given P=6 --algorithms --json
calibrate little.yaml osu.txt --given P=2 --given nodes=2 --json
calibrate little.yaml osu.txt rows.txt --given osu.txt:nodes=2 --given rows.txt:P=4 --json
compare sums.yaml fugaku -P 8 --effects none --json
calibrate little.yaml osu.txt --given nodes=2 --segments 1 --json
fit runs.txt --target p=128,n=20 --json -j 1
fit-formula runs.csv 'a + b*p**x' formulas.yaml --metric time --set k=2 --nonnegative --json
fit-formula swept.csv 'a*t_s + b*P*n*t_c' --machine little.yaml --write out.yaml --json
fit-counters counters.csv --target P=32 --json
fit-counters counters.csv --instrumented counters.csv --unprofiled counters.csv --json
locality trace.lackey --groups --reuse --caches 1KiB:2,4KiB:8 --json
locality trace.din --instructions --caches 1KiB:2 --method sets --inclusion exclusive --json
locality trace.npz --sampled-lines 128 --json
locality --generate matmul --set n=12 --bursts 30/300 --seed 1 --json
locality --generate matmul --set n=4 --caches 1KiB:2 --groups --json
explore cg exascale-cg --set nodes=64 --set eta=1 --vary ts --vary tw --subject-to 'rate >= 61 TFLOP/s' --json
compare relearn.yaml strawman-hybrid strawman-vector --requirements --json
compare small.yaml little.yaml 'little.yaml with nodes=x2, network.bandwidth=x2' --requirements --json
explore --file study.yaml --json
serve inference selene --set requests=20 --replications 2 --json
serve inference selene --set requests=20 --set rate=1e4 --replications 1 --json
serve inference selene --set requests=20 --vary policy=static,continuous --vary tensor=1,3 --replications 1 -P 1 --json
explore small.yaml little.yaml --vary P=1:8 --simulate --max-simulations 5 -j 1 --json
explore small.yaml little.yaml --metrics --json
explore small.yaml little.yaml -P 4 --vary 'processor.rate=1 MFLOP/s:1 TFLOP/s' --subject-to 'time <= 1 s' --json
explore little.yaml --vary nodes=1:100 --subject-to 'memory_bandwidth <= 1 TB/s' --json
explore app.aspen box.aspen --vary n=16:64 --json
fit-counters --profile small.yaml little.yaml --vary P=2,4,8 --target P=16 --seeds 1 --json
fit-counters --profile small.yaml little.yaml --vary P=2,4,8 --target P=16 --seeds 2 --effects noise --ladder 10% --json
sweep small.yaml little.yaml --vary P=1,2,4 --vary n=10,100 --simulate --formula "a = log2(P)*(t_s + m*t_w)" --within 10% --json-lines -j 1
sweep small.yaml little.yaml --vary P=2,4 --measured measured.csv --json-lines
lesson list --json
list --json
show small.yaml --json
show groups.yaml --json
show together.yaml --json
show attached.yaml --json
validate --cases my_cases -j 1 --json
score --json
validate --list -k queueing --json
compare small.yaml little.yaml -P 4 --formula n*2.5e-6 --why --json
fit runs.csv --target p=128 --json -j 1 --write made.yaml --write a.png
explore small.yaml together.yaml --vary P=1,2,4 --subject-to 'time <= 1 ns' --json
explore small.yaml together.yaml --vary P=1,2,4 --vary n=10,100 --subject-to 'n >= 20' --simulate-best 2 --json
compare relearn.yaml strawman-hybrid strawman-vector --requirements --simulate -P 16 --json
locality --generate matmul --set n=4 --caches 1KiB:2 --json --write p.json
show keeneland --json
forecast small.yaml links.yaml -P 8 --bounds --json
fit-counters counters.csv --target P=16 --evidence counters.csv --machine little.yaml --json
compare offloaded.yaml attached.yaml -P 4 --effects none --json
forecast comd-eam keeneland -P 8 --json
forecast stencil sandy-bridge-node -P 1 --json
show stencil --json
show sandy-bridge-node --json
show accelerated-stencil --json
fit-counters --profile small.yaml little.yaml --vary P=2,4,8 --target P=16 --seeds 2 --effects noise --ladder 0.001 --json
compare small.yaml little.yaml links.yaml -P 4 --measured measured.csv --formula n*2.5e-6 --effects none --json
compare small.yaml little.yaml -P 4 --formula own.yaml --effects none --json
explore small.yaml together.yaml --vary P=1,2,4 --vary n=10,100 --minimize time --maximize n --pareto --simulate-best 2 --json
explore jacobi torus-cluster --set n=4096 --vary P=251,256 --simulate-best 1 --effects hops,disks --json
sweep small.yaml little.yaml --vary P=2,64 --store failing.sqlite --json-lines -j 1
sweep small.yaml little.yaml --vary P=2,4 --simulate --measured measured.csv --store both.sqlite --json-lines -j 1
show jobs.yaml --json
show ring.py:ring -P 4 --json
forecast ring.py:ring crossbar-16 -P 4 --json
explore small.yaml little.yaml -P 4 --vary n=10,100 --subject-to 'time <= 10 s' --json
compare kripke juqueen 'juqueen with memory.capacity=x2' --requirements --simulate -P 16 --effects links --vary processor.rate=x0.5,x4 --json
compare sums.yaml line.yaml -P 8 --effects links --json
forecast all.yaml four.yaml -P 4 --bounds --json
show all.yaml --json
show owned.yaml --json
compare sums.yaml owned.yaml -P 8 --vary mapping=linear,random --effects none --json
explore sums.yaml owned.yaml -P 8 --vary mapping=linear,random --minimize run_cost --json
compare all.yaml four.yaml crossbar-16 -P 4 --effects none --json
validate --cases own_cases -j 1 --json
explore small.yaml together.yaml --vary P=1,2,4 --minimize time --maximize P --pareto --subject-to 'time <= 1 ns' --json
sweep sums.yaml line.yaml --vary network.topology.kind=mesh,torus --vary P=4,8 --simulate --effects links -j 1 --formula "mine = 10 ms" --within 10% --json-lines --store kinds.sqlite
forecast sums.yaml crossbar-16 -P 8 --json
forecast collective-costs crossbar-16 -P 8 --json
requirements sum.py -n 2,3,4,5,8 --on crossbar-16 --compute none --json
""".strip().splitlines()


@pytest.fixture(scope="module")
def fields() -> ModuleType:
    """The extension of the site that reads the file."""
    return site_extension("json_fields")


class Matcher:
    """Compares values with types. ``seen``: fields that occurred, by the object that states them; ``wrong``: what
    does not match, by its text, with the line that printed it."""

    def __init__(self, fields: ModuleType) -> None:
        self.fields = fields
        self.objects, self.commands = fields.read_objects()
        self.seen: set[tuple[str, str]] = set()

    def wrong(self, value: Any, kind: Any, where: str) -> list[str]:
        """What does not match."""
        if isinstance(kind, str):
            return self._object(value, kind) if kind in self.objects else self._word(value, kind, where)
        name, inner = kind[0], kind[1]
        if name == "or":
            return min((self.wrong(value, one, where) for one in inner), key=len)
        if name == "list":
            items = value if isinstance(value, list) else None
            return [f"{where}: no list"] if items is None else self._each(items, inner, where)
        if not isinstance(value, dict):
            return [f"{where}: no object"]
        if name == "tree" and all(isinstance(one, dict) for one in value.values()):
            return [text for one in value.values() for text in self._branch(one, kind, where)]
        return self._each(value.values(), inner, where)

    def _branch(self, value: Any, kind: Any, where: str) -> list[str]:
        as_leaf = self.wrong(value, kind[1], where)
        return as_leaf and self.wrong(value, kind, where)

    def _each(self, values: Any, kind: Any, where: str) -> list[str]:
        return [text for one in values for text in self.wrong(one, kind, where)]

    def _object(self, value: Any, name: str) -> list[str]:
        if not isinstance(value, dict):
            return [f"{name}: no object"]
        fields = self.objects[name].fields
        wrong = [f"{name}.{key} is not in the reference" for key in value.keys() - fields.keys()]
        wrong += [f"{name}.{key} is missing" for key, one in fields.items() if one.always and key not in value]
        for key in value.keys() & fields.keys():
            wrong += self.wrong(value[key], fields[key].type, f"{name}.{key}")
        if not wrong:
            self.seen |= {(fields[key].owner, key) for key in value}
        return wrong

    def _word(self, value: Any, word: str, where: str) -> list[str]:
        types: dict[str, tuple[type, ...]] = {
            "number": (int, float),
            "integer": (int,),
            "text": (str,),
            "null": (type(None),),
            "boolean": (bool,),
        }
        is_right = word == "description" or type(value) in types[word]
        return [] if is_right else [f"{where}: {value!r:.60} is no {word}"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With all that the lines read."""
    where = tmp_path_factory.mktemp("json")
    for name, content in files(where / "inputs").items():
        (where / name).write_bytes(content)
    for name, text in OWN_FILES.items():
        (where / name).parent.mkdir(exist_ok=True)
        (where / name).write_text(text, encoding="utf-8")
    for name in ("sensor", "gpu-cluster", "gpu-parts"):
        shutil.copy(ROOT / "validation" / "aspen" / f"{name}.aspen", where)
    shutil.copytree(ROOT / "tests" / "extension" / "my_cases", where / "my_cases")
    return where


def answers(printed: str) -> Iterator[Any]:
    """One object, or one a line."""
    try:
        yield json.loads(printed)
    except json.JSONDecodeError:
        yield from map(json.loads, printed.splitlines())


def command_of(line: str, names: dict[str, str]) -> str:
    return next(name for name in sorted(names, key=len, reverse=True) if line.startswith(name.split(" --")[0]))


def test_every_field_of_every_command(
    fields: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    matcher = Matcher(fields)
    wrong: dict[str, str] = {}
    for line in LINES:
        capfd.readouterr()
        status = cli.main(shlex.split(line))
        out, err = capfd.readouterr()

        if status not in (0, 1):
            wrong[f"exit status {status}: {err}"] = line
            continue
        command = command_of(line, matcher.commands)
        for answer in answers(out):
            for text in matcher.wrong(answer, fields.parsed(matcher.commands[command]), command):
                wrong.setdefault(text, line)
    for kind, answer in (("TrustRegion", to_json(words_alone().within)), ("SweepError", error_event(capfd))):
        for text in matcher.wrong(answer, kind, kind):
            wrong.setdefault(text, kind)
    assert wrong == {}
    stated = {(one.owner, one.name) for each in matcher.objects.values() for one in each.fields.values()}
    assert stated - matcher.seen == set()


def error_event(capfd: pytest.CaptureFixture[str]) -> Any:
    """What a sweep prints that an error ends."""
    with pytest.raises(OSError, match="disk full"), SweepEvents(SweepProgress(0, 2, 0)):
        raise OSError("disk full")
    return json.loads(capfd.readouterr().out.splitlines()[-1])


def words_alone() -> Trust:
    """A formula whose region one condition does not describe, but one for each topology."""
    over = ["network.topology.kind=mesh,torus", "m=1,2,3KiB"]
    return map_of([1.0] * 6, [2.0] * 6, [[2.0, 1.0, 1.0, 1.0, 1.0, 2.0]], 0.1, over).formulas[0]


def test_every_command_with_json_is_there(fields: ModuleType) -> None:
    """And each is run."""
    _, named = fields.read_objects()
    with_json = {name for name in commands(cli.app) if any("--json" in one.opts for one in parameters(name))}
    assert {*named} == with_json | {"sweep --json-lines"}
    assert {command_of(line, named) for line in LINES} == {*named}


def parameters(name: str) -> list[Any]:
    """The parameters of a command by its name."""
    group: Any = cli.app
    for word in name.split():
        group = group.commands[word]
    return list(group.params)
