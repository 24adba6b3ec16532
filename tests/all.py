#!/usr/bin/env python3
"""Installs what the tests need, then runs all of them: `python3 tests/all.py`.

Format, build and the wheel; then Rust tests (unit, property, snapshot, command line) and lints, beside them the tests of
MPI and of the Python package, and the Python tests that open run files and reports with other tools. Every step
runs, even if earlier ones failed; a summary names each step, each failed test and each skipped one with its reason, and ends with the
total. The exit status is 1 if anything failed. Everything is installed below `target/`, so nothing
outside the checkout changes; Debian packages are added only when this runs as root on a Debian machine.
"""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from steps import CargoTest, Pytest, Step, run_side_by_side, summary

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
VENV = TARGET / "test-venv"
DEBIAN_PACKAGES = {
    "chromium": "chromium",
    # tests/test_report_in_browser.py: what is on paper
    "pdftotext": "poppler-utils",
    # tests/filesystems: a parallel file system, an NFS server and client, sshfs
    "glusterd": "glusterfs-server",
    "mount.glusterfs": "glusterfs-client",
    "linux.uml": "user-mode-linux",
    "rpc.nfsd": "nfs-kernel-server",
    "rpcbind": "rpcbind",
    # tests/filesystems/test_libnfs.py: a server in user space, and the library with a program that needs it
    "ganesha.nfsd": "nfs-ganesha-vfs",
    "nfs-ls": "libnfs-utils",
    "sshd": "openssh-server",
    "sshfs": "sshfs",
    # tests/filesystems/test_calls.py: what is asked of a file system; the client machine loads modules
    "strace": "strace",
    "modprobe": "kmod",
    # tests/traces/test_clones.py: a file system whose files may share blocks
    "mkfs.xfs": "xfsprogs",
    # tests/traces: applications that are recorded and replayed
    "sqlite3": "sqlite3",
    "git": "git",
    "fio": "fio",
    "pgbench": "postgresql",
    # tests/mpi: two MPI versions beside those of PyPI
    "mpirun.mpich": "mpich",
    "mpirun.openmpi": "openmpi-bin",
}
START_NO_SERVICES = Path("/usr/sbin/policy-rc.d")


def run(*command: object, **keywords) -> None:
    print("+", *command, flush=True)
    subprocess.run([str(part) for part in command], cwd=ROOT, check=True, **keywords)


def install_debian_packages() -> None:
    missing = [package for command, package in DEBIAN_PACKAGES.items() if not shutil.which(command)]
    if find_spec("ensurepip") is None:
        missing.append("python3-venv")  # Debian keeps it apart from its python3
    if not missing or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    quiet = {"stdout": subprocess.DEVNULL, "env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"}}
    # Tests start their own servers; this file keeps Debian from starting them at installation.
    forbid = not START_NO_SERVICES.exists()
    try:
        if forbid:
            START_NO_SERVICES.write_text("#!/bin/sh\nexit 101\n")
            START_NO_SERVICES.chmod(0o755)
        run("apt-get", "update", "-qq", **quiet)
        run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing, **quiet)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"note: {error}; tests that need {', '.join(missing)} will be skipped", flush=True)
    finally:
        if forbid:
            START_NO_SERVICES.unlink(missing_ok=True)


def python_environment() -> Path:
    python = VENV / "bin" / "python"
    requirements = ROOT / "tests" / "requirements.txt"
    stamp = VENV / "installed.txt"
    if not stamp.exists() or stamp.read_text() != requirements.read_text():
        run(sys.executable, "-m", "venv", "--clear", VENV)
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements)
        stamp.write_text(requirements.read_text())
    return python


def missing_component(subcommand: str, component: str) -> str:
    """Makes sure that `cargo SUBCOMMAND` exists; otherwise returns the reason."""
    known = ["cargo", subcommand, "--version"]
    if shutil.which("cargo") and subprocess.run(known, cwd=ROOT, capture_output=True).returncode == 0:
        return ""
    try:
        run("rustup", "component", "add", component)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"`cargo {subcommand}` is not installed, and adding it failed: {error}"
    return ""


def python_steps() -> list[Step]:
    """The wheel of what cargo built, the tests that use it, and those of file systems, MPI libraries and other tools."""
    environment = os.environ | {
        "LASTRANK_BIN": str(TARGET / "debug" / "lastrank"),
        "LASTRANK_WHEELS": str(TARGET / "wheels"),
    }
    python, missing = "python3", ""
    try:
        python = python_environment()
    except (OSError, subprocess.CalledProcessError) as error:
        missing = f"the Python environment cannot be made: {error}"
    pytest = [python, "-m", "pytest", "-q", "-rfEs", "-p", "no:cacheprovider", "--durations=15"]
    return [
        Step("wheel", [python, "tests/wheel.py", TARGET / "debug", TARGET / "wheels"], missing=missing),
        Step("package", [*pytest, "tests/python"], Pytest(), environment, missing),
        Step("mpi", [*pytest, "tests/mpi"], Pytest(), environment, missing),
        Step("pytest", [*pytest, "tests", "--ignore=tests/python", "--ignore=tests/mpi"], Pytest(), environment, missing),
    ]


def main() -> int:
    install_debian_packages()
    no_format, no_clippy = missing_component("fmt", "rustfmt"), missing_component("clippy", "clippy")
    clippy = ["cargo", "clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]
    steps = [
        Step("format", ["cargo", "fmt", "--all", "--check"], missing=no_format),
        Step("build", ["cargo", "build", "--workspace", "--lib", "--bins", "--examples"]),
    ]
    cargo = ["cargo", "test", "--workspace", "--no-fail-fast", "--", "--show-output"]
    wheel, package, mpi, others = python_steps()
    rust = [Step("cargo test", cargo, CargoTest()), Step("clippy", clippy, missing=no_clippy)]
    results = [step.run(ROOT) for step in [*steps, wheel]]
    # Many Python tests wait for servers, launchers and limits of time: lanes use the processors that one would leave idle.
    results += run_side_by_side([rust, [mpi, package], [others]], ROOT)
    print(summary(results), flush=True)
    return 1 if any(result.failed for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
