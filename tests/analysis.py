"""Checks the installed package where nothing is measured (macOS, Windows), and on Linux what is the same there.

`python tests/analysis.py`, after `pip install .`; ends with a line that says what was checked.
"""

import random
import sys
import tempfile
from pathlib import Path

import lastrank as lr

draw = random.Random(1)
maxima = [max(draw.expovariate(1.0) for _ in range(50)) for _ in range(200)]
fit = lr.fit(maxima)
assert fit.verdict.code == "gev-consistent", fit.verdict
assert round(fit.return_levels([100])[0].level, 1) == 7.9, fit.return_levels([100])
assert fit.figure("return_levels")["data"]
assert lr.compare(maxima, [1.5 * value for value in maxima]).verdict
assert not lr.Program('repeat 100 { read("f"); }').check()
assert lr.Program('repeat 100 { reed("f"); }').check()[0].line == 1

checked = "fit, compare, check"
if not sys.platform.startswith("linux"):
    with tempfile.TemporaryDirectory() as folder:
        try:
            lr.run('repeat 10 { stat("f"); }', out=Path(folder) / "a.parquet")
        except lr.Error as error:
            assert "works on Linux only" in str(error), error
            checked += ", the refusal to measure"
        else:
            raise AssertionError("it measured")
print(f"analysis on {sys.platform}: {checked}: ok")
