"""The notebooks run from their first to their last cell, and their tables of sources are those of the documentation.

Each is executed by a kernel of its own, with parameters that are smaller still than those that it stands with.
"""

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = {
    "first_hour": {"steps": "200"},
    "memory_hierarchy": {"least": '"1ms"', "largest": '"1MiB"', "accesses": "300", "batches": "5", "passes": "1"},
    "parallel_write": {"steps": "120", "fresh": "2"},
    "system_calls": {"calls": "200", "batches": "10", "slow": "20", "writes": "20"},
}
# Pages whose numbers of sources the tables of a notebook repeat.
SOURCES = {
    "memory_hierarchy": ["docs/sources/notebook-2018.md"],
    "parallel_write": ["docs/sources/parallel-write-2016.md"],
    "system_calls": ["docs/sources/report-2003.md"],
}
# Seconds: what a notebook may take on a busy machine.
PATIENCE = 60


def read(name: str) -> Any:
    jupytext = pytest.importorskip("jupytext", reason="jupytext is not installed (tests/all.py installs it)")
    return jupytext.read(ROOT / "notebooks" / f"{name}.py")


def parameters(notebook: Any) -> Any:
    [cell] = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    return cell


def test_every_notebook_is_tested() -> None:
    assert sorted(NOTEBOOKS) == sorted(path.stem for path in (ROOT / "notebooks").glob("*.py"))
    assert not list((ROOT / "notebooks").glob("*.ipynb")), "outputs are not kept"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs_from_its_first_to_its_last_cell(name: str, lr: ModuleType, tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed (tests/all.py installs it)")
    notebook = read(name)
    cell = parameters(notebook)
    for parameter, value in NOTEBOOKS[name].items():
        cell.source, found = re.subn(rf"^{parameter} = \S+", f"{parameter} = {value}", cell.source, flags=re.MULTILINE)
        assert found == 1, f"{name} has lost its parameter {parameter}"
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=PATIENCE, resources=where, kernel_name="python3").execute()

    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [output for cell in codes for output in cell.outputs]
    # Words of a library that complains are no part of the story.
    assert [output.text for output in outputs if output.get("name") == "stderr"] == []
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    tables = [output for output in outputs if "text/markdown" in output.get("data", {})]
    assert len(pictures) >= 2 and len(tables) >= 3
    assert all("nan" not in output.data["text/markdown"] for output in tables)
    # Samples go where the notebook says, and the folder of the user stays clean.
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_readable_without_running_it(name: str) -> None:
    notebook = read(name)
    assert notebook.cells[0].source.startswith("# "), "it begins with its title"
    prose = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    codes = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert sum(map(len, prose)) > 0.6 * sum(map(len, codes)), "prose carries the story"
    assert all(code.count("\n") < 40 for code in codes)
    # A parameter names the value of the source, or what a larger one gives.
    for line in parameters(notebook).source.splitlines():
        assert re.match(r"\w+ = \S+  # \S", line), line


@pytest.mark.parametrize("name", SOURCES)
def test_tables_of_sources_have_the_numbers_of_the_documentation(name: str) -> None:
    known = set()
    for page in SOURCES[name]:
        known |= numbers((ROOT / page).read_text())
    prose = "\n".join(cell.source for cell in read(name).cells)
    rows = [line for line in prose.splitlines() if re.match(r"\| [^|]*\|.*\d", line) or re.match(r'    \["(location|scale|shape)', line)]
    assert rows, "it has lost its tables"
    wrong = {number for row in rows for number in numbers(row.split("|", 2)[-1]) if number not in known}
    assert not wrong - OF_WINDOWS, f"not in {SOURCES[name]}: {sorted(wrong)}"


# Columns of the report of 2003 that the documentation leaves out.
OF_WINDOWS = {
    "125", "42.65", "0.004799", "0.057701", "0.007438", "0.261525", "0.002204", "0.034418", "1.29735", "7.53916", "0.000101",
    "0.0022499",
}  # fmt: skip


def numbers(text: str) -> set[str]:
    """Numbers with a point or an exponent, as they are written: what a slip of the pen would change."""
    return set(re.findall(r"(?<![\w.])\d+\.\d+(?:e-?\d+)?", text)) | set(re.findall(r"(?<![\w.])125(?![\w.])", text))
