"""How long do operations on this machine really take, and is that tail normal?

Run programs and shipped experiments, keep every single operation with its own time, and explain the slow operations with
extreme-value statistics::

    import lastrank as lr

    run = lr.run("parallel_write", backend="simulate:gev(10ms,1ms,0.1)")
    run                                # the first screen: the verdict, then the table
    run["write"].summary()             # counts, rates, quantiles with their intervals
    run.frame.to_pandas()              # every operation; Polars, DuckDB and Arrow take run.frame as it is
    lr.fit(run).return_levels([100])   # the level that one in 100 steps exceeds

Durations are in seconds, but for the columns of :attr:`Run.frame`, whose names say their unit. Errors are
:class:`lastrank.Error`, with the words of the command line. Whatever measures runs in the executable ``lastrank`` of the
same wheel, started as a process of its own.
"""

from ._compare import Comparison, Decision, Plan, ab, compare, plan
from ._errors import Error, ProgramError, RunWarning
from ._fit import Estimate, Fit, Group, Groups, ReturnLevel, ReturnLevels, Verdict, fit
from ._frame import Frame
from ._language import Explanation, Finding, Findings, Program, from_darshan, from_fio, from_trace
from ._native import __version__
from ._read import Table, read
from ._run import Place, Run, Runs, Summary, io, load, run
from ._watch import Event, Watch, watch

__all__ = [
    "Comparison",
    "Decision",
    "Error",
    "Estimate",
    "Event",
    "Explanation",
    "Finding",
    "Findings",
    "Fit",
    "Frame",
    "Group",
    "Groups",
    "Place",
    "Plan",
    "Program",
    "ProgramError",
    "ReturnLevel",
    "ReturnLevels",
    "Run",
    "RunWarning",
    "Runs",
    "Summary",
    "Table",
    "Verdict",
    "Watch",
    "__version__",
    "ab",
    "compare",
    "fit",
    "from_darshan",
    "from_fio",
    "from_trace",
    "io",
    "load",
    "plan",
    "read",
    "run",
    "watch",
]
