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
# # The memory hierarchy and its long tails
#
# In 2018 a teaching notebook read and wrote single elements of arrays and of files, 100,000 times a size, on a laptop with an
# SSD. It plotted how long each access took, and found that a few took a thousand times as long as the others. It ended with a
# question: *what makes the far outliers, a context switch perhaps?*
#
# This notebook repeats it in its order, on the machine that you sit at, without the errors of its method, and answers the
# question: each slow access below has its cause beside it.
#
# The numbers of 2018 stand in tables as printed then. Numbers of today are printed by the cells.

#%% tags=["parameters"]
largest = "4MiB"  # sizes above are left out; all sizes of 2018: "10GB", with "dir" on a large disk
accesses = 1000  # single accesses of each size; 2018: 100000
batches = 10  # batches of 1000 accesses of each size; the experiment's own: 300
passes = 2  # passes over consecutive memory, at least; the experiment's own: 10
least = "2ms"  # time that these passes last, at least; the experiment's own: "50ms"
folder = "."  # where the files go

#%%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from IPython.display import Markdown

import lastrank as lr
from lastrank import figures

runs = Path(tempfile.mkdtemp(prefix="runs-"))  # name a folder of yours to keep the samples


def table(head, rows):
    """A table for this page."""
    lines = [head, ["---"] * len(head), *rows]
    return Markdown("\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines))


def page_table(title):
    """A table of the report."""
    [found] = [each for chapter in run.document["chapters"] for each in chapter["tables"] if each["title"] == title][:1]
    return table([column["name"] for column in found["columns"]], [row["cells"] for row in found["rows"]])


#%% [markdown]
# ## 1. The measurement
#
# Python takes 100 ns to do nothing, so the loop must not be written in it: the 2018 numbers at size 0 are the loop itself.
# Here native code makes the accesses, and the clock has steps of nanoseconds. Pages are touched beforehand (2018 they were
# not, so its times at 1 GB are page faults), and offsets cover the whole array (2018 they were 32-bit: at 10 GB, 78% of the
# accesses hit one element).

#%%
run = lr.run("memory_hierarchy", largest=largest, accesses=accesses, batches=batches, passes=passes, least=least, dir=folder,
             out=runs / "hierarchy.parquet")  # fmt: skip
run

#%% [markdown]
# ## 2. The machine
#
# 2018: Intel Core i7-4870HQ at 2.5 GHz, 4 cores, 16 GiB, L1 32 KiB, L2 256 KiB, L3 6 MiB, lines of 64 bytes.

#%%
processor = run.document["facts"]["machine"]["processor"]
print(processor["model"])
for cache in processor["caches"]:
    print(f"L{cache['level']} {cache['kind']}: {cache['bytes'] // 1024} KiB")

#%% [markdown]
# ## 3. Mean and deviation
#
# In seconds, 100,000 accesses a size, as printed in 2018:
#
# | array | memory: mean, std | file: mean, std |
# |---|---|---|
# | 0 (the loop itself) | 1.08e-7, 3.27e-7 | 1.16e-7, 3.79e-7 |
# | 1 KB | 1.68e-7, 3.80e-7 | 1.78e-5, 7.39e-6 |
# | 1 MB | 2.10e-7, 4.14e-7 | 2.14e-5, 1.63e-5 |
# | 1 GB | 1.33e-6, 4.93e-6 | 3.40e-4, 2.55e-3 |
# | 10 GB (printed as 100000000000) | 6.29e-6, 1.79e-5 | 3.63e-4, 4.04e-4 |
#
# And now here. `single` is one access a timing, as in 2018. Medians stand beside the mean, because a deviation that is
# larger than the mean does not describe the accesses: it describes a few interruptions.

#%%
rows = []
for row in run.results:
    if row["label"] and " single" in row["label"] and row["operation"] in ("empty", "chase", "poke") or (
        row["label"] and row["label"].startswith("file ") and row["operation"] in ("fread", "fwrite")
    ):
        if "huge" not in row["label"]:
            found = row["quantiles_seconds"]
            moments = [row["mean_seconds"], row["sd_seconds"], found["p50"], found["max"]]
            rows.append([row["label"], row["operation"], *(f"{value:.2e}" for value in moments)])
table(["what", "operation", "mean (s)", "std (s)", "median (s)", "slowest (s)"], rows)

#%% [markdown]
# In 2018, 5.6% of the timings of 10 GB in memory were *zero*, because the clock had steps of a microsecond. How many are
# zero here:

#%%
values = run["memory 1MB single/chase"].values
print(f"{sum(value == 0 for value in values)} of {len(values)} timings are zero")
print(f"the clock has steps of {run.document['facts']['clock']['quantum_ps'] / 1000:.3g} ns")

#%% [markdown]
# ## 4. The histogram, cut in two
#
# The first figures of 2018 were a histogram below 0.1 ms and one above, beside a normal law of the same mean and deviation. Here
# the cut is at the 99% quantile: left the body, right the slowest hundredth on a logarithmic axis.

#%%
place = "normal-memory-1mb-single-chase"
fig, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
run.plot(f"{place}-body", ax=axes[0])
# A clock of coarse steps may have seen no value beyond the body.
if f"{place}-tail".replace("-", "_") in figures.kinds(run):
    run.plot(f"{place}-tail", ax=axes[1])

#%% [markdown]
# Separate humps are separate causes: a level of the hierarchy, a page that the TLB does not know, a timer. No normal law has
# humps, and none reaches as far as the figure on the right.
#
# ## 5. 1 − CDF on linear axes
#
# The share of accesses that take longer than the time on the axis. The normal law (dashed) with the same mean and deviation
# usually starts too low and falls too slowly, since its deviation is that of the outliers.

#%%
fig, ax = plt.subplots(figsize=(5, 3), layout="constrained")
run.plot(f"{place}-linear", ax=ax);

#%% [markdown]
# ## 6. The same on logarithmic axes
#
# Now the tail can be read: go to 10⁻³ on the left, and see how long the slowest thousandth takes. A normal law falls off
# like a cliff.

#%%
fig, ax = plt.subplots(figsize=(5, 3), layout="constrained")
run.plot(f"{place}-log", ax=ax);

#%% [markdown]
# ## 7. All sizes, file (F) and memory (M), in one figure
#
# The last figure of 2018, which it saved as a PDF. So do we, as wide as both columns of a paper.

#%%
run.plot("answer_survival")
print(figures.save(run, "answer_survival", runs / "all-sizes.pdf", width="acm", columns=2).name)

#%% [markdown]
# ## 8. What 2018 did not see: the ladder
#
# Single accesses hide the caches, because reading the clock takes longer than a cache hit. A thousand accesses in one timing,
# each dependent on the last (`chase`), show them: a step where a size exceeds a cache. The lines are the caches of this
# machine.

#%%
run.plot("answer_ladder")
page_table("Time of one access by size")

#%% [markdown]
# ## 9. Sequential access
#
# | | 2018 |
# |---|---|
# | 10 GB written in blocks of 1 MB | 18.2 s (its text: 8.9 s) |
# | "a 1 TB disk" | about 16 minutes |
# | consecutive memory writes, a byte, 1 KB | 2.3e-8 s |
# | 1 MB | 7.5e-9 s |
# | 1 GB | 7.1e-9 s |
# | 10 GB | 9.2e-9 s |
#
# Its text concludes: memory some 100 MB/s, SSD some 1 GB/s. That was an interpreter's loop, not the memory. Here:

#%%
rows = []
for row in run.results:
    label = row["label"] or ""
    if not label.startswith(("consecutive", "create file", "read file")) or "huge" in label or "triad" in label:
        continue
    if row["operation"] in ("stream", "fread", "fwrite") and row["bytes_per_second"]:
        # Of several processes: what they moved while all of them worked.
        speed = (row["together"] or row)["bytes_per_second"]
        rows.append([label, row["operation"], f"{speed / 2**20:,.0f}", f"{1 / speed:.2g}"])
table(["what", "operation", "MiB/s", "s a byte"], rows)

#%% [markdown]
# `create_file` of 2018 made a block of 1 MB and wrote it again and again. The time to make one, to write one, and in all:

#%%
page_table("Files made of blocks")

#%% [markdown]
# Read and write of consecutive memory count the bytes that are moved; a file that was just written is read from memory, not
# from the disk.
#
# ## 10. The open question: what made the outliers?
#
# "A context switch perhaps?" Each access here carries what the kernel saw during it: whether the thread waited for a
# processor, whether a page fault, an interrupt or a timer came. The bars share out what the slowest hundredth of each kind took
# beyond the median.

#%%
run.plot("causes")
shares = {}
for place in run.document["causes"]:
    for cause, share in place["shares"]:
        shares[cause] = shares.get(cause, 0) + share * place["excess_s"]
total = sum(shares.values())
table(["cause", "share of all excess"],
      [[cause.replace("_", " "), f"{100 * share / total:.0f}%"] for cause, share in sorted(shares.items(), key=lambda each: -each[1])])  # fmt: skip

#%% [markdown]
# And the far outliers of *empty* timings, in which nothing but the clock was read? Where all of this kernel's events were watched
# and none was there, the cause lies outside it. Otherwise it is told what was not watched.

#%%
said = [sentence for sentence in run.document["answer"]["sentences"] if "empty timings" in sentence]
print(*said or ["There are none here, or too few empty timings to have any: raise accesses."])

#%% [markdown]
# `run queue` is the context switch: the thread was ready and another one had its processor. On a busy machine it makes nearly
# all of the excess, and the answer of 2018 is *yes*. On a quiet one, timers and page faults are left. `unattributed` is
# what no counter saw: mostly caches and TLB, and in a virtual machine whatever the host did meanwhile. Reading these counters needs
# rights; without them more stays unattributed.
#
# ## 11. What the notebook of 2018 concluded
#
# "Throughput, not latency, matters for large blocks", and "the main bottleneck on big data computation is moving data
# around". Both stand. To them we add: *look at the tail, ask for its causes, and do not describe it by a mean.*
