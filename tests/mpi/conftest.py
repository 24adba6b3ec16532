"""What the MPI tests share: the program under test, and every way to start it."""

import os
from pathlib import Path

import pytest

from .launchers import NAMES, TARGET, Launcher, launcher


@pytest.fixture(scope="session")
def ranks() -> Path:
    """The program that exercises communicators: `cargo build -p engine --example ranks`."""
    program = Path(os.environ.get("LASTRANK_RANKS", TARGET / "debug" / "examples" / "ranks"))
    if not program.exists():
        pytest.skip(f"{program} is not built: cargo build -p engine --example ranks")
    return program


@pytest.fixture(params=NAMES)
def started_by(request: pytest.FixtureRequest) -> Launcher:
    """Every launcher in turn."""
    return launcher(request.param)
