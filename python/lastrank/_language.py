"""Programs as text: what is wrong with them, what they will do, and running them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _html
from ._errors import Error, ProgramError
from ._executable import call, document
from ._fit import _Fields
from ._native import visible
from ._run import Run, run

__all__ = ["Explanation", "Finding", "Findings", "Program", "from_darshan", "from_fio", "from_trace"]


class Finding(_Fields):
    """What is said of a place in a program: ``code``, ``severity``, ``message``, ``line``, ``column``, ``end_line``,
    ``end_column``, and where there is one ``help`` and ``replacement``."""

    code: str
    severity: str
    message: str
    line: int
    column: int
    end_line: int
    end_column: int


class Findings(list[Finding]):
    """Everything that is wrong with a program; empty, and false, where nothing is. Shows itself with the lines.

    :ivar text: what ``lastrank check`` prints.
    """

    def __init__(self, findings: Sequence[Finding], text: str) -> None:
        super().__init__(findings)
        self.text = text

    @property
    def errors(self) -> list[Finding]:
        """Those that keep the program from running."""
        return [finding for finding in self if finding.severity == "error"]

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return _html.screen(self.text)


class Explanation:
    """What a program will do; made by :meth:`Program.explain`.

    :ivar document: what ``lastrank explain --json`` prints (schema lastrank.explain/1).
    :ivar text: what ``lastrank explain`` prints.
    """

    def __init__(self, found: dict[str, Any], text: str) -> None:
        self.document = found
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return _html.screen(self.text)


class Program:
    """A program of lastrank's language (docs/language.md).

    :param text: the text of the program.

    >>> program = Program('repeat 100 { read("f"); }')
    >>> program.check()
    the program: no mistakes found
    >>> program.explain().document["explanation"]["work"][0]["tally"]["operations"]
    {'read': 100}
    """

    def __init__(self, text: str) -> None:
        self.text = text

    @staticmethod
    def load(name: str | os.PathLike[str]) -> Program:
        """A program file, or an experiment that ships with lastrank.

        :raises Error: where there is none of that name.
        """
        if os.path.isfile(name):
            return Program(Path(name).read_text(encoding="utf-8"))
        return Program(call(["experiments", "--", os.fspath(name)]).out)

    def check(self, n: int | None = None, groups: Mapping[str, int] | None = None, **parameters: Any) -> Findings:
        """Everything that is wrong with it, in a run of ``n`` ranks where that is given.

        :raises Error: for wrong arguments; an error of the program is a finding.
        """
        arguments = ["check", *_settings(n, groups, parameters), "-"]
        found = document([*arguments, "--format", "json"], self.text, accept=(0, 2))["diagnostics"]
        said = call(arguments, self.text, accept=(0, 2))
        text = "\n".join(said.notes).strip() or "the program: no mistakes found"
        return Findings([Finding(one) for one in found], text)

    def explain(self, n: int | None = None, groups: Mapping[str, int] | None = None, **parameters: Any) -> Explanation:
        """What it will do: ranks, layouts, meetings, operations, bytes, space. Nothing is done.

        :raises ProgramError: for a program with errors.
        """
        arguments = ["explain", *_settings(n, groups, parameters), "-"]
        return Explanation(document([*arguments, "--json"], self.text), call(arguments, self.text).out.rstrip("\n"))

    def run(self, n: int | None = None, **options: Any) -> Run:
        """Runs it; options and parameters as of :func:`lastrank.run`.

        :raises ProgramError: for a program with errors.
        """
        # A text without any sign of a program would be taken for a name.
        return run(self.text if self.text.endswith("\n") else self.text + "\n", n=n, **options)

    def formatted(self) -> Program:
        """The same in its one layout.

        :raises ProgramError: for a program that cannot be read.
        """
        return Program(call(["fmt", "-"], self.text).out)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        first = next((line for line in self.text.splitlines() if line.strip()), "")
        return f"<program of {len(self.text.splitlines())} lines: {visible(first[:60])}>"


def _settings(n: int | None, groups: Mapping[str, int] | None, parameters: Mapping[str, Any]) -> list[str]:
    options = [] if n is None else [f"--ranks={n}"]
    options += [f"--group={group}:{size}" for group, size in (groups or {}).items()]
    return options + [f"--set={name}={value}" for name, value in parameters.items()]


def from_fio(job: str | os.PathLike[str]) -> Program:
    """A program that does what a job file of fio says, or what a log of ``fio --write_iolog`` recorded.

    :raises Error: for what cannot be read or done; it names the option.
    """
    return from_trace(job)


def from_darshan(dxt: str | os.PathLike[str]) -> Program:
    """A program that makes the transfers of a Darshan log: ``dxt`` is what ``darshan-dxt-parser`` printed of it.

    :raises Error: for what is no such text; see docs/import.md.
    """
    return from_trace(dxt)


def from_trace(trace: str | os.PathLike[str], options: Sequence[str] = ()) -> Program:
    """A program that does what an application did: a recording of ``lastrank record``, or a trace of another tool.

    :param options: of ``lastrank import``, such as ``["--only", "/scratch"]``.
    :raises Error: for a file of no known format; see docs/import.md.
    """
    return Program(call(["import", *options, "--", os.fspath(trace)]).out)
