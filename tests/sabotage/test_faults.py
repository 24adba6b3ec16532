"""Calls that fail, at each place, one at a time: never a wrong success, a panic or a half file."""

import contextlib
import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from filesystems.directories import small_tmpfs
from filesystems.measured import Lastrank

NIGHTLY = os.environ.get("LASTRANK_LONG_TESTS") == "1"
SEED = 14
CALLS = {
    "openat": "EMFILE",
    "read": "EIO",
    "pread64": "EIO",
    "write": "ENOSPC",
    "close": "EIO",
    "fsync": "EIO",
    "lseek": "EINVAL",
    "rename": "EDQUOT",
    "renameat": "EDQUOT",
    "renameat2": "EDQUOT",
    "mkdir": "ENOSPC",
    "symlinkat": "ENOSPC",
    "readlink": "EACCES",
    "unlink": "EACCES",
    "unlinkat": "EACCES",
    "getdents64": "EIO",
    "statx": "EACCES",
    "newfstatat": "EACCES",
    "fstat": "EIO",
    "statfs": "EIO",
    "getcwd": "ENOENT",
    "fcntl": "EINVAL",
    "flock": "ENOLCK",
    "ioctl": "ENOTTY",
    "mmap": "ENOMEM",
    "mprotect": "ENOMEM",
    "munmap": "EINVAL",
    "ftruncate": "ENOSPC",
    "madvise": "EFAULT",
    "memfd_create": "EMFILE",
    "getrandom": "ENOSYS",
    "clone": "EAGAIN",
    "prctl": "EPERM",
    "sched_getaffinity": "EPERM",
    "perf_event_open": "EACCES",
    "landlock_create_ruleset": "EPERM",
    "landlock_add_rule": "EBADFD",
    "landlock_restrict_self": "E2BIG",
}
PROGRAM = 'repeat 20 write("f", 1000);\ndelete("f");\n'


def samples_in(file: Path) -> int:
    """How many there are; fails where the file is not whole."""
    import pyarrow.parquet

    return pyarrow.parquet.read_table(file).num_rows


def injected_into(folder: Path, call: str, errno: str, when: str) -> list[str]:
    """The begin of a command whose call of that number fails; the calls are listed in `folder/trace`."""
    # The language's library asks about its standard descriptors before anything else.
    trace = ["strace", "-f", "-qq", "-o", str(folder / "trace"), "-e", f"trace={call},?poll,?ppoll"]
    return [*trace, "-e", f"inject={call}:error={errno}:when={when}"]


def loader_died(folder: Path) -> bool:
    """Did it die before the first instruction of the program? Without its first pages the loader does."""
    return "poll(" not in (folder / "trace").read_text()


def run(lastrank: Lastrank, folder: Path, call: str, errno: str, when: str) -> tuple[int, str]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "a.ppl").write_text(PROGRAM)
    command = [
        *injected_into(folder, call, errno, when),
        lastrank.program, "run", "a.ppl", "-s", "-o", "a.parquet", "--report", "none", "--timeout", "10",
    ]  # fmt: skip
    environment = os.environ | {"TMPDIR": str(folder), "HOME": str(folder)}
    done = subprocess.run(
        list(map(str, command)), cwd=folder, capture_output=True, text=True, timeout=120, check=False, env=environment
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_fails_anywhere_is_told(lastrank: Lastrank, call: str) -> None:
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    errno, folder = CALLS[call], lastrank.folder / call
    status, said = run(lastrank, folder, call, errno, "60000")
    assert status == 0, said
    count = len(re.findall(rf"\b{call}\(", (folder / "trace").read_text()))
    places: list[object] = list(range(1, count + 1))
    if call == "getrandom":
        places = ["1+"]  # a system either has it or not; libraries that ask later trust the first answer
    elif not NIGHTLY:
        places = sorted(random.Random(SEED).sample(places, min(len(places), 2)))
    told = 0
    for place in places:
        status, said = run(lastrank, folder, call, errno, str(place))
        told += status != 0
        where = (call, place, status, said)
        if "error while loading shared libraries" in said:
            continue  # before the first instruction of ours
        if "fatal runtime error: initialization" in said:
            continue  # the same: the language's library finds no memory for the stack on which it handles signals
        if "unexpected error during closedir" in said:
            continue  # the language's library panics; closedir(3) fails only where a descriptor was closed twice
        if status < 0 and loader_died(folder):
            continue
        assert "panicked" not in said and "bug of lastrank" not in said, where
        assert 0 <= status <= 3, where
        if status == 0:
            assert samples_in(folder / "a.parquet") == 21, where
        for file in folder.glob("**/*.parquet"):
            samples_in(file)
        # What cannot be removed stays.
        assert "unlink" in call or not list(folder.glob("**/*.partial")), where
    print(f"{len(places)} faults of {call} injected, {told} told by the exit status, no wrong success")
    subprocess.run([lastrank.program, "recover", "."], cwd=lastrank.folder, capture_output=True, check=False)


def test_a_disk_that_is_full_at_every_page_of_the_run_file(lastrank: Lastrank, place: Path) -> None:
    """So many pages are left, one more each time, until the run file fits: never a half one, and the samples are kept."""
    elsewhere = lastrank.folder / "elsewhere"
    elsewhere.mkdir()
    (lastrank.folder / "a.ppl").write_text("repeat 12000 getpid();")
    environment = os.environ | {"TMPDIR": str(elsewhere), "HOME": str(elsewhere)}
    full = 0
    with small_tmpfs(place, 1 << 20) as disk:
        filler, file = disk.path / "filler", disk.path / "a.parquet"
        for pages in range(200):
            with filler.open("wb", buffering=0) as content, contextlib.suppress(OSError):
                while content.write(bytes(4096)):
                    pass
            os.truncate(filler, max(filler.stat().st_size - 4096 * pages, 0))
            command = [lastrank.program, "run", "a.ppl", "-s", "-o", file, "--report", "none"]
            done = subprocess.run(
                list(map(str, command)), cwd=lastrank.folder, capture_output=True, text=True, timeout=120, check=False,
                env=environment,
            )  # fmt: skip
            where = (pages, done.returncode, done.stderr)
            assert "this is a bug" not in done.stderr, where
            filler.unlink()
            if done.returncode == 0:
                assert samples_in(file) == 12000, where
                break
            full += 1
            assert done.returncode in (2, 3), where
            assert not list(disk.path.iterdir()), where
            if done.returncode == 3:
                [kept] = elsewhere.glob("a-*.parquet")
                assert samples_in(kept) == 12000 and str(kept) in done.stderr, where
                kept.unlink()
        else:
            pytest.fail("the run file never fits")
    assert full > 3
    print(f"a disk full at each of {full} pages: no half run file, no sample lost")
