#!/usr/bin/env python3
"""Records, imports and replays every application of `tests/traces`, and prints a row for each.

    python3 benches/trace/applications.py [--bin target/release/lastrank] [NAME …]

The columns are: calls of the program, its lines, opens that the application did not make, and whether the replay did the
same operations, moved the same bytes, had no failure of its own and left the same tree. The exit status is 1 if one did
not. Programs and samples stay in the directory of `--keep`.
"""

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from traces.applications import APPLICATIONS, missing, trial  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="applications whose name contains one of these words")
    parser.add_argument("--bin", type=Path, default=ROOT / "target" / "release" / "lastrank")
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    failed = 0
    print(f"{'application':28} {'calls':>7} {'lines':>6} {'more opens':>10}  replay")
    for application in APPLICATIONS:
        if args.names and not any(word in application.name for word in args.names):
            continue
        if absent := missing(application):
            print(f"{application.name:28} {'':25}  skipped: {', '.join(absent)} is not installed")
            continue
        with tempfile.TemporaryDirectory(prefix="lastrank-traces-") as folder:
            if args.keep:
                folder = args.keep / application.name.replace(" ", "-")
                folder.mkdir(parents=True)
            found = trial(args.bin.resolve(), application, Path(folder))
        verdict = "the same" if not found.failed else "differs"
        print(f"{application.name:28} {found.calls:7} {found.lines:6} {found.more_opens:10}  {verdict}", flush=True)
        for text in found.failed:
            print("    " + text.strip().replace("\n", "\n    "))
        for text in found.left_out:
            print(f"    left out: {text}")
        failed += bool(found.failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
