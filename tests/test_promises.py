"""What SECURITY.md, docs/safety.md and the workflows promise about safety: the tests that are named exist, and what others
made is taken by its content."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def test_the_tests_that_keep_the_promises_of_safety_exist() -> None:
    table = (ROOT / "docs/safety.md").read_text().split("## Which test keeps which promise")[1].split("\n## ")[0]
    named = re.findall(r"`([^`]+)`", table)
    files = [name for name in named if "/" in name]
    assert len(files) >= 6
    assert not [name for name in files if not (ROOT / name).is_file()]
    attacks = (ROOT / "tests/sabotage/test_attacks.py").read_text()
    tests = re.findall(r"def (test_\w+)", attacks)
    for name in named:
        if "…" in name:
            begin, end = name.split("…")
            assert [test for test in tests if test.startswith(begin) and test.endswith(end)], name


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_taken_by_commit_and_dependencies_by_the_lock_file(workflow: Path) -> None:
    text = workflow.read_text()
    used = re.findall(r"uses: *(\S+)(.*)", text)
    assert used
    for action, version in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action) and re.fullmatch(r" # v\d+\.\d+\.\d+", version), action
    for command in re.findall(r"cargo (?:build|test|doc|deny|install) .*", text):
        assert "--locked" in command, command


def test_only_the_job_that_makes_a_release_may_write() -> None:
    for workflow in WORKFLOWS:
        head, jobs = workflow.read_text().split("\njobs:\n")
        assert "permissions:\n  contents: read\n" in head, workflow
        writing = [job for job in re.split(r"\n(?=  [\w-]+:\n)", jobs) if ": write" in job]
        assert [job.strip().split(":")[0] for job in writing] == (["publish"] if workflow.stem == "release" else [])


def test_a_release_has_a_list_of_its_parts_and_says_where_it_was_built() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text()
    assert "cargo cyclonedx" in text and ".cdx.json" in text and "actions/attest-build-provenance@" in text
