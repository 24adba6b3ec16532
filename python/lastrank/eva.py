"""An object shaped like pyextremes' ``EVA``, on the fits of lastrank.

Scripts that were written for ``from pyextremes import EVA`` mostly run with ``from lastrank.eva import EVA``. What differs
is what lastrank does otherwise, and each is an error with its reason where it cannot be done:

- ``fit_model()`` fits the GEV (or ``gumbel_r`` where asked for), and does not choose between them by AIC: the verdict says
  what the values tell.
- Above a threshold, all exceedances are fitted, and errors allow for clusters; ``r`` only says which peaks ``extremes``
  lists.
- Intervals are profile likelihoods, not a bootstrap, so ``n_samples`` is not needed. Missing values are refused.
- Data without times have blocks of a number of values (``block_size=100``).
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from ._errors import Error
from ._fit import Fit, Verdict, fit
from ._source import Nan

__all__ = ["EVA"]

_YEAR = "365.2425D"


def _pandas() -> Any:
    try:
        return importlib.import_module("pandas")
    except ModuleNotFoundError:
        raise Error("times and tables need pandas: pip install pandas") from None


class EVA:
    """Extreme-value analysis step by step: extremes, a distribution, return values.

    :param data: values in time order: a pandas Series, whose index may be times, or any numbers.
    :param unit: ``s``, ``ms``, ``us`` or ``ns`` of the values, which the results then have in seconds.
    :param nan: ``raise`` refuses missing values, ``drop`` leaves them out.

    >>> import random
    >>> draw = random.Random(1)
    >>> eva = EVA([draw.expovariate(1.0) for _ in range(10_000)])
    >>> eva.get_extremes("BM", block_size=50)
    >>> eva.fit_model()
    >>> len(eva.extremes), eva.verdict.code
    (200, 'gev-consistent')
    >>> [round(each, 1) for each in eva.get_return_value(100, return_period_size=50, alpha=0.95)]
    [7.9, 7.3, 9.0]
    """

    def __init__(self, data: Iterable[Any], *, unit: str | None = None, nan: Nan = "raise") -> None:
        self.data = data
        self._unit = unit
        self._times: Any = None
        values = data.tolist() if hasattr(data, "tolist") else list(data)
        index: Any = getattr(data, "index", None)
        if hasattr(index, "to_series") and hasattr(index, "asi8"):
            self._times = index
            if not index.is_monotonic_increasing:
                raise Error("the times of the data are not ascending: sort the Series by its index")
        kept = [at for at, value in enumerate(values) if value is not None and value == value]
        if len(kept) < len(values):
            if nan != "drop":
                raise Error(f"{len(values) - len(kept)} of {len(values)} values are missing (NaN): leave them out with nan='drop'")
            values = [values[at] for at in kept]
            self._times = None if self._times is None else self._times[kept]
        if not values:
            raise Error("there are no values")
        self._values = [float(value) for value in values]
        self._method: Literal["BM", "POT"] | None = None
        self._block: Any = None
        self._threshold = 0.0
        self._at: list[int] = []
        self._law: str | None = None
        self._fits: dict[float, Fit] = {}

    # Extremes.

    def get_extremes(
        self,
        method: Literal["BM", "POT"],
        extremes_type: Literal["high", "low"] = "high",
        *,
        block_size: Any = _YEAR,
        errors: Literal["raise", "ignore"] = "raise",
        threshold: float | None = None,
        r: Any = None,
    ) -> None:
        """Chooses the extremes: maxima of blocks (``BM``) or peaks over a threshold (``POT``).

        :param block_size: a duration as pandas knows it (``"1h"``), or a number of values.
        :param errors: what is done with a block of time without a value: ``raise`` or ``ignore``.
        :param threshold: of ``POT``, in the unit of the data.
        :param r: peaks nearer to each other than this (a duration or a number of values) are one peak in ``extremes``.
        :raises Error: minima are asked for, or a block has no value.
        """
        if extremes_type != "high":
            raise Error("lastrank looks at large values: for minima give the negative of the data")
        self._law, self._fits = None, {}
        if method == "BM":
            self._block = self._length(block_size, "block_size")
            self._at = self._maxima(errors)
        elif method == "POT":
            if threshold is None:
                raise Error("peaks over a threshold need threshold=")
            self._threshold = float(threshold)
            self._at = self._peaks(None if r is None else self._length(r, "r"))
        else:
            raise Error(f"method={method!r}: BM (maxima of blocks) or POT (peaks over a threshold)")
        self._method = method

    def _length(self, length: Any, name: str) -> Any:
        """A number of values, or a duration of pandas."""
        if isinstance(length, int) and not isinstance(length, bool):
            if length < 1:
                raise Error(f"{name}={length}: at least one value")
            return length
        if self._times is None:
            raise Error(f"{name}={length!r} is a duration, and the data have no times: say how many values")
        found = _pandas().Timedelta(length)
        if found.value < 0 or (found.value == 0 and name != "r"):
            raise Error(f"{name}={length!r}: a positive duration")
        return found

    def _maxima(self, errors: str) -> list[int]:
        """Positions of the largest value of each whole block; the last block of time may be incomplete, as in pyextremes."""
        values = self._values
        if isinstance(self._block, int):
            blocks = [range(at, at + self._block) for at in range(0, len(values) - self._block + 1, self._block)]
            return [max(block, key=values.__getitem__) for block in blocks]
        elapsed, width = self._elapsed(), self._block.value
        largest: dict[int, int] = {}
        for at, since in enumerate(elapsed):
            block = since // width
            if block not in largest or values[at] > values[largest[block]]:
                largest[block] = at
        empty = max(largest) + 1 - len(largest)
        if empty and errors != "ignore":
            raise Error(f"{empty} blocks of {self._block} have no value: errors='ignore' leaves them out")
        return [largest[block] for block in sorted(largest)]

    def _peaks(self, apart: Any) -> list[int]:
        """Positions of exceedances, of a cluster the largest."""
        values = self._values
        if apart is None:
            return [at for at, value in enumerate(values) if value > self._threshold]
        elapsed = list(range(len(values))) if isinstance(apart, int) else self._elapsed()
        gap = apart if isinstance(apart, int) else apart.value
        clusters: list[list[int]] = []
        for at in self._peaks(None):
            if clusters and elapsed[at] - elapsed[clusters[-1][-1]] <= gap:
                clusters[-1].append(at)
            else:
                clusters.append([at])
        return [max(cluster, key=values.__getitem__) for cluster in clusters]

    def _elapsed(self) -> list[int]:
        """Nanoseconds since the first value."""
        ticks: list[int] = self._times.as_unit("ns").asi8.tolist()
        return [tick - ticks[0] for tick in ticks]

    @property
    def extremes(self) -> Any:
        """The extremes: a Series of pandas where the data have times, else a list."""
        self._chosen()
        found = [self._values[at] for at in self._at]
        if self._times is None:
            return found
        return _pandas().Series(found, index=self._times[self._at], name=getattr(self.data, "name", None))

    def _chosen(self) -> str:
        if self._method is None:
            raise Error("choose extremes first: get_extremes('BM', block_size=…) or get_extremes('POT', threshold=…)")
        return self._method

    # The law.

    def fit_model(self, model: str = "MLE", distribution: str | None = None) -> None:
        """Fits the distribution by maximum likelihood: the GEV to maxima of blocks, the Pareto distribution to peaks.

        :param distribution: ``genextreme`` or ``gumbel_r`` of maxima, ``genpareto`` of peaks.
        :raises Error: with the words of the command line, or the reason why there is no such fit.
        """
        if model != "MLE":
            raise Error(f"model={model!r}: lastrank fits by maximum likelihood (MLE) only, so that intervals are profiles")
        known = {"BM": {None: "gev", "genextreme": "gev", "gumbel_r": "gumbel"}, "POT": {None: "gpd", "genpareto": "gpd"}}
        laws = known[self._chosen()]
        if distribution not in laws:
            raise Error(f"distribution={distribution!r}: one of {', '.join(name for name in laws if name)}")
        self._law, self._fits = laws[distribution], {}
        self._fit(0.95)

    def _fit(self, level: float) -> Fit:
        """The fit whose intervals cover this."""
        if self._law is None:
            raise Error("there is no fit yet: call fit_model()")
        if level not in self._fits:
            if self._law == "gpd":
                how: dict[str, Any] = {"model": "gpd", "threshold": repr(self._threshold)}
                values = self._values
            else:
                how, values = {"model": self._law}, [self._values[at] for at in self._at]
            self._fits[level] = fit(values, unit=self._unit, level=level, **how)
        return self._fits[level]

    @property
    def model(self) -> Fit:
        """The fit."""
        return self._fit(0.95)

    @property
    def verdict(self) -> Verdict:
        """Whether the distribution may be used: look here first."""
        return self.model.verdict

    @property
    def _found(self) -> dict[str, Any]:
        found: dict[str, Any] = self.model.document[str(self._law)]
        return found

    @property
    def loglikelihood(self) -> float:
        """Logarithm of the likelihood at its maximum, of the values in their unit."""
        return -float(self._found["negative_log_likelihood"])

    @property
    def AIC(self) -> float:  # noqa: N802
        """Akaike's criterion, 2 k − 2 ln L; pyextremes adds a correction for small samples."""
        return float(self._found["aic"])

    # Return values.

    def get_return_value(self, return_period: Any, return_period_size: Any = None, alpha: float | None = None) -> tuple[Any, Any, Any]:
        """The value exceeded once in a period, with the ends of its interval.

        :param return_period: how many ``return_period_size``, or several such numbers.
        :param return_period_size: a duration where the data have times (pyextremes: a year), else a number of values; a block,
            or one value of ``POT``, where it is left out.
        :param alpha: coverage of the interval (0.95); without it the ends are None.
        :returns: value, lower limit, upper limit; three lists for several periods. A limit that does not exist is None.
        """
        several = isinstance(return_period, Iterable)
        periods = [float(each) for each in (return_period if several else [return_period])]
        scale = self._periods_in(return_period_size)
        levels = self._fit(0.95 if alpha is None else float(alpha)).return_levels([each * scale for each in periods])
        ends: Sequence[tuple[Any, Any, Any]] = [
            (each.level, each.lower if alpha is not None else None, each.upper if alpha is not None else None) for each in levels
        ]
        return ends[0] if not several else tuple(list(column) for column in zip(*ends, strict=True))  # type: ignore[return-value]

    def _periods_in(self, size: Any) -> float:
        """How many blocks (of POT: values) a return period of this size is."""
        method = self._chosen()
        if size is None:
            return 1.0
        length = self._length(size, "return_period_size")
        if isinstance(length, int):
            if method == "POT":
                return float(length)
            if isinstance(self._block, int):
                return length / self._block
            raise Error("blocks are durations, so return_period_size is one as well")
        if method == "BM":
            if isinstance(self._block, int):
                raise Error("blocks are numbers of values, so return_period_size is one as well")
            return float(length / self._block)
        elapsed = self._elapsed()
        return float(length.value * (len(elapsed) - 1) / elapsed[-1])

    def get_summary(self, return_period: Iterable[float], return_period_size: Any = None, alpha: float | None = None) -> Any:
        """`get_return_value` of several periods as a table of pandas."""
        periods = [float(each) for each in return_period]
        value, lower, upper = self.get_return_value(periods, return_period_size, alpha)
        pandas = _pandas()
        index = pandas.Index(periods, name="return period")
        return pandas.DataFrame({"return value": value, "lower ci": lower, "upper ci": upper}, index=index, dtype=float)

    # Figures.

    def plot_extremes(self, ax: Any = None) -> tuple[Any, Any]:
        """All values, the extremes among them marked. Returns figure and axes."""
        from ._plot_style import ORDER, library

        chosen = self._chosen()
        ax = library("matplotlib.pyplot").subplots()[1] if ax is None else ax
        places = list(range(len(self._values))) if self._times is None else self._times
        ax.plot(places, self._values, color=ORDER[0].colour, linewidth=0.4)
        ax.plot([places[at] for at in self._at], [self._values[at] for at in self._at], color=ORDER[3].colour, linestyle="none",
                marker=ORDER[3].marker, markersize=3)  # fmt: skip
        if chosen == "POT":
            ax.axhline(self._threshold, color=ORDER[1].colour, linewidth=0.8)
        return ax.figure, ax

    def _drawn(self, kind: str, ax: Any) -> tuple[Any, Any]:
        ax = self.model.plot(kind, ax)
        return ax.figure, ax

    def plot_return_values(self, ax: Any = None) -> tuple[Any, Any]:
        """Return levels with their band; above a threshold, the tail with its distribution."""
        return self._drawn("far_tail" if self._law == "gpd" else "return_levels", ax)

    def plot_probability(self, plot_type: Literal["PP", "QQ"], ax: Any = None) -> tuple[Any, Any]:
        """Probabilities (``PP``) or quantiles (``QQ``) against those of the GEV distribution."""
        return self._drawn({"PP": "probability", "QQ": "quantiles"}[plot_type], ax)

    def plot_diagnostic(self) -> tuple[Any, Any]:
        """Four panels. Returns the figure and its axes."""
        figure = self.model.plot("diagnostic")
        return figure, tuple(figure.axes)

    def __repr__(self) -> str:
        if self._law is not None:
            return repr(self.model)
        if self._method is not None:
            return f"EVA: {len(self._at)} extremes ({self._method}) of {len(self._values)} values; next: fit_model()"
        return f"EVA: {len(self._values)} values; next: get_extremes()"

    def _repr_html_(self) -> str:
        from ._html import screen

        return screen(repr(self))
