"""How does a test get a directory that is full, read-only or slow?"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .sandbox import (
    MS_BIND, MS_RDONLY, MS_REMOUNT, Mounted, mount, require, skip, unmount_below, wait_until,
)  # fmt: skip

THROTTLE = Path("/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device")


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
    """An ext4 file system on a loop device that the kernel lets write only so often a second."""
    require({"losetup": "mount", "mke2fs": "e2fsprogs"})
    if not THROTTLE.exists():
        skip("this kernel offers no blkio throttle (cgroup version 1)")
    point, image = folder / "slow", folder / "slow.image"
    point.mkdir(parents=True)
    with open(image, "wb") as file:
        file.truncate(size)

    def output(*command: object) -> str:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=30)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
        return done.stdout.strip()

    output("mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", image)
    try:
        device = output("losetup", "--find", "--show", image)
    except RuntimeError as error:
        skip(f"this machine forbids loop devices ({error})")
    number = Path(f"/sys/block/{Path(device).name}/dev").read_text().strip()
    try:
        mount(device, point, "ext4")
        THROTTLE.write_text(f"{number} {writes_per_second}\n")
        yield Mounted(point, "ext4", {"writes_per_second": writes_per_second, "device": device})
    finally:
        THROTTLE.write_text(f"{number} 0\n")
        unmount_below(point)
        backing = Path(f"/sys/block/{Path(device).name}/loop/backing_file")
        subprocess.run(["losetup", "--detach", device], timeout=30)
        wait_until(lambda: not backing.exists(), f"{device} is not free", 20)
