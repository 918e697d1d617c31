"""One page with the pictures of the demonstration, which needs no other file."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path

from simcodesign.core.files.atomic_files import replacing_text
from simcodesign.report.validation.pictures import image_address

_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>simcodesign: can you trust the formula?</title>
<style>
body { font: 16px/1.5 sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
figure { margin: 2.5rem 0; }
img { width: 100%; border: 1px solid #ddd; }
figcaption { margin-top: .5rem; }
</style>
</head>
<body>
<h1>Can you trust the formula?</h1>
"""


def write_page(path: Path, pictures: Mapping[Path, str]) -> None:
    """SVG files and their captions, one below the other. InputError for a path that cannot be written."""
    figures = [
        f'<figure>\n<img src="{image_address(file.read_text(encoding="utf-8"))}" alt="{escape(text, quote=True)}">\n'
        f"<figcaption>{escape(text)}</figcaption>\n</figure>\n"
        for file, text in pictures.items()
    ]
    with replacing_text(path) as file:
        file.write("".join([_HEAD, *figures, "</body>\n</html>\n"]))
