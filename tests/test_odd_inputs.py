"""Inputs that nobody meant, and outputs that cannot be written: a plain word about each, and the status that docs/safety.md names."""

import gzip
import json
import os
import random
import subprocess
from pathlib import Path

import pytest


def call(program: Path, folder: Path, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == status, (arguments, done)
    return done


def numbers(path: Path, factor: float = 1.0, head: str = "") -> None:
    draw = random.Random(7)
    path.write_text(head + "".join(f"{factor * draw.gauss(10, 1)!r}\n" for _ in range(300)))


@pytest.fixture
def run(program: Path, tmp_path: Path) -> Path:
    (tmp_path / "p.ppl").write_text('repeat 100 { time["w"] write("a.dat", 4k); }')
    call(program, tmp_path, "run", "p.ppl", "-o", "run.parquet", "--report", "none")
    return tmp_path / "run.parquet"


@pytest.mark.parametrize("damage", ["cut", "changed"])
@pytest.mark.parametrize(
    "words", [["report"], ["fit"], ["compare", "run.parquet"], ["export", "--to", "csv"], ["scale", "--to", "8"], ["watch", "--unit", "us", "base.txt"]]
)
def test_a_corrupt_run_file_ends_with_3(words: list[str], damage: str, run: Path, program: Path) -> None:
    whole = run.read_bytes()
    middle = len(whole) // 2
    broken = whole[:middle] if damage == "cut" else whole[:4] + b"\xff" * middle + whole[4 + middle :]
    run.with_name("broken.parquet").write_bytes(broken)
    numbers(run.with_name("base.txt"))
    done = call(program, run.parent, *words, "broken.parquet", status=3)
    assert "broken.parquet is " in done.stderr, done.stderr


@pytest.mark.parametrize("factor", [1e-310, 1e300])
def test_numbers_without_squares_are_refused(factor: float, program: Path, tmp_path: Path) -> None:
    numbers(tmp_path / "odd.txt", factor)
    for words in (["fit", "odd.txt"], ["compare", "odd.txt", "odd.txt"]):
        done = call(program, tmp_path, *words, status=2)
        assert "multiply all values by a power of ten" in done.stderr and len(done.stderr) < 300, done.stderr
        assert done.stdout == ""


def test_plain_numbers_stand_beside_what_has_a_unit(run: Path, program: Path) -> None:
    folder = run.parent
    numbers(folder / "us.csv", head="latency_us\n")
    numbers(folder / "plain.txt")
    for pair in (["us.csv", "plain.txt"], ["plain.txt", "us.csv"], ["run.parquet", "plain.txt"]):
        assert "as in `--unit ms`" in call(program, folder, "compare", *pair, status=2).stderr
        assert "times as long" in call(program, folder, "compare", *pair, "--unit", "ms").stdout
    # Of a run an operation, beside a column of a table.
    call(program, folder, "compare", "run.parquet", "us.csv", "--of", "write", "--column", "latency_us")
    told = call(program, folder, "compare", "us.csv", "us.csv", "--unit", "ms", status=2).stderr
    assert "leave the option out" in told


def test_ls_tells_of_each_file_that_is_called_as_runs_are(run: Path, program: Path) -> None:
    folder = run.parent
    (folder / "text.parquet").write_text("no Parquet")
    (folder / "empty.parquet").write_text("")
    (folder / "cut.parquet").write_bytes(run.read_bytes()[:500])
    (folder / "link.parquet").symlink_to("nowhere")
    told = call(program, folder, "ls").stderr
    for name in ("text", "empty", "cut", "link"):
        assert told.count(f"{name}.parquet") == 1, told
    assert "run.parquet" not in told


@pytest.mark.parametrize(
    "words", [["run", "p.ppl", "-o", "again.parquet"], ["report", "run.parquet"], ["ls"], ["ls", "--json"], ["fit", "run.parquet"]]
)
def test_an_answer_that_cannot_be_written_is_no_success(words: list[str], run: Path, program: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([program, *words], cwd=run.parent, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3 and "cannot write to standard output: No space left" in done.stderr, done


def test_a_run_is_no_stream(program: Path, tmp_path: Path) -> None:
    (tmp_path / "p.ppl").write_text("getpid();")
    assert "a run is a file" in call(program, tmp_path, "run", "p.ppl", "-o", "-", status=2).stderr
    assert not (tmp_path / "-").exists()


def test_columns_stand_below_each_other_whatever_a_label_holds(program: Path, tmp_path: Path) -> None:
    (tmp_path / "p.ppl").write_text(
        'repeat 30 { time["a\x1b[31mred\\tx"] write("a.dat", 4k); time["b"] write("b.dat", 4k); }'
    )
    call(program, tmp_path, "run", "p.ppl", "-o", "run.parquet", "--report", "none")
    text = call(program, tmp_path, "report", "run.parquet", "-v").stdout
    for title in ("All operations", "Durations"):
        rows = text[text.index(title) :].splitlines()[2:4]
        assert "\x1b" not in text and len({row.index(" 30 ") for row in rows}) == 1, rows


def test_durations_under_a_rate_say_since_when(program: Path, tmp_path: Path) -> None:
    (tmp_path / "p.ppl").write_text('repeat 200 rate 1000/s getpid();')
    call(program, tmp_path, "run", "p.ppl", "-o", "run.parquet", "--report", "none")
    text = " ".join(call(program, tmp_path, "report", "run.parquet", "-v").stdout.split())
    assert "from when an operation was due, not from when it began" in text
    assert "of operations once begun, without their wait since they were due" in text


def test_a_baseline_whose_level_jumps_is_taken_in_part(program: Path, tmp_path: Path) -> None:
    draw = random.Random(3)
    values = [draw.gauss(10 if at < 400 else 20, 1) for at in range(500)]
    (tmp_path / "jumps.txt").write_text("".join(f"{value!r}\n" for value in values))
    (tmp_path / "new.txt").write_text("".join(f"{value!r}\n" for value in values[:100]))
    refused = call(program, tmp_path, "watch", "jumps.txt", "new.txt", status=2).stderr
    assert "--values FROM-TO" in refused, refused
    told = call(program, tmp_path, "watch", "jumps.txt", "new.txt", "--values", "1-400").stdout
    assert "jumps.txt, values 1 to 400: 400 values" in told, told
    assert "has the values 1 to 500" in call(program, tmp_path, "watch", "jumps.txt", "new.txt", "--values", "9-501", status=2).stderr


def test_a_part_that_is_there_twice_is_refused(run: Path, program: Path) -> None:
    folder = run.parent / "twice"
    folder.mkdir()
    for number in range(2):
        (folder / f"part-0000{number}.parquet").write_bytes(run.read_bytes())
    for words in (["report", "twice"], ["fit", "twice"], ["export", "twice", "--to", "csv"]):
        told = call(program, run.parent, *words, status=2).stderr
        assert "part-00001.parquet holds rank 0, as a part before it does" in told, told


def test_a_page_that_cannot_be_written_hides_no_answer(program: Path, tmp_path: Path) -> None:
    (tmp_path / "p.ppl").write_text('write("f", 4k); expect errno == ENOENT read("f");')
    call(program, tmp_path, "run", "p.ppl", "-o", "run.parquet", "--report", "none", status=3)
    done = call(program, tmp_path, "report", "run.parquet", "-o", "nowhere/x.html", status=3)
    assert "✖" in done.stdout and "nowhere/x.html" not in done.stdout and "nowhere/x.html" in done.stderr, done
    for words in (["report", "run.parquet"], ["compare", "run.parquet", "run.parquet"]):
        told = call(program, tmp_path, *words, "-o", "other.parquet", status=2).stderr
        assert "a page is HTML; name it other.html" in told, told
    assert not (tmp_path / "other.parquet").exists()


def test_names_of_any_bytes_are_names(program: Path, tmp_path: Path) -> None:
    (tmp_path / "p.ppl").write_text("repeat 100 getpid();")
    name = b"x\xff.parquet"
    done = subprocess.run([program, "run", "p.ppl", "-o", name], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and os.path.isfile(bytes(tmp_path) + b"/" + name), done
    for words in (["ls", "--json"], ["report", name, "--json"]):
        done = subprocess.run([program, *words], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0 and "x\ufffd.parquet" in json.dumps(json.loads(done.stdout), ensure_ascii=False), done


def test_a_packed_stream_of_watch_is_named(program: Path, tmp_path: Path) -> None:
    numbers(tmp_path / "base.txt")
    (tmp_path / "new.txt.gz").write_bytes(gzip.compress((tmp_path / "base.txt").read_bytes()))
    told = call(program, tmp_path, "watch", "base.txt", "new.txt.gz", status=2).stderr
    assert "`gzip -dc new.txt.gz | lastrank watch BASELINE -`" in told, told
    # As a baseline it is read.
    call(program, tmp_path, "watch", "new.txt.gz", "base.txt")


def test_one_line_is_one_line_whatever_the_program_is_called(program: Path, tmp_path: Path) -> None:
    (tmp_path / "a\nb.ppl").write_text("repeat 100 getpid();")
    told = call(program, tmp_path, "run", "a\nb.ppl", "-q", "-o", "run.parquet", "--report", "none").stdout
    assert told.startswith("a\\nb: ") and told.count("\n") == 1, told


def test_signs_of_a_shell_are_told_to_be_arguments(program: Path, tmp_path: Path) -> None:
    told = call(program, tmp_path, "ab", "true | cat", "true", "--time", "1s").stderr
    assert "note: `|` is an argument of `true`: no shell reads it; sh -c 'true | cat' does" in told, told
    refused = call(program, tmp_path, "ab", "true", "true", "-n", "2", status=2).stderr
    assert "-n is for programs" in refused, refused
    told = call(program, tmp_path, "ab", "sh -c 'true | cat'", "true", "--time", "1s").stderr
    assert "is an argument" not in told, told
