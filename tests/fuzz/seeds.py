"""The valid inputs that cases are made of: command lines, and the files that they read."""

from __future__ import annotations

import contextlib
import gzip
import io
import shlex
from functools import cache
from pathlib import Path

import numpy as np

from simcodesign import cli
from tests import ROOT

#: Command lines; words that name a file of ``files`` are such inputs. ``demo`` and ``schema`` read none.
LINES = """
forecast small.yaml little.yaml -P 4 --json
forecast small.yaml little.yaml -P 4 --phase work --bounds
forecast small.yaml loggop.yaml --set n=10 --json
forecast small.yaml graph.yaml -P 4 --json
forecast shipped.yaml shipped-machine.yaml -P 64 --json
forecast arrivals.yaml little.yaml --json
simulate small.yaml little.yaml -P 4 --set steps=2 --json
simulate small.yaml little.yaml -P 4 --effects hops,links --seed 1 --stations 3
simulate small.yaml little.yaml -P 3 --engine compiled --effects all --json
simulate small.yaml loggop.yaml -P 8 --json
simulate small.yaml little.yaml -P 4 --replications 3 --level 90% -j 1 --json
simulate small.yaml little.yaml -P 2 --precision 10% --at-most 20 -j 1
simulate small.yaml little.yaml -P 4 --write counters:out.csv --write out.json
simulate small.yaml graph.yaml -P 4 --json
simulate small.yaml links.yaml -P 8 --effects hops,links --json
simulate small.yaml links.yaml -P 8 --set network.rails=2 --effects links --json
forecast small.yaml links.yaml -P 8 --bounds --json
simulate small.yaml dragonfly.yaml -P 6 --effects hops,links --json
simulate arrivals.yaml little.yaml --warm-up 3 --replications 2 -j 1 --json
simulate shipped.yaml shipped-machine.yaml -P 4 --json
forecast groups.yaml together.yaml -P 4 --json
simulate groups.yaml together.yaml -P 4 --effects all --json
simulate groups.yaml loggop.yaml -P 6 --json
simulate small.yaml together.yaml -P 4 --replications 2 --effects failures,links -j 1 --json
compare groups.yaml together.yaml -P 4 --json
compare small.yaml little.yaml -P 4 --effects hops --measured measured.csv --tolerance 500% --tolerance-of forecast
sweep small.yaml little.yaml --vary P=2,4 --measured measured.csv --json-lines
forecast offloaded.yaml attached.yaml -P 6 --bounds --json
simulate offloaded.yaml attached.yaml -P 6 --effects all --json
compare offloaded.yaml attached.yaml -P 4 --set storage.allocation=round_robin
simulate groups.yaml loggop.yaml -P 4 --effects none --write out.goal
show groups.yaml --write equations:-
show together.yaml
sweep groups.yaml together.yaml --vary n=50,100 --vary P=2,4 --simulate --json-lines -j 1
sweep small.yaml links.yaml --vary P=4,8 --set nodes=P --set network.topology.dims=2 --tie n=50*P --tie network.startup=2us/P --json-lines -j 1
simulate ring.goal loggop.yaml --json
simulate replay.txt little.yaml --json
forecast replay.txt loggop.yaml --json
simulate calls-0.txt little.yaml --json
simulate dumpi-0000.txt little.yaml --json
simulate nodes.0.json little.yaml --json
simulate ring.goal little.yaml --effects none
compare small.yaml little.yaml -P 4 --json
compare small.yaml little.yaml together.yaml --vary P=1,2 --effects hops,noise --replications 2 --json
compare small.yaml little.yaml -P 4 --effects hops,noise --tolerance 5%
show shipped.yaml
compare arrivals.yaml little.yaml --json
simulate small.yaml little.yaml -P 3 --effects none --write out.goal
show small.yaml --write equations:-
show little.yaml
show links.yaml
show dragonfly.yaml
show shipped-machine.yaml --kind machine
show ring.goal
validate --list -k queueing
forecast app.aspen box.aspen --json
compare app.aspen box.aspen --set n=16 --kernel main --seed 1
forecast app.aspen box.aspen --aspen-compatible --json
calibrate small.yaml little.yaml times.csv --unknown network.startup,network.per_byte --shared --json
calibrate small.yaml little.yaml times.csv --unknown computation --weights relative --level 0.9
calibrate little.yaml osu.txt --given P=2 --given nodes=2 --json
calibrate little.yaml osu.txt --given ranks_per_node=1 --segments 1 --write constants:-
calibrate little.yaml --json
fit osu.txt --json -j 1
fit runs.txt --target p=128,n=20 --json -j 1
fit runs.json --target p=128 --json -j 1
fit runs.jsonl --terms 2 -j 1
fit talpas.txt --target p=1e6 --weighting relative --json -j 1
fit runs.csv --target p=128 --write out.tex -j 1
fit old.json --level 0.9 --json -j 1
fit runs.csv --write out.yaml -j 1
fit-formula runs.csv 'a + b*p**x' formulas.yaml --metric time --set k=2 --nonnegative --json
fit-formula swept.csv 'a*t_s + b*P*n*t_c' --machine little.yaml --write out.yaml
fit-counters counters.csv --target P=32 --json
fit-counters counters.csv --target processes=64,size=1e6 --threshold 0.01
fit-counters perf2.csv@P=2 perf4.csv@P=4 perf8.csv@P=8 --json
fit-counters counters.csv --target P=32 --instrumented flat.txt@P=4 --unprofiled perf2.csv@P=2 --json
locality trace.lackey --json
locality trace.lackey --groups --reuse --caches 1KiB:2,4KiB:8
locality trace.din --instructions --caches 1KiB:2 --method sets --inclusion exclusive --json
locality trace.npy --line 64 --most 50 --json
locality trace.npz --sampled-lines 128 --json
locality trace.u64 --json
locality --generate matmul --set n=12 --bursts 30/300 --seed 1
locality trace.lackey.gz --json
locality profile.csv --json
locality profile.json --write profile:out.csv
locality --generate matmul --set n=4 --caches 1KiB:2 --json
explore cg exascale-cg --set nodes=64 --set eta=1 --vary ts --vary tw --subject-to 'rate >= 61 TFLOP/s' --json
compare relearn.yaml strawman-hybrid strawman-vector --requirements --json
compare small.yaml little.yaml 'little.yaml with nodes=x2, network.bandwidth=x2' --requirements --json
explore small.yaml little.yaml --vary P=1:8 --json
explore --file study.yaml --json
explore small.yaml little.yaml --vary P=1:8 --simulate --max-simulations 5 -j 1 --json
explore small.yaml little.yaml --metrics --json
explore small.yaml little.yaml -P 4 --vary n=10:1000:whole --subject-to 'time <= 10 s'
explore small.yaml little.yaml -P 4 --vary 'processor.rate=1 MFLOP/s:1 TFLOP/s' --subject-to 'time <= 1 s' --json
explore little.yaml --vary nodes=1:100 --subject-to 'memory_bandwidth <= 1 TB/s' --json
explore app.aspen box.aspen --vary n=16:64 --json
explore box.aspen --vary clock --subject-to 'rack_units <= 9' --subject-to 'die_area <= 1' --minimize price --maximize clock --json
fit-counters --profile small.yaml little.yaml --vary P=2,4,8 --target P=16 --seeds 1 --json
sweep small.yaml little.yaml --vary P=1:4:x2 --vary n=10,100 --json-lines -j 1
sweep small.yaml little.yaml --vary n=0:100:+50 --set P=2 --write out.csv -j 1
sweep small.yaml little.yaml --vary network.bandwidth=10,100MB/s --vary n=10:1000:log --sample 4 sobol -P 2 --json-lines -j 1
sweep small.yaml little.yaml --vary seed=1,2 -P 2 --simulate --store out.sqlite -j 1
sweep small.yaml little.yaml --vary P=1,2,4 --vary n=10,100 --simulate --formula "a = log2(P)*(t_s + m*t_w)" --within 10% --json-lines -j 1
sweep small.yaml little.yaml --vary P=1:4:x2 --formula "n*2.5e-6" --write out.csv
compare loads.yaml cached.yaml -P 3 --json
forecast loads.yaml cached.yaml -P 2 --set caches.L2.bandwidth="16 B/cycle" --bounds --json
show cached.yaml
sweep --check stored.sqlite
forecast small.yaml gml.yaml -P 4 --json
simulate small.yaml edges.yaml -P 4 --effects hops,links --json
locality trace.pin --groups --caches 1KiB:2 --method sets --json
fit-counters perf2.jsonl@P=2 perf4.jsonl@P=4 perf8.txt@P=8 --json
""".strip().splitlines()
#: Inputs of lines that come in several kinds: one is taken at random.
SHIPPED = {"shipped.yaml": "workloads", "shipped-machine.yaml": "topologies"}
#: The longest file that is taken of those: longer ones take longer than they find.
SHIPPED_BYTES = 4000


def command_lines() -> list[list[str]]:
    """The words of each line."""
    return [shlex.split(line) for line in LINES]


@cache
def shipped(folder: str) -> dict[str, bytes]:
    """The shorter files of ``workloads`` or ``topologies``, by name."""
    paths = sorted((ROOT / folder).glob("*.yaml"))
    return {path.name: path.read_bytes() for path in paths if path.stat().st_size <= SHIPPED_BYTES}


def files(folder: Path) -> dict[str, bytes]:
    """All inputs by name; those that programs write are made in ``folder``."""
    folder.mkdir()
    inputs = {path.name: path.read_bytes() for path in sorted(Path(__file__).with_name("inputs").iterdir())}
    addresses = np.array([0x1000, 0x1040, 0x2000, 0x1000] * 20, dtype=np.uint64)
    np.save(folder / "trace.npy", addresses)
    np.savez(folder / "trace.npz", address=addresses)
    addresses.tofile(folder / "trace.u64")
    (folder / "trace.lackey.gz").write_bytes(gzip.compress(inputs["trace.lackey"], mtime=0))
    for name in ("small.yaml", "little.yaml"):
        (folder / name).write_bytes(inputs[name])
    store = str(folder / "stored.sqlite")
    over = ["--vary", "P=1,2", "--simulate", "-j", "1"]
    with contextlib.redirect_stdout(io.StringIO()):
        status = cli.main(["sweep", str(folder / "small.yaml"), str(folder / "little.yaml"), *over, "--store", store])
    assert status == 0
    for name in ("ring.goal", "trace.lackey"):
        (folder / name).write_bytes(inputs[name])
    # The library of C functions is compiled or loaded now, so that it counts in no case.
    for line in (["show", str(folder / "ring.goal")], ["locality", str(folder / "trace.lackey")]):
        with contextlib.redirect_stdout(io.StringIO()):
            assert cli.main(line) == 0
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())} | inputs
