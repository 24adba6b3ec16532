"""`Next:` is one command: what stands there is pasted into a shell, whatever the run file is called."""

import math
import os
import random
import subprocess
import time
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


def commands_of(found: Shown) -> list[str]:
    """What stands behind `Next:`, and behind each arrow that leads to a command."""
    arrows = [line.removeprefix("→ ") for line in found.lines if line.startswith("→ lastrank ")]
    return ([next_command(found)] if any(line.startswith("Next:") for line in found.lines) else []) + arrows


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


APPLICATION = """for i in 1 2 3; do
    echo text > part-$i
    cat part-$i > copy-$i
done
"""
CHANCE = random.Random(5)
JUMP = [shift - math.log(-math.log(CHANCE.random())) for shift, count in ((10, 381), (12.5, 219)) for _ in range(count)]
SCREENS = {
    "run": ("run parallel_write SIMULATED -o new.parquet", 1),
    "io": ("io randread --ops 1000 --size 4MiB --report none -o new.parquet", 1),
    "io-direct": ("io randread --direct --ops 200 --size 4MiB --report none -o new.parquet", 1),
    "meta": ("meta -n 100 --report none --output new.parquet", 1),
    "ior": ("ior -b 4m -t 1m --report none --output new.parquet", 1),
    "mem": ("mem --size 64KiB --report none -o new.parquet", 1),
    "report": ("report a.parquet -o page.html", 1),
    "record": ("record -o new.parquet -- sh app.sh", 1),
    "record-quiet": ("record --quiet -o new.parquet -- sh app.sh", 1),
    "import": ("import app.parquet --only . -o new.ppl", 1),
    "import-job": ("import job.fio -o job.ppl", 1),
    "fit-jump": ("fit jump.txt --unit ms", 2),
    "try": ("try --limit 5 -o new.parquet", 1),
    # They are answers, and nothing follows of them.
    "ls": ("ls .", 0),
    "ab": ("ab true true --time 2s", 0),
    "plan-runs": ("plan-runs a.parquet p99=5%", 0),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, program: Path) -> Path:
    """A folder with a run, a recording, an application, a job file and values that jump."""
    folder = tmp_path_factory.mktemp("next")
    (folder / "app.sh").write_text(APPLICATION)
    (folder / "job.fio").write_text("[reads]\nrw=randread\nsize=1m\nbs=4k\n")
    (folder / "jump.txt").write_text("".join(f"{value}\n" for value in JUMP))
    for words in (["run", "parallel_write", *SIMULATED, "-o", "a.parquet", "-s"], ["record", "-o", "app.parquet", "--", "sh", "app.sh"]):
        subprocess.run([program, *words], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("name", SCREENS)
def test_each_command_that_a_screen_leads_to_is_pasted_and_works(name: str, program: Path, folder: Path) -> None:
    """On an ordinary terminal; a run whose operations failed has status 3, what nobody understands 2."""
    words, count = SCREENS[name]
    split = [word for text in words.split() for word in (SIMULATED if text == "SIMULATED" else [text])]
    found = show([program, *split], 80, folder)
    assert found.status == 0, found.text
    commands = commands_of(found)
    assert len(commands) == count, found.text
    for command in commands:
        done = pasted(command, program, folder)
        assert done.returncode == 0 and "error:" not in done.stderr, (command, done)


@pytest.mark.parametrize("columns", (40, 80))
def test_what_was_recovered_is_reported_by_the_next_command(columns: int, program: Path, tmp_path: Path) -> None:
    """Whatever the run file was to be called; and a killed recorder's recording is imported."""
    (tmp_path / "p.ppl").write_text('repeat 200 { time["w"] stat("."); } create("begun"); sleep(60s);\n')
    name = "a name that is long enough to be broken twice on a narrow terminal.parquet"
    words = [program, "run", "p.ppl", "-s", "--report", "none", "-o", name]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.DEVNULL) as run:
        for _ in range(600):
            if (tmp_path / "begun").exists():
                break
            time.sleep(0.05)
        run.kill()
    for _ in range(600):
        # The ranks of the killed run see that it is gone.
        found = show([program, "recover"], columns, tmp_path)
        if found.text.startswith("Recovered 1 run that was killed:"):
            break
        time.sleep(0.05)
    assert found.status == 0 and "Use it like any run; it is marked incomplete." in " ".join(found.text.split()), found.text
    assert not found.emulator.wrapped, found.emulator.wrapped
    command = next_command(found)
    assert command.startswith("lastrank report"), found.text
    told = pasted(command, program, tmp_path)
    assert told.returncode == 3 and "incomplete" in told.stdout, (command, told)
