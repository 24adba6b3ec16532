"""Recorders that are killed, at any moment. Of the quiet one the application goes on, and what it did until its own end is recorded;
with the complete one it ends, and every call that returned to it is recorded."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from filesystems.measured import Lastrank

TRIALS = int(os.environ.get("LASTRANK_KILLED_RECORDERS", "5"))
"""So many of each kind in CI; 100 in a nightly run."""
SEED = int(os.environ.get("LASTRANK_SEED", "20261126"))

# A byte a call; it ends by itself when it has been told to.
APPLICATION = """
import os, time
log = os.open("log", os.O_WRONLY | os.O_CREAT)
while not os.path.exists("enough"):
    os.write(log, b".")
    time.sleep(0.0002)
"""


def until(condition, what: str):
    deadline = time.monotonic() + 60
    while not (found := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.002)
    return found


def written(folder: Path) -> int:
    log = folder / "log"
    return log.stat().st_size if log.exists() else 0


def start(lastrank: Lastrank, folder: Path, how: str = "--quiet") -> tuple[subprocess.Popen, dict[str, str]]:
    folder.mkdir()
    (folder / "spool").mkdir()
    environment = {**os.environ, "TMPDIR": str(folder / "spool")}
    application = ["--", "python3", "-I", "-S", "-c", APPLICATION]
    command = [lastrank.program, "record", *how.split(), "-o", "app.parquet", *application]
    recorder = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    until(lambda: written(folder), "the application writes")
    return recorder, environment


def application_of(recorder: subprocess.Popen) -> int:
    return int(Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read_text().split()[0])


def lives(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def recover(lastrank: Lastrank, folder: Path, environment: dict[str, str]) -> str:
    command = [lastrank.program, "recover", "spool"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def recorded(lastrank: Lastrank, folder: Path) -> int:
    """Bytes that the program made of the recording writes to the log; Python reads its own files."""
    command = [lastrank.program, "import", "spool/app.parquet", "-o", "app.ppl", "--only", "log", "-v"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    found = re.search(r"repeated exactly: \d+ calls? of (\d+) bytes", done.stderr)
    assert found, done.stderr
    return int(found[1])


def nothing_is_left(folder: Path) -> bool:
    return [path.name for path in (folder / "spool").iterdir()] == ["app.parquet"]


def test_what_an_application_did_behind_its_killed_recorder_is_recorded(lastrank: Lastrank, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    for trial in range(TRIALS):
        folder = tmp_path / str(trial)
        recorder, environment = start(lastrank, folder)
        time.sleep(chance.uniform(0, 0.1))
        application = application_of(recorder)
        recorder.kill()
        recorder.wait()
        before = written(folder)
        until(lambda: written(folder) > before, "the application goes on")
        assert "under way" in recover(lastrank, folder, environment)
        (folder / "enough").touch()
        until(lambda: not lives(application), "the application ends")
        assert "app.parquet" in recover(lastrank, folder, environment)
        assert recorded(lastrank, folder) == written(folder), f"trial {trial}"
        assert nothing_is_left(folder)


def test_where_both_are_killed_all_calls_that_returned_are_recorded(lastrank: Lastrank, tmp_path: Path) -> None:
    chance = random.Random(SEED + 1)
    for trial in range(TRIALS):
        folder = tmp_path / str(trial)
        recorder, environment = start(lastrank, folder)
        application = application_of(recorder)
        time.sleep(chance.uniform(0, 0.1))
        # The recorder first: it must not see the end of the application.
        recorder.kill()
        os.kill(application, signal.SIGKILL)
        recorder.wait()
        until(lambda: not lives(application), "the application ends")
        assert "app.parquet" in recover(lastrank, folder, environment)
        # A call that had its effect may not have returned.
        assert written(folder) - 1 <= recorded(lastrank, folder) <= written(folder), f"trial {trial}"
        assert nothing_is_left(folder)


def test_what_an_application_did_until_its_complete_recorder_was_killed_is_recorded(
    lastrank: Lastrank, tmp_path: Path
) -> None:
    chance = random.Random(SEED + 2)
    for trial in range(TRIALS):
        folder = tmp_path / str(trial)
        recorder, environment = start(lastrank, folder, "")
        time.sleep(chance.uniform(0, 0.1))
        application = application_of(recorder)
        assert "under way" in recover(lastrank, folder, environment)
        recorder.kill()
        recorder.wait()
        until(lambda: not lives(application), "the application ends with its recorder")
        assert "app.parquet" in recover(lastrank, folder, environment)
        # A call that had its effect may not have returned.
        assert written(folder) - 1 <= recorded(lastrank, folder) <= written(folder), f"trial {trial}"
        assert nothing_is_left(folder)


# Each kind of child that a shell may kill: before it runs a program, while that is loaded, while it waits and while it reads.
KILLS = """
i=0
while [ $i -lt 60 ]; do
    sleep 600 & p=$!
    j=0; while [ $j -lt $((i * 5)) ]; do j=$((j+1)); done
    kill -KILL $p
    i=$((i+1))
done
for pause in 0.003 0.01; do
    (read line) < pipe & sleep $pause; kill -KILL $!
done
wait
"""


def test_children_that_are_killed_leave_nothing_that_was_counted_and_not_seen(lastrank: Lastrank, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    # Somebody who writes to it, so that who reads waits.
    writer = os.open(tmp_path / "pipe", os.O_RDWR)
    command = [lastrank.program, "record", "-v", "-o", "a.parquet", "--", "sh", "-c", KILLS]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    os.close(writer)
    counts = re.search(r"(\d+) recorded, (\d+) counted by Linux", done.stderr)
    assert counts, done.stderr
    assert done.returncode == 0 and int(counts[1]) >= int(counts[2]), done.stderr


def test_a_later_recording_removes_nothing_and_a_second_recover_finds_nothing(lastrank: Lastrank, tmp_path: Path) -> None:
    folder = tmp_path / "one"
    recorder, environment = start(lastrank, folder)
    application = application_of(recorder)
    recorder.kill()
    recorder.wait()
    os.kill(application, signal.SIGKILL)
    until(lambda: not lives(application), "the application ends")
    long_ago = time.time() - 3600
    for left in (folder / "spool").glob("lastrank-record-*"):
        os.utime(left, (long_ago, long_ago))
    command = [lastrank.program, "record", "--quiet", "-o", "other.parquet", "--", "cat", "/dev/null"]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, timeout=120)
    assert "app.parquet" in recover(lastrank, folder, environment)
    assert "Nothing to recover" in recover(lastrank, folder, environment)


def test_a_folder_that_came_in_an_archive_takes_neither_files_nor_recordings_away(lastrank: Lastrank, tmp_path: Path) -> None:
    """It has the name of a real recording, files of the user, and a name for its file that others chose; beside it lie ones that
    cannot be read or are immense."""
    folder = tmp_path / "one"
    recorder, environment = start(lastrank, folder)
    application = application_of(recorder)
    recorder.kill()
    recorder.wait()
    os.kill(application, signal.SIGKILL)
    until(lambda: not lives(application), "the application ends")
    [real] = (folder / "spool").glob("lastrank-record-*")
    came = tmp_path / "came"
    brought = came / real.name
    shutil.copytree(real, brought)
    brought.chmod(0o700)
    manifest = json.loads((brought / "manifest.json").read_text()) | {"output": list(b"-x;\n\x1b[2J.parquet")}
    (brought / "manifest.json").write_text(json.dumps(manifest))
    (brought / "mine").mkdir()
    (brought / "mine/thesis").write_text("the user's")
    for name in ("lastrank-record-00000000", "lastrank-record-00000001", "lastrank-record-ffffffff"):
        inner = came / name / ("0" * 24)
        inner.mkdir(parents=True)
        (came / name / "manifest.json").write_text(json.dumps(manifest | {"complete": 1}))
        calls = inner / "calls"
        if name.endswith("1"):
            with calls.open("wb") as file:
                file.truncate(200 << 30)
        else:
            calls.symlink_to("/dev/null")
    command = [lastrank.program, "recover", "."]
    done = subprocess.run(command, cwd=came, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 3, done
    assert all(f"lastrank-record-{name} is left alone" in done.stderr for name in ("00000000", "ffffffff")), done.stderr
    assert f"{brought.name} stays" in done.stderr and (brought / "mine/thesis").read_text() == "the user's", done.stderr
    made = sorted(path.name for path in came.glob("*.parquet"))
    assert made == ["_-x;__[2J-2.parquet", "_-x;__[2J.parquet"], made
    assert "Next:  lastrank import '_-x;__[2J" in done.stdout, done.stdout
    # The real one is as it was.
    assert "app.parquet" in recover(lastrank, folder, environment)
    assert written(folder) - 1 <= recorded(lastrank, folder) <= written(folder)
    assert nothing_is_left(folder)


def test_with_v_and_without_quiet_it_is_said_before_that_a_kill_ends_the_application(lastrank: Lastrank, tmp_path: Path) -> None:
    command = [lastrank.program, "record", "-v", "-o", "a.parquet", "--", "sh", "-c", "echo application >&2"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    told, happened = done.stderr.find("SIGKILL of this recorder ends the application"), done.stderr.find("application\n")
    assert 0 <= told < happened, done.stderr
