"""Tests types, docstrings and examples of the package: mypy, stubtest, doctest."""

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]

EXAMPLE = """
import lastrank as lr
from pathlib import Path

run: lr.Run = lr.run("disk", n=2, dir="/tmp", seconds=10)
summary = run["fsync"].summary()
one: lr.Run = lr.load(Path("a.parquet"))
several: lr.Runs = lr.load(["a.parquet", "b.parquet"])
level: float = lr.fit(run["fsync"].values, unit="s").return_levels([100])[0].level
code: str = lr.compare(run, one).verdict.code
names: list[str] = [group.name for group in lr.fit({"x": [1.0]}, value="x", by="node").groups()]
lines: list[int] = [finding.line for finding in lr.Program("x").check()]
"""


def mypy(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def test_the_package_and_its_use_are_strictly_typed(lr: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed (tests/all.py installs it)")
    (tmp_path / "use.py").write_text(EXAMPLE)
    (tmp_path / "wrong.py").write_text("import lastrank as lr\nlr.fit([1.0], model='gdp')\nlr.run(3)\n")
    checked = mypy("mypy", "--strict", "-p", "lastrank", "-m", "use", "-m", "wrong")
    wrong = [line for line in checked.stdout.splitlines() if ": error: " in line]
    assert [line.split(":")[:2] for line in wrong] == [["wrong.py", "2"], ["wrong.py", "3"]], checked.stdout


def test_the_stub_of_the_extension_is_what_it_is(lr: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed (tests/all.py installs it)")
    checked = mypy("mypy.stubtest", "lastrank._native")
    assert checked.returncode == 0, checked.stdout


def modules(lr: ModuleType) -> list[ModuleType]:
    names = [f"lastrank.{found.name}" for found in pkgutil.iter_modules(lr.__path__)]
    # What draws needs matplotlib, and is tested where it is.
    return [lr, *(importlib.import_module(name) for name in names if not name.endswith(("_plot", "__main__")))]


def test_every_public_name_says_what_it_is(lr: ModuleType) -> None:
    silent = []
    for name in lr.__all__:
        thing = getattr(lr, name)
        if name == "__version__":
            continue
        members = inspect.getmembers(thing, inspect.isfunction) if inspect.isclass(thing) else []
        for inner, member in [("", thing), *members]:
            own = not inner.startswith("_") and getattr(member, "__module__", "").startswith("lastrank")
            if own and not inspect.getdoc(member):
                silent.append(f"{name}.{inner}".rstrip("."))
    assert silent == []


def test_every_parameter_of_a_function_is_described(lr: ModuleType) -> None:
    missing = []
    for name in lr.__all__:
        function = getattr(lr, name)
        if not inspect.isfunction(function):
            continue
        text = inspect.getdoc(function) or ""
        plain = {parameter: kind for parameter, kind in inspect.signature(function).parameters.items()}
        first = next(iter(plain))
        missing += [f"{name}({one})" for one in plain if one != first and f":param {one}:" not in text]
    assert missing == []


def test_the_examples_of_the_docstrings_hold(lr: ModuleType) -> None:
    tried = [doctest.testmod(module) for module in modules(lr)]
    assert sum(result.attempted for result in tried) >= 10
    assert sum(result.failed for result in tried) == 0
