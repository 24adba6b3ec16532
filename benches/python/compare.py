#!/usr/bin/env python3
"""Compares `lr.fit` with scipy, pyextremes, lmoments3 and R's ismev and evd; loads samples into pandas and Polars.

    python3 benches/python/compare.py             # times at 50, 400, 10^4 and 10^6 values, and loading 10^7 samples
    python3 benches/python/compare.py --quick     # up to 10^4 values, and 10^6 samples
    python3 benches/python/compare.py --numbers   # the table of docs/python-for-pyextremes-users.md, no times

Everything runs in this session, one core each, each at least three times in turn (once where it takes longer than ten
seconds); the median is printed. What is not installed is named and left out. Values are draws of one GEV, the same for all.

What each gives is not the same, and the columns say so: `lr.fit` tests independence and fit, compares eight laws and has
profile intervals of parameters and return levels, and starts a process; scipy and lmoments3 give an estimate alone;
pyextremes is timed with its bootstrap of 1000, which is where its intervals come from; evd with profiles of shape and level.

    pip install . scipy pyextremes lmoments3 pandas polars pyarrow; apt-get install r-base-core r-cran-evd
    Rscript -e 'install.packages("ismev")'
"""

import csv
import importlib
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ[name] = "1"
warnings.filterwarnings("ignore")

ROOT = Path(__file__).resolve().parents[2]
PAPER = ROOT / "crates" / "tail" / "tests" / "data" / "s01_paper400.csv"
LONG = 10.0
LAW = (11.1679, 0.2120, -0.00105)

R = r"""
suppressMessages(library(PACKAGE))
x <- scan(commandArgs(TRUE)[1], quiet = TRUE)
once <- function(f) { t <- system.time(r <- f(), gcFirst = FALSE)[3]; list(t, r) }
median_of <- function(f) { t <- once(f)[[1]]; if (t < 10) t <- median(c(t, once(f)[[1]], once(f)[[1]])); t }
"""
EVD = R.replace("PACKAGE", "evd") + r"""
cat("estimate", median_of(function() fgev(x)), "\n")
cat("intervals", median_of(function() { m <- fgev(x); q <- fgev(x, prob = 0.01)
  confint(profile(m, "shape")); confint(profile(q, "quantile")) }), "\n")
m <- fgev(x); q <- fgev(x, prob = 0.01); ends <- confint(profile(q, "quantile"))
cat("numbers", format(c(m$estimate, m$deviance / 2, q$estimate[1], ends), digits = 9), "\n")
"""
ISMEV = R.replace("PACKAGE", "ismev") + r"""
cat("estimate", median_of(function() gev.fit(x, show = FALSE)), "\n")
m <- gev.fit(x, show = FALSE)
cat("numbers", format(c(m$mle, m$nllh), digits = 9), "\n")
"""


def installed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"not installed, left out: {name}", file=sys.stderr)
        return None


def median_seconds(work: Callable[[], Any]) -> float:
    """The median of three, or one where that takes long."""
    found: list[float] = []
    while len(found) < 3 and (not found or found[0] < LONG):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def drawn(n: int) -> list[float]:
    """Draws of the law of the paper of 2016, the same at each call."""
    import random

    draw, (location, scale, shape) = random.Random(n), LAW
    return [location + scale * ((-math.log(draw.random())) ** -shape - 1) / shape for _ in range(n)]


def r_says(program: str, values: list[float]) -> dict[str, list[str]]:
    """Lines of an R script by their first word; nothing where R or the package is missing, or the fit fails."""
    if not shutil.which("Rscript"):
        return {}
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "values.txt"
        data.write_text("\n".join(map(repr, values)))
        done = subprocess.run(["Rscript", "-e", program, data], capture_output=True, text=True, check=False)
    return {words[0]: words[1:] for line in done.stdout.splitlines() if (words := line.split())}


def of_r(name: str, program: str) -> Callable[[list[float]], Iterator[tuple[str, float]]]:
    def times(values: list[float]) -> Iterator[tuple[str, float]]:
        said = r_says(program, values)
        for what in ("estimate", "intervals"):
            if what in said:
                yield f"{name}: {what}", float(said[what][0])

    return times


def of_lastrank(values: list[float]) -> Iterator[tuple[str, float]]:
    if lr := installed("lastrank"):
        yield "lastrank: tests, rivals, profile intervals", median_seconds(lambda: lr.fit(values))


def of_scipy(values: list[float]) -> Iterator[tuple[str, float]]:
    if scipy := installed("scipy.stats"):
        yield "scipy: estimate", median_seconds(lambda: scipy.genextreme.fit(values))


def of_lmoments(values: list[float]) -> Iterator[tuple[str, float]]:
    if lmoments := installed("lmoments3.distr"):
        yield "lmoments3: estimate", median_seconds(lambda: lmoments.gev.lmom_fit(values))


def pyextremes_of(values: list[float]) -> Any:
    import pandas
    from pyextremes import EVA

    series = pandas.Series(values, index=pandas.date_range("1970-01-01", periods=len(values), freq="min"))
    return EVA.from_extremes(series, method="BM", block_size="1min")


def of_pyextremes(values: list[float]) -> Iterator[tuple[str, float]]:
    if not installed("pyextremes"):
        return
    made = pyextremes_of(values)
    yield "pyextremes: estimate", median_seconds(lambda: made.fit_model("MLE", distribution="genextreme"))
    if len(values) <= 10_000:

        def intervals() -> None:
            made.fit_model("MLE", distribution="genextreme")
            made.get_summary([100], return_period_size="1min", alpha=0.95, n_samples=1000)

        yield "pyextremes: bootstrap of 1000", median_seconds(intervals)


PEERS = [of_lastrank, of_scipy, of_lmoments, of_pyextremes, of_r("evd", EVD), of_r("ismev", ISMEV)]


def fits(sizes: list[int]) -> None:
    rows: dict[str, dict[int, float]] = {}
    for size in sizes:
        values = drawn(size)
        for peer in PEERS:
            for name, seconds in peer(values):
                rows.setdefault(name, {})[size] = seconds
    print(f"\n{'seconds, median':<46}" + "".join(f"{size:>12,}" for size in sizes))
    for name, found in rows.items():
        print(f"{name:<46}" + "".join(f"{found[size]:>12.4f}" if size in found else f"{'–':>12}" for size in sizes))


def loading(samples: int) -> None:
    """From a run file to a data frame of all 17 columns."""
    lr = installed("lastrank")
    if lr is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        run = lr.run("parallel_write", backend="simulate:gev(10ms,1ms,0.1)", targets=4, repeat=samples // 20,
                     out=Path(folder) / "run.parquet")  # fmt: skip
        count = len(lr.load(run.path).frame)
        print(f"\nloading {count:,} samples of {Path(run.path).stat().st_size / 1e6:.0f} MB, seconds, median")
        ways: list[tuple[str, str, Callable[[], Any]]] = [
            ("lastrank", "run.frame", lambda: len(lr.load(run.path).frame)),
            ("pandas", "run.frame.to_pandas()", lambda: lr.load(run.path).frame.to_pandas()),
            ("polars", "polars.DataFrame(run.frame)", lambda: sys.modules["polars"].DataFrame(lr.load(run.path).frame)),
            ("pandas", "pandas.read_parquet", lambda: sys.modules["pandas"].read_parquet(run.path)),
            ("polars", "polars.read_parquet", lambda: sys.modules["polars"].read_parquet(run.path)),
        ]
        for module, name, work in ways:
            if installed(module):
                print(f"{name:<46}{median_seconds(work):>12.4f}")


def numbers() -> None:
    """The same 400 values by all."""
    values = [float(row["x"]) for row in csv.DictReader(PAPER.open())]
    print(f"{'':<26}{'location':>10}{'scale':>9}{'shape':>10}{'-ln L':>11}  once in 100 (95%)")

    def row(name: str, law: tuple[float, float, float], nll: float | None, level: str) -> None:
        likelihood = "" if nll is None else f"{nll:.6f}"
        print(f"{name:<26}{law[0]:>10.5f}{law[1]:>9.5f}{law[2]:>10.5f}{likelihood:>11}  {level}")

    if lr := installed("lastrank"):
        fit = lr.fit(values)
        law, [level] = fit.document["gev"], fit.return_levels([100])
        ends = f"{level.level:.3f} ({level.lower:.3f} to {level.upper:.3f})"
        row("lastrank", (law["location"], law["scale"], law["shape"]), law["negative_log_likelihood"], ends)
    for name, program in (("evd", EVD), ("ismev", ISMEV)):
        said = [float(word) for word in r_says(program, values).get("numbers", [])]
        if said:
            row(name, (said[0], said[1], said[2]), said[3], f"{said[4]:.3f} ({said[5]:.3f} to {said[6]:.3f})" if said[4:] else "")
        else:
            print(f"not installed, left out: R's {name}", file=sys.stderr)
    if scipy := installed("scipy.stats"):
        c, location, scale = scipy.genextreme.fit(values)
        level = f"{scipy.genextreme.isf(0.01, c, location, scale):.3f}"
        row("scipy", (location, scale, -c), scipy.genextreme.nnlf((c, location, scale), values), level)
    if installed("pyextremes"):
        import numpy

        for title, law_name in (("pyextremes, genextreme", "genextreme"), ("pyextremes, its own choice", None)):
            made = pyextremes_of(values)
            made.fit_model("MLE", distribution=law_name)
            numpy.random.seed(1)
            value, lower, upper = made.get_return_value(100, "1min", alpha=0.95, n_samples=1000)
            found = made.model.fit_parameters
            row(title, (found["loc"], found["scale"], -found.get("c", 0.0)), -made.loglikelihood, f"{value:.3f} ({lower:.3f} to {upper:.3f})")
    if lmoments := installed("lmoments3.distr"):
        found = lmoments.gev.lmom_fit(values)
        row("lmoments3", (found["loc"], found["scale"], -found["c"]), None, "")


if __name__ == "__main__":
    if "--numbers" in sys.argv:
        numbers()
    else:
        quick = "--quick" in sys.argv
        fits([50, 400, 10_000] if quick else [50, 400, 10_000, 1_000_000])
        loading(1_000_000 if quick else 10_000_000)
