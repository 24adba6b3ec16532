"""Blocks of calendar time: `fit --block '1 year'` of tables with dates, each from the first date on, as in pyextremes."""

import json
import random
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

START = datetime(1971, 3, 5, tzinfo=UTC)


def fit(program: Path, *arguments: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [program, "fit", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60
    )


def levels(count: int, step: timedelta, start: datetime = START) -> list[tuple[datetime, float]]:
    source = random.Random(1)
    return [(start + at * step, 100 + 10 * source.weibullvariate(1, 1.3)) for at in range(count)]


def maxima(rows: list[tuple[datetime, float]], block: timedelta) -> list[float]:
    """The largest of each interval of that length from the first date on."""
    found: dict[int, float] = {}
    for when, value in rows:
        at = int((when - rows[0][0]) / block)
        found[at] = max(found.get(at, 0.0), value)
    return [found[at] for at in sorted(found)]


def law(program: Path, *arguments: object) -> dict[str, object]:
    done = fit(program, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


WRITE: list[Callable[[datetime], str]] = [
    lambda when: when.strftime("%Y-%m-%d"),
    lambda when: when.strftime("%Y-%m-%d %H:%M:%S"),
    lambda when: when.isoformat(),
]


@pytest.mark.parametrize("write", WRITE)
def test_maxima_of_years_are_those_of_each_interval(write: Callable[[datetime], str], program: Path, tmp_path: Path) -> None:
    # 40 years of 365.2425 days are 14,609.7 days.
    rows = levels(14_610, timedelta(days=1))
    table, plain = tmp_path / "level.csv", tmp_path / "maxima.txt"
    table.write_text("date,station,level\n" + "".join(f"{write(when)},a,{value!r}\n" for when, value in rows))
    wanted = maxima(rows, timedelta(days=365.2425))
    assert len(wanted) == 40
    plain.write_text("".join(f"{value!r}\n" for value in wanted))
    found = law(program, table, "--block", "1 year")
    block = found["block"]
    assert block == {"values": None, "seconds": 365.2425 * 86_400, "steps": False, "count": 40, "left_over": 0,
                     "length": "1 year", "empty": 0}
    by_hand = law(program, plain)
    assert found["gev"] == by_hand["gev"] and found["n"] == 40
    screen = fit(program, table, "--block", "1 year", "-v").stdout
    assert "40 blocks of 1 year\n" in screen


def test_hours_and_days_of_stamps_in_numbers(program: Path, tmp_path: Path) -> None:
    rows = levels(24 * 60 * 6, timedelta(minutes=10), datetime(2026, 3, 2, tzinfo=UTC))
    table, plain = tmp_path / "load.csv", tmp_path / "maxima.txt"
    table.write_text("time,id,wait_ms\n" + "".join(
        f"{int(1000 * when.timestamp())},{at},{value!r}\n" for at, (when, value) in enumerate(rows)))
    for block, length in [("1d", timedelta(days=1)), ("12 h", timedelta(hours=12)), ("1day", timedelta(days=1))]:
        plain.write_text("".join(f"{value!r}\n" for value in maxima(rows, length)))
        found = law(program, table, "--column", "wait_ms", "--block", block, "--dates", "time")
        assert found["gev"] == law(program, plain, "--unit", "ms")["gev"], block


def test_an_order_of_rows_without_meaning_and_gaps_are_told(program: Path, tmp_path: Path) -> None:
    rows = levels(365 * 30, timedelta(days=1))
    # Two whole years without a value, and half a year at the end.
    gap = [row for row in rows if not 3653 <= (row[0] - START).days < 3653 + 731]
    table = tmp_path / "level.csv"
    def write(rows: list[tuple[datetime, float]]) -> None:
        table.write_text("date;level\n" + "".join(f"{when:%Y-%m-%d};{value!r}\n" for when, value in rows))
    write(gap[:-180])
    ordered = law(program, table, "--block", "365 days")
    assert ordered["block"]["empty"] == 1 and ordered["block"]["count"] == 28, ordered["block"]
    assert ordered["block"]["left_over"] == 185
    mixed = gap[:-180]
    random.Random(2).shuffle(mixed)
    write(mixed)
    again = law(program, table, "--block", "365 days")
    assert again["gev"] == ordered["gev"] and again["block"] == ordered["block"]
    screen = fit(program, table, "--block", "365 days", "-v").stdout
    assert "185 values at the end fill no block" in screen and "1 block of dates without values is left out" in screen


def test_what_holds_no_date_is_refused_with_the_way_out(program: Path, tmp_path: Path) -> None:
    rows = levels(400, timedelta(days=1))
    table = tmp_path / "level.csv"
    table.write_text("id,level\n" + "".join(f"{at},{value!r}\n" for at, (_, value) in enumerate(rows)))
    plain = tmp_path / "plain.txt"
    plain.write_text("".join(f"{value!r}\n" for _, value in rows))
    twice = tmp_path / "twice.csv"
    twice.write_text("from,to,level\n" + "".join(f"{w:%Y-%m-%d},{w:%Y-%m-%d},{v!r}\n" for w, v in rows))
    broken = tmp_path / "broken.csv"
    broken.write_text("when,level\n" + "".join(f"{'soon' if at == 300 else f'{w:%Y-%m-%d}'},{v!r}\n"
                                             for at, (w, v) in enumerate(rows)))
    document = tmp_path / "a.json"
    document.write_text(json.dumps([{"at": f"{w:%Y-%m-%d}", "level": v} for w, v in rows]))
    for arguments, told in [
        ((table, "--column", "level", "--block", "1 year"), "no column of dates"),
        ((table, "--column", "level", "--block", "1 year"), "without dates give a number of values"),
        ((table, "--column", "level", "--block", "30d", "--dates", "id"), "`0` is no date"),
        ((table, "--column", "level", "--block", "30d", "--dates", "when"), "it has no column `when`"),
        ((plain, "--block", "30d"), "no column of dates"),
        ((twice, "--column", "level", "--block", "30d"), "choose one with --dates: `from`, `to`"),
        ((broken, "--block", "30d"), "`soon` is no date"),
        ((document, "--column", "level", "--block", "30d"), "--dates"),
        ((plain, "--block", "1 fortnight"), "'1 year'"),
        ((twice, "--column", "level", "--block", "10 years", "--dates", "to"), "longer than all"),
    ]:
        done = fit(program, *arguments)
        assert done.returncode == 2 and told in done.stderr, (arguments, done.stderr)
    found = law(program, document, "--column", "level", "--block", "20d", "--dates", "at")
    assert found["block"]["count"] == 20
