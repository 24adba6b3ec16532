"""The gate of a CI job: the script that the GitHub action runs, on files of four tools."""

import json
import os
import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ACTION = Path(__file__).resolve().parent.parent / ".github" / "actions" / "compare"


def times(factor: float, seed: int, count: int = 40) -> list[float]:
    source = random.Random(seed)
    return [factor * source.gauss(0.1, 0.002) for _ in range(count)]


def hyperfine(values: list[float]) -> str:
    return json.dumps({"results": [{"command": "sort big|head", "mean": sum(values) / len(values), "times": values,
                                    "exit_codes": [0] * len(values)}]})


def criterion(values: list[float]) -> str:
    iters = [10.0 * (1 + at) for at in range(len(values))]
    return json.dumps({"sampling_mode": "Linear", "iters": iters,
                       "times": [1e9 * value * n for value, n in zip(values, iters, strict=True)]})


def pytest_benchmark(values: list[float]) -> str:
    names = ["test_b.py::test_small", "test_b.py::test_large"]
    return json.dumps({"machine_info": {}, "benchmarks": [
        {"name": name, "fullname": name, "stats": {"data": values, "rounds": len(values), "mean": 0.1}} for name in names
    ]})


def k6(values: list[float]) -> str:
    begin = {"type": "Metric", "metric": "http_req_duration", "data": {"name": "http_req_duration", "type": "trend"}}
    points = [
        {"metric": "http_req_duration", "type": "Point",
         "data": {"time": "2026-11-26T16:00:00Z", "value": 1000 * value, "tags": {"expected_response": "true"}}}
        for value in values
    ]
    return "".join(json.dumps(line) + "\n" for line in [begin, *points])


Write = Callable[[list[float]], str]
TOOLS = [hyperfine, criterion, pytest_benchmark, k6]


def gate(program: Path, folder: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["sh", ACTION / "compare.sh"], cwd=folder, capture_output=True, text=True, timeout=60,
        env={"PATH": os.environ["PATH"], "LASTRANK": str(program), "OLD": "old.json", "NEW": "new.json", **environment},
    )


def written(folder: Path, write: Write, factor: float) -> None:
    (folder / "old.json").write_text(write(times(1.0, 1)))
    (folder / "new.json").write_text(write(times(factor, 2)))


@pytest.mark.parametrize("write", TOOLS)
@pytest.mark.parametrize(("factor", "status"), [(1.0, 0), (1.2, 1), (0.8, 0)])
def test_equal_passes_and_slower_fails(write: Write, factor: float, status: int, program: Path, tmp_path: Path) -> None:
    written(tmp_path, write, factor)
    series = {"SERIES": "test_b.py::test_large"} if write is pytest_benchmark else {}
    done = gate(program, tmp_path, **series)
    assert done.returncode == status, done
    assert ("% slower: " in done.stdout) == (status == 1), done.stdout
    assert "| median | " in done.stdout
    # A table has as many cells in each row, whatever the names.
    rows = [line for line in done.stdout.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} == {5}, done.stdout


def test_the_summary_of_a_job_has_a_table_of_each_series(program: Path, tmp_path: Path) -> None:
    written(tmp_path, pytest_benchmark, 1.2)
    summary = tmp_path / "summary.md"
    both = "test_b.py::test_small\ntest_b.py::test_large"
    done = gate(program, tmp_path, SERIES=both, GITHUB_STEP_SUMMARY=str(summary))
    assert (done.returncode, done.stdout) == (1, "")
    assert len(re.findall("^### ✖ .*% slower: ", summary.read_text(), re.MULTILINE)) == 2
    assert "`factor > 1.05`: **yes: failed**" in summary.read_text()
    assert gate(program, tmp_path, SERIES=both, FAIL_IF="factor > 1.5").returncode == 0
    assert gate(program, tmp_path, SERIES=both, FAIL_IF="none").returncode == 0


@pytest.mark.parametrize("write", TOOLS)
def test_what_is_wrong_is_told_and_never_passes(write: Write, program: Path, tmp_path: Path) -> None:
    written(tmp_path, write, 1.0)
    (tmp_path / "new.json").write_text(write(times(1.0, 2))[:-40])
    series = {"SERIES": "test_b.py::test_small"} if write is pytest_benchmark else {}
    cases: list[tuple[dict[str, str], str]] = [
        ({"NEW": "nothing.json", **series}, "nothing.json"),
        (series, "new.json"),
        ({"OLD": ""}, "OLD names no file"),
        ({"NEW": "old.json", "SERIES": "missing"}, "missing"),
        ({"NEW": "old.json", "FAIL_IF": "slower", **series}, "--fail-if slower"),
    ]
    for environment, told in cases:
        done = gate(program, tmp_path, **environment)
        assert done.returncode == 2, (environment, done)
        assert told in done.stderr, (environment, done.stderr)
        assert "panicked" not in done.stderr


def test_few_runs_of_a_slow_benchmark_are_judged_one_by_one(program: Path, tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text(hyperfine(times(1.0, 1)))
    (tmp_path / "new.json").write_text(hyperfine(times(1.3, 2, 3)))
    done = gate(program, tmp_path)
    assert done.returncode == 1 and "3 of 3 new values slower" in done.stdout, done


def test_the_action_hands_every_input_to_its_script() -> None:
    action, script = (ACTION / "action.yml").read_text(), (ACTION / "compare.sh").read_text()
    names = set(re.findall(r"^  ([a-z-]+):$", action.split("\nruns:")[0], re.MULTILINE))
    handed = dict(re.findall(r"^        ([A-Z_]+): \$\{\{ inputs\.([a-z-]+) \}\}$", action, re.MULTILINE))
    assert set(handed.values()) == names == {"old", "new", "fail-if", "series"}
    # An input in `run` itself would be run as a command.
    assert "${{" not in action.split("run: ")[1].split("env:")[0]
    for variable in handed:
        assert f"${{{variable}:-" in script, variable
