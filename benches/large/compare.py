#!/usr/bin/env python3
"""Processor time and memory of the commands that read large runs.

    python3 benches/large/compare.py [--samples 4000000,16000000] [--before BINARY] [--keep FOLDER]

Makes two runs of each number of simulated reads by four ranks, which differ in their scale by 0.5%, and lets each command
read them: `ls`, `report -q`, `report --json`, `fit`, `fit --gate`, `compare`, and `compare --exact`. Prints processor time
and the most memory of each, with `--before` those of another executable beside; asserts none. Needs a built lastrank
(LASTRANK_BIN, else target/release). With --keep the runs stay in FOLDER, and those that are there are read again.
"""

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = os.environ.get("LASTRANK_BIN", str(ROOT / "target" / "release" / "lastrank"))
RANKS = 4
SCALES = {"old": "100us", "new": "100.5us"}


def measured(folder: Path, *words: str) -> tuple[int, float, float]:
    """Runs a command; its status, seconds of processors, and MiB at most."""
    child = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def told(found: tuple[int, float, float]) -> str:
    status, seconds, memory = found
    return f"{seconds:8.2f} s {memory:8.1f} MiB" if status in (0, 1, 3) else f"status {status:14}"


def make(folder: Path, name: str, scale: str, samples: int) -> Path:
    """A run of simulated reads; the file is kept where it is there."""
    path = folder / f"{name}-{samples}.parquet"
    if not path.exists():
        law = f"simulate:lognormal({scale},0.4)"
        words = ["io", "randread", "--jobs", str(RANKS), "--ops", str(samples // RANKS), "--size", "64MiB"]
        words += ["--backend", law, "-o", path.name, "--report", "none", "-q"]
        print(f"making {path.name:24} {told(measured(folder, BINARY, *words))}", flush=True)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", default="4000000,16000000")
    parser.add_argument("--before")
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for samples in map(int, arguments.samples.split(",")):
            old, new = (make(folder, name, scale, samples).name for name, scale in SCALES.items())
            size = (folder / old).stat().st_size
            print(f"{samples} samples, {size / 2**20:.1f} MiB, {size / samples:.2f} bytes a sample")
            commands = [
                ["ls", old],
                ["report", old, "-q", "-o", "page.html"],
                ["report", old, "--json"],
                ["fit", old],
                ["fit", old, "--gate"],
                ["compare", old, new],
                ["compare", old, new, "--exact"],
            ]
            for words in commands:
                line = f"  {' '.join(word for word in words if '.' not in word):18} {told(measured(folder, BINARY, *words))}"
                if arguments.before:
                    line += f"   before {told(measured(folder, arguments.before, *words))}"
                print(line, flush=True)


if __name__ == "__main__":
    main()
