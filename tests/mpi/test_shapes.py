"""Tests that patterns with a shape put each byte at its place: files are compared with what their definitions say."""

import os
from itertools import product
from math import prod
from pathlib import Path

import pytest

from content import Content, run_of

from .launchers import NAMES, launcher
from .test_programs import run

LONG_TESTS = os.environ.get("LASTRANK_LONG_TESTS") == "1"
# Elements of which many lie in a sector of the content, and whole sectors.
ELEMENTS = (24, 512)
Owners = list[tuple[int, int, int]]


def array(sizes: list[int], element: int, is_of) -> Owners:
    """The elements of an array, with the rank that they are of: `is_of` says it of an index, None: nobody's."""
    found = []
    for index in product(*map(range, sizes)):
        rank = is_of(index)
        if rank is not None:
            place = sum(at * prod(sizes[dimension + 1 :]) for dimension, at in enumerate(index))
            found.append((place * element, element, rank))
    return found


def dealt(index: tuple[int, ...], blocks: list[int], grid: list[int]) -> int:
    """The rank of an element in block-cyclic order, row by row in the grid."""
    rank = 0
    for at, block, ranks in zip(index, blocks, grid, strict=True):
        rank = rank * ranks + at // block % ranks
    return rank


def diagonal(index: tuple[int, int], sizes: list[int], ranks: int) -> int:
    """The rank of an element where each rank has one block of each slab, the next one to the right in the next slab."""
    slab, column = (
        max(number for number in range(ranks) if size * number // ranks <= at)
        for at, size in zip(index, sizes, strict=True)
    )
    return (column - slab) % ranks


def shapes(element: int, ranks: int) -> dict[str, tuple[str, Owners]]:
    """The patterns, as the language has them, and whose each byte is."""
    everyone, wide = range(ranks), 4 * ranks
    grid = [ranks // 2, 2] if ranks > 1 else [1, 1]
    return {
        "columns": (
            f'"subarray", [6, {wide}], [3, 3], [2, 4 * $$grank + 1], {element}',
            array([6, wide], element, lambda at: at[1] // 4 if 2 <= at[0] < 5 and at[1] % 4 else None),
        ),
        "planes": (
            f'"subarray", [3, 2 * $$size, 5], [3, 2, 5], [0, 2 * $$grank, 0], {element}',
            array([3, 2 * ranks, 5], element, lambda at: at[1] // 2),
        ),
        "cells": (
            f'"subarray", [2, 3, 2, {ranks}], [2, 2, 1, 1], [0, 1, 1, $$rank], {element}',
            array([2, 3, 2, ranks], element, lambda at: at[3] if at[1] > 0 and at[2] == 1 else None),
        ),
        "cyclic": (
            f'"darray", [10, 13], [2, 3], [0, $$size > 1 ? 2 : 1], {element}',
            array([10, 13], element, lambda at: dealt(at, [2, 3], grid)),
        ),
        "shares": (
            f'"darray", [11], [0], [0], {element}',
            array([11], element, lambda at: at[0] // -(-11 // ranks)),
        ),
        "diagonal": (
            f'"diagonal", [17, 20], {element}',
            array([17, 20], element, lambda at: diagonal(at, [17, 20], ranks)),
        ),
        "strides": (
            f'"nested", $$grank * {element}, [3, 2, 2], [{9 * wide * element}, {2 * wide * element}, {ranks * element}], {element}',
            [
                (start + rank * element, element, rank)
                for rank in everyone
                for start in (
                    (9 * wide * outer + 2 * wide * middle + ranks * inner) * element
                    for outer, middle, inner in product(range(3), range(2), range(2))
                )
            ],
        ),
        "pieces": (
            f'"list", [$$grank * {3 * element}, {20 * ranks * element} + $$grank * {2 * element}, {1000 * ranks} + {40 * ranks * element} * ($$grank + 1)], '
            f"[{3 * element}, {element}, $$grank * 7]",
            [(rank * 3 * element, 3 * element, rank) for rank in everyone]
            + [(20 * ranks * element + rank * 2 * element, element, rank) for rank in everyone]
            + [(1000 * ranks + 40 * ranks * element * (rank + 1), rank * 7, rank) for rank in everyone if rank],
        ),
    }


def program(ranks: int) -> tuple[str, dict[str, Owners]]:
    """Writes all shapes on all levels, and verifies them; the files that it makes."""
    text, files = "", {}
    for level in range(4):
        of_element = [shapes(element, ranks) for element in ELEMENTS]
        for at, shape in enumerate(of_element[0]):
            definition, owners = of_element[(at + level) % 2][shape]
            name = f"{shape}-{level}"
            text += f'define pattern {{"{name}", {definition}, {level}}};\n'
            files[name] = owners
    calls = [" ".join(f'{command}("{name}", "{name}");' for name in files) for command in ("pwrite", "pread")]
    return f"{text}{calls[0]}\nbarrier;\nverify {{ {calls[1]} }}\n", files


def check(folder: Path, files: dict[str, Owners], holes: bool) -> None:
    number = run_of((folder / "planes-1").read_bytes())
    for name, owners in files.items():
        found = (folder / name).read_bytes()
        wanted = Content(number, folder / name).file(owners)
        assert len(found) == len(wanted), name
        for offset, size, rank in owners:
            assert found[offset : offset + size] == wanted[offset : offset + size], (name, offset, rank)
        # An MPI library fills what lies between with whatever its memory holds.
        assert holes or found == wanted, name


EVERY_RANKS = [(name, ranks) for name in NAMES for ranks in (1, 2, 4, 8)]
FEW = [("processes", 1), ("processes", 4), ("processes", 8), ("mpich", 4), *((name, 2) for name in NAMES)]


@pytest.mark.parametrize(("by", "ranks"), EVERY_RANKS if LONG_TESTS else FEW)
def test_each_byte_of_a_shape_is_its_owners(tmp_path: Path, by: str, ranks: int) -> None:
    text, files = program(ranks)
    done, _ = run(launcher(by), ranks, tmp_path, text)
    assert done.returncode == 0, done.stdout + done.stderr
    check(tmp_path, files, holes=by != "processes")


FAR = 40_000
OFFSETS = """
define pattern {"LEVEL", 3, 100, LEVEL};
$f LEVEL = pfopen("at-LEVEL", "cw");
repeat $i 3 pfwrite($f LEVEL, "LEVEL", $i * $$rank * FAR);
pfclose($f LEVEL);
$f LEVEL = pfopen("at-LEVEL", "r");
verify repeat $i 3 pfread($f LEVEL, "LEVEL", (2 - $i) * $$rank * FAR);
pfread($f LEVEL, "LEVEL");
pfclose($f LEVEL);
"""


@pytest.mark.parametrize(("by", "ranks"), [("processes", 3), ("mpich", 3), ("openmpi", 3)])
def test_a_pattern_begins_at_an_offset_that_each_rank_may_choose(tmp_path: Path, by: str, ranks: int) -> None:
    levels = [OFFSETS.replace("$f LEVEL", f"$f{level}").replace("LEVEL", str(level)) for level in range(4)]
    done, _ = run(launcher(by), ranks, tmp_path, "".join(levels).replace("FAR", str(FAR)))
    assert done.returncode == 0, done.stdout + done.stderr
    number = run_of((tmp_path / "at-0").read_bytes())
    everyone = product(range(3), range(ranks), range(3))
    # Of rank 0, whose offset is always 0, the others' do not keep a view from being set.
    owners = [(time * rank * FAR + (block * ranks + rank) * 100, 100, rank) for time, rank, block in everyone]
    for level in range(4):
        found = (tmp_path / f"at-{level}").read_bytes()
        wanted = Content(number, tmp_path / f"at-{level}").file(owners)
        assert len(found) == len(wanted)
        for offset, size, rank in owners:
            assert found[offset : offset + size] == wanted[offset : offset + size], (level, offset, rank)
