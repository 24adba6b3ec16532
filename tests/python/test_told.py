"""What a run found and what it did are told by the package and by the page as by every other output."""

import html
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from test_totals import PROGRAMS

#: Of a run file, what the package says.
SAID = """
import json, lastrank
run = lastrank.load("run.parquet")
rows = [row for row in run.results if row["kind"] == "operation"]
print(json.dumps({
    "judgements": run.judgements,
    "facts": run.facts["judgements"]["found"],
    "errors": sum(row["errors"] for row in rows),
    "numbers": run.document["numbers"],
}))
"""


def call(wheel_python: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The executable of the wheel."""
    words = (str(wheel_python.parent / "lastrank"), *words)
    return subprocess.run(words, cwd=folder, capture_output=True, text=True)


def read(page: Path) -> str:
    """What a reader of a page sees, in one line."""
    text = re.sub(r"<(script|style|svg)[^>]*>.*?</\1>", "", page.read_text(), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


@pytest.mark.parametrize("corrupt", [True, False], ids=["corrupt", "sound"])
def test_a_changed_byte(
    corrupt: bool, in_clean: Callable[[str], str], wheel_python: Path, tmp_path: Path
) -> None:
    (tmp_path / "write.ppl").write_text('define ranks 1;\nwrite("blk", 256k);\n')
    (tmp_path / "check.ppl").write_text('define ranks 1;\nverify { read("blk"); }\n')
    call(wheel_python, tmp_path, "run", "write.ppl", "--report", "none", "-o", "w.parquet").check_returncode()
    if corrupt:
        content = bytearray((tmp_path / "blk").read_bytes())
        content[70_000] ^= 1
        (tmp_path / "blk").write_bytes(content)
    words = ["run", "check.ppl", "-o", "run.parquet", "--report", "run.html", "-q"]
    assert call(wheel_python, tmp_path, *words).returncode == (3 if corrupt else 0)
    # Reading a run ends well, whatever is in it.
    said = json.loads(in_clean(SAID))
    assert [(one["kind"], one["count"]) for one in said["judgements"]] == ([("wrong_content", 1)] if corrupt else [])
    assert said["facts"] == said["judgements"]
    assert (said["errors"], said["numbers"]["errors"], said["numbers"]["operations"]) == (corrupt, corrupt, 1 - corrupt)
    page = read(tmp_path / "run.html")
    assert ("WRONG DATA: 1 of 1 operation did not read what was written" in page) == corrupt, page
    assert ("byte 70000" in page) == corrupt, page
    assert ("✔" not in page and "✖" in page) == corrupt, page
    if corrupt:
        [example] = said["judgements"][0]["examples"]
        assert (example["file"], example["byte"], example["rank"]) == ("blk", 70_000, 0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_operations_errors_and_bytes(
    name: str, in_clean: Callable[[str], str], wheel_python: Path, tmp_path: Path
) -> None:
    text, (operations, errors, moved) = PROGRAMS[name]
    (tmp_path / "p.ppl").write_text(text)
    call(wheel_python, tmp_path, "run", "p.ppl", "-o", "run.parquet", "--report", "run.html", "-q")
    numbers = json.loads(in_clean(SAID))["numbers"]
    assert (numbers["operations"], numbers["errors"], numbers["bytes"]) == (operations, errors, moved)
    page = re.sub(r"(?<=\d),(?=\d{3})", "", read(tmp_path / "run.html"))
    if errors:
        assert f"✖ {errors} of {operations + errors} operations failed" in page, page
    else:
        assert f"✔ {operations} operations, 0 errors" in page, page
    told = re.search(r"([\d.]+) (KiB|MiB) moved", page)
    assert told and abs(float(told[1]) * {"KiB": 1024, "MiB": 1 << 20}[told[2]] / moved - 1) < 0.05, page


#: What the analyses of the package say of a run.
ANALYSED = """
import json, lastrank
fit, both = lastrank.fit("p.parquet"), lastrank.compare("quiet.parquet", "p.parquet")
print(json.dumps({
    "found": [[one["kind"] for one in found.unsound] for found in (fit, both)],
    "code": both.verdict.code,
    "usability": fit.verdict.usability,
    "screens": [repr(fit)[0], repr(both)[0]],
    "plan": lastrank.plan("p.parquet", "p99=5%").document["unsound"] != [],
}))
"""


@pytest.mark.parametrize("failed", [True, False], ids=["failed", "sound"])
def test_analyses_of_a_run_that_is_not_sound_raise_nothing_and_say_so(failed, wheel_python: Path, tmp_path: Path) -> None:
    steps = 'repeat 400 time["s"] write("own", 4k);\n'
    simulated = ["--backend", "simulate:gev(10ms,1ms,0)", "--seed", "3", "--report", "none"]
    for name, further in (("quiet", ""), ("p", 'expect errno == EIO write("own", 4k);\n' if failed else "")):
        (tmp_path / "p.ppl").write_text(steps + further)
        call(wheel_python, tmp_path, "run", "p.ppl", *simulated, "-o", f"{name}.parquet")
    ran = subprocess.run([wheel_python, "-c", ANALYSED], cwd=tmp_path, capture_output=True, text=True)
    found = json.loads(ran.stdout or f'"{ran.stderr}"')
    assert found["found"] == ([["expectation_not_met"]] * 2 if failed else [[], []]), ran.stderr
    assert (found["code"] == "unsound", found["plan"]) == (failed, failed)
    assert (found["usability"] == "not-usable") == failed
    assert ("✖" in found["screens"][0] and "✖" in found["screens"][1]) == failed
