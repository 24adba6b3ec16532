"""Tests the calls in which ranks send each other bytes: their samples, their contents, their refusals, and the shipped program."""

import json
import subprocess
from pathlib import Path

import pandas
import pytest

from .launchers import NAMES, Launcher, assert_nothing_left, launcher

CALLS = ("broadcast", "allreduce", "alltoall", "exchange")
# Sizes below, at and beyond what a library sends at once; what a rank is said to have moved beside each.
MOVED = {
    "broadcast": lambda size, ranks: size,
    "allreduce": lambda size, ranks: size,
    "alltoall": lambda size, ranks: size * ranks,
    "exchange": lambda size, ranks: 2 * size,
}
SIZES = (0, 8, 1000, 262144)
PROGRAM = "\n".join(
    f'time["{size}"] repeat 20 {{ {" ".join(f"{call}({size});" for call in CALLS)} broadcast({size}, $$size - 1); }}'
    for size in SIZES
)
IN_GROUPS = """
define groups {"left":D, "right":D};
group "left" { repeat 9 allreduce(8); }
group "right" { repeat 7 { exchange(100); alltoall(3); } }
barrier;
broadcast(1, 1);
"""


def run(by: Launcher, ranks: int, folder: Path, text: str, *words: str) -> tuple[subprocess.CompletedProcess, Path]:
    program, output = folder / "program.ppl", folder / "run.parquet"
    program.write_text(text)
    done = by.lastrank("run", ranks, program, "--report", "none", "-o", output, *words)
    return done, output


@pytest.fixture(params=["mpich", "openmpi"])
def library(request: pytest.FixtureRequest) -> Launcher:
    """A launcher of either family."""
    return launcher(request.param)


CASES = [(name, 3) for name in NAMES if name != "processes"] + [("mpich", 1), ("openmpi", 1)]


@pytest.mark.parametrize(("name", "ranks"), CASES)
def test_each_call_of_each_rank_is_a_sample_and_brings_the_right_bytes(tmp_path: Path, name: str, ranks: int) -> None:
    done, output = run(launcher(name), ranks, tmp_path, PROGRAM)
    assert done.returncode == 0, done.stdout + done.stderr
    table = pandas.read_parquet(output)
    table = table[table.kind == "operation"]
    for call in CALLS:
        of_call = table[table.operation == call]
        times = 40 if call == "broadcast" else 20
        for size in SIZES:
            of_size = of_call[of_call.label == str(size)]
            assert len(of_size) == times * ranks, (call, size)
            assert set(of_size.bytes) == {MOVED[call](size, ranks)}, (call, size)
    assert (table.errno == 0).all()


def test_groups_communicate_by_themselves(library: Launcher, tmp_path: Path) -> None:
    done, output = run(library, 5, tmp_path, IN_GROUPS, "-g", "left:2", "-g", "right:3")
    assert done.returncode == 0, done.stdout + done.stderr
    table = pandas.read_parquet(output)
    counts = table[table.kind == "operation"].groupby(["operation", "rank"]).size()
    assert [counts["allreduce"].to_dict(), counts["exchange"].to_dict()] == [{0: 9, 1: 9}, {2: 7, 3: 7, 4: 7}]
    assert set(table[table.operation == "alltoall"].bytes) == {9} and len(counts["broadcast"]) == 5


def test_what_mpi_cannot_send_fails_with_a_reason(library: Launcher, tmp_path: Path) -> None:
    text = "expect errno == EINVAL { allreduce(12); broadcast(8, 2); exchange(2GiB); }\nalltoall(8);"
    done, output = run(library, 2, tmp_path, text)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(pandas.read_parquet(output).query("kind == 'operation'").errno) == [0, 0] + [22] * 6
    done, _ = run(library, 2, tmp_path, "allreduce(12);")
    assert done.returncode == 3 and "allreduce" in done.stderr, done.stdout + done.stderr


def test_a_rank_that_dies_leaves_nobody_in_a_call(library: Launcher, tmp_path: Path) -> None:
    killer = tmp_path / "killer"
    killer.write_text("#!/bin/sh\nkill -KILL $PPID\n")
    killer.chmod(0o755)
    text = f'repeat $i 1000 {{ allreduce(8); if ($i == 100 && $$rank == 1) spawn("{killer}"); }}'
    done, _ = run(library, 3, tmp_path, text, "--allow-spawn")
    assert done.returncode != 0 and "rank 1 was killed by SIGKILL" in done.stderr, done.stdout + done.stderr
    assert_nothing_left(tmp_path)


def test_the_shipped_program_fits_the_slowest_rank_of_each_call(library: Launcher, tmp_path: Path) -> None:
    for operation in ("barrier", *CALLS):
        sets = ["--set", f"operation={operation}", "--set", "size=1KiB", "--set", "repeat=60", "--set", "warm_up=5"]
        words = (*sets, "-o", tmp_path / f"{operation}.parquet", "--report", "none", "--json")
        done = library.lastrank("run", 2, "communication", *words)
        assert done.returncode == 0, done.stdout + done.stderr
        found = json.loads(done.stdout)
        assert found["subject"]["gate"] and found["subject"]["name"], found["subject"]
        assert found["targets"]["steps"] == 60 and found["targets"]["m"] == 2, operation
        assert found["tail"]["assessment"]["n"] == 60, operation
        assert [one["assumption"] for one in found["assumptions"]][:2] == ["independent", "one_to_many"]


def test_without_mpi_nothing_is_measured_and_the_way_out_is_told(tmp_path: Path) -> None:
    done, output = run(launcher("processes"), 2, tmp_path, "barrier;\nexchange(8);")
    assert done.returncode == 2 and not output.exists(), done.stdout + done.stderr
    assert "line 2: `exchange` is a call of MPI" in done.stderr and "mpirun -n 4 lastrank run" in done.stderr
    shipped = launcher("processes").lastrank("run", 2, "communication", "-o", output)
    assert shipped.returncode == 2 and "mpirun -n 4 lastrank run communication" in shipped.stderr
    simulated = launcher("processes").lastrank(
        "run", 2, "communication", "--backend", "simulate:gev(10us,1us,0.1)", "-o", output, "--report", "none"
    )
    assert simulated.returncode == 0, simulated.stdout + simulated.stderr
