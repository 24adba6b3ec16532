"""Runs lastrank in a test and reads what it measured."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas

# A real-time priority, if permitted, so that other processes do not interfere. It is above that of the file
# system with known delays, whose waiting must not delay lastrank, since such delays would not be injected
# ones.
PRIORITY = 2
FIRST = ["chrt", "-f", str(PRIORITY)]


def client_processor() -> int | None:
    """The processor of the measured program, different from that of the file system; None if there is only one."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[0] if len(allowed) > 1 else None


def server_processor() -> int | None:
    """The processor of the file system with known delays; None if there is only one."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[-1] if len(allowed) > 1 else None


def pinned(processor: int | None) -> list[str]:
    """The prefix of a command that pins it to this processor."""
    return ["taskset", "-c", str(processor)] if processor is not None and shutil.which("taskset") else []


@dataclass(frozen=True)
class Run:
    """One execution: what it printed, and its samples and facts if there is a run file."""

    status: int
    output: str
    messages: str
    file: Path

    @property
    def samples(self) -> "pandas.DataFrame":
        import pandas

        return pandas.read_parquet(self.file)

    @property
    def facts(self) -> dict:
        import pyarrow.parquet

        return json.loads(pyarrow.parquet.read_metadata(self.file).metadata[b"lastrank.facts"])

    def operations(self, name: str) -> "pandas.DataFrame":
        """The samples of one operation, by rank and time."""
        samples = self.samples
        chosen = samples[(samples.operation == name) & (samples.kind == "operation")]
        return chosen.sort_values(["rank", "start_ns"], kind="stable")

    def __str__(self) -> str:
        return f"exit status {self.status}\n{self.output}\n{self.messages}"


@dataclass(frozen=True)
class Lastrank:
    """The program under test."""

    program: Path
    folder: Path

    def command(self, program: str | Path, ranks: int | None = None, **parameters: object) -> list[str]:
        """The command line of `lastrank run`; the run file is `run.parquet` in the working directory."""
        sets = [word for name, value in parameters.items() for word in ("--set", f"{name}={value}")]
        many = ["-n", str(ranks)] if ranks else []
        return [str(self.program), "run", str(program), *many, *sets, "-o", "run.parquet", "--report", "none"]

    def run(
        self,
        program: str | Path,
        ranks: int | None = None,
        seconds: int = 120,
        first: bool = False,
        **parameters: object,
    ) -> Run:
        """Run a program; `first` gives it a real-time priority if permitted, on a
        processor that the file system with known delays does not use."""
        before = [*pinned(client_processor()), *FIRST] if first and may_be_first() else []
        command = [*before, *self.command(program, ranks, **parameters)]
        file = self.folder / "run.parquet"
        file.unlink(missing_ok=True)
        done = subprocess.run(
            command, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds
        )
        return Run(done.returncode, done.stdout, done.stderr, file)

    def fit(self, file: Path, *options: str) -> dict:
        """The fit of a run file, as its JSON."""
        command = [self.program, "fit", file, *options, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def may_be_first() -> bool:
    """Whether tests may use a real-time priority on this machine."""
    return bool(shutil.which("chrt")) and subprocess.run([*FIRST, "true"], capture_output=True).returncode == 0
