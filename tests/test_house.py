"""The rules of ARCHITECTURE.md and CONTRIBUTING.md that a program can check, checked on the source text.

Needs no build. What belongs to a crate is written in one table here: which crates it may use, and whether
it may contain `unsafe`. A new crate is a new row.
"""

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CRATES = ROOT / "crates"
MOST_LINES = 500
MOST_LINES_OF_A_FUNCTION = 100
MOST_PARAMETERS = 5

# Crate → the crates of this workspace that it may use, from the lowest floor up. Tests may use any.
MAY_USE = {
    "samples": "",
    "tail": "",
    "clock": "samples",
    "ppl": "samples",
    "store": "samples",
    "machine": "samples clock",
    "ranks": "samples machine",
    "report": "samples tail",
    "mpi": "samples ranks",
    "perf": "samples clock machine",
    "record": "samples ppl perf",
    "probes": "samples clock machine perf",
    "engine": "samples ppl clock machine perf ranks mpi record probes",
    "lastrank": "samples ppl tail store report clock machine perf ranks mpi record probes engine",
}

# Crates that make system calls and share memory; every other one says `#![forbid(unsafe_code)]`.
MAY_BE_UNSAFE = {"clock", "machine", "perf", "ranks", "mpi", "record", "probes", "engine"}

# Recipes of ARCHITECTURE.md of the form "one file and its entry in a list": the files, the list, the crate's source
# in which nothing else may name them.
ONE_FILE_ONE_ENTRY = {
    "a trace format": (
        "crates/lastrank/src/commands/import/formats/*",
        "crates/lastrank/src/commands/import/formats.rs",
        "crates/lastrank/src",
    ),
}


def crates() -> list[str]:
    return sorted(manifest.parent.name for manifest in CRATES.glob("*/Cargo.toml"))


def rust_files(crate: str, folders: tuple[str, ...] = ("src", "tests", "benches", "examples")) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((CRATES / crate / folder).rglob("*.rs"))


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def header(text: str) -> list[str]:
    """The lines of the first comment of a file, without the comment signs."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        lines.append(line.lstrip("/!").strip())
    return lines


def first_paragraph(lines: list[str]) -> str:
    until = lines.index("") if "" in lines else len(lines)
    return " ".join(lines[:until])


@pytest.mark.parametrize("crate", crates())
def test_the_first_comment_of_a_file_states_what_it_does(crate: str) -> None:
    asking = [
        f"{shown(path)}: {paragraph}"
        for path in rust_files(crate)
        if (paragraph := first_paragraph(header(path.read_text()))) and re.search(r"\?(\s|$)", paragraph)
    ]
    silent = [shown(path) for path in rust_files(crate, ("src",)) if not path.read_text().startswith("//!")]
    assert not asking, "headers that ask:\n" + "\n".join(asking)
    assert not silent, "files without a header:\n" + "\n".join(silent)


@pytest.mark.parametrize("crate", crates())
def test_a_long_file_says_why_it_is_long(crate: str) -> None:
    long = []
    for path in rust_files(crate):
        text = path.read_text()
        lines = text.count("\n")
        if lines > MOST_LINES and "Long because: " not in " ".join(header(text)):
            long.append(f"{shown(path)}: {lines} lines")
    assert not long, f"more than {MOST_LINES} lines without `Long because: …` in the first comment:\n" + "\n".join(long)


def functions(text: str) -> Iterator[tuple[str, list[str], int]]:
    """Name, parameters without `self`, and lines of code of each function, as rustfmt lays them out."""
    lines = text.splitlines()
    head = re.compile(r"^( *)(?:pub(?:\([^)]*\))? )?(?:const )?(?:unsafe )?(?:extern \"C\" )?fn (\w+)")
    for first, line in enumerate(lines):
        if not (found := head.match(line)):
            continue
        end = next((at for at in range(first, len(lines)) if lines[at] == found[1] + "}"), first)
        if line.rstrip().endswith(("}", ";")):
            end = first
        code = [line for line in lines[first : end + 1] if line.strip() and not line.strip().startswith("//")]
        yield found[2], parameters("\n".join(lines[first : first + 40])[found.end() :]), len(code)


def parameters(signature: str) -> list[str]:
    """The parameters at the beginning of `<'a, T>(a: &'a T, b: (u8, u8)) …`, without `self`."""
    depth, begin, found = 0, -1, []
    text = signature.replace("->", "  ")
    for at, sign in enumerate(text):
        if sign in "(<[{":
            depth += 1
            if sign == "(" and depth == 1 and begin < 0:
                begin = at + 1
        elif sign in ")>]}":
            depth -= 1
        if begin >= 0 and ((sign == "," and depth == 1) or depth == 0):
            found.append(text[begin:at].strip())
            begin = at + 1
        if begin >= 0 and depth == 0:
            break
    return [one for one in found if one and not re.fullmatch(r"(&('\w+ )?)?(mut )?self", one)]


def test_functions_are_read_from_source() -> None:
    text = """impl<'a> Reader<'a> {
    pub fn short(&mut self) -> u8 {
        // why
        1
    }

    fn long<T: Fn(u8) -> u8>(
        &self,
        pair: (u8, u8),
        map: HashMap<String, u8>,
        act: impl Fn(u8, u8) -> u8,
    ) -> T {
        act(1, 2)
    }
}
"""
    found = list(functions(text))
    assert found == [
        ("short", [], 3),
        ("long", ["pair: (u8, u8)", "map: HashMap<String, u8>", "act: impl Fn(u8, u8)    u8"], 8),
    ]


@pytest.mark.parametrize("crate", crates())
def test_functions_are_short_and_have_few_parameters(crate: str) -> None:
    wrong = []
    for path in rust_files(crate):
        for name, taken, lines in functions(path.read_text()):
            if lines > MOST_LINES_OF_A_FUNCTION:
                wrong.append(f"{shown(path)}: {name} has {lines} lines of code")
            if len(taken) > MOST_PARAMETERS:
                wrong.append(f"{shown(path)}: {name} has {len(taken)} parameters")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("crate", crates())
def test_a_crate_forbids_unsafe_code_or_needs_it(crate: str) -> None:
    roots = [path for name in ("lib.rs", "main.rs") if (path := CRATES / crate / "src" / name).exists()]
    forbidding = [path for path in roots if "#![forbid(unsafe_code)]" in path.read_text()]
    assert roots
    if crate not in MAY_BE_UNSAFE:
        assert forbidding == roots, f"{crate} lacks #![forbid(unsafe_code)]"
        return
    uses = any(re.search(r"^[^/\"]*\bunsafe\b", path.read_text(), re.M) for path in rust_files(crate, ("src",)))
    assert uses or forbidding == roots, f"{crate} contains no unsafe code: let it say #![forbid(unsafe_code)]"


@pytest.mark.parametrize("crate", crates())
def test_a_type_name_is_defined_once_in_a_crate(crate: str) -> None:
    # A `type` that is indented belongs to an `impl`.
    defines = re.compile(
        r"^(?:\s*(?:pub(?:\([^)]*\))? )?(?:unsafe )?(?:struct|enum|trait|union) (\w+)"
        r"|(?:pub(?:\([^)]*\))? )?type (\w+))",
        re.M,
    )
    found: dict[str, list[str]] = defaultdict(list)
    for path in rust_files(crate):
        for match in defines.finditer(path.read_text()):
            found[match[1] or match[2]].append(shown(path))
    twice = [f"{name}: {', '.join(places)}" for name, places in sorted(found.items()) if len(places) > 1]
    assert not twice, "defined more than once:\n" + "\n".join(twice)


@pytest.mark.parametrize("crate", crates())
def test_a_crate_uses_only_what_lies_below_it(crate: str) -> None:
    assert crate in MAY_USE, f"{crate} has no row in MAY_USE"
    manifest = tomllib.loads((CRATES / crate / "Cargo.toml").read_text())
    tables = [manifest, *manifest.get("target", {}).values()]
    used = {name for table in tables for kind in ("dependencies", "build-dependencies") for name in table.get(kind, {})}
    ours = {name.removeprefix("lastrank-") for name in used} & set(crates())
    up = sorted(ours - set(MAY_USE[crate].split()))
    assert not up, f"{crate} must not use {', '.join(up)}"


def test_the_table_of_arrows_has_no_circle() -> None:
    seen: set[str] = set()
    for crate, below in MAY_USE.items():
        missing = set(below.split()) - seen
        assert not missing, f"{crate} uses {', '.join(sorted(missing))}, which stands above it in the table"
        seen.add(crate)


def test_the_pages_for_engineers_name_files_that_exist() -> None:
    folders = "crates|tests|docs|benches|fuzz|packaging|editors|\\.github"
    missing = []
    for page in ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"):
        for name in re.findall(rf"`((?:{folders})/[^`\s]*)`", (ROOT / page).read_text()):
            found = any(ROOT.glob(name.rstrip("/"))) if "*" in name else (ROOT / name).exists()
            if not found:
                missing.append(f"{page}: {name}")
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("recipe", ONE_FILE_ONE_ENTRY)
def test_one_file_and_one_entry_in_a_list_are_all_that_is_needed(recipe: str) -> None:
    files, index, source = ONE_FILE_ONE_ENTRY[recipe]
    index = ROOT / index
    modules = [path for path in sorted(ROOT.glob(files)) if path != index]
    assert len(modules) >= 2 and index.exists(), f"{recipe}: {files} and {index} have moved"
    for module in modules:
        name = module.stem
        names = re.compile(rf"\bmod {name};|\b{name}::")
        assert names.search(index.read_text()), f"{shown(module)} is not listed in {shown(index)}"
        own = lambda path: path == index or path == module or module in path.parents
        others = [
            shown(path)
            for path in sorted((ROOT / source).rglob("*.rs"))
            if not own(path) and re.search(rf"\b{name}::", path.read_text())
        ]
        assert not others, f"{recipe} `{name}` is named in {', '.join(others)} too"


def test_the_version_is_the_same_everywhere() -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {version} " in (ROOT / "CHANGELOG.md").read_text()


def test_the_minimum_rust_version_is_the_same_everywhere() -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    for page in ("README.md", "CONTRIBUTING.md", "rust-toolchain.toml", "packaging/spack/package.py"):
        named = set(re.findall(r"(?:Rust |cargo \+|rust@)(1\.\d+)", (ROOT / page).read_text()))
        assert named == {version}, f"{page} names {named}"


MOST_LINES_OF_A_FUNCTION = 100
MOST_PARAMETERS = 5
FUNCTION = re.compile(r"^(?P<indent> *)(?:pub(?:\([^)]*\))? )?(?:const )?(?:unsafe )?(?:extern \"C\" )?fn (?P<name>\w+)")


def functions(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each function's name and lines: formatted code ends a body with a brace as far in as its `fn`."""
    lines = text.splitlines()
    for first, line in enumerate(lines):
        if found := FUNCTION.match(line):
            one_line = line.endswith(("}", ";"))
            end = first if one_line else next(
                (at for at in range(first, len(lines)) if lines[at] in (found["indent"] + "}", found["indent"] + ");")),
                first,
            )
            yield found["name"], lines[first : end + 1]


def parameters(lines: list[str]) -> int:
    """How many parameters a function takes, `self` left out."""
    text = " ".join(lines)
    text = re.sub(r"->", "  ", text[text.index("(") :] if "<" not in text[: text.index("(")] else text[signature(text) :])
    depth, count, current = 0, 0, ""
    for sign in text:
        depth += {"(": 1, "[": 1, "{": 1, "<": 1, ")": -1, "]": -1, "}": -1, ">": -1}.get(sign, 0)
        if depth == 0:
            break
        if sign == "," and depth == 1:
            count, current = count + bool(current.strip()), ""
        elif not (sign == "(" and depth == 1 and not current):
            current += sign
    receiver = re.match(r"\(\s*(?:&(?:'\w+ )?)?(?:mut )?self\b", text)
    return count + bool(current.strip()) - bool(receiver)


def signature(text: str) -> int:
    """Where the parameters begin, behind the generic ones."""
    depth = 0
    for at, sign in enumerate(text):
        depth += {"<": 1, ">": -1}.get(sign, 0)
        if sign == "(" and depth == 0:
            return at
    return text.index("(")


@pytest.mark.parametrize("crate", crates())
def test_a_function_is_short_and_takes_few_parameters(crate: str) -> None:
    long, wide = [], []
    for path in rust_files(crate, ("src", "tests", "examples", "benches")):
        for name, lines in functions(path.read_text()):
            if len(lines) > MOST_LINES_OF_A_FUNCTION:
                long.append(f"{shown(path)}: {name}, {len(lines)} lines")
            if (count := parameters(lines)) > MOST_PARAMETERS:
                wide.append(f"{shown(path)}: {name}, {count} parameters")
    assert not long, f"functions of more than {MOST_LINES_OF_A_FUNCTION} lines:\n" + "\n".join(long)
    assert not wide, f"functions with more than {MOST_PARAMETERS} parameters:\n" + "\n".join(wide)


def test_parameters_are_counted_as_a_reader_counts_them() -> None:
    assert parameters(["fn f(&self, a: u8, b: &dyn Fn(u8, u8) -> u8) -> u8 {"]) == 2
    assert parameters(["fn g<F: Fn(u8, u8)>(", "    a: HashMap<u8, u8>,", "    f: F,", ") {"]) == 2
    assert parameters(["fn h() {}"]) == 0
