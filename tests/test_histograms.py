"""Tests `lastrank fit` of files that count their values in bins: bounds of percentiles, and the distribution that the counts tell."""

import json
import math
import random
import subprocess
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

FORMATS = Path(__file__).resolve().parent.parent / "crates" / "intake" / "tests" / "formats"


def fit(program: str, *arguments: str, file: str = "hdr.hlog") -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, "fit", FORMATS / file, *arguments], capture_output=True, text=True, check=False)


def test_the_screen_has_bounds_a_law_and_what_bins_hide(program):
    screen = fit(program, "--unit", "us").stdout
    for words in ["350 values in 330 bins (4 intervals added up)", "median   1.15 ms\n", "slowest  10.3 ms\n"]:
        assert words in screen
    assert "A GEV distribution fits the bins (p 0.43; 95% CI): location 859 µs" in screen
    assert "Bins hide the order of the values" in screen and "The file does not say the unit" not in screen
    # Nobody asked for what none of 350 values reached.
    assert "1 in 100 " in screen and "1 in 1,000" not in screen
    assert "1 in 1,000" in fit(program, "--unit", "us", "--period", "1000").stdout
    plain = fit(program).stdout
    assert "p90      3242 to 3243\n" in plain and "largest  10320 to 10327\n" in plain
    assert "The file does not say the unit: --unit" in plain
    # Of 350 values none is above p99.9.
    assert "p99 " in plain and "p99.9" not in plain


def test_open_bins_have_one_bound(program):
    screen = fit(program, "--column", "@size", file="bpftrace.txt").stdout
    assert "median   0 to 100\n" in screen and "p90      at least 100\n" in screen
    text = fit(program, "--column", "@size", "--json", file="bpftrace.txt").stdout
    assert "Infinity" not in text
    found = json.loads(text)
    assert found["quantiles"][1] == {"share": 0.9, "low": 100, "high": None}
    assert found["bins"][0] == {"low": None, "high": 0, "count": 1}


def test_json_is_in_seconds_and_agrees_with_its_own_bins(program):
    arguments = ["--column", "mix read clat", "--json"]
    found = json.loads(fit(program, *arguments, file="fio-plus.json").stdout)
    assert found["schema"] == "lastrank.histogram/1" and found["source"]["unit"] == "s"
    assert sum(one["count"] for one in found["bins"]) == found["source"]["values"] == 60
    own = json.loads((FORMATS / "fio-plus.json").read_text())["jobs"][0]["read"]["clat_ns"]["percentile"]
    for one in found["quantiles"][:-1]:
        says = own[f"{100 * one['share']:f}"] * 1e-9
        assert one["low"] <= says <= one["high"]


@pytest.mark.parametrize("option", ["--model=gpd", "--block=10", "--values=1-5", "--by=a", "-oa.html"])
def test_what_needs_single_values_is_refused(program, option):
    done = fit(program, option)
    assert done.returncode == 2 and done.stdout == ""
    assert "is for single values" in done.stderr and "record the single values" in done.stderr


def test_other_commands_refuse_bins_with_the_way_out(program):
    files = [FORMATS / "hdr.hlog"] * 2
    done = subprocess.run([program, "compare", *files], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "counts of bins, no single values: `lastrank fit` shows" in done.stderr


LAW = (0.9, 0.25, 0.1)


def drawn(count: int, seed: int) -> list[float]:
    """Milliseconds of a GEV."""
    location, scale, shape = LAW
    source = random.Random(seed)
    return [location + scale * ((-math.log(source.random())) ** -shape - 1) / shape for _ in range(count)]


def bpftrace(values: list[float]) -> str:
    """A linear histogram of whole microseconds."""
    counts = Counter(int(1000 * value) // 100 for value in values)
    rows = [f"[{100 * at}, {100 * (at + 1)}) {counts[at]:>12} |@@@|" for at in sorted(counts)]
    return "@usecs:\n" + "\n".join(rows) + "\n"


def prometheus(values: list[float]) -> str:
    """Cumulative buckets in seconds, the last one without a bound."""
    bounds = [0.0003, 0.0005, 0.0006, 0.0007, 0.0008, 0.0009, 0.001, 0.0011, 0.00125, 0.0015, 0.00175, 0.002, 0.003]
    ordered = sorted(value / 1000 for value in values)
    rows = [f'wait_seconds_bucket{{le="{bound}"}} {bisect_right(ordered, bound)}' for bound in bounds]
    rows += [f'wait_seconds_bucket{{le="+Inf"}} {len(values)}', f"wait_seconds_count {len(values)}"]
    return "# TYPE wait_seconds histogram\n" + "\n".join(rows) + "\n"


def fio_plus(values: list[float]) -> str:
    """Bins of 64 a power of two, named by their middle, in nanoseconds."""
    def middle(value: float) -> int:
        width = 1 << (int(1e6 * value).bit_length() - 7)
        return int(1e6 * value) // width * width + width // 2
    counts = Counter(middle(value) for value in values)
    read = {"clat_ns": {"bins": {str(at): counts[at] for at in sorted(counts)}}}
    return json.dumps({"fio version": "fio-3.33", "jobs": [{"jobname": "j", "read": read}]})


def hgrm(values: list[float]) -> str:
    """Rows of percentiles, each with the count up to its value; in milliseconds, as wrk2 has it."""
    ordered = sorted(values)
    shares = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.99, 1]
    rows = []
    for share in shares:
        value = math.ceil(100 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]) / 100
        below = bisect_right(ordered, value)
        more = f"{1 / (1 - below / len(ordered)):14.2f}" if below < len(ordered) else "           inf"
        rows.append(f"{value:12.3f} {below / len(ordered):14.12f} {below:10d} {more}")
    head = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n"
    return head + "\n".join(rows) + f"\n#[Mean    =  1.0, StdDeviation   = 1.0]\n#[Max     =  9.0, Total count    = {len(values)}]\n"


@pytest.mark.parametrize(("write", "options"), [(bpftrace, ()), (prometheus, ()), (fio_plus, ()), (hgrm, ("--unit", "ms"))])
def test_a_known_law_is_found_within_its_intervals(
    write: Callable[[list[float]], str], options: tuple[str, ...], program: Path, tmp_path: Path
) -> None:
    held = [0, 0, 0, 0]
    seeds = 20
    for seed in range(seeds):
        (tmp_path / "counts").write_text(write(drawn(3000, seed)))
        done = fit(program, *options, "--json", "--period", "100", file=tmp_path / "counts")
        assert done.returncode == 0, done.stderr
        law = json.loads(done.stdout)["law"]
        assert law is not None, done.stdout
        location, scale, shape = LAW
        level = location + scale * ((-math.log(0.99)) ** -shape - 1) / shape
        truths = [1e-3 * location, 1e-3 * scale, shape, 1e-3 * level]
        found = [law["location"], law["scale"], law["shape"], law["levels"][0]]
        for at, (one, truth) in enumerate(zip(found, truths, strict=True)):
            held[at] += one["interval"]["lower"] <= truth <= one["interval"]["upper"]
    # 19 of 20 are expected; fewer than 16 are 3 in 1000.
    assert min(held) >= 16, held


def test_counts_of_two_laws_have_no_law_and_say_how_far_the_best_is_off(program: Path, tmp_path: Path) -> None:
    both = drawn(3000, 1) + [2.5 + value for value in drawn(300, 2)]
    (tmp_path / "counts").write_text(bpftrace(both))
    screen = fit(program, file=tmp_path / "counts").stdout
    assert "No distribution is given: the best GEV is off by" in screen and "1 in 100" not in screen
    assert "What keeps the values" in " ".join(screen.split())
    law = json.loads(fit(program, "--json", file=tmp_path / "counts").stdout)["law"]
    assert law["rejected"] and law["test"]["distance"] > 0.01


def test_bins_that_tell_no_law_say_why_and_the_way_out(program: Path, tmp_path: Path) -> None:
    (tmp_path / "counts").write_text("@usecs:\n[4, 8) 10 |@@|\n[8, 16) 90 |@@@@|\n[16, 32) 4 |@|\n")
    screen = " ".join(fit(program, file=tmp_path / "counts").stdout.split())
    assert "No distribution is fitted: only 3 bins hold values, at least 6 are needed" in screen
    assert "`printf` in the script prints each value" in screen
    found = json.loads(fit(program, "--json", file=tmp_path / "counts").stdout)
    assert found["law"] is None and "only 3 bins" in found["no_law"]
