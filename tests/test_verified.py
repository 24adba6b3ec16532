"""How much was verified is told alike by every output, and ✔ is not said of a run that was to verify and could not."""

import json
import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import pyarrow.parquet
import pytest

SEED = int(os.environ.get("LASTRANK_SEED", "29"))
WRITTEN = {"operations": 16, "bytes": 16 << 16, "unknown_bytes": 0}
WRITES = 'repeat $i 4 { write("f-$$rank-$i", 64k); }\n'
READS = 'verify repeat $i 4 { read("f-$$rank-$i"); }\nread("f-$$rank-0");\n'


def call(program: Path, folder: Path, *arguments: str, status: int = 0) -> str:
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == status, (arguments, done)
    return done.stdout


def facts(run: Path) -> dict:
    return json.loads(pyarrow.parquet.read_metadata(run).metadata[b"lastrank.facts"])


def test_every_output_says_how_much_was_verified(program: Path, tmp_path: Path) -> None:
    (tmp_path / "p.ppl").write_text(f"define ranks 4;\n{WRITES}{READS}")
    screen = call(program, tmp_path, "run", "p.ppl", "-o", "p.parquet")
    quick = call(program, tmp_path, "report", "p.parquet", "-q", "-o", "again.html")
    verbose = call(program, tmp_path, "report", "p.parquet", "-v", "-o", "again.html")
    document = json.loads(call(program, tmp_path, "report", "p.parquet", "--json"))
    said = "ontent of 1 MiB read was checked: right"
    for text in (screen, quick, verbose, (tmp_path / "p.html").read_text()):
        assert said in text and "✔" in text or text is quick and said in text, text
    assert document["numbers"]["verified"] == facts(tmp_path / "p.parquet")["verified"] == WRITTEN
    (listed,) = json.loads(call(program, tmp_path, "ls", "--json"))["runs"]
    assert listed["numbers"]["verified"] == WRITTEN


def test_a_run_without_verification_says_nothing_of_it(program: Path, tmp_path: Path) -> None:
    (tmp_path / "p.ppl").write_text(WRITES)
    screen = call(program, tmp_path, "run", "p.ppl", "--report", "none", "-o", "p.parquet")
    assert "✔" in screen and "checked" not in screen and "verified" not in screen
    assert "verified" not in facts(tmp_path / "p.parquet")
    assert "verified" not in json.loads(call(program, tmp_path, "report", "p.parquet", "--json"))["numbers"]


@pytest.mark.parametrize(
    ("text", "options", "why"),
    [
        ('write("f", 4k);\nverify repeat 0 read("f");\n', (), "no read inside `verify` was compared"),
        ('write("f", 4k);\nverify read("f");\n', ("--backend", "simulate:constant(1ms)"), "a simulated run reads nothing"),
        (
            'write("a", 4k);\n$a = fopen("a", "r"); $b = fopen("b", "w"); fcopy($a, $b, 4k); fclose($a); fclose($b);\n'
            'verify read("b");\n',
            (),
            "nobody knows what was written in the 4 KiB that were read",
        ),
    ],
)
def test_a_run_that_was_to_verify_and_could_not_has_no_tick(
    text: str, options: tuple[str, ...], why: str, program: Path, tmp_path: Path
) -> None:
    (tmp_path / "p.ppl").write_text(text)
    screen = call(program, tmp_path, "run", "p.ppl", *options, "-o", "p.parquet")
    first = " ".join(screen.split()).split("⚠")[1]
    assert f"nothing was verified: {why}" in first and "✔" not in screen, screen
    quick = call(program, tmp_path, "report", "p.parquet", "-q", "-o", "again.html")
    assert f"nothing was verified: {why}" in quick and quick.endswith(" ⚠\n"), quick
    assert f"⚠ {first.strip()}"[:12] in (tmp_path / "p.html").read_text()
    assert json.loads(call(program, tmp_path, "report", "p.parquet", "--json"))["numbers"]["verified"]["bytes"] == 0


def test_what_was_right_is_told_beside_what_was_wrong(program: Path, tmp_path: Path) -> None:
    (tmp_path / "write.ppl").write_text(WRITES)
    (tmp_path / "read.ppl").write_text(READS)
    call(program, tmp_path, "run", "write.ppl", "--report", "none", "-o", "w.parquet")
    with (tmp_path / "f-0-2").open("r+b") as file:
        file.seek(40_000)
        file.write(b"changed")
    screen = call(program, tmp_path, "run", "read.ppl", "--report", "none", "-o", "r.parquet", status=3)
    assert "WRONG DATA: 1 of 5 operations" in screen, screen
    assert "Content of 192 KiB in 3 other reads was checked: right" in screen, screen


def children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@pytest.mark.parametrize("who", ["a rank", "lastrank"])
def test_what_a_killed_run_had_verified_is_kept(who: str, program: Path, tmp_path: Path) -> None:
    """Counts live in memory that outlives whoever counts."""
    text = f'define ranks 2;\n{WRITES}{READS}create("begun-$$rank");\nfor 60s sleep(10ms);\n'
    (tmp_path / "p.ppl").write_text(text)
    words = [program, "run", "p.ppl", "--report", "none", "-o", "p.parquet"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        while not all((tmp_path / f"begun-{rank}").exists() for rank in (0, 1)) and run.poll() is None:
            time.sleep(0.01)
        os.kill(run.pid if who == "lastrank" else children(run.pid)[-1], signal.SIGKILL)
        run.wait(60)
    # Ranks outlive whoever supervised them for a moment.
    while who == "lastrank" and not (tmp_path / "p.parquet").exists():
        subprocess.run([program, "recover", "."], cwd=tmp_path, capture_output=True, check=False)
    assert facts(tmp_path / "p.parquet")["verified"] == {"operations": 8, "bytes": 8 << 16, "unknown_bytes": 0}
    screen = call(program, tmp_path, "report", "p.parquet", status=3)
    assert "✖" in screen and "Content of 512 KiB read was checked: right" in screen, screen


def test_a_file_that_an_earlier_run_renamed_is_not_called_wrong(program: Path, tmp_path: Path) -> None:
    (tmp_path / "write.ppl").write_text('write("old", 100k);\nmkdir("d");\nrename("old", "d/new");\n')
    (tmp_path / "read.ppl").write_text(
        '$f = fopen("d/new", "r+");\nfwrite($f, 5000, 2000);\nverify fread($f, 100k, 0);\nfclose($f);\nverify read("d/new");\n'
    )
    call(program, tmp_path, "run", "write.ppl", "--report", "none", "-o", "w.parquet")
    screen = call(program, tmp_path, "run", "read.ppl", "--report", "none", "-o", "r.parquet")
    assert "WRONG" not in screen and "Content of 200 KiB read was checked: right" in screen, screen
    assert re.search(r"⚠ Whether reads were of the right\s+file was not verified", screen), screen
    # What does not belong into it is found all the same.
    with (tmp_path / "d" / "new").open("r+b") as file:
        file.seek(60_000)
        file.write(b"changed")
    call(program, tmp_path, "run", "read.ppl", "--report", "none", "-o", "r.parquet", status=3)


def test_nothing_that_was_renamed_is_called_wrong_and_all_that_moved_is(program: Path, tmp_path: Path) -> None:
    """Files of an earlier run with other names, over which a later one writes pieces of any length at any place."""
    chance = random.Random(SEED)
    sizes = [1 + chance.randrange(20_000) for _ in range(40)]
    (tmp_path / "write.ppl").write_text(
        "".join(f'write("old-{at}", {size}); rename("old-{at}", "new-{at}");\n' for at, size in enumerate(sizes))
    )
    lines = []
    for at, size in enumerate(sizes):
        lines.append(f'$f = fopen("new-{at}", "r+");')
        for _ in range(8):
            begin = chance.randrange(size)
            length = 1 + chance.randrange(min(size - begin, chance.choice([100, 1_000, 20_000])))
            what = chance.choice(["fwrite", "verify fread", "verify fread"])
            lines.append(f"{what}($f, {length}, {begin});")
        lines.append("fclose($f);")
    (tmp_path / "change.ppl").write_text("\n".join(lines))
    (tmp_path / "read.ppl").write_text("".join(f'verify read("new-{at}");\n' for at in range(len(sizes))))
    quiet = ["--report", "none", "-o", "r.parquet", "-s"]
    for name in ("write", "read", "change"):
        call(program, tmp_path, "run", f"{name}.ppl", *quiet)
    call(program, tmp_path, "run", "write.ppl", *quiet)
    moved = [at for at, size in enumerate(sizes) if size >= 2_048]
    for at in moved:
        with (tmp_path / f"new-{at}").open("r+b") as file:
            block = file.read(512)
            file.seek(1_024)
            file.write(block)
    call(program, tmp_path, "run", "read.ppl", *quiet, status=3)
    found = facts(tmp_path / "r.parquet")["judgements"]["found"]
    assert sorted(one["line"] - 1 for one in found if one["kind"] == "wrong_content") == moved


@pytest.mark.parametrize("text", ["print(1);\n", 'time["empty"] { }\n', "repeat 0 getpid();\n"])
def test_a_program_without_an_operation_measured_nothing(text: str, program: Path, tmp_path: Path) -> None:
    (tmp_path / "p.ppl").write_text(text)
    screen = call(program, tmp_path, "run", "p.ppl", "-o", "p.parquet")
    assert "⚠ nothing was measured: the program did no operation" in screen and "✔" not in screen, screen
    quick = call(program, tmp_path, "report", "p.parquet", "-q", "-o", "again.html")
    assert "nothing was measured" in quick and quick.endswith(" ⚠\n"), quick
    page = (tmp_path / "p.html").read_text()
    assert "⚠ nothing was measured" in page and "✔" not in page.split("</section>")[0]


@pytest.mark.parametrize(
    ("text", "ranks", "code", "what"),
    [
        ('$n = 1 - $$rank; write("a-$$rank", 64k); barrier; master spawn("cp old/a-0 old/a-1 ."); barrier; verify read("a-$n");',
         2, "earlier-run-verified", "that this run wrote it"),
        ('write("g-$$rank", 64k); write("k-$$rank", 4k); spawn("truncate -s 0 g-$$rank"); verify { read("g-$$rank"); read("k-$$rank"); }',
         2, "length-not-verified", "that no file ended early"),
        ('spawn("truncate -s 4k k-$$rank"); verify read("k-$$rank");', 2, "ends-not-verified", "how long files should be"),
        ('spawn("mv k-$$rank m-$$rank"); verify read("m-$$rank", 4k);', 2, "names-not-verified", "that it is of the right file"),
    ],
)
def test_what_was_not_checked_stands_where_content_is_called_right(
    text: str, ranks: int, code: str, what: str, program: Path, tmp_path: Path
) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "first.ppl").write_text('write("a-$$rank", 64k); write("k-$$rank", 4k);')
    call(program, tmp_path, "run", "first.ppl", "-n", "2", "--report", "none")
    for rank in range(2):
        (tmp_path / "old" / f"a-{rank}").write_bytes((tmp_path / f"a-{rank}").read_bytes())
    (tmp_path / "p.ppl").write_text(text)
    words = ("run", "p.ppl", "-n", str(ranks), "-o", "p.parquet", "--allow-spawn", "--unconfined")
    screen = call(program, tmp_path, *words)
    quick = call(program, tmp_path, "report", "p.parquet", "-q", "-o", "again.html")
    document = json.loads(call(program, tmp_path, "report", "p.parquet", "--json"))
    assert code in [warning["code"] for warning in document["warnings"]]
    for told in (screen, quick, (tmp_path / "p.html").read_text()):
        assert f"right, but not {what}" in " ".join(told.split()), told
    if code == "names-not-verified":
        named = {warning["text"] for warning in document["warnings"] if warning["code"] == code}
        assert len(named) == 1 and re.search(r'm-[01]" holds what was written to ".*k-[01]"', named.pop()), document


def test_what_a_run_wrote_and_reads_as_a_whole_has_its_length(program: Path, tmp_path: Path) -> None:
    (tmp_path / "p.ppl").write_text(
        'write("f", 64k); append("f", 4k); verify read("f"); $f = fopen("g", "w+"); fwrite($f, 8k, 4k); fclose($f);\n'
        'verify read("g"); async 4 { verify repeat 4 read("f"); }'
    )
    screen = call(program, tmp_path, "run", "p.ppl", "-o", "p.parquet")
    assert "was checked: right." in screen and "but not" not in screen, screen


def test_what_was_appended_once_is_not_there_twice(program: Path, tmp_path: Path) -> None:
    (tmp_path / "p.ppl").write_text(
        'append("log", 64k); barrier; master spawn("sh doubles.sh"); barrier; verify read("log");'
    )
    (tmp_path / "doubles.sh").write_text("head -c 4096 log > s; cat s s s s > log")
    call(program, tmp_path, "run", "p.ppl", "-n", "2", "-o", "p.parquet", "--allow-spawn", "--unconfined", status=3)
    text = call(program, tmp_path, "report", "p.parquet", "-v", "--exit-zero", "-o", "again.html")
    assert "what was appended once lies there a second time" in " ".join(text.split()), text


@pytest.mark.parametrize("loses", ["truncate -s 0 l", "rm l", "truncate -s 5000 l"])
def test_what_was_lost_between_two_appends_is_wrong_data(loses: str, program: Path, tmp_path: Path) -> None:
    opens = '$f = fopen("l", "a"); fwrite($f, 64k); spawn("{}"); fwrite($f, 64k); fclose($f); verify read("l");'
    for text in ('append("l", 64k); spawn("{}"); append("l", 64k); verify read("l");', opens):
        if "rm" in loses and text is opens:
            continue
        (tmp_path / "p.ppl").write_text(text.replace("{}", loses))
        call(program, tmp_path, "run", "p.ppl", "-o", "p.parquet", "--allow-spawn", "--unconfined", "--report", "none", status=3)
        (tmp_path / "l").unlink()


def test_an_empty_file_is_not_called_right_without_a_word(program: Path, tmp_path: Path) -> None:
    (tmp_path / "first.ppl").write_text('write("f-$$rank", 64k);')
    (tmp_path / "p.ppl").write_text('verify read("f-$$rank");')
    call(program, tmp_path, "run", "first.ppl", "-n", "2", "--report", "none")
    (tmp_path / "f-0").write_text("")
    quick = call(program, tmp_path, "run", "p.ppl", "-n", "2", "-q", "-o", "p.parquet")
    screen = call(program, tmp_path, "report", "p.parquet", "-o", "again.html")
    for told in (quick, screen):
        assert "right, but not whether a file should be empty" in " ".join(told.split()), told
    # What the program itself made empty is to be so.
    (tmp_path / "own.ppl").write_text('create("e"); verify read("e"); write("f", 4k); verify read("f");')
    own = call(program, tmp_path, "run", "own.ppl", "-q", "-o", "own.parquet", "--report", "none")
    assert "content of 4 KiB read was checked: right" in own and "but not" not in own, own


def test_one_line_says_what_came_from_memory(program: Path, tmp_path: Path) -> None:
    (tmp_path / "p.ppl").write_text(
        '$f = fopen("f", "w+"); repeat 30 { fwrite($f, 64k, 0); fsync($f); } verify fread($f, 64k, 0); fclose($f);'
    )
    quick = call(program, tmp_path, "run", "p.ppl", "-q", "-o", "p.parquet", "--report", "none")
    assert quick.endswith("⚠ `verify` compared memory (the page cache)\n") or "; `verify` compared memory" in quick, quick
