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
# # A parallel write has extreme variability
#
# In 2016 Henwood, Watkins, Chapman and McLay wrote 512 MB to sixteen storage targets at once, four hundred times, and found
# that a step usually took about 11.2 s, but sometimes 12. Their question was whether the slow steps are faults. Their answer:
# a step ends when its *slowest* target is done, T = max{S₁ … S₁₆}, and maxima have a law with a tail of its own. **A tail
# exists without any congestion.** What lies outside of the law is degraded behaviour.
#
# This notebook repeats it: a live run in the current folder, the three panels of the paper's Figure 2, then congestion,
# detection, and more targets.

#%% tags=["parameters"]
targets = 4  # the paper: 16
steps = 150  # the paper: 400
size = "256KiB"  # of one step, over all targets; the paper: "512MiB"
fresh = 5  # runs that are drawn from the paper's law
folder = "."  # where the files go: a directory of a parallel file system, if you have one

#%%
import math
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from IPython.display import Markdown

import lastrank as lr

runs = Path(tempfile.mkdtemp(prefix="runs-"))  # name a folder of yours to keep the samples


def table(head, rows):
    """A table for this page."""
    lines = [head, ["---"] * len(head), *rows]
    return Markdown("\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines))


#%% [markdown]
# ## 1. The experiment
#
# The program is short. Each rank is a target with a file of its own; between two barriers all write at once. S is what one
# rank takes, T (the *gate*) what the slowest takes.
#
# ```
# repeat $step $repeat {
#     $data = alloc($bytes);
#     $f = fopen($file, "O_WRONLY|O_CREAT|O_TRUNC|O_SYNC");
#     barrier;
#     time["write"] fwrite($f, $data);
#     barrier;
#     fclose($f);
#     free($data);
# }
# ```

#%%
run = lr.run("parallel_write", targets=targets, repeat=steps, size=size, dir=folder, out=runs / "live.parquet")
run

#%% [markdown]
# That is this machine's answer, with its own verdict: on a laptop or a busy virtual machine it often says *not to
# extrapolate*, because other work disturbed the run. That is a result too, and section 4 is about it.
#
# ## 2. Figure 2 of the paper, live
#
# Their fit, by R's `ismev`, beside the one of this run:

#%%
fit = lr.fit(run)
law = fit.document.get("gev") or {}
errors = law.get("standard_errors") or {}


def shown(name, digits):
    """An estimate with its standard error, where there are."""
    if name not in law:
        return "no fit"
    error = f" ± {errors[name]:.{digits}g}" if name in errors else ""
    return f"{law[name]:.4g}{error}"


table(["", "2016 (16 targets, 512 MB, Lustre)", f"here ({targets} targets, {size})"], [
    ["location (s)", "11.1679 ± 0.0140", shown("location", 2)],
    ["scale (s)", "0.2120 ± 0.0101", shown("scale", 2)],
    ["shape", "−0.00105 ± 0.0415", shown("shape", 2)],
    ["steps", "400", fit.document["n"]],
    ["verdict", "(not tested)", fit.document.get("verdict", {}).get("code", "none")],
])  # fmt: skip

#%%
fig, axes = plt.subplots(1, 3, figsize=(9, 2.9), layout="constrained")
for kind, ax in zip(["probability", "return_levels", "density"], axes):
    fit.plot(kind, ax=ax)

#%% [markdown]
# Left: empirical against fitted probability, middle: return levels with their 95% band, points outside in another colour,
# right: histogram of 20 equal bins with the densities. The paper's panels had return levels from 11 to 12.5 s over periods up
# to 1,000.
#
# ## 3. The same, drawn from the paper's law
#
# We do not have the paper's 400 values, but its law. A simulated run draws from it on a virtual clock: this is what the
# paper's machine *would* show in fresh runs, if it did exactly what the fit says. Some such runs:

#%%
def drawn(law, seed, repeat=400, targets=1):
    """A run whose writes take what `law` says."""
    where = runs / f"drawn-{seed}-{targets}.parquet"
    return lr.run("parallel_write", targets=targets, repeat=repeat, backend=f"simulate:{law}", seed=seed, out=where)


rows = [["2016", "11.1679", "0.2120", "−0.00105"], ["its standard errors", "0.0140", "0.0101", "0.0415"]]
for seed in range(1, fresh + 1):
    again = lr.fit(drawn("gev(11.1679s,0.2120s,-0.00105)", seed))
    rows.append([f"fresh run {seed}", *(f"{each.value:.4f}" for each in (again.location, again.scale, again.shape))])
table(["", "location (s)", "scale (s)", "shape"], rows)

#%% [markdown]
# They scatter about as far as the paper's standard errors say. Of one of them all four panels:

#%%
again.plot("diagnostic");

#%% [markdown]
# Look at how far the points at the right end of the return levels scatter, although this sample comes from exactly that
# law. One point outside of a line is no fault; that is why the band and the tests exist.
#
# ## 4. Congestion is a factor
#
# Other traffic enters the model as a factor: $T = k_t\,\max S_i$. If a quiet run is known, `compare` estimates k of a new
# one with its interval. Two simulated runs, the second exactly 1.2 times as slow:

#%%
quiet = drawn("gev(10ms,300us,0.05)", seed=11)
busy = drawn("gev(12ms,360us,0.05)", seed=12)
compared = lr.compare(quiet, busy)
factor = compared.document["factor"]
print(compared.verdict)
print(f"k = {factor['value']:.3f}, 95% from {factor['interval']['lower']:.3f} to {factor['interval']['upper']:.3f}; true 1.2")

#%% [markdown]
# ## 5. Detection: which steps, and who
#
# A *single* slow step is judged by the law of the others: is it slower than a maximum of so many may be? The first figure
# marks what stands out of the live run. The second counts who was last. Healthy targets are last equally often; a target that
# is last most of the time has a fault, and its times are not extreme values.

#%%
fig, axes = plt.subplots(1, 2, figsize=(9, 2.9), layout="constrained")
run.plot("series", ax=axes[0])
run.plot("last", ax=axes[1]);

#%%
slow = [f"rank {target['target']}: {target['relative']:.2f} times the others"
        for target in (run.document.get("targets") or {}).get("targets", []) if target["slow"]]  # fmt: skip
print("slow by itself:", ", ".join(slow) or "no rank")

#%% [markdown]
# ## 6. More targets
#
# The paper expects larger systems to tend to the same law. If the targets are independent, the largest of *m* follows the
# same law, moved: for shape 0 the location grows by σ ln *m*, for another shape ξ by σ (*m*^ξ − 1)/ξ. Each target below
# draws from a law of location 10 ms, scale 0.3 ms and shape 0.05.

#%%
rows = []
for m in (1, 4, 16):
    many = lr.fit(drawn("gev(10ms,300us,0.05)", seed=20 + m, repeat=300, targets=m))
    error = 1e3 * many.location.standard_error if many.location.standard_error else math.nan
    predicted = 10 + 0.3 * (m**0.05 - 1) / 0.05
    rows.append([m, f"{1e3 * many.location.value:.3f} ± {error:.3f}", f"{predicted:.3f}", f"{many.shape.value:.3f}"])
table(["targets", "location (ms)", "predicted from one target", "shape (true 0.05)"], rows)

#%% [markdown]
# `lastrank scale quiet.parquet --to 4096` makes that prediction from runs at several sizes. It also estimates how far the
# targets depend on each other, which on a local disk they do: sixteen files on one device share one queue, so T is
# closer to a sum than to a maximum. The live run above says how many independent targets its ranks behave like:

#%%
extremal = (run.document.get("targets") or {}).get("extremal")
if extremal:
    print(f"{targets} targets behave like {extremal['effective']:.1f} ± {extremal['standard_error']:.1f} independent ones in slow steps")
else:
    print("too few steps to tell")
