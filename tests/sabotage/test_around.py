"""What lastrank itself makes, replaces and removes around a run, where others may write: other users, other jobs, the user."""

import ctypes
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from filesystems.measured import Lastrank
from mpi.launchers import launcher

from .attacks import fingerprint, what_changed

LAUNCHERS = ["debian-mpich", "debian-openmpi"]
CREATED, OPENED = 0x100, 0x20
"""Events of inotify."""
EXCHANGE = 2
LIBC = ctypes.CDLL(None, use_errno=True)


def says(lastrank: Lastrank, *words: str, seconds: int = 60, **keywords) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(lastrank.program), *words], cwd=lastrank.folder, capture_output=True, text=True, errors="replace",
        timeout=seconds, check=False, **keywords,
    )  # fmt: skip


def in_job(lastrank: Lastrank, name: str, *words: str) -> tuple[list[str], dict]:
    command, environment = launcher(name).command(2, [lastrank.program, "run"], ("-s", "--report", "none", *words))
    return command, {"cwd": lastrank.folder, "env": environment}


def job(lastrank: Lastrank, name: str, *words: str) -> subprocess.CompletedProcess:
    command, keywords = in_job(lastrank, name, *words)
    return subprocess.run(command, **keywords, capture_output=True, text=True, errors="replace", timeout=120, check=False)


@pytest.fixture
def with_parts(lastrank: Lastrank) -> Lastrank:
    """With a program that works, one that fails, parts of an earlier run, and what Spark wrote."""
    (lastrank.folder / "fine.ppl").write_text('stat(".");')
    (lastrank.folder / "bad.ppl").write_text('on_error stop; barrier; if $$rank == 1 { stat("/nowhere"); } barrier;')
    home = lastrank.folder / "home"
    (home / "spark.parts").mkdir(parents=True)
    for part in range(3):
        (home / f"spark.parts/part-0000{part}-abc.snappy.parquet").write_text(f"PAR1 {part} PAR1")
        (home / f"spark.parts/part-0000{part}.parquet").write_text(f"PAR1 {part} PAR1")
    return lastrank


@pytest.mark.parametrize("name", LAUNCHERS)
def test_parts_go_only_where_all_is_of_runs_and_no_link_leads(with_parts: Lastrank, name: str) -> None:
    folder = with_parts.folder
    assert job(with_parts, name, "bad.ppl", "-o", "home/results.parquet").returncode != 0
    assert list((folder / "home/results.parts").iterdir())
    had = fingerprint(folder / "home")
    for number, aim in enumerate(["home/results.parts", "home/spark.parts", "home/nothing"]):
        (folder / f"r{number}.parts").symlink_to(aim)
        for program in ("fine.ppl", "bad.ppl"):
            done = job(with_parts, name, program, "-o", f"r{number}.parquet")
            assert done.returncode != 0 and done.stderr.count("another file with `-o FILE`") == 1, done.stderr
            assert not (folder / f"r{number}.parquet").exists()
    for program in ("fine.ppl", "bad.ppl"):
        done = job(with_parts, name, program, "-o", "home/spark.parquet")
        assert done.returncode != 0 and done.stderr.count("another file with `-o FILE`") == 1, done.stderr
    assert not what_changed(had, fingerprint(folder / "home")), name
    # Those of an earlier run are replaced as before.
    done = job(with_parts, name, "fine.ppl", "-o", "home/results.parquet")
    assert done.returncode == 0 and not (folder / "home/results.parts").exists(), done.stderr


@pytest.mark.parametrize("name", LAUNCHERS)
def test_of_two_jobs_of_one_name_the_second_is_refused_and_a_requeued_one_is_not(lastrank: Lastrank, name: str) -> None:
    (lastrank.folder / "slow.ppl").write_text('repeat 1200 { sleep(10ms); stat("."); }')
    (lastrank.folder / "fast.ppl").write_text('stat(".");')
    command, keywords = in_job(lastrank, name, "slow.ppl", "-o", "r.parquet")
    claim = lastrank.folder / ".r.parquet.running"

    def begun() -> subprocess.Popen:
        first = subprocess.Popen(command, **keywords, stderr=subprocess.PIPE, text=True, start_new_session=True)
        for _ in range(600):
            if claim.exists():
                return first
            time.sleep(0.05)
        first.kill()
        raise AssertionError(first.communicate()[1])

    first = begun()
    second = job(lastrank, name, "fast.ppl", "-o", "r.parquet")
    assert second.returncode != 0, second.stderr
    assert second.stderr.count("another run that is under way writes to r.parquet") == 1, second.stderr
    alone = says(lastrank, "run", "fast.ppl", "-q", "-o", "r.parquet", "--report", "none")
    assert alone.returncode == 2 and "another run that is under way" in alone.stderr, alone.stderr
    assert not (lastrank.folder / "r.parquet").exists()
    assert first.communicate(timeout=120) is not None and first.returncode == 0
    assert (lastrank.folder / "r.parquet").exists() and not claim.exists()
    # As a batch system does that puts a job back in the queue: all its processes are killed, and it starts again.
    killed = begun()
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    for _ in range(600):
        again = job(lastrank, name, "fast.ppl", "-o", "r.parquet")
        if again.returncode == 0:
            return
        # Keepers have sessions of their own, and end when their launcher has.
        assert "another run that is under way" in again.stderr, again.stderr
        time.sleep(0.1)
    raise AssertionError(again.stderr)


@pytest.fixture
def shared(lastrank: Lastrank) -> Iterator[Lastrank]:
    """In a directory where everybody may write, with a home of the user beside it."""
    folder = Path(tempfile.mkdtemp(prefix="lastrank-shared-"))
    folder.chmod(0o777)
    (folder / "project/src").mkdir(parents=True)
    (folder / "project/src/main.c").write_text("the user's")
    (folder / "project/thesis.txt").write_text("the user's")
    (folder / "project").chmod(0o700)
    yield Lastrank(lastrank.program, folder)
    shutil.rmtree(folder, ignore_errors=True)


class Intruder(threading.Thread):
    """Another user, who waits for an event in a directory and then acts, once."""

    def __init__(self, place: Path, event: int, acts: Callable[[str], bool]) -> None:
        super().__init__(daemon=True)
        self.acts, self.acted, self.over = acts, False, False
        self.watch = LIBC.inotify_init1(0)
        assert LIBC.inotify_add_watch(self.watch, bytes(place), event) >= 0

    def run(self) -> None:
        while not (self.acted or self.over):
            if not select.select([self.watch], [], [], 0.05)[0]:
                continue
            found = os.read(self.watch, 65536)
            while found:
                length = int.from_bytes(found[12:16], "little")
                name, found = found[16 : 16 + length].rstrip(b"\0").decode(), found[16 + length :]
                self.acted = self.acted or self.acts(name)

    def __enter__(self) -> "Intruder":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over = True
        self.join()
        os.close(self.watch)


def exchanged(one: Path, other: Path) -> bool:
    """Whether two names were exchanged, in one step."""
    return LIBC.renameat2(-100, bytes(one), -100, bytes(other), EXCHANGE) == 0


def test_a_room_is_the_folder_that_was_made_whatever_comes_in_its_place(shared: Lastrank) -> None:
    folder = shared.folder
    (folder / "t.ppl").write_text('$l = glob("*"); print($l); write("from-program", 10); print(stat("thesis.txt"));')
    had = fingerprint(folder / "project")
    for number, kind in enumerate(["link", "folder"]):
        aim = folder / "project"
        if kind == "link":
            aim = folder / "link"
            aim.symlink_to("project")
        with Intruder(folder, CREATED, lambda name, aim=aim: "-room" in name and exchanged(folder / name, aim)) as intruder:
            done = says(shared, "run", "t.ppl", "--room", "-s", "-o", f"r{number}.parquet", "--report", "none")
        if "--room cannot be kept here" in done.stderr:
            pytest.skip("this kernel cannot keep a room")
        assert intruder.acted, "nobody came in between"
        # Whichever of the names is now that of the user's folder.
        user = next(found.parent for found in folder.glob("*/thesis.txt") if not found.parent.is_symlink())
        assert not what_changed(had, fingerprint(user)), (kind, done.stdout, done.stderr)
        assert "main.c" not in done.stdout and "src" not in done.stdout, done.stdout
        if user.name != "project":
            assert exchanged(user, folder / "project")


STRACE = """100 1700000000.000001 execve("/app", ["/app"], 0x0 /* 1 vars */) = 0 <0.000010>
100 1700000000.000500 getcwd("/w", 4096) = 3 <0.000010>
100 1700000000.001001 openat(AT_FDCWD, "/w/.bashrc", O_WRONLY|O_CREAT|O_TRUNC, 0644) = 3 <0.000010>
100 1700000000.001101 write(3, "aaaa"..., 4096) = 4096 <0.000010>
100 1700000000.001201 close(3) = 0 <0.000010>
100 1700000000.001301 unlink("/w/thesis.txt") = 0 <0.000010>
"""


@pytest.mark.parametrize("opened", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("owner", ["the user's", "another user's"])
def test_a_replay_is_allowed_no_more_than_the_folder_that_it_looked_at(shared: Lastrank, owner: str, opened: int) -> None:
    folder = shared.folder
    (folder / "app.strace").write_text(STRACE)
    (folder / "project/.bashrc").write_text("the user's")
    (folder / "imported").mkdir(mode=0o755)
    if owner != "the user's":
        if os.geteuid() != 0:
            pytest.skip("only root can give a folder to another user")
        os.chown(folder / "imported", 1234, 1234)
    (folder / "link").symlink_to(folder / "project")
    had, count = fingerprint(folder / "project"), [0]

    def acts(_name: str) -> bool:
        count[0] += 1
        if count[0] < opened:
            return False
        (folder / "imported").rename(folder / "aside")
        (folder / "link").rename(folder / "imported")
        return True

    with Intruder(folder / "imported", OPENED, acts):
        done = says(shared, "replay", "app.strace")
    assert not what_changed(had, fingerprint(folder / "project")), (done.stdout, done.stderr)
    assert "panicked" not in done.stderr


def test_a_folder_that_everybody_may_write_to_is_not_all_the_replay_s(shared: Lastrank) -> None:
    (shared.folder / "app.strace").write_text(STRACE)
    (shared.folder / "imported").mkdir()
    (shared.folder / "imported").chmod(0o777)
    done = says(shared, "replay", "app.strace")
    assert done.returncode == 2 and ".bashrc" in done.stderr, done.stderr
    (shared.folder / "imported").chmod(0o755)
    # Others can put another folder in its place.
    done = says(shared, "replay", "app.strace")
    assert done.returncode == 2 and ".bashrc" in done.stderr and f"chmod go-w {shared.folder}" in done.stderr, done.stderr
    shared.folder.chmod(0o1777)
    assert says(shared, "replay", "app.strace").returncode in (0, 3)


BROWSER = """#!/bin/bash
for word in "$@"; do case $word in --print-to-pdf=*) made=${word#--print-to-pdf=};; esac; done
stat -c %a "$(dirname "$made")" > mode
sleep 0.5
echo pdf > "$made"
"""


def test_the_folder_of_a_printed_page_is_removed_and_nothing_that_came_in_its_place(shared: Lastrank) -> None:
    folder = shared.folder
    (folder / "n.txt").write_text("".join(f"{1 + (number * 37 % 101) / 100}\n" for number in range(300)))
    (folder / "bin").mkdir()
    (folder / "bin/chromium").write_text(BROWSER)
    (folder / "bin/chromium").chmod(0o755)
    path = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}
    done = says(shared, "fit", "n.txt", "--page", "-o", "out.pdf", env=path)
    assert done.returncode == 0 and (folder / "out.pdf").read_text() == "pdf\n", done.stderr
    assert (folder / "mode").read_text() == "700\n", "others may look into it"
    assert not [name for name in os.listdir(folder) if name.startswith(".lastrank")]
    had = fingerprint(folder / "project")

    def acts(name: str) -> bool:
        if not name.startswith(".lastrank-fit-"):
            return False
        (folder / name).rename(folder / "aside")
        (folder / "project").rename(folder / name)
        return True

    with Intruder(folder, CREATED, acts) as intruder:
        says(shared, "fit", "n.txt", "--page", "-o", "other.pdf", env=path)
    assert intruder.acted
    came = next(folder.glob("*/thesis.txt")).parent
    (came / "printed").unlink(missing_ok=True)
    changed = what_changed(had, fingerprint(came))
    assert not changed, changed


def test_the_folder_of_ab_is_removed_and_nothing_that_came_in_its_place(shared: Lastrank) -> None:
    folder = shared.folder
    for name in "ab":
        (folder / f"{name}.ppl").write_text('repeat 30 stat(".");')
    had = fingerprint(folder / "project")

    def acts(name: str) -> bool:
        if not name.startswith("lastrank-ab-"):
            return False
        (folder / name).rename(folder / "aside")
        (folder / "project").rename(folder / name)
        return True

    with Intruder(folder, CREATED, acts) as intruder:
        says(shared, "ab", "a.ppl", "b.ppl", "--time", "2s", env={**os.environ, "TMPDIR": str(folder)})
    assert intruder.acted
    came = next(folder.glob("*/thesis.txt")).parent
    for run in came.glob("*.parquet"):
        run.unlink()
    changed = what_changed(had, fingerprint(came))
    assert not changed, changed


def test_ab_keeps_runs_only_where_nothing_is(lastrank: Lastrank) -> None:
    folder = lastrank.folder
    for name in "ab":
        (folder / f"{name}.ppl").write_text('repeat 30 stat(".");')
    (folder / "thesis.txt").write_text("the user's")
    (folder / "runs").mkdir()
    for name, aim in (("warm-up-a.parquet", None), ("01-1-b.parquet", "../thesis.txt")):
        path = folder / "runs" / name
        path.write_text("the user's") if aim is None else path.symlink_to(aim)
        had = fingerprint(folder / "runs")
        done = says(lastrank, "ab", "a.ppl", "b.ppl", "--time", "1s", "--keep", "runs")
        assert done.returncode == 2 and "is not empty: give `--keep` a new folder" in done.stderr, done.stderr
        assert not what_changed(had, fingerprint(folder / "runs"))
        path.unlink()
    done = says(lastrank, "ab", "a.ppl", "b.ppl", "--time", "1s", "--keep", "runs")
    assert (folder / "runs/warm-up-a.parquet").exists() and done.returncode in (0, 1, 3), done.stderr


def test_no_pipe_makes_it_wait_and_no_device_makes_it_read_for_ever(lastrank: Lastrank) -> None:
    folder = lastrank.folder
    (folder / "p.ppl").write_text('stat(".");')
    (folder / "quiet.txt").write_text("".join(f"{1 + (number * 37 % 101) / 100}\n" for number in range(300)))
    (folder / "recorder").mkdir()
    for name in ("rows.csv", "rows.jsonl", "state.json", "tr.101", "recorder/1.txt"):
        os.mkfifo(folder / name)
    (folder / "linked.csv").symlink_to("rows.csv")
    (folder / "tr.100").write_text(STRACE)
    (folder / "recorder/0.txt").write_text("0.0 0.1 open ( a 0 )\n")
    with (folder / "large.json").open("wb") as large:
        large.truncate(50 << 30)
    watch = ("watch", "quiet.txt", "quiet.txt", "--state")
    run = ("run", "p.ppl", "-q", "-o", "r.parquet", "--report", "none", "--append")
    ways = [
        ((*run, "rows.csv"), "name one with `--append FILE`"),
        ((*run, "rows.jsonl"), "name one with `--append FILE`"),
        ((*run, "linked.csv"), "with `--append FILE`"),
        ((*watch, "state.json"), "name one with `--state FILE`"),
        ((*watch, "/dev/zero"), "name one with `--state FILE`"),
        ((*watch, "large.json"), "remove it to start again"),
        (("import", "tr"), "move it away"),
        (("import", "recorder"), "move it away"),
    ]
    for words, way_out in ways:
        done = says(lastrank, *words, seconds=30)
        assert done.returncode in (2, 3) and way_out in done.stderr, (words, done.returncode, done.stderr)


def test_an_echo_is_shut_out_by_no_idle_connections_for_long(lastrank: Lastrank) -> None:
    echo = subprocess.Popen(
        [lastrank.program, "echo", "127.0.0.1:0", "--time", "2min"], stderr=subprocess.PIPE, text=True, cwd=lastrank.folder
    )
    try:
        host, port = echo.stderr.readline().split("echo at ")[1].split(",")[0].split(":")
        idle = [socket.create_connection((host, int(port))) for _ in range(256)]
        for _ in range(300):
            one = socket.create_connection((host, int(port)))
            one.settimeout(20)
            try:
                one.sendall(b"hello")
                if one.recv(5) == b"hello":
                    break
            except OSError:
                pass
            one.close()
            time.sleep(0.2)
        else:
            raise AssertionError("shut out")
        idle.clear()
    finally:
        echo.kill()
        echo.wait()
