"""Axes and legends of a figure of the page for print: ranges, ticks that do not overlap, a legend beside the data."""

from __future__ import annotations

import math
from typing import Any

from ._plot_style import GREY, library

# Mean width of a character of 7 points, and what a legend's handle takes, in points.
CHARACTER = 3.4
HANDLE = 26.0
# Mean width of a digit, as a share of the size of its font.
DIGIT = 0.6
# Entries that a legend among the data may have.
AMONG_DATA = 4


def plain(text: str) -> str:
    """Text that matplotlib does not take for mathematics, with spaces that every font has."""
    return text.replace("$", r"\$").replace("\u202f", "\u2009")


def is_named(trace: dict[str, Any]) -> bool:
    """Whether a trace stands in the legend."""
    return bool(trace.get("name")) and trace.get("showlegend", True) is not False


def points(ax: Any, which: str) -> float:
    """About how long an axis is, in points, before the layout is made."""
    box, (width, height) = ax.get_position(), ax.figure.get_size_inches()
    return float(72.0 * (box.width * width if which == "x" else box.height * height))


def legend_columns(names: list[str], width: float) -> int:
    """How many columns of these names fit into a width in points."""
    longest = max(len(name) for name in names) * CHARACTER + HANDLE
    return max(1, min(len(names), int(width / longest)))


def legend_stands_above(layout: dict[str, Any], names: list[str]) -> bool:
    """Whether a legend would cover data: it has many entries, or bars and rows fill the frame."""
    rows = layout.get("yaxis", {}).get("type") == "category" or layout.get("barmode") == "stack"
    return len(names) > AMONG_DATA or (rows and len(names) > 1)


def legend_rows(layout: dict[str, Any], traces: list[dict[str, Any]], width: float) -> int:
    """Rows of a legend above the frame, of a figure `width` points wide; 0 if it is among the data."""
    names = [trace["name"] for trace in traces if is_named(trace)]
    if layout.get("showlegend", True) is False or not legend_stands_above(layout, names):
        return 0
    return -(-len(names) // legend_columns(names, width))


def legend(ax: Any, layout: dict[str, Any], traces: list[dict[str, Any]]) -> None:
    """A legend where more than one thing is named: among the data, or above where it would cover them."""
    handles, names = ax.get_legend_handles_labels()
    if layout.get("showlegend", True) is False or len(names) < 2:
        return
    look: dict[str, Any] = {
        "borderaxespad": 0.3, "labelspacing": 0.3, "columnspacing": 1.2, "frameon": False, "fontsize": "small",
    }  # fmt: skip
    if legend_stands_above(layout, [trace["name"] for trace in traces if is_named(trace)]):
        look |= {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
        look["ncols"] = legend_columns(names, 72.0 * ax.figure.get_figwidth())
    else:
        look["loc"] = "best"
    ax.legend([swatch(handle) for handle in handles], names, **look)


def swatch(handle: Any) -> Any:
    """What stands for a trace in the legend: of bars of several colours, one of the commonest."""
    bars = list(getattr(handle, "patches", []))
    colours = [bar.get_facecolor() for bar in bars]
    return bars[colours.index(max(colours, key=colours.count))] if bars else handle


def finish(ax: Any, which: str, found: dict[str, Any]) -> None:
    """Title, range and ticks of the axis `x` or `y`; `found` is that of the page."""
    ticker = library("matplotlib.ticker")
    axis = getattr(ax, f"{which}axis")
    limits = getattr(ax, f"set_{which}lim")
    logarithmic = found.get("type") == "log"
    getattr(ax, f"set_{which}label")(plain(found.get("title", {}).get("text", "")))
    span, step = found.get("range"), found.get("dtick")
    if span:
        limits([10**end for end in span] if logarithmic else span)
    elif found.get("rangemode") == "tozero" and not logarithmic:
        limits(**{"left" if which == "x" else "bottom": 0})
    if found.get("autorange") == "reversed":
        axis.set_inverted(True)
    if found.get("type") == "category":
        axis.set_tick_params(labelsize=6, length=0)
        ax.margins(y=0.6 / max(len(ax.get_yticks()), 1))
    elif "tickvals" in found:
        named_ticks(ax, which, found, logarithmic)
    elif logarithmic:
        decades(axis)
    elif isinstance(step, int) and not isinstance(step, bool):
        axis.set_major_locator(ticker.MaxNLocator(nbins=8, integer=True))
    if found.get("zeroline") and not logarithmic:
        (ax.axhline if which == "y" else ax.axvline)(0, color=GREY, linewidth=0.5, zorder=0)


def named_ticks(ax: Any, which: str, found: dict[str, Any], logarithmic: bool) -> None:
    """The ticks of the page with their names, without names that would overlap."""
    place = math.log10 if logarithmic else float
    ticks = [(at, plain(name)) for at, name in zip(found["tickvals"], found["ticktext"], strict=True) if not logarithmic or at > 0]
    # Ticks must not widen what the data fill.
    low, high = sorted(getattr(ax, f"get_{which}lim")())
    inside = [(at, name) for at, name in ticks if low <= at <= high]
    if len(inside) < 2 <= len(ticks):
        # One tick does not make a scale: the frame reaches to the next ones.
        low = max((at for at, _ in ticks if at < low), default=low)
        high = min((at for at, _ in ticks if at > high), default=high)
        inside = [(at, name) for at, name in ticks if low <= at <= high]
    ticks = inside
    span = place(high) - place(low) if ticks else 1.0
    scale, free, shown = points(ax, which) / span, -math.inf, []
    wanted = library("matplotlib").rcParams[f"{which}tick.labelsize"]
    font = library("matplotlib.font_manager").FontProperties(size=wanted).get_size_in_points()
    for at, name in ticks:
        half = 0.5 * font * (DIGIT * (len(name) + 1) if which == "x" else 1.2)
        middle = scale * place(at)
        fits = middle - half >= free
        shown.append(name if fits else "")
        free = middle + half if fits else free
    axis = getattr(ax, f"{which}axis")
    getattr(ax, f"set_{which}ticks")([at for at, _ in ticks], shown)
    axis.set_minor_locator(library("matplotlib.ticker").NullLocator())


def decades(axis: Any) -> None:
    """Ticks of a logarithmic axis: powers of ten, or plain numbers where it reaches over few decades."""
    ticker = library("matplotlib.ticker")
    low, high = sorted(axis.get_view_interval())
    span = math.log10(high / low) if low > 0 else math.inf
    if span > 2.5:
        axis.set_major_locator(ticker.LogLocator(numticks=8))
        return
    few = ticker.MaxNLocator(nbins=5, steps=[1, 2, 5, 10]) if span < 0.8 else ticker.LogLocator(subs=(1, 2, 5))
    axis.set_major_locator(few)
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:.6g}"))
    axis.set_minor_locator(ticker.NullLocator())
