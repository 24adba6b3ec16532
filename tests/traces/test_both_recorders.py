"""What programs do with files that is easily lost, by both recorders: the same operations, bytes and tree."""

import sys
import tempfile
from pathlib import Path

import pytest

from .applications import Application, source_tree, trial

# Each call on a file is another thread's, as with the runtimes of Go and Node.js.
FROM_THREAD_TO_THREAD = """
import os, queue, threading
queues = [queue.Queue() for _ in range(4)]
done = queue.Queue()
def work(own):
    while (job := own.get()) is not None: done.put(job())
threads = [threading.Thread(target=work, args=(own,)) for own in queues]
[one.start() for one in threads]
turn = 0
def by_next(job):
    global turn
    queues[turn % 4].put(job)
    turn += 1
    return done.get()
for number in range(12):
    name = f"f{number}"
    file = by_next(lambda: os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644))
    for part in range(5): by_next(lambda: os.write(file, b"x" * (100 + number)))
    by_next(lambda: os.close(file))
    if number % 3 == 0: by_next(lambda: os.rename(name, name + "-renamed"))
    elif number % 4 == 1: by_next(lambda: os.unlink(name))
[own.put(None) for own in queues]
[one.join() for one in threads]
"""

PROCESSES = """
import ctypes, multiprocessing, os, shutil
def work(number):
    with open(f"out-{number}", "wb") as file:
        for _ in range(50): file.write(b"x" * 3000)
    with open("log", "a") as log: log.write(f"done {number}\\n")
    os.replace(f"out-{number}", f"end-{number}")
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(3) as pool: pool.map(work, range(9))
    os.link("end-1", "hard"); os.symlink("end-2", "soft"); os.truncate("end-3", 77)
    os.makedirs("a/b/c"); shutil.copytree("a", "z"); shutil.rmtree("a")
    c = ctypes.CDLL(None)
    assert c.remove(b"z/b/c") == 0
    name = ctypes.create_string_buffer(b"new-XXXXXX")
    assert c.mkdtemp(name)
    with open(name.value + b"/in", "w") as file: file.write("some")
    with open("vectors", "wb") as file: os.pwritev(file.fileno(), [b"x" * 50, b"y" * 7], 3, os.RWF_DSYNC)
    info = ctypes.create_string_buffer(200)
    assert c.eaccess(b"vectors", os.R_OK) == 0
    # As programs call `stat` that were linked with an older C library.
    if hasattr(c, "__xstat"): assert c.__xstat(1, b"end-4", info) == c.__lxstat64(1, b"soft", info) == 0
"""

# `test -w` asks for a directory before anything is known of it; links are followed and never read.
LOOKS = (
    "test -w there && echo one > there/file; test -r src/inner/link && cat src/inner/link > copy; "
    "mkdir -p there/in/side; mkdir there 2> /dev/null; cat '' 2> /dev/null; mkdir '' 2> /dev/null; "
    "find src -type f | wc -l > count; exec 5> open; (echo a >&5); mv open moved; echo b >&5"
)


def directory_and_links(home: Path) -> None:
    source_tree(home)
    (home / "there").mkdir()


APPLICATIONS = [
    Application("from thread to thread", (), (sys.executable, "-S", "-c", FROM_THREAD_TO_THREAD)),
    Application("processes", (), (sys.executable, "-S", "-c", PROCESSES)),
    Application("looks", (), ("sh", "-c", LOOKS), directory_and_links),
]


@pytest.mark.parametrize("recorder", [(), ("--quiet",)], ids=["complete", "quiet"])
@pytest.mark.parametrize("application", APPLICATIONS, ids=lambda one: one.name)
def test_nothing_is_lost(program: Path, application: Application, recorder: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory(prefix="lastrank-traces-") as folder:
        found = trial(program, application, Path(folder), recorder)
        assert not found.failed, "\n".join(found.failed)
        assert found.calls > 20
