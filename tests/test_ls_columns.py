"""Tests `lastrank ls --columns`: parameters, tags and the numbers of the run side by side."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from terminal.screen import assert_fits, show

PROGRAM = """
define param "servers" $servers 1
define place "dir" $dir "."
repeat 20 { write("$dir/f", 4k * $servers); }
delete("$dir/f");
"""


def call(program: Path, folder: Path, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module")
def folder(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    (folder / "step.ppl").write_text(PROGRAM)
    for servers, system in [(1, "ceph"), (4, "ocfs2")]:
        words = ["--set", f"servers={servers}", "--tag", f"fs={system}", "-o", f"{system}.parquet", "--report", "none"]
        done = call(program, folder, "run", "step.ppl", *words)
        assert done.returncode == 0, done.stderr
    return folder


def test_each_run_has_its_parameters_tags_and_numbers(program: Path, folder: Path) -> None:
    done = call(program, folder, "ls", "--columns", "file,fs,servers,ranks,operations,bytes,max,directory")
    assert done.returncode == 0, done.stderr
    head, *rows = [line.split() for line in done.stdout.splitlines()[1:]]
    assert head == ["file", "fs", "servers", "ranks", "operations", "bytes", "max", "directory"]
    runs = {run["file"].removeprefix("./"): run for run in json.loads(call(program, folder, "ls", "--json").stdout)["runs"]}
    for row, (system, servers, size) in zip(rows, [("ceph", "1", "80"), ("ocfs2", "4", "320")], strict=True):
        run = runs[f"{system}.parquet"]
        assert row[:4] == [f"{system}.parquet", system, servers, "1"], done.stdout
        assert row[4:7] == [str(run["operations"]), size, "KiB"] and row[-1] == ".", done.stdout
        assert (run["parameters"]["servers"], run["tags"]["fs"], run["directories"]) == (servers, system, ["."])


def test_a_name_that_no_run_has_is_refused_with_what_was_meant(program: Path, folder: Path) -> None:
    done = call(program, folder, "ls", "--columns", "file,severs")
    assert done.returncode == 2 and "did you mean `servers`?" in done.stderr, done.stderr
    done = call(program, folder, "ls", "--columns", ",")
    assert done.returncode == 2 and "names no column" in done.stderr, done.stderr


def test_verbose_keeps_the_throughput_however_narrow(program: Path, folder: Path) -> None:
    for columns in ("60", "80"):
        environment = {**os.environ, "COLUMNS": columns}
        done = subprocess.run([program, "ls", "-v"], cwd=folder, capture_output=True, text=True, env=environment, check=True)
        assert done.stdout.count("MiB/s") + done.stdout.count("GiB/s") == 2, done.stdout
        assert all(len(line) <= int(columns) for line in done.stdout.splitlines()), done.stdout


def test_what_went_wrong_begins_with_its_sign_and_a_killed_run_is_named(program: Path, tmp_path: Path) -> None:
    (tmp_path / "long.ppl").write_text('repeat 1000000000 write("f", 4k);\n')
    for number, end in ((1, signal.SIGINT), (2, signal.SIGKILL)):
        words = [program, "run", "long.ppl", "-s", "--report", "none", "-o", f"{number}.parquet", "--progress", "none"]
        with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            deadline = time.monotonic() + 30
            while not (tmp_path / "f").exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(0.5)
            run.send_signal(end)
            run.communicate(timeout=60)
        (tmp_path / "f").unlink(missing_ok=True)
    environment = {**os.environ, "COLUMNS": "60"}
    listed = subprocess.run([program, "ls"], cwd=tmp_path, capture_output=True, text=True, env=environment, check=True)
    assert "1.parquet" in listed.stdout and "✖" in listed.stdout, listed.stdout
    assert "a run of long was killed" in listed.stderr and "lastrank recover" in listed.stderr, listed.stderr
    recovered = call(program, tmp_path, "recover")
    assert recovered.returncode == 0, recovered.stderr
    assert "killed" not in call(program, tmp_path, "ls").stderr


def test_what_has_no_room_is_named_and_simulated_runs_are_marked(program: Path, tmp_path: Path) -> None:
    """On a narrow terminal the last line says which columns are missing; whether a run is simulated stands in one that stays."""
    for program_name, size in (("one", "4k"), ("another_program_with_a_long_name", "1m")):
        (tmp_path / f"{program_name}.ppl").write_text(f'repeat 200 write("f", {size}, 0);\ndelete("f");\n')
        words = [f"{program_name}.ppl", "--backend", "simulate:gev(10ms,1ms,0.1)", "-o", f"of-{program_name[0]}.parquet"]
        assert call(program, tmp_path, "run", *words, "--report", "none").returncode == 0
    for columns in (60, 80, 120):
        found = show([program, "ls"], columns, tmp_path)
        assert_fits(found)
        *rows, last = found.text.rstrip().splitlines()
        head = next(line.split() for line in rows if "p50" in line)
        gone = [name for name in ("program", "throughput") if name not in head]
        assert last.startswith("Left out: " + ", ".join(sorted(gone, reverse=True))) == bool(gone), found.text
        assert all(name in last for name in gone) and ("--columns" in last or "-v" in last or not gone), found.text
        assert found.text.count("simulated") == 2, found.text
    piped = call(program, tmp_path, "ls").stdout
    assert piped.count("simulated") >= 2, piped
