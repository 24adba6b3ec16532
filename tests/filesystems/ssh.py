"""Mounts a directory through sshfs from an SSH server that the test starts.

Server, keys and address belong to the sandbox: nothing of the user's SSH set-up is read or changed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .sandbox import Mounted, Sandbox, find, is_mount_of, require, unmount_below, wait_until

PACKAGES = {"sshd": "openssh-server", "ssh-keygen": "openssh-client", "sshfs": "sshfs"}
PORT = 2222


@contextmanager
def ssh_mount(folder: Path) -> Iterator[Mounted]:
    """Mount `folder/served` through SSH, with synchronous writes (as a client that waits for its server)."""
    require(PACKAGES)
    sandbox = Sandbox(folder, hide=("/run",))
    served, point = folder / "served", folder / "mounted"
    served.mkdir()
    point.mkdir()
    try:
        for key in ("host", "user"):
            sandbox.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key)
        authorized = folder / "authorized_keys"
        authorized.write_bytes((folder / "user.pub").read_bytes())
        authorized.chmod(0o600)
        sandbox.run("mkdir", "-p", "/run/sshd")
        sandbox.start(
            find("sshd"), "-D", "-e", "-f", "/dev/null", "-p", PORT, "-h", folder / "host",
            "-o", f"ListenAddress={sandbox.address}", "-o", f"AuthorizedKeysFile={authorized}",
            "-o", "PermitRootLogin=yes", "-o", "StrictModes=no", "-o", "PidFile=none",
            "-o", "Subsystem=sftp internal-sftp",
            log="sshd.log",
        )  # fmt: skip
        wait_until(
            lambda: "Server listening" in sandbox.log("sshd.log"), "the SSH server does not listen", 10
        )
        options = (
            f"port={PORT},IdentityFile={folder / 'user'},IdentitiesOnly=yes,sshfs_sync,allow_other,"
            "StrictHostKeyChecking=no,UserKnownHostsFile=/dev/null,BatchMode=yes,ConnectTimeout=5"
        )
        try:
            sandbox.run("sshfs", "-F", "/dev/null", "-o", options, f"root@{sandbox.address}:{served}", point)
        except RuntimeError as error:
            raise RuntimeError(f"{error}\nserver: {sandbox.log('sshd.log')}") from None
        wait_until(lambda: is_mount_of(point, "fuse.sshfs"), "sshfs is not mounted", 10)
        yield Mounted(point, "sshfs", {"served": served})
    finally:
        unmount_below(point)
        sandbox.close()
