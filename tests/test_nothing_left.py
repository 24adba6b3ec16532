"""Where so much of a run failed that nothing is left to analyse, that is what every analysis says, with the status of the run."""

import json
import subprocess
from pathlib import Path

import pytest

OPENED = '$f = fopen("foreign", "r");\nrepeat 100 {{ {0} }}\nfclose($f);\n'
#: Programs, and what is wrong with each.
RUNS = {
    "sound": (OPENED.format("fread($f, 4k);"), ""),
    "wrong": (OPENED.format("verify fread($f, 4k);"), "WRONG DATA: fread in line 2 did not read what was written, 100 times"),
    # What prepares the reads is well, as often as they are not.
    "opened": (
        'repeat 100 {\n  $f = fopen("foreign", "r");\n  verify fread($f, 4k);\n  fclose($f);\n}\n',
        "WRONG DATA: fread in line 3 did not read what was written, 100 times",
    ),
    "mostly": (
        'write("own", 4k);\nverify read("own");\nrepeat 99 verify read("foreign");\n',
        "WRONG DATA: read in line 3 did not read what was written, 99 times",
    ),
    "failed": ('repeat 200 unlink("none");\n', "unlink in line 1 failed 200 times: ENOENT"),
    "stopped": ('on_error stop;\nunlink("none");\nwrite("own", 4k);\n', "the run was stopped by the program's `on_error stop`"),
}


def call(program: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *words], cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module")
def runs(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    (folder / "foreign").write_bytes(b"x" * 409_600)
    (folder / "quiet.ppl").write_text('define ranks 1; write("foreign", 2MiB);\n' + RUNS["sound"][0].replace("100", "400"))
    law = ["--backend", "simulate:gev(10us,1us,0)", "--seed", "3", "--report", "none"]
    assert call(program, folder, "run", "quiet.ppl", *law, "-o", "quiet.parquet").returncode == 0
    for name, (text, wrong) in RUNS.items():
        (folder / f"{name}.ppl").write_text(f"define ranks 1; {text}")
        ran = call(program, folder, "run", f"{name}.ppl", "--report", "none", "-o", f"{name}.parquet")
        assert ran.returncode == (3 if wrong else 0), ran.stderr
    return folder


ANALYSES = {
    "new": ["compare", "sound.parquet", "{}"],
    "old": ["compare", "{}", "sound.parquet"],
    "itself": ["compare", "{}", "{}"],
    "-q": ["compare", "sound.parquet", "{}", "-q"],
    "json": ["compare", "sound.parquet", "{}", "--json"],
    "judged": ["compare", "sound.parquet", "{}", "--fail-if", "factor > 1.05"],
    "fit": ["fit", "{}"],
    "fit -q": ["fit", "{}", "-q"],
    "fit --json": ["fit", "{}", "--json"],
    "gpd": ["fit", "{}", "--model", "gpd"],
    "plan": ["plan-runs", "{}", "width(p50) < 5%"],
    "scale": ["scale", "{}", "--parts", "4", "--to", "64"],
}


@pytest.mark.parametrize("analysis", ANALYSES)
@pytest.mark.parametrize("name", [name for name, (_, wrong) in RUNS.items() if wrong])
def test_what_is_wrong_comes_first_and_the_status_is_that_of_the_run(name: str, analysis: str, runs: Path, program: Path) -> None:
    words = [word.replace("{}", f"{name}.parquet") for word in ANALYSES[analysis]]
    said = call(program, runs, *words)
    report = call(program, runs, "report", f"{name}.parquet", "-q", "-o", "page.html")
    assert said.returncode == report.returncode == 3, said.stdout + said.stderr
    told = " ".join((said.stdout or said.stderr).split())
    assert RUNS[name][1] in told, told
    first = told.removeprefix("error: ").removeprefix("✖ ")
    if not told.startswith("{"):
        assert first.startswith(f"{name}.parquet: "), told
    assert "fopen" not in told and "✔" not in told, told


@pytest.mark.parametrize("name", [name for name, (_, wrong) in RUNS.items() if wrong])
def test_a_watch_goes_on_behind_such_a_run(name: str, runs: Path, program: Path, tmp_path: Path) -> None:
    baseline = runs / "quiet.parquet"
    said = call(program, runs, "watch", str(baseline), f"{name}.parquet")
    assert said.returncode == 3, said.stderr
    assert RUNS[name][1] in " ".join(said.stdout.split()), said.stdout
    for file in (name, "sound"):
        (tmp_path / f"{file}.parquet").write_bytes((runs / f"{file}.parquet").read_bytes())
    said = call(program, runs, "watch", str(baseline), str(tmp_path), "--json")
    events = [json.loads(line) for line in said.stdout.splitlines()]
    [unsound] = [one for one in events if one["event"] == "unsound"]
    assert RUNS[name][1] in unsound["found"]
    # The values of the sound run are watched, whichever was first.
    assert (said.returncode, events[-1]["event"]) == (3, "end") and events[-1]["values"] >= 100
    refused = call(program, runs, "watch", f"{name}.parquet", str(baseline))
    assert refused.returncode == 2 and f"{name}.parquet cannot be a baseline: " in refused.stderr


def test_an_empty_program_is_told_once(program: Path, tmp_path: Path) -> None:
    (tmp_path / "e.ppl").write_text("")
    told = "the program did no operation"
    for words in ([], ["-v"], ["-q"]):
        ran = call(program, tmp_path, "run", "e.ppl", *words, "--report", "none", "-o", "e.parquet")
        shown = " ".join(ran.stdout.split())
        assert ran.returncode == 0 and shown.count(told) == 1 and "✔" not in shown, shown
        assert "nothing to analyse" not in shown and "holds no samples" not in shown, shown
    document = json.loads(call(program, tmp_path, "report", "e.parquet", "--json").stdout)
    assert "nothing-to-analyse" not in [one["code"] for one in document["warnings"]]
