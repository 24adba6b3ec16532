"""Runs command lines of IOR and mdtest with these tools and with lastrank, and compares what the kernel was asked for.

A line is equal, refused by lastrank with a reason, or different, which fails. Where `ior`, `mdtest` or `mpirun` are not on the PATH,
their part is skipped.
"""

import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from workloads.traced import OPENS, Call, Stream, of_lastrank, of_processes, trace

IOR = """
-w -r -t 64k -b 128k
-w -W -t 64k -b 128k
-w -r -R -t 64k -b 128k -s 2
-w -t 64k -b 128k -i 2 -k
-w -t 64k -b 128k -i 2
-w -t 64k -b 128k -i 2 -k -m
-w -r -F -t 64k -b 128k -k
-w -r -F -i 2 -m -k -t 64k -b 64k
-w -r -t 64k -b 256k -s 2 -z
-w -r -F -t 64k -b 256k -z
-w -W -e -t 64k -b 128k -k
-w -D 20 -t 64k -b 1m -k
-w -k -G 42 -t 64k -b 128k
-w -r -Z -t 64k -b 128k
-w -r -a MPIIO -t 64k -b 64k -s 4
-w -O stoneWallingWearOut=1 -D 1 -t 64k -b 1m
-w -z -z -t 64k -b 1m
-w -p -t 64k -b 1m
-w -u -F -t 64k -b 1m
""".strip().splitlines()

#: Written and kept by a first command, read by a second one.
LATER = [("-w -k -t 64k -b 128k", "-r -t 64k -b 128k -k"), ("-w -k -F -t 64k -b 128k", "-r -F -k -t 64k -b 128k -E")]

MDTEST = """
-n 4
-n 5 -D
-n 1 -D
-n 6 -F -w 100
-n 6 -F -w 100 -e 100
-I 3 -z 1 -b 2 -L -F -w 100 -C -E
-I 2 -z 1 -b 2
-I 2 -z 1 -b 2 -D -C -U -r
-n 6 -F -w 1k -e 1k -X
-n 4 -F -C -T -r -i 2
-n 4 -F -y
-n 4 -F -y -w 100
-n 4 -u
-n 4 -W 3
-n 4 -x status -W 3
""".strip().splitlines()

RANKS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
OPTIONS = ["--report", "none", "--quiet", "--no-causes", "--output", "run.parquet"]


def present(tool: str) -> None:
    for name in ("strace", "mpirun", tool):
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not there")


def launched(tool: str, words: list[str], ranks: int) -> list[str]:
    return ["mpirun", "--oversubscribe", "-n", str(ranks), tool, *words]


def moved(streams: list[Stream], root: Path) -> Counter:
    return Counter((os.path.relpath(one.file, root), *transfer) for one in streams for transfer in parts(one))


def parts(stream: Stream) -> list[tuple]:
    return [(one.kind, one.offset, one.size) for one in stream.transfers()]


def by_rank(streams: list[Stream], root: Path) -> list:
    """What each stream did: its file and transfers, whichever rank it was."""
    return sorted((os.path.relpath(one.file, root), sorted(parts(one))) for one in joined(streams))


def joined(streams: list[Stream]) -> list[Stream]:
    """The streams of one process and file as one."""
    all_of: dict[tuple[int, str], Stream] = {}
    for one in streams:
        whole = all_of.setdefault((one.process, one.file), Stream(one.file, process=one.process))
        whole.operations += one.operations
    return list(all_of.values())


def syncs(streams: list[Stream]) -> Counter:
    return Counter(operation.kind for one in streams for operation in one.operations if operation.size == 0)


def left(root: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in root.rglob("*") if path.is_file() and path.suffix != ".parquet"}


def with_both(program: Path, room: Path, commands: list[str]) -> str:
    """How lastrank differs from IOR in these commands, one after the other in one directory; `refused: why` where it refuses."""
    theirs, ours = room / "theirs", room / "ours"
    for directory in (theirs, ours):
        directory.mkdir(parents=True)
    for line in commands:
        words = line.split()
        done, calls = trace([program, "ior", *words, "--ranks", "2", *OPTIONS], ours, room / "ours.log")
        if done.returncode == 2:
            return f"refused: {done.stderr.strip()}"
        if done.returncode != 0:
            return f"ended with {done.returncode}: {done.stderr}"
        mine = of_lastrank(calls, ours, lays_out=False)
        done, calls = trace(launched("ior", words, 2), theirs, room / "theirs.log", environment=RANKS)
        if done.returncode != 0:
            return f"IOR ended with {done.returncode}: {done.stdout[-300:]}{done.stderr[-300:]}"
        they = of_processes(calls, theirs)
        if "-Z" in words:
            # Which rank reads whose data is drawn.
            for one in [*mine, *they]:
                one.operations = [operation for operation in one.operations if operation.kind == "write"]
        if "MPIIO" not in words and moved(mine, ours) != moved(they, theirs):
            return f"transfers {moved(they, theirs) - moved(mine, ours)} and {moved(mine, ours) - moved(they, theirs)}"
        if not {"-z", "-Z", "MPIIO"} & set(words) and by_rank(mine, ours) != by_rank(they, theirs):
            return "ranks"
        if syncs(mine) != syncs(they):
            return f"syncs {syncs(they)} and {syncs(mine)}"
        if left(theirs) != left(ours):
            return f"files left {left(theirs)} and {left(ours)}"
    return ""


@pytest.mark.parametrize("commands", [[line] for line in IOR] + [list(pair) for pair in LATER], ids=lambda lines: " | ".join(lines))
def test_ior_is_equal_or_refused(program: Path, tmp_path: Path, commands: list[str]) -> None:
    present("ior")
    why = with_both(program, tmp_path, commands)
    expected = any(word in commands[0] for word in ("-z -z", "-p", "-u"))
    print(f"{'refused' if expected else 'equal  '} ior {' | '.join(commands)}  {why}")
    assert why.startswith("refused: ") if expected else why == ""


def items(calls: list[Call], prefix: str) -> Counter:
    """Successful calls on items, by what they do, and the bytes that they move."""
    found: Counter = Counter()
    for call in calls:
        if call.result < 0 or prefix not in call.words:
            continue
        if call.name in OPENS:
            found["creates" if "O_CREAT" in call.words else "opens"] += 1
        elif call.name in ("mkdir", "rmdir", "unlink", "rename", "fsync"):
            found[call.name] += 1
        elif call.name in ("read", "pread64", "write", "pwrite64"):
            found["read" if "read" in call.name else "written"] += call.result
    return found


@pytest.mark.parametrize("line", MDTEST)
def test_mdtest_is_equal_or_refused(program: Path, tmp_path: Path, line: str) -> None:
    present("mdtest")
    calls = "openat,openat2,mkdir,rmdir,unlink,unlinkat,rename,renameat,renameat2,mkdirat,fsync,read,write,pread64,pwrite64"
    words = line.split()
    mine, their_calls = trace([program, "meta", *words, "-d", "tree", "--ranks", "2", *OPTIONS], tmp_path, tmp_path / "ours.log", calls=calls)
    if "-W" in words:
        assert mine.returncode == 2 and "`-W`" in mine.stderr
        print(f"refused mdtest {line}")
        return
    assert mine.returncode == 0, mine.stderr
    ours = items(named(their_calls), "/dir-") + items(named(their_calls), "/file-")
    done, found = trace(launched("mdtest", [*words, "-d", str(tmp_path / "M")], 2), tmp_path, tmp_path / "theirs.log", calls=calls, environment=RANKS)
    assert done.returncode == 0, done.stdout + done.stderr
    theirs = items(found, "/dir.mdtest") + items(found, "/file.mdtest")
    print(f"{'equal  ' if theirs == ours else 'different'} mdtest {line}")
    assert ours == theirs


def named(calls: list[Call]) -> list[Call]:
    """Calls by the name that they have without a descriptor of the directory, and without the looks of confinement."""
    def plain(call: Call) -> Call:
        name = call.name if call.name in OPENS else re.sub(r"at2?$", "", call.name)
        return Call(call.process, name, call.words, call.result)

    return [plain(call) for call in calls if not (call.name in OPENS and "O_PATH" in call.words)]


def rows(text: str) -> dict[str, list[int]]:
    """How many words the lines of results have, by their first word; those of mdtest by their operation."""
    found: dict[str, list[int]] = {}
    for line in text.splitlines():
        if re.match(r"(access|write|read|Operation) +[^: ]", line):
            found.setdefault(line.split()[0], []).append(len(line.split()))
        elif line.startswith("   ") and (parts := re.match(r" +(.*?) +[0-9-]", line)):
            found.setdefault(parts[1], []).append(len(line.split()))
    return found


@pytest.mark.parametrize(("tool", "command", "words"), [("ior", "ior", "-w -r -t 64k -b 256k -i 2"), ("mdtest", "meta", "-n 10 -i 2")])
def test_results_in_the_lines_of_the_tool(program: Path, tmp_path: Path, tool: str, command: str, words: str) -> None:
    line = [*words.split(), *(["-d", "tree"] if tool == "mdtest" else [])]
    options = ["--ranks", "2", "--report", "none", "--no-causes", "--quiet"]
    ours = subprocess.run([program, command, *line, *options, "--like", tool], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ours.returncode == 0, ours.stderr
    other = subprocess.run([program, command, *line, "--like", "fio"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert other.returncode == 2 and f"--like {tool}" in other.stderr
    if tool == "ior":
        best = re.search(r"Max Write: ([0-9.]+) MiB/sec \(([0-9.]+) MB/sec\)", ours.stdout)
        assert best and float(best[2]) == pytest.approx(float(best[1]) * 1.048576, rel=1e-4)
        of_times = [float(one) for one in re.findall(r"^write +([0-9.]+) .* [01] *$", ours.stdout, re.M)[:2]]
        assert max(of_times) == float(best[1])
    present(tool)
    (tmp_path / "theirs").mkdir()
    theirs = subprocess.run(launched(tool, line, 2), cwd=tmp_path / "theirs", capture_output=True, text=True, check=True, env=os.environ | RANKS)
    assert rows(ours.stdout) == rows(theirs.stdout)


def test_verification_of_yesterdays_files_finds_a_changed_byte(program: Path, tmp_path: Path) -> None:
    def ior(words: str, status: int) -> str:
        done = subprocess.run([program, "ior", *words.split(), *OPTIONS], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    ior("-w -k -t 64k -b 256k", 0)
    ior("-r -R -k -t 64k -b 256k", 0)
    content = bytearray((tmp_path / "testFile").read_bytes())
    content[100_000] ^= 1
    (tmp_path / "testFile").write_bytes(content)
    assert "is not what was written" in ior("-r -R -k -t 64k -b 256k", 3)
    assert "is not what was written" in ior("-W -k -t 64k -b 256k", 3)
    ior("-r -k -t 64k -b 256k", 0)
