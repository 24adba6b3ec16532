"""Figures for print: a fit or a run, drawn by matplotlib at the width of a column.

    >>> sorted(KINDS)[:3]
    ['autocorrelation', 'density', 'diagnostic']

`save(fit, "return_levels", "levels.pdf", width="ieee")` writes a file, `figure(fit, "density")` makes a figure of
matplotlib, `draw(run, "survival", ax)` draws on axes of yours, `kinds(run)` names all figures that there are.
"""

from ._plot import KINDS, draw, figure, kinds, save

__all__ = ["KINDS", "draw", "figure", "kinds", "save"]
