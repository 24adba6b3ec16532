"""Tests that each page is one file that a real browser draws without a network and without errors."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--virtual-time-budget=30000", "--enable-logging=stderr",
]
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
    """One page of each kind: a gate over ranks, curves over sizes, a comparison."""
    if "LASTRANK_BIN" not in os.environ:
        pytest.skip("skipped: LASTRANK_BIN does not name the binary")
    folder = tmp_path_factory.mktemp("report")
    simulated = ("--backend", LAW)
    lastrank(folder, "run", "parallel_write", *simulated, "-o", "gate.parquet", "--report", "gate.html")
    lastrank(folder, "run", "local_remote", *simulated, "--set", "repeat=60", "--set", "reads=200",
             "-o", "sizes.parquet", "--report", "sizes.html")
    lastrank(folder, "run", "parallel_write", *simulated, "--seed", "2",
             "-o", "again.parquet", "--report", "none")
    lastrank(folder, "compare", "gate.parquet", "again.parquet", "--label", "write", "--gate",
             "-o", "compare.html")
    return {name: folder / f"{name}.html" for name in ("gate", "sizes", "compare")}


# The smallest number of figures of each page.
EXPECTED = {
    "gate": {
        "rate", "series", "survival", "autocorrelation", "probability", "return-levels", "density", "quantiles",
        "last", "targets", "shared", "spread", "operation-far-tail", "operation-mean-excess",
        "operation-shape-stability", "operation-scale-stability", "distributions", "ranges",
    },
    "sizes": {"transfer-fwrite-o-sync-fwrite", "rate-fwrite-o-sync-fwrite", "overlay-o-sync-fwrite", "ranges"},
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
        [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path}", "--dump-dom", pages[name].as_uri() + "#all"],
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
