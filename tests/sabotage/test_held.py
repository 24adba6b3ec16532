"""What is checked is what is used: files of kernels, of groups, and the space of files whatever they are called by then."""

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from filesystems.measured import Lastrank, Run
from mpi.launchers import launcher

from .without import without_landlock


def says(lastrank: Lastrank, folder: Path, text: str, *options: str, landlock: bool = True) -> subprocess.CompletedProcess:
    (folder / "a.ppl").write_text(text)
    command = [lastrank.program, "run", "a.ppl", "-s", "-o", "a.parquet", "--report", "none", "--timeout", "30", *options]
    return subprocess.run(
        list(map(str, command)), cwd=folder, capture_output=True, text=True, timeout=60, check=False,
        preexec_fn=None if landlock else without_landlock,
    )  # fmt: skip


SWAPPED = """
on_error continue;
if $$rank == 0 mkdir("a");
if $$rank == 0 symlink("b", "l");
barrier;
if $$rank == 0 { sleep(20ms); rename("a", "t"); rename("l", "a"); sleep(200ms); rename("a", "l"); rename("t", "a"); }
if $$rank == 1 repeat 20 { fopen_fclose("a", 2000); create_delete("a", 500); open_close("a", 500); }
"""


@pytest.mark.parametrize("name", ["", "without Landlock", "debian-mpich", "debian-openmpi"])
def test_files_of_kernels_stay_in_the_directory_that_was_checked(lastrank: Lastrank, name: str) -> None:
    """`b` is of the user, whom no file of a kernel may remain with, nor be seen at."""
    folder = lastrank.folder
    (folder / "b").mkdir()
    (folder / "a.ppl").write_text(SWAPPED)
    words = ("a.ppl", "-s", "-o", "a.parquet", "--report", "none", "--timeout", "60")
    command, environment = [str(word) for word in (lastrank.program, "run", *words, "-n", "2")], dict(os.environ)
    if name.startswith("debian"):
        command, environment = launcher(name).command(2, [lastrank.program, "run"], words)
    limit = without_landlock if name == "without Landlock" else None
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limit
    ) as running:
        while running.poll() is None:
            # A name that was there when it was asked for is gone in the next moment.
            time.sleep(0.001)
    left = [path for path in folder.rglob(".lastrank-*") if path.is_file()]
    assert not left and not os.listdir(folder / "b")


def test_a_kernel_looks_again_where_a_name_leads_after_a_renaming(lastrank: Lastrank) -> None:
    """Of one rank: the kernel is kept from its first use, and the directory is another one at the second."""
    folder = lastrank.folder
    (folder / "b").mkdir()
    (folder / "b").chmod(0o500)
    text = (
        'mkdir("a"); mkdir("c"); symlink("b", "l");\nstat_file("a", 10);\nrename("a", "t"); rename("c", "a");\nstat_file("a", 10);\n'
        'rmdir("t"); rename("a", "c"); rmdir("c"); delete("l");\n'
    ).replace("stat_file", "open_close")
    done = says(lastrank, folder, text)
    # Directories of kernels are not empty while one is kept: those of the first name are.
    assert "rmdir" not in done.stderr or "line 5" in done.stderr, done.stderr
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".lastrank")) == []


@pytest.mark.parametrize("landlock", [True, False], ids=["kernel", "descriptors"])
def test_files_of_groups_open_where_directories_are_held(lastrank: Lastrank, landlock: bool) -> None:
    (lastrank.folder / "sub").mkdir()
    text = (
        'define pattern {"p", 2, 10, 1};\n$f = pfopen("sub/x", "cw"); pfclose($f);\npwrite("sub/y", "p"); pread("sub/y", "p");\n'
        '$g = fopen("sub/y", "r"); pwrite("sub/y", "p"); fclose($g);\npdelete("sub/y"); barrier;\nif $$rank == 0 delete("sub/x");\n'
    )
    done = says(lastrank, lastrank.folder, text, "-n", "2", landlock=landlock)
    assert done.returncode == 0 and not os.listdir(lastrank.folder / "sub"), (done.returncode, done.stderr)


@pytest.mark.parametrize("landlock", [True, False], ids=["kernel", "descriptors"])
def test_a_file_that_is_a_place_may_be_written_to_and_nothing_else(lastrank: Lastrank, landlock: bool) -> None:
    for number, (body, done_well) in enumerate([
        ("write($f, 3);", True),
        ('$g = fopen($f, "r+"); fwrite($g, 3); fclose($g); read($f);', True),
        ('rename($f, "zz");', False),
        ("delete($f);", False),
        ("chmod($f, 0);", False),
        ('link($f, "zz");', False),
        ('write("mine", 1); rename("mine", $f);', False),
    ]):  # fmt: skip
        folder = lastrank.folder / f"{number}"
        folder.mkdir()
        (folder / "thesis.txt").write_text("the user's")
        had = os.stat(folder / "thesis.txt")
        done = says(lastrank, folder, f'define place "f" $f "x";\n{body}', "--set", "f=thesis.txt", landlock=landlock)
        has = os.stat(folder / "thesis.txt")
        assert (has.st_ino, has.st_mode, has.st_nlink) == (had.st_ino, had.st_mode, 1), body
        assert (done.returncode == 0) == done_well and ("did not make it" in done.stderr) != done_well, (body, done.stderr)
        assert done_well or (folder / "thesis.txt").read_text() == "the user's", body


@pytest.mark.parametrize("landlock", [True, False], ids=["kernel", "descriptors"])
@pytest.mark.parametrize("call", ["write($f, 3);", '$g = fopen($f, "r+"); fwrite($g, 3);', 'pwrite($f, "p");'])
def test_a_file_that_is_a_place_is_the_one_that_had_the_name(lastrank: Lastrank, call: str, landlock: bool) -> None:
    """Another one that takes its name while the program runs is not what the user named."""
    folder = lastrank.folder
    (folder / "thesis.txt").write_text("named")
    (folder / "new.txt").write_text("not named")
    (folder / "a.ppl").write_text(
        'define place "f" $f "x";\ndefine pattern {"p", 1, 3, 0};\nwrite($f, 2);\nwrite("begun", 1);\n'
        '$there = 0;\nwhile $there == 0 { for $g in glob("go-*") $there = 1; sleep(10ms); }\n' + call + "\n"
    )
    command = [lastrank.program, "run", "a.ppl", "-s", "-o", "a.parquet", "--report", "none", "--set", "f=thesis.txt"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        preexec_fn=None if landlock else without_landlock,
    ) as running:  # fmt: skip
        while not (folder / "begun").exists() and running.poll() is None:
            time.sleep(0.01)
        (folder / "new.txt").rename(folder / "thesis.txt")
        (folder / "go-on").touch()
        said = running.communicate(timeout=60)[0].decode(errors="replace")
    assert "did not make it" in said and running.returncode == 2, said
    assert (folder / "thesis.txt").read_bytes() == b"not named", said


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64M", "none", disk], check=False).returncode:
        pytest.skip("no file system can be mounted here")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


FILLS = {
    "its name is gone": 'mkdir("d"); $f = fcreat("d/f"); rename("d", "e"); for 10s fwrite($f, 1MiB);',
    "its name is a directory's": '$f = fcreat("f"); rename("f", "g"); mkdir("f"); for 10s fwrite($f, 1MiB);',
    "it never had a name": '$f = fopen(".", "O_TMPFILE|O_RDWR"); for 10s fwrite($f, 1MiB);',
    "all at once": 'mkdir("d"); $f = fcreat("d/f"); rename("d", "e"); fallocate($f, 63MiB);',
    "between writes to a device": '$f = fcreat("f"); for 10s { write("/dev/null", 1); fwrite($f, 16MiB); }',
    "an open device": '$f = fcreat("f"); $n = fopen("/dev/null", "w"); for 10s { fwrite($n, 1); fwrite($f, 16MiB); }',
}


@pytest.mark.parametrize("way", FILLS)
def test_a_tenth_of_the_disk_stays_free_whatever_the_file_is_called(lastrank: Lastrank, small_disk: Path, way: str) -> None:
    done = says(lastrank, small_disk, FILLS[way])
    assert done.returncode != 0 and "stays free" in done.stderr, (way, done.stderr)


@pytest.mark.parametrize("landlock", [True, False], ids=["kernel", "descriptors"])
def test_no_link_is_moved_to_where_it_leads_outside(lastrank: Lastrank, landlock: bool) -> None:
    """A shell of the user that writes to such a link would write outside, long after the run."""
    makes = 'mkdir("a"); mkdir("a/b"); mkdir("outside"); symlink("../outside", "a/b/l");'
    for number, (body, done_well) in enumerate([
        ('rename("a/b/l", "up");', False),
        ('link("a/b/l", "up");', False),
        ('rename("a/b/l", "a/l"); delete("a/l");', True),
        ('mkdir("a/b/c"); symlink("../../../x", "a/b/c/m"); rename("a/b", "b");', False),
        ('mkdir("s"); write("f.1", 3); symlink("../f.1", "s/l"); rename("s", "t"); read("t/l"); rename("t", "a/t");', True),
        ('mkdir("a/b/c"); symlink("c/../../../outside", "a/b/m");', False),
    ]):  # fmt: skip
        folder = lastrank.folder / f"{number}/work"
        folder.mkdir(parents=True)
        done = says(lastrank, folder, makes + body, landlock=landlock)
        outside = [link for link in folder.rglob("*") if link.is_symlink() and not (link.resolve()).is_relative_to(folder.resolve())]
        assert not outside, (body, outside, done.stderr)
        assert (done.returncode == 0) == done_well and ("may only touch" in done.stderr) != done_well, (body, done.stderr)


TOGETHER = {
    "workers": ('mkdir("d"); parallel 8 for 10s append("d/$$worker", 6MiB);', ()),
    "ranks": ('barrier; for 10s append("f-$$rank", 6MiB);', ("-n", "8")),
    "under way": ('$f = fcreat("f"); $i = 0; async depth=64 for 10s { fwrite($f, 1MiB, $i * 1MiB); $i = $i + 1; }', ()),
    "after a wait": ('write("a-$$rank", 1); barrier; if $$rank == 1 for 10s write("f", 1MiB); barrier; '
                     'if $$rank == 0 for 10s append("g", 256KiB);', ("-n", "2")),
}  # fmt: skip


@pytest.mark.parametrize("way", TOGETHER)
def test_a_tenth_of_the_disk_stays_free_of_those_that_write_at_the_same_time(
    lastrank: Lastrank, small_disk: Path, way: str
) -> None:
    body, options = TOGETHER[way]
    (small_disk / "a.ppl").write_text(body)
    done = subprocess.run(
        [str(word) for word in (lastrank.program, "run", "a.ppl", "-s", "-o", lastrank.folder / "a.parquet",
                                "--report", "none", "--timeout", "30", *options)],
        cwd=small_disk, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    # Nothing is removed before all have ended: what was added is what the disk held at last. `write` replaces what it wrote.
    samples = Run(done.returncode, done.stdout, done.stderr, lastrank.folder / "a.parquet").samples
    added = (samples.kind == "operation") & (samples.errno == 0) & (samples.operation != "write")
    written = samples[added].bytes.sum()
    assert written <= 58 << 20, (way, written, done.stderr)
    # It is no other limit that keeps it: half of the disk was used. What eight write at the same time is kept for them.
    assert "stays free" in done.stderr and written > 32 << 20, (way, written, done.stderr)


def test_each_file_system_has_its_own_tenth(lastrank: Lastrank, small_disk: Path) -> None:
    """The small one is written to when much of the large one was allowed."""
    for number, body in enumerate([
        'write("large", 4MiB); for 10s append("$small/f", 1MiB);',
        '$l = fcreat("large"); $s = fcreat("$small/f"); fwrite($l, 4MiB); for 10s { fwrite($s, 1MiB); fwrite($l, 4k, 0); }',
    ]):  # fmt: skip
        text = f'define place "small" $small "x";\n{body}'
        done = says(lastrank, lastrank.folder, text, "--set", f"small={small_disk}")
        assert done.returncode != 0 and "stays free" in done.stderr, (number, done.stderr)


@pytest.mark.parametrize("landlock", [True, False], ids=["kernel", "descriptors"])
@pytest.mark.parametrize("call", ['write("d/f-$i", 1MiB);', 'append("d/f-$i", 1MiB);', 'pwrite("d/f-$i", "p");'])
def test_a_tenth_of_the_disk_stays_free_to_which_another_rank_leads(
    lastrank: Lastrank, small_disk: Path, call: str, landlock: bool
) -> None:
    """It exchanges a directory of the large disk, which the other one has written to, for a link to the small one."""
    text = (
        'define place "small" $small "x";\ndefine pattern {"p", 1, 512k, 0};\n'
        'if $$rank == 0 { mkdir("d"); write("d/a", 4MiB); append("d/b", 4MiB); }\nbarrier;\npwrite("d/c", "p");\nbarrier;\n'
        'if $$rank == 1 { rename("d", "e"); symlink($small, "d"); }\nbarrier;\n$i = 0;\n'
        f'repeat 70 {{ if {"1 == 1" if "pwrite" in call else "$$rank == 0"} {{ {call} }} $i = $i + 1; }}\n'
    )
    done = says(lastrank, lastrank.folder, text, "--set", f"small={small_disk}", "-n", "2", landlock=landlock)
    free = os.statvfs(small_disk)
    assert done.returncode != 0 and "stays free" in done.stderr, (done.stderr, free)


OPENS = [
    'write("{}", 3);', 'append("{}", 3);', 'create("{}");', '$f = fopen("{}", "w");', '$f = fopen("{}", "a");',
    '$f = fopen("{}", "r+");', 'read("{}");', 'read("{}", 3);', '$f = fopen("{}", "r"); fread($f, 3);',
    '$f = fopen("{}", "O_RDONLY|O_NOFOLLOW"); fread($f, 3);', '$f = fopen("{}", "O_RDWR|O_NONBLOCK"); fread($f, 3);',
    'symlink("{}", "l"); read("l", 3);', 'symlink("{}", "l"); write("l", 3);', 'async depth=2 {{ read("{}", 3); }}',
    'async depth=2 {{ write("{}", 3); }}', 'write("plain", 3); read("plain"); read("{}", 3);',
    'repeat 3 {{ $f = fopen("other", "r"); fclose($f); }} $f = fopen("{}", "r"); fread($f, 3);',
    'define pattern {{"p", 1, 3, 1}};\npread("{}", "p");', 'define pattern {{"p", 1, 3, 1}};\npwrite("{}", "p");',
    '$f = pfopen("{}", "r"); pfclose($f);', 'parallel 2 read("{}", 3);', 'if $$rank == 1 read("{}", 3);',
]  # fmt: skip


@pytest.mark.parametrize("landlock", [True, False], ids=["kernel", "descriptors"])
def test_pipes_of_the_user_are_not_touched(lastrank: Lastrank, landlock: bool) -> None:
    """Neither is who waits at one woken, nor is anything taken from one or put into it."""
    folder = lastrank.folder
    (folder / "other").write_text("the user's")
    os.mkfifo(folder / "waited")
    os.mkfifo(folder / "full")
    woken = []

    def waits() -> None:
        with open(folder / "waited", "rb") as pipe:
            woken.append(pipe.read())

    reader = threading.Thread(target=waits, daemon=True)
    reader.start()
    full = os.open(folder / "full", os.O_RDWR | os.O_NONBLOCK)
    os.write(full, b"the user's")
    try:
        # Which of the two is met by which way is another one each time.
        for number, body in enumerate(OPENS if landlock else OPENS[::3]):
            name = ("waited", "full")[number // 2 % 2]
            ranks = ("-n", "2") if "$$rank" in body else ()
            done = says(lastrank, folder, body.replace('"l"', f'"l{number}"').format(name), *ranks, landlock=landlock)
            said = "async" in body or "--allow" in done.stderr
            assert done.returncode not in (0, 101) and said, (body, done.returncode, done.stderr)
            assert not woken, (body, done.stderr)
        assert os.read(full, 100) == b"the user's"
        # What the user names is the program's: no less than before.
        os.write(full, b"abc")
        text = 'define place "p" $p "x";\nread($p, 3);'
        done = says(lastrank, folder, text, "--set", "p=full", landlock=landlock)
        assert done.returncode == 0, done.stderr
        done = says(lastrank, folder, 'append("waited", 3);', "--allow", "waited", landlock=landlock)
        reader.join(10)
        assert done.returncode == 0 and [len(bytes_) for bytes_ in woken] == [3], (done.stderr, woken)
        done = says(lastrank, folder, 'write("full", 3);', "--allow", "full", landlock=landlock)
        assert done.returncode == 0 and len(os.read(full, 100)) == 3, done.stderr
        done = says(lastrank, folder, 'write("/dev/null", 3); read("/dev/zero", 3);', landlock=landlock)
        assert done.returncode == 0, done.stderr
    finally:
        os.close(full)
        if reader.is_alive():
            os.close(os.open(folder / "waited", os.O_RDWR | os.O_NONBLOCK))


def test_a_program_that_was_refused_something_neither_waits_nor_prints(lastrank: Lastrank) -> None:
    (lastrank.folder / "thesis.txt").write_text("the user's")
    (lastrank.folder / "a.ppl").write_text('write("thesis.txt", 1);\nprint("after it");\nsleep(1h);')
    # Who waits for an hour does not end in time.
    done = subprocess.run(
        [lastrank.program, "run", "a.ppl", "-s", "-o", "a.parquet", "--report", "none"], cwd=lastrank.folder,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and "did not make it" in done.stderr, done.stderr
    assert "after it" not in done.stdout + done.stderr, done.stdout
