#!/usr/bin/env python3
"""Measures every cost that has an aim, one after the other, and prints one table.

    python3 benches/price/all.py [--bin target/release/lastrank] [--before TREE] [--only overhead,async,…] [--quick]
                                 [--directory .]

The lines: what an operation costs (the bench `overhead`), `async` at depths 1, 4, 16 and 128 with direct reads and
writes on a disk and on a loop device whose memory is tmpfs, `parallel` with 1, 2 and 4 workers, saving
4 x 1,000,000 samples, the pointer chase and the histogram, verdicts, parse and check. Peers run beside, in turns:
fio, plain C, CPython. Run it alone on a quiet machine: it takes some ten minutes (`--quick`: two) once the
executables are built, which it does itself (`--profile dev`: unoptimised ones, to try the script). A line that cannot
be measured says why, and the others follow. The loop device needs root.

`--before` names the checkout of an earlier release (its `target/release/lastrank` is built): what that tree can
measure is measured in turns with the lines of this one, half as long again, and stands in the column `before`; a dash
where it cannot. Without it that column shows the first measurement of all, on another machine.
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
    before: str
    now: str
    peer: str


@dataclass
class Tree:
    """A checkout, and what is built of it."""

    root: Path
    lastrank: Path
    profile: str

    def executable(self, package: str, kind: str, name: str) -> Path:
        """An example or bench, built if it is not there yet."""
        profile = "bench" if kind == "bench" and self.profile == "release" else self.profile
        manifest = Path(self.root, "crates", package, "Cargo.toml").read_text()
        package = re.search(r'^name = "([^"]+)"', manifest, re.MULTILINE)[1]
        words = ["cargo", "build", "--profile", profile, "-p", package, f"--{kind}", name]
        done = run(*words, "--message-format=json", cwd=self.root, timeout=1800)
        messages = [json.loads(line) for line in done.splitlines() if line.startswith("{")]
        for message in messages:
            if message.get("executable") and message["target"]["name"] == name:
                return Path(message["executable"])
        raise Failed(f"cargo named no executable {name}")


@dataclass
class Asked:
    """What was asked for."""

    ours: Tree
    before: Tree | None
    quick: bool
    directory: Path

    @property
    def trees(self) -> list[Tree]:
        """This tree, and the earlier one where there is one."""
        return [self.ours, self.before] if self.before else [self.ours]

    def earlier(self, known: str, measured: object) -> str:
        """The cell of the column `before`: what was measured now, or what is known of another machine."""
        if not self.before:
            return BEFORE.get(known, "")
        return "-" if measured is None else str(measured)


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


# A line of the bench `overhead`: call, measure, raw, engine, what it adds, program, what it adds, fio, what it adds.
COST = r"(.{14})(median|quiet) +(-?\d+) +(-?\d+) +(-?\d+) +(-?\d+) +(-?\d+)(?: +(\S+) +(\S+))?"
# The same of the bench before it had a measure: a ratio stands behind what the engine adds.
EARLIER_COST = r"(\S.{13})()? +(-?\d+) +(-?\d+) +(-?\d+) +[0-9.]+ +(-?\d+) +(-?\d+)(?: +(\S+) +(\S+))?"


def costs(text: str) -> dict[tuple[str, str], re.Match]:
    """Lines of the bench by call and measure."""
    found, call = {}, ""
    for line in text.splitlines():
        if match := re.match(COST, line) or re.match(EARLIER_COST, line):
            call = match[1].strip() or call
            found[call, match[2] or "median"] = match
    return found


def overhead(asked: Asked) -> Iterator[Line]:
    size = ["--rounds", 3, "--operations", 20_000] if asked.quick else ["--rounds", 8 if asked.before else 15]
    bench = lambda tree: tree.executable("engine", "bench", "overhead")  # noqa: E731
    measure = lambda tree, *size: costs(run(bench(tree), *size, timeout=900))  # noqa: E731
    runs, earlier = [measure(asked.ours, *size)], {}
    if asked.before:
        # The earlier bench takes no arguments.
        earlier = measure(asked.before)
        runs.append(measure(asked.ours, *size))
    middle = lambda at, number: f"{statistics.mean(int(run[at][number]) for run in runs):+.0f}"  # noqa: E731
    for (call, measure_of), found in runs[0].items():
        at = (call, measure_of)
        peer = f"fio {middle(at, 9)}" if found[9] and found[9] != "-" else ""
        then = earlier.get(at)
        before = then and f"{int(then[5]):+} engine, {int(then[7]):+} program (more than raw {then[3]})"
        known = asked.earlier(call if measure_of == "median" else "", before)
        what = f"{call}, ns more than raw ({found[3]}), {measure_of}"
        yield Line(what, "+45, +60", known, f"{middle(at, 5)} engine, {middle(at, 7)} program", peer)


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
                        how = (folder, depth, seconds, write)
                        ours = [lambda tree=tree: compare.ours(str(tree.lastrank), *how) for tree in asked.trees]
                        what = f"async {depth}, direct {'writes' if write else 'reads'}, {where}, IOPS"
                        yield against_fio(what, asked, in_turns(turns, [*ours, lambda: compare.fio(*how)]))
        except (Failed, subprocess.CalledProcessError, OSError) as error:
            yield Line(f"async, {where}", "", "", f"not measured: {why(error)}", "")


def in_turns(turns: int, measures: list) -> list[tuple]:
    """What each measure gave, turn by turn; every second turn in the other order."""
    rows = []
    for turn in range(turns):
        order = list(range(len(measures)))[:: 1 if turn % 2 == 0 else -1]
        found = {at: measures[at]() for at in order}
        rows.append(tuple(found[at] for at in range(len(measures))))
    return rows


def against_fio(what: str, asked: Asked, rows: list[tuple]) -> Line:
    """Rates and medians of turns: ours, the earlier ones where there are any, fio's last."""
    middle = lambda who, at: statistics.median(row[who][at] for row in rows)  # noqa: E731
    ratio = lambda who: statistics.median(row[who][0] / row[-1][0] for row in rows)  # noqa: E731
    cell = lambda who: f"{middle(who, 0):.0f}, p50 {middle(who, 1):.1f} µs, {ratio(who):.2f} of fio's"  # noqa: E731
    before = cell(1) if asked.before else ""
    return Line(what, "at least 1.00", before, cell(0), f"fio {middle(-1, 0):.0f}, p50 {middle(-1, 1):.1f} µs")


def parallel(asked: Asked) -> Iterator[Line]:
    compare = script("async")
    turns, seconds = (1, 1) if asked.quick else (3, 1)
    with tempfile.TemporaryDirectory(dir=asked.directory) as folder:
        compare.make_data(folder)
        for write in (False, True):
            for workers in (1, 2, 4):
                how = (folder, workers, seconds, write)
                ours = [lambda tree=tree: workers_of_lastrank(compare, tree.lastrank, *how) for tree in asked.trees]
                rows = in_turns(turns, [*ours, lambda: jobs_of_fio(compare, *how)])
                kind = "writes" if write else "reads"
                yield against_fio(f"parallel {workers}, direct {kind}, disk, IOPS", asked, rows)


def workers_of_lastrank(
    compare: ModuleType, lastrank: Path, folder: str, workers: int, seconds: int, write: bool
) -> tuple[float, ...]:
    """Operations a second, and quantiles of their durations in µs."""
    call = "fwrite" if write else "fread"
    text = PARALLEL.format(workers=workers, seconds=seconds + compare.WARM_S, call=call)
    Path(folder, "parallel.ppl").write_text(text)
    words = [lastrank, "run", "parallel.ppl", "-o", "parallel.parquet", "--report", "none"]
    run(*words, cwd=Path(folder))
    text = run(lastrank, "export", "parallel.parquet", "--to", "csv", "-o", "-", cwd=Path(folder))
    header, *rows = (line.split(",") for line in text.splitlines())
    operation, start, duration = (header.index(name) for name in ("operation", "start_ns", "duration_ps"))
    timed = [(int(row[start]), int(row[duration])) for row in rows if row[operation] == call]
    if not timed:
        raise Failed(f"no sample of {call}")
    return compare.measured(timed)


def jobs_of_fio(compare: ModuleType, folder: str, workers: int, seconds: int, write: bool) -> tuple[float, float]:
    """The same of fio."""
    way = "write" if write else "read"
    words = ["fio", "--name=parallel", "--filename=data", f"--rw=rand{way}", "--bs=4k", "--size=256m", "--direct=1"]
    words += ["--ioengine=psync", "--thread", f"--numjobs={workers}", "--group_reporting", "--norandommap"]
    words += ["--time_based", f"--runtime={seconds}", f"--ramp_time={compare.WARM_S}", "--lat_percentiles=1"]
    words += ["--output-format=json"]
    text = run(*words, cwd=Path(folder))
    done = json.loads(text[text.index("{") :])["jobs"][0][way]
    return done["iops"], done["lat_ns"]["percentile"]["50.000000"] / 1e3


def save(asked: Asked) -> Iterator[Line]:
    compare = script("big_run")
    ranks, operations = 4, 50_000 if asked.quick else 1_000_000
    with tempfile.TemporaryDirectory(dir=asked.directory) as folder:

        def saved(tree: Tree) -> tuple[float, float]:
            _, after = compare.of_lastrank(str(tree.lastrank), folder, ranks, operations)
            return after, Path(folder, "big.parquet").stat().st_size / (ranks * operations)

        turns = in_turns(1 if asked.quick else 3, [lambda tree=tree: saved(tree) for tree in asked.trees])
        try:
            _, fio_after = compare.of_fio(folder, ranks, operations)
            peer = f"fio's logs {fio_after:.2f} s"
        except (OSError, subprocess.CalledProcessError) as error:
            peer = f"no fio: {why(error)}"
    cell = lambda of: f"{statistics.median(after for after, _ in of):.2f} s, {of[0][1]:.2f} B a sample"  # noqa: E731
    cells = [cell(of) for of in zip(*turns, strict=True)]
    before = asked.earlier("save", cells[-1])
    yield Line(f"saved after the last of {ranks} x {operations:,}", "1 s, 4.0 B", before, cells[0], peer)


def kernels(asked: Asked) -> Iterator[Line]:
    benches = []
    for tree in asked.trees:
        benches.append(script("hierarchy"))
        benches[-1].OURS = tree.executable("engine", "example", "hierarchy")
    allowed = os.sched_getaffinity(0)
    with tempfile.TemporaryDirectory() as folder:
        reference = Path(folder, "reference")
        run("cc", "-O2", "-o", reference, ROOT / "benches/hierarchy/reference.c")
        os.sched_setaffinity(0, {max(allowed)})
        try:
            chases = [bench.chases(reference, 1 if asked.quick else 5) for bench in benches]
            for both in zip(*chases, strict=True):
                cells = [f"{ours / theirs:.3f} ({ours:.2f} ns)" for _, ours, theirs in both]
                name, _, theirs = both[0]
                before = asked.earlier(name, cells[-1])
                yield Line(f"chase, {name}, to C", "0.97 to 1.03", before, cells[0], f"C {theirs:.2f} ns")
            recorded = lambda bench: tuple(map(float, run(bench.OURS, "record").split()))  # noqa: E731
            turns = in_turns(5, [lambda bench=bench: recorded(bench) for bench in benches])
        finally:
            os.sched_setaffinity(0, allowed)
    found = [list(map(statistics.median, zip(*of, strict=True))) for of in zip(*turns, strict=True)]
    raw, counted, sample = found[0]
    before = asked.earlier("histogram", f"{found[-1][1]:.2f} ns")
    peer = f"as a number {raw:.2f} ns, a sample {sample:.2f} ns"
    yield Line("a value into a histogram", "3 ns", before, f"{counted:.2f} ns", peer)


def verdicts(asked: Asked) -> Iterator[Line]:
    found = []
    for tree in asked.trees:
        text = run(tree.executable("tail", "example", "tail_speed"))
        found.append({task: float(value) for task, value in (line.split("\t") for line in text.splitlines())})
    small = [f"{seconds['full_verdict'] * 1e3:.1f} ms" for seconds in found]
    yield Line("full verdict of 400 values", "30 ms", asked.earlier("verdict", small[-1]), small[0], "")
    large = [f"its fit {seconds['fit_million']:.3f} s" for seconds in found]
    now = f"{found[0]['full_verdict_million']:.3f} s, {large[0]}"
    before = asked.earlier("verdict of a million", large[-1])
    yield Line("full verdict of 1,000,000 values", "0.15 s", before, now, "")


def language(asked: Asked) -> Iterator[Line]:
    found = []
    for tree in asked.trees:
        text = run(tree.executable("ppl", "example", "speed"), "parse")
        seconds = re.search(r"([0-9.]+) s of processor time", text)
        if not seconds:
            raise Failed(f"the example of {tree.root} printed {text!r}")
        found.append(f"{seconds[1]} s")
    # In a process of its own: the memory of compile() is not given back.
    code = f"import runpy; runpy.run_path({str(ROOT / 'benches/language/compare.py')!r})['cpython']()"
    peer = "" if asked.quick else re.search(r"compile ([0-9.]+) s", run(sys.executable, "-c", code))[1]
    beside = f"CPython {peer} s" if peer else ""
    before = asked.earlier("parse", found[-1])
    yield Line("parse and check of 1,000,000 statements", "0.5 s", before, found[0], beside)


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
    parser.add_argument("--before", type=Path, metavar="TREE", help="a checkout of an earlier release, built")
    parser.add_argument("--profile", choices=["release", "dev"], default="release", help="how executables are built")
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, separated by commas")
    parser.add_argument("--quick", action="store_true", help="few turns, to try the script")
    parser.add_argument("--directory", type=Path, default=Path("."), help="on a disk, for files")
    parsed = parser.parse_args()
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    built = target / ("debug" if parsed.profile == "dev" else "release") / "lastrank"
    trees = [Tree(ROOT, (parsed.bin or built).resolve(), parsed.profile)]
    if parsed.before:
        if "CARGO_TARGET_DIR" in os.environ:
            sys.exit("with --before each tree needs a target directory of its own: unset CARGO_TARGET_DIR")
        root = parsed.before.resolve()
        trees.append(Tree(root, root / "target/release/lastrank", "release"))
    for tree in trees:
        if not tree.lastrank.is_file():
            build = f"build it with cargo build --release -p lastrank in {tree.root}"
            sys.exit(f"{tree.lastrank} is not there: {build}" + (", or name another by --bin" if tree is trees[0] else ""))
    asked = Asked(trees[0], (trees + [None])[1], parsed.quick, parsed.directory.resolve())
    unknown = [name for name in parsed.only.split(",") if name not in SECTIONS]
    if unknown:
        sys.exit(f"there is no section {unknown[0]}; there are {', '.join(SECTIONS)}")
    begin = time.monotonic()
    show(Line("what", "aim", "before", "now", "peer"))
    print(f"|{'---|' * len(Line._fields)}")
    missing = 0
    for name in parsed.only.split(","):
        try:
            for line in SECTIONS[name](asked):
                missing += line.now.startswith("not measured")
                show(line)
        except (Exception, SystemExit) as error:  # noqa: BLE001: the other lines follow, whatever happened to this one.
            missing += 1
            show(Line(name, "", "", f"not measured: {why(error)}", ""))
    print(f"\n{time.monotonic() - begin:.0f} s; load of the machine now: {os.getloadavg()[0]:.2f}.")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
