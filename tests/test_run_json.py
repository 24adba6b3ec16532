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
        "run parallel_write --backend simulate:gev(10ms,1ms,0.1) --set repeat=200",
    ],
)
def test_a_run_and_its_report_are_what_the_schema_says(tmp_path, program, arguments):
    (tmp_path / "program.ppl").write_text(PROGRAM)
    (tmp_path / "nothing.ppl").write_text("print(1);")
    run = [program, *arguments.split(), "--json", "--report", "none", "-o", "run.parquet"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True)
    assert done.returncode in (0, 3), done.stderr
    first = document(done.stdout)
    again = [program, "report", "run.parquet", "--json"]
    assert document(subprocess.run(again, cwd=tmp_path, capture_output=True, check=True).stdout) == first


def test_the_schema_is_one_and_can_say_no():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for wrong in ({}, {"schema": "lastrank.run/2"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, SCHEMA)


def test_the_page_has_a_row_for_every_field():
    fields = [*SCHEMA["properties"], *SCHEMA["properties"]["results"]["items"]["properties"]]
    missing = [field for field in fields if f"`{field}`" not in PAGE]
    assert not missing, f"docs/json.md does not mention {missing}"
