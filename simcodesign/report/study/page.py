"""The answers of a study as one HTML file that needs no other file, no network and no script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import quote

from simcodesign import __version__
from simcodesign.core.files.atomic_files import replacing_text
from simcodesign.core.files.input_files import read_text
from simcodesign.report.notebook.html import html_of
from simcodesign.report.study.parts import renderables_of
from simcodesign.report.validation.pictures import image_address
from simcodesign.studies.folder.answers import Answer
from simcodesign.studies.folder.study_file import Question, Study

_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; max-width: 62rem; margin: 2rem auto;
  padding: 0 1rem; color: #222; background: #fff; overflow-wrap: anywhere; }}
h1 {{ line-height: 1.2; margin-bottom: .3rem; }}
section {{ border-top: 2px solid #ccc; margin-top: 2.2rem; }}
h2 {{ margin: .9rem 0 .3rem; }}
p {{ margin: .4rem 0; max-width: 50rem; }}
.answer {{ overflow-x: auto; font-size: .9rem; overflow-wrap: normal; }}
.answer table {{ margin: .9rem 0; }}
.answer thead th {{ border-bottom: 1px solid #888; }}
img {{ width: 100%; max-width: 50rem; border: 1px solid #ddd; margin: .6rem 0; }}
code {{ font-size: .85rem; background: #f3f3f3; padding: .1rem .3rem; }}
dl {{ display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .1rem 1rem; margin: .4rem 0; }}
dd {{ margin: 0; }}
.soft {{ color: #595959; font-size: .9rem; }}
.failed {{ color: #a00; white-space: pre-wrap; }}
</style>
</head>
<body>
"""


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question with the ``command`` that answers it, its ``answer`` (None: not answered yet) and its ``error``."""

    question: Question
    command: str
    answer: Answer | None = None
    error: str = ""


def write_page(
    path: Path, study: Study, answered: Iterable[AnsweredQuestion], named: Mapping[str, Mapping[str, str]]
) -> None:
    """Write the page, whole or not at all.

    ``named``: for "Machines" and "Workloads", the meaning of each name. The working folder is the study's. Raises
    InputError for a path that cannot be written.
    """
    every = list(answered)
    text = "".join([_HEAD.format(title=escape(study.name)), *_body(study, every, named), "</body>\n</html>\n"])
    with replacing_text(path) as file:
        file.write(text)


def _body(study: Study, answered: list[AnsweredQuestion], named: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    yield f"<h1>{escape(study.name)}</h1>\n"
    yield from (f"<p>{escape(text)}</p>\n" for text in (study.about,) if text)
    yield from (f'<p class="soft">Source: {escape(text)}</p>\n' for text in (study.source,) if text)
    yield "<nav><ol>\n"
    for one in answered:
        yield f'<li><a href="#{_anchor(one.question)}">{escape(one.question.name)}</a>{_state(one)}</li>\n'
    yield "</ol></nav>\n"
    for title, texts in named.items():
        if texts:
            yield f"<section>\n<h2>{title}</h2>\n<dl>\n"
            yield from (f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>\n" for name, text in texts.items())
            yield "</dl>\n</section>\n"
    for one in answered:
        yield from _section(one)
    yield f'<p class="soft">Made with simcodesign {escape(__version__)}.</p>\n'


def _anchor(question: Question) -> str:
    return quote(question.file_name, safe="")


def _state(one: AnsweredQuestion) -> str:
    if one.error or (one.answer and one.answer.status):
        return ' <span class="failed">(failed)</span>'
    return "" if one.answer else ' <span class="soft">(not answered yet)</span>'


def _section(one: AnsweredQuestion) -> Iterator[str]:
    question, answer = one.question, one.answer
    yield f'<section id="{_anchor(question)}">\n<h2>{escape(question.name)}</h2>\n'
    if question.about:
        yield f"<p>{escape(question.about)}</p>\n"
    yield f"<p><code>{escape(one.command)}</code></p>\n"
    if one.error:
        yield f'<p class="failed">{escape(one.error)}</p>\n'
    if answer is not None:
        yield from (f'<p class="soft">{escape(text)}</p>\n' for text in answer.messages)
        if answer.status:
            yield f'<p class="failed">The command ended with exit status {answer.status}.</p>\n'
        for path in answer.pictures:
            picture = image_address(read_text(Path(path)))
            yield f'<img src="{picture}" alt="{escape(question.name, quote=True)}: {escape(Path(path).stem)}">\n'
        yield f'<div class="answer">{html_of(renderables_of(answer.parts))}</div>\n'
        yield from (
            f'<p class="soft">The tables as a file: <a href="{quote(path)}">{escape(path)}</a></p>\n'
            for path in answer.tables
        )
    yield "</section>\n"
