"""What `recover` removes: what the killed run made, whatever it was doing, and what lastrank itself left; nothing of the user."""

import os
import random
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
        # Meanwhile the user has the same names for files of his own: made anew, or moved there. What is born within a second of a
        # call that was cut short is taken for what it made.
        if is_taken := trial % 3 == 0:
            time.sleep(1.1)
        for name in NAMES if is_taken else []:
            if (way := chance.randrange(4)) < 2:
                (folder / name).unlink(missing_ok=True)
                (folder / name).write_text(f"the user's {name}")
            elif way == 2:
                (folder / "new").write_text(f"the user's {name}")
                (folder / "new").replace(folder / name)
        users = {path.name for path in folder.iterdir() if path.is_file() and path.read_bytes().startswith(b"the user's")}
        replaced += len(users) - 1
        done = subprocess.run([str(lastrank.program), "recover", "."], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0 or "is left alone" in done.stderr, (trial, done.stdout, done.stderr)
        left = {path.name for path in folder.iterdir()}
        assert left == {"p.ppl", "r.parquet", ".other.running", *users}, (trial, left ^ users, done.stdout, done.stderr)
        assert all((folder / name).read_text().startswith("the user's") for name in users)
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


if __name__ == "__main__":
    pytest.main([__file__])
