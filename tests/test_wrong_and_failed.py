"""What is wrong is said first, and what failed as it was to has no verdict: on the screen, in one line, in JSON and on the page."""

import csv
import json
import subprocess
from pathlib import Path


def call(program: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True)


def test_wrong_data_are_said_before_what_ended_the_run(program: Path, tmp_path: Path) -> None:
    """A run of IOR that stops at a wrong byte says so first, once, and gives no time as an answer."""
    words = ["-o", "data", "-b", "1m", "-t", "512k", "-s", "3", "-k", "-R"]
    call(program, tmp_path, "ior", "-w", *words, "--report", "none").check_returncode()
    with (tmp_path / "data").open("r+b") as file:
        file.seek(1_048_580)
        old = file.read(1)
        file.seek(1_048_580)
        file.write(bytes([old[0] ^ 1]))
    ran = call(program, tmp_path, "ior", "-r", *words, "--output", "c.parquet", "--report", "none")
    assert ran.returncode == 3
    assert ran.stdout.splitlines()[1].startswith("✖ WRONG DATA: 1 of 4 operations did not read"), ran.stdout
    detailed = call(program, tmp_path, "report", "c.parquet", "--text", "-v", "-o", "page.html")
    assert (detailed.returncode, detailed.stdout.count("byte 1048580")) == (3, 1), detailed.stdout + detailed.stderr
    assert "✖ WRONG DATA: fread" in call(program, tmp_path, "ls").stdout
    document = json.loads(call(program, tmp_path, "report", "c.parquet", "--json").stdout)
    (part,) = document["numbers"]["parts"]
    rates = ("operations_per_second", "bytes_per_second", "achieved_depth", "wall_seconds", "quantiles_seconds")
    assert {part[name] for name in rates} == {None} and part["intervals"] == []
    assert (document["quantiles"], document["summary"], document["intervals"]) == (None, None, [])


def test_no_verdict_is_given_on_times_of_operations_that_were_to_fail(program: Path, tmp_path: Path) -> None:
    (tmp_path / "e.ppl").write_text('repeat 200 { time["w"] expect errno == ENOENT { stat("missing-$$rank"); } }\n')
    for ranks in ("1", "2"):
        ran = call(program, tmp_path, "run", "e.ppl", "--ranks", ranks, "-o", "e.parquet")
        quick = call(program, tmp_path, "report", "e.parquet", "-q", "-o", "again.html")
        assert (ran.returncode, quick.returncode) == (0, 0)
        lines = ran.stdout.splitlines()
        assert lines[1] == "Every operation failed, as expected.", ran.stdout
        for word in ("Usable", "natural", "median", "samples", "steps", "too few"):
            assert word not in ran.stdout and word not in quick.stdout, ran.stdout + quick.stdout
        document = json.loads(call(program, tmp_path, "report", "e.parquet", "--json").stdout)
        assert document["numbers"]["parts"] == [] and document.get("tail") is None and document.get("quantiles") is None
        assert ">Verdict</p>" not in (tmp_path / "e.html").read_text()
        (listed,) = csv.DictReader(call(program, tmp_path, "ls", "--csv").stdout.splitlines())
        assert (listed["p50_seconds"], listed["of"], listed["status"]) == ("", "", "0")


def test_a_quantile_of_too_few_values_is_not_judged(program: Path, tmp_path: Path) -> None:
    """Status 3 with how many there are and how many it takes; what the values carry is judged."""
    for name, count in (("old", 1200), ("new", 80)):
        (tmp_path / f"{name}.ppl").write_text(f'repeat {count} write("f", 4k, 0);\ndelete("f");\n')
        words = [f"{name}.ppl", "--backend", "simulate:lognormal(5ms,0.5)", "--report", "none", "-o", f"{name}.parquet"]
        call(program, tmp_path, "run", *words).check_returncode()
    for condition, status in (("p50 > 1ms", 1), ("p90 > 1ms", 1), ("max > 1ms", 1), ("p90 < 1ms", 0)):
        done = call(program, tmp_path, "compare", "old.parquet", "new.parquet", "-q", "--fail-if", condition)
        assert done.returncode == status, condition + done.stderr
    for condition, told in (
        ("p99 > 3ms", "p99 needs 100 values; 80 were measured"),
        ("p99 of write > +20%", "p99 needs 100 values; 80 were measured"),
        ("p99.9 < 1s", "p99.9 needs 1,000 values; 80 were measured"),
        ("p99.99 > 1s", "p99.99 needs 10,000 values; 80 were measured"),
    ):
        done = call(program, tmp_path, "compare", "old.parquet", "new.parquet", "-q", "--fail-if", condition)
        assert done.returncode == 3 and "is not judged: new.parquet" in done.stderr and told in done.stderr, done.stderr
    # The old run of a change needs them too.
    done = call(program, tmp_path, "compare", "new.parquet", "old.parquet", "-q", "--fail-if", "p99 > +20%")
    assert done.returncode == 3 and "is not judged: new.parquet" in done.stderr, done.stderr


def test_a_comparison_in_full_has_all_of_its_first_screen(program: Path, tmp_path: Path) -> None:
    for seed, name in (("1", "a"), ("2", "b")):
        words = ["--backend", "simulate:gev(10ms,1ms,0.1)", "--seed", seed, "-o", f"{name}.parquet", "--report", "none"]
        call(program, tmp_path, "run", "parallel_write", *words).check_returncode()
    short = call(program, tmp_path, "compare", "a.parquet", "b.parquet").stdout.splitlines()
    full = call(program, tmp_path, "compare", "a.parquet", "b.parquet", "-v").stdout.splitlines()
    assert any(line.strip().startswith("write / fwrite") for line in short) and short[-1] == "All tables: -v", short
    # Columns are as wide as the rows that are shown.
    words = [line.split() for line in full]
    missing = [line for line in short[:-1] if line.split() not in words]
    assert missing == [], missing
    assert any(line.startswith("Factor k: ") for line in full), full
