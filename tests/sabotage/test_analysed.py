"""The samples are in their file before they are analysed, and what happened is told: whoever stops waiting then loses nothing."""

import select
import signal
import subprocess
from pathlib import Path

import pyarrow.parquet
import pytest

from filesystems.measured import Lastrank
from terminal.screen import assert_fits, show

MANY = 300_000
"""Samples of each of two ranks, whose analysis takes longer than a signal."""


def command(lastrank: Lastrank, count: int, *more: str) -> list[str]:
    asked = ["io", "randread", "--backend", "simulate", "--ops", str(count), "--jobs", "2", "-o", "a.parquet"]
    return [str(lastrank.program), *asked, *more]


def reported(lastrank: Lastrank, *more: str) -> str:
    done = subprocess.run(
        [lastrank.program, "report", "a.parquet", *more], cwd=lastrank.folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), (done.stdout, done.stderr)
    return done.stdout


def told_until(output: int, word: bytes) -> bytes:
    """What is told down to this word, within minutes."""
    told = b""
    while word not in told:
        assert select.select([output], [], [], 300)[0], told
        with open(output, "rb", buffering=0, closefd=False) as stream:
            read = stream.read(1 << 16)
        assert read, told
        told += read
    return told


@pytest.mark.parametrize("deadly", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_who_is_killed_while_it_analyses_has_told_what_happened_and_keeps_it(lastrank: Lastrank, deadly: signal.Signals) -> None:
    def as_in_a_terminal() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    run = subprocess.Popen(
        command(lastrank, MANY), cwd=lastrank.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=as_in_a_terminal
    )
    with run:
        assert run.stdout
        told = told_until(run.stdout.fileno(), b" moved")
        run.send_signal(deadly)
        told += run.stdout.read()
    assert run.returncode == -deadly, told
    # No law was fitted yet, and no page is half written.
    head = told.decode()
    assert "600,00" in head and " 0 errors" in head and "reads/s" in head and "Saved:" not in head, head
    assert sorted(path.name for path in lastrank.folder.glob("a.*")) == ["a.parquet"]
    assert reported(lastrank, "-o", "a.html").startswith(head)
    assert pyarrow.parquet.read_metadata(lastrank.folder / "a.parquet").num_rows >= 2 * MANY


def test_the_screen_is_the_same_as_that_of_its_report_with_no_line_twice(lastrank: Lastrank, tmp_path: Path) -> None:
    done = subprocess.run(command(lastrank, 60_000), cwd=lastrank.folder, capture_output=True, text=True, check=True)
    again = reported(lastrank, "-o", "a.html")
    assert done.stdout == again and done.stderr == "", (done.stdout, again, done.stderr)
    shown = show(command(lastrank, 60_000), 80, tmp_path)
    assert_fits(shown)
    lines = [line for line in shown.lines if line.strip()]
    assert len(set(lines)) == len(lines) and lines[0].startswith("randread"), shown.text
    wanted = show([lastrank.program, "report", "a.parquet", "-o", "a.html"], 80, tmp_path)
    assert shown.lines == wanted.lines, (shown.text, wanted.text)
