"""Everyday work needs no option that weakens anything: what runs made, the next ones may use."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from filesystems.measured import Lastrank


@pytest.fixture
def home(lastrank: Lastrank) -> Path:
    """A home of its own, so that nothing is known from other runs."""
    home = lastrank.folder / "home"
    home.mkdir()
    return home


def say(lastrank: Lastrank, home: Path, *words: object, status: int = 0) -> str:
    folder = lastrank.folder / "work"
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [str(lastrank.program), *map(str, words)], cwd=folder, capture_output=True, text=True, check=False,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "TMPDIR": str(lastrank.folder)}, timeout=120,
    )  # fmt: skip
    assert done.returncode == status, (words, done.stdout, done.stderr)
    return done.stdout + done.stderr


def run(lastrank: Lastrank, home: Path, text: str, *words: object, status: int = 0) -> str:
    folder = lastrank.folder / "work"
    folder.mkdir(exist_ok=True)
    (folder / "p.ppl").write_text(text)
    return say(lastrank, home, "run", "p.ppl", "-s", "-o", lastrank.folder / "r.parquet", "--report", "none", *words, status=status)


def test_what_one_run_wrote_the_next_one_checks_overwrites_and_removes(lastrank: Lastrank, home: Path) -> None:
    write = 'mkdir("d-$$rank"); write("d-$$rank/blk", 64k); create("d-$$rank/empty");'
    run(lastrank, home, write, "-n", "2")
    run(lastrank, home, 'verify { read("d-$$rank/blk"); }', "-n", "2")
    again = write.replace("mkdir", "stat") + ' rename("d-$$rank/empty", "d-$$rank/blk"); append("d-$$rank/blk", 10);'
    run(lastrank, home, again, "-n", "2")
    run(lastrank, home, 'rename("d-$$rank", "e-$$rank"); delete("e-$$rank/blk"); rmdir("e-$$rank");', "-n", "2")
    assert sorted(path.name for path in (lastrank.folder / "work").iterdir()) == ["p.ppl"]


def test_a_file_of_the_user_is_refused_with_the_way_out_which_works(lastrank: Lastrank, home: Path) -> None:
    (lastrank.folder / "work").mkdir()
    thesis = lastrank.folder / "work/thesis.txt"
    thesis.write_text("mine")
    said = run(lastrank, home, 'write("thesis.txt", 1);', status=2)
    assert "did not make it" in said and f"--allow {thesis}" in said and thesis.read_text() == "mine", said
    run(lastrank, home, 'define place "at" $at ""\nwrite($at, 1);', "--set", f"at={thesis}")
    assert thesis.read_bytes() != b"mine"


def test_what_the_user_put_in_the_place_of_a_run_s_file_is_the_user_s(lastrank: Lastrank, home: Path) -> None:
    run(lastrank, home, 'mkdir("d"); write("d/f", 10); write("g", 10);')
    work = lastrank.folder / "work"
    for name in ("d/f", "g"):
        (work / "new").write_text("mine")
        (work / "new").replace(work / name)
    for text in ('write("d/f", 1);', 'delete("d/f");', 'append("g", 1);'):
        assert "this run did not make it, and no earlier one" in run(lastrank, home, text, status=2)
    assert "not all in it was made by runs of yours" in run(lastrank, home, 'rename("d", "e");', status=2)
    assert (work / "d/f").read_text() == (work / "g").read_text() == "mine"


def test_a_second_user_or_one_without_a_home_knows_nothing(lastrank: Lastrank, home: Path) -> None:
    run(lastrank, home, 'write("f", 10);')
    other = lastrank.folder / "other"
    other.mkdir()
    assert "did not make it" in run(lastrank, other, 'write("f", 1);', status=2)
    run(lastrank, home, 'write("f", 1);')


def test_only_a_place_grants(lastrank: Lastrank, home: Path) -> None:
    outside = lastrank.folder / "outside"
    outside.mkdir()
    text = 'define param "separator" $sep "-"\nwrite("{at}/f", 10);'.replace("{at}", str(outside))
    assert "--allow" in run(lastrank, home, text, "--set", "separator=/", status=2) and not list(outside.iterdir())
    run(lastrank, home, 'define place "dir" $dir "."\nwrite("$dir/f", 10);', "--set", f"dir={outside}")
    assert (outside / "f").exists()


def test_a_refusal_says_of_who_made_the_file_only_what_is_known(lastrank: Lastrank, home: Path) -> None:
    (work := lastrank.folder / "work").mkdir()
    text = 'write("data", 1);'
    words = ("run", "p.ppl", "-s", "-o", lastrank.folder / "r.parquet", "--report", "none")
    # Nothing can be remembered: said when something is left, and when that is in the way.
    closed = home / "closed"
    closed.write_text("no directory")
    assert f"is not remembered ({closed}" in (said := run(lastrank, closed, text)), said
    said = say(lastrank, closed, *words, status=2)
    assert f"what earlier ones made is not remembered ({closed}" in said and "--allow" in said, said
    # A run file is a result, and no program's.
    (work / "data").unlink()
    said = say(lastrank, home, "run", "p.ppl", "-s", "-o", "d1.parquet", "--report", "none")
    assert "remembered" not in said, said
    said = run(lastrank, home, 'write("d1.parquet", 1);', status=2)
    assert "it is a run file of lastrank" in said and "--allow" not in said, said
    # Another run is at work there.
    (work / "data").unlink()
    (work / "q.ppl").write_text('write("data", 1); create("begun"); sleep(60s);')
    command = [str(lastrank.program), "run", "q.ppl", "-s", "--report", "none", "-o", "q.parquet"]
    with subprocess.Popen(command, cwd=work, env={"HOME": str(home), "PATH": "/usr/bin:/bin"}) as other:
        deadline = time.monotonic() + 60
        while not (work / "begun").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        said = run(lastrank, home, text, status=2)
        other.kill()
    while (work / "begun").exists() and time.monotonic() < deadline:
        subprocess.run([lastrank.program, "recover"], cwd=work, capture_output=True, check=False)
    assert f"another run of yours is under way in {work} (q, started" in said and "may have" in said, said


def test_what_will_be_refused_is_said_before(lastrank: Lastrank, home: Path) -> None:
    (work := lastrank.folder / "work").mkdir()
    (work / "thesis.txt").write_text("mine")
    (work / "p.ppl").write_text('write("thesis.txt", 4KiB); create(".bashrc"); create("/elsewhere/other-$$rank"); write("new", 1);')
    refused = ('refused to write to "thesis.txt"', 'refused to write to ".bashrc"', 'refused to write to "/elsewhere/other-0"')
    for words in (("explain", "p.ppl"), ("check", "p.ppl"), ("run", "p.ppl", "--dry-run")):
        said = say(lastrank, home, *words)
        assert all(f"as files are now, a run is {one}" in said for one in refused) and '"new"' not in said, said
        assert "warning" in said or words[0] != "check", said
        told = json.loads(say(lastrank, home, *words, "--format=json" if words[0] == "check" else "--json"))
        assert len(told["refusals"]) == 3, told
    assert f"--allow {work}" in said
    # The run says the same, and what the user allows is not refused.
    assert refused[0] in run(lastrank, home, (work / "p.ppl").read_text(), status=2)
    said = say(lastrank, home, "run", "p.ppl", "--dry-run", "--allow", work, "--allow", "/elsewhere")
    assert "refused" not in said and "creates at most 4 files: thesis.txt, .bashrc, /elsewhere/other-0, new" in said, said
    # What an earlier run left is the next one's.
    run(lastrank, home, 'write("own", 1);')
    (work / "p.ppl").write_text('write("own", 1);')
    assert "creates 1 file: own" in (said := say(lastrank, home, "run", "p.ppl", "--dry-run")) and "refused" not in said, said


def test_a_replay_makes_the_links_that_the_application_made(lastrank: Lastrank, home: Path) -> None:
    """Also those that a program could not make: `..` behind a name, and what leads out of the directory."""
    script = "mkdir res lib; echo x > res/x; ln -s ../lib/../res/x res/l; ln -s ../../up res/h; mv res moved; cat moved/h"
    say(lastrank, home, "record", "-o", "app.parquet", "--", "sh", "-c", script, status=1)
    say(lastrank, home, "replay", "app.parquet", "-o", lastrank.folder / "replay.parquet")
    made = {path.name: path for path in (lastrank.folder / "work/imported").rglob("*") if path.is_symlink()}
    assert {name: str(path.readlink()) for name, path in made.items()} == {"l": "../lib/../res/x", "h": "../../up"}
    # A program is another matter: anybody may have written it.
    for target in ("../lib/../res/x", "../../up", "/etc/passwd"):
        (lastrank.folder / "work/p.ppl").write_text(f'symlink("{target}", "l");')
        said = say(lastrank, home, "replay", "p.ppl", "-o", lastrank.folder / "p.parquet", status=2)
        assert "make a link to" in said and not (lastrank.folder / "work/l").is_symlink(), said


def test_a_replay_makes_absolute_links_too_and_fidelity_sees_another_one(lastrank: Lastrank, home: Path) -> None:
    (lastrank.folder / "elsewhere").mkdir()
    script = f"mkdir res; echo x > res/f; ln -s {lastrank.folder}/elsewhere/tool res/tool; ln -s $PWD/res/f res/g; ln -s ../../up res/h; ln -s lib/../res/f res/i"
    say(lastrank, home, "record", "-o", "app.parquet", "--", "sh", "-c", script)
    say(lastrank, home, "replay", "app.parquet", "-o", lastrank.folder / "replay.parquet")
    work = lastrank.folder / "work"
    made = {path.name: path for path in (work / "imported").rglob("*") if path.is_symlink()}
    assert {name: str(path.readlink()) for name, path in made.items()} == {
        "tool": f"{lastrank.folder}/elsewhere/tool",
        "g": "f",
        "h": "../../up",
        "i": "lib/../res/f",
    }
    look = ("fidelity", "app.parquet", lastrank.folder / "replay.parquet", "--tree", "imported")
    assert "The files have the names, types, sizes and links of those that the application left" in (said := say(lastrank, home, *look)), said
    made["tool"].unlink()
    made["tool"].symlink_to("../../../elsewhere/tool")
    said = say(lastrank, home, *look, status=1)
    assert "1 of" in said and f"the application left a link to {lastrank.folder}/elsewhere/tool" in said, said
    # A program is another matter: anybody may have written it.
    (work / "p.ppl").write_text('define place "dir" $dir "."\nsymlink("/etc/passwd", "l");')
    said = say(lastrank, home, "replay", "p.ppl", "--set", "dir=other", "-o", "p.parquet", status=2)
    assert "make a link to" in said and not (work / "l").is_symlink(), said


def test_a_directory_that_is_missing_is_named_before_anything_runs(lastrank: Lastrank, home: Path) -> None:
    work, missing = lastrank.folder / "work", lastrank.folder / "not here"
    said = run(lastrank, home, 'write("x", 1);', "--root", missing, status=2)
    assert f"there is no directory {missing}; `mkdir -p '{missing}'` makes it" in said, said
    below = 'define place "dir" $dir "here"\nwrite("$dir/x", 1);'
    said = run(lastrank, home, below, "--set", f"dir={missing}", status=2)
    assert f"the program begins with {missing}/x" in said and "mkdir -p" in said, said
    assert {path.name for path in work.iterdir()} == {"p.ppl"} and not (lastrank.folder / "r.parquet").exists()
    # What the program makes itself need not be there, and a place may be a file.
    run(lastrank, home, below.replace("write", 'mkdir("$dir"); write'), "--set", f"dir={missing}")
    run(lastrank, home, 'define place "file" $file "here"\nwrite($file, 1);', "--set", f"file={lastrank.folder / 'new'}")
    command = [str(lastrank.program), "record", "--quiet", "-o", "app.parquet", "--", "true"]
    nowhere = str(lastrank.folder / "nowhere")
    done = subprocess.run(command, cwd=work, env={**os.environ, "TMPDIR": nowhere}, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and f"cannot keep the calls in {nowhere} (TMPDIR" in done.stderr, done.stderr


def test_a_recording_is_no_run_and_is_told_as_a_recording(lastrank: Lastrank, home: Path) -> None:
    say(lastrank, home, "record", "-o", "app.parquet", "--", "true")
    for words, status in ((("ls", "."), 0), (("report", "app.parquet"), 2), (("compare", "app.parquet", "app.parquet"), 2)):
        said = say(lastrank, home, *words, status=status)
        assert "app.parquet is a recording of an application" in said and "`lastrank replay" in said, said
        assert "another tool" not in said, said


def test_ior_writes_and_then_reads(lastrank: Lastrank, home: Path) -> None:
    """And thirty students do so in one directory, each in a file of his own."""
    words = ("ior", "-b", "64k", "-t", "16k", "--report", "none", "-o")
    for student in range(3):
        for how in (("-w", "-k"), ("-r", "-k", "-E"), ("-w", "-k")):
            say(lastrank, home, *words, f"s-{student}", *how)


def test_a_recording_is_replayed_in_its_own_folder_twice(lastrank: Lastrank, home: Path) -> None:
    script = "mkdir -p s; echo x > f.1; ln -s ../f.1 s/l; cat s/l; mv f.1 f.2; rm -r s f.2"
    say(lastrank, home, "record", "-o", "app.parquet", "--", "sh", "-c", script)
    for _ in range(2):
        say(lastrank, home, "replay", "app.parquet", "-o", lastrank.folder / "replay.parquet")


def test_a_replay_begins_anew_where_only_an_earlier_one_left_something(lastrank: Lastrank, home: Path) -> None:
    """`mkdir` and links would find their names taken. What the user put there is kept, and named."""
    say(lastrank, home, "record", "-o", "app.parquet", "--", "sh", "-c", "mkdir s; echo x > s/f; ln -s f s/l; chmod 600 s/f")
    again = ("replay", "app.parquet", "-o", lastrank.folder / "replay.parquet")
    say(lastrank, home, *again)
    made = [path for path in (lastrank.folder / "work").rglob("l") if path.is_symlink() and "imported" in path.parts]
    assert len(made) == 1
    for _ in range(2):
        assert "left in imported: a replay begins" in say(lastrank, home, *again)
    (made[0].parent / "notes.txt").write_text("mine")
    assert "notes.txt is in the directory of the replay" in say(lastrank, home, *again, status=2)
    # A link to a folder of the user is not followed.
    (made[0].parent / "notes.txt").unlink()
    (lastrank.folder / "thesis").mkdir()
    (lastrank.folder / "thesis/text").write_text("mine")
    (made[0].parent / "linked").symlink_to(lastrank.folder / "thesis")
    say(lastrank, home, *again, status=2)
    assert made[0].is_symlink() and (lastrank.folder / "thesis/text").read_text() == "mine"


def test_the_facts_of_a_run_still_say_by_whom_it_was_confined(lastrank: Lastrank, home: Path) -> None:
    import pyarrow.parquet

    run(lastrank, home, 'write("f", 10);')
    facts = json.loads(pyarrow.parquet.read_metadata(lastrank.folder / "r.parquet").metadata[b"lastrank.facts"])
    assert facts["confinement"]["by"] in ("kernel", "paths")
