"""Compares speed and accuracy of lastrank's fits with scipy, pyextremes, lmoments3 and R's evd.

    python benches/tail_peers/compare.py [--no-million]

All run in this one process's session, on the same 400 reference values, one core each; peers that are not
installed are omitted. Peers: `pip install numpy scipy pyextremes lmoments3`, `apt-get install r-cran-evd`.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
warnings.filterwarnings("ignore")

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "crates/tail/tests/data/s01_paper400.csv"
MILLION = "--no-million" not in sys.argv

R = r"""
suppressMessages(library(evd))
x <- read.csv(commandArgs(TRUE)[1])$x
big <- as.numeric(commandArgs(TRUE)[2])
med <- function(n, f) { t <- numeric(n); for (i in 1:n) t[i] <- system.time(f(), gcFirst=FALSE)[3]; median(t) }
per <- function(k, f) system.time(for (i in 1:k) f(), gcFirst=FALSE)[3] / k
m <- fgev(x)
out <- function(task, s) tryCatch(cat(task, s, sep="\t", fill=TRUE), error=function(e) message(task, " fails"))
out("fit", per(50, function() fgev(x)))
out("profile_shape", med(3, function() confint(profile(m, "shape"))))
q <- fgev(x, prob=0.01)
out("profile_level100", med(3, function() confint(profile(q, "quantile"))))
set.seed(1)
out("bootstrap1000", 10 * per(1, function() for (i in 1:100) {
  y <- rgev(length(x), m$estimate[1], m$estimate[2], m$estimate[3]); try(fgev(y, std.err=FALSE), silent=TRUE) }))
if (big > 0) { set.seed(1); y <- rgev(1e6, 11.1679, 0.212, -0.00105); out("fit_million", per(1, function() fgev(y))) }
cat("nll", m$deviance / 2, sep="\t", fill=TRUE)
n <- tryCatch(fgev(x * 1e9)$deviance / 2 - length(x) * log(1e9), error=function(e) NaN)
cat("nll_in_ns", n, sep="\t", fill=TRUE)
"""


def read(text):
    rows = (line.split("\t") for line in text.splitlines() if "\t" in line)
    return {task: float(value) for task, value in rows}


def median(times, run):
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def lastrank():
    command = ["cargo", "run", "--quiet", "--release", "-p", "lastrank-tail", "--example", "tail_speed", str(DATA)]
    return read(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)


def scipy_peer(x):
    import numpy
    from scipy.stats import genextreme

    found = {"fit": median(11, lambda: genextreme.fit(x))}
    c, loc, scale = genextreme.fit(x)
    found["nll"] = genextreme.nnlf((c, loc, scale), x)
    ns = x * 1e9
    found["nll_in_ns"] = genextreme.nnlf(genextreme.fit(ns), ns) - len(x) * numpy.log(1e9)
    rng = numpy.random.default_rng(1)

    def bootstrap():
        for _ in range(100):
            genextreme.fit(genextreme.rvs(c, loc, scale, size=len(x), random_state=rng))

    found["bootstrap1000"] = 10 * median(1, bootstrap)
    if MILLION:
        big = genextreme.rvs(0.00105, 11.1679, 0.212, size=1_000_000, random_state=rng)
        found["fit_million"] = median(1, lambda: genextreme.fit(big))
    return found


def pyextremes_peer(x):
    import pandas
    from pyextremes import EVA

    series = pandas.Series(x, index=pandas.date_range("1600-01-01", periods=len(x), freq="D"))

    def fit():
        model = EVA(series)
        model.get_extremes("BM", block_size="1D", errors="ignore")
        model.fit_model(model="MLE", distribution="genextreme")
        return model

    return {"fit": median(5, fit)}


def lmoments_peer(x):
    from lmoments3 import distr

    return {"lmoments": median(101, lambda: distr.gev.lmom_fit(x))}


def evd_peer():
    with tempfile.NamedTemporaryFile("w", suffix=".R") as script:
        script.write(R)
        script.flush()
        command = ["Rscript", script.name, str(DATA), "1" if MILLION else "0"]
        return read(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    print("lastrank ...", file=sys.stderr)
    ours = lastrank()
    peers = {}
    try:
        import numpy

        x = numpy.loadtxt(DATA, skiprows=1)
    except ImportError:
        sys.exit("numpy is needed for the Python peers")
    attempts = {
        "scipy": lambda: scipy_peer(x),
        "pyextremes": lambda: pyextremes_peer(x),
        "lmoments3": lambda: lmoments_peer(x),
    }
    if shutil.which("Rscript"):
        attempts["evd"] = evd_peer
    for name, run in attempts.items():
        print(f"{name} ...", file=sys.stderr)
        try:
            peers[name] = run()
        except Exception as error:
            print(f"  left out: {error}", file=sys.stderr)
    tasks = [task for task in ours if any(task in found for found in peers.values())]
    print(f"{'seconds (times slower)':<22}{'lastrank':>12}" + "".join(f"{name:>20}" for name in peers))
    for task in ours:
        row = f"{task:<22}{ours[task]:>12.6f}"
        for found in peers.values():
            cell = f"{found[task]:.4f} ({found[task] / ours[task]:.0f}x)" if task in found else "-"
            row += f"{cell:>20}"
        print(row)
    for what in ("nll", "nll_in_ns"):
        cells = [f"{name} {found[what]:.6f}" for name, found in peers.items() if what in found]
        if cells:
            print(f"{what}: gold -1.296324; " + "; ".join(cells))
    return 0 if tasks else 1


if __name__ == "__main__":
    sys.exit(main())
