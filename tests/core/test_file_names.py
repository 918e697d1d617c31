"""Names of files made of any text stay inside their folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.files.file_names import safe_file_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("broadcast", "broadcast"),
        ("../../x", "x"),
        ("/etc/passwd", "etc-passwd"),
        ("..\\..\\x", "x"),
        ("a/b", "a-b"),
        (".hidden", "hidden"),
        ("..", "unnamed"),
        ("", "unnamed"),
        ("nul\0l", "nul-l"),
        ("CON.txt", "CON.txt-"),
        ("mesh-256-network.startup=1us", "mesh-256-network.startup=1us"),
        ("größe", "größe"),
    ],
)
def test_known_names(text: str, name: str) -> None:
    assert safe_file_name(text) == name


@given(st.text(max_size=200))
def test_any_name_is_one_file_of_its_folder(text: str) -> None:
    name = safe_file_name(text)
    assert Path("/folder", name).resolve() == Path("/folder", name)
    assert Path("/folder", name).parent == Path("/folder")
    assert len(name.encode()) < 255
    assert safe_file_name(name) == name
