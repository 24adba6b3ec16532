"""Runs a program on a kernel NFS client, even if this machine's kernel has none.

User-Mode Linux is a Linux kernel that runs as an ordinary process. Inside it run the kernel's NFS server and
the kernel's NFS client, with `netem` between them; it uses the host's root directory, so the same programs
are available. It is suitable for testing behaviour, not speed: each system call costs tens of microseconds.
"""

import selectors
import shlex
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from .sandbox import Sandbox, require, skip

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
    """A machine with an NFS mount: `path` is the mounted directory *inside*; `work` is shared with it."""

    kernel: subprocess.Popen
    work: Path
    path: Path = Path("/mnt/nfs")
    work_inside: Path = Path("/mnt/work")
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


@contextmanager
def nfs_client(folder: Path, memory: str = "512M") -> Iterator[NfsClient]:
    """Boot the machine; it serves from its memory, so `memory` bounds what can be written."""
    require(PACKAGES)
    versions = sorted(MODULES.iterdir()) if MODULES.exists() else []
    if not versions:
        skip(f"User-Mode Linux has no kernel modules below {MODULES}")
    work = folder / "work"
    (work / "modules" / "lib").mkdir(parents=True)
    (work / "modules" / "lib" / "modules").symlink_to(MODULES)
    sandbox = Sandbox(folder)
    kernel = subprocess.Popen(
        sandbox.inside(
            "linux.uml", f"mem={memory}", "rootfstype=hostfs", "rootflags=/", "ro", "quiet",
            f"init={INIT}", "con=null", "con0=fd:0,fd:1", f"uml_dir={folder}/", "--", work,
        ),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0,
    )  # fmt: skip
    try:
        client = NfsClient(kernel, work)
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
