"""Figures for print: any figure of a page, drawn by matplotlib at the width of a column.

A source is a fit, a run, or the document of one (`lastrank fit FILE --json --figures`, `lastrank report RUN --json
--with figures`). It holds the figures of the page with their numbers; nothing is computed again. Sizes are in inches,
text in points.

On the command line: `python3 -m lastrank._plot DOCUMENT.json KIND OUT.pdf [--width acm|ieee|elsevier|INCHES]`.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Mapping, Sequence
from html import unescape
from pathlib import Path
from typing import Any

from ._plot_axes import legend_rows
from ._plot_style import inches, library, settings
from ._plot_traces import Drawer
from ._replace import replace

__all__ = ["KINDS", "draw", "figure", "kinds", "main", "save"]

# Names of figures, with what each shows. Others of the page go by their id: see `kinds`.
KINDS = {
    "diagnostic": "a fit in four panels: probabilities, quantiles, return levels, density; of exceedances, the threshold",
    "return_levels": "the level exceeded once in N values, with its band",
    "quantiles": "measured against fitted quantiles (Q-Q plot)",
    "probability": "empirical against fitted probabilities (P-P plot)",
    "density": "histogram with the fitted densities",
    "survival": "the share that takes longer, on logarithmic axes",
    "series": "every value in time order",
    "autocorrelation": "whether a value resembles those before it",
    "far_tail": "the tail beyond a threshold with its Pareto distribution",
    "mean_excess": "mean residual life by threshold",
    "shape_stability": "the shape by threshold",
    "scale_stability": "the modified scale by threshold",
    "last": "which rank was last, and how often",
    "targets": "which rank is slow by itself",
    "shared": "what all ranks of a step share",
    "spread": "each rank against the slowest of its step",
    "distributions": "how often each operation takes longer",
    "ladder": "the time of an access by size",
    "normal": "how often each operation takes longer, a panel each, beside a normal distribution",
}
PANELS = ("probability", "quantiles", "return_levels", "density")
PANELS_BEYOND = ("far_tail", "mean_excess", "shape_stability", "scale_stability")
SYNONYMS = {
    "qq": "quantiles", "pp": "probability", "exceedance": "survival", "return_level": "return_levels",
    "mean_residual_life": "mean_excess", "beyond_threshold": "far_tail", "ladder": "answer_ladder",
}  # fmt: skip
FORMS = ("pdf", "svg", "png")


def _figures(source: Any) -> list[dict[str, Any]]:
    """The figures of a document, or of what has one: a fit, a run, a comparison."""
    if not isinstance(source, Mapping):
        own = getattr(source, "figures", None)
        if isinstance(own, list):
            return own
        source = getattr(source, "document", None)
        if not isinstance(source, Mapping):
            raise ValueError("figures are drawn of a fit, of a run, or of the document of one")
    own = list(source.get("figures") or [])
    return own + [figure for chapter in source.get("chapters") or [] for figure in chapter.get("figures") or []]


def _underscored(name: str) -> str:
    return name.lower().replace("-", "_").replace(" ", "_")


def kinds(source: Any) -> list[str]:
    """The names of the figures that a document has, in the order of its page.

    >>> kinds({"figures": [{"id": "return-levels"}, {"id": "density"}]})
    ['return_levels', 'density']
    """
    return [_underscored(figure["id"]) for figure in _figures(source)]


def _chosen(source: Any, kind: str) -> dict[str, Any]:
    """The figure of a kind: by its id, by its end (the first analysis), the kind of its numbers, or its beginning."""
    chosen: dict[str, Any] = _as_text(_found(source, kind))
    return chosen


def _as_text(value: Any) -> Any:
    """The same with the characters that Plotly's entities stand for."""
    if isinstance(value, str):
        return unescape(value) if "&lt;" in value else value
    if isinstance(value, list):
        return value if value and isinstance(value[0], float) else [_as_text(item) for item in value]
    return {name: _as_text(item) for name, item in value.items()} if isinstance(value, dict) else value


def _found(source: Any, kind: str) -> dict[str, Any]:
    figures = _figures(source)
    wanted = _underscored(kind)
    for name in dict.fromkeys([wanted, SYNONYMS.get(wanted, wanted)]):
        for fits in (
            lambda figure, name=name: _underscored(figure["id"]) == name,
            lambda figure, name=name: _underscored(figure["id"]).endswith(f"_{name}"),
            lambda figure, name=name: figure.get("numbers", {}).get("kind") == name,
            lambda figure, name=name: _underscored(figure["id"]).startswith(f"{name}_"),
        ):
            for figure in figures:
                if fits(figure):
                    return figure
    known = kinds(source)
    if not known:
        raise ValueError(
            "the document has no figures: they are in that of `lastrank fit FILE --json --figures` and of "
            "`lastrank report RUN --json --with figures`"
        )
    shown = [name for name in dict.fromkeys(known) if not name.startswith("normal_")]
    more = ", … (`figures.kinds` names all)" if len(shown) < len(known) else ""
    raise ValueError(f"no figure {kind!r}; there are {', '.join(shown)}{more}")


def _panels(source: Any, kind: str) -> list[dict[str, Any]]:
    if _underscored(kind) != "diagnostic":
        return _parts(_chosen(source, kind))
    known = set(kinds(source))
    document = source if isinstance(source, Mapping) else getattr(source, "document", {})
    beyond = document.get("model") == "gpd" and known.issuperset(PANELS_BEYOND)
    panels = PANELS_BEYOND if beyond else PANELS
    return [_chosen(source, panel) for panel in panels if panel in known] or [_chosen(source, "diagnostic")]


def _parts(chosen: dict[str, Any]) -> list[dict[str, Any]]:
    """A figure of many small panels as one figure a panel, all with its axes; any other as it is."""
    layout = chosen["plot"]["layout"]
    if "grid" not in layout:
        return [chosen]
    axes = {which: layout[f"{which}axis"] for which in ("x", "y")}
    parts: dict[str, dict[str, Any]] = {}
    for trace in chosen["plot"]["data"]:
        plot = {"data": [], "layout": {"xaxis": axes["x"], "yaxis": axes["y"], "showlegend": not parts}}
        parts.setdefault(trace["xaxis"], {"plot": plot})["plot"]["data"].append({**trace, "showlegend": True})
    for part, note in zip(parts.values(), layout["annotations"], strict=True):
        part["title"] = note["text"]
    return list(parts.values())


def _wants_width(panels: list[dict[str, Any]]) -> bool:
    """Whether one column is too narrow: several panels, or rows with long names."""
    plot = panels[0]["plot"]
    if len(panels) > 1:
        return True
    if plot.get("layout", {}).get("yaxis", {}).get("type") != "category":
        return False
    return max((len(str(name)) for trace in plot["data"] for name in trace.get("y", [])), default=0) > 24


def _size(panels: list[dict[str, Any]], width: float) -> tuple[float, float]:
    """Width and height in inches: a golden frame, or as high as the rows of a figure of rows need, and its legend."""
    if len(panels) > 4:
        return width, 0.2 * width * -(-len(panels) // _columns(panels))
    if len(panels) > 1:
        return width, width * (0.72 if len(panels) > 2 else 0.4)
    plot = panels[0]["plot"]
    layout = plot.get("layout", {})
    above = 0.15 * legend_rows(layout, plot.get("data", []), 72 * width)
    frame = max(1.2, layout["height"] / 150) if "height" in layout else min(0.68 * width, 3.2)
    return width, min(frame + above, 9.0)


def _columns(panels: list[dict[str, Any]]) -> int:
    return 4 if len(panels) > 4 else 2 if len(panels) > 1 else 1


def _fill(figure: Any, panels: list[dict[str, Any]]) -> None:
    columns = _columns(panels)
    grid = figure.subplots(-(-len(panels) // columns), columns, squeeze=False)
    axes = list(grid.flat)
    for ax, panel in zip(axes, panels, strict=False):
        Drawer(ax, panel["plot"]).draw()
        if len(panels) > 1:
            ax.set_title(panel["title"], loc="left", **({"fontsize": 6} if len(panels) > 4 else {}))
            if len(panels) > 4:
                # Titles of axes that all have stand at the edges.
                ax.label_outer()
    for ax in axes[len(panels) :]:
        ax.remove()


def figure(
    source: Any, kind: str, *, width: str | float = "acm", columns: int | None = None, fonts: str = "sans"
) -> Any:
    """A new `matplotlib.figure.Figure` of a kind, as wide as one or two columns of a journal.

    :param source: a fit, a run, or the document of one with its figures.
    :param kind: one of ``KINDS``, or the id of any figure of the page (``kinds(source)``).
    :param width: ``acm`` (3.33 and 7.0 inches), ``ieee`` (3.5 and 7.16), ``elsevier`` (3.54 and 7.48), or inches.
    :param columns: 1 or 2; two for ``diagnostic`` and for rows with long names, else one.
    :param fonts: ``sans`` (DejaVu Sans) or ``serif`` (STIX, which goes with the fonts of LaTeX).
    :raises ValueError: where there is no such figure, width or fonts; the message lists what there is.
    :raises ModuleNotFoundError: where matplotlib is not installed.
    """
    panels = _panels(source, kind)
    wide = inches(width, columns or (2 if _wants_width(panels) else 1))
    with settings(fonts):
        made = library("matplotlib.figure").Figure(figsize=_size(panels, wide), layout="constrained")
        _fill(made, panels)
    return made


def _count(panels: list[dict[str, Any]]) -> str:
    return "four" if len(panels) == 4 else str(len(panels))


def draw(source: Any, kind: str, ax: Any = None) -> Any:
    """Draws a figure on `ax`, or on a new figure of pyplot, and returns the Axes.

    ``diagnostic`` has four panels, so it takes no ``ax`` and returns the Figure.

    :raises ValueError: where there is no such figure, or of ``diagnostic`` with an ``ax``.
    :raises ModuleNotFoundError: where matplotlib is not installed.
    """
    panels = _panels(source, kind)
    if ax is not None:
        if len(panels) > 1:
            raise ValueError(f"{kind} has {_count(panels)} panels: leave ax out, or draw its panels one by one")
        Drawer(ax, panels[0]["plot"]).draw()
        return ax
    # Outside of the settings for print: the first figure of a session turns interactive drawing on, which must last.
    wide = 7.0 if _wants_width(panels) else 4.5
    made = library("matplotlib.pyplot").figure(figsize=_size(panels, wide), layout="constrained")
    with settings():
        _fill(made, panels)
    return made if len(panels) > 1 else made.axes[0]


def save(
    source: Any,
    kind: str,
    path: str | os.PathLike[str],
    width: str | float = "acm",
    columns: int | None = None,
    fonts: str = "sans",
) -> Path:
    """Writes a figure as PDF, SVG or PNG, by the end of its name; the same figure gives the same bytes.

    The file is replaced only by a whole one. Arguments and errors are those of ``figure``.

    :raises ValueError: where the name ends in something else.
    :raises OSError: where the file cannot be written.
    """
    path = Path(path)
    form = path.suffix.lower().removeprefix(".")
    if form not in FORMS:
        raise ValueError(f"{path}: a name that ends in .pdf, .svg or .png")
    written = _bytes(figure(source, kind, width=width, columns=columns, fonts=fonts), form, fonts)
    replace(path, written)
    return path


def _bytes(figure: Any, form: str, fonts: str) -> bytes:
    """The file of a figure, without the time of its making."""
    timeless = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}[form]
    out = io.BytesIO()
    with settings(fonts):
        figure.savefig(out, format=form, metadata=timeless)
    return out.getvalue()


def main(arguments: Sequence[str] | None = None) -> int:
    """Draws a figure of a document on the command line; `-` is standard input or output. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m lastrank._plot", description="A figure of a fit or a run for print.")
    parser.add_argument("document", help="JSON of `lastrank fit --json --figures` or `lastrank report --json --with figures`, or -")
    parser.add_argument("kind", help=", ".join(KINDS))
    parser.add_argument("out", help="FILE.pdf, FILE.svg, FILE.png, or -")
    parser.add_argument("--form", choices=FORMS, default="pdf", help="the format on standard output")
    parser.add_argument("--width", help="acm, ieee, elsevier, ieee:2, or inches (default: acm)", default="acm")
    parser.add_argument("--columns", type=int, choices=(1, 2))
    parser.add_argument("--fonts", choices=("sans", "serif"), default="sans")
    given = parser.parse_args(arguments)
    try:
        text = sys.stdin.read() if given.document == "-" else Path(given.document).read_text(encoding="utf-8")
        source = json.loads(text)
        how = {"width": given.width, "columns": given.columns, "fonts": given.fonts}
        if given.out == "-":
            sys.stdout.buffer.write(_bytes(figure(source, given.kind, **how), given.form, given.fonts))
        else:
            save(source, given.kind, given.out, **how)
    except (ValueError, OSError, ModuleNotFoundError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (AttributeError, KeyError, TypeError) as error:
        print(f"error: {given.document} has figures that are not those of lastrank: {error!r}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
