"""Pipes of the user where names lead elsewhere from one moment to the next: none is opened, whoever exchanges links."""

import ctypes
import os
import platform
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from filesystems.measured import Lastrank

from .without import without_landlock

EXCHANGE = """
repeat 4000 {
    symlink("docs", "a"); rename("a", "l"); symlink("docs/waited", "b"); rename("b", "m");
    symlink("own", "a"); rename("a", "l"); symlink("own/waited", "b"); rename("b", "m");
    repeat 3 stat("own/waited");
}
"""
WAYS = [
    '$f = fopen("l/waited", "r+"); fclose($f);', '$f = fopen("l/waited", "r"); fclose($f);', 'append("l/waited", 3);',
    '$f = fopen("l/waited", "O_RDONLY|O_NOFOLLOW"); fclose($f);', 'write("l/waited", 3);', 'read("l/waited", 3);',
    '$f = fopen("m", "r+"); fclose($f);', '$f = fopen("m", "r"); fclose($f);', 'write("m", 3);', 'read("m", 3);',
    'async depth=2 { read("m", 3); read("l/waited", 3); }',
]  # fmt: skip
TIMES = 4


@contextmanager
def opened(folder: Path, name: str) -> Iterator[list[str]]:
    """The opens of `name` in this directory meanwhile, as the kernel reports them (inotify): also those that wake nobody."""
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    assert libc.inotify_add_watch(watch, os.fsencode(folder), 0x20) > 0  # IN_OPEN
    found: list[str] = []
    try:
        yield found
        while True:
            events = os.read(watch, 1 << 16)
            while events:
                length = struct.unpack_from("iIII", events)[3]
                found += [part for part in [events[16 : 16 + length].rstrip(b"\0").decode()] if part == name]
                events = events[16 + length :]
    except BlockingIOError:
        pass
    finally:
        os.close(watch)


def run(lastrank: Lastrank, folder: Path, text: str, *options: str, landlock: bool = True) -> subprocess.CompletedProcess[str]:
    (folder / "a.ppl").write_text(text)
    command = [lastrank.program, "run", "a.ppl", "-s", "-o", "a.parquet", "--report", "none", "--no-causes", *options]
    return subprocess.run(
        list(map(str, command)), cwd=folder, capture_output=True, text=True, timeout=60, check=False,
        preexec_fn=None if landlock else without_landlock,
    )  # fmt: skip


@pytest.mark.parametrize("landlock", [True, False], ids=["kernel", "descriptors"])
def test_no_pipe_is_opened_where_ranks_exchange_links(lastrank: Lastrank, landlock: bool) -> None:
    """Between a look at a name and its open another rank puts in a link that leads to the pipe."""
    if not landlock and platform.machine() != "x86_64":
        pytest.skip("the filter that takes Landlock away is one of x86_64")
    refused = 0
    for number, way in enumerate(WAYS * TIMES):
        folder = lastrank.folder / str(number)
        (folder / "docs").mkdir(parents=True)
        os.mkfifo(folder / "docs/waited")
        # Who opens it all the same neither waits nor stays.
        held = os.open(folder / "docs/waited", os.O_RDWR | os.O_NONBLOCK)
        os.write(held, b"x" * 60_000)
        text = f"""
        if $$rank == 0 {{ mkdir("own"); write("own/waited", 3); symlink("own", "l"); symlink("own/waited", "m"); }}
        barrier;
        if $$rank == 0 {{ {EXCHANGE} }}
        if $$rank > 0 repeat 5000 {{ {way} }}
        """
        with opened(folder / "docs", "waited") as opens:
            done = run(lastrank, folder, text, "-n", "3", landlock=landlock)
        os.close(held)
        assert not opens, (way, opens, done.stderr)
        refused += "--allow" in done.stderr
    # Otherwise nobody came near it.
    assert refused > len(WAYS), refused


@pytest.mark.parametrize("landlock", [True, False], ids=["kernel", "descriptors"])
def test_no_pipe_is_opened_by_a_look_at_what_was_read(lastrank: Lastrank, landlock: bool) -> None:
    """At the end of a run files that were read are looked at by their names, which may lead to the user's by then."""
    folder = lastrank.folder
    (folder / "docs").mkdir()
    os.mkfifo(folder / "docs/waited")
    woken = []

    def waits() -> None:
        os.close(os.open(folder / "docs/waited", os.O_WRONLY))
        woken.append(True)

    writer = threading.Thread(target=waits, daemon=True)
    writer.start()
    text = """
    mkdir("own"); write("own/waited", 300); symlink("own", "l");
    $f = fopen("l/waited", "r"); fread($f, 3); fclose($f);
    delete("l"); symlink("docs", "l");
    """
    try:
        with opened(folder / "docs", "waited") as opens:
            done = run(lastrank, folder, text, landlock=landlock)
        assert done.returncode == 0, done.stderr
        writer.join(0.2)
        # The open of the writer itself is one only when somebody else's was.
        assert not woken and not opens, (woken, opens)
    finally:
        os.close(os.open(folder / "docs/waited", os.O_RDWR | os.O_NONBLOCK))
        writer.join(10)
