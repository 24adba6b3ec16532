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
# # System calls, local and remote files
#
# In 2003 students of a course on operating systems (CSE-221) measured two systems, RedHat Linux and Windows XP: how many calls
# a second, and how much slower a file is on another machine. This notebook repeats their tables and figures on today's
# machine, with their numbers beside it, and adds what they could not see: the tail of single calls.

#%% tags=["parameters"]
calls = 500  # single calls of each kind; the experiment's own: 20000
batches = 10  # batches of each kind, a millisecond each; fewer give no rates; the experiment's own: 200
slow = 60  # calls that start a process; the experiment's own: 300
writes = 40  # synchronous writes of each size; the experiment's own: 200
near = "."  # a local directory
far = "/dev/shm"  # the other side: a network mount, if you have one ("/mnt/nfs"); /dev/shm is memory

#%%
import tempfile
from pathlib import Path

from IPython.display import Markdown

import lastrank as lr

runs = Path(tempfile.mkdtemp(prefix="runs-"))  # name a folder of yours to keep the samples


def table(head, rows):
    """A table for this page."""
    lines = [head, ["---"] * len(head), *rows]
    return Markdown("\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines))


def page_table(run, title):
    """A table of the report."""
    [found] = [each for chapter in run.document["chapters"] for each in chapter["tables"] if each["title"] == title][:1]
    return table([column["name"] for column in found["columns"]], [row["cells"] for row in found["rows"]])


#%% [markdown]
# ## 1. Calls a second
#
# The report of 2003, in millions of calls a second:
#
# | call | Linux, optimised | Linux | Windows, optimised | Windows |
# |---|---|---|---|---|
# | getpid | 1.4867 | 1.4660 | 125 | 42.65 |
# | fopen-fclose | 0.09461 | 0.07369 | 0.004799 | 0.057701 |
# | open-close | 0.38953 | 0.38761 | 0.007438 | 0.261525 |
# | create-delete | 0.05512 | 0.04593 | 0.002204 | 0.034418 |
# | malloc-free (4 bytes) | 11.6925 | 9.6277 | 1.29735 | 7.53916 |
# | fork | 0.0033287 | 0.0033200 | 0.000101 | 0.0022499 |
#
# (125 million getpid a second cannot be a system call: the C library of Windows answered from memory. The headings of its two
# Windows columns are the same in print.)
#
# Today, in batches: many calls in one timing of about a millisecond, so that reading the clock costs nothing.

#%%
run = lr.run("system_calls", repeat=calls, batches=batches, slow=slow, memory="16MiB", dir=near, out=runs / "calls.parquet")
run

#%%
linux_2003 = {
    "getpid": 1.4867, "fopen_fclose": 0.09461, "open_close": 0.38953, "create_delete": 0.05512, "malloc": 11.6925,
    "fork": 0.0033287,
}  # fmt: skip
rows = []
for name, then in linux_2003.items():
    # A fork is no batch: it takes long enough alone.
    [row] = [row for row in run.results if row["operation"] == name and row["label"] == ("single" if name == "fork" else "batch")]
    now = 1e-6 / row["quantiles_seconds"]["p50"]
    rows.append([name, f"{then:.4g}", f"{now:.4g}", f"{now / then:.1f}"])
table(["call", "2003, Linux optimised (millions/s)", "here", "times 2003"], rows)

#%% [markdown]
# Read the last column against the clock rate: processors of 2003 ran at some 2 to 3 GHz, as today's do. What a call gains
# beyond that is architecture; what it loses is what kernels have done since against speculative execution and for security.
#
# ## 2. What an average hides
#
# Calls a second are an average. Every single call, timed alone: the circle is the median, the bar what 99 of 100 stay below,
# the cross the slowest.

#%%
run.plot("answer_times");

#%% [markdown]
# The slowest calls are not slow system calls. Something else had the processor, or the call waited for a device or a lock:

#%%
rows = []
for place in sorted(run.document["causes"], key=lambda place: -place["excess_s"])[:6]:
    causes = ", ".join(f"{cause.replace('_', ' ')} {100 * share:.0f}%" for cause, share in place["shares"][:3])
    rows.append([f"{place['label']} / {place['operation']}", f"{1e6 * place['excess_s']:.0f}", causes])
table(["call", "excess of the slowest hundredth (µs)", "causes"], rows)

#%% [markdown]
# ## 3. Fork grows with the parent
#
# A child begins with its parent's page tables, so fork costs what the parent has touched. The report of 2003 has one number, 300 µs
# a fork (3,328.7 a second). Here it should be a curve. On a busy machine the median of few forks scatters; then look at the
# quickest of each:

#%%
rows = []
for row in run.results:
    if (row["label"] or "").startswith("fork of") and row["operation"] == "fork":
        found = row["quantiles_seconds"]
        rows.append([row["label"].removeprefix("fork of "), f"{1e6 * found['p50']:.0f}", f"{1e6 * found['min']:.0f}"])
table(["touched memory of the parent", "fork, exit and wait: median (µs)", "quickest (µs)"], rows)

#%% [markdown]
# ## 4. A file near and far
#
# 2003: synchronous writes (O_SYNC) in chunks of 64 bytes and up, local disk against NFS over 100 Mb/s Ethernet. Remote
# bandwidth was two orders of magnitude lower, and both grew with the chunk. A chunk of 64 bytes took 63.52 ms remotely; the
# network alone, by ping, 0.207 ms. So the network was *not* the reason; most likely the server's disk was, which had to
# write each chunk before the server answered.
#
# Here the two sides are the directories named above. Where the far side is memory, it is the *quicker* one, and shows what a
# write costs without any device.

#%%
files = lr.run("local_remote", paths=f"{near},{far}", repeat=writes, reads=300, size="4MiB", out=runs / "files.parquet")
files

#%%
files.plot("transfer-fwrite");

#%% [markdown]
# A flat line at small sizes is latency, a rising one bandwidth: *time = latency + size / bandwidth*. The same data as
# bandwidth, as the report of 2003 drew it:

#%%
files.plot("rate-fwrite");

#%% [markdown]
# ## 5. Random against sequential
#
# The report's sequential loop seeks by zero, so it reads in order; its random offsets are no page boundaries, which are the rows
# `unaligned` here. Each block size has its own rows, since a larger block alone moves many times the bytes. *Cold* is written
# only where the kernel confirmed that the file was no longer in memory.
#
# Its files were *created* by these writes. A chunk that is written in place is a row of its own.

#%%
page_table(files, "Side by side")

#%% [markdown]
# ## 6. What to keep
#
# 1. A rate is an average: the slowest call of a thousand can take thousands of times the median, and what it waited for is
#    in the samples.
# 2. A small remote write costs a round trip *and* whatever the server does before it answers. Measure both:
#    `lastrank echo` is the other end of round trips through the network alone.
# 3. Count bytes where blocks are large, and calls where they are small.
