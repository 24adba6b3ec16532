#!/usr/bin/env python3
"""Measures the cost of lastrank's MPI-IO patterns over the same calls in C, through the same MPI.

    python3 benches/mpi/compare.py [--ranks 1,2,4] [--seconds 200] [--directory /dev/shm] [--mpirun "mpirun …"]

Needs a C compiler for MPI (`mpicc` of Debian's libmpich-dev, or of the wheel `mpich`) that belongs to the
launcher. Both programs run by turns, C first in one turn and last in the next, since machines drift. Each turn
gives one ratio of medians; the table shows the median ratio of all turns with a 95% bootstrap interval, and
next to it the ratio of C to itself between successive turns, which is the noise.
"""

import argparse
import os
import random
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
ELEMENTS = {"64 KiB": (65_536, 16, 200), "16 MiB": (16 << 20, 2, 20)}
"""Bytes of an element, elements a rank and transfer, transfers a turn."""
AIM = 1.03


def median_ns(command: list[str]) -> int:
    """The median time of a transfer, the slowest rank's."""
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"median (\d+) ns", done.stdout)
    if not found:
        sys.exit(f"{shlex.join(command)}\n{done.stdout}{done.stderr}")
    return int(found[1])


def interval(values: list[float]) -> tuple[float, float]:
    """95% of the medians of 2000 resamples."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(2000))
    return medians[50], medians[1949]


def verdict(low: float, high: float) -> str:
    if high <= AIM:
        return "met"
    return "missed" if low > AIM else "not told apart"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--levels", default="0,1,2,3")
    parser.add_argument("--seconds", type=float, default=200, help="for all cases together")
    parser.add_argument("--directory", default="/dev/shm")
    parser.add_argument("--mpirun", default="mpirun", help="the launcher with its options")
    parser.add_argument("--mpicc", default="mpicc")
    parser.add_argument("--ours", type=Path, help="the example `ranks` in release mode; built where not given")
    given = parser.parse_args()
    if not given.ours:
        build = ["cargo", "build", "--release", "-q", "-p", "lastrank-engine", "--example", "ranks"]
        subprocess.run(build, cwd=ROOT, check=True)
    ours = given.ours or TARGET / "release" / "examples" / "ranks"
    cases = [
        (level, name, ranks)
        for level in given.levels.split(",")
        for name in ELEMENTS
        for ranks in given.ranks.split(",")
    ]
    with tempfile.TemporaryDirectory() as folder:
        theirs = Path(folder) / "pattern"
        source = Path(__file__).with_name("pattern.c")
        subprocess.run([given.mpicc, "-O2", "-o", theirs, source], check=True)
        print("| level | element | ranks | C, µs | lastrank, µs | ratio (95%) | C to itself | MiB/s | within 3% |")
        print("|---|---|---|---|---|---|---|---|---|")
        for level, name, ranks in cases:
            element, blocks, rounds = ELEMENTS[name]
            launch = [*shlex.split(given.mpirun), "-n", ranks]
            what = [given.directory, level, str(element), str(blocks), str(rounds)]
            one, other = [*launch, str(theirs), *what], [*launch, str(ours), "io", *what]
            pairs: list[tuple[int, int]] = []
            until = time.monotonic() + given.seconds / len(cases)
            while len(pairs) < 4 or (time.monotonic() < until and len(pairs) < 40):
                if len(pairs) % 2 == 0:
                    c, rust = median_ns(one), median_ns(other)
                else:
                    rust, c = median_ns(other), median_ns(one)
                pairs.append((c, rust))
            ratios = [rust / c for c, rust in pairs]
            low, high = interval(ratios)
            itself = [max(a, b) / min(a, b) for (a, _), (b, _) in zip(pairs, pairs[1:])]
            c, rust = (statistics.median(pair[side] for pair in pairs) for side in (0, 1))
            rate = element * blocks * int(ranks) / rust * 1e9 / 2**20
            print(
                f"| {level} | {name} | {ranks} | {c / 1e3:.1f} | {rust / 1e3:.1f} | {statistics.median(ratios):.3f} "
                f"({low:.3f} – {high:.3f}) | {statistics.median(itself):.3f} | {rate:.0f} | {verdict(low, high)} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
