"""Tests `lastrank.fit`, `compare`, `plan`, `ab`, `watch` and `Program`."""

import datetime
import json
import math
import random
import subprocess
from pathlib import Path
from types import ModuleType

import numpy
import pandas
import polars
import pytest


def maxima(count: int, scale: float = 1.0, seed: int = 1) -> list[float]:
    """Maxima of exponential draws: their distribution is a GEV with shape near 0."""
    draw = random.Random(seed)
    return [scale * (10 + max(draw.expovariate(1.0) for _ in range(50))) for _ in range(count)]


def test_a_fit_is_the_document_of_the_command_line(lr: ModuleType, tmp_path: Path) -> None:
    from lastrank import _executable

    values = maxima(200)
    (tmp_path / "values").write_text("".join(f"{value!r}\n" for value in values))
    printed = subprocess.run(
        [_executable.executable(), "fit", "values", "--unit", "ms", "--json"], capture_output=True, text=True, check=True
    )
    fit = lr.fit(values, unit="ms")
    assert fit.document == json.loads(printed.stdout)
    assert fit.unit == "s" and fit.shape.value == fit.document["gev"]["shape"]
    assert fit.location.lower < fit.location.value < fit.location.upper
    assert fit.verdict.code == "gev-consistent" and fit.verdict.text == str(fit.verdict)
    assert repr(fit).startswith("values\n✔ The slow values look natural")


@pytest.mark.parametrize(
    "given",
    [
        numpy.asarray, pandas.Series, polars.Series, tuple, iter,
        lambda values: pandas.Series(values, dtype="Float64"),
        lambda values: numpy.asarray(values, dtype=object),
    ],
)
def test_values_of_any_library_are_the_same_values(lr: ModuleType, given: type) -> None:
    values = maxima(40)
    assert lr.fit(given(values)).document == lr.fit(values).document


def test_durations_of_pandas_are_seconds_and_a_series_keeps_its_name(lr: ModuleType) -> None:
    values = maxima(40)
    durations = [datetime.timedelta(milliseconds=value) for value in values]
    series = pandas.Series(durations, name="fsync")
    fit = lr.fit(series)
    assert fit.unit == "s" and fit.document["source"]["name"] == "fsync"
    assert fit.location.value == pytest.approx(lr.fit(values, unit="ms").location.value, rel=1e-4)
    assert fit.data is series
    assert lr.fit(durations).location == fit.location
    assert lr.fit(polars.Series(values=durations)).unit == "s"


def test_names_that_look_like_options_are_names(lr: ModuleType, tmp_path: Path) -> None:
    values = maxima(30)
    Path("-x").write_text("\n".join(map(repr, values)))
    assert lr.fit("-x").location == lr.fit(values).location
    table = {"--help": values, "-y": ["-a", "b, c"] * 15}
    fit = lr.fit(table, value="--help", by="-y")
    assert fit.document["source"]["name"] == "help" and {group.name for group in fit.groups()} == {"-a", "b, c"}
    assert lr.fit([value - 20 for value in values], model="gpd", threshold=-8.0).document["gpd"]["threshold"]["value"] == -8


def test_return_levels_of_other_periods_are_those_of_the_same_fit(lr: ModuleType) -> None:
    fit = lr.fit(maxima(100), periods=[10])
    assert [one.period for one in fit.return_levels()] == [10]
    ten, hundred = fit.return_levels([10, 100])
    assert ten == fit.return_levels()[0] and hundred.level > ten.level and hundred.lower < hundred.level < hundred.upper
    assert repr(fit.return_levels()).split()[:3] == ["exceeded", "once", "in"] and "<table>" in fit.return_levels()._repr_html_()


def test_levels_of_a_law_that_does_not_hold_are_not_shown_before_the_verdict(lr: ModuleType) -> None:
    fit = lr.fit(maxima(60) + maxima(60, 2.0))
    levels = fit.return_levels()
    assert fit.verdict.code == "not-independent" and repr(levels).startswith(fit.verdict.text)
    assert levels._repr_html_().startswith("<p><b>")


def test_missing_values_are_refused_or_counted(lr: ModuleType) -> None:
    values = maxima(50)
    with_gaps = [*values[:10], math.nan, *values[10:], None]
    with pytest.raises(lr.Error, match=r"2 of 52 values, value 10 the first, are missing \(NaN\).*nan='drop'"):
        lr.fit(with_gaps)
    fit = lr.fit(with_gaps, nan="drop")
    assert fit.document["dropped"]["nan"] == 2 and fit.n == 50
    assert fit.location == lr.fit(values).location
    with pytest.raises(lr.Error, match="value 0 is infinite"):
        lr.fit([math.inf, *values], nan="drop")


def test_what_is_no_sample_is_named(lr: ModuleType) -> None:
    for data, words in (
        ([1.0, 2.0, 3.0], "3 finite values, at least 10 are needed"),
        ([], "it holds no numbers"),
        (["slow"], "value 0 is no number: 'slow'"),
        (numpy.zeros((3, 2)), r"the values have the shape \(3, 2\)"),
        ("none.csv", "cannot read none.csv"),
    ):
        with pytest.raises(lr.Error, match=words):
            lr.fit(data)
    with pytest.raises(lr.Error, match="invalid value 'gdp' for '--model <MODEL>'") as caught:
        lr.fit(maxima(20), model="gdp")
    assert "--help" not in str(caught.value)


@pytest.mark.parametrize("frame", [dict, pandas.DataFrame, polars.DataFrame])
def test_groups_of_a_data_frame_say_which_nodes_are_slow(lr: ModuleType, frame: type) -> None:
    columns = {"duration_s": maxima(60) + maxima(60, 1.5, 2) + maxima(60, 1.0, 3), "node": ["a"] * 60 + ["b"] * 60 + ["c"] * 60}
    groups = lr.fit(frame(columns), value="duration_s", by="node", unit="s").groups()
    assert [(group.name, group.finding) for group in groups][0] == ("b", "slow") and groups[0].p_adjusted < 0.001
    with pytest.raises(lr.Error, match="there is no column `host`; there are duration_s, node"):
        lr.fit(frame(columns), value="duration_s", by="host")


def test_covariates_are_names_or_columns(lr: ModuleType) -> None:
    values = maxima(80)
    load = [at / 80 for at in range(80)]
    rising = [value + 20 * at for value, at in zip(values, load, strict=True)]
    fit = lr.fit(rising, covariates={"load": load}, at={"load": 0.5})
    assert fit.document["covariates"]["terms"][0]["p"] < 1e-6
    assert lr.fit(rising, covariates=["trend"]).document["covariates"]["terms"][0]["name"] == "trend"
    with pytest.raises(lr.Error, match="entry 1 of `load` is missing"):
        lr.fit(rising, covariates={"load": [1.0, None, *load[2:]]})
    with pytest.raises(lr.Error, match="3 entries in `load` for 80 values"):
        lr.fit(rising, covariates={"load": [1, 2, 3]})


def test_other_laws(lr: ModuleType) -> None:
    values = maxima(2000)
    assert lr.fit(values, model="gpd", threshold="95%").shape.value == pytest.approx(0, abs=0.4)
    assert lr.fit(values, model="gumbel").model == "gumbel"
    assert lr.fit(values, block=20).document["block"]["count"] == 100
    largest = lr.fit(values, model="r-largest", block=50, r=3)
    assert largest.model == "r_largest" and largest.return_levels([10])[0].level > 0
    with pytest.raises(lr.Error, match="has no verdict"):
        lr.fit(values, model="gpd", threshold="95%").verdict


def test_figures_of_a_fit_are_those_of_its_page(lr: ModuleType, tmp_path: Path) -> None:
    fit = lr.fit(maxima(60), unit="ms")
    figure = fit.figure()
    assert {"data", "layout"} <= set(figure) and figure == fit.figure("return-levels")
    assert "figures" not in fit.document
    with pytest.raises(lr.Error, match="there is no figure `pie`; there are "):
        fit.figure("pie")
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (tests/all.py installs it)")
    axes = fit.plot("return_levels")
    axes.figure.savefig(tmp_path / "levels.pdf")
    assert (tmp_path / "levels.pdf").read_bytes()[:5] == b"%PDF-"


def test_compare_says_by_what_factor(lr: ModuleType) -> None:
    old, new = maxima(100), maxima(100, 1.3, 2)
    found = lr.compare(old, new, unit="ms")
    assert found.verdict.code == "slower" and found.factor.lower < 1.3 < found.factor.upper
    assert repr(found).startswith("⚠ 30% slower: 1.30 times as long")
    assert found.document["source"] == {"quiet": "old", "new": "new", "unit": "s", "took": [None, None]}
    assert lr.compare(old, old).verdict.code == "no-difference"
    few = lr.compare(old, new[:3])
    assert few.verdict.code == "single-runs" and len(few.document["runs"]) == 3
    with pytest.raises(lr.Error, match="fewer than ten new values"):
        few.factor


def test_plan_says_how_many(lr: ModuleType) -> None:
    plan = lr.plan(maxima(200), "return-level(100)=1%", location="1%")
    assert len(plan.plans) == 2 and plan.runs == max(one["runs"] for one in plan.plans)
    assert "How many are needed" in repr(plan)
    with pytest.raises(lr.Error, match="say what is wanted"):
        lr.plan(maxima(20))


def test_ab_of_two_commands(lr: ModuleType) -> None:
    found = lr.ab(["sh", "-c", "exit 0"], "true", seconds=20)
    assert found.document["schema"] == "lastrank.ab/1" and repr(found) == found.verdict.text
    assert found.verdict.code in ("same", "slower", "faster", "open")
    with pytest.raises(lr.Error, match="`false` failed"):
        lr.ab("false", "true")


def test_watch_tells_a_spike_and_goes_on_from_its_state(lr: ModuleType, tmp_path: Path) -> None:
    watcher = lr.watch(maxima(300), state=tmp_path / "state")
    assert "Spike alarm" in watcher.baseline["text"] and not watcher.alarmed
    assert watcher.push(maxima(20, seed=5)) == [] and watcher.runs == 20
    (event,) = watcher.push(100.0)
    assert event.event == "spike" and event.value == 100.0 and watcher.alarmed
    assert lr.watch(maxima(300), state=tmp_path / "state").runs == 21
    with pytest.raises(lr.Error, match="at least"):
        lr.watch(maxima(20))


def test_a_program_is_checked_explained_formatted_and_run(lr: ModuleType, tmp_path: Path) -> None:
    program = lr.Program('repeat 100 {read("f");}')
    assert not program.check() and repr(program.check()) == "the program: no mistakes found"
    work = program.explain(n=2).document["explanation"]["work"]
    assert work[0]["tally"]["operations"] == {"read": 100}
    assert str(program.formatted()) == 'repeat 100 { read("f"); }\n'
    wrong = lr.Program('repeat 3 { reed("f"); }').check()
    assert [(one.code, one.line, one.column) for one in wrong.errors] == [("E0205", 1, 12)]
    assert "did you mean `read`?" in repr(wrong)
    assert lr.Program("repeat 5 getpid();").run(n=2, out=tmp_path / "run.parquet")["getpid"].summary().n == 10
    with pytest.raises(lr.ProgramError, match="unknown function"):
        lr.Program("reed();").explain()
    assert "define param" in lr.Program.load("disk").text
    with pytest.raises(lr.Error, match="nothing"):
        lr.Program.load("nothing")


def test_job_files_and_traces_become_programs(lr: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "job.fio").write_text("[job]\nrw=randread\nbs=4k\nsize=1m\nnumber_ios=10\nfilename=data\n")
    program = lr.from_fio("job.fio")
    assert "fread" in program.text and not program.check().errors
    lines = ["# DXT, file_id: 1, file_name: /scratch/shared.dat"]
    lines += [f" X_POSIX {rank} write 0 {rank * 4096} 4096 0.5 0.6" for rank in range(3)]
    (tmp_path / "dxt.txt").write_text("\n".join(lines) + "\n")
    assert "define ranks 3" in lr.from_darshan("dxt.txt").text
    (tmp_path / "job.fio").write_text("[job]\nrw=sideways\n")
    with pytest.raises(lr.Error, match="sideways"):
        lr.from_fio("job.fio")
