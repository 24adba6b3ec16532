"""Runs commands, even if earlier ones failed, and sums up what their runners report.

Each runner has a reader that takes its output line by line, decides which lines are shown, and keeps the
numbers: `Plain` for what runs no tests, `CargoTest`, `Pytest`. A step fails by its exit status, by a failed
test, or when a runner of tests reports none. The last line of the summary is `N passed, N failed` with
`, N skipped` where tests were skipped; a step that fails without a failed test counts as one failure.
"""

import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Count:
    """Numbers of tests."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


@dataclass
class Plain:
    """Reader of a command that runs no tests: shows everything, counts nothing."""

    runs_tests = False
    count: Count = field(default_factory=Count)
    closing: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    skips: list[str] = field(default_factory=list)

    def shows(self, line: str) -> bool:
        """Takes a line of the output; returns whether to print it."""
        return True


class CargoTest(Plain):
    """Reader of `cargo test … -- --show-output`.

    Rust's test harness has no outcome "skipped": a test that cannot run here prints `skipped: why` and returns,
    and the harness calls it passed. With `--show-output` such lines can be read, so that it is counted as skipped;
    the rest of what passed tests print is left out.
    """

    runs_tests = True
    RESULT = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;")
    TEST = re.compile(r"^test (.+) \.\.\. (FAILED|ignored(?:, .*)?)$")
    BINARY = re.compile(r"^\s+(?:Running|Doc-tests) (?:unittests )?(\S+)")
    OUTPUT_OF = re.compile(r"^---- (.+) stdout ----$")

    def __init__(self) -> None:
        super().__init__()
        self.binary = self.test = ""
        self.in_successes = False

    def shows(self, line: str) -> bool:
        if found := self.BINARY.match(line):
            self.binary, self.in_successes = found[1], False
        elif found := self.RESULT.match(line):
            self.count += Count(int(found[1]), int(found[2]), int(found[3]))
            self.in_successes = False
        elif found := self.TEST.match(line):
            listed = self.failures if found[2] == "FAILED" else self.skips
            listed.append(f"{self.binary} {found[1]}" + ("" if found[2] == "FAILED" else f": {found[2]}"))
        elif line == "successes:":
            self.in_successes, self.test = True, ""
        elif line == "failures:":
            self.in_successes = False
        elif self.in_successes:
            self._output_of_a_passed_test(line)
        return not self.in_successes

    def _output_of_a_passed_test(self, line: str) -> None:
        if found := self.OUTPUT_OF.match(line):
            self.test = found[1]
        elif self.test and line.startswith("skipped: "):
            self.skips.append(f"{self.binary} {self.test}: {line.removeprefix('skipped: ')}")
            self.count += Count(passed=-1, skipped=1)
            self.test = ""


class Pytest(Plain):
    """Reader of `pytest -q -rfEs`."""

    runs_tests = True
    CLOSING = re.compile(r"^=* ?((?:\d+ [a-z]+(?:, )?)+) in [\d.]+s")
    FAILED = ("failed", "error", "errors")
    SKIPPED = ("skipped", "xfailed", "deselected")

    def shows(self, line: str) -> bool:
        if found := self.CLOSING.match(line):
            numbers = [(int(number), word) for number, word in re.findall(r"(\d+) ([a-z]+)", found[1])]
            self.count += Count(
                passed=sum(number for number, word in numbers if word in ("passed", "xpassed")),
                failed=sum(number for number, word in numbers if word in self.FAILED),
                skipped=sum(number for number, word in numbers if word in self.SKIPPED),
            )
            self.closing.append(line)
        elif line.startswith(("FAILED ", "ERROR ")):
            self.failures.append(line)
        elif line.startswith("SKIPPED "):
            self.skips.append(line.removeprefix("SKIPPED "))
        return True


@dataclass
class Result:
    """The result of one step."""

    name: str
    reader: Plain
    seconds: float = 0.0
    # Why the step failed, besides failed tests.
    trouble: str = ""

    @property
    def failed(self) -> bool:
        return bool(self.trouble or self.reader.count.failed)

    @property
    def count(self) -> Count:
        """The tests, and the step itself if it failed without a failed test."""
        itself = 1 if self.failed and not self.reader.count.failed else 0
        return self.reader.count + Count(failed=itself)


@dataclass
class Step:
    """A command with the reader of its output."""

    name: str
    command: Sequence[object]
    reader: Plain = field(default_factory=Plain)
    environment: Mapping[str, str] | None = None
    # Why the command cannot be started; the step then fails.
    missing: str = ""

    def run(self, folder: Path, before: str = "") -> Result:
        """Runs the command in `folder`, printing what it prints, each line with `before` before it."""
        if self.missing:
            print(f"{before}{self.name}: {self.missing}", flush=True)
            return Result(self.name, self.reader, trouble=self.missing)
        begun = time.monotonic()
        command = [str(part) for part in self.command]
        print(f"{before}+ {' '.join(command)}", flush=True)
        try:
            status = self._run(command, folder, before)
        except OSError as error:
            return Result(self.name, self.reader, trouble=f"{command[0]} cannot be started: {error}")
        trouble = f"exit status {status}" if status else ""
        if not trouble and self.reader.runs_tests and self.reader.count == Count():
            trouble = "no test was run"
        return Result(self.name, self.reader, time.monotonic() - begun, trouble)

    def _run(self, command: list[str], folder: Path, before: str) -> int:
        options = {"cwd": folder, "env": self.environment, "text": True, "errors": "replace"}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options) as child:
            for line in child.stdout:
                if self.reader.shows(line.rstrip("\n")):
                    print(f"{before}{line}", end="", flush=True)
        return child.returncode


def run_side_by_side(lanes: Sequence[Sequence[Step]], folder: Path) -> list[Result]:
    """Runs the steps of each lane one after another, and the lanes at the same time; each line tells its step."""

    def lane(steps: Sequence[Step]) -> list[Result]:
        return [step.run(folder, f"{step.name} | ") for step in steps]

    with ThreadPoolExecutor(len(lanes)) as lanes_at_once:
        return [result for results in lanes_at_once.map(lane, lanes) for result in results]


def summary(results: Sequence[Result]) -> str:
    """Each step with its result; failed and skipped tests by name; the closing lines; the total."""
    lines = ["", "Summary"]
    for result in results:
        how = "FAILED" if result.failed else "ok"
        counted = [str(result.reader.count)] if result.reader.runs_tests else []
        told = "; ".join(counted + [result.trouble] * bool(result.trouble))
        lines.append(f"  {result.name:<12} {how:<7} {result.seconds:6.0f} s  {told}".rstrip())
    for result in results:
        lines += [f"failed: {result.name}: {failure}" for failure in result.reader.failures]
    for result in results:
        lines += [f"skipped: {result.name}: {skip}" for skip in result.reader.skips]
    for result in results:
        lines += result.reader.closing
    lines.append(str(sum((result.count for result in results), Count())))
    return "\n".join(lines)
