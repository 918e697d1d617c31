"""Draw ``front-times.svg`` and ``front-ladder.svg``, the pictures of README and of the front page.

    python docs/draw_front.py          # computes the times and writes the pictures
    python docs/draw_front.py --check  # exit status 1 if the pictures differ from the computed ones

Both are 400 units wide, so that their texts can be read on a telephone. Their texts and axes take the colour that the
reader's system or the site prefers, light or dark.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

import pandas as pd

import simcodesign as sc
from simcodesign.comparison.compare import Comparison

HERE = Path(__file__).parent
MEASURED_MS = {2: 31.76, 4: 95.43, 8: 223.2}  # HLC-Lab/pico, commit 413bc5d0: medians by the length of a side
WIDTH, ROW, BAR, LEFT, RIGHT, TOP = 400, 24, 16, 166, 64, 40
STYLE = """
.front-text { font: 14px system-ui, sans-serif; fill: #1a1a1a; }
.front-title { font-weight: 600; }
.front-measured { fill: #333333; }
.front-forecast { fill: #e69f00; }
.front-simulation { fill: #2f7fc1; }
.front-effect { fill: #d55e00; }
.front-unknown { fill: #999999; }
@media (prefers-color-scheme: dark) { .front-text { fill: #f0f0f0; } .front-measured { fill: #dddddd; } }
"""


@dataclass(frozen=True)
class Bar:
    """One bar from ``begin_ms`` to ``end_ms``; ``kind`` selects its colour. A gap precedes the first bar of a group."""

    name: str
    kind: str
    begin_ms: float
    end_ms: float
    opens_group: bool = False


def compare_on(side: int) -> Comparison:
    """Compare a broadcast of 64 MiB on ``side**3`` nodes of Fugaku: forecast, simulation, measurement."""
    machine = sc.Machine.load("fugaku", changes={"mapping.job": [side] * 3})
    point = {"P": side**3, "m": 2**26, "order": "near"}
    times = pd.DataFrame([{**point, "value": MEASURED_MS[side] / 1e3}])
    return sc.compare("broadcast", machine, point, measured=times)


def time_bars(compared: dict[int, Comparison]) -> list[Bar]:
    """Return the measured, forecast and simulated times on each number of nodes."""
    bars = []
    for side, one in compared.items():
        forecast_ms, simulated_ms = (1e3 * float(each.makespan_s) for each in (one.forecast, one.simulation))
        bars.append(Bar(f"{side**3} nodes, measured", "measured", 0.0, MEASURED_MS[side], opens_group=True))
        bars.append(Bar("formula", "forecast", 0.0, forecast_ms))
        bars.append(Bar("simulation", "simulation", 0.0, simulated_ms))
    return bars


def ladder_bars(one: Comparison) -> list[Bar]:
    """Return the steps from the forecast to the measurement; effects that change less than 1 ms are left out."""
    end_ms = 1e3 * float(one.forecast.makespan_s)
    bars = [Bar("formula", "forecast", 0.0, end_ms)]
    for name, change_s in one.ladder().set_index("effect")["change_s"].items():
        if abs(change_s) >= 1e-3:
            bars.append(Bar(f"+ {name}", "effect", end_ms, end_ms + 1e3 * change_s))
            end_ms = bars[-1].end_ms
    bars.append(Bar("simulation", "simulation", 0.0, end_ms))
    bars.append(Bar("not explained", "unknown", end_ms, MEASURED_MS[8]))
    return [*bars, Bar("measured", "measured", 0.0, MEASURED_MS[8])]


def draw(title: str, bars: list[Bar]) -> str:
    """Return the SVG: a row for each bar, its name on the left and its length in milliseconds on the right."""
    scale = (WIDTH - LEFT - RIGHT) / max(bar.end_ms for bar in bars)
    lines, y = [], TOP
    for bar in bars:
        y += ROW // 3 if bar.opens_group and y > TOP else 0
        left, right = LEFT + scale * bar.begin_ms, LEFT + scale * bar.end_ms
        length = f"{'+' if bar.begin_ms else ''}{bar.end_ms - bar.begin_ms:.0f} ms"
        lines += [
            f'<text class="front-text" x="{LEFT - 8}" y="{y + BAR - 3}" text-anchor="end">{escape(bar.name)}</text>',
            f'<rect class="front-{bar.kind}" x="{left:.1f}" y="{y}" width="{right - left:.1f}" height="{BAR}"/>',
            f'<text class="front-text" x="{right + 6:.1f}" y="{y + BAR - 3}">{length}</text>',
        ]
        y += ROW
    size = f'width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(title)}">'
    name = f'<text class="front-text front-title" x="8" y="22">{escape(title)}</text>'
    return "\n".join([head, f"<style>{STYLE}</style>", name, *lines, "</svg>", ""])


def pictures() -> dict[str, str]:
    """Compute both pictures, by the names of their files."""
    compared = {side: compare_on(side) for side in MEASURED_MS}
    return {
        "front-times.svg": draw("Broadcast of 64 MiB on Fugaku", time_bars(compared)),
        "front-ladder.svg": draw("What explains the gap on 512 nodes", ladder_bars(compared[8])),
    }


def main() -> int:
    """Write the pictures, or compare them with the files."""
    drawn = pictures()
    if "--check" in sys.argv[1:]:
        return int(any((HERE / name).read_text(encoding="utf-8") != text for name, text in drawn.items()))
    for name, text in drawn.items():
        (HERE / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
