"""Do the samples of all ranks reach the run file, under every MPI, also when a rank dies?"""

from pathlib import Path

import duckdb

from .launchers import Launcher, launcher


def counts(files: Path) -> dict[int, int]:
    return dict(duckdb.sql(f"select rank, count(*) from '{files}' group by rank order by rank").fetchall())


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
    assert not list(tmp_path.glob(".lastrank-*"))
