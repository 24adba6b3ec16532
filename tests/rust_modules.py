"""Finds which file of a crate uses which other one, from `use` lines and paths in the source text.

`mod` lines and re-exports (`pub use`) are not uses. A name that a module re-exports counts as used from the file that
defines it. Test modules inside a file are left out.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

Module = tuple[str, ...]

USE = re.compile(r"^(pub(?:\([^)]*\))? )?use ([^;]+);", re.M)
INLINE = re.compile(r"\b((?:crate|super)(?:::\w+)+)")
TESTS = re.compile(r"^#\[cfg\(test\)\]\nmod \w+ \{.*?^\}\n", re.M | re.S)
DEFINES = r"^(?:pub(?:\([^)]*\))? )?(?:const |unsafe |async )*(?:struct|enum|trait|union|fn|const|static|type|macro_rules!)(?: mut)? {name}\b"


def leaves(tree: str) -> Iterator[list[str]]:
    """The paths of a `use` tree: `a::{b, c::{self, d as e}}` gives `a::b`, `a::c`, `a::c::d`."""
    tree = tree.strip()
    if "{" not in tree:
        path = [part.strip() for part in re.sub(r" as \w+", "", tree).split("::")]
        yield path[:-1] if path[-1] == "self" and len(path) > 1 else path
        return
    head, inside = tree.split("{", 1)
    depth, begin = 0, 0
    inside = inside.rsplit("}", 1)[0]
    for at, sign in enumerate(inside + ","):
        depth += (sign == "{") - (sign == "}")
        if sign == "," and depth == 0:
            if inside[begin:at].strip():
                yield from leaves(head + inside[begin:at].strip())
            begin = at + 1


class Crate:
    """The modules of one crate and their source."""

    def __init__(self, source: Path) -> None:
        self.files: dict[Module, Path] = {}
        for path in sorted(source.rglob("*.rs")):
            parts = path.relative_to(source).with_suffix("").parts
            module = () if parts in (("lib",), ("main",)) else parts[:-1] if parts[-1] == "mod" else parts
            self.files.setdefault(module, path)
        self.texts = {
            module: re.sub(r"//.*", "", TESTS.sub("", path.read_text())) for module, path in self.files.items()
        }

    def uses(self) -> dict[Module, set[Module]]:
        """For each module, the modules that its file uses."""
        found: dict[Module, set[Module]] = {}
        for module, text in self.texts.items():
            paths = [path for use in USE.finditer(text) if not use[1] for path in leaves(use[2])]
            paths += [path[1].split("::") for path in INLINE.finditer(USE.sub("", text))]
            targets = {self.origin(module, tuple(path)) for path in paths}
            found[module] = {target for target in targets if target is not None and target != module}
        return found

    @cache  # noqa: B019 (a crate lives as long as its test)
    def origin(self, module: Module, path: tuple[str, ...], depth: int = 0) -> Module | None:
        """The module whose file defines what a path means in `module`; None for another crate."""
        match path[0]:
            case "crate":
                at = ()
            case "self":
                at = module
            case "super":
                at = module[:-1]
            case first if (*module, first) in self.files:
                at = (*module, first)
            case _:
                return None
        rest = list(path[1:])
        while rest and (rest[0] == "super" or (*at, rest[0]) in self.files):
            at = at[:-1] if rest[0] == "super" else (*at, rest[0])
            rest.pop(0)
        if not rest or rest[0] == "*" or depth > 8 or self._defines(at, rest[0]):
            return at
        for use in USE.finditer(self.texts.get(at, "")):
            for exported in leaves(use[2]):
                name = re.search(rf"\b{exported[-1]} as (\w+)", use[2]) if exported[-1] != "*" else None
                if rest[0] == (name[1] if name else exported[-1]):
                    return self.origin(at, tuple(exported), depth + 1)
                if exported[-1] == "*":
                    target = self.origin(at, (*exported[:-1], rest[0]), depth + 1)
                    if target is not None and self._defines(target, rest[0]):
                        return target
        return at

    def _defines(self, module: Module, name: str) -> bool:
        return re.search(DEFINES.format(name=re.escape(name)), self.texts.get(module, ""), re.M) is not None


def circles(uses: dict[Module, set[Module]]) -> list[str]:
    """Pairs of modules where each reaches the other, as `a → b` for each use on such a circle."""

    def reached(start: Module) -> set[Module]:
        seen: set[Module] = set()
        waiting = [start]
        while waiting:
            for target in uses.get(waiting.pop(), set()) - seen:
                seen.add(target)
                waiting.append(target)
        return seen

    reach = {module: reached(module) for module in uses}
    name = lambda module: "::".join(("crate", *module))
    return [
        f"{name(one)} → {name(other)}"
        for one in sorted(uses)
        for other in sorted(uses[one])
        if one in reach.get(other, set())
    ]
