"""Power cuts: whatever is lost that was not synced, no half run file stands under its name, and what was told is there."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from filesystems import delay, sandbox
from filesystems.measured import Lastrank

LOSSES = ("all", "content", "half")
OLD, NEW = 5, 20


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file system that loses what was not synced; the mount is this session's own."""
    program = delay.build()
    folder = tmp_path_factory.mktemp("power")
    sandbox.make_session_mounts_private(folder)
    with delay.delayed_directory(program, folder, {}) as mounted:
        yield mounted.path


def samples_in(file: Path) -> int:
    """How many there are; fails where the file is not whole."""
    import pyarrow.parquet

    return pyarrow.parquet.read_table(file).num_rows


def run(lastrank: Lastrank, disk: Path, operations: int, report: str = "none") -> subprocess.CompletedProcess:
    program = lastrank.folder / "a.ppl"
    program.write_text(f"repeat {operations} getpid();\n")
    command = [lastrank.program, "run", "a.ppl", "-s", "-o", disk / "a.parquet", "--report", report]
    environment = {"PATH": "/usr/bin:/bin", "TMPDIR": str(lastrank.folder), "HOME": str(lastrank.folder)}
    return subprocess.run(
        list(map(str, command)), cwd=lastrank.folder, capture_output=True, text=True, timeout=120, check=False,
        env=environment,
    )  # fmt: skip


def cut_after(disk: Path, changes: int, loss: str) -> None:
    (disk / ".power").write_text(f"{changes} {loss}")


def cut_now(disk: Path, loss: str) -> None:
    cut_after(disk, 0, loss)
    with pytest.raises(OSError):
        (disk / "x").touch()


def power_again(disk: Path) -> None:
    (disk / ".power").stat()


def clear(disk: Path) -> None:
    for path in disk.iterdir():
        if path.name not in (".power", ".delays.csv"):
            path.unlink()


def changes_of_a_run(lastrank: Lastrank, disk: Path) -> int:
    cut_after(disk, 1_000_000, "all")
    assert run(lastrank, disk, NEW).returncode == 0
    return (disk / ".power").stat().st_size


def test_the_disk_loses_what_was_not_synced(disk: Path) -> None:
    """The test's own instrument: a file written without fsync is gone, empty or half."""
    found = {}
    for loss in LOSSES:
        clear(disk)
        cut_after(disk, 3, loss)  # the creation and two writes
        with pytest.raises(OSError), (disk / "f").open("wb", buffering=0) as file:
            file.write(b"a" * 100)
            file.write(b"b" * 100)
            file.write(b"c" * 100)
        power_again(disk)
        found[loss] = (disk / "f").stat().st_size if (disk / "f").exists() else None
    assert found == {"all": None, "content": 0, "half": 100}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("earlier", [False, True], ids=["a new file", "an earlier run of that name"])
def test_after_a_power_cut_a_run_file_is_whole_or_not_there(
    lastrank: Lastrank, disk: Path, loss: str, earlier: bool
) -> None:
    clear(disk)
    count = changes_of_a_run(lastrank, disk)
    assert count > 5, "the run file is written in some pieces, synced and renamed"
    told = {0: 0, 3: 0}
    for after in range(count + 1):
        clear(disk)
        if earlier:
            assert run(lastrank, disk, OLD).returncode == 0
        cut_after(disk, after, loss)
        done = run(lastrank, disk, NEW)
        where = (loss, after, done.returncode, done.stderr)
        # With the power goes the disk alone: lastrank lives, and takes the samples elsewhere.
        assert done.returncode in (0, 2, 3), where
        assert "panicked" not in done.stderr and "this is a bug" not in done.stderr, where
        if not is_off(disk):
            cut_now(disk, loss)
        power_again(disk)
        file = disk / "a.parquet"
        rows = samples_in(file) if file.exists() else None
        assert rows in ((OLD, NEW) if earlier else (None, NEW)), where
        if done.returncode == 0:
            assert rows == NEW, where
        told[done.returncode] = told.get(done.returncode, 0) + 1
        if done.returncode == 3:
            elsewhere = list(lastrank.folder.glob("a-*.parquet"))
            assert [samples_in(path) for path in elsewhere] == [NEW], where
            elsewhere[0].unlink()
    assert told[0] and told[3], told
    print(f"power cut after each of {count} changes ({loss} lost): no half file, {told[0]} told results, all there")


def is_off(disk: Path) -> bool:
    try:
        (disk / "a.parquet").stat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
