"""Does `lastrank run` do under every launcher what it does without one?"""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from .launchers import TARGET, Launcher

BINARY = Path(os.environ.get("LASTRANK_BIN", TARGET / "debug" / "lastrank"))


@pytest.mark.skipif(not BINARY.exists(), reason=f"skipped: {BINARY} is not built")
def test_the_first_experiment_runs_on_the_launchers_ranks(started_by: Launcher, tmp_path: Path) -> None:
    run = tmp_path / "run.parquet"
    words = ["parallel_write", "--set", "repeat=12", "--set", "size=64KiB", "--set", f"dir={tmp_path}"]
    words += ["-o", run, "--report", "none"]
    if started_by.words:
        done = replace(started_by, options=("run", *started_by.options)).run(3, BINARY, *words)
    else:
        command = [BINARY, "run", "-n", "3", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("parallel_write: 3 ranks, 12 steps") == 1
    table = parquet.read_table(run).to_pandas()
    writes = table[table.operation == "fwrite"]
    assert writes.groupby("rank").size().to_dict() == {0: 12, 1: 12, 2: 12}
    assert (writes.bytes == 64 * 1024 // 3).all()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.parquet"]
