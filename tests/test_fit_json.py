"""Tests `lastrank fit --json` against docs/fit.schema.json and docs/fit-json.md, for every model."""

import json
import random
import re
import subprocess
from pathlib import Path

import jsonschema
import pytest

from conftest import strict

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = json.loads((ROOT / "docs" / "fit.schema.json").read_text())
PAGE = (ROOT / "docs" / "fit-json.md").read_text()


@pytest.fixture(scope="session")
def folder(tmp_path_factory, program) -> Path:
    folder = tmp_path_factory.mktemp("fit")
    draw = random.Random(7)
    rows = [f"{20 + 5 * draw.paretovariate(4):.4f},{draw.random():.4f}" for _ in range(5000)]
    (folder / "lat.csv").write_text("us,busy\n" + "\n".join(rows) + "\n")
    nodes = [f"{20 + 5 * draw.paretovariate(4):.4f},node{i % 4 if i < 297 else 9}" for i in range(300)]
    (folder / "nodes.csv").write_text("us,node\n" + "\n".join(nodes) + "\n")
    drift = [f"{100 + i / 50 + draw.gauss(0, 1):.3f}" for i in range(300)]
    (folder / "drift.txt").write_text("\n".join(drift) + "\n")
    coarse = [f"{100 + round(2 * draw.expovariate(1))}" for _ in range(300)]
    (folder / "coarse.txt").write_text("\n".join(coarse) + "\n")
    (folder / "few.txt").write_text("\n".join(str(i * i) for i in range(1, 13)) + "\n")
    two = [f"{draw.gauss(100 + 50 * (i % 2), 1):.3f}" for i in range(300)]
    (folder / "modes.txt").write_text("\n".join(two) + "\n")
    arguments = ["run", "parallel_write", "--backend", "simulate:gev(10ms,300us,0.05)", "--quiet"]
    subprocess.run([program, *arguments, "--report", "none", "-o", "run.parquet"], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        "run.parquet",
        "run.parquet --label write",
        "run.parquet --model gumbel --level 0.9 --period 50",
        "run.parquet --model r-largest --r 3",
        "run.parquet --label write --block 100ms",
        "drift.txt --covariate trend",
        "drift.txt --model gumbel --covariate scale:trend",
        "coarse.txt",
        "modes.txt",
        "few.txt",
        "lat.csv --column us --unit us",
        "lat.csv --column us --unit us --block 50",
        "nodes.csv --column us --unit us --by node",
        "nodes.csv --column us --unit us --figures",
        "lat.csv --column us --unit us --model gpd",
        "lat.csv --column us --unit us --model gpd --threshold 95% --covariate busy",
        "lat.csv --column us --model point-process --block 50",
        "lat.csv --column us --model r-largest --block 50 --r 2",
    ],
)
def test_every_model_gives_what_the_schema_says(folder, program, arguments):
    done = subprocess.run([program, "fit", *arguments.split(), "--json"], cwd=folder, capture_output=True, check=True)
    found = json.loads(done.stdout, parse_constant=pytest.fail)
    errors = [
        f"{'.'.join(map(str, error.absolute_path))}: {error.message[:200]}"
        for error in jsonschema.Draft202012Validator(strict(SCHEMA)).iter_errors(found)
    ]
    assert not errors, "\n".join(errors[:20])


def test_the_schema_is_one_and_can_say_no():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for wrong in ({}, {"schema": "lastrank.fit/2"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, SCHEMA)


def test_the_page_has_a_row_for_every_field_and_for_no_other():
    def fields(properties, prefix=""):
        for name, schema in properties.items():
            yield prefix + name
            inner, dot = schema, "."
            inner = inner.get("anyOf", [inner])[0]
            while inner.get("type") == "array":
                inner, dot = inner["items"], "[]."
            yield from fields(inner.get("properties", {}), prefix + name + dot)

    for title, properties in [
        ("The object", SCHEMA["properties"]),
        *((name, part["properties"]) for name, part in SCHEMA["$defs"].items()),
    ]:
        [section] = re.findall(rf"^## {title}$(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
        assert re.findall(r"^\| `([^`]+)` \|", section, re.M) == list(fields(properties)), title
