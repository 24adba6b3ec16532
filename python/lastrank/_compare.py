"""Compares measurements, and plans how many are needed."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _html
from ._errors import Error
from ._executable import OF_CONCLUSIONS, call, document
from ._fit import Estimate, Verdict
from ._native import visible
from ._run import Place
from ._source import Data, Nan, Source, together

__all__ = ["Comparison", "Decision", "Plan", "ab", "compare", "plan"]


class Comparison:
    """By what factor the new values are slower; made by :func:`compare`.

    :ivar document: what ``lastrank compare --json`` prints (schema lastrank.compare/2, docs/json.md).
    """

    def __init__(self, sources: Sequence[Source], arguments: Sequence[str]) -> None:
        self._sources = list(sources)
        names, self._folder = together(sources)
        self._command = ["compare", *names, *arguments]
        self.document: dict[str, Any] = document([*self._command, "--json"], folder=self._folder, accept=OF_CONCLUSIONS)
        self._screen: str | None = None

    @property
    def factor(self) -> Estimate:
        """The number to quote: new = factor times old, with its interval.

        :raises Error: with fewer than ten new values; each is then judged alone: see ``document["runs"]``.
        """
        if "headline" not in self.document:
            raise Error("there are fewer than ten new values: each is judged by itself, see document['runs']")
        found = self.document["headline"]
        ends = found["interval"]
        return Estimate(value=found["value"], standard_error=None, lower=ends["lower"], upper=ends["upper"])

    @property
    def verdict(self) -> Verdict:
        """The answer: ``code`` (``no-difference``, ``slower``, ``faster``, ``other-difference``, ``not-independent``,
        ``single-runs``; ``unsound`` where a run has wrong data or failed operations or is incomplete, see
        ``unsound``; ``other-work`` where the two did not do the same work),
        ``text``, ``advice``."""
        advice = self.document.get("advice", [])
        text = self.document.get("text") or repr(self)
        return Verdict(code=self.document["code"], text=text, findings=[], advice=advice)

    @property
    def unsound(self) -> list[dict[str, Any]]:
        """The runs whose times are not those of the work that they were to do: ``run``, ``found``, ``kind``, ``status`` of
        each; empty where all are sound."""
        return list(self.document["unsound"])

    def __repr__(self) -> str:
        if self._screen is None:
            self._screen = call(self._command, folder=self._folder, accept=OF_CONCLUSIONS).out.rstrip("\n")
        return self._screen

    def _repr_html_(self) -> str:
        return _html.screen(repr(self))


def compare(
    old: Data,
    new: Data,
    *,
    unit: str | None = None,
    label: str | None = None,
    gate: bool = False,
    level: float = 0.95,
    seed: int = 1,
    nan: Nan = "raise",
) -> Comparison:
    """By what factor new measurements are slower than old ones, with an interval and a verdict.

    Methods and sources: docs/statistics-methods.md.

    :param old: quiet measurements: numbers in time order, a run or a place of it, or the path of a run, CSV or text file.
    :param new: the others, of the same kind.
    :param unit: ``s``, ``ms``, ``us`` or ``ns`` of plain numbers.
    :param label: the samples of this label or operation of two runs.
    :param gate: the slowest rank of each step of two runs.
    :param level: coverage of all intervals.
    :param seed: of the bootstrap.
    :param nan: ``raise`` refuses missing values, ``drop`` leaves them out.
    :raises Error: with the words of the command line.

    >>> import random
    >>> draw = random.Random(1)
    >>> old = [10 + draw.expovariate(1.0) for _ in range(100)]
    >>> new = [1.3 * (10 + draw.expovariate(1.0)) for _ in range(100)]
    >>> compare(old, new).verdict.code
    'slower'
    """
    if isinstance(old, Place) and isinstance(new, Place):
        if old.name != new.name:
            raise Error(f"`{old.name}` and `{new.name}` are not the same operation: give values, or the same place of both")
        label = old.name
        old, new = old.run, new.run
    sources = [Source.of(data, (), unit, None, nan, name) for data, name in ((old, "old"), (new, "new"))]
    options = [] if label is None else [f"--label={label}"]
    # What both are given, once.
    options += sorted({option for source in sources for option in source.options})
    options += ["--gate"] if gate else []
    return Comparison(sources, [*options, f"--level={float(level)!r}", f"--seed={int(seed)}"])


class Plan:
    """How many values a precision needs; made by :func:`plan`.

    :ivar document: what ``lastrank plan-runs --json`` prints (schema lastrank.plan/1, docs/json.md).
    """

    def __init__(self, source: Source, arguments: Sequence[str]) -> None:
        self._source = source
        self._arguments = list(arguments)
        self.document: dict[str, Any] = document([*self._call(), "--json"], folder=source.folder, accept=OF_CONCLUSIONS)
        self._screen: str | None = None

    def _call(self) -> list[str]:
        return ["plan-runs", self._source.name, *self._arguments, *self._source.options]

    @property
    def plans(self) -> list[dict[str, Any]]:
        """One for each wish."""
        return list(self.document["plans"])

    @property
    def runs(self) -> float:
        """Values that the most demanding wish needs, those of the pilot included."""
        return max(float(one["runs"]) for one in self.plans)

    def __repr__(self) -> str:
        if self._screen is None:
            self._screen = call(self._call(), folder=self._source.folder, accept=OF_CONCLUSIONS).out.rstrip("\n")
        return self._screen

    def _repr_html_(self) -> str:
        return _html.screen(repr(self))


def plan(
    pilot: Data, *wishes: str, unit: str | None = None, label: str | None = None, level: float = 0.95, nan: Nan = "raise",
    **precision: str | float,
) -> Plan:
    """How many values are needed for a wanted precision, from a pilot.

    :param pilot: numbers in time order, a run or a place of it, or the path of a run, CSV or text file.
    :param wishes: as on the command line: ``"p99=5%"``, ``"return-level(100)=0.5%"``, ``"p99.9=10%"``.
    :param precision: the same as keywords: ``p99="5%"``, ``location="1%"``, ``k="2%"``.
    :param unit: ``s``, ``ms``, ``us`` or ``ns`` of plain numbers.
    :param label: the samples of this label or operation of a run.
    :param level: coverage of the planned intervals.
    :param nan: ``raise`` refuses missing values, ``drop`` leaves them out.
    :raises Error: with the words of the command line.
    """
    goals = [*wishes, *(f"{name}={value}" for name, value in precision.items())]
    if not goals:
        raise Error("say what is wanted how precisely, for example p99='5%'")
    source = Source.of(pilot, [] if label is None else [f"--label={label}"], unit, None, nan, "pilot")
    return Plan(source, [*(f"--precision={goal}" for goal in goals), f"--level={float(level)!r}"])


class Decision:
    """Which of two is slower; made by :func:`ab`.

    :ivar document: what ``lastrank ab --json`` prints (schema lastrank.ab/1, docs/ab.md).
    """

    def __init__(self, found: dict[str, Any]) -> None:
        self.document = found

    @property
    def verdict(self) -> Verdict:
        """``code`` (``same``, ``slower``, ``faster``: what B is; ``open`` where it was not decided) and ``text``."""
        look = self.document["look"] or {}
        return Verdict(code=str(look.get("decision", "open")), text=self.document["answer"], findings=[], advice=[])

    @property
    def ratio(self) -> Estimate:
        """How many times as long as A B takes.

        :raises Error: where the time was over before the first look.
        """
        look = self.document["look"]
        if look is None:
            raise Error(visible(self.document["answer"]))
        ends = look["interval"]
        lower, upper = (ends["lower"], ends["upper"]) if isinstance(ends, Mapping) else ends
        return Estimate(value=look["ratio"], standard_error=None, lower=lower, upper=upper)

    def __repr__(self) -> str:
        return visible(str(self.document["answer"]))

    def _repr_html_(self) -> str:
        return _html.screen(repr(self))


def ab(
    a: str | os.PathLike[str] | Sequence[str],
    b: str | os.PathLike[str] | Sequence[str],
    *,
    until: str | float | None = None,
    program: str | None = None,
    value: str | None = None,
    of: str | None = None,
    seconds: float | None = None,
    seed: int = 1,
    options: Iterable[str] = (),
    **parameters: Any,
) -> Decision:
    """Is B slower than A? Runs both in turns until that is decided, at most 48 blocks of four runs.

    :param a: a command line, a program or experiment, or with ``program`` a directory.
    :param b: the other one.
    :param until: call them equal within this share: ``"1%"``, which is also the default.
    :param program: run this program, with A and B as its parameter ``dir``.
    :param value: what of a program's run is compared: ``median``, ``p90``, ``p99``, ``mean``, ``max``.
    :param of: the samples of this label or operation of a program.
    :param seconds: give up after this time.
    :param seed: of the order, and of programs.
    :param options: further options of ``lastrank ab``.
    :param parameters: of both programs.
    :raises Error: with the words of the command line.
    """
    arms = [shlex.join(arm) if not isinstance(arm, (str, os.PathLike)) else os.fspath(arm) for arm in (a, b)]
    arguments = ["ab", "--json", f"--seed={int(seed)}"]
    if until is not None:
        arguments.append(f"--equal-within={str(until).removesuffix('%').strip()}")
    time = None if seconds is None else f"{float(seconds)!r}s"
    for option, given in (("--program", program), ("--value", value), ("--of", of), ("--time", time)):
        arguments += [] if given is None else [f"{option}={given}"]
    arguments += [f"--set={key}={entry}" for key, entry in parameters.items()]
    return Decision(document([*arguments, *options, "--", *arms]))
