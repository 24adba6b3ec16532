#!/usr/bin/env python3
"""Import speed, and what recording costs beside strace and perf trace.

    python3 benches/trace/compare.py [--bin target/release/lastrank] [--calls 1000000] [--rounds 5] [--bounded]

Import: a trace of `--calls` lines as strace writes them is made and imported; its time and peak memory are printed beside the
targets (a million lines in 2 s). `--bounded` adds ten million calls.

Recording: each command runs bare, with `record --quiet`, with `record`, under `strace -f` and, for root, under `perf trace`,
one after the other, `--rounds` times; the smallest wall time of each and its ratio to the bare one are printed. Tools that are
not installed are left out. Nothing is asserted.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from traces.applications import APPLICATIONS, missing  # noqa: E402

COMMANDS = ("sqlite bulk insert", "tar c", "git clone", "PostgreSQL under pgbench")


def lines(path: Path, count: int) -> None:
    """Sessions of 50 calls each, two threads in turn, as `strace -f -ttt -T` writes them."""
    with path.open("w") as out:
        at = 0
        while at < count:
            second, thread, name = 1_700_000_000 + at * 1e-5, 100 + at // 50 % 2, at // 50 % 1000
            out.write(f'{thread} {second:.6f} openat(AT_FDCWD, "/w/d{name % 10}/f-{name:04}", O_RDWR|O_CREAT, 0644) = 3 <0.000020>\n')
            for part in range(48):
                now = second + (part + 1) * 1e-5
                out.write(f'{thread} {now:.6f} pwrite64(3, "abc"..., 4096, {part * 4096}) = 4096 <0.000011>\n')
            out.write(f"{thread} {second + 49e-5:.6f} close(3) = 0 <0.000005>\n")
            at += 50


def measured(command: list, folder: Path, environment: dict | None = None) -> tuple[float, float, int]:
    """Wall time in seconds, peak memory in MiB, and the status of a command."""
    begun = time.monotonic()
    child = subprocess.Popen(
        [str(word) for word in command],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(child.pid, 0)
    return time.monotonic() - begun, usage.ru_maxrss / 1024, os.waitstatus_to_exitcode(status)


def import_speed(lastrank: Path, counts: list[int]) -> None:
    print(f"{'lines of strace':>16} {'import':>9} {'a second':>12} {'memory':>10}")
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            trace = Path(folder) / "app.strace"
            lines(trace, count)
            seconds, memory, status = measured([lastrank, "import", trace, "-o", "app.ppl"], Path(folder))
        failed = "" if status == 0 else f"  failed with status {status}"
        print(f"{count:16,} {seconds:7.2f} s {count / seconds:12,.0f} {memory:6.0f} MiB{failed}", flush=True)


def recorders(lastrank: Path) -> dict[str, list]:
    ways = {
        "bare": [],
        "record --quiet": [lastrank, "record", "--quiet", "-o", "../q.parquet", "--"],
        "record": [lastrank, "record", "-o", "../r.parquet", "--"],
    }
    if shutil.which("strace"):
        ways["strace -f"] = ["strace", "-f", "-ttt", "-T", "-o", "../s.strace"]
        ways["strace --seccomp-bpf"] = ["strace", "-f", "--seccomp-bpf", "-e", "trace=file,desc,process", "-o", "../b.strace"]
    if shutil.which("perf") and os.geteuid() == 0:
        ways["perf trace"] = ["perf", "trace", "-o", "../p.txt", "--"]
    return ways


def recording_cost(lastrank: Path, rounds: int) -> None:
    print(f"\n{'command':26} {'recorder':22} {'wall':>10} {'of bare':>8}")
    for application in APPLICATIONS:
        if application.name not in COMMANDS:
            continue
        if absent := missing(application):
            print(f"{application.name:26} skipped: {', '.join(absent)} is not installed")
            continue
        ways = recorders(lastrank)
        best: dict[str, float] = {}
        for _ in range(rounds):
            for way, words in ways.items():
                with tempfile.TemporaryDirectory(prefix="lastrank-traces-") as folder:
                    home = Path(folder) / "home"
                    home.mkdir()
                    application.prepare(home)
                    if application.name.startswith("PostgreSQL") and os.geteuid() == 0:
                        os.chmod(folder, 0o777)
                    seconds, _, status = measured([*words, *application.command], home)
                if status in (0, 3):
                    best[way] = min(best.get(way, seconds), seconds)
        for way, seconds in best.items():
            print(f"{application.name:26} {way:22} {seconds * 1e3:7.1f} ms {seconds / best['bare']:8.2f}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, default=ROOT / "target" / "release" / "lastrank")
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bounded", action="store_true", help="also ten million calls")
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    lastrank = args.bin.resolve()
    import_speed(lastrank, [args.calls, 10_000_000] if args.bounded else [args.calls])
    recording_cost(lastrank, args.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
