#!/usr/bin/env python3
"""Runs for as long as asked (`--seconds 3600`) and watches that neither memory nor descriptors grow.

One run keeps histograms of operations of every kind: in order, `async`, in workers of `parallel`, on names. Another one is
written again and again, and `lastrank watch --follow` reads what is added. Each process is looked at every few seconds; the
second half of the time must take no more than the first. Prints its counts; exit status 1 where something grew.
"""

import argparse
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

PROGRAM = """
define ranks 2;
define param "seconds" $seconds 60;
mkdir("d-$$rank");
$f = fopen("d-$$rank/f", "w");
for $seconds * 1s {
    $n = 0;
    repeat 50 { $n = $n + 1; fwrite($f, 4KiB, $n * 4KiB); }
    async depth=8 repeat $i 50 write("d-$$rank/a-$i", 4KiB);
    parallel 3 repeat 20 { append("d-$$rank/w-$$worker", 100); stat("d-$$rank/w-$$worker"); }
    parallel 3 delete("d-$$rank/w-$$worker");
    repeat $i 20 { create("d-$$rank/n-$i"); rename("d-$$rank/n-$i", "d-$$rank/m-$i"); delete("d-$$rank/m-$i"); }
    for $x in glob("d-$$rank/a-*") delete($x);
    sleep(5ms);
}
fclose($f);
delete("d-$$rank/f");
rmdir("d-$$rank");
"""
SEED = 14
ALLOWED_KIB = 4096
"""Allocators keep pages; a leak of one small block a round would be many times that."""


@dataclass
class Seen:
    """What was seen of one process: anonymous memory in KiB and descriptors, in order."""

    name: str
    memory: list[int] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)

    def growth(self) -> tuple[float, int]:
        """Of the medians of the second and the last quarter; of the most descriptors."""
        quarter = max(len(self.memory) // 4, 1)
        second, last = self.memory[quarter : 2 * quarter] or self.memory, self.memory[-quarter:]
        most = max(self.descriptors[quarter : 2 * quarter] or self.descriptors)
        return statistics.median(last) - statistics.median(second), max(self.descriptors[-quarter:]) - most


def look(process: int, seen: Seen) -> None:
    try:
        status = Path(f"/proc/{process}/status").read_text()
        anonymous = next(line for line in status.splitlines() if line.startswith("RssAnon:"))
        descriptors = len(os.listdir(f"/proc/{process}/fd"))
    except (OSError, StopIteration):
        return
    seen.memory.append(int(anonymous.split()[1]))
    seen.descriptors.append(descriptors)


def family(process: int) -> list[int]:
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return []
    return [int(child) for child in children]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--program", type=Path, default=Path(os.environ.get("LASTRANK_BIN", "target/release/lastrank")))
    args = parser.parse_args()
    program = args.program.resolve()
    with tempfile.TemporaryDirectory(prefix="lastrank-soak-") as name:
        return soak(program, Path(name), args.seconds)


def tell(seen: dict[int, Seen]) -> bool:
    """Prints what was seen of each process; whether one grew."""
    grew = False
    for process, one in seen.items():
        memory, descriptors = one.growth()
        too_much = memory > ALLOWED_KIB or descriptors > 2
        grew |= too_much
        print(
            f"{one.name} {process}: {len(one.memory)} looks, {one.memory[-1]} KiB, {one.descriptors[-1]} descriptors, "
            f"grew by {memory:.0f} KiB and {descriptors} descriptors{'  TOO MUCH' if too_much else ''}",
            flush=True,
        )
    return grew


def soak(program: Path, folder: Path, seconds: int) -> int:
    (folder / "soak.ppl").write_text(PROGRAM)
    chance = random.Random(SEED)
    (folder / "baseline.txt").write_text("".join(f"{chance.gauss(100, 5):.3f}\n" for _ in range(2000)))
    stream = folder / "stream.txt"
    stream.write_text("")
    run = subprocess.Popen(
        [program, "run", "soak.ppl", "-s", "-o", "soak.parquet", "--report", "none", "--record", "histogram",
         "--timeout", "600", "--set", f"seconds={seconds}"],
        cwd=folder,
    )  # fmt: skip
    watch = subprocess.Popen(
        [program, "watch", "baseline.txt", "stream.txt", "--follow", "--json", "--every", "1"],
        cwd=folder, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    seen: dict[int, Seen] = {}
    ranks: set[int] = set()
    lines = 0
    end = time.monotonic() + seconds - 2
    try:
        while run.poll() is None and time.monotonic() < end:
            with stream.open("a") as more:
                for _ in range(200):
                    lines += 1
                    more.write(f"{chance.gauss(100, 5):.3f}\n")
            if watch.poll() is not None:
                break
            ranks.update(family(run.pid))
            for process in [run.pid, watch.pid, *ranks]:
                what = {run.pid: "run", watch.pid: "watch"}.get(process, "rank")
                look(process, seen.setdefault(process, Seen(what)))
            time.sleep(2)
        grew = tell(seen)
        # On a busy machine the last round of the program takes its time.
        status = run.wait(timeout=900)
    finally:
        run.kill()
        watch.send_signal(signal.SIGINT)
        watched = watch.wait(timeout=60)
    print(f"{seconds} s, {lines} lines watched, exit statuses {status} and {watched}")
    return 1 if grew or status != 0 or watched not in (0, 1) else 0


if __name__ == "__main__":
    sys.exit(main())
