"""Tests what a user sees when the file system fails an operation."""

import errno
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .measured import Lastrank, Run
from .nfs import NfsClient
from .sandbox import Mounted

GROWING = """
define place "dir" $dir "."
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


@pytest.mark.parametrize("ranks", [2, 8])
def test_a_full_disk_ends_with_status_3_and_a_readable_run(
    full_directory: Mounted, lastrank: Lastrank, growing: Path, ranks: int
) -> None:
    run = lastrank.run(growing, ranks=ranks, dir=full_directory.path)
    assert run.status == 3, run
    assert "ENOSPC" in run.messages, run
    writes = run.operations("fwrite")
    full = writes[writes.errno == errno.ENOSPC]
    good = writes[(writes.errno == 0) & (writes.bytes == 64 << 10)]
    assert len(full) > 0
    # A tenth stays free, and no more than that: what one piece of each rank takes, and a hundredth.
    most = (8 << 20) * 9 // 10
    assert most >= good.bytes.sum() > most - ranks * (64 << 10) - (8 << 20) // 100


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
    said = " ".join(run.output.split())
    assert "1 write moved fewer bytes at once than requested, and further calls completed it (fwrite" in said


@pytest.mark.parametrize("name", ["ENOSPC", "EDQUOT", "ESTALE"])
def test_what_a_remote_server_refuses_is_named_and_ends_with_status_3(
    delayed: Callable[..., Mounted], lastrank: Lastrank, growing: Path, name: str
) -> None:
    mounted = delayed({}, faults=[f"write@{number}={name}" for number in range(150, 201)])
    run = lastrank.run(growing, ranks=1, dir=mounted.path)
    assert run.status == 3, run
    assert name in run.messages, run
    writes = run.operations("fwrite")
    # A full disk ends a rank; requests for a file that the server has lost are made until the end.
    assert (writes.errno == getattr(errno, name)).sum() == (51 if name == "ESTALE" else 1)
    assert (writes.errno == 0).sum() == 149


def test_a_call_that_was_interrupted_is_made_again_and_told(
    delayed: Callable[..., Mounted], lastrank: Lastrank, growing: Path
) -> None:
    mounted = delayed({}, faults=["write@70=EINTR"])
    run = lastrank.run(growing, ranks=1, dir=mounted.path)
    assert run.status == 0, run
    writes = run.operations("fwrite").reset_index()
    assert list(writes[writes.causes & 2048 != 0].index) == [69]
    assert (writes.errno == 0).all()
    assert (writes.bytes == 64 << 10).all()


def growing_bytes(folder: Path) -> int:
    """How much all ranks have written so far."""
    return sum(path.stat().st_size for path in folder.glob("growing-*"))


def test_a_server_that_goes_away_ends_with_status_3_and_keeps_what_was_measured(
    delayed: Callable[..., Mounted], lastrank: Lastrank, growing: Path
) -> None:
    mounted = delayed({"write": "constant(10ms)"})
    command = lastrank.command(growing, dir=mounted.path)
    with subprocess.Popen(
        command, cwd=lastrank.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        # Of 200 writes of 10 ms each some twenty are done.
        until = time.monotonic() + 30
        while growing_bytes(mounted.path) < 20 * 64 << 10 and time.monotonic() < until:
            time.sleep(0.01)
        os.kill(mounted.details["server"], signal.SIGKILL)
        _, messages = running.communicate(timeout=60)
    assert running.returncode == 3, messages
    assert "ENOTCONN" in messages or "ECONNABORTED" in messages, messages
    run = Run(running.returncode, "", messages, lastrank.folder / "run.parquet")
    writes = run.operations("fwrite")
    assert (writes.errno == 0).sum() > 10
    assert set(writes.errno) <= {0, errno.ENOTCONN, errno.ECONNABORTED}
    assert writes.errno.iloc[-1] != 0


def test_a_file_that_the_server_has_lost_is_a_stale_handle(nfs: NfsClient, lastrank: Lastrank) -> None:
    (nfs.work / "growing.ppl").write_text(GROWING.replace("repeat $step 200", "repeat $step 2000"))
    program = nfs.work_inside / "growing.ppl"
    command = " ".join(map(str, lastrank.command(program, ranks=1, dir=nfs.path)))
    # Without a look at the free space: after one the server takes the lost handle for its pseudo root (EACCES).
    command += " --fill"
    served, options = "127.0.0.1:/mnt/served", "sync,rw,insecure,no_root_squash,no_subtree_check"

    def export(number: int) -> str:
        return f"exportfs -u {served}; exportfs -i -o {options},fsid={number} {served}; exportfs -f"

    # Once it has written, and until the run has ended, the server knows the files by other handles than those that it
    # gave out.
    written = "find /mnt/served -name 'growing-*' -size +64k"
    lose = f'until [ -n "$({written})" ]; do sleep 0.05; done; {export(7)}'
    restore = f"{export(0)}; find /mnt/served -name 'growing-*' -delete"
    done = nfs.run("sh", "-c", f"({lose}) & {command}; echo exit $?; wait; {restore}", seconds=100)
    assert "exit 3" in done.stdout, f"{done.returncode}: {done.stdout}{done.stderr}"
    assert "ESTALE" in done.stderr, done.stderr
