"""The user makes a file under the very name that ranks are opening together."""

import os
import subprocess
import time

import pytest

from filesystems.measured import Lastrank
from mpi.launchers import launcher

PROGRAM = """
define pattern {"p", 1, 10, 0};
barrier;
write("begun-$$rank", 1);
if $$rank == %d sleep(2s);
%s
"""
CALLS = {
    "pwrite": 'pwrite("f", "p");',
    "of a library": 'define hints {"striping_factor": "1"};\npwrite("f", "p");',
    "pfopen": '$f = pfopen("f", "cw"); pfwrite($f, "p"); pfclose($f);',
}
TEXT = "the user's, made in that moment"


@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("name", ["", "debian-mpich", "debian-openmpi"])
@pytest.mark.parametrize("call", CALLS)
def test_what_the_user_makes_while_ranks_open_its_name_is_the_user_s(
    lastrank: Lastrank, name: str, call: str, late: int
) -> None:
    """One rank is in the call, the other one comes to it later."""
    folder = lastrank.folder
    (folder / "a.ppl").write_text(PROGRAM % (late, CALLS[call]))
    words = ("a.ppl", "-s", "-o", "a.parquet", "--report", "none", "--timeout", "60")
    command, environment = [str(word) for word in (lastrank.program, "run", *words, "-n", "2")], dict(os.environ)
    if name:
        command, environment = launcher(name).command(2, [lastrank.program, "run"], words)
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
        while not all((folder / f"begun-{rank}").exists() for rank in range(2)) and running.poll() is None:
            time.sleep(0.01)
        time.sleep(0.5)
        try:
            with open(folder / "f", "x", encoding="utf-8") as made:
                made.write(TEXT)
            is_users = True
        except FileExistsError:
            is_users = False
        said = running.communicate(timeout=120)[0].decode(errors="replace")
    if is_users:
        assert (folder / "f").read_bytes() == TEXT.encode(), said
        assert "did not make it" in said and running.returncode != 0, said
    else:
        # The rank that makes it was there first.
        assert running.returncode == 0 and (folder / "f").stat().st_size == 20, said
