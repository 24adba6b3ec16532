"""Files that share their blocks: a clone holds bytes without any read or write, which a replay copies."""

from pathlib import Path

import pytest

from filesystems.sandbox import Mounted

from .applications import Application, source_tree, trial


@pytest.mark.parametrize("recorder", [(), ("--quiet",)], ids=["complete", "quiet"])
def test_clones_are_copied_by_a_replay(program: Path, xfs_directory: Mounted, recorder: tuple[str, ...]) -> None:
    command = ("cp", "-r", "--reflink=always", "src", "copy")
    application = Application("cp -r of clones", ("cp",), command, source_tree)
    found = trial(program, application, xfs_directory.path, recorder)
    assert not found.failed, "\n".join(found.failed)
    # To the same place in the other file, which is empty.
    assert "fcopy($f0, $f1, " in found.program and ", 0, 0);" in found.program, found.program
