#!/usr/bin/env python3
"""Processor time and memory of `lastrank compare` and `ls` on large runs.

    python3 benches/compare/compare.py [--values 400000] [--samples 4000000]

First two files of --values log-normal numbers, of which one is 3% larger, are compared; the target is 2 s of wall time on
a quiet machine. Then a run of --samples simulated operations is listed, which reads it row group by row group. Prints wall
time, processor time and the most memory of each; asserts none. Needs a built lastrank (LASTRANK_BIN, else
target/release).
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = os.environ.get("LASTRANK_BIN", str(ROOT / "target" / "release" / "lastrank"))


def measured(folder: str, *words: str) -> str:
    """Runs lastrank and prints what it took."""
    begin = time.monotonic()
    child = subprocess.Popen([BINARY, *words], cwd=folder, stdout=subprocess.PIPE, text=True)
    out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - begin
    if child.returncode not in (0, 1):
        sys.exit(f"{' '.join(words)}: status {child.returncode}")
    print(
        f"{' '.join(words[:1]):10} {wall:7.2f} s wall, {usage.ru_utime + usage.ru_stime:7.2f} s of processors, "
        f"{usage.ru_maxrss / 1024:8.1f} MiB"
    )
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--values", type=int, default=400_000)
    parser.add_argument("--samples", type=int, default=4_000_000)
    arguments = parser.parse_args()
    generator = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        for name, factor in [("quiet.txt", 1.0), ("new.txt", 1.03)]:
            values = (factor * 1e-3 * generator.lognormvariate(0, 0.5) for _ in range(arguments.values))
            (Path(folder) / name).write_text("".join(f"{value:.9g}\n" for value in values))
        print(f"two files of {arguments.values} values:")
        print(measured(folder, "compare", "quiet.txt", "new.txt", "--unit", "s").splitlines()[0])
        (Path(folder) / "many.ppl").write_text(f"create(\"f\");\nfor $i in 1 .. {arguments.samples} {{ stat(\"f\"); }}\n")
        print(f"a run of {arguments.samples} simulated operations:")
        simulate = ["--backend", "simulate:lognormal(1ms,0.5)", "-o", "many.parquet", "--report", "none"]
        # A quiet run computes no answer, so that `ls` reads its samples; of others it reads the footer.
        for told in ("--quiet", "--one-line"):
            measured(folder, "run", "many.ppl", *simulate, told)
            print(measured(folder, "ls").splitlines()[-1])
        before_ls = arguments.samples * 40 / 2**20
        print(f"40 bytes a sample would be {before_ls:.1f} MiB")


if __name__ == "__main__":
    main()
