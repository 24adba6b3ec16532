#!/usr/bin/env python3
"""Measures what follows the last operation of a big run, and the cost of explaining it.

    python3 benches/big_run/compare.py [--ranks 4] [--operations 1000000] [--directory .]

Each rank makes `stat(".")` that many times. lastrank keeps every sample; each rank prints a line after its
last operation, and the time from the last of these lines to the end of the command is what saving costs. fio
(null engine, as many jobs and operations, a log of every latency) runs beside it: its time from the end of the
last job, by its own account, to the end of the command, which includes what it needs to begin. Then `lastrank
report` and `lastrank fit` read the run again: wall and processor seconds, peak memory, sizes of the files.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
AIM_S = 2.0


def megabytes(path: Path) -> float:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def timed(command: list[str], folder: str) -> tuple[float, float, float]:
    """Wall and processor seconds, and peak memory in MB, of a command that must succeed."""
    begin = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3


def of_lastrank(binary: str, folder: str, ranks: int, operations: int) -> tuple[float, float]:
    """Seconds of the operations, measured from outside, and seconds after them."""
    Path(folder, "big.ppl").write_text(f'repeat {operations} {{ stat("."); }}\nprint "end";\n')
    command = [binary, "run", "big.ppl", "-n", str(ranks), "-s", "--report", "none", "-o", "big.parquet"]
    begin = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    last = begin
    for _ in process.stdout:
        last = time.monotonic()
    if process.wait() != 0:
        sys.exit("lastrank failed")
    return last - begin, time.monotonic() - last


def of_fio(folder: str, ranks: int, operations: int) -> tuple[float, float]:
    command = ["fio", "--name=ops", "--ioengine=null", "--rw=read", "--bs=4k", f"--numjobs={ranks}",
               f"--size={operations * 4096}", "--write_lat_log=ops", "--log_avg_msec=0", "--output-format=json",
               "--output=ops.json"]
    begin = time.monotonic()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    whole = time.monotonic() - begin
    text = Path(folder, "ops.json").read_text()
    jobs = json.loads(text[text.index("{"):])["jobs"]
    work = max(job["job_runtime"] for job in jobs) / 1e3
    return work, whole - work


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--operations", type=int, default=1_000_000)
    parser.add_argument("--directory", default=".")
    parser.add_argument("--lastrank", default=str(TARGET / "release" / "lastrank"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.directory) as folder:
        big = Path(folder, "big.parquet")
        total = arguments.ranks * arguments.operations
        print(f"{arguments.ranks} ranks x {arguments.operations:,} operations")
        work, after = of_lastrank(arguments.lastrank, folder, arguments.ranks, arguments.operations)
        saved = big if big.exists() else Path(folder)
        met = "met" if after < AIM_S else "missed"
        print(f"  lastrank: {work:.2f} s, then {after:.2f} s until all is saved (aim {AIM_S:.0f} s: {met}); "
              f"{megabytes(saved):.1f} MB, {megabytes(saved) * 1e6 / total:.2f} bytes a sample")
        if shutil.which("fio"):
            fio, fio_after = of_fio(folder, arguments.ranks, arguments.operations)
            logs = sum(megabytes(log) for log in Path(folder).glob("ops_lat*.log"))
            print(f"  fio (null engine, log of every latency): {fio:.2f} s, then {fio_after:.2f} s; "
                  f"{logs:.1f} MB of logs; lastrank : fio {after / fio_after:.2f}")
        else:
            print("  fio is not installed: no comparison")
        for words in (["report", "big.parquet", "-o", "big.html"], ["fit", "big.parquet"]):
            wall, processor, memory = timed([arguments.lastrank, *words], folder)
            print(f"  lastrank {words[0]}: {wall:.2f} s, {processor:.2f} s of processors, peak {memory:,.0f} MB "
                  f"({memory * 1e6 / total:.0f} bytes a sample)")
        print(f"  the page: {megabytes(Path(folder, 'big.html')):.2f} MB")


if __name__ == "__main__":
    main()
