"""Fixtures of the MPI tests: the program under test, and every way to start it."""

import os
from pathlib import Path

import pytest

from .launchers import NAMES, TARGET, Launcher, launcher


def example(name: str) -> Path:
    """An example of the engine; skips the test if it is not built."""
    program = Path(os.environ.get(f"LASTRANK_{name.upper()}", TARGET / "debug" / "examples" / name))
    if not program.exists():
        pytest.skip(f"{program} is not built: cargo build -p lastrank-engine --example {name}")
    return program


@pytest.fixture(scope="session")
def ranks() -> Path:
    """The program that exercises communicators."""
    return example("ranks")


@pytest.fixture(scope="session")
def measure() -> Path:
    """The program whose ranks take samples."""
    return example("measure")


@pytest.fixture(params=NAMES)
def started_by(request: pytest.FixtureRequest) -> Launcher:
    """Every launcher in turn."""
    return launcher(request.param)
