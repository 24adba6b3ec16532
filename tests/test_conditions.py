"""Conditions are judged by the numbers that are shown: what `assert` and `--fail-if` judge is read back from `--json`."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

LAW = "simulate:lognormal(1ms,0.5)"

PROGRAMS = {
    "one operation": ("repeat 2000 write(\"a\", 4k);", []),
    "a block": ("time[\"x\"] repeat 300 append(\"b\", 1k);\nphase \"w\" { repeat 1500 write(\"a\", 4k); }", ["-n", "2"]),
    "steps": ("repeat 60 { barrier; time[\"w\"] append(\"a-$$rank\", 4k); }", ["-n", "4"]),
}


def call(program: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, check=False)


def run(program: Path, folder: Path, text: str, *options: str) -> tuple[int, Any]:
    (folder / "a.ppl").write_text(text)
    words = ["run", "a.ppl", "--backend", LAW, "--seed", "3", "--report", "none", "--json", *options]
    done = call(program, folder, *words)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def figures(document: Any, label: str | None) -> dict[str, float]:
    """The quantities of the part that an assertion behind the last block is about."""
    [part] = [part for part in document["numbers"]["parts"] if label is None or part["label"] == label]
    quantiles = part["quantiles_seconds"]
    found = {name: quantiles[name] for name in ("p50", "p90", "p99", "max") if quantiles[name] is not None}
    found["iops"] = part["operations_per_second"]
    found["count"] = part["operations"]
    if part["bytes_per_second"]:
        found["bw"] = part["bytes_per_second"]
    for interval in part["intervals"]:
        if interval["probability"] == 0.5:
            found["n_eff(p50)"] = interval["effective_n"]
            found["width(p50)"] = interval["upper_seconds"] - interval["lower_seconds"]
    return found


def bound(name: str, value: float) -> str:
    """A condition's bound; the clock of an assertion counts nanoseconds."""
    times = name.startswith(("p", "max", "width"))
    return f"{round(value * 1e9)}ns" if times else f"{value:.12f}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_asserted_without_a_name_is_the_number_of_the_answer(
    name: str, program: Path, tmp_path: Path
) -> None:
    text, options = PROGRAMS[name]
    _, document = run(program, tmp_path, text, *options)
    shown = figures(document, "w" if name != "one operation" else None)
    assert {"p50", "max", "iops", "count", "n_eff(p50)", "width(p50)"} <= shown.keys()
    close = "".join(
        f"assert {word} > {bound(word, value * 0.9999)} && {word} < {bound(word, value * 1.0001)};\n"
        for word, value in shown.items()
    )
    status, document = run(program, tmp_path, f"{text}\n{close}", *options)
    assert status == 0, document["judgements"]
    off = "".join(f"assert {word} > {bound(word, value * 1.001)};\n" for word, value in shown.items())
    status, document = run(program, tmp_path, f"{text}\n{off}", *options)
    failed = [found["what"].split(" >")[0] for found in document["judgements"]["found"]]
    assert (status, sorted(failed)) == (1, sorted(shown))


def test_a_name_and_a_share_and_several_parts(program: Path, tmp_path: Path) -> None:
    text = "write(\"a\", 4k); time[\"m\"] repeat 500 { read(\"a\"); write(\"b\", 4k); }\n"
    status, document = run(program, tmp_path, text + "assert iops of read > 1 && p95 of \"m/write\" < 1s && width(p50 of read) < 50%;")
    assert status == 0, document["judgements"]
    status, document = run(program, tmp_path, text + "assert p99 < 1s;")
    [found] = document["judgements"]["found"]
    assert "2 parts; write `p99 of \"m/read\"` or `p99 of \"m/write\"`" in found["examples"][0]["text"], found
    # The way out that it names is one.
    status, document = run(program, tmp_path, text + "assert p99 of \"m/read\" < 1s && p99 of \"m/write\" < 1s;")
    assert status == 0, document["judgements"]
    status, document = run(program, tmp_path, text + "assert bw of read > 1;\nassert width(p99.9 of read) < 99%;")
    [told] = [found["examples"][0]["text"] for found in document["judgements"]["found"]]
    assert status == 1 and "width(p99.9(\"read\")) is without an end: the values are too few" in told, told


def test_fail_if_judges_the_answer_of_the_new_run(program: Path, tmp_path: Path) -> None:
    for name, seed in (("old", "1"), ("new", "2")):
        (tmp_path / "a.ppl").write_text("write(\"a\", 4k); repeat 3000 read(\"a\");")
        call(program, tmp_path, "run", "a.ppl", "--backend", LAW, "--seed", seed, "--report", "none", "-o", f"{name}.parquet")
    shown = json.loads(call(program, tmp_path, "report", "new.parquet", "--json").stdout)
    [part] = shown["numbers"]["parts"]
    [p99] = [one for one in part["intervals"] if one["probability"] == 0.99]
    rate = part["operations_per_second"]

    def status(condition: str) -> subprocess.CompletedProcess[str]:
        return call(program, tmp_path, "compare", "old.parquet", "new.parquet", "--fail-if", condition)

    # The whole interval, not the estimate.
    assert status(f"p99 > {p99['lower_seconds'] * 0.999 * 1e9:.0f}ns").returncode == 1
    assert status(f"p99 > {p99['seconds'] * 0.999 * 1e9:.0f}ns").returncode == 0
    assert status(f"p99 of read < {p99['upper_seconds'] * 1.001 * 1e9:.0f}ns").returncode == 1
    failed = status(f"iops < {rate * 1.001}")
    assert failed.returncode == 1 and f"iops < {rate * 1.001}: yes" in failed.stdout + failed.stderr
    assert status(f"iops < {rate * 0.999}").returncode == 0
    # What was found is told either way, on standard error.
    held = status(f"p99 > {p99['seconds'] * 2e9:.0f}ns")
    assert (held.returncode, ": no; it is " in held.stderr, "(95% CI " in held.stderr) == (0, True, True), held.stderr
    near = status(f"p99 > {p99['seconds'] * 0.9999 * 1e9:.0f}ns")
    assert (near.returncode, ": not certain; " in near.stderr) == (0, True), near.stderr
    assert ": not shown; the interval begins at" in status("factor > 5").stderr
    # A change is against the old run.
    for condition, code in (("p99 > +60%", 0), ("p99 < +60%", 1), ("p99 > -60%", 1), ("iops of read < -60%", 0), ("iops > -60%", 1)):
        done = status(condition)
        assert done.returncode == code, (condition, done.stderr)
        assert f"{condition}: {'yes' if code else 'no'}; it is " in done.stderr and "in old.parquet" in done.stderr, done.stderr
    for wrong in ("p99 of nothing > 1ms", "p99 > 5", "width(p99) > 5%", "p99 > 20%", "p99 > +0%"):
        assert status(wrong).returncode == 2 and wrong in status(wrong).stderr, status(wrong)


def test_what_is_judged_elsewhere_says_where(program: Path, tmp_path: Path) -> None:
    (tmp_path / "a.ppl").write_text("repeat 10 read(\"a\");")
    for condition, wanted in (("p99 < 5ms", "assert p99 < 5ms;"), ("iops > 5", "assert iops > 5;"), ("count > 5", "repeat")):
        told = call(program, tmp_path, "run", "a.ppl", "--until", condition)
        assert told.returncode == 2 and wanted in " ".join(told.stderr.split()), told.stderr
    known = ["--location", "0.001", "--scale", "0.0001", "--shape", "0.1"]
    told = call(program, tmp_path, "plan-runs", *known, "--precision", "p99 < 5ms")
    assert told.returncode == 2 and "not how well it is to be known" in told.stderr, told


def test_bytes_of_a_block_are_those_of_its_writes(program: Path, tmp_path: Path) -> None:
    """Calls that take longer and move none do not hide them, with the name of the block or behind it."""
    text = """$f = fcreat("c");
time["y"] repeat 20 { fwrite($f, 4k); fsync($f); }
assert bw of y > 1/s;
assert bw of "y/fwrite" > 1/s;
assert bw > 1/s;
fclose($f);
delete("c");
"""
    status, document = run(program, tmp_path, text)
    assert status == 0, document
