"""Tests that the runner of `tests/all.py` runs every step, counts the results, and fails if any step failed."""

import sys
from pathlib import Path

import pytest
from steps import CargoTest, Count, Plain, Pytest, Result, Step, run_side_by_side, summary

CARGO = """
     Running unittests src/lib.rs (target/debug/deps/store-1)

running 4 tests
test numbers::one ... ok
test numbers::two ... ok
test numbers::slow ... ignored, needs an hour
test numbers::odd ... FAILED

successes:

---- numbers::two stdout ----
some words that nobody needs
skipped: mounting a small tmpfs needs root


successes:
    numbers::one
    numbers::two

failures:

---- numbers::odd stdout ----
thread panicked: skipped: is not a reason here

failures:
    numbers::odd

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s

     Running tests/run_file.rs (target/debug/deps/run_file-2)
test reads_back ... ok
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""


def prints(text: str, status: int = 0) -> list[object]:
    return [sys.executable, "-c", f"import sys; print({text!r}); sys.exit({status})"]


def read(reader: Plain, text: str) -> str:
    """What the reader shows of a text."""
    return "\n".join(line for line in text.splitlines() if reader.shows(line))


def test_cargo_tests_are_counted_and_what_could_not_run_is_skipped_with_its_reason() -> None:
    reader = CargoTest()
    shown = read(reader, CARGO)
    assert reader.count == Count(passed=2, failed=1, skipped=2)
    assert reader.failures == ["src/lib.rs numbers::odd"]
    assert reader.skips == [
        "src/lib.rs numbers::slow: ignored, needs an hour",
        "src/lib.rs numbers::two: mounting a small tmpfs needs root",
    ]
    assert "panicked" in shown and "nobody needs" not in shown and "reads_back" in shown


@pytest.mark.parametrize(
    ("closing", "count"),
    [
        ("3 failed, 5 passed, 2 skipped, 1 error in 12.34s", Count(5, 4, 2)),
        ("===== 7 passed, 1 xfailed, 2 warnings in 130.02s (0:02:10) =====", Count(7, 0, 1)),
        ("no tests ran in 0.01s", Count()),
    ],
)
def test_the_closing_line_of_pytest_is_counted(closing: str, count: Count) -> None:
    reader = Pytest()
    read(reader, f"FAILED tests/a.py::b - assert 1\nSKIPPED [2] tests/c.py:3: needs root\n{closing}")
    assert reader.count == count
    assert reader.failures == ["FAILED tests/a.py::b - assert 1"]
    assert reader.skips == ["[2] tests/c.py:3: needs root"]


def test_every_step_runs_after_one_that_failed_and_the_total_comes_last(
    tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    steps = [
        Step("format", prints("Diff in a.rs", status=1)),
        Step("cargo test", prints(CARGO, status=101), CargoTest()),
        Step("clippy", prints("never started"), missing="clippy is not installed"),
        Step("pytest", prints("12 passed, 1 skipped in 3.50s"), Pytest()),
    ]
    results = [step.run(tmp_path) for step in steps]
    printed = capfd.readouterr().out
    assert "Diff in a.rs" in printed and "never started" not in printed
    assert [result.failed for result in results] == [True, True, True, False]
    lines = summary(results).splitlines()
    assert lines[-2:] == ["12 passed, 1 skipped in 3.50s", "14 passed, 3 failed, 3 skipped"]
    assert "failed: cargo test: src/lib.rs numbers::odd" in lines
    table = {line[2:14].strip(): line for line in lines if line.startswith("  ")}
    assert "FAILED" in table["format"] and "exit status 1" in table["format"]
    assert "2 passed, 1 failed, 2 skipped" in table["cargo test"]
    assert "clippy is not installed" in table["clippy"]
    assert "ok" in table["pytest"]


def test_a_runner_of_tests_that_ran_none_fails(tmp_path: Path) -> None:
    result = Step("pytest", prints("no tests ran in 0.01s"), Pytest()).run(tmp_path)
    assert result.trouble == "no test was run" and result.count == Count(failed=1)


def test_a_program_that_is_not_there_fails_its_step(tmp_path: Path) -> None:
    result = Step("format", ["no-such-program"]).run(tmp_path)
    assert result.failed and "no-such-program cannot be started" in result.trouble


def test_without_failures_the_total_says_zero_failed() -> None:
    good = Pytest()
    read(good, "2 passed in 0.10s")
    assert summary([Result("format", Plain()), Result("pytest", good)]).endswith("\n2 passed, 0 failed")


def test_lanes_run_at_the_same_time_and_each_line_tells_its_step(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Each of two steps waits for a file that the other one makes, so one after another they would wait for ever."""
    script = (
        "import pathlib, sys, time\n"
        "pathlib.Path(sys.argv[1]).touch()\n"
        "deadline = time.monotonic() + 60\n"
        "while not pathlib.Path(sys.argv[2]).exists() and time.monotonic() < deadline: time.sleep(0.01)\n"
        "print('met' if pathlib.Path(sys.argv[2]).exists() else 'alone')\n"
    )
    one = Step("one", [sys.executable, "-c", script, "a", "b"])
    two = Step("two", [sys.executable, "-c", script, "b", "a"])
    last = Step("last", prints("done", status=1))
    results = run_side_by_side([[one, last], [two]], tmp_path)
    assert [(result.name, result.failed) for result in results] == [("one", False), ("last", True), ("two", False)]
    printed = capfd.readouterr().out.splitlines()
    assert "one | met" in printed and "two | met" in printed and "last | done" in printed
