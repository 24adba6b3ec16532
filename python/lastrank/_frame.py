"""The samples of a run as a table."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import _html, _native

if TYPE_CHECKING:
    import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import polars  # type: ignore[import-not-found,unused-ignore]
    import pyarrow  # type: ignore[import-not-found,import-untyped,unused-ignore]

__all__ = ["Frame"]

_SHOWN = 5


class Frame:
    """All samples of a run, one row for each timing; the columns are those of the run file (docs/run-file.md), and ``host``.

    Libraries that know the Arrow C stream interface take it as it is and without a copy of the numbers:
    ``polars.DataFrame(frame)``, ``pyarrow.table(frame)``, ``duckdb.sql("from frame")``, and with pyarrow
    ``pandas.DataFrame.from_arrow(frame)``. :meth:`to_pandas` needs pandas only.

    ``host`` is the machine that started the ranks; under MPI that of rank 0, and empty for the others.
    """

    def __init__(self, frame: _native.Frame) -> None:
        self._frame = frame

    def __len__(self) -> int:
        """Number of samples."""
        return len(self._frame)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._frame.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __getitem__(self, name: str) -> Any:
        """A column: with NumPy an array that cannot be written to, without a copy; else an ``array.array``.

        A column of texts is a list.

        :raises KeyError: where there is none of that name.
        """
        numbers, words = self._frame.column(name), self._frame.words(name)
        if words is not None:
            codes = array(numbers.typecode, numbers.tobytes())
            return [words[code] for code in codes]
        try:
            import numpy  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            return array(numbers.typecode, numbers.tobytes())
        return numpy.asarray(numbers)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The samples as an Arrow C stream, in batches of 65 536 rows."""
        return self._frame.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The types of the columns for the Arrow C interface."""
        return self._frame.__arrow_c_schema__()

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame of pandas, texts as categories. Needs no pyarrow."""
        import numpy
        import pandas

        columns: dict[str, Any] = {}
        for name in self.columns:
            numbers = numpy.asarray(self._frame.column(name))
            words = self._frame.words(name)
            columns[name] = numbers if words is None else pandas.Categorical.from_codes(numbers, categories=words)
        return pandas.DataFrame(columns)

    def to_polars(self) -> polars.DataFrame:
        """A data frame of Polars, without a copy of the numbers."""
        import polars

        return polars.DataFrame(self)

    def to_arrow(self) -> pyarrow.Table:
        """A table of pyarrow, without a copy of the numbers."""
        import pyarrow

        return pyarrow.table(self)

    def __repr__(self) -> str:
        return f"<{len(self):,} samples: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        heads = ["operation", *(name for name in self.columns if name not in ("operation", "kind", "line", "site"))]
        count = min(len(self), _SHOWN)
        columns = []
        for name in heads:
            words, numbers = self._frame.words(name), self._frame.column(name).first(count)
            columns.append([str(number) if words is None else words[number] for number in numbers])
        return f"<p>{len(self):,} samples, the first {count}:</p>" + _html.table(heads, list(zip(*columns, strict=True)))
