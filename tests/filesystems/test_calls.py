"""Tests with strace that lastrank makes no other file-system calls between the operations that it measures."""

import re
import subprocess
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


LOOKS = """
write("own", 4096);
stat("mark-1"); repeat 20 { $f = fopen("own", "r+"); fclose($f); }
stat("mark-2"); repeat $i 20 create("new-$i");
stat("mark-3"); repeat $i 20 write("more-$i", 100);
stat("mark-4"); repeat $i 20 append("new-$i", 100);
stat("mark-5"); repeat 20 { $f = fopen("theirs", "r"); fclose($f); }
stat("mark-6"); repeat $i 20 read("more-$i");
stat("mark-7");
"""


@pytest.mark.parametrize("ranks", [1, 2])
def test_how_often_a_name_is_looked_at_before_it_is_opened(strace: None, lastrank: Lastrank, ranks: int) -> None:
    """A pipe of the user is told by a look at the name (openat2, fstat, close), which is no part of what is measured, but of
    how long a program takes. None is needed where the call makes the file, or where the run is known to have made it."""
    directory = lastrank.folder / "looks"
    directory.mkdir()
    (directory / "theirs").write_bytes(bytes(4096))
    text = LOOKS if ranks == 1 else f"if $$rank == 0 {{ {LOOKS} }}"
    (directory / "a.ppl").write_text(text)
    command = [
        "strace", "-f", "-qq", "-e", "trace=%file,close,fstat", "-o", "a.trace", lastrank.program, "run", "a.ppl",
        "-n", ranks, "-o", "a.parquet", "--report", "none",
    ]  # fmt: skip
    done = subprocess.run(list(map(str, command)), cwd=directory, capture_output=True, text=True, timeout=300)
    lines = (directory / "a.trace").read_text(errors="replace").splitlines()
    assert any("mark-7" in line for line in lines), done.stderr
    at = next(number for number, line in enumerate(lines) if 'mark-1"' in line and "stat" in line)
    thread = [line for line in lines[at:] if line.split()[0] == lines[at].split()[0]]
    marks = [next(number for number, line in enumerate(thread) if f'mark-{mark}"' in line) for mark in range(1, 8)]
    looks = [sum("O_PATH" in line for line in thread[begin:end]) for begin, end in zip(marks, marks[1:])]
    # A file of the user once; where another rank may have put something in its place meanwhile, each time.
    assert looks == [0, 0, 0, 0, 1 if ranks == 1 else 20, 0], looks
    opens = [sum(bool(re.search(r"\bopenat2?\(", line)) and "O_PATH" not in line for line in thread[begin:end]) for begin, end in zip(marks, marks[1:])]
    # The first of each kind is opened twice where the one before was not there, or was.
    assert all(20 <= count <= 21 for count in opens), opens
