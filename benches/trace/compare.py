#!/usr/bin/env python3
"""Import speed, and what recording costs beside strace and perf trace.

    python3 benches/trace/compare.py [--bin target/release/lastrank] [--calls 1000000] [--rounds 5] [--short]

Import: traces of `--calls` lines and of ten million lines, as strace writes them of applications that loop, and recordings of the
same calls are imported; time and peak memory are printed beside the aims: a million lines in 2 s, and 64 bytes a call beyond
what an import of a few lines takes. `--short` leaves the ten million out.

Recording: each command runs bare, with `record --quiet`, with `record`, under `strace -f` and, for root, under `perf trace`,
one after the other, `--rounds` times; the smallest wall time of each and its ratio to the bare one are printed. Behind them
stands how long the application itself took under `record`, from its start to its end: the rest is what the recorder does before
(it measures its own cost) and afterwards (it writes the recording). Tools that are not installed are left out. Nothing is
asserted.
"""

import argparse
import os
import random
import re
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


# The aims of an import.
AIM_SECONDS = 2.0
AIM_BYTES = 64
MOST_CALLS = 10_000_000


def lines(path: Path, count: int) -> None:
    """Sessions of 50 calls each, two threads in turn, as `strace -f -ttt -T` writes them."""
    with path.open("w") as out:
        at = 0
        while at < count:
            second, thread, name = 1_700_000_000 + at * 1e-5, 100 + at // 50 % 2, at // 50 % 1000
            some = [f'{thread} {second:.6f} openat(AT_FDCWD, "/w/d{name % 10}/f-{name:04}", O_RDWR|O_CREAT, 0644) = 3 <0.000020>\n']
            for part in range(48):
                now = second + (part + 1) * 1e-5
                some.append(f'{thread} {now:.6f} pwrite64(3, "abc"..., 4096, {part * 4096}) = 4096 <0.000011>\n')
            some.append(f"{thread} {second + 49e-5:.6f} close(3) = 0 <0.000005>\n")
            out.writelines(some)
            at += 50


def new_files(path: Path, count: int) -> None:
    """A new file for every four calls, with times between them as a machine has them."""
    jitter = random.Random(7)
    with path.open("w") as out:
        now = 1_700_000_000.0
        for name in range(count // 4):
            for call in (
                f'openat(AT_FDCWD, "/w/f-{name:07}", O_WRONLY|O_CREAT, 0644) = 3',
                'write(3, "abc"..., 4096) = 4096',
                "fsync(3) = 0",
                "close(3) = 0",
            ):
                now += jitter.randint(20, 60) * 1e-6
                out.write(f"100 {now:.6f} {call} <0.0000{jitter.randint(10, 40)}>\n")


def at_random(path: Path, count: int) -> None:
    """Two files open throughout, nothing that repeats: offset, size and direction of each call are drawn."""
    draw = random.Random(7)
    with path.open("w") as out:
        now = 1_700_000_000.0
        for descriptor, name in ((3, "a"), (4, "b")):
            out.write(f'100 {now:.6f} openat(AT_FDCWD, "/w/{name}", O_RDWR|O_CREAT, 0644) = {descriptor} <0.000020>\n')
        for _ in range(count - 2):
            now += draw.randint(20, 60) * 1e-6
            word, descriptor, size = draw.choice(("pwrite64", "pread64")), draw.choice((3, 4)), draw.randint(1, 65536)
            out.write(
                f'100 {now:.6f} {word}({descriptor}, "abc"..., {size}, {draw.randint(0, 1 << 34)}) = {size} '
                f"<0.0000{draw.randint(10, 40)}>\n"
            )


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


def import_speed(lastrank: Path, calls: int, short: bool) -> None:
    print(f"aims: a million lines in {AIM_SECONDS:.0f} s; {AIM_BYTES} bytes a call beyond an import of a hundred lines")
    print(f"{'trace':24} {'calls':>11} {'import':>9} {'a second':>12} {'peak':>9} {'a call':>9}")
    kinds = [("loops, two processes", lines, calls), ("loops, new files", new_files, calls), ("at random", at_random, calls // 10)]
    if not short:
        kinds.insert(1, ("loops, two processes", lines, MOST_CALLS))
    with tempfile.TemporaryDirectory(prefix="lastrank-import-") as folder:
        trace = Path(folder) / "app.strace"
        lines(trace, 100)
        _, least, _ = measured([lastrank, "import", trace, "-o", "app.ppl"], Path(folder))
        for words, make, count in kinds:
            make(trace, count)
            imported(lastrank, trace, (words, count, least))
            trace.unlink()
        # 200,000 calls of a program that loops, recorded.
        recording = Path(folder) / "app.parquet"
        measured([lastrank, "record", "--quiet", "-o", recording, "--", sys.executable, "-S", "-c", LOOP], Path(folder))
        if recording.exists():
            imported(lastrank, recording, ("a recording of Python", 200_000, least))


LOOP = """
import os
for turn in range(20000):
    file = os.open(f"f-{turn % 50}", os.O_RDWR | os.O_CREAT)
    for part in range(8): os.pwrite(file, b"x" * 512, part * 512)
    os.close(file)
"""


def imported(lastrank: Path, trace: Path, what: tuple[str, int, float]) -> None:
    words, count, least = what
    seconds, memory, status = measured([lastrank, "import", trace, "-o", "app.ppl"], trace.parent)
    failed = "" if status == 0 else f"  failed with status {status}"
    each = max(memory - least, 0) * (1 << 20) / count
    print(
        f"{words:24} {count:11,} {seconds:7.2f} s {count / seconds:12,.0f} {memory:5.0f} MiB {each:7.1f} B{failed}", flush=True
    )


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
    print(f"\n{'command':26} {'recorder':22} {'wall':>10} {'of bare':>8} {'application':>13} {'of bare':>8}")
    for application in APPLICATIONS:
        if application.name not in COMMANDS:
            continue
        if absent := missing(application):
            print(f"{application.name:26} skipped: {', '.join(absent)} is not installed")
            continue
        ways = recorders(lastrank)
        best: dict[str, float] = {}
        alone: dict[str, float] = {}
        for _ in range(rounds):
            for way, words in ways.items():
                with tempfile.TemporaryDirectory(prefix="lastrank-traces-") as folder:
                    home = Path(folder) / "home"
                    home.mkdir()
                    application.prepare(home)
                    if application.name.startswith("PostgreSQL") and os.geteuid() == 0:
                        os.chmod(folder, 0o777)
                    seconds, _, status = measured([*words, *application.command], home)
                    if status not in (0, 3):
                        continue
                    best[way] = min(best.get(way, seconds), seconds)
                    if recording := next(Path(folder).glob("*.parquet"), None):
                        alone[way] = min(alone.get(way, seconds), application_seconds(recording))
        for way, seconds in best.items():
            own = alone.get(way)
            more = f" {own * 1e3:10.1f} ms {own / best['bare']:8.2f}" if own else ""
            print(f"{application.name:26} {way:22} {seconds * 1e3:7.1f} ms {seconds / best['bare']:8.2f}{more}", flush=True)


def application_seconds(recording: Path) -> float:
    """How long an application ran, as its recording says."""
    return int(re.findall(rb'"elapsed_ns":(\d+)', recording.read_bytes())[-1]) * 1e-9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, default=ROOT / "target" / "release" / "lastrank")
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--short", action="store_true", help="without ten million calls")
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    lastrank = args.bin.resolve()
    import_speed(lastrank, args.calls, args.short)
    recording_cost(lastrank, args.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
