"""Makes a file of what a function is given to analyse, where it is none yet: lists, arrays, Series, columns of frames."""

from __future__ import annotations

import csv
import datetime
import math
import os
import tempfile
from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ._errors import Error
from ._native import visible

if TYPE_CHECKING:
    from ._run import Place, Run

__all__ = ["Data", "Nan", "Source", "column", "frame_of", "has_column", "together"]

#: What can be analysed: numbers, a data frame, a run or a place of it, or the path of a run, CSV or text file.
Data: TypeAlias = "Iterable[Any] | Run | Place | str | os.PathLike[str]"

#: What is done with values that are missing.
Nan: TypeAlias = Literal["raise", "drop"]


class Source:
    """A file for the program, and the arguments that choose values of it."""

    def __init__(self, file: Path, options: Sequence[str], folder: tempfile.TemporaryDirectory[str] | None = None) -> None:
        self.file = file
        self.options = list(options)
        #: Keeps a file that was made for this.
        self._folder = folder
        #: Positions of missing values that were left out.
        self.dropped: list[int] = []

    @property
    def folder(self) -> Path | None:
        """Where the program works, so that its words name the values and no temporary folder."""
        return None if self._folder is None else Path(self._folder.name)

    @property
    def name(self) -> str:
        """What the program calls the file."""
        if self._folder is not None:
            return self.file.name
        name = str(self.file)
        # No option has a folder in it.
        return os.path.join(".", name) if name.startswith("-") else name

    @staticmethod
    def of(data: Data, options: Sequence[str] = (), unit: str | None = None, columns: Mapping[str, Iterable[Any]] | None = None,
           nan: Nan = "raise", name: str | None = None) -> Source:
        """What is to be analysed.

        :param options: ``--label`` and such, for run files.
        :param unit: ``s``, ``ms``, ``us`` or ``ns`` of plain numbers.
        :param columns: further columns, one entry for each value.
        :param nan: ``raise`` refuses missing values, ``drop`` leaves them out.
        :param name: what plain numbers are called; a Series has its own name.
        """
        from ._run import Place, Run

        if unit is None:
            # Where a Series of pandas says it.
            said = getattr(data, "attrs", None)
            unit = said.get("unit") if isinstance(said, Mapping) else None
        of_unit = [] if unit is None else [f"--unit={unit}"]
        file = data.run.path if isinstance(data, Place) else data.path if isinstance(data, Run) else data
        if isinstance(file, (str, os.PathLike)):
            if columns:
                raise Error(f"columns go with plain numbers; {os.fspath(file)} is a file: name what is in it")
            of_place = [f"--label={data.name}"] if isinstance(data, Place) else []
            return Source(Path(file), [*options, *of_place, *of_unit])
        # A duration has its unit: of pandas and NumPy by its type, of others by each entry.
        if getattr(getattr(file, "dtype", None), "kind", "") == "m":
            numbers, of_unit = _numbers(_in_seconds(file)), ["--unit=s"]
        else:
            entries = _entries(file)
            if any(isinstance(entry, datetime.timedelta) for entry in entries[:100]):
                entries = [entry.total_seconds() if isinstance(entry, datetime.timedelta) else entry for entry in entries]
                of_unit = ["--unit=s"]
            numbers = _numbers(entries)
        kept = list(range(len(numbers)))
        if missing := [at for at, number in enumerate(numbers) if math.isnan(number)]:
            if nan != "drop":
                raise Error(_words_of_missing(missing, len(numbers)))
            gone = set(missing)
            kept = [at for at in kept if at not in gone]
        infinite = next((at for at in kept if math.isinf(numbers[at])), None)
        if infinite is not None:
            raise Error(f"value {infinite} is infinite: a distribution of extremes needs finite values")
        own = name or getattr(data, "name", None) or "values"
        source = _written(str(own), [numbers[at] for at in kept], {key: _picked(key, all_, kept, len(numbers)) for key, all_ in (columns or {}).items()})
        source.options = [*options, *of_unit, *source.options]
        source.dropped = missing
        return source


def together(sources: Sequence[Source]) -> tuple[list[str], Path | None]:
    """What the program calls several files, and where it works then: made files stand in one folder."""
    folder = next((source.folder for source in sources if source.folder is not None), None)
    if folder is None:
        return [source.name for source in sources], None
    names = []
    for source in sources:
        if source.folder is None:
            names.append(str(source.file.absolute()))
            continue
        if source.folder != folder:
            source.file = source.file.replace(folder / source.file.name)
        names.append(source.name)
    return names, folder


def column(frame: Any, name: str) -> Any:
    """A column of a data frame of pandas, Polars or Arrow, or of a mapping.

    :raises Error: where there is none of that name.
    """
    if not has_column(frame, name):
        raise Error(visible(f"there is no column `{name}`; there are {', '.join(_columns(frame))}"))
    return frame[name]


def frame_of(data: Any, value: str | None) -> Any:
    """The data frame of which `value` is a column: what was given, or the table in a Parquet file of another tool (as
    Arrow has it). None of whatever else was given.

    :raises Error: of such a file without `value`, and where PyArrow is not installed, with another way.
    """
    if not isinstance(data, (str, os.PathLike)):
        return data if value is not None and hasattr(data, "__getitem__") else None
    path = Path(os.fspath(data))
    if not _is_foreign_parquet(path):
        return None
    try:
        from pyarrow import parquet  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        words = f"{path} is a Parquet table and no run: install pyarrow, or give a data frame and value="
        raise Error(visible(words)) from None
    if value is None:
        names = ", ".join(map(str, parquet.read_schema(path).names))
        raise Error(visible(f"{path} is no run: say with value= which of {names}"))
    return parquet.read_table(path)


def _is_foreign_parquet(path: Path) -> bool:
    """Whether the footer of a Parquet file lacks what a run file has in it."""
    try:
        with path.open("rb") as file:
            if file.read(4) != b"PAR1":
                return False
            file.seek(-8, os.SEEK_END)
            end = file.read(8)
            file.seek(-8 - int.from_bytes(end[:4], "little"), os.SEEK_END)
            return end[4:] == b"PAR1" and b"lastrank.schema" not in file.read()
    except OSError:
        # The program says what is wrong with it.
        return False


def has_column(frame: Any, name: str) -> bool:
    """Whether a data frame has a column of that name."""
    return name in _columns(frame)


def _columns(frame: Any) -> list[str]:
    # Arrow has the columns themselves in `columns`.
    return [str(known) for known in getattr(frame, "column_names", getattr(frame, "columns", frame))]


def _in_seconds(data: Any) -> Any:
    if hasattr(data, "dt"):
        return data.dt.total_seconds()
    if hasattr(data, "total_seconds"):
        return data.total_seconds()
    return data.astype("timedelta64[ns]").astype("float64") * 1e-9


def _entries(data: Any) -> Sequence[Any]:
    """The entries of a list, an array, a Series or a column, in their order."""
    if hasattr(data, "shape") and len(data.shape) != 1:
        raise Error(f"the values have the shape {tuple(data.shape)}; one column is needed: say with value= which")
    for method in ("tolist", "to_pylist", "to_list"):
        if hasattr(data, method):
            found: list[Any] = getattr(data, method)()
            return found
    return list(data)


def _numbers(data: Any) -> Sequence[float]:
    """The values as floating-point numbers; a missing one is NaN."""
    data = _entries(data)
    try:
        return array("d", data)
    except TypeError:
        pass
    numbers = array("d")
    for at, value in enumerate(data):
        try:
            # `None` and the missing value of pandas.
            numbers.append(math.nan if value is None or str(value) == "<NA>" else float(value))
        except (TypeError, ValueError) as error:
            raise Error(f"value {at} is no number: {value!r}") from error
    return numbers


def _words_of_missing(missing: list[int], count: int) -> str:
    which = f"value {missing[0]} is" if len(missing) == 1 else f"{len(missing)} of {count} values, value {missing[0]} the first, are"
    return f"{which} missing (NaN): say how they came about, or leave them out with nan='drop'"


def _picked(name: str, all_: Iterable[Any], kept: Sequence[int], count: int) -> list[Any]:
    entries = list(all_)
    if len(entries) != count:
        raise Error(f"{len(entries)} entries in `{name}` for {count} values; one for each is needed")
    missing = next((at for at in kept if _is_missing(entries[at])), None)
    if missing is not None:
        raise Error(f"entry {missing} of `{name}` is missing: one for each value is needed")
    return [entries[at] for at in kept]


def _is_missing(entry: Any) -> bool:
    # What is not equal to itself is NaN or NaT; `<NA>` of pandas cannot be asked.
    return entry is None or str(entry) in ("<NA>", "NaT") or (isinstance(entry, float) and math.isnan(entry))


def _written(name: str, numbers: Sequence[float], columns: Mapping[str, Sequence[Any]]) -> Source:
    folder = tempfile.TemporaryDirectory(prefix="lastrank-")
    words = "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in name).strip(".-") or "values"
    file = Path(folder.name) / words[:100]
    if not columns:
        file.write_text("".join(f"{number!r}\n" for number in numbers))
        return Source(file, [], folder)
    head = words[:100]
    while head in columns:
        head += "_"
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow([head, *columns])
        writer.writerows(zip((repr(number) for number in numbers), *columns.values(), strict=True))
    return Source(file, [f"--column={head}"], folder)
