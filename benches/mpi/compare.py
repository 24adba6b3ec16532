#!/usr/bin/env python3
"""How much do lastrank's MPI-IO patterns cost above the same calls in C, through the same MPI?

    python3 benches/mpi/compare.py [--ranks 1,2,4] [--rounds 40] [--directory /dev/shm] [--mpirun "mpirun …"]

Needs a C compiler for MPI (`mpicc` of Debian's libmpich-dev, or of the wheel `mpich`). Both programs
run by turns, since machines drift. A line shows the medians of both and their ratio, and the ratio of
their least times, which other work on the machine disturbs less.
"""

import argparse
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
ELEMENTS = {"64 KiB": (65_536, 16), "16 MiB": (16 << 20, 2)}


def times(command: list[str]) -> tuple[int, int]:
    """Median and least time of a round, in ns."""
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"median (\d+) ns, least (\d+) ns", done.stdout)
    if not found:
        sys.exit(f"{shlex.join(command)}\n{done.stdout}{done.stderr}")
    return int(found[1]), int(found[2])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--levels", default="0,1,2,3")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--turns", type=int, default=3, help="how often each of the two runs")
    parser.add_argument("--directory", default="/dev/shm")
    parser.add_argument("--mpirun", default="mpirun", help="the launcher with its options")
    parser.add_argument("--mpicc", default="mpicc")
    parser.add_argument("--ours", type=Path, help="the example `ranks` in release mode; built where not given")
    given = parser.parse_args()
    build = ["cargo", "build", "--release", "-q", "-p", "engine", "--example", "ranks"]
    if not given.ours:
        subprocess.run(build, cwd=ROOT, check=True)
    ours = given.ours or TARGET / "release" / "examples" / "ranks"
    with tempfile.TemporaryDirectory() as folder:
        theirs = Path(folder) / "pattern"
        source = Path(__file__).with_name("pattern.c")
        subprocess.run([given.mpicc, "-O2", "-o", theirs, source], check=True)
        print("level  element  ranks           C    lastrank   ratio  of least   MiB/s")
        for level in given.levels.split(","):
            for name, (element, blocks) in ELEMENTS.items():
                for ranks in given.ranks.split(","):
                    launch = [*shlex.split(given.mpirun), "-n", ranks]
                    what = [given.directory, level, str(element), str(blocks), str(given.rounds)]
                    pairs = [
                        (times([*launch, str(theirs), *what]), times([*launch, str(ours), "io", *what]))
                        for _ in range(given.turns)
                    ]
                    c, rust = (statistics.median(pair[side][0] for pair in pairs) for side in (0, 1))
                    least = [min(pair[side][1] for pair in pairs) for side in (0, 1)]
                    rate = element * blocks * int(ranks) / rust * 1e9 / 2**20
                    print(
                        f"{level:>5}  {name:>7}  {ranks:>5}  {c / 1e3:>8.1f} µs {rust / 1e3:>8.1f} µs"
                        f"  {rust / c:>6.3f}  {least[1] / least[0]:>8.3f}  {rate:>6.0f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
