"""Writes docs/python-api.md from the docstrings of the installed package: `python packaging/python/reference.py [FILE]`.

tests/python/test_docs.py compares the page with what this makes.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python-api.md"

HEAD = """# Reference of the Python module

Made from the docstrings of the package (`python packaging/python/reference.py`); the examples run in the tests. An
introduction: [lastrank in Python](python.md). Times are in seconds unless a name says otherwise.
"""


def signature(thing: Any) -> str:
    """Its parameters, without the types, which editors show."""
    parameters = []
    for name, one in inspect.signature(thing).parameters.items():
        if name == "self":
            continue
        if one.kind is one.KEYWORD_ONLY and "*" not in "".join(parameters):
            parameters.append("*")
        star = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        default = "" if one.default is one.empty else f"={one.default!r}"
        parameters.append(f"{star}{name}{default}")
    return f"({', '.join(parameters)})"


def in_one_style(text: str) -> str:
    """A docstring with `Args:`, `Raises:` and `Example:` in the style of the others, `:param name:` and `:raises Error:`."""

    def section(found: re.Match[str]) -> str:
        field = {"Args": "param", "Raises": "raises"}.get(found[1])
        body = inspect.cleandoc("\n" + found[2])
        return f"\n{body}\n" if field is None else re.sub(r"(?m)^(\w+): ", rf":{field} \1: ", body) + "\n"

    return re.sub(r"(?m)^(Args|Raises|Example):\n((?: {4}.*\n?)+)", section, text)


def prose(thing: Any) -> str:
    """A docstring as Markdown."""
    text = in_one_style(inspect.getdoc(thing) or "")
    text = re.sub(r"\bdocs/([\w-]+\.md)\b", r"[\1](\1)", text)
    text = re.sub(r"``(.+?)``", r"`\1`", text)
    text = re.sub(r":(?:func|class|meth|attr):`~?([^`]+)`", r"`\1`", text)
    text = re.sub(r"^:(?:param|ivar) (\w+): ", r"- `\1`: ", text, flags=re.MULTILINE)
    text = re.sub(r"^:raises (\w+): ", r"- raises `\1`: ", text, flags=re.MULTILINE)
    parts = re.split(r"\n\n+(?=>>> | {4}>>> )", text)
    text = parts[0]
    for part in parts[1:]:
        example, _, rest = part.partition("\n\n")
        text += f"\n\n```python\n{inspect.cleandoc(example)}\n```\n\n{rest}"
    # A code block that a sentence introduces.
    text = re.sub(r"::\n\n((?: {4}.*\n?|\n)+)", lambda found: ":\n\n```python\n" + inspect.cleandoc(found[1]) + "\n```\n\n", text)
    # A list begins after a blank line.
    return re.sub(r"(?m)^(?![- ])(.*\S)\n(?=- `)", r"\1\n\n", text).strip()


def members(kind: type) -> Iterator[tuple[str, Any]]:
    for name, member in vars(kind).items():
        member = getattr(member, "__func__", member)
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property) or hasattr(member, "func")):
            yield name, member


def functions(module: ModuleType) -> Iterator[str]:
    for name in module.__all__:
        function = getattr(module, name)
        if inspect.isfunction(function):
            yield f"### {name}\n\n`{module.__name__}.{name}{signature(function)}`\n\n{prose(function)}"


def classes(module: ModuleType) -> Iterator[str]:
    for name in module.__all__:
        kind = getattr(module, name)
        if not inspect.isclass(kind):
            continue
        yield f"### {name}\n\n{prose(kind)}"
        for inner, member in members(kind):
            shown = f"{inner}{signature(member)}" if inspect.isfunction(member) else inner
            yield f"**`{shown}`**\n\n{prose(getattr(member, 'func', member))}"


def entries(module: ModuleType, *others: ModuleType) -> Iterator[str]:
    yield "## Functions"
    yield from functions(module)
    yield "## Classes"
    yield from classes(module)
    for other in others:
        yield f"## Module `{other.__name__}`\n\n{prose(other)}"
        yield from functions(other)
        yield from classes(other)


def page() -> str:
    import lastrank
    from lastrank import eva, figures

    return "\n\n".join([HEAD.strip(), *entries(lastrank, figures, eva)]) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else PAGE).write_text(page(), encoding="utf-8")
