"""Tests `lastrank.read`: the numbers of files of other tools, with their unit, as the command line reads them."""

import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = "node,latency_ms,status\n" + "".join(f"n{at % 2},{10 + at % 7 * 0.5},{500 if at == 3 else 200}\n" for at in range(40))


def test_a_column_has_its_unit_and_says_what_was_taken(lr: ModuleType) -> None:
    Path("t.csv").write_text(TABLE)
    found = lr.read("t.csv", "latency_ms", by="node", where="status=200")
    assert (found.unit, found.name, found.format, found.rows, len(found)) == ("ms", "latency_ms", None, 40, 39)
    assert found.by[:3] == ["n0", "n1", "n0"] and found[0] == 10.0
    assert repr(found) == "<table: latency_ms in ms, 39 of 40 rows (1 left out by --where)>"
    with pytest.raises(lr.Error, match="choose one of its columns: `node`, `latency_ms`, `status`"):
        lr.read("t.csv")
    with pytest.raises(lr.Error, match="cannot read"):
        lr.read("no.csv")


def test_what_is_read_is_fitted_with_its_unit(lr: ModuleType) -> None:
    Path("t.csv").write_text(TABLE)
    of_table = lr.fit(lr.read("t.csv", "latency_ms"))
    of_file = lr.fit("t.csv", value="latency_ms")
    assert of_table.verdict.code == of_file.verdict.code
    levels = [[one.level for one in found.return_levels([10, 100])] for found in (of_table, of_file)]
    assert levels[0] == levels[1] and 0.011 < levels[0][0] < 0.02, "in seconds"


def test_formats_and_arrays_are_read(lr: ModuleType) -> None:
    numpy = pytest.importorskip("numpy")
    example = ROOT / "crates/intake/tests/formats/hyperfine.json"
    [first, *_] = json.loads(example.read_text())["results"]
    found = lr.read(example, first["command"])
    assert (found.format, found.unit, found.tolist()) == ("hyperfine JSON", "s", first["times"])
    numpy.save("a.npy", numpy.arange(5.0))
    assert numpy.array_equal(numpy.asarray(lr.read("a.npy")), numpy.arange(5.0))
    Path("d.csv").write_text("v\n1.234,5\n-\n")
    taken = lr.read("d.csv", "#1", decimal=",", thousands=".", nan="drop")
    assert taken.tolist() == [1234.5]


def test_pandas_keeps_the_unit(lr: ModuleType) -> None:
    pytest.importorskip("pandas")
    Path("t.csv").write_text(TABLE)
    frame = lr.read("t.csv", "latency_ms", by="node").to_pandas()
    assert list(frame.columns) == ["latency_ms", "by"] and frame.attrs == {"unit": "ms"} and len(frame) == 40
