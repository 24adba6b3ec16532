"""Tests that the volume distributes a file over its bricks, as a parallel file system does."""

import os
from pathlib import Path

from .sandbox import Mounted


def shards(mounted: Mounted) -> dict[Path, set[str]]:
    """The names of the shards on each brick."""
    return {brick: {path.name for path in (brick / ".shard").glob("*.*")} for brick in mounted.details["bricks"]}


def test_a_file_is_spread_over_the_bricks(gluster: Mounted) -> None:
    # Shards of deleted files are removed later, in the background, so only new ones are counted.
    before = shards(gluster)
    file = gluster.path / "spread"
    file.write_bytes(os.urandom(64 << 20))
    counts = [len(names - before[brick]) for brick, names in shards(gluster).items()]
    assert sum(counts) == 15
    assert sum(count > 0 for count in counts) > 1
    file.unlink()
