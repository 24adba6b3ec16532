"""Tests that the batch scripts run and that the options in docs/cluster.md exist."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from .launchers import BINARY, ROOT

PAGE = ROOT / "docs" / "cluster.md"
SCRIPTS = sorted((ROOT / "packaging").glob("*.sh"))
# Launchers that start one process and ignore their own options.
SRUN = '#!/bin/bash\nwhile [[ $1 == -* ]]; do shift; done\nexec "$@"\n'
MPIRUN = '#!/bin/bash\n[[ $1 == -n ]] && shift 2\nexec "$@"\n'


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_batch_script_measures_and_reports(script: Path, tmp_path: Path) -> None:
    if not BINARY.exists():
        pytest.skip(f"{BINARY} is not built: cargo build -p lastrank")
    assert subprocess.run(["bash", "-n", script]).returncode == 0
    tools, nodes, program = tmp_path / "bin", tmp_path / "nodes", tmp_path / "small.ppl"
    tools.mkdir()
    for name, text in (("srun", SRUN), ("mpirun", MPIRUN)):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    (tools / "lastrank").symlink_to(BINARY)
    nodes.write_text("node1\n")
    program.write_text('define place "dir" $dir "."\nrepeat $i 3 { stat("$dir"); }\n')
    variables = os.environ | {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "PROGRAM": str(program),
        "TARGET": str(tmp_path),
        "SLURM_SUBMIT_DIR": str(tmp_path),
        "SLURM_JOB_ID": "17",
        "PBS_O_WORKDIR": str(tmp_path),
        "PBS_JOBID": "17.server",
        "PBS_NODEFILE": str(nodes),
    }
    done = subprocess.run(["bash", script], cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "run-17.parquet").exists() and (tmp_path / "run-17.html").exists()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_batch_script_without_a_measurement_ends_with_the_status_of_the_launcher(script: Path, tmp_path: Path) -> None:
    tools, nodes = tmp_path / "bin", tmp_path / "nodes"
    tools.mkdir()
    nodes.write_text("node1\n")
    for name in ("srun", "mpirun", "lastrank"):
        (tools / name).write_text('#!/bin/bash\n[[ $1 == report ]] && echo "a report of nothing"\nexit 7\n')
        (tools / name).chmod(0o755)
    named = {"SLURM_SUBMIT_DIR": str(tmp_path), "SLURM_JOB_ID": "17", "PBS_O_WORKDIR": str(tmp_path), "PBS_JOBID": "17.server"}
    variables = os.environ | named | {"PATH": f"{tools}:{os.environ['PATH']}", "PBS_NODEFILE": str(nodes)}
    done = subprocess.run(["bash", script], cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=60)
    assert done.returncode == 7 and "nothing was measured" in done.stderr, done.stderr
    assert "a report of nothing" not in done.stdout


def test_slurm_would_accept_the_batch_script() -> None:
    if not shutil.which("sbatch") or subprocess.run(["sinfo"], capture_output=True).returncode != 0:
        pytest.skip("no Slurm runs here")
    script = ROOT / "packaging" / "slurm.sh"
    # One node, independent of this Slurm's configuration.
    command = ["sbatch", "--test-only", "--nodes=1", "--ntasks-per-node=1", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "to start at" in done.stderr, done.stderr


def test_every_option_of_lastrank_on_the_page_exists() -> None:
    if not BINARY.exists():
        pytest.skip(f"{BINARY} is not built: cargo build -p lastrank")
    found = 0
    for command, words in re.findall(r"lastrank (run|machine|report)\b([^\n|`]*)", PAGE.read_text()):
        known = subprocess.run([BINARY, command, "--help"], capture_output=True, text=True).stdout
        for option in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", words.split("#")[0]):
            found += 1
            assert re.search(rf"(?<![\w-]){option}\b", known), f"lastrank {command} has no {option}"
    assert found >= 4
