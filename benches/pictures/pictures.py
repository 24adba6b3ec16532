#!/usr/bin/env python3
"""Takes figures out of a page of lastrank as PNG files: `pictures.py PAGE.html FOLDER ID[=NAME] …`.

The page holds its figures as data and the library that draws them; a headless Chromium draws one figure at a time, so a
picture in the documentation is the figure that a reader of the page sees.
"""

import html
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

WIDTH, HEIGHT = 760, 400


def parts(page: str) -> tuple[dict[str, dict], str]:
    """The figures of a page by their names, and the script that draws them."""
    data = re.search(r'<script type="application/json" id="figure-data">(.*?)</script>', page, re.DOTALL)
    library = re.search(r'<script type="text/javascript">(.*?)</script>', page, re.DOTALL)
    if not data or not library:
        sys.exit("this is no page of lastrank")
    return {figure["id"]: figure["plot"] for figure in json.loads(data[1])}, library[1]


def draw(name: str, plot: dict, library: str, to: Path) -> None:
    height = plot["layout"].get("height", HEIGHT)
    plot["layout"] |= {"width": WIDTH, "height": height, "paper_bgcolor": "#fff", "plot_bgcolor": "#fff", "font": {"size": 13}, "title": None}
    page = (
        f"<!doctype html><meta charset='utf-8'><title>{html.escape(name)}</title><style>body{{margin:0}}</style>"
        f"<div id='f'></div><script>{library}</script>"
        f"<script>Plotly.newPlot('f', {json.dumps(plot['data'])}, {json.dumps(plot['layout'])}, {{staticPlot: true}})</script>"
    )
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "figure.html"
        source.write_text(page)
        command = [
            "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}/profile",
            f"--window-size={WIDTH},{height}", "--virtual-time-budget=8000", f"--screenshot={to}", source.as_uri(),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=180)


def main() -> None:
    page, folder, *wanted = sys.argv[1:]
    figures, library = parts(Path(page).read_text())
    if not wanted:
        print("\n".join(figures))
    for word in wanted:
        name, _, to = word.partition("=")
        if name not in figures:
            sys.exit(f"{page} has no figure {name}; it has {', '.join(figures)}")
        draw(name, figures[name], library, Path(folder).resolve() / f"{to or name}.png")


main()
