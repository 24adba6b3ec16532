"""Tests that the samples of all ranks reach the run file under every MPI, even if a rank dies."""

import json
from pathlib import Path

import duckdb
import pyarrow.parquet as parquet
import pytest

from .launchers import Launcher, assert_nothing_left, launcher, wait_for


def counts(files: Path) -> dict[int, int]:
    return dict(duckdb.sql(f"select rank, count(*) from '{files}' group by rank order by rank").fetchall())


def failures(part: Path) -> list[str]:
    return json.loads(parquet.read_metadata(part).metadata[b"lastrank.facts"])["failures"]


def parts(folder: Path, ranks: int) -> list[Path]:
    """The parts of `ranks` ranks, once they exist: keepers may outlive their launcher for a moment."""
    wanted = [folder / f"part-{rank:05}.parquet" for rank in range(ranks)]
    wait_for(lambda: all(path.exists() for path in wanted), seconds=20)
    assert sorted(folder.iterdir()) == wanted
    return wanted


def test_a_small_run_is_one_file(started_by: Launcher, measure: Path, tmp_path: Path) -> None:
    done = started_by.run(3, measure, tmp_path / "run.parquet", 1000)
    assert done.returncode == 0, done.stdout + done.stderr
    assert counts(tmp_path / "run.parquet") == {0: 1003, 1: 1003, 2: 1003}


def test_a_large_run_is_a_part_for_each_rank(measure: Path, tmp_path: Path) -> None:
    done = launcher("mpich").run(3, measure, tmp_path / "run.parquet", 700_000)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(path.name for path in (tmp_path / "run.parquet").iterdir()) == [
        f"part-{rank:05}.parquet" for rank in range(3)
    ]
    assert set(counts(tmp_path / "run.parquet" / "*.parquet").values()) == {700_072}


def test_a_killed_rank_loses_no_sample_of_anyone(started_by: Launcher, measure: Path, tmp_path: Path) -> None:
    done = started_by.run(3, measure, tmp_path / "run.parquet", 1000, "die", 1)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "rank 1 was killed by SIGKILL in or after fseek at line 1; its 503 samples are kept" in done.stdout
    run = tmp_path / "run.parquet"
    assert counts(run / "*.parquet" if run.is_dir() else run) == {0: 1002, 1: 503, 2: 1002}
    assert_nothing_left(tmp_path)


def test_an_abort_loses_no_sample_of_anyone(started_by: Launcher, measure: Path, tmp_path: Path) -> None:
    if not started_by.words:
        pytest.skip("there is no MPI_Abort without MPI")
    done = started_by.run(3, measure, tmp_path / "run", 1000, "abort", 1)
    assert done.returncode == (7 if "openmpi" in started_by.name else 3), done.stdout + done.stderr
    found = parts(tmp_path / "run", 3)
    assert counts(tmp_path / "run" / "*.parquet") == {0: 1002, 1: 503, 2: 1002}
    told = "exited with status 7" if "openmpi" in started_by.name else "called MPI_Abort with status 7"
    assert any(f"rank 1 {told}" in failure for failure in failures(found[1])), failures(found[1])
    for part in found:
        # Open MPI stops the others with SIGTERM, which can arrive before the notice of rank 1.
        reasons = (f"rank 1 {told}", "the run was stopped by SIGTERM") if "openmpi" in started_by.name else (told,)
        assert any(reason in failure for failure in failures(part) for reason in reasons), failures(part)
    assert "in or after fseek at line 1; its 503 samples are kept" in failures(found[1])[0]
    assert_nothing_left(tmp_path)


def test_a_launcher_that_kills_its_processes_loses_no_sample(
    started_by: Launcher, measure: Path, tmp_path: Path
) -> None:
    if not started_by.words:
        pytest.skip("nobody stands between ranks and the user without MPI")
    # One process is killed from outside; most launchers then kill the others.
    done = started_by.run(3, measure, tmp_path / "run", 1000, "orphan", 1)
    assert done.returncode != 0
    found = parts(tmp_path / "run", 3)
    kept = counts(tmp_path / "run" / "*.parquet")
    assert kept[0] == kept[2] == 1002 and kept[1] >= 503
    named = "rank 1 was ended: the launcher, or somebody else, killed its process"
    assert any(named in failure for failure in failures(found[1])), failures(found[1])
    for part in found:
        assert failures(part), part
