"""What ranks print under `mpirun`: Open MPI gives them a terminal that nobody looks at, MPICH a pipe."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from .screen import COLOUR, ESCAPE, assert_fits, show

PROGRAM = """repeat 30 { barrier; time["w"] write("f-$$rank", 4k); barrier; }
delete("f-$$rank");
"""
LAUNCHERS = {
    "openmpi": ["--allow-run-as-root", "--oversubscribe"] if os.geteuid() == 0 else ["--oversubscribe"],
    "mpich": [],
}


def launched(name: str, program: Path, folder: Path) -> list[str]:
    """The command line; skips the test where the launcher is not installed."""
    mpirun = shutil.which(f"mpirun.{name}")
    if mpirun is None:
        pytest.skip(f"mpirun.{name} is not installed")
    (folder / "p.ppl").write_text(PROGRAM)
    return [mpirun, *LAUNCHERS[name], "-n", "2", str(program), "run", "p.ppl", "--report", "none"]


@pytest.mark.parametrize("name", LAUNCHERS)
def test_a_piped_mpirun_holds_no_escape_sequence(name: str, program: Path, tmp_path: Path) -> None:
    """Neither from the screen nor from the bar; CLICOLOR_FORCE asks for colours."""
    command = launched(name, program, tmp_path)
    piped = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, timeout=60)
    assert b"2 ranks" in piped.stdout, piped
    assert not ESCAPE.search(piped.stdout + piped.stderr), piped
    assert all(len(line) <= 80 for line in piped.stdout.decode().splitlines()), piped.stdout
    forced = {**os.environ, "CLICOLOR_FORCE": "1"}
    piped = subprocess.run(command, cwd=tmp_path, env=forced, capture_output=True, check=True, timeout=60)
    assert b"\x1b[1mp: " in piped.stdout, piped


@pytest.mark.parametrize("name", LAUNCHERS)
def test_a_mpirun_on_a_terminal(name: str, program: Path, tmp_path: Path) -> None:
    """The terminal is that of mpirun: its width and colours count, and no line is drawn over through the launcher."""
    command = launched(name, program, tmp_path)
    for columns, variables in ((60, {}), (80, {"NO_COLOR": "1"}), (120, {})):
        found = show(command, columns, tmp_path, variables)
        assert found.status == 0, found.text
        assert_fits(found)
        title = next(line for line in found.lines if ": 2 ranks" in line)
        assert len(title) == columns, title
        assert bool(COLOUR.search(found.raw)) == (not variables), found.raw
        assert not ESCAPE.search(COLOUR.sub(b"", found.raw)), found.raw
