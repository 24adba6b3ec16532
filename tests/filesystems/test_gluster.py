"""Does lastrank measure a real parallel file system?"""

import os
from pathlib import Path

from .sandbox import Mounted


def shards(brick: Path) -> list[Path]:
    return list((brick / ".shard").glob("*.*"))


def test_a_file_is_spread_over_the_bricks(gluster: Mounted) -> None:
    file = gluster.path / "spread"
    file.write_bytes(os.urandom(64 << 20))
    counts = [len(shards(brick)) for brick in gluster.details["bricks"]]
    assert sum(counts) == 15
    assert sum(count > 0 for count in counts) > 1
    file.unlink()
