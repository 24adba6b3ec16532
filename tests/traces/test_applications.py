"""Applications are recorded, imported and replayed in an empty directory: no failure that the original did not have, the
same operations and bytes, the same tree."""

import tempfile
from pathlib import Path

import pytest

from .applications import APPLICATIONS, Application, missing, trial


@pytest.mark.parametrize("application", APPLICATIONS, ids=lambda one: one.name)
def test_a_replay_does_what_the_application_did(program: Path, application: Application) -> None:
    if absent := missing(application):
        pytest.skip(f"{', '.join(absent)} is not there")
    # Not below pytest's folder, which other users may not enter: the database has a user of its own.
    with tempfile.TemporaryDirectory(prefix="lastrank-traces-") as folder:
        found = trial(program, application, Path(folder))
        assert not found.failed, "\n".join(found.failed)
        assert found.calls > 0
        if application.name.startswith("sqlite"):
            assert found.lines * 10 <= found.calls, found.program
