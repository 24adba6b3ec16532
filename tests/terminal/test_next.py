"""`Next:` is one command: what stands there is pasted into a shell, whatever the run file is called."""

import os
import subprocess
from pathlib import Path

import pytest

from .screen import Shown, assert_fits, show

SIMULATED = ["--backend", "simulate:gev(10ms,1ms,0.1)", "--report", "none"]
NAMES = {
    "plain": "a.parquet",
    "blanks": "my run of today.parquet",
    "odd": "it's\na \x1b[31m$HOME \u202e!.parquet",
    "dash": "-v.parquet",
    "long": "a-long-name-that-goes-on-" * 6 + ".parquet",
    "folders": "a folder/" + "with/many/folders/" * 5 + "run.parquet",
}


def next_command(found: Shown) -> str:
    """What stands behind `Next:`, as a reader selects it."""
    lines = found.lines
    at = next(at for at, line in enumerate(lines) if line.startswith("Next:"))
    command = [lines[at].removeprefix("Next:").strip()]
    while command[-1].endswith("\\"):
        at += 1
        command.append(lines[at])
    return "\n".join(command)


def pasted(command: str, program: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """The command in a shell that finds `lastrank`."""
    environment = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    return subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, capture_output=True, timeout=60)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("columns", (40, 60, 80))
def test_what_stands_behind_next_is_pasted_and_works(name: str, columns: int, program: Path, tmp_path: Path) -> None:
    """The shell reads the name of the run file, and `fit` finds it."""
    run = tmp_path / NAMES[name]
    run.parent.mkdir(parents=True, exist_ok=True)
    words = [program, "run", "parallel_write", *SIMULATED, "--set", "repeat=120", f"--output={NAMES[name]}"]
    found = show(words, columns, tmp_path)
    assert found.status == 0, found.text
    assert not found.emulator.wrapped, found.emulator.wrapped
    command = next_command(found)
    assert command.startswith("lastrank fit"), command
    done = pasted(command, program, tmp_path)
    assert done.returncode == 0 and "120 steps" in done.stdout, (command, done)


def test_an_operation_with_an_odd_label_is_pasted_too(program: Path, tmp_path: Path) -> None:
    """`--of` gets the label as it is."""
    (tmp_path / "p.ppl").write_text("""repeat 40 { time["it's -- a 'label' \\$HOME"] write("f", 4k); time["b"] write("f", 4k); read("f", 4k); }\n""")
    found = show([program, "run", "p.ppl", *SIMULATED, "-o", "r.parquet"], 60, tmp_path)
    assert_fits(found)
    done = pasted(next_command(found), program, tmp_path)
    assert done.returncode == 0, (found.text, done)


def test_what_failed_is_reported_and_not_done_again(program: Path, tmp_path: Path) -> None:
    """The command behind a failed run says all that failed, and leaves the run file as it is."""
    (tmp_path / "a program.ppl").write_text('repeat 40 { time["w"] stat("missing file"); }\n')
    words = [program, "run", "a program.ppl", "--note", "it's\nthe first", "--report", "none", "-o", "my run.parquet"]
    found = show(words, 80, tmp_path)
    assert found.status == 3, found.text
    written = (tmp_path / "my run.parquet").read_bytes()
    command = next_command(found)
    assert command == "lastrank report 'my run.parquet' -v", found.text
    told = pasted(command, program, tmp_path)
    assert told.returncode == 3 and "40 of 40 operations failed" in told.stdout, (found.text, told)
    assert 'stat("missing file") failed: ENOENT' in " ".join(told.stdout.split()), told.stdout
    assert (tmp_path / "my run.parquet").read_bytes() == written
