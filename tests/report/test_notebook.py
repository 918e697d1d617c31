"""What notebooks show: tables as HTML that any parser takes, with every text escaped and nothing fetched."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table

import simcodesign as sc
from simcodesign.core.shown_answers import ShownInNotebooks
from simcodesign.fitting.readers.formats import read_measurements
from simcodesign.report.common.tables import text_table
from simcodesign.report.notebook.html import html_of

MACHINE = {
    "name": "box",
    "about": "<script>alert(1)</script>",
    "nodes": 4,
    "processor": {"rate": "1 GFLOP/s"},
    "network": {"startup": "2 us", "bandwidth": "1 GB/s", "topology": {"kind": "crossbar"}},
}
WORKLOAD = {
    "name": 'a <b> & "c"',
    "parameters": {"n": {"default": 100}},
    "program": [{"phase": "all <i>", "do": [{"compute": {"flops": "8*n"}}, {"allreduce": {"bytes": 8}}]}],
}


TEXTS = st.text("ab <>&;\"'[]/\n\x00\x1bé\u200b", max_size=12)


class Checked(HTMLParser):
    """Elements that are open, the cells of every row of tables, and all text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in {"div", "p", "pre", "table", "caption", "thead", "tbody", "tr", "th", "td"}
        assert [name for name, _ in attrs] in ([], ["style"])
        assert "url" not in str(attrs)
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def shown() -> dict[str, Any]:
    machine, workload = sc.Machine.load(MACHINE), sc.Workload.load(WORKLOAD)
    return {
        "machine": machine,
        "workload": workload,
        "forecast": sc.forecast(workload, machine, {"P": 4}),
        "forecasts": sc.forecast(workload, machine, {"P": [1, 2, 4]}),
        "simulation": sc.simulate(workload, machine, {"P": 4}),
        "comparison": sc.compare(workload, machine, {"P": 4}),
        "sweep": sc.sweep(workload, machine, vary=["P=1:4:x2"]),
        "replications": sc.simulate(workload, machine, {"P": 2}, replications=2),
    }


def test_everything_shows_itself() -> None:
    for name, one in shown().items():
        html = one._repr_html_()
        assert html is not None, name
        page = Checked(html)
        assert "script" not in html.replace("&lt;script&gt;", "").replace("&lt;/script&gt;", "")
        if name in ("forecast", "simulation", "comparison"):
            assert 'a <b> & "c"' in page.text


def test_the_table_of_a_forecast_is_that_of_its_phases() -> None:
    one = sc.forecast(sc.Workload.load(WORKLOAD), sc.Machine.load(MACHINE), {"P": 4, "n": 1e9})
    rows = {row[0]: row for row in Checked(one._repr_html_() or "").rows}
    assert rows["all <i>"][0] == "all <i>"
    assert {"8", "8.00", "8.0000", "8.000"} & set(rows["all <i>"]), "8 * 10^9 operations at 10^9 a second"


def test_fits_show_themselves(tmp_path: Any) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("p,value\n" + "".join(f"{p},{3 + 2 * p}\n" for p in (1, 2, 4, 8, 16, 32)), encoding="utf-8")
    fits = sc.fit(read_measurements(path))
    assert any("p" in row[2] for row in Checked(fits._repr_html_() or "").rows[1:])
    assert Checked(fits[0]._repr_html_() or "").rows == Checked(fits._repr_html_() or "").rows


@given(st.lists(st.lists(TEXTS, min_size=2, max_size=2), max_size=3), TEXTS)
def test_any_text_is_text(rows: list[list[str]], title: str) -> None:
    table = text_table(title, "first", "second")
    for row in rows:
        table.add_row(*row)
    page = Checked(html_of([table, title, Table.grid()]))
    assert len(page.rows) == len(rows) + 1
    for row, cells in zip(rows, page.rows[1:], strict=True):
        assert [cell.replace("\N{REPLACEMENT CHARACTER}", "") for cell in cells] == [
            "".join(c for c in text if c.isprintable() or c == "\n").replace("\N{REPLACEMENT CHARACTER}", "")
            for text in row
        ]


def test_without_a_view_the_text_is_shown() -> None:
    class Other(ShownInNotebooks):
        pass

    assert Other()._repr_html_() is None
