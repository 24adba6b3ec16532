"""Tests `lastrank watch` of files of other tools: what it takes is said, and series are not mixed."""

import random
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("watch")
    draw = random.Random(1)
    (folder / "base.txt").write_text("".join(f"{draw.gauss(0.1, 0.002):.6f}\n" for _ in range(200)))
    rows = [f"{i},{draw.gauss(100, 2):.0f},{'login' if i % 3 else 'home'},true\n" for i in range(100)]
    (folder / "results.jtl").write_text("timeStamp,elapsed,label,success\n" + "".join(rows))
    return folder


def watch(program: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [program, "watch", "base.txt", "results.jtl", "--unit", "s", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_what_is_taken_is_said_once(program, folder):
    assert watch(program, folder, "--column", "login").stderr.count("note: JMeter JTL: login in ms\n") == 1


def test_several_series_are_a_question(program, folder):
    done = watch(program, folder)
    assert done.returncode == 2
    assert "it holds several series: choose one of them: `home`, `login` (--column)" in done.stderr
