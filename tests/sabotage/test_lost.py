"""A run whose supervisor dies, at any moment, of any signal: no sample of an operation that returned is lost."""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from filesystems.directories import small_tmpfs
from filesystems.measured import Lastrank

TRIALS = int(os.environ.get("LASTRANK_STORMS", "60"))
"""So many in CI; 1000 in a nightly run."""
SEED = int(os.environ.get("LASTRANK_SEED", "20261122"))

PROGRAM = """
define ranks 2;
create("log-$$rank");
repeat 1000000 append("log-$$rank", 1);
"""


def start(lastrank: Lastrank, folder: Path, *options: str) -> subprocess.Popen:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a.ppl").write_text(PROGRAM)
    command = [lastrank.program, "run", "a.ppl", "-s", "-o", "a.parquet", "--report", "none", *options]
    # Who starts the tests in the background may have had these ignored.
    def as_in_a_terminal() -> None:
        for one in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            signal.signal(one, signal.SIG_DFL)

    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=as_in_a_terminal
    )


def appended(folder: Path) -> list[int]:
    """How often each rank's call of append has had an effect: it returned, but for the last one perhaps."""
    return [path.stat().st_size if (path := folder / f"log-{rank}").exists() else 0 for rank in range(2)]


def until(condition, what: str, seconds: float = 60):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.002)
    return found


def children(process: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def samples_of(file: Path) -> list[int]:
    import pandas

    table = pandas.read_parquet(file)
    return [int(((table.operation == "append") & (table["rank"] == rank)).sum()) for rank in range(2)]


def test_a_supervisor_killed_at_any_moment_loses_no_sample(lastrank: Lastrank) -> None:
    chance = random.Random(SEED)
    recovered = 0
    for trial in range(TRIALS):
        folder = lastrank.folder / f"trial-{trial}"
        deadly = chance.choice([signal.SIGKILL, signal.SIGABRT, signal.SIGQUIT])
        pause = chance.uniform(0, 0.03)
        with start(lastrank, folder) as run:
            ranks = until(lambda run=run: len(found := children(run.pid)) == 2 and found, "no ranks")
            until(lambda folder=folder: all(appended(folder)), "nothing was appended")
            time.sleep(pause)
            run.send_signal(deadly)
            run.wait(60)
        until(lambda ranks=ranks: not any(map(is_alive, ranks)), "ranks outlive their supervisor")
        did = appended(folder)
        done = subprocess.run([lastrank.program, "recover", "."], cwd=folder, capture_output=True, text=True, check=False)
        # What other sessions left may be strange.
        assert done.returncode == 0 or "is left alone" in done.stderr, (trial, done.stdout, done.stderr)
        kept = samples_of(folder / "a.parquet")
        # The last append may have had its effect without having returned.
        assert all(many - 1 <= samples <= many for many, samples in zip(did, kept, strict=True)), (trial, did, kept)
        assert not list(folder.glob("log-*")), "recover removes what the run had made"
        recovered += sum(kept)
    print(f"{TRIALS} killed supervisors, {recovered} samples recovered, none lost")


@pytest.mark.parametrize("asked", [signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_of_a_batch_system_ends_the_run_in_order(lastrank: Lastrank, asked: signal.Signals) -> None:
    folder = lastrank.folder / "asked"
    with start(lastrank, folder) as run:
        until(lambda: all(appended(folder)), "nothing was appended")
        run.send_signal(asked)
        said = run.communicate(timeout=60)[1]
    assert run.returncode == 3, said
    assert all(samples_of(folder / "a.parquet")), said
    left = subprocess.run([lastrank.program, "recover", "."], cwd=folder, capture_output=True, text=True, check=False)
    assert "Nothing to recover" in left.stdout, left


def test_a_run_that_waits_for_its_signal_does_not_end_by_a_second_one(lastrank: Lastrank) -> None:
    folder = lastrank.folder / "waits"
    folder.mkdir()
    (folder / "a.ppl").write_text('create("begun"); sleep(300ms); write("f", 10);')
    command = [lastrank.program, "run", "a.ppl", "--wait", "-s", "-o", "a.parquet", "--report", "none"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as run:
        assert "ready" in run.stderr.readline()
        run.send_signal(signal.SIGUSR1)
        until((folder / "begun").exists, "it did not begin")
        run.send_signal(signal.SIGUSR1)
        said = run.communicate(timeout=60)[1]
    assert run.returncode == 0, said


def test_two_runs_do_not_write_one_file(lastrank: Lastrank) -> None:
    folder = lastrank.folder / "two"
    with start(lastrank, folder) as first:
        until(lambda: all(appended(folder)), "nothing was appended")
        with start(lastrank, folder) as second:
            said = second.communicate(timeout=60)[1]
        assert (second.returncode, "another run" in said) == (2, True), said
        first.send_signal(signal.SIGINT)
        first.wait(60)
    assert sum(samples_of(folder / "a.parquet")) > 0


def test_a_folder_that_is_gone_sends_the_samples_elsewhere(lastrank: Lastrank) -> None:
    folder, other = lastrank.folder / "work", lastrank.folder / "other"
    for place in (folder, folder / "out", other):
        place.mkdir()
    (folder / "a.ppl").write_text('create("begun"); sleep(200ms); repeat 10 stat(".");')
    command = [lastrank.program, "run", "a.ppl", "-s", "-o", "out/a.parquet", "--report", "none"]
    environment = os.environ | {"TMPDIR": str(other)}
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True) as run:
        until((folder / "begun").exists, "it did not begin")
        (folder / "out").rename(folder / "gone")
        said = run.communicate(timeout=60)[1]
    found = list(other.glob("a-*.parquet"))
    assert (run.returncode, len(found)) == (3, 1), said
    assert str(found[0]) in said and "out/a.parquet" in said, said


def killed(lastrank: Lastrank, folder: Path, before: list[str], *options: str) -> None:
    """A run of which every process is killed; `before` is put before its command."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a.ppl").write_text(PROGRAM)
    command = [*before, lastrank.program, "run", "a.ppl", "-s", "--report", "none", *options]
    with subprocess.Popen(list(map(str, command)), cwd=folder, stderr=subprocess.DEVNULL) as run:
        ranks = until(lambda: len(found := children(run.pid)) == 2 and found, "no ranks")
        until(lambda: all(appended(folder)), "nothing was appended")
        run.kill()
        run.wait(60)
    until(lambda: not any(map(is_alive, ranks)), "ranks outlive their supervisor")


def test_a_recover_in_another_folder_takes_nothing_away(lastrank: Lastrank) -> None:
    """While others look for their own runs, a run that was left is found."""
    folder, other = lastrank.folder / "mine", lastrank.folder / "other"
    other.mkdir()
    looks = 'while [ ! -e enough ]; do "$0" recover . >/dev/null 2>&1; done'
    with subprocess.Popen(["sh", "-c", looks, lastrank.program], cwd=other) as looking:
        for trial in range(10):
            killed(lastrank, folder / str(trial), [], "-o", "a.parquet")
            command = [lastrank.program, "recover", "."]
            done = subprocess.run(command, cwd=folder / str(trial), capture_output=True, text=True, check=False)
            assert (folder / str(trial) / "a.parquet").exists(), done
        (other / "enough").touch()
        looking.wait(60)


def take_what_was_left(folder: Path, to: Path) -> None:
    """Moves what a killed run in `folder` left in shared memory."""
    for left in Path("/dev/shm").glob(f"lastrank-live-{os.geteuid()}-*"):
        with contextlib.suppress(OSError):  # other tests' runs come and go
            if json.loads((left / "manifest.json").read_text())["working_directory"] == str(folder.resolve()):
                # Regions are gigabytes long and nearly empty.
                subprocess.run(["cp", "-a", "--sparse=always", left, to], check=True)
                shutil.rmtree(left)
                to.chmod(0o700)
    assert to.is_dir(), "it left nothing"


def test_recover_removes_nothing_on_the_word_of_a_folder_that_came_with_other_files(lastrank: Lastrank) -> None:
    """What a killed run left in shared memory, as an archive would bring it: its list of files may name anything."""
    folder = lastrank.folder / "brought"
    killed(lastrank, folder, [], "-o", "a.parquet")
    take_what_was_left(folder, folder / ".a.lastrank-live-1")
    done = subprocess.run([lastrank.program, "recover", "."], cwd=folder, capture_output=True, text=True, check=False)
    assert sum(samples_of(folder / "a.parquet")) > 0, done
    assert (folder / "log-0").exists() and "log-0 could not be removed" in done.stderr, done


def test_a_folder_beside_the_run_file_is_known_by_its_witness(lastrank: Lastrank, place: Path) -> None:
    """Shared memory is too small for the samples: they lie beside the run file, and the files are removed all the same."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    folder = lastrank.folder / "witnessed"
    mount = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs -o size=256k none /dev/shm && echo ready && exec cat"]
    with (
        small_tmpfs(place, 1 << 36) as disk,
        subprocess.Popen(mount, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as holder,
    ):
        if holder.stdout.readline() != b"ready\n":
            pytest.skip(f"this machine forbids mounts ({holder.stderr.read().decode().strip()})")
        inside = ["nsenter", "--mount", f"--target={holder.pid}", "env", "-u", "XDG_RUNTIME_DIR", f"--chdir={folder}"]
        killed(lastrank, folder, inside, "-o", str(disk.path / "a.parquet"))
        assert list(disk.path.glob(".a.lastrank-live-*"))
        command = [*inside, lastrank.program, "recover", disk.path]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        assert sum(samples_of(disk.path / "a.parquet")) > 0, done
        assert not (folder / "log-0").exists() and not list(disk.path.glob(".a.lastrank*")), done
        there = subprocess.run([*inside, "ls", "/dev/shm"], capture_output=True, text=True, check=True).stdout
        assert not there, there
        holder.stdin.close()
