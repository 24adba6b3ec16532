#!/usr/bin/env python3
"""Compares the measuring core with plain C, idle and on a busy processor; prints ratios as Markdown.

    python3 benches/hierarchy/compare.py [--only chase,calls,clock,record,check,hog,peers] [--directory /var/tmp]

Ours and the reference (`reference.c`, plain C) run by turns in one go on one processor, since machines drift; a
ratio is the median of those of neighbouring turns. Pointer chases are compared by their lower quartiles over many
short turns instead: each process draws its physical pages anew, which moves small pages by 10%, and of a virtual
machine the neighbours take the shared cache away now and then, from either side (4 MiB: 15 ns, or 147). Needs
cargo and cc. sysbench, stress-ng, mbw and fio are installed from Debian where they are missing and this is
root (`--no-install`: not), else their rows say why they were left out. Takes about six minutes on a quiet
machine (`lastrank machine` says whether it is one), builds not counted.
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
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
OURS = TARGET / "release/examples/hierarchy"
LASTRANK = TARGET / "release/lastrank"

WORKING_SETS = [
    ("16 KiB", 16 << 10, "small"), ("256 KiB", 256 << 10, "small"), ("1 MiB", 1 << 20, "small"),
    ("1 MiB", 1 << 20, "huge"), ("4 MiB", 4 << 20, "huge"), ("16 MiB", 16 << 20, "huge"), ("64 MiB", 64 << 20, "small"),
    ("64 MiB", 64 << 20, "huge"),
]  # fmt: skip
CALLS = ["getpid", "getppid", "read_null", "write_null", "fstat", "stat", "open_close"]

READS = """
define place "dir" $dir "."
define param "reads" $reads 10000
define ranks 1
$f = fopen("$dir/lastrank-hog", "O_RDONLY|O_DIRECT");
repeat $reads fread($f, 4KiB, uniform(0, 65536) * 4KiB);
fclose($f);
"""


def output(*command: object, timeout: int = 120) -> str:
    """The output of a command; its failure ends the benchmark."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def by_turns(turns: int, ours: Callable[[], float], theirs: Callable[[], float]) -> tuple[float, float, float]:
    """Medians of both, run alternately, and the median of the ratios of successive turns."""
    pairs = []
    for turn in range(turns):
        if turn % 2:
            second = theirs()
            pairs.append((ours(), second))
        else:
            pairs.append((ours(), theirs()))
    first, second = (statistics.median(side) for side in zip(*pairs, strict=True))
    return first, second, statistics.median(mine / other for mine, other in pairs)


def heading(title: str, *columns: str) -> None:
    print(f"\n### {title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)


def row(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def mark(holds: bool) -> str:
    return "holds" if holds else "**missed**"


def chases(reference: Path, turns: int) -> Iterator[tuple[str, float, float]]:
    """Each working set, with ns a load of ours and of C."""
    for name, size, pages in WORKING_SETS:
        both = [
            [float(output(binary, "chase", size, pages, 0.1)) for binary in (OURS, reference)[:: 1 - 2 * (turn % 2)]]
            for turn in range(3 * turns)
        ]
        pairs = [pair[:: 1 - 2 * (turn % 2)] for turn, pair in enumerate(both)]
        ours, theirs = (statistics.quantiles(side, n=4)[0] for side in zip(*pairs, strict=True))
        yield f"{name}, {pages} pages", ours, theirs


def chase(reference: Path, turns: int) -> None:
    heading("Pointer chase, ns a load", "working set", "ours", "C", "ratio", "aim: within 3%")
    for name, ours, theirs in chases(reference, turns):
        ratio = ours / theirs
        row(name, f"{ours:.3f}", f"{theirs:.3f}", f"{ratio:.3f}", mark(abs(ratio - 1) <= 0.03))
    print(
        "\nA set as large as L2 on small pages depends on which physical pages the process was given: compare those on"
        " huge pages."
    )


def calls(reference: Path, turns: int, directory: Path) -> None:
    heading("System calls, ns a call", "call", "ours", "tight C loop", "ratio", "aim: within 2%")
    for name in CALLS:
        ours, theirs, ratio = by_turns(
            turns,
            lambda: float(output(OURS, "call", name, directory, 0.4)),
            lambda: float(output(reference, "call", name, directory, 0.4)),
        )
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
    """4 KiB O_DIRECT reads, alone and next to two processes that use every processor."""
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
                # It ends by itself if this script is killed.
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
    row("p99 with it, less the wait for a processor, µs", f"{less:.1f}", f"within 5%: {mark(less <= 1.05 * quiet)}")
    share = middle("hog", lambda one: one["attributed"])
    row("share of the excess of the slowest hundredth with a cause", f"{share:.3f}", f"0.95: {mark(share >= 0.95)}")


def installed(tool: str, may_install: bool) -> str:
    """Empty if `tool` is available, installed from Debian if necessary; otherwise the reason."""
    if shutil.which(tool):
        return ""
    if not may_install:
        return "not installed, and --no-install was given"
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return "not installed, and only root can, with apt-get"
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["install"], ["update"], ["install"]):
        package = [] if words == ["update"] else ["--no-install-recommends", tool]
        command = ["apt-get", "-y", "-q", *words, *package]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
        if shutil.which(tool):
            return ""
    return f"apt-get could not install it: {(done.stderr or done.stdout).strip().splitlines()[-1:]}"


def said(pattern: str, *command: object) -> float:
    """The number in the output of a peer, on standard output or error."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
    found = re.search(pattern, done.stdout + done.stderr)
    if not found:
        sys.exit(f"{' '.join(map(str, command))} printed nothing that matches {pattern}\n{done.stdout}{done.stderr}")
    return float(found[1])


def program(text: str, directory: Path) -> dict[str, dict]:
    """Durations in s of a program's operations, measured by `lastrank run`."""
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        file = Path(folder) / "program.ppl"
        file.write_text(text)
        command = [LASTRANK, "run", file, "-o", f"{folder}/run.parquet", "--report", "none", "--record", "histogram"]
        done = json.loads(output(*command, "--json"))
    facts = done["facts"]
    table = done["chapters"][0]["tables"][0]
    names = [column["name"] for column in table["columns"]]
    rows = {row["cells"][0]: dict(zip(names, row["cells"], strict=True)) for row in table["rows"]}
    for counted in facts["counted"]:
        n = sum(count for _, count in counted["histogram"]["buckets"])
        for cells in rows.values():
            if cells["n"].replace("\u202f", "") == str(n):
                cells["seconds"] = counted["total_s"] / n
    return rows


def peers(directory: Path, may_install: bool, turns: int) -> None:
    """The same measurements by peers, and the ratio if they do the same thing."""
    heading("Peers", "what", "lastrank", "peer", "ratio", "why they differ")
    file = directory / "lastrank-peers"
    output("dd", "if=/dev/urandom", f"of={file}", "bs=1M", "count=256", "conv=fsync")

    def against(tool: str, what: str, unit: str, ours: Callable[[], float], theirs: Callable[[], float], why: str) -> None:
        missing = installed(tool, may_install)
        if missing:
            row(what, "", f"{tool}: skipped: {missing}", "", "")
            return
        mine, other, ratio = by_turns(turns, ours, theirs)
        row(what, f"{mine:.4g} {unit}", f"{tool} {other:.4g} {unit}", f"{ratio:.3f}", why)

    def stream(what: str, size: int) -> float:
        """GB/s: bytes read and written."""
        return float(output(OURS, "stream", what, size, 0.4))

    def sysbench(block: str) -> float:
        words = ["memory", "--memory-oper=read", f"--memory-block-size={block}", "--memory-total-size=200G", "--time=1"]
        return said(r"\(([\d.]+) MiB/sec\)", "sysbench", *words, "run") * 2**20 / 1e9

    def reads() -> float:
        text = f'$f = fopen("{file}", "O_RDONLY|O_DIRECT");'
        text += " repeat 20000 fread($f, 4KiB, uniform(0, 65536) * 4KiB); fclose($f);"
        return program(text, directory)["fread"]["seconds"] * 1e6

    def fio() -> float:
        text = output(
            "fio", "--name=reads", f"--filename={file}", "--rw=randread", "--bs=4k", "--size=256m", "--direct=1",
            "--ioengine=psync", "--number_ios=20000", "--output-format=json",
        )  # fmt: skip
        return json.loads(text[text.index("{") :])["jobs"][0]["read"]["clat_ns"]["mean"] / 1000

    def fileio() -> float:
        """Mean service time from the rate: sysbench prints latencies to 10 us only."""
        words = ["fileio", "--file-num=1", "--file-total-size=256M", "--file-block-size=4096"]
        with tempfile.TemporaryDirectory(dir=directory) as folder:
            there = {"cwd": folder, "capture_output": True, "text": True, "timeout": 60}
            subprocess.run(["sysbench", *words, "prepare"], **there, check=True)
            more = ["--file-test-mode=rndrd", "--file-extra-flags=direct", "--time=2"]
            done = subprocess.run(["sysbench", *words, *more, "run"], **there, check=True)
        return 1e6 / float(re.search(r"reads/s:\s+([\d.]+)", done.stdout)[1])

    try:
        against("mbw", "memcpy of 256 MiB", "GB/s copied", lambda: stream("copy", 512 << 20) / 2,
                lambda: said(r"AVG.*Copy: ([\d.]+)", "mbw", "-q", "-n", "5", "-t", "0", "256") * 2**20 / 1e9,
                "the same memcpy; which of its copies the C library takes")  # fmt: skip
        against("sysbench", "read 1 MiB again and again", "GB/s", lambda: stream("read", 1 << 20),
                lambda: sysbench("1M"), "both add words up; sysbench one a turn of a loop, and it stays in L2")  # fmt: skip
        against("stress-ng", "read 256 MiB", "GB/s", lambda: stream("read", 256 << 20),
                lambda: said(r"([\d.]+) read64 MB per sec", "stress-ng", "--memrate", "1", "--memrate-bytes", "256M",
                             "-t", "3", "--metrics") / 1000,
                "both in words of 64 bits; stress-ng on small pages, looking at the time in between")  # fmt: skip
        against("fio", "4 KiB O_DIRECT read", "µs", reads, fio, "the same pread, mean of completion latency")
        against("sysbench", "4 KiB O_DIRECT read", "µs", reads, fileio, "sysbench: one over the rate, its loop included")
    finally:
        file.unlink()
    for tool, why in [("lmbench", "lat_mem_rd, lat_syscall: Debian has it not in main")]:
        if not shutil.which("lat_syscall"):
            row(tool, "", f"skipped: {why}", "", "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="chase,calls,clock,record,check,hog,peers")
    parser.add_argument("--directory", type=Path, default=Path("/var/tmp"), help="on a disk, for files")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--no-install", action="store_true", help="install no peer that is missing")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="the processor all run on")
    asked = parser.parse_args()
    build = ["cargo", "build", "--release", "--quiet", "-p", "lastrank-engine", "--example", "hierarchy"]
    subprocess.run(build, cwd=ROOT, check=True)
    if "hog" in asked.only or "peers" in asked.only:
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
            "peers": lambda: peers(asked.directory, not asked.no_install, 3),
        }
        for name in asked.only.split(","):
            if name not in sections:
                sys.exit(f"there is no section {name}; there are {', '.join(sections)}")
            # All on one processor, so that both sides have the same caches; a hog needs all processors.
            before = os.sched_getaffinity(0)
            if name != "hog":
                os.sched_setaffinity(0, {asked.cpu})
            sections[name]()
            os.sched_setaffinity(0, before)
    print(f"\n{time.monotonic() - begin:.0f} s.")


if __name__ == "__main__":
    main()
