"""Tests the facts about the file system of a run."""

import json
import subprocess

from .measured import Lastrank
from .nfs import NfsClient
from .sandbox import Mounted


def place(output: str) -> dict:
    [described] = json.loads(output)["places"]
    return described


def test_gluster_tells_its_bricks(gluster: Mounted, lastrank: Lastrank) -> None:
    command = [lastrank.program, "machine", gluster.path, "--json"]
    described = place(subprocess.run(command, capture_output=True, text=True).stdout)
    assert described["file_system"] == "fuse.glusterfs"
    assert described["remote"]
    assert f"{len(gluster.details['bricks'])} bricks" in described["layout"]["text"]


def test_sshfs_tells_its_server(sshfs: Mounted, lastrank: Lastrank) -> None:
    command = [lastrank.program, "machine", sshfs.path, "--json"]
    described = place(subprocess.run(command, capture_output=True, text=True).stdout)
    assert described["file_system"] == "fuse.sshfs"
    assert described["remote"]
    assert described["mount"]["source"].startswith("root@")


def test_nfs_tells_its_version_and_what_its_operations_took(nfs: NfsClient, lastrank: Lastrank) -> None:
    nfs.run("dd", "if=/dev/zero", f"of={nfs.path}/counted", "bs=4k", "count=7", "oflag=sync")
    counted = nfs.run("sh", "-c", "grep WRITE: /proc/self/mountstats").stdout.split()
    described = nfs.run(lastrank.program, "machine", nfs.path, "--json")
    nfs.run("rm", f"{nfs.path}/counted")
    assert described.returncode in (0, 1), described.stderr
    told = place(described.stdout)
    assert told["file_system"] == "nfs"
    assert "vers=3" in told["nfs"]["options"]
    assert told["nfs"]["operations"]["WRITE"]["count"] == int(counted[1]) >= 7
