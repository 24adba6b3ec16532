"""`lastrank.eva.EVA` beside `lr.fit`, and the numbers of docs/python-for-pyextremes-users.md."""

import csv
import random
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "python-for-pyextremes-users.md").read_text()


@pytest.fixture(scope="module")
def values() -> list[float]:
    draw = random.Random(5)
    return [draw.expovariate(1.0) for _ in range(6000)]


@pytest.fixture
def eva(lr: ModuleType) -> type:
    return pytest.importorskip("lastrank.eva").EVA


def numbers(name: str) -> list[float]:
    rows = list(csv.reader((ROOT / "crates" / "tail" / "tests" / "data" / name).open()))
    return [float(row[-1]) for row in rows[1:]]


def test_maxima_of_blocks_are_those_of_the_fit(eva: type, lr: ModuleType, values: list[float]) -> None:
    found = eva(values)
    found.get_extremes("BM", block_size=50)
    found.fit_model()
    fit = lr.fit([max(values[at : at + 50]) for at in range(0, 6000, 50)])
    assert found.extremes == [max(values[at : at + 50]) for at in range(0, 6000, 50)]
    assert found.model.shape == fit.shape and found.AIC == fit.document["gev"]["aic"]
    level = fit.return_levels([100])[0]
    assert found.get_return_value(100, alpha=0.95) == (level.level, level.lower, level.upper)
    # Once in 5000 values is once in 100 blocks of 50; without alpha there is no interval.
    assert found.get_return_value(1, return_period_size=5000) == (level.level, None, None)
    wider = found.get_return_value(100, alpha=0.99)
    assert wider[0] == level.level and wider[1] < level.lower < level.upper < wider[2]
    assert found.get_return_value([10, 100])[0] == [one.level for one in fit.return_levels([10, 100])]


def test_peaks_over_a_threshold_fit_all_exceedances(eva: type, lr: ModuleType, values: list[float]) -> None:
    found = eva(values)
    found.get_extremes("POT", threshold=3.0, r=10)
    found.fit_model()
    above = [at for at, value in enumerate(values) if value > 3.0]
    assert found.model.document["gpd"]["exceedances"] == len(above) > len(found.extremes) > 100
    # No two that are listed are within ten values of each other's cluster, and the largest of each stays.
    assert max(values) in found.extremes
    assert found.get_return_value(1000) == (lr.fit(values, model="gpd", threshold=3.0).return_levels([1000])[0].level, None, None)


def test_blocks_of_time(eva: type, values: list[float]) -> None:
    pandas = pytest.importorskip("pandas")
    times = pandas.date_range("2026-01-01", periods=6000, freq="s")
    found = eva(pandas.Series(values, index=times, name="latency"))
    found.get_extremes("BM", block_size="50s")
    assert found.extremes.tolist() == [max(values[at : at + 50]) for at in range(0, 6000, 50)]
    assert found.extremes.name == "latency" and found.extremes.index.isin(times).all()
    found.fit_model()
    table = found.get_summary([10, 100], return_period_size="50s", alpha=0.95)
    assert list(table.columns) == ["return value", "lower ci", "upper ci"]
    assert table.loc[100.0].tolist() == list(found.get_return_value(100, "50s", 0.95))
    found.get_extremes("POT", threshold=3.0, r="10s")
    found.fit_model()
    assert found.get_return_value(1000, "1s")[0] == pytest.approx(found.get_return_value(1000)[0])


def test_what_is_done_otherwise_is_an_error_with_its_reason(eva: type, lr: ModuleType, values: list[float]) -> None:
    pandas = pytest.importorskip("pandas")
    found = eva(values)
    for wrong, words in (
        (lambda: found.extremes, "get_extremes"),
        (lambda: found.get_extremes("BM"), "have no times"),
        (lambda: found.get_extremes("BM", block_size=0), "at least one value"),
        (lambda: found.get_extremes("BM", "low", block_size=50), "negative of the data"),
        (lambda: found.get_extremes("POT"), "threshold="),
        (lambda: eva([1.0, float("nan")]), r"1 of 2 values are missing \(NaN\)"),
        (lambda: eva([]), "no values"),
        (lambda: eva(pandas.Series([1.0, 2.0], index=pandas.to_datetime(["2026-01-02", "2026-01-01"]))), "not ascending"),
    ):
        with pytest.raises(lr.Error, match=words):
            wrong()
    found.get_extremes("BM", block_size=50)
    for wrong, words in (
        (lambda: found.get_return_value(10), "fit_model"),
        (lambda: found.fit_model("Emcee"), "maximum likelihood"),
        (lambda: found.fit_model(distribution="genpareto"), "one of genextreme, gumbel_r"),
    ):
        with pytest.raises(lr.Error, match=words):
            wrong()
    gaps = pandas.Series(values[:200], index=pandas.date_range("2026-01-01", periods=200, freq="h"))
    with pytest.raises(lr.Error, match="have no value"):
        eva(gaps).get_extremes("BM", block_size="30min")
    few = eva([None, *values[:500]], nan="drop")
    few.get_extremes("BM", block_size=100)
    assert len(few.extremes) == 5


def test_its_figures_are_those_of_the_fit(eva: type, values: list[float]) -> None:
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot

    found = eva(values)
    found.get_extremes("BM", block_size=50)
    found.fit_model()
    figure, ax = found.plot_return_values()
    assert ax.figure is figure and ax.get_xlabel() == "exceeded once in …"
    assert found.plot_probability("QQ")[1].get_xlabel() == "fitted quantile"
    assert len(found.plot_diagnostic()[1]) == 4
    assert len(found.plot_extremes()[1].get_lines()[1].get_xdata()) == 120
    found.get_extremes("POT", threshold=3.0)
    found.fit_model()
    titles = [ax.get_title(loc="left") for ax in found.plot_diagnostic()[1]]
    assert titles == ["The far tail", "Mean residual life", "Shape by threshold", "Modified scale by threshold"]
    pyplot.close("all")


def test_the_numbers_of_the_page_are_those_of_lastrank(lr: ModuleType) -> None:
    fit = lr.fit(numbers("s01_paper400.csv"))
    law, [level] = fit.document["gev"], fit.return_levels([100])
    row = (
        f"| lastrank | {law['location']:.5f} | {law['scale']:.5f} | {law['shape']:.5f} | {law['negative_log_likelihood']:.6f} "
        f"| {level.level:.3f} ({level.lower:.3f} to {level.upper:.3f}) |"
    ).replace("-", "−")
    assert row in PAGE
    in_ns = lr.fit([1e9 * value for value in numbers("s01_paper400.csv")])
    assert in_ns.shape.value == pytest.approx(law["shape"], rel=1e-9)
    assert in_ns.location.value == pytest.approx(1e9 * law["location"], rel=1e-9)
    pirie = lr.fit(numbers("portpirie.csv")).document["gev"]
    errors = pirie["standard_errors"]
    text = ", ".join(f"{pirie[name]:.4f} ± {errors[name]:.4f}" for name in ("location", "scale", "shape")).replace("-", "−")
    assert f"lastrank: {text}." in PAGE


def test_the_python_of_the_page_runs(lr: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas")
    [block] = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    exec(compile(block, "page", "exec"), {})
    said = capsys.readouterr().out
    assert "not-independent" in said and "upper ci" in said
