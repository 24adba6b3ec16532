"""Builds and mounts the file system with known delays, and reads its log.

`delayfs` (a Rust program in this folder, in a separate workspace) delays each operation by a draw from a
stated distribution and logs it. What lastrank measured can then be compared with what was injected.
"""

import csv
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .measured import pinned, server_processor
from .sandbox import Mounted, is_mount_of, require_root, skip, unmount_below, wait_until

SOURCE = Path(__file__).parent / "delayfs"
ROOT = SOURCE.parent.parent.parent
LOG = ".delays.csv"
# What is written there decides when power is cut.
POWER = ".power"


@dataclass(frozen=True)
class Injected:
    """One operation as the file system saw it. Times in nanoseconds; `begin` counts from its start."""

    operation: str
    file: int
    begin: int
    drawn: int
    held: int
    bytes: int
    errno: int
    short: bool


def build() -> Path:
    """Compiles delayfs below the target folder, if it is not up to date."""
    require_root()
    if not os.access("/dev/fuse", os.W_OK):
        skip("this machine has no /dev/fuse")
    if not shutil.which("cargo"):
        skip("building delayfs needs cargo")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "delayfs"
    command = ["cargo", "build", "--quiet", "--locked", "--target-dir", str(target)]
    subprocess.run(command, cwd=SOURCE, check=True, timeout=300)
    return target / "debug" / "delayfs"


@contextmanager
def delayed_directory(
    program: Path, folder: Path, delays: dict[str, str], faults: tuple[str, ...] = (), seed: int = 1
) -> Iterator[Mounted]:
    """Mount delayfs with delays such as {"write": "gev(2ms,300us,0.1)"} and faults such as "write@9=EIO"."""
    point = folder / "delayed"
    point.mkdir(parents=True)
    options = [f"--delay={name}={text}" for name, text in delays.items()]
    command = [program, point, f"--seed={seed}", *options, *(f"--fault={fault}" for fault in faults)]
    # With a real-time priority if permitted, so that a delay ends on time.
    if shutil.which("chrt") and subprocess.run(["chrt", "-f", "1", "true"], capture_output=True).returncode == 0:
        command = [*pinned(server_processor()), "chrt", "-f", "1", *command]
    with open(folder / "delayfs.log", "wb") as output:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        wait_until(
            lambda: is_mount_of(point, "fuse") or server.poll() is not None, "delayfs is not mounted", 10
        )
        if server.poll() is not None:
            why = (folder / "delayfs.log").read_text().strip()
            if "ermission" in why or "not permitted" in why:
                skip(f"this machine forbids FUSE mounts ({why})")
            raise RuntimeError(why)
        yield Mounted(point, "delayfs", {"delays": delays, "seed": seed, "server": server.pid})
    finally:
        unmount_below(point)
        try:
            server.wait(timeout=5)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait(timeout=5)


def injected(mounted: Mounted, operation: str) -> list[Injected]:
    """All operations of this name so far, in the order in which they ended."""
    with open(mounted.path / LOG, newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["operation"] == operation]
    return [
        Injected(
            operation, int(row["file"]), int(row["begin_ns"]), int(row["drawn_ns"]), int(row["held_ns"]),
            int(row["bytes"]), int(row["errno"]), row["short"] == "1",
        )
        for row in rows
    ]  # fmt: skip
