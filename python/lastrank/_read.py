"""Numbers of files that other tools made, with their unit."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from . import _native
from ._source import Nan

if TYPE_CHECKING:
    import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]

__all__ = ["Table", "read"]


class Table:
    """The numbers of one column or series of a file, with their unit.

    ``lr.fit``, ``lr.compare`` and NumPy take it as it is: the first two know its unit.
    """

    def __init__(self, found: _native.FileNumbers) -> None:
        self._found = found
        numbers = array("d")
        numbers.frombytes(found.values)
        self._values = numbers

    @property
    def values(self) -> Any:
        """The numbers in the order of the file, in :attr:`unit`: an array of NumPy where that is installed."""
        try:
            import numpy
        except ImportError:
            return self._values
        return numpy.asarray(self._values)

    @property
    def unit(self) -> str | None:
        """``ns``, ``us``, ``ms`` or ``s``, as the format, the name of the column or the values say it; None where none does."""
        return self._found.unit

    @property
    def attrs(self) -> dict[str, str]:
        """``{"unit": ...}``, where pandas keeps such words."""
        return {} if self.unit is None else {"unit": self.unit}

    @property
    def name(self) -> str:
        """The column or series; "values" where a file has one without a name."""
        return self._found.name or "values"

    @property
    def format(self) -> str | None:
        """The format, where it has a name: "hyperfine JSON"."""
        return self._found.format

    @property
    def by(self) -> list[str] | None:
        """The texts of the column that was named with ``by``, one for each value."""
        return self._found.by

    @property
    def rows(self) -> int:
        """Rows of the file, also those that were left out."""
        return self._found.rows

    @property
    def took(self) -> str:
        """What was taken and what was left out, in one line."""
        return self._found.took or f"table: {self.name}, {len(self):,} row{'' if len(self) == 1 else 's'}"

    def __len__(self) -> int:
        """Number of values."""
        return len(self._values)

    def __iter__(self) -> Iterator[float]:
        return iter(self._values)

    def __getitem__(self, at: Any) -> Any:
        return self.values[at]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy

        values = numpy.asarray(self._values, dtype=dtype)
        return values.copy() if copy else values

    def tolist(self) -> list[float]:
        """The numbers as a list."""
        return self._values.tolist()

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame with the values, and the texts of ``by``; ``attrs["unit"]`` is the unit."""
        import pandas

        columns: dict[str, Any] = {self.name: self.values}
        if self.by is not None:
            columns["by" if self.name != "by" else "by_"] = self.by
        frame = pandas.DataFrame(columns)
        frame.attrs.update(self.attrs)
        frame[self.name].attrs.update(self.attrs)
        return frame

    def __repr__(self) -> str:
        return f"<{_native.visible(self.took)}>"


def read(
    path: str | os.PathLike[str],
    column: str | None = None,
    *,
    by: str | None = None,
    where: str | Iterable[str] = (),
    nan: Nan = "raise",
    decimal: str = ".",
    thousands: str | None = None,
    skip: int = 0,
    header: bool | None = None,
    failed: bool = False,
) -> Table:
    """Reads the numbers of a file that another tool made: docs/formats.md lists what is known, with an example each.

    :param path: a table, JSON, Parquet, an array of NumPy, or a file of one of the formats.
    :param column: the column by name or place (``"#2"``), the series, or the path in JSON; needed where there are several.
    :param by: another column, whose texts are given for the same rows.
    :param where: conditions of rows, such as ``"status=200"`` or ``"load>0.5"``.
    :param nan: ``raise`` refuses missing values, ``drop`` leaves them out.
    :param decimal: the sign before the fraction.
    :param thousands: the sign between groups of three digits.
    :param skip: lines before the table.
    :param header: whether the first line names the columns, where the lines below do not show it.
    :param failed: what failed too, where a format tells that.
    :raises Error: with the words of the command line, which name what else could be chosen.

    >>> with open("t.csv", "w") as file:
    ...     _ = file.write("node,latency_ms\\na,1.5\\nb,2.25\\n")
    >>> found = read("t.csv")
    >>> found
    <table: latency_ms in ms, 2 rows>
    >>> found.tolist(), found.unit
    ([1.5, 2.25], 'ms')
    """
    options = {
        "column": column,
        "by": by,
        "where": [where] if isinstance(where, str) else list(where),
        "decimal": decimal,
        "thousands": thousands,
        "skip": skip,
        "header": header,
        "drop": nan == "drop",
        "failed": failed,
    }
    return Table(_native.read_numbers(os.fspath(path), options))
