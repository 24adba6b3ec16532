"""Tests `Run.frame`: the samples as other libraries see them, against the run file itself."""

import gc
import resource
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

PROGRAM = """
define ranks 3;
time["fill"] repeat 40 write("f-$$rank", 4KiB);
time["look"] repeat 25 { stat("f-$$rank"); stat("missing"); }
delete("f-$$rank");
"""


@pytest.fixture(scope="module")
def run(lr: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A run of three ranks, with operations that fail."""
    with pytest.warns(lr.RunWarning, match="ENOENT"):
        return lr.run(PROGRAM, out=tmp_path_factory.mktemp("run") / "run.parquet", options=["--root", "."])


def expected(path: Path) -> pandas.DataFrame:
    return pandas.read_parquet(path)


def plain(frame: pandas.DataFrame) -> pandas.DataFrame:
    return frame.astype({name: str for name in ("label", "operation", "kind")})


def test_pandas_sees_what_is_in_the_run_file(run: Any) -> None:
    found = run.frame.to_pandas()
    assert list(found.columns) == [*expected(run.path).columns, "host"]
    pandas.testing.assert_frame_equal(plain(found.drop(columns="host")), plain(expected(run.path)), check_dtype=False)
    assert found.dtypes["duration_ps"] == "int64" and found.dtypes["label"] == "category"
    assert set(found.host) == {run.facts["machine"]["host"]}


def test_arrow_takes_the_stream_and_finds_it_valid(run: Any) -> None:
    table = run.frame.to_arrow()
    table.validate(full=True)
    file = pyarrow.parquet.read_table(run.path)
    for name in file.column_names:
        assert table[name].to_pylist() == file[name].to_pylist(), name


def test_polars_and_duckdb_take_the_stream(run: Any) -> None:
    frame = run.frame
    by_polars = dict(polars.DataFrame(frame).group_by("operation").len().rows())
    by_duckdb = dict(duckdb.sql("select operation, count(*) from frame group by operation").fetchall())
    by_hand = {name: frame["operation"].count(name) for name in set(frame["operation"])}
    assert {str(key): count for key, count in by_polars.items()} == by_duckdb == by_hand
    assert by_hand["stat"] == 150 and sum(by_hand.values()) == len(frame)


def test_numbers_reach_numpy_without_a_copy_and_cannot_be_changed(run: Any) -> None:
    durations = run.frame["duration_ps"]
    assert durations.ctypes.data == run.frame["duration_ps"].ctypes.data
    with pytest.raises(ValueError, match="read-only"):
        durations[0] = 0


def test_numbers_outlive_the_run_that_they_came_from(lr: ModuleType, run: Any) -> None:
    loaded = lr.load(run.path)
    before = [loaded.frame["start_ns"].copy(), loaded.frame["start_ns"]]
    table = pyarrow.table(loaded.frame)
    unused = loaded.frame.__arrow_c_stream__()
    half_read = pyarrow.RecordBatchReader.from_stream(loaded.frame)
    del loaded, unused, half_read
    gc.collect()
    assert numpy.array_equal(*before) and table["start_ns"].to_pylist() == before[0].tolist()


@pytest.fixture(scope="module")
def many(lr: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A run of more samples than a batch has."""
    out = tmp_path_factory.mktemp("many") / "many.parquet"
    return lr.run("repeat 70000 getpid();", backend="simulate:gev(10ms,1ms,0.1)", out=out)


def test_a_stream_of_many_samples_comes_in_batches(many: Any) -> None:
    batches = list(pyarrow.RecordBatchReader.from_stream(many.frame))
    assert [batch.num_rows for batch in batches] == [65_536, 70_000 - 65_536]
    joined = pyarrow.Table.from_batches(batches)["iteration"].to_numpy()
    assert numpy.array_equal(joined, numpy.arange(70_000))


def test_samples_that_nobody_holds_any_more_are_freed(lr: ModuleType, many: Any) -> None:
    def use() -> None:
        frame = lr.load(many.path).frame
        stream = frame.__arrow_c_stream__()
        schema = frame.__arrow_c_schema__()
        read = pyarrow.RecordBatchReader.from_stream(frame)
        read.read_next_batch()
        del frame, stream, schema, read

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    for _ in range(5):
        use()
    before = resident()
    for _ in range(30):
        use()
    # A frame has 7 MB; the 30 of them would have 210 MB.
    assert resident() - before < 100e6


def test_other_threads_run_while_samples_are_read(lr: ModuleType, run: Any) -> None:
    at_work, seen = threading.Event(), []
    opened, reading = lr.Run(run.path), False

    def read() -> None:
        nonlocal reading
        reading = True
        at_work.set()
        opened.document  # noqa: B018
        reading = False

    # A thread keeps the interpreter until it waits or gives it away: without the latter the report is made first.
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        reader = threading.Thread(target=read)
        reader.start()
        at_work.wait()
        seen.append(reading)
    finally:
        sys.setswitchinterval(usual)
    reader.join()
    assert seen == [True]


def test_an_empty_run_has_columns_and_no_rows(lr: ModuleType, tmp_path: Path) -> None:
    nothing = lr.run("print(1);", out=tmp_path / "nothing.parquet")
    assert len(nothing.frame) == 0 and len(nothing.frame.to_pandas()) == 0
    table = nothing.frame.to_arrow()
    table.validate(full=True)
    assert table.column_names == nothing.frame.columns and nothing.results == []


def test_a_column_that_is_not_there_names_those_that_are(run: Any) -> None:
    with pytest.raises(KeyError, match="there is no column `size`; there are label, operation"):
        run.frame["size"]


def test_a_file_that_is_none_or_is_damaged_is_named(lr: ModuleType, run: Any, tmp_path: Path) -> None:
    (tmp_path / "text.parquet").write_text("no run")
    with pytest.raises(lr.Error, match="text.parquet is not a run file: it is not Parquet"):
        lr.load(tmp_path / "text.parquet")
    content = bytearray(run.path.read_bytes())
    content[200] ^= 0xFF
    (tmp_path / "damaged.parquet").write_bytes(content)
    with pytest.raises(lr.Error, match="damaged.parquet is damaged"):
        lr.load(tmp_path / "damaged.parquet").frame
