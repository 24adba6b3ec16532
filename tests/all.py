#!/usr/bin/env python3
"""Install what the tests need, then run all of them: `python3 tests/all.py`.

Rust tests first (format, lints, unit, property, snapshot, command line), then the Python tests
that open run files and reports with other people's tools. Everything is installed below
`target/`, so nothing outside the checkout changes; Debian packages are added only when this
runs as root on a Debian machine, and tests that miss one say "skipped: why".
"""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
VENV = TARGET / "test-venv"
DEBIAN_PACKAGES = {
    "chromium": "chromium",
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
    # Servers are wanted for tests, which start their own: Debian asks this file before it starts one.
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


def main() -> int:
    install_debian_packages()
    python = python_environment()
    if shutil.which("cargo-fmt"):
        run("cargo", "fmt", "--all", "--check")
    run("cargo", "build", "--workspace", "--bins", "--examples")
    if shutil.which("cargo-clippy"):
        run("cargo", "clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings")
    run("cargo", "test", "--workspace")
    environment = os.environ | {"LASTRANK_BIN": str(TARGET / "debug" / "lastrank")}
    run(python, "-m", "pytest", "tests", "-q", "-rs", env=environment)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(f"failed: {' '.join(map(str, error.cmd))} (exit status {error.returncode})")
