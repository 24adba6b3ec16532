"""Makes the wheel of what cargo built for the tests, and installs it beside what else the tests need.

`python tests/wheel.py FOLDER_OF_CARGO OUT`: run by the Python that the wheel is installed for. The executable and the
extension are those of the tests; `pip install .` builds them optimised, by the same backend.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(built: str, out: str) -> None:
    for old in Path(out).glob("lastrank-*.whl"):
        old.unlink()
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    environment = os.environ | {"LASTRANK_WHEEL_BUILT": built}
    make = [*pip, "wheel", str(ROOT), "--no-deps", "--wheel-dir", out]
    subprocess.run(make, check=True, env=environment)
    wheel = next(Path(out).glob("lastrank-*.whl"))
    subprocess.run([*pip, "install", "--no-deps", "--force-reinstall", str(wheel)], check=True)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:])
