"""A directory that the user opened with `--allow`, or that is a replay's own, opens nothing that a name only leads to."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from filesystems.measured import Lastrank

from .without import without_landlock

TWO = "define ranks 2\n"
# `t` is allowed, `victim` is not. `d` leads to the one, and then to the other.
EXCHANGED = TWO + (
    'if $$rank == 0 { symlink("t", "d"); write("d/x", 4k); signal("a"); await("b"); %s }\n'
    'else { await("a"); delete("d"); symlink("victim", "d"); signal("b"); }'
)
# Effect by effect, each of one program.
PROGRAMS = {
    "write behind an exchanged link": EXCHANGED % 'write("d/x", 4k);',
    "delete behind an exchanged link": EXCHANGED % 'delete("d/x");',
    "chmod behind an exchanged link": EXCHANGED % 'chmod("d/x", 0o666);',
    "rename behind an exchanged link": EXCHANGED % 'rename("d/z", "d/zz");',
    "hidden name behind an exchanged link": EXCHANGED % 'write("d/.profile", 10);',
    "workers": (
        'symlink("t", "d"); parallel 2 { if $$worker == 0 { write("d/x", 4k); signal("a"); await("b"); write("d/x", 4k); }\n'
        'else { await("a"); delete("d"); symlink("victim", "d"); signal("b"); } }'
    ),
    "one rank, a link to a link": (
        'symlink("victim", "lv"); symlink("t", "d"); write("d/x", 4k); delete("d"); link("lv", "d"); write("d/x", 4k);'
    ),
    "a directory of the user inside": TWO + (
        'if $$rank == 0 { write("t/u/q", 4k); signal("a"); await("b"); write("t/u/x", 4k); delete("t/u/y"); }\n'
        'else { await("a"); rename("t/u", "t/u2"); symlink("../victim", "t/u"); signal("b"); }'
    ),
    "chmod of what a link leads to": 'symlink("../victim/y", "t/l"); chmod("t/l", 0o666);',
    "chmod of an open file": 'symlink("../victim/y", "t/l"); $f = fopen("t/l", "r"); chmod($f, 0o666);',
    "write to what a link leads to": 'symlink("../victim/y", "t/l"); pwrite("t/l", 4k);',
    "open to write what a link leads to": 'symlink("../victim/y", "t/l"); $f = fopen("t/l", "r+"); fwrite($f, 4k); fclose($f);',
    "by the library": (
        'define pattern {"p", 2, 1k, 0};\n'
        'symlink("../victim/x", "t/l"); $f = -1; $f = pfopen("t/l", "crw"); pfwrite($f, "p"); pfclose($f);'
    ),
    "truncate": 'symlink("../victim/y", "t/l"); truncate("t/l", 1);',
}  # fmt: skip


def victim(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """What lies there, with modes and times."""
    return {
        str(path.relative_to(folder)): (
            path.read_bytes() if path.is_file() and not path.is_fifo() else b"", stat.S_IMODE(path.lstat().st_mode),
            0 if path.is_dir() else path.lstat().st_mtime_ns,
        )
        for path in sorted((folder / "victim").rglob("*"))
    }  # fmt: skip


def tree(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    for name in ("t/u", "victim"):
        (folder / name).mkdir(parents=True)
    for name in ("x", "y", "z"):
        (folder / "victim" / name).write_text(f"of the user: {name}")
        (folder / "victim" / name).chmod(0o640)
    return victim(folder)


def run(lastrank: Lastrank, folder: Path, text: str, options: tuple[str, ...], landlock: bool) -> str:
    (folder / "a.ppl").write_text("on_error continue;\n" + text)
    command = [lastrank.program, "run", "a.ppl", "-s", "-o", "a.parquet", "--report", "none", "--timeout", "20", *options]
    done = subprocess.run(
        list(map(str, command)), cwd=folder, capture_output=True, text=True, timeout=60, check=False,
        preexec_fn=None if landlock else without_landlock,
    )  # fmt: skip
    assert "mistake" not in done.stderr, (text, done.stderr)
    return done.stderr


@pytest.mark.parametrize("landlock", [True, False], ids=["kernel", "descriptors"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_opened_directory_opens_nothing_that_a_name_only_leads_to(
    name: str, landlock: bool, lastrank: Lastrank
) -> None:
    before = tree(lastrank.folder)
    said = run(lastrank, lastrank.folder, PROGRAMS[name], ("--allow", "t"), landlock)
    assert victim(lastrank.folder) == before, (name, said)


PIPES = {
    "read": '$f = fopen("d/p", "O_RDONLY|O_NONBLOCK"); fread($f, 7);',
    "write": '$f = fopen("d/p", "O_WRONLY|O_NONBLOCK");',
}


@pytest.mark.parametrize("landlock", [True, False], ids=["kernel", "descriptors"])
@pytest.mark.parametrize("how", PIPES)
def test_a_pipe_is_left_alone_whatever_the_run_made_under_its_name(how: str, landlock: bool, lastrank: Lastrank) -> None:
    folder = lastrank.folder
    tree(folder)
    os.mkfifo(folder / "victim" / "p")
    # Who waits there sees nobody come, and what lies in it stays.
    held = os.open(folder / "victim" / "p", os.O_RDWR | os.O_NONBLOCK)
    os.write(held, b"of user")
    said = run(
        lastrank, folder,
        'mkdir("e"); symlink("e", "d"); write("d/p", 4k); delete("d"); symlink("victim", "d");' + PIPES[how], (), landlock,
    )  # fmt: skip
    assert os.read(held, 100) == b"of user" and "pipe" in said, said
    os.close(held)


@pytest.mark.parametrize("landlock", [True, False], ids=["kernel", "descriptors"])
def test_a_replay_changes_nothing_that_links_of_its_application_lead_to(lastrank: Lastrank, landlock: bool) -> None:
    """The recording is that of an application which changed files of its own; here the names lead to the user's."""
    folder = lastrank.folder
    app = folder / "app"
    app.mkdir()
    script = f"ln -s {folder}/victim/y l; chmod 666 l; ln -s {folder}/victim d; echo x > d/x; mv d/z d/zz; : > l"
    tree(folder)
    record = [lastrank.program, "record", "-o", folder / "app.parquet", "--", "sh", "-c", script]
    recorded = subprocess.run(list(map(str, record)), cwd=app, capture_output=True, text=True, check=False, timeout=60)
    assert recorded.returncode == 0, recorded.stderr
    subprocess.run(["rm", "-rf", "victim", "app", "t"], cwd=folder, check=True)
    before = tree(folder)
    replay = [lastrank.program, "replay", "app.parquet", "-o", "r.parquet"]
    done = subprocess.run(
        list(map(str, replay)), cwd=folder, capture_output=True, text=True, check=False, timeout=60,
        preexec_fn=None if landlock else without_landlock,
    )  # fmt: skip
    assert victim(folder) == before and "Usage" not in done.stderr, (done.stdout, done.stderr)
    assert done.returncode != 0, done.stdout
