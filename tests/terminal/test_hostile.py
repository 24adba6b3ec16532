"""What users and files name cannot command the terminal: it is shown, on every screen, as what it is."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .screen import COLOUR, Shown, show

# Hides what follows, sets the title, clears the screen, turns the text around, ends the line, moves the cursor up.
EVIL = "x\x1b[8m\x1b]0;t\x07\x1b[2J\u202ey\r\nz\x9b1A"
# As a file may be called, and as a host.
FILE = EVIL.replace("/", "") + ".ppl"
HOST = "h\x1b[8m\x1b[2Jh"
# What our own screens write.
OURS = re.compile(rb"\x1b\[(0|1|2|3\d|1;3\d|9\d)?m|\r[^\r\n\x1b]*\x1b\[K")


def assert_harmless(found: Shown) -> None:
    """Nothing but our colours and the line that is drawn over reaches the terminal, and no line is too wide."""
    rest = OURS.sub(b"", found.raw)
    assert b"\x1b" not in rest and b"\x07" not in rest, rest
    text = rest.decode()
    assert not re.search("[\u202e\u0080-\u009f]", text), text
    assert not found.emulator.wrapped, found.emulator.wrapped


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, program: Path) -> Path:
    """A folder with a run whose program, labels, note and tags are hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    label = EVIL.replace("\n", "").replace("\r", "")
    (folder / FILE).write_text(f'repeat 60 {{ time["{label}"] write("f", 4k); }}\n', newline="")
    (folder / "mistake.ppl").write_text(f'write("{label}", 4k, oops);\n$a = unknown_{label}(1);\n', newline="")
    for name in ("a", "b"):
        words = ["--backend", "simulate:gev(10ms,1ms,0.1)", "--note", EVIL, "--tag", f"by={label}"]
        subprocess.run([program, "run", FILE, *words, "-o", f"{name}{EVIL}.parquet", "--report", "none", "-q"], cwd=folder, check=True)
    return folder


RUN = f"a{EVIL}.parquet"
CASES = {
    "run": ["run", FILE, "--backend", "simulate:gev(10ms,1ms,0.1)", "--report", "none", "-o", f"new{EVIL}.parquet"],
    "run-verbose": ["run", FILE, "--backend", "simulate:gev(10ms,1ms,0.1)", "--report", "none", "-o", "new.parquet", "-v"],
    "dry-run": ["run", FILE, "--dry-run"],
    "report": ["report", RUN, "-o", f"page{EVIL}.html"],
    "fit": ["fit", RUN],
    "fit-verbose": ["fit", RUN, "-v"],
    "compare": ["compare", RUN, f"b{EVIL}.parquet"],
    "compare-verbose": ["compare", RUN, f"b{EVIL}.parquet", "-v"],
    "ls": ["ls", "."],
    "watch": ["watch", RUN, f"b{EVIL}.parquet"],
    "scale": ["scale", RUN, "--to", "64"],
    "plan-runs": ["plan-runs", RUN, "p99=5%"],
    "explain": ["explain", FILE],
    "check": ["check", "mistake.ppl"],
    "missing-file": ["fit", f"no{EVIL}"],
    "missing-program": ["run", f"no{EVIL}"],
    "unknown-option": ["run", f"--{EVIL}"],
    "unknown-column": ["fit", RUN, "--label", EVIL],
    "ab": ["ab", f"no-such-command-{EVIL}", "true"],
    "ab-fails": ["ab", "sh -c 'printf \"\\033[8mred\\033[2J\" >&2; exit 1'", "true"],
    "set": ["run", FILE, "--set", f"{EVIL}={EVIL}"],
    "recover": ["recover", f"no{EVIL}"],
}


@pytest.mark.parametrize("name", CASES)
def test_names_are_shown_harmlessly(name: str, program: Path, folder: Path) -> None:
    """On a coloured terminal, of 80 columns and of 60."""
    for columns in (60, 80):
        found = show([program, *CASES[name]], columns, folder)
        assert_harmless(found)
        assert "\\u{" in found.text or "␛" in found.text, found.text


def test_the_bar_shows_a_name_harmlessly(program: Path, tmp_path: Path) -> None:
    """The line that is drawn over a run has the program's name in it."""
    (tmp_path / FILE).write_text('repeat 60 { time["w"] write("f", 4k); sleep(10ms); }\n')
    found = show([program, "run", FILE, "-o", "new.parquet", "--report", "none"], 120, tmp_path)
    assert_harmless(found)
    assert any("x\\u{1b}[8m" in frame for frame in found.frames()), found.frames()


# Names the host of a namespace of its own, then becomes the program.
NAMED = "import os, socket, sys; socket.sethostname(sys.argv[1]); os.execv(sys.argv[2], sys.argv[2:])"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a host a name")
def test_a_host_is_shown_harmlessly(program: Path, tmp_path: Path) -> None:
    """The name of a host comes from the system, and with a run file from anywhere."""
    (tmp_path / "p.ppl").write_text('repeat 60 { time["w"] write("f", 4k); }\n')
    words = [program, "run", "p.ppl", "-o", "new.parquet", "--report", "none", "-q"]
    subprocess.run(["unshare", "-u", sys.executable, "-c", NAMED, HOST, *words], cwd=tmp_path, check=True)
    for command in ("ls .", "report new.parquet -o page.html", "report new.parquet -o page.html -v"):
        found = show([program, *command.split()], 80, tmp_path)
        assert_harmless(found)
        if command == "ls .":
            assert "h\\u{1b}[8m" in found.text, found.text
            assert not COLOUR.search(found.raw)
