"""Under a launcher one rank exchanges a name for a link while the library of another one opens what the name leads to."""

import subprocess

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
