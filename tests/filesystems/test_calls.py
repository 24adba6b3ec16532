"""Tests with strace that lastrank makes no other file-system calls between the operations that it measures."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from .delay import delayed_directory
from .directories import small_tmpfs
from .measured import Lastrank
from .nfs import NfsClient
from .sandbox import require

# New names and existing ones, then the same in workers. The `lookup` calls mark where it begins
# and ends: the first create and the first write in a directory may look at the directory.
PROGRAM = """
create("first"); write("first", 1); create("there");
lookup("mark-begin");
repeat $i 20 create("new-$i");
repeat $i 20 write("new-$i", 1000);
repeat $i 20 append("more-$i", 100);
create("there");
repeat $i 20 { $f = fopen("open-$i", "w"); fclose($f); }
repeat $i 20 delete("new-$i");
lookup("mark-end");
parallel 2 {
    create("own-first-$$worker"); lookup("mark-begin-$$worker");
    repeat $i 20 create("own-$$worker-$i");
    lookup("mark-end-$$worker");
}
"""

CALLS = "%file,close,fstat,write"


def between(lines: list[str], begin: str, end: str) -> list[str]:
    """The calls of the thread that makes the two marks, between them, as name and last part of the path.

    Files of /proc and /sys do not belong to the file system. A look with RESOLVE_CACHED asks it nothing: the kernel answers from
    its memory or not at all.
    """
    at = next(number for number, line in enumerate(lines) if f'{begin}"' in line)
    thread = lines[at].split()[0]
    own = [line for line in lines[at + 1 :] if line.split()[0] == thread]
    stop = next(number for number, line in enumerate(own) if f'{end}"' in line)
    calls = []
    elsewhere = set()
    for line in own[:stop]:
        call = re.match(r"\d+ +(?:<\.\.\. )?(\w+)", line)
        if call is None or "resumed>" in line or line.split(maxsplit=1)[1].startswith(("+++", "---")):
            continue
        path = re.search(r'"([^"]*)"', line)
        result = line.rsplit("= ", 1)[-1].split()[0]
        in_memory = call[1] == "openat2" and "RESOLVE_CACHED" in line and "O_PATH" in line
        if in_memory or (call[1] == "openat" and path and path[1].startswith(("/proc/", "/sys/"))):
            if not result.startswith("-"):
                elsewhere.add(result)
            continue
        if (first := re.search(r"\w+\((\d+)[,)]", line)) and first[1] in elsewhere:
            if call[1] == "close":
                elsewhere.discard(first[1])
            continue
        calls.append(call[1] + (f" {path[1].rsplit('/')[-1]}" if path else ""))
    return calls


def judge(trace: str, unconfined: bool = False) -> None:
    """Only the program's own calls, in its order; where it is confined, one look at each descriptor, which says whose
    object it is, and one at each name before it is removed. None at a name before it is made; see `first`."""
    lines = trace.splitlines()
    look = [] if unconfined else ["statx "]

    def first(name: str) -> list[str]:
        """Only O_EXCL tells who made a file: where the name before was new and this one is there, or the other way round, it
        is opened twice."""
        return [] if unconfined else [f"openat {name}"]

    wanted = []
    wanted += [call for i in range(20) for call in (f"openat new-{i}", *look, "close")]
    for name in ("new", "more"):
        wanted += first(f"{name}-0")
        wanted += [call for i in range(20) for call in (f"openat {name}-{i}", *look, "write", "close")]
    wanted += [*first("there"), "openat there", *look, "close"]
    wanted += first("open-0")
    wanted += [call for i in range(20) for call in (f"openat open-{i}", *look, "close")]
    before = [] if unconfined else ["statx "]
    wanted += [call for i in range(20) for call in (*(f"{one}new-{i}" for one in before), f"unlink new-{i}")]
    # Written data are not text; only the name of a write is used.
    own = [call.split()[0] if call.startswith("write") else call for call in between(lines, "mark-begin", "mark-end")]
    assert own == wanted
    for worker in range(2):
        wanted = [call for i in range(20) for call in (f"openat own-{worker}-{i}", *look, "close")]
        assert between(lines, f"mark-begin-{worker}", f"mark-end-{worker}") == wanted


def traced(lastrank: Lastrank, directory: Path, inside: Callable | None = None, work: Path | None = None) -> str:
    """The calls of a run of PROGRAM in `directory`; `inside` runs commands elsewhere, sharing `work`.

    The kernel that runs there has no Landlock: it opens the directory before each name unless it is not to confine.
    """
    folder = work or lastrank.folder
    (lastrank.folder if inside is None else folder).mkdir(exist_ok=True)
    shown = Path("/mnt/work") if inside else folder
    (folder / "calls.ppl").write_text(PROGRAM)
    command = [
        "env", "-C", directory,
        "strace", "-f", "-qq", "-e", f"trace={CALLS}", "-o", shown / "calls.trace",
        lastrank.program, "run", shown / "calls.ppl", "-o", shown / "calls.parquet",
        *(["--unconfined"] if inside else []),
    ]  # fmt: skip
    if inside:
        done = inside(*command, seconds=300)
    else:
        import subprocess

        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)
    assert "mark-end" in (folder / "calls.trace").read_text(errors="replace"), done.stderr
    return (folder / "calls.trace").read_text(errors="replace")


@pytest.fixture
def strace() -> None:
    """Skips if strace is not installed."""
    require({"strace": "strace"})


def test_nothing_is_asked_around_a_create_on_tmpfs(strace: None, lastrank: Lastrank, place: Path) -> None:
    with small_tmpfs(place, 8 << 20) as mounted:
        judge(traced(lastrank, mounted.path))


def test_nothing_is_asked_around_a_create_on_the_local_disk(strace: None, lastrank: Lastrank) -> None:
    directory = lastrank.folder / "local"
    directory.mkdir()
    judge(traced(lastrank, directory))


def test_nothing_is_asked_around_a_create_on_fuse(
    strace: None, lastrank: Lastrank, place: Path, delayfs: Path
) -> None:
    with delayed_directory(delayfs, place, {}) as mounted:
        judge(traced(lastrank, mounted.path))


def test_nothing_is_asked_around_a_create_on_nfs(strace: None, lastrank: Lastrank, nfs: NfsClient) -> None:
    directory = nfs.path / "calls"
    nfs.run("mkdir", directory)
    judge(traced(lastrank, directory, nfs.run, nfs.work), unconfined=True)
