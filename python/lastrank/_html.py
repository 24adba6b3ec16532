"""Shows screens and small tables in a notebook."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from ._native import visible

__all__ = ["screen", "table", "sparkline"]

# The colours of a first screen, readable on white and on black.
_STYLES = {
    "1": "font-weight:bold",
    "2": "opacity:.65",
    "31": "color:#d1451b;font-weight:bold",
    "32": "color:#00876c;font-weight:bold",
    "33": "color:#b07a00;font-weight:bold",
}


def screen(text: str) -> str:
    """A screen of a terminal, with its colours, as HTML."""
    parts = re.split(r"\x1b\[(\d+)m", html.escape(text, quote=False))
    out, is_open = [parts[0]], False
    for code, words in zip(parts[1::2], parts[2::2], strict=True):
        if is_open:
            out.append("</span>")
        is_open = code in _STYLES
        if is_open:
            out.append(f'<span style="{_STYLES[code]}">')
        out.append(words)
    if is_open:
        out.append("</span>")
    return f'<pre style="line-height:1.25;overflow-x:auto">{"".join(out)}</pre>'


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> str:
    """A table as HTML; the first columns are texts, the others are numbers."""

    def row(cells: Sequence[str], tag: str) -> str:
        sides = [*["left"] * texts, *["right"] * (len(cells) - texts)]
        return "".join(
            f'<{tag} style="text-align:{side}">{html.escape(visible(cell))}</{tag}>'
            for cell, side in zip(cells, sides, strict=True)
        )

    body = "".join(f"<tr>{row(cells, 'td')}</tr>" for cells in rows)
    return f"<table><thead><tr>{row(heads, 'th')}</tr></thead><tbody>{body}</tbody></table>"


def sparkline(values: Sequence[float], title: str) -> str:
    """A line of numbers as a small picture; nothing of fewer than three."""
    if len(values) < 3:
        return ""
    width, height = 240.0, 36.0
    top = max(values) or 1.0
    step = width / (len(values) - 1)
    points = " ".join(f"{step * at:.1f},{height - 2 - (height - 4) * value / top:.1f}" for at, value in enumerate(values))
    words = html.escape(title)
    return (
        f'<svg role="img" aria-label="{words}" width="{width:.0f}" height="{height:.0f}"><title>{words}</title>'
        f'<polyline points="{points}" fill="none" stroke="#0072b2" stroke-width="1.5"/></svg>'
    )
