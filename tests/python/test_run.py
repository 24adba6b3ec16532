"""Tests `lastrank.run`, `load` and what a run shows of itself."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SIMULATED = {"backend": "simulate:gev(10ms,1ms,0.1)"}


@pytest.fixture(scope="module")
def run(lr: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The experiment of the paper, simulated."""
    return lr.run("parallel_write", out=tmp_path_factory.mktemp("run") / "write.parquet", repeat=200, **SIMULATED)


def command(lr: ModuleType, *arguments: object) -> str:
    """What the command line prints."""
    from lastrank import _executable

    words = [str(_executable.executable()), *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "80"}).stdout


def test_a_run_shows_the_first_screen_of_the_command_line(lr: ModuleType, run: Any) -> None:
    printed = command(lr, "report", run.path, "-o", "page.html").splitlines()
    shown = repr(run).splitlines()
    assert shown[:2] == printed[:2] and [line.replace(", page.html (report)", "") for line in printed] == shown
    assert "✔ 16,000 operations, 0 errors" in repr(run)


def test_a_notebook_shows_it_in_colours_with_a_line_over_time(run: Any) -> None:
    shown = run._repr_html_()
    assert shown.startswith("<pre") and "\x1b" not in shown and '<span style="color' in shown and "<svg" in shown


def alike(found: Any, told: Any) -> bool:
    """The same, where numbers may differ beyond the 7 digits that documents have."""
    if isinstance(told, dict):
        return found.keys() == told.keys() and all(alike(found[key], told[key]) for key in told)
    if isinstance(told, list):
        return len(found) == len(told) and all(map(alike, found, told))
    if isinstance(told, float):
        return found == pytest.approx(told, rel=1e-6)
    return found == told


def test_documents_are_those_of_the_command_line(lr: ModuleType, run: Any) -> None:
    assert run.document == json.loads(command(lr, "report", run.path, "--json"))
    whole = json.loads(command(lr, "report", run.path, "--json", "--with", "ranks"))
    assert alike(run.results, whole["results"])
    assert run.facts == whole["facts"]


def test_a_summary_has_the_numbers_of_the_document(run: Any) -> None:
    row = next(row for row in run.document["results"] if row["operation"] == "fwrite")
    summary = run["write/fwrite"].summary()
    assert (summary.n, summary.errors) == (3200, 0) and alike(summary.iops, row["operations_per_second"])
    assert alike(summary["p99"], row["quantiles_seconds"]["p99"]) and summary.p9999 is None
    lower, upper = summary.intervals["p99"]
    assert lower <= summary.p99 <= upper
    assert alike(dict(summary)["mib_per_second"], row["bytes_per_second"] / 2**20)
    assert repr(summary).splitlines()[0].split() == ["write", "/", "fwrite", "95%", "interval"]


def test_places_are_found_by_label_operation_and_both(lr: ModuleType, run: Any) -> None:
    assert run["write"].summary().n == 3200 and run["write"].summary().row["kind"] == "time"
    assert run["fwrite"].summary().row == run["write / fwrite"].summary().row == run["write/fwrite"].summary().row
    with pytest.raises(lr.Error, match="no sample of `reed`; sites with samples: alloc, fopen, barrier, write"):
        run["reed"]


def test_a_block_that_was_passed_once_stands_for_its_operation(lr: ModuleType, tmp_path: Path) -> None:
    text = 'time["once"] repeat 30 getpid(); time["two"] { getpid(); read("f"); } time["two"] getpid();'
    with pytest.warns(lr.RunWarning):
        run = lr.run(text, out=tmp_path / "run.parquet")
    assert run["once"].summary().row["operation"] == "getpid" and run["once"].name == "once/getpid"
    assert run["two"].summary().row["kind"] == "time"
    with pytest.raises(lr.Error, match="`getpid` names several: choose one of `once/getpid`, `two/getpid`"):
        run["getpid"]


def test_values_are_seconds_in_time_order(run: Any) -> None:
    frame = run.frame.to_pandas()
    writes = frame[(frame.label == "write") & (frame.operation == "fwrite")]
    assert sorted(run["write/fwrite"].values) == pytest.approx(sorted(writes.duration_ps * 1e-12))
    slowest = frame[(frame.label == "write") & (frame.operation == "time")].groupby("iteration").duration_ps.max()
    assert list(run["write"].slowest) == pytest.approx(list(slowest * 1e-12))
    assert run.values == run["write"].slowest


def test_a_series_of_pandas_knows_its_unit_and_its_times(lr: ModuleType, run: Any) -> None:
    series = run["write"].series(slowest=True)
    assert list(series) == list(run["write"].slowest) and series.name == "write" and series.attrs == {"unit": "s"}
    assert series.index.name == "start_s" and series.index.is_monotonic_increasing
    frame = run.frame.to_pandas()
    begins = frame[(frame.label == "write") & (frame.operation == "time")].groupby("iteration").start_ns.min()
    assert list(series.index) == pytest.approx(list(begins * 1e-9))
    fit = lr.fit(series)
    assert fit.unit == "s" and fit.location == run.fit().location and fit.data is series
    series.attrs["unit"] = "ms"
    assert lr.fit(series).location.value == pytest.approx(fit.location.value * 1e-3)


def test_a_run_and_its_places_are_fitted_and_compared(lr: ModuleType, run: Any) -> None:
    assert run.fit().document["source"]["name"].endswith("write: the slowest of 16 ranks")
    assert run["write"].fit(gate=True).location == run.fit().location
    assert run["fwrite"].fit(model="gpd", threshold="99%").document["source"]["site"] == "write / fwrite"
    assert lr.compare(run["write"], run["write"]).verdict.code == "no-difference"
    with pytest.raises(lr.Error, match="--unit is for plain numbers"):
        run.fit(unit="ms")
    with pytest.raises(lr.Error, match="`write` and `write/fwrite` are not the same operation"):
        lr.compare(run["write"], run["fwrite"])


def test_values_of_a_run_that_counted_are_refused(lr: ModuleType, tmp_path: Path) -> None:
    counted = lr.run("repeat 100 getpid();", record="histogram", out=tmp_path / "counted.parquet")
    with pytest.raises(lr.Error, match="--record histogram"):
        counted["getpid"].values
    assert counted["getpid"].summary().n == 100


def test_figures_are_those_of_the_page(lr: ModuleType, run: Any) -> None:
    figure = run.figure("return_levels")
    assert set(figure) >= {"data", "layout"} and figure == run.figure("return-levels")
    assert run.figure("qq") == run.figure("quantiles")
    with pytest.raises(lr.Error, match="there is no figure `pie`; there are "):
        run.figure("pie")
    assert run.page("page.html").read_text().startswith("<!doctype html>")


def test_a_page_follows_no_link_and_replaces_no_pipe(run: Any, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("the user's")
    (tmp_path / "page.html").symlink_to("thesis.txt")
    assert run.page(tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert not (tmp_path / "page.html").is_symlink() and (tmp_path / "thesis.txt").read_text() == "the user's"
    os.mkfifo(tmp_path / "pipe.html")
    with pytest.raises(OSError, match="no ordinary file"):
        run.page(tmp_path / "pipe.html")
    assert sorted(os.listdir(tmp_path)) == ["page.html", "pipe.html", "thesis.txt"]


def test_one_run_several_runs_and_none_are_loaded(lr: ModuleType, run: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.parquet").write_bytes(run.path.read_bytes())
    assert isinstance(lr.load("a.parquet"), lr.Run)
    runs = lr.load("*.parquet")
    assert isinstance(runs, lr.Runs) and [one.path.name for one in runs] == ["a.parquet", "b.parquet"]
    assert repr(runs).splitlines()[0].startswith("a.parquet: parallel_write: ")
    assert len(lr.load([run.path, "a.parquet"])) == 2
    with pytest.raises(lr.Error, match=r"no file fits \*\.none"):
        lr.load("*.none")
    with pytest.raises(lr.Error, match="cannot read none.parquet: No such file"):
        lr.load("none.parquet")


def test_errors_have_the_words_of_the_command_line(lr: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(lr.ProgramError, match=r"error\[E0205\]: unknown function `reed`") as caught:
        lr.run('repeat 3 { reed("f"); }')
    assert "did you mean `read`?" in str(caught.value)
    with pytest.raises(lr.Error, match=r"no experiment of that name \(did you mean `disk`\?\); the experiments are: .*communication, disk"):
        lr.run("dsik")
    with pytest.raises(lr.ProgramError, match="the program has no parameter `depht`"):
        lr.run("disk", depht=3)
    with pytest.raises(lr.Error, match="^invalid value 'many' for '--ranks <RANKS>'"):
        lr.run("disk", n="many")
    assert list(tmp_path.iterdir()) == []


def test_operations_that_fail_are_warned_of_and_kept(lr: ModuleType, tmp_path: Path) -> None:
    with pytest.warns(lr.RunWarning, match="read in line 1 failed 4 times"):
        run = lr.run('repeat 4 read("missing");', out=tmp_path / "run.parquet")
    assert run["read"].summary().errors == 4 and run.complete


def test_samples_that_could_not_be_kept_where_they_were_to_be_are_named(
    lr: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "elsewhere"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "remove").write_text("#!/bin/sh\nrm -r folder\n")
    (tmp_path / "remove").chmod(0o755)
    with pytest.warns(lr.RunWarning, match="the samples could not be kept in folder/run.parquet .* they are in .*elsewhere/run-"):
        run = lr.run('spawn("./remove");', out="folder/run.parquet", options=["--allow-spawn", "--unconfined"])
    (kept,) = (tmp_path / "elsewhere").glob("run-*.parquet")
    assert len(lr.load(kept).frame) == len(run.frame) == 1


def test_progress_comes_line_by_line(lr: ModuleType, tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []
    lr.run("repeat 10 getpid();", out=tmp_path / "run.parquet", progress=seen.append)
    assert seen[-1]["schema"] == "lastrank.progress/1" and seen[-1]["done"] == 1.0 and seen[-1]["samples"] == 10


def test_workloads_in_one_line(lr: ModuleType, tmp_path: Path) -> None:
    run = lr.io("randread", tmp_path, out=tmp_path / "io.parquet", bs="4k", depth=4, size="1MiB", ops=200)
    assert run["randread"].summary().n == 200
    with pytest.raises(lr.Error, match="unexpected argument '--dpeth'"):
        lr.io("randread", tmp_path, dpeth=4)


def test_ctrl_c_keeps_what_was_measured(lr: ModuleType, tmp_path: Path) -> None:
    script = (
        "import sys, warnings, lastrank as lr\n"
        "warnings.simplefilter('ignore')\n"
        "def look(line): print('measures', flush=True)\n"
        "run = lr.run('repeat 1000000000 { sleep(1ms); getpid(); }', n=2, out='kept.parquet', progress=look)\n"
        "print(run.complete, len(run.frame) > 10, flush=True)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "measures\n"
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=120)
    assert child.returncode == 0 and out.splitlines()[-1] == "False True"
    assert len(lr.load(tmp_path / "kept.parquet").frame) > 10


def test_what_names_hold_commands_no_terminal(lr: ModuleType, tmp_path: Path) -> None:
    """A stranger's run file: its label would set the clipboard and turn the text around."""
    label = "\x1b]52;c;bHM=\x07\u202egnp"
    run = lr.run(f'repeat 30 {{ time["{label}"] {{ stat("."); stat("."); }} }}', out=tmp_path / "a.parquet")
    with pytest.raises(lr.Error) as refused:
        run["nothing"]
    with pytest.raises(lr.Error) as refused_natively:
        run._file.values("nothing")
    place = run[label]
    texts = [repr(run), repr(place), place._repr_html_(), repr(lr.Runs([run])), str(refused.value), str(refused_natively.value)]
    for text in texts:
        assert not {"\x1b", "\x07", "\u202e"} & set(text), text
    assert "\\u{1b}]52" in repr(place) and "\\u{1b}]52" in str(refused.value)


def test_systems_that_are_not_measured_say_so(lr: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(lr.Error, match="`lastrank run` works on Linux only; on this system lastrank analyses"):
        lr.run("disk")


def test_what_other_systems_are_checked_with_passes_here() -> None:
    check = Path(__file__).parents[1] / "analysis.py"
    said = subprocess.run([sys.executable, check], capture_output=True, text=True, check=True).stdout
    assert said == "analysis on linux: fit, compare, check: ok\n"
