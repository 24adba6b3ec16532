"""The report is one file that a real browser draws without a network and without complaints."""

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
    "--virtual-time-budget=10000", "--enable-logging=stderr",
]


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    if "LASTRANK_BIN" not in os.environ:
        pytest.skip("skipped: LASTRANK_BIN does not name the binary")
    folder = tmp_path_factory.mktemp("report")
    command = [
        os.environ["LASTRANK_BIN"], "run", "parallel_write", "--backend", "simulate:gev(10ms,1ms,0.1)",
        "-o", "run.parquet", "--report", "run.html",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder / "run.html"


def test_the_page_fetches_nothing(page):
    text = page.read_text()
    assert not re.search(r'<(script|link|img|iframe)[^>]+(src|href)\s*=\s*["\']?(https?:)?//', text)


@pytest.mark.skipif(CHROMIUM is None, reason="skipped: no chromium on this machine")
def test_a_browser_draws_every_figure_without_an_error(page, tmp_path):
    done = subprocess.run(
        [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path}", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=120,
    )
    figures = len(re.findall(r"<figure", page.read_text()))
    drawn = len(re.findall(r'class="[^"]*js-plotly-plot', done.stdout))
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line and "rror" in line]
    assert figures >= 7 and drawn == figures
    assert complaints == []
