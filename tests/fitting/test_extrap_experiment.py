"""Experiments that Extra-P has saved (``.extra-p``): with and without the repetitions, and what is damaged."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simcodesign.core.errors import InputError
from simcodesign.fitting.readers.formats import read_measurements

POINTS = [[4.0, 100.0], [8.0, 100.0], [16.0, 100.0]]
REPETITIONS = [[1.0, 3.0], [2.0, 5.0], [4.0, 9.0]]


def measured(values: list[Any]) -> list[dict[str, Any]]:
    return [
        {"coordinate": point, "mean": float(np.mean(ones)), "median": 7.0, "repetitions": 2, "values": where}
        for point, ones, where in zip(POINTS, REPETITIONS, values, strict=True)
    ]


def experiment(values: list[Any] | None = None, **changes: Any) -> dict[str, Any]:
    regions = {"main->solve": {"time": measured(values or [None] * 3), "flops": measured([None] * 3)}}
    return {"Extra-P": "4.2.0", "parameters": ["p", "n"], "measurements": regions, "modelers": [{"x": 1}]} | changes


def chunk(arrays: list[list[float]]) -> tuple[bytes, bytes]:
    """A file of arrays and the places of their beginnings, as Extra-P writes them."""
    data, starts = io.BytesIO(), []
    data.write(b"Extra-P VALUES\0\0")
    for array in arrays:
        starts.append(data.tell())
        np.lib.format.write_array(data, np.array(array))
    return data.getvalue(), b"Extra-P INDEX\0\0\0" + struct.pack(f"<{len(starts) + 1}Q", len(starts), *starts)


def saved(folder: Path, content: Any, arrays: list[list[float]] | None = None, name: str = "run.extra-p") -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        if arrays is not None:
            values, index = chunk(arrays)
            archive.writestr("values/0.vals", values)
            archive.writestr("values/0.indx", index)
        archive.writestr("experiment.json", content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.parametrize("name", ["run.extra-p", "run.zip", "run"])
def test_means(tmp_path: Path, name: str) -> None:
    measurements = read_measurements(saved(tmp_path, experiment(), name=name))
    assert measurements.parameters == ("p", "n")
    assert measurements.points.tolist() == POINTS
    assert (measurements.regions, measurements.metrics) == (("main->solve",) * 2, ("time", "flops"))
    assert measurements.values[0].ravel().tolist() == [2.0, 3.5, 6.5]


def test_repetitions(tmp_path: Path) -> None:
    where = [[0, 2], [0, 0], [0, 1]]
    path = saved(tmp_path, experiment(where), [REPETITIONS[1], REPETITIONS[2], REPETITIONS[0]])
    assert read_measurements(path).values[0].tolist() == REPETITIONS


@pytest.mark.parametrize(
    ("content", "arrays", "message"),
    [
        ("{", None, "not JSON"),
        ("[]", None, "not an experiment of Extra-P"),
        (experiment(parameters=[]), None, "parameters"),
        (experiment(parameters=["p"]), None, r"measurements.main->solve.time: a point that does not fit"),
        (experiment(measurements={"a": {"b": [{"mean": 1.0}]}}), None, r"not an experiment.*KeyError: 'coordinate'"),
        (experiment(measurements={}), None, "the file holds no measurement"),
        (experiment([[0, 0], None, None]), None, "not an experiment.*0.indx"),
        (experiment([[0, 9], None, None]), REPETITIONS, "not an experiment of Extra-P"),
        (experiment(["x", None, None]), REPETITIONS, "not an experiment of Extra-P"),
    ],
)
def test_bad_experiments(tmp_path: Path, content: Any, arrays: list[list[float]] | None, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_measurements(saved(tmp_path, content, arrays))
    assert "run.extra-p" in str(caught.value)


def test_other_archives(tmp_path: Path) -> None:
    path = tmp_path / "run.extra-p"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.txt", "x")
    with pytest.raises(InputError, match=r"not an experiment of Extra-P.*experiment\.json"):
        read_measurements(path)
    path.write_bytes(saved(tmp_path, experiment(), name="whole.zip").read_bytes()[:-30])
    with pytest.raises(InputError, match="not an experiment of Extra-P"):
        read_measurements(path)
    whole = saved(tmp_path, experiment(), name="whole.zip").read_bytes()
    for place in range(60, len(whole) - 60, 40):  # damaged in the middle: refused, or the same where nothing is read
        path.write_bytes(whole[:place] + bytes(4) + whole[place + 4 :])
        with pytest.raises(InputError):
            read_measurements(path)
    path.write_bytes(b"no archive")
    with pytest.raises(InputError, match="not an experiment of Extra-P"):
        read_measurements(path)


def test_a_file_of_others(cases: Path) -> None:
    """The first mean as the file has it, and as many points as its two parameters have values."""
    measurements = read_measurements(cases / "files-of-others" / "extrap-two_parameter3.extra-p")
    assert measurements.parameters == ("x", "y")
    assert (measurements.points.shape, measurements.values[0, 0, 0]) == ((25, 2), 0.998632604831951)
