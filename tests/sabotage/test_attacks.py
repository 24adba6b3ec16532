"""A stranger's program: whatever it tries, nothing outside changes and the user keeps what was there."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from filesystems.measured import Lastrank

from .attacks import ATTACKS, Attack, fingerprint, lay_out, what_changed

NOBODY = 65534


def run(lastrank: Lastrank, attack: Attack, user: int, *before: str, options: tuple[str, ...] = ()) -> str:
    """Runs an attack in a fresh folder as this user; its messages. Fails where it had an effect."""
    folder = lastrank.folder / "attack"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lay_out(folder)
    work, outside = folder / "work", folder / "outside"
    # What the program wants to do may not fail only because somebody else owns it.
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, user, user, follow_symlinks=False)
    program = folder / "attack.ppl"
    program.write_text(attack.program.replace("{{", "{").replace("}}", "}").replace("{outside}", str(outside)))
    had, lay_outside = fingerprint(work, attack.may_change), fingerprint(outside)
    ranks = [] if before else ["-n", str(attack.ranks)]
    command = [*before, lastrank.program, "run", program, *ranks, "-s", "-o", folder / "run.parquet"]
    done = subprocess.run(
        [*map(str, command), "--report", "none", "--timeout", "20", *options],
        cwd=work, capture_output=True, text=True, errors="replace", timeout=120, check=False, user=user, group=user,
        extra_groups=[],
        env={"PATH": f"{work}:{os.environ['PATH']}", "TMPDIR": str(folder), "HOME": str(work)},
    )  # fmt: skip
    assert "panicked" not in done.stderr, (attack.name, done.stderr)
    assert fingerprint(outside) == lay_outside, (attack.name, done.stderr)
    assert not what_changed(had, fingerprint(work)), (attack.name, done.stderr)
    if attack.says:
        assert done.returncode == 2 or before, (attack.name, done.returncode, done.stderr)
        assert attack.says in done.stderr, (attack.name, done.stderr)
    return done.stderr


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
    """In a folder that somebody without rights can reach. That of pytest is closed again by each session that begins."""
    folder = Path(tempfile.mkdtemp(prefix="lastrank-attacks-"))
    folder.chmod(0o711)
    yield Lastrank(lastrank.program, folder)
    shutil.rmtree(folder, ignore_errors=True)


def test_no_attack_has_an_effect(reachable: Lastrank, user: int) -> None:
    for attack in ATTACKS:
        run(reachable, attack, user)
    print(f"{len(ATTACKS)} attacks as user {user}, none with an effect")
    assert len(ATTACKS) >= 20


def test_no_attack_has_an_effect_under_mpi(lastrank: Lastrank) -> None:
    mpirun = shutil.which("mpirun.mpich")
    if mpirun is None:
        pytest.skip("mpirun.mpich of Debian is not installed")
    chosen = [attack for attack in ATTACKS if attack.ranks == 2] + ATTACKS[:3]
    for attack in chosen:
        run(lastrank, attack, os.geteuid(), mpirun, "-n", str(max(attack.ranks, 1)))
    print(f"{len(chosen)} attacks under MPI, none with an effect")


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
