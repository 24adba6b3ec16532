"""What was found in a run is told alike by every output, and decides the exit status."""

import csv
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pandas
import pyarrow.parquet
import pytest

EBADMSG = 74
CHECK = "define ranks 1;\nverify { read(\"blk\"); }\n"


def call(program: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module", params=[True, False], ids=["corrupt", "sound"])
def read_back(request: pytest.FixtureRequest, program: Path, tmp_path_factory: pytest.TempPathFactory):
    """A file that was written by one run and read by another; between them a byte changed, or none."""
    folder = tmp_path_factory.mktemp("verify")
    (folder / "write.ppl").write_text('define ranks 1;\nwrite("blk", 4m);\nverify read("blk");\n')
    (folder / "check.ppl").write_text(CHECK)
    call(program, folder, "run", "write.ppl", "--report", "none", "-o", "w.parquet").check_returncode()
    if request.param:
        with (folder / "blk").open("r+b") as file:
            file.seek(1_048_580)
            old = file.read(1)
            file.seek(1_048_580)
            file.write(bytes([old[0] ^ 1]))
    ran = call(program, folder, "run", "check.ppl", "-o", "c.parquet")
    os.remove(folder / "w.parquet")
    return request.param, folder, ran


def test_screen_and_status(read_back, program):
    corrupt, folder, ran = read_back
    said = call(program, folder, "report", "c.parquet", "-o", "again.html")
    quick = call(program, folder, "report", "c.parquet", "-q", "-o", "again.html")
    assert {ran.returncode, said.returncode, quick.returncode} == {3 if corrupt else 0}
    assert call(program, folder, "report", "c.parquet", "-q", "--exit-zero", "-o", "again.html").returncode == 0
    for text in (ran.stdout, said.stdout, quick.stdout):
        assert ("WRONG DATA: 1 of 1 operation" in text) == corrupt
        assert ("✖" in text) == corrupt
    assert ("  blk, byte 1048580: " in ran.stdout) == corrupt
    assert ("read in line 2, rank 0. Trust neither" in ran.stdout) == corrupt
    for page in ("c.html", "again.html"):
        assert ("WRONG DATA" in (folder / page).read_text()) == corrupt


def test_several_wrong_files_are_listed_with_their_number(program: Path, tmp_path: Path) -> None:
    (tmp_path / "write.ppl").write_text('define ranks 1;\nfor $i in range(0, 8) { write("blk$i", 64k); }\n')
    (tmp_path / "check.ppl").write_text('define ranks 1;\nverify { for $i in range(0, 8) { read("blk$i"); } }\n')
    call(program, tmp_path, "run", "write.ppl", "--report", "none").check_returncode()
    for number in (0, 1, 3, 4, 5, 6, 7):
        with (tmp_path / f"blk{number}").open("r+b") as file:
            file.seek(4000 + number)
            old = file.read(1)
            file.seek(4000 + number)
            file.write(bytes([old[0] ^ 1]))
    ran = call(program, tmp_path, "run", "check.ppl", "-o", "c.parquet")
    assert ran.returncode == 3
    assert "and 4 more reads" in ran.stderr
    again = call(program, tmp_path, "report", "c.parquet", "-o", "again.html")
    for screen in (ran.stdout, again.stdout):
        told = " ".join(screen.split())
        assert "blk0, byte 4000: " in told and "; and 6 more reads: -v" in told, screen
    detailed = call(program, tmp_path, "report", "c.parquet", "-v", "-o", "again.html").stdout
    for text in (detailed, (tmp_path / "c.html").read_text()):
        told = " ".join(text.split())
        for number in (0, 1, 3):
            assert f"blk{number}, byte {4000 + number}: " in told, text
        assert "7 times" in told and "; and 4 more reads" in told


def test_every_way_of_running_ends_alike(read_back, program):
    corrupt, folder, _ = read_back
    for option in ("-q", "--json", "-s", "-v"):
        ran = call(program, folder, "run", "check.ppl", option, "--report", "none", "-o", "other.parquet")
        assert ran.returncode == (3 if corrupt else 0), option
        if option != "-s":
            assert ("wrong_content" in ran.stdout or "WRONG DATA" in ran.stdout) == corrupt, option
    os.remove(folder / "other.parquet")


def test_files_and_lists(read_back, program):
    corrupt, folder, _ = read_back
    document = json.loads(call(program, folder, "report", "c.parquet", "--json").stdout)
    kinds = [one["kind"] for one in document["judgements"]["found"]]
    assert kinds == (["wrong_content"] if corrupt else [])
    assert sum(row["errors"] for row in document["results"]) == corrupt
    metadata = pyarrow.parquet.read_metadata(folder / "c.parquet").metadata
    found = json.loads(metadata[b"lastrank.facts"])["judgements"]["found"]
    if corrupt:
        (example,) = found[0]["examples"]
        assert (example["file"], example["byte"], example["rank"]) == ("blk", 1_048_580, 0)
        assert example["host"] and "changed" in example["content"]
    else:
        assert found == []
    frame = pandas.read_parquet(folder / "c.parquet")
    assert list(frame[frame.operation == "read"].errno) == [EBADMSG if corrupt else 0]
    exported = call(program, folder, "export", "c.parquet", "--to", "csv", "-o", "-")
    assert exported.returncode == 0
    rows = csv.DictReader(exported.stdout.splitlines())
    assert [row["errno"] for row in rows if row["operation"] == "read"] == [str(EBADMSG if corrupt else 0)]


def test_ls(read_back, program):
    corrupt, folder, _ = read_back
    listed = call(program, folder, "ls")
    assert listed.returncode == 0
    assert ("WRONG DATA" in listed.stdout) == corrupt
    table = list(csv.DictReader(call(program, folder, "ls", "--csv").stdout.splitlines()))
    assert [(row["errors"], row["status"]) for row in table] == [("1", "3") if corrupt else ("0", "0")]
    runs = json.loads(call(program, folder, "ls", "--json").stdout)["runs"]
    assert [run["status"] for run in runs] == [3 if corrupt else 0]


PROGRAMS = {
    # The message of an expected failure does not stick to the next one.
    "stale": (
        'expect errno == EBADMSG verify read("foreign");\nunlink("no-such-file");\n',
        3,
        [("operation_failed", 2, 'line 2: unlink("no-such-file") failed: ENOENT, no such file or directory')],
    ),
    "told": (
        'on_error stop;\nwrite("w.dat", 4k);\nexpect errno == EIO write("w.dat", 4k);\nprint("never");\n',
        3,
        [
            ("expectation_not_met", 3, 'line 3: write("w.dat") succeeded, but EIO was expected'),
            (
                "cut_short",
                None,
                'gave up: line 3: write("w.dat") succeeded, but EIO was expected; the program says `on_error stop`',
            ),
        ],
    ),
    "asyncexpect": (
        '$f = fopen("ae.dat", "O_RDWR|O_CREAT");\nasync depth=4 { expect errno == EIO { fwrite($f, 4k, 0); } }\n'
        'expect errno == EIO { fwrite($f, 4k, 0); }\nfclose($f); delete("ae.dat");\n',
        3,
        [
            ("expectation_not_met", 2, 'line 2: fwrite("ae.dat") succeeded, but EIO was expected'),
            ("expectation_not_met", 3, 'line 3: fwrite("ae.dat") succeeded, but EIO was expected'),
        ],
    ),
    "expected": ('expect errno == ENOENT { stat("none"); }\n$e = 2;\nexpect errno == $e { stat("none"); }\n', 0, []),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_said_of_a_program(name: str, program: Path, tmp_path: Path) -> None:
    text, status, wanted = PROGRAMS[name]
    (tmp_path / "p.ppl").write_text(text)
    (tmp_path / "foreign").write_bytes(b"x" * 4096)
    ran = call(program, tmp_path, "run", "p.ppl", "--json", "--report", "none", "-o", "p.parquet")
    assert ran.returncode == status, ran.stderr
    document = json.loads(ran.stdout)
    listed = [one for one in document["judgements"]["found"] if one["kind"] != "failed_as_expected"]
    found = [(one["kind"], one.get("line"), one["examples"][0]["text"]) for one in listed]
    assert found == wanted
    errors = sum(row["errors"] for row in document["results"] if row["kind"] == "operation")
    assert errors == sum(one["count"] for one in listed if one["kind"] == "operation_failed")
    assert call(program, tmp_path, "report", "p.parquet", "-q", "-o", "p.html").returncode == status


def test_operations_that_could_not_be_tried_count_in_head_and_table(program: Path, tmp_path: Path) -> None:
    (tmp_path / "p.ppl").write_text('$f = fopen("none", "r");\nrepeat 100 fread($f, 10k);\nfclose($f);\n')
    ran = call(program, tmp_path, "run", "p.ppl", "-o", "p.parquet")
    assert ran.returncode == 3 and "102 of 102 operations failed" in ran.stdout
    document = json.loads(call(program, tmp_path, "report", "p.parquet", "--json").stdout)
    assert {row["operation"]: row["errors"] for row in document["results"]} == {"fopen": 1, "fread": 100, "fclose": 1}


def test_an_assertion_is_a_fact_and_a_failure_wins_over_it(program: Path, tmp_path: Path) -> None:
    text = 'write("as.dat", 4k);\nassert p99("write") < 1ns;\ndelete("as.dat");\n'
    (tmp_path / "p.ppl").write_text(text)
    ran = call(program, tmp_path, "run", "p.ppl", "--json", "-o", "p.parquet")
    (found,) = json.loads(ran.stdout)["judgements"]["found"]
    assert (ran.returncode, found["kind"], found["line"], found["count"]) == (1, "assertion_failed", 2, 1)
    assert 'p99("write") < 1ns' in found["what"] and 'p99("write") is ' in found["examples"][0]["text"]
    assert "does not hold" in (tmp_path / "p.html").read_text()
    assert call(program, tmp_path, "report", "p.parquet", "-q").returncode == 1
    (tmp_path / "p.ppl").write_text(text + 'unlink("none");\n')
    assert call(program, tmp_path, "run", "p.ppl", "-s", "--report", "none", "-o", "q.parquet").returncode == 3


def test_a_file_of_a_group_stays_open_behind_the_fclose_of_one_rank(program: Path, tmp_path: Path) -> None:
    text = '$f = pfopen("pf.dat", "wc");\nfclose($f);\npfclose($f);\npdelete("pf.dat");\n'
    (tmp_path / "p.ppl").write_text(text)
    checked = call(program, tmp_path, "check", "p.ppl", "-n", "2")
    said = checked.stdout + checked.stderr
    assert checked.returncode == 0 and "W0117" in said and "close it with `pfclose`" in said
    ran = call(program, tmp_path, "run", "p.ppl", "-n", "2", "--json", "--report", "none", "-o", "p.parquet")
    (found,) = json.loads(ran.stdout)["judgements"]["found"]
    assert (ran.returncode, found["operation"], found["line"], found["count"]) == (3, "fclose", 2, 2)
    assert 'fclose("pf.dat")' in found["examples"][0]["text"] and "`pfclose`" in found["examples"][0]["text"]
    assert not (tmp_path / "pf.dat").exists()


def test_a_file_of_one_rank_stays_open_behind_pfclose(program: Path, tmp_path: Path) -> None:
    text = '$f = fopen("f.dat", "w");\npfclose($f);\nfwrite($f, 4k);\nfclose($f);\ndelete("f.dat");\n'
    (tmp_path / "p.ppl").write_text(text)
    ran = call(program, tmp_path, "run", "p.ppl", "--json", "--report", "none", "-o", "p.parquet")
    (found,) = json.loads(ran.stdout)["judgements"]["found"]
    assert (ran.returncode, found["operation"], found["count"]) == (3, "pfclose", 1)
    assert "`fopen` opened it for one rank" in found["examples"][0]["text"]


def test_the_environment_may_differ_between_ranks(program: Path, tmp_path: Path) -> None:
    (tmp_path / "p.ppl").write_text('if $$env(HOLDS) == "0" { barrier; }\nprint("done", $$env(HOLDS));\n')
    environment = {**os.environ, "HOLDS": "0"}
    checked = subprocess.run(
        [program, "check", "p.ppl", "-n", "2"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    said = checked.stdout + checked.stderr
    assert checked.returncode == 0 and "W0106" in said and "each reads its own environment" in said
    (tmp_path / "p.ppl").write_text('barrier;\nprint("done", $$env(HOLDS));\n')
    checked = subprocess.run(
        [program, "check", "p.ppl", "-n", "2"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert checked.returncode == 0 and "W0106" not in checked.stdout + checked.stderr


def test_a_nul_in_a_name_is_named(program: Path, tmp_path: Path) -> None:
    (tmp_path / "constant.ppl").write_text('write("a\0b.dat", 4k);\n')
    checked = call(program, tmp_path, "check", "constant.ppl")
    assert checked.returncode == 2 and "E0226" in checked.stdout + checked.stderr
    (tmp_path / "p.ppl").write_text('$f = "a\0b.dat";\nwrite($f, 4k);\n')
    checked = call(program, tmp_path, "check", "p.ppl")
    assert checked.returncode == 0 and "holds a NUL byte" in checked.stdout + checked.stderr
    ran = call(program, tmp_path, "run", "p.ppl", "--json", "--report", "none", "-o", "p.parquet")
    (found,) = json.loads(ran.stdout)["judgements"]["found"]
    assert (ran.returncode, found["kind"], found["line"]) == (3, "operation_failed", 2)
    text = found["examples"][0]["text"]
    assert "the name holds a NUL byte" in text and "\0" not in text
    assert {path.name for path in tmp_path.iterdir()} == {"constant.ppl", "p.ppl", "p.parquet"}


def test_a_read_behind_an_inner_verify_is_verified(program: Path, tmp_path: Path) -> None:
    text = 'write("own", 4k);\nverify {\n  verify read("own");\n  read("foreign");\n}\nread("foreign");\n'
    (tmp_path / "p.ppl").write_text(text)
    (tmp_path / "foreign").write_bytes(b"x" * 4096)
    ran = call(program, tmp_path, "run", "p.ppl", "--json", "--report", "none", "-o", "p.parquet")
    (found,) = json.loads(ran.stdout)["judgements"]["found"]
    assert (ran.returncode, found["kind"], found["line"], found["count"]) == (3, "wrong_content", 4, 1)


STEPS = 'define ranks 1;\nrepeat 400 time["s"] write("own", 4k);\n'
SIMULATED = ["--backend", "simulate:gev(10ms,1ms,0)", "--report", "none"]
#: What is wrong with a run, the words for it, and the status that it asks for.
FOUND = {
    "sound": ("", "", 0),
    "asserted": ('assert p99("s") < 1ns;\n', "", 1),
    "failed": ('expect errno == EIO write("own", 4k);\n', "succeeded once, but was to fail", 3),
    "foreign": ('verify read("foreign");\n', "WRONG DATA: read in line 3 did not read what was written", 3),
    "stopped": ('on_error stop;\nunlink("none");\nwrite("own", 4k);\n', "the run was stopped by the program's `on_error stop`", 3),
}


@pytest.fixture(scope="module")
def judged(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs whose times are of one distribution, and in which something else was found."""
    folder = tmp_path_factory.mktemp("judged")
    for name, (further, _, status) in FOUND.items():
        (folder / f"{name}.ppl").write_text(STEPS + further)
        # Only real reads are verified: of "foreign" the times are real, too.
        backend = ["--report", "none"] if name == "foreign" else [*SIMULATED, "--seed", "3"]
        (folder / "foreign").write_bytes(b"x" * 4096)
        ran = call(program, folder, "run", f"{name}.ppl", *backend, "-o", f"{name}.parquet")
        assert ran.returncode == status, ran.stdout + ran.stderr
    return folder


ANALYSES = {
    "compare": ["compare", "sound.parquet", "{}"],
    "the other way": ["compare", "{}", "sound.parquet"],
    "three": ["compare", "sound.parquet", "asserted.parquet", "{}"],
    "fit": ["fit", "{}"],
    "fit -v": ["fit", "-v", "{}"],
    "fit gpd": ["fit", "--model", "gpd", "{}"],
    "plan": ["plan-runs", "{}", "width(p99) < 5%"],
}


@pytest.mark.parametrize("analysis", ANALYSES)
@pytest.mark.parametrize("name", FOUND)
def test_who_draws_conclusions_tells_first_that_a_run_is_not_sound(
    name: str, analysis: str, judged: Path, program: Path
) -> None:
    words = [word.replace("{}", f"{name}.parquet") for word in ANALYSES[analysis]]
    said = call(program, judged, *words)
    _, found, status = FOUND[name]
    is_sound = status != 3
    assert said.returncode == (0 if is_sound else 3), said.stdout + said.stderr
    first = " ".join(said.stdout.split())
    assert ("✔" not in first) or is_sound, first
    assert first.startswith(f"✖ {name}.parquet: ") == (not is_sound), first
    assert found in first
    # Once, not in the warnings again.
    assert first.count("did not read what was written") <= 1 and first.count("but was to fail") <= 1, first
    document = json.loads(call(program, judged, *words, "--json").stdout)
    assert [one["run"] for one in document["unsound"]] == ([] if is_sound else [f"{name}.parquet"])
    if "measured_code" in document or analysis in ("compare", "the other way"):
        assert (document["code"] == "unsound") == (not is_sound)
        assert document["text"].startswith(f"{name}.parquet: ") == (not is_sound)
    if not is_sound and "verdict" in document:
        assert document["verdict"]["usability"] == "not-usable"


def test_pages_tell_first_that_a_run_is_not_sound(judged: Path, program: Path) -> None:
    for words in (["compare", "sound.parquet"], ["compare", "sound.parquet", "asserted.parquet"], ["fit"]):
        for name in ("asserted", "foreign"):
            page = judged / "page.html"
            call(program, judged, *words, f"{name}.parquet", "-o", page.name)
            told = "Times of wrong data decide nothing" in page.read_text()
            assert told == (name == "foreign"), words


def test_exports_tell_that_a_run_is_not_sound(judged: Path, program: Path) -> None:
    for name in ("asserted", "foreign"):
        for form in ("parabench-text", "parabench-xml", "parabench-report", "csv"):
            said = call(program, judged, "export", f"{name}.parquet", "--to", form, "-o", "-")
            assert said.returncode == 0, said.stderr
            assert ("WRONG DATA" in said.stderr) == (name == "foreign"), form
            if form in ("parabench-xml", "parabench-report"):
                assert ("WRONG DATA" in said.stdout) == (name == "foreign"), form
    (judged / "bare.ppl").write_text('unlink("none");\n')
    call(program, judged, "run", "bare.ppl", "--report", "none", "-o", "bare.parquet")
    said = call(program, judged, "export", "bare.parquet", "--to", "parabench-text", "-o", "-")
    assert (said.returncode, said.stdout) == (0, "")
    assert "so the export is empty" in said.stderr and "ENOENT" in said.stderr


def test_one_line_is_the_answer(judged: Path, program: Path) -> None:
    for words in (["compare", "sound.parquet"], ["fit"]):
        for name, (_, found, status) in FOUND.items():
            said = call(program, judged, *words, f"{name}.parquet", "-q")
            assert said.stdout.count("\n") == 1 and said.returncode == (3 if status == 3 else 0), said.stdout
            assert found in said.stdout and said.stdout.startswith(f"{name}.parquet: ") == (status == 3)


def test_a_watch_tells_that_a_run_is_not_sound(judged: Path, program: Path) -> None:
    for name, (_, found, status) in FOUND.items():
        if name == "foreign":
            continue
        said = call(program, judged, "watch", "sound.parquet", f"{name}.parquet")
        shown = " ".join(said.stdout.split())
        assert said.returncode == (3 if status == 3 else 0), shown
        assert ("✖ 400 samples" in shown) == (status == 3) and ("✔" in shown) == (status != 3), shown
        assert found in shown
        lines = call(program, judged, "watch", "sound.parquet", f"{name}.parquet", "--json").stdout.splitlines()
        events = [json.loads(line) for line in lines]
        assert [one["run_file"] for one in events if one["event"] == "unsound"] == (
            [f"{name}.parquet"] if status == 3 else []
        )
        assert (events[-1]["event"], events[-1]["status"]) == ("end", said.returncode)
        refused = call(program, judged, "watch", f"{name}.parquet", "sound.parquet")
        assert refused.returncode == (2 if status == 3 else 0)
        assert (f"{name}.parquet cannot be a baseline: " in refused.stderr) == (status == 3)


def test_folders_with_a_run_that_is_not_sound_have_no_verdict(judged: Path, program: Path, tmp_path: Path) -> None:
    for side in ("old", "new"):
        (tmp_path / side).mkdir()
        for at in range(3):
            os.link(judged / "sound.parquet", tmp_path / side / f"{at}.parquet")
    sound = call(program, tmp_path, "compare", "old", "new")
    os.link(judged / "failed.parquet", tmp_path / "new" / "3.parquet")
    failed = call(program, tmp_path, "compare", "old", "new")
    asked = call(program, tmp_path, "compare", "old", "new", "--fail-if", "factor > 1.05")
    assert (sound.returncode, failed.returncode, asked.returncode) == (0, 3, 3)
    assert "✔" in sound.stdout and "✔" not in failed.stdout and failed.stdout.startswith("✖ new/3.parquet: ")
    assert "is not judged: new/3.parquet" in asked.stderr
    document = json.loads(call(program, tmp_path, "compare", "old", "new", "--json").stdout)
    assert (document["code"], document["measured_code"]) == ("unsound", "no-difference")


def test_sizes_with_a_run_that_is_not_sound_have_no_good_sign(program: Path, tmp_path: Path) -> None:
    for name, (further, _, _) in FOUND.items():
        if name not in ("sound", "failed"):
            continue
        (tmp_path / "p.ppl").write_text(f'repeat 400 time["s"] {{ write("own-$$rank", 4k); }}\n{further}')
        call(program, tmp_path, "run", "p.ppl", "-n", "8", *SIMULATED, "--seed", "3", "-o", "p.parquet")
        said = call(program, tmp_path, "scale", "p.parquet", "--gate", "--to", "64")
        assert said.returncode == (3 if name == "failed" else 0), said.stdout + said.stderr
        assert said.stdout.startswith("✖ p.parquet: ") == (name == "failed")
        assert ("✔" in said.stdout) == (name == "sound")


def interrupted(program: Path, folder: Path, begun: Path, *options: str) -> str:
    """Standard output of a run that is stopped once it made the file."""
    words = [program, "run", "p.ppl", "-o", "p.parquet", *options]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as run:
        while not begun.exists() and run.poll() is None:
            time.sleep(0.01)
        run.send_signal(signal.SIGINT)
        said, _ = run.communicate()
    assert run.returncode == 3, said
    return said


def test_a_run_that_was_stopped_says_how_far_it_came(program: Path, tmp_path: Path) -> None:
    step = 'time["step"] { create("f-$$rank"); barrier; }\n  if $i == 20 && $$rank == 0 { create("begun"); }\n'
    (tmp_path / "p.ppl").write_text(f"define ranks 2;\nrepeat $i 400 {{\n  {step}  think 20ms;\n}}\n")
    said = interrupted(program, tmp_path, tmp_path / "begun", "--json")
    document = json.loads(said)
    progress = document["judgements"]["progress"]
    assert (progress["planned"], progress["unit"]) == (400, "steps")
    assert 20 <= progress["done"] < 400
    metadata = pyarrow.parquet.read_metadata(tmp_path / "p.parquet").metadata
    assert json.loads(metadata[b"lastrank.facts"])["judgements"]["progress"] == progress
    frame = pandas.read_parquet(tmp_path / "p.parquet")
    steps = frame[frame.operation == "time"].groupby("rank").size()
    assert progress["done"] == min(steps)
    far = f"{progress['done']} of 400 steps"
    for arguments in (["report", "p.parquet"], ["report", "p.parquet", "-q"], ["ls"]):
        assert far in " ".join(call(program, tmp_path, *arguments).stdout.split()), arguments
    assert far in (tmp_path / "p.html").read_text()


def test_how_far_is_told_in_operations_or_not_at_all(program: Path, tmp_path: Path) -> None:
    text = 'repeat $i 400 {{ create("f"); if $i == 20 {{ create("begun"); }} {wait} }}\n'
    (tmp_path / "p.ppl").write_text(text.format(wait="think 20ms;"))
    said = interrupted(program, tmp_path, tmp_path / "begun", "--json", "--report", "none")
    progress = json.loads(said)["judgements"]["progress"]
    assert (progress["planned"], progress["unit"]) == (401, "operations") and 21 <= progress["done"] < 401
    for name in ("p.parquet", "begun"):
        (tmp_path / name).unlink(missing_ok=True)
    # A loop over time does not say how much it does.
    (tmp_path / "p.ppl").write_text('for 60s {\n  create("begun");\n  think 20ms;\n}\n')
    said = interrupted(program, tmp_path, tmp_path / "begun", "--json", "--report", "none")
    assert "progress" not in json.loads(said)["judgements"]


def test_what_failed_last_is_not_among_what_was_done(program: Path, tmp_path: Path) -> None:
    """Three programs that fail at their 49th turn: 48 are done, whatever is counted and however it is kept."""
    fails = 'stat($i == 48 ? "missing" : ".");'
    for name, turn, done in (
        ("steps", f'time["step"] {{ {fails} }}', "48 of 80 steps"),
        ("operations", fails, "48 of 80 operations"),
        ("counted", fails, "48 of 80 operations"),
    ):
        text = f"on_error stop;\nfor $i in range(0, 80) {{ {turn} }}\n"
        (tmp_path / f"{name}.ppl").write_text(text)
        more = ["--record", "histogram"] if name == "counted" else []
        ran = call(program, tmp_path, "run", f"{name}.ppl", "--report", "none", *more)
        assert f"after {done}" in " ".join(ran.stdout.split()), ran.stdout
        assert f"; {done} were done" in ran.stderr, ran.stderr


def test_no_law_and_no_picture_below_failed_operations(program: Path, tmp_path: Path) -> None:
    text = 'define ranks 1;\nrepeat 400 time["s"] write("own", 4k);\n'
    simulated = ["--backend", "simulate:gev(10ms,1ms,0)", "--seed", "3", "--report", "none"]
    screens = {}
    for name, more in (("sound", ""), ("failed", 'expect errno == EIO write("own", 4k);\n')):
        (tmp_path / f"{name}.ppl").write_text(text + more)
        screens[name] = call(program, tmp_path, "run", f"{name}.ppl", *simulated, "-o", f"{name}.parquet").stdout
    picture = set("▁▂▃▄▅▆▇█")
    assert picture & set(screens["sound"]) and not picture & set(screens["failed"]), screens
    # The sign of the outcome is the only one: none of a law stands below it.
    lines = {name: screen.splitlines() for name, screen in screens.items()}
    signs = {name: [line[0] for line in those if line and line[0] in "✔✖⚠–"] for name, those in lines.items()}
    assert len(signs["sound"]) > 1 and signs["failed"] == ["✖"], screens
    assert "median" in screens["failed"] or "p50" in screens["failed"]


def test_a_run_of_an_earlier_version_is_judged_by_its_samples(program: Path, tmp_path: Path) -> None:
    (tmp_path / "p.ppl").write_text('write("own", 4k);\nunlink("none");\n')
    call(program, tmp_path, "run", "p.ppl", "--report", "none", "-o", "new.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "new.parquet")
    facts = json.loads(table.schema.metadata[b"lastrank.facts"])
    assert facts.pop("judgements")["found"]
    metadata = {**table.schema.metadata, b"lastrank.facts": json.dumps(facts).encode()}
    pyarrow.parquet.write_table(table.replace_schema_metadata(metadata), tmp_path / "old.parquet")
    (tmp_path / "new.parquet").unlink()
    said = call(program, tmp_path, "report", "old.parquet", "--json")
    (found,) = json.loads(said.stdout)["judgements"]["found"]
    assert (said.returncode, found["kind"], found["errno"], found["line"]) == (3, "operation_failed", 2, 2)
    (listed,) = json.loads(call(program, tmp_path, "ls", "--json").stdout)["runs"]
    assert listed["status"] == 3
