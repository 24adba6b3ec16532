"""Tests the programs with the access patterns of other benchmarks: each byte of their files is whose it must be."""

import subprocess
from itertools import product
from pathlib import Path

import pandas
import pytest

from content import Content, run_of

from .launchers import ROOT, launcher

Owners = list[tuple[int, int, int]]
EVERYWHERE = [("processes", 1), ("processes", 4), ("mpich", 4), ("openmpi", 4)]


def run(by: str, ranks: int, name: str, folder: Path, **given: object) -> subprocess.CompletedProcess:
    """Runs a shipped program, which leaves its files in `folder`, with the run file."""
    output = folder / "run.parquet"
    parameters = {"dir": folder, "keep": "yes", **given}
    words = [word for key, value in parameters.items() for word in ("--set", f"{key}={value}")]
    return launcher(by).lastrank("run", ranks, name, *words, "--report", "none", "-o", output)


def counts(done: subprocess.CompletedProcess, folder: Path) -> dict[str, int]:
    """How often each operation was done on all ranks, by its label and its name."""
    assert done.returncode == 0, done.stdout + done.stderr
    assert "checked: right" in done.stdout
    samples = pandas.read_parquet(folder / "run.parquet")
    assert (samples.errno == 0).all()
    timed = samples[(samples.kind == "operation") & (samples.label != "")]
    return (timed.label + " / " + timed.operation).value_counts().to_dict()


def check(folder: Path, files: dict[str, Owners]) -> None:
    left = {path.name for path in folder.iterdir()} - {"run.parquet"}
    assert left == set(files)
    number = run_of((folder / next(iter(files))).read_bytes())
    for name, owners in files.items():
        found, wanted = (folder / name).read_bytes(), Content(number, folder / name).file(owners)
        assert len(found) == len(wanted), name
        # Every byte is somebody's: nothing lies between.
        assert sum(size for _, size, _ in owners) == len(wanted), name
        wrong = next((at for at in range(len(wanted)) if found[at] != wanted[at]), None) if found != wanted else None
        assert wrong is None, (name, wrong)


def multipartitioned(points: int, side: int, dumps: int) -> Owners:
    """Whose each point of a cube is: in every slab a rank has one cell, each slab one further in both directions."""
    begins = [points * number // side for number in range(side + 1)]

    def cell(at: int) -> int:
        return max(number for number in range(side) if begins[number] <= at)

    found = []
    for dump, (z, y, x) in product(range(dumps), product(range(points), repeat=3)):
        row, column = (cell(y) - cell(z)) % side, (cell(x) - cell(z)) % side
        place = ((dump * points + z) * points + y) * points + x
        found.append((place * 40, 40, row * side + column))
    return found


@pytest.mark.parametrize(
    ("by", "ranks", "way"),
    [
        *(("processes", ranks, way) for ranks in (1, 4, 9) for way in ("full", "simple")),
        *(("mpich", 4, way) for way in ("full", "simple")),
        ("openmpi", 4, "full"),
    ],
)
def test_btio_deals_out_a_cube_in_cells_on_a_diagonal(tmp_path: Path, by: str, ranks: int, way: str) -> None:
    side = int(ranks**0.5)
    points, dumps = (7, 2) if side == 2 else (10, 2)
    done = run(by, ranks, "btio", tmp_path, points=points, steps=dumps * 5, way=way, work=10)
    found = counts(done, tmp_path)
    assert (found["write / pfwrite"], found["read / pfread"]) == (dumps * ranks, dumps * ranks)
    check(tmp_path, {"lastrank-btio": multipartitioned(points, side, dumps)})


def test_btio_wants_a_square_number_of_ranks(tmp_path: Path) -> None:
    done = run("processes", 5, "btio", tmp_path)
    assert done.returncode == 2
    assert "3 dimensions do not fit the group's 5 ranks" in done.stderr
    assert "take 1, 4, 9, 16 … ranks" in done.stderr


@pytest.mark.parametrize(
    ("by", "ranks", "files"),
    [
        *(("processes", ranks, files) for ranks in (1, 4) for files in ("unique", "shared", "mpi")),
        *((by, 4, "mpi") for by in ("mpich", "openmpi")),
    ],
)
def test_madbench2_writes_rewrites_and_reads_each_matrix(tmp_path: Path, by: str, ranks: int, files: str) -> None:
    bins, block, pixels = 3, 1000, 60
    part = -(-(pixels**2 * 8 // ranks) // block) * block
    words = {"pixels": pixels, "bins": bins, "block": block, "work": 10, "files": files}
    found = counts(run(by, ranks, "madbench2", tmp_path, **words), tmp_path)
    write, read = ("pfwrite", "pfread") if files == "mpi" else ("fwrite", "fread")
    for phase, operation in [("S", write), ("W", read), ("W", write), ("C", read)]:
        assert found[f"{phase} / {operation}"] == bins * ranks, phase
    if files == "unique":
        check(tmp_path, {f"lastrank-madbench-{rank}": [(0, bins * part, rank)] for rank in range(ranks)})
    else:
        places = product(range(bins), range(ranks))
        owners = [((number * ranks + rank) * part, part, rank) for number, rank in places]
        check(tmp_path, {"lastrank-madbench": owners})


SIZES = {"1KiB+8": 1032, "part": 50_000}


def shared(kind: int, size: int, ranks: int, calls: int) -> Owners:
    """Whose each chunk of a file of one of the types is."""
    if kind == 0:
        # What a call scatters lies before what the next one does.
        everyone = product(range(calls * ((1 << 20) // size)), range(ranks))
        return [((number * ranks + rank) * size, size, rank) for number, rank in everyone]
    everyone = product(range(calls), range(ranks))
    if kind == 1:
        return [((number * ranks + rank) * size, size, rank) for number, rank in everyone]
    return [((rank * calls + number) * size, size, rank) for number, rank in everyone]


@pytest.mark.parametrize(("by", "ranks"), EVERYWHERE)
def test_b_eff_io_has_its_five_types(tmp_path: Path, by: str, ranks: int) -> None:
    calls = 2 if by == "processes" else 1
    words = {"calls": calls, "sizes": ",".join(SIZES), "part": SIZES["part"]}
    found = counts(run(by, ranks, "b_eff_io", tmp_path, **words), tmp_path)
    ways = ["scattered", "in order", "own files", "segments", "segments, collective"]
    files = {}
    for kind, way in enumerate(ways):
        write, read = ("fwrite", "fread") if kind == 2 else ("pfwrite", "pfread")
        for access, operation in [("write", write), ("rewrite", write), ("read", read)]:
            assert found[f"{kind} {way}: {access} / {operation}"] == calls * len(SIZES) * ranks
        for name, size in SIZES.items():
            file = f"lastrank-b_eff_io-{kind}-{name}"
            if kind == 2:
                files |= {f"{file}-{rank}": [(0, calls * size, rank)] for rank in range(ranks)}
            else:
                files[file] = shared(kind, size, ranks, calls)
    check(tmp_path, files)


@pytest.mark.parametrize(("by", "ranks"), EVERYWHERE[:3])
def test_iozone_does_each_way_once_for_each_record(tmp_path: Path, by: str, ranks: int) -> None:
    record, records = 4000, 65
    words = {"size": 256 << 10, "record": record, "flush": "yes"}
    found = counts(run(by, ranks, "iozone", tmp_path, **words), tmp_path)
    for way in ["new", "again", "at random", "one record"]:
        assert found[f"write: {way} / fwrite"] == records * ranks
        assert found[f"write: {way} / fsync"] == ranks
    for way in ["in order", "again", "at random", "backward", "in strides"]:
        assert found[f"read: {way} / fread"] == records * ranks
    mixed = [found[f"mixed: at random / {operation}"] for operation in ("fread", "fwrite")]
    assert sum(mixed) == records * ranks and min(mixed) > 0
    check(tmp_path, {f"lastrank-iozone-{rank}": [(0, records * record, rank)] for rank in range(ranks)})


def test_each_of_them_has_at_most_60_lines() -> None:
    folder = ROOT / "crates" / "lastrank" / "experiments"
    for name in ["btio", "madbench2", "b_eff_io", "iozone"]:
        lines = (folder / f"{name}.ppl").read_text().splitlines()
        assert sum(not line.lstrip().startswith("#") and bool(line.strip()) for line in lines) <= 60, name


def listings() -> list[str]:
    """The second listing of the paper of 2010 as printed, and as meant."""
    page = (ROOT / "docs" / "sources" / "parabench-2010.md").read_text().split("## Listing 2")[1]
    return [block.split("\n", 1)[1] for block in page.split("```")[1::2]]


def run_listing(by: str, text: str, folder: Path) -> subprocess.CompletedProcess:
    """Runs it in `folder` on four ranks."""
    program = folder / "listing.ppl"
    program.write_text(text.replace("10*1024*1024", "10*1024").replace("10MiB", "10KiB"))
    words = (program, "--report", "none", "-o", folder / "run.parquet", "--allow", folder)
    return launcher(by).lastrank("run", 4, *words)


@pytest.mark.parametrize("by", ["processes", "mpich"])
def test_the_second_listing_as_printed_says_which_files_no_writer_made(tmp_path: Path, by: str) -> None:
    printed = listings()[0].replace('"$$rank"', f'"{tmp_path}/$$rank"').replace('$env "."', f'$env "{tmp_path}"')
    done = run_listing(by, printed, tmp_path)
    assert done.returncode == 3, done.stdout + done.stderr
    for rank in (2, 3):
        assert f'rank {rank}, line 12: fopen("{tmp_path}/{rank}", "r+") failed: ENOENT' in done.stderr
    assert "which line 12 did not open) failed: EBADF" in done.stderr
    assert "fread in line 13 failed 200 times" in done.stderr
    # All that does not depend on these files is done.
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert (sizes["0"], sizes["1"]) == (100 << 10, 100 << 10) and "2" not in sizes
    assert sizes["file-lvl2.dat"] == sizes["file-lvl3.dat"] == 2 * 10 << 10
    assert "pread" not in "".join(line for line in done.stderr.splitlines() if "failed" in line)


@pytest.mark.parametrize("by", ["processes", "mpich", "openmpi"])
def test_the_second_listing_as_meant_reads_what_was_written(tmp_path: Path, by: str) -> None:
    done = run_listing(by, listings()[1].replace('$dir "."', f'$dir "{tmp_path}"'), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "checked: right" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"listing.ppl", "run.parquet"}
