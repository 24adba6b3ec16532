"""Tests that programs write the same bytes at the same offsets with every engine, and pass hints on."""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from .launchers import NAMES, Launcher, launcher

KINDS = [(kind, level) for kind in (1, 2) for level in range(4)]
DEFINE = 'define groups {"left":D, "right":D};\n' + "\n".join(
    f'define pattern {{"{kind}{level}", {kind}, 5, {1000 + 97 * level}, {level}}};' for kind, level in KINDS
)
CALLS = "\n".join(f'CALL("world-{kind}{level}", "{kind}{level}");' for kind, level in KINDS)
IN_GROUPS = (
    'group "left" { CALL("left", "23"); CALL("left-row", "12"); }\ngroup "right" { CALL("right", "21"); }\nbarrier;\n'
)
WRITE = DEFINE + (CALLS + IN_GROUPS).replace("CALL", "pwrite")
# By patterns, and the whole files by plain reads.
FILES = [f"world-{kind}{level}" for kind, level in KINDS] + ["left", "left-row", "right"]
READ = (
    DEFINE
    + "verify {\n"
    + (CALLS + IN_GROUPS).replace("CALL", "pread")
    + "master { "
    + " ".join(f'read("{name}");' for name in FILES)
    + " }\n}\n"
)


def run(by: Launcher, ranks: int, folder: Path, text: str, *words: str, timeout: float = 60):
    """Runs a PPL program with its files in `folder`; returns the run file too."""
    program = folder / "program.ppl"
    program.write_text(text.replace('("', f'("{folder}/').replace('{"' + str(folder) + "/", '{"'))
    output = folder / "run.parquet"
    output.unlink(missing_ok=True)
    words = (program, "--report", "none", "-o", output, "--allow", folder, *words)
    return by.lastrank("run", ranks, *words, timeout=timeout), output


PAIRS = [(writer, NAMES[(at + 1) % len(NAMES)]) for at, writer in enumerate(NAMES)]


@pytest.mark.parametrize(("writer", "reader"), PAIRS)
def test_what_one_engine_wrote_another_verifies(tmp_path: Path, writer: str, reader: str) -> None:
    sizes = ("-g", "left:3", "-g", "right:2")
    wrote, _ = run(launcher(writer), 5, tmp_path, WRITE, *sizes)
    assert wrote.returncode == 0, wrote.stdout + wrote.stderr
    assert (tmp_path / "world-23").stat().st_size == 5 * 5 * (1000 + 97 * 3)
    read, _ = run(launcher(reader), 5, tmp_path, READ, *sizes)
    assert read.returncode == 0, read.stdout + read.stderr


def test_a_wrong_byte_is_found_by_the_rank_it_belongs_to(started_by: Launcher, tmp_path: Path) -> None:
    pattern = 'define pattern {"p", 4, 1000, 3};\n'
    wrote, _ = run(started_by, 2, tmp_path, pattern + 'pwrite("f", "p");')
    assert wrote.returncode == 0, wrote.stdout + wrote.stderr
    with (tmp_path / "f").open("r+b") as file:
        file.seek(3333)
        byte = file.read(1)[0]
        file.seek(3333)
        file.write(bytes([byte ^ 1]))
    read, _ = run(started_by, 2, tmp_path, pattern + 'verify { pread("f", "p"); }')
    assert read.returncode == 3, read.stdout + read.stderr
    assert "rank 1, line 2" in read.stderr and "byte 3333 of the file is not what was written there" in read.stderr
    assert "WRONG DATA: pread in line 2 did not read what was written, once" in read.stderr


HINTS = 'define hints {"cb_nodes": "1", "cb_buffer_size": "2097152", "no_such_hint": "x"};\n'


def test_hints_reach_the_library_and_those_used_are_in_the_facts(started_by: Launcher, tmp_path: Path) -> None:
    text = HINTS + 'define pattern {"p", 4, 1000, 3};\npwrite("f", "p");\n$f = pfopen("g", "cw");\npfclose($f);\n'
    done, output = run(started_by, 2, tmp_path, text)
    assert done.returncode == 0, done.stdout + done.stderr
    facts = json.loads(parquet.read_metadata(output).metadata[b"lastrank.facts"])
    hints, warnings = facts["hints"], {warning["code"]: warning["text"] for warning in facts["warnings"]}
    assert hints["asked"] == {"cb_nodes": "1", "cb_buffer_size": "2097152", "no_such_hint": "x"}
    if not started_by.words:
        assert "without MPI, parallel files are system calls" in warnings["hints-ignored"]
        assert "used" not in hints or hints["used"] == []
        return
    assert [Path(used["file"]).name for used in hints["used"]] == ["f", "g"]
    for used in hints["used"]:
        assert used["hints"]["cb_nodes"] == "1", used
        assert used["hints"]["cb_buffer_size"] == "2097152", used


TWO_GIB = 1 << 31


@pytest.fixture
def memory_path() -> Iterator[Path]:
    """A folder in memory, where holes of a file take no memory."""
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no /dev/shm")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


@pytest.mark.parametrize(("level", "blocks"), [(2, 9), (3, 9), (0, 17)])
def test_a_sparse_file_is_read_beyond_two_gibibytes(
    started_by: Launcher, memory_path: Path, level: int, blocks: int
) -> None:
    if level != 2 and started_by.name not in ("processes", "mpich", "openmpi"):
        pytest.skip("one of each family will do")
    # One transfer of 2.25 GiB (levels 2 and 3), or blocks beyond 4 GiB (level 0), of a file of holes.
    element = 1 << 28
    with (memory_path / "f").open("wb") as file:
        file.truncate(blocks * element)
    text = f'define pattern {{"p", {blocks}, {element}, {level}}};\npread("f", "p");\n'
    done, output = run(started_by, 1, memory_path, text, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert parquet.read_table(output).to_pandas().bytes.tolist() == [blocks * element]
    assert blocks * element > TWO_GIB


@pytest.mark.skipif(os.environ.get("LASTRANK_LONG_TESTS") != "1", reason="LASTRANK_LONG_TESTS=1: needs 6 GiB")
@pytest.mark.parametrize("level", [0, 1, 2, 3])
@pytest.mark.parametrize("kind", [1, 2])
def test_beyond_two_gibibytes_every_byte_is_its_owners(
    started_by: Launcher, tmp_path: Path, level: int, kind: int
) -> None:
    # Two ranks of 2.25 GiB each; another engine reads what was written.
    pattern = f'define pattern {{"p", {kind}, 9, {1 << 28}, {level}}};\n'
    wrote, output = run(started_by, 2, tmp_path, pattern + 'pwrite("f", "p");', timeout=600)
    assert wrote.returncode == 0, wrote.stdout + wrote.stderr
    assert parquet.read_table(output).to_pandas().bytes.tolist() == [9 << 28] * 2
    other = launcher("mpich" if started_by.name == "processes" else "processes")
    read, _ = run(other, 2, tmp_path, pattern + 'verify { pread("f", "p"); }', timeout=600)
    assert read.returncode == 0, read.stdout + read.stderr
