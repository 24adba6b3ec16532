"""Tests `io`, `ior`, `meta`, `mem`, `ab`, `ls` and `import` of job files and command lines, on small real files."""

import csv
import io
import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def lastrank(tmp_path: Path):
    program = Path(os.environ.get("LASTRANK_BIN", ROOT / "target" / "debug" / "lastrank")).resolve()
    if not program.is_file():
        pytest.skip("LASTRANK_BIN does not name the program (tests/all.py sets it)")

    def run(*arguments: object, status: int = 0) -> subprocess.CompletedProcess:
        words = [str(word) for word in arguments]
        done = subprocess.run([program, *words], cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "panicked" not in done.stderr
        return done

    return run


KEEP = ["--report", "none", "--output", "run.parquet", "--json"]


def row(document: dict, operation: str, label: str) -> dict:
    found = [one for one in document["results"] if one["operation"] == operation and one["label"] == label]
    assert len(found) == 1, [(one["label"], one["operation"]) for one in document["results"]]
    return found[0]


def measured(lastrank, *arguments: object) -> dict:
    return json.loads(lastrank(*arguments, *KEEP).stdout)


IO = [
    ("randread --bs 4k --depth 16 --ops 500", "fread", 500, 500 * 4096),
    ("--rw=read --bs=64k --io-size 1m", "fread", 16, 1 << 20),
    ("write --bs 64k --fsync 4 --end-fsync --ops 32", "fwrite", 32, 1 << 21),
    ("randwrite --bssplit 4k/50:8k/50 --ops 100 --fdatasync 10", "fwrite", 100, None),
    ("randread --random-distribution zipf:1.2 --ops 300 --numjobs 2", "fread", 600, 600 * 4096),
    ("randread --random_distribution=normal:10 --ops 100 --rate 2000/s", "fread", 100, 100 * 4096),
    ("randwrite --iodepth=4 --number_ios=64 --overwrite --sync dsync", "fwrite", 64, 64 * 4096),
]


@pytest.mark.parametrize(("words", "operation", "operations", "size"), IO)
def test_io_does_what_its_options_say_and_leaves_nothing(lastrank, tmp_path, words, operation, operations, size):
    document = measured(lastrank, "io", *words.split(), "--size", "4MiB")
    access = next(word for word in ("randread", "randwrite", "read", "write") if word in words)
    found = row(document, operation, access)
    assert (found["operations"], found["errors"]) == (operations, 0)
    assert size is None or found["bytes"] == size
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.parquet"]


def test_laying_out_is_no_part_of_the_result(lastrank):
    document = measured(lastrank, "io", "randread", "--ops", 200, "--size", "4MiB")
    assert row(document, "fread", "randread")["bytes"] == 200 * 4096
    assert row(document, "fwrite", "lay out")["bytes"] == 4 << 20


def test_a_mix_for_a_time(lastrank):
    document = measured(lastrank, "io", "randrw", "--rwmixread", 70, "--time", "300ms", "--size", "4MiB")
    reads, writes = (row(document, name, "randrw")["operations"] for name in ("fread", "fwrite"))
    assert reads > writes > 0


def test_a_file_that_exists_is_read_as_it_is_and_written_only_when_asked(lastrank, tmp_path):
    file = tmp_path / "disk.bin"
    file.write_bytes(b"x" * (1 << 20))
    document = measured(lastrank, "io", "read", "disk.bin", "--bs", "64k", "--io-size", "1m")
    assert row(document, "fread", "read")["bytes"] == 1 << 20
    assert file.read_bytes() == b"x" * (1 << 20)
    for access in ("write", "randwrite", "randrw"):
        refused = lastrank("io", access, "disk.bin", status=2)
        assert "--overwrite-existing" in refused.stderr
    assert file.read_bytes() == b"x" * (1 << 20)
    measured(lastrank, "io", "write", "disk.bin", "--io-size", "1m", "--overwrite-existing")
    assert file.stat().st_size == 1 << 20
    assert file.read_bytes() != b"x" * (1 << 20)
    too_long = lastrank("io", "read", "disk.bin", "--size", "2m", status=2)
    assert "is shorter" in too_long.stderr


def test_a_new_file_is_kept_when_asked(lastrank, tmp_path):
    measured(lastrank, "io", "randread", "new.bin", "--size", "1m", "--ops", 10, "--keep")
    assert (tmp_path / "new.bin").stat().st_size == 1 << 20
    (tmp_path / "new.bin").unlink()
    measured(lastrank, "io", "randread", "new.bin", "--size", "1m", "--ops", 10, "--jobs", 2)
    assert not (tmp_path / "new.bin").exists()


MEMORY = ("latency", "bandwidth", "loaded", "nodes") + (("cores",) if len(os.sched_getaffinity(0)) > 1 else ())


def test_the_printed_program_passes_the_checks_and_runs(lastrank, tmp_path):
    lines = [words.split() for words, *_ in IO]
    commands = [["io", *line, "--size", "2m"] for line in lines]
    commands += [["ior", "-b", "256k", "-t", "64k"], ["meta", "-n", "20"]]
    commands += [["mem", kind, "--size", "64KiB", "--time", "1ms"] for kind in MEMORY]
    for number, command in enumerate(commands):
        program = tmp_path / f"{number}.ppl"
        program.write_text(lastrank(*command, "--print-program").stdout)
        checked = lastrank("check", program)
        assert "no mistakes" in checked.stdout + checked.stderr
        lastrank("fmt", "--check", program)
        lastrank("run", program, "--quiet", "--report", "none", "-o", "run.parquet", "-c")


def test_ior_moves_the_bytes_of_its_options(lastrank, tmp_path):
    line = "-a POSIX -b 256k -t 64k -s 2 -C -e -i 2 --ranks 2"
    document = measured(lastrank, "ior", *line.split())
    for operation, label in (("fwrite", "write"), ("fread", "read")):
        found = row(document, operation, label)
        assert (found["bytes"], found["operations"]) == (2 * 2 * 2 * 256 * 1024, 32)
        assert found["iterations"]["n"] == 2 if "n" in (found["iterations"] or {}) else found["iterations"] is not None
    assert not (tmp_path / "testFile").exists()
    (tmp_path / "testFile").write_text("mine")
    refused = lastrank("ior", "-b", "64k", "-t", "64k", "--report", "none", status=2)
    assert "this run did not make it" in refused.stderr and "--allow" in refused.stderr
    assert (tmp_path / "testFile").read_text() == "mine"


@pytest.mark.parametrize("where", [".", "other", "other/new"])
def test_io_makes_files_in_the_directory_and_leaves_those_of_others(lastrank, tmp_path, where):
    (tmp_path / "other").mkdir()
    words = ("io", "write", where, "--size", "1m", "--ops", "10", "--report", "none")
    lastrank(*words)
    name = "other/new" if where == "other/new" else f"{where}/lastrank-io-0"
    assert not list(tmp_path.glob("**/lastrank-io*")) and not (tmp_path / name).exists()
    (tmp_path / name).write_text("mine")
    # A file that is removed has a name of its own in each run; one that is kept has always the same.
    refused = lastrank(*words, *([] if where == "other/new" else ["--keep"]), status=2)
    assert "--overwrite-existing" in refused.stderr if where == "other/new" else "this run did not make it" in refused.stderr
    if where != "other/new":
        lastrank(*words)
    assert (tmp_path / name).read_text() == "mine"


@pytest.mark.parametrize(("how", "name"), [("-a POSIX", "f"), ("-a POSIX -F", "f.00000000"), ("-a MPIIO", "f")])
def test_ior_replaces_what_it_kept_before(lastrank, tmp_path, how, name):
    for times in (2, 1):
        lastrank("ior", *how.split(), *f"-w -k -b 64k -t 64k -s {times} -o f --report none".split())
        kept = {path.name: path.stat().st_size for path in tmp_path.glob("f*")}
        assert kept == {name: times << 16}


def test_ior_wears_out_to_as_much_as_the_fastest_rank_had_done(lastrank, tmp_path):
    words = "-w -r -R -C -F -Y -k -D 1 -O stoneWallingWearOut=1 -t 4k -b 1g -o f --ranks 2"
    document = measured(lastrank, "ior", *words.split())
    sizes = [path.stat().st_size for path in sorted(tmp_path.glob("f.0000000*"))]
    assert len(sizes) == 2 and sizes[0] == sizes[1] < 1 << 30
    for operation, label in (("fwrite", "write"), ("fread", "read")):
        found = [one for one in document["results"] if one["operation"] == operation and one["labels"][0] == label]
        assert sum(one["operations"] for one in found) == 2 * sizes[0] // 4096, label


def test_meta_counts_the_items_of_its_options(lastrank, tmp_path):
    document = measured(lastrank, "meta", *"-n 30 -z 1 -b 2 -u -w 1k -e 1k -N 1 -d tree --ranks 2".split())
    for operation, label in (
        ("mkdir", "directory creation"),
        ("stat", "directory stat"),
        ("write", "file creation"),
        ("stat", "file stat"),
        ("read", "file read"),
        ("unlink", "file removal"),
    ):
        found = row(document, operation, label)
        assert (found["operations"], found["errors"]) == (60, 0), label
    assert not (tmp_path / "tree").exists()


def test_mem_has_a_row_for_each_size(lastrank):
    document = measured(lastrank, "mem", "--size", "64KiB", "--time", "2ms")
    labels = [one["label"] for one in document["results"] if one["operation"] == "chase" and one["label"]]
    assert labels == [f"memory {size}KiB" for size in (4, 6, 8, 12, 16, 24, 32, 48, 64)]
    assert document["answer"]["form"] == "ladder"


def test_mem_loaded_says_what_a_load_costs_beside_what_the_others_move(lastrank):
    document = measured(lastrank, "mem", "loaded", "--size", "1MiB", "--time", "100ms", "--workers", "2")
    assert document["answer"]["form"] == "load"
    assert " alone and " in document["answer"]["sentences"][0]
    rows = document["answer"]["tables"][0]["rows"]
    others = ["others pause 30 ms", "others pause 10 ms", "others pause 3 ms", "others read on"]
    assert [row["cells"][0] for row in rows] == ["alone", *others]
    assert rows[0]["cells"][1] == "–" and all("iB/s" in row["cells"][1] for row in rows[1:])


def test_mem_has_a_matrix_of_processors_and_one_of_memory_nodes(lastrank):
    nodes = measured(lastrank, "mem", "nodes", "--size", "1MiB", "--time", "2ms")
    count = len(nodes["answer"]["tables"][0]["rows"])
    assert nodes["answer"]["form"] == "matrix" and count >= 1
    assert ("There is one node alone" in nodes["answer"]["sentences"][0]) == (count == 1)
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) == 1:
        assert "two are needed" in lastrank("mem", "cores", status=2).stderr
        return
    cores = measured(lastrank, "mem", "cores", "--time", "2ms")
    table = cores["answer"]["tables"][0]
    assert [row["cells"][0] for row in table["rows"]] == [str(number) for number in processors]
    assert all(row["cells"][1 + at] == "–" for at, row in enumerate(table["rows"]))
    assert table["rows"][0]["cells"][2] == table["rows"][1]["cells"][1] != "–"


HOSTILE = [
    ("io", "say what is done"),
    ("io reed", "one of read"),
    ("io randread --size 0", "1 byte to 1 EiB"),
    ("io randread --size -1", "1 byte to 1 EiB"),
    ("io randread --size 99999999999g", "1 byte to 1 EiB"),
    ("io randread --bs 8k --size 4k", "holds no block"),
    ("io randread --bs 4kb", "write 4k or 4KiB"),
    ("io randread --bs 1000 --direct", "multiples of 512"),
    ("io randread --depth 0", "1 to 4096"),
    ("io randread --time 0", "above 0"),
    ("io randread --time -3", "a time"),
    ("io randread --rate 0/s", "above 0"),
    ("io randread --fsync 1", "writes nothing"),
    ("io randread /nowhere/at/all", "no directory"),
    ("io randread /dev/null", "neither a file"),
    ("io randread --jobs 2 -n 3", "leave one out"),
    ("ior -b 3k -t 2k", "no multiple"),
    ("ior -a HDF5", "POSIX and MPIIO"),
    ("ior -J 3", "not supported"),
    ("meta", "give -n"),
    ("meta -n 1 -z 40 -b 3", "16 million"),
    ("mem --size 0", "64KiB"),
    ("mem --time -1", "above 0"),
    ("ab true", "required"),
    ("ab true disk", "two of a kind"),
    ("ab --program disk nowhere .", "no directory"),
    ("ab true true --equal-within 0", "percentage"),
    ("ab /nowhere/x true", "cannot start"),
    ("ls nowhere", "there is no directory nowhere"),
    ("import nowhere.fio", "cannot read"),
    ("run disk --tag x", "--tag NAME=VALUE"),
]


@pytest.mark.parametrize(("words", "said"), HOSTILE, ids=[words for words, _ in HOSTILE])
def test_what_cannot_be_done_is_an_error_that_names_it(lastrank, words, said):
    assert said in lastrank(*words.split(), status=2).stderr


JOB = """[global]
size=1m
bs=4k
[fill]
rw=write
numjobs=2
[read]
stonewall
rw=randread
iodepth=4
ioengine=libaio
number_ios=100
"""


def test_a_job_file_and_command_lines_become_programs_that_run(lastrank, tmp_path):
    (tmp_path / "job.fio").write_text(JOB)
    (tmp_path / "line").write_text("# the old benchmark\nmpirun -n 2 ior -a POSIX -b 128k -t 64k\n")
    sources = [("job.fio", "job.ppl"), ("line", "ior.ppl"), ("mdtest -n 10 -F", "mdtest.ppl")]
    for source, program in sources:
        lastrank("import", source, "-o", program)
        lastrank("run", program, "-c", "--quiet", "--report", "none", "-o", program.replace(".ppl", ".parquet"))
    document = json.loads(lastrank("report", "job.parquet", "--json").stdout)
    assert row(document, "fwrite", "fill")["bytes"] == 2 << 20
    assert row(document, "fread", "read")["operations"] == 100
    (tmp_path / "bad.fio").write_text("[a]\nrw=read\nsize=1m\nzonemode=zbd\n")
    refused = lastrank("import", "bad.fio", status=2)
    assert "zonemode" in refused.stderr


def test_ls_shows_note_tags_and_numbers(lastrank, tmp_path):
    run = ["io", "randread", "--ops", "200", "--size", "1m", "--report", "none", "--quiet"]
    lastrank(*run, "-o", "a.parquet", "--note", "before the update", "--tag", "kernel=6.1")
    lastrank(*run, "-o", "b.parquet")
    (tmp_path / "c.parquet").write_bytes(b"PAR1 but broken")
    shown = lastrank("ls")
    assert "before the update kernel=6.1" in shown.stdout
    assert shown.stdout.index("a.parquet") < shown.stdout.index("b.parquet")
    assert "c.parquet" in shown.stderr
    listed = json.loads(lastrank("ls", "--json").stdout)["runs"]
    assert [one["of"] for one in listed] == ["randread / fread"] * 2
    assert listed[0]["tags"] == {"kernel": "6.1"}
    rows = list(csv.DictReader(io.StringIO(lastrank("ls", "--csv").stdout)))
    assert [float(one["p50_seconds"]) for one in rows] == [one["p50_seconds"] for one in listed]


SLEEP = "sh -c 'sleep 0.0{}'"


def test_ab_finds_the_slower_command_and_says_so_by_its_status(lastrank):
    pair = [SLEEP.format("02"), SLEEP.format("30")]
    told = json.loads(lastrank("ab", *pair, "--json", "--fail-if-slower", status=1).stdout)
    assert (told["look"]["decision"], told["look"]["blocks"]) == ("slower", 8)
    assert told["look"]["ratio"] > 1.5
    assert {block["order"] for block in told["blocks"]} <= {"ABBA", "BAAB"}
    assert lastrank("ab", *reversed(pair), "--fail-if-slower", "--quiet").stdout.startswith("B is faster")


def test_ab_of_programs_keeps_their_runs_and_stops_when_its_time_is_over(lastrank, tmp_path):
    for name, law in (("a", "20us"), ("b", "20us")):
        (tmp_path / f"{name}.ppl").write_text(f"repeat 50 time[\"pause\"] sleep({law});\n")
    told = lastrank("ab", "a.ppl", "b.ppl", "--time", "1ms", "--keep", "runs", "--of", "pause", "--fail-if-slower", status=3)
    assert "Undecided: 1 of the 8 blocks" in told.stdout
    assert len(list((tmp_path / "runs").glob("01-*.parquet"))) == 4


def test_ab_reports_a_run_that_fails(lastrank):
    assert "failed" in lastrank("ab", "false", "true", status=3).stderr
    said = "sh -c 'echo first reason >&2; seq 2000 >&2; echo last reason >&2; exit 7'"
    told = lastrank("ab", "true", said, status=3).stderr
    assert "exit status: 7" in told and told.endswith("\n  1998\n  1999\n  2000\n  last reason\n")
    # What it leaves running keeps its standard error open, and is not waited for.
    left = lastrank("ab", "true", "sh -c 'sleep 5 & exit 1'", status=3).stderr
    assert "exit status: 1" in left


def test_ab_of_what_a_shell_would_understand_says_so(lastrank):
    told = lastrank("ab", "sleep 0.01 | cat", "true", status=3).stderr
    assert "sh -c 'sleep 0.01 | cat'" in told and "invalid time interval" in told
    assert "sh -c 'no-such-command | cat'" in lastrank("ab", "no-such-command | cat", "true", status=2).stderr
    assert "sh -c" not in lastrank("ab", "no-such-command", "true", status=2).stderr
