"""Tests `lastrank ls --columns`: parameters, tags and the numbers of the run side by side."""

import json
import subprocess
from pathlib import Path

import pytest

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
