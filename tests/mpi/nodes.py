"""Makes nodes of one machine: mount namespaces, each with a `/dev/shm` of its own."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = os.geteuid() == 0
HOLD = 'mount -t tmpfs none /dev/shm && echo ready && exec sleep 1000'


class Nodes:
    """Namespaces that last until they are left; ranks are dealt out to them in blocks."""

    def __init__(self, count: int, ranks_each: int, folder: Path) -> None:
        self.count, self.ranks_each, self.folder = count, ranks_each, folder
        self.holders: list[subprocess.Popen[str]] = []

    def __enter__(self) -> "Nodes":
        words = ["unshare", "-m"] if ROOT else ["unshare", "-r", "-m"]
        for _ in range(self.count):
            command = [*words, "--propagation", "private", "sh", "-c", HOLD]
            holder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            self.holders.append(holder)
            if holder.stdout is None or holder.stdout.readline() != "ready\n":
                self.__exit__()
                pytest.skip("this system allows no mount namespaces")
        return self

    def __exit__(self, *_: object) -> None:
        for holder in self.holders:
            holder.kill()
            holder.wait()

    def enter(self, program: Path) -> Path:
        """A script that does what `program` does, on the node of its rank."""
        script = self.folder / "on-node"
        pids = " ".join(str(holder.pid) for holder in self.holders)
        inside = f"cd {shlex.quote(str(self.folder))} && exec {shlex.quote(str(program))} \"$@\""
        user = "" if ROOT else '--user=/proc/$pid/ns/user --preserve-credentials '
        script.write_text(f"""#!/bin/sh
rank=${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}
set -- $((rank / {self.ranks_each} + 1)) "$@"
node=$1
shift
pid=$(echo {pids} | cut -d ' ' -f $node)
exec nsenter {user}--mount=/proc/$pid/ns/mnt -- sh -c {shlex.quote(inside)} sh "$@"
""")
        script.chmod(0o755)
        return script

    def shared(self, node: int) -> list[str]:
        """What lies in the `/dev/shm` of a node, by name."""
        holder = self.holders[node].pid
        user = [] if ROOT else [f"--user=/proc/{holder}/ns/user", "--preserve-credentials"]
        command = ["nsenter", *user, f"--mount=/proc/{holder}/ns/mnt", "--", "ls", "/dev/shm"]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.split()
