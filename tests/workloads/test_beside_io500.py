"""Runs a small configuration of IO500 with the original program and with `lastrank io500`, four ranks of mpirun each, and
compares what every phase asked the kernel for, rank by rank.

Where `io500`, `mpirun` or `strace` are not on the PATH, it is skipped.
"""

import configparser
import os
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from workloads.test_beside_ior import RANKS as AS_ROOT
from workloads.test_beside_ior import launched, present
from workloads.traced import OPENS, Call, read_calls

RANKS = 4
#: 101 is the first number of a file whose name holds `01`, which is what `find` looks for.
CONFIG = """
[global]
datadir = ./data
timestamp-datadir = FALSE
resultdir = ./results
timestamp-resultdir = FALSE
[debug]
stonewall-time = 60
[ior-easy]
transferSize = 256k
blockSize = 2m
[mdtest-easy]
n = 110
[ior-hard]
segmentCount = 25
[mdtest-hard]
n = 130
[ior-rnd4K-easy-read]
run = FALSE
"""
PHASES = (
    "ior-easy-write", "mdtest-easy-write", "ior-hard-write", "mdtest-hard-write", "find", "ior-easy-read",
    "mdtest-easy-stat", "ior-hard-read", "mdtest-hard-stat", "mdtest-easy-delete", "mdtest-hard-read", "mdtest-hard-delete",
)
CALLS = "openat,openat2,read,write,pread64,pwrite64,lseek,fsync,sync,unlink,mkdir,newfstatat,getdents64"
TRACED = f'exec strace -f -y -qq -s 16 -e trace={CALLS} -o "$0.${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" "$@"'
#: The directory of a test, which is a part of the names of files.
AREA = re.compile(r"/data/((ior|mdtest)-(easy|hard)(?:/.*)?)$")

#: What a phase did: verb, name below the data, offset, bytes.
Deed = tuple[str, str, int, int]


class Follower:
    """Follows the descriptors and positions of the processes of a rank."""

    def __init__(self) -> None:
        self.names: dict[tuple[int, str], str] = {}
        self.places: dict[tuple[int, str], int] = {}

    def deed(self, call: Call) -> Deed | None:
        if call.name in OPENS:
            return self.opened(call)
        if call.name == "sync":
            return "sync", "", 0, 0
        if found := re.match(r"(\d+)<([^>]*)>", call.words):
            return self.moved(call, (call.process, found[1]), found[2])
        path = re.search(r'"([^"]*)"', call.words)
        return (call.name, self.whole(call, path[1]), 0, 0) if path else None

    def opened(self, call: Call) -> Deed | None:
        found = re.search(r"= (\d+)<([^>]*)>$", call.words)
        if found is None:
            return None
        self.names[call.process, found[1]] = found[2]
        self.places[call.process, found[1]] = 0
        # A file that all ranks write is made by the first that comes: which one that is, is left open.
        makes = "O_CREAT" in call.words or ("O_RDONLY" not in call.words and "/ior-" in found[2])
        return None if "O_PATH" in call.words else ("create" if makes else "open", found[2], 0, 0)

    def moved(self, call: Call, descriptor: tuple[int, str], name: str) -> Deed | None:
        at = self.places.get(descriptor, 0)
        match call.name:
            case "lseek":
                self.places[descriptor] = call.result
                return None
            case "pread64" | "pwrite64":
                at = int(call.words[: call.words.rindex(")")].rsplit(", ", 1)[1])
            case "read" | "write":
                self.places[descriptor] = at + call.result
            case "fsync" | "getdents64":
                at = 0
            case "newfstatat":
                path = re.search(r'"([^"]+)"', call.words)
                return ("newfstatat", f"{name}/{path[1]}", 0, 0) if path else None
            case _:
                return None
        size = 0 if call.name == "fsync" else call.result
        return (call.name.strip("p").removesuffix("64"), name, at, size) if size or call.name == "fsync" else None

    def whole(self, call: Call, path: str) -> str:
        """A path that begins at a descriptor, by its name."""
        held = re.match(r"/proc/self/fd/(\d+)(.*)", path)
        return self.names.get((call.process, held[1]), "?") + held[2] if held else path


def deeds(log: Path) -> Iterator[Deed]:
    """What a rank did to the data, in its order."""
    follower = Follower()
    for call in read_calls(log.read_text(errors="replace").splitlines()):
        one = follower.deed(call) if call.result >= 0 else None
        if one and one[0] == "sync":
            yield one
        elif one and (area := AREA.search(re.sub("//+", "/", one[1]))):
            yield one[0], area[1].rstrip("/"), *one[2:]


def phases(log: Path) -> dict[str, Counter]:
    """What a rank did in each phase."""
    found: dict[str, Counter] = defaultdict(Counter)
    is_before, syncs = True, iter(("mdtest-easy-write", "mdtest-hard-write"))
    for verb, name, at, size in deeds(log):
        area = "-".join(name.split("/")[0].split("-"))
        is_before &= not (verb == "open" and "ior_file_easy" in name)
        is_file = "file" in name.rsplit("/", 1)[-1]
        match verb:
            case "sync":
                found[next(syncs)][verb, "", 0, 0] += 1
            case "create" | "write" | "fsync":
                found[f"{area}-write"][verb, name, at, size] += 1
            case "open" | "read" if is_file:
                found[f"{area}-read"][verb, name, at, size] += 1
            case "unlink" if area.startswith("mdtest"):
                found[f"{area}-delete"][verb, name, at, size] += 1
            case "newfstatat" if is_file and area.startswith("mdtest"):
                found["find" if is_before else f"{area}-stat"]["stat", name, 0, 0] += 1
            case "getdents" if is_before:
                found["find"]["readdir", name, 0, 0] = 1
            case "mkdir":
                found["directories"][verb, name, 0, 0] += 1
            case _:
                pass
    return found


def by_all(of_ranks: list[dict[str, Counter]], phase: str) -> Counter:
    return sum((found[phase] for found in of_ranks), Counter())


def summed(of_all: Counter) -> str:
    """Operations and bytes, for the table."""
    counts: Counter = Counter()
    for (verb, *_), count in of_all.items():
        counts[verb] += count
    moved = sum(size * count for (verb, _, _, size), count in of_all.items() if verb in ("read", "write"))
    return ", ".join(f"{count} {verb}" for verb, count in sorted(counts.items())) + (f", {moved} bytes" if moved else "")


def told(results: Path) -> dict[str, str]:
    """The files that `find` found, and all that it saw."""
    text = (results / "result.txt").read_text().replace("; START", "# START").replace("; END", "# END")
    parser = configparser.ConfigParser(comment_prefixes=("#", ";"), strict=False)
    parser.read_string(text)
    return {key: parser["find"][key] for key in ("found", "total-files")}


def test_each_phase_does_what_that_of_io500_does(program: Path, tmp_path: Path) -> None:
    present("io500")
    sides = {}
    commands = {"theirs": ["io500", "config.ini"], "ours": [str(program), "io500", "--config", "config.ini", "--report", "none", "--no-causes"]}
    for side, command in commands.items():
        room = tmp_path / side
        room.mkdir()
        (room / "config.ini").write_text(CONFIG)
        log = tmp_path / f"{side}.log"
        wrapped = launched("sh", ["-c", TRACED, str(log), *command], RANKS)
        done = subprocess.run(wrapped, cwd=room, capture_output=True, text=True, timeout=300, check=False, env=os.environ | AS_ROOT)
        assert done.returncode == 0, done.stdout + done.stderr
        sides[side] = [phases(Path(f"{log}.{rank}")) for rank in range(RANKS)], told(room / "results")
    (theirs, found), (ours, seen) = sides["theirs"], sides["ours"]
    different = []
    for phase in ("directories", *PHASES):
        first, second = by_all(theirs, phase), by_all(ours, phase)
        # Directories are dealt out as the search goes; of all others each rank has its own part.
        parts = [[one[phase] for one in side] for side in (theirs, ours)]
        equal = first == second and (phase in ("find", "directories") or parts[0] == parts[1])
        print(f"{'equal    ' if equal else 'different'} {phase:20} {summed(first)}{'' if equal else f' and {summed(second)}'}")
        if not equal:
            examples = [list((one - other).items())[:3] for one, other in ((first, second), (second, first))]
            different.append(f"{phase}: only IO500 {examples[0]}, only lastrank {examples[1]}")
    assert not different, "\n".join(different)
    assert found == seen
