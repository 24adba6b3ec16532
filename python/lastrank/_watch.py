"""Alarms on a stream of values, at a stated rate of false ones."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ._executable import Said, call
from ._fit import _Fields
from ._native import visible
from ._run import Place, Run
from ._source import Data, Nan, Source

__all__ = ["Event", "Watch", "watch"]


class Event(_Fields):
    """Something that happened: ``event`` (``spike``, ``slow``, ``fast``, ``recovered``, ``rebaselined``, ``bad``, ``unsound``),
    ``text``, and the fields that docs/watch.md lists."""

    event: str
    text: str


class Watch:
    """Thresholds from quiet values, and what came since; made by :func:`watch`.

    :ivar baseline: what the thresholds rely on, with the stated rates of false alarms (``text`` has them in words).
    :ivar level: ``quiet``, ``slow`` or ``fast``.
    :ivar alarmed: whether the level is slow, or the last value was a spike.
    :ivar runs: how many values it has seen.
    """

    def __init__(self, source: Source, arguments: list[str], state: str | os.PathLike[str] | None) -> None:
        self._source = source
        self._folder = tempfile.TemporaryDirectory(prefix="lastrank-watch-") if state is None else None
        self._state = Path(self._folder.name, "state") if self._folder is not None else Path(state or "").absolute()
        self._arguments = arguments
        self.level = "quiet"
        self.alarmed = False
        self.runs = 0
        self.baseline: dict[str, Any] = {}
        self.push([])

    def push(self, values: float | Iterable[float] | Run | Place | str | os.PathLike[str]) -> list[Event]:
        """Watches further values: one, several in their order, or those of a run; what happened in them.

        :param values: in the unit of the watch; missing values are ``bad`` events.
        :raises Error: for a state or a stream that cannot be read, and a run of something else than the baseline.
        """
        text: str | None = None
        if isinstance(values, (str, os.PathLike, Run, Place)):
            run = values.run if isinstance(values, Place) else values
            stream = os.fspath(run.path.absolute() if isinstance(run, Run) else Path(run).absolute())
        else:
            stream = "-"
            numbers = [values] if isinstance(values, (int, float)) else values
            text = "".join(f"{float(number)!r}\n" for number in numbers)
        command = ["watch", self._source.name, stream, *self._source.options, *self._arguments]
        said = call([*command, f"--state={self._state}", "--json"], text, self._source.folder, accept=(0, 1, 3))
        return self._events(said)

    def _events(self, said: Said) -> list[Event]:
        events = []
        for line in said.out.splitlines():
            event = Event(json.loads(line))
            if event.event in ("baseline", "resumed"):
                self.baseline = self.baseline or dict(event)
            elif event.event == "end":
                self.level, self.alarmed, self.runs = event.level, event.alarmed, event.runs
            else:
                events.append(event)
        return events

    def __repr__(self) -> str:
        state = f"{self.level}{', alarmed' if self.alarmed else ''} after {self.runs} values"
        return visible(f"{self.baseline.get('text', '')}\n{state}".strip())


def watch(
    baseline: Data,
    *,
    unit: str | None = None,
    label: str | None = None,
    gate: bool = False,
    false_alarm_rate: float | None = None,
    run_length: float | None = None,
    shift: str | None = None,
    guaranteed: bool = False,
    state: str | os.PathLike[str] | None = None,
    seed: int = 1,
    nan: Nan = "raise",
) -> Watch:
    """Watches a stream of values with thresholds from quiet ones: ``for value in stream: print(watcher.push(value))``.

    :param baseline: at least 50 quiet values: numbers in time order, a run or a place of it, or the path of a file.
    :param unit: ``s``, ``ms``, ``us`` or ``ns`` of plain numbers, of the stream too.
    :param label: the samples of this label or operation of runs.
    :param gate: the slowest rank of each step of runs.
    :param false_alarm_rate: share of quiet values that may give a spike alarm.
    :param run_length: mean number of quiet values between two false alarms of a changed level.
    :param shift: the slow-down to be found soonest: ``"5%"``.
    :param guaranteed: keep the rate in 90% of baselines, not only on average.
    :param state: a file that remembers what was seen; a later watch with the same file goes on from there.
    :param seed: of the bootstrap that calibrates the thresholds.
    :param nan: of the baseline: ``raise`` refuses missing values, ``drop`` leaves them out.
    :raises Error: for a baseline that no rate can be stated of, with the reason.
    """
    source = Source.of(baseline, [] if label is None else [f"--label={label}"], unit, None, nan, "baseline")
    arguments = ["--gate"] if gate else []
    arguments += ["--guaranteed"] if guaranteed else []
    for option, given in (
        ("--false-alarm-rate", false_alarm_rate), ("--run-length", run_length), ("--shift", shift), ("--seed", seed),
    ):
        arguments += [] if given is None else [f"{option}={given}"]
    return Watch(source, arguments, state)
