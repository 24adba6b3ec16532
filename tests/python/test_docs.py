"""Tests that docs/python.md and the README run as they stand, and that the reference is that of the package."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


def test_the_python_of_the_page_runs(lr: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    found = blocks("docs/python.md")
    assert len(found) >= 5
    for block in found:
        exec(compile(block, "docs/python.md", "exec"), names)
    said = capsys.readouterr().out
    assert "did you mean `read`?" in said and "gev" not in said


def test_the_lines_of_the_readme_run(lr: ModuleType) -> None:
    (block,) = blocks("README.md")
    assert len(block.splitlines()) == 3
    # The same on a virtual clock: tests write no gigabytes.
    block = block.replace('"parallel_write"', '"parallel_write", backend="simulate:gev(10ms,1ms,0.1)", repeat=100')
    exec(compile(block, "README.md", "exec"), {})


def test_the_reference_is_made_of_the_docstrings(lr: ModuleType) -> None:
    at = ROOT / "packaging" / "python" / "reference.py"
    spec = importlib.util.spec_from_file_location("reference", at)
    assert spec is not None and spec.loader is not None
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    assert reference.PAGE.read_text() == reference.page(), "run: python packaging/python/reference.py"
