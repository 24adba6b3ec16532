"""Applications that are recorded, imported and replayed: what each needs, how its directory is prepared, its command.

`trial` does all of it for one application and returns what it found: failures, other operations or bytes, another tree.
"""

import ctypes
import os
import pwd
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

LONGEST_SECONDS = 240

THREADS = """
import threading
def work(k):
    for i in range(5):
        with open(f"t{k}-{i}", "wb", buffering=0) as f:
            for _ in range(3): f.write(b"x" * 4096)
workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
[one.start() for one in workers]
[one.join() for one in workers]
"""

# Open MPI's library by its own symbols: no compiler and no header is needed.
MPI_IO = """
from ctypes import *
mpi = CDLL("libmpi.so.40", mode=RTLD_GLOBAL)
handle = lambda name: c_void_p(addressof(c_char.in_dll(mpi, name)))
world, byte, no_info = handle("ompi_mpi_comm_world"), handle("ompi_mpi_byte"), handle("ompi_mpi_info_null")
rank, size, file = c_int(), c_int(), c_void_p()
mpi.MPI_Init(None, None)
mpi.MPI_Comm_rank(world, byref(rank))
mpi.MPI_Comm_size(world, byref(size))
block = create_string_buffer(65536)
create, read_write = 1, 8
assert mpi.MPI_File_open(world, b"shared.dat", create | read_write, no_info, byref(file)) == 0
for part in range(8):
    at = c_longlong((part * size.value + rank.value) * 65536)
    assert mpi.MPI_File_write_at_all(file, at, block, 65536, byte, None) == 0
assert mpi.MPI_File_sync(file) == 0
for part in range(8):
    at = c_longlong((part * size.value + (rank.value + 1) % size.value) * 65536)
    assert mpi.MPI_File_read_at(file, at, block, 65536, byte, None) == 0
assert mpi.MPI_File_close(byref(file)) == 0
mpi.MPI_Finalize()
"""

FIO_JOB = """
[global]
ioengine=libaio
direct=1
iodepth=8
size=256k
bs=4k
rw=randrw
fallocate=none
[four]
numjobs=4
"""


@dataclass(frozen=True)
class Application:
    """One application."""

    name: str
    needs: tuple[str, ...]
    command: tuple[str, ...]
    prepare: Callable[[Path], None] = lambda home: None


def source_tree(home: Path) -> None:
    """Thirty files of growing size two directories deep, and a link."""
    inner = home / "src" / "inner"
    inner.mkdir(parents=True)
    for number in range(30):
        (inner / f"f-{number:03}").write_bytes(b"7\n" * (250 * number))
    (inner / "link").symlink_to("f-001")


def archive(home: Path) -> None:
    source_tree(home)
    subprocess.run(["tar", "cf", "all.tar", "src"], cwd=home, check=True)
    shutil.rmtree(home / "src")


def git(home: Path, *words: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main", "-c", "gc.auto=0"]
    subprocess.run(["git", *identity, *words], cwd=home, check=True, stdout=subprocess.DEVNULL)


def repository(home: Path) -> None:
    work = home / "origin"
    work.mkdir()
    source_tree(work)
    git(work, "init", "-q")
    for number in range(5):
        (work / "src" / f"new-{number}").write_text(f"{number}\n" * 100)
        git(work, "add", ".")
        git(work, "commit", "-q", "-m", f"change {number}")


def as_postgres() -> tuple[str, ...]:
    """The server refuses to run as root."""
    return ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups") if os.geteuid() == 0 else ()


def postgres_binaries() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else Path("/nonexistent")


def database(home: Path) -> None:
    if os.geteuid() == 0:
        for folder in (home, home.parent):
            os.chmod(folder, 0o755)
        postgres = pwd.getpwnam("postgres")
        os.chown(home, postgres.pw_uid, postgres.pw_gid)
    initdb = [*as_postgres(), postgres_binaries() / "initdb", "-D", home / "db", "-A", "trust", "-N"]
    subprocess.run(initdb, cwd=home, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def pgbench() -> tuple[str, ...]:
    server = postgres_binaries() / "pg_ctl"
    options = "-k $PWD -c listen_addresses= -c shared_buffers=1MB -c max_wal_senders=0 -c wal_level=minimal"
    client = "-h $PWD -U $(whoami) postgres"
    script = (
        f'{server} -D db -w -o "{options}" -l log start >/dev/null && pgbench -q -i -s 1 {client} 2>/dev/null && '
        f"pgbench -n -c 2 -t 20 {client} >/dev/null 2>&1; {server} -D db -m fast stop >/dev/null"
    )
    return (*as_postgres(), "sh", "-c", script)


def fio_job(home: Path) -> None:
    (home / "job.fio").write_text(FIO_JOB)


def mpi_program(home: Path) -> None:
    (home.parent / "mpi_io.py").write_text(MPI_IO)


SHELL = (
    "mkdir out; for i in 1 2 3 4 5 6; do cat src/inner/f-00$i > out/a$i; mv out/a$i out/b$i; done; "
    "cp -r out out2; cat src/inner/f-010 src/inner/f-011 | cat > out/piped; rm out/b1"
)
SQL = (
    "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT); WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c "
    "WHERE x<200000) INSERT INTO t SELECT x, hex(x*12345) || 'padding of a row' FROM c; SELECT count(*) FROM t;"
)
INSERTS = "for i in $(seq 200); do echo \"INSERT INTO t(b) VALUES('row $i');\"; done"

APPLICATIONS = [
    Application("sqlite bulk insert", ("sqlite3",), ("sqlite3", "t.db", SQL)),
    Application(
        "sqlite 200 transactions",
        ("sqlite3",),
        ("sh", "-c", f"(echo 'CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);'; {INSERTS}) | sqlite3 t.db"),
    ),
    Application("tar c", ("tar",), ("tar", "cf", "all.tar", "src"), source_tree),
    Application("tar x", ("tar",), ("tar", "xf", "all.tar"), archive),
    Application("cp -r", ("cp",), ("cp", "-r", "src", "copy"), source_tree),
    Application("grep -r", ("grep",), ("grep", "-r", "-c", "7", "src"), source_tree),
    Application("shell pipeline", ("sh", "cat", "mv", "cp"), ("sh", "-c", SHELL), source_tree),
    Application("four threads", ("python3",), (sys.executable, "-S", "-c", THREADS)),
    Application("git clone", ("git",), ("git", "clone", "-q", "--no-local", "origin", "clone"), repository),
    Application("git gc", ("git",), ("git", "-C", "origin", "gc", "-q"), repository),
    Application("PostgreSQL under pgbench", ("psql", "pgbench", "setpriv"), pgbench(), database),
    Application("fio four jobs depth 8", ("fio",), ("fio", "--output=/dev/null", "job.fio"), fio_job),
    Application(
        "fio io_uring depth 8",
        ("fio", "io_uring"),
        tuple("fio --name=a --size=1m --ioengine=io_uring --iodepth=8 --rw=randrw --bs=4k --output=/dev/null".split()),
    ),
    Application(
        "MPI-IO",
        ("mpirun.openmpi",),
        ("mpirun.openmpi", "--oversubscribe", "-n", "2", sys.executable, "-S", "../mpi_io.py"),
        mpi_program,
    ),
]


@dataclass
class Found:
    """What a trial found."""

    failed: list[str] = field(default_factory=list)
    calls: int = 0
    lines: int = 0
    more_opens: int = 0
    fidelity: str = ""
    program: str = ""


def tree(folder: Path) -> dict[str, str]:
    """Names below a directory with kind and size; links with their text."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name, status = str(path.relative_to(folder)), path.lstat()
        if stat.S_ISDIR(status.st_mode):
            found[name] = "directory"
        elif stat.S_ISLNK(status.st_mode):
            found[name] = f"link to {os.readlink(path)}"
        elif stat.S_ISREG(status.st_mode):
            found[name] = f"{status.st_size} bytes"
    return found


def differences(before: dict[str, str], after: dict[str, str], replayed: dict[str, str]) -> list[str]:
    """How the tree of a replay differs: what the application did not touch need not be there."""
    other = [
        f"{name}: {what}, the application left {after.get(name, 'nothing')}"
        for name, what in replayed.items()
        if after.get(name) != what
    ]
    made = {name: what for name, what in after.items() if before.get(name) != what}
    return other + [f"{name} is missing, the application made {what}" for name, what in made.items() if name not in replayed]


def run(lastrank: Path, folder: Path, *words: object) -> subprocess.CompletedProcess:
    command = [str(word) for word in (lastrank, *words)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(
        command,
        cwd=folder,
        env=environment | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=LONGEST_SECONDS,
        check=False,
    )


def unaccounted(recorded: str, imported: str) -> list[str]:
    """What is wrong where calls that were recorded are neither done, told to be left out, nor those of processes."""
    number = lambda text: int(text.replace(",", ""))  # noqa: E731
    whole = re.search(r"Recorded ([\d,]+) calls?", recorded)
    calls = number(whole[1]) if whole else 0
    # Those that Linux counted and the recorder did not see are no recorded ones.
    linux = re.search(r"([\d,]+) × reads or writes that Linux counted", imported)
    unseen = number(linux[1]) if linux else 0
    told = re.findall(r"^(?:repeated exactly|nearly|not repeated|of processes[^:]*): ([\d,]+)", imported, re.MULTILINE)
    left = re.findall(r"([\d,]+) calls on (?:files elsewhere|files of the system|/proc)", imported)
    accounted = sum(number(one) for one in told + left) - unseen
    return [] if accounted == calls else [f"import tells of {accounted} of {calls} calls: {imported}"]


def trial(lastrank: Path, application: Application, folder: Path, recorder: tuple[str, ...] = ()) -> Found:
    """Records an application in `folder`/home, imports and replays it in an empty directory, and compares."""
    found = Found()
    home = folder / "home"
    home.mkdir()
    application.prepare(home)
    before = tree(home)
    recorded = run(lastrank, home, "record", *recorder, "-o", folder / "app.parquet", "--", *application.command)
    # Only the import knows which directory counts: elsewhere files may change in ways that no program repeats.
    elsewhere = recorded.returncode == 3 and "in ways that no program repeats" in recorded.stderr
    if recorded.returncode != 0 and not elsewhere:
        found.failed.append(f"record: {recorded.stderr}")
        return found
    after = tree(home)
    imported = run(lastrank, folder, "import", "app.parquet", "-o", "app.ppl", "--only", home, "-v")
    if imported.returncode != 0:
        found.failed.append(f"import: {imported.stderr}")
        return found
    counts = re.search(r": ([\d,]+) operations in ([\d,]+) lines", imported.stderr)
    found.calls, found.lines = (int(one.replace(",", "")) for one in counts.groups())
    found.failed += unaccounted(recorded.stderr, imported.stderr)
    found.program = (folder / "app.ppl").read_text()
    more = re.search(r"(\d+) more opens", found.program)
    found.more_opens = int(more[1]) if more else 0
    replay = ("replay", "app.ppl", "-o", "replay.parquet", "--as-fast-as-possible", "--set", "dir=elsewhere")
    replayed = run(lastrank, folder, *replay)
    if replayed.returncode != 0:
        found.failed.append(f"replay: {replayed.stderr[-2000:]}{replayed.stdout[-1000:]}")
        return found
    compared = ("--only", home, "--tree", "elsewhere", "--html", "fidelity.html")
    alike = run(lastrank, folder, "fidelity", "app.parquet", "replay.parquet", *compared)
    found.fidelity = alike.stdout
    if alike.returncode != 0:
        found.failed.append(f"fidelity: {alike.stdout}{alike.stderr}")
    found.failed += differences(before, after, tree(folder / "elsewhere"))[:20]
    return found


def has_io_uring() -> bool:
    """Whether this system lets processes set up rings; containers often do not."""
    setup, parameters = 425, ctypes.create_string_buffer(120)
    ring = ctypes.CDLL(None, use_errno=True).syscall(setup, 1, parameters)
    if ring >= 0:
        os.close(ring)
    return ring >= 0


def missing(application: Application) -> list[str]:
    """What an application needs and is not there: programs, io_uring."""
    there = {"io_uring": has_io_uring}
    return [name for name in application.needs if not there.get(name, lambda name=name: shutil.which(name))()]
