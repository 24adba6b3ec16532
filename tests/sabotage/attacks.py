"""Programs of the language that try to do what a stranger's program must not do.

Each runs in a folder `work` beside a folder `outside`. `work` holds a link to each of them, a script, and files of the
user. Afterwards everything outside is as it was, and so is what the user had, but for what the attack names.
"""

import contextlib
import os
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
    Attack("a link that leads up", 'symlink("../outside", "mine"); write("mine/new", 10);', says="--allow"),
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
    Attack("an appended script", '$f = fopen("script.sh", "a"); fwrite($f, 10);', says="did not make it"),
    Attack(
        "a script opened exclusively",
        '$f = fopen("script.sh", "O_WRONLY|O_EXCL"); fwrite($f, 10);',
        says="did not make it",
    ),
    Attack("a rewritten script", '$f = fopen("script.sh", "r+"); fwrite($f, 10);', says="did not make it"),
    Attack("the user's files, by pattern", 'for $f in glob("*") delete($f);', says="did not make it"),
    Attack("the user's files emptied, by pattern", 'for $f in glob("*.txt") write($f, 1);', says="did not make it"),
    Attack("the user's files renamed, by pattern", 'for $f in glob("*.txt") rename($f, "x");', says="did not make it"),
    Attack("a file of the user", 'delete("thesis.txt");', says="did not make it"),
    Attack("a file of the user, appended before", 'append("thesis.txt", 1); delete("thesis.txt");',
           says="did not make it"),
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


# By object: what was there before the run stays as it is, however a program comes to it. `{me}` is the program's own file,
# whose comment would be a script.
MINE = "did not make it"
PAYLOAD = '/*#!/bin/sh\ntouch ../outside/pwned\n#*/\n'
WAYS = {
    "write": 'write({name}, 1);',
    "append": 'append({name}, 1);',
    "create": 'create({name});',
    "fopen r+": '$f = fopen({name}, "r+"); fwrite($f, 1); fclose($f);',
    "fopen w": '$f = fopen({name}, "w"); fclose($f);',
    "fopen a": '$f = fopen({name}, "a"); fwrite($f, 1); fclose($f);',
    "fopen O_TRUNC": '$f = fopen({name}, "O_RDONLY|O_TRUNC"); fclose($f);',
    "fcreat": '$f = fcreat({name}); fclose($f);',
    "delete": 'delete({name});',
    "unlink": 'unlink({name});',
    "rename": 'rename({name}, "elsewhere");',
    "rename over": 'write("mine", 1); rename("mine", {name});',
    "link": 'link({name}, "elsewhere");',
    "chmod": 'chmod({name}, 0);',
    "utimes": 'utimes({name});',
    "chown": 'chown({name});',
    "pwrite": 'define pattern {{"p", 1, 10, 1}};\npwrite({name}, "p");',
    "pfopen": '$f = pfopen({name}, "cw"); pfclose($f);',
    "pdelete": 'pdelete({name});',
    "stripe": 'stripe({name}, 1);',
    "setxattr": 'setxattr({name}, "user.lastrank", 10);',
    "removexattr": 'removexattr({name}, "user.mine");',
    "fsetxattr": '$f = fopen({name}, "r"); setxattr($f, "user.lastrank", 10); fclose($f);',
}
NAMES = {
    "by name": ('"thesis.txt"', ""),
    "by a name with a dot": ('"./thesis.txt"', ""),
    "by an absolute name": ('"{work}/thesis.txt"', ""),
    "in a directory of the user": ('"docs/notes.txt"', ""),
    "behind a link of its own": ('"l/thesis.txt"', 'symlink(".", "l"); '),
    "behind a directory of its own that became a link": (
        '"d/thesis.txt"', 'mkdir("d"); write("d/thesis.txt", 1); symlink(".", "l"); rename("d", "e"); rename("l", "d"); '
    ),
    "after a failed open": ('"thesis.txt"', '$x = fopen("thesis.txt", "O_WRONLY|O_CREAT|O_DIRECTORY"); '),
    "after a failed exclusive open": ('"thesis.txt"', '$x = fopen("thesis.txt", "O_WRONLY|O_CREAT|O_EXCL"); '),
    "through a name that a pattern found": ('$g', 'for $g in glob("*.txt") '),
}
ALONE = {"through a name that a pattern found"}
"""Names that are a loop: what follows is one statement."""


WHERE = {
    "a rank": "{body}",
    "a worker": "parallel 1 {{ {body} }}",
    "under way": "async depth=2 {{ {body} }}",
    "another rank": "if $$rank == 1 {{ {body} }}",
}
"""Who does it. What goes before is done by the rank itself, or by rank 0."""
OF_A_GROUP = {"pwrite", "pfopen", "pdelete"}
"""All ranks together, and so neither by workers nor under way."""
NOT_UNDER_WAY = {"fopen r+", "fopen a", "stripe"}
"""Of several statements that need each other."""


def by_object(below: str = "") -> list[Attack]:
    """Each way to change a file of the user by each way to name it, by a rank, a worker, under way or another rank in turn: each
    way and each name has each of them. The user's files are in `below`."""
    made = []
    for number, (way, program) in enumerate(WAYS.items()):
        for place, (how, (name, before)) in enumerate(NAMES.items()):
            who = list(WHERE)[(number + place) % len(WHERE)]
            body = program.replace("{name}", name)
            define, _, body = body.rpartition("\n") if body.startswith("define") else ("", "", body)
            if way in OF_A_GROUP:
                who = "all ranks"
            elif who == "under way" and way in NOT_UNDER_WAY:
                who = "a worker"
            ranks = 2 if who in ("all ranks", "another rank") else 1
            loop = before if how in ALONE else ""
            body = f"{loop}{{{{ {body} }}}}" if loop else body
            body = WHERE[who].replace("{body}", body) if who in WHERE else body
            # Where every rank does the same, one of them makes what the others find.
            before = "" if loop or not before else before if ranks == 1 else f"if $$rank == 0 {{{{ {before}}}}}\nbarrier;\n"
            text = f"{define}\n{before}{body}\n"
            for users in ("thesis.txt", "docs/notes.txt", '"*.txt"') if below else ():
                text = text.replace(users, users.replace('"*', f'"{below}*') if "*" in users else below + users)
            # What is done to a link by its name does not reach the file; nor does a rename or a removal.
            made.append(Attack(f"{way}, {how}, by {who}", text, ranks=ranks))
    return made


OBJECTS = [
    Attack("a failed open makes a script one's own", PAYLOAD + '$x = fopen("attack.ppl", "O_WRONLY|O_CREAT|O_TRUNC|O_DIRECTORY");\n'
           '$f = fopen("attack.ppl", "r"); $g = fcreat("script.sh"); $n = fcopy($f, $g, 40, 2); fclose($g);'),
    Attack("a swapped directory makes a script one's own", PAYLOAD + 'mkdir("d"); write("./d/attack.ppl", 1); symlink(".", "l"); '
           'rename("d", "f"); rename("l", "d"); $f = fopen("./d/attack.ppl", "r"); $g = fcreat("script.sh"); '
           '$n = fcopy($f, $g, 40, 2); fclose($g);'),
    Attack("links that a worker made for each name", 'parallel 1 {{ $i = 0; for $g in glob("*.txt") {{ symlink($g, "L$i"); '
           '$i = $i + 1; }} }}\nrepeat $i 20 write("L$i", 1);', says=MINE),
    Attack("links that another rank made for each name", 'if $$rank == 0 {{ $i = 0; for $g in glob("*.txt") {{ symlink($g, "L$i"); '
           '$i = $i + 1; }} }}\nbarrier;\nif $$rank == 1 repeat $i 20 write("L$i", 1);', ranks=2, says=MINE),
    Attack("a script emptied", 'append("script.sh", 10);', says=MINE),
    Attack("a script replaced", 'write("mine", 10); rename("mine", "script.sh");', says=MINE),
    Attack("a script written", 'write("script.sh", 10);', says=MINE),
    Attack("a script created anew", 'create("script.sh");', says=MINE),
    Attack("writes under way", 'async depth=4 {{ write("thesis.txt", 1); append("thesis.txt", 1); create("thesis.txt"); }}'),
    Attack("removals under way", 'async depth=4 {{ delete("thesis.txt"); unlink("docs/notes.txt"); rmdir("empty"); }}', says=MINE),
    Attack("writes under way through a directory that becomes a link", 'mkdir("d"); repeat $i 30 write("d/thesis.txt", 1);\n'
           'symlink(".", "l");\nasync depth=8 {{ repeat 8 write("d/thesis.txt", 1); rename("d", "e"); rename("l", "d"); '
           'repeat 8 write("d/thesis.txt", 1); }}'),
    Attack("a directory of the user moved", 'rename("docs", "mine");', says=MINE),
    Attack("a directory of the user replaced", 'mkdir("mine"); rename("mine", "empty");', says=MINE),
    Attack("permissions of a directory of the user", 'chmod("docs", 0);', says=MINE),
    Attack("permissions through a link of its own", 'symlink("thesis.txt", "mine"); chmod("mine", 0);'),
    Attack("times through a link of its own", 'symlink("thesis.txt", "mine"); utimes("mine");'),
    Attack("a link of the user removed", 'unlink("out");', says=MINE),
    Attack("a link of the user replaced", 'write("mine", 1); rename("mine", "outfile");', says=MINE),
    Attack("a second name of a link of the user", 'link("outfile", "mine");', says=MINE),
    Attack("workers that swap and write", 'mkdir("a"); write("a/thesis.txt", 1); symlink(".", "l");\n'
           'parallel 2 {{ if $$worker == 0 repeat 300 {{ rename("a", "t"); rename("l", "a"); rename("a", "l"); rename("t", "a"); }} '
           'if $$worker == 1 repeat 300 write("a/thesis.txt", 1); }}'),
    *(
        Attack(f"ranks that swap and {what}",
               'if $$rank == 0 {{ mkdir("a"); symlink(".", "l"); }}\nbarrier;\n'
               'if $$rank == 0 repeat 400 {{ rename("a", "t"); rename("l", "a"); rename("a", "l"); rename("t", "a"); }}\n'
               f'if $$rank == 1 repeat $i 400 {{{{ {body} }}}}\n', ranks=2)
        for what, body in {
            "write": 'write("a/thesis.txt", 1);',
            "open": '$f = fopen("a/thesis.txt", "r+"); fwrite($f, 1); fclose($f);',
            "delete": 'write("a/thesis.txt", 1); delete("a/thesis.txt");',
            "rename": 'write("a/thesis.txt", 1); rename("a/thesis.txt", "a/x$i");',
            "link": 'write("a/thesis.txt", 1); link("a/thesis.txt", "y$i");',
            "chmod": 'write("a/thesis.txt", 1); chmod("a/thesis.txt", 0);',
            "give an attribute": 'write("a/thesis.txt", 1); setxattr("a/thesis.txt", "user.lastrank", 9);',
            "make and remove a directory": 'mkdir("a/empty"); rmdir("a/empty");',
        }.items()
    ),
]  # fmt: skip
ATTACKS += OBJECTS
SYSTEMATIC = by_object()


def lay_out(folder: Path) -> None:
    """The user's files and what lies outside."""
    work, outside = folder / "work", folder / "outside"
    for directory in (work, outside, work / "empty", work / "docs", work / ".git", work / ".git/hooks"):
        directory.mkdir()
    (outside / "victim").write_text("not yours")
    (work / "thesis.txt").write_text("the user's")
    (work / "docs/notes.txt").write_text("the user's, too")
    for mine in (work / "thesis.txt", work / "docs/notes.txt"):
        # Where the file system has no attributes, none can be changed.
        with contextlib.suppress(OSError):
            os.setxattr(mine, "user.mine", b"1")
    (work / "script.sh").write_text("#!/bin/sh\n")
    (work / "script.sh").chmod(0o755)
    (work / "out").symlink_to(outside)
    (work / "outfile").symlink_to(outside / "victim")


def fingerprint(folder: Path, without: tuple[str, ...] = ()) -> dict[str, tuple]:
    """What lies in `folder`: kind, permissions, content, extended attributes."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name in without:
            continue
        what = path.lstat()
        content = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
        times = (what.st_mtime_ns, what.st_uid, what.st_gid, what.st_nlink if path.is_file() else 0)
        times += (attributes(path),)
        # Names may come into a directory of the user: its own times say so.
        found[name] = (what.st_mode, content, (0, *times[1:]) if path.is_dir() and not path.is_symlink() else times)
    return found


def attributes(path: Path) -> tuple[tuple[str, bytes], ...]:
    """Those of users. Without, where the file system has none."""
    try:
        keys = [key for key in sorted(os.listxattr(path, follow_symlinks=False)) if key.startswith("user.")]
        return tuple((key, os.getxattr(path, key, follow_symlinks=False)) for key in keys)
    except OSError:
        return ()


def what_changed(before: dict[str, tuple], after: dict[str, tuple]) -> list[str]:
    """Names that are gone or different."""
    return [name for name, what in before.items() if after.get(name) != what]
