"""Tests that the file system with known delays delays operations as stated."""

import errno
import os
import subprocess
import time
from collections.abc import Callable

import pytest

from . import delay
from .sandbox import Mounted

Delayed = Callable[..., Mounted]


def test_its_own_unit_tests_pass(delayfs: object) -> None:
    done = subprocess.run(
        ["cargo", "test", "--quiet", "--locked", "--target-dir", str(delayfs.parent.parent)],
        cwd=delay.SOURCE, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_keeps_what_is_written(delayed: Delayed) -> None:
    mounted = delayed({})
    content = os.urandom(3 << 20)
    (mounted.path / "file").write_bytes(content)
    assert (mounted.path / "file").read_bytes() == content
    assert sorted(os.listdir(mounted.path)) == [delay.LOG, delay.POWER, "file"]
    (mounted.path / "file").unlink()
    assert sorted(os.listdir(mounted.path)) == [delay.LOG, delay.POWER]


def test_the_same_seed_draws_the_same_delays(delayed: Delayed) -> None:
    def draws(seed: int) -> list[int]:
        mounted = delayed({"write": "lognormal(100us,0.5)"}, seed=seed)
        with open(mounted.path / "file", "wb", buffering=0) as file:
            for _ in range(50):
                file.write(b"x")
        return [write.drawn for write in delay.injected(mounted, "write")]

    assert draws(1) == draws(1) != draws(2)


def test_an_operation_lasts_at_least_its_delay(delayed: Delayed) -> None:
    mounted = delayed({"write": "gpd(1ms,300us,0.1)"})
    seen = []
    with open(mounted.path / "file", "wb", buffering=0) as file:
        for _ in range(200):
            begin = time.monotonic_ns()
            file.write(bytes(4096))
            seen.append(time.monotonic_ns() - begin)
    writes = delay.injected(mounted, "write")
    assert [write.bytes for write in writes] == [4096] * 200
    assert all(took >= write.held >= write.drawn for took, write in zip(seen, writes, strict=True))


def test_faults_come_when_asked_for(delayed: Delayed) -> None:
    mounted = delayed({}, faults=["write@2=EIO", "write@3=short", "close@1=EDQUOT"])
    file = os.open(mounted.path / "file", os.O_WRONLY | os.O_CREAT)
    assert os.write(file, bytes(100)) == 100
    with pytest.raises(OSError) as caught:
        os.write(file, bytes(100))
    assert caught.value.errno == errno.EIO
    assert os.write(file, bytes(100)) == 50
    with pytest.raises(OSError) as caught:
        os.close(file)
    assert caught.value.errno == errno.EDQUOT
    assert [(write.errno, write.short) for write in delay.injected(mounted, "write")] == [
        (0, False), (errno.EIO, False), (0, True),
    ]  # fmt: skip
