#!/usr/bin/env python3
"""Builds the fuzz targets with a stable compiler, runs each for some time, and prints what came of it, a line a target.

    python3 fuzz/run.py --seconds 600 --at-once 2            # all targets
    python3 fuzz/run.py --seconds 60 numbers run_file        # these

The corpus grows in `fuzz/corpus/TARGET`; with `--minimise` it is then reduced to what adds coverage. What crashes or takes
longer than five seconds lies in `fuzz/artifacts/TARGET`, and makes the exit status 1.
"""

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PLATFORM = "x86_64-unknown-linux-gnu"
FLAGS = (
    "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 "
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table "
    "-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
)
OF_THE_LANGUAGE = ("parse", "check", "plan", "format")
SLOW_SECONDS = 5
LONGEST = {"format": 400, "plan": 2000}
"""Bytes of an input, where libFuzzer's own 4096 are too slow for the target."""


@dataclass(frozen=True)
class Result:
    """What came of a target."""

    target: str
    executions: int
    coverage: int
    corpus: int
    crashes: list[str]

    def line(self) -> str:
        return f"| {self.target} | {self.executions:,} | {self.coverage:,} | {self.corpus:,} | {len(self.crashes)} |"


def folder_of_builds() -> Path:
    return Path(os.environ.get("CARGO_TARGET_DIR", HERE / "target"))


def build() -> None:
    environment = os.environ | {"RUSTFLAGS": FLAGS}
    command = ["cargo", "build", "--release", "--locked", "--target", PLATFORM]
    subprocess.run(command, cwd=HERE, env=environment, check=True)


def run(target: str, seconds: int, minimise: bool) -> Result:
    program = folder_of_builds() / PLATFORM / "release" / target
    corpus, found = HERE / "corpus" / target, HERE / "artifacts" / target
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    name = "ppl" if target in OF_THE_LANGUAGE else target
    seeds, words = HERE / "seeds" / name, HERE / f"{name}.dict"
    places = [corpus, *([seeds] if seeds.is_dir() else [])]
    options = [
        f"-max_total_time={seconds}", f"-artifact_prefix={found}/", f"-report_slow_units={SLOW_SECONDS}", "-timeout=60",
        "-rss_limit_mb=2048", "-print_final_stats=1", *([f"-dict={words}"] if words.exists() else []),
        *([f"-max_len={LONGEST[target]}"] if target in LONGEST else []),
    ]  # fmt: skip
    log = HERE / "artifacts" / f"{target}.log"
    with log.open("w") as out:
        subprocess.run([program, *map(str, [*places, *options])], stdout=out, stderr=subprocess.STDOUT, check=False)
    said = log.read_text(errors="replace")
    if minimise:
        least = corpus.with_name(f"{target}-least")
        least.mkdir(exist_ok=True)
        subprocess.run([program, "-merge=1", least, *places], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        for old in corpus.iterdir():
            old.unlink()
        corpus.rmdir()
        least.rename(corpus)
    executions = re.search(r"number_of_executed_units: (\d+)", said)
    coverage = re.findall(r"cov: (\d+)", said)
    return Result(
        target,
        int(executions[1]) if executions else 0,
        int(coverage[-1]) if coverage else 0,
        sum(1 for _ in corpus.iterdir()),
        sorted(path.name for path in found.iterdir()),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", help="all, where none is named")
    parser.add_argument("--seconds", type=int, default=600, help="of each target")
    parser.add_argument("--at-once", type=int, default=1, help="targets that run beside each other")
    parser.add_argument("--minimise", action="store_true")
    args = parser.parse_args()
    known = sorted(path.stem for path in (HERE / "fuzz_targets").glob("*.rs"))
    if strange := set(args.targets) - set(known):
        parser.error(f"no target {', '.join(sorted(strange))}; there are {', '.join(known)}")
    build()
    print("| target | executions | coverage | corpus | crashes and slow units |\n|---|---|---|---|---|", flush=True)
    failed = False
    with ThreadPoolExecutor(args.at_once) as pool:
        for result in pool.map(lambda target: run(target, args.seconds, args.minimise), args.targets or known):
            print(result.line(), *(f"\n  {name}" for name in result.crashes), flush=True)
            failed |= bool(result.crashes) or result.executions == 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
