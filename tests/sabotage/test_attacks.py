"""A stranger's program: whatever it tries, nothing outside changes and the user keeps what was there."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from filesystems.measured import Lastrank
from mpi.launchers import launcher

from .attacks import ATTACKS, NAMES, SYSTEMATIC, Attack, by_object, fingerprint, lay_out, what_changed
from .without import without_landlock

NOBODY = 65534


def run(
    lastrank: Lastrank, attack: Attack, user: int, *before: str, options: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
) -> str:  # fmt: skip
    """Runs an attack in a fresh folder as this user; its messages. Fails where it had an effect."""
    folder = Path(tempfile.mkdtemp(prefix="attack-", dir=lastrank.folder))
    folder.chmod(0o755)
    lay_out(folder)
    work, outside = folder / "work", folder / "outside"
    # What the program wants to do may not fail only because somebody else owns it.
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, user, user, follow_symlinks=False)
    program = work / "attack.ppl"
    text = attack.program.replace("{{", "{").replace("}}", "}")
    program.write_text(text.replace("{outside}", str(outside)).replace("{work}", str(work)))
    had, lay_outside = fingerprint(work, attack.may_change), fingerprint(outside)
    ranks = [] if before else ["-n", str(attack.ranks)]
    command = [*before, lastrank.program, "run", program, *ranks, "-s", "-o", folder / "run.parquet"]
    done = subprocess.run(
        [*map(str, command), "--report", "none", "--timeout", "20", *options],
        cwd=work, capture_output=True, text=True, errors="replace", timeout=120, check=False, user=user, group=user,
        extra_groups=[],
        env={"PATH": f"{work}:{os.environ['PATH']}", "TMPDIR": str(folder), "HOME": str(folder), **(environment or {})},
    )  # fmt: skip
    assert "panicked" not in done.stderr, (attack.name, done.stderr)
    assert not re.search(r"error\[|attack.ppl:\d+:\d+: error", done.stderr), (attack.name, done.stderr)
    assert fingerprint(outside) == lay_outside, (attack.name, done.stderr)
    after = fingerprint(work)
    changed = {name: (had[name], after.get(name)) for name in what_changed(had, after)}
    assert not changed, (attack.name, changed, done.stderr)
    if "--room" in options:
        beside = [name for name in set(after) - set(had) if not name.startswith("attack-room-")]
        assert not beside, (attack.name, beside)
    if attack.says:
        assert done.returncode == 2 or before, (attack.name, done.returncode, done.stderr)
        assert attack.says in done.stderr, (attack.name, done.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    return done.stderr


def run_all(attacks: list[tuple[Attack, int]], act: Callable[[Attack, int], str]) -> None:
    """Runs them several at a time: most of the time of a run is waiting."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda one: act(*one), attacks))


@pytest.fixture(params=[0, NOBODY], ids=["root", "user"])
def user(request: pytest.FixtureRequest) -> int:
    """Root, and somebody without rights."""
    if os.geteuid() != 0:
        if request.param == NOBODY:
            pytest.skip("only root can become another user")
        return os.geteuid()
    return request.param


@pytest.fixture
def reachable(lastrank: Lastrank) -> Iterator[Lastrank]:
    """In a folder that somebody without rights can reach, also where the checkout lies in a closed one (a home). That of
    pytest is closed again by each session that begins."""
    folder = Path(tempfile.mkdtemp(prefix="lastrank-attacks-"))
    folder.chmod(0o711)
    program = shutil.copy2(lastrank.program, folder / "lastrank")
    yield Lastrank(Path(program), folder)
    shutil.rmtree(folder, ignore_errors=True)


def test_no_attack_has_an_effect(reachable: Lastrank, user: int) -> None:
    run_all([(attack, user) for attack in ATTACKS], lambda attack, user: run(reachable, attack, user))
    print(f"{len(ATTACKS)} attacks as user {user}, none with an effect")
    assert len(ATTACKS) >= 20


def test_no_way_to_change_a_file_by_no_way_to_name_it_has_an_effect(reachable: Lastrank) -> None:
    """Every class of call by every way of naming, by ranks, workers and operations under way; root and the other user in turn."""
    run_all(in_turn(SYSTEMATIC), lambda attack, user: run(reachable, attack, user))
    print(f"{len(SYSTEMATIC)} attacks on objects, none with an effect")
    assert len(SYSTEMATIC) >= 150


def in_turn(attacks: list[Attack]) -> list[tuple[Attack, int]]:
    """Each as root or as somebody without rights."""
    users = [0, NOBODY] if os.geteuid() == 0 else [os.geteuid()]
    # By sevens, so that each class of call meets both.
    return [(attack, users[(number + number // 7) % len(users)]) for number, attack in enumerate(attacks)]


def test_no_attack_leaves_a_room(reachable: Lastrank) -> None:
    """With --room a program has nothing but a new folder, so that names of the user's files are beside or above it."""
    attacks = [replace(attack, says="") for attack in [*by_object("../"), *ATTACKS]]
    found = run(reachable, attacks[0], os.geteuid(), options=("--room",))
    if "--room cannot be kept here" in found:
        pytest.skip(found)
    run_all(in_turn(attacks), lambda attack, user: run(reachable, attack, user, options=("--room",)))
    print(f"{len(attacks)} attacks in a room, none with an effect")


def test_a_room_is_refused_where_it_cannot_be_kept(lastrank: Lastrank) -> None:
    (lastrank.folder / "a.ppl").write_text('write("x", 1);')
    (lastrank.folder / "old").mkdir()
    (lastrank.folder / "net.ppl").write_text('net_pingpong("udp", "127.0.0.1:7007", 8);')
    for words, says in [
        (("a.ppl", "--room=old"), "is there already"),
        (("net.ppl", "--room"), "line 1: net_pingpong"),
        (("a.ppl", "--room", "--backend", "simulate:gev(10ms,1ms,0.1)"), "touches nothing"),
        (("a.ppl", "--room", "--allow", "."), "cannot be used with"),
        (("a.ppl", "--room", "--unconfined"), "cannot be used with"),
        (("a.ppl", "--room", "--allow-spawn"), "cannot be used with"),
    ]:
        done = lastrank_says(lastrank, "run", *words)
        assert done.returncode == 2 and says in done.stderr, (words, done.stderr)
    blocked = subprocess.run(
        [str(lastrank.program), "run", "a.ppl", "--room"], cwd=lastrank.folder, capture_output=True, text=True, check=False,
        preexec_fn=without_landlock,
    )  # fmt: skip
    assert blocked.returncode == 2 and "--room cannot be kept here" in blocked.stderr, blocked.stderr
    assert sorted(path.name for path in lastrank.folder.iterdir()) == ["a.ppl", "net.ppl", "old"]


@pytest.mark.parametrize("name", ["debian-mpich", "debian-openmpi"])
def test_a_room_is_refused_under_a_launcher(lastrank: Lastrank, name: str) -> None:
    (lastrank.folder / "a.ppl").write_text('write("x", 1);')
    command, environment = launcher(name).command(2, [lastrank.program, "run"], ("a.ppl", "--room"))
    done = subprocess.run(
        command, cwd=lastrank.folder, env=environment, capture_output=True, text=True, errors="replace", timeout=120, check=False
    )
    assert done.returncode != 0 and done.stderr.count("--room cannot be kept here") == 1, done.stderr
    assert [path.name for path in lastrank.folder.iterdir()] == ["a.ppl"]


def test_what_a_program_makes_in_its_room_stays_there_and_results_come_out(lastrank: Lastrank) -> None:
    text = 'mkdir("d-$$rank"); write("d-$$rank/f", 9); symlink("f", "d-$$rank/l"); read("d-$$rank/l"); rename("d-$$rank", "e-$$rank");'
    (lastrank.folder / "a.ppl").write_text(text)
    done = lastrank_says(lastrank, "run", "a.ppl", "--room=mine", "-n", "2", "-o", "a.parquet", "--append", "rows.csv", "-q")
    if "--room cannot be kept here" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in lastrank.folder.iterdir()) == ["a.html", "a.parquet", "a.ppl", "mine", "rows.csv"]
    assert (lastrank.folder / "mine/e-1/f").stat().st_size == 9 and (lastrank.folder / "mine").stat().st_mode & 0o777 == 0o700
    assert "what the program made is in" in done.stderr, done.stderr
    done = lastrank_says(lastrank, "run", "a.ppl", "--room=other", "--clean", "-o", "b.parquet", "-s", "--report", "none")
    assert done.returncode == 0 and not (lastrank.folder / "other").exists(), done.stderr


def test_no_attack_has_an_effect_under_mpi(lastrank: Lastrank) -> None:
    mpirun = shutil.which("mpirun.mpich")
    if mpirun is None:
        pytest.skip("mpirun.mpich of Debian is not installed")
    under_mpi(lastrank, mpirun)


def test_the_program_s_owner_can_allow_each_thing(lastrank: Lastrank, tmp_path: Path) -> None:
    (tmp_path / "old").write_text("mine")
    for program, options in [
        ('assert(spawn("true") == 0);', ("--allow-spawn",)),
        ('write("x", 1); chmod("x", 0o755); delete("x");', ("--allow-spawn",)),
        ('write(".x", 1); delete(".x");', ("--allow", ".")),
        ('write("old", 1); for $f in glob("ol?") delete($f);', ("--allow", ".")),
        ('assert(spawn("true") == 0); read("/etc/passwd");', ("--unconfined",)),
    ]:
        (tmp_path / "a.ppl").write_text(program)
        command = [lastrank.program, "run", "a.ppl", "-s", "-o", "a.parquet", "--report", "none", *options]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (program, done.stderr)
    assert not (tmp_path / "old").exists()


def lastrank_says(lastrank: Lastrank, *words: object) -> subprocess.CompletedProcess:
    command = [lastrank.program, *words]
    return subprocess.run(list(map(str, command)), cwd=lastrank.folder, capture_output=True, text=True, check=False)


def test_what_is_granted_is_said_to_be(lastrank: Lastrank) -> None:
    """An experiment that ships with lastrank may start programs; a file of the same text may not."""
    text = lastrank_says(lastrank, "experiments", "system_calls").stdout
    assert "spawn(" in text
    (lastrank.folder / "copy.ppl").write_text(text)
    for words in (["check"], ["explain"], ["run", "--dry-run"]):
        shipped, copied = (lastrank_says(lastrank, *words, name).stdout for name in ("system_calls", "copy.ppl"))
        assert "granted, since it ships with lastrank" in shipped and "--allow-spawn" not in shipped, shipped
        assert "start other programs" in copied and "only with --allow-spawn" in copied, copied
    (lastrank.folder / "small.ppl").write_text('stat(".");\nspawn("true");\n')
    told = lastrank_says(lastrank, "run", "small.ppl", "--report", "none").stderr
    assert "small asks to\n  start other programs (line 2): only with --allow-spawn" in told, told
    allowed = lastrank_says(lastrank, "run", "--dry-run", "copy.ppl", "--allow-spawn").stdout
    assert "granted on the command line" in allowed, allowed
    found = json.loads(lastrank_says(lastrank, "explain", "system_calls", "--json").stdout)["asks"]
    assert [asked["granted"] for asked in found if asked["what"] == "start-programs"] == [True], found


def test_compare_says_that_one_run_was_confined_and_the_other_was_not(lastrank: Lastrank) -> None:
    (lastrank.folder / "a.ppl").write_text('repeat 300 create("f");\ndelete("f");\n')
    for name, options in (("a", []), ("b", []), ("c", ["--unconfined"])):
        done = lastrank_says(lastrank, "run", "a.ppl", "-s", "-o", f"{name}.parquet", "--report", "none", *options)
        assert done.returncode == 0, done.stderr
    same, other = (lastrank_says(lastrank, "compare", "a.parquet", name, "--of", "create") for name in ("b.parquet", "c.parquet"))
    # One long line is broken at the width of the screen.
    assert "not confined" in " ".join(other.stdout.split()), other
    assert "confined" not in same.stdout, same.stdout


def test_a_composed_script_is_noise(lastrank: Lastrank) -> None:
    """Content at chosen offsets is another one in each run: what was composed from one run's is no script in the next."""
    (lastrank.folder / "a.ppl").write_text('$f = fopen("f", "w"); fwrite($f, 64KiB); fclose($f);')
    written = set()
    for _ in range(5):
        assert lastrank_says(lastrank, "run", "a.ppl", "-s", "-o", "a.parquet", "--report", "none").returncode == 0
        written.add((lastrank.folder / "f").read_bytes())
    assert len(written) == 5
    # At no offset do two runs agree in more than chance gives: once in 2^24 pairs of runs.
    longest = max(common_stretch(one, other) for one in written for other in written if one is not other)
    assert longest <= 5, longest


def common_stretch(one: bytes, other: bytes) -> int:
    longest = here = 0
    for a, b in zip(one, other, strict=True):
        here = here + 1 if a == b else 0
        longest = max(longest, here)
    return longest


TOGETHER = """
define pattern {"rows", 8, 4KiB, 1};
mkdir("made-$$rank");
repeat $i 5 { barrier; write("made-$$rank/f", 100); read("made-$$rank/f"); }
pwrite("shared", "rows");
barrier;
pread("shared", "rows");
delete("made-$$rank/f");
rmdir("made-$$rank");
barrier;
if $$rank == 0 delete("shared");
"""


@pytest.mark.parametrize("name", ["debian-mpich", "debian-openmpi", "mpich", "openmpi", "impi"])
def test_the_kernel_confines_ranks_under_mpi_where_that_is_required(lastrank: Lastrank, name: str) -> None:
    """The MPI library goes on working on the confined thread."""
    started_by = launcher(name)
    (lastrank.folder / "a.ppl").write_text(TOGETHER)
    words = ("a.ppl", "-s", "-o", "a.parquet", "--report", "none", "--require-confinement", "--timeout", "60")
    command, environment = started_by.command(2, [lastrank.program, "run"], words)
    done = subprocess.run(
        command, cwd=lastrank.folder, env=environment, capture_output=True, text=True, errors="replace", timeout=180,
        check=False,
    )  # fmt: skip
    if "Landlock" in done.stderr:
        pytest.skip(f"this kernel confines nothing ({done.stderr.strip()})")
    assert done.returncode == 0, (done.stdout, done.stderr)
    facts = confinement_of(lastrank.folder / "a.parquet")
    assert (facts["by"], facts["landlock"] > 0) == ("kernel", True), facts


def confinement_of(file: Path) -> dict:
    import pyarrow.parquet

    return json.loads(pyarrow.parquet.read_metadata(file).metadata[b"lastrank.facts"])["confinement"]


def test_no_attack_has_an_effect_under_mpi_where_the_kernel_confines(lastrank: Lastrank) -> None:
    mpirun = shutil.which("mpirun.mpich")
    if mpirun is None:
        pytest.skip("mpirun.mpich of Debian is not installed")
    under_mpi(lastrank, mpirun, "--require-confinement")


def under_mpi(lastrank: Lastrank, mpirun: str, *options: str) -> None:
    """Attacks of ranks that work together, and one in nine of the systematic ones: each class of call by another name."""
    chosen = [attack for attack in ATTACKS if attack.ranks == 2] + ATTACKS[:3] + SYSTEMATIC[:: len(NAMES) + 1]
    act = lambda attack, user: run(lastrank, attack, user, mpirun, "-n", str(attack.ranks), options=options)  # noqa: E731
    run_all([(attack, os.geteuid()) for attack in chosen], act)
    print(f"{len(chosen)} attacks under MPI {' '.join(options)}, none with an effect")


def test_no_attack_has_an_effect_under_open_mpi(lastrank: Lastrank) -> None:
    """A few: a start takes a second."""
    for attack in SYSTEMATIC[:: 3 * len(NAMES) + 2] + [attack for attack in ATTACKS if attack.ranks == 2][::4]:
        command, environment = launcher("debian-openmpi").command(attack.ranks, [], ())
        run(lastrank, attack, os.geteuid(), *map(str, command), environment=environment)


@pytest.mark.parametrize("name", ["debian-mpich", "debian-openmpi"])
def test_no_link_leads_what_lastrank_writes_and_removes_elsewhere(lastrank: Lastrank, name: str) -> None:
    """One rank has given up, and its parent cleans up and keeps its samples, while the other is still at work."""
    for number, (made, end) in enumerate([
        ('symlink("docs", "r.parts");', 'repeat 300 sleep(1ms);'),
        ('symlink("docs", "m"); rename("m", "r.parts");', 'repeat 300 sleep(1ms);'),
        ('mkdir("a"); symlink(".", "l"); write("a/thesis.txt", 1); repeat $i 500 write("x$i", 1);',
         'repeat 500 { rename("a", "t"); rename("l", "a"); rename("a", "l"); rename("t", "a"); }'),
    ]):  # fmt: skip
        folder = lastrank.folder / f"{number}"
        (folder / "docs").mkdir(parents=True)
        (folder / "thesis.txt").write_text("the user's")
        for part in range(2):
            (folder / f"docs/part-0000{part}.parquet").write_text("samples of another day")
        had = fingerprint(folder)
        (folder / "a.ppl").write_text(
            f'if $$rank == 0 {{ {made} }}\nbarrier;\nif $$rank == 1 delete("thesis.txt");\nif $$rank == 0 {{ {end} stat("."); }}\n'
        )
        words = ("a.ppl", "-s", "-o", "r.parquet", "--report", "none", "--timeout", "60")
        command, environment = launcher(name).command(2, [lastrank.program, "run"], words)
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", timeout=180, check=False
        )
        assert not what_changed(had, fingerprint(folder)) and done.returncode != 0, (made, done.stderr)


LATE = {
    "write": 'write("late-file", 1);',
    "append": 'append("late-file", 1);',
    "open": '$f = fopen("late-file", "r+"); fwrite($f, 1); fclose($f);',
    "delete": 'delete("late-file");',
    "rename": 'rename("late-file", "elsewhere");',
    "rename over": 'write("mine-$$rank", 1); rename("mine-$$rank", "late-file");',
    "link": 'link("late-file", "elsewhere");',
    "chmod": 'chmod("late-file", 0);',
    "pwrite": 'pwrite("late-file", "p");',
    "pfopen": '$f = pfopen("late-file", "cw"); pfclose($f);',
    "pdelete": 'pdelete("late-file");',
}
"""Ways to change a file that the user makes while the program runs; it waits for another one, made after it."""


@pytest.mark.parametrize("name", ["", "debian-mpich", "debian-openmpi"])
def test_what_the_user_makes_while_a_program_runs_is_the_user_s(lastrank: Lastrank, name: str) -> None:
    started_by = launcher(name) if name else None
    # A start of Open MPI takes a second: some of them.
    chosen = list(LATE.items())[:: 4 if name == "debian-openmpi" else 1]
    for way, body in chosen:
        folder = lastrank.folder / way.replace(" ", "-")
        folder.mkdir()
        (folder / "a.ppl").write_text(
            'define pattern {"p", 1, 10, 1};\nif $$rank == 0 { write("begun", 1); }\nbarrier;\n'
            '$there = 0;\nwhile $there == 0 { for $g in glob("go-*") $there = 1; sleep(10ms); }\nbarrier;\n' + body + "\n"
        )
        words = ("a.ppl", "-s", "-o", folder / "a.parquet", "--report", "none", "--timeout", "20")
        command = [str(word) for word in (lastrank.program, "run", *words, "-n", "2")]
        environment = dict(os.environ)
        if started_by:
            command, environment = started_by.command(2, [lastrank.program, "run"], words)
        with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
            while not (folder / "begun").exists() and running.poll() is None:
                time.sleep(0.01)
            (folder / "late-file").write_text("the user's, made a moment ago")
            had = fingerprint(folder)["late-file"]
            (folder / "go-on").touch()
            said = running.communicate(timeout=60)[0].decode(errors="replace")
        assert fingerprint(folder).get("late-file") == had, (way, said)
        assert "did not make it" in said and running.returncode != 0, (way, said)


@pytest.mark.parametrize("name", ["debian-mpich", "debian-openmpi"])
def test_ranks_of_a_launcher_use_what_each_other_made(lastrank: Lastrank, name: str) -> None:
    """Without a state of earlier runs: one rank overwrites, renames and removes what another one made."""
    (lastrank.folder / "a.ppl").write_text(
        'define pattern {"p", 1, 10, 1};\nif $$rank == 0 { mkdir("d"); write("d/f", 9); write("g", 9); }\nbarrier;\n'
        'if $$rank == 1 { write("d/f", 9); append("g", 1); rename("g", "d/g"); chmod("d/g", 0o600); }\nbarrier;\n'
        'pwrite("d/f", "p");\n$f = pfopen("d/g", "w"); pfclose($f);\nbarrier;\n'
        'if $$rank == 0 { delete("d/f"); delete("d/g"); rmdir("d"); }\n'
    )
    words = ("a.ppl", "-s", "-o", "a.parquet", "--report", "none", "--timeout", "60")
    command, environment = launcher(name).command(2, [lastrank.program, "run"], words)
    done = subprocess.run(
        command, cwd=lastrank.folder, env=environment | {"HOME": str(lastrank.folder)}, capture_output=True, text=True,
        errors="replace", timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert not (lastrank.folder / "d").exists() and not (lastrank.folder / "g").exists()


@pytest.mark.parametrize("name", ["debian-mpich", "debian-openmpi"])
@pytest.mark.parametrize("call", ['define pattern {"p", 1, 10, 1};\npwrite("ufs:VICTIM", "p");', 'pdelete("ufs:VICTIM");'])
def test_no_prefix_of_a_library_names_a_file_elsewhere(lastrank: Lastrank, name: str, call: str) -> None:
    outside, work = lastrank.folder / "outside", lastrank.folder / "work"
    outside.mkdir()
    work.mkdir()
    (outside / "thesis.txt").write_text("not yours")
    had = fingerprint(outside)
    (work / "a.ppl").write_text(call.replace("VICTIM", str(outside / "thesis.txt")))
    for options in ((), ("--root", work), ("--require-confinement",)):
        words = ("a.ppl", "-s", "-o", "a.parquet", "--report", "none", "--timeout", "60", *options)
        command, environment = launcher(name).command(2, [lastrank.program, "run"], words)
        done = subprocess.run(
            command, cwd=work, env=environment, capture_output=True, text=True, errors="replace", timeout=120, check=False
        )
        assert fingerprint(outside) == had and done.returncode != 0, (options, done.stderr)


def test_places_that_all_programs_share_are_not_granted_under_mpi(lastrank: Lastrank) -> None:
    """Seen by the kernel's answers to a program that lastrank itself does not stop: one that is spawned."""
    made = [Path(place) / f"lastrank-attack-{os.getpid()}" for place in ("/tmp", "/dev/shm")]
    words = " ".join(map(str, made))
    (lastrank.folder / "a.ppl").write_text(f'$n = spawn("touch {words}");\n')
    options = ("--require-confinement", "--allow-spawn", "-s", "-o", "a.parquet", "--report", "none", "--timeout", "60")
    for name in ("debian-mpich", "debian-openmpi"):
        command, environment = launcher(name).command(1, [lastrank.program, "run"], ("a.ppl", *options))
        done = subprocess.run(
            command, cwd=lastrank.folder, env=environment, capture_output=True, text=True, errors="replace", timeout=120,
            check=False,
        )  # fmt: skip
        if "Landlock" in done.stderr:
            pytest.skip(f"this kernel confines nothing ({done.stderr.strip()})")
        assert not [path for path in made if path.exists()], (name, done.stderr)
