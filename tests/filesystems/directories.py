"""Directories that are full, read-only or slow."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .sandbox import (
    MS_BIND, MS_RDONLY, MS_REMOUNT, Mounted, mount, require, skip, unmount_below, wait_until,
)  # fmt: skip

BLKIO = Path("/sys/fs/cgroup/blkio")


@contextmanager
def small_tmpfs(folder: Path, size: int) -> Iterator[Mounted]:
    """A file system in memory that holds `size` bytes: more is "no space left on device"."""
    point = folder / "small"
    point.mkdir(parents=True)
    try:
        mount("none", point, "tmpfs", options=f"size={size}")
        yield Mounted(point, "tmpfs", {"size": size})
    finally:
        unmount_below(point)


@contextmanager
def read_only_bind(folder: Path) -> Iterator[Mounted]:
    """A directory with one file, `existing`, on a read-only mount: not even root may write."""
    origin, point = folder / "origin", folder / "read-only"
    origin.mkdir(parents=True)
    point.mkdir()
    (origin / "existing").write_text("written before it became read-only\n")
    try:
        mount(str(origin), point, None, MS_BIND)
        mount("none", point, None, MS_REMOUNT | MS_BIND | MS_RDONLY)
        yield Mounted(point, "read-only bind", {"origin": origin})
    finally:
        unmount_below(point)


@contextmanager
def throttled_disk(folder: Path, writes_per_second: int, size: int = 64 << 20) -> Iterator[Mounted]:
    """An ext4 file system on a loop device with a limited number of writes per second.

    The limit applies to a control group into which the session moves, so no other process is affected. If the
    session is killed, only an empty group remains.
    """
    require({"losetup": "mount", "mke2fs": "e2fsprogs"})
    if not (BLKIO / "cgroup.procs").exists():
        skip("this kernel offers no blkio control group (version 1)")
    point = folder / "slow"
    point.mkdir(parents=True)
    image = _image(folder / "slow.image", size)
    _output("mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", image)
    device = _loop_device(image)
    group = BLKIO / f"lastrank-tests-{os.getpid()}"
    group.mkdir()
    before = BLKIO / _blkio_group().lstrip("/")
    try:
        try:
            mount(device, point, "ext4")
        finally:
            # The kernel detaches the device as soon as it is no longer mounted.
            _output("losetup", "--detach", device)
        number = Path(f"/sys/block/{Path(device).name}/dev").read_text().strip()
        (group / "blkio.throttle.write_iops_device").write_text(f"{number} {writes_per_second}\n")
        (group / "cgroup.procs").write_text(str(os.getpid()))
        yield Mounted(point, "ext4", {"writes_per_second": writes_per_second, "device": device})
    finally:
        (before / "cgroup.procs").write_text(str(os.getpid()))
        unmount_below(point)
        group.rmdir()
        _wait_until_free(device, image)


@contextmanager
def xfs_disk(folder: Path) -> Iterator[Mounted]:
    """An XFS file system on a loop device: files may share blocks there."""
    require({"losetup": "mount", "mkfs.xfs": "xfsprogs"})
    point = folder / "xfs"
    point.mkdir(parents=True)
    # The least that mkfs.xfs makes.
    image = _image(folder / "xfs.image", 300 << 20)
    _output("mkfs.xfs", "-q", "-m", "reflink=1", image)
    device = _loop_device(image)
    try:
        try:
            mount(device, point, "xfs")
        except OSError as error:
            skip(f"this machine has no XFS ({error})")
        finally:
            _output("losetup", "--detach", device)
        yield Mounted(point, "xfs", {"device": device})
    finally:
        unmount_below(point)
        _wait_until_free(device, image)


def _image(image: Path, size: int) -> Path:
    with open(image, "wb") as file:
        file.truncate(size)
    return image


def _loop_device(image: Path) -> str:
    try:
        return _output("losetup", "--find", "--show", image)
    except RuntimeError as error:
        skip(f"this machine forbids loop devices ({error})")


def _wait_until_free(device: str, image: Path) -> None:
    backing = Path(f"/sys/block/{Path(device).name}/loop/backing_file")
    wait_until(lambda: not backing.exists() or str(image) not in backing.read_text(), f"{device} is not free", 20)


def _output(*command: object) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=30)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout.strip()


def _blkio_group() -> str:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "blkio" in controllers.split(","):
            return path
    return "/"
