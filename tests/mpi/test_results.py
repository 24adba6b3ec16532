"""Tests that a run under MPI has its result at any number of samples."""

import json
import subprocess
from pathlib import Path

import pytest

from .launchers import BINARY, launcher

# Above two million samples nothing is gathered: each rank writes its own part.
EACH = 710_000
PROGRAM = f'phase "ask" for $i in 1 .. {EACH} {{ stat("."); }}\n'


@pytest.mark.parametrize("name", ["mpich", "debian-mpich"])
def test_a_run_too_large_to_be_gathered_has_a_screen_and_a_document(name: str, tmp_path: Path) -> None:
    by = launcher(name)
    program = tmp_path / "many.ppl"
    program.write_text(PROGRAM)
    done = by.lastrank("run", 3, program, "--report", "none", "-o", tmp_path / "run.parquet", timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{3 * EACH:,}".replace(",", "\u202f") + " operations, 0 errors" in done.stdout, done.stdout + done.stderr
    assert "stat/s over 3 ranks" in done.stdout and len(done.stdout.splitlines()) <= 24
    report = [BINARY, "report", tmp_path / "run.parts", "--json"]
    found = subprocess.run(report, capture_output=True, text=True, timeout=280, check=True)
    rows = {row["operation"]: row for row in json.loads(found.stdout)["results"]}
    row = rows["stat"]
    assert (row["operations"], row["ranks"], row["errors"]) == (3 * EACH, 3, 0)
    assert [rank["operations"] for rank in row["per_rank"]] == [EACH] * 3
    assert row["operations_per_second"] > 0 and row["quantiles_seconds"]["p99"] > row["quantiles_seconds"]["p50"]
    assert 0 < row["at_wall"]["operations"] <= 3 * EACH and 0 < row["at_wall"]["balance"] <= 1
