"""Tests the NFS back end (libnfs): effects of a program are on the server's disk, and errors arrive as errno."""

import errno
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from .ganesha import NfsServer
from .measured import Lastrank, Run

CONTENT = """
$f = fopen("one", "w+");
fwrite($f, 100000);
fwrite($f, 4096, 3000001);
fseek($f, -100, "SEEK_CUR");
fwrite($f, 300);
fsync($f);
verify fread($f, 4096, 3000001);
ftruncate($f, 3000500);
fclose($f);
$b = alloc(2500000);
write("two", $b);
append("two", 5000);
write("three", 70000, 5);
verify read("three", 70000, 5);
free($b);
"""

PATTERN = """
define pattern {"blocks", 20, 4097, 1};
pwrite("together", "blocks");
verify pread("together", "blocks");
$f = fopen("shared-$$rank", "w+");
parallel 3 { repeat $i 10 fwrite($f, 1000, ($i * 3 + $$worker) * 1000); }
fclose($f);
"""


def run_locally(lastrank: Lastrank, program: Path, ranks: int = 1) -> Path:
    """The files that the same program makes on this machine."""
    folder = lastrank.folder / "local"
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        lastrank.command(program, ranks), cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    (folder / "run.parquet").unlink()
    return folder


def sizes_in(folder: Path) -> dict[str, int]:
    """The size of each file. Each run writes different content, which the programs verify themselves."""
    return {path.name: path.stat().st_size for path in sorted(folder.iterdir()) if path.is_file()}


def errnos(run: Run) -> list[tuple[str, int]]:
    return [
        (sample.operation, sample.errno)
        for sample in run.samples.sort_values("start_ns").itertuples()
        if sample.errno != 0
    ]


def test_what_is_on_the_server_is_what_the_same_program_writes_here(
    libnfs_server: NfsServer, lastrank: Lastrank, tmp_path: Path
) -> None:
    program = tmp_path / "content.ppl"
    program.write_text(CONTENT)
    run = libnfs_server.run(lastrank, program)
    assert run.status == 0, run
    assert run.facts["backend"] == libnfs_server.url
    expected = sizes_in(run_locally(lastrank, program))
    assert sizes_in(libnfs_server.export) == expected
    assert expected == {
        "one": 3000500,
        "two": 2505000,
        "three": 70005,
    }
    assert run.operations("fwrite").bytes.tolist() == [100000, 4096, 300]


def test_ranks_and_workers_have_connections_of_their_own(
    libnfs_server: NfsServer, lastrank: Lastrank, tmp_path: Path
) -> None:
    program = tmp_path / "ranks.ppl"
    program.write_text(PATTERN)
    run = libnfs_server.run(lastrank, program, ranks=3)
    assert run.status == 0, run
    expected = sizes_in(run_locally(lastrank, program, ranks=3))
    assert len(expected) == 4
    assert sizes_in(libnfs_server.export) == expected


def test_names_are_made_changed_and_removed_on_the_server(
    libnfs_server: NfsServer, lastrank: Lastrank, tmp_path: Path
) -> None:
    program = tmp_path / "names.ppl"
    program.write_text("""
        mkdir("d"); mkdir("gone"); rmdir("gone");
        create("d/a"); create("d/b"); create("d/c"); chmod("d/a", 416);
        chown("d/a"); utimes("d/a");
        $f = fopen("d/a", "r+"); chmod($f, 384); chown($f); utimes($f); fclose($f);
        rename("d/b", "d/moved"); link("d/a", "d/again"); symlink("a", "d/leads"); unlink("d/c");
        $names = readdir("d"); $size = stat("d/a");
        if ($names != 4 || $size != 0) { print "wrong: $names names, $size bytes"; }
        lookup("d/moved"); delete("d/moved");
    """)
    run = libnfs_server.run(lastrank, program)
    assert (run.status, "wrong" in run.output) == (0, False), run
    inside = libnfs_server.export / "d"
    assert sorted(os.listdir(libnfs_server.export)) == ["d"]
    assert sorted(os.listdir(inside)) == ["a", "again", "leads"]
    assert (inside / "a").stat().st_nlink == 2
    assert (inside / "a").stat().st_mode & 0o777 == 0o600
    assert os.readlink(inside / "leads") == "a"


def test_failures_arrive_as_errno(libnfs_server: NfsServer, lastrank: Lastrank, tmp_path: Path) -> None:
    (libnfs_server.export / "secret").write_text("not yours")
    (libnfs_server.export / "secret").chmod(0o600)
    (libnfs_server.export / "folder").mkdir()
    program = tmp_path / "failures.ppl"
    program.write_text("""
        stat("nothing"); fopen("secret", "r"); mkdir("folder"); unlink("nothing"); rmdir("nothing");
        fopen("nowhere/file", "w"); mmap("secret");
    """)
    # The server believes the user number that a client sends.
    run = libnfs_server.run(lastrank, program, arguments="&uid=65534&gid=65534")
    assert run.status == 3, run
    assert errnos(run) == [
        ("stat", errno.ENOENT),
        ("fopen", errno.EACCES),
        ("mkdir", errno.EEXIST),
        ("unlink", errno.ENOENT),
        ("rmdir", errno.ENOENT),
        ("fopen", errno.ENOENT),
        ("mmap", errno.EACCES),
    ]


def test_a_server_that_is_killed_is_an_errno_and_no_wait(
    libnfs_server: NfsServer, lastrank: Lastrank, tmp_path: Path
) -> None:
    program = tmp_path / "killed.ppl"
    program.write_text('on_error stop;\n$f = fopen("file", "w"); for 60s { fwrite($f, 1000, 0); }')
    command = libnfs_server.command(lastrank, program)
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    written = libnfs_server.export / "file"
    deadline = time.monotonic() + 30
    while not (written.exists() and written.stat().st_size > 0):
        assert time.monotonic() < deadline and running.poll() is None, "it does not write"
        time.sleep(0.05)
    libnfs_server.kill()
    output, messages = running.communicate(timeout=50)
    assert running.returncode == 3, output + messages
    run = Run(running.returncode, output, messages, lastrank.folder / "run.parquet")
    failed = errnos(run)
    assert failed and failed[0][0] == "fwrite", run
    assert failed[0][1] != 0
    assert "line 2" in messages, run


def test_a_missing_library_names_its_package(
    libnfs_server: NfsServer, lastrank: Lastrank, tmp_path: Path
) -> None:
    if not shutil.which("unshare"):
        pytest.skip("not installed: util-linux")
    library = next(Path("/usr/lib").glob("*/libnfs.so.13"))
    program = tmp_path / "any.ppl"
    program.write_text('create("file");')
    hidden = f'mount --bind /dev/null {library.resolve()} && exec "$@"'
    command = lastrank.command(program, 1)
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", hidden, "sh", *command, "--backend", "nfs://10.99.0.1/export"],
        cwd=lastrank.folder,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 2, done.stderr
    assert "libnfs" in done.stderr and "libnfs13" in done.stderr


def test_a_server_that_is_not_there_is_said(lastrank: Lastrank, tmp_path: Path, libnfs_server: NfsServer) -> None:
    program = tmp_path / "any.ppl"
    program.write_text('create("file");')
    command = libnfs_server.sandbox.inside(
        *("sh", "-c", 'cd "$0" && exec "$@"', lastrank.folder, *lastrank.command(program, 1)),
        *("--backend", "nfs://127.0.0.1/export?nfsport=1&mountport=1"),
    )
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3, done.stderr
    assert "cannot mount nfs://127.0.0.1/export" in done.stderr, done.stderr
