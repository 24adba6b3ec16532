#!/usr/bin/env python3
"""Is the measuring core as good as plain C, and does it see through a busy processor? Ratios as Markdown.

    python3 benches/hierarchy/compare.py [--only chase,calls,clock,record,check,hog,peers] [--directory /var/tmp]

Ours and the reference (`reference.c`, plain C) run by turns in one go, since machines drift; a ratio is that of
the medians over turns. Needs cargo and cc; sysbench, stress-ng, fio and mbw are asked too where they are
installed (apt-get install sysbench stress-ng fio mbw), for orientation: they measure something else. Takes
about four minutes on a quiet machine (`lastrank machine` says whether it is one), builds not counted.
"""

import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
OURS = TARGET / "release/examples/hierarchy"
LASTRANK = TARGET / "release/lastrank"

WORKING_SETS = [
    ("16 KiB", 16 << 10, "small"), ("256 KiB", 256 << 10, "small"), ("1 MiB", 1 << 20, "small"),
    ("4 MiB", 4 << 20, "huge"), ("16 MiB", 16 << 20, "huge"), ("64 MiB", 64 << 20, "small"),
    ("64 MiB", 64 << 20, "huge"),
]  # fmt: skip
CALLS = ["getpid", "getppid", "read_null", "write_null", "fstat", "stat", "open_close"]

READS = """
define param "dir" $dir "."
define param "reads" $reads 10000
define ranks 1
$f = fopen("$dir/lastrank-hog", "O_RDONLY|O_DIRECT");
repeat $reads fread($f, 4KiB, uniform(0, 65536) * 4KiB);
fclose($f);
"""


def output(*command: object, timeout: int = 120) -> str:
    """What a command prints; its complaint ends the benchmark."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def by_turns(turns: int, ours: Callable[[], float], theirs: Callable[[], float]) -> tuple[float, float]:
    """Medians of both, who begin by turns."""
    pairs = []
    for turn in range(turns):
        if turn % 2:
            second = theirs()
            pairs.append((ours(), second))
        else:
            pairs.append((ours(), theirs()))
    return statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs)


def heading(title: str, *columns: str) -> None:
    print(f"\n### {title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)


def row(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def mark(holds: bool) -> str:
    return "holds" if holds else "**missed**"


def chase(reference: Path, turns: int) -> None:
    heading("Pointer chase, ns a load", "working set", "ours", "C", "ratio", "aim: within 3 %")
    for name, size, pages in WORKING_SETS:
        ours, theirs = by_turns(
            turns,
            lambda: float(output(OURS, "chase", size, pages, 0.4)),
            lambda: float(output(reference, "chase", size, pages, 0.4)),
        )
        ratio = ours / theirs
        row(f"{name}, {pages} pages", f"{ours:.3f}", f"{theirs:.3f}", f"{ratio:.3f}", mark(abs(ratio - 1) <= 0.03))


def calls(reference: Path, turns: int, directory: Path) -> None:
    heading("System calls, ns a call", "call", "ours", "tight C loop", "ratio", "aim: within 2 %")
    for name in CALLS:
        ours, theirs = by_turns(
            turns,
            lambda: float(output(OURS, "call", name, directory, 0.4)),
            lambda: float(output(reference, "call", name, directory, 0.4)),
        )
        ratio = ours / theirs
        row(name, f"{ours:.1f}", f"{theirs:.1f}", f"{ratio:.3f}", mark(abs(ratio - 1) <= 0.02))


def clock() -> None:
    heading("Clock, ns", "what", "found", "aim")
    read, shown, step, pair = map(float, output(OURS, "clock").split())
    row("one read, amortised", f"{read:.1f}", "")
    row("what a timing of nothing shows (median)", f"{shown:.1f}", f"at most 25: {mark(shown <= 25)}")
    row("a pair of reads in a loop", f"{pair:.1f}", "")
    row("step of the clock", f"{step:.1f}", "")


def record() -> None:
    heading("Keeping a timing, ns more than throwing it away", "what", "found", "aim")
    tries = [list(map(float, output(OURS, "record").split())) for _ in range(5)]
    raw, counted, sample = map(statistics.median, zip(*tries, strict=True))
    row("as a number in memory", f"{raw:.2f}", f"at most 1: {mark(raw <= 1)}")
    row("in a histogram", f"{counted:.2f}", f"at most 3: {mark(counted <= 3)}")
    row("as a sample that outlives its rank (64 bytes)", f"{sample:.2f}", "")


def check() -> None:
    title = "Mean of single loads against amortised ones, ns"
    heading(title, "working set", "single", "amortised", "differ by", "aim: at most")
    for name, size in [("16 KiB", 16 << 10), ("256 KiB", 256 << 10), ("4 MiB", 4 << 20), ("64 MiB", 64 << 20)]:
        tries = [list(map(float, output(OURS, "check", size).split())) for _ in range(5)]
        # The middle by how far they differ, as a whole: its parts belong together.
        single, amortised, allowed = sorted(tries, key=lambda one: one[0] - one[1])[2]
        by = abs(single - amortised)
        row(name, f"{single:.2f}", f"{amortised:.2f}", f"{by:.2f}", f"{allowed:.2f}: {mark(by <= allowed)}")


def hog(directory: Path, turns: int) -> None:
    """4 KiB reads past the page cache, alone and beside two processes that want every processor."""
    file = directory / "lastrank-hog"
    output("dd", "if=/dev/urandom", f"of={file}", "bs=1M", "count=256", "conv=fsync")
    found: dict[str, list[dict]] = {"quiet": [], "hog": []}
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        program = Path(folder) / "reads.ppl"
        program.write_text(READS)

        def once() -> dict:
            command = [LASTRANK, "run", program, "--set", f"dir={directory}", "-o", f"{folder}/run.parquet"]
            done = json.loads(output(*command, "--report", "none", "--json"))
            return next(one for one in done["causes"] if one["operation"] == "fread")

        try:
            for turn in range(2 * turns):
                which = "hog" if turn % 2 else "quiet"
                # It ends by itself should this script be killed.
                spin = "while kill -0 $PPID; do i=0; while [ $i -lt 99999 ]; do i=$((i + 1)); done; done"
                count = os.cpu_count() or 1
                hogs = [subprocess.Popen(["sh", "-c", spin]) for _ in range(count)] if turn % 2 else []
                time.sleep(0.2)
                try:
                    found[which].append(once())
                finally:
                    for process in hogs:
                        process.send_signal(signal.SIGKILL)
                        process.wait()
        finally:
            file.unlink()
    middle = lambda which, of: statistics.median(of(one) for one in found[which])  # noqa: E731
    heading("4 KiB O_DIRECT reads beside a CPU hog on every processor", "what", "found", "aim")
    quiet = middle("quiet", lambda one: one["corrected"]["p99"]) * 1e6
    raw = middle("hog", lambda one: one["raw"]["p99"]) * 1e6
    less = middle("hog", lambda one: one["corrected"]["p99"]) * 1e6
    row("p99 without the hog, µs", f"{quiet:.1f}", "")
    row("p99 with it, as it was, µs", f"{raw:.1f}", "")
    row("p99 with it, less the wait for a processor, µs", f"{less:.1f}", f"within 5 %: {mark(less <= 1.05 * quiet)}")
    share = middle("hog", lambda one: one["attributed"])
    row("share of the excess of the slowest hundredth with a cause", f"{share:.3f}", f"0.95: {mark(share >= 0.95)}")


def peers(directory: Path) -> None:
    """What others print of the same machine, beside ours where there is something alike."""
    heading("Others, for orientation", "tool", "what", "says")
    tools: list[tuple[str, str, list[str], str]] = [
        ("sysbench", "memory, sequential reads of 1 MiB blocks, MiB/s",
         ["memory", "--memory-oper=read", "--memory-block-size=1M", "--memory-total-size=20G", "run"],
         r"\(([\d.]+) MiB/sec\)"),
        ("stress-ng", "getpid and other calls, thousand bogus operations a second",
         ["--get", "1", "-t", "2", "--metrics-brief"], r"get\s+\d+\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+([\d.]+)"),
        ("mbw", "memcpy of 256 MiB, MiB/s", ["-q", "-n", "3", "-t", "0", "256"], r"AVG.*Copy: ([\d.]+)"),
    ]  # fmt: skip
    for tool, what, words, pattern in tools:
        if not shutil.which(tool):
            row(tool, what, "not installed")
            continue
        done = subprocess.run([tool, *words], capture_output=True, text=True, timeout=60)
        said = re.search(pattern, done.stdout + done.stderr)
        row(tool, what, said[1] if said else "nothing that could be read")
    if shutil.which("fio"):
        with tempfile.TemporaryDirectory(dir=directory) as folder:
            text = output(
                "fio", "--name=reads", f"--directory={folder}", "--rw=randread", "--bs=4k", "--size=256m",
                "--direct=1", "--ioengine=psync", "--runtime=5", "--time_based", "--output-format=json",
            )  # fmt: skip
        reads = json.loads(text[text.index("{") :])["jobs"][0]["read"]["clat_ns"]
        row("fio", "4 KiB O_DIRECT reads, µs: mean, p99",
            f"{reads['mean'] / 1000:.1f}, {reads['percentile']['99.000000'] / 1000:.1f}")  # fmt: skip
    else:
        row("fio", "4 KiB O_DIRECT reads", "not installed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="chase,calls,clock,record,check,hog,peers")
    parser.add_argument("--directory", type=Path, default=Path("/var/tmp"), help="on a disk, for files")
    parser.add_argument("--turns", type=int, default=7)
    asked = parser.parse_args()
    build = ["cargo", "build", "--release", "--quiet", "-p", "engine", "--example", "hierarchy"]
    subprocess.run(build, cwd=ROOT, check=True)
    if "hog" in asked.only:
        subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "lastrank"], cwd=ROOT, check=True)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        reference = Path(folder) / "reference"
        output("cc", "-O2", "-o", reference, HERE / "reference.c")
        sections: dict[str, Callable[[], None]] = {
            "chase": lambda: chase(reference, asked.turns),
            "calls": lambda: calls(reference, asked.turns, asked.directory),
            "clock": clock,
            "record": record,
            "check": check,
            "hog": lambda: hog(asked.directory, 5),
            "peers": lambda: peers(asked.directory),
        }
        for name in asked.only.split(","):
            if name not in sections:
                sys.exit(f"there is no section {name}; there are {', '.join(sections)}")
            sections[name]()
    print(f"\n{time.monotonic() - begin:.0f} s.")


if __name__ == "__main__":
    main()
