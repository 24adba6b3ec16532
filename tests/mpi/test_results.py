"""Tests that a run under MPI has its result at any number of samples."""

import json
from pathlib import Path

from .launchers import launcher

# Above two million samples nothing is gathered: each rank writes its own part.
EACH = 710_000
PROGRAM = f'phase "ask" for $i in 0 .. {EACH} {{ stat("."); }}\n'


def test_a_run_too_large_to_be_gathered_has_its_result(tmp_path: Path) -> None:
    program = tmp_path / "many.ppl"
    program.write_text(PROGRAM)
    by = launcher("debian-mpich")
    done = by.lastrank("run", 3, program, "--json", "--report", "none", "-o", tmp_path / "run.parquet", timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list((tmp_path / "run.parts").iterdir()), "each rank keeps its own part"
    row = next(row for row in json.loads(done.stdout)["results"] if row["operation"] == "stat")
    assert (row["operations"], row["ranks"], row["errors"]) == (3 * EACH, 3, 0)
    assert [rank["operations"] for rank in row["per_rank"]] == [EACH] * 3
    assert row["operations_per_second"] > 0 and row["quantiles_seconds"]["p99"] > row["quantiles_seconds"]["p50"]
    assert 0 < row["at_wall"]["operations"] <= 3 * EACH and 0 < row["at_wall"]["balance"] <= 1
