"""An NFS server in user space (NFS-Ganesha) that exports a directory of the test to clients in its sandbox."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .measured import Lastrank, Run
from .sandbox import Sandbox, require, wait_until

PACKAGES = {
    "ganesha.nfsd": "nfs-ganesha-vfs",
    "rpcbind": "rpcbind",
    "nfs-ls": "libnfs-utils",  # with the library that the back end loads
}
PORT, MOUNT_PORT = 20490, 20491
CONFIGURATION = """
NFS_CORE_PARAM {{
    NFS_Port = {port};
    MNT_Port = {mount_port};
    Protocols = 3;
    Enable_NLM = false;
    Enable_RQUOTA = false;
}}
NFSV4 {{ Graceless = true; }}
EXPORT {{
    Export_Id = 1;
    Path = {export};
    Pseudo = /export;
    Access_Type = RW;
    Squash = No_Root_Squash;
    SecType = sys;
    Transports = TCP;
    FSAL {{ Name = VFS; }}
}}
LOG {{ Default_Log_Level = EVENT; }}
"""


@dataclass
class NfsServer:
    """A server and what it exports: `export` is the directory on the disk, `url` its name for clients."""

    sandbox: Sandbox
    process: subprocess.Popen
    export: Path
    url: str

    def command(self, lastrank: Lastrank, program: Path, ranks: int = 1, arguments: str = "") -> list[str]:
        """The command line that runs a program beside the server; `arguments` are added to the URL."""
        run = lastrank.command(program, ranks)
        go = ("sh", "-c", 'cd "$0" && exec "$@"', lastrank.folder)
        return self.sandbox.inside(*go, *run, "--backend", f"{self.url}{arguments}")

    def run(self, lastrank: Lastrank, program: Path, ranks: int = 1, arguments: str = "") -> Run:
        """Run a program against the server to its end."""
        file = lastrank.folder / "run.parquet"
        file.unlink(missing_ok=True)
        command = self.command(lastrank, program, ranks, arguments)
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        return Run(done.returncode, done.stdout, done.stderr, file)

    def kill(self) -> None:
        """Kill the server; only the kernel closes its connections."""
        self.sandbox.run("sh", "-c", "kill -KILL $(cat /run/ganesha.pid)")


@contextmanager
def nfs_server(folder: Path) -> Iterator[NfsServer]:
    """Start the server on unprivileged ports; it exports an empty directory below `folder`."""
    require(PACKAGES)
    sandbox = Sandbox(folder, hide=("/run", "/var/lib/nfs"))
    export = folder / "export"
    export.mkdir(mode=0o777)
    export.chmod(0o777)
    configuration = folder / "ganesha.conf"
    configuration.write_text(CONFIGURATION.format(port=PORT, mount_port=MOUNT_PORT, export=export))
    try:
        sandbox.run("mkdir", "-p", "/run/rpcbind", "/run/ganesha")
        sandbox.start("rpcbind", "-f", log="rpcbind.log")
        wait_until(lambda: _succeeds(sandbox, "rpcinfo", "-T", "tcp", "127.0.0.1", "100000"), "no rpcbind", 10)
        log = ("-L", folder / "ganesha.log", "-p", "/run/ganesha.pid")
        process = sandbox.start("ganesha.nfsd", "-F", "-f", configuration, *log, log="ganesha.out")
        url = f"nfs://{sandbox.address}{export}?nfsport={PORT}&mountport={MOUNT_PORT}"
        try:
            wait_until(lambda: _succeeds(sandbox, "nfs-ls", url), "the NFS server does not answer", 30)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{sandbox.log('ganesha.log')}") from error
        yield NfsServer(sandbox, process, export, url)
    finally:
        sandbox.close()


def _succeeds(sandbox: Sandbox, *command: object) -> bool:
    try:
        sandbox.run(*command, seconds=5)
    except RuntimeError:
        return False
    return True
