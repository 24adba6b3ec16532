"""Tests the shipped experiment on real parallel and remote file systems."""

import shutil
from pathlib import Path

from .measured import Lastrank, Run
from .nfs import NfsClient
from .sandbox import Mounted

MiB = 1 << 20


def check(run: Run, size: int, targets: int, repeat: int, kind: str) -> None:
    """Checks that every write is present and complete, and that the run file names the file system."""
    assert run.status == 0, run
    writes = run.operations("fwrite")
    assert len(writes) == targets * repeat
    assert (writes.bytes == size // targets).all()
    assert (writes.errno == 0).all()
    assert (writes.duration_ps > 0).all()
    assert run.facts["complete"]
    assert kind in [system["file_system"] for system in run.facts["file_systems"]]


def test_gluster_targets(gluster: Mounted, lastrank: Lastrank, long_tests: bool) -> None:
    size, targets, repeat = (512 * MiB, 16, 40) if long_tests else (16 * MiB, 4, 25)
    run = lastrank.run(
        "parallel_write", dir=gluster.path, size=size, targets=targets, repeat=repeat, seconds=900
    )
    check(run, size, targets, repeat, "fuse.glusterfs")
    assert list(gluster.path.iterdir()) == []
    gates = lastrank.fit(run.file, "--label", "write", "--gate")
    assert gates["n"] == repeat


def test_gluster_one_striped_file(gluster: Mounted, lastrank: Lastrank, long_tests: bool) -> None:
    size, repeat = (512 * MiB, 10) if long_tests else (16 * MiB, 10)
    run = lastrank.run(
        "parallel_write", dir=gluster.path, size=size, repeat=repeat, striped="yes", seconds=900
    )
    check(run, size, 1, repeat, "fuse.glusterfs")


def test_sshfs(sshfs: Mounted, lastrank: Lastrank) -> None:
    run = lastrank.run("parallel_write", dir=sshfs.path, size=1 * MiB, targets=2, repeat=25)
    check(run, 1 * MiB, 2, 25, "fuse.sshfs")
    assert list(sshfs.path.glob("lastrank*")) == []


def test_nfs_with_a_slow_network(nfs: NfsClient, lastrank: Lastrank) -> None:
    def measure() -> Run:
        command = lastrank.command("parallel_write", dir=nfs.path, size=64 * 1024, targets=2, repeat=12)
        done = nfs.run(*command, seconds=100)
        assert done.returncode == 0, f"{done.returncode}: {done.stdout}{done.stderr}"
        file = lastrank.folder / "nfs.parquet"
        shutil.copy(nfs.work / "run.parquet", file)
        return Run(done.returncode, done.stdout, done.stderr, file)

    check(measure(), 64 * 1024, 2, 12, "nfs")
    nfs.delay("2ms")
    try:
        run = measure()
        check(run, 64 * 1024, 2, 12, "nfs")
        # A synchronous write is at least one request and one reply, each of them delayed.
        assert run.operations("fwrite").duration_ps.min() >= 4e9
    finally:
        nfs.delay("0ms")
