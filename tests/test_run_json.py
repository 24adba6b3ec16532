"""Tests `lastrank run --json` and `report --json` against docs/run.schema.json and docs/json.md."""

import json
import subprocess
from pathlib import Path

import jsonschema
import pytest

from conftest import strict

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = json.loads((ROOT / "docs" / "run.schema.json").read_text())
PAGE = (ROOT / "docs" / "json.md").read_text()

PROGRAM = """
define ranks 2;
print("hello");
phase "write" repeat 120 { write("f-$$rank", 4KiB); time["look"] { stat("f-$$rank"); stat("missing"); } }
ctime["sum"] { read("f-$$rank"); getpid(); }
rate 5000/s repeat 20 read("f-$$rank");
delete("f-$$rank");
"""


def document(text: bytes) -> dict:
    """The document on standard output, validated against the schema."""
    found = json.loads(text, parse_constant=pytest.fail)
    errors = [
        f"{'.'.join(map(str, error.absolute_path))}: {error.message[:200]}"
        for error in jsonschema.Draft202012Validator(strict(SCHEMA)).iter_errors(found)
    ]
    assert not errors, "\n".join(errors[:20])
    return found


@pytest.mark.parametrize(
    "arguments",
    [
        "run program.ppl",
        "run program.ppl --record histogram",
        "run program.ppl --backend simulate:gev(10ms,1ms,0.1)",
        "run nothing.ppl",
        "run rate.ppl -n 2",
        "run steps.ppl -n 2",
        "run parallel_write --backend simulate:gev(10ms,1ms,0.1) --set repeat=200",
    ],
)
@pytest.mark.parametrize("with_more", [[], ["--with", "steps,figures,tables"]], ids=["answer", "all"])
def test_a_run_and_its_report_are_what_the_schema_says(tmp_path, program, arguments, with_more):
    (tmp_path / "program.ppl").write_text(PROGRAM)
    (tmp_path / "nothing.ppl").write_text("print(1);")
    (tmp_path / "rate.ppl").write_text("repeat 200 rate 2000/s stat(\".\");")
    (tmp_path / "steps.ppl").write_text("repeat 60 rate 500/s time[\"g\"] { barrier; stat(\".\"); }")
    run = [program, *arguments.split(), "--json", *with_more, "--report", "none", "-o", "run.parquet"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True)
    assert done.returncode in (0, 3), done.stderr
    first = document(done.stdout)
    again = [program, "report", "run.parquet", "--json", *with_more]
    done = subprocess.run(again, cwd=tmp_path, capture_output=True)
    assert document(done.stdout) == first, done.stderr
    assert first["with"] == ["steps", "figures", "tables"] * bool(with_more)
    assert all(("figures" in chapter) == bool(with_more) for chapter in first["chapters"])
    assert ("steps" in first.get("subject", {})) == bool(with_more and "subject" in first)


def test_the_answer_does_not_grow_with_the_number_of_operations(tmp_path, program):
    def size(operations: int, *more: str) -> int:
        run = [program, "io", "randread", "--ops", str(operations), "--filesize", "1MiB"]
        options = ["--backend", "simulate:lognormal(20us,0.3)", "--json", "--report", "none", "-o", "run.parquet"]
        done = subprocess.run([*run, *options, *more], cwd=tmp_path, capture_output=True, check=True)
        assert document(done.stdout)["summary"]["n"] == operations
        return len(done.stdout)

    few, many = size(4_000), size(20_000)
    assert many < 1.1 * few and many < 70_000
    assert size(4_000, "--with", "steps") > few + 4_000 * 50


@pytest.mark.parametrize(
    "ranks, backend, most",
    [(16, "posix", 70_000), (16, "simulate:gev(10ms,1ms,0.1)", 70_000), (64, "simulate:gev(10ms,1ms,0.1)", 80_000)],
    ids=["measured", "simulated", "many"],
)
def test_the_answer_does_not_grow_with_the_number_of_ranks(tmp_path, program, ranks, backend, most):
    sizes = ["--set", f"targets={ranks}", "--set", "repeat=200", "--set", f"size={ranks * 16}KiB"]
    run = [program, "run", "parallel_write", *sizes, "--backend", backend, "--report", "none", "-o", "run.parquet"]
    subprocess.run(run, cwd=tmp_path, capture_output=True, check=True)

    def told(*more: str) -> tuple[int, dict]:
        done = subprocess.run(
            [program, "report", "run.parquet", "--json", *more], cwd=tmp_path, capture_output=True, check=True
        )
        return len(done.stdout), document(done.stdout)

    size, found = told()
    all_of_it, everything = told("--with", "steps,figures,ranks,tables")
    assert size < most and all_of_it > 2 * size
    [part], rows = found["numbers"]["parts"], found["results"]
    assert part["count"] == 200 and found["facts"]["ranks"] == ranks
    assert [row["name"] for row in everything["numbers"]["parts"]] == [part["name"]]
    for row, whole in zip(rows, everything["results"], strict=True):
        about = row["operation"] == part["operation"] and row["label"] == part["label"]
        assert len(whole["per_rank"]) in (0, ranks) and len(row["per_rank"]) in (0, 4 if about else 1)
    for chapter, whole in zip(found["chapters"], everything["chapters"], strict=True):
        assert len(chapter["tables"]) + chapter.get("tables_left_out", 0) == len(whole["tables"])


def test_without_json_there_is_nothing_to_add_to(program):
    done = subprocess.run([program, "report", "run.parquet", "--with", "steps"], capture_output=True, text=True)
    assert done.returncode == 2 and "--json" in done.stderr


def test_the_schema_is_one_and_can_say_no():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for wrong in ({}, {"schema": "lastrank.run/2"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, SCHEMA)


def test_the_page_has_a_row_for_every_field():
    fields = [*SCHEMA["properties"], *SCHEMA["properties"]["results"]["items"]["properties"]]
    missing = [field for field in fields if f"`{field}`" not in PAGE]
    assert not missing, f"docs/json.md does not mention {missing}"
