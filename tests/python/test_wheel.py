"""Tests the wheel in a clean environment: without Rust, NumPy, pandas or anything else."""

import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]

MAXIMA = """
import random
draw = random.Random(1)
maxima = [max(draw.expovariate(1.0) for _ in range(50)) for _ in range(200)]
"""


def test_the_command_is_the_program_itself_and_of_the_same_version(wheel_python: Path, in_clean: Callable[[str], str]) -> None:
    program = wheel_python.parent / "lastrank"
    assert program.read_bytes()[:4] == b"\x7fELF"
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.startswith(f"lastrank {VERSION} (") and "\ntarget: " in said.stdout
    assert in_clean("import lastrank; print(lastrank.__version__)") == f"{VERSION}\n"


def test_the_module_can_be_run_and_says_where_it_looks_for_the_program(wheel_python: Path, tmp_path: Path) -> None:
    def run(**environment: str) -> subprocess.CompletedProcess[str]:
        command = [wheel_python, "-m", "lastrank", "--version"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)

    assert run().stdout.startswith(f"lastrank {VERSION} (")
    wrong = run(LASTRANK_BIN="/nowhere/lastrank")
    assert (wrong.returncode, wrong.stderr) == (1, "error: LASTRANK_BIN names /nowhere/lastrank, which is no file\n")


def test_the_wheel_is_small_complete_and_for_every_python_from_3_10(wheel: Path) -> None:
    assert wheel.stat().st_size < 40e6  # of the tests, not optimised; a release has 15 MB at most
    assert re.fullmatch(rf"lastrank-{VERSION}-cp310-abi3-\w+\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as opened:
        assert opened.testzip() is None
        names = opened.namelist()
        record = opened.read(f"lastrank-{VERSION}.dist-info/RECORD").decode().splitlines()
        metadata = opened.read(f"lastrank-{VERSION}.dist-info/METADATA").decode()
        script = opened.getinfo(f"lastrank-{VERSION}.data/scripts/lastrank")
    assert sorted(line.split(",")[0] for line in record) == sorted(names)
    assert {"lastrank/py.typed", "lastrank/_native.pyi", "lastrank/_native.abi3.so"} <= set(names)
    assert script.external_attr >> 16 & 0o111 == 0o111, "the program cannot be executed"
    needed = [line for line in metadata.splitlines() if line.startswith("Requires-Dist")]
    assert needed and all("extra ==" in line for line in needed), "the plain package depends on something"
    assert not [name for name in names if re.search(r"\.(rs|toml)$|test", name)]


def test_a_fit_needs_nothing_but_the_wheel(in_clean: Callable[[str], str]) -> None:
    said = in_clean(
        MAXIMA + "import lastrank as lr\nfit = lr.fit(maxima)\n"
        "print(fit.verdict.code, [round(one.level, 3) for one in fit.return_levels([10, 100])])\n"
        "import sys; print([name for name in ('numpy', 'pandas', 'pyarrow') if name in sys.modules])"
    )
    assert said == "gev-consistent [5.989, 7.908]\n[]\n"


def test_a_run_and_its_samples_need_nothing_but_the_wheel(in_clean: Callable[[str], str]) -> None:
    said = in_clean(
        "import lastrank as lr\n"
        "run = lr.run('repeat 50 { write(\"f\", 4KiB); } delete(\"f\");', out='run.parquet')\n"
        "print(len(run.frame), run['write'].summary().n, len(run.frame['duration_ps']), set(run.frame['operation']))"
    )
    assert said in ("51 50 51 {'write', 'delete'}\n", "51 50 51 {'delete', 'write'}\n")


def test_a_source_archive_holds_what_a_build_needs(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("the archive is made of what git knows, and this is no checkout")
    code = "import sys; sys.path.insert(0, 'packaging/python'); import backend; print(backend.build_sdist(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    listed = subprocess.run(["tar", "tzf", tmp_path / done.stdout.strip()], capture_output=True, text=True, check=True)
    names = {name.split("/", 1)[1] for name in listed.stdout.splitlines()}
    assert {"PKG-INFO", "Cargo.lock", "pyproject.toml", "packaging/python/backend.py", "crates/python/src/lib.rs"} <= names
