"""The first screens and errors of the commands, as they stand on terminals of 60, 80 and 120 columns.

`tests/terminal/screens` keeps each. After a change of words, `LASTRANK_REWRITE_SCREENS=1 pytest tests/terminal` writes
them anew; read the difference.
"""

import math
import os
import random
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from .screen import COLOUR, ESCAPE, Shown, assert_fits, show

SCREENS = Path(__file__).parent / "screens"
REWRITE = os.environ.get("LASTRANK_REWRITE_SCREENS") == "1"
WIDTHS = (60, 80, 120)
SIMULATED = "--backend simulate:gev(10ms,1ms,0.1) --report none"

MISTAKES = """repeat 3 { time["w"] write("some/long/path/that/does/not/fit/into/one/line", 4k, offset=unknown); }
print($never_defined_and_with_a_long_name, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20);
"""
TYPOS = """$f = fopen("a", "w");
repeat 3 {
  time["a"] fwrit($f, 10k);
}

print $fiel;
"""
# A shell that makes files, and copies them.
COPIES = """for i in 1 2 3; do
    echo text > part-$i
    cat part-$i > copy-$i
done
"""
# Writes what `READS` compares, after a byte has been changed.
WRITES = """write("data", 1MiB);
"""
READS = """$f = fopen("data", "r");
verify repeat 16 { time["read"] fread($f, 64KiB); }
fclose($f);
"""
CLAIM = """define ranks 4;
repeat 40 { barrier; time["w"] write("f-$$rank", 4k); barrier; }
assert p99("w") < 1ms;
"""


@dataclass(frozen=True)
class Case:
    """A command whose screen is kept."""

    name: str
    words: str
    status: int = 0
    # Its numbers change from run to run, and with them where lines break.
    masked: bool = False
    # It is of this machine: only looked at, not kept.
    kept: bool = True

    def command(self, program: Path) -> list[object]:
        return [program, *self.words.split(" ")]


CASES = [
    Case("run", f"run parallel_write {SIMULATED} --seed 1 -o new.parquet"),
    Case("run-quiet", f"run parallel_write {SIMULATED} --seed 1 -o new.parquet --one-line"),
    Case("run-claim-fails", f"run claim.ppl {SIMULATED} -o new.parquet", status=1),
    Case("run-dry", "run parallel_write --dry-run"),
    Case("io", "io randread --ops 1000 --size 4MiB --backend simulate:lognormal(100us,0.5) --report none -o new.parquet"),
    Case("meta", "meta -n 100 --backend simulate:lognormal(100us,0.5) --report none --output new.parquet"),
    Case("ior", f"ior -b 4m -t 1m -s 4 --ranks 4 {SIMULATED} --output new.parquet"),
    Case("mem", "mem --size 64KiB --backend simulate:lognormal(100us,0.5) --seed 1 --report none -o new.parquet", masked=True),
    Case("io-direct", "io randread --direct --depth 16 --ops 1000 --size 4MiB --backend simulate:lognormal(100us,0.5) --report none -o new.parquet"),
    Case("run-verbose", f"run parallel_write {SIMULATED} --seed 1 -o new.parquet -v"),
    Case("fit", "fit runs/a.parquet"),
    Case("fit-numbers", "fit numbers.txt --unit ms"),
    Case("fit-jump", "fit jump.txt --unit us"),
    Case("fit-few", "fit few.txt --unit us"),
    Case("fit-rounded", "fit rounded.txt --unit ms"),
    Case("fit-groups", "fit nodes.csv --by node --column us --unit us"),
    Case("compare-undecided", "compare before.txt after.txt --unit us"),
    Case("run-wrong-data", "run reads.ppl --report none -o new.parquet", status=3, masked=True),
    Case("record", "record -o new.parquet -- sh copies.sh", masked=True),
    Case("record-fails", "record -o new.parquet -- sh -c false", status=1, masked=True),
    Case("import", "import app.parquet -o new.ppl --only .", masked=True),
    Case("import-job", "import job.fio -o job.ppl"),
    Case("compare", "compare runs/a.parquet runs/b.parquet"),
    Case("watch", "watch runs/a.parquet runs/b.parquet", status=1),
    Case("report", "report runs/a.parquet -o page.html"),
    Case("report-verbose", "report runs/a.parquet -o page.html -v"),
    Case("compare-verbose", "compare runs/a.parquet runs/b.parquet -v"),
    Case("fit-verbose", "fit runs/a.parquet -v"),
    Case("ls", "ls runs"),
    Case("ls-loads", "ls loads"),
    Case("compare-unlike", "compare loads/cached.parquet loads/direct.parquet"),
    Case("scale", "scale runs/a.parquet --to 1024"),
    Case("plan-runs", "plan-runs runs/a.parquet p99=5%"),
    Case("machine", "machine", status=-1, kept=False),
    Case("explain", "explain parallel_write"),
    Case("experiments", "experiments"),
    Case("check-mistakes", "check mistakes.ppl", status=2),
    Case("check-typos", "check typos.ppl", status=2),
    Case("check-well", "check claim.ppl"),
    Case("help", "--help"),
    Case("ab", "ab true sleep,0.02", masked=True),
    Case("ab-fails", "ab ls,/no-such-folder true", status=3),
    Case("ab-shell", "ab sleep,1,|,cat true", status=3),
    Case("unknown-option", "io randread --filename x", status=2),
    Case("missing-file", "fit no-such-file-in-a-folder-with-a-long-name/and-another-long-name.txt", status=2),
    Case("missing-program", "run parallel-write", status=2),
    Case("bad-file", "report mistakes.ppl", status=2),
    Case("fit-slip", "fit runs/aa.parquet", status=2),
    Case("fit-text", "fit claim.ppl", status=2),
    Case("io-slip", "io randraed", status=2),
    Case("io-value", "io randread --depth many", status=2),
    Case("page-nowhere", "report runs/a.parquet -o nowhere/page.html", status=-1),
    Case("ls-file", "ls runs/a.parquet"),
]
MODES: dict[str, dict[str, str]] = {
    "NO_COLOR": {"NO_COLOR": "1"},
    "dumb": {"TERM": "dumb"},
    "forced": {"TERM": "dumb", "CLICOLOR_FORCE": "1"},
}


def made_by_others(folder: Path) -> None:
    """Files of numbers: a jump, few, rounded ones, a table whose node n4 is slow."""
    chance = random.Random(5)

    def times(count: int, typical: float = 10_000, spread: float = 1_000) -> list[float]:
        return [typical - spread * math.log(-math.log(chance.random())) for _ in range(count)]

    values = {
        "jump.txt": times(381) + times(219, 12_500),
        "few.txt": times(25),
        "before.txt": times(30, 10_000, 4_000),
        "after.txt": times(30, 10_600, 4_000),
        "rounded.txt": [4 * round(value / 4) for value in times(400, 12, 1.5)],
    }
    for name, numbers in values.items():
        (folder / name).write_text("".join(f"{number:.3f}\n" for number in numbers))
    rows = [f"n{n % 6},{value:.3f}\n" for n in range(600) for value in times(1, 10_800 if n % 6 == 4 else 10_000)]
    (folder / "nodes.csv").write_text("node,us\n" + "".join(rows))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, program: Path) -> Path:
    """A folder with runs, numbers and programs."""
    folder = tmp_path_factory.mktemp("terminal")
    (folder / "runs").mkdir()
    (folder / "empty").mkdir()
    (folder / "mistakes.ppl").write_text(MISTAKES)
    (folder / "claim.ppl").write_text(CLAIM)
    (folder / "numbers.txt").write_text("".join(f"{10 + (37 * n % 101) / 40}\n" for n in range(300)))
    made_by_others(folder)
    for name, text in (("typos", TYPOS), ("writes", WRITES), ("reads", READS)):
        (folder / f"{name}.ppl").write_text(text)
    (folder / "copies.sh").write_text(COPIES)
    (folder / "job.fio").write_text("[reads]\nrw=randread\nsize=4m\nbs=4k\n")
    subprocess.run([program, "run", "writes.ppl", "-s", "--report", "none", "-o", "written.parquet"], cwd=folder, check=True)
    with (folder / "data").open("r+b") as file:
        file.seek(100_000)
        byte = file.read(1)[0]
        file.seek(100_000)
        file.write(bytes([byte ^ 1]))
    record = [program, "record", "-o", "app.parquet", "--", "sh", "copies.sh"]
    subprocess.run(record, cwd=folder, check=True, capture_output=True)
    for name, law, seed in (("a", "gev(10ms,1ms,0.1)", 1), ("b", "gev(12ms,1ms,0.1)", 2)):
        backend = f"simulate:{law}"
        words = ["parallel_write", "--backend", backend, "--seed", seed, "-o", f"runs/{name}.parquet", "--report", "none"]
        subprocess.run([program, "run", "-q", *map(str, words)], cwd=folder, check=True)
    (folder / "loads").mkdir()
    for name, more in (("cached", []), ("direct", ["--direct", "--depth", "16"]), ("large", ["--bs", "64k"]), ("synced", ["--sync", "sync"])):
        access = "randwrite" if name == "synced" else "randread"
        words = ["io", access, "--ops", "400", "--size", "4MiB", "--backend", "simulate:lognormal(100us,0.5)", *more]
        subprocess.run([program, *words, "-q", "-o", f"loads/{name}.parquet", "--report", "none"], cwd=folder, check=True)
    return folder


def shown(case: Case, program: Path, folder: Path, columns: int, variables: dict[str, str] | None = None) -> Shown:
    """The screen of a case; a comma in its words stands for a blank in one word."""
    words = [str(word).replace(",", " ") if case.words.startswith("ab ") else word for word in case.command(program)]
    found = show(words, columns, folder, variables, lines=600 if "-v" in words else 150)
    assert case.status in (-1, found.status), found.text
    assert_fits(found)
    return found


def masked(text: str) -> str:
    """Numbers and their units as `#`, and one line of each paragraph."""
    text = re.sub(r", \S+ on /dev/\S+", ", FILE SYSTEM", text)
    text = re.sub(r"\d[\d\u202f.]*( [µmn]?s\b)?", "#", text)
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_screen_fits_and_is_as_it_was(case: Case, program: Path, folder: Path) -> None:
    """At each width: no line is wider, nothing is left behind, and the screen is the one that was kept."""
    parts = []
    for columns in WIDTHS:
        found = shown(case, program, folder, columns)
        text = masked(found.text) if case.masked else found.text
        parts.append(f"=== {columns} columns\n{text}\n")
        if columns == 80:
            parts.append("=== colours at 80 columns\n" + "".join(f"{masked(line) if case.masked else line}\n" for line in found.colours()))
    if not case.kept:
        return
    kept = SCREENS / f"{case.name}.txt"
    if REWRITE:
        kept.write_text("".join(parts))
    assert "".join(parts) == kept.read_text(), f"{kept.name} differs (LASTRANK_REWRITE_SCREENS=1 writes it anew)"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_screen_fits_into_forty_columns(case: Case, program: Path, folder: Path) -> None:
    """Split terminals are so narrow."""
    shown(case, program, folder, 40)


@pytest.mark.parametrize("case", [case for case in CASES if case.kept and not case.masked], ids=lambda case: case.name)
def test_variables_take_colours_away_and_change_no_word(case: Case, program: Path, folder: Path) -> None:
    """NO_COLOR and TERM=dumb leave no escape sequence, CLICOLOR_FORCE colours what a terminal has coloured."""
    coloured = shown(case, program, folder, 80)
    for name, variables in MODES.items():
        found = shown(case, program, folder, 80, variables)
        assert found.text == coloured.text, name
        if name == "forced":
            assert bool(COLOUR.search(found.raw)) == bool(COLOUR.search(coloured.raw))
        else:
            assert not COLOUR.search(found.raw), found.raw
        if name == "dumb":
            assert not ESCAPE.search(found.raw), found.raw


def test_a_pipe_has_no_escape_sequences_but_by_force(program: Path, folder: Path) -> None:
    """Standard output and error as pipes: colours only with CLICOLOR_FORCE, and never where NO_COLOR is set."""
    for variables, is_coloured in (({}, False), ({"CLICOLOR_FORCE": "1"}, True), ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False)):
        for words in ("fit runs/a.parquet", "check mistakes.ppl", "report mistakes.ppl", "run --no-such-option"):
            done = subprocess.run([program, *words.split()], cwd=folder, env={**os.environ, **variables}, capture_output=True)
            assert bool(ESCAPE.search(done.stdout + done.stderr)) == is_coloured, (words, variables, done)


def test_the_tour_of_a_machine_fits(program: Path, folder: Path) -> None:
    """Its lines come one by one; of this machine, so that none is kept. The answer is among the last 24, and `-v` has all."""
    for columns in (60, 80):
        found = show([program, "try", "--limit", "5", "-o", "none"], columns, folder)
        assert found.status == 0, found.text
        assert_fits(found)
        last = found.text.rstrip().splitlines()[-24:]
        assert any(line.startswith("Typical: a load from L1") for line in last), found.text
        assert any("typical" in line and "max" in line for line in last), found.text
        assert "Tail: what" not in found.text and "-v" in " ".join(last), found.text
    found = show([program, "try", "--limit", "5", "-o", "none", "-v"], 60, folder)
    assert found.status == 0 and "Tail: what" in found.text, found.text
    assert_fits(found)
    assert "L1 cache" in found.text
