"""Tests that one binary works under every MPI and survives the death of a rank."""

import re
from pathlib import Path

import pytest

from .launchers import Launcher, launcher


def test_ranks_meet_and_exchange(started_by: Launcher, ranks: Path) -> None:
    done = started_by.run(4, ranks, "comm")
    assert "all good" in done.stdout, done.stdout + done.stderr
    assert started_by.library in done.stdout
    assert done.returncode == 0


def test_a_killed_rank_is_named_and_the_others_save_first(started_by: Launcher, ranks: Path) -> None:
    done = started_by.run(3, ranks, "die", 1)
    assert "rank 1 was killed by SIGKILL" in done.stdout, done.stdout + done.stderr
    if started_by.words:
        assert all(f"saved rank {rank}" in done.stdout for rank in range(3)), done.stdout
    assert done.returncode == 3


def test_a_rank_that_crashes_is_named_and_the_others_save_first(started_by: Launcher, ranks: Path) -> None:
    done = started_by.run(3, ranks, "crash", 2)
    assert "rank 2 was killed by SIGSEGV" in done.stdout, done.stdout + done.stderr
    if started_by.words:
        assert all(f"saved rank {rank}" in done.stdout for rank in range(3)), done.stdout
    assert done.returncode == 3


def test_an_abort_of_the_library_is_told_and_all_save_first(started_by: Launcher, ranks: Path) -> None:
    if not started_by.words:
        pytest.skip("there is no MPI_Abort without MPI")
    done = started_by.run(3, ranks, "abort", 1)
    assert all(f"saved rank {rank}" in done.stdout for rank in range(3)), done.stdout
    if "openmpi" in started_by.name:
        # Open MPI's mpirun ends with the status that was given to MPI_Abort.
        assert "rank 1 exited with status 7" in done.stdout, done.stdout + done.stderr
        assert done.returncode == 7
        return
    assert "rank 1 called MPI_Abort with status 7" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 3


def test_a_rank_that_fails_makes_the_others_leave(started_by: Launcher, ranks: Path) -> None:
    done = started_by.run(3, ranks, "fail", 0)
    assert "rank 0 gave up: write of /x: Input/output error" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("gave up") == 1
    assert done.returncode == 3


def test_a_rank_that_never_comes_is_missed(started_by: Launcher, ranks: Path) -> None:
    done = started_by.run(3, ranks, "--timeout", 1, "late", 2)
    # On a busy machine the limit of 1 s is noticed later.
    told = re.search(r"the barrier at line 1 timed out after \d+ s, rank 2 never came", done.stdout)
    assert told, done.stdout
    assert "rank 2 did not stop and was killed: it is at line 7" in done.stdout
    assert done.returncode == 3


def test_ranks_never_run_as_worlds_of_one(ranks: Path) -> None:
    mpich, openmpi = launcher("mpich"), launcher("openmpi")
    foreign = Path(openmpi.path).parent / "lib" / "libmpi.so.40"
    done = mpich.run(2, ranks, "--mpi", foreign, "comm")
    assert "says that there are 2 ranks" in done.stderr and "sees 1" in done.stderr, done.stderr
    assert "all good" not in done.stdout
    assert done.returncode == 2


@pytest.mark.parametrize("library", ["/nowhere/libmpi.so", "libm.so.6"])
def test_a_library_that_is_none_is_refused(ranks: Path, library: str) -> None:
    done = launcher("mpich").run(2, ranks, "--mpi", library, "comm")
    assert f"error: --mpi {library}" in done.stderr
    assert done.returncode == 2
