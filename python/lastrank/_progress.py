"""Shows what a run does while it runs: a line in a notebook or on a terminal, nothing elsewhere."""

from __future__ import annotations

import html
import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

__all__ = ["Progress", "shown"]

#: What may be given as ``progress``: whether it is shown, or who gets each line (schema lastrank.progress/1).
Progress: TypeAlias = "bool | Callable[[dict[str, Any]], None] | None"


def _words(line: dict[str, Any]) -> str:
    done = line.get("done")
    share = "" if done is None else f"{100 * done:.0f}%  "
    p99 = line.get("p99_seconds")
    slow = "" if p99 is None else f", p99 {seconds(p99)}"
    left = line.get("left_s")
    rest = "" if left is None else f"  {left:.0f} s left"
    return f"{share}{line['samples_per_second']:,.0f} samples/s, {line['bytes_per_second'] / 2**20:,.1f} MiB/s{slow}{rest}"


def seconds(value: float) -> str:
    """A duration with three digits and its unit."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    found = shell.get_ipython() if shell is not None else None
    return type(found).__name__ == "ZMQInteractiveShell"


def _notebook_line() -> Callable[[str], None]:
    """A line of a notebook that can be written over."""
    shown: Any = importlib.import_module("IPython.display")
    handle = shown.display(shown.HTML(""), display_id=True)
    return lambda words: handle.update(shown.HTML(f"<code>{html.escape(words)}</code>" if words else ""))


@contextmanager
def shown(progress: Progress) -> Iterator[Callable[[dict[str, Any]], None] | None]:
    """Who gets the lines of a run; None where nobody wants them. What was shown is taken away at the end."""
    if callable(progress):
        yield progress
    elif progress is False:
        yield None
    elif _in_notebook():
        show = _notebook_line()
        show("starting")
        try:
            yield lambda line: show(_words(line))
        finally:
            show("")
    elif progress is True or sys.stderr.isatty():
        try:
            yield lambda line: print(f"\r\x1b[K{_words(line)}", end="", file=sys.stderr, flush=True)
        finally:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    else:
        yield None
