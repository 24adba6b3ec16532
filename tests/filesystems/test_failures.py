"""What does a user see when the file system says no?"""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from .measured import Lastrank
from .sandbox import Mounted

GROWING = """
define param "dir" $dir "."
$data = alloc(64KiB);
$f = fopen("$dir/growing-$$rank", "O_WRONLY|O_CREAT|O_TRUNC|O_SYNC");
repeat $step 200 {
    time["write"] fwrite($f, $data);
}
fclose($f);
delete("$dir/growing-$$rank");
"""


@pytest.fixture
def growing(tmp_path: Path) -> Path:
    program = tmp_path / "growing.ppl"
    program.write_text(GROWING)
    return program


def test_a_full_disk_ends_with_status_3_and_a_readable_run(
    full_directory: Mounted, lastrank: Lastrank, growing: Path
) -> None:
    run = lastrank.run(growing, ranks=2, dir=full_directory.path)
    assert run.status == 3, run
    assert "ENOSPC" in run.messages, run
    writes = run.operations("fwrite")
    full = writes[writes.errno == errno.ENOSPC]
    good = writes[(writes.errno == 0) & (writes.bytes == 64 << 10)]
    assert len(full) > 0
    assert 8 << 20 >= good.bytes.sum() > 7 << 20


def test_too_little_space_is_told_before_anything_is_written(
    full_directory: Mounted, lastrank: Lastrank
) -> None:
    run = lastrank.run("parallel_write", dir=full_directory.path, size=64 << 20, targets=2, repeat=3)
    assert run.status == 2, run
    assert str(full_directory.path) in run.messages, run
    assert os.listdir(full_directory) == []


def test_a_read_only_directory_is_named(read_only_directory: Mounted, lastrank: Lastrank, growing: Path) -> None:
    run = lastrank.run(growing, ranks=2, dir=read_only_directory.path)
    assert run.status == 3, run
    assert "EROFS" in run.messages, run
    assert str(read_only_directory.path) in run.messages, run
    assert run.operations("fopen").errno.tolist() == [errno.EROFS] * 2


def test_errors_and_short_writes_are_in_the_run(
    delayed: Callable[..., Mounted], lastrank: Lastrank, growing: Path
) -> None:
    mounted = delayed({}, faults=["write@50=EIO", "write@70=short", "close@1=EDQUOT"])
    run = lastrank.run(growing, ranks=1, dir=mounted.path)
    assert run.status == 3, run
    assert "EIO" in run.messages, run
    writes = run.operations("fwrite").reset_index()
    assert list(writes[writes.errno != 0].index) == [49]
    assert writes.errno[49] == errno.EIO
    assert run.operations("fclose").errno.tolist() == [errno.EDQUOT]
    shortened = writes[writes.causes & 1024 != 0]
    assert list(shortened.index) == [69]
    assert (shortened.bytes == 64 << 10).all()


def test_a_short_write_is_completed_and_told(
    delayed: Callable[..., Mounted], lastrank: Lastrank, growing: Path
) -> None:
    mounted = delayed({}, faults=["write@70=short"])
    run = lastrank.run(growing, ranks=1, dir=mounted.path)
    assert run.status == 0, run
    writes = run.operations("fwrite").reset_index()
    assert list(writes[writes.causes & 1024 != 0].index) == [69]
    assert (writes.bytes == 64 << 10).all()
