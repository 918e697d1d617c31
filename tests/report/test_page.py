"""The report as one page: complete, self-contained, and as a browser sees it."""

from __future__ import annotations

import gzip
import io
import json
import math
import re
import shutil
import subprocess
import tempfile
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from simcodesign.cli.run.validation import show_finished
from simcodesign.comparison.compare import compare
from simcodesign.core.errors import InputError
from simcodesign.core.to_json import to_json
from simcodesign.core.units import parse_quantity
from simcodesign.describe.measured.times import MeasuredTimes, MeasuredValue
from simcodesign.report.common.numbers import shared_unit
from simcodesign.report.common.progress import ProgressBar
from simcodesign.report.validation import page as pages
from simcodesign.report.validation.cards import WIDTH, cards, dots, place
from simcodesign.report.validation.measured import measured_summary
from simcodesign.report.validation.pictures import SEPARATOR, inline, slim
from simcodesign.report.validation.plots import drawer
from simcodesign.report.validation.story import checked_text, worst_cases
from simcodesign.report.validation.tables import outcome_tables, shown_point
from simcodesign.studies.validation.case import Case, Collection, Derived, Readings, Tolerance
from simcodesign.studies.validation.outcome import CaseOutcome, outcome_of
from simcodesign.studies.validation.registry import load_cases
from simcodesign.studies.validation.run import measured
from simcodesign.studies.validation.verdict import Verdict

pytest.importorskip("jinja2")

LOOSE = Tolerance("Two digits are <printed>.", relative=0.05)
AXIS: dict[Any, float] = {2**k: 1e-6 * 2**k for k in range(1, 8)}
LONG: dict[Any, float] = {k: float(k * k) for k in range(1, 42)}
PARTS = ["claim", "source", "unit", "workload", "machine"]


def made(name: str, expected: dict[Any, float], readings: Readings | None = None, **rest: Any) -> Case:
    reading = "source" if readings is None else "both"
    result = None if readings is None else lambda: readings
    return Case(
        name,
        f"This is <claimed> of {name} & more.",
        f"Book of {name}, http://example.org/x",
        "s",
        expected,
        LOOSE,
        reading,
        result,
        **rest,
    )


def raises() -> Readings:
    raise ValueError("nothing <here>")


def ladder() -> Readings:
    comparison = compare("burst", "mesh-256", {"P": 16}, effects="hops,links")
    return Readings({"x": 1.0}, {"x": 1.0}, ladders={"16 ranks": comparison})


def cases() -> list[Case]:
    line = Derived("T", "t_s + n*B", {"t_s": 2e-6, "n": 1024, "B": 1e-9}, "s")
    own = {1: 1.0, 2: 5.0}
    return [
        made(
            "theory/axis",
            AXIS,
            Readings(AXIS, AXIS, derivation=(line,)),
            axis="ranks",
            workload="w<1>",
            machine="m<2>",
            parameters={"size": "64 KiB"},
        ),
        made("theory/long", LONG, Readings(LONG, LONG, notes=("A <note>.",)), axis="n"),
        made("paper/words", {"a_b": 1.0, "c$d": 2.0}, Readings({"a_b": 1.0, "c$d": 3.0}, {"a_b": 1.0})),
        made("paper/own", {1: 1.0, 2: 2.0}, own=own, printed=True, inputs={"rate": "published"}),
        made("paper/lost", {"x": 1.0}, needs={"rate": None}),
        Case("paper/raises", "It raises.", "Book", "s", {"x": 1.0}, LOOSE, "both", raises),
        Case("paper/ladder", "It is explained.", "Book", "s", {"x": 1.0}, LOOSE, "both", ladder),
        made("paper/zero", {"x": 0.0}, Readings({"x": 0.0}, {"x": 0.0})),
        Case(
            "paper/bound",
            "It takes at least that.",
            "Book",
            "s",
            {"far": 1e-6, "near": 2e-6, "next": 3e-6},
            Tolerance("A bound.", relative=1e-12, sense="at_least"),
            "simulation",
            lambda: Readings(simulation={"far": 1e-3, "near": 2.2e-6, "next": 4.5e-6}),
            parameters={"network.hop_latency": 4e-8, "train": 104.0},
        ),
        Case(
            "paper/measured",
            "A machine took that long.",
            "Logbook",
            "s",
            {64: 2e-3, 128: 4e-3, 256: 9e-3},
            Tolerance("A share of what was measured.", relative=0.5),
            "both",
            lambda: Readings(
                {64: 2e-3, 128: 3e-3, 256: 5e-3}, {64: 2e-3, 128: 5e-3, 256: 8e-3}, formula={64: 1e-3, 256: 3e-3}
            ),
            axis="bytes",
            measured={
                64: MeasuredValue(2e-3, 1.8e-3, 2.5e-3, 10, "quartiles"),
                128: MeasuredValue(4e-3, 3e-3, 5e-3, 20, "quartiles"),
                256: MeasuredValue(9e-3),
            },
        ),
        made("paper/drawn", {"x": 1.0}, Readings({"x": 1.0}, {"x": 1.0}, plot=lambda axes: axes.plot([1, 2], [3, 4]))),
    ]


@pytest.fixture(scope="module")
def outcomes() -> list[CaseOutcome]:
    return [measured(case, drawer()) for case in cases()]


@pytest.fixture(scope="module")
def text(outcomes: list[CaseOutcome]) -> str:
    return pages.page(outcomes)


class Elements(HTMLParser):
    """Start tags with their attributes, and all text outside styles and scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.style = ""
        self.scripts: list[str] = []
        self.inside: list[str] = []
        self.feed(text.replace("<wbr>", ""))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "img", "input"):
            self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.inside.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if self.inside and self.inside[-1] == "style":
            self.style += data
        elif self.inside and self.inside[-1] == "script":
            self.scripts.append(data)
        else:
            self.words.append(data)

    @property
    def visible(self) -> str:
        return " ".join(" ".join(self.words).split())


def cases_of(text: str) -> list[dict[str, str | None]]:
    """The attributes of every case."""
    every = [attributes for tag, attributes in Elements(text).tags if tag == "details"]
    return [attributes for attributes in every if (attributes.get("class") or "").startswith("case ")]


# --- What it says --------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_everything_about_every_case_is_there(text: str, outcomes: list[CaseOutcome]) -> None:
    visible = Elements(text).visible
    for outcome in outcomes:
        for part in (
            *(getattr(outcome, name) for name in PARTS),
            outcome.tolerance.reason,
            outcome.error,
            *outcome.derivation,
            *outcome.notes,
            *outcome.missing,
            str(outcome.verdict),
        ):
            assert part in visible
    assert "T = t_s + n*B = 2e-06 + 1024*1e-09 = 3.024e-06 s" in visible
    assert "size = 64 KiB" in visible
    assert "What explains the gap: 16 ranks" in visible
    assert (
        "11 cases: published number reproduced: 1, reproduced under a chosen reading: 0, own consistency check: 6"
        in visible
    )
    assert "The others: 1 source inconsistent, 1 not recoverable, 2 differs." in visible


def test_the_story_names_the_worst(outcomes: list[CaseOutcome]) -> None:
    """Of those that differ the one without an answer, then by how far they are off; then what is nearest to failing."""
    worst = worst_cases(outcomes, 3)
    assert [one.outcome.name for one in worst] == ["paper/raises", "paper/words", "paper/measured"]
    assert worst[1].values == "expected 2 s, forecast 3 s (+50 %)"
    assert worst[2].why == "within its tolerance, of which it uses 89%"  # 4/9 of 0.5
    assert checked_text(outcomes).startswith("11 cases with 63 numbers: other cases (11).")
    papers = [replace(one, collection=Collection("papers", one.name)) for one in outcomes[:3]]
    assert checked_text(papers).startswith("3 cases with 50 numbers: 3 papers (3).")


def test_a_card_for_each_collection_or_group(outcomes: list[CaseOutcome]) -> None:
    paper = Collection("papers", "A paper")
    mixed = [replace(one, collection=paper) if one.group == "theory" else one for one in outcomes]
    assert [(card.title, len(card.outcomes)) for card in cards(mixed)] == [("A paper", 2), ("paper", 9)]
    assert [card.title for card in cards(outcomes)] == ["theory", "paper"]
    with pytest.raises(InputError, match="kind of a collection"):
        Collection("songs", "A song")


def test_shipped_cases_are_of_collections() -> None:
    """Five papers, and no case without a title."""
    collections = {case.collection for case in load_cases()}
    assert sum(one.kind == "papers" for one in collections) == 5
    assert all(one.title for one in collections)


@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3))
def test_dots_are_in_the_order_of_deviations(one: float, other: float) -> None:
    assert 0 < place(one) < WIDTH
    assert place(-one) == pytest.approx(WIDTH - place(one))
    assert one >= other or place(one) <= place(other)


def test_a_dot_for_each_case_with_a_deviation(outcomes: list[CaseOutcome]) -> None:
    _, paths = dots(outcomes)
    number_of = {verdict: path.count("M") for verdict, path in paths}
    known = [one for one in outcomes if one.name not in ("paper/raises", "paper/lost", "paper/bound")]
    assert number_of == {
        verdict: count for verdict in Verdict if (count := sum(one.verdict is verdict for one in known))
    }


def test_packed_pictures_are_those_of_the_cases(text: str, outcomes: list[CaseOutcome]) -> None:
    packs = [b64decode(pack) for pack in re.findall(r'<script type="text/plain" id="pack-[^>]*>([^<]*)<', text)]
    pictures = [one for pack in packs for one in gzip.decompress(pack).decode().split(SEPARATOR)]
    drawn = [outcome.plot for card in cards(outcomes) for outcome in card.outcomes if outcome.plot]
    assert pictures == [inline(plot) for plot in drawn]
    assert not any("<style" in one for one in pictures)
    places = [int(value) for value in re.findall(r'data-picture="(\d+)"', text)]
    assert sorted(places) == sorted(number for card in cards(outcomes) for number in range(len(card.pictured)))


def test_bounds_have_their_sign_and_the_point_closest_to_failing_stands_for_them(
    text: str, outcomes: list[CaseOutcome]
) -> None:
    (bound,) = [outcome for outcome in outcomes if outcome.name == "paper/bound"]
    assert shown_point(bound).label == "near"
    visible = Elements(text).visible
    assert "paper/bound 3 >= 2 \N{EN DASH} 2.2 us holds, +10 %" in visible  # the row of the summary
    assert "far >= 1 1000 holds, x 1e+03" in visible
    assert "at least; within relative 1e-12" in visible


def test_parameters_have_units_and_whole_numbers_no_point(text: str) -> None:
    assert "network.hop_latency = 40 ns, train = 104" in Elements(text).visible


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
def test_a_terminal_breaks_no_number(width: int, outcomes: list[CaseOutcome]) -> None:
    """Whatever is left out: names stand on one line."""
    console = Console(width=width, file=io.StringIO(), markup=False)
    console.print(outcome_tables(outcomes)[0])
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert max(map(len, lines)) <= width
    for outcome in outcomes:
        assert sum(f" {outcome.name} " in f"{line} " for line in lines) == 1
    assert any(">= 2" in line for line in lines) == (width > 40)


@given(st.floats(1e-15, 1e15), st.sampled_from(["s", "B", "B/s", "FLOP/s", "s per value"]))
def test_a_shared_unit_changes_no_value(value: float, unit: str) -> None:
    scale, name = shared_unit([value, value / 10], unit)
    base, _, rest = name.partition(" ")
    dimension = {"s": "time", "B": "size", "B/s": "bandwidth", "FLOP/s": "rate"}[unit.partition(" ")[0]]
    assert parse_quantity(f"{value * scale!r} {base}", dimension) == pytest.approx(value, rel=1e-12)
    assert rest == unit.partition(" ")[2]


def test_text_is_never_markup(text: str) -> None:
    assert "<claimed>" not in text
    assert "&lt;claimed&gt;" in text


def test_headings_labels_and_links(text: str) -> None:
    elements = Elements(text)
    assert elements.inside == []
    levels = [int(tag[1]) for tag, _ in elements.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = [attributes["id"] for _, attributes in elements.tags if "id" in attributes]
    assert len(ids) == len({*ids})
    for _, attributes in elements.tags:
        for name in ("href", "aria-labelledby"):
            target = attributes.get(name)
            if target and not target.startswith("data:"):
                assert target.removeprefix("#") in ids
    assert all(attributes.get("alt") for tag, attributes in elements.tags if tag == "img")


def test_measured_values_stand_with_their_spread_and_all_errors(text: str, outcomes: list[CaseOutcome]) -> None:
    visible = Elements(text).visible
    minus = "\N{MINUS SIGN}"
    assert (
        "64 2 (1.8 to 2.5) 1 2 2 \N{MINUS SIGN}50 % 0 0 0 0 "
        f"128 4 (3 to 5) \N{EN DASH} 3 5 \N{EN DASH} {minus}25 % +25 % {minus}1"
    ) in visible
    assert f"256 9 3 5 8 {minus}67 % {minus}44 % {minus}11 % 1" in visible
    assert "in brackets: quartiles; 10 to 20 measurements behind each value" in visible
    (outcome,) = [one for one in outcomes if one.name == "paper/measured"]
    (last,) = to_json(outcome)["points"][-1:]
    assert (last["measured"], last["not_explained"]) == ({"value": 9e-3}, pytest.approx(1e-3))
    assert last["measured_errors"] == pytest.approx({"formula": -2 / 3, "forecast": -4 / 9, "simulation": -1 / 9})
    assert not {"measured", "formula"} & to_json(outcomes[0])["points"][0].keys()
    (table,) = measured_summary(outcomes)
    console = Console(width=120, file=io.StringIO())
    console.print(table)
    (row,) = [line for line in console.file.getvalue().splitlines() if "paper/measured" in line]  # type: ignore[attr-defined]
    assert row.split() == ["paper/measured", "3", "58", "%", "25", "%", "11", "%", "+25", "%"]


def test_a_ladder_goes_on_to_what_was_measured() -> None:
    seen = MeasuredTimes(MeasuredValue(1e-3), machine="mesh-256")
    comparison = compare("burst", "mesh-256", {"P": 16}, effects="hops,links", measured=seen)
    case = made("paper/ladder", {"x": 1.0}, Readings({"x": 1.0}, {"x": 1.0}, ladders={"16 ranks": comparison}))
    (shown,) = outcome_of(case, case.measure()).ladders  # type: ignore[misc]
    assert (shown.steps[-1].effect, shown.steps[-1].simulated_s) == ("not explained", 1e-3)
    assert shown.start_s + math.fsum(step.change_s for step in shown.steps) == pytest.approx(1e-3)
    assert math.fsum(step.fraction for step in shown.steps) == pytest.approx(1)


def test_many_points_are_folded_up(text: str) -> None:
    assert "<details><summary>41 values</summary>" in text
    assert text.count(" values</summary>") == 1


@pytest.mark.thorough
def test_the_same_outcomes_give_the_same_page(text: str, outcomes: list[CaseOutcome]) -> None:
    assert pages.page(outcomes) == text
    again = [measured(case, drawer()).plot for case in cases()]
    assert again == [outcome.plot for outcome in outcomes]


def test_a_date_only_if_asked_for(text: str, outcomes: list[CaseOutcome]) -> None:
    assert "UTC" not in text
    assert "UTC" in pages.page(outcomes, dated=True)


def test_plots(outcomes: list[CaseOutcome]) -> None:
    pytest.importorskip("matplotlib")
    values = {outcome.name: outcome.plot for outcome in outcomes}
    assert {name for name, plot in values.items() if not plot} == {"paper/lost", "paper/raises"}
    for words in ("ranks", "tolerance", "expected", "forecast", "simulation"):
        assert words in values["theory/axis"]
    assert "deviation from expected (%)" in values["paper/words"]
    assert "c$d" in values["paper/words"]
    assert "deviation (s)" in values["paper/zero"]
    assert "own equations" in values["paper/own"]


def test_a_folder_that_is_gone_is_said(tmp_path: Path, outcomes: list[CaseOutcome]) -> None:
    with pytest.raises(InputError, match="cannot be written: No such file"):
        pages.write_page(outcomes, tmp_path / "gone" / "page.html")


# --- Nothing from elsewhere ----------------------------------------------------------------------------------


def references(text: str) -> list[str]:
    """Whatever a browser might fetch: addresses in attributes and styles that are neither data nor within the page."""
    elements = Elements(text)
    loading = ("src", "href", "srcset", "action", "poster", "data", "background", "formaction", "xlink:href")
    values = [str(value) for _, attributes in elements.tags for name, value in attributes.items() if name in loading]
    styles = [elements.style, *(str(attributes["style"]) for _, attributes in elements.tags if "style" in attributes)]
    for style in styles:
        values += re.findall(r"url\(\s*['\"]?([^'\")]*)", style) + re.findall(r"@import.*", style)
    return [address for address in values if not address.startswith(("data:", "#"))]


def test_nothing_is_fetched(text: str, outcomes: list[CaseOutcome]) -> None:
    assert references(text) == []
    scripts = [attributes for tag, attributes in Elements(text).tags if tag == "script"]
    assert all(attributes.get("type") == "text/plain" for attributes in scripts[:-1])  # pictures
    assert scripts[-1] == {}
    for outcome in outcomes:  # xmlns and the like are names, not addresses
        assert not re.findall(r"(?:href|src)=\"(?!#)|url\((?!#)|@import", outcome.plot)


@pytest.mark.parametrize(
    "bad",
    [
        '<img src="//a.example/x.png">',
        '<link href="https://a.example/x.css">',
        "<style>@import 'x.css';</style>",
        "<style>a { background: url(http://a.example/x) }</style>",
        '<p style="background: url(x.png)">',
        '<script src="x.js"></script>',
        '<img src="x.png">',
    ],
)
def test_a_reference_would_be_noticed(bad: str) -> None:
    assert references(bad)


# --- In a browser --------------------------------------------------------------------------------------------

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")
needs_browser = pytest.mark.skipif(not BROWSER, reason="no chromium, chromium-browser or google-chrome is installed")
#: What a browser does on its own is switched off, so that what is left was asked for by the page.
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--v=0",
)
REQUEST = "URL_REQUEST_START_JOB"


def browse(path: Path, *options: str) -> tuple[str, list[str], list[str]]:
    """The page after it was loaded, what it wrote to the console, and the addresses it asked for beyond the file."""
    with tempfile.TemporaryDirectory() as home:
        log = Path(home) / "net.json"
        done = subprocess.run(
            [BROWSER, *QUIET, *options, f"--user-data-dir={home}", f"--log-net-log={log}", "--dump-dom", path.as_uri()],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        console = re.findall(r"CONSOLE.*", done.stderr)
        return done.stdout, console, [url for url in requested(log) if not url.startswith(("file:", "data:"))]


def requested(log: Path) -> Iterator[str]:
    """Addresses of every request in a log of the browser, but for those of the browser itself."""
    written = log.read_text(encoding="utf-8")
    try:
        events = json.loads(written)
    except json.JSONDecodeError:  # the browser may end before it has closed the list
        events = json.loads(written.rstrip().rstrip(",") + "]}")
    number = events["constants"]["logEventTypes"][REQUEST]
    for event in events["events"]:
        parameters = event.get("params", {})
        # The browser's own requests, for updates and the like, come from no origin.
        own = parameters.get("initiator", "not an origin") == "not an origin"
        if event["type"] == number and "url" in parameters and not own:
            yield parameters["url"]


@needs_browser
def test_a_browser_shows_every_case_without_complaint(tmp_path: Path, text: str, outcomes: list[CaseOutcome]) -> None:
    file = tmp_path / "page.html"
    file.write_text(text, encoding="utf-8")
    shown, console, result = browse(file)
    assert (console, result) == ([], [])
    ids = {attributes.get("id") for attributes in cases_of(shown)}
    assert ids == {outcome.name for outcome in outcomes}


SCRIPT = """<script>
addEventListener("load", async () => {
  const all = query => [...document.querySelectorAll(query)];
  const wait = time => new Promise(done => setTimeout(done, time));
  all("details").forEach(one => { one.open = true; });
  while (!document.body.dataset.ready) await wait(20);
  await wait(100);
  const pictures = all(".picture").every(one => one.querySelector("svg").getBoundingClientRect().width > 100);
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const table = document.getElementById("cases");
  const cut = Math.max(table.scrollWidth - table.parentElement.clientWidth, 0);
  const shown = () => all("#cases tbody tr").filter(row => row.offsetHeight).map(row => row.querySelector("a").hash);
  document.getElementById("only-differs").click();
  const differs = shown();
  document.getElementById("only-all").click();
  document.getElementById("search").value = "LOGBOOK measured";
  document.getElementById("search").dispatchEvent(new Event("input"));
  await wait(300);
  const found = shown(), words = document.getElementById("found").textContent;
  const open = all(".card").filter(card => card.offsetHeight).length;
  document.getElementById("search").value = "";
  document.getElementById("search").dispatchEvent(new Event("input"));
  await wait(300);
  document.querySelector("#cases th[data-sort=deviation] button").click();
  const first = shown()[0];
  document.body.dataset.result = JSON.stringify({pictures, wide, cut, differs, found, words, open, first});
});
</script></body>"""


@needs_browser
@pytest.mark.thorough
@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_pictures_width_search_filter_and_order(tmp_path: Path, outcomes: list[CaseOutcome], width: int) -> None:
    """In a frame, for a window of the browser may not be as narrow as 390 pixels."""
    named = [replace(outcome, name=f"{'section/' * 16}{outcome.name}") for outcome in outcomes]
    (tmp_path / "page.html").write_text(pages.page(named).replace("</body>", SCRIPT), encoding="utf-8")
    (tmp_path / "frame.html").write_text(
        f'<iframe src="page.html" style="width:{width}px;height:700px;border:0"></iframe><p id="result"></p><script>'
        'const frame = document.querySelector("iframe"); setInterval(() => {'
        'document.getElementById("result").textContent = frame.contentDocument.body?.dataset.result ?? ""; }, 50);</script>',
        encoding="utf-8",
    )
    shown, console, _ = browse(tmp_path / "frame.html", "--allow-file-access-from-files", "--virtual-time-budget=9000")
    assert console == []
    match = re.search(r'<p id="result">(.*?)</p>', shown)
    assert match
    result = json.loads(match[1].replace("&quot;", '"'))
    differing = [f"#{outcome.name}" for outcome in named if outcome.verdict == "differs"]
    measured_one = f"#{'section/' * 16}paper/measured"
    assert result == {
        "pictures": True,
        "wide": 0,
        "cut": 0,
        "differs": differing,
        "found": [measured_one],
        "words": "1 of 11 cases",
        "open": 1,
        "first": f"#{'section/' * 16}paper/own",
    }


@needs_browser
@pytest.mark.parametrize(
    ("bad", "complaint", "address"),
    [
        pytest.param("<script>console.error('broken')</script>", "broken", "", marks=pytest.mark.thorough),
        pytest.param("<script>nothing.at.all()</script>", "ReferenceError", "", marks=pytest.mark.thorough),
        ('<img src="http://127.0.0.1:9/x.png" alt="x">', "", "http://127.0.0.1:9/x.png"),
        pytest.param(
            "<style>body { background: url(http://127.0.0.1:9/y.png) }</style>",
            "",
            "http://127.0.0.1:9/y.png",
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_a_browser_would_notice(tmp_path: Path, text: str, bad: str, complaint: str, address: str) -> None:
    file = tmp_path / "page.html"
    file.write_text(text.replace("</body>", f"{bad}</body>"), encoding="utf-8")
    _, console, result = browse(file)
    assert any(complaint in line for line in console) if complaint else result == [address]


def test_cases_that_take_long_are_reported_when_they_are_done() -> None:
    """Else an hour of work says nothing until its end, and nothing at all if it is stopped."""
    stream, result = io.StringIO(), Readings({1: 1.0}, {1: 1.0})
    with ProgressBar("cases", total=2, steps=True, console=Console(file=stream, width=200)) as bar:
        for seconds in (0.5, 123.4):
            show_finished(bar, outcome_of(made("toys/one", {1: 1.0}, result), result, seconds=seconds))
    assert stream.getvalue() == "own consistency check: toys/one, 123 s\n"


def test_slimmer_pictures_keep_the_scales_of_letters() -> None:
    """Letters that are outlines stand in units that a factor below 1 scales: without its digits they would shrink."""
    letters = (
        '<svg><g transform="translate(12.34567 -0.125) scale(0.015625 -0.015625)"><path d="M 1.98765 2"/></g></svg>'
    )
    text = slim(letters)
    assert "translate(12.34 -0.125) scale(0.015625 -0.015625)" in text
    assert 'd="M 1.98 2"' in text
