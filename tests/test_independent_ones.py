"""How many independent values some are worth is one number, whichever command, page or document tells it."""

import html
import json
import random
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

N = 400


def series(phi: float, seed: int) -> list[float]:
    """A stationary autoregression of log-normal values, about 10 ms."""
    draw = random.Random(seed)
    state, values = draw.gauss(0, 1), []
    for _ in range(N):
        values.append(0.01 * 2.718281828 ** (0.2 * state))
        state = phi * state + (1 - phi * phi) ** 0.5 * draw.gauss(0, 1)
    return values


def said(program: Path, folder: Path, *words: str) -> str:
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


def document(program: Path, folder: Path, *words: str) -> Any:
    return json.loads(said(program, folder, *words, "--json"))


def worth(text: str) -> set[int]:
    """What a text says that the values are worth."""
    return {int(found) for found in re.findall(r"values (?:are worth (?:about )?|count as )(\d+)", text)}


@pytest.mark.parametrize(("phi", "seed"), [(0.6, 1), (0.6, 2), (0.3, 3), (0.9, 4), (0.0, 5), (0.0, 6)])
def test_of_a_mean(phi: float, seed: int, program: Path, tmp_path: Path) -> None:
    (tmp_path / "values.txt").write_text("".join(f"{value!r}\n" for value in series(phi, seed)))
    fit = document(program, tmp_path, "fit", "values.txt", "--unit", "s")
    found = fit["diagnostics"]["independence"]
    moves = len(found["segments"]) > 1
    # A test of neighbours at 2.5% is for the values to be worth fewer.
    assert (fit["n_eff"] < N) == (phi > 0), fit["n_eff"]
    assert fit["n_eff"] == pytest.approx(found["effective_size"]) == pytest.approx(N / found["variance_inflation"])
    gpd = document(program, tmp_path, "fit", "values.txt", "--unit", "s", "--model", "gpd")
    assert gpd["n_eff"] == pytest.approx(fit["n_eff"])
    plan = document(program, tmp_path, "plan-runs", "values.txt", "--unit", "s", "width(location) < 5%")
    assert plan["basis"]["variance_inflation"] == pytest.approx(N / fit["n_eff"])
    compared = document(program, tmp_path, "compare", "values.txt", "values.txt", "--unit", "s")
    if phi > 0 and not moves:
        assert compared["quiet"]["inflation"] == pytest.approx(N / fit["n_eff"])
    # In words.
    verbose = said(program, tmp_path, "compare", "values.txt", "values.txt", "--unit", "s", "-v")
    assert worth(verbose) == ({round(fit["n_eff"])} if phi > 0 else set())
    told = f"{N / fit['n_eff']:.1f} and {N / fit['n_eff']:.1f}"
    assert (told in verbose) == (phi > 0 and not moves)
    assert worth(said(program, tmp_path, "fit", "values.txt", "--unit", "s", "-v")) == ({round(fit["n_eff"])} if phi > 0 else set())
    said(program, tmp_path, "fit", "values.txt", "--unit", "s", "-o", "page.html", "--page")
    page = " ".join(html.unescape((tmp_path / "page.html").read_text()).split())
    assert worth(page) == {round(fit["n_eff"])}, worth(page)


def test_of_a_quantile(program: Path, tmp_path: Path) -> None:
    """What a run tells of its median is told by the same number in `ls`, and is what a condition judges."""
    (tmp_path / "a.ppl").write_text('$level = 1.0; repeat 500 { $level = 0.6 * $level + normal(0.4, 0.2); write("a", int(4096 * $level) + 1); }\n')
    law = ["--backend", "simulate:lognormal(1ms,0.5)", "--seed", "3"]
    ran = document(program, tmp_path, "run", "a.ppl", *law, "--report", "none", "-o", "a.parquet")
    intervals = [part["intervals"] for part in ran["numbers"]["parts"]]
    assert intervals and all(one["effective_n"] <= 500 for one in intervals[0])
    [listed] = document(program, tmp_path, "ls")["runs"]
    assert [part["intervals"] for part in listed["numbers"]["parts"]] == intervals
    assert [part["intervals"] for part in document(program, tmp_path, "report", "a.parquet")["numbers"]["parts"]] == intervals


#: Each rank sleeps for times that follow an autoregression of its own, so that values of a rank are correlated.
IN_TURNS = """define report {"samples": "s"};
$x = 0.0;
repeat 150 {
  $x = 0.9 * $x + normal(0.0, 0.4);
  time["s"] sleep(int(max(1.0, 1000.0 * (10.0 + $x))) * 1us);
}
"""


@pytest.mark.parametrize("seed", [1, 2])
def test_of_ranks_that_take_operations_in_turns(seed: int, program: Path, tmp_path: Path) -> None:
    """Every command looks for dependence in the order of each rank."""
    (tmp_path / "p.ppl").write_text(IN_TURNS)
    words = ["--backend", "simulate:constant(1us)", "-n", "4", "--seed", str(seed), "--report", "none", "-o", "p.parquet"]
    said(program, tmp_path, "run", "p.ppl", *words)
    report = document(program, tmp_path, "report", "p.parquet")
    own = report["tail"]["assessment"]
    fit = document(program, tmp_path, "fit", "p.parquet")
    assert (fit["n"], own["n"]) == (600, 600) and fit["n_eff"] < 300
    assert fit["n_eff"] == pytest.approx(own["n_eff"], rel=1e-5)
    assert fit["diagnostics"]["independence"]["segments"] == own["diagnostics"]["independence"]["segments"]
    plan = document(program, tmp_path, "plan-runs", "p.parquet", "width(location) < 5%")
    assert plan["basis"]["variance_inflation"] == pytest.approx(600 / fit["n_eff"])
    compared = document(program, tmp_path, "compare", "p.parquet", "p.parquet")
    if not compared["quiet"]["level_moves"]:
        assert compared["quiet"]["inflation"] == pytest.approx(600 / fit["n_eff"])
    assert compared["quiet"]["against"] == compared["new"]["against"]
    # A file of the same values does not know whose they are.
    said(program, tmp_path, "export", "p.parquet", "--to", "csv", "-o", "p.csv")
    plain = document(program, tmp_path, "fit", "p.csv", "--column", "duration_ps", "--where", "label=s")
    assert plain["n"] == 600 and plain["n_eff"] != pytest.approx(fit["n_eff"], rel=0.05)
    screen, verbose = (said(program, tmp_path, "fit", "p.parquet", *more) for more in ([], ["-v"]))
    assert worth(verbose) == {round(fit["n_eff"])}, verbose
    assert "of a rank" in verbose and screen
