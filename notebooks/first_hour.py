# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

#%% [markdown]
# # A first hour with extreme values
#
# A job that writes to sixteen disks at once is done when the *slowest* disk is done. Its time is a maximum, and maxima
# behave unlike averages: they have laws of their own. This notebook shows by simulation what these laws are and why they
# hold, fits them, extrapolates with them, and then breaks each assumption once, to see what warns you.
#
# Nothing is measured here: every number is drawn from a law that we choose, so that we know the truth. The random numbers
# have seeds, so each run prints the same. You need `lastrank` and `matplotlib` (`pip install lastrank matplotlib`).

#%% tags=["parameters"]
steps = 400  # maxima that are fitted; 2000 makes every interval about half as wide
parts = 16  # disks of one step

#%%
import math
import random

import matplotlib.pyplot as plt
from IPython.display import Markdown

import lastrank as lr


def table(head, rows):
    """A table for this page."""
    lines = [head, ["---"] * len(head), *rows]
    return Markdown("\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines))


#%% [markdown]
# ## 1. One disk is harmless
#
# Let one disk take 9 ms plus an exponential time with a mean of 1 ms. Usually that is about 10 ms. Nothing is wrong with
# this disk: it has no fault, and its slow operations are as rare as they should be.
#
# Now let sixteen of them work at once, independently, and wait for the last one.

#%%
draw = random.Random(2016)


def disk():
    """What one disk takes, in ms."""
    return 9 + draw.expovariate(1)


one = [disk() for _ in range(steps)]
last = [max(disk() for _ in range(parts)) for _ in range(steps)]
many = [max(disk() for _ in range(parts * parts)) for _ in range(steps)]

fig, ax = plt.subplots(figsize=(6, 3))
for values, name, colour in [(one, "one disk", "#000000"), (last, f"slowest of {parts}", "#0072B2"),
                             (many, f"slowest of {parts * parts}", "#E69F00")]:  # fmt: skip
    ax.hist(values, bins=40, range=(9, 20), histtype="step", label=name, color=colour)
ax.set(xlabel="time (ms)", ylabel="values")
ax.legend(frameon=False);

#%% [markdown]
# Two things happen. The histogram **moves right**: the slowest of sixteen is one of the rare slow ones nearly every time.
# And it **takes a shape** of its own, steep on the left with a longer tail on the right, whatever the shape of one disk was.
#
# The first needs no statistics. If one disk is below $x$ with probability $F(x)$, all $m$ are with probability $F(x)^m$.
# For our disk $1-F(x)=e^{-(x-9)}$, and for large $m$
#
# $$F(x)^m=\left(1-e^{-(x-9)}\right)^m\approx\exp\left(-e^{-(x-9-\ln m)}\right).$$
#
# The right side does not depend on $m$ except that it is shifted by $\ln m$: each factor of ten in disks costs the same
# 2.3 ms. It is a law without any trace of disks in it (Gumbel's).

#%%
rows = []
for m in (1, 4, 16, 64, 256):
    found = sorted(max(disk() for _ in range(m)) for _ in range(2000))
    exact = 9 - math.log(1 - 0.5 ** (1 / m))
    rows.append([m, f"{found[1000]:.2f}", f"{exact:.2f}", f"{9 + math.log(m) - math.log(math.log(2)):.2f}"])
table(["disks", "median drawn (ms)", "exact", "by the law of maxima"], rows)

#%% [markdown]
# The last column is wrong for a single disk and right for sixteen: a law of maxima is an approximation that becomes good as
# the number of parts grows.
#
# ## 2. Three shapes, one formula
#
# Sums of many things become normal; that is the central limit theorem. Maxima become one of three laws (Fisher and Tippett
# 1928, Gnedenko 1943), which one formula describes, the *generalised extreme-value law* (GEV):
#
# $$G(x)=\exp\left\{-\left[1+\xi\,\frac{x-\mu}{\sigma}\right]^{-1/\xi}\right\}.$$
#
# It has a **location** μ (the typical maximum), a **scale** σ (how far maxima scatter), and a **shape** ξ:
#
# | shape | tail | parts whose maxima have it |
# |---|---|---|
# | ξ < 0 | ends: no value exceeds an upper limit | uniform times, anything with a timeout |
# | ξ = 0 | falls off exponentially | exponential, normal, gamma, log-normal |
# | ξ > 0 | heavy: each decade of rarity multiplies | Pareto, retries that double their pause |
#
# We draw parts of each kind, take maxima, and fit.

#%%
kinds = {
    "never above 10": lambda: 10 - draw.random() ** 0.25,
    "exponential": lambda: 9 + draw.expovariate(1),
    "Pareto with index 4": lambda: 8 + draw.paretovariate(4),
}
truth = {"never above 10": -0.25, "exponential": 0.0, "Pareto with index 4": 0.25}
fits = {name: lr.fit([max(part() for _ in range(64)) for _ in range(steps)]) for name, part in kinds.items()}

rows = []
for name, fit in fits.items():
    law = fit.document["gev"]
    found = (law["intervals"] or {}).get("shape")
    interval = f"{found['lower']:.2f} to {found['upper']:.2f}" if found and found["lower"] is not None else "–"
    rows.append([name, f"{truth[name]:.2f}", f"{law['shape']:.2f}", interval])
table(["parts", "shape in the limit", "fitted", "95% interval"], rows)

#%% [markdown]
# The fit knows nothing of where the numbers come from. Intervals say how far to trust it: with a few hundred maxima the
# shape is known to about a tenth, which is often not enough to tell a tail that ends from one that is heavy.
#
# ## 3. A fit, looked at
#
# Here is the fit of our steps. The verdict comes first: it says whether the law may be used at all.

#%%
fit = lr.fit(last)
fit

#%%
fig, axes = plt.subplots(1, 3, figsize=(9, 2.9), layout="constrained")
for kind, ax in zip(["probability", "return_levels", "density"], axes):
    fit.plot(kind, ax=ax)

#%% [markdown]
# - **Left**: if the law is right, the points follow the diagonal and stay in the band.
# - **Middle**: the *return level*. Read it as "once in 100 steps it takes longer than …". Up to the number of steps the
#   points test the line; beyond, the line extrapolates, and the band says how far to trust it.
# - **Right**: histogram, the fitted law, and the normal law of the same mean and deviation.
#
# ## 4. Extrapolate, and see whether it came true
#
# The level exceeded once in 10,000 steps lies far beyond what we have drawn. Since this is a simulation, we can draw the
# steps that a job would never wait for. And we compare with what a normal law of the same mean and deviation predicts.

#%%
levels = {level["period"]: level for level in fit.return_levels([100, 1000, 10000])}
summary = fit.document["summary"]
later = sorted(9 - math.log(1 - draw.random() ** (1 / parts)) for _ in range(1_000_000))
standard = {100: 2.326, 1000: 3.090, 10000: 3.719}  # of a normal law
rows = []
for period, level in levels.items():
    normal = summary["mean"] + standard[int(period)] * summary["sd"]
    rows.append([
        f"{period:.0f}", f"{later[-int(1_000_000 / period)]:.2f}", f"{level['level']:.2f}",
        f"{level['lower']:.2f} to {level['upper']:.2f}", f"{normal:.2f}",
    ])  # fmt: skip
table(["once in", "true (ms)", "from the fit", "95% interval", "normal law"], rows)

#%% [markdown]
# The normal law is wrong where it matters: it thinks that the mean and the deviation know the tail. How often would each
# have warned you? Count how often a million later steps exceed what was called "once in 10,000", that is, 100 expected:

#%%
by_law = sum(value > levels[10000]["level"] for value in later)
by_normal = sum(value > summary["mean"] + standard[10000] * summary["sd"] for value in later)
print(f"exceeded {by_law} times by the fitted law, {by_normal} times by the normal law; 100 expected")

#%% [markdown]
# ## 5. Other ways to the tail
#
# Maxima throw most values away. If single operations were kept, all those *above a high threshold* can be used: what they
# exceed it by follows a law as well (the generalised Pareto law, with the same shape). That is what to do with the latencies of
# a server, where no operation is a maximum of others.

#%%
single = [disk() for _ in range(10000)]
tail = lr.fit(single, model="gpd")
law = tail.document["gpd"]
print(f"threshold {law['threshold']['value']:.2f} ms, {law['exceedances']} values above it")
print(f"shape {law['shape']:.3f}; the truth for an exponential tail is 0")
print(f"scale {law['scale']:.3f} ms; the truth is 1")
for level in tail.return_levels([1000, 100000]):
    true = 9 + math.log(level["period"])
    print(f"once in {level['period']:.0f}: {level['level']:.2f} ms ({level['lower']:.2f} to {level['upper']:.2f}); true {true:.2f}")

#%% [markdown]
# ## 6. Break every assumption once
#
# The law of maxima assumes that the values are **repetitions of one experiment**: independent of each other, and alike. A fit
# does not notice when they are not; the curve will look fine. So the verdict tests this first. We break it in five ways.

#%%
base = [max(disk() for _ in range(parts)) for _ in range(steps)]


def neighbours(values, share):
    """Each value takes over a share of the excess of the one before it."""
    out = [values[0]]
    for value in values[1:]:
        out.append(value + share * (out[-1] - 12))
    return out


broken = {
    "untouched": base,
    "the level drifts by 1.5 ms": [value + 1.5 * at / steps for at, value in enumerate(base)],
    "a jump of 1 ms in the middle": [value + (at >= steps // 2) for at, value in enumerate(base)],
    "neighbours resemble each other": neighbours(base, 0.6),
    "every 20th step 8 ms longer": [value + 8 * (at % 20 == 0) for at, value in enumerate(base)],
    "a clock with steps of 1 ms": [float(round(value)) for value in base],
}
verdicts = {name: lr.fit(values).document for name, values in broken.items()}
table(["what was done", "verdict", "shape"],
      [[name, found["verdict"]["code"], f"{found['gev']['shape']:.2f}"] for name, found in verdicts.items()])  # fmt: skip

#%% [markdown]
# Where the verdict is `not-independent`, it also says what it saw and what to do; the numbers of the fit are shown, but no
# one should extrapolate with them. A coarse clock is not a broken assumption: the fit can allow for it
# (`diagnostics.rounded` in the document).

#%%
for name in ("the level drifts by 1.5 ms", "every 20th step 8 ms longer"):
    print(f"{name}: {verdicts[name]['verdict']['text']}\n")

#%% [markdown]
# ## 7. What to take away
#
# 1. The slowest of many is slow by itself. More parts make it slower, without any fault.
# 2. Its law has three parameters, and the *shape* decides how far the tail reaches.
# 3. Ask first whether the values are repetitions of one experiment. No fit answers that.
# 4. Extrapolate with an interval, or not at all. A normal law is no substitute.
#
# Next: *A parallel write has extreme variability* does this with real writes.
