#!/usr/bin/env python3
"""Measures every cost that has an aim, one after the other, and prints one table.

    python3 benches/price/all.py [--bin target/release/lastrank] [--only overhead,async,…] [--quick] [--directory .]

The lines: what an operation costs (the bench `overhead`), `async` at depths 1, 4, 16 and 128 with direct reads and
writes on a disk and on a loop device whose memory is tmpfs, `parallel` with 1, 2 and 4 workers, saving
4 x 1,000,000 samples, the pointer chase and the histogram, verdicts, parse and check. Peers run beside, in turns:
fio, plain C, CPython. Run it alone on a quiet machine: it takes some ten minutes (`--quick`: two) once the
executables are built, which it does itself (`--profile dev`: unoptimised ones, to try the script). A line that cannot
be measured says why, and the others follow. The loop device needs root.
"""

import argparse
import importlib.util
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
# What the lines took in the first measurement of all of them, on another and slower machine (see README.md).
BEFORE = {
    "pwrite 4 KiB": "306, 465", "pwrite memory": "", "pread 4 KiB": "256, 447", "stat": "147", "save": "3.96 s, 4.15 B",
    "1 MiB, small pages": "1.166", "64 MiB, huge pages": "0.953", "histogram": "3.99 ns", "verdict": "183 ms",
    "verdict of a million": "0.26 s", "parse": "0.97 s",
}  # fmt: skip
DEPTHS = (1, 4, 16, 128)
PARALLEL = """$f = fopen("data", "O_RDWR|O_DIRECT");
parallel {workers} {{ for {seconds}s {call}($f, 4k, uniform(0, 65536) * 4096); }}
fclose($f);
"""


class Failed(Exception):
    """A line cannot be measured, and why."""


class Line(NamedTuple):
    """A line of the table."""

    what: str
    aim: str
    now: str
    peer: str
    before: str = ""


@dataclass
class Asked:
    """What was asked for, and where things are."""

    lastrank: Path
    profile: str
    quick: bool
    directory: Path

    def executable(self, package: str, kind: str, name: str) -> Path:
        """An example or bench, built if it is not there yet."""
        profile = "bench" if kind == "bench" and self.profile == "release" else self.profile
        words = ["cargo", "build", "--profile", profile, "-p", f"lastrank-{package}", f"--{kind}", name]
        done = run(*words, "--message-format=json", cwd=ROOT, timeout=1800)
        messages = [json.loads(line) for line in done.splitlines() if line.startswith("{")]
        for message in messages:
            if message.get("executable") and message["target"]["name"] == name:
                return Path(message["executable"])
        raise Failed(f"cargo named no executable {name}")


def run(*command: object, cwd: Path | None = None, timeout: int = 240) -> str:
    """The standard output of a command that succeeds in time."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=timeout)
    except FileNotFoundError as error:
        raise Failed(f"{words[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{' '.join(words[:3])}: not done after {timeout} s") from error
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
        raise Failed(f"{' '.join(words[:3])}: status {done.returncode}: {said}")
    return done.stdout


def script(name: str) -> ModuleType:
    """Another benchmark of this directory, as a module."""
    specification = importlib.util.spec_from_file_location(name, ROOT / "benches" / name / "compare.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def overhead(asked: Asked) -> Iterator[Line]:
    bench = asked.executable("engine", "bench", "overhead")
    size = ["--rounds", 3, "--operations", 20_000] if asked.quick else ["--rounds", 15]
    text = run(bench, *size, timeout=400)
    call = ""
    for line in text.splitlines():
        found = re.match(r"(.{14})(median|quiet) +(-?\d+) +(-?\d+) +(-?\d+) +(-?\d+) +(-?\d+)(?: +(\S+) +(\S+))?", line)
        if not found:
            continue
        call = found[1].strip() or call
        peer = f"fio +{found[9]}" if found[9] and found[9] != "-" else ""
        now = f"+{found[5]} engine, +{found[7]} program"
        what = f"{call}, ns more than raw ({found[3]}), {found[2]}"
        yield Line(what, "+45, +60", now, peer, BEFORE.get(call, "") if found[2] == "median" else "")


@contextmanager
def loop_on_tmpfs() -> Iterator[Path]:
    """A file system on a loop device whose file lies in /dev/shm."""
    if os.geteuid() != 0:
        raise Failed("a loop device can be made by root only")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        image, mounted = Path(folder, "image"), Path(folder, "mounted")
        mounted.mkdir()
        run("truncate", "-s", "600M", image)
        run("mkfs.ext4", "-q", "-F", image)
        run("mount", "-o", "loop", image, mounted)
        try:
            yield mounted
        finally:
            run("umount", mounted)


@contextmanager
def on_disk(directory: Path) -> Iterator[Path]:
    yield directory


def asynchronous(asked: Asked) -> Iterator[Line]:
    compare = script("async")
    turns, seconds = (1, 1) if asked.quick else (3, 1)
    for where, place in (("disk", on_disk(asked.directory)), ("loop on tmpfs", loop_on_tmpfs())):
        try:
            with place as directory, tempfile.TemporaryDirectory(dir=directory) as folder:
                compare.make_data(folder)
                for write in (False, True):
                    for depth in DEPTHS:
                        pairs = [
                            (
                                compare.ours(str(asked.lastrank), folder, depth, seconds, write),
                                compare.fio(folder, depth, seconds, write),
                            )
                            for _ in range(turns)
                        ]
                        what = f"async {depth}, direct {'writes' if write else 'reads'}, {where}, IOPS"
                        yield against_fio(what, pairs)
        except (Failed, subprocess.CalledProcessError, OSError) as error:
            yield Line(f"async, {where}", "", f"not measured: {why(error)}", "")


def against_fio(what: str, pairs: list[tuple]) -> Line:
    """Rates and medians of turns beside fio's."""
    middle = lambda who, at: statistics.median(pair[who][at] for pair in pairs)  # noqa: E731
    ratio = statistics.median(mine[0] / theirs[0] for mine, theirs in pairs)
    now = f"{middle(0, 0):.0f}, p50 {middle(0, 1):.1f} µs, {ratio:.2f} of fio's"
    return Line(what, "at least 1.00", now, f"fio {middle(1, 0):.0f}, p50 {middle(1, 1):.1f} µs")


def parallel(asked: Asked) -> Iterator[Line]:
    compare = script("async")
    turns, seconds = (1, 1) if asked.quick else (3, 1)
    with tempfile.TemporaryDirectory(dir=asked.directory) as folder:
        compare.make_data(folder)
        for write in (False, True):
            for workers in (1, 2, 4):
                pairs = [
                    (workers_of_lastrank(asked, folder, workers, seconds, write), jobs_of_fio(folder, workers, seconds, write))
                    for _ in range(turns)
                ]
                kind = "writes" if write else "reads"
                yield against_fio(f"parallel {workers}, direct {kind}, disk, IOPS", pairs)


def workers_of_lastrank(asked: Asked, folder: str, workers: int, seconds: int, write: bool) -> tuple[float, float]:
    """Operations a second, and the median of their durations in µs."""
    call = "fwrite" if write else "fread"
    Path(folder, "parallel.ppl").write_text(PARALLEL.format(workers=workers, seconds=seconds, call=call))
    words = [asked.lastrank, "run", "parallel.ppl", "-o", "parallel.parquet", "--report", "none"]
    run(*words, cwd=Path(folder))
    text = run(asked.lastrank, "export", "parallel.parquet", "--to", "csv", "-o", "-", cwd=Path(folder))
    header, *rows = (line.split(",") for line in text.splitlines())
    operation, start, duration = (header.index(name) for name in ("operation", "start_ns", "duration_ps"))
    timed = [(int(row[start]), int(row[duration])) for row in rows if row[operation] == call]
    if not timed:
        raise Failed(f"no sample of {call}")
    elapsed = max(begin + took // 1000 for begin, took in timed) - min(begin for begin, _ in timed)
    return len(timed) / elapsed * 1e9, statistics.median(took for _, took in timed) * 1e-6


def jobs_of_fio(folder: str, workers: int, seconds: int, write: bool) -> tuple[float, float]:
    """The same of fio."""
    way = "write" if write else "read"
    words = ["fio", "--name=parallel", "--filename=data", f"--rw=rand{way}", "--bs=4k", "--size=256m", "--direct=1"]
    words += ["--ioengine=psync", "--thread", f"--numjobs={workers}", "--group_reporting", "--norandommap"]
    words += ["--time_based", f"--runtime={seconds}", "--output-format=json"]
    text = run(*words, cwd=Path(folder))
    done = json.loads(text[text.index("{") :])["jobs"][0][way]
    return done["iops"], done["clat_ns"]["percentile"]["50.000000"] / 1e3


def save(asked: Asked) -> Iterator[Line]:
    compare = script("big_run")
    ranks, operations = 4, 50_000 if asked.quick else 1_000_000
    with tempfile.TemporaryDirectory(dir=asked.directory) as folder:
        _, after = compare.of_lastrank(str(asked.lastrank), folder, ranks, operations)
        size = Path(folder, "big.parquet").stat().st_size / (ranks * operations)
        try:
            _, fio_after = compare.of_fio(folder, ranks, operations)
            peer = f"fio's logs {fio_after:.2f} s"
        except (OSError, subprocess.CalledProcessError) as error:
            peer = f"no fio: {why(error)}"
    now = f"{after:.2f} s, {size:.2f} B a sample"
    yield Line(f"saved after the last of {ranks} x {operations:,}", "1 s, 4.0 B", now, peer, BEFORE["save"])


def kernels(asked: Asked) -> Iterator[Line]:
    hierarchy = script("hierarchy")
    hierarchy.OURS = asked.executable("engine", "example", "hierarchy")
    before = os.sched_getaffinity(0)
    with tempfile.TemporaryDirectory() as folder:
        reference = Path(folder, "reference")
        run("cc", "-O2", "-o", reference, ROOT / "benches/hierarchy/reference.c")
        os.sched_setaffinity(0, {max(before)})
        try:
            for name, ours, theirs in hierarchy.chases(reference, 1 if asked.quick else 5):
                now = f"{ours / theirs:.3f} ({ours:.2f} ns)"
                yield Line(f"chase, {name}, to C", "0.97 to 1.03", now, f"C {theirs:.2f} ns", BEFORE.get(name, ""))
            tries = [list(map(float, run(hierarchy.OURS, "record").split())) for _ in range(5)]
        finally:
            os.sched_setaffinity(0, before)
    raw, counted, sample = map(statistics.median, zip(*tries, strict=True))
    now = f"{counted:.2f} ns"
    yield Line("a value into a histogram", "3 ns", now, f"as a number {raw:.2f} ns, a sample {sample:.2f} ns", BEFORE["histogram"])


def verdicts(asked: Asked) -> Iterator[Line]:
    text = run(asked.executable("tail", "example", "tail_speed"))
    seconds = {task: float(value) for task, value in (line.split("\t") for line in text.splitlines())}
    now = f"{seconds['full_verdict'] * 1e3:.1f} ms"
    yield Line("full verdict of 400 values", "30 ms", now, "", BEFORE["verdict"])
    now = f"{seconds['full_verdict_million']:.3f} s, its fit {seconds['fit_million']:.3f} s"
    yield Line("full verdict of 1,000,000 values", "0.15 s", now, "", BEFORE["verdict of a million"])


def language(asked: Asked) -> Iterator[Line]:
    text = run(asked.executable("ppl", "example", "speed"), "parse")
    found = re.search(r"([0-9.]+) s of processor time", text)
    if not found:
        raise Failed(f"the example printed {text!r}")
    # In a process of its own: the memory of compile() is not given back.
    code = f"import runpy; runpy.run_path({str(ROOT / 'benches/language/compare.py')!r})['cpython']()"
    peer = "" if asked.quick else re.search(r"compile ([0-9.]+) s", run(sys.executable, "-c", code))[1]
    beside = f"CPython {peer} s" if peer else ""
    yield Line("parse and check of 1,000,000 statements", "0.5 s", f"{found[1]} s", beside, BEFORE["parse"])


SECTIONS = {
    "overhead": overhead, "async": asynchronous, "parallel": parallel, "save": save, "kernels": kernels,
    "verdicts": verdicts, "language": language,
}  # fmt: skip


def why(error: BaseException) -> str:
    """The reason in one line."""
    if isinstance(error, subprocess.CalledProcessError):
        said = error.stderr.decode() if isinstance(error.stderr, bytes) else error.stderr
        last = (said or "").strip().splitlines()[-1:]
        return f"{error.cmd[0]}: status {error.returncode} {''.join(last)}"
    return f"{type(error).__name__}: {error}" if not isinstance(error, Failed) else str(error)


def show(line: Line) -> None:
    print(f"| {' | '.join(line)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=Path, help="a built lastrank (default: that of the profile)")
    parser.add_argument("--profile", choices=["release", "dev"], default="release", help="how executables are built")
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, separated by commas")
    parser.add_argument("--quick", action="store_true", help="few turns, to try the script")
    parser.add_argument("--directory", type=Path, default=Path("."), help="on a disk, for files")
    parsed = parser.parse_args()
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    built = target / ("debug" if parsed.profile == "dev" else "release") / "lastrank"
    lastrank = (parsed.bin or built).resolve()
    if not lastrank.is_file():
        sys.exit(f"{lastrank} is not there: build it with cargo build --release -p lastrank, or name another by --bin")
    asked = Asked(lastrank, parsed.profile, parsed.quick, parsed.directory.resolve())
    unknown = [name for name in parsed.only.split(",") if name not in SECTIONS]
    if unknown:
        sys.exit(f"there is no section {unknown[0]}; there are {', '.join(SECTIONS)}")
    begin = time.monotonic()
    show(Line("what", "aim", "now", "peer", "before"))
    print(f"|{'---|' * len(Line._fields)}")
    missing = 0
    for name in parsed.only.split(","):
        try:
            for line in SECTIONS[name](asked):
                missing += line.now.startswith("not measured")
                show(line)
        except (Exception, SystemExit) as error:  # noqa: BLE001: the other lines follow, whatever happened to this one.
            missing += 1
            show(Line(name, "", f"not measured: {why(error)}", ""))
    print(f"\n{time.monotonic() - begin:.0f} s; load of the machine now: {os.getloadavg()[0]:.2f}.")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
