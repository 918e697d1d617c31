"""Draw every kind of plot at three sizes of its data, and one page that shows them all, to be looked at.

    python docs/draw_gallery.py FOLDER               # pictures and FOLDER/gallery.html
    python docs/draw_gallery.py FOLDER heat power    # only the kinds whose names have one of these words

Little data show whether a plot is empty or lopsided, much whether its words run into each other. Most plots are made by
the command that users give; its words stand below the picture. An error is shown in place of its picture, and makes the
exit status 1.
"""

from __future__ import annotations

import contextlib
import html
import io
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from simcodesign import cli
from simcodesign.core.errors import SimcodesignError
from simcodesign.describe.measured.times import MeasuredValue
from simcodesign.report.scaling.isoefficiency_plot import isoefficiency_plot
from simcodesign.report.validation.plots import case_svg
from simcodesign.studies.scaling.isoefficiency import isoefficiency
from simcodesign.studies.validation.case import Case, Readings, Tolerance
from simcodesign.studies.validation.verdict import points_of

#: Words of a command, without the option that names the picture; or a function of the file.
Recipe = str | Callable[[Path], object]

SYSTEMS = "strawman-massively-parallel strawman-vector strawman-hybrid"
UPGRADES = "juqueen 'juqueen with nodes=x2' 'juqueen with processors_per_node=x2' 'juqueen with memory.capacity=x2'"
CG = "cg exascale-cg --set nodes=64"
FFT = "pencil-fft power-budget-cluster -P 16 --set n=64 --set processors_per_node=4 --vary q=1,4,16"
VARY = "--vary 'machine.clock=1.6 GHz:2.8 GHz' --vary 'machine.link=5 GB/s:27 GB/s'"
#: Of each kind a recipe for little, usual and much data. FOLDER stands for where the pictures are.
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "times by phase": (
        "forecast broadcast mesh-256 -P 4",
        "forecast seismic power-challenge -P 16 --preset test",
        "forecast collective-costs hypercube-256 -P 64",
    ),
    "activity": (
        "simulate burst mesh-256 -P 2",
        "simulate seismic power-challenge -P 16 --preset test",
        "simulate jacobi torus-cluster -P 64 --set sweeps=200",
    ),
    "Gantt chart": (
        "simulate broadcast mesh-256 -P 4 --set order=near",
        "simulate jacobi mesh-256 -P 8 --set sweeps=1 --set n=64 --phase sweep",
        "simulate jacobi mesh-256 -P 64 --set sweeps=1 --set n=64 --phase sweep --to '60 us'",
    ),
    "power": (
        "simulate comd-eam keeneland -P 360 --set machine.core_clock=2GHz",
        "simulate fft3d keeneland --set n=1000 --set machine.core_clock=2GHz",
        "simulate fft3d keeneland --set n=4000 --set machine.core_clock=1GHz",
    ),
    "comparison": (
        "compare jacobi torus-cluster -P 4",
        "compare seismic power-challenge-tree --preset test --phase stacking",
        "compare seismic power-challenge -P 16 --preset test",
    ),
    "sweep, lines": (
        "sweep jacobi torus-cluster --vary P=2,4,8 --simulate -j 1",
        "sweep jacobi torus-cluster --vary P=1:256:x2 --vary network.startup=1:100us:n=5:log --form lines",
        "sweep jacobi torus-cluster --vary P=1:256:+1 --vary network.startup=1:100us:n=20:log --form lines",
    ),
    "sweep, formulas": (
        "sweep broadcast mesh-256 --vary P=2:16:x2 --simulate --measured FOLDER/runs.csv --within 10% "
        "--form lines -j 1",
        "sweep broadcast mesh-256 --vary P=4:64:x2 --simulate --measured FOLDER/runs.csv --within 10% "
        "--form lines --set order=near -j 1",
        "sweep broadcast mesh-256 --vary P=4:256:x2 --vary order=near,far --simulate --measured FOLDER/runs.csv "
        "--within 10% --form lines -j 1",
    ),
    "sweep, heat map": (
        "sweep jacobi torus-cluster --vary P=2,4 --vary n=1e4,1e5 --form heat",
        "sweep jacobi torus-cluster --vary P=1:256:x2 --vary network.startup=1:100us:n=5:log --form heat",
        "sweep jacobi torus-cluster --vary P=1:256:+1 --vary n=1e4:1e6:n=80:log --form heat",
    ),
    "sweep, contours": (
        "sweep jacobi torus-cluster --vary P=2,4 --vary n=1e4,1e5 --form contour",
        "sweep jacobi torus-cluster --vary P=1:256:x2 --vary network.startup=1:100us:n=5:log --form contour",
        "sweep jacobi torus-cluster --vary P=1:256 --vary n=1e4:1e6:log --sample 64 sobol --form contour",
    ),
    "trust map": (
        "sweep broadcast mesh-256 --set order=near --vary P=2:64:x2 --simulate --within 10% -j 1",
        "sweep broadcast mesh-256 --set order=near --vary P=2:64:x2 --vary m=64B:64KiB:x4 --simulate --within 10% -j 1",
        "sweep broadcast mesh-256 --vary order=near,far --vary P=2:64:+3 --vary m=64B:64KiB:x2 --simulate "
        "--within 10% -j 1",
    ),
    "candidates": (
        "compare burst mesh-256 hypercube-256 -P 4",
        "compare burst mesh-256 hypercube-256 'torus-cluster with mapping=round_robin' -P 16",
        "compare 'burst with size=64' 'burst with size=64 KiB' jacobi mesh-256 hypercube-256 torus-cluster "
        "fat-tree-cluster -P 16",
    ),
    "candidates, replications": (
        "compare random-steps torus-cluster fat-tree-cluster -P 4 --set steps=2 --replications 2",
        "compare random-steps torus-cluster fat-tree-cluster -P 16 --set steps=5 --replications 10",
        "compare random-steps torus-cluster fat-tree-cluster mesh-256 hypercube-256 -P 16 --replications 200 -j 1",
    ),
    "candidates, axis": (
        "compare burst mesh-256 hypercube-256 --vary P=4,8",
        "compare burst mesh-256 hypercube-256 --vary P=4:16:x2 --why",
        "compare broadcast mesh-256 hypercube-256 torus-cluster fat-tree-cluster --vary P=4:64:x2 --why",
    ),
    "feasibility": (
        "explore cg exascale-cg --vary ts --vary tw --vary eta=1,0.75,0.5,0.25,0.2,0.1 "
        "--subject-to 'rate >= 1 EFLOP/s'",
        f"explore {CG} --vary ts --vary tw --subject-to 'rate >= 61 TFLOP/s' --set train=104 --set eta=1 --simulate",
        f"explore {CG} --vary ts --vary tw --subject-to 'rate >= 61 TFLOP/s' --set eta=1 "
        "--vary 'network.hop_latency=10 ns,30 ns,100 ns,300 ns,1 us'",
    ),
    "upgrades": (
        f"compare milc {UPGRADES} --requirements",
        f"compare milc lulesh {UPGRADES} --requirements",
        f"compare milc lulesh kripke icofoam relearn {UPGRADES} --requirements",
    ),
    "upgrades, simulated": (
        f"compare milc {UPGRADES} --requirements --simulate -P 16",
        f"compare milc lulesh {UPGRADES} --requirements --simulate -P 16",
        f"compare milc lulesh kripke relearn {UPGRADES} --requirements --simulate -P 16",
    ),
    "straw men": (
        f"compare lulesh {SYSTEMS} --requirements",
        f"compare lulesh relearn {SYSTEMS} --requirements",
        f"compare kripke lulesh milc relearn icofoam {SYSTEMS} --requirements",
    ),
    "locality": (
        "locality --generate matmul --set n=8",
        "locality --generate matmul --set n=60 --groups --caches 32KiB:8,256KiB:8",
        "locality --generate matmul --set n=60 --reuse --caches 4KiB:4,32KiB:8,256KiB:8,2MiB:16",
    ),
    "fits": (
        "fit FOLDER/one.csv --target p=65536",
        "fit FOLDER/two.csv --target p=4096,n=1000",
        "fit FOLDER/many.csv --target p=65536",
    ),
    "hardware counters": (
        "fit-counters FOLDER/ep2.csv FOLDER/ep4.csv FOLDER/ep8.csv --target P=16",
        "fit-counters FOLDER/ep2.csv FOLDER/ep4.csv FOLDER/ep8.csv --target P=16 --target P=64 --target P=1024",
        "fit-counters FOLDER/ep2.csv FOLDER/ep4.csv FOLDER/ep8.csv FOLDER/ep16.csv --target P=32 --target P=64 "
        "--target P=128 --target P=256 --target P=512 --target P=1024 --target P=4096",
    ),
    "extrapolation": (
        "fit-counters --profile npb-ep xeon-cluster --vary P=2,4,8 --target P=16 --seeds 2",
        "fit-counters --profile npb-ep xeon-cluster --vary P=2,4,8 --target P=16 --target P=32 --seeds 3",
        "fit-counters --profile npb-cg xeon-cluster --vary P=2,4,8 --target P=16 --target P=32 --target P=64 --seeds 2 "
        "--ladder 10%",
    ),
    "replications": (
        "simulate random-steps torus-cluster -P 4 --set steps=5 --replications 2",
        "simulate jacobi torus-cluster -P 16 --replications 20",
        "simulate random-steps torus-cluster -P 16 --set steps=5 --replications 200",
    ),
    "optimum": (
        "explore jacobi torus-cluster --vary P=4,8,16,32,64,128,256 --set n=4096",
        "explore comd-eam keeneland -P 360 --vary 'machine.core_clock=100 MHz:2 GHz' "
        "--vary 'machine.memory_clock=100 MHz:4 GHz' --subject-to 'time <= 1 s'",
        "explore fft3d keeneland -P 360 --vary n=1000:10000:whole --subject-to 'time <= 10 s' "
        "--subject-to 'energy <= 5 MJ'",
    ),
    "optimum, simulated": (
        "explore jacobi mesh-256 --vary P=4,16 --set sweeps=1 --simulate --effects links -j 1",
        f"explore {FFT} --vary 'machine.link=5 GB/s,12 GB/s,27 GB/s' --minimize price "
        "--subject-to 'time <= 100 us' --simulate --max-simulations 8 -j 1",
        f"explore {FFT} {VARY} --minimize time "
        "--subject-to 'price <= 300000' --subject-to 'energy <= 0.85 J' --simulate --max-simulations 20 -j 1",
    ),
    "Pareto front": (
        f"explore {FFT} --vary 'machine.clock=1.6 GHz,2.8 GHz' --minimize time --minimize price --pareto",
        f"explore {FFT} {VARY} --minimize time --minimize price --pareto",
        f"explore {FFT} {VARY} --minimize time --minimize price --minimize peak_power --pareto",
    ),
}
#: Words of ``--write`` for other pictures than plots, and the commands that have the option.
WORDS = {"power": "power", "Gantt chart": "gantt"}


def works(workload: str, machines: Sequence[str], ranks: Sequence[int]) -> Recipe:
    """Return the work that ranks need, on some machines."""
    return lambda path: isoefficiency_plot([isoefficiency(workload, one, [*ranks]) for one in machines], path)


def case(points: int, relative: float, words: bool = False, measured: bool = False) -> Recipe:
    """Return a case of validation over an axis, or with a strip for each of several values in words."""
    labels = [f"a collective on {2**k} ranks" if words else 2**k for k in range(points)]
    expected = {label: 1e-5 * 1.7**k for k, label in enumerate(labels)}
    readings = Readings(
        {label: value * (1 + 0.02 * k) for k, (label, value) in enumerate(expected.items())},
        {label: value * (1 - 0.01 * k) for k, (label, value) in enumerate(expected.items())},
    )
    seen = {label: MeasuredValue(value, 0.9 * value, 1.2 * value) for label, value in expected.items()}
    tolerance, axis = Tolerance("why", relative), "" if words else "ranks"
    made = Case(
        "a/b",
        "claim",
        "source",
        "s",
        expected,
        tolerance,
        "both",
        lambda: readings,
        axis=axis,
        measured=seen if measured else {},
    )
    return lambda path: path.write_text(case_svg(made, points_of(made, readings), readings), encoding="utf-8")


FUNCTIONS: Mapping[str, tuple[Recipe, ...]] = {
    "isoefficiency": (
        works("cannon", ["mesh-256"], [4, 16]),
        works("cannon", ["mesh-256", "hypercube-256"], [4, 16, 64]),
        works("cannon", ["mesh-256", "hypercube-256", "fat-tree-cluster", "torus-cluster"], [4, 16, 36, 64]),
    ),
    "cases of validation": (case(1, 0.0, True), case(8, 0.1, measured=True), case(30, 0.3, True)),
}


def prepare(folder: Path) -> None:
    """Write the files that recipes read."""
    ranks = 2 ** np.arange(3, 9)
    one = [f"{p},solve,time,{5 + 2 * p**0.5:.6g}" for p in ranks]
    (folder / "one.csv").write_text("\n".join(["p,region,metric,value", *one]), encoding="utf-8")
    two = [f"{p},{n},solve,time,{5 + 2 * n * p**0.5:.6g}" for p in ranks for n in (10, 20, 40, 80, 160)]
    (folder / "two.csv").write_text("\n".join(["p,n,region,metric,value", *two]), encoding="utf-8")
    draw = np.random.default_rng(1)
    many = [
        f"{p},region {k} with a long name,{metric},{(5 + 2 * p ** (k / 4)) * draw.lognormal(0, 0.05):.6g}"
        for k in range(4)
        for metric in ("time", "bytes_sent", "flops")
        for p in ranks
        for _ in range(3)
    ]
    (folder / "many.csv").write_text("\n".join(["p,region,metric,value", *many]), encoding="utf-8")
    runs = [f"{p},near,{1e-5 * p**0.7 * draw.lognormal(0, 0.1):.4g}" for p in (4, 8, 16, 64) for _ in range(3)]
    (folder / "runs.csv").write_text("\n".join(["P,order,value", *runs]), encoding="utf-8")
    for ranks_of_run in (2, 4, 8, 16):
        words = ["simulate", "npb-ep", "xeon-cluster", "-P", str(ranks_of_run), "--write"]
        run([*words, f"counters:{folder / f'ep{ranks_of_run}.csv'}"])


def run(words: Sequence[str]) -> str:
    """Run a command and return nothing, or what it complained of."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = cli.main([*words])
    return "" if status in (0, 1) else err.getvalue() or out.getvalue()


def draw(recipe: Recipe, kind: str, path: Path) -> tuple[str, str]:
    """Draw a picture; how it is made, in words, and what went wrong."""
    if not isinstance(recipe, str):
        try:
            recipe(path)
        except SimcodesignError as error:
            return "", str(error)
        return "", ""
    words = shlex.split(recipe.replace("FOLDER", str(path.parent)))
    store = ["--store", str(path.with_suffix(".sqlite"))] if words[0] == "sweep" and "--simulate" in words else []
    path.with_suffix(".sqlite").unlink(missing_ok=True)
    picture = ["--write", f"{WORDS.get(kind, 'plot')}:{path}"]
    return f"simcodesign {recipe}", run([*words, *picture, *store])


def main(folder: Path, wanted: Sequence[str]) -> int:
    """Draw what is wanted, or everything; the exit status."""
    folder.mkdir(parents=True, exist_ok=True)
    prepare(folder)
    parts, bad = [], 0
    for kind, recipes in {**COMMANDS, **FUNCTIONS}.items():
        if wanted and not any(word in kind for word in wanted):
            continue
        parts.append(f"<h2>{kind}</h2>")
        for size, recipe in zip(("little", "usual", "much"), recipes, strict=True):
            suffix = ".svg" if kind == "cases of validation" else ".png"
            path = folder / f"{kind.replace(', ', '-').replace(' ', '-')}-{size}{suffix}"
            words, error = draw(recipe, kind, path)
            bad += bool(error)
            shown = f"<pre>{html.escape(error)}</pre>" if error else f'<img src="{path.name}" alt="{kind}, {size}">'
            parts.append(f"<figure>{shown}<figcaption>{size}: {html.escape(words)}</figcaption></figure>")
            print(f"{kind}, {size}{': ' if error else ''}{error.strip()}", flush=True)
    (folder / "gallery.html").write_text(PAGE.format("\n".join(parts)), encoding="utf-8")
    return int(bad > 0)


PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>All kinds of plots</title>
<style>body {{ font: 15px sans-serif; margin: 1rem; }} img {{ max-width: 100%; border: 1px solid #ccc; }}
figure {{ margin: 0 0 2rem; }} figcaption {{ color: #555; }}</style></head>
<body><h1>All kinds of plots, of little, usual and much data</h1>
{}
</body></html>
"""

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
