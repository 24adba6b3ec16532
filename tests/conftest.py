"""Fixtures: file systems and the lastrank under test."""

import contextlib
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from filesystems import delay, sandbox
from filesystems.directories import read_only_bind, small_tmpfs, throttled_disk, xfs_disk
from filesystems.ganesha import NfsServer, nfs_server
from filesystems.gluster import gluster_volume
from filesystems.measured import Lastrank
from filesystems.nfs import NfsClient, nfs_client
from filesystems.sandbox import Mounted
from filesystems.ssh import ssh_mount

ROOT = Path(__file__).resolve().parent.parent
LONG_TESTS = os.environ.get("LASTRANK_LONG_TESTS") == "1"


def strict(schema: Any) -> Any:
    """A JSON schema with every object closed that does not say that it is open: a field that it does not name is an error."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: strict(value) for key, value in schema.items()}
    if schema.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed


@pytest.fixture(autouse=True)
def no_width_of_a_terminal() -> None:
    """GNU readline, which the debugger of Python loads, sets these for child processes behind the back of `os.environ`."""
    for name in ("COLUMNS", "LINES"):
        if name not in os.environ:
            os.unsetenv(name)


@pytest.fixture(scope="session")
def program() -> Path:
    """The program under test, by itself."""
    program = Path(os.environ.get("LASTRANK_BIN", ROOT / "target" / "debug" / "lastrank")).resolve()
    if not program.is_file():
        pytest.skip("LASTRANK_BIN does not name the program (tests/all.py sets it)")
    return program


@pytest.fixture(scope="session")
def long_tests() -> bool:
    """Whether the tests use the sizes of the paper."""
    return LONG_TESTS


@pytest.fixture
def lastrank(tmp_path: Path) -> Lastrank:
    """The program under test, working in a folder of this test."""
    program = Path(os.environ.get("LASTRANK_BIN", ""))
    if not program.is_file():
        pytest.skip("LASTRANK_BIN does not name the program (tests/all.py sets it)")
    return Lastrank(program.resolve(), tmp_path)


@pytest.fixture(scope="session")
def mounts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder below which file systems are mounted, in a mount namespace of this session."""
    sandbox.require_root()
    folder = tmp_path_factory.mktemp("mounts")
    sandbox.make_session_mounts_private(folder)
    yield folder
    sandbox.unmount_below(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def place(mounts: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder of this test below `mounts`."""
    folder = Path(tempfile.mkdtemp(prefix=f"{request.node.originalname}-"[:40], dir=mounts))
    yield folder
    sandbox.unmount_below(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def gluster(mounts: Path) -> Iterator[Mounted]:
    """A mounted GlusterFS volume with shards: 4 bricks, or 16 in the long tests."""
    folder = mounts / "gluster"
    folder.mkdir()
    with gluster_volume(folder, bricks=16 if LONG_TESTS else 4, shard="4MB") as mounted:
        yield mounted


@pytest.fixture(scope="session")
def sshfs(mounts: Path) -> Iterator[Mounted]:
    """A directory mounted through sshfs from a server of its own; every write waits for the server."""
    folder = mounts / "sshfs"
    folder.mkdir()
    with ssh_mount(folder) as mounted:
        yield mounted


@pytest.fixture(scope="session")
def nfs(mounts: Path) -> Iterator[NfsClient]:
    """A machine (User-Mode Linux) whose kernel has mounted a directory by NFS."""
    folder = mounts / "nfs"
    folder.mkdir()
    with nfs_client(folder, memory="2G" if LONG_TESTS else "512M") as client:
        yield client


@pytest.fixture
def libnfs_server(place: Path) -> Iterator[NfsServer]:
    """An NFS server in user space, for the back end that needs no mount."""
    with nfs_server(place) as server:
        yield server


@pytest.fixture
def full_directory(place: Path) -> Iterator[Mounted]:
    """A tmpfs of 8 MiB: it is full after 8 MiB."""
    with small_tmpfs(place, 8 << 20) as mounted:
        yield mounted


@pytest.fixture
def read_only_directory(place: Path) -> Iterator[Mounted]:
    """A read-only directory with the file `existing`."""
    with read_only_bind(place) as mounted:
        yield mounted


@pytest.fixture
def xfs_directory(place: Path) -> Iterator[Mounted]:
    """A directory on XFS, where files may share blocks."""
    with xfs_disk(place) as mounted:
        yield mounted


@pytest.fixture
def slow_directory(place: Path) -> Iterator[Mounted]:
    """An ext4 on a loop device limited to 100 writes a second."""
    with throttled_disk(place, writes_per_second=100) as mounted:
        yield mounted


@pytest.fixture(scope="session")
def delayfs() -> Path:
    """The program of the file system with known delays."""
    return delay.build()


@pytest.fixture
def delayed(delayfs: Path, place: Path) -> Iterator[Callable[..., Mounted]]:
    """Mounts of known delays: `delayed({"write": "gev(2ms,300us,0.1)"}, faults=["write@9=EIO"], seed=1)`."""
    with contextlib.ExitStack() as mounted:
        numbers = itertools.count()

        def make(delays: dict[str, str], faults: Iterable[str] = (), seed: int = 1) -> Mounted:
            folder = place / str(next(numbers))
            return mounted.enter_context(
                delay.delayed_directory(delayfs, folder, delays, tuple(faults), seed)
            )

        yield make
