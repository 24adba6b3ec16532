"""Which rank stands out: equal ranks seldom do, a slow one does, and one that is late only now and then too."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

NONE = "No rank is found slower than the others."
EQUAL = 'define ranks 8;\n$f = fopen("k-$$rank", "w");\nrepeat {n} {{ fwrite($f, 8k); }}\n'
# Rank 3 is usually quick, and now and then very late.
BURST = """define ranks 8;
define report {"gate": "write"}
$f = fopen("b-$$rank", "w");
repeat 400 {
  barrier;
  time["write"] { fwrite($f, 8k); sleep($$rank == 3 ? (uniform(0, 100) < 15 ? 8ms : 0ms) : 1ms); }
  barrier;
}
fclose($f);
"""
# Rank 5 of those that take operations for themselves sleeps with them.
SLOW = """define ranks 8;
define report {"samples": "work"}
$f = fopen("s-$$rank", "w");
repeat 100 { time["work"] { fwrite($f, 8k); sleep($$rank == 5 ? 3ms : 0ms); } }
fclose($f);
"""


@pytest.fixture
def run(program: Path, tmp_path: Path):
    def run(text: str, law: str, seed: int, *more: str) -> tuple[str, dict]:
        (tmp_path / "p.ppl").write_text(text)
        common = [program, "run", "p.ppl", "--backend", f"simulate:{law}", "--seed", str(seed), "--report", "none"]
        ran = subprocess.run([*common, "-o", "r.parquet", *more], cwd=tmp_path, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        told = [program, "report", "r.parquet", "--json"]
        told = subprocess.run(told, cwd=tmp_path, capture_output=True, text=True)
        assert told.returncode == 0, told.stderr
        return ran.stdout, json.loads(told.stdout)

    return run


def test_nothing_is_said_of_ranks_with_five_operations_each(run):
    for seed in range(5):
        screen, _ = run(EQUAL.format(n=5), "lognormal(1ms,1)", seed)
        assert not re.search(r"[Rr]anks? \d+ is|stands out", screen), screen


def test_equal_ranks_do_not_stand_out(run):
    for seed in range(5):
        screen, told = run(EQUAL.format(n=50), "lognormal(1ms,1)", seed)
        assert NONE in screen, screen
        assert {one["finding"] for one in told["groups"]["groups"]} == {"as_others"}
        assert told["targets"] is None


def test_a_slow_rank_that_works_for_itself_is_named_in_words_and_numbers(run):
    screen, told = run(SLOW, "gev(10ms,0.3ms,0)", 1)
    found = re.search(r"Rank 5 is ([\d.]+)% slower than the others \(([\d.]+) to ([\d.]+)%\)", " ".join(screen.split()))
    assert found, screen
    value, lower, upper = map(float, found.groups())
    # 13 ms in place of 10.
    assert lower < 29.3 < upper and abs(value - 29.3) < 2, screen
    slow = [one for one in told["groups"]["groups"] if one["finding"] == "slow"]
    assert [one["name"] for one in slow] == ["5"] and f"{100 * slow[0]['factor'] - 100:.1f}" == found[1]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_rank_that_is_last_when_steps_are_slow_is_named(run, seed):
    screen, told = run(BURST, "gev(10ms,0.3ms,0)", seed)
    flat = " ".join(screen.split())
    found = re.search(r"Rank 3 was last in (\d+) of the 40 slowest steps, there ([\d.]+) ms later than the others", flat)
    assert found and int(found[1]) >= 38 and 6.5 < float(found[2]) < 7.5, screen
    when = told["targets"]["last_when_slow"]
    assert (when["target"], when["last"], when["steps"], when["shown"]) == (3, int(found[1]), 40, True)
    assert any("was last in" in sentence for sentence in told["targets"]["findings"])


@pytest.mark.parametrize("settings, has", [([], True), (["access=read"], False), (["striped=targets"], False)])
def test_one_rank_for_all_is_advised_only_where_it_can_be(program: Path, tmp_path: Path, settings: list[str], has: bool):
    targets = 2 * (os.cpu_count() or 1)
    common = [f"targets={targets}", f"size={targets}MiB", "stripe_size=64KiB", "repeat=2", *settings]
    words = [word for setting in common for word in ("--set", setting)]
    ran = subprocess.run([program, "run", "parallel_write", *words, "--report", "none"], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert f"{targets} ranks share" in ran.stderr
    assert ("by=async" in ran.stderr) == has, ran.stderr
