#!/usr/bin/env python3
"""Stops a generator of 1,000 operations a second for half a second and compares what tools report.

    python3 benches/omission/compare.py [--directory .] [--pause 0.5]

Runs lastrank (`rate 1000/s`) and fio (`rate_iops=1000`) on the same file, stops each with SIGSTOP in
the middle, and prints how many of their operations took 100 ms or more and the longest, by service
time and, for lastrank, by response time from the intended start. Needs fio and a built lastrank.
"""

import argparse
import csv
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PROGRAM = """$f = fopen("data", "r");
for 3s { rate 1000/s fread($f, 4k, uniform(0, 4096) * 4096); }
fclose($f);
"""


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def paused(command: list[str], folder: str, pause: float, of_child: bool) -> str:
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1.5)
    victims = (children(process.pid) if of_child else []) or [process.pid]
    for victim in victims:
        os.kill(victim, signal.SIGSTOP)
    time.sleep(pause)
    for victim in victims:
        os.kill(victim, signal.SIGCONT)
    out, error = process.communicate()
    if process.returncode != 0:
        sys.exit(f"{command}\n{out}{error}")
    return out


def line(name: str, n: int, slow: int, longest_s: float) -> None:
    print(f"{name:34}{n:>8}{slow:>14}{longest_s * 1e3:>14.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--directory", default=".")
    parser.add_argument("--pause", type=float, default=0.5)
    parser.add_argument("--lastrank", default=str(TARGET / "release" / "lastrank"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.directory) as folder:
        Path(folder, "data").write_bytes(os.urandom(16 << 20))
        Path(folder, "rate.ppl").write_text(PROGRAM)
        run = [arguments.lastrank, "run", "rate.ppl", "-o", "rate.parquet", "--report", "none", "-s"]
        paused(run, folder, arguments.pause, True)
        export = [arguments.lastrank, "export", "rate.parquet", "--to", "csv", "-o", "-"]
        text = subprocess.run(export, cwd=folder, capture_output=True, text=True, check=True).stdout
        rows = [row for row in csv.DictReader(io.StringIO(text)) if row["operation"] == "fread"]
        service = [int(row["duration_ps"]) * 1e-12 for row in rows]
        response = [seconds + int(row["late_ns"]) * 1e-9 for seconds, row in zip(service, rows)]
        job = ["fio", "--name=rate", "--filename=data", "--rw=randread", "--bs=4k", "--size=16m"]
        job += ["--ioengine=psync", "--rate_iops=1000", "--time_based", "--runtime=3", "--output-format=json"]
        out = paused(job + ["--thread"], folder, arguments.pause, False)
        read = json.loads(out[out.index("{"):])["jobs"][0]["read"]

        print(f"a pause of {arguments.pause} s at 1,000 operations a second")
        print(f"{'':34}{'n':>8}{'>= 100 ms':>14}{'longest [ms]':>14}")
        slow = lambda values: sum(value >= 0.1 for value in values)
        line("lastrank, service time", len(rows), slow(service), max(service))
        line("lastrank, response time", len(rows), slow(response), max(response))
        # fio tells quantiles and the maximum; a maximum below 100 ms means that none is beyond.
        longest = read["clat_ns"]["max"] * 1e-9
        print(f"{'fio, completion latency':34}{read['total_ios']:>8}{'0' if longest < 0.1 else '>= 1':>14}{longest * 1e3:>14.3f}")


if __name__ == "__main__":
    main()
