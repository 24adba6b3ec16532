"""What `-h` and `--help` print is in plain words, and no line is wider than the terminal."""

import re
from pathlib import Path

import pytest
import test_words
from .screen import show


@pytest.mark.parametrize(("word", "columns"), [("-h", 60), ("--help", 80)])
def test_help_is_in_plain_words_and_fits(word: str, columns: int, program: Path, tmp_path: Path) -> None:
    top = show([program, word], columns, tmp_path, lines=600)
    rows = re.findall(r"^  ([a-z][a-z0-9-]+(?:, [a-z0-9-]+)*) ", top.text, re.MULTILINE)
    commands = [name for row in rows for name in row.split(", ") if name not in ("help", "lastrank")]
    assert {"run", "io", "fit", "compare", "watch", "try", "record"} <= set(commands), top.text
    for command in [None, *commands]:
        words = [program, *([command] if command else []), word]
        shown = show(words, columns, tmp_path, lines=600)
        assert shown.status == 0 and len(shown.lines) > 5, (command, shown.text)
        assert not shown.emulator.wrapped, (command, shown.emulator.wrapped)
        # Without line breaks, over which a turn may go.
        found = list(test_words.turns(1, " ".join(shown.text.split())))
        assert found == [], (command, found)
