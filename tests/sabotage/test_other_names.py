"""Ranks that open a file together and call it by different names, or whose file moves: nothing of the user is reached."""

import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from filesystems.directories import small_tmpfs
from filesystems.measured import Lastrank
from mpi.launchers import launcher

LAUNCHERS = ["debian-mpich", "debian-openmpi"]
CONFINED = [(), ("--require-confinement",)]
#: Each rank its own name: that of rank 1 leads to what is the user's.
OF_FILES = {
    "pwrite": 'pwrite($n, "p");',
    "pfopen": '$f = pfopen($n, "cw"); pfwrite($f, "p"); pfclose($f);',
    "both ways": '$f = pfopen($n, "crw"); pfwrite($f, "p"); pfclose($f);',
}
OF_PIPES = {
    "write": '$f = pfopen($n, "cw"); pfclose($f);',
    "both ways": '$f = pfopen($n, "crw"); pfclose($f);',
    "read": '$f = pfopen($n, "cr"); pfread($f, "p"); pfclose($f);',
    "pwrite": 'pwrite($n, "p");',
}
BEGUN = """define pattern {{"p", 1, 10, 0}};
if $$rank == 0 {{ write("begun", 1); {first} }}
barrier;
$t = 0; while $t == 0 {{ for $g in glob("go-*") $t = 1; sleep(10ms); }}
barrier;
$n = "x"; if $$rank == 1 $n = "{name}";
{call}
"""


def started(lastrank: Lastrank, name: str, text: str, *options: str) -> subprocess.Popen[str]:
    (lastrank.folder / "a.ppl").write_text(text)
    words = ("a.ppl", "-s", "-o", "a.parquet", "--report", "none", "--timeout", "20", *options)
    command, environment = [str(word) for word in (lastrank.program, "run", *words, "-n", "2")], dict(os.environ)
    if name:
        command, environment = launcher(name).command(2, [lastrank.program, "run"], words)
    return subprocess.Popen(
        command, cwd=lastrank.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def when_begun(running: subprocess.Popen[str], folder: Path, does: Callable[[], None]) -> str:
    while not (folder / "begun").exists() and running.poll() is None:
        time.sleep(0.01)
    does()
    (folder / "go-on").touch()
    try:
        return running.communicate(timeout=90)[0]
    finally:
        running.kill()


@pytest.mark.parametrize("options", CONFINED, ids=["", "confined"])
@pytest.mark.parametrize("launched", LAUNCHERS)
@pytest.mark.parametrize("call", OF_FILES)
def test_a_name_of_another_rank_leads_to_no_file_of_the_user(
    lastrank: Lastrank, call: str, launched: str, options: tuple[str, ...]
) -> None:
    """Made during the run, and called as what a library keeps next to its files."""
    text = BEGUN.format(first='symlink("a.data.1", "a");', name="a", call=OF_FILES[call])
    folder = lastrank.folder
    thesis = folder / "a.data.1"
    with started(lastrank, launched, text, *options) as running:
        said = when_begun(running, folder, lambda: thesis.write_text("my thesis") and None)
    assert thesis.read_text() == "my thesis", said
    assert running.returncode != 0, said


@pytest.mark.parametrize("options", CONFINED, ids=["", "confined"])
@pytest.mark.parametrize("launched", LAUNCHERS)
@pytest.mark.parametrize("call", OF_PIPES)
def test_a_name_of_another_rank_leads_to_no_pipe_of_the_user(
    lastrank: Lastrank, call: str, launched: str, options: tuple[str, ...]
) -> None:
    folder = lastrank.folder
    pipe = folder / "victim.pipe"
    os.mkfifo(pipe)
    woken: list[object] = []

    def waits() -> None:
        with open(pipe, "wb" if call == "read" else "rb") as end:
            woken.append(end)

    waiting = threading.Thread(target=waits, daemon=True)
    waiting.start()
    text = BEGUN.format(first="", name="victim.pipe", call=OF_PIPES[call])
    with started(lastrank, launched, text, *options) as running:
        said = when_begun(running, folder, lambda: None)
    assert not woken and waiting.is_alive(), said
    assert running.returncode != 0, said
    # Lets go of who waits.
    os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK))


EXCHANGED = """define groups {"a":S 1, "b":S 1};
on_error continue;
if $$rank == 0 { mkdir("d"); write("d/f", 4k); symlink("../victim/f", "d/L"); }
barrier;
group "a" { repeat 1500 { $f = pfopen("d/f", "%s"); if $f >= 0 pfclose($f); } }
group "b" { repeat 1500 { %s } }
"""
WAYS = {
    "file": 'rename("d/f", "d/g"); rename("d/L", "d/f"); rename("d/f", "d/L"); rename("d/g", "d/f");',
    "directory": 'rename("d", "e"); symlink("victim", "d"); delete("d"); rename("e", "d");',
}


@pytest.mark.parametrize("mode", ["w", "rw", "cw"])
@pytest.mark.parametrize("way", WAYS)
def test_what_another_rank_exchanges_leads_to_no_pipe(lastrank: Lastrank, way: str, mode: str) -> None:
    folder = lastrank.folder
    (folder / "victim").mkdir()
    os.mkfifo(folder / "victim/f")
    woken: list[object] = []

    def waits() -> None:
        with open(folder / "victim/f", "rb") as end:
            woken.append(end)

    waiting = threading.Thread(target=waits, daemon=True)
    waiting.start()
    with started(lastrank, "", EXCHANGED % (mode, WAYS[way])) as running:
        said = running.communicate(timeout=90)[0]
    assert not woken and waiting.is_alive(), said
    os.close(os.open(folder / "victim/f", os.O_RDWR | os.O_NONBLOCK))


@pytest.mark.parametrize("launched", LAUNCHERS)
def test_a_tenth_of_the_disk_stays_free_of_a_file_whose_directory_moved(
    lastrank: Lastrank, launched: str, tmp_path: Path
) -> None:
    with small_tmpfs(tmp_path, 48 << 20) as mounted:
        small = mounted.path
        text = f"""define place "dir" $dir "x";
define pattern {{"p", 20, 2m, 0}};
mkdir("$dir/d"); barrier; $f = pfopen("$dir/d/f", "cw"); barrier;
if $$rank == 0 rename("$dir/d", "$dir/e"); barrier; pfwrite($f, "p"); pfclose($f);
"""
        least = os.statvfs(small).f_bavail // 10
        with started(lastrank, launched, text, "--set", f"dir={small}") as running:
            said = running.communicate(timeout=90)[0]
        assert running.returncode != 0 and "stays free" in said, said
        assert os.statvfs(small).f_bavail >= least, said


def test_a_tenth_of_the_names_stays_free_of_files_of_groups(lastrank: Lastrank, tmp_path: Path) -> None:
    with small_tmpfs(tmp_path, 64 << 20) as mounted:
        small = mounted.path
        subprocess.run(["mount", "-o", "remount,nr_inodes=600", small], check=True)
        text = """define place "dir" $dir "x";
write("$dir/first", 4k);
for $i in 0..800 { $f = pfopen("$dir/n$i", "cw"); pfclose($f); }
"""
        with started(lastrank, "", text, "--set", f"dir={small}") as running:
            said = running.communicate(timeout=90)[0]
        assert running.returncode != 0 and "stays free" in said, said


def test_a_file_that_the_user_named_stays_where_files_have_no_birth_times(lastrank: Lastrank, tmp_path: Path) -> None:
    with small_tmpfs(tmp_path, 1 << 20) as mounted:
        small = mounted.path
        subprocess.run(["umount", small], check=True)
        subprocess.run(["mount", "-t", "ramfs", "none", small], check=True)
        for call in ['delete($file);', 'rename($file, "$file.z");', "chmod($file, 0o600);"]:
            named = small / "x"
            named.write_text("my thesis")
            named.chmod(0o644)
            text = f'define place "file" $file "x";\n$f = pfopen($file, "cw"); pfclose($f); {call}'
            with started(lastrank, "", text, "--set", f"file={named}") as running:
                said = running.communicate(timeout=90)[0]
            assert running.returncode != 0, (call, said)
            assert named.read_text() == "my thesis" and named.stat().st_mode & 0o777 == 0o644, (call, said)
