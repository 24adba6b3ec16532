"""Draws a figure of the page with matplotlib: the same numbers, in the style of print.

A figure of the page is `{"data": […], "layout": {…}}` of lines, points, bands and bars. Nothing is computed here: what
is drawn was computed once, for the page.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ._plot_axes import finish, is_named, legend, plain
from ._plot_style import BANDS, BLACK, DASHES, GREY, HATCHES, MARKERS, Palette, Style

# Points of a marker for each pixel of the page: a page is about 2.5 times as wide as a column.
MARKER = 0.5
# Markers that are strokes.
THIN = ("line-ns", "line-ew", "x-thin", "cross-thin")


def numbers(values: Sequence[Any] | None) -> list[Any]:
    """Values with gaps as NaN; names stay as they are, and a gap among names is the name before it."""
    out: list[Any] = []
    for value in values or []:
        if isinstance(value, str):
            out.append(plain(value))
        elif value is None:
            out.append(out[-1] if out and isinstance(out[-1], str) else math.nan)
        else:
            out.append(value)
    return out


def colour_of(trace: dict[str, Any]) -> str:
    """The colour of a trace on the page; of points or bars of several colours, the first."""
    found = (trace.get("marker") or {}).get("color") or (trace.get("line") or {}).get("color") or BLACK
    return str(found[0]) if isinstance(found, list) and found else str(found)


def is_band(trace: dict[str, Any]) -> bool:
    """Whether a line is an edge of a band: it has no width."""
    return trace["type"] == "scatter" and (trace.get("line") or {}).get("width") == 0


def is_curve(trace: dict[str, Any]) -> bool:
    """Whether a trace is a measured curve: a named line that is not dotted, as laws and guides beside curves are."""
    line = trace.get("line") or {}
    lines = trace["type"] == "scatter" and "lines" in trace.get("mode", "lines") and not is_band(trace)
    return lines and is_named(trace) and line.get("dash") != "dot" and line.get("color") not in BANDS


class Drawer:
    """Draws the traces of one figure on one Axes."""

    def __init__(self, ax: Any, plot: dict[str, Any]) -> None:
        self.ax = ax
        self.layout: dict[str, Any] = plot.get("layout", {})
        self.traces: list[dict[str, Any]] = plot.get("data", [])
        curves = [trace for trace in self.traces if is_curve(trace)]
        #: Several curves beside each other, none of them a law or a guide of another: each needs a dash and a marker.
        self.family = len({colour_of(trace) for trace in curves}) > 2
        self.palette = Palette([colour_of(trace) for trace in self.traces if not is_band(trace)], self.family)
        self.bars = [trace for trace in self.traces if trace["type"] == "bar"]
        self.stacked: dict[Any, float] = {}
        self.edge: tuple[list[Any], list[Any]] | None = None

    def draw(self) -> None:
        """All traces, then the axes, the marks and the legend."""
        kinds: dict[str, Callable[[dict[str, Any], int], None]] = {"scatter": self.scatter, "bar": self.bar}
        # Scales first: bars of a logarithmic axis begin at its lower end.
        for which in ("x", "y"):
            if self.axis(which).get("type") == "log":
                getattr(self.ax, f"set_{which}scale")("log")
        for order, trace in enumerate(self.traces):
            kinds[trace["type"]](trace, order)
        self.marks()
        for which in ("x", "y"):
            finish(self.ax, which, self.axis(which))
        legend(self.ax, self.layout, self.traces)

    def axis(self, which: str) -> dict[str, Any]:
        """The axis `x` or `y` of the page."""
        found: dict[str, Any] = self.layout.get(f"{which}axis", {})
        return found

    def label(self, trace: dict[str, Any]) -> str:
        return plain(trace["name"]) if is_named(trace) else "_nolegend_"

    def scatter(self, trace: dict[str, Any], order: int) -> None:
        """Lines, points, points with intervals, and bands between two lines."""
        x, y = numbers(trace.get("x")), numbers(trace.get("y"))
        if is_band(trace):
            self.band(trace, x, y)
            return
        mode = trace.get("mode", "lines")
        style = self.palette.of(colour_of(trace))
        line = trace.get("line") or {}
        width = line.get("width", 2)
        wide = width > 4
        common = {"color": style.colour, "label": self.label(trace), "zorder": 2 + 0.01 * order}
        if "lines" in mode and line.get("color") in BANDS:
            # A thick line is a range, not a curve.
            self.ax.plot(x, y, **common | {"color": BANDS[line["color"]]}, linewidth=3.5 if wide else 1, alpha=0.35)
            return
        drawn: dict[str, Any] = {"linestyle": "none", "marker": "none"}
        if "lines" in mode:
            dash = line.get("dash", "solid")
            in_family = self.family and is_curve(trace)
            drawn["linestyle"] = style.dash if dash == "solid" or in_family else DASHES.get(dash, style.dash)
            drawn["linewidth"] = 0.5 * width
            if in_family and "markers" not in mode:
                drawn |= {"marker": style.marker, "markersize": 2.4, "markevery": 0.13}
            if line.get("shape") == "hv":
                drawn["drawstyle"] = "steps-post"
        if "markers" in mode:
            drawn |= self.marker(trace, style)
        error = trace.get("error_y") or trace.get("error_x")
        if error:
            upper = numbers(error.get("array"))
            lower = numbers(error.get("arrayminus")) or upper
            across = "yerr" if trace.get("error_y") else "xerr"
            self.ax.errorbar(x, y, **{across: [lower, upper]}, **common, **drawn, elinewidth=0.7, capsize=1.2)
        else:
            self.ax.plot(x, y, **common, **drawn)

    def marker(self, trace: dict[str, Any], style: Style) -> dict[str, Any]:
        found = trace.get("marker") or {}
        symbol = str(found.get("symbol", "")).removesuffix("-open")
        size = found.get("size", 6)
        size = float(max(size)) if isinstance(size, list) else float(size)
        many = len(trace.get("x") or []) > 60 and "lines" not in trace.get("mode", "")
        return {
            "marker": MARKERS.get(symbol, style.marker) if symbol != "circle" else style.marker,
            "markersize": MARKER * size * (1.8 if symbol in THIN else 1),
            "markeredgewidth": 0.5,
            "markerfacecolor": "none" if many and style.colour == BLACK else style.colour,
        }

    def band(self, trace: dict[str, Any], x: list[Any], y: list[Any]) -> None:
        if trace.get("fill") == "tonexty" and self.edge is not None:
            colour = BANDS.get(str(trace.get("fillcolor")), GREY)
            label = self.label(trace)
            self.ax.fill_between(self.edge[0], self.edge[1], y, color=colour, alpha=0.18, linewidth=0, label=label)
        self.edge = (x, y)

    def bar(self, trace: dict[str, Any], order: int) -> None:
        """Bars, upright or lying, stacked where the page stacks them; several kinds of bars differ in their hatching."""
        lying = trace.get("orientation") == "h"
        places, lengths = numbers(trace.get("x")), numbers(trace.get("y"))
        if lying:
            places, lengths = lengths, places
        at = self.bars.index(trace)
        found = (trace.get("marker") or {}).get("color")
        colours = [self.palette.of(str(each)).colour for each in found] if isinstance(found, list) else None
        style = self.palette.of(colour_of(trace))
        several = len(self.bars) > 1
        shades = {BLACK: "#4d4d4d", GREY: "#d0d0d0"} if several else {BLACK: "#8c8c8c"}
        look: dict[str, Any] = {
            "color": [shades.get(each, each) for each in colours or [style.colour] * len(places)],
            "label": self.label(trace), "edgecolor": "white" if several else "none", "linewidth": 0.3,
            "hatch": HATCHES[at % len(HATCHES)] if several else "",
        }  # fmt: skip
        if self.layout.get("barmode") == "stack":
            begin = [self.stacked.get(place, 0.0) for place in places]
            self.stacked |= {place: start + length for place, start, length in zip(places, begin, lengths, strict=True)}
            look["left" if lying else "bottom"] = begin
        width = trace.get("width")
        thick = numbers(width) if isinstance(width, list) else width or 0.8
        error = trace.get("error_y")
        if error:
            upper = numbers(error.get("array"))
            look["yerr"] = [numbers(error.get("arrayminus")) or upper, upper]
            look["error_kw"] = {"elinewidth": 0.7, "capsize": 1.2, "ecolor": BLACK}
        (self.ax.barh if lying else self.ax.bar)(places, lengths, thick, **look)

    def marks(self) -> None:
        """Lines of the layout (mean, sizes of caches) and their names."""
        for shape in self.layout.get("shapes", []):
            if shape.get("type") != "line":
                continue
            look = {"color": GREY, "linewidth": 0.7, "linestyle": (0, (1, 1.5)), "zorder": 1}
            if shape.get("x0") == shape.get("x1"):
                self.ax.axvline(shape["x0"], **look)
            else:
                self.ax.plot([shape["x0"], shape["x1"]], [shape["y0"], shape["y1"]], **look)
        for note in self.layout.get("annotations", []):
            if note.get("yref") != "paper" or note.get("showarrow", True):
                continue
            x = 10 ** note["x"] if self.axis("x").get("type") == "log" else note["x"]
            self.ax.annotate(
                plain(note["text"]), (x, note["y"]), xycoords=("data", "axes fraction"), xytext=(2, -1),
                textcoords="offset points", ha="left", va="top", fontsize=6, color=GREY,
            )  # fmt: skip
