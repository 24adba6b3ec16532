"""What SECURITY.md, docs/safety.md and the workflows promise about safety: the tests that are named exist, and what others
made is taken by its content."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


TABLES = {"SECURITY.md": "## What counts", "docs/safety.md": "## Which test keeps which promise"}


def rows(page: str) -> list[tuple[str, str]]:
    """Promises of a page, and what is said to keep each."""
    table = (ROOT / page).read_text().split(TABLES[page])[1].split("\n## ")[0]
    found = [row.strip("| ").split(" | ") for row in table.splitlines() if row.startswith("| ")]
    return [(promise, kept) for promise, kept in found if promise != "promise"]


@pytest.mark.parametrize("page", TABLES)
def test_each_promise_names_tests_that_exist(page: str) -> None:
    promises = rows(page)
    assert len(promises) >= 10
    file = ""
    for promise, kept in promises:
        named = re.findall(r"`([^`]+)`", kept)
        assert any("/" in name for name in named) or "there" in kept, promise
        for name in named:
            if "/" in name:
                file = name
                assert (ROOT / name).is_file(), (promise, name)
                continue
            # A test of the file named last; in `…` stands the middle or the end of a long name.
            tests = re.findall(r"(?:def|fn) (\w+)", (ROOT / file).read_text())
            begin, _, end = name.partition("…")
            exact = [test for test in tests if test == name]
            cut = [test for test in tests if "…" in name and test.startswith(begin) and test.endswith(end)]
            assert exact or cut, (promise, name, file)


def test_a_promise_without_a_test_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kept in ("`tests/sabotage/test_none.py`", "`tests/test_promises.py`: `test_that_nobody_wrote`", "nothing"):
        row = f"| p | {kept} |\n"
        (tmp_path / "SECURITY.md").write_text(f"## What counts\n\n| promise | kept by |\n|---|---|\n{row * 12}\n## Next\n")
        (tmp_path / "tests").mkdir(exist_ok=True)
        (tmp_path / "tests/test_promises.py").touch()
        monkeypatch.setattr("test_promises.ROOT", tmp_path)
        with pytest.raises(AssertionError):
            test_each_promise_names_tests_that_exist("SECURITY.md")


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


def test_a_folder_that_an_editor_opens_cannot_name_the_executable() -> None:
    """A setting of a workspace comes with the folder that somebody else made."""
    manifest = json.loads((ROOT / "editors/vscode/package.json").read_text())
    settings = manifest["contributes"]["configuration"]["properties"]
    assert "ppl.server" in settings
    assert [name for name, setting in settings.items() if setting.get("scope") != "machine"] == []
