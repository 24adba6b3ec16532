"""Checks the rules of ARCHITECTURE.md and CONTRIBUTING.md that can be tested on the source text.

Needs no build. Which crates a crate may use, and whether it may contain `unsafe`, is read from the table of ARCHITECTURE.md.
"""

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from rust_modules import Crate, circles, leaves

ROOT = Path(__file__).resolve().parent.parent
CRATES = ROOT / "crates"
MOST_LINES = 500
MOST_LINES_OF_A_FUNCTION = 100
MOST_PARAMETERS = 5

# Crate → the crates of this workspace that it may use (tests may use any), and what it says of `unsafe`: the table of ARCHITECTURE.md.
ROWS = re.findall(r"(?m)^\| `crates/(\w+)` \| .* \| ([\w —]+) \| (no|yes|one call) \|$", (ROOT / "ARCHITECTURE.md").read_text())
MAY_USE = {crate: "" if uses == "—" else uses for crate, uses, _ in ROWS}
# Crates that make system calls, share memory, hand it to Python or use instructions that not every processor has.
MAY_BE_UNSAFE = {crate for crate, _, unsafe in ROWS if unsafe != "no"}

# Recipes of ARCHITECTURE.md of the form "one file and its entry in a list": the files, the list, the crate's source
# in which nothing else may name them.
ONE_FILE_ONE_ENTRY = {
    "a trace format": (
        ["crates/trace/src/formats/*"],
        "crates/trace/src/formats.rs",
        "crates/trace/src",
    ),
    "a back end": (
        ["crates/engine/src/driver/nfs", "crates/engine/src/driver/posix", "crates/engine/src/driver/simulate"],
        "crates/engine/src/driver/mod.rs",
        "crates/engine/src",
    ),
    "a figure": (
        [f"crates/report/src/figures/{name}.rs" for name in ("autocorrelation", "last", "series", "spread", "targets")],
        "crates/report/src/figures/mod.rs",
        "crates/report/src",
    ),
}

# Where commands of the language are named one by one: the table, and who carries out each class.
COMMAND_TABLE = "crates/ppl/src/commands/table.rs"
CARRY_OUT_COMMANDS = ("crates/engine/src/execute/program/", "crates/ppl/src/interpret/call.rs")

# The places of a statement in ARCHITECTURE.md that name its kind: grammar, children, emission.
STATEMENT_RECIPE = [
    f"crates/ppl/src/{name}.rs"
    for name in ("syntax/children", "syntax/statements", "syntax/compound", "check/statements", "check/blocks")
]


def crates() -> list[str]:
    return sorted(manifest.parent.name for manifest in CRATES.glob("*/Cargo.toml"))


def rust_files(crate: str, folders: tuple[str, ...] = ("src", "tests", "benches", "examples")) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((CRATES / crate / folder).rglob("*.rs"))


def expect_none(found: list[str], rule: str) -> None:
    if found:
        pytest.fail(f"{rule}:\n" + "\n".join(found), pytrace=False)


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
    expect_none(asking, "headers that ask")
    expect_none(silent, "files without a header")


@pytest.mark.parametrize("crate", crates())
def test_a_long_file_says_why_it_is_long(crate: str) -> None:
    long = []
    for path in rust_files(crate):
        text = path.read_text()
        lines = text.count("\n")
        if lines > MOST_LINES and "Long because: " not in " ".join(header(text)):
            long.append(f"{shown(path)}: {lines} lines")
    expect_none(long, f"more than {MOST_LINES} lines without `Long because: …` in the first comment")


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


def test_parameters_are_counted_as_a_reader_counts_them() -> None:
    assert len(parameters("(&self, a: u8, b: &dyn Fn(u8, u8) -> u8) -> u8 {")) == 2
    assert len(parameters("<F: Fn(u8, u8)>(\n    a: HashMap<u8, u8>,\n    f: F,\n) {")) == 2
    assert parameters("() {}") == []


@pytest.mark.parametrize("crate", crates())
def test_functions_are_short_and_have_few_parameters(crate: str) -> None:
    wrong = []
    for path in rust_files(crate):
        for name, taken, lines in functions(path.read_text()):
            if lines > MOST_LINES_OF_A_FUNCTION:
                wrong.append(f"{shown(path)}: {name} has {lines} lines of code")
            if len(taken) > MOST_PARAMETERS:
                wrong.append(f"{shown(path)}: {name} has {len(taken)} parameters")
    expect_none(wrong, f"more than {MOST_LINES_OF_A_FUNCTION} lines of code or {MOST_PARAMETERS} parameters")


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
    expect_none(twice, "defined more than once")


@pytest.mark.parametrize("crate", crates())
def test_no_two_files_of_a_crate_use_each_other(crate: str) -> None:
    expect_none(circles(Crate(CRATES / crate / "src").uses()), "uses on a circle")


def test_uses_are_followed_to_the_file_that_defines_a_name(tmp_path: Path) -> None:
    assert [*leaves("a::{b, c::{self, d as e}}")] == [["a", "b"], ["a", "c"], ["a", "c", "d"]]
    files = {
        "lib.rs": "mod shapes;\nmod paint;\npub use paint::Brush;\n",
        "shapes/mod.rs": "mod circle;\nmod area;\npub use circle::Circle;\n",
        "shapes/circle.rs": "use super::area::area;\npub struct Circle;\n",
        "shapes/area.rs": "use crate::shapes::{Circle};\npub fn area() {}\n",
        "paint.rs": "pub struct Brush;\n#[cfg(test)]\nmod tests {\n    use crate::shapes::Circle;\n}\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert circles(Crate(tmp_path).uses()) == [
        "crate::shapes::area → crate::shapes::circle",
        "crate::shapes::circle → crate::shapes::area",
    ]


@pytest.mark.parametrize("crate", crates())
def test_a_crate_uses_only_what_lies_below_it(crate: str) -> None:
    assert crate in MAY_USE, f"{crate} has no row in the table of ARCHITECTURE.md"
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
    beside_crates = [shown(page) for page in sorted(CRATES.glob("*/DESIGN.md"))]
    for page in ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", *beside_crates):
        for name in re.findall(rf"`((?:{folders})/[^`\s]*)`", (ROOT / page).read_text()):
            found = any(ROOT.glob(name.rstrip("/"))) if "*" in name else (ROOT / name).exists()
            if not found:
                missing.append(f"{page}: {name}")
    expect_none(missing, "no such file")


@pytest.mark.parametrize("recipe", ONE_FILE_ONE_ENTRY)
def test_one_file_and_one_entry_in_a_list_are_all_that_is_needed(recipe: str) -> None:
    files, index, source = ONE_FILE_ONE_ENTRY[recipe]
    index = ROOT / index
    modules = [path for pattern in files for path in sorted(ROOT.glob(pattern)) if path != index]
    assert len(modules) >= max(2, len(files)) and index.exists(), f"{recipe}: {files} and {index} have moved"
    for module in modules:
        name, folder = module.stem, module.parent
        listed = re.compile(rf"\bmod {name};|\b{name}::")
        assert listed.search(index.read_text()), f"{shown(module)} is not listed in {shown(index)}"
        others = []
        for path in sorted((ROOT / source).rglob("*.rs")):
            # Files beside it would say `super::name`.
            ways = f"{folder.name}|super" if path.parent == folder else folder.name
            is_own = path in (index, module) or module in path.parents
            if not is_own and re.search(rf"\b(?:{ways})::{name}::", path.read_text()):
                others.append(shown(path))
        assert not others, f"{recipe} `{name}` is named in {', '.join(others)} too"


def test_a_command_is_named_in_the_table_and_where_it_is_carried_out() -> None:
    table = (ROOT / COMMAND_TABLE).read_text()
    commands = re.findall(r'^    ([A-Z]\w+) "\w+" \(', table, re.M)
    assert len(commands) > 50 and {"Fwrite", "Pfopen", "Chase", "Glob"} <= set(commands), f"{COMMAND_TABLE} has moved"
    named = re.compile(rf"\b(?:File|Collective|Kernel|Language)?Command::({'|'.join(commands)})\b")
    elsewhere = []
    for path in sorted(CRATES.glob("*/src/**/*.rs")):
        if shown(path) == COMMAND_TABLE or shown(path).startswith(CARRY_OUT_COMMANDS):
            continue
        code = re.split(r"^#\[cfg\(test\)\]", path.read_text(), maxsplit=1, flags=re.M)[0]
        elsewhere += [f"{shown(path)}: {name}" for name in named.findall(code)]
    expect_none(elsewhere, "commands named where their row in the table should be asked")


def test_an_ordinary_statement_is_named_where_its_recipe_says() -> None:
    tree = (ROOT / "crates/ppl/src/syntax/ast.rs").read_text()
    for kind in ("At", "Expect", "OnError", "Think", "Verify"):
        assert re.search(rf"^    {kind}\b", tree, re.M), f"{kind} is no kind of statement any more"
        elsewhere = [
            shown(path)
            for path in sorted(CRATES.glob("*/src/**/*.rs"))
            if re.search(rf"\bStatementKind::{kind}\b", path.read_text()) and shown(path) not in STATEMENT_RECIPE
        ]
        expect_none(elsewhere, f"`StatementKind::{kind}` is named where a default through `children()` is right")


def test_a_setting_of_the_kernel_is_named_in_the_list_only() -> None:
    index = ROOT / "crates/machine/src/settings.rs"
    settings = re.findall(r'^    [A-Z_]+: \w+ = ("[\w/]+");$', index.read_text(), re.M)
    assert len(settings) > 5, f"the list in {shown(index)} has moved"
    elsewhere = []
    for path in sorted(CRATES.glob("*/src/**/*.rs")):
        code = re.split(r"^#\[cfg\(test\)\]", path.read_text(), maxsplit=1, flags=re.M)[0]
        elsewhere += [f"{shown(path)}: {name}" for name in settings if path != index and name in code]
    expect_none(elsewhere, "settings named where the constant of the list should be used")


def test_the_version_is_the_same_everywhere() -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {version} " in (ROOT / "CHANGELOG.md").read_text()


def test_the_minimum_rust_version_is_the_same_everywhere() -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    for page in ("README.md", "CONTRIBUTING.md", "rust-toolchain.toml", "packaging/spack/package.py"):
        named = set(re.findall(r"(?:Rust |cargo \+|rust@)(1\.\d+)", (ROOT / page).read_text()))
        assert named == {version}, f"{page} names {named}"


def needed(need: str | dict, name: str, workspace: dict) -> str | None:
    """The package that a line of `[dependencies]` always brings in; None where a feature decides."""
    if isinstance(need, str):
        return name
    if need.get("optional"):
        return None
    return needed(workspace[name], name, workspace) if need.get("workspace") else need.get("package", name)


def test_the_lock_file_of_the_fuzz_targets_knows_what_the_crates_need() -> None:
    """`fuzz` is a workspace of its own, built with `--locked`: a new dependency of a crate must reach its lock file."""
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["dependencies"]
    locked = {one["name"]: one for one in tomllib.loads((ROOT / "fuzz" / "Cargo.lock").read_text())["package"]}
    missing = []
    for name in sorted(locked.keys() & {f"lastrank-{folder.name}" for folder in (ROOT / "crates").iterdir()}):
        manifest = tomllib.loads((ROOT / "crates" / name.removeprefix("lastrank-") / "Cargo.toml").read_text())
        known = {entry.split()[0] for entry in locked[name].get("dependencies", [])}
        wanted = (needed(need, own, workspace) for own, need in manifest.get("dependencies", {}).items())
        missing += [f"{name}: {one}" for one in wanted if one and one not in known]
    expect_none(missing, "not in fuzz/Cargo.lock (cargo update --workspace in fuzz)")
