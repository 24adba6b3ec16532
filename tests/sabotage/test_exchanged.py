"""Under a launcher one rank exchanges a name for a link while the library of another one opens what the name leads to."""

import os
import subprocess
import time

import pytest

from filesystems.measured import Lastrank
from mpi.launchers import launcher

PROGRAM = """
define groups {"a":S 1, "b":S 1};
define pattern {"p", 1, 10, 0};
on_error continue;
if $$rank == 0 { mkdir("d"); write("d/thesis.txt", 4k); }
barrier;
group "a" { repeat 400 { %s } }
group "b" { repeat 200 { %s } }
"""
EXCHANGES = {
    "directory": 'rename("d", "e"); symlink("victim", "d"); delete("d"); rename("e", "d");',
    "file": (
        'rename("d/thesis.txt", "d/x"); symlink("../victim/thesis.txt", "d/thesis.txt"); delete("d/thesis.txt"); '
        'rename("d/x", "d/thesis.txt");'
    ),
}
CALLS = {
    "pwrite": 'pwrite("d/thesis.txt", "p");',
    "pfopen": '$f = pfopen("d/thesis.txt", "cw"); pfwrite($f, "p"); pfclose($f);',
    "pdelete": 'pdelete("d/thesis.txt");',
}


@pytest.mark.parametrize("name", ["debian-mpich", "debian-openmpi"])
@pytest.mark.parametrize("call", CALLS)
def test_a_name_that_another_rank_exchanges_leads_the_library_nowhere(lastrank: Lastrank, name: str, call: str) -> None:
    for what, exchange in EXCHANGES.items():
        folder = lastrank.folder / what
        (folder / "victim").mkdir(parents=True)
        thesis = folder / "victim" / "thesis.txt"
        thesis.write_text("my thesis")
        (folder / "a.ppl").write_text(PROGRAM % (exchange, CALLS[call]))
        words = ("a.ppl", "-s", "-o", "a.parquet", "--report", "none", "--timeout", "60")
        command, environment = launcher(name).command(2, [lastrank.program, "run"], words)
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", timeout=120, check=False
        )
        assert "mistake" not in done.stderr and "line" in done.stdout + done.stderr, (done.stdout, done.stderr)
        assert [path.name for path in thesis.parent.iterdir()] == ["thesis.txt"], (what, done.stderr)
        assert thesis.read_text() == "my thesis", (what, done.stderr)


def test_no_hint_has_the_library_open_a_name_later(lastrank: Lastrank) -> None:
    """By this one ROMIO opens the file on some ranks when they first write, whatever has its name by then."""
    (lastrank.folder / "a.ppl").write_text(
        'define hints {"romio_no_indep_rw": "true", "cb_nodes": "1"}\ndefine pattern {"p", 1, 10, 0};\n'
        '$g = pfopen("g", "cw"); pfwrite($g, "p"); pfclose($g);\n'
    )
    words = ("a.ppl", "-s", "-o", "a.parquet", "--report", "none", "--timeout", "60")
    for options, status in (((), 2), (("--unconfined",), 0)):
        command, environment = launcher("debian-mpich").command(2, [lastrank.program, "run"], (*words, *options))
        done = subprocess.run(
            command, cwd=lastrank.folder, env=environment, capture_output=True, text=True, errors="replace", timeout=120, check=False
        )
        said = done.stdout + done.stderr
        assert done.returncode == status and ("leave the hint out" in said) == (status == 2), said


DURING_A_TRANSFER = """
define groups {"a":S 1, "b":S 1};
define pattern {"p", 4, 64m, 0};
on_error continue;
if $$rank == 0 { mkdir("d"); write("d/f", 1); symlink("../u/new.txt", "d/l"); write("begun", 1); }
barrier;
$there = 0;
while $there == 0 { for $g in glob("go-*") $there = 1; sleep(10ms); }
barrier;
group "a" { pwrite("d/f", "p"); }
group "b" { $s = 1; while $s < 2 { $s = stat("d/f"); } rename("d/l", "d/f"); }
barrier;
if $$rank == 0 { write("u/new.txt", 10); }
"""


@pytest.mark.parametrize("name", ["", "debian-mpich", "debian-openmpi"])
def test_what_takes_the_name_during_a_transfer_is_not_the_run_s(lastrank: Lastrank, name: str) -> None:
    """The user made it after the run began, so its age does not tell."""
    folder = lastrank.folder
    (folder / "u").mkdir()
    (folder / "a.ppl").write_text(DURING_A_TRANSFER)
    words = ("a.ppl", "-s", "-o", "a.parquet", "--report", "none", "--timeout", "60")
    command, environment = [str(word) for word in (lastrank.program, "run", *words, "-n", "2")], dict(os.environ)
    if name:
        command, environment = launcher(name).command(2, [lastrank.program, "run"], words)
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
        while not (folder / "begun").exists() and running.poll() is None:
            time.sleep(0.01)
        (folder / "u/new.txt").write_text("my new thesis")
        (folder / "go-on").touch()
        said = running.communicate(timeout=120)[0].decode(errors="replace")
    assert "refused to write" in said, said
    assert (folder / "u/new.txt").read_text() == "my new thesis", said
