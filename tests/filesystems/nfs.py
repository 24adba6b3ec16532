"""Runs a program on a kernel NFS client, even if this machine's kernel has none.

User-Mode Linux is a Linux kernel that runs as an ordinary process. Inside it run the kernel's NFS server and
the kernel's NFS client, with `netem` between them; it uses the host's root directory, so the same programs
are available. It is suitable for testing behaviour, not speed: each system call costs tens of microseconds.
On request it also has an ext4 file system of its own: a disk that is a sparse file of the host.
"""

import selectors
import shlex
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from .sandbox import Sandbox, find, require, skip

PACKAGES = {
    "linux.uml": "user-mode-linux",
    "rpc.nfsd": "nfs-kernel-server",
    "mount.nfs": "nfs-common",
    "rpcbind": "rpcbind",
    "modprobe": "kmod",
}
MODULES = Path("/usr/lib/uml/modules")
INIT = Path(__file__).parent / "nfs_init.sh"


@dataclass
class NfsClient:
    """A machine with an NFS mount: `path` is the mounted directory *inside*; `work` is shared with it.

    `disk` is where its own ext4 file system is mounted inside, if it has one.
    """

    kernel: subprocess.Popen
    work: Path
    path: Path = Path("/mnt/nfs")
    work_inside: Path = Path("/mnt/work")
    disk: Path | None = None
    jobs: int = 0
    console: list[str] = field(default_factory=list)

    def run(self, *command: object, seconds: float = 60) -> subprocess.CompletedProcess:
        """Run a command inside to its end; its working directory is `work`."""
        self.jobs += 1
        bounded = shlex.join(["timeout", "--kill-after=1", str(seconds), *map(str, command)])
        (self.work / f"job-{self.jobs}.sh").write_text(f"exec {bounded}\n")
        self.kernel.stdin.write(f"{self.jobs}\n".encode())
        self.kernel.stdin.flush()
        status = int(self.wait_for(f"DONE {self.jobs} ", seconds + 20))
        out, err = ((self.work / f"job-{self.jobs}.{kind}").read_text() for kind in ("out", "err"))
        return subprocess.CompletedProcess(list(command), status, out, err)

    def delay(self, each_way: str) -> None:
        """Delay every packet, such as by "1ms"; requests and replies both pass here."""
        done = self.run("tc", "qdisc", "replace", "dev", "lo", "root", "netem", "delay", each_way)
        if done.returncode != 0:
            raise RuntimeError(f"netem: {done.stderr}")

    def wait_for(self, word: str, seconds: float) -> str:
        """Read the console until a line begins with `word`; the rest of that line."""
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as ready:
            ready.register(self.kernel.stdout, selectors.EVENT_READ)
            while ready.select(max(0.0, deadline - time.monotonic())):
                line = self.kernel.stdout.readline().decode(errors="replace").strip()
                self.console.append(line)
                if line.startswith(word):
                    return line.removeprefix(word)
                if line.startswith("FAILED") or (not line and self.kernel.poll() is not None):
                    break
        last = "\n".join(self.console[-20:])
        raise RuntimeError(f"User-Mode Linux did not say {word.strip()!r} within {seconds:.0f} s:\n{last}")


def formatted_disk(folder: Path, size: str) -> Path:
    """An empty ext4 file system in a sparse file."""
    image = folder / "disk.img"
    # Lazily, the kernel would go on formatting after the mount.
    eager = "lazy_itable_init=0,lazy_journal_init=0"
    # It says that it creates the file even if it shall be quiet.
    subprocess.run([find("mkfs.ext4"), "-q", "-E", eager, image, size], check=True, stdout=subprocess.DEVNULL)
    return image


@contextmanager
def nfs_client(folder: Path, memory: str = "512M", disk: str | None = None) -> Iterator[NfsClient]:
    """Boot the machine; it serves from its memory, so `memory` bounds what can be written.

    With `disk`, a size such as "1G", it also has an ext4 file system of that size.
    """
    require(PACKAGES | ({"mkfs.ext4": "e2fsprogs"} if disk else {}))
    versions = sorted(MODULES.iterdir()) if MODULES.exists() else []
    if not versions:
        skip(f"User-Mode Linux has no kernel modules below {MODULES}")
    work = folder / "work"
    (work / "modules" / "lib").mkdir(parents=True)
    (work / "modules" / "lib" / "modules").symlink_to(MODULES)
    devices = [f"ubd0={formatted_disk(folder, disk)}"] if disk else []
    sandbox = Sandbox(folder)
    kernel = subprocess.Popen(
        sandbox.inside(
            "linux.uml", f"mem={memory}", "rootfstype=hostfs", "rootflags=/", "ro", "quiet",
            f"init={INIT}", "con=null", "con0=fd:0,fd:1", f"uml_dir={folder}/", *devices, "--", work,
        ),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0,
    )  # fmt: skip
    try:
        client = NfsClient(kernel, work, disk=Path("/mnt/disk") if disk else None)
        try:
            client.wait_for("READY", 60)
        except RuntimeError as error:
            if any(line.startswith("FAILED") for line in client.console):
                raise
            skip(f"this machine does not run User-Mode Linux ({error})")
        yield client
    finally:
        sandbox.close()
        kernel.wait(timeout=10)
        kernel.stdin.close()
        kernel.stdout.close()
