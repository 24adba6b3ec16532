"""Programs of the language that try to do what a stranger's program must not do.

Each runs in a folder `work` beside a folder `outside`. `work` holds a link to each of them, a script, and files of the
user. Afterwards everything outside is as it was, and so is what the user had, but for what the attack names.
"""

from dataclasses import dataclass
from pathlib import Path

COMPOSED = "".join(
    f"fwrite($f, {length}, {offset});\n"
    for length, offset in [(2, 44413), (2, 35504), (2, 72980), (2, 56591), (2, 67028), (3, 998872), (3, 917381)]
)


@dataclass(frozen=True)
class Attack:
    """A program, and how it is to end."""

    name: str
    program: str
    ranks: int = 1
    may_change: tuple[str, ...] = ()
    """Files of the user below `work` that the program may overwrite, as any program may."""
    says: str = ""
    """What the message says; nothing where the kernel refuses and the program goes on."""


ATTACKS = [
    Attack("an absolute path", 'write("{outside}/new", 10);', says="--allow"),
    Attack("a path that goes up", 'write("../outside/new", 10);', says="--allow"),
    Attack("a linked directory", 'write("out/new", 10);', says="--allow"),
    Attack("a linked file", 'write("outfile", 10);', says="--allow"),
    Attack("a linked file, opened", '$f = fopen("outfile", "r+"); fwrite($f, 10); fclose($f);', says="--allow"),
    Attack("a link of its own", 'symlink("{outside}", "mine"); write("mine/new", 10);', says="--allow"),
    Attack("a link that leads up", 'symlink("../outside", "mine"); write("mine/new", 10);', says="without `..`"),
    Attack("a rename to outside", 'write("mine", 1); rename("mine", "../outside/new");', says="--allow"),
    Attack("a rename from outside", 'rename("../outside/victim", "mine");', says="--allow"),
    Attack("a hard link to a file outside", 'link("../outside/victim", "mine");', says="--allow"),
    Attack("a directory outside", 'mkdir("../outside/new");', says="--allow"),
    Attack("a removal outside", 'delete("../outside/victim");', says="--allow"),
    Attack("a removal by pattern outside", 'for $f in glob("../outside/*") delete($f);'),
    Attack("permissions outside, through a link", 'chmod("outfile", 0o600);', says="--allow"),
    Attack("a nameless file outside", '$f = fopen("{outside}", "O_TMPFILE|O_RDWR"); fwrite($f, 10);', says="--allow"),
    Attack("a file of a kernel outside", 'create_delete("{outside}", 3);', says="--allow"),
    Attack("a file of a group outside", '$f = pfopen("../outside/new", "cw"); pfclose($f);', ranks=2, says="--allow"),
    Attack("stripes outside", 'stripe("../outside/new", 2);', says="--allow"),
    Attack("workers outside", 'parallel 2 write("../outside/new-$$worker", 10);', says="--allow"),
    Attack("an asynchronous write outside", 'async depth=4 repeat 4 write("../outside/new", 10);', says="--allow"),
    Attack("reading outside", 'read("../outside/victim");', says="--allow"),
    Attack("reading a directory outside", 'readdir("/etc");', says="--allow"),
    Attack("mapping a file outside", 'mmap("outfile");', says="--allow"),
    Attack("memory of its own process", '$f = fopen("/proc/self/mem", "r+"); fwrite($f, 10);', says="--allow"),
    Attack("a descriptor of its own process", 'write("/proc/self/fd/1", 10);', says="--allow"),
    Attack("a device", '$f = fopen("/dev/tty", "r+"); fwrite($f, 10);', says="--allow"),
    Attack("a hidden file", 'write(".bashrc", 10);', says="dot"),
    Attack("a hook of a repository", 'write(".git/hooks/pre-commit", 10);', says="dot"),
    Attack("a hidden directory", 'mkdir(".ssh");', says="dot"),
    Attack("a rename to a hidden name", 'write("mine", 1); rename("mine", ".profile");', says="dot"),
    Attack("an executable file", '$f = fopen("mine", "w", 0o755); fclose($f);', says="--allow-spawn"),
    Attack("an open file made executable", '$f = fcreat("mine"); chmod($f, 0o755);', says="--allow-spawn"),
    Attack("a file made executable", 'write("mine", 10); chmod("mine", 0o755);', says="--allow-spawn"),
    Attack("a file with the rights of its owner", 'write("mine", 10); chmod("mine", 0o4644);', says="--allow-spawn"),
    Attack(
        "a composed script",
        f'$f = fopen("evil", "a");\n{COMPOSED}fclose($f);\nchmod("evil", 493);\nspawn("./evil");',
        says="--allow-spawn",
    ),
    Attack("a program", 'spawn("touch {outside}/new");', says="--allow-spawn"),
    Attack("a harmless program", 'spawn("true");', says="--allow-spawn"),
    Attack("a name found on PATH", 'write("touch", 1); spawn("touch {outside}/new");', says="--allow-spawn"),
    Attack("an appended script", '$f = fopen("script.sh", "a"); fwrite($f, 10);', says="can be executed"),
    Attack(
        "a script opened exclusively",
        '$f = fopen("script.sh", "O_WRONLY|O_EXCL"); fwrite($f, 10);',
        says="can be executed",
    ),
    Attack("a rewritten script", '$f = fopen("script.sh", "r+"); fwrite($f, 10);', says="can be executed"),
    Attack("the user's files, by pattern", 'for $f in glob("*") delete($f);', says="did not make it"),
    Attack("the user's files emptied, by pattern", 'for $f in glob("*.txt") write($f, 1);', says="did not make it"),
    Attack("the user's files renamed, by pattern", 'for $f in glob("*.txt") rename($f, "x");', says="did not make it"),
    Attack("a file of the user", 'delete("thesis.txt");', says="did not make it"),
    Attack("a file of the user, appended before", 'append("thesis.txt", 1); delete("thesis.txt");',
           may_change=("thesis.txt",), says="did not make it"),
    Attack("a file of the user moved away", 'rename("thesis.txt", "mine"); delete("mine");', says="did not make it"),
    Attack("a file of the user under a second name", 'link("thesis.txt", "mine");', says="did not make it"),
    Attack("words composed of the user's files", '$f = fopen("thesis.txt", "r"); $g = fcreat("Makefile"); '
           'repeat $i 3 fcopy($f, $g, 1, $i);', says="did not make it"),
    Attack("a copy of the user's file, through a link", 'symlink("thesis.txt", "mine"); $f = fopen("mine", "r"); '
           '$g = fcreat("Makefile"); fcopy($f, $g, 3);', says="did not make it"),
    Attack("permissions of the user's file", 'chmod("thesis.txt", 0);', says="did not make it"),
    Attack(
        "permissions of the user's open file", '$f = fopen("thesis.txt", "r"); chmod($f, 0);', says="did not make it"
    ),
    Attack("times of the user's file", 'utimes("thesis.txt");', says="did not make it"),
    Attack("times of the user's open file", '$f = fopen("thesis.txt", "r"); utimes($f);', says="did not make it"),
    Attack("owner of the user's file", 'chown("thesis.txt");', says="did not make it"),
    Attack("owner of the user's open file", '$f = fopen("thesis.txt", "r"); chown($f);', says="did not make it"),
    Attack("an empty directory of the user", 'rmdir("empty");', says="did not make it"),
    Attack(
        "a remembered directory that becomes a link",
        'if $$rank == 0 {{ mkdir("m"); mkdir("n"); }}\nbarrier;\nif $$rank == 1 {{ write("m/z", 1); }}\nbarrier;\n'
        'if $$rank == 0 {{ rename("m", "o"); symlink("n", "m"); }}\nbarrier;\n'
        'if $$rank == 1 {{ write("m/escaped", 1); }}\n',
        ranks=2,
    ),
    Attack(
        "the user's link put in the place of a remembered directory",
        'if $$rank == 0 {{ mkdir("m"); }}\nbarrier;\nif $$rank == 1 {{ write("m/z", 1); }}\nbarrier;\n'
        'if $$rank == 0 {{ rename("m", "o"); rename("out", "m"); }}\nbarrier;\n'
        'if $$rank == 1 {{ write("m/escaped", 1); }}\n',
        ranks=2,
        says="did not make it",
    ),
    Attack(
        "a directory that is exchanged all the time",
        'if $$rank == 0 {{ mkdir("a"); mkdir("b"); symlink("b", "l"); }}\nbarrier;\n'
        'if $$rank == 0 repeat 300 {{ rename("a", "t"); rename("l", "a"); rename("a", "l"); rename("t", "a"); }}\n'
        'if $$rank == 1 repeat $i 300 {{ write("a/../../outside/new-$i", 1); }}\n',
        ranks=2,
        says="--allow",
    ),
]  # fmt: skip


def lay_out(folder: Path) -> None:
    """The user's files and what lies outside."""
    work, outside = folder / "work", folder / "outside"
    for directory in (work, outside, work / "empty", work / ".git", work / ".git/hooks"):
        directory.mkdir()
    (outside / "victim").write_text("not yours")
    (work / "thesis.txt").write_text("the user's")
    (work / "script.sh").write_text("#!/bin/sh\n")
    (work / "script.sh").chmod(0o755)
    (work / "out").symlink_to(outside)
    (work / "outfile").symlink_to(outside / "victim")


def fingerprint(folder: Path, without: tuple[str, ...] = ()) -> dict[str, tuple]:
    """What lies in `folder`: kind, permissions, content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name in without:
            continue
        what = path.lstat()
        content = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[name] = (what.st_mode, content)
    return found


def what_changed(before: dict[str, tuple], after: dict[str, tuple]) -> list[str]:
    """Names that are gone or different."""
    return [name for name, what in before.items() if after.get(name) != what]
