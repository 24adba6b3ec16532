"""Files of other tools in `lastrank ls`: a line each."""

import json
import os
import shutil
import subprocess
from pathlib import Path

FORMATS = Path(__file__).resolve().parent.parent / "crates" / "intake" / "tests" / "formats"


def ls(program: Path, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([program, "ls", *arguments], cwd=folder, capture_output=True, text=True, timeout=60)


def copied(folder: Path, *names: str) -> None:
    for name in names:
        shutil.copy(FORMATS / name, folder / name)


def test_each_known_file_has_a_line_with_its_numbers(program: Path, tmp_path: Path) -> None:
    copied(tmp_path, "ghz.json", "hyperfine.json", "hdr.hlog", "hyperfine.csv", "pgbench_log.26409")
    (tmp_path / "waits.csv").write_text("node,wait_ms\n" + "".join(f"a,{at}.5\n" for at in range(1, 201)))
    (tmp_path / "notes.txt").write_text("buy milk\n")
    (tmp_path / "three.txt").write_text("1.5\n2.5\n3.5\n")
    (tmp_path / "settings.json").write_text('{"a": 1, "b": [2, 3]}')
    (tmp_path / ".hidden.csv").write_text("1.5\n" * 20)
    os.mkfifo(tmp_path / "pipe.csv")
    done = ls(program, tmp_path)
    assert done.returncode == 0, done.stderr
    lines = {line.split()[0]: " ".join(line.split()) for line in done.stdout.splitlines()[2:]}
    assert lines == {
        "ghz.json": "ghz.json ghz JSON 2 3.00 ms –",
        "hdr.hlog": "hdr.hlog HdrHistogram log 350 1154 7920 to 7923 bins",
        "hyperfine.json": "hyperfine.json hyperfine JSON – – – choose a series: `true`, `ls /`",
        "pgbench_log.26409": "pgbench_log.26409 pgbench log 16 7.74 ms –",
        "waits.csv": "waits.csv table 200 100 ms 198 ms",
    }
    files = {file["file"]: file for file in json.loads(ls(program, tmp_path, "--json").stdout)["files"]}
    waits = files["./waits.csv"]
    assert waits["series"] == "wait_ms" and waits["unit"] == "s" and waits["values"] == 200
    assert [round(bound, 9) for bound in waits["median"] + waits["p99"]] == [0.1005, 0.1005, 0.1985, 0.1985]
    bins = files["./hdr.hlog"]
    assert bins["unit"] is None and bins["p99"] == [7920, 7923]


def test_they_stand_below_the_runs_and_not_in_their_csv(program: Path, tmp_path: Path) -> None:
    run = [program, "run", "parallel_write", "--backend", "simulate:gev(10ms,1ms,0.1)", "-o", "a.parquet",
           "--report", "none", "-q", "--append", "all.csv"]
    subprocess.run(run, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    # The table of all runs is no file of another tool.
    alone = ls(program, tmp_path).stdout
    assert "a.parquet" in alone and "Files of other tools" not in alone
    copied(tmp_path, "ghz.json")
    both = ls(program, tmp_path).stdout
    assert both == f"{alone}\nFiles of other tools, for fit and compare\n" + both.split("for fit and compare\n")[1]
    assert "ghz.json" not in ls(program, tmp_path, "--csv").stdout
    assert "ghz.json" not in ls(program, tmp_path, "--columns", "file,p99").stdout


def test_one_file_has_its_line_and_others_say_why_not(program: Path, tmp_path: Path) -> None:
    copied(tmp_path, "ghz.json", "hyperfine.csv")
    assert "ghz.json  ghz JSON       2  3.00 ms" in ls(program, tmp_path, "ghz.json").stdout
    refused = ls(program, tmp_path, "hyperfine.csv")
    assert refused.returncode == 2 and "`hyperfine --export-json FILE` keeps" in refused.stderr
    (tmp_path / "large.txt").write_bytes(b"1.5\n" * (9 << 20))
    assert "1 larger file is not read" in ls(program, tmp_path).stdout
