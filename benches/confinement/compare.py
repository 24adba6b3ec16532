#!/usr/bin/env python3
"""Measures what confinement costs an operation now, and before a change, in turns.

    python3 benches/confinement/compare.py --before TREE [--bin target/release/lastrank] [--directory /dev/shm] [--turns 5]

TREE is a checkout of the earlier state (`git worktree add TREE COMMIT`), or an executable; that of a tree is built with
`cargo build --release` where it is not there. Each turn runs one program with both, the first of them in turn: loops of `pwrite`, `pread`,
`fopen` with `fclose`, and `create`. A loop's time through its number is the cost of one turn of it, with all that lastrank does around the
call. The table has the median of the turns. Run it alone on a quiet machine.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
define param "count" $count 20000
write("f", 4KiB);
$f = fopen("f", "r+");
repeat $count fwrite($f, 4KiB, 0);
time["pwrite"] repeat $count fwrite($f, 4KiB, 0);
time["pread"] repeat $count fread($f, 4KiB, 0);
fclose($f);
time["fopen"] repeat $count { $g = fopen("f", "r+"); fclose($g); }
mkdir("d");
time["create"] repeat $i $count create("d/c-$i");
repeat $i $count delete("d/c-$i");
rmdir("d");
delete("f");
"""
AIMS = {"pwrite": 0.0, "pread": 0.0, "fopen": 500.0, "create": 500.0}
"""Nanoseconds that it may take longer than before; none for transfers, within 3% of what they take."""
NAMES = {"pwrite": "pwrite 4 KiB", "pread": "pread 4 KiB", "fopen": "fopen with fclose", "create": "create"}


def executable(place: Path) -> Path:
    """The executable of a tree, built where it is not there."""
    if place.is_file():
        return place.resolve()
    program = place / "target/release/lastrank"
    if not program.exists():
        subprocess.run(["cargo", "build", "--release", "--locked", "-p", "lastrank"], cwd=place, check=True)
    return program.resolve()


def measure(program: Path, folder: Path, count: int, options: list[str]) -> dict[str, float]:
    """Nanoseconds of one turn of each loop."""
    (folder / "cost.ppl").write_text(PROGRAM)
    command = [program, "run", "cost.ppl", "--set", f"count={count}", "-s", "-o", "cost.parquet", "--report", "none", *options]
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{program}: {done.stderr}")
    command = [str(program), "export", "cost.parquet", "--to", "parabench-text", "-o", "-"]
    lines = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.splitlines()
    found = {parts[1].strip(): float(parts[2]) for parts in (line.split(";") for line in lines) if len(parts) == 3 and parts[1].strip() in AIMS}
    if set(found) != set(AIMS):
        sys.exit(f"{program}: no time of {set(AIMS) - set(found)} in {lines}")
    return {name: seconds * 1e9 / count for name, seconds in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--before", type=Path, required=True, help="a tree or an executable")
    parser.add_argument("--bin", type=Path, default=ROOT, help="a tree or an executable")
    parser.add_argument("--directory", type=Path, default=Path("/dev/shm"))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--unconfined", action="store_true", help="both without confinement: what else changed")
    asked = parser.parse_args()
    programs = {"before": executable(asked.before), "now": executable(asked.bin)}
    options = ["--unconfined"] if asked.unconfined else []
    taken: dict[str, list[dict[str, float]]] = {name: [] for name in programs}
    for turn in range(asked.turns):
        for name in list(programs)[:: 1 if turn % 2 == 0 else -1]:
            with tempfile.TemporaryDirectory(prefix="lastrank-cost-", dir=asked.directory) as folder:
                taken[name].append(measure(programs[name], Path(folder), asked.count, options))
    print(f"median of {asked.turns} turns of {asked.count} each in {asked.directory}, ns\n")
    print("| operation | before | now | difference | may be | |\n|---|---|---|---|---|---|")
    for name, aim in AIMS.items():
        before, now = (statistics.median(turn[name] for turn in taken[which]) for which in ("before", "now"))
        most = max(aim, 0.03 * before)
        verdict = "within" if now - before <= most else "above"
        print(f"| {NAMES[name]} | {before:.0f} | {now:.0f} | {now - before:+.0f} | {most:.0f} | {verdict} |")


if __name__ == "__main__":
    main()
