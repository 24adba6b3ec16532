#!/usr/bin/env python3
"""Compares `lastrank io` with fio on the same work: operations, bytes, rates and percentiles.

    python3 benches/io/compare.py [--directory .] [--seconds 5] [--turns 3] [--size 256m]

Both read or write the same file in turns. The first table has fixed numbers of operations: operations and bytes must be
equal, or the comparison ends with status 1. Then a log of every latency that fio wrote is read by `lastrank fit`: its
quantiles must be those that fio printed, within the width of fio's buckets (1/128). The last table has runs over a time, in
turns that begin with the one and with the other: operations and MiB a second and percentiles, medians over the turns,
lastrank's over fio's, and the noise: the largest factor between two turns of the same tool. A ratio within it is no
difference. IOR and mdtest stand beside `lastrank ior` and `lastrank meta` where they are on the PATH. Needs fio and a built
lastrank; with the defaults about four minutes.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# What is done, and the options of both; those of OUR_OWN are not fio's, which never looks for the causes of slow operations.
WORK = [
    ("randread, direct, depth 1", ["rw=randread", "bs=4k", "direct=1"]),
    ("... without causes", ["rw=randread", "bs=4k", "direct=1", "--no-causes"]),
    ("randread, direct, depth 16", ["rw=randread", "bs=4k", "direct=1", "iodepth=16"]),
    ("randread, page cache", ["rw=randread", "bs=4k", "invalidate=0"]),
    ("read, direct, 1 MiB", ["rw=read", "bs=1m", "direct=1"]),
    ("write, 64 KiB, fsync of 8", ["rw=write", "bs=64k", "fsync=8"]),
    ("randwrite, dsync", ["rw=randwrite", "bs=4k", "sync=dsync"]),
    ("randrw 70:30, direct, depth 8", ["rw=randrw", "bs=4k", "direct=1", "iodepth=8", "rwmixread=70"]),
]
OUR_OWN = {"--no-causes"}
DIRECTIONS = {"read": "fread", "write": "fwrite"}
# What is compared over a time, of (operations, bytes, operations a second, p50, p99, p99.9 in microseconds).
FIGURES = {
    "IOPS": lambda row: row[2],
    "MiB/s": lambda row: row[2] * row[1] / row[0] / 2**20,
    "p50 µs": lambda row: row[3],
    "p99 µs": lambda row: row[4],
    "p99.9 µs": lambda row: row[5],
}


def ours(arguments: argparse.Namespace, folder: str, options: list[str], extent: str) -> dict:
    """For each direction: operations, bytes, rate, p50, p99 and p99.9 in microseconds."""
    words = [option if option in OUR_OWN else f"--{option}" for option in [*options, f"size={arguments.size}", extent]]
    run = [arguments.lastrank, "io", "data", "--overwrite-existing", "--json", "--report", "none", "-o", "run.parquet"]
    done = subprocess.run(run + words, cwd=folder, check=True, capture_output=True, text=True)
    label = options[0].removeprefix("rw=")
    found = {}
    for direction, operation in DIRECTIONS.items():
        for row in json.loads(done.stdout)["results"]:
            if (row["label"], row["operation"]) == (label, operation):
                quantiles = row["quantiles_seconds"]
                found[direction] = (
                    row["operations"],
                    row["bytes"],
                    row["operations_per_second"],
                    *((quantiles[name] or quantiles["max"]) * 1e6 for name in ("p50", "p99", "p999")),
                )
    return found


def fio(arguments: argparse.Namespace, folder: str, options: list[str], extent: str) -> dict:
    """The same of fio."""
    extents = {"ops": "number_ios", "time": "runtime"}
    name, value = extent.split("=")
    engine = "io_uring" if any(option.startswith("iodepth") for option in options) else "psync"
    both = [option for option in options if option not in OUR_OWN]
    words = [f"--{option}" for option in [*both, f"size={arguments.size}", f"{extents[name]}={value}"]]
    # Beyond the end of the file fio goes on only if io_size says so.
    words += ["--time_based"] if name == "time" else ["--io_size=1t"]
    job = ["fio", "--name=io", "--filename=data", f"--ioengine={engine}", "--norandommap", "--fallocate=none", "--thread"]
    done = subprocess.run(
        [*job, *words, "--output-format=json"], cwd=folder, check=True, capture_output=True, text=True
    )
    report = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]
    found = {}
    for direction in DIRECTIONS:
        part = report[direction]
        if part["total_ios"]:
            quantiles = part["clat_ns"]["percentile"]
            rate = part["iops"]
            times = (quantiles[name] / 1e3 for name in ("50.000000", "99.000000", "99.900000"))
            found[direction] = (part["total_ios"], part["io_bytes"], rate, *times)
    return found


def same_amounts(arguments: argparse.Namespace, folder: str) -> bool:
    """Whether both do as many operations and bytes where their number is given."""
    right = True
    print(f"{'200 operations':32} {'lastrank':>24} {'fio':>24}")
    for name, options in WORK:
        sides = [side(arguments, folder, options, "ops=200") for side in (ours, fio)]
        # Of a mix the number of both together is given; each side draws which is which.
        totals = [tuple(sum(row[at] for row in side.values()) for at in (0, 1)) for side in sides]
        shown = [f"{count} ops, {size} B" for count, size in totals]
        right &= totals[0] == totals[1]
        print(f"{name:32} {shown[0]:>24} {shown[1]:>24}{'' if totals[0] == totals[1] else '  DIFFERENT'}")
    return right


def same_percentiles(arguments: argparse.Namespace, folder: str) -> bool:
    """Whether the percentiles that fio printed are those of its own log as lastrank reads it."""
    words = ["--rw=randread", "--bs=4k", f"--size={arguments.size}", "--number_ios=20000", "--io_size=1t", "--invalidate=0"]
    log = ["--write_lat_log=all", "--log_avg_msec=0", "--percentile_list=50:90:99:99.9", "--output-format=json"]
    job = ["fio", "--name=io", "--filename=data", "--ioengine=psync", "--norandommap", "--thread"]
    done = subprocess.run([*job, *words, *log], cwd=folder, check=True, capture_output=True, text=True)
    printed = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]["read"]["clat_ns"]["percentile"]
    with open(Path(folder) / "all_clat.1.log", encoding="ascii") as lines:
        values = [line.split(",")[1].strip() for line in lines]
    (Path(folder) / "clat.txt").write_text("\n".join(values) + "\n")
    fit = subprocess.run([arguments.lastrank, "fit", "clat.txt", "--json"], cwd=folder, capture_output=True, text=True)
    found = {one["probability"]: one["value"] for one in json.loads(fit.stdout)["summary"]["quantiles"]}
    print(f"\n{'quantile of one log of fio':32} {'lastrank':>24} {'fio':>24}")
    right = len(values) == 20000
    for percent, theirs in printed.items():
        ours_ns = found.get(round(float(percent) / 100, 6))
        if ours_ns is None:
            continue
        alike = abs(ours_ns / theirs - 1) <= 1 / 128
        right &= alike
        print(f"p{float(percent):<31g} {ours_ns:>21.0f} ns {theirs:>21} ns{'' if alike else '  DIFFERENT'}")
    return right


def beside(arguments: argparse.Namespace, folder: str) -> None:
    """IOR and mdtest beside us, where they are installed."""
    for tool, command, words in [
        ("ior", "ior", ["-a", "POSIX", "-b", "64m", "-t", "1m", "-w", "-r", "-C", "-e", "-o", "ior.data"]),
        ("mdtest", "meta", ["-n", "1000", "-u", "-d", "md"]),
    ]:
        if not shutil.which(tool):
            print(f"\n{tool} is not installed")
            continue
        theirs = subprocess.run([tool, *words], cwd=folder, capture_output=True, text=True)
        mine = subprocess.run([arguments.lastrank, command, *words], cwd=folder, capture_output=True, text=True)
        print(f"\n{tool}:\n{theirs.stdout}\nlastrank {command}:\n{mine.stdout}")


def rates(arguments: argparse.Namespace, folder: str) -> None:
    """Rates and percentiles over a time, in turns."""
    print(f"\n{'over ' + str(arguments.seconds) + ' s':31} {'':6} {'':8} {'lastrank':>10} {'fio':>10} {'ratio':>7} {'noise':>7}")
    sides = (ours, fio)
    for name, options in WORK:
        turns: tuple[list[dict], list[dict]] = ([], [])
        for turn in range(arguments.turns):
            for at in (0, 1) if turn % 2 == 0 else (1, 0):
                turns[at].append(sides[at](arguments, folder, options, f"time={arguments.seconds}s"))
        for direction in DIRECTIONS:
            if direction not in turns[0][0]:
                continue
            for what, value in FIGURES.items():
                of = [[value(turn[direction]) for turn in side] for side in turns]
                one, other = (statistics.median(values) for values in of)
                noise = max(max(values) / min(values) for values in of)
                ratio = one / other
                beyond = "" if 1 / noise <= ratio <= noise else "  beyond the noise"
                row = f"{name:31} {direction:6} {what:8} {one:10.1f} {other:10.1f} {ratio:7.3f} {noise:7.3f}{beyond}"
                print(row, flush=True)
                name = ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--directory", default=".")
    parser.add_argument("--seconds", type=int, default=5, help="of each run; 0: only what must be equal")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--size", default="256m")
    parser.add_argument("--lastrank", default=str(TARGET / "release" / "lastrank"))
    arguments = parser.parse_args()
    arguments.lastrank = str(Path(arguments.lastrank).resolve())
    with tempfile.TemporaryDirectory(dir=arguments.directory) as folder:
        lay_out = ["--rw=write", "--bs=1m", f"--size={arguments.size}", "--end_fsync=1", "--filename=data", "--name=x"]
        subprocess.run(["fio", *lay_out], cwd=folder, check=True, capture_output=True)
        right = same_amounts(arguments, folder)
        right &= same_percentiles(arguments, folder)
        if arguments.seconds > 0:
            rates(arguments, folder)
            beside(arguments, folder)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
