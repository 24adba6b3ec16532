"""The line that is drawn over while a command works: it fits, moves without flicker, and leaves nothing behind."""

import os
import signal
from pathlib import Path

import pytest

from .screen import Shown, assert_fits, show

# 1.6 s of 320 passes on two ranks, whose label and name are longer than a line.
SLOW = 'define ranks 2;\nrepeat 160 { barrier; time["w"] write("f-$$rank", 64k); sleep(10ms); }\ndelete("f-$$rank");\n'
NAME = "a-program-with-a-name-that-is-longer-than-the-line-of-a-terminal-of-eighty-columns-or-so"
WIDTHS = (60, 80, 120)
BAR = 20


def assert_drawn(found: Shown) -> list[str]:
    """The frames fit with room for an echoed Ctrl-C, differ, come at most ten times a second, and are drawn whole."""
    frames = found.frames()
    assert frames, found.raw
    assert all(len(frame) <= found.columns - 3 for frame in frames), frames
    assert all(one != other for one, other in zip(frames, frames[1:], strict=False))
    assert len(frames) <= 10.6 * found.seconds + 2, (len(frames), found.seconds)
    # Taken away only where text follows, as at the end; each frame is written over the last one, never over an erased line.
    assert found.raw.count(b"\r\x1b[K") >= 1 and b"\x1b[2K" not in found.raw, found.raw
    assert b"\r\x1b[K\r" not in found.raw, found.raw
    return frames


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_bar_of_a_run(program: Path, tmp_path: Path, columns: int) -> None:
    """A bar of readable width that grows, with the rates; on the screen that is left there is none of it."""
    (tmp_path / f"{NAME}.ppl").write_text(SLOW)
    found = show([program, "run", f"{NAME}.ppl", "-o", "new.parquet", "--report", "none"], columns, tmp_path)
    assert found.status == 0, found.text
    assert_fits(found)
    frames = assert_drawn(found)
    full = [frame.count("━") for frame in frames]
    assert all(frame.count("━") + frame.count("┄") == BAR for frame in frames if " %" in frame), frames
    assert max(full) > BAR // 2 and full == sorted(full), full
    assert any("samples/s" in frame for frame in frames) == (columns > 60), frames
    assert "━" not in found.text and "samples/s" not in found.text


def test_no_line_is_drawn_where_none_can_be_drawn_over(program: Path, tmp_path: Path) -> None:
    """A dumb terminal knows no erasing."""
    (tmp_path / "p.ppl").write_text(SLOW.replace("160", "40"))
    found = show([program, "run", "p.ppl", "-o", "new.parquet", "--report", "none"], 80, tmp_path, {"TERM": "dumb"})
    assert b"\x1b" not in found.raw and not found.frames(), found.raw
    assert_fits(found)


def test_an_interrupted_run(program: Path, tmp_path: Path) -> None:
    """Ctrl-C leaves neither the bar nor the echoed `^C`, and the screen of what was measured."""
    (tmp_path / "p.ppl").write_text(SLOW.replace("160", "2000"))
    words = [program, "run", "p.ppl", "-o", "new.parquet", "--report", "none"]
    found = show(words, 80, tmp_path, interrupt_after=1.5)
    assert found.status == 3, found.text
    assert_fits(found)
    assert "^C" not in found.text and "━" not in found.text, found.text
    assert "✖" in found.text and "new.parquet" in found.text
    assert "stopped by Ctrl-C after " in found.text, found.text
    # Messages stand below the screen, each from the first column on.
    below = [line for line in found.lines[found.lines.index("Saved: new.parquet") + 1 :] if not line.startswith("Next:")]
    assert all(line.startswith(("error: ", "note: ", "warning: ", " ")) for line in below), below


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_line_of_ab(program: Path, tmp_path: Path, columns: int) -> None:
    """`ab` says where it is, and nothing of that stays."""
    found = show([program, "ab", "true", "sleep 0.02"], columns, tmp_path)
    assert found.status == 0, found.text
    assert_fits(found)
    frames = assert_drawn(found)
    assert any(frame.startswith("block ") for frame in frames), frames
    assert "warm-up" not in found.text and "block 1, run" not in found.text, found.text


def test_a_command_of_ab_that_fails_after_a_line_was_drawn(program: Path, tmp_path: Path) -> None:
    """The error stands at the beginning of a line of its own."""
    fails = "sh -c 'sleep 0.3; echo a reason >&2; exit 4'"
    found = show([program, "ab", "sleep 0.3", fails], 80, tmp_path)
    assert found.status == 3
    assert found.frames(), found.raw
    assert_fits(found)
    assert found.lines[0].startswith("error: ") and found.lines[-1] == "  a reason", found.text


def test_ab_interrupted(program: Path, tmp_path: Path) -> None:
    """Ctrl-C ends it by the signal, as before, and the line is gone."""
    found = show([program, "ab", "sleep 0.2", "sleep 0.2"], 80, tmp_path, interrupt_after=1.0)
    assert found.status == -signal.SIGINT
    assert found.frames() and found.text in ("", "^C"), found.raw


def test_the_line_of_a_command_that_takes_long(program: Path, tmp_path: Path) -> None:
    """What takes longer than two seconds says so, and a signal ends it without a trace."""
    os.mkfifo(tmp_path / "numbers")
    found = show([program, "fit", "numbers"], 80, tmp_path, interrupt_after=2.5)
    assert found.status == -signal.SIGINT
    assert found.frames() == ["fitting, 2 s"], found.raw
    assert found.text in ("", "^C"), found.text
