"""Which file systems, and which lastrank, can a test ask for?"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from filesystems import sandbox
from filesystems.gluster import gluster_volume
from filesystems.sandbox import Mounted

LONG_TESTS = os.environ.get("LASTRANK_LONG_TESTS") == "1"


@pytest.fixture(scope="session")
def mounts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder below which file systems are mounted, in a mount namespace of this session."""
    sandbox.require_root()
    folder = tmp_path_factory.mktemp("mounts")
    sandbox.make_session_mounts_private(folder)
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
