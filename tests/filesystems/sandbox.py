"""Creates namespaces for the daemons, addresses and mounts of a test, so that nothing outlives the test.

The test session has its own mount namespace: its mounts are invisible to others and disappear when the
session ends for any reason. Daemons run in a `Sandbox`: a network, process and mount namespace whose first
process waits for the end of a pipe. When the pipe closes (the fixture ends, or the session is killed), the
kernel kills every process of the sandbox and drops its addresses.
"""

import ctypes
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

CLONE_NEWNS = 0x00020000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE, MS_SHARED = 1, 32, 4096, 16384, 1 << 18, 1 << 20
MNT_FORCE, MNT_DETACH = 1, 2

libc = ctypes.CDLL(None, use_errno=True)


def skip(why: str) -> None:
    """Skip the current test with a reason."""
    pytest.skip(why)


def require_root() -> None:
    if os.geteuid() != 0:
        skip("mounting file systems needs root")


def require(commands: dict[str, str]) -> None:
    """Skip unless every command exists; the value is the Debian package that has it."""
    require_root()
    missing = sorted({package for command, package in commands.items() if not find(command)})
    if missing:
        skip(f"not installed: {', '.join(missing)} (apt-get install {' '.join(missing)})")


def find(command: str) -> str | None:
    """The path of a command, also if `PATH` lacks the sbin folders."""
    return shutil.which(command, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: Path, kind: str | None, flags: int = 0, options: str | None = None) -> None:
    """mount(2); raises OSError."""
    encoded = [text.encode() if text is not None else None for text in (source, str(target), kind)]
    data = options.encode() if options is not None else None
    _check(libc.mount(*encoded, ctypes.c_ulong(flags), data), f"mount {kind or 'again'} at {target}")


def unmount_below(folder: Path) -> None:
    """Detach every mount at or below `folder`, the innermost first. Does not wait for a dead server."""
    for _ in range(4):
        mounted = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
        ours = [path for path in mounted if path == str(folder) or path.startswith(f"{folder}/")]
        if not ours:
            return
        for path in reversed(ours):
            if libc.umount2(path.encode(), MNT_DETACH) != 0:
                libc.umount2(path.encode(), MNT_FORCE | MNT_DETACH)


def make_session_mounts_private(folder: Path) -> None:
    """Give this process a mount namespace of its own, in which only `folder` is shared with sandboxes."""
    require_root()
    try:
        _check(libc.unshare(CLONE_NEWNS), "unshare the mount namespace")
        mount("none", Path("/"), None, MS_REC | MS_PRIVATE)
        mount(str(folder), folder, None, MS_BIND)
        mount("none", folder, None, MS_SHARED)
    except OSError as error:
        skip(f"this machine forbids mounts ({error})")


def wait_until(ready: Callable[[], bool], what: str, seconds: float) -> None:
    """Poll until `ready()`; fail with `what` after `seconds`."""
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} after {seconds:.0f} s")
        time.sleep(0.05)


def is_mount_of(path: Path, kind: str) -> bool:
    """Whether a file system of this kind is mounted at `path`."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        if fields[4] == str(path):
            return fields[fields.index("-") + 1].startswith(kind)
    return False


class Sandbox:
    """A network, process and mount namespace with one address, below one folder of the session.

    `hide` lists folders of the machine (such as /run) that daemons inside see empty, and may fill.
    """

    address = "10.99.0.1"

    def __init__(self, folder: Path, hide: tuple[str, ...] = ()):
        require({"unshare": "util-linux", "nsenter": "util-linux", "ip": "iproute2"})
        self.folder = folder
        namespaces = ["--net", "--pid", "--mount", "--propagation", "unchanged", "--mount-proc"]
        self.keeper = subprocess.Popen(
            ["unshare", *namespaces, "--fork", "--kill-child", "sh", "-c", "echo ready; exec cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if self.keeper.stdout.readline() != "ready\n":
            why = self.keeper.stderr.read().strip()
            self.close()
            skip(f"this machine forbids namespaces ({why})")
        children = Path(f"/proc/{self.keeper.pid}/task/{self.keeper.pid}/children").read_text()
        self.first_process = int(children.split()[0])
        self.run("ip", "link", "set", "lo", "up")
        self.run("ip", "address", "add", f"{self.address}/24", "dev", "lo")
        for hidden in hide:
            Path(hidden).mkdir(parents=True, exist_ok=True)
            self.run("mount", "-t", "tmpfs", "none", hidden)

    def inside(self, *command: object) -> list[str]:
        """The command line that runs `command` in this sandbox."""
        enter = ["nsenter", f"--target={self.first_process}", "--net", "--pid", "--mount", "--"]
        return [*enter, *map(str, command)]

    def run(self, *command: object, seconds: int = 30, **keywords) -> subprocess.CompletedProcess:
        """Run a command to its end, and kill it after `seconds`. Raises with its output if it fails."""
        bounded = self.inside("timeout", "--kill-after=1", seconds, *command)
        done = subprocess.run(bounded, stdin=subprocess.DEVNULL, capture_output=True, text=True, **keywords)
        if done.returncode != 0:
            words = f"{done.stdout}{done.stderr}".strip() or "no output"
            raise RuntimeError(f"{' '.join(map(str, command))}: exit status {done.returncode}: {words}")
        return done

    def start(self, *command: object, log: str) -> subprocess.Popen:
        """Start a daemon that stays in the foreground; its output goes to `log` in the folder."""
        with open(self.folder / log, "wb") as output:
            return subprocess.Popen(
                self.inside(*command), stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def log(self, name: str, lines: int = 20) -> str:
        """The last lines of a log, for messages of failed tests."""
        path = self.folder / name
        text = path.read_text(errors="replace") if path.exists() else "(no log)"
        return "\n".join(text.splitlines()[-lines:])

    def close(self) -> None:
        """Kill all processes inside. The time is bounded, since the kernel kills them."""
        if self.keeper.stdin:
            self.keeper.stdin.close()
        try:
            self.keeper.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.keeper.kill()
            self.keeper.wait(timeout=5)
        self.keeper.stdout.close()
        self.keeper.stderr.close()


@dataclass
class Mounted:
    """A mounted directory for a test; its content is removed with the fixture."""

    path: Path
    kind: str
    details: dict = field(default_factory=dict)

    def __fspath__(self) -> str:
        return str(self.path)
