"""Runs programs, and shows what they measured."""

from __future__ import annotations

import glob
import json
import os
import warnings
from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from . import _html, _native
from ._errors import Error, RunWarning
from ._executable import Said, failed, run_to_end
from ._fit import Fit, figure_of, fit
from ._frame import Frame
from ._progress import Progress, seconds as _duration, shown
from ._replace import replace

if TYPE_CHECKING:
    import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from matplotlib.axes import Axes  # type: ignore[import-not-found,unused-ignore]

__all__ = ["Place", "Run", "Runs", "Summary", "io", "load", "run"]

_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}

#: Timings below which a block does not stand for itself: it was passed once, and its operations are meant.
_FEW = 2


class Summary(Mapping[str, Any]):
    """Counts, rates and quantiles of one operation or block: a mapping whose entries are attributes too.

    ``n`` counts the timings that succeeded, ``errors`` those that failed. ``iops`` and ``mib_per_second`` are over the
    wall time of all ranks together (None without a wall time, as in a ``ctime`` block). ``mean``, ``sd`` (standard
    deviation), ``min``, ``p50``, ``p90``, ``p99``, ``p999``, ``p9999`` and ``max`` are in seconds (None if the values do
    not reach that far). ``intervals`` has the distribution-free 95% interval of each quantile, ``(lower, upper)``, or
    None if too few values are above it.

    :ivar row: the row of ``results`` in the document of the run (docs/json.md).
    """

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.row = dict(row)
        found = row["response_quantiles_seconds"] or row["quantiles_seconds"] or {}
        bytes_per_second = row["bytes_per_second"]
        self._fields: dict[str, Any] = {
            "n": row["timings"],
            "errors": row["errors"],
            "iops": row["operations_per_second"],
            "mib_per_second": None if bytes_per_second is None else bytes_per_second / 2**20,
            "mean": row["mean_seconds"],
            "sd": row["sd_seconds"],
            "min": found.get("min"),
            **{name: found.get(name) for name in _QUANTILES},
            "max": found.get("max"),
            "intervals": {
                name: (one["lower_seconds"], one["upper_seconds"])
                for one in row["intervals"]
                for name, share in _QUANTILES.items()
                if one["probability"] == share
            },
        }

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_fields"][name]
        except KeyError:
            raise AttributeError(f"no field `{name}` in a summary") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def _rows(self) -> list[list[str]]:
        counts = [["n", f"{self.n:,}", ""], ["errors", f"{self.errors:,}", ""]]
        rates = [
            [name, f"{rate:,.4g}", ""]
            for name, rate in (("iops", self.iops), ("MiB/s", self.mib_per_second))
            if rate is not None
        ]
        times = []
        for name in ("mean", "min", *_QUANTILES, "max"):
            if (value := self[name]) is not None:
                ends = self.intervals.get(name)
                between = "" if ends is None else " to ".join("…" if end is None else _duration(end) for end in ends)
                times.append([name, _duration(value), between])
        return [*counts, *rates, *times]

    def __repr__(self) -> str:
        rows = [[_native.visible(_name(self.row)), "", "95% interval"], *self._rows()]
        widths = [max(len(row[at]) for row in rows) for at in range(3)]
        return "\n".join(
            f"{row[0].ljust(widths[0])}  {row[1].rjust(widths[1])}  {row[2].rjust(widths[2])}".rstrip() for row in rows
        )

    def _repr_html_(self) -> str:
        return _html.table([_name(self.row), "", "95% interval"], self._rows())


class Place:
    """An operation or a block of a run: ``run["fsync"]``, ``run["write"]``, ``run["write/fwrite"]``."""

    def __init__(self, run: Run, row: Mapping[str, Any]) -> None:
        self.run = run
        self._row = row
        #: How `--label` and `--of` of the command line name it.
        self.name = _name(row).replace(" / ", "/")

    def summary(self) -> Summary:
        """Counts, rates, quantiles with their intervals."""
        return Summary(self._row)

    @property
    def values(self) -> array[float]:
        """Durations in seconds, in time order; failed operations are not among them.

        :raises Error: of a run that counted its operations (``record="histogram"``).
        """
        return _values(self.run.path, self.name, False)

    @property
    def slowest(self) -> array[float]:
        """The slowest rank of each step, in seconds: what a gate is.

        :raises Error: as of :attr:`values`.
        """
        return _values(self.run.path, self.name, True)

    def series(self, slowest: bool = False) -> pandas.Series:
        """The same as a Series of pandas, named after the place: seconds, by the seconds since the begin of the run.

        Its ``attrs`` say the unit, which :func:`lastrank.fit` and :func:`lastrank.compare` then know.

        :param slowest: the slowest rank of each step, where the index is the begin of its first rank.
        :raises Error: as of :attr:`values`.
        """
        import pandas

        _, values, starts = _native.RunFile(os.fspath(self.run.path)).values(self.name, slowest)
        index = pandas.Index(array("d", starts), name="start_s")
        series = pandas.Series(array("d", values), index=index, name=self.name)
        series.attrs["unit"] = "s"
        return series

    def fit(self, **options: Any) -> Fit:
        """Fits a distribution of extremes; options as of :func:`lastrank.fit`."""
        return fit(self, **options)

    @property
    def document(self) -> dict[str, Any]:
        """What ``lastrank report --label`` says of it, as a document."""
        return _parsed(self.run._file.document(self.name))

    def __repr__(self) -> str:
        return repr(self.summary())

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


class Run:
    """A run: its samples, its results, its report. Made by :func:`run` and :func:`load`.

    A run shows itself by its first screen: the verdict first, then a table.

    :ivar path: the run file, or the directory of its parts.
    :ivar notes: what the program said besides its result, line by line; empty of a run that was loaded.
    :raises Error: where it is none.
    """

    def __init__(self, path: str | os.PathLike[str], notes: Sequence[str] = ()) -> None:
        self.path = Path(path)
        self.notes = list(notes)
        self._file = _native.RunFile(os.fspath(path))

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What was run, on what, how (docs/run-file.md)."""
        return _parsed(self._file.facts)

    @property
    def complete(self) -> bool:
        """Whether every rank reached the end of the program."""
        return bool(self.facts["complete"])

    @property
    def judgements(self) -> list[dict[str, Any]]:
        """What was found in the run: operations that failed, wrong content, assertions that do not hold, lost ranks; empty
        where it went well. Each has ``kind``, ``count`` and ``examples`` (``judgements`` in docs/json.md)."""
        known = self.facts.get("judgements") or self.document["judgements"]
        found: list[dict[str, Any]] = known["found"]
        return found

    @cached_property
    def document(self) -> dict[str, Any]:
        """What ``lastrank report --json`` prints (schema lastrank.run/1, docs/json.md); see also :attr:`figures`."""
        return _parsed(self._file.document())

    @cached_property
    def results(self) -> list[dict[str, Any]]:
        """What was measured, a row for each path of labels with one operation (``results`` of the document)."""
        found: list[dict[str, Any]] = json.loads(self._file.rows())
        return found

    @property
    def numbers(self) -> dict[str, Any]:
        """The numbers of the answer, as the first screen and ``ls`` have them (``numbers`` of the document)."""
        found: dict[str, Any] = self.document["numbers"]
        return found

    @cached_property
    def frame(self) -> Frame:
        """All samples as a table."""
        return Frame(self._file.frame())

    @property
    def places(self) -> list[str]:
        """Names of all operations and blocks that were timed."""
        return [_name(row) for row in self.results]

    def __getitem__(self, name: str) -> Place:
        """An operation or a block, by its label, its operation or ``label/operation``.

        A label names its block; of a block that was passed once, with one operation inside, that operation.

        :raises Error: where there is none, or several; it names what there is.
        """
        return Place(self, _row(self.results, name))

    @property
    def values(self) -> array[float]:
        """What the run is about, in seconds, in time order: of a gate the slowest rank of each step."""
        return _values(self.path, None, None)

    def fit(self, **options: Any) -> Fit:
        """Fits a distribution of extremes to what the run is about; options as of :func:`lastrank.fit`."""
        return fit(self, **options)

    @cached_property
    def figures(self) -> list[dict[str, Any]]:
        """The figures of the page: ``id``, ``title``, ``caption``, ``numbers`` and ``plot`` of each."""
        found: list[dict[str, Any]] = json.loads(self._file.figures())
        return found

    def figure(self, kind: str) -> dict[str, Any]:
        """A figure of the page as Plotly takes it: ``plotly.graph_objects.Figure(run.figure("series"))``.

        :raises Error: where there is none of that kind; it names those that there are.
        """
        return figure_of(self.figures, kind)

    def plot(self, kind: str, ax: Axes | None = None) -> Any:
        """Draws a figure with matplotlib, for print."""
        from . import _plot

        return _plot.draw(self, kind, ax)

    def text(self) -> str:
        """All tables and sentences, as ``lastrank report --text`` prints them."""
        return self._file.text()

    def html(self) -> str:
        """The page: one HTML document that needs no network."""
        return self._file.html()

    def page(self, path: str | os.PathLike[str]) -> Path:
        """Writes the page. A file of that name is replaced by a whole one, and a link is not followed."""
        replace(Path(path), self.html().encode())
        return Path(path)

    def __repr__(self) -> str:
        return self._file.screen(80, False).rstrip("\n")

    def _repr_html_(self) -> str:
        series = max(
            (row["series"] for row in self.results if row["series"] is not None and row["kind"] == "operation"),
            key=lambda series: sum(series["completed"]),
            default=None,
        )
        line = "" if series is None else _html.sparkline(series["operations"], "operations over time")
        return _html.screen(self._file.screen(80, True)) + line


class Runs(list[Run]):
    """Several runs, a list that shows itself as a table with a line for each run."""

    def __repr__(self) -> str:
        return "\n".join(f"{run.path}: {run._file.one_line().strip()}" for run in self)

    def _repr_html_(self) -> str:
        rows = [[str(run.path), run.facts["started"], run._file.one_line().strip()] for run in self]
        return _html.table(["run", "started", "answer"], rows, texts=3)


def _parsed(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


def _values(path: Path, label: str | None, gate: bool | None) -> array[float]:
    return array("d", _native.RunFile(os.fspath(path)).values(label, gate)[1])


def _name(row: Mapping[str, Any]) -> str:
    """`write / fwrite`, the label of a block, or an operation without a label."""
    label, operation = row["label"], str(row["operation"])
    if not label:
        return operation
    return f"{label} / {operation}" if row["kind"] in ("operation", "barrier") else str(label)


def _row(rows: Sequence[dict[str, Any]], name: str) -> dict[str, Any]:
    def is_single(row: Mapping[str, Any]) -> bool:
        return row["kind"] in ("operation", "barrier")

    def matches(row: Mapping[str, Any]) -> bool:
        if not is_single(row):
            return bool(row["label"] == name)
        label, _, operation = name.rpartition("/")
        below = label.strip() == (row["label"] or "") and operation.strip() == row["operation"]
        return bool(row["operation"] == name or below)

    named = [row for row in rows if matches(row)]
    inside = [row for row in rows if row["label"] == name and row["kind"] == "operation"]
    blocks = [row for row in named if not is_single(row)]
    if len(inside) == 1 and all(row["timings"] < _FEW * (row["ranks"] or 1) for row in blocks):
        return inside[0]
    found = blocks or named
    if len(found) == 1:
        return found[0]
    if found or inside:
        several = ", ".join(f"`{_name(row).replace(' / ', '/')}`" for row in found or inside)
        raise Error(_native.visible(f"`{name}` names several: choose one of {several}"))
    sites = ", ".join(_name(row) for row in rows)
    raise Error(_native.visible(f"no sample of `{name}`; sites with samples: {sites}"))


@overload
def load(source: os.PathLike[str]) -> Run: ...
@overload
def load(source: str) -> Run | Any: ...
@overload
def load(source: list[str] | list[Path] | tuple[str | os.PathLike[str], ...]) -> Runs: ...
def load(source: Any) -> Run | Runs:
    """Opens a run file, or with wildcards (``"*.parquet"``) or a list several, in the order of their start.

    :raises Error: where a file is no run; where no file fits the wildcards.
    """
    if not isinstance(source, (str, os.PathLike)):
        return Runs(Run(path) for path in source)
    name = os.fspath(source)
    if os.path.exists(name) or not glob.has_magic(name):
        return Run(name)
    found = sorted(glob.glob(name, recursive=True))
    if not found:
        raise Error(f"no file fits {name}")
    return Runs(sorted(map(Run, found), key=lambda run: str(run.facts["started"])))


def _finished(said: Said, name: str) -> Run:
    """The run of a call that has ended; what went wrong in it is warned of."""
    try:
        path = json.loads(said.out)["run"]
    except (ValueError, KeyError, TypeError):
        raise failed(said) from None
    if path is None:
        # The samples are in no file, as its words say.
        raise failed(said)
    found = Run(path, said.notes)
    if said.status != 0:
        wrong = [line for line in said.notes if line.startswith(("error", "warning", "  "))]
        words = "\n".join(wrong) or f"lastrank ended with status {said.status}"
        warnings.warn(f"{name}: {words}", RunWarning, stacklevel=3)
    return found


def _options(
    n: int | None,
    groups: Mapping[str, int] | None,
    out: str | os.PathLike[str] | None,
    named: Mapping[str, Any],
    tags: Mapping[str, str] | None,
) -> list[str]:
    options = ["--json", "--report", "none", "--progress", "json"]
    options += [] if n is None else [f"--ranks={n}"]
    options += [f"--group={group}:{size}" for group, size in (groups or {}).items()]
    options += [] if out is None else [f"--output={os.fspath(out)}"]
    options += [f"--{name}={value}" for name, value in named.items() if value is not None]
    return options + [f"--tag={name}={value}" for name, value in (tags or {}).items()]


def _is_text(program: str) -> bool:
    """Whether it is the text of a program, not its name: no file has that name, and names have none of these signs."""
    return any(sign in program for sign in ";{\n(") and not os.path.exists(program)


def run(
    program: str | os.PathLike[str],
    *,
    n: int | None = None,
    groups: Mapping[str, int] | None = None,
    seconds: float | None = None,
    until: str | None = None,
    steady: str | None = None,
    out: str | os.PathLike[str] | None = None,
    backend: str | None = None,
    seed: int | None = None,
    record: str | None = None,
    note: str | None = None,
    tags: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
    progress: Progress = None,
    **parameters: Any,
) -> Run:
    """Runs an experiment that ships with lastrank, a program file, or the text of a program; keeps every sample.

    Ctrl-C (or *Interrupt* in a notebook) ends the run as on the command line: what was measured is kept, and the run that
    comes back is not ``complete``. A run that is incomplete, or whose operations failed, gives a :class:`RunWarning`.

    :param n: number of ranks.
    :param groups: sizes of groups of ranks.
    :param seconds: end the run after this time.
    :param until: end the run when its answer is precise enough: ``"width(p99) < 5%"``.
    :param steady: leave out what comes before the load is steady: ``"iops 5% over 30s"``.
    :param out: the run file; by default a name with the time, in the working directory.
    :param backend: ``"simulate:gev(10ms,1ms,0.1)"`` draws durations on a virtual clock.
    :param seed: of all random draws.
    :param record: ``"histogram"`` counts operations instead of keeping each.
    :param note: a sentence that is kept with the run.
    :param tags: names with values that are kept with the run.
    :param options: further options of ``lastrank run``, as on the command line.
    :param progress: whether it is shown while it runs (by default in a notebook and on a terminal), or who gets each line.
    :param parameters: of the program: ``size="512MiB"``, ``dir="/mnt/ssd"``.
    :raises ProgramError: for a program with errors.
    :raises Error: with the words of the command line, where nothing was measured.
    """
    name = os.fspath(program)
    text = name if isinstance(program, str) and _is_text(program) else None
    time = None if seconds is None else f"{float(seconds)!r}s"
    named = {"time": time, "until": until, "steady": steady, "backend": backend, "seed": seed, "record": record, "note": note}
    arguments = ["run", *_options(n, groups, out, named, tags)]
    arguments += [f"--set={key}={value}" for key, value in parameters.items()]
    arguments += [*options, "--", "-" if text is not None else name]
    with shown(progress) as look:
        said = run_to_end(arguments, text, look)
    return _finished(said, "the program" if text is not None else name)


def io(
    access: str,
    path: str | os.PathLike[str] | None = None,
    *,
    seconds: float | None = None,
    out: str | os.PathLike[str] | None = None,
    options: Sequence[str] = (),
    progress: Progress = None,
    **fio: Any,
) -> Run:
    """Reads and writes files as ``lastrank io`` does, with the words of fio: ``io("randread", "/mnt/ssd", bs="4k", depth=16)``.

    :param access: ``read``, ``write``, ``randread``, ``randwrite``, ``rw`` or ``randrw``.
    :param path: a file, or a directory in which one is made.
    :param seconds: how long.
    :param out: as of :func:`run`.
    :param options: further options of ``lastrank io``, as on the command line.
    :param progress: as of :func:`run`.
    :param fio: the options of ``lastrank io``: ``bs``, ``size``, ``depth``, ``jobs``, ``rate``, ``direct=True`` …
    :raises Error: as of :func:`run`.
    """
    arguments = ["io", *_options(None, None, out, {}, None)]
    arguments += [] if seconds is None else [f"--time={float(seconds)!r}s"]
    for name, value in fio.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            arguments.append(option)
        elif value is not None and value is not False:
            arguments.append(f"{option}={value}")
    arguments += [*options, "--", access, *([] if path is None else [os.fspath(path)])]
    with shown(progress) as look:
        said = run_to_end(arguments, None, look)
    return _finished(said, access)
