#!/usr/bin/env python3
"""One column of a CSV file: `lr.read` beside pandas, Polars and DuckDB, each with one thread.

    python3 benches/numbers/compare.py [--lines 10000000] [--repeat 5] [--folder DIR]

Two files of --lines rows are written: one number a line, and a table of four columns of which one is read. The readers
take turns, each in a process of its own, which measures wall and processor time of the reading alone (not of its imports)
and its largest memory. All must come to the same count and sum. Prints medians and the ratio to Polars; the aims are a half
of its speed, and 512 MiB. Asserts no time. Needs the module lastrank (`pip install .`), pandas, polars and duckdb.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

READERS = ["lastrank", "polars", "duckdb", "pandas"]
COLUMN = "latency_ms"


def reader_of(reader: str, has_header: bool) -> Callable[[str], Any]:
    """What reads the column of a file into an array of NumPy."""
    if reader == "lastrank":
        import lastrank as lr

        def read(file: str) -> Any:
            return lr.read(file, COLUMN if has_header else None).values
    elif reader == "polars":
        import polars

        def read(file: str) -> Any:
            if has_header:
                return polars.read_csv(file, columns=[COLUMN])[COLUMN].to_numpy()
            return polars.read_csv(file, has_header=False).to_series().to_numpy()
    elif reader == "duckdb":
        import duckdb

        connection = duckdb.connect(config={"threads": 1})

        def read(file: str) -> Any:
            name = COLUMN if has_header else "column0"
            query = f"select {name} from read_csv('{file}', header = {has_header})"
            return connection.execute(query).fetchnumpy()[name]
    else:
        import pandas

        def read(file: str) -> Any:
            if has_header:
                return pandas.read_csv(file, usecols=[COLUMN])[COLUMN].to_numpy()
            return pandas.read_csv(file, header=None)[0].to_numpy()

    return read


def reading(reader: str, file: str, has_header: bool) -> tuple[float, float, int, float]:
    """Reads the column here, after a short file that loads what a reader needs; wall and processor time, count and sum."""
    read = reader_of(reader, has_header)
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as short, Path(file).open() as long:
        short.writelines(line for _, line in zip(range(1000), long, strict=False))
        short.flush()
        read(short.name).sum()
    wall, processor = time.monotonic(), time.process_time()
    found = read(file)
    wall, processor = time.monotonic() - wall, time.process_time() - processor
    return wall, processor, len(found), float(found.sum())


def write(folder: Path, lines: int) -> dict[str, Path]:
    """Both files."""
    source = random.Random(1)
    files = {"one number a line": folder / "plain.csv", "one column of four": folder / "table.csv"}
    with files["one number a line"].open("w") as plain, files["one column of four"].open("w") as table:
        table.write(f"time,host,status,{COLUMN}\n")
        for at in range(lines):
            value = f"{source.lognormvariate(0, 0.5):.6f}"
            plain.write(f"{value}\n")
            table.write(f"{1_772_452_800_000 + at},node{at % 64:02},200,{value}\n")
    return files


def measured(reader: str, file: Path, has_header: bool) -> dict[str, float]:
    """What a process of its own took."""
    command = [sys.executable, __file__, "--child", reader, str(file), "header" if has_header else "plain"]
    environment = os.environ | {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{reader}: status {child.returncode}")
    wall, processor, count, total = json.loads(out)
    return {"wall": wall, "processor": processor, "count": count, "sum": total, "mib": usage.ru_maxrss / 1024}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--folder", help="where the files are written [default: a temporary one]")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        reader, file, kind = arguments.child
        print(json.dumps(reading(reader, file, kind == "header")))
        return
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for name, file in write(Path(folder), arguments.lines).items():
            print(f"\n{name}: {arguments.lines:,} lines, {file.stat().st_size / 2**20:.0f} MiB\n")
            all_of: dict[str, list[dict[str, float]]] = {reader: [] for reader in READERS}
            for _ in range(arguments.repeat):
                for reader in READERS:
                    all_of[reader].append(measured(reader, file, name == "one column of four"))
            first = all_of["polars"][0]
            for reader in READERS:
                one = all_of[reader][0]
                if one["count"] != arguments.lines or abs(one["sum"] / first["sum"] - 1) > 1e-9:
                    sys.exit(f"{reader} read {one}, Polars {first}")
            def median(reader: str, what: str) -> float:
                return statistics.median(one[what] for one in all_of[reader])
            print("| reader | wall | processor | speed / Polars | memory |\n|---|--:|--:|--:|--:|")
            for reader in READERS:
                ratio = median("polars", "processor") / median(reader, "processor")
                mib = max(one["mib"] for one in all_of[reader])
                print(f"| {reader} | {median(reader, 'wall'):.3f} s | {median(reader, 'processor'):.3f} s "
                      f"| {ratio:.2f} | {mib:.0f} MiB |")


if __name__ == "__main__":
    main()
