"""Tests that the fixtures provide the stated file systems and that nothing of them remains."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .nfs import NfsClient
from .sandbox import Mounted, is_mount_of, require, require_root, wait_until


def test_sshfs_writes_reach_the_server(sshfs: Mounted) -> None:
    (sshfs.path / "file").write_bytes(b"over the wire")
    assert (sshfs.details["served"] / "file").read_bytes() == b"over the wire"


def test_nfs_is_mounted_by_a_kernel(nfs: NfsClient) -> None:
    mounted = nfs.run("cat", "/proc/mounts").stdout
    assert f"127.0.0.1:/mnt/served {nfs.path} nfs rw" in mounted
    assert nfs.run("dd", "if=/dev/zero", f"of={nfs.path}/file", "bs=64k", "count=4", "oflag=sync").returncode == 0
    assert nfs.run("stat", "-c", "%s", "/mnt/served/file").stdout == "262144\n"
    assert nfs.run("false").returncode == 1


def test_a_full_directory_runs_out_of_space(full_directory: Mounted) -> None:
    with pytest.raises(OSError) as caught:
        (full_directory.path / "file").write_bytes(bytes(9 << 20))
    assert caught.value.errno == errno.ENOSPC


def test_a_read_only_directory_refuses_root(read_only_directory: Mounted) -> None:
    with pytest.raises(OSError) as caught:
        (read_only_directory.path / "file").write_bytes(b"")
    assert caught.value.errno == errno.EROFS
    assert (read_only_directory.path / "existing").read_text()


def test_a_slow_directory_keeps_its_pace(slow_directory: Mounted) -> None:
    file = os.open(slow_directory.path / "file", os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
    os.pwrite(file, bytes(4096 * 60), 0)
    begin = time.monotonic()
    for block in range(50):
        os.pwrite(file, bytes(4096), 4096 * block)
    seconds = time.monotonic() - begin
    os.close(file)
    assert seconds > 0.4, "50 writes at 100 a second"


def test_who_may_not_mount_is_told_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(pytest.skip.Exception, match="needs root"):
        require_root()


def test_what_is_not_installed_is_named(mounts: Path) -> None:
    with pytest.raises(pytest.skip.Exception, match="apt-get install no-such-package"):
        require({"no-such-command": "no-such-package"})


KILLED_SESSION = """
import sys, pathlib
from filesystems import sandbox
from filesystems.directories import small_tmpfs
folder = pathlib.Path(sys.argv[1])
sandbox.make_session_mounts_private(folder)
daemons = sandbox.Sandbox(folder)
daemons.start("sleep", "600", log="sleep.log")
with small_tmpfs(folder, 1 << 20) as mounted:
    first = int(pathlib.Path(f"/proc/{daemons.keeper.pid}/task/{daemons.keeper.pid}/children").read_text())
    print(first, mounted.path, flush=True)
    sys.stdin.read()
"""


def test_nothing_outlives_a_killed_session(place: Path) -> None:
    tests = Path(__file__).parent.parent
    command = [sys.executable, "-c", KILLED_SESSION, str(place)]
    with subprocess.Popen(command, cwd=tests, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as session:
        first, mounted = session.stdout.readline().split()
        assert Path(f"/proc/{first}").exists()
        session.send_signal(signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{first}").exists(), "the sandbox lives on", 5)
    assert not is_mount_of(Path(mounted), "tmpfs")
