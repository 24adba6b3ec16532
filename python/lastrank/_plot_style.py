"""Styles of figures for print: widths of journals, colours with their dashes and markers, fonts.

Colours are those of Okabe and Ito (2008) in an order that grey print keeps apart for the first three (lightness 0,
46 and 71 of 100). From the fourth on only dash and marker do, so each colour has its own.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any, NamedTuple

# Width of one column and of the whole page, in inches: ACM sigconf, IEEE transactions, Elsevier 5p.
JOURNALS = {"acm": (3.33, 7.0), "ieee": (3.5, 7.16), "elsevier": (3.54, 7.48)}

BLACK, BLUE, ORANGE, VERMILLION = "#000000", "#0072B2", "#E69F00", "#D55E00"
GREEN, PURPLE, SKY, GREY = "#009E73", "#CC79A7", "#56B4E9", "#767676"


class Style(NamedTuple):
    """How one quantity looks: colour, dash of its line, marker of its points."""

    colour: str
    dash: Any
    marker: str


ORDER = (
    Style(BLACK, "solid", "o"),
    Style(BLUE, (0, (7, 1.5)), "s"),
    Style(ORANGE, (0, (6, 2, 1, 2)), "^"),
    Style(VERMILLION, (0, (1, 1.2)), "D"),
    Style(GREEN, (0, (4, 1.5)), "v"),
    Style(PURPLE, (0, (3, 1, 1, 1, 1, 1)), "P"),
    Style(SKY, (0, (8, 2)), "X"),
)
HELP_LINE = Style(GREY, (0, (3, 2)), "x")

# The colours of the page, each with the role that it has there.
ROLES = {
    "#3b82c4": ORDER[0],  # measured
    "#e0852b": ORDER[1]._replace(dash="solid"),  # the fitted law, among points
    "#2a9d8f": ORDER[2],  # a second quantity
    "#d6414b": ORDER[3],  # what stands out
    "#8e6bbf": ORDER[4],
    "#7a9a01": ORDER[5],
    "#b0578d": ORDER[6],
    "#8592a3": HELP_LINE,  # lines of comparison
}
BANDS = {"rgba(224,133,43,0.20)": BLUE, "rgba(133,146,163,0.22)": GREY}
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----", "++", "oo")
DASHES = {"dash": (0, (4, 2)), "dot": (0, (1, 1.5)), "dashdot": (0, (5, 1.5, 1, 1.5)), "longdash": (0, (8, 2))}
MARKERS = {
    "circle": "o", "square": "s", "diamond": "D", "cross": "P", "x": "X", "triangle-up": "^", "triangle-down": "v",
    "line-ns": "|", "line-ew": "_", "x-thin": "x", "cross-thin": "+", "star": "*",
}  # fmt: skip

FONTS = {
    "sans": {"font.family": "DejaVu Sans", "mathtext.fontset": "dejavusans"},
    # Looks at home beside the Times and the Computer Modern of LaTeX; ships with matplotlib.
    "serif": {"font.family": "STIXGeneral", "mathtext.fontset": "stix"},
}
SETTINGS: dict[str, Any] = {
    "font.size": 8, "axes.labelsize": 8, "axes.titlesize": 8,
    "xtick.labelsize": 7, "ytick.labelsize": 7,
    "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4, "ytick.minor.width": 0.4, "xtick.major.size": 2.5, "ytick.major.size": 2.5,
    "xtick.minor.size": 1.5, "ytick.minor.size": 1.5, "lines.linewidth": 1.1, "hatch.linewidth": 0.4,
    "axes.spines.top": False, "axes.spines.right": False, "axes.formatter.useoffset": False,
    "legend.handlelength": 2.2, "text.usetex": False,
    # Text stays text: embedded TrueType in PDF, <text> in SVG. The salt makes the names inside an SVG the same each time.
    "pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "lastrank",
    "savefig.bbox": "standard", "savefig.dpi": 300,
}  # fmt: skip


def library(name: str) -> Any:
    """A module of matplotlib.

    :raises ModuleNotFoundError: where matplotlib is not installed; the message says how to install it.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        message = "figures for print are drawn by matplotlib, which is not installed: pip install matplotlib"
        raise ModuleNotFoundError(message, name="matplotlib") from None


@contextlib.contextmanager
def settings(fonts: str = "sans") -> Iterator[None]:
    """The settings of matplotlib for print, until the block ends; what the user has set is put aside.

    :raises ValueError: where ``fonts`` is neither ``sans`` nor ``serif``.
    """
    if fonts not in FONTS:
        raise ValueError(f"fonts={fonts!r}: one of {', '.join(FONTS)}")
    # The style "default" leaves what belongs to the session, such as interactive drawing, as it is.
    with library("matplotlib.style").context(["default", SETTINGS | FONTS[fonts]]):
        yield


def inches(width: str | float, columns: int) -> float:
    """The width in inches of `columns` columns of a journal: `acm`, `ieee`, `elsevier`, `ieee:2`, or a number of inches.

    :raises ValueError: of no such journal, no such number of columns, or a width that no page has.
    """
    name, _, after = str(width).partition(":")
    if after:
        columns = int(after) if after in ("1", "2") else 0
    if columns not in (1, 2):
        raise ValueError(f"width {width}: one column or two, as in acm:2")
    if name in JOURNALS:
        return JOURNALS[name][columns - 1]
    try:
        number = float(width)
    except ValueError:
        raise ValueError(f"width {width}: one of {', '.join(JOURNALS)}, or a number of inches") from None
    if not 1 <= number <= 40:
        raise ValueError(f"width {width}: a number of inches from 1 to 40")
    return number


class Palette:
    """Gives each colour of the page its style for print.

    Where every colour has a role, the role decides. Else, and for a family of curves, up to seven follow `ORDER` as they
    come; more get even steps of lightness (cividis) and dashes in turn.
    """

    def __init__(self, colours: list[str], curves: bool = False) -> None:
        family = [
            colour for colour in dict.fromkeys(colours) if ROLES.get(colour) is not HELP_LINE and colour not in BANDS
        ]
        self.styles = dict(ROLES)
        if not curves and all(colour in ROLES for colour in family):
            return
        if curves:
            family = [colour for colour in dict.fromkeys(colours) if colour not in BANDS]
        styles: tuple[Style, ...] = ORDER
        if len(family) > len(ORDER):
            scale = library("matplotlib").colormaps["cividis"]
            hexadecimal = library("matplotlib.colors").to_hex
            last = len(family) - 1
            styles = tuple(
                Style(hexadecimal(scale(0.85 * at / last)), ORDER[at % 5].dash, ORDER[at % 5].marker)
                for at in range(len(family))
            )
        self.styles |= dict(zip(family, styles, strict=False))

    def of(self, colour: str) -> Style:
        """The style of a colour of the page."""
        return self.styles.get(colour, HELP_LINE)
