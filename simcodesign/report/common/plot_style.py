"""Shared parts of all plots: the optional import of Matplotlib, the style, colours, headings, and saving.

Nothing that a command draws touches ``pyplot``: no window, no global figure, and the user's settings stay as they are.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.files.atomic_files import replacing
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.core.palette import FORECAST as FORECAST
from simcodesign.core.palette import GREY as GREY
from simcodesign.core.palette import HIGH as HIGH
from simcodesign.core.palette import LOW as LOW
from simcodesign.core.palette import MEASURED as MEASURED
from simcodesign.core.palette import SIMULATED as SIMULATED
from simcodesign.core.result import Result
from simcodesign.core.units import FloatOrArray, format_quantity
from simcodesign.describe.effects import effect_names
from simcodesign.describe.variants import variant_label
from simcodesign.report.common.numbers import grouped

SUFFIXES = (".png", ".svg", ".pdf")
#: Colours that differ under any kind of colour vision (Okabe and Ito 2008).
OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
COMPONENT_COLOURS = dict(zip(COMPONENTS, OKABE_ITO, strict=False))
DARK = "#333333"
WAITING_HATCH = "////"
#: The look of waiting, and of what nothing explains.
WAITING: dict[str, Any] = {"facecolor": "white", "edgecolor": GREY, "hatch": WAITING_HATCH, "linewidth": 0}
NOT_EXPLAINED: dict[str, Any] = {"facecolor": "white", "edgecolor": DARK, "hatch": WAITING_HATCH, "linewidth": 0.6}
#: No figure is larger: a raster of 2^16 pixels cannot be written.
MAX_INCHES = 60.0
#: Significant digits that any two floats differ in.
MAX_DIGITS = 17
#: Where a line does not end, and where a word may that is longer than one.
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|[numkMGT]?[sJWB]|[KMGT]iB|[kMG]?Hz)(?![A-Za-z]))")
_KEPT, _JOINT = "\N{NO-BREAK SPACE}", re.compile(r"(?<=[-._=/:,])")
_STYLE = {
    "axes.edgecolor": DARK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "figure.titlesize": 11,
    "font.size": 9,
    "hatch.linewidth": 0.5,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "savefig.dpi": 150,
    "svg.hashsalt": "simcodesign",  # the same figure gives the same file
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}


#: Style of a legend within a panel: lines behind it do not strike its words through.
OVER_LINES: dict[str, Any] = {"frameon": True, "framealpha": 0.85, "edgecolor": "none", "facecolor": "white"}


def load_matplotlib() -> Any:
    """Matplotlib with the modules that the plots use. InputError when it is not installed."""
    try:
        import matplotlib.colors  # optional dependency
        import matplotlib.figure
        import matplotlib.lines
        import matplotlib.patches
        import matplotlib.ticker
    except ImportError as error:
        raise InputError("Matplotlib is not installed", allowed="pip install 'simcodesign[plot]'") from error
    except ValueError as error:  # an unknown MPLBACKEND, or a style file that it cannot read
        raise InputError(f"Matplotlib cannot be loaded: {error}", allowed="MPLBACKEND=agg, or not set") from None
    return matplotlib


@contextmanager
def styled(path: str | Path | None) -> Iterator[Any]:
    """Matplotlib in the style of the plots, for a file (if any) whose name is checked before anything is plotted."""
    if path is not None and Path(path).suffix.lower() not in SUFFIXES:
        raise InputError(
            "unknown format of a plot", value=str(path), allowed=f"names that end in {', '.join(SUFFIXES)}"
        )
    mpl = load_matplotlib()
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        yield mpl


def new_figure(mpl: Any, width: float, height: float) -> Any:
    """Return an empty figure of this size in inches."""
    figure = mpl.figure.Figure(figsize=(min(width, MAX_INCHES), min(height, MAX_INCHES)), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06)
    return figure


def save(figure: Any, path: str | Path) -> None:
    """Write the figure, whole or not at all, in the format of the suffix. InputError when that cannot be done."""
    form = Path(path).suffix.lower().removeprefix(".")
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
    with replacing(Path(path)) as file:
        figure.savefig(file, format=form, metadata=undated)


def plain(text: str) -> str:
    """Return the text as it is: no dollar sign begins a formula, no underscore hides a legend entry."""
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def wrapped(text: str, inches: float, size: float = 9.0) -> str:
    """Return the text in lines that fit this width at this font size in points.

    They end between words, and not between a number and its unit; a word that is longer than a line ends it behind a
    dot, dash, ``=`` and the like.
    """
    width = max(12, int(inches * 72 / (0.56 * size)))
    lines = [part for line in text.splitlines() for part in _lines(_BEFORE_UNIT.sub(_KEPT, line), width)]
    return plain("\n".join(lines).replace(_KEPT, " "))


def _lines(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        for at, part in enumerate([word] if len(word) <= width else _JOINT.split(word)):
            space = " " if at == 0 and lines[-1] else ""
            if lines[-1] and len(lines[-1] + space + part) > width:
                lines.append(part)
            else:
                lines[-1] += space + part
    return lines


def set_title(figure: Any, text: str, size: float = 11.0) -> None:
    """Set a title over the whole figure, from its left edge on, in lines that fit."""
    figure.suptitle(wrapped(text, figure.get_figwidth() - 0.5, size), x=0.01, ha="left", fontsize=size)


def headings(results: Sequence[Result]) -> tuple[str, list[str]]:
    """Return the common description of all results, and the differences of each."""
    described = [_described(result) for result in results]
    shared = [len(set(facts)) == 1 for facts in zip(*described, strict=True)]
    common, apart = (
        [
            ", ".join(fact for fact, same in zip(facts, shared, strict=True) if fact and same is wanted)
            for facts in described
        ]
        for wanted in (True, False)
    )
    return common[0], apart


def _described(result: Result) -> tuple[str, str, str, str]:
    ranks = result.values.get("P")
    return (
        f"{variant_label(result.workload, result.settings)} on {result.machine}",
        f"preset {result.preset}" if result.preset else "",
        "" if ranks is None else f"P = {one_number(ranks, 'P'):g}",
        result.reading if result.reading == "forecast" else f"simulation with {effects_text(result.effects)}",
    )


def effects_text(effects: Sequence[str]) -> str:
    """``all effects``, ``no effects``, or their names."""
    if set(effects) == set(effect_names()):
        return "all effects"
    return " + ".join(effects) if effects else "no effects"


def one_number(value: FloatOrArray, what: str) -> float:
    """Return the number. InputError for the many of a forecast over many design points, and for what is not finite."""
    if np.size(value) != 1:
        raise InputError(f"a plot shows one design point, {what} has {np.size(value)} values")
    number = float(np.asarray(value).item())
    if not np.isfinite(number):
        raise InputError(f"{what} cannot be plotted", value=number, allowed="finite numbers")
    return number


def seconds_text(seconds: float) -> str:
    """Three significant digits and a prefix: ``318 us``; whole seconds from 1000 s on."""
    rounded = float(f"{seconds:.3g}")
    return f"{grouped(seconds)} s" if abs(rounded) >= 1000 else format_quantity(rounded, "time")


def time_axis(mpl: Any, axis: Any, longest_s: float) -> None:
    """Ticks in seconds, or in ms, us or ns when the longest time is less than a second, as texts of times are."""
    scale, unit = next(
        (
            (scale, unit)
            for limit, scale, unit in ((1.0, 1.0, "s"), (1e-3, 1e3, "ms"), (1e-6, 1e6, "us"))
            if longest_s >= limit or longest_s == 0
        ),
        (1e9, "ns"),
    )
    axis.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: f"{value * scale:,.10g}"))
    axis.set_label_text(f"time ({unit})")


#: Digits of ticks on a logarithmic scale, the roundest ones first.
_DIGITS_OF_TICKS = ((1.0,), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (*np.arange(10, 100, 5) / 10,))
#: Least and most of them.
_MIN_TICKS, _MIN_RATIOS, _MAX_TICKS = 3, 4, 9


def ratio_axis(mpl: Any, panel: Any, line: str = "y") -> None:
    """Set a logarithmic scale for ratios, on which half and twice are as far from 1; 1 itself is marked."""
    {"y": panel.axhline, "x": panel.axvline}[line](1.0, color=GREY, linewidth=0.8, zorder=0)
    values = panel.dataLim.intervaly if line == "y" else panel.dataLim.intervalx
    known = [float(value) for value in values if np.isfinite(value)]
    if not known or min(known) <= 0:
        return
    low, high = min([*known, 1.0]), max([*known, 1.0])
    margin = max((high / low) ** 0.06, 1.02)
    low, high = low / margin, high * margin
    getattr(panel, f"set_{line}scale")("log")
    getattr(panel, f"set_{line}lim")(low, high)
    axis = getattr(panel, f"{line}axis")
    axis.set_major_locator(mpl.ticker.FixedLocator(ratio_ticks(low, high)))
    axis.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: f"{value:.4g}"))
    axis.set_minor_locator(mpl.ticker.NullLocator())


def ratio_ticks(low: float, high: float) -> list[float]:
    """Return round ratios within the ends, 1 among them.

    For many decades, the roundest numbers, otherwise 1 and steps from it.
    """
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    for digits in _DIGITS_OF_TICKS[:-1]:
        ticks = [round(digit * 10.0**decade, 12) for decade in decades for digit in digits]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) >= _MIN_RATIOS:
            fewer = inside[:: -(-len(inside) // _MAX_TICKS)]
            return fewer if 1.0 in fewer else sorted({*fewer, 1.0})
    for step in (digit / 10**decade for decade in range(1, 10) for digit in (2, 1, 0.5)):
        below, above = int((1.0 - low) / step + 1e-9), int((high - 1.0) / step + 1e-9)
        if below + above + 1 >= _MIN_RATIOS:
            return [round(1.0 + step * number, 12) for number in range(-below, above + 1)]
    return [1.0]


def number_text(value: float, digits: int = 4) -> str:
    """Return a number without a separate power of ten."""
    text = f"{value:,.0f}" if value == round(value) and abs(value) < 1e7 else f"{value:.{digits}g}"
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else text


def log_ticks(mpl: Any, line: Any, text: Callable[[float], str] = number_text, base: float = 10.0) -> None:
    """Label a logarithmic axis that everything is drawn along.

    At powers of ten (or of two, as sizes and ranks are counted), and if those are fewer than three at round numbers
    between them.
    """
    low, high = sorted(line.get_view_interval())
    ticks = round_ticks(float(low), float(high), base)
    line.set_major_locator(mpl.ticker.FixedLocator(ticks))
    line.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: text(value)))  # of other ticks, too
    line.set_minor_locator(mpl.ticker.NullLocator())


def round_ticks(low: float, high: float, base: float = 10.0) -> list[float]:
    """Between the ends, both above 0, powers of the base, or of ten the roundest numbers of which there are three."""
    if base != 10.0 and high >= low * base ** (_MIN_TICKS - 1):
        powers = range(int(np.ceil(np.log(low) / np.log(base) - 1e-9)), int(np.log(high) / np.log(base) + 1e-9) + 1)
        return [base**power for power in powers[:: -(-len(powers) // _MAX_TICKS)]]
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    for digits in _DIGITS_OF_TICKS:
        ticks = [float(f"{digit * 10.0**decade:.6g}") for decade in decades for digit in digits]
        inside = [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
        if len(inside) >= _MIN_TICKS:
            return inside[:: -(-len(inside) // _MAX_TICKS)]
    return sorted({float(f"{value:.3g}") for value in np.linspace(low, high, _MIN_TICKS + 2)[1:-1]})


def distinct_texts(values: Sequence[float], text: Callable[[float, int], str], digits: int) -> list[str]:
    """Return texts of numbers by ``text(value, digits)``, all different.

    With ``digits`` digits or as many more as it takes until texts of different numbers differ.
    """
    texts: list[str] = []
    for more in range(digits, MAX_DIGITS + 1):
        texts = [text(value, more) for value in values]
        if len(set(texts)) >= len(set(values)):
            break
    return texts


def label_ticks(line: Any, text: Callable[[float, int], str], digits: int) -> None:
    """Label the major ticks of an axis, also of a colour bar, by ``distinct_texts``."""
    line.set_major_formatter(lambda value, _: text(float(value), digits))
    line.get_major_formatter().format_ticks = lambda values: distinct_texts([*map(float, values)], text, digits)


def step_look(change_s: float) -> dict[str, Any]:
    """Return the look of a step of a ladder that adds time, or takes it away."""
    return {"facecolor": HIGH if change_s > 0 else LOW}


def phase_colours(mpl: Any, count: int) -> list[Any]:
    """Return a colour for every phase: from the palette, or along a colour map when they are many."""
    if count <= len(OKABE_ITO):
        return list(OKABE_ITO[:count])
    return [mpl.colormaps["cividis"](place) for place in np.linspace(0.0, 1.0, count)]


#: Apart from the colours of forecast and simulation.
_OTHERS = ("#009E73", "#CC79A7", "#7B3FA0", "#8C6D31", "#56B4E9", "#D55E00", "#F0E442")


def machine_colours(mpl: Any, count: int) -> list[Any]:
    """Return a colour for every machine or workload, other than a reading's while they are few."""
    return list(_OTHERS[:count]) if count <= len(_OTHERS) else phase_colours(mpl, count)


def paler(mpl: Any, colour: Any, share: float = 0.35) -> Any:
    """Return the colour mixed with white: a fraction ``share`` of it."""
    return tuple(share * part + 1 - share for part in mpl.colors.to_rgb(colour))


def _shortened(name: str, most: int = 40) -> str:
    """Return a name that is longer, to its last whole word; one long word as far as there is room."""
    short = textwrap.shorten(name, most, placeholder="...")
    return short if short != "..." else f"{name[: most - 3]}..."


def legend(mpl: Any, figure: Any, entries: dict[str, dict[str, Any]], most: int = 16) -> None:
    """Draw a legend below the figure, or a part of it that is as wide.

    What patches of a given look mean, or lines (``linestyle`` in the look); no more than ``most`` entries.
    """
    handles = handles_of(mpl, entries, most)
    points = 45 + 5 * max((len(_shortened(name)) for name in entries), default=0)  # of the widest entry
    columns = max(1, min(len(handles), int(figure.figure.get_figwidth() * 72 / points)))
    figure.legend(handles=handles, loc="outside lower left", ncols=columns)


def handles_of(mpl: Any, entries: dict[str, dict[str, Any]], most: int = 16) -> list[Any]:
    """Return the handles of a legend, no more than ``most``."""
    shown = [(_shortened(name), look) for name, look in entries.items()]
    handles = [
        mpl.lines.Line2D([], [], label=plain(name), **look)
        if "linestyle" in look
        else mpl.patches.Patch(label=plain(name), **look)
        for name, look in shown[:most]
    ]
    if len(shown) > most:
        handles.append(mpl.patches.Patch(label=f"and {len(shown) - most} more", facecolor="none"))
    return handles
