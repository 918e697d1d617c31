"""Caliper's own files and tables of Hatchet: regions, units that are stated or asked for, and what is no parameter."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from simcodesign.core.errors import InputError
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkTable, read_benchmark
from simcodesign.fitting.readers.formats import read_measurements

needs_package = pytest.mark.skipif(find_spec("caliperreader") is None, reason="caliper-reader is not installed")

#: As Hatchet writes a graph frame of HPCToolkit; times are microseconds, and nothing says so.
HPCTOOLKIT = """node,rank,time (inc),time,PAPI_TOT_CYC (inc),PAPI_TOT_CYC,nid,name,type,file,line,module
"{'name': 'main', 'type': 'function'}",0,999238.0,0.0,5,4,4,main,PF,./src/cpi.c,19,cpi
"{'name': 'main', 'type': 'function'}",1,999390.0,2.0,7,6,4,main,PF,./src/cpi.c,19,cpi
"{'name': 'solve', 'type': 'function'}",0,500.0,500.0,3,3,6,solve,PF,<unknown file>,0,/usr/lib/libm.so.6
"""


def read(folder: Path, text: str, name: str, format: str | None = None) -> BenchmarkTable:
    path = folder / name
    path.write_text(text)
    return read_benchmark(path, format)


def times(table: BenchmarkTable) -> list[tuple[str, str, float]]:
    return [(row.operation, row.labels.get("scope", ""), row.value) for row in table.rows]


@pytest.mark.parametrize(("unit", "seconds"), [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)])
def test_a_unit_that_is_not_stated_is_asked_for(tmp_path: Path, unit: str, seconds: float) -> None:
    with pytest.raises(InputError, match=r"unit of the times in column 'time \(inc\)' is not stated.*caliper-us"):
        read(tmp_path, HPCTOOLKIT, "h.csv")
    table = read(tmp_path, HPCTOOLKIT, "h.csv", f"caliper-{unit}")
    assert times(table)[0] == ("main", "inclusive", pytest.approx(999238 * seconds, rel=1e-15))
    titled = HPCTOOLKIT.replace("time (inc),time,", f"time (inc) ({unit}),time [{unit}],", 1)
    assert times(read(tmp_path, titled, "h.csv")) == times(table)
    assert times(read(tmp_path, titled, "h.csv", "caliper-ns")) == times(table)  # what is stated counts


def test_what_identifies_a_node_is_no_parameter(tmp_path: Path) -> None:
    table = read(tmp_path, HPCTOOLKIT, "h.csv", "caliper-us")
    assert len(table.rows) == 6
    assert {tuple(row.parameters) for row in table.rows} == {()}
    assert {tuple(row.labels) for row in table.rows} == {("scope",)}
    with_size = HPCTOOLKIT.replace("nid", "size").replace(",module", ",ranks").replace(",cpi\n", ",2\n")
    rows = read(tmp_path, with_size.replace("/usr/lib/libm.so.6", "2"), "h.csv", "caliper-us").rows
    assert [dict(row.parameters) for row in rows[:2]] == [{"size": 4, "P": 2}] * 2


def test_titles_of_hpctoolkit(tmp_path: Path) -> None:
    text = "name,CPUTIME (usec):Sum (I),CPUTIME (usec):Sum (E),REALTIME (sec) (I),line,p\nmain,2000,500,3,17,4\n"
    table = read(tmp_path, text, "h.csv")
    expected = [("main", "inclusive", 2e-3), ("main", "exclusive", 5e-4), ("main", "inclusive", 3.0)]
    assert times(table) == [(*words, pytest.approx(value, rel=1e-15)) for *words, value in expected]
    assert dict(table.rows[0].parameters) == {"p": 4}


def json_split(unit: str | None = "sec", **changes: Any) -> str:
    """Two ranks, and a region within another; values of the unit, and what describes the run."""
    metadata: dict[str, Any] = {"is_value": True} | ({"attribute.unit": unit} if unit else {})
    content = {
        "data": [[5.0, 0, 1.0, 0], [6.0, 1, 2.0, 0], [4.0, 0, 4.0, 1], [4.5, 1, 4.5, 1], [0.5, 0, 0.5, None]],
        "columns": ["inclusive#sum#time.duration", "mpi.rank", "sum#time.duration", "path"],
        "column_metadata": [metadata, {"is_value": True}, metadata, {"is_value": False}],
        "nodes": [{"label": "main", "column": "path"}, {"label": "solve", "column": "path", "parent": 0}],
        "problem_size": "30",
        "cluster": "opal",
        "cali.caliper.version": "2.5",
        "launchdate": "1616614379",
    }
    return json.dumps(content | changes)


def test_json_of_caliper(tmp_path: Path) -> None:
    table = read(tmp_path, json_split(), "run.json")
    assert times(table)[:4] == [
        ("main", "inclusive", 5.0),
        ("main", "exclusive", 1.0),
        ("main", "inclusive", 6.0),
        ("main", "exclusive", 2.0),
    ]
    assert times(table)[4] == ("main->solve", "inclusive", 4.0)
    assert times(table)[-1] == ("(outside all regions)", "exclusive", 0.5)
    assert {tuple(row.parameters.items()) for row in table.rows} == {(("P", 2), ("problem_size", 30))}
    assert read(tmp_path, json_split("usec"), "run.json").rows[0].value == pytest.approx(5e-6, rel=1e-15)
    sized = read(tmp_path, json_split(**{"mpi.world.size": 27}), "run.json")
    assert sized.rows[0].parameters["P"] == 27


def test_json_without_a_unit(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unit of the times in column 'inclusive#sum#time\.duration' is not stated"):
        read(tmp_path, json_split(None), "run.json")
    assert read(tmp_path, json_split(None), "run.json", "caliper-us").rows[0].value == pytest.approx(5e-6, rel=1e-15)


def test_means_over_ranks_have_a_spread(tmp_path: Path) -> None:
    names = [f"{kind}#inclusive#sum#time.duration" for kind in ("min", "max", "avg")] + ["avg#time.duration"]
    seconds = {"is_value": True, "attribute.unit": "sec"}
    text = json_split(
        data=[[1.0, 3.0, 2.0, 0.1, 1]], columns=[*names, "path"], column_metadata=[seconds] * 4 + [{"is_value": False}]
    )
    (row,) = read(tmp_path, text, "run.json").rows
    assert (row.operation, row.low, row.value, row.high) == ("main->solve", 1, 2, 3)


def test_runs_become_series_over_the_ranks(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json_split())
    measurements = read_measurements(path)
    assert measurements.parameters == ("P",)
    assert measurements.points.tolist() == [[2]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"data": [[1, 2]]}', r"not the JSON of Caliper \(KeyError"),
        ('{"data": [[1, 2], ', "not JSON"),
        (f'{{"data": [[1, {"9" * 5000}]]}}', "not JSON"),
        (json_split(nodes=[]), "not the JSON of Caliper"),
        (
            json_split(nodes=[{"label": "a", "parent": 1}, {"label": "b", "parent": 0}]),
            "a path of more than 1000 regions",
        ),
        (json_split(columns=["a"]), "not the JSON of Caliper"),
        (json_split(data=[]), "holds no measurement"),
        (json_split(data=[["x", 0, 1.0, 0]]), "column inclusive#sum#time.duration: not a number, got 'x'"),
        (json_split(data=[[]]), "not the JSON of Caliper"),
    ],
)
def test_bad_json(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, text, "run.json")


#: Attributes 8 to 10 (name, type, properties) and types 1 (string) and 5 (double) are fixed in every file.
CALI = """__rec=node,id=24,attr=10,data=276,parent=3
__rec=node,id=25,attr=8,data=region,parent=24
__rec=node,id=30,attr=10,data=21,parent=5
__rec=node,id=31,attr=8,data=attribute.unit,parent=24
__rec=node,id=32,attr=31,data=usec,parent=30
__rec=node,id=33,attr=8,data=sum#time.duration,parent=32
__rec=node,id=34,attr=8,data=avg#time.duration,parent=30
__rec=node,id=40,attr=25,data=main
__rec=node,id=41,attr=25,data=solve,parent=40
__rec=ctx,ref=40,attr=33=34,data=1500=750
__rec=ctx,ref=41,attr=33=34,data=2500=2500
"""


@needs_package
def test_cali(tmp_path: Path) -> None:
    table = read(tmp_path, CALI, "run.cali")
    assert times(table) == [("main", "", pytest.approx(1.5e-3)), ("main->solve", "", pytest.approx(2.5e-3))]
    old = CALI.replace("data=sum#time.duration,parent=32", "data=sum#time.duration,parent=30")
    with pytest.raises(InputError, match=r"unit of the times in column 'sum#time\.duration' is not stated"):
        read(tmp_path, old, "run.cali")
    assert times(read(tmp_path, old, "run.cali", "caliper-s"))[0] == ("main", "", 1500)
    with pytest.raises(InputError, match="the Caliper file cannot be read"):
        read(tmp_path, CALI.replace("attr=25", "attr=77"), "run.cali")


@pytest.mark.skipif(find_spec("caliperreader") is not None, reason="caliper-reader is installed")
def test_cali_without_the_package_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"needs the package caliper-reader.*simcodesign\[caliper\].*cali-query -j"):
        read(tmp_path, CALI, "run.cali")


def test_files_of_others(cases: Path) -> None:
    folder = cases / "files-of-others"
    table = read_benchmark(folder / "hpctoolkit-cpi-graphframe.csv", "caliper-us")
    (whole, *_) = [row for row in table.rows if row.operation == "main" and row.labels["scope"] == "inclusive"]
    assert (whole.value, dict(whole.parameters)) == (pytest.approx(0.999238), {})
    ranks = read_benchmark(folder / "caliper-lulesh.json", "caliper-us")
    assert {row.parameters["P"] for row in ranks.rows} == {8}
    if find_spec("caliperreader"):
        spot = read_benchmark(folder / "thicket-lulesh-27_cores.cali")
        (split,) = [row for row in spot.rows if row.operation == "MPI_Comm_split"]
        assert (split.low, split.value, split.high, split.parameters["P"]) == (0.000218, 0.001465, 0.004587, 27)
