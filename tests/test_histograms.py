"""Tests `lastrank fit` of files that count their values in bins: bounds of percentiles, and nothing beyond the bins."""

import json
import subprocess
from pathlib import Path

import pytest

FORMATS = Path(__file__).resolve().parent.parent / "crates" / "intake" / "tests" / "formats"


def fit(program: str, *arguments: str, file: str = "hdr.hlog") -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, "fit", FORMATS / file, *arguments], capture_output=True, text=True, check=False)


def test_the_screen_has_bounds_and_says_why_nothing_is_fitted(program):
    screen = fit(program, "--unit", "us").stdout
    for words in ["350 values in 330 bins (4 intervals added up)", "median   1.15 ms\n", "slowest  10.3 ms\n"]:
        assert words in screen
    assert "no distribution is fitted and nothing is" in screen and "The file does not say the unit" not in screen
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


@pytest.mark.parametrize("option", ["--model=gpd", "--block=10", "--values=1-5", "--by=a", "--period=100", "-oa.html"])
def test_what_needs_single_values_is_refused(program, option):
    done = fit(program, option)
    assert done.returncode == 2 and done.stdout == ""
    assert "is for single values" in done.stderr and "record the single values" in done.stderr


def test_other_commands_refuse_bins_with_the_way_out(program):
    files = [FORMATS / "hdr.hlog"] * 2
    done = subprocess.run([program, "compare", *files], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "counts of bins, no single values: `lastrank fit` shows" in done.stderr
