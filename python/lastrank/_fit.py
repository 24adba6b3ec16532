"""Fits distributions of extreme values, and what a fit gives."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from . import _html
from ._errors import Error
from ._executable import OF_CONCLUSIONS, call, document
from ._native import visible
from ._source import Data, Nan, Source, column, frame_of, has_column

if TYPE_CHECKING:
    from matplotlib.axes import Axes  # type: ignore[import-not-found,unused-ignore]

__all__ = ["Estimate", "Fit", "Group", "Groups", "Model", "ReturnLevel", "ReturnLevels", "Verdict", "fit"]

#: The laws of ``lastrank fit --model``; ``auto`` is ``gev``.
Model = Literal["auto", "gev", "gumbel", "gpd", "r-largest", "point-process"]


class _Fields(dict[str, Any]):
    """An object of a JSON document, whose fields are attributes too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no field `{name}`; there are {', '.join(self)}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


class Estimate(_Fields):
    """An estimate: ``value``, ``standard_error``, ``lower``, ``upper``; None where there is none."""

    value: float
    standard_error: float | None
    lower: float | None
    upper: float | None


class ReturnLevel(_Fields):
    """The level that one in ``period`` values exceeds: ``level``, ``lower``, ``upper``, ``standard_error``, ``observed``
    (whether the values reach so far; None of levels at given covariates)."""

    period: float
    level: float
    lower: float | None
    upper: float | None
    standard_error: float | None
    observed: bool | None


class Verdict(_Fields):
    """The conclusion: ``code``, ``usability`` (``natural``, ``in-parts``, ``not-usable``, ``too-few``), ``text``,
    ``findings``, ``advice``."""

    code: str
    usability: str
    text: str
    findings: list[str]
    advice: list[str]

    def __str__(self) -> str:
        return visible(self.text)


class Group(_Fields):
    """One group against all others: ``name``, ``n``, ``median``, ``max``, ``factor``, ``p``, ``p_adjusted``, ``finding``
    (``slow``, ``fast``, ``as_others``, ``too_few``)."""

    name: str
    n: int
    median: float
    max: float
    factor: float | None
    p: float | None
    p_adjusted: float | None
    finding: str


class Fit:
    """A fitted distribution with its tests and its verdict; made by :func:`fit`.

    :ivar document: what ``lastrank fit --json`` prints (schema lastrank.fit/1, docs/fit-json.md).
    :ivar data: what was given.
    """

    def __init__(self, data: Data, source: Source, arguments: Sequence[str], periods: Sequence[float]) -> None:
        self.data = data
        self._source = source
        self._arguments = list(arguments)
        self.document: dict[str, Any] = self._document(periods)
        self._figures: list[dict[str, Any]] | None = None
        self._screen: str | None = None
        if source.dropped:
            self.document["dropped"] = {**self.document.get("dropped", {}), "nan": len(source.dropped)}

    def _call(self, periods: Sequence[float], *further: str) -> list[str]:
        of_periods = [f"--period={float(period)!r}" for period in periods]
        return ["fit", self._source.name, *self._source.options, *self._arguments, *of_periods, *further]

    def _document(self, periods: Sequence[float], *further: str) -> dict[str, Any]:
        return document(self._call(periods, "--json", *further), folder=self._source.folder, accept=OF_CONCLUSIONS)

    @property
    def model(self) -> str:
        """The distribution: ``gev``, ``gumbel``, ``gpd``, ``r_largest`` or ``point_process``."""
        return str(self.document["model"])

    @property
    def unit(self) -> str | None:
        """``s`` where the values are durations, which are then in seconds; None where the unit is not known."""
        unit = self.document["source"]["unit"]
        return None if unit is None else str(unit)

    @property
    def n(self) -> int:
        """How many values were fitted."""
        return int(self.document["n"])

    @property
    def _law(self) -> dict[str, Any]:
        found = self.document.get(self.model) or self.document["gev"]
        assert isinstance(found, dict)
        return found

    def _estimate(self, name: str) -> Estimate:
        law = self._law
        if name not in law:
            raise AttributeError(f"the distribution `{self.model}` has no {name}")
        interval = (law.get("intervals") or {}).get(name) or {}
        return Estimate(
            value=law[name],
            standard_error=(law.get("standard_errors") or {}).get(name),
            lower=interval.get("lower"),
            upper=interval.get("upper"),
        )

    @property
    def location(self) -> Estimate:
        """Location of the distribution, in the unit of the data."""
        return self._estimate("location")

    @property
    def scale(self) -> Estimate:
        """Scale of the distribution, in the unit of the data."""
        return self._estimate("scale")

    @property
    def shape(self) -> Estimate:
        """Shape of the distribution, positive for a heavy tail (SciPy's ``genextreme`` has the opposite sign)."""
        return self._estimate("shape")

    @property
    def verdict(self) -> Verdict:
        """Whether the distribution may be used.

        :raises Error: of a distribution of exceedances, which has no verdict.
        """
        if "verdict" not in self.document:
            raise Error(f"--model {self.model} has no verdict: see `document`")
        return Verdict(self.document["verdict"])

    @property
    def unsound(self) -> list[dict[str, Any]]:
        """The run, where its times are not those of the work that it was to do: ``run``, ``found``, ``kind``, ``status``; empty
        where it is sound. The verdict is ``not-usable`` then."""
        return list(self.document["unsound"])

    def return_levels(self, periods: float | Iterable[float] | None = None) -> ReturnLevels:
        """The levels that one value or block in N exceeds, each with its interval. If the fit has covariates, they are the
        levels at ``at`` if that was given, else the levels of the distribution of all values.

        :param periods: numbers above 1, or one; those of the fit where none are given. Others are computed by the same fit.
        """
        verdict = self.document.get("verdict", {})
        caution = "" if verdict.get("usability") == "natural" else str(verdict.get("text", ""))
        at, known = _levels_of(self.document)
        if periods is None:
            return ReturnLevels(known, caution, at)
        wanted = [float(period) for period in ([periods] if isinstance(periods, (int, float)) else periods)]
        by_period = {level.period: level for level in known}
        if any(period not in by_period for period in wanted):
            by_period |= {level.period: level for level in _levels_of(self._document(wanted))[1]}
        return ReturnLevels((by_period[period] for period in wanted), caution, at)

    def groups(self) -> Groups:
        """The groups of ``by``, the slowest median first, with p-values adjusted for their number.

        :raises Error: of a fit without ``by``.
        """
        if "groups" not in self.document:
            raise Error("this fit has no groups: say with by= which column names them")
        return Groups(map(Group, self.document["groups"]["groups"]))

    @property
    def figures(self) -> list[dict[str, Any]]:
        """The figures of the page of this fit: ``id``, ``title``, ``caption``, ``numbers`` and ``plot`` of each."""
        if self._figures is None:
            self._figures = self._document([], "--figures")["figures"]
        return self._figures

    def figure(self, kind: str = "return_levels") -> dict[str, Any]:
        """A figure of the page as Plotly takes it: ``plotly.graph_objects.Figure(fit.figure())``.

        :raises Error: where there is none of that kind; it names those that there are.
        """
        return figure_of(self.figures, kind)

    def plot(self, kind: str = "return_levels", ax: Axes | None = None) -> Any:
        """Draws a figure with matplotlib, for print."""
        from . import _plot

        return _plot.draw(self, kind, ax)

    def __repr__(self) -> str:
        if self._screen is None:
            self._screen = call(self._call([]), folder=self._source.folder, accept=OF_CONCLUSIONS).out.rstrip("\n")
        return self._screen

    def _repr_html_(self) -> str:
        return _html.screen(repr(self))


def _levels_of(document: Mapping[str, Any]) -> tuple[dict[str, float] | None, list[ReturnLevel]]:
    """The covariates that stay at given values, and the levels then; None and the levels of all values without such.

    The covariates are empty where the fit has some and no value of them was given.
    """
    regressed = document.get("covariates")
    conditional = (regressed or {}).get("levels_at")
    if conditional is None:
        return (None if regressed is None else {}), list(map(ReturnLevel, document["return_levels"]))
    levels = []
    for one in conditional["levels"]:
        ends = {end: (one.get("interval") or {}).get(end) for end in ("lower", "upper")}
        levels.append(ReturnLevel({"observed": None, **one, **ends}))
    return dict(conditional["at"]), levels


class ReturnLevels(list[ReturnLevel]):
    """A list of return levels that shows itself as a table, below what they are of and the verdict where the
    distribution must not be used.

    :ivar caution: that verdict; empty where the distribution may be used.
    :ivar at: the values at which the covariates stay; empty where the levels take no account of the fit's covariates, None
        of a fit without any.
    """

    def __init__(self, levels: Iterable[ReturnLevel], caution: str = "", at: Mapping[str, float] | None = None) -> None:
        super().__init__(levels)
        self.caution = caution
        self.at = None if at is None else dict(at)

    @property
    def _above(self) -> list[str]:
        """What a reader must know first."""
        words = [self.caution] if self.caution else []
        if self.at:
            words.append("At " + ", ".join(f"{name} {value:g}" for name, value in self.at.items()))
        elif self.at is not None:
            words.append("Of all values, whatever their covariates; with at={...} they follow the covariates")
        return words

    def _rows(self) -> list[list[str]]:
        return [[f"{one.period:g}", _shown(one.level), _shown(one.lower), _shown(one.upper)] for one in self]

    def __repr__(self) -> str:
        return "\n\n".join([*map(visible, self._above), _text_table(_LEVELS, self._rows())])

    def _repr_html_(self) -> str:
        above = "".join(f"<p><b>{html.escape(words)}</b></p>" for words in self._above)
        return above + _html.table(_LEVELS, self._rows())


class Groups(list[Group]):
    """A list of groups that shows itself as a table."""

    def _rows(self) -> list[list[str]]:
        return [
            [one.name, str(one.n), _shown(one.median), _shown(one.factor), _shown(one.p_adjusted), one.finding]
            for one in self
        ]

    def __repr__(self) -> str:
        return _text_table(_GROUPS, self._rows())

    def _repr_html_(self) -> str:
        return _html.table(_GROUPS, self._rows())


_LEVELS = ["exceeded once in", "level", "from", "to"]
_GROUPS = ["group", "n", "median", "factor", "p adjusted", "finding"]


def _shown(number: float | None) -> str:
    return "–" if number is None else f"{number:.4g}"


def _text_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [[visible(cell) for cell in row] for row in [heads, *rows]]
    widths = [max(len(line[at]) for line in lines) for at in range(len(heads))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def figure_of(figures: Sequence[Mapping[str, Any]], kind: str) -> dict[str, Any]:
    """The Plotly figure of that kind or that name.

    :raises Error: where there is none.
    """
    from ._plot import SYNONYMS

    wanted = kind.replace("-", "_")
    wanted = SYNONYMS.get(wanted, wanted)
    for figure in figures:
        if wanted in (str(figure["id"]).replace("-", "_"), str(figure["numbers"].get("kind", "")).replace("-", "_")):
            return dict(figure["plot"])
    known = ", ".join(str(figure["id"]) for figure in figures)
    raise Error(f"there is no figure `{kind}`; there are {known}" if known else "there are no figures")


def fit(
    data: Data,
    *,
    value: str | None = None,
    by: str | None = None,
    unit: str | None = None,
    model: Model = "auto",
    block: int | str | None = None,
    threshold: float | str | None = None,
    r: int | None = None,
    covariates: Mapping[str, Iterable[Any]] | Sequence[str] = (),
    at: Mapping[str, float] | None = None,
    periods: Iterable[float] = (),
    label: str | None = None,
    gate: bool = False,
    level: float = 0.95,
    seed: int = 1,
    nan: Nan = "raise",
) -> Fit:
    """Fits a distribution of extreme values, as ``lastrank fit`` does.

    Missing values (NaN, None) are refused, since an analysis of slow operations must not lose the slowest; ``nan="drop"``
    leaves them out, and ``document["dropped"]["nan"]`` says how many. Infinite values are always refused.

    Every estimate, interval and test has its source in docs/statistics-methods.md; the distributions are those of Coles, *An
    Introduction to Statistical Modeling of Extreme Values* (2001), with his sign of the shape.

    :param data: numbers in time order (a list, NumPy, pandas, Polars, Arrow), or a data frame with ``value``. Also a run,
        a block of it (``run["fsync"]``), or the path of a run, CSV or text file, or of a Parquet table (PyArrow reads
        it). Durations of pandas are seconds.
    :param value: the column of a data frame, CSV file or Parquet table.
    :param by: the column that names groups, for :meth:`Fit.groups`; ``"rank"`` of a run.
    :param unit: ``s``, ``ms``, ``us`` or ``ns`` of plain numbers, which the results have in seconds.
    :param model: the distribution; ``auto`` is the GEV distribution of maxima.
    :param block: fit the maxima of blocks: of a number of values, or of a time (``"10s"``) of a run.
    :param threshold: where the tail begins, for ``gpd`` and ``point-process``: a value, ``"99%"``, ``"12ms"``, ``"auto"``.
    :param r: largest values of each block, for ``r-largest``.
    :param covariates: what the location follows: names (``"trend"``, ``"hour"``, ``"load"``, a column), or columns.
    :param at: covariates for which return levels are wanted.
    :param periods: return periods, in values or blocks; 10, 100, 1000 where none are given.
    :param label: the samples of this label or operation of a run.
    :param gate: the slowest rank of each step of a run.
    :param level: coverage of all intervals.
    :param seed: of the bootstrap.
    :param nan: what is done with missing values, see above.
    :raises Error: with the words of the command line.

    >>> import random
    >>> draw = random.Random(1)
    >>> maxima = [max(draw.expovariate(1.0) for _ in range(50)) for _ in range(200)]
    >>> found = fit(maxima)
    >>> found.verdict.code
    'gev-consistent'
    >>> [round(one.level, 1) for one in found.return_levels([10, 100])]
    [6.0, 7.9]
    """
    options: list[str] = []
    columns: dict[str, Iterable[Any]] = {}
    names: list[str] = []
    if isinstance(covariates, Mapping):
        columns |= covariates
        names = list(covariates)
    else:
        names = [covariates] if isinstance(covariates, str) else list(covariates)
    frame = frame_of(data, value)
    values: Any = data
    if frame is not None:
        values = column(frame, str(value))
        if by is not None:
            columns[by] = column(frame, by)
        for name in names:
            plain = name.split(":")[-1]
            # A frame's own column comes before what the program makes of times and waits.
            if plain not in columns and (has_column(frame, plain) or plain not in ("trend", "hour", "load")):
                columns[plain] = column(frame, plain)
    elif value is not None:
        options.append(f"--column={value}")
    source = Source.of(values, options, unit, columns, nan, None if frame is None else value)
    arguments: list[str] = []
    for option, given in (
        ("--by", by), ("--block", block), ("--threshold", threshold), ("--r", r), ("--label", label),
        ("--model", None if model == "auto" else model.replace("_", "-")),
    ):
        if given is not None:
            arguments.append(f"{option}={given}")
    arguments += [f"--covariate={name}" for name in names]
    arguments += [f"--at={name}={float(number)!r}" for name, number in (at or {}).items()]
    arguments += ["--gate"] if gate else []
    arguments += [f"--level={float(level)!r}", f"--seed={int(seed)}"]
    return Fit(data, source, arguments, list(periods))

