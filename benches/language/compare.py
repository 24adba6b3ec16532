#!/usr/bin/env python3
"""Times parse and check of a million statements, and CPython's compile() of as many of its own.

CPython is orientation, not a peer: it makes bytecode of a larger language. The peer is the original
Parabench, which took 2.1 s and 388 bytes a statement where it last ran; it aborts on current C libraries,
so it cannot run here.
"""

import re
import resource
import subprocess
import sys
import time

STATEMENTS = 1_000_000


def ours():
    command = ["cargo", "run", "-q", "--release", "-p", "lastrank-ppl", "--example", "speed", "--", "parse"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    print(text.strip())
    command = ["cargo", "run", "-q", "--release", "-p", "lastrank-engine", "--example", "statement_bytes"]
    print(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())
    return float(re.search(r"([0-9.]+) s of processor time", text).group(1))


def cpython():
    lines = ["x = x + 1\n", 'write("f", 4096)\n', 'stat(f"f-{x}")\n', "print(x)\n"]
    text = "x = 0\n" + "".join(lines) * (STATEMENTS // len(lines))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    compile(text, "speed", "exec")
    seconds = time.process_time() - start
    kept = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / STATEMENTS
    print(f"CPython {sys.version.split()[0]}: compile {seconds:.3f} s of processor time, at most {kept:.0f} bytes a statement")
    return seconds


if __name__ == "__main__":
    mine = ours()
    theirs = cpython()
    print(f"ours takes {mine / theirs:.2f} of CPython's time; the original published 2.1 s and 388 bytes a statement")
