"""Tests what `fit` and first screens say of inputs that were once told wrong, and that their `Next:` lines can be pasted."""

import json
import re
import subprocess
from pathlib import Path

import pytest

INPUTS = Path(__file__).parent / "statistics"


def said(program: Path, words: str, status: int = 0) -> str:
    done = subprocess.run([program, "fit", *words.split()], cwd=INPUTS, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return " ".join((done.stdout + done.stderr).split())


def test_slow_values_that_cluster_do_not_jump(program: Path) -> None:
    """A stationary AR(1) of 0.6: neighbours are alike, the level does not change, and what was measured may be used."""
    text = said(program, "ar06.txt --unit ms")
    assert "⚠ Usable with care: neighbouring values are correlated." in text, text
    assert "in parts" not in text and "What was measured holds, rarer values cannot be predicted." in text, text
    assert "jump" not in text and "creep" not in text and "✖" not in text and "count as" not in text, text
    found = json.loads(subprocess.run([program, "fit", INPUTS / "ar06.txt", "--json"], capture_output=True, check=True).stdout)
    assert (found["verdict"]["code"], found["verdict"]["usability"]) == ("not-independent", "in-parts")


def test_rounded_values_are_fitted_as_rounded_and_have_no_verdict(program: Path) -> None:
    """Gumbel(24, 0.5) in whole milliseconds: five different values."""
    text = said(program, "d03b_integer_ms.txt --unit ms")
    assert "⚠ No verdict: the values are rounded to 1 ms, so only 5 differ." in text and "✔" not in text, text
    assert "Once in" not in text, text
    done = subprocess.run([program, "fit", INPUTS / "d03b_integer_ms.txt", "--json"], capture_output=True, check=True)
    law = json.loads(done.stdout)["gev"]
    assert abs(law["scale"] - 0.51) < 0.02 and abs(law["shape"] + 0.04) < 0.02, law
    assert law["intervals"]["scale"]["lower"] < 0.5 < law["intervals"]["scale"]["upper"], law
    assert law["intervals"]["shape"]["lower"] < 0.0 < law["intervals"]["shape"]["upper"], law


def test_a_gumbel_law_that_its_test_rejects_is_rejected_before_its_levels(program: Path) -> None:
    text = said(program, "b05_gumbelwrong.txt --model gumbel")
    rejected = text.index("Rejected: a Gumbel distribution does not describe these values (p 0.005")
    assert rejected < text.index("Return levels") and "Use --model gev." in text, text
    # The true level of 1,000.
    done = subprocess.run([program, "fit", INPUTS / "b05_gumbelwrong.txt", "--json"], capture_output=True, check=True)
    level = json.loads(done.stdout)["return_levels"][2]
    assert level["lower"] < 684 < level["upper"], level
    assert "Rejected" not in said(program, "ar06.txt --model gumbel"), "rejects a distribution that was drawn from"


def test_negative_durations_are_refused(program: Path) -> None:
    text = said(program, "b20_neg.txt --unit ms", status=2)
    assert "a duration is not negative" in text and "is -5" in text, text
    assert "a duration" not in said(program, "b20_neg.txt")


def test_an_even_number_of_values_has_one_median(program: Path) -> None:
    """The value of rank 16 of 32, wherever a median is told."""
    values = sorted(map(float, (INPUTS / "b08_even.txt").read_text().split()))
    text = said(program, "b08_even.txt")
    assert len(values) == 32 and round(values[15], -1) == 2970 and "median 2,970 (" in text, text
    found = json.loads(subprocess.run([program, "fit", INPUTS / "b08_even.txt", "--json"], capture_output=True, check=True).stdout)
    medians = [one["value"] for one in found["summary"]["quantiles"] if one["probability"] == 0.5]
    assert medians == [values[15]], found["summary"]
    assert "13 5" not in said(program, "b08_even.txt -v"), "the middle between two values is told as a median"


def test_values_in_whole_milliseconds_are_compared(program: Path) -> None:
    """300 values of four different durations a side, d02_b the slower ones: this was refused."""

    def compared(*names: str) -> dict:
        done = subprocess.run([program, "compare", *names, "--unit", "ms", "--json"], cwd=INPUTS, capture_output=True, check=True)
        return json.loads(done.stdout)

    found = compared("d02_a_ms.txt", "d02_b_ms.txt")
    assert found["code"] == "slower" and found["p_equal"] < 1e-30 and "4.7% slower: 1.05 times as long (95%: 1.04 to 1.05)" in found["text"], found["text"]
    assert compared("d02_b_ms.txt", "d02_a_ms.txt")["code"] == "faster"
    same = compared("d02_a_ms.txt", "d02_a_ms.txt")
    assert same["identical"] and same["code"] == "no-difference" and "No difference" in same["text"], same["text"]


def run_of(program: Path, tmp_path: Path, name: str, law: str, seed: int) -> str:
    words = ["--backend", f"simulate:{law}", "--seed", str(seed), "--report", "none", "-o", f"{seed}.parquet"]
    done = subprocess.run([program, "run", INPUTS / name, *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


def test_equal_ranks_are_not_called_slow(program: Path, tmp_path: Path) -> None:
    """Eight ranks of one distribution, five operations each: one was called slow in 85% of runs."""
    slow = [seed for seed in range(12) if "is slow" in run_of(program, tmp_path, "one-law-8-ranks.ppl", "lognormal(1ms,1)", seed)]
    assert len(slow) <= 1, slow


def test_a_rank_that_makes_all_slow_steps_is_named(program: Path, tmp_path: Path) -> None:
    text = run_of(program, tmp_path, "burst.ppl", "gev(10ms,0.3ms,0)", 1)
    assert "Rank 3 was last in 40 of the 40 slowest steps" in text and "No rank is found slower than the others" not in text, text


def test_sorted_values_are_called_sorted(program: Path, tmp_path: Path) -> None:
    lines = sorted((INPUTS / "ar06.txt").read_text().split(), key=float)
    (tmp_path / "sorted.txt").write_text("\n".join(lines))
    text = said(program, str(tmp_path / "sorted.txt"))
    assert "The values are sorted" in text and "resemble" not in text and "jump" not in text, text


SIMULATED = ["--backend", "simulate:gev(10ms,1ms,0.1)", "--report", "none", "--output", "new run.parquet"]
FAILING = 'repeat 20 { time["w"] write("a", 4k); } stat("never-made");'


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["run", "parallel_write", *SIMULATED], 0),
        (["io", "randread", "--ops", "300", "--size", "4MiB", *SIMULATED], 0),
        (["meta", "-n", "50", *SIMULATED], 0),
        (["ior", "-b", "4m", "-t", "1m", *SIMULATED], 0),
        (["run", "failing.ppl", "--report", "none", "-o", "new run.parquet"], 3),
    ],
    ids=["steps", "operations", "phases", "ior", "failed"],
)
def test_the_next_line_can_be_pasted(program: Path, tmp_path: Path, words: list[str], status: int) -> None:
    """It is one command, which a shell runs as it stands; a run that failed is run again and fails again."""
    (tmp_path / "failing.ppl").write_text(FAILING)
    done = subprocess.run([program, *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr
    found = re.search(r"\nNext: +lastrank ((?:.*\\\n)*.*)", done.stdout)
    assert found, done.stdout
    command = found[1]
    again = subprocess.run(f"'{program}' {command}", shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert again.returncode == status, (command, again.stdout, again.stderr)


def test_the_number_that_settles_p99_settles_it(program: Path, tmp_path: Path) -> None:
    (tmp_path / "p.ppl").write_text((INPUTS / "p99-369.ppl").read_text())
    words = ["--backend", "simulate:gev(10ms,1ms,0.1)", "--seed", "2", "--report", "none", "-o", "p.parquet"]
    text = subprocess.run([program, "run", "p.ppl", *words], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "369 are too few for an upper limit, about 370 are enough" in " ".join(text.split()), text
    enough = (tmp_path / "p.ppl").read_text().replace("369", "370")
    (tmp_path / "p.ppl").write_text(enough)
    text = subprocess.run([program, "run", "p.ppl", *words], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "too few" not in text, text
