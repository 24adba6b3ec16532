"""What a run did has one number in every output: operations, errors and bytes of all that it measured."""

import csv
import json
import random
import re
import subprocess
from pathlib import Path

import pyarrow.parquet
import pytest

#: Blocks, phases and commands outside of both; the last line removes what was made.
PROGRAMS = {
    "phases": (
        """on_error stop;
time["prepare"] { $f = fcreat("p.dat"); repeat 100 fwrite($f, 1MiB); fclose($f); }
phase "one" { $g = fcreat("q.dat"); repeat 20 fwrite($g, 4k); fclose($g); }
phase "two" { $g = fopen("q.dat", "r"); repeat 20 fread($g, 4k); fclose($g); }
delete("p.dat"); delete("q.dat");
""",
        (102 + 22 + 22, 0, (100 << 20) + 40 * 4096),
    ),
    "without-labels": ('write("a.dat", 4k); read("a.dat"); think 1us; delete("a.dat");', (3, 0, 8192)),
    "fails": (
        """time["prepare"] { write("p.dat", 1MiB); }
time["work"] { repeat 40 write("q.dat", 4k); repeat 3 expect_not(); }
delete("p.dat"); delete("q.dat");
def expect_not() { stat("no-such-file"); return 0; }
""",
        (41, 3, (1 << 20) + 40 * 4096),
    ),
    "lays-out": (
        """time["lay out"] { write("p.dat", 1MiB); }
$f = fopen("p.dat", "r");
time["randread"] repeat 50 fread($f, 4k);
fclose($f); delete("p.dat");
""",
        (52, 0, 50 * 4096),
    ),
}


def call(program: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, check=False)


def told(text: str) -> tuple[int, int]:
    """Operations that succeeded and that failed, of the line that says how a run went."""
    text = " ".join(text.split())
    if failed := re.search(r"([\d,]+) of ([\d,]+) operations? failed", text):
        errors, tried = (int(number.replace(",", "")) for number in failed.groups())
        return tried - errors, errors
    found = re.search(r"(\d[\d,]*) operations?, (\d+) errors", text)
    assert found, text
    return int(found[1].replace(",", "")), int(found[2])


@pytest.mark.parametrize("name", PROGRAMS)
def test_operations_errors_and_bytes_are_the_same_everywhere(name: str, program: Path, tmp_path: Path) -> None:
    text, (operations, errors, moved) = PROGRAMS[name]
    (tmp_path / "p.ppl").write_text(text)
    words = ["run", "p.ppl", "-o", "p.parquet", "--report", "none", "--append", "all.csv"]
    ran = call(program, tmp_path, *words)
    assert told(ran.stdout) == (operations, errors), ran.stdout + ran.stderr
    report = ["report", "p.parquet", "-o", "p.html", "--exit-zero"]
    assert told(call(program, tmp_path, *report, "-q").stdout) == (operations, errors)
    numbers = json.loads(call(program, tmp_path, *report, "--json").stdout)["numbers"]
    wanted = (operations, errors, moved)
    assert (numbers["operations"], numbers["errors"], numbers["bytes"]) == wanted
    [listed] = json.loads(call(program, tmp_path, "ls", "--json").stdout)["runs"]
    of_list = listed["numbers"]
    assert (of_list["operations"], of_list["errors"], of_list["bytes"]) == wanted
    assert (listed["operations"], listed["errors"]) == (operations, errors)
    [row] = csv.DictReader(call(program, tmp_path, "ls", "--csv").stdout.splitlines())
    assert (int(row["operations"]), int(row["errors"])) == (operations, errors)
    with (tmp_path / "all.csv").open() as file:
        for row in csv.DictReader(file):
            of_row = (int(row["run_operations"]), int(row["errors"]), int(row["run_bytes"]))
            assert of_row == wanted


def test_the_head_counts_what_the_run_file_has_and_the_table_says_the_rest(program: Path, tmp_path: Path) -> None:
    words = ["run", "parallel_write", "--backend", "simulate:constant(1ms)", "--set", "repeat=30", "-o", "p.parquet"]
    ran = call(program, tmp_path, *words, "--report", "none")
    file = pyarrow.parquet.read_table(tmp_path / "p.parquet").to_pylist()
    counted = [row for row in file if row["operation"] in ("alloc", "fopen", "fwrite", "fclose", "free")]
    assert told(ran.stdout)[0] == len(counted) == 16 * 30 * 5
    assert "and 4 more rows with 1,920 operations: -v" in ran.stdout, ran.stdout


@pytest.mark.parametrize(
    ("behind", "status", "said"),
    [
        ('assert p99("w") < 1h;', 0, []),
        ('assert p99("w") < 1ns;', 1, ["an assertion does not hold"]),
        ("$m = 5; assert $m == 5;", 1, ["an assertion was not evaluated", "p.ppl:2:"]),
        ('assert each p99("w") < 1ns;', 1, ["an assertion does not hold"]),
        ("if $$rank == 0 { assert 1 == 2; }", 1, ["an assertion was not evaluated"]),
    ],
)
def test_no_assertion_behind_a_loop_that_is_ended_is_dropped(
    behind: str, status: int, said: list[str], program: Path, tmp_path: Path
) -> None:
    (tmp_path / "p.ppl").write_text(f'repeat 100000000 {{ time["w"] write("a.dat", 4k); }}\n{behind}\n')
    # Of a simulated run samples are looked at from the first on, however busy this machine is.
    words = ["run", "p.ppl", "-o", "p.parquet", "--report", "none", "--backend", "simulate:exp(1ms)"]
    ran = call(program, tmp_path, *words, "--until", "n_eff(p50) > 50")
    assert ran.returncode == status, ran.stdout + ran.stderr
    assert any(line.startswith("✔ ") and " operations" in line for line in ran.stdout.splitlines()) == (status == 0), ran.stdout
    for part in said:
        assert part in " ".join(ran.stdout.split()), ran.stdout
    assert call(program, tmp_path, "report", "p.parquet", "-q", "-o", "p.html").returncode == status


def test_an_assertion_of_a_run_that_time_ends_at_once_is_told(program: Path, tmp_path: Path) -> None:
    (tmp_path / "p.ppl").write_text('for 1h { think 1ms; }\n$m = 5; assert $m == 5;\n')
    ran = call(program, tmp_path, "run", "p.ppl", "-o", "p.parquet", "--report", "none", "--time", "100ms")
    assert ran.returncode == 1 and "✖ an assertion was not evaluated" in ran.stdout, ran.stdout + ran.stderr


def test_lists_show_no_rate_and_no_time_of_wrong_data(program: Path, tmp_path: Path) -> None:
    (tmp_path / "p.ppl").write_text(
        """time["w"] repeat 40 write("blk", 64k);
spawn("dd if=/dev/zero of=blk bs=4k seek=3 count=1 conv=notrunc status=none");
time["r"] verify repeat 40 read("blk", 64k);
"""
    )
    words = ["run", "p.ppl", "-o", "p.parquet", "--report", "none", "--allow-spawn", "--append", "all.csv"]
    assert call(program, tmp_path, *words).returncode == 3
    [row] = csv.DictReader(call(program, tmp_path, "ls", "--csv").stdout.splitlines())
    rates = ["operations_per_second", "bytes_per_second", "p50_seconds", "p99_seconds"]
    assert [row[name] for name in rates] == [""] * 4
    assert row["status"] == "3"
    with (tmp_path / "all.csv").open() as file:
        for row in csv.DictReader(file):
            assert [row[name] for name in rates] == [""] * 4
            assert (row["status"], row["errors"]) == ("3", "40")
    [line] = [line for line in call(program, tmp_path, "ls").stdout.splitlines() if "p.parquet" in line]
    assert "µs" not in line and "/s" not in line and "✖ WRONG DATA" in line, line


def test_marks_of_the_screen_stand_in_lists_too(program: Path, tmp_path: Path) -> None:
    """A p99 that may be longer, and times until data are safe."""
    words = ["io", "write", "--fsync", "1", "--ops", "120", "--size", "1MiB", "--backend", "simulate:exp(1ms)"]
    words += ["-o", "p.parquet", "--report", "none", "--append", "all.csv"]
    ran = call(program, tmp_path, *words)
    assert "until safe" in ran.stdout and "ms?" in ran.stdout, ran.stdout
    quick = call(program, tmp_path, "report", "p.parquet", "-q", "-o", "p.html").stdout
    assert re.search(r"until safe p50 [\d.]+ ms, p99 [\d.]+ ms\?", quick), quick
    assert re.search(r"ms until safe +[\d.]+ ms\? until safe", call(program, tmp_path, "ls").stdout)
    with (tmp_path / "all.csv").open() as file:
        [row] = csv.DictReader(file)
    assert (row["value"], row["p99_upper_seconds"], row["started"]) == ("safe", "", "")
    assert float(row["p99_seconds"]) > 0


def test_a_file_of_appended_rows_that_an_earlier_version_began_goes_on(program: Path, tmp_path: Path) -> None:
    (tmp_path / "p.ppl").write_text('write("a", 4k); delete("a");')
    words = ["run", "p.ppl", "--report", "none", "-q", "--append", "all.csv"]
    call(program, tmp_path, *words).check_returncode()
    lines = (tmp_path / "all.csv").read_text().splitlines()
    (tmp_path / "all.csv").write_text(",".join(lines[0].split(",")[:20]) + "\n")
    call(program, tmp_path, *words).check_returncode()
    with (tmp_path / "all.csv").open() as file:
        [row] = csv.DictReader(file)
    assert None not in row and row["run_file"].endswith(".parquet")


@pytest.mark.parametrize("columns", [20, 24, 25])
def test_rows_fit_the_columns_of_every_version_and_say_whether_it_was_steady(
    columns: int, program: Path, tmp_path: Path
) -> None:
    (tmp_path / "p.ppl").write_text('repeat 3000 append("a", 4k);')
    words = ["run", "p.ppl", "--report", "none", "-q", "--append", "all.csv", "--backend", "simulate:exp(1ms)"]
    call(program, tmp_path, *words, "-o", "1.parquet").check_returncode()
    head = (tmp_path / "all.csv").read_text().splitlines()[0].split(",")
    assert len(head) == 25
    (tmp_path / "all.csv").write_text(",".join(head[:columns]) + "\n")
    steady = call(program, tmp_path, *words, "-o", "2.parquet", "--steady", "iops 90% over 1s")
    assert steady.returncode == 0, steady.stderr
    with (tmp_path / "all.csv").open() as file:
        [row] = csv.DictReader(file)
    assert None not in row and ("steady" in row) == (columns == 25)
    listed = list(csv.DictReader(call(program, tmp_path, "ls", "--csv").stdout.splitlines()))
    assert [bool(run["steady"]) for run in listed] == [False, True]
    assert row.get("steady", listed[1]["steady"]) == listed[1]["steady"]


def test_a_simulated_run_is_of_no_date_anywhere(program: Path, tmp_path: Path) -> None:
    (tmp_path / "p.ppl").write_text('time["w"] repeat 50 append("a", 4k);')
    words = ["run", "p.ppl", "--backend", "simulate:exp(1ms)", "-q", "-o", "p.parquet", "--report", "p.html"]
    call(program, tmp_path, *words).check_returncode()
    said = [call(program, tmp_path, "ls", *option).stdout for option in ([], ["--csv"], ["--json"])]
    for kind in ("parabench-xml", "parabench-report", "parabench-text", "csv"):
        said.append(call(program, tmp_path, "export", "p.parquet", "--to", kind, "-o", "-").stdout)
    page = re.sub(r"<script.*?</script>", "", (tmp_path / "p.html").read_text(), flags=re.DOTALL)
    assert "Report of a simulated run" in page
    assert all(text and "1970" not in text for text in [*said, page])
    [listed] = json.loads(said[2])["runs"]
    assert listed["started"] is None
    fit = call(program, tmp_path, "fit", "p.parquet", "--covariate", "hour")
    assert fit.returncode == 2 and "does not say when it began" in fit.stderr, fit.stderr


def test_directories_with_failed_runs_say_so_and_judge_no_condition(program: Path, tmp_path: Path) -> None:
    for folder, fails in (("old", [0, 0, 0]), ("new", [0, 1, 1])):
        (tmp_path / folder).mkdir()
        for at, bad in enumerate(fails):
            text = 'time["w"] repeat 40 append("a", 4k);' + (' stat("none");' if bad else "")
            (tmp_path / "p.ppl").write_text(text)
            words = ["run", "p.ppl", "--backend", "simulate:exp(1ms)", "--seed", str(at), "-q", "--report", "none"]
            call(program, tmp_path, *words, "-o", f"{folder}/{at}.parquet")
    words = ["compare", "old", "new", "--label", "w/append"]
    said = " ".join(call(program, tmp_path, *words).stdout.split())
    assert "2 of the 3 runs of new did not go well" in said and "1.parquet" in said, said
    judged = call(program, tmp_path, *words, "--fail-if", "factor > 1000")
    assert judged.returncode == 3 and "is not judged" in judged.stderr, judged
    same = call(program, tmp_path, "compare", "old", "old", "--label", "w/append", "--fail-if", "factor > 1000")
    assert same.returncode == 0 and "did not go well" not in same.stdout, same


def test_a_counting_run_tells_one_row_everywhere(program: Path, tmp_path: Path) -> None:
    (tmp_path / "p.ppl").write_text(
        'repeat 2000 { $b = alloc(4k); time["w"] write("a.dat", 4k); free($b); } delete("a.dat");'
    )
    words = ["run", "p.ppl", "--backend", "simulate:write: exp(1ms); *: constant(2ms)", "--record", "histogram"]
    ran = call(program, tmp_path, *words, "-o", "p.parquet", "--report", "none")
    assert re.search(r"^w / write: 2,000 operations", ran.stdout, re.MULTILINE), ran.stdout
    p50 = re.search(r"w / write +([\d.]+ .s)", ran.stdout)
    assert p50
    assert f"p50 {p50[1]}" in call(program, tmp_path, "report", "p.parquet", "-q", "-o", "p.html").stdout
    assert p50[1] in call(program, tmp_path, "ls").stdout


def test_what_ends_by_itself_is_not_ended_by_its_limit(program: Path, tmp_path: Path) -> None:
    (tmp_path / "p.ppl").write_text('repeat 50 { time["w"] write("a.dat", 4k); } delete("a.dat");')
    words = ["run", "p.ppl", "--time", "1h", "-o", "p.parquet", "--report", "none"]
    ran = call(program, tmp_path, *words)
    assert "✔ 50 operations, 0 errors, 200 KiB moved\n" in ran.stdout, ran.stdout


def test_a_time_that_no_clock_holds_is_refused(program: Path, tmp_path: Path) -> None:
    ran = call(program, tmp_path, "run", "parallel_write", "--backend", "simulate:exp(1e300s)")
    assert ran.returncode == 2 and "1e300s" in ran.stderr and "an hour" in ran.stderr, ran.stderr


@pytest.mark.parametrize("option", ["-q", "--one-line"])
def test_no_line_says_that_all_is_well_where_the_page_is_not_written(
    option: str, program: Path, tmp_path: Path
) -> None:
    (tmp_path / "p.ppl").write_text('repeat 50 { time["w"] write("a.dat", 4k); } spawn("rm -r page"); delete("a.dat");')
    (tmp_path / "page").mkdir()
    words = ["run", "p.ppl", "-o", "p.parquet", "--report", "page/p.html", "--allow-spawn", option]
    ran = call(program, tmp_path, *words)
    assert ran.returncode != 0, ran.stdout + ran.stderr
    assert "✔" not in ran.stdout and "the page could not be written" in ran.stdout, ran.stdout


def test_conditions_are_not_judged_by_failed_runs(program: Path, tmp_path: Path) -> None:
    (tmp_path / "good.ppl").write_text('repeat 60 { time["w"] write("a.dat", 4k); } delete("a.dat");')
    (tmp_path / "bad.ppl").write_text('repeat 60 { time["w"] write("a.dat", 4k); } stat("none"); delete("a.dat");')
    for name in ("good", "bad"):
        call(program, tmp_path, "run", f"{name}.ppl", "-o", f"{name}.parquet", "--report", "none", "-q")
    judged = call(program, tmp_path, "compare", "good.parquet", "bad.parquet", "--fail-if", "factor > 1000")
    assert judged.returncode == 3 and "stat in line 1 failed" in judged.stderr, judged.stderr
    same = call(program, tmp_path, "compare", "good.parquet", "good.parquet", "--fail-if", "factor > 1000")
    assert same.returncode == 0, same.stderr
    (tmp_path / "none.txt").write_text("\n")
    (tmp_path / "some.txt").write_text("\n".join(str(10 + at % 7) for at in range(60)))
    empty = call(program, tmp_path, "compare", "some.txt", "none.txt", "--unit", "ms", "--fail-if", "factor > 2")
    assert empty.returncode == 2 and "inf" not in empty.stdout + empty.stderr, empty.stderr


def test_an_empty_stream_is_not_well(program: Path, tmp_path: Path) -> None:
    draw = random.Random(1)
    (tmp_path / "base.txt").write_text("\n".join(f"{draw.gauss(10, 1):.5f}" for _ in range(400)))
    (tmp_path / "none.txt").write_text("")
    words = ["watch", "base.txt", "none.txt", "--unit", "ms", "--false-alarm-rate", "0.01"]
    said = call(program, tmp_path, *words)
    assert (said.returncode, "✔" in said.stdout) == (3, False), said.stdout + said.stderr
    assert "no value came from none.txt: nothing was watched" in said.stderr, said.stderr


def test_one_large_group_is_counted(program: Path, tmp_path: Path) -> None:
    rows = [f"{at % 13 + 10},a" for at in range(60)] + ["11,b", "12,c"]
    (tmp_path / "g.csv").write_text("ms,node\n" + "\n".join(rows))
    said = call(program, tmp_path, "fit", "g.csv", "--column", "ms", "--by", "node", "--unit", "ms")
    assert "3 groups, of which 1 has at least 10 values" in " ".join(said.stdout.split()), said.stdout + said.stderr


def test_bounds_of_another_kind_are_refused_with_what_to_write(program: Path, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("\n".join(f"{10 + (at * 7919 % 101) / 50:.3f}" for at in range(200)))
    for bound in ("5", "5GiB"):
        said = call(program, tmp_path, "plan-runs", "t.txt", "--unit", "us", f"width(p99) < {bound}")
        assert said.returncode == 2 and "width(p99) < 5%" in said.stderr or bound != "5", said.stderr
        assert said.returncode == 2, said.stdout
    (tmp_path / "p.ppl").write_text('time["write"] repeat 10 write("a", 4k); delete("a");')
    refused = call(program, tmp_path, "run", "p.ppl", "--until", "width(p99)<5")
    assert refused.returncode == 2 and "write `width(p99) < 5%`" in refused.stderr, refused.stderr
    taken = call(program, tmp_path, "run", "p.ppl", "--until", 'width(p99("write")) < 5%', "--report", "none", "-q")
    assert taken.returncode == 0, taken.stderr


def test_names_break_no_line_and_errors_name_the_way_out(program: Path, tmp_path: Path) -> None:
    name = "a\nb.ppl"
    (tmp_path / name).write_text('repeat 40 { time["w"] write("x", 4k); } stat("none"); delete("x");')
    ran = call(program, tmp_path, "run", name, "--report", "none", "-o", "new\nline.parquet")
    following = [line for line in ran.stdout.splitlines() if line.startswith("Next:")]
    assert following and "a\nb.ppl" not in ran.stdout and "\\012" in ran.stdout, ran.stdout
    rows = call(program, tmp_path, "ls").stdout.splitlines()
    assert sum("new\\nline.parquet" in row for row in rows) == 1 and "line.parquet" not in [r.strip() for r in rows]
    wrong = call(program, tmp_path, "ls", name)
    assert wrong.returncode == 2 and "is a file" in wrong.stderr and "os error" not in wrong.stderr
    missing = call(program, tmp_path, "fit", "missing.parquet")
    assert missing.returncode == 2 and "missing.parquet" in missing.stderr, missing.stderr
    assert "os error" not in missing.stderr and "lastrank ls" in missing.stderr, missing.stderr


def test_safe_writes_are_compared_by_the_calls_that_make_them_safe(program: Path, tmp_path: Path) -> None:
    """The writes alone end in memory; what the screens told, and what is compared, is when their data are safe."""
    for seed, name in ((1, "a"), (2, "b")):
        words = ["--fsync", "1", "--ops", "200", "--size", "1MiB", "--backend", "simulate:exp(1ms)", "--seed", str(seed)]
        call(program, tmp_path, "io", "write", *words, "-o", f"{name}.parquet", "--report", "none")
    found = json.loads(call(program, tmp_path, "compare", "a.parquet", "b.parquet", "--json").stdout)
    assert any("`write / fsync`; --of 'write / fwrite'" in text for text in found["warnings"]), found["warnings"]
    asked = json.loads(call(program, tmp_path, "compare", "a.parquet", "b.parquet", "--json", "--of", "write/fsync").stdout)
    assert found["quiet"] == asked["quiet"] and found["new"] == asked["new"]
    page = json.loads(call(program, tmp_path, "report", "a.parquet", "--json", "-o", "a.html").stdout)
    rows = {row["operation"]: row for row in page["results"]}
    assert page["subject"]["name"] == "write / fsync"
    assert page["quantiles"]["p50"] == pytest.approx(rows["fsync"]["quantiles_seconds"]["p50"], rel=1e-6)
    assert page["quantiles"]["p50"] == pytest.approx(found["quiet"]["median"], rel=1e-6)
