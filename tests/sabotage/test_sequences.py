"""Programs that nobody thought of: random sequences of calls on names that the run made, in a tree of a user's files, by two
ranks, with and without the kernel's confinement. The user's files keep content, permissions, names and times.

`LASTRANK_SEQUENCES` says how many (300); a failure names its seed, with which `LASTRANK_SEED` begins."""

import os
import platform
import random
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from filesystems.measured import Lastrank

from .attacks import fingerprint, lay_out, what_changed
from .without import without_landlock

NOBODY = 65534
USERS = ["thesis.txt", "docs", "docs/notes.txt", "script.sh", "out", "outfile", "empty", "../outside/victim"]
DIRECTORIES = ["d", "e", "d/d"]
LINKS = ["l", "m", "d/l"]
MODES = ["r", "r+", "w", "a", "w+", "O_RDONLY|O_TRUNC", "O_WRONLY|O_CREAT|O_EXCL", "O_RDWR|O_CREAT|O_NOFOLLOW", "O_WRONLY|O_CREAT|O_DIRECTORY"]


def own(draw: random.Random) -> str:
    """A name that the run may have made."""
    return draw.choice([*DIRECTORIES, *LINKS, "a", "b", "d/a", "e/thesis.txt"])


def reaching(draw: random.Random) -> str:
    """A name that may lead to a file of the user, through what the run made."""
    way = draw.choice([*DIRECTORIES, *LINKS])
    return draw.choice([f"{way}/{draw.choice(USERS)}", f"{way}/../{draw.choice(USERS)}", own(draw), draw.choice(USERS)])


def statement(draw: random.Random, bold: float) -> str:
    """One statement; `bold`: how often it is on a name that may be the user's, which may end the program."""
    name = reaching(draw) if draw.random() < bold else own(draw)
    other = reaching(draw) if draw.random() < bold else own(draw)
    target = draw.choice([".", ".", "d", "e", "a", "docs", "thesis.txt", "docs/notes.txt", "empty"])
    calls = [
        f'mkdir("{draw.choice(DIRECTORIES)}");', f'symlink("{target}", "{draw.choice(LINKS)}");', f'write("{name}", 7);',
        f'append("{name}", 7);', f'create("{name}");', f'rename("{name}", "{other}");', f'link("{name}", "{other}");',
        f'delete("{name}");', f'rmdir("{draw.choice(DIRECTORIES)}");', f'chmod("{name}", 0o600);', f'utimes("{name}");',
        f'$f = fopen("{name}", "{draw.choice(MODES)}"); fwrite($f, 7); fclose($f);',
        f'$f = fopen("{name}", "r"); $g = fopen("{other}", "w"); $n = fcopy($f, $g, 7); fclose($g); fclose($f);',
        f'for $g in glob("{draw.choice(["*", "d/*", "l/*"])}") symlink($g, "d/$g");',
        f'async depth=4 {{ write("{name}", 7); delete("{other}"); create("{name}"); }}',
        f'parallel 2 {{ write("{name}", 7); delete("{other}"); }}', 'barrier;',
        'rename("d", "t"); rename("l", "d"); rename("d", "l"); rename("t", "d");',
    ]  # fmt: skip
    weights = [6, 6, 4, 2, 2, 8, 4, 3, 2, 2, 1, 4, 2, 1, 2, 1, 0, 5]
    return draw.choices(calls, weights)[0]


def program(seed: int) -> str:
    """Two ranks that build, and then reach for what is not theirs."""
    draw = random.Random(seed)
    lines = ['if $$rank == 0 { mkdir("d"); mkdir("e"); symlink(".", "l"); write("d/thesis.txt", 3); }', "barrier;"]
    for rank in (0, 1):
        lines.append(f"if $$rank == {rank} {{")
        lines += [statement(draw, 0.0) for _ in range(draw.randint(2, 10))]
        times = draw.choice([1, 1, 30])
        lines.append(f"repeat {times} {{ {statement(draw, 0.2)} {statement(draw, 0.6)} }} }}")
    return "\n".join(lines) + "\n"


def attempt(lastrank: Lastrank, seed: int) -> str:
    """Runs one program; what it changed, or nothing."""
    folder = Path(tempfile.mkdtemp(prefix="s-", dir=lastrank.folder))
    lay_out(folder)
    work, outside = folder / "work", folder / "outside"
    as_user = os.geteuid() == 0 and seed % 2 == 1
    if as_user:
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    folder.chmod(0o755)
    (folder / "a.ppl").write_text(program(seed))
    had = fingerprint(work), fingerprint(outside)
    command = [lastrank.program, "run", folder / "a.ppl", "-n", "2", "-s", "-o", folder / "r.parquet", "--report", "none"]
    before = without_landlock if seed % 4 >= 2 and platform.machine() == "x86_64" else None
    who = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if as_user else {}
    done = subprocess.run(
        [*map(str, command), "--timeout", "20", "--no-causes"], cwd=work, capture_output=True, text=True, errors="replace",
        timeout=120, check=False, preexec_fn=before, env={**os.environ, "HOME": str(folder), "TMPDIR": str(folder)}, **who,
    )  # fmt: skip
    changed = what_changed(had[0], fingerprint(work)) + what_changed(had[1], fingerprint(outside))
    new = set(fingerprint(outside)) - set(had[1])
    if "panicked" in done.stderr or "E0" in done.stderr.split("\n")[0]:
        changed.append(done.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    return f"seed {seed}: {changed} {new} {done.stderr}" if changed or new else ""


def test_random_sequences_leave_the_user_s_files_alone(lastrank: Lastrank) -> None:
    first, count = int(os.environ.get("LASTRANK_SEED", "1")), int(os.environ.get("LASTRANK_SEQUENCES", "300"))
    folder = Path(tempfile.mkdtemp(prefix="lastrank-sequences-"))
    folder.chmod(0o711)
    here = Lastrank(Path(shutil.copy2(lastrank.program, folder / "lastrank")), folder)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = [one for one in pool.map(lambda seed: attempt(here, seed), range(first, first + count)) if one]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert not found, "\n".join(found[:5])
    print(f"{count} random programs, none with an effect")


if __name__ == "__main__":
    pytest.main([__file__])
