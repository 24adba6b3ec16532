"""Starts and mounts GlusterFS with several bricks and sharding on one machine.

One server process a brick, all at one address of the sandbox (GlusterFS refuses 127.0.0.1). Files are
cut into shards that are spread over the bricks by hash, which is how this system stripes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .sandbox import Mounted, Sandbox, is_mount_of, require, unmount_below, wait_until

PACKAGES = {"glusterd": "glusterfs-server", "gluster": "glusterfs-client", "mount.glusterfs": "glusterfs-client"}
VOLUME = "striped"


@contextmanager
def gluster_volume(folder: Path, bricks: int, shard: str) -> Iterator[Mounted]:
    """Mount a volume with `bricks` bricks and shards of size `shard` (such as "4MB")."""
    require(PACKAGES)
    sandbox = Sandbox(folder, hide=("/var/lib/glusterd", "/var/log/glusterfs", "/run"))
    point = folder / "mounted"
    point.mkdir()
    try:
        address, mounted = sandbox.address, ("mount", "-t", "glusterfs", f"{sandbox.address}:/{VOLUME}", point)
        sandbox.run("mkdir", "-p", "/run/gluster", "/var/log/glusterfs/bricks")
        sandbox.start("glusterd", "--no-daemon", "--log-file", "-", log="glusterd.log")

        def gluster(*arguments: object) -> None:
            sandbox.run("gluster", "--mode=script", *arguments, seconds=60)

        def answers() -> bool:
            try:
                gluster("volume", "list")
            except RuntimeError:
                return False
            return True

        wait_until(answers, "glusterd does not answer", 120)
        places = [f"{address}:{folder}/brick{number:02d}" for number in range(bricks)]
        gluster("volume", "create", VOLUME, *places, "force")
        gluster("volume", "set", VOLUME, "features.shard", "on")
        gluster("volume", "set", VOLUME, "features.shard-block-size", shard)
        # On a disk that is nine tenths full, shards would be placed elsewhere, with a link where they are looked for.
        gluster("volume", "set", VOLUME, "cluster.min-free-disk", "1MB")
        gluster("volume", "start", VOLUME)
        sandbox.run(*mounted, seconds=30)
        wait_until(lambda: is_mount_of(point, "fuse.glusterfs"), "the volume is not mounted", 10)
        yield Mounted(point, "glusterfs", {"bricks": [folder / f"brick{n:02d}" for n in range(bricks)]})
    finally:
        unmount_below(point)
        sandbox.close()
