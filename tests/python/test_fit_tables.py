"""Tests `lastrank.fit` of tables: columns as covariates, levels at given covariates, Parquet of other tools."""

import random
from pathlib import Path
from types import ModuleType

import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest


@pytest.fixture(scope="module")
def frame() -> pandas.DataFrame:
    """Maxima whose location grows by 3 from load 0 to load 1."""
    draw = random.Random(3)
    loads = [draw.random() for _ in range(300)]
    seconds = [max(draw.expovariate(1.0) for _ in range(30)) + 3 * load for load in loads]
    return pandas.DataFrame({"seconds": seconds, "load": loads})


def test_a_column_called_load_is_a_covariate(lr: ModuleType, frame: pandas.DataFrame) -> None:
    """`load` is what a run has of waits for processors; a frame's own column comes first."""
    for table in (frame, polars.DataFrame(frame), pyarrow.Table.from_pandas(frame)):
        fit = lr.fit(table, value="seconds", covariates=["load"])
        slope = next(one for one in fit.document["covariates"]["coefficients"] if one["name"] == "load")
        assert slope["value"] == pytest.approx(3, abs=0.6), slope
    with pytest.raises(lr.Error, match="there is no column `busy`"):
        lr.fit(frame, value="seconds", covariates=["busy"])


def test_levels_at_covariates_are_those_levels_and_say_so(lr: ModuleType, frame: pandas.DataFrame) -> None:
    """Busy and idle differ by about 3; the table names what they are of."""
    busy = lr.fit(frame, value="seconds", covariates=["load"], at={"load": 1.0}).return_levels()
    idle = lr.fit(frame, value="seconds", covariates=["load"], at={"load": 0.0}).return_levels()
    assert [one.period for one in busy] == [10, 100, 1000]
    assert [one.level - other.level for one, other in zip(busy, idle, strict=True)] == pytest.approx([3] * 3, abs=0.6)
    assert all(one.lower < one.level < one.upper for one in busy)
    assert busy.at == {"load": 1.0} and "At load 1\n" in repr(busy) and "At load 1<" in busy._repr_html_()
    further = lr.fit(frame, value="seconds", covariates=["load"], at={"load": 1.0}).return_levels(50)
    assert further[0].period == 50 and busy[0].level < further[0].level < busy[1].level and further.at == {"load": 1.0}


def test_levels_that_take_no_account_of_covariates_say_so(lr: ModuleType, frame: pandas.DataFrame) -> None:
    """Without `at` they are of the distribution of all values."""
    fit = lr.fit(frame, value="seconds", covariates=["load"])
    levels = fit.return_levels()
    assert [one.level for one in levels] == [one["level"] for one in fit.document["return_levels"]]
    assert levels.at == {} and "whatever their covariates" in repr(levels)
    plain = lr.fit(frame, value="seconds").return_levels()
    assert plain.at is None and "covariates" not in repr(plain)


def test_one_period_is_a_period(lr: ModuleType, frame: pandas.DataFrame) -> None:
    """A number as well as a list of numbers."""
    fit = lr.fit(frame, value="seconds")
    assert fit.return_levels(100) == fit.return_levels([100]) == fit.return_levels()[1:2]
    assert fit.return_levels(250.0)[0].period == 250


def test_a_parquet_table_of_another_tool_is_fitted(lr: ModuleType, frame: pandas.DataFrame, tmp_path: Path) -> None:
    """As the frame is; without a column the error names them."""
    path = tmp_path / "plain.parquet"
    frame.to_parquet(path)
    fit = lr.fit(path, value="seconds", covariates=["load"])
    assert fit.document["covariates"] == lr.fit(frame, value="seconds", covariates=["load"]).document["covariates"]
    with pytest.raises(lr.Error, match="is no run: say with value= which of seconds, load"):
        lr.fit(str(path))
    # Torn files are for the program to refuse.
    path.write_bytes(b"PAR1")
    with pytest.raises(lr.Error, match="plain.parquet"):
        lr.fit(path, value="seconds")


def test_without_pyarrow_the_way_out_is_said(
    lr: ModuleType, frame: pandas.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package itself needs no other."""
    path = tmp_path / "plain.parquet"
    frame.to_parquet(path)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(lr.Error, match="install pyarrow, or give a data frame"):
        lr.fit(path, value="seconds")
