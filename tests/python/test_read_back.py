"""Recomputes the numbers of generated runs from their samples, and reads them back from tables and from the module.

The outputs of the report itself (screen, `-q`, JSON, page) are read back by `crates/report/tests/one_set_of_ranks.rs`.
"""

import csv
import json
import math
import os
import random
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow.parquet
import pytest


def call(*words: object) -> str:
    from lastrank import _executable

    command = [str(_executable.executable()), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "80"}).stdout


def program(seed: int) -> tuple[str, list[str]]:
    """A load of two operations in one block, and how it is run."""
    draw = random.Random(seed)
    one_in, count = draw.choice([0, 2, 5]), draw.randint(120, 400)
    size, idle = draw.choice(["4k", "64k", "4k * (1 + $$rand % 3)"]), draw.choice(["", "think 300ms;"])
    read = f"if $$rand % {one_in} == 0 fread($g, 4k, 0);" if one_in else ""
    text = f"""$f = fcreat("a$$rank.dat"); $g = fopen("a$$rank.dat", "r");
time["work"] {{ repeat {count} {{ fwrite($f, {size}); {read} }} }}
{idle} fclose($f); fclose($g); delete("a$$rank.dat");
"""
    law = draw.choice(["exp(200us)", "gev(1ms,100us,0.1)", "normal(500us,50us)"])
    return text, ["-n", str(draw.randint(1, 4)), "--backend", f"simulate:{law}", "--seed", str(seed)]


def looked_up(values: list[float], p: float) -> float:
    return sorted(values)[math.ceil(len(values) * p) - 1]


def recomputed(samples: list[dict[str, Any]], operation: str) -> dict[str, float]:
    """What the samples of one operation give, without a line of the product's own."""
    own = [row for row in samples if row["operation"] == operation]
    blocks = [row for row in samples if row["kind"] == "time" and row["label"] == "work"]
    blocks = [row for row in blocks if row["rank"] in {one["rank"] for one in own}]
    ends = [row["start_ns"] * 1e-9 + row["duration_ps"] * 1e-12 for row in blocks]
    wall = max(ends) - min(row["start_ns"] for row in blocks) * 1e-9
    seconds = [row["duration_ps"] * 1e-12 for row in own]
    # One in 100 of fewer than 100 values is not given.
    p99 = {"p99_seconds": looked_up(seconds, 0.99)} if len(seconds) >= 100 else {}
    moved = sum(row["bytes"] for row in own)
    return {
        "operations": len(own),
        "bytes": moved,
        "operations_per_second": len(own) / wall,
        "bytes_per_second": moved / wall,
        "p50_seconds": looked_up(seconds, 0.5),
        **p99,
        "max_seconds": max(seconds),
        "mean_seconds": sum(seconds) / len(seconds),
    }


def has(found: Any, wanted: float) -> bool:
    """The same number, of which documents have seven digits and clocks a nanosecond."""
    return float(found) == pytest.approx(wanted, rel=2e-6)


@pytest.mark.parametrize("seed", range(8))
def test_tables_and_the_module_have_the_numbers_of_the_samples(lr: ModuleType, tmp_path: Path, seed: int) -> None:
    text, words = program(seed)
    Path("p.ppl").write_text(text)
    table = Path("all.csv" if seed % 2 else "all.jsonl")
    call("run", "p.ppl", "-o", "p.parquet", "--report", "none", "--append", table, *words)
    samples = pyarrow.parquet.read_table(tmp_path / "p.parquet").to_pylist()
    operations = [name for name in ("fwrite", "fread") if any(row["operation"] == name for row in samples)]
    wanted = {name: recomputed(samples, name) for name in operations}
    lines = table.read_text().splitlines()
    appended = {row["operation"]: row for row in (csv.DictReader(lines) if seed % 2 else map(json.loads, lines))}
    run = lr.load("p.parquet")
    parts = {part["operation"]: part for part in run.numbers["parts"]}
    assert set(appended) == set(parts) == set(operations)
    for name, numbers in wanted.items():
        summary = run[f"work/{name}"].summary()
        assert ("p99_seconds" in numbers) == bool(appended[name]["p99_seconds"])
        for column in numbers.keys() - {"mean_seconds"}:
            assert has(appended[name][column], numbers[column]), (column, appended[name])
        assert has(parts[name]["operations_per_second"], numbers["operations_per_second"])
        assert has(parts[name]["quantiles_seconds"]["p50"], numbers["p50_seconds"])
        of_module = {
            "operations": summary.n,
            "operations_per_second": summary.iops,
            "bytes_per_second": summary.mib_per_second * 2**20,
            "p50_seconds": summary.p50,
            **({"p99_seconds": summary.p99} if "p99_seconds" in numbers else {}),
            "max_seconds": summary["max"],
            "mean_seconds": summary["mean"],
        }
        for column, value in of_module.items():
            assert has(value, numbers[column]), (column, value, numbers[column])
        assert summary.errors == 0 and sorted(run[f"work/{name}"].values) == pytest.approx(
            sorted(row["duration_ps"] * 1e-12 for row in samples if row["operation"] == name)
        )
    [listed] = csv.DictReader(call("ls", "--csv").splitlines())
    assert has(listed["operations_per_second"], sum(one["operations_per_second"] for one in wanted.values()))
    if len(wanted) == 1:
        for column in ("bytes_per_second", "p50_seconds", "p99_seconds"):
            assert has(listed[column], wanted["fwrite"][column]), (column, listed)
    exported = list(csv.DictReader(call("export", "--to", "csv", "p.parquet", "-o", "-").splitlines()))
    assert len(exported) == len(samples)
    for row, sample in zip(exported, samples, strict=True):
        for column in ("rank", "start_ns", "duration_ps", "bytes", "errno"):
            assert int(row[column]) == sample[column]
