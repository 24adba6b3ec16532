"""A sample of the screens whose truth is counted, through the binary: they are those of the library, with no other words."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def test_screens_of_the_binary_are_those_that_are_counted(tmp_path: Path) -> None:
    lastrank = Path(os.environ.get("LASTRANK_BIN", ROOT / "target/debug/lastrank"))
    truth = lastrank.parent / "truth"
    if not truth.exists():
        pytest.skip("`cargo build --workspace --bins` builds benches/truth")
    asked = [truth, "--binary", lastrank, "--folder", tmp_path, "--pairs", "20", "--arms", "4"]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
