"""The wheel under test, a clean environment that has nothing else, and runs to look at."""

import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def wheel() -> Path:
    """The wheel that tests/wheel.py made."""
    found = sorted(Path(os.environ.get("LASTRANK_WHEELS", ROOT / "target" / "wheels")).glob("lastrank-*.whl"))
    if not found:
        pytest.skip("there is no wheel: python3 tests/wheel.py target/debug target/wheels (tests/all.py makes it)")
    return found[-1]


@pytest.fixture(scope="session")
def wheel_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment in which the wheel is installed, and nothing else."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--python", str(python)]
    subprocess.run([*pip, "install", "--no-index", str(wheel)], check=True)
    return python


@pytest.fixture
def in_clean(wheel_python: Path, tmp_path: Path) -> Callable[[str], str]:
    """Runs Python text in the clean environment, in a folder of the test; what it printed."""

    def run(text: str) -> str:
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("LASTRANK_", "PYTHON"))}
        done = subprocess.run(
            [wheel_python, "-c", text], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def lr(wheel: Path) -> ModuleType:
    """The module, where it is installed beside the tools of the tests."""
    return pytest.importorskip("lastrank", reason="the wheel is not installed here (tests/all.py installs it)")


@pytest.fixture(autouse=True)
def the_executable_of_the_wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is tested is the wheel, in a folder of the test."""
    monkeypatch.delenv("LASTRANK_BIN", raising=False)
    monkeypatch.chdir(tmp_path)
