"""Tests `--steady RULE`: when a load counts as steady, what is left out, and that every output says the same."""

import csv
import json
import re
import subprocess
from pathlib import Path

import pytest

# Pauses become shorter for 20 s of virtual time; then about 98 writes a second.
SETTLES = """
define param "n" $n 3000
define report {"samples": "load / write"}
time["load"] {
    repeat $i $n {
        write("f", 4KiB);
        if ($i < 400) sleep((400 - $i) * 200);
    }
}
delete("f");
"""
RULE = "iops 10% over 5s"
SIMULATED = ["--backend", "simulate:gev(10ms,300us,0.05)", "--report", "none"]


def run(program: str, folder: Path, *more: str, status: int = 0) -> str:
    done = subprocess.run([program, *more], cwd=folder, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return done.stdout


def measured(program: str, folder: Path, *more: str) -> str:
    (folder / "settles.ppl").write_text(SETTLES)
    return " ".join(run(program, folder, "run", "settles.ppl", *SIMULATED, "-o", "run.parquet", *more).split())


def document(program: str, folder: Path) -> dict:
    return json.loads(run(program, folder, "report", "run.parquet", "--json"))


def test_what_comes_before_is_left_out_of_every_output_and_kept_in_the_file(tmp_path, program):
    screen = measured(program, tmp_path, "--steady", RULE)
    found = document(program, tmp_path)
    steady, [part] = found["facts"]["steady"], found["numbers"]["parts"]
    assert steady["outcome"] == "steady" and steady["rule"]["text"] == RULE
    begin, end = steady["warm_up_ns"]
    assert begin == 0 and 18e9 < end < 21e9 and steady["window"]["begin_ns"] == end
    assert part["operations"] == 3000 - steady["left_out"] and 350 < steady["left_out"] < 420
    assert 96 < part["operations_per_second"] < 100 and not part["only_while_busy"]
    assert found["time"] == [] and not any(one["code"] == "not-steady" for one in found["warnings"])

    rest, left_out = part["operations"], steady["left_out"]
    after = f"{end / 1e9:.1f} s"
    assert f"Steady after {after} ({RULE}):" in screen and f"the {left_out} operations before are left out" in screen
    assert f"{rest // 1000},{rest % 1000:03} operations, 0 errors" in screen and "⚠" not in screen
    assert f"steady after {after}" in run(program, tmp_path, "report", "-q", "run.parquet")
    [listed] = json.loads(run(program, tmp_path, "ls", "--json", "."))["runs"]
    assert listed["steady"] == f"steady after {after}"
    assert listed["operations_per_second"] == pytest.approx(part["operations_per_second"], rel=1e-6)
    assert listed["numbers"]["operations"] == rest
    assert f"steady after {after}" in run(program, tmp_path, "ls", ".")
    run(program, tmp_path, "report", "run.parquet", "-o", "page.html")
    assert f"Steady after {after}" in (tmp_path / "page.html").read_text()
    fitted = json.loads(run(program, tmp_path, "fit", "run.parquet", "--json"))
    assert fitted["n"] == rest

    run(program, tmp_path, "export", "run.parquet", "--to", "csv", "-o", "all.csv")
    rows = list(csv.DictReader((tmp_path / "all.csv").open()))
    writes = [row for row in rows if row["operation"] == "write"]
    early = [row for row in writes if int(row["start_ns"]) < end]
    assert (len(writes), len(early)) == (3000, left_out)
    assert all((row["warm_up"] == "1") == (int(row["start_ns"]) < end) for row in writes)


@pytest.mark.parametrize(
    "rule, size, outcome, said",
    [
        (RULE, 390, "never", "Not steady: iops 10% over 5s never held; in the last 5.00 s: each 500 ms within"),
        ("iops 10% over 5min", 3000, "too_short", "Not steady: the load is shorter than the 300 s of iops 10% over 5min"),
        ("p99 10% over 5s", 3000, "too_few_values", "steady is not known: too few operations end in 500 ms"),
        ("lat of nothing 10% over 5s", 3000, "nothing_counted", "no operation that lat of nothing"),
    ],
)
def test_a_load_that_is_not_steady_is_told_so_and_loses_nothing(tmp_path, program, rule, size, outcome, said):
    screen = measured(program, tmp_path, "--steady", rule, "--set", f"n={size}")
    found = document(program, tmp_path)
    assert found["facts"]["steady"]["outcome"] == outcome and "warm_up_ns" not in found["facts"]["steady"]
    assert found["numbers"]["operations"] == size
    assert "⚠" in screen and said in screen
    assert [one["text"] for one in found["warnings"] if one["code"] == "not-steady"]
    assert not re.search(r"(?<!not )(?<!it is )steady", screen.lower().replace("known to be steady", ""))
    assert "steady" in run(program, tmp_path, "report", "-q", "run.parquet")


def test_nothing_says_steady_where_no_rule_was_given(tmp_path, program):
    screen = measured(program, tmp_path)
    told = run(program, tmp_path, "report", "-v", "run.parquet")
    assert "steady" not in (screen + told).lower()
    assert "steady" not in document(program, tmp_path)["facts"]


def test_a_run_ends_as_soon_as_it_is_steady(tmp_path, program):
    folder = tmp_path / "files"
    folder.mkdir()
    rule = ["--steady", "iops 99% over 1s", "--until", "steady", "--time", "60s"]
    ends = run(program, tmp_path, "io", "randread", "files", "--filesize", "1MiB", "--no-causes", "--report", "none",
               "--rate", "2000/s", "-o", "run.parquet", *rule)  # fmt: skip
    facts = document(program, tmp_path)["facts"]
    assert "ended by steady" in " ".join(ends.split())
    assert facts["until"]["ended_by"] == "condition" and facts["until"]["reached"] and facts["complete"]
    assert facts["steady"]["outcome"] == "steady" and facts["steady"]["ended_the_run"]
    assert facts["elapsed_s"] < 55


def test_a_job_file_of_fio_brings_its_rule_and_ends_by_it(tmp_path, program):
    job = "[a]\nrw=randread\nsize=1m\ntime_based=1\nruntime=60\nrate_iops=2000\nss=iops:90%\nss_dur=3s\nss_ramp=1s\n"
    (tmp_path / "a.fio").write_text(job)
    run(program, tmp_path, "import", "a.fio", "-o", "a.ppl")
    screen = run(program, tmp_path, "run", "a.ppl", "--no-causes", "--report", "none", "-o", "run.parquet", "-c")
    facts = document(program, tmp_path)["facts"]
    assert facts["steady"]["rule"]["text"] == "iops deviation 90% over 3s each 1s after 1s"
    assert facts["steady"]["outcome"] == "steady" and facts["elapsed_s"] < 55
    begin, end = facts["steady"]["warm_up_ns"]
    assert end - begin >= 1_000_000_000 and "ended by steady" in " ".join(screen.split())


@pytest.mark.parametrize(
    "more, said",
    [
        (["--steady", "iops 5%"], "over 30s"),
        (["--steady", "speed 5% over 30s"], "`speed` is not a quantity"),
        (["--until", "steady"], "--steady 'iops 5% over 30s'"),
        (["--steady", RULE, "--record", "histogram"], "needs every sample"),
    ],
)
def test_what_cannot_be_judged_is_refused_before_the_run(tmp_path, program, more, said):
    (tmp_path / "settles.ppl").write_text(SETTLES)
    done = subprocess.run([program, "run", "settles.ppl", *SIMULATED, *more], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and said in done.stderr and not list(tmp_path.glob("*.parquet"))
