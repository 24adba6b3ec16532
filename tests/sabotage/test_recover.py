"""What `recover` removes: what the killed run made, whatever it was doing, and what lastrank itself left; nothing of the user."""

import os
import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from filesystems.measured import Lastrank

from .test_lost import SEED, children, is_alive, until

TRIALS = int(os.environ.get("LASTRANK_STORMS", "60")) // 6
PROGRAM = """
create("begun-$$rank");
repeat 100000 {
  mkdir("d-$$rank"); write("d-$$rank/f", 10); create("c-$$rank"); rename("c-$$rank", "e-$$rank"); symlink("f", "d-$$rank/l");
  link("d-$$rank/f", "h-$$rank"); $f = fopen("x-$$rank", "O_WRONLY|O_CREAT|O_EXCL"); fwrite($f, 5); fclose($f);
  append("a-$$rank", 1); create_delete(".", 5); fopen_fclose(".", 5); utimes("e-$$rank");
  delete("x-$$rank"); delete("h-$$rank"); delete("e-$$rank"); delete("d-$$rank/l"); delete("d-$$rank/f"); rmdir("d-$$rank");
}
"""
NAMES = [f"{name}-{rank}" for rank in range(2) for name in ("a", "begun", "c", "e", "h", "x")]


def kill_at_a_random_moment(lastrank: Lastrank, folder: Path, chance: random.Random) -> None:
    (folder / "p.ppl").write_text(PROGRAM)
    command = [lastrank.program, "run", "p.ppl", "-n", "2", "-s", "-o", "r.parquet", "--report", "none"]
    with subprocess.Popen(list(map(str, command)), cwd=folder, stderr=subprocess.DEVNULL) as run:
        ranks = until(lambda: len(found := children(run.pid)) >= 2 and found, "no ranks")
        until(lambda: all((folder / f"begun-{rank}").exists() for rank in range(2)), "it did not begin")
        time.sleep(chance.uniform(0, 0.03))
        # The supervisor, or a rank first.
        if chance.random() < 0.3:
            os.kill(ranks[0], signal.SIGSTOP)
        run.kill()
        run.wait(60)
    for rank in ranks:
        if is_alive(rank):
            os.kill(rank, signal.SIGKILL)
    until(lambda: not any(map(is_alive, ranks)), "ranks outlive their supervisor")


def test_recover_removes_what_the_killed_run_owned_and_nothing_else(lastrank: Lastrank) -> None:
    chance = random.Random(SEED)
    replaced = 0
    for trial in range(TRIALS):
        folder = lastrank.folder / f"trial-{trial}"
        folder.mkdir()
        (folder / "thesis.txt").write_text("the user's")
        (folder / ".other.running").touch()
        kill_at_a_random_moment(lastrank, folder, chance)
        assert (folder / ".r.parquet.running").exists()
        # Meanwhile, at once or later, the user has the same names for files of his own: made anew, empty as well, or moved there.
        if trial % 6 == 0:
            time.sleep(1.1)
        empty = set()
        for name in NAMES if trial % 3 == 0 else []:
            if (way := chance.randrange(4)) < 2:
                (folder / name).unlink(missing_ok=True)
                (folder / name).write_text(f"the user's {name}" if way else "")
                empty.update([] if way else [name])
            elif way == 2:
                (folder / "new").write_text(f"the user's {name}")
                (folder / "new").replace(folder / name)
        users = {path.name for path in folder.iterdir() if path.is_file() and path.read_bytes().startswith(b"the user's")}
        users |= empty
        replaced += len(users) - 1
        done = subprocess.run([str(lastrank.program), "recover", "."], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0 or "is left alone" in done.stderr, (trial, done.stdout, done.stderr)
        left = {path.name for path in folder.iterdir()}
        # Of a call that was cut short nobody knows who made what is there: it stays and is named.
        named = re.findall(r"warning: '?([^ ']+)'? could not be removed", done.stderr)
        told = {(folder / name).relative_to(folder).parts[0] for name in named}
        mine = left - {"p.ppl", "r.parquet", ".other.running", *users}
        assert mine <= told and users <= left and "r.parquet" in left, (trial, mine, told, users - left, done.stdout, done.stderr)
        assert len({name[-1] for name in mine}) == len(mine), ("a rank has one call under way", mine, done.stderr)
        assert all((folder / name).read_text().startswith("the user's") for name in users - empty)
    print(f"{TRIALS} killed runs, {replaced} names taken by the user meanwhile")


WAIT = '$go = 0; while $go == 0 { for $g in glob("go-*") $go = 1; sleep(2ms); }'
OF_THE_USER = {
    "renamed over a name of the program, as editors do": (
        'write("begun", 1); $go = 0; while $go == 0 { write("result", 10); for $g in glob("go-*") $go = 1; sleep(2ms); }'
        'write("ready", 1); sleep(60s);',
        "result",
    ),
    "under the name of a hard link, in a directory that a link took the place of": (
        'if $$rank == 1 { mkdir("mine"); mkdir("mine/docs"); write("x", 1); write("begun", 1);' + WAIT +
        'link("x", "mine/docs/thesis"); }'
        'barrier; if $$rank == 0 { rename("mine", "o"); symlink(".", "mine"); write("ready", 1); } sleep(60s);',
        "docs/thesis",
    ),
}
"""A program that others wrote, and what the user makes between the begin of the run and its end."""


@pytest.mark.parametrize("options", [[], ["--room=room"]], ids=["below", "room"])
@pytest.mark.parametrize("case", OF_THE_USER)
def test_recover_takes_no_file_that_the_user_made_meanwhile(lastrank: Lastrank, case: str, options: list[str]) -> None:
    program, name = OF_THE_USER[case]
    folder = lastrank.folder / "work"
    inside = folder / "room" if options else folder
    folder.mkdir()
    (folder / "p.ppl").write_text(program)
    command = [lastrank.program, "run", "p.ppl", "-n", "2", "-s", "-o", "r.parquet", "--report", "none", *options]
    with subprocess.Popen(list(map(str, command)), cwd=folder, stderr=subprocess.PIPE, text=True) as run:
        there = lambda name: (inside / name).exists() or run.poll() is not None
        until(lambda: there("begun"), "it did not begin")
        if run.poll() is not None and "Landlock" in (said := run.stderr.read()):
            pytest.skip(said)
        # The program does not follow where the user goes.
        (inside / name).parent.mkdir(exist_ok=True)
        written = inside / ".tmp" if name == "result" else inside / name
        written.write_text("the user's")
        (inside / "go-1").touch()
        until(lambda: there("ready"), "it does not go on")
        assert run.poll() is None, run.stderr.read()
        ranks = children(run.pid)
        written.replace(inside / name)
        run.kill()
        run.wait(60)
    until(lambda: not any(map(is_alive, ranks)), "ranks outlive their supervisor")
    done = subprocess.run([str(lastrank.program), "recover", "."], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and (folder / "r.parquet").exists(), done
    assert (inside / name).read_text() == "the user's", done
    assert not (inside / "x").exists() and not (inside / "begun").exists(), done


def test_a_claim_that_holds_something_is_the_user_s(lastrank: Lastrank) -> None:
    kept = lastrank.folder / ".r.parquet.running"
    kept.write_text("notes")
    (lastrank.folder / "p.ppl").write_text('create("f");')
    command = [str(lastrank.program), "run", "p.ppl", "-s", "-o", "r.parquet", "--report", "none"]
    done = subprocess.run(command, cwd=lastrank.folder, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and ".r.parquet.running" in done.stderr, done.stderr
    assert kept.read_text() == "notes"


def recovered(lastrank: Lastrank, folder: Path, *words: str) -> str:
    command = [str(lastrank.program), "recover", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0 or "is left alone" in done.stderr, (done.stdout, done.stderr)
    return done.stdout


def killed_run(lastrank: Lastrank, folder: Path, program: str, options: tuple[str, ...] = ()) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "p.ppl").write_text(program)
    command = [str(lastrank.program), "run", "p.ppl", "-s", "-o", "r.parquet", "--report", "none", *options]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL) as run:
        until((folder / "begun").exists, "it did not begin")
        ranks = children(run.pid)
        run.kill()
        run.wait(60)
    until(lambda: not any(map(is_alive, ranks)), "ranks outlive their supervisor")


@pytest.mark.parametrize("how", [(), ("--quiet",)])
def test_a_recording_is_recovered_in_the_folder_where_it_began(lastrank: Lastrank, how: tuple[str, ...]) -> None:
    folder, other = lastrank.folder / "mine", lastrank.folder / "other"
    folder.mkdir()
    other.mkdir()
    # Reads a file again and again, and ends by itself when it has been told to.
    script = "touch begun; while [ ! -e enough ]; do cat begun; sleep 0.01; done"
    command = [str(lastrank.program), "record", *how, "-o", "u.parquet", "--", "sh", "-c", script]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as recorder:
        until((folder / "begun").exists, "it did not begin")
        shells = children(recorder.pid)
        recorder.kill()
        recorder.wait(60)
    (folder / "enough").touch()
    until(lambda: not any(map(is_alive, shells)), "the application ends")
    assert list(folder.glob(".u.parquet.*.partial")), "what it was about to write"
    assert f"in {folder}: lastrank record -- sh" in (said := recovered(lastrank, other)), said
    assert not list(other.iterdir())
    said = recovered(lastrank, folder, ".")
    assert "u.parquet" in said and f"of lastrank record -- sh -c touch begun" in said and f"started in {folder} at 20" in said, said
    assert {path.name for path in folder.iterdir()} == {"begun", "enough", "u.parquet"}


def names(said: str, folder: Path) -> bool:
    """Does it name the dead run of this folder, or is it one of many of which only some are named?"""
    return f"in {folder}: lastrank run p.ppl" in said or " further folders" in said


def test_recover_takes_the_runs_of_its_folder_and_names_those_of_others(lastrank: Lastrank) -> None:
    folder, other, empty = lastrank.folder / "mine", lastrank.folder / "other", lastrank.folder / "empty"
    for one in (folder, other):
        killed_run(lastrank, one, 'create("begun"); sleep(60s);')
    empty.mkdir()
    # What is still going down has its records open, and is not named.
    until(lambda: names(recovered(lastrank, empty), folder) and names(recovered(lastrank, empty), other), "it does not name them")
    said = recovered(lastrank, empty)
    assert said.startswith("Nothing to recover here. "), said
    assert "lastrank recover --all" in said and not list(empty.iterdir()), said
    said = recovered(lastrank, folder)
    assert f"of lastrank run p.ppl -s -o r.parquet --report none, started in {folder} at 20" in said, said
    assert names(said, other) and "removed 1 file that it had created" in said, said
    assert {path.name for path in folder.iterdir()} == {"p.ppl", "r.parquet"}
    assert (other / "begun").exists()
    # A named folder is as good as the current one.
    said = recovered(lastrank, empty, str(other))
    assert (other / "r.parquet").exists() and not (other / "begun").exists() and not list(empty.iterdir()), said


def test_recover_all_writes_those_of_every_folder_into_this_one(lastrank: Lastrank) -> None:
    """In a memory of its own: others of this user may have left runs."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], check=False).returncode != 0:
        pytest.skip("only root can mount")
    folder, into = lastrank.folder / "mine", lastrank.folder / "into"
    folder.mkdir()
    into.mkdir()
    (folder / "p.ppl").write_text('create("begun"); sleep(60s);')
    (folder / "kill.sh").write_text(
        "mount -t tmpfs none /dev/shm; unset XDG_RUNTIME_DIR\n"
        '"$0" run p.ppl -s -o r.parquet --report none & while [ ! -e begun ]; do sleep 0.05; done; kill -9 $!; wait\n'
        # What is still going down has its records open.
        f"cd {into}; for i in $(seq 300); do "
        'said=$("$0" recover --all); case $said in *"under way"*) sleep 0.1;; *) break;; esac; done; echo "$said"\n'
    )
    command = ["unshare", "--mount", "sh", "-c", (folder / "kill.sh").read_text(), str(lastrank.program)]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=120, env={**os.environ, "TMPDIR": str(into)}
    )
    assert f"started in {folder} at" in done.stdout and (into / "r.parquet").exists(), (done.stdout, done.stderr)
    assert not (folder / "begun").exists()


def test_a_file_of_a_killed_run_is_not_to_be_allowed_but_recovered(lastrank: Lastrank) -> None:
    folder = lastrank.folder / "mine"
    killed_run(lastrank, folder, 'write("big", 1); create("begun"); sleep(60s);')
    (folder / "q.ppl").write_text('write("big", 1);')
    command = [str(lastrank.program), "run", "q.ppl", "-s", "-o", "q.parquet", "--report", "none"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "--allow" not in done.stderr, done.stderr
    assert "one of yours that was killed did (p, started" in done.stderr and f"`lastrank recover {folder}`" in done.stderr
    recovered(lastrank, folder)
    subprocess.run(command, cwd=folder, check=True)


if __name__ == "__main__":
    pytest.main([__file__])


def test_a_recover_that_is_killed_anywhere_loses_no_sample(lastrank: Lastrank) -> None:
    """It is killed in each call that removes or moves something. Then the samples are in the file already, or found once more."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    folder = lastrank.folder / "work"
    command = [str(lastrank.program), "recover", "."]
    folder.mkdir()
    for place in range(1, 100):
        kill_between(lastrank, folder)
        had, kills = sorted(path.name for path in folder.glob("f-*")), f"unlink,unlinkat,rename,renameat,renameat2:signal=KILL:when={place}"
        done = subprocess.run(
            ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject={kills}", *command], cwd=folder, capture_output=True, check=False
        )
        whole = [path for path in folder.glob("r*.parquet") if samples_of(path) == 300]
        if sorted(path.name for path in folder.glob("f-*")) != had:
            assert whole, (place, "files of the run were removed before its samples had a file")
        again = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        whole = [path for path in folder.glob("r*.parquet") if samples_of(path) == 300]
        assert again.returncode == 0 and whole, (place, again)
        assert not list(folder.glob("f-*")) and not list(folder.glob(".r.parquet.running")), (place, os.listdir(folder), again)
        if done.returncode == 0:
            break
        for path in folder.iterdir():
            path.unlink()
    assert place > 6, "it was killed before, between and after what it removes"


def kill_between(lastrank: Lastrank, folder: Path) -> None:
    """A run of 300 writes that is killed after the last one."""
    (folder / "p.ppl").write_text('repeat $i 100 for $j in range(0, 3) write("f-$j", 10); create("ready"); sleep(60s);')
    command = [lastrank.program, "run", "p.ppl", "-s", "-o", "r.parquet", "--report", "none"]
    with subprocess.Popen(list(map(str, command)), cwd=folder, stderr=subprocess.PIPE) as run:
        until(lambda: (folder / "ready").exists() or run.poll() is not None, "it did not begin")
        assert run.poll() is None, run.stderr.read()
        ranks = children(run.pid)
        run.kill()
        run.wait(60)
    until(lambda: not any(map(is_alive, ranks)), "ranks outlive their supervisor")


def samples_of(file: Path) -> int:
    import pandas

    try:
        return int((pandas.read_parquet(file).operation == "write").sum())
    except (OSError, ValueError):
        return 0
