"""Tests that a run file opens in pandas and DuckDB with the columns of docs/run-file.md."""

import json
import os
import re
import subprocess
import zlib
from pathlib import Path

import duckdb
import pandas
import pyarrow.parquet
import pytest

ROOT = Path(__file__).resolve().parent.parent
RANKS, STEPS = 4, 50


@pytest.fixture(scope="session")
def run_file(tmp_path_factory) -> Path:
    """A run of the program on the simulated back end, which is reproducible."""
    program = Path(os.environ.get("LASTRANK_BIN", ROOT / "target" / "debug" / "lastrank")).resolve()
    if not program.is_file():
        pytest.skip("LASTRANK_BIN does not name the program (tests/all.py sets it)")
    folder = tmp_path_factory.mktemp("run")
    setting = ["--set", f"targets={RANKS}", "--set", f"repeat={STEPS}"]
    law = "simulate:gev(10ms,300us,0.05)"
    files = ["-o", "run.parquet", "--report", "none", "--quiet"]
    subprocess.run(
        [program, "run", "parallel_write", "--backend", law, *setting, *files], cwd=folder, check=True
    )
    return folder / "run.parquet"


@pytest.fixture(scope="session")
def documented() -> dict[str, str]:
    """Name and type of every column in the table of the docs."""
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", (ROOT / "docs" / "run-file.md").read_text(), re.M)
    assert rows
    return dict(rows)


def test_pandas_shows_the_documented_columns(run_file, documented):
    frame = pandas.read_parquet(run_file)
    assert list(frame.columns) == list(documented)
    kinds = {"text": ("str", "object", "string"), "int32": ("int32",), "int64": ("int64",)}
    for name, kind in documented.items():
        assert str(frame[name].dtype) in kinds[kind], name
    per_site = frame.groupby(["site", "rank"]).iteration.agg(["count", "min", "max"])
    assert (per_site["max"] + 1 == per_site["count"]).all() and (per_site["min"] == 0).all()
    assert sorted(frame["rank"].unique()) == list(range(RANKS))


def test_a_label_selects_without_a_join_and_iterations_line_up(run_file):
    frame = pandas.read_parquet(run_file)
    writes = frame[(frame.label == "write") & (frame.kind == "time")]
    gate = writes.groupby("iteration").duration_ps.max() / 1e12
    assert len(gate) == STEPS
    assert gate.between(0.009, 0.016).all()


def test_duckdb_agrees_with_pandas(run_file, documented):
    described = duckdb.sql(f"describe from '{run_file}'").fetchall()
    kinds = {"VARCHAR": "text", "INTEGER": "int32", "BIGINT": "int64"}
    assert {name: kinds[kind] for name, kind, *_ in described} == documented
    [(count, total)] = duckdb.sql(
        f"select count(*), sum(duration_ps) from '{run_file}' where operation = 'fwrite'"
    ).fetchall()
    frame = pandas.read_parquet(run_file).query("operation == 'fwrite'")
    assert (count, total) == (len(frame), frame.duration_ps.sum())


def test_facts_and_sites_are_json_in_the_footer(run_file):
    footer = pyarrow.parquet.read_metadata(run_file).metadata
    assert footer[b"lastrank.schema"] == b"lastrank.run/1"
    facts, sites = json.loads(footer[b"lastrank.facts"]), json.loads(footer[b"lastrank.sites"])
    assert facts["schema"] == "lastrank.facts/1" and facts["ranks"] == RANKS
    assert 'time["write"]' in facts["program"] and facts["backend"].startswith("simulate")
    assert facts["complete"] and facts["parameters"]["repeat"] == str(STEPS)
    frame = pandas.read_parquet(run_file)
    assert [sites[index]["operation"] for index in frame.site] == list(frame.operation)


def test_the_checksum_is_that_of_the_data(run_file):
    footer = pyarrow.parquet.read_metadata(run_file).metadata
    length, of_data, of_texts, _ = footer[b"lastrank.crc32"].decode().split(":")
    assert zlib.crc32(run_file.read_bytes()[: int(length)]) == int(of_data, 16)
    texts = footer[b"lastrank.facts"] + b"\n" + footer[b"lastrank.sites"]
    assert zlib.crc32(texts) == int(of_texts, 16)
