"""Reads of holes that a program made itself are right; zeros where it wrote are not.

Random programs of one rank write, cut, grow, reserve and append, and verify each read against what a byte array says.
"""

import random
import subprocess
from pathlib import Path

import pytest

BLOCK = 512
#: Bytes of the file at most.
MOST = 64 * BLOCK


class Model:
    """Which bytes of the file were written: the others up to its end are zeros."""

    def __init__(self) -> None:
        self.written = bytearray()

    def write(self, at: int, length: int) -> None:
        self.resize(max(len(self.written), at + length))
        self.written[at : at + length] = b"\1" * length

    def resize(self, length: int) -> None:
        self.written = self.written[:length] + bytes(max(0, length - len(self.written)))


def span(draw: random.Random) -> tuple[int, int]:
    """A place and a length, often at blocks."""
    step = draw.choice([1, BLOCK, BLOCK, 4096])
    at = draw.randrange(0, MOST // 2, step)
    return at, draw.randrange(1, 4 * BLOCK) if step == 1 else step * draw.randrange(1, 5)


def composed(seed: int) -> tuple[str, Model]:
    """A program and what its file holds at the end."""
    draw = random.Random(seed)
    model = Model()
    lines = ["on_error stop;", '$f = fopen("f.dat", "O_RDWR|O_CREAT|O_TRUNC");']
    for _ in range(draw.randrange(5, 30)):
        at, length = span(draw)
        match draw.randrange(8):
            case 0 | 1 | 2:
                lines.append(f"fwrite($f, {length}, {at});")
                model.write(at, length)
            case 3:
                lines.append(f"ftruncate($f, {at});")
                model.resize(at)
            case 4:
                lines.append(f"fallocate($f, {length}, {at});")
                model.resize(max(len(model.written), at + length))
            case 5:
                lines.append(f"fseek($f, {at}); fwrite($f, {length});")
                model.write(at, length)
            case 6:
                # Linux appends whatever offset is given.
                where = draw.choice(["", f", {at}"])
                lines.append(f'fclose($f); $f = fopen("f.dat", "O_RDWR|O_APPEND"); fwrite($f, {length}{where});')
                lines.append('fclose($f); $f = fopen("f.dat", "O_RDWR");')
                model.write(len(model.written), length)
            case 7:
                read = min(length, len(model.written) - at)
                if read > 0:
                    lines.append(f"verify fread($f, {read}, {at});")
    if model.written:
        lines.append(f"verify fread($f, {len(model.written)}, 0);")
    return "\n".join(lines), model


def run(program: Path, folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "p.ppl").write_text(text)
    words = [program, "run", "p.ppl", "-o", "p.parquet", "--report", "none", "--quiet", "--allow-spawn"]
    (folder / "p.parquet").unlink(missing_ok=True)
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("first", range(0, 40, 20))
def test_holes_of_the_program_itself_are_right(program: Path, tmp_path: Path, first: int) -> None:
    for seed in range(first, first + 20):
        text, _ = composed(seed)
        done = run(program, tmp_path, text)
        assert done.returncode == 0, f"seed {seed}: {done.stderr}\n{text}"


@pytest.mark.parametrize("first", range(0, 20, 10))
def test_zeros_where_it_wrote_are_found(program: Path, tmp_path: Path, first: int) -> None:
    for seed in range(first, first + 10):
        text, model = composed(seed)
        places = [at for at in range(len(model.written)) if model.written[at]]
        if not places:
            continue
        # Sixteen bytes of content are not zeros by chance.
        at = random.Random(seed).choice(places)
        length = 0
        while length < 16 and at + length < len(model.written) and model.written[at + length]:
            length += 1
        if length < 16:
            continue
        *before, last = text.splitlines()
        zero = f'spawn("dd if=/dev/zero of=f.dat bs=1 seek={at} count={length} conv=notrunc status=none");'
        done = run(program, tmp_path, "\n".join([*before, zero, last]))
        assert done.returncode == 3 and "f.dat" in done.stderr, f"seed {seed}: {done.stderr}\n{text}\n{zero}"


class Tree:
    """Which files the names of a program lead to, and which it has open."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.names: dict[str, Model] = {}
        self.open: list[tuple[str, Model]] = []
        self.lines = ["on_error stop;", 'mkdir("d"); mkdir("e");']

    def free(self) -> str:
        return self.draw.choice(["a", "b", "c", "d/a", "d/b", "e/a", "e/b"])

    def change(self, variable: str, model: Model) -> None:
        for _ in range(self.draw.randrange(1, 3)):
            at, length = span(self.draw)
            if self.draw.randrange(3):
                self.lines.append(f"fwrite({variable}, {length}, {at});")
                model.write(at, length)
            else:
                self.lines.append(f"ftruncate({variable}, {at});")
                model.resize(at)

    def make(self) -> None:
        name = self.free()
        known = name in self.names
        flags = self.draw.choice(["O_RDWR|O_CREAT|O_TRUNC", "O_RDWR|O_CREAT"])
        model = self.names.setdefault(name, Model())
        if known and "TRUNC" in flags:
            model.resize(0)
        variable = f"$f{len(self.lines)}"
        self.lines.append(f'{variable} = fopen("{name}", "{flags}");')
        self.change(variable, model)
        if self.draw.randrange(3):
            self.lines.append(f"fclose({variable});")
        else:
            self.open.append((variable, model))

    def verify(self) -> None:
        for variable, model in self.open:
            if model.written:
                self.lines.append(f"verify fread({variable}, {len(model.written)}, 0);")
        for number, (name, model) in enumerate(self.names.items()):
            if model.written:
                variable = f"$r{number}"
                self.lines.append(f'{variable} = fopen("{name}", "r");')
                self.lines.append(f"verify fread({variable}, {len(model.written)}, 0); fclose({variable});")

    def swap_directories(self) -> None:
        self.lines.append('rename("d", "x"); rename("e", "d"); rename("x", "e");')
        other = {"d": "e", "e": "d"}
        self.names = {other[name[0]] + name[1:] if "/" in name else name: model for name, model in self.names.items()}


def composed_of_names(seed: int) -> str:
    """A program of one rank that renames, links and removes files with holes, and verifies all of them."""
    draw = random.Random(seed)
    tree = Tree(draw)
    for _ in range(draw.randrange(5, 25)):
        step, names = draw.randrange(8), list(tree.names)
        if step < 3 or not names:
            tree.make()
            continue
        name, other = draw.choice(names), tree.free()
        match step:
            case 3 | 4 if tree.names.get(other) is not tree.names[name]:
                tree.lines.append(f'rename("{name}", "{other}");')
                tree.names[other] = tree.names.pop(name)
            case 5 if other not in tree.names:
                tree.lines.append(f'link("{name}", "{other}");')
                tree.names[other] = tree.names[name]
            case 6:
                tree.lines.append(f'delete("{name}");')
                del tree.names[name]
            case 7:
                tree.swap_directories()
        if not draw.randrange(3):
            tree.verify()
    tree.verify()
    tree.lines += [f"fclose({variable});" for variable, _ in tree.open]
    tree.lines += [f'delete("{name}");' for name in tree.names]
    return "\n".join([*tree.lines, 'delete("d"); delete("e");'])


@pytest.mark.parametrize("first", range(0, 40, 20))
def test_holes_stay_holes_whatever_the_file_is_called(program: Path, tmp_path: Path, first: int) -> None:
    for seed in range(first, first + 20):
        text = composed_of_names(seed)
        done = run(program, tmp_path, text)
        assert done.returncode == 0, f"seed {seed}: {done.stderr}\n{text}"


def test_a_lost_write_is_found_under_the_new_name(program: Path, tmp_path: Path) -> None:
    """The zeros are where the program wrote before it renamed the file, and a new file of the old name has a hole there."""
    text = """on_error stop;
write("a", 64k); rename("a", "b"); $f = fcreat("a"); fwrite($f, 4k, 64k); fclose($f);
spawn("dd if=/dev/zero of=b bs=4k seek=3 count=1 conv=notrunc status=none");
verify read("b", 64k);
"""
    assert run(program, tmp_path, text).returncode == 3


def test_a_file_that_another_rank_renamed_is_no_wrong_data(program: Path, tmp_path: Path) -> None:
    text = """define ranks 2;
master { write("a", 68k); rename("a", "b"); write("a", 4k); }
barrier;
$f = fopen("b", "r"); verify fread($f, 68k, 0); fclose($f);
$f = fopen("a", "r"); verify fread($f, 4k, 0); fclose($f);
barrier; master { delete("a"); delete("b"); }
"""
    (tmp_path / "p.ppl").write_text(text)
    words = [program, "run", "p.ppl", "-o", "p.parquet", "--report", "none"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "another name" in done.stdout, done.stdout


def test_a_block_of_another_file_is_found_where_ranks_rename(program: Path, tmp_path: Path) -> None:
    text = """define ranks 2;
master { write("a", 64k); rename("a", "b"); write("c", 64k);
  spawn("dd if=c of=b bs=4k seek=3 skip=3 count=1 conv=notrunc status=none"); }
barrier; if $$rank == 1 { verify read("b", 64k); }
"""
    assert run(program, tmp_path, text).returncode == 3


def test_a_hole_that_ranks_may_have_filled_is_not_called_verified(program: Path, tmp_path: Path) -> None:
    text = """define ranks 2;
$f = fopen("t-$$rank.dat", "O_RDWR|O_CREAT|O_TRUNC");
fwrite($f, 1MiB, 0); ftruncate($f, 0); ftruncate($f, 1MiB);
verify fread($f, 1MiB, 0);
fclose($f); delete("t-$$rank.dat");
"""
    (tmp_path / "p.ppl").write_text(text)
    words = [program, "run", "p.ppl", "-o", "p.parquet", "--report", "none"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "not verified" in done.stdout, done.stdout


def test_a_lost_write_of_another_rank_is_found(program: Path, tmp_path: Path) -> None:
    """Rank 0 makes the file and reads what rank 1 was to write past a hole, and did not."""
    text = """define ranks 2;
master { $f = fcreat("s.dat"); fwrite($f, 4k, 0); fwrite($f, 4k, 64k); fclose($f); }
barrier;
master { $f = fopen("s.dat", "r"); verify fread($f, 68k, 0); fclose($f); }
"""
    assert run(program, tmp_path, text).returncode == 3


@pytest.mark.parametrize(
    "text",
    [
        "fwrite($f, 1MiB, 0); ftruncate($f, 0); ftruncate($f, 1MiB); verify fread($f, 1MiB, 0);",
        "fwrite($f, 4k, 0); fwrite($f, 4k, 1MiB); verify fread($f, 4k, 4k);",
        "fwrite($f, 4k, 0); ftruncate($f, 0); ftruncate($f, 8k); verify { verify fseek($f, 0); fread($f, 4k, 0); }",
    ],
)
def test_a_hole_is_right(program: Path, tmp_path: Path, text: str) -> None:
    opened = f'$f = fopen("f.dat", "O_RDWR|O_CREAT|O_TRUNC"); {text} fclose($f); delete("f.dat");'
    done = run(program, tmp_path, opened)
    assert done.returncode == 0, done.stderr


def test_what_was_moved_in_a_file_is_not_called_wrong(program: Path, tmp_path: Path) -> None:
    text = (
        '$f = fopen("a.dat", "O_RDWR|O_CREAT"); fwrite($f, 64k, 0);\n'
        'fallocate($f, 4k, 4k, "collapse_range");\nverify fread($f, 60k, 0);\n'
        'fallocate($f, 4k, 8k, "insert_range");\nverify fread($f, 64k, 0);\n'
        "fwrite($f, 4k, 16k); verify fread($f, 4k, 16k);\n"
        'ftruncate($f, 10k); ftruncate($f, 64k);\nverify fread($f, 64k, 0);\nfclose($f); delete("a.dat");\n'
    )
    (tmp_path / "p.ppl").write_text(text)
    ran = subprocess.run([program, "run", "p.ppl", "--report", "none", "-o", "p.parquet"], cwd=tmp_path, capture_output=True,
                         text=True, check=False)
    if "EOPNOTSUPP" in ran.stdout:
        pytest.skip("the file system does not collapse ranges")
    assert ran.returncode == 0 and "was checked: right" in ran.stdout, ran.stdout + ran.stderr
    assert "collapsed or inserted" in " ".join(ran.stdout.split()), ran.stdout
