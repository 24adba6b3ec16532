"""What of a run could not be written is said by the screen and by JSON, which name where the samples are and no other file."""

import json
import subprocess
from pathlib import Path

import pyarrow.parquet
import pytest

LINES = 'repeat 300 { write("a.dat", 4k); }'


def call(
    program: Path, folder: Path, *arguments: str, home: str | None = None
) -> subprocess.CompletedProcess[str]:
    elsewhere = home or str(folder / "elsewhere")
    environment = {"TMPDIR": elsewhere, "HOME": elsewhere, "PATH": "/usr/bin:/bin", "COLUMNS": "200"}
    return subprocess.run([program, *arguments], cwd=folder, env=environment, capture_output=True, text=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "gone").mkdir()
    (tmp_path / "p.ppl").write_text(LINES)
    (tmp_path / "removes.ppl").write_text(f'{LINES} spawn("rm -r gone");')
    return tmp_path


@pytest.mark.parametrize("how", ["screen", "-v", "--json"])
def test_a_run_file_that_is_elsewhere_is_named(how: str, program: Path, folder: Path) -> None:
    words = ["run", "removes.ppl", "-o", "gone/run.parquet", "--report", "none", "--allow-spawn", "--unconfined"]
    ran = call(program, folder, *words, *([] if how == "screen" else [how]))
    (kept,) = (folder / "elsewhere").glob("run-*.parquet")
    assert ran.returncode == 3, ran.stderr
    if how == "--json":
        document = json.loads(ran.stdout)
        assert (document["run"], document["page"]) == (str(kept), None)
        assert document["unwritten"] == ["the run file"]
    else:
        assert f"Saved: {kept}" in ran.stdout and "the run file could not be written" in ran.stdout, ran.stdout
        assert "gone/run.parquet" not in ran.stdout
    again = call(program, folder, "report", str(kept), "--json")
    assert again.returncode == 0 and "unwritten" not in json.loads(again.stdout)


def test_samples_that_are_nowhere_have_no_file_and_are_recovered(program: Path, folder: Path) -> None:
    (folder / "removes.ppl").write_text(f'{LINES} spawn("rm -r gone home");')
    words = ["run", "removes.ppl", "-o", "gone/run.parquet", "--report", "none", "--allow-spawn", "--unconfined"]
    home = str(folder / "home")
    for more in ([], ["--json"]):
        for made in ("gone", "home"):
            (folder / made).mkdir(exist_ok=True)
        ran = call(program, folder, *words, *more, home=home)
        assert ran.returncode == 3, ran.stderr
        if more:
            told = json.loads(ran.stdout)
            assert told["run"] is None and told["unwritten"] == ["the run file"]
        else:
            assert "Saved:" not in ran.stdout and "✔" not in ran.stdout, ran.stdout
            assert ran.stdout.endswith("Next:  lastrank recover   (when there is room)\n"), ran.stdout
        (folder / "gone").mkdir()
        back = call(program, folder, "recover")
        assert back.returncode == 0, back
        (kept,) = [one for one in folder.rglob("*.parquet") if one.name in back.stdout]
        assert len(pyarrow.parquet.read_table(kept)) > 300
        kept.unlink()


def test_a_page_that_is_lost_is_told_once_below_one_screen(program: Path, folder: Path) -> None:
    words = ["run", "removes.ppl", "-o", "run.parquet", "--report", "gone/run.html", "--allow-spawn", "--unconfined"]
    ran = call(program, folder, *words)
    lines = ran.stdout.splitlines()
    assert ran.returncode == 3, ran.stderr
    assert [line for line in lines if "removes: " in line] == lines[:1], ran.stdout
    assert lines[-1] == "✖ the page could not be written" and "gone/run.html" not in ran.stdout, ran.stdout
    document = json.loads(call(program, folder, "report", "run.parquet", "--json").stdout)
    assert document["page"] is None
