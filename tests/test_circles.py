"""No two files of a crate import each other in a circle.

A file imports another if one of its `use` lines names something defined there: a type, found by its name (a type
name is defined once in a crate), or else a module, found by its path. Lines that only re-export (`pub use`) and
test modules do not count.
"""

import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CRATES = ROOT / "crates"

# Indented types are those that a macro makes.
DEFINES = re.compile(
    r"^(?: +(?=pub (?:struct|enum) ))?(?:pub(?:\([^)]*\))? )?(?:unsafe )?"
    r"(?:struct|enum|trait|union|type|const|static|fn|macro_rules!) (\w+)",
    re.M,
)
USE = re.compile(r"^(?P<reexport>pub(?:\([^)]*\))? )?use (?P<tree>[^;]+);", re.M)


def crates() -> list[str]:
    return sorted(manifest.parent.name for manifest in CRATES.glob("*/Cargo.toml"))


def module_of(source: Path, path: Path) -> tuple[str, ...]:
    parts = path.relative_to(source).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts


def leaves(tree: str) -> list[list[str]]:
    """`a::{b, c::{d}}` as the paths `a::b` and `a::c::d`."""
    tree = re.sub(r"\s+", " ", tree).strip()
    brace = tree.find("{")
    if brace < 0:
        return [re.sub(r" as \w+$", "", tree).split("::")]
    before = [part for part in tree[:brace].split("::") if part]
    found, depth, start = [], 0, brace + 1
    inside = tree[brace + 1 : tree.rindex("}")] + ","
    for at, sign in enumerate(inside):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            piece = inside[start - brace - 1 : at].strip()
            start = brace + 2 + at
            if piece:
                found += [before + leaf for leaf in leaves(piece)]
    return found


def imports(crate: str) -> dict[Path, set[Path]]:
    source = CRATES / crate / "src"
    texts = {path: path.read_text().split("\n#[cfg(test)]\nmod ")[0] for path in source.rglob("*.rs")}
    file_of = {module_of(source, path): path for path in texts}
    # What a module defines; a name in two modules is told by its path.
    defined = {path: set(DEFINES.findall(text)) for path, text in texts.items()}
    places = defaultdict(set)
    for path, names in defined.items():
        for name in names:
            places[name].add(path)
    graph: dict[Path, set[Path]] = {path: set() for path in texts}
    for path, text in texts.items():
        here = module_of(source, path)
        for use in USE.finditer(text):
            if use["reexport"]:
                continue
            for leaf in leaves(use["tree"]):
                target = resolve(leaf, here, file_of, defined, places)
                if target and target != path:
                    graph[path].add(target)
    return graph


def resolve(leaf, here, file_of, defined, places) -> Path | None:
    module = list(here)
    if leaf[0] == "crate":
        module, leaf = [], leaf[1:]
    elif leaf[0] == "self":
        leaf = leaf[1:]
    elif leaf[0] == "super":
        while leaf and leaf[0] == "super":
            module, leaf = module[:-1], leaf[1:]
    elif (*module, leaf[0]) not in file_of:
        return None
    while leaf and (*module, leaf[0]) in file_of:
        module, leaf = [*module, leaf[0]], leaf[1:]
    if not leaf or leaf[0] in ("self", "*"):
        return file_of.get(tuple(module))
    name, home = leaf[0], file_of.get(tuple(module))
    if home and name in defined[home]:
        return home
    # Re-exported: the one file that defines it.
    return next(iter(places[name])) if len(places[name]) == 1 else None


def circle(graph: dict[Path, set[Path]]) -> list[Path]:
    """The files of one circle, or none."""
    done: set[Path] = set()

    def walk(path: Path, way: list[Path]) -> list[Path]:
        if path in way:
            return way[way.index(path) :]
        if path in done:
            return []
        for target in sorted(graph[path]):
            if found := walk(target, [*way, path]):
                return found
        done.add(path)
        return []

    return next((found for path in sorted(graph) if (found := walk(path, []))), [])


@pytest.mark.parametrize("crate", crates())
def test_no_two_files_import_each_other_in_a_circle(crate: str) -> None:
    found = circle(imports(crate))
    assert not found, " -> ".join(str(path.relative_to(CRATES)) for path in [*found, found[0]])


def test_a_circle_is_found() -> None:
    a, b, c = Path("a"), Path("b"), Path("c")
    assert set(circle({a: {b}, b: {c}, c: {b}})) == {b, c}
    assert circle({a: {b, c}, b: {c}, c: set()}) == []


def test_a_tree_of_imports_is_taken_apart() -> None:
    assert leaves("crate::a::{self, b::{C, D as E}, f}") == [
        ["crate", "a", "self"],
        ["crate", "a", "b", "C"],
        ["crate", "a", "b", "D"],
        ["crate", "a", "f"],
    ]
