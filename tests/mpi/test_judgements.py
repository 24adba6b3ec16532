"""What was found in a run of an MPI job is told alike by every output, and decides how the job ends."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .launchers import BINARY, Launcher, launcher

pytestmark = pytest.mark.parametrize("name", ["openmpi", "debian-mpich"])

WRITE = 'define ranks 2;\ndefine place "dir" $dir "."\nwrite("$dir/blk-$$rank", 256k);\n'
CHECK = 'define ranks 2;\ndefine place "dir" $dir "."\nverify { read("$dir/blk-$$rank"); }\n'
PLACE = 70_000


def of_rank_one(document: Any) -> None:
    """Rank 1, and nobody else, read a byte that was changed."""
    [found] = document["judgements"]["found"]
    assert (found["kind"], found["operation"], found["count"]) == ("wrong_content", "read", 1)
    [example] = found["examples"]
    assert (example["rank"], example["byte"], Path(example["file"]).name) == (1, PLACE, "blk-1")
    assert document["numbers"]["errors"] == 1 and document["numbers"]["operations"] == 1


@pytest.mark.parametrize("corrupt", [True, False], ids=["corrupt", "sound"])
def test_a_changed_byte_in_the_file_of_one_rank(name: str, corrupt: bool, tmp_path: Path) -> None:
    started: Launcher = launcher(name)
    (tmp_path / "write.ppl").write_text(WRITE)
    (tmp_path / "check.ppl").write_text(CHECK)
    common = ["--set", f"dir={tmp_path}", "--report", "none"]
    wrote = started.lastrank("run", 2, tmp_path / "write.ppl", *common, "-o", tmp_path / "w.parquet")
    assert wrote.returncode == 0, wrote.stdout + wrote.stderr
    if corrupt:
        content = bytearray((tmp_path / "blk-1").read_bytes())
        content[PLACE] ^= 1
        (tmp_path / "blk-1").write_bytes(content)
    statuses = set()
    for option in ([], ["-q"], ["--json"]):
        done = started.lastrank("run", 2, tmp_path / "check.ppl", *common, "-o", tmp_path / "c.parquet", *option)
        told = " ".join(done.stdout.split())
        statuses.add(done.returncode)
        wanted = ['"wrong_content"'] if option == ["--json"] else ["WRONG DATA: 1 of 2 operations", "✖"]
        assert [part in told for part in wanted] == [corrupt] * len(wanted), told
    words = [BINARY, "report", tmp_path / "c.parquet", "--json"]
    report = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    statuses.add(report.returncode)
    assert statuses == {3 if corrupt else 0}
    reads = 1 if corrupt else 2
    right = {"operations": reads, "bytes": reads << 18, "unknown_bytes": 0}
    assert json.loads(report.stdout)["numbers"]["verified"] == right
    if corrupt:
        of_rank_one(json.loads(report.stdout))
    else:
        assert json.loads(report.stdout)["judgements"]["found"] == []


def test_what_was_verified_is_added_up_over_parts(name: str, tmp_path: Path) -> None:
    """Each rank of a job that broke off keeps its own part, with what it verified."""
    text = 'verify { read("$dir/blk-$$rank"); }\nbarrier;\non_error stop;\nif $$rank == 1 { unlink("$dir/none"); }\nbarrier;\n'
    (tmp_path / "p.ppl").write_text(WRITE + text)
    words = ["--set", f"dir={tmp_path}", "--report", "none", "-o", tmp_path / "p.parquet"]
    assert launcher(name).lastrank("run", 2, tmp_path / "p.ppl", *words).returncode != 0
    report = subprocess.run([BINARY, "report", tmp_path / "p.parts", "--json"], cwd=tmp_path, capture_output=True, text=True)
    verified = json.loads(report.stdout)["numbers"]["verified"]
    assert verified == {"operations": 2, "bytes": 2 << 18, "unknown_bytes": 0}, report.stdout


def test_ranks_with_different_environments_are_told_where_they_wait(name: str, tmp_path: Path) -> None:
    started: Launcher = launcher(name)
    (tmp_path / "env.ppl").write_text('if $$env(HOLDS) == "0" { barrier; }\nprint("done", $$env(HOLDS));\n')
    each = tmp_path / "each"
    each.write_text('#!/bin/sh\nHOLDS=${PMI_RANK:-$OMPI_COMM_WORLD_RANK} exec "$@"\n')
    each.chmod(0o755)
    words = (tmp_path / "env.ppl", "--report", "none", "-o", tmp_path / "run.parquet")
    done = started.start(2, [each, BINARY, "run"], words, 60)
    said = " ".join(done.stderr.split())
    assert done.returncode != 0
    assert "`$$env` can differ between ranks: each reads its own environment" in said, said
    assert "rank 0 is at the barrier at line 1, rank 1 is at the end of the program" in said, said
    assert not (tmp_path / "run.parquet").exists()
