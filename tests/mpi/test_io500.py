"""Tests the phases, scores and results of `lastrank io500` on four ranks, and the number that all ranks agree on."""

import configparser
import math
from pathlib import Path

import pandas
import pytest

from .launchers import Launcher, launcher

RANKS = 4
TRANSFERS, EASY, SEGMENTS, HARD = 16, 110, 20, 120
CONFIG = f"""
[global]
datadir = DIR/data/below
timestamp-datadir = FALSE
resultdir = DIR/results
timestamp-resultdir = FALSE
[debug]
stonewall-time = 30
[ior-easy]
transferSize = 64k
blockSize = {TRANSFERS * 64}k
[mdtest-easy]
n = {EASY}
[ior-hard]
segmentCount = {SEGMENTS}
[mdtest-hard]
n = {HARD}
"""
# Of each phase: the operation that counts, how often a rank does it, and bytes of one.
PHASES = {
    "ior-easy-write": ("fwrite", TRANSFERS, 65536),
    "mdtest-easy-write": ("create", EASY, 0),
    "ior-hard-write": ("fwrite", SEGMENTS, 47008),
    "mdtest-hard-write": ("write", HARD, 3901),
    "find": ("stat", None, 0),
    "ior-easy-read": ("fread", TRANSFERS, 65536),
    "mdtest-easy-stat": ("stat", EASY, 0),
    "ior-hard-read": ("fread", SEGMENTS, 47008),
    "mdtest-hard-stat": ("stat", HARD, 0),
    "mdtest-easy-delete": ("unlink", EASY, 0),
    "mdtest-hard-read": ("read", HARD, 3901),
    "mdtest-hard-delete": ("unlink", HARD, 0),
}
BANDWIDTH = {name for name in PHASES if name.startswith("ior")}
# Those of mdtest and IOR's: a file of each rank, and the shared one.
FILES = RANKS * (EASY + HARD) + RANKS + 1


def written(folder: Path, text: str = CONFIG) -> Path:
    config = folder / "config.ini"
    config.write_text(text.replace("DIR", str(folder)))
    return config


@pytest.fixture(params=["processes", "mpich", "openmpi"])
def by(request: pytest.FixtureRequest) -> Launcher:
    """Without MPI, and both families of it."""
    return launcher(request.param)


def mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def seconds(samples: pandas.DataFrame, name: str) -> float:
    """From the begin of a phase until a rank had met the others behind it, on the rank that took longest."""
    lasted = []
    for _, of_rank in samples.groupby("rank"):
        [phase] = of_rank[(of_rank.label == name) & (of_rank.kind == "phase")].itertuples()
        waits = of_rank[(of_rank.kind == "barrier") & (of_rank.start_ns >= phase.start_ns + phase.duration_ps // 1000)]
        behind = waits.sort_values("start_ns").iloc[0]
        lasted.append(behind.start_ns + behind.duration_ps // 1000 - phase.start_ns)
    return max(lasted) / 1e9


def test_four_ranks_do_the_twelve_phases_and_leave_results_only(by: Launcher, tmp_path: Path) -> None:
    done = by.lastrank("io500", RANKS, "--config", written(tmp_path), "--report", "none")
    assert done.returncode == 0, done.stdout + done.stderr
    results = tmp_path / "results"
    # Under a launcher nobody knows which rank made the directory.
    assert [path for path in tmp_path.rglob("*") if "data" in path.name and path.is_file()] == []
    assert (tmp_path / "data").exists() == bool(by.words)
    assert list(tmp_path.glob("data/below/*")) == []
    assert {path.name for path in results.iterdir()} == {
        "config-orig.ini", "io500.parquet", "result.txt", "result_summary.txt",
    }
    samples = pandas.read_parquet(results / "io500.parquet")
    assert (samples.errno == 0).all()
    told = configparser.ConfigParser(comment_prefixes=";")
    told.read(results / "result.txt")
    assert [name for name in told.sections() if name not in ("run", "SCORE")] == list(PHASES)
    assert told["run"]["procs"] == str(RANKS)
    for name, (operation, times, size) in PHASES.items():
        of_phase = samples[(samples.label == name) & (samples.kind == "operation") & (samples.operation == operation)]
        if times is not None:
            assert of_phase.groupby("rank").size().to_dict() == dict.fromkeys(range(RANKS), times), name
        if name in BANDWIDTH:
            assert set(of_phase.bytes) == {size}, name
        found = told[name]
        assert float(found["t_delta"]) == pytest.approx(seconds(samples, name), abs=1e-4), name
        if name in BANDWIDTH:
            assert int(found["bytes"]) == of_phase.bytes.sum()
            amount = int(found["bytes"]) / 2**30
        else:
            amount = (FILES if name == "find" else len(of_phase)) / 1000
            assert int(found["total-files"]) == round(amount * 1000), name
        assert float(found["score"]) == pytest.approx(amount / seconds(samples, name), rel=1e-3, abs=2e-6), name
    # 101 of the hard files of each rank, and as many of the easy ones, which have another size.
    assert told["find"]["found"] == str(RANKS * sum("01" in str(number) for number in range(HARD)))
    scores = {name: float(told[name]["score"]) for name in PHASES}
    bandwidth = mean([scores[name] for name in PHASES if name in BANDWIDTH])
    rates = mean([scores[name] for name in PHASES if name not in BANDWIDTH])
    total, mark = told["SCORE"]["SCORE"].split()
    assert float(total) == pytest.approx(math.sqrt(bandwidth * rates), rel=1e-2) and mark == "[INVALID]"
    summary = (results / "result_summary.txt").read_text()
    assert summary.split("\n\n")[0] in done.stdout and summary.count("[RESULT]") == 12
    assert " ".join(summary.split()) in " ".join(done.stdout.split())
    for words in ("stonewall-time is 30; the rules ask for 300", "less than its stonewall of 30 s", "raise [mdtest-hard] n"):
        assert words in summary, summary
    assert "No result of lastrank can be submitted" in summary
    assert (results / "config-orig.ini").read_text() == (tmp_path / "config.ini").read_text()


def test_after_the_stonewall_every_rank_does_as_much_as_the_fastest(tmp_path: Path) -> None:
    words = ["stonewall=60ms", "easy_transfer=64KiB", f"dir={tmp_path}", "leave_out=find", "easy_own=no", "easy_block=1GiB"]
    run = tmp_path / "run.parquet"
    by = launcher("processes")
    done = by.lastrank("run", RANKS, "io500", *(word for one in words for word in ("--set", one)), "-o", run, "--report", "none")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["run.parquet"]
    samples = pandas.read_parquet(run)
    operations = samples[samples.kind == "operation"]
    for write, read in (("ior-easy-write", "ior-easy-read"), ("ior-hard-write", "ior-hard-read"), ("mdtest-hard-write", "mdtest-hard-read")):
        made = operations[operations.operation == PHASES[write][0]]
        near = made[made.label.isin([write, f"{write} wear-out"])]
        at_wall = made[made.label == write].groupby("rank").size()
        of_all = near.groupby("rank").size()
        assert set(of_all) == {at_wall.max()}, write
        back = operations[(operations.label == read) & (operations.operation == PHASES[read][0])]
        assert back.groupby("rank").size().to_dict() == of_all.to_dict(), read


def test_all_ranks_have_the_largest_number(started_by: Launcher, tmp_path: Path) -> None:
    program, run = tmp_path / "program.ppl", tmp_path / "run.parquet"
    program.write_text(
        'define groups {"left":D, "right":D};\n'
        "$i = $$rank * 3;\n"
        f'for $k in $i..largest($i) append("{tmp_path}/a-$$rank", 1k);\n'
        "assert largest(0 - 5 - $$rank) == 0 - 5;\n"
        'group "left" { assert largest($$rank) == 1; }\n'
        'group "right" { assert largest($$rank) == 2; }\n'
    )
    words = (program, "--report", "none", "-o", run, "--allow", tmp_path, "-g", "left:2", "-g", "right:1")
    done = started_by.lastrank("run", 3, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    sizes = [path.stat().st_size for path in sorted(tmp_path.glob("a-*"))]
    assert sizes == [6 * 1024, 3 * 1024]


def test_files_of_an_earlier_run_are_not_written_over(tmp_path: Path) -> None:
    config = written(tmp_path)
    theirs = tmp_path / "data" / "below" / "mdtest-easy" / "kept"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("theirs")
    done = launcher("processes").lastrank("io500", 2, "--config", config, "--report", "none")
    assert done.returncode == 3 and "mkdir" in done.stderr, done.stdout + done.stderr
    assert [path for path in (tmp_path / "data").rglob("*") if path.is_file()] == [theirs]
    summary = (tmp_path / "results" / "result_summary.txt").read_text()
    assert "the run did not come to its end" in summary and "ior-easy-write did nothing, or did not end" in summary
    assert "TOTAL 0.000000 [INVALID]" in summary and "[RESULT]" not in summary


def test_the_configuration_alone_sets_parameters(tmp_path: Path) -> None:
    done = launcher("processes").lastrank("io500", 2, written(tmp_path), "--set", "stonewall=1s")
    assert done.returncode == 2 and "--set" in done.stderr, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["config.ini"]


def test_ranks_of_a_launcher_need_one_name_for_their_directories(tmp_path: Path) -> None:
    config = written(tmp_path, "[global]\ndatadir = DIR/data\nresultdir = DIR/results\n")
    done = launcher("mpich").lastrank("io500", 2, "--config", config)
    assert done.returncode != 0 and done.stderr.count("--timestamp") == 1, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["config.ini"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[ior-hard]\ncollective = TRUE\n[global]\napi = DFS\n", ["collective = TRUE", "API = DFS"]),
        ("[mdtest-easy]\nn = many\n", ["in [mdtest-easy]: `n=many`"]),
        (None, ["cannot read"]),
    ],
)
def test_a_configuration_that_cannot_be_carried_out_is_refused(tmp_path: Path, text: str | None, words: list[str]) -> None:
    config = tmp_path / "config.ini" if text is None else written(tmp_path, text)
    done = launcher("processes").lastrank("io500", 2, config)
    assert done.returncode == 2 and all(word in done.stderr for word in words), done.stderr
    assert list(tmp_path.iterdir()) == ([config] if text else [])
