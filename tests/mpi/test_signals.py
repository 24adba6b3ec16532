"""Tests signals between ranks that a launcher started, recordings of the ranks of an MPI job, and their replay."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .launchers import BINARY, Launcher, launcher

# Rank 0 makes a file, rank 1 adds to it, and so on, each behind a signal of the one before.
RELAY = """
define ranks 3
define place "dir" $dir "d"
$file = "$dir/relay";
repeat $turn 40 {
    if $$rank == 0 {
        if $turn > 0 await("rank 2", $turn);
        write("$file-$turn", 100);
        signal("rank 0");
    }
    if $$rank == 1 { await("rank 0", $turn + 1); rename("$file-$turn", "$file-$turn-b"); signal("rank 1"); }
    if $$rank == 2 { await("rank 1", $turn + 1); unlink("$file-$turn-b"); signal("rank 2"); }
}
"""

# Workers give and await signals as well; nobody awaits the last ones.
WORKERS = """
define ranks 2
define place "dir" $dir "d"
if $$rank == 0 parallel 3 { repeat $i 10 { write("$dir/w-$$worker-$i", 10); signal("worker $$worker"); signal("unheard"); } }
if $$rank == 1 parallel 3 { repeat $i 10 { await("worker $$worker", $i + 1); read("$dir/w-$$worker-$i", 10); } }
"""

LOST = """
define ranks 2
await("nobody gives it");
"""

APPLICATION = """
import os
rank = int(next(os.environ[name] for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK") if name in os.environ))
with open(f"part-{rank}", "wb", buffering=0) as file:
    for _ in range(20):
        file.write(b"x" * 4096)
"""


def lastrank(*words: object) -> subprocess.CompletedProcess:
    """Runs a command of lastrank without a launcher."""
    return subprocess.run([str(word) for word in (BINARY, *words)], capture_output=True, text=True, timeout=60)


def run(by: Launcher, folder: Path, text: str, ranks: int, *words: str):
    program = folder / "program.ppl"
    program.write_text(text)
    (folder / "d").mkdir(exist_ok=True)
    words = (program, "--report", "none", "-o", folder / "run.parquet", "--set", f"dir={folder}/d", *words)
    return by.lastrank("run", ranks, *words)


def test_a_rank_goes_on_when_another_one_gave_its_signal(started_by: Launcher, tmp_path: Path) -> None:
    done = run(started_by, tmp_path, RELAY, 3)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list((tmp_path / "d").iterdir()) == []


def test_workers_give_and_await_signals_of_other_ranks(started_by: Launcher, tmp_path: Path) -> None:
    done = run(started_by, tmp_path, WORKERS, 2)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list((tmp_path / "d").iterdir())) == 30


def test_a_signal_that_does_not_come_ends_the_run(started_by: Launcher, tmp_path: Path) -> None:
    program = tmp_path / "lost.ppl"
    program.write_text(LOST)
    words = (program, "--report", "none", "-o", tmp_path / "run.parquet", "--timeout", "2")
    done = started_by.lastrank("run", 2, *words)
    assert done.returncode != 0
    assert 'the signal "nobody gives it"' in done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["debian-openmpi", "debian-mpich", "mpich"])
def test_ranks_are_recorded_each_and_joined(name: str, tmp_path: Path) -> None:
    by = launcher(name)
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "app.py").write_text(APPLICATION)
    words = ("-o", tmp_path / "run-%r.parquet", "--", "sh", "-c", f"cd {home} && {sys.executable} -S {tmp_path}/app.py")
    recorded = by.lastrank("record", 3, *words)
    assert recorded.returncode == 0, recorded.stderr
    assert sorted(path.name for path in tmp_path.glob("run-*")) == [f"run-{rank}.parquet" for rank in range(3)]
    # One file for all is refused: the ranks would overwrite it.
    shared = by.lastrank("record", 2, "-o", tmp_path / "one.parquet", "--", "true")
    assert shared.returncode != 0 and "run-%r.parquet" in shared.stderr, shared.stderr
    program = tmp_path / "app.ppl"
    imported = lastrank("import", tmp_path / "run-%r.parquet", "-o", program, "--only", home)
    assert imported.returncode == 0 and "3 ranks" in imported.stderr, imported.stderr
    replay = by.lastrank("replay", 3, program, "-o", tmp_path / "replay.parquet", "--set", f"dir={tmp_path}/again")
    assert replay.returncode == 0, replay.stdout + replay.stderr
    assert sorted((path.name, path.stat().st_size) for path in (tmp_path / "again").iterdir()) == [
        (f"part-{rank}", 20 * 4096) for rank in range(3)
    ]
    words = ("fidelity", tmp_path / "run-%r.parquet", tmp_path / "replay.parquet", "--only", home, "--json")
    alike = lastrank(*words)
    found = json.loads(alike.stdout)
    assert (found["same_calls"], found["same_bytes"], found["more_failures"]) == (True, True, 0), alike.stdout
