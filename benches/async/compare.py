#!/usr/bin/env python3
"""Compares the rate and latency of direct 4 KiB reads or writes with several in flight: lastrank and fio.

    python3 benches/async/compare.py [--directory .] [--depths 1,8,32] [--turns 3] [--seconds 3] [--write]

`async depth=N` alternates with `fio --ioengine=io_uring --iodepth=N` on the same file. Each line is the
median over the turns, the last column lastrank's rate over fio's. Both work a second longer than they are
measured: on a loop device fio's first tenths are twice as quick as what follows, for the kernel's worker then
shares its processor more often (perhaps since fio calibrates its clock on every processor before it begins).
Needs fio and a built lastrank, and a file system that has O_DIRECT.
"""

import argparse
import csv
import io
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PROGRAM = """define param "depth" $depth 32
$f = fopen("data", "O_RDWR|O_DIRECT");
async depth=$depth {{ for {seconds}s {call}($f, 4k, uniform(0, 65536) * 4096); }}
fclose($f);
"""
# Before this many seconds nothing is measured.
WARM_S = 1


def make_data(folder: str) -> None:
    """A file of 256 MiB that no compression shrinks."""
    with open(Path(folder, "data"), "wb") as file:
        for _ in range(256):
            file.write(os.urandom(1 << 20))
        os.fsync(file.fileno())


def ours(lastrank: str, folder: str, depth: int, seconds: float = 3, write: bool = False) -> tuple[float, float, float]:
    """Operations a second, and the quantiles 0.5 and 0.99 of their durations in µs."""
    call = "fwrite" if write else "fread"
    Path(folder, "async.ppl").write_text(PROGRAM.format(seconds=seconds + WARM_S, call=call))
    run = [lastrank, "run", "async.ppl", "-o", "async.parquet", "--report", "none", "-s", f"depth={depth}"]
    subprocess.run(run, cwd=folder, check=True, capture_output=True)
    export = [lastrank, "export", "async.parquet", "--to", "csv", "-o", "-"]
    text = subprocess.run(export, cwd=folder, capture_output=True, text=True, check=True).stdout
    rows = csv.DictReader(io.StringIO(text))
    timed = [(int(row["start_ns"]), int(row["duration_ps"])) for row in rows if row["operation"] == call]
    return measured(timed)


def measured(timed: list[tuple[int, int]]) -> tuple[float, float, float]:
    """Operations a second, and the quantiles 0.5 and 0.99 in µs, of starts in ns and durations in ps."""
    begin = min(start for start, _ in timed) + WARM_S * 1_000_000_000
    timed = [(start, took) for start, took in timed if start >= begin]
    end = max(start + took // 1000 for start, took in timed)
    times = sorted(took * 1e-6 for _, took in timed)
    return len(timed) / (end - begin) * 1e9, times[len(times) // 2], times[len(times) * 99 // 100]


def fio(folder: str, depth: int, seconds: float = 3, write: bool = False) -> tuple[float, float, float]:
    """The same of fio."""
    way = "write" if write else "read"
    job = ["fio", "--name=async", "--filename=data", f"--rw=rand{way}", "--bs=4k", "--size=256m", "--direct=1"]
    job += ["--ioengine=io_uring", f"--iodepth={depth}", "--time_based", f"--runtime={seconds:g}", "--norandommap"]
    job += [f"--ramp_time={WARM_S}"]
    # From before the submission to the completion, as lastrank's: fio's own choice begins behind the submission.
    job += ["--thread", "--lat_percentiles=1", "--output-format=json"]
    done = subprocess.run(job, cwd=folder, capture_output=True, text=True, check=True)
    done = json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0][way]
    quantiles = done["lat_ns"]["percentile"]
    return done["iops"], quantiles["50.000000"] / 1e3, quantiles["99.000000"] / 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--directory", default=".")
    parser.add_argument("--depths", default="1,8,32")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="direct writes in place of reads")
    parser.add_argument("--lastrank", default=str(TARGET / "release" / "lastrank"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.directory) as folder:
        make_data(folder)
        how = (arguments.seconds, arguments.write)
        print(f"{'depth':>5}{'lastrank/s':>12}{'p50 [µs]':>10}{'p99 [µs]':>10}{'fio/s':>12}{'p50 [µs]':>10}{'p99 [µs]':>10}{'ratio':>8}")
        for depth in map(int, arguments.depths.split(",")):
            turns = [(ours(arguments.lastrank, folder, depth, *how), fio(folder, depth, *how)) for _ in range(arguments.turns)]
            middle = lambda who, what: statistics.median(turn[who][what] for turn in turns)
            cells = [middle(who, what) for who in (0, 1) for what in (0, 1, 2)]
            print(f"{depth:>5}{cells[0]:>12.0f}{cells[1]:>10.1f}{cells[2]:>10.1f}{cells[3]:>12.0f}{cells[4]:>10.1f}{cells[5]:>10.1f}{cells[0] / cells[3]:>8.2f}")


if __name__ == "__main__":
    main()
