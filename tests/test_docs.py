"""The documentation as a site: it builds, every link leads somewhere, and the commands of its pages run.

Tutorial and how-to pages are run as they stand: all `sh` blocks of a page, one after the other, in an empty folder. Of the
other pages each command line is checked against the help of its command.
"""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PLAYED = ["tutorial.md", *sorted(f"howto/{page.name}" for page in (DOCS / "howto").glob("*.md"))]
READ = sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md") if str(page.relative_to(DOCS)) not in PLAYED)
BLOCK = re.compile(r"^```(?:sh|text|console|crontab)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PATIENCE = 300


def blocks(page: str, language: str = "sh") -> list[str]:
    """The fenced blocks of a page."""
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


def test_the_site_builds_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed (tests/all.py installs it)")
    # Without --quiet, under which warnings do not count as errors.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert built.returncode == 0, built.stderr
    for page in [*PLAYED, "glossary.md", "why-maxima.md"]:
        assert (tmp_path / "site" / page.removesuffix(".md") / "index.html").is_file(), page


def test_links_of_the_readme_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / "README.md").read_text())
    links += re.findall(r"^\[[^]]+\]: (?!https?:)(\S+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert len(links) > 20
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_screen_of_the_readme_is_what_its_command_prints(program: Path, tmp_path: Path) -> None:
    page = ROOT / "README.md"
    begin = "```console\n$ lastrank "
    before, block = page.read_text().split(begin)
    shown, _, after = block.partition("```\n")
    command, _, screen = shown.partition("\n")
    said = subprocess.run(
        [program, *shlex.split(command)], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE,
        env=os.environ | {"COLUMNS": "80"},
    )
    assert said.returncode == 0, said.stderr
    if os.environ.get("LASTRANK_REWRITE_SCREENS"):
        page.write_text(f"{before}{begin}{command}\n{said.stdout}```\n{after}")
        return
    assert screen == said.stdout, "LASTRANK_REWRITE_SCREENS=1 writes it again"


@pytest.mark.parametrize("page", PLAYED)
def test_the_commands_of_a_page_run(page: str, program: Path, tmp_path: Path) -> None:
    commands = blocks(page)
    assert commands, "the page has lost its commands"
    tools, home = tmp_path / "bin", tmp_path / "empty"
    tools.mkdir()
    home.mkdir()
    (tools / "lastrank").symlink_to(program)
    (tools / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (tools / "python3").chmod(0o755)
    path = os.pathsep.join([str(tools), os.environ["PATH"]])
    script = "set -eux\n" + "\n".join(commands)
    with (tmp_path / "out").open("w") as out:
        # What a page starts in the background ends with the page.
        shell = subprocess.Popen(
            ["bash", "-c", script], cwd=home, stdout=out, stderr=subprocess.STDOUT,
            env=os.environ | {"PATH": path}, start_new_session=True,
        )
        try:
            status = shell.wait(timeout=PATIENCE)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
    said = (tmp_path / "out").read_text()
    assert status == 0, said
    assert "panicked" not in said, said
    # What a page shows is what its commands print: times differ, what was counted does not.
    shown = re.findall(r"[\d,]+ operations, \d+ errors, \S+ \S+ moved", "\n".join(blocks(page, "console")))
    assert [counts for counts in shown if counts not in said] == [], said


@cache
def help_of(program: Path, command: str) -> str:
    said = subprocess.run([program, command, "--help"], capture_output=True, text=True, timeout=60)
    return said.stdout if said.returncode == 0 else ""


# Their options are those of IOR and mdtest, which their help does not list.
OF_OTHER_TOOLS = {"ior", "meta"}


@pytest.mark.parametrize("page", READ)
def test_every_option_on_a_page_is_one_of_its_command(page: str, program: Path) -> None:
    unknown = []
    for block in BLOCK.findall((DOCS / page).read_text()):
        for line in block.replace("\\\n", " ").splitlines():
            found = re.match(r"(?:\$ )?(?:(?:mpirun|srun|mpiexec)\s.*?)?lastrank\s+(.*)", line.strip())
            if not found:
                continue
            words = shlex.split(re.split(r"""&&|\|\||\s[|>&](?=[^']*(?:'[^']*'[^']*)*$)""", found[1])[0], comments=True)
            if not words or words[0].startswith(("-", "…")):
                continue
            text = help_of(program, words[0])
            if not text:
                unknown.append(f"{line}: no command {words[0]}")
                continue
            own = words[1 : words.index("--")] if "--" in words else words[1:]
            options = [word.split("=")[0] for word in own if re.match(r"--[a-z]", word)]
            if words[0] in OF_OTHER_TOOLS:
                text += help_of(program, "run")
            unknown += [f"{line}: {option}" for option in options if not re.search(rf"{option}\b", text)]
    assert unknown == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_name_every_command(shell: str, program: Path) -> None:
    said = subprocess.run([program, "completions", shell], capture_output=True, text=True, check=True, timeout=60)
    for command in ["run", "fit", "plan-runs", "echo"]:
        assert command in said.stdout
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=said.stdout, text=True, check=True, timeout=60)


def test_there_is_a_manual_page_of_every_command(program: Path, tmp_path: Path) -> None:
    subprocess.run([program, "man", "-o", tmp_path / "man1"], check=True, capture_output=True, timeout=60)
    listed = subprocess.run([program, "--help"], capture_output=True, text=True, check=True, timeout=60).stdout
    commands = re.findall(r"^  ([a-z][a-z-]+)  ", listed.split("Options:")[0], re.MULTILINE)
    assert len(commands) > 20
    missing = [name for name in commands if name != "help" and not (tmp_path / "man1" / f"lastrank-{name}.1").is_file()]
    assert missing == []
    page = (tmp_path / "man1" / "lastrank-run.1").read_text()
    assert "lastrank run parallel_write" in page, "the examples are on the page"
