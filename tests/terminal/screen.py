"""Runs a command in a pseudo-terminal and draws what it writes, as a terminal emulator does (pyte)."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyte
from pyte.screens import wcwidth

# What changes a colour, and whatever else a terminal obeys.
COLOUR = re.compile(rb"\x1b\[[\d;]*m")
ESCAPE = re.compile(rb"\x1b")
SET_BY_USERS = ("COLUMNS", "LINES", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM")


class Emulator(pyte.Screen):
    """A screen that notes each line that was wider than it."""

    def __init__(self, columns: int, lines: int) -> None:
        self.wrapped: list[str] = []
        super().__init__(columns, lines)

    def draw(self, data: str) -> None:
        for character in data:
            if self.cursor.x >= self.columns and wcwidth(character) > 0:
                self.wrapped.append(self.display[self.cursor.y])
            super().draw(character)


@dataclass
class Shown:
    """What stands on the terminal after a command ended."""

    columns: int
    status: int
    raw: bytes
    emulator: Emulator
    seconds: float

    @property
    def lines(self) -> list[str]:
        """Lines of the screen, without the empty ones at its end."""
        return self.text.split("\n")

    @property
    def text(self) -> str:
        """The screen."""
        return "\n".join(line.rstrip() for line in self.emulator.display).rstrip()

    def colours(self) -> list[str]:
        """What is not shown in the ordinary colour: number of the line, how, the text."""
        found = []
        for number, line in enumerate(self.lines, 1):
            before, text = "", ""
            for column in range(len(line) + 1):
                cell = self.emulator.buffer[number - 1][column]
                how = " ".join(["bold"] * cell.bold + [cell.fg] * (cell.fg != "default"))
                if how != before:
                    found += [f"{number}: {before} {text.strip()!r}"] if before and text.strip() else []
                    before, text = how, ""
                text += cell.data
        return found

    def frames(self) -> list[str]:
        """What stood in the line that is drawn over, one after another."""
        drawn = re.findall(rb"\r([^\r\n]*?)\x1b\[K", self.raw)
        return [frame.decode() for frame in drawn if frame]


def show(
    command: Sequence[object],
    columns: int,
    folder: Path,
    variables: Mapping[str, str] | None = None,
    interrupt_after: float | None = None,
    lines: int = 150,
    limit: float = 60,
) -> Shown:
    """Runs the command in a terminal with so many columns; `interrupt_after` so many seconds Ctrl-C is typed."""
    words = [str(word) for word in command]
    environment = {name: value for name, value in os.environ.items() if name not in SET_BY_USERS}
    environment |= {"TERM": "xterm-256color", **(variables or {})}
    begun = time.monotonic()
    process, terminal = pty.fork()
    if process == 0:
        try:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            os.chdir(folder)
            # Who runs the tests in the background ignores Ctrl-C, and so would what they start.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.execvpe(words[0], words, environment)
        finally:
            os._exit(127)
    emulator = Emulator(columns, lines)
    stream = pyte.ByteStream(emulator)
    raw = b""
    while True:
        ready = select.select([terminal], [], [], 0.1)[0]
        elapsed = time.monotonic() - begun
        if interrupt_after is not None and elapsed > interrupt_after:
            os.write(terminal, b"\x03")
            interrupt_after = None
        if elapsed > limit:
            os.kill(process, 9)
        try:
            read = os.read(terminal, 1 << 16) if ready else None
        except OSError:  # Linux: EIO when nobody has the other end open.
            break
        if read == b"":
            break
        raw += read or b""
        stream.feed(read or b"")
    os.close(terminal)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return Shown(columns, status, raw, emulator, time.monotonic() - begun)


def assert_fits(shown: Shown) -> None:
    """No line was wider than the terminal, no escape sequence is shown as text, and nothing is left in the last line."""
    assert not shown.emulator.wrapped, shown.emulator.wrapped
    assert "\\u{1b}" not in shown.text, shown.text
    cursor = shown.emulator.cursor
    assert cursor.x == 0 and cursor.y >= len(shown.lines), (cursor.x, cursor.y, shown.text)
