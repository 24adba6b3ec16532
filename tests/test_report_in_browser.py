"""Tests that each page is one file that a real browser draws without a network and without errors."""

import html
import os
import re
import shutil
import struct
import subprocess
import time
from pathlib import Path

import pytest

from browser import FLAGS, Browser

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
OPTIONS = [*FLAGS, "--virtual-time-budget=30000", "--enable-logging=stderr"]
LAW = "simulate:gev(10ms,1ms,0.1)"
# A drawn figure must contain at least a point, a bar, a line or a filled band with a non-empty shape.
MARK = re.compile(r'class="(?:point|js-line|js-fill)[^"]*"[^>]* d="M|<path[^>]* d="M[^"]+"[^>]*class="(?:point|js-line|js-fill)'
                  r'|<g class="point"><path d="M')


def lastrank(folder: Path, *words: str) -> None:
    done = subprocess.run(
        [os.environ["LASTRANK_BIN"], *words], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    """One page of each kind: a gate over ranks, curves over sizes, the same with all figures, a comparison."""
    if "LASTRANK_BIN" not in os.environ:
        pytest.skip("skipped: LASTRANK_BIN does not name the binary")
    folder = tmp_path_factory.mktemp("report")
    simulated = ("--backend", LAW)
    lastrank(folder, "run", "parallel_write", *simulated, "-o", "gate.parquet", "--report", "gate.html")
    lastrank(folder, "run", "local_remote", *simulated, "--set", "repeat=60", "--set", "reads=200",
             "-o", "sizes.parquet", "--report", "sizes.html")
    lastrank(folder, "report", "sizes.parquet", "-o", "details.html", "--details")
    lastrank(folder, "run", "parallel_write", *simulated, "--seed", "2",
             "-o", "again.parquet", "--report", "none")
    lastrank(folder, "compare", "gate.parquet", "again.parquet", "--label", "write", "--gate",
             "-o", "compare.html")
    return {name: folder / f"{name}.html" for name in ("gate", "sizes", "details", "compare")}


# The smallest number of figures of each page.
EXPECTED = {
    "gate": {
        "series", "survival", "autocorrelation", "probability", "return-levels", "density", "quantiles",
        "last", "targets", "shared", "spread", "operation-far-tail", "operation-mean-excess",
        "operation-shape-stability", "operation-scale-stability", "distributions", "ranges",
    },
    "sizes": {"transfer-fwrite-creating-o-sync-fwrite", "rate-fwrite-creating-o-sync-fwrite", "ranges", "normal"},
    "details": {
        "transfer-fwrite-creating-o-sync-fwrite", "rate-fwrite-creating-o-sync-fwrite", "overlay-creating-o-sync-fwrite",
        "overlay-in-place-o-sync-fwrite", "ranges", "normal",
    },
    "compare": {"factor-curve", "pair-quantiles", "pair-density", "pair-survival", "pair-series"},
}


@pytest.mark.parametrize("name", EXPECTED)
def test_the_page_fetches_nothing(pages, name):
    text = pages[name].read_text()
    assert not re.search(r'<(script|link|img|iframe)[^>]+(src|href)\s*=\s*["\']?(https?:)?//', text)


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
def test_a_browser_draws_marks_in_every_figure_without_an_error(pages, tmp_path, name):
    done = subprocess.run(
        [CHROMIUM, *OPTIONS, f"--user-data-dir={tmp_path}", "--dump-dom", pages[name].as_uri() + "#all"],
        capture_output=True, text=True, timeout=300,
    )
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line and "rror" in line]
    assert complaints == []
    # Each figure from its beginning to its end, so that marks of another figure do not count.
    drawn = dict(re.findall(r'<figure.*?id="plot-([^"]+)"(.*?)</figure>', done.stdout, flags=re.DOTALL))
    assert EXPECTED[name] <= drawn.keys()
    assert len(drawn) == len(re.findall(r"<figure", pages[name].read_text()))
    without_marks = [figure for figure, inside in drawn.items() if not MARK.search(inside)]
    assert without_marks == []


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    with Browser(CHROMIUM, tmp_path_factory.mktemp("profile")) as browser:
        yield browser


# Of each figure: its frame, the card around it, its plane with axes and legend, and how wide the page is. What is drawn on
# the plane is clipped by it.
BOXES = """
[...document.querySelectorAll('figure')].filter((figure) => figure.offsetParent !== null).map((figure) => {
  const box = (element) => { const r = element.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; };
  const plot = figure.querySelector('.plot');
  const inside = [...plot.querySelectorAll('.xtitle, .ytitle, .xtick, .ytick, .bglayer, .legend')];
  const seen = inside.filter((part) => part.getBoundingClientRect().width > 0);
  return { id: plot.id, plot: box(plot), card: box(figure), parts: seen.map(box), width: document.documentElement.clientWidth };
})
"""
SLACK = 1.5


def cut(figure: dict) -> list[str]:
    """Which edges something of the figure reaches beyond."""
    left, top, right, bottom = figure["plot"]
    beyond = [
        (left - SLACK > min(part[0] for part in figure["parts"]), "left"),
        (top - SLACK > min(part[1] for part in figure["parts"]), "top"),
        (right + SLACK < max(part[2] for part in figure["parts"]), "right"),
        (bottom + SLACK < max(part[3] for part in figure["parts"]), "bottom"),
        (figure["card"][2] + SLACK < right or figure["width"] + SLACK < figure["card"][2], "page"),
    ]
    return [edge for is_beyond, edge in beyond if is_beyond]


@pytest.mark.parametrize("width", [640, 703, 816], ids=["narrow", "A4", "Letter"])
@pytest.mark.parametrize("name", EXPECTED)
def test_no_figure_is_cut_on_paper(pages, browser, name, width):
    browser.show(pages[name].as_uri() + "#all", 1280)
    browser.script("dispatchEvent(new Event('beforeprint'))")
    browser.ask("Emulation.setEmulatedMedia", media="print")
    browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=False)
    figures = browser.script(BOXES)
    browser.ask("Emulation.setEmulatedMedia", media="")
    assert len(figures) > 4 and all(len(figure["parts"]) > 3 for figure in figures)
    # The frame takes the paper, but for a margin: nothing was drawn for a narrower one.
    for figure in figures:
        left, _, right, _ = figure["plot"]
        assert max(part[2] for part in figure["parts"]) - min(part[0] for part in figure["parts"]) > 0.6 * (right - left)
    assert {figure["id"]: edges for figure in figures if (edges := cut(figure))} == {}


def test_a_cut_figure_would_be_seen():
    parts = [[10, 10, 250, 90], [20, 95, 60, 99]]
    whole = {"plot": [0, 0, 300, 100], "card": [0, 0, 310, 120], "parts": parts, "width": 700}
    assert cut(whole) == []
    assert cut(whole | {"plot": [0, 0, 200, 97]}) == ["right", "bottom"]
    assert cut(whole | {"width": 300}) == ["page"]


@pytest.mark.parametrize("name", EXPECTED)
def test_every_column_is_reached_on_a_telephone(pages, browser, name):
    browser.show(pages[name].as_uri(), 400)
    assert browser.script("document.documentElement.scrollWidth") <= 400
    # The last column of each row, with its table scrolled to the end, lies within the window.
    hidden = browser.script("""
      [...document.querySelectorAll('.scroll')].filter((frame) => frame.offsetParent !== null).flatMap((frame) => {
        const right = (cell) => cell.getBoundingClientRect().right;
        const before = [...frame.querySelectorAll('th')].map(right);
        frame.scrollLeft = frame.scrollWidth;
        const cells = [...frame.querySelectorAll('tr > :last-child')];
        return cells.filter((cell) => (cell.textContent && cell.offsetWidth === 0) || right(cell) > innerWidth || before.length === 0)
          .map((cell) => cell.textContent);
      })
    """)
    assert hidden == []
    # Most tables need no scrolling at all.
    over = browser.script(
        "[...document.querySelectorAll('.scroll')].filter((frame) => frame.scrollWidth > frame.clientWidth + 60).length"
    )
    tables = browser.script("[...document.querySelectorAll('.scroll')].filter((frame) => frame.offsetParent !== null).length")
    assert over <= max(2, tables / 3), (over, tables)


def test_a_figure_is_saved_as_png_and_svg(pages, browser, tmp_path):
    browser.show(pages["gate"].as_uri(), 1280)
    browser.ask("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    assert browser.script(
        "[...document.querySelectorAll('figure')].every((figure) => figure.querySelectorAll('.save button').length === 2)"
    )
    browser.script("document.querySelectorAll('#plot-series')[0].closest('figure')"
                   ".querySelectorAll('.save button').forEach((button) => button.click())")
    png, svg = tmp_path / "series.png", tmp_path / "series.svg"
    for _ in range(400):
        if png.exists() and svg.exists():
            break
        time.sleep(0.05)
    head = png.read_bytes()[:24]
    assert head.startswith(b"\x89PNG") and struct.unpack(">I", head[16:20])[0] >= 1280
    text = svg.read_text()
    assert text.startswith("<svg") and "T over time" in text
    assert browser.console == []


def test_what_users_named_is_text_in_figures(browser, tmp_path):
    if "LASTRANK_BIN" not in os.environ:
        pytest.skip("skipped: LASTRANK_BIN does not name the binary")
    label = '<a href=x>s</a>'
    (tmp_path / "link.ppl").write_text(
        f'repeat 200 time["{label}"] {{ getpid(); }}\nrepeat 200 time["other"] {{ getppid(); }}\n'
    )
    lastrank(tmp_path, "run", "link.ppl", "--backend", LAW, "-o", "link.parquet", "--report", "link.html")
    browser.show((tmp_path / "link.html").as_uri() + "#all", 1280)
    links = browser.script("[...document.querySelectorAll('a')].map((a) => a.getAttribute('href') ?? a.href?.baseVal ?? '')")
    assert [link for link in links if link and not link.startswith("#")] == []
    texts = browser.script("[...document.querySelectorAll('.plot text')].map((text) => text.textContent).join('\\n')")
    assert "<a href=" in texts


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="skipped: no pdftotext reads what was printed")
def test_the_printed_page_of_a_fit_has_every_chapter_and_figure(pages):
    folder = pages["gate"].parent
    lastrank(folder, "fit", "gate.parquet", "--label", "write", "--gate", "-o", "fit.html")
    lastrank(folder, "fit", "gate.parquet", "--label", "write", "--gate", "-o", "fit.pdf", "--page")
    printed = subprocess.run(["pdftotext", "fit.pdf", "-"], cwd=folder, capture_output=True, text=True, check=True)
    text = " ".join(printed.stdout.split())
    page = (folder / "fit.html").read_text(encoding="utf-8")
    # But figures and tables that are folded.
    page = re.sub(r'<details class="more">.*?</details>|<h3>[^<]+</h3><details', "", page, flags=re.DOTALL)
    heads = re.findall(r"<h[23][^>]*>([^<]+)</h[23]>", page)
    assert len(heads) > 10
    assert [head for head in heads if " ".join(html.unescape(head).split()) not in text] == []


def test_the_command_line_of_the_kernel_is_shown_with_details_only(pages):
    folder = pages["gate"].parent
    words = Path("/proc/cmdline").read_text(encoding="utf-8").strip()
    # A simulated run knows no machine.
    small = ("--set", "targets=2", "--set", "repeat=30", "--set", "size=4KiB")
    lastrank(folder, "run", "parallel_write", *small, "-o", "real.parquet", "--report", "plain.html")
    lastrank(folder, "report", "real.parquet", "-o", "detailed.html", "--details")
    plain, detailed = ((folder / name).read_text(encoding="utf-8") for name in ("plain.html", "detailed.html"))
    assert "kernel command line" not in plain and "kernel command line" in detailed
    assert html.escape(words, quote=False) in detailed or words in html.unescape(detailed)


def test_a_page_takes_few_sheets_of_paper(pages, browser):
    """Small figures stand in pairs, and what is folded is not printed."""
    browser.show(pages["gate"].as_uri(), 1280)
    sheets = len(re.findall(rb"/Type\s*/Page\b", browser.pdf()))
    assert 3 < sheets <= 10, sheets
